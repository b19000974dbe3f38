//! Read buffers, held only by threads that have something to read.

use crate::sync::{Condvar, Mutex, MutexGuard};

/// Bytes of a buffer, 64 KiB: two of the largest packets.
const SIZE: usize = 64 * 1024;
/// Unused buffers that are kept, 8 of 512 KiB together: as many streams as a small machine serves at
/// the same moment.
const KEPT: usize = 8;
/// Buffers in use, 64 of 4 MiB together: more streams than that find no room in the output at the
/// same moment, and wait just as well for a buffer.
const MOST: usize = 64;

/// Buffers that all streams of a connection share, so that idle ones have none.
#[derive(Default)]
pub(super) struct BufferPool {
    buffers: Mutex<Buffers>,
    returned: Condvar,
}

#[derive(Default)]
struct Buffers {
    kept: Vec<Box<[u8]>>,
    used: usize,
    waiting: usize,
}

impl BufferPool {
    /// Waits while [`MOST`] are in use. Who holds one waits for the WebSocket at most, whose end comes
    /// by a time limit of its own, and never for one stream's window.
    pub(super) fn take(&self) -> Box<[u8]> {
        let all_used = |buffers: &mut Buffers| buffers.used >= MOST;
        let mut buffers = self.buffers();
        if all_used(&mut buffers) {
            buffers.waiting += 1;
            buffers = self.returned.wait_while(buffers, all_used);
            buffers.waiting -= 1;
        }
        buffers.used += 1;
        let kept = buffers.kept.pop();
        drop(buffers);
        kept.unwrap_or_else(|| vec![0; SIZE].into_boxed_slice())
    }

    pub(super) fn give_back(&self, buffer: Box<[u8]>) {
        let mut buffers = self.buffers();
        buffers.used = buffers.used.saturating_sub(1);
        if buffers.kept.len() < KEPT {
            buffers.kept.push(buffer);
        }
        let is_wanted = buffers.waiting > 0;
        drop(buffers);
        if is_wanted {
            self.returned.notify_one();
        }
    }

    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_finds_none_waits_for_the_next_that_is_returned() {
        let buffers = BufferPool::default();
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
        let left = buffers.buffers();
        assert_eq!((left.used, left.kept.len()), (0, KEPT));
    }
}
