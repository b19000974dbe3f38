//! Permits: so many at once, each counted until it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts [`Permit`]s; clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Permits(Arc<AtomicUsize>);

impl Permits {
    /// How many are out.
    pub(crate) fn out(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// One more, unless `most` are out.
    pub(crate) fn take(&self, most: usize) -> Option<Permit> {
        let step = |out: usize| (out < most).then_some(out + 1);
        self.0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, step)
            .ok()
            .map(|_| Permit(Arc::clone(&self.0)))
    }
}

/// One of those that may be at something at once; it counts until it is dropped.
#[derive(Debug)]
#[must_use = "it counts until it is dropped"]
pub(crate) struct Permit(Arc<AtomicUsize>);

impl Permit {
    /// True if it is one of these.
    pub(crate) fn is_of(&self, permits: &Permits) -> bool {
        Arc::ptr_eq(&self.0, &permits.0)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_so_many_are_out_and_each_comes_back() {
        let permits = Permits::default();
        let (one, two) = (permits.take(2), permits.clone().take(2));
        assert!(one.is_some() && two.is_some() && permits.take(2).is_none());
        drop(one);
        assert!(permits.take(2).is_some());
    }
}
