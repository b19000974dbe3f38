//! What a server lets its clients do.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::tunnel::mux::PortStats;
use crate::tunnel::remote::Remote;

/// Decides about logins and remotes. Called on the thread of the client's connection, at most once
/// a login and a remote (but for [`Policy::visits`]); it may be asked by many connections at once.
pub trait Policy: Send + Sync {
    /// Checks a login. The answer is the name that what the client gets is held under: whoever
    /// comes with the same name takes over what its dead connection still holds. `None` refuses.
    fn login(&self, user: &str, password: &str, peer: SocketAddr) -> Option<String>;

    /// What becomes of a remote that `holder` (as `login` answered) asks for.
    fn grant(&self, holder: &str, remote: &Remote) -> Grant;

    /// Where the visitors of a port that `holder` listens on count. By default nobody looks at it.
    fn visits(&self, _holder: &str, _remote: &Remote) -> Arc<PortStats> {
        Arc::default()
    }
}

/// Where visitors of a remote come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// Nowhere: the client is told that access is denied, and gets none of its remotes.
    Denied,
    /// Where the remote says.
    Listen,
    /// Here, whatever the remote says.
    ListenAt(SocketAddr),
    /// On no port: only [`Opener::open`](super::Opener::open) leads there.
    Held,
}
