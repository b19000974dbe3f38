//! How many there were of each kind.

use std::sync::atomic::{AtomicU64, Ordering};

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
