//! How calls of connectors end, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// How calls of connectors end, by status: the first that holds.
const OUTCOMES: [(&str, fn(u16) -> bool); 6] = [
    ("ok", |status| status < 400),
    ("refused", |status| matches!(status, 401 | 403)),
    ("limited", |status| status == 429),
    ("busy", |status| status == 503),
    ("failed", |status| status >= 500),
    ("invalid", |_| true),
];

/// Calls of connectors by what came of them.
#[derive(Debug, Default)]
pub(super) struct CallStats([AtomicU64; OUTCOMES.len()]);

impl CallStats {
    /// One that was answered with this status.
    pub(super) fn note(&self, status: u16) {
        let outcomes = self.0.iter().zip(OUTCOMES);
        for (count, _) in outcomes.filter(|(_, (_, is))| is(status)).take(1) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many ended how.
    pub(super) fn by_outcome(&self) -> Vec<(&'static str, u64)> {
        let names = OUTCOMES.iter().map(|(name, _)| *name);
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        names.zip(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_count_once_by_what_came_of_them() {
        let calls = CallStats::default();
        for status in [200, 400, 404, 401, 403, 429, 503, 500] {
            calls.note(status);
        }
        let expected = [
            ("ok", 1),
            ("refused", 2),
            ("limited", 1),
            ("busy", 1),
            ("failed", 1),
            ("invalid", 2),
        ];
        assert_eq!(calls.by_outcome(), expected);
    }
}
