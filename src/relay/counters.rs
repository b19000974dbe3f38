//! Counters of the applications' traffic. They are statistics: saved with the state each [`EVERY`] and at the end, they
//! go on after a restart; a crash loses the last minute.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::store::time::unix_seconds;
use crate::tunnel::server::VisitStats;

/// Time between two saves, which a crash can lose. Default 1 min.
pub const EVERY: Duration = crate::limits::COUNTERS_EVERY;

/// Stored form: requests, bytes in and out, the last visit, and the start of counting; times in seconds since 1970.
pub(super) type Kept = [u64; 5];

/// Traffic of an application since counting began; goes on when the relay starts again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Requests of a site, or connections of a public port.
    pub(super) requests: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    /// Current visitors.
    pub(super) visitors: u64,
    /// Seconds since 1970; 0 without one.
    pub(super) last_visit: u64,
    /// Start of counting, in seconds since 1970; 0 if nothing is counted.
    pub(super) since: u64,
}

impl Passed {
    pub(super) fn of(stats: &VisitStats, since: u64) -> Self {
        Self {
            requests: stats.requests.load(Ordering::Relaxed),
            bytes_in: stats.bytes_in.load(Ordering::Relaxed),
            bytes_out: stats.bytes_out.load(Ordering::Relaxed),
            visitors: stats.visitors.load(Ordering::Relaxed),
            last_visit: stats.last_visit.load(Ordering::Relaxed),
            since,
        }
    }

    /// Reads the stored form.
    pub(super) fn from_kept([requests, bytes_in, bytes_out, last_visit, since]: Kept) -> Self {
        // No time is in the future, whoever has written it.
        let now = unix_seconds();
        Self {
            requests,
            bytes_in,
            bytes_out,
            visitors: 0,
            last_visit: last_visit.min(now),
            since: since.min(now),
        }
    }

    pub(super) fn to_kept(self) -> Kept {
        [
            self.requests,
            self.bytes_in,
            self.bytes_out,
            self.last_visit,
            self.since,
        ]
    }

    /// Bytes of both ways.
    pub(super) fn bytes(self) -> u64 {
        self.bytes_in.saturating_add(self.bytes_out)
    }

    /// Adds the counters of another.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            bytes_in: self.bytes_in.saturating_add(other.bytes_in),
            bytes_out: self.bytes_out.saturating_add(other.bytes_out),
            visitors: self.visitors.saturating_add(other.visitors),
            last_visit: self.last_visit.max(other.last_visit),
            since: match (self.since, other.since) {
                (0, since) | (since, 0) => since,
                (one, another) => one.min(another),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_was_here_in_the_future() {
        let kept = Passed::from_kept([1, 2, 3, u64::MAX, u64::MAX]);
        assert!(kept.last_visit <= unix_seconds() && kept.since <= unix_seconds());
    }
}
