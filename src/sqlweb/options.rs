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

/// Everything the web client needs to know before it starts.
#[derive(Clone)]
pub struct Options {
    /// The database server.
    pub target: Target,
    /// The database user.
    pub user: String,
    /// The user's password; empty for an account without one.
    pub password: Zeroizing<String>,
    /// The password that is set first, in place of one that has expired.
    pub new_password: Option<Zeroizing<String>>,
    /// The database that statements run in when a request names none.
    pub database: Option<String>,
    /// True if every statement that could write is refused.
    pub readonly: bool,
    /// True if access needs the authorization code.
    pub invisible: bool,
    /// The address to listen on; `None` is 127.0.0.1 and the default port, or a free one when that is taken.
    pub listen: Option<SocketAddr>,
    /// Further `HOST` or `HOST:PORT` values that a request's `Host` header may carry.
    pub allow_hosts: Vec<String>,
    /// How the connection to the database is encrypted.
    pub tls: TlsMode,
    /// True if it is for others than its owner: each visitor has a share then.
    pub is_shared: bool,
    /// Where visitors and their statements are noted.
    pub statements: Option<Arc<StatementLog>>,
    /// How long one statement may run; `None` is without limit.
    pub query_timeout: Option<Duration>,
    /// True if connections of the machine's other users are refused.
    pub check_other_users: bool,
    /// A directory of ours, mode 0700, for the private socket.
    pub run_dir: PathBuf,
    /// The temporary account that everything is done as, made by the account above; needs [`Self::home`].
    pub guest: Option<Guest>,
    /// The per-user directory, where temporary accounts are recorded.
    pub home: Option<DataDir>,
}

impl Options {
    /// Options for a temporary account, beginning in `database`: read-only, since such an account may write nothing but
    /// its own password, which is everybody's.
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

/// Where the database server is.
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

/// How the connection to the database is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Off,
    /// Where the server offers it, without checking its certificate.
    #[default]
    Prefer,
    /// Always, without checking the certificate.
    Require,
    /// Always, and the certificate must come from the authority in `SSL_CERT_FILE`, whatever name it is for: those that
    /// MySQL makes itself are for none.
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
