//! Locks without poison: those of `std`, but their guards are given out even after a panic.
//!
//! Code under a lock of this program leaves the data valid at every step. Code that may panic (handlers, callbacks, the
//! database driver) is contained and runs outside. A poisoned lock would only turn one failure into many.

use std::sync;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LockResult, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

pub(crate) use std::sync::MutexGuard;

/// A mutex without poison.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A mutex around `value`.
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        unpoisoned(self.0.lock())
    }

    /// The lock if nobody has it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A reader-writer lock without poison.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Waits until nobody writes.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        unpoisoned(self.0.read())
    }

    /// Waits until nobody reads or writes.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        unpoisoned(self.0.write())
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(sync::Condvar);

impl Condvar {
    /// A condition variable that nobody waits for.
    pub(crate) const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    /// Waits to be notified, for `within` at most; may also wake up for no reason.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        within: Duration,
    ) -> MutexGuard<'a, T> {
        unpoisoned(self.0.wait_timeout(guard, within)).0
    }

    /// Waits to be notified while `condition` holds.
    pub(crate) fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        unpoisoned(self.0.wait_while(guard, condition))
    }

    /// Waits for `within` at most.
    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        within: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        unpoisoned(self.0.wait_timeout_while(guard, within, condition)).0
    }

    /// Wakes one waiting thread.
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Changes of one thing. Noting one costs little while nobody waits.
#[derive(Default)]
pub(crate) struct Changes {
    count: AtomicU64,
    is_awaited: AtomicBool,
    /// Dropped at the next change.
    waiting: Mutex<Vec<Sender<()>>>,
}

impl Changes {
    /// Returns a channel that is closed at the next change. Look at the thing after this call, so that no change is
    /// missed.
    pub(crate) fn next(&self) -> Receiver<()> {
        let (waiting, next) = bounded(0);
        self.waiting.lock().push(waiting);
        self.is_awaited.store(true, Ordering::SeqCst);
        next
    }

    /// Number of changes so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Notes a change, which ends all waits.
    pub(crate) fn note(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) && self.is_awaited.swap(false, Ordering::SeqCst) {
            self.waiting.lock().clear();
        }
    }
}

/// Ends every wait.
impl Drop for Changes {
    fn drop(&mut self) {
        self.note();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::TryRecvError::{Disconnected, Empty};

    #[test]
    fn who_waits_hears_of_the_next_change_once() {
        let changes = Changes::default();
        changes.note();
        let (one, other) = (changes.next(), changes.next());
        assert_eq!(one.try_recv(), Err(Empty));
        changes.note();
        assert_eq!(
            [one, other].map(|next| next.try_recv()),
            [Err(Disconnected); 2]
        );
        assert_eq!(changes.next().try_recv(), Err(Empty));
    }
}
