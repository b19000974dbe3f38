//! Counts by kind, and durations in buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in microseconds, and in seconds as they are written. Longer durations are in one more
/// bucket.
pub(super) const BOUNDS: [(u64, &str); 13] = [
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (10_000_000, "10"),
    (60_000_000, "60"),
];

/// Counts durations without a lock, and without memory of its own for each.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    /// Sum of all, in microseconds.
    micros: AtomicU64,
}

/// Counts of a histogram at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Durations {
    /// Durations in each bucket that are in none before.
    pub(super) counts: [u64; BOUNDS.len() + 1],
    /// Sum of all, in microseconds.
    pub(super) micros: u64,
}

impl Histogram {
    /// Counts a duration.
    pub(crate) fn note(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().take_while(|(bound, _)| micros > *bound);
        if let Some(count) = self.counts.get(bucket.count()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the current counts.
    pub(crate) fn read(&self) -> Durations {
        Durations {
            counts: self
                .counts
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed)),
            micros: self.micros.load(Ordering::Relaxed),
        }
    }
}

impl Durations {
    /// Number of durations.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_micros(self.micros).as_secs_f64()
    }
}

/// Counts of `N` kinds, without a lock.
#[derive(Debug)]
pub(crate) struct Tally<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; N])
    }
}

impl<const N: usize> Tally<N> {
    /// Counts one of the kind with this index, if there is such a kind.
    pub(crate) fn add(&self, index: Option<usize>) {
        if let Some(count) = index.and_then(|index| self.0.get(index)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the counts with the names of their kinds.
    pub(crate) fn read(&self, names: [&'static str; N]) -> Vec<(&'static str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        names.into_iter().zip(counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        for ms in [0, 1, 5, 6, 60_000, 60_001] {
            histogram.note(Duration::from_millis(ms));
        }
        let read = histogram.read();
        assert_eq!((read.count(), read.micros), (6, 120_013_000));
        let used = read.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        let used: Vec<(usize, u64)> = used.map(|(at, count)| (at, *count)).collect();
        assert_eq!(used, [(0, 2), (2, 1), (3, 1), (12, 1), (13, 1)]);
    }

    #[test]
    fn the_bounds_rise_and_are_written_as_seconds() {
        assert!(BOUNDS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (micros, seconds) in BOUNDS {
            let written: f64 = seconds.parse().unwrap();
            assert!((written * 1e6 - f64::from(u32::try_from(micros).unwrap())).abs() < 1e-6);
        }
    }
}
