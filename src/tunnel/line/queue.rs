//! Bytes that wait for a socket; their number is bounded by the channel's window.

use std::collections::VecDeque;

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

    /// Drops all, with its memory.
    pub(super) fn clear(&mut self) {
        self.0 = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
