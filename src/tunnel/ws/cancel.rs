//! One signal that ends whatever waits.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::sync::{Mutex, MutexGuard};

/// Ends waits from another thread; clones are the same signal. Once given it stays given.
///
/// It holds no descriptors: those that [`dial`](super::dial()) needs to be woken live as long as
/// the call.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Mutex<CancelState>>);

#[derive(Default)]
struct CancelState {
    cancelled: bool,
    next: u64,
    watchers: BTreeMap<u64, Box<dyn FnOnce() + Send>>,
}

impl Cancel {
    /// A signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal: every watcher is called, on this thread.
    pub fn cancel(&self) {
        let watchers = {
            let mut state = self.state();
            state.cancelled = true;
            std::mem::take(&mut state.watchers)
        };
        for watcher in watchers.into_values() {
            watcher();
        }
    }

    /// True if the signal has been given.
    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Calls `watcher` when the signal is given, at once when it has been; not any more after
    /// the answer was dropped (but a call under way is not waited for). It must not block.
    pub fn watch(&self, watcher: impl FnOnce() + Send + 'static) -> Watch {
        let mut state = self.state();
        let id = state.next;
        if state.cancelled {
            drop(state);
            watcher();
        } else {
            state.next += 1;
            state.watchers.insert(id, Box::new(watcher));
        }
        Watch {
            cancel: self.clone(),
            id,
        }
    }

    fn state(&self) -> MutexGuard<'_, CancelState> {
        self.0.lock()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cancelled = self.is_cancelled();
        f.debug_struct("Cancel")
            .field("cancelled", &cancelled)
            .finish()
    }
}

/// A registration with [`Cancel::watch`]; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the registration ends when this is dropped"]
pub struct Watch {
    cancel: Cancel,
    id: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let watcher = self.cancel.state().watchers.remove(&self.id);
        // The watcher may hold something with a destructor of its own: not under the lock.
        drop(watcher);
    }
}

/// A descriptor that becomes readable when the signal is given.
pub(super) struct Wake {
    end: UnixStream,
    _watch: Watch,
}

impl Wake {
    pub(super) fn new(cancel: &Cancel) -> io::Result<Self> {
        let (end, other) = UnixStream::pair()?;
        Ok(Self {
            end,
            _watch: cancel.watch(move || drop(other)),
        })
    }

    pub(super) fn end(&self) -> &UnixStream {
        &self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn counter(count: &Arc<AtomicUsize>) -> impl FnOnce() + Send + use<> {
        let count = Arc::clone(count);
        move || {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn watchers_are_called_once_and_only_while_watching() {
        let (cancel, count) = (Cancel::new(), Arc::new(AtomicUsize::new(0)));
        drop(cancel.watch(counter(&count)));
        let _kept = cancel.watch(counter(&count));
        assert!(!cancel.is_cancelled());
        cancel.clone().cancel();
        cancel.cancel();
        assert!(cancel.is_cancelled());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let _late = cancel.watch(counter(&count));
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_watcher_may_use_the_signal_itself() {
        let cancel = Cancel::new();
        let inner = cancel.clone();
        let _watch = cancel.watch(move || assert!(inner.is_cancelled()));
        cancel.cancel();
    }

    #[test]
    fn a_wake_becomes_readable_and_leaves_nothing_behind() {
        let cancel = Cancel::new();
        drop(Wake::new(&cancel).unwrap());
        assert!(cancel.state().watchers.is_empty());
        let wake = Wake::new(&cancel).unwrap();
        cancel.cancel();
        assert_eq!((&wake.end).read(&mut [0]).unwrap(), 0);
    }
}
