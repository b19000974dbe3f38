//! The trait that plugins fulfil, and the registry of those made available.
//!
//! Which plugins exist is one table, `cli::plugins::PLUGINS`: a plugin's command line
//! belongs to the room above this one.

mod grant;
mod registry;
mod statement_log;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use crossbeam_channel::Receiver;
use zeroize::Zeroizing;

use crate::store::DataDir;
use crate::tunnel::client::Serve;

pub use grant::{Grant, InvalidGrant};
pub use grant::{Guest, GuestInForce, guests_end, tables_and_views};
pub use registry::{Error, Installed, Registry};
pub use statement_log::{StatementLog, StatementRecord, Verdict};

/// A part of this program that is run by the name of a protocol.
pub trait Plugin: Sync {
    /// Error of [`run`](Self::run).
    type Failure;

    /// The name that `plugin add` takes; also its first protocol.
    fn name(&self) -> &'static str;

    /// Every protocol name that runs the plugin.
    fn protocols(&self) -> &'static [&'static str];

    /// The help text, where the arguments ask for it and it is `protocol` that was typed.
    fn help(&self, protocol: &str, arguments: &[String]) -> Option<String>;

    /// Runs to the end; `arguments` are those after the protocol's name.
    fn run(&self, protocol: &str, arguments: &[String]) -> Result<(), Self::Failure>;

    /// Serves a web client for a database within this process. Blocks while it connects; the error is for the person.
    fn serve(&self, database: Database) -> Result<Box<dyn Served>, NotServed>;

    /// The names of its databases, of the tables of one, or of the columns of a table, as far as a guest may be let read
    /// them. Blocks; the error is for the person.
    fn objects(&self, database: Database, within: &[String]) -> Result<Vec<String>, String>;

    /// Drops the temporary accounts there that processes were killed with. Blocks.
    fn sweep(&self, database: Database);
}

/// Finds the plugin for a protocol and lets it serve.
pub trait WebClients: Send + Sync {
    /// The name and the protocols of the plugin of that name, or that speaks that protocol.
    fn named(&self, name: &str) -> Option<(&'static str, &'static [&'static str])>;

    /// As [`Plugin::serve`]; none where no plugin speaks `protocol`.
    fn serve(
        &self,
        protocol: &str,
        database: Database,
    ) -> Option<Result<Box<dyn Served>, NotServed>>;

    /// As [`Plugin::objects`].
    fn objects(
        &self,
        protocol: &str,
        database: Database,
        within: &[String],
    ) -> Option<Result<Vec<String>, String>>;

    /// As [`Plugin::sweep`].
    fn sweep(&self, protocol: &str, database: Database);
}

/// None, for who connects nothing.
pub(crate) struct NoPlugins;

impl WebClients for NoPlugins {
    fn named(&self, _: &str) -> Option<(&'static str, &'static [&'static str])> {
        None
    }

    fn serve(&self, _: &str, _: Database) -> Option<Result<Box<dyn Served>, NotServed>> {
        None
    }

    fn objects(&self, _: &str, _: Database, _: &[String]) -> Option<Result<Vec<String>, String>> {
        None
    }

    fn sweep(&self, _: &str, _: Database) {}
}

/// Reason that a database is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotServed {
    /// For the person.
    pub message: String,
    /// True if the database refused the account or its password, and does so again until one of them is another.
    pub is_denied: bool,
}

/// Listens on an address, and notes that it is this program's.
pub type Bind = Arc<dyn Fn(SocketAddr) -> io::Result<TcpListener> + Send + Sync>;

/// A database, and how a web client for it is served.
pub struct Database {
    /// A host name or address; an IPv6 address has no brackets.
    pub host: String,
    /// The port, never 0.
    pub port: u16,
    /// The database user; the plugin's default where none is named.
    pub user: Option<String>,
    /// The user's password; empty for an account without one.
    pub password: Zeroizing<String>,
    /// The database to begin with.
    pub name: Option<String>,
    /// True if every statement that could write is refused.
    pub readonly: bool,
    /// True if visitors need a code, which [`Served::set_code`] gives.
    pub invisible: bool,
    /// True if connections of the machine's other users are refused.
    pub check_other_users: bool,
    /// The temporary account on the database server that visitors are to work as; without one it is [`Self::user`].
    pub guest: Option<Guest>,
    /// Where its visitors and their statements are noted.
    pub statements: Arc<StatementLog>,
    /// The per-user directory, where such accounts are recorded.
    pub home: DataDir,
    /// A directory of ours, mode 0700, for the private socket.
    pub run_dir: PathBuf,
    /// How it listens on an address.
    pub bind: Bind,
}

/// Signs in to a database as its web client does, and out again. Blocks; the error is for the person.
pub type SignIn = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A web client that is being served on loopback.
pub trait Served: Send {
    /// Where it listens.
    fn address(&self) -> SocketAddr;

    /// Handler for the streams of its tunnel, as long as it runs.
    fn streams(&self) -> Serve;

    /// Where its owner's browser finds it. It may hold a code of the owner's own: a secret.
    fn url(&self) -> String;

    /// From now on visitors may come in with this code. Before, and with any other, none does.
    fn set_code(&self, code: &str);

    /// Also serve `HOST` or `HOST:PORT`, to visitors who use `https` or not; the error says what is wrong with it.
    fn allow_host(&self, host: &str, is_https: bool) -> Result<(), String>;

    /// No longer serve it.
    fn disallow_host(&self, host: &str);

    /// Sets whether visitors come from one of our relays, whose origins can be trusted; at first they do not.
    fn believe_origins(&self, is_ours: bool);

    /// The temporary account that visitors work as, where there is one, ends then and not when it was to.
    fn set_end(&self, expires: SystemTime);

    /// That account as it is.
    fn guest(&self) -> Option<Arc<GuestInForce>>;

    /// Tries whether the database still lets the web client in.
    fn sign_in(&self) -> SignIn;

    /// Gets a message, as far as there is room, when the database did not let the web client in.
    fn missed(&self) -> Receiver<()>;

    /// Ends it: within 2 s.
    fn stop(self: Box<Self>);
}
