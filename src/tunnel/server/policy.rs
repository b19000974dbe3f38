//! Permissions of a server's clients.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::tunnel::mux::{TokenBucket, VisitStats};
use crate::tunnel::remote::Remote;

/// Decides about logins and remotes. Called on the thread of the client's connection, at most once
/// a login and a remote (but for [`Policy::port_access`]); it may be asked by many connections at once.
pub trait Policy: Send + Sync {
    /// Checks a login. The answer is the name that what the client gets is held under: whoever
    /// comes with the same name takes over what its dead connection still holds. `None` refuses.
    fn login(&self, user: &str, password: &str, peer: SocketAddr) -> Option<String>;

    /// Decides about a remote that `holder` (as `login` answered) asks for.
    fn grant(&self, holder: &str, remote: &Remote) -> Grant;

    /// Returns the bandwidth that all streams of `holder` share; none if nothing limits them. Asked once a login.
    fn rate(&self, _holder: &str) -> Option<Arc<TokenBucket>> {
        None
    }

    /// Returns who may visit a port that `holder` listens on, and its counters. By default everybody, and
    /// nobody looks at it.
    fn port_access(&self, _holder: &str, _remote: &Remote) -> PortAccess {
        PortAccess {
            may_come: Box::new(|_| true),
            refusal: |_| Vec::new(),
            stats: Arc::default(),
        }
    }

    /// The connection over which `holder` held this port, or listened on it, has ended. By default nobody minds.
    fn on_left(&self, _holder: &str, _port: u16) {}
}

/// Access to a port, and its counters.
pub struct PortAccess {
    /// True if somebody may come from this address; asked at each visit, before a byte is read.
    pub may_come: Box<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// Message for the client about a visitor who may not come, as data of a ping; empty if it is told nothing.
    pub refusal: fn(IpAddr) -> Vec<u8>,
    /// Where they count.
    pub stats: Arc<VisitStats>,
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
