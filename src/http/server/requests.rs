//! Reading the requests of one client, from a socket or a stream through a tunnel, and our own small answers to it.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::PollFlags;

use super::connection_handler::After;
use super::limits::Limits;
use crate::http::Response;
use crate::http::h1::Refusal;
use crate::http::h1::body::{Body, Framing};
use crate::http::h1::head::{Head, HeadScan};
use crate::http::proxy::ClientStream;
use crate::net::poll::poll_until;
use crate::net::poll::{BROKEN, would_block};

/// Bytes read at once of a head, and of a body that is held. Default 4 KiB.
pub(super) const PIECE: usize = 4 * 1024;
/// Time for an answer of our own to be taken. Default 5 s: it is small.
const OWN_ANSWER: Duration = Duration::from_secs(5);

/// Requests of one client.
pub(crate) struct RequestReader<S> {
    pub(crate) stream: S,
    /// Bytes that have arrived and are not yet used.
    pub(crate) inbox: Vec<u8>,
}

/// End of a connection.
pub(crate) enum ConnectionEnd {
    /// No answer is left to send.
    Silent,
    /// The connection belongs to a tunnel now.
    HandedOver,
    /// The last answer is sent; the client may still be sending.
    Finished,
    /// The answer has no framing of its own, so only a reset shows that it is not whole.
    Reset,
    /// This refusal is the last answer; true if the client asked by HEAD, so it has no body.
    Refused(Refusal, bool),
}

/// State of the next request, read without waiting.
pub(crate) enum HeadNow {
    Whole(Head),
    /// The beginning of a request, or one that is to be refused.
    Part,
    Nothing,
    Gone,
}

/// Limits the pace of a body: so many bytes in each stretch of time.
struct BodyPace {
    until: Instant,
    wanted: usize,
}

impl<S: ClientStream> RequestReader<S> {
    pub(crate) fn new(stream: S, inbox: Vec<u8>) -> RequestReader<S> {
        RequestReader { stream, inbox }
    }

    /// Reads the next request. The wait for its first byte is `first_wait`; from there on, when `begins` is called, the
    /// whole head has one deadline, which no trickle of bytes extends.
    pub(crate) fn read_head(
        &mut self,
        limits: &Limits,
        first_wait: Duration,
        begins: impl Fn(),
    ) -> Result<Head, ConnectionEnd> {
        let mut scan = HeadScan::default();
        let mut until = Instant::now() + first_wait;
        loop {
            let had_begun = scan.has_begun();
            if let Some(range) = scan.scan(&self.inbox, limits.head)? {
                let bytes = self.inbox.get(range.clone()).expect("a head was scanned");
                let head = Head::parse(bytes, limits.headers);
                self.consume(range.end);
                return Ok(head?);
            }
            if scan.has_begun() && !had_begun {
                begins();
                until = Instant::now() + limits.head_time;
            }
            if !self.fill(until)? {
                return Err(late(scan.has_begun(), "the request head"));
            }
        }
    }

    /// Returns the next request if all of it has arrived, without waiting. An incomplete or refused one is looked at
    /// again by a thread.
    pub(crate) fn head_now(&mut self, limits: &Limits) -> HeadNow {
        loop {
            let count = match self.receive(PIECE) {
                Ok(count @ 1..) => count,
                failed if would_block(&failed) && self.inbox.is_empty() => return HeadNow::Nothing,
                failed if would_block(&failed) => return HeadNow::Part,
                _ => return HeadNow::Gone,
            };
            let range = match HeadScan::default().scan(&self.inbox, limits.head) {
                Ok(Some(range)) => range,
                // The read was as long as its buffer, so there may be more.
                Ok(None) if count == PIECE => continue,
                _ => return HeadNow::Part,
            };
            let bytes = self.inbox.get(range.clone()).expect("a head was scanned");
            let Ok(head) = Head::parse(bytes, limits.headers) else {
                return HeadNow::Part;
            };
            self.consume(range.end);
            return HeadNow::Whole(head);
        }
    }

    /// Reads a body into memory, of at most `most` bytes, as long as `may_hold` allows its size.
    pub(crate) fn read_body(
        &mut self,
        head: &Head,
        limits: &Limits,
        most: usize,
        mut may_hold: impl FnMut(usize) -> bool,
    ) -> Result<Vec<u8>, ConnectionEnd> {
        if let Framing::Length(length) = head.framing
            && usize::try_from(length).map_or(true, |length| length > most)
        {
            return Err(too_large(most).into());
        }
        let mut body = Body::new(head.framing);
        if !body.is_done() {
            self.ask_for_body(head)?;
        }
        let mut bytes = Vec::new();
        let mut pace = BodyPace::begin(limits);
        loop {
            self.take_body(&mut body, &mut bytes)?;
            if bytes.len() > most {
                return Err(too_large(most).into());
            }
            if !may_hold(bytes.len()) {
                return Err(Refusal::new(503, "too many large requests at once").into());
            }
            if body.is_done() {
                return Ok(bytes);
            }
            pace.note(limits, bytes.len());
            if !self.fill(pace.until)? {
                return Err(late(true, "the request body"));
            }
        }
    }

    /// Tells a client that waits with its body to send it (RFC 9110 section 10.1.1).
    pub(super) fn ask_for_body(&mut self, head: &Head) -> Result<(), ConnectionEnd> {
        if head.expects_continue && self.inbox.is_empty() {
            self.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        Ok(())
    }

    /// Moves the bytes of the body that have arrived.
    fn take_body(&mut self, body: &mut Body, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut at = 0;
        while !body.is_done() && at < self.inbox.len() {
            let rest = self.inbox.get(at..).expect("a step stays within its input");
            let step = body.step(rest)?;
            bytes.extend_from_slice(rest.get(step.data).expect("a step stays within its input"));
            at += step.consumed;
        }
        self.consume(at);
        Ok(())
    }

    /// Sends an answer of our own.
    pub(crate) fn send(&mut self, head: &Head, response: Response, close: bool) -> After {
        match self.write_all(&response_bytes(response, head.method == "HEAD", close)) {
            Err(_) => After::Drop,
            Ok(()) if close => After::Close,
            Ok(()) => After::Keep,
        }
    }

    /// Sends the last answer; false if it was not taken.
    pub(crate) fn send_last(&mut self, response: Response, to_head: bool) -> bool {
        self.write_all(&response_bytes(response, to_head, true))
            .is_ok()
    }

    /// Reads the rest of the client's bytes for a while, and throws them away: closing with unread bytes would reset
    /// the connection, and the client might never see the answer.
    pub(crate) fn linger(&mut self, limits: &Limits, is_stopping: impl Fn() -> bool) {
        let until = Instant::now() + limits.linger_time;
        let mut left = limits.linger_bytes;
        self.inbox = Vec::new();
        self.stream.end_write();
        while left > 0 && Instant::now() < until && !is_stopping() {
            let mut piece = [0; PIECE];
            match self.stream.read(&mut piece) {
                Ok(0) => return,
                Ok(read) => left = left.saturating_sub(read),
                failed if would_block(&failed) => match self.wait(until) {
                    Ok(true) => {}
                    _ => return,
                },
                Err(_) => return,
            }
        }
    }

    /// Reads up to `most` bytes more; 0 at the end.
    pub(crate) fn receive(&mut self, most: usize) -> io::Result<usize> {
        // The received bytes are copied: they are mostly few, and a buffer of the largest size costs more to get and to
        // give back.
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
        if begin == 0 {
            // Its zeros come from the allocator, those of `resize` one by one.
            self.inbox = vec![0; most];
        } else {
            self.inbox.resize(begin + most, 0);
        }
        let room = self.inbox.get_mut(begin..).expect("it was made longer");
        let read = self.stream.read(room);
        self.inbox.truncate(begin + *read.as_ref().unwrap_or(&0));
        if self.inbox.is_empty() {
            self.inbox = Vec::new(); // an idle connection holds no memory
        }
        read
    }

    /// Waits for more; false when `until` has passed.
    fn fill(&mut self, until: Instant) -> Result<bool, ConnectionEnd> {
        loop {
            match self.receive(PIECE) {
                Ok(0) => return Err(ConnectionEnd::Silent),
                Ok(_) => return Ok(true),
                failed if would_block(&failed) => {}
                Err(_) => return Err(ConnectionEnd::Silent),
            }
            if !self.wait(until)? {
                return Ok(false);
            }
        }
    }

    /// Waits until there are bytes to read; false when `until` has passed.
    fn wait(&self, until: Instant) -> Result<bool, ConnectionEnd> {
        let [(readable, flags), _] = self.stream.wanted(true, false);
        let ready = poll_until([(&readable, flags)], Some(until));
        let [ready] = ready.map_err(|_| ConnectionEnd::Silent)?;
        Ok(!ready.is_empty())
    }

    fn consume(&mut self, bytes: usize) {
        if bytes >= self.inbox.len() {
            self.inbox = Vec::new(); // an idle connection holds no memory
        } else {
            self.inbox.drain(..bytes);
        }
    }

    /// Writes a few bytes.
    fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), ConnectionEnd> {
        let until = Instant::now() + OWN_ANSWER;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(sent) => bytes = bytes.get(sent..).expect("no more is sent than there is"),
                failed if would_block(&failed) => self.wait_for_room(until)?,
                Err(_) => return Err(ConnectionEnd::Silent),
            }
        }
        Ok(())
    }

    fn wait_for_room(&mut self, until: Instant) -> Result<(), ConnectionEnd> {
        let [(one, of_one), (other, of_other)] =
            self.stream.watched(PollFlags::OUT | PollFlags::HUP);
        let polled = poll_until([(&one, of_one), (&other, of_other)], Some(until));
        let ready = self
            .stream
            .ready(polled.map_err(|_| ConnectionEnd::Silent)?);
        if ready.is_empty() || ready.intersects(BROKEN) {
            return Err(ConnectionEnd::Silent);
        }
        Ok(())
    }
}

impl BodyPace {
    fn begin(limits: &Limits) -> BodyPace {
        BodyPace {
            until: Instant::now() + limits.body_stall,
            wanted: limits.body_progress,
        }
    }

    fn note(&mut self, limits: &Limits, arrived: usize) {
        if arrived >= self.wanted {
            let next = BodyPace::begin(limits);
            self.until = next.until;
            self.wanted = arrived + next.wanted;
        }
    }
}

impl From<Refusal> for ConnectionEnd {
    fn from(refusal: Refusal) -> ConnectionEnd {
        ConnectionEnd::Refused(refusal, false)
    }
}

impl From<After> for Result<(), ConnectionEnd> {
    fn from(after: After) -> Result<(), ConnectionEnd> {
        match after {
            After::Keep => Ok(()),
            After::Close => Err(ConnectionEnd::Finished),
            After::Reset => Err(ConnectionEnd::Reset),
            After::Drop => Err(ConnectionEnd::Silent),
        }
    }
}

/// Ends a wait that was too long: a connection that never began a request is closed silently.
fn late(begun: bool, what: &str) -> ConnectionEnd {
    if begun {
        Refusal::new(408, format!("{what} took too long")).into()
    } else {
        ConnectionEnd::Silent
    }
}

fn too_large(most: usize) -> Refusal {
    Refusal::new(413, format!("the request body is larger than {most} bytes"))
}

/// Returns the bytes of our own answer; without its body if the client asked by HEAD.
pub(super) fn response_bytes(response: Response, to_head: bool, close: bool) -> Vec<u8> {
    let response = response.header("Date", now());
    let (head, body) = response.into_parts();
    let mut bytes = head.serialise();
    let end = if close { "Connection: close\r\n" } else { "" };
    let framing = format!("Content-Length: {}\r\n{end}\r\n", body.len());
    bytes.extend_from_slice(framing.as_bytes());
    if !to_head {
        bytes.extend_from_slice(&body);
    }
    bytes
}

/// The `Date` of an answer (RFC 9110 section 6.6.1).
pub(super) fn now() -> String {
    httpdate::fmt_http_date(SystemTime::now())
}
