//! Options of the web client.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::net::authority::authority;
use crate::plugin::{Guest, StatementLog};
use crate::store::DataDir;
use zeroize::Zeroizing;

/// Settings of a web client.
#[derive(Clone)]
pub struct Options {
    /// The database server.
    pub target: Target,
    /// The database user.
    pub user: String,
    /// The user's password; empty for an account without one.
    pub password: Zeroizing<String>,
    /// A new password that is set first, in place of an expired one.
    pub new_password: Option<Zeroizing<String>>,
    /// The database for statements of requests that name none.
    pub database: Option<String>,
    /// True if every statement that could write is refused.
    pub readonly: bool,
    /// True if access needs the authorization code.
    pub invisible: bool,
    /// The address to listen on; `None` means 127.0.0.1 and the default port, or a free one if that is taken.
    pub listen: Option<SocketAddr>,
    /// Further allowed values of a request's `Host` header, `HOST` or `HOST:PORT`.
    pub allow_hosts: Vec<String>,
    /// Encryption of the connection to the database.
    pub tls: TlsMode,
    /// True if others than its owner use it, so that each visitor has limits.
    pub is_shared: bool,
    /// Log of visitors and their statements.
    pub statements: Option<Arc<StatementLog>>,
    /// Time limit of one statement; `None` is without limit.
    pub query_timeout: Option<Duration>,
    /// True if connections of the machine's other users are refused.
    pub check_other_users: bool,
    /// A directory of ours, mode 0700, for the private socket.
    pub run_dir: PathBuf,
    /// The temporary account to create with the account above and to use for everything; needs [`Self::home`].
    pub guest: Option<Guest>,
    /// The per-user directory, in which temporary accounts are recorded.
    pub home: Option<DataDir>,
}

impl Options {
    /// Options for a temporary account with the initial `database`. They are read-only: such an account can only change
    /// its own password, which all visitors share.
    pub(super) fn as_guest(
        &self,
        user: &str,
        password: Zeroizing<String>,
        database: Option<String>,
    ) -> Self {
        Self {
            target: self.target.clone(),
            user: user.to_owned(),
            password,
            new_password: None,
            database,
            allow_hosts: self.allow_hosts.clone(),
            run_dir: self.run_dir.clone(),
            statements: self.statements.clone(),
            readonly: true,
            guest: None,
            home: None,
            ..*self
        }
    }
}

/// Address of the database server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A host name or address (IPv6 without brackets) and a port.
    Tcp {
        /// The host.
        host: String,
        /// The port, never 0.
        port: u16,
    },
    /// The absolute path of a Unix socket.
    Unix(PathBuf),
}

/// Encryption of the connection to the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Off,
    /// If the server offers it, without checking its certificate.
    #[default]
    Prefer,
    /// Always, without checking the certificate.
    Require,
    /// Always, and the certificate must come from the authority in `SSL_CERT_FILE`, with any name: MySQL's own
    /// certificates have none.
    VerifyCa,
    /// Always, and the certificate must be valid for the host.
    Verify,
}

/// `HOST:PORT` with brackets around an IPv6 address, or the socket's path: the form that messages use.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } => f.write_str(&authority(host, *port)),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
