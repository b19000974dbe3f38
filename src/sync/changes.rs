//! Notifies waiting threads of changes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::Mutex;

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
