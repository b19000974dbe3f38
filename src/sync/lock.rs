//! Locks without poison: those of `std`, but their guards are given out even after a panic.
//!
//! Code under a lock of this program leaves the data valid at every step. Code that may panic (handlers, callbacks, the
//! database driver) is contained and runs outside. A poisoned lock would only turn one failure into many.

use std::sync::{self, LockResult, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::Duration;

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
