//! The bytes that have arrived and not been dealt with.

use std::ops::Range;

use zeroize::Zeroizing;

use super::limits;

/// A buffer that is compacted when its end is near, and grows while reads fill it: whoever has not signed in holds little.
pub(super) struct Input {
    bytes: Zeroizing<Vec<u8>>,
    start: usize,
    end: usize,
    /// The last read has filled it.
    was_filled: bool,
}

impl Input {
    /// Free bytes at the end below which the buffer is compacted. Default 64 KiB: a read
    /// that large is worth a system call.
    const LEAST_SPACE: usize = 64 * 1024;
    /// Bytes that it begins with. Default 8 KiB: more than a handshake sends at once.
    const FIRST: usize = 8 * 1024;
    /// It grows to so many times its size.
    const GROWTH: usize = 4;

    pub(super) fn new() -> Self {
        Self {
            bytes: Zeroizing::new(vec![0; Self::FIRST]),
            start: 0,
            end: 0,
            was_filled: false,
        }
    }

    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < Self::LEAST_SPACE && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if std::mem::take(&mut self.was_filled) && self.bytes.len() < limits::INPUT {
            let size = limits::INPUT.min(Self::GROWTH * self.bytes.len());
            let mut grown = Zeroizing::new(vec![0; size]);
            let (kept, _) = grown.split_at_mut(self.end);
            kept.copy_from_slice(self.at(0..self.end));
            self.bytes = grown;
        }
        self.bytes
            .get_mut(self.end..)
            .expect("the end lies in the buffer")
    }

    pub(super) fn mark_filled(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.bytes.len());
        self.was_filled = self.end == self.bytes.len();
    }

    /// All that waits.
    pub(super) fn pending(&self) -> &[u8] {
        self.at(self.start..self.end)
    }

    /// The first `count` bytes that wait, and where they are; none when there are fewer.
    pub(super) fn front(&mut self, count: usize) -> Option<(&mut [u8], usize)> {
        let start = self.start;
        let bytes = self.at_mut(start..self.end).get_mut(..count)?;
        Some((bytes, start))
    }

    /// The first `count` bytes have been dealt with; they stay where they are until
    /// [`Input::space`].
    pub(super) fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    pub(super) fn at(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).expect("a range of the buffer")
    }

    pub(super) fn at_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.bytes.get_mut(range).expect("a range of the buffer")
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> &[u8] {
        &self.bytes
    }
}
