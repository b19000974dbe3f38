//! Bytes that wait for a socket; their number is bounded by the channel's window.

use std::collections::VecDeque;
use std::io;

/// Bytes up to which a chunk is filled, 32 KiB: a packet; small packets share one.
const CHUNK: usize = 32 * 1024;
/// Bytes that a chunk is made with at least, 1 KiB: a small packet seldom comes alone.
const LEAST: usize = 1024;

#[derive(Default)]
pub(super) struct Queue {
    /// None of them is empty.
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are done with.
    used: usize,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.chunks.back_mut() {
            Some(last) if last.len() + bytes.len() <= CHUNK => last.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => {
                let mut chunk = Vec::with_capacity(bytes.len().max(LEAST));
                chunk.extend_from_slice(bytes);
                self.chunks.push_back(chunk);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let mut chunk = self.chunks.pop_front()?;
        chunk.drain(..std::mem::take(&mut self.used));
        Some(chunk)
    }

    /// Writes as much as `write` takes at once; returns the number of bytes.
    pub(super) fn write_to(
        &mut self,
        write: impl Fn(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut total = 0;
        while let Some(rest) = self.first() {
            let (taken, whole) = (write(rest)?, rest.len());
            total += taken;
            self.advance(taken);
            if taken < whole {
                break;
            }
        }
        Ok(total)
    }

    /// Moves as much as `buffer` has room for; returns the number of bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while let Some(rest) = self.first()
            && let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty())
        {
            let count = rest.len().min(room.len());
            let room = room.get_mut(..count).expect("the smaller of both");
            room.copy_from_slice(rest.get(..count).expect("the smaller of both"));
            filled += count;
            self.advance(count);
        }
        filled
    }

    /// Drops all, with its memory.
    pub(super) fn clear(&mut self) {
        *self = Queue::default();
    }

    /// Returns the next bytes; never empty.
    fn first(&self) -> Option<&[u8]> {
        let chunk = self.chunks.front()?;
        Some(chunk.get(self.used..).expect("a chunk is not used up"))
    }

    fn advance(&mut self, count: usize) {
        self.used += count;
        let chunk = self.chunks.front().map_or(0, Vec::len);
        if self.used >= chunk {
            self.chunks.pop_front();
            self.used = 0;
        }
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
        assert!(queue.chunks.len() <= 5);
        let mut all = Vec::new();
        while let Some(chunk) = queue.pop() {
            all.extend(chunk);
        }
        assert_eq!(all, bytes);
    }

    #[test]
    fn what_is_read_in_pieces_of_any_size_is_what_was_pushed() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|at| at.to_le_bytes()[1]).collect();
        for size in [1, 7, CHUNK, CHUNK + 1, 300_000] {
            let (mut queue, mut all) = (Queue::default(), Vec::new());
            for piece in bytes.chunks(40_000) {
                queue.push(piece);
            }
            let mut buffer = vec![0; size];
            while let count @ 1.. = queue.read(&mut buffer) {
                all.extend_from_slice(&buffer[..count]);
            }
            assert!(queue.is_empty() && all == bytes, "{size}");
        }
    }

    #[test]
    fn a_chunk_that_was_read_in_part_is_handed_on_without_it() {
        let mut queue = Queue::default();
        queue.push(b"abcdef");
        assert_eq!(queue.read(&mut [0; 2]), 2);
        assert_eq!(queue.write_to(|bytes| Ok(bytes.len().min(1))).unwrap(), 1);
        assert_eq!(queue.pop(), Some(b"def".to_vec()));
        assert!(queue.is_empty());
    }
}
