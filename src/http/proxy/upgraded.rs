//! An upgraded connection: bytes both ways, each way with its own end.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::byte_stream::{ByteStream, ClientStream, wait};
use super::rules::Rules;
use crate::net::poll::would_block;

/// Time for the upstream to take more of a client's last bytes when that has gone. Default 5 s.
const GONE_STALL: Duration = Duration::from_secs(5);
/// Bytes in transit in one direction. Default 4 KiB, as messages are small, and 32 KiB from the first read on that
/// fills it.
const PIECE: usize = 4 * 1024;
const BUFFER: usize = 32 * 1024;

/// Time limits of an upgraded connection.
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

/// Result of a wait.
#[derive(PartialEq, Eq)]
enum Waited {
    Ready,
    /// The client takes and says nothing more; its last bytes may still be there.
    ClientGone,
    Over,
}

/// State of one direction.
struct Direction {
    buffer: Vec<u8>,
    /// Bytes that have been read and not been taken.
    waiting: Range<usize>,
    has_ended: bool,
    /// True if the end has been passed on.
    is_over: bool,
    moved: Instant,
}

impl Upgraded<'_> {
    /// Runs until both ways have ended, or one is broken. `up` and `down` have been read already.
    /// Returns the bytes sent to the client.
    pub(crate) fn run(mut self, up: Vec<u8>, down: Vec<u8>) -> u64 {
        let (mut up, mut down) = (Direction::new(up), Direction::new(down));
        let (mut sent, mut is_gone) = (0, false);
        while !(up.is_over && down.is_over) {
            let before = up.moved.max(down.moved);
            let Ok(count) = self.move_both(&mut up, &mut down) else {
                break;
            };
            sent += u64::try_from(count).unwrap_or(u64::MAX);
            let has_moved = up.moved.max(down.moved) > before;
            let goes_on = has_moved || (up.has_waiting() && self.upstream.may_write());
            if goes_on {
                continue;
            }
            match self.wait(&up, &down, is_gone) {
                Waited::Ready => {}
                // After the last bytes no side takes anything.
                Waited::ClientGone if !up.is_over && !is_gone => is_gone = true,
                Waited::ClientGone | Waited::Over => break,
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

    /// Waits until one side can go on. A client that `is_gone` is not waited for: it would wake for ever.
    fn wait(&mut self, up: &Direction, down: &Direction, is_gone: bool) -> Waited {
        let mut client = PollFlags::empty();
        client.set(PollFlags::HUP, !is_gone);
        client.set(PollFlags::IN, up.wants_more());
        client.set(PollFlags::OUT, down.has_waiting() && !is_gone);
        let mut until = self.deadline(up, down);
        if is_gone {
            until = until.min(up.moved.max(down.moved) + GONE_STALL);
        }
        let wanted = self.upstream.wanted(down.wants_more(), up.has_waiting());
        match wait(self.client.watched(client), wanted, Some(until)) {
            Ok((polled, true)) => {
                let ready = self.client.ready(polled);
                if ready.intersects(PollFlags::ERR) {
                    Waited::Over
                } else if ready.intersects(PollFlags::HUP) && !is_gone {
                    Waited::ClientGone
                } else {
                    Waited::Ready
                }
            }
            _ => Waited::Over,
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
        let mut piece = [0; PIECE];
        let is_large = self.buffer.len() >= PIECE;
        if is_large && self.buffer.len() < BUFFER {
            self.buffer = vec![0; BUFFER];
        }
        let came = match is_large {
            true => read(&mut self.buffer),
            false => read(&mut piece),
        };
        match came {
            Ok(count) => {
                if !is_large {
                    // The room of the last message mostly suffices.
                    self.buffer.clear();
                    let came = piece.get(..count);
                    (self.buffer)
                        .extend_from_slice(came.expect("no more is read than there is room"));
                }
                self.has_ended = count == 0;
                self.waiting = 0..count;
                self.moved = Instant::now();
                Ok(())
            }
            failed if would_block(&failed) => {
                if is_large {
                    self.buffer = Vec::new(); // one that has nothing to say holds no memory
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the number of bytes that were taken.
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

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::http::h1::answer::AnswerHead;
    use crate::net::reset_when_closed;

    struct NoRules;

    impl Rules for NoRules {
        fn write_lines(&self, _: &AnswerHead, _: &mut Vec<u8>) {}

        fn answer_time(&self) -> Option<Duration> {
            None
        }
    }

    #[test]
    fn a_client_that_has_gone_is_seen_while_the_upstream_takes_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let visitor = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (client, _) = listener.accept().unwrap();
        client.set_nonblocking(true).unwrap();
        let (mut upstream, _deaf) = UnixStream::pair().unwrap();
        upstream.set_nonblocking(true).unwrap();
        let long = Duration::from_secs(600);
        let upgraded = std::thread::spawn(move || {
            let upgraded = Upgraded {
                client: &mut &client,
                upstream: &mut upstream,
                rules: &NoRules,
                timeouts: UpgradedTimeouts {
                    silence: long,
                    half_closed: long,
                    client_stall: long,
                    upstream_stall: long,
                },
            };
            upgraded.run(vec![0; 4 << 20], Vec::new())
        });
        reset_when_closed(&visitor);
        drop(visitor);
        let until = Instant::now() + Duration::from_secs(60);
        while !upgraded.is_finished() {
            assert!(Instant::now() < until, "it waits for ever");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(upgraded.join().unwrap(), 0);
    }
}
