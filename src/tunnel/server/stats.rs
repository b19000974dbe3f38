//! Counters of a server beside its traffic.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counted since the server started.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// Connections that were turned away, as there were too many, or too many with one login.
    pub turned_away: AtomicU64,
    /// Logins, one a connection.
    pub logins: AtomicU64,
    /// Logins that were refused.
    pub logins_refused: AtomicU64,
    /// Requests of clients for what they had before, and lost with their connection.
    pub reconnects: AtomicU64,
    /// Visitors that came to public ports.
    pub visitors: AtomicU64,
    /// Those of them from an address that may not come.
    pub not_allowed: AtomicU64,
    /// Those for whom there was no room.
    pub too_many: AtomicU64,
    /// Streams for which no tunnel was connected.
    pub no_tunnel: AtomicU64,
    /// Streams whose tunnel ended, or took no more.
    pub broken_tunnel: AtomicU64,
}

/// Clients of a server, as they are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientCounts {
    /// Connections that have logged in.
    pub tunnels: usize,
    /// Connections that have not.
    pub pending: usize,
}

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
