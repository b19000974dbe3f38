//! The visitor's side of a stream.

use std::io;
use std::sync::{Arc, LazyLock};
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::gateway::FORGOTTEN;
use crate::http::h1::Refusal;
use crate::http::h1::body::{Body, Framing};
use crate::http::h1::head::{Head, HeadScan};
use crate::http::proxy::{Client, ClientStream};
use crate::http::server::connection_handler::{After, ClientConnection, Reset};
use crate::http::server::{ExchangeSlot, response_bytes};
use crate::http::socket::would_block;
use crate::http::{Limits, Response};
use crate::limits::HALF_CLOSED;
use crate::net::poll::poll_until;
use crate::tunnel::client::StreamThreads;
use crate::tunnel::server::LocalStream;

/// Bytes read at once of a head. Default 4 KiB.
const PIECE: usize = 4 * 1024;
/// Bytes of a head. Default 64 KiB: what a relay takes, and the lines that it adds.
const MAX_HEAD: usize = 64 * 1024;
/// Header lines of a head. Default 128: as many as the parser has room for.
const MAX_LINES: usize = 128;
/// Time for the first byte of a request, and for a whole head from then on. Default 2 min: browsers open connections
/// ahead; a relay opens one for a request that is there.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(120);
const HEAD_TIME: Duration = Duration::from_secs(30);

/// Time for an answer of our own to be taken.
const OWN_ANSWER: Duration = crate::limits::WRITE_STALL;

/// The caps of the forms that are read here; how long an answer may take is the server's matter.
static LIMITS: LazyLock<Limits> = LazyLock::new(|| {
    let mut limits = Limits::default();
    (limits.write_stall, limits.gone_grace) = (FORGOTTEN, HALF_CLOSED);
    limits
});

/// Next request, as far as it is there.
pub(super) enum HeadNow {
    Whole(Head),
    /// The beginning of one, or one that is to be refused.
    Part,
    Nothing,
    End,
}

/// The visitor's side of a stream.
pub(super) struct StreamClient {
    stream: LocalStream,
    inbox: Vec<u8>,
}

impl StreamClient {
    pub(super) fn new(stream: LocalStream) -> StreamClient {
        let inbox = Vec::new();
        StreamClient { stream, inbox }
    }

    /// The next request; none at the end of the stream.
    pub(super) fn read_head(&mut self) -> Result<Option<Head>, Refusal> {
        let mut scan = HeadScan::default();
        let mut until = Instant::now() + IDLE_TIME;
        loop {
            let had_begun = scan.has_begun();
            if let Some(range) = scan.scan(&self.inbox, MAX_HEAD)? {
                let bytes = self.inbox.get(range.clone()).expect("a head was scanned");
                let head = Head::parse(bytes, MAX_LINES);
                self.consume(range.end);
                return head.map(Some);
            }
            if scan.has_begun() && !had_begun {
                until = Instant::now() + HEAD_TIME;
            }
            if !self.fill(until) {
                return Ok(None);
            }
        }
    }

    /// See [`LocalStream::defer`].
    pub(super) fn defer(&mut self, waker: Option<Waker>) -> bool {
        self.stream.defer(waker)
    }

    /// Sends what waits, without waiting.
    pub(super) fn flush(&mut self) {
        self.stream.flush();
    }

    /// Threads for what waits.
    pub(super) fn threads(&self) -> StreamThreads {
        self.stream.threads()
    }

    /// The next request, if all of it is there: without waiting.
    pub(super) fn head_now(&mut self) -> HeadNow {
        loop {
            let count = match self.receive(PIECE) {
                Ok(count @ 1..) => count,
                failed if would_block(&failed) && self.inbox.is_empty() => return HeadNow::Nothing,
                failed if would_block(&failed) => return HeadNow::Part,
                _ => return HeadNow::End,
            };
            let range = match HeadScan::default().scan(&self.inbox, MAX_HEAD) {
                Ok(Some(range)) => range,
                // Where all has come that was asked for, there may be more.
                Ok(None) if count == PIECE => continue,
                _ => return HeadNow::Part,
            };
            let bytes = self.inbox.get(range.clone()).expect("a head was scanned");
            let Ok(head) = Head::parse(bytes, MAX_LINES) else {
                return HeadNow::Part;
            };
            self.consume(range.end);
            return HeadNow::Whole(head);
        }
    }

    /// Ends the stream after its last answer: what is still coming is read and thrown away for a while, as the answer
    /// would be lost with it.
    pub(super) fn finish(mut self) {
        let until = Instant::now() + LIMITS.linger_time;
        let mut left = LIMITS.linger_bytes;
        self.stream.end_write();
        while left > 0 && self.fill(until) {
            left = left.saturating_sub(self.inbox.len());
            self.inbox.clear();
        }
    }

    /// Waits for more; false at the end, or when `until` has passed.
    fn fill(&mut self, until: Instant) -> bool {
        loop {
            match self.receive(PIECE) {
                Ok(count) => return count > 0,
                failed if would_block(&failed) => {}
                Err(_) => return false,
            }
            let ready = poll_until([(&self.stream.readable(), PollFlags::IN)], Some(until));
            if !ready.is_ok_and(|[ready]| !ready.is_empty()) {
                return false;
            }
        }
    }

    fn consume(&mut self, bytes: usize) {
        if bytes >= self.inbox.len() {
            self.inbox = Vec::new(); // an idle stream holds no memory
        } else {
            self.inbox.drain(..bytes);
        }
    }

    /// Writes something small.
    pub(super) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let until = Instant::now() + OWN_ANSWER;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(sent) => bytes = bytes.get(sent..).expect("no more is sent than there is"),
                failed if would_block(&failed) => {
                    let writable = self.stream.writable();
                    let [ready] = poll_until([(&writable, PollFlags::IN)], Some(until))?;
                    if ready.is_empty() || self.stream.has_gone() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take_body(&mut self, body: &mut Body, bytes: &mut Vec<u8>) -> Result<(), After> {
        let mut at = 0;
        while let Some(rest) = self.inbox.get(at..).filter(|rest| !rest.is_empty())
            && !body.is_done()
        {
            let step = body.step(rest).map_err(|_| After::Drop)?;
            bytes.extend_from_slice(rest.get(step.data).expect("a step stays within its input"));
            at += step.consumed;
        }
        self.consume(at);
        Ok(())
    }
}

impl Client for StreamClient {
    fn stream(&mut self) -> &mut dyn ClientStream {
        &mut self.stream
    }

    fn inbox(&mut self) -> &mut Vec<u8> {
        &mut self.inbox
    }

    fn receive(&mut self, most: usize) -> io::Result<usize> {
        // The received bytes are copied: they are mostly few, and room for the most costs more to get and to give back.
        if most <= PIECE {
            let mut room = [0; PIECE];
            let room = room.get_mut(..most).expect("it is long enough");
            let read = self.stream.read(room)?;
            let came = room.get(..read);
            self.inbox
                .extend_from_slice(came.expect("no more is read than there is room"));
            return Ok(read);
        }
        let begin = self.inbox.len();
        self.inbox.resize(begin + most, 0);
        let room = self.inbox.get_mut(begin..).expect("it was made longer");
        let read = self.stream.read(room);
        self.inbox.truncate(begin + *read.as_ref().unwrap_or(&0));
        if self.inbox.is_empty() {
            self.inbox = Vec::new(); // an idle stream holds no memory
        }
        read
    }

    /// When the tunnel ends, so does the stream.
    fn is_stopping(&self) -> bool {
        false
    }

    fn mark_busy(&self) {}

    fn mark_stalled(&self) {}
}

impl ClientConnection for StreamClient {
    fn limits(&self) -> &Limits {
        &LIMITS
    }

    /// Streams are limited by the tunnel.
    fn capacity(&self) -> usize {
        usize::MAX / 16
    }

    fn reserve(&self) -> Option<ExchangeSlot> {
        Some(ExchangeSlot::uncounted())
    }

    fn has_left(&self) -> bool {
        self.stream.has_gone()
    }

    /// The tunnel ends its streams itself.
    fn resetter(&self) -> Option<Arc<dyn Reset>> {
        None
    }

    fn body(&mut self, head: &Head) -> Result<Vec<u8>, After> {
        let (mut body, mut bytes) = (Body::new(head.framing), Vec::new());
        if head.expects_continue && !body.is_done() && self.inbox.is_empty() {
            let interim = self.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            interim.map_err(|_| After::Drop)?;
        }
        let until = Instant::now() + LIMITS.body_stall;
        loop {
            self.take_body(&mut body, &mut bytes)?;
            if body.is_done() {
                return Ok(bytes);
            }
            if bytes.len() > LIMITS.body || !self.fill(until) {
                return Err(After::Drop);
            }
        }
    }

    fn answer(&mut self, head: &Head, response: Response, body_is_read: bool) -> After {
        let unread = !body_is_read && head.framing != Framing::Length(0);
        let close = unread || !head.keep_alive;
        match self.write_all(&response_bytes(response, head.method == "HEAD", close)) {
            Err(_) => After::Drop,
            Ok(()) if close => After::Close,
            Ok(()) => After::Keep,
        }
    }
}
