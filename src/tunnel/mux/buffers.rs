//! Read buffers, held only by threads that have something to read.

use crate::sync::{Condvar, Mutex, MutexGuard};

/// Bytes of a buffer. Default 64 KiB: two of the largest packets.
const SIZE: usize = 64 * 1024;
/// Unused buffers that are kept, 512 KiB. Default 8: as many streams as a small machine
/// serves at the same moment.
const KEPT: usize = 8;
/// Buffers in use. Default 64, 4 MiB: more streams than that find no room in the output at the
/// same moment, and wait just as well for a buffer.
const MOST: usize = 64;

/// A store of buffers that all streams of a connection share, so that idle ones have none.
#[derive(Default)]
pub(super) struct Buffers {
    store: Mutex<Store>,
    returned: Condvar,
}

#[derive(Default)]
struct Store {
    kept: Vec<Box<[u8]>>,
    used: usize,
    waiting: usize,
}

impl Buffers {
    /// Waits while [`MOST`] are in use. Who holds one waits for the WebSocket at most, whose end comes
    /// by a time limit of its own, and never for one stream's window.
    pub(super) fn take(&self) -> Box<[u8]> {
        let all_used = |store: &mut Store| store.used >= MOST;
        let mut store = self.store();
        if all_used(&mut store) {
            store.waiting += 1;
            let waited = self.returned.wait_while(store, all_used);
            store = waited;
            store.waiting -= 1;
        }
        store.used += 1;
        let kept = store.kept.pop();
        drop(store);
        kept.unwrap_or_else(|| vec![0; SIZE].into_boxed_slice())
    }

    pub(super) fn give_back(&self, buffer: Box<[u8]>) {
        let mut store = self.store();
        store.used = store.used.saturating_sub(1);
        if store.kept.len() < KEPT {
            store.kept.push(buffer);
        }
        let is_wanted = store.waiting > 0;
        drop(store);
        if is_wanted {
            self.returned.notify_one();
        }
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_finds_none_waits_for_the_next_that_is_returned() {
        let buffers = Buffers::default();
        let mut used: Vec<_> = (0..MOST).map(|_| buffers.take()).collect();
        let (tell, told) = crossbeam_channel::bounded(1);
        std::thread::scope(|scope| {
            scope.spawn(|| tell.send(buffers.take()).unwrap());
            assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
            buffers.give_back(used.pop().unwrap());
            let last = told.recv_timeout(Duration::from_secs(10)).unwrap();
            used.push(last);
        });
        used.into_iter().for_each(|one| buffers.give_back(one));
        let store = buffers.store();
        assert_eq!((store.used, store.kept.len()), (0, KEPT));
    }
}
