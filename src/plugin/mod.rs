//! The trait of plugins, the registry of those that the user has added, and the types they share with their callers.
//!
//! The table of existing plugins is `PLUGINS` in `cli::commands::plugin`, since a plugin's command line belongs to
//! `cli`.

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

    /// Returns the help text if `arguments` ask for it; `protocol` is the name that was typed.
    fn help(&self, protocol: &str, arguments: &[String]) -> Option<String>;

    /// Runs the plugin to its end with the `arguments` after the protocol's name.
    fn run(&self, protocol: &str, arguments: &[String]) -> Result<(), Self::Failure>;

    /// Serves a web client for a database within this process. Blocks while it connects; the error is for the person.
    fn serve(&self, database: Database) -> Result<Box<dyn Served>, NotServed>;

    /// Names of its databases, of the tables of one, or of the columns of a table, if they can be granted to a guest.
    /// Blocks; the error is for the person.
    fn objects(&self, database: Database, within: &[String]) -> Result<Vec<String>, String>;

    /// Drops temporary accounts that killed processes left on the server. Blocks.
    fn sweep(&self, database: Database);
}

/// Finds the plugin for a protocol and lets it serve.
pub trait WebClients: Send + Sync {
    /// Returns name and protocols of the plugin with that name or protocol.
    fn named(&self, name: &str) -> Option<(&'static str, &'static [&'static str])>;

    /// As [`Plugin::serve`]; `None` if no plugin speaks `protocol`.
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

/// No plugins, for callers that connect nothing.
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
    /// Message for the person.
    pub message: String,
    /// True if the database refused the account or its password, so that a retry with the same ones is useless.
    pub is_denied: bool,
}

/// Listens on an address and records the address as this program's.
pub type Bind = Arc<dyn Fn(SocketAddr) -> io::Result<TcpListener> + Send + Sync>;

/// A database, with the settings of its web client.
pub struct Database {
    /// A host name or address; an IPv6 address has no brackets.
    pub host: String,
    /// The port, never 0.
    pub port: u16,
    /// The database user; `None` for the plugin's default.
    pub user: Option<String>,
    /// The user's password; empty for an account without one.
    pub password: Zeroizing<String>,
    /// The initial database.
    pub name: Option<String>,
    /// True if every statement that could write is refused.
    pub readonly: bool,
    /// True if visitors need a code; see [`Served::set_code`].
    pub invisible: bool,
    /// True if connections of the machine's other users are refused.
    pub check_other_users: bool,
    /// The temporary account on the database server for visitors; without one they work as [`Self::user`].
    pub guest: Option<Guest>,
    /// Log of its visitors and their statements.
    pub statements: Arc<StatementLog>,
    /// The per-user directory, in which temporary accounts are recorded.
    pub home: DataDir,
    /// A directory of ours, mode 0700, for the private socket.
    pub run_dir: PathBuf,
    /// Opens its listener.
    pub bind: Bind,
}

/// Signs in to a database as its web client does, and disconnects. Blocks; the error is for the person.
pub type SignIn = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A web client that is being served on loopback.
pub trait Served: Send {
    /// Address that it listens on.
    fn address(&self) -> SocketAddr;

    /// Handler for the streams of its tunnel while it runs.
    fn streams(&self) -> Serve;

    /// Address for its owner's browser. It may contain the owner's code, which is secret.
    fn url(&self) -> String;

    /// Sets the only code that admits visitors; before the first call none is admitted.
    fn set_code(&self, code: &str);

    /// Also serves `HOST` or `HOST:PORT`, to visitors who use `https` or not; the error says what is wrong with it.
    fn allow_host(&self, host: &str, is_https: bool) -> Result<(), String>;

    /// Stops serving `HOST` or `HOST:PORT`.
    fn disallow_host(&self, host: &str);

    /// Sets whether visitors come through one of our relays, whose statements about their origin can be trusted;
    /// initially false.
    fn believe_origins(&self, is_ours: bool);

    /// Changes the end of the visitors' temporary account, if there is one.
    fn set_end(&self, expires: SystemTime);

    /// Returns the visitors' temporary account.
    fn guest(&self) -> Option<Arc<GuestInForce>>;

    /// Returns a check that the database still accepts the web client's account.
    fn sign_in(&self) -> SignIn;

    /// Returns a channel that gets a message, if it has room, when the database has refused the web client's account.
    fn missed(&self) -> Receiver<()>;

    /// Stops it within 2 s.
    fn stop(self: Box<Self>);
}
