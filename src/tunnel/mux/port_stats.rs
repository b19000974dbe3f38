//! What passes through one port, over all connections that listen on it in turn.

use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of a port.
#[derive(Debug, Default)]
pub struct PortStats {
    /// Visitors that were let in.
    pub count: AtomicU64,
    /// Those that are there now.
    pub now: AtomicU64,
    /// Bytes from visitors to the target.
    pub bytes_in: AtomicU64,
    /// Bytes from the target to visitors.
    pub bytes_out: AtomicU64,
}

impl PortStats {
    /// A visitor has come.
    pub(in crate::tunnel) fn come(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.now.fetch_add(1, Ordering::Relaxed);
    }

    /// One has gone.
    pub(in crate::tunnel) fn go(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}
