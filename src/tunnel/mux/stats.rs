//! Counters: bytes, streams, visitors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::store::time::since_epoch;
use crate::sync::Permit;

/// Counters of a tunnel, over all its connections.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Bytes from targets into the tunnel.
    pub sent: AtomicU64,
    /// Bytes out of the tunnel to targets.
    pub received: AtomicU64,
    /// Streams that are open.
    pub streams: AtomicU64,
    /// Streams that were opened.
    pub opened: AtomicU64,
    /// Time of the last of them, in milliseconds since 1970; 0 before the first.
    pub last_opened: AtomicU64,
    /// The last round trip in microseconds; 0 before the first.
    pub latency_micros: AtomicU64,
    /// Changes of keys after the first, whichever side began them.
    pub rekeys: AtomicU64,
    /// Streams that the connecting end refused as it had too many, by its user's limit or its own.
    pub refused_full: AtomicU64,
    /// Streams that it refused for another reason: they lead to no target of its own, or nobody answers there.
    pub refused_target: AtomicU64,
}

impl Traffic {
    /// A stream was refused: as there are too many, or for another reason.
    pub(in crate::tunnel) fn count_refused(&self, is_full: bool) {
        let count = if is_full {
            &self.refused_full
        } else {
            &self.refused_target
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counters of a site, or of a public port over all connections that listen on it in turn.
#[derive(Debug, Default)]
pub struct VisitStats {
    /// Requests of a site, also those that its gateway answered; visitors of a port that were let in.
    pub requests: AtomicU64,
    /// Visitors now.
    pub visitors: AtomicU64,
    /// Seconds since 1970 of the last request; 0 before the first.
    pub last_visit: AtomicU64,
    /// Bytes from visitors to the target.
    pub bytes_in: AtomicU64,
    /// Bytes from the target to visitors.
    pub bytes_out: AtomicU64,
}

impl VisitStats {
    /// A request came, at this second since 1970.
    pub(crate) fn count_request(&self, now: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.last_visit.store(now, Ordering::Relaxed);
    }

    pub(crate) fn count_in(&self, bytes: usize) {
        add(&self.bytes_in, bytes);
    }

    pub(crate) fn count_out(&self, bytes: usize) {
        add(&self.bytes_out, bytes);
    }
}

/// A stream that is counted, and has its shares of what may be open at once, until this is dropped.
pub(super) struct StreamPermit {
    traffic: Arc<Traffic>,
    port: Option<Arc<VisitStats>>,
    _shares: Vec<Permit>,
}

impl StreamPermit {
    pub(super) fn new(
        traffic: &Arc<Traffic>,
        port: Option<&Arc<VisitStats>>,
        shares: Vec<Permit>,
    ) -> Self {
        traffic.streams.fetch_add(1, Ordering::Relaxed);
        traffic.opened.fetch_add(1, Ordering::Relaxed);
        let millis = since_epoch(SystemTime::now()).as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        traffic.last_opened.store(millis, Ordering::Relaxed);
        if let Some(port) = port {
            port.count_request(millis / 1000);
            port.visitors.fetch_add(1, Ordering::Relaxed);
        }
        Self {
            traffic: Arc::clone(traffic),
            port: port.cloned(),
            _shares: shares,
        }
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.traffic.streams.fetch_sub(1, Ordering::Relaxed);
        if let Some(port) = &self.port {
            port.visitors.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Adds bytes to a counter.
pub(super) fn add(counter: &AtomicU64, bytes: usize) {
    counter.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
}
