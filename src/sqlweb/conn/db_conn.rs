//! One connection to the database, with what is known of it.

use std::sync::Arc;
use std::time::Duration;

use mysql::Conn;

use super::server_info::ServerInfo;
use super::socket_handle::SocketHandle;
use crate::sync::Permit;

/// Longest silence of the server in answer to a statement of ours. A person's statement has no limit.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// One database connection with its place under the cap.
pub(crate) struct DbConn {
    /// The driver's connection.
    pub(crate) driver: Conn,
    /// Whether its current database may differ from the one it was made with, which only a new connection restores.
    pub(crate) moved: bool,
    /// The connection's socket, for what the driver does not offer.
    pub(crate) socket: SocketHandle,
    /// The server's number of this connection, as `KILL QUERY` takes it.
    pub(crate) id: u64,
    /// Which server it is on; `None` where that cannot be known, nor whether `id` means anything there.
    pub(crate) server: Option<Arc<str>>,
    /// How that server names itself, to be asked again.
    pub(super) name: Option<ServerName>,
    /// Whether the server's number of the connection is not the one that the greeting had: something in between answers.
    pub(super) is_shared: bool,
    /// What is known of that server; a control connection goes without.
    pub(super) info: Option<Arc<ServerInfo>>,
    /// Whether that tells one start of the server from the next; ids begin anew at each.
    pub(crate) is_dated: bool,
    /// Whether anything but plain reads ran on it, so that the session may hold what a new one would not.
    pub(crate) has_state: bool,
    /// Its permit under `MAX_CONNECTIONS`; a control connection has none.
    pub(super) permit: Option<Permit>,
}

/// A server's name for itself.
pub(crate) struct ServerName {
    /// The expression that answers it.
    pub(super) asked: &'static str,
    /// Its answer.
    pub(super) answered: String,
}

impl DbConn {
    /// What is known of the server that this connection is on.
    pub(crate) fn info(&self) -> Arc<ServerInfo> {
        let info = self.info.clone();
        info.expect("a connection that is handed out knows its server")
    }

    /// Calls the driver with another read timeout than [`READ_TIMEOUT`]; `None` waits without limit.
    pub(crate) fn with_read_timeout<T>(
        &mut self,
        timeout: Option<Duration>,
        call: impl FnOnce(&mut Conn) -> T,
    ) -> T {
        self.socket.set_read_timeout(timeout);
        let outcome = call(&mut self.driver);
        self.socket.set_read_timeout(Some(READ_TIMEOUT));
        outcome
    }
}
