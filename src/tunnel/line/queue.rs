//! Bytes that wait for a socket; their number is bounded by the channel's window.

use std::collections::VecDeque;
use std::io;

/// Bytes up to which a chunk is filled. Default 32 KiB: a packet; small packets share one.
const CHUNK: usize = 32 * 1024;
/// Bytes that a chunk is made with at least. Default 1 KiB: a small packet seldom comes alone.
const LEAST: usize = 1024;

#[derive(Default)]
pub(super) struct Queue(VecDeque<Vec<u8>>);

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.0.back_mut() {
            Some(last) if last.len() + bytes.len() <= CHUNK => last.extend_from_slice(bytes),
            _ => {
                let mut chunk = Vec::with_capacity(bytes.len().max(LEAST));
                chunk.extend_from_slice(bytes);
                self.0.push_back(chunk);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        self.0.pop_front()
    }

    /// Writes as much as `write` takes at once; answers how much that was.
    pub(super) fn write_to(
        &mut self,
        write: impl Fn(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut total = 0;
        while let Some(mut chunk) = self.0.pop_front() {
            let taken = write(&chunk)?;
            total += taken;
            if taken < chunk.len() {
                chunk.drain(..taken);
                self.0.push_front(chunk);
                break;
            }
        }
        Ok(total)
    }

    /// Drops all, with its memory.
    pub(super) fn clear(&mut self) {
        self.0 = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_stays_in_order() {
        let mut queue = Queue::default();
        queue.push(&[1; CHUNK]);
        queue.push(&[2; 10]);
        assert_eq!(
            queue.write_to(|bytes| Ok(bytes.len() - 1)).unwrap(),
            CHUNK - 1
        );
        assert_eq!(queue.pop(), Some(vec![1]));
        assert_eq!(queue.write_to(|bytes| Ok(bytes.len())).unwrap(), 10);
        assert!(queue.is_empty());
    }

    #[test]
    fn small_pieces_share_a_chunk_and_order_is_kept() {
        let mut queue = Queue::default();
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| at.to_le_bytes()[1]).collect();
        for piece in bytes.chunks(7) {
            queue.push(piece);
        }
        assert!(queue.0.len() <= 5);
        let mut all = Vec::new();
        while let Some(chunk) = queue.pop() {
            all.extend(chunk);
        }
        assert_eq!(all, bytes);
    }
}
