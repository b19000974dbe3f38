//! An upgraded connection: bytes both ways, each way with its own end.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::byte_stream::{ByteStream, ClientStream, wait};
use super::rules::Rules;
use crate::http::socket::would_block;

/// Bytes that are on their way in one direction. Default 32 KiB.
const BUFFER: usize = 32 * 1024;

/// How long an upgraded connection may wait.
#[derive(Debug, Clone)]
pub(crate) struct UpgradedTimeouts {
    /// For anything to move.
    pub(crate) silence: Duration,
    /// Time without bytes once one end is closed.
    pub(crate) half_closed: Duration,
    /// For a client that takes nothing.
    pub(crate) client_stall: Duration,
    /// For an upstream that takes nothing.
    pub(crate) upstream_stall: Duration,
}

/// The two ends of an upgraded connection.
pub(crate) struct Upgraded<'a> {
    pub(crate) client: &'a mut dyn ClientStream,
    pub(crate) upstream: &'a mut dyn ByteStream,
    pub(crate) rules: &'a dyn Rules,
    pub(crate) timeouts: UpgradedTimeouts,
}

/// One direction.
struct Direction {
    buffer: Vec<u8>,
    /// Bytes that have been read and not been taken.
    waiting: Range<usize>,
    has_ended: bool,
    /// The end has been passed on.
    is_over: bool,
    moved: Instant,
}

impl Upgraded<'_> {
    /// Runs until both ways have ended, or one is broken. `up` and `down` have been read already.
    /// Returns the bytes sent to the client.
    pub(crate) fn run(mut self, up: Vec<u8>, down: Vec<u8>) -> usize {
        let (mut up, mut down) = (Direction::new(up), Direction::new(down));
        let mut sent = 0;
        while !(up.is_over && down.is_over) {
            let before = up.moved.max(down.moved);
            let Ok(count) = self.move_both(&mut up, &mut down) else {
                break;
            };
            sent += count;
            let has_moved = up.moved.max(down.moved) > before;
            let goes_on = has_moved || (up.has_waiting() && self.upstream.may_write());
            if !goes_on && !self.wait(&up, &down) {
                break;
            }
        }
        sent
    }

    fn move_both(&mut self, up: &mut Direction, down: &mut Direction) -> io::Result<usize> {
        let (client, upstream) = (&mut *self.client, &mut *self.upstream);
        up.fill(|buffer| client.read(buffer))?;
        let taken = up.pass(|bytes| upstream.write(bytes))?;
        self.rules.count_up(taken);
        if up.may_end() {
            upstream.end_write();
            up.is_over = true;
        }
        down.fill(|buffer| upstream.read(buffer))?;
        let sent = down.pass(|bytes| client.write(bytes))?;
        self.rules.count_down(sent);
        if down.may_end() {
            client.end_write();
            down.is_over = true;
        }
        Ok(sent)
    }

    /// False when it has been silent for too long, or the client is gone.
    fn wait(&mut self, up: &Direction, down: &Direction) -> bool {
        let mut client = PollFlags::empty();
        client.set(PollFlags::IN, up.wants_more());
        client.set(PollFlags::OUT, down.has_waiting());
        let until = self.deadline(up, down);
        let wanted = self.upstream.wanted(down.wants_more(), up.has_waiting());
        match wait(self.client.watched(client), wanted, Some(until)) {
            // A hang-up is found by reading: the last bytes may still be there. After the last nobody takes anything.
            Ok((polled, is_ready)) => {
                let ready = self.client.ready(polled);
                let is_gone = up.is_over && ready.intersects(PollFlags::HUP);
                is_ready && !is_gone && !ready.intersects(PollFlags::ERR)
            }
            Err(_) => false,
        }
    }

    fn deadline(&self, up: &Direction, down: &Direction) -> Instant {
        let timeouts = &self.timeouts;
        let silence = if up.is_over || down.is_over {
            timeouts.half_closed
        } else {
            timeouts.silence
        };
        let mut until = up.moved.max(down.moved) + silence;
        if down.has_waiting() {
            until = until.min(down.moved + timeouts.client_stall);
        }
        if up.has_waiting() {
            until = until.min(up.moved + timeouts.upstream_stall);
        }
        until
    }
}

impl Direction {
    fn new(read: Vec<u8>) -> Direction {
        Direction {
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

    /// True if the end is to be passed on now.
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
        let waiting = self.buffer.get(self.waiting.clone());
        let waiting = waiting.expect("what waits lies in the buffer");
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
