//! Requests of one client, as they are read from its connection, and small answers of our own to it: of a socket, or of a
//! stream through a tunnel.

use std::borrow::Cow;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::PollFlags;

use super::connection_handler::After;
use super::limits::Limits;
use super::server_state::{PendingResponse, ServerState};
use crate::http::h1::Refusal;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::body::{Body, Framing};
use crate::http::h1::head::{Head, HeadScan};
use crate::http::h1::hop_by_hop::{end_to_end, write_line};
use crate::http::proxy::{ClientStream, Outcome, Rules, Timeouts};
use crate::http::response::HSTS;
use crate::http::socket::{BROKEN, would_block};
use crate::http::{CancelToken, Response};
use crate::net::poll::poll_until;

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
    /// Nothing is left to say.
    Silent,
    /// The connection is a tunnel's now.
    HandedOver,
    /// The last answer is sent; the client may still be sending.
    Finished,
    /// The answer has no framing of its own, so only a reset shows that it is not whole.
    Reset,
    /// This is the last answer; without a body where the client asked by HEAD.
    Refused(Refusal, bool),
}

/// Next request, as far as it is there.
pub(crate) enum HeadNow {
    Whole(Head),
    /// The beginning of one, or one that is to be refused.
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

    /// The next request. The wait for its first byte is `first_wait`; from there on, when `begins` is called, the whole
    /// head has one deadline, which no trickle of bytes extends.
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

    /// The next request, if all of it is there: without waiting. One that is not, or that is refused, is looked at again
    /// by a thread.
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
                // Where all has come that was asked for, there may be more.
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

    /// A body that is held, of `most` bytes, as far as `may_hold` so many.
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

    /// Tells a client that waits for it to send its body (RFC 9110 section 10.1.1).
    pub(super) fn ask_for_body(&mut self, head: &Head) -> Result<(), ConnectionEnd> {
        if head.expects_continue && self.inbox.is_empty() {
            self.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        Ok(())
    }

    /// Moves what has arrived of the body.
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

    /// Closing with unread bytes would reset the connection, and the client might never
    /// see the answer: so they are read and thrown away, for a while.
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

    /// Waits until there is something to read, where nothing was; false when `until` has passed.
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

    /// Writes something small.
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

/// A connection that never began a request is closed without a word.
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

/// An answer of our own as it goes out; without its body where the client asked by HEAD.
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

/// An exchange with a worker. A worker that has taken the request has no time limit: an export may
/// run for hours.
pub(super) struct WorkerRules<'a> {
    pub(super) state: &'a ServerState,
    pub(super) pending: &'a dyn PendingResponse,
    pub(super) cancel: &'a CancelToken,
}

impl Rules for WorkerRules<'_> {
    fn write_lines(&self, answer: &AnswerHead, out: &mut Vec<u8>) {
        for (name, value) in end_to_end(&answer.headers) {
            if !name.eq_ignore_ascii_case("date") {
                write_line(out, name, value);
            }
        }
        write_line(out, "Date", now().as_bytes());
        if self.state.is_https() {
            write_line(out, "Strict-Transport-Security", HSTS.as_bytes());
        }
    }

    /// tiny_http's own are for this process alone.
    fn passes_interim(&self) -> bool {
        false
    }

    fn answer_time(&self) -> Option<Duration> {
        (!self.pending.is_taken()).then_some(self.state.limits.upstream_timeout)
    }

    fn on_client_left(&self) {
        self.cancel.fire();
    }
}

impl WorkerRules<'_> {
    pub(super) fn timeouts(&self) -> Timeouts {
        let limits = &self.state.limits;
        Timeouts {
            write_stall: limits.write_stall,
            body_stall: limits.body_stall,
            gone_grace: Some(limits.gone_grace),
            silence: None,
        }
    }

    /// How the connection goes on, or what its client is still to be told.
    pub(super) fn after(&self, outcome: &Outcome) -> Result<After, Refusal> {
        match outcome {
            Outcome::Unanswered(_) => Err(self.broken("the request was not answered")),
            Outcome::NotHttp(why) => Err(self.broken(why.clone())),
            Outcome::TooSlow { .. } => Err(too_busy()),
            Outcome::Refused(refusal) => Err(refusal.clone()),
            ended => Ok(After::from(ended)),
        }
    }

    fn broken(&self, why: impl Into<Cow<'static, str>>) -> Refusal {
        let status = if self.pending.is_taken() { 500 } else { 503 };
        Refusal::new(status, why)
    }
}

pub(super) fn too_busy() -> Refusal {
    Refusal::new(503, "too busy: try again")
}

/// The `Date` of an answer (RFC 9110 section 6.6.1).
pub(super) fn now() -> String {
    httpdate::fmt_http_date(SystemTime::now())
}
