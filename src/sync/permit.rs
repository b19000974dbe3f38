//! Permits: a limited number at once, each counted until it is dropped.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lock::Mutex;

/// Counts [`Permit`]s; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Permits(Arc<AtomicUsize>);

impl Permits {
    /// Number of permits in use.
    pub fn out(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Takes a permit, unless `most` are in use.
    pub(crate) fn take(&self, most: usize) -> Option<Permit> {
        self.take_several(1, most)
    }

    /// Takes a permit that counts as `count`, unless more than `most` would be in use.
    pub(crate) fn take_several(&self, count: usize, most: usize) -> Option<Permit> {
        let mut permit = self.empty();
        permit.grow_to(count, most).then_some(permit)
    }

    /// Returns a permit that counts as nothing until it grows.
    pub(crate) fn empty(&self) -> Permit {
        let permits = self.clone();
        Permit { permits, count: 0 }
    }
}

/// A permit; it counts until it is dropped.
#[derive(Debug)]
#[must_use = "it counts until it is dropped"]
pub(crate) struct Permit {
    permits: Permits,
    count: usize,
}

impl Permit {
    /// True if it is one of `permits`.
    pub(crate) fn is_of(&self, permits: &Permits) -> bool {
        Arc::ptr_eq(&self.permits.0, &permits.0)
    }

    /// Makes it count as `count` if that is more; false, and no change, if more than `most` would be in use.
    pub(crate) fn grow_to(&mut self, count: usize, most: usize) -> bool {
        let Some(more) = count.checked_sub(self.count).filter(|more| *more > 0) else {
            return true;
        };
        let step = |out: usize| out.checked_add(more).filter(|out| *out <= most);
        let out = &self.permits.0;
        let grown = out.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
        if grown.is_ok() {
            self.count = count;
        }
        grown.is_ok()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.0.fetch_sub(self.count, Ordering::SeqCst);
    }
}

/// Permits of each key, such as a source of requests. Keys without a permit in use are dropped when the map is full.
#[derive(Debug)]
pub(crate) struct KeyedPermits<K>(Mutex<HashMap<K, Permits>>);

impl<K> Default for KeyedPermits<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> KeyedPermits<K> {
    /// Permits of this key.
    pub(crate) fn of(&self, key: K) -> Permits {
        let mut all = self.0.lock();
        if all.len() == all.capacity() {
            all.retain(|_, permits| Arc::strong_count(&permits.0) > 1);
            // Room for as many new keys before all are checked again.
            let used = all.len();
            all.reserve(used + 1);
        }
        all.entry(key).or_default().clone()
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

    #[test]
    fn a_permit_may_count_as_several_and_grow_within_the_limit() {
        let permits = Permits::default();
        let mut one = permits.take_several(60, 100).unwrap();
        assert!(permits.take_several(41, 100).is_none());
        assert!(!one.grow_to(101, 100) && one.grow_to(100, 100) && one.grow_to(7, 0));
        assert_eq!(permits.out(), 100);
        drop(one);
        assert_eq!(permits.out(), 0);
    }

    #[test]
    fn each_key_has_its_own_and_only_those_in_use_are_remembered() {
        let keyed = KeyedPermits::default();
        let held: Vec<_> = (0..100).map(|key| keyed.of(key).take(1)).collect();
        assert!(held.iter().all(Option::is_some));
        for key in 100..10_000 {
            assert!(keyed.of(key).take(1).is_some());
        }
        assert!((0..100).all(|key| keyed.of(key).take(1).is_none()));
        assert!(keyed.0.lock().len() < 1000);
        let of_one = keyed.of(1);
        drop(held);
        (100..10_000).for_each(|key| drop(keyed.of(key)));
        let permit = of_one.take(1).unwrap();
        assert!(permit.is_of(&keyed.of(1)), "somebody held these");
    }
}
