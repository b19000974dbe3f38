//! How calls of connectors end, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// What may come of a call.
const OUTCOMES: [&str; 6] = ["ok", "refused", "limited", "busy", "failed", "invalid"];

fn outcome(status: u16) -> &'static str {
    match status {
        ..=399 => "ok",
        401 | 403 => "refused",
        429 => "limited",
        503 => "busy",
        500.. => "failed",
        _ => "invalid",
    }
}

/// Calls of connectors by what came of them.
#[derive(Debug, Default)]
pub(super) struct CallStats([AtomicU64; OUTCOMES.len()]);

impl CallStats {
    /// One that was answered with this status.
    pub(super) fn note(&self, status: u16) {
        let outcome = outcome(status);
        let counts = self.0.iter().zip(OUTCOMES);
        for (count, _) in counts.filter(|(_, name)| *name == outcome) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many ended how.
    pub(super) fn by_outcome(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        OUTCOMES.into_iter().zip(counts).collect()
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
