//! An upgraded connection: bytes both ways, each way with its own end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::limits::Limits;
use super::proxy::wait;
use super::site::{Stats, add};
use super::stream::ByteStream;
use crate::http::server::would_block;

/// Bytes that are on their way in one direction. Default 32 KiB.
const BUFFER: usize = 32 * 1024;

/// The two ends of an upgraded connection.
pub(super) struct Raw<'a> {
    pub(super) client: &'a TcpStream,
    pub(super) stream: &'a mut dyn ByteStream,
    pub(super) limits: &'a Limits,
    /// Time that the visitor may take nothing.
    pub(super) write_stall: Duration,
    pub(super) figures: &'a Stats,
}

/// One direction.
struct Way {
    buffer: Vec<u8>,
    /// What has been read and not been taken.
    waiting: Range<usize>,
    has_ended: bool,
    /// The end has been passed on.
    is_over: bool,
    moved: Instant,
}

impl Raw<'_> {
    /// Runs until both ways have ended, or one is broken. `up` and `down` have been read already.
    /// Returns the bytes sent to the visitor.
    pub(super) fn run(mut self, up: Vec<u8>, down: Vec<u8>) -> usize {
        let (mut up, mut down) = (Way::new(up), Way::new(down));
        let mut sent = 0;
        while !(up.is_over && down.is_over) {
            let before = up.moved.max(down.moved);
            let moved = self.move_both(&mut up, &mut down);
            let Ok(count) = moved else {
                break;
            };
            sent += count;
            let has_moved = up.moved.max(down.moved) > before;
            if !has_moved && !self.wait(&up, &down) {
                break;
            }
        }
        sent
    }

    fn move_both(&mut self, up: &mut Way, down: &mut Way) -> io::Result<usize> {
        let (client, figures) = (self.client, self.figures);
        let stream = &mut *self.stream;
        up.fill(|buffer| (&mut &*client).read(buffer))?;
        let taken = up.pass(|bytes| stream.write(bytes))?;
        add(&figures.bytes_in, taken);
        if up.may_end() {
            stream.end_write();
            up.is_over = true;
        }
        down.fill(|buffer| stream.read(buffer))?;
        let sent = down.pass(|bytes| (&mut &*client).write(bytes))?;
        add(&figures.bytes_out, sent);
        if down.may_end() {
            // A visitor who is gone already is as good.
            let _ = client.shutdown(Shutdown::Write);
            down.is_over = true;
        }
        Ok(sent)
    }

    /// False when it has been silent for too long, or the visitor is gone.
    fn wait(&self, up: &Way, down: &Way) -> bool {
        let mut client = PollFlags::empty();
        client.set(PollFlags::IN, up.wants_more());
        client.set(PollFlags::OUT, down.has_waiting());
        let until = self.deadline(up, down);
        let wanted = self.stream.wanted(down.wants_more(), up.has_waiting());
        match wait((self.client, client), wanted, until) {
            // A hang-up is found by reading: the last bytes may still be there.
            Ok((ready, is_ready)) => is_ready && !ready.intersects(PollFlags::ERR),
            Err(_) => false,
        }
    }

    fn deadline(&self, up: &Way, down: &Way) -> Instant {
        let half = up.is_over || down.is_over;
        let silence = match half {
            true => self.limits.half_closed,
            false => self.limits.silence,
        };
        let mut until = up.moved.max(down.moved) + silence;
        if down.has_waiting() {
            until = until.min(down.moved + self.write_stall);
        }
        if up.has_waiting() {
            until = until.min(up.moved + self.limits.request_stall);
        }
        until
    }
}

impl Way {
    fn new(read: Vec<u8>) -> Way {
        Way {
            waiting: 0..read.len(),
            buffer: read,
            has_ended: false,
            is_over: false,
            moved: Instant::now(),
        }
    }

    fn wants_more(&self) -> bool {
        !self.has_ended && !self.has_waiting()
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether the end is to be passed on now.
    fn may_end(&self) -> bool {
        self.has_ended && !self.has_waiting() && !self.is_over
    }

    fn fill(&mut self, mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<()> {
        if !self.wants_more() {
            return Ok(());
        }
        if self.buffer.len() != BUFFER {
            self.buffer = vec![0; BUFFER];
        }
        match read(&mut self.buffer) {
            Ok(count) => {
                self.has_ended = count == 0;
                self.waiting = 0..count;
                self.moved = Instant::now();
                Ok(())
            }
            failed if would_block(&failed) => {
                // One that has nothing to say holds no memory.
                self.buffer = Vec::new();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns how much was taken.
    fn pass(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<usize> {
        if !self.has_waiting() {
            return Ok(0);
        }
        let waiting = self.buffer.get(self.waiting.clone()).unwrap_or_default();
        match write(waiting) {
            Ok(taken) => {
                self.waiting.start += taken;
                self.moved = Instant::now();
                Ok(taken)
            }
            failed if would_block(&failed) => Ok(0),
            Err(error) => Err(error),
        }
    }
}
