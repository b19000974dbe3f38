//! Read buffers, held only by threads that have something to read.

use std::sync::{Mutex, PoisonError};

/// Bytes of a buffer. Default 64 KiB: two of the largest packets.
const SIZE: usize = 64 * 1024;
/// Unused buffers that are kept, 512 KiB. Default 8: as many streams as a small machine
/// serves at the same moment.
const KEPT: usize = 8;

/// A store of buffers that all streams of a connection share, so that idle ones have none.
#[derive(Default)]
pub(super) struct Buffers(Mutex<Vec<Box<[u8]>>>);

impl Buffers {
    pub(super) fn take(&self) -> Box<[u8]> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| vec![0; SIZE].into_boxed_slice())
    }

    pub(super) fn give_back(&self, buffer: Box<[u8]>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(buffer);
        }
    }
}
