//! The way down of an exchange: the bytes that the upstream has sent and the client has not taken.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::time::Instant;

use super::byte_stream::ClientStream;
use super::response_head::{NotHttp, Piece, ResponseHead};
use super::rules::{Outcome, Rules};
use crate::sync::part_of_memory;

/// Bytes read from an upstream at once, at first. Default 8 KiB: most answers are small.
const SMALL_BUFFER: usize = 8 * 1024;
/// Bytes of a body that are copied behind their head. Default 1 KiB: sending two pieces costs the system more.
const COPIED: usize = 1024;
/// Bytes read at once when an answer fills the small buffer. Default 128 KiB, less in a small memory; a head may have
/// all of it.
const LARGE_BUFFER: usize = 128 * 1024;

thread_local! {
    /// Small buffer that the next answer on this thread reads into: an answer that is awaited has none.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// An answer on its way.
pub(super) struct ResponseBody {
    pub(super) head: ResponseHead,
    buffer: Vec<u8>,
    /// Part of the buffer that has not been looked at.
    fresh: Range<usize>,
    /// Bytes that the client has not taken: first of these bytes,
    before: Vec<u8>,
    /// which it has so many of,
    before_sent: usize,
    /// then of the buffer.
    body: Range<usize>,
    /// True if anything came from the upstream.
    received: bool,
    /// Bytes that the client has taken in all.
    pub(super) sent: u64,
    pub(super) moved: Instant,
}

/// Bytes of the large buffer for bodies.
fn of_body() -> usize {
    part_of_memory(2048, LARGE_BUFFER)
}

impl ResponseBody {
    pub(super) fn new(head: ResponseHead, now: Instant) -> ResponseBody {
        ResponseBody {
            head,
            buffer: Vec::new(),
            fresh: 0..0,
            before: Vec::new(),
            before_sent: 0,
            body: 0..0,
            received: false,
            sent: 0,
            moved: now,
        }
    }

    /// Returns the bytes that have been read and not been looked at.
    pub(super) fn unseen(&self) -> &[u8] {
        self.buffer
            .get(self.fresh.clone())
            .expect("what was read lies in the buffer")
    }

    pub(super) fn has_piece(&self) -> bool {
        self.before_sent < self.before.len() || !self.body.is_empty()
    }

    /// True if no message can be sent any more: the client has a part of the answer, or of an interim one.
    pub(super) fn has_begun(&self) -> bool {
        self.head.has_head() || (self.has_piece() && self.before_sent > 0)
    }

    pub(super) fn is_over(&self) -> bool {
        self.head.is_done() || self.head.is_upgraded()
    }

    pub(super) fn is_done(&self) -> bool {
        self.head.is_done() && !self.has_piece()
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.head.is_upgraded() && !self.has_piece()
    }

    /// Looks at the bytes that were read; false if these are not enough.
    pub(super) fn next_piece(&mut self, rules: &dyn Rules, last: bool) -> Result<bool, Outcome> {
        if self.fresh.is_empty() {
            return Ok(false);
        }
        let piece = self.step(rules, last).map_err(|why| self.not_http(why))?;
        self.before = piece.before;
        self.before_sent = 0;
        let has_moved = piece.consumed > 0;
        if has_moved && self.body.is_empty() && self.head.has_head() {
            self.join_body(rules, last)?;
        }
        Ok(has_moved)
    }

    /// Joins the head with the first bytes of the body: one packet for most answers.
    fn join_body(&mut self, rules: &dyn Rules, last: bool) -> Result<(), Outcome> {
        if self.fresh.is_empty() || self.is_over() {
            return Ok(());
        }
        // The head has not been sent: the client can still be told.
        let piece = self
            .step(rules, last)
            .map_err(|NotHttp(why)| Outcome::NotHttp(why))?;
        self.before.extend_from_slice(&piece.before);
        let body = self.buffer.get(self.body.clone());
        let body = body.expect("the body lies in the buffer");
        if body.len() <= COPIED {
            self.before.extend_from_slice(body);
            self.body.start = self.body.end;
        }
        Ok(())
    }

    /// Decides which of the bytes that were read to send next.
    fn step(&mut self, rules: &dyn Rules, last: bool) -> Result<Piece, NotHttp> {
        let input = self
            .buffer
            .get(self.fresh.clone())
            .expect("what was read lies in the buffer");
        let piece = self.head.step(rules, input, last)?;
        let start = self.fresh.start;
        self.body = start + piece.body.start..start + piece.body.end;
        self.fresh.start += piece.consumed;
        Ok(piece)
    }

    /// Sends as much as the client takes at once; returns that number of bytes.
    pub(super) fn send(&mut self, client: &mut dyn ClientStream) -> io::Result<usize> {
        let before = self.before.get(self.before_sent..);
        let before = before.expect("no more is sent than there is");
        let body = self.buffer.get(self.body.clone());
        let body = body.expect("the body lies in the buffer");
        let sent = match (before, body) {
            (one, []) | ([], one) => client.write(one)?,
            _ => client.write_vectored(&[IoSlice::new(before), IoSlice::new(body)])?,
        };
        if sent == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.moved = Instant::now();
        self.sent += u64::try_from(sent).unwrap_or(u64::MAX);
        let of_before = sent.min(before.len());
        self.before_sent += of_before;
        self.body.start += sent - of_before;
        Ok(sent)
    }

    /// Returns the room to read into; `None` if a head fills the largest buffer.
    pub(super) fn room(&mut self) -> Option<&mut [u8]> {
        if self.fresh.is_empty() {
            self.fresh = 0..0;
        }
        if self.buffer.is_empty() {
            let spare = SPARE.take();
            self.buffer = if spare.is_empty() {
                vec![0; SMALL_BUFFER]
            } else {
                spare
            };
        } else if self.fresh.end == self.buffer.len() && self.fresh.start > 0 {
            self.buffer.copy_within(self.fresh.clone(), 0);
            self.fresh = 0..self.fresh.len();
        } else if self.fresh.end == self.buffer.len() {
            self.enlarge(LARGE_BUFFER);
        }
        self.buffer
            .get_mut(self.fresh.end..)
            .filter(|room| !room.is_empty())
    }

    /// Called when nothing is read for now: gives a small buffer to the next answer, unless some bytes are left in it.
    pub(super) fn give_back_buffer(&mut self) {
        if self.fresh.is_empty() && self.body.is_empty() && self.buffer.len() == SMALL_BUFFER {
            (self.fresh, self.body) = (0..0, 0..0);
            SPARE.set(std::mem::take(&mut self.buffer));
        }
    }

    pub(super) fn mark_filled(&mut self, count: usize) {
        self.received = true;
        self.moved = Instant::now();
        self.fresh.end += count;
        if count >= SMALL_BUFFER && self.buffer.len() < of_body() {
            self.enlarge(of_body());
        }
    }

    /// Makes a new vector instead of `resize`: its zeros come from the allocator, and those of `resize` byte by byte if
    /// code is compiled for size.
    fn enlarge(&mut self, bytes: usize) {
        let mut large = vec![0; bytes];
        let front = large.get_mut(..self.buffer.len());
        front
            .expect("no buffer is larger")
            .copy_from_slice(&self.buffer);
        self.buffer = large;
    }

    /// Called at the end of the upstream's bytes.
    pub(super) fn ended(&mut self) -> Result<(), Outcome> {
        if !self.received {
            return Err(Outcome::Unanswered(None));
        }
        self.moved = Instant::now();
        self.before = self.head.end().map_err(|why| self.not_http(why))?;
        self.before_sent = 0;
        Ok(())
    }

    pub(super) fn broke(&self, error: io::Error) -> Outcome {
        match (self.head.has_head(), self.received) {
            (true, _) => self.broken_off(),
            (false, true) => Outcome::NotHttp("it ended within the head".into()),
            (false, false) => Outcome::Unanswered(Some(error)),
        }
    }

    fn not_http(&self, NotHttp(why): NotHttp) -> Outcome {
        if self.head.has_head() {
            self.broken_off()
        } else {
            Outcome::NotHttp(why)
        }
    }

    pub(super) fn broken_off(&self) -> Outcome {
        Outcome::BrokenOff {
            shows: self.head.shows_its_end(),
        }
    }
}
