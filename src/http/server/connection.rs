//! The loop of one connection: the only place that reads its requests.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::backend::Opened;
use super::budget::HeldBody;
use super::connection_handler::{After, ConnectionHandler};
use super::connection_table::{ConnectionEntry, Phase};
use super::peer;
use super::server_state::ServerState;
use super::worker_rules::{WorkerRules, now, too_busy};
use crate::http::h1::Refusal;
use crate::http::h1::body::{Body, Framing};
use crate::http::h1::head::{Head, HeadScan};
use crate::http::h1::target::Target;
use crate::http::proxy::{Client, Exchange, Outcome, RequestBody, Transfer};
use crate::http::socket::{BROKEN, was_reset, would_block};
use crate::http::{ApiError, CancelToken, Response};
use crate::net::poll::poll_until;
use crate::net::reset_when_closed;

/// Bytes read at once of a head, and of a body that goes to a worker. Default 4 KiB.
pub(super) const PIECE: usize = 4 * 1024;
/// Time for an error answer to be taken by the kernel: it is small.
const REFUSAL_WRITE: Duration = Duration::from_secs(1);
/// Methods for 405 (RFC 9110 section 15.5.6).
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE, OPTIONS";

/// Why a connection ends.
pub(super) enum End {
    /// Nothing is left to say.
    Silent,
    /// The last answer is sent; the client may still be sending.
    Finished,
    /// The answer has no framing of its own, so only a reset shows that it is not whole.
    Reset,
    /// This is the last answer; without a body where the client asked by HEAD.
    Refused(Refusal, bool),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> End {
        End::Refused(refusal, false)
    }
}

/// State that a connection keeps from one thread to the next.
pub(super) struct Held {
    handler: Option<Box<dyn ConnectionHandler>>,
    /// Bytes that have arrived and are not yet used.
    pub(super) inbox: Vec<u8>,
}

impl Held {
    /// That of a new one.
    pub(super) fn new(handler: Option<Box<dyn ConnectionHandler>>) -> Held {
        let inbox = Vec::new();
        Held { handler, inbox }
    }

    /// A parked one's handler.
    pub(super) fn handler(&mut self) -> Option<&mut (dyn ConnectionHandler + 'static)> {
        self.handler.as_deref_mut()
    }
}

/// With what a thread begins.
pub(super) enum Work {
    /// The connection is new.
    Accepted,
    /// A request is to be read.
    Read,
    /// A request is to be served.
    Serve(Head),
    /// The handler is to end what it has begun.
    Finish,
    /// The last answer is sent.
    End(After),
}

/// Serves the requests of one connection until it ends, or (true) is parked, which it is only where
/// there is a `waker` for its upstream.
pub(super) fn serve(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    held: &mut Held,
    work: Work,
    waker: Option<&Waker>,
) -> bool {
    let mut connection = Connection::new(state, entry, held);
    if let Some(handler) = held.handler() {
        handler.unpark();
    }
    let Some(end) = connection.run(held.handler(), work, waker) else {
        return true;
    };
    // Its memory is free for others from here on.
    held.handler = None;
    connection.end(end);
    false
}

/// Tells a client that there is no room for it, as far as that goes without waiting.
pub(super) fn turn_away(state: &ServerState, mut socket: &TcpStream) {
    let refusal = Refusal::new(503, "too many connections: try again later");
    state.note_refused(&refusal);
    let response = state.stamped(refused(refusal));
    let _ = socket.write(&response_bytes(response, false, true));
    let _ = socket.shutdown(Shutdown::Write);
}

/// One connection, as long as a thread has it.
pub(super) struct Connection<'a> {
    pub(super) state: &'a ServerState,
    pub(super) entry: &'a Arc<ConnectionEntry>,
    pub(super) socket: &'a TcpStream,
    /// Bytes that have arrived and are not yet used.
    pub(super) inbox: Vec<u8>,
}

impl<'a> Connection<'a> {
    /// Takes the inbox along.
    pub(super) fn new(
        state: &'a ServerState,
        entry: &'a Arc<ConnectionEntry>,
        held: &mut Held,
    ) -> Connection<'a> {
        Connection {
            state,
            entry,
            socket: &entry.socket,
            inbox: std::mem::take(&mut held.inbox),
        }
    }

    /// Why it ends; none where it is to be parked, with an empty inbox.
    fn run(
        &mut self,
        mut handler: Option<&mut (dyn ConnectionHandler + 'static)>,
        work: Work,
        waker: Option<&Waker>,
    ) -> Option<End> {
        let limits = &self.state.limits;
        let mut served = match work {
            Work::Accepted => self
                .check_user()
                .and_then(|()| self.request(limits.head_time, handler.as_deref_mut())),
            Work::Read => self.request(limits.idle_time, handler.as_deref_mut()),
            Work::Serve(head) => self.serve_head(&head, handler.as_deref_mut()),
            Work::Finish => handler.as_deref_mut()?.finish(self).into(),
            Work::End(after) => after.into(),
        };
        loop {
            if let Err(end) = served {
                return Some(end);
            }
            self.entry.enter(Phase::Idle);
            if self.state.is_stopping() {
                return Some(End::Finished);
            }
            if let (Some(handler), Some(waker)) = (handler.as_deref_mut(), waker)
                && self.inbox.is_empty()
                && handler.park(waker)
            {
                return None;
            }
            served = self.request(limits.idle_time, handler.as_deref_mut());
        }
    }

    fn check_user(&self) -> Result<(), End> {
        if !self.state.check_other_users {
            return Ok(());
        }
        let ours = self.socket.local_addr().map_err(|_| End::Silent)?;
        peer::check(self.entry.peer, ours)?;
        // The connection just asked about has our client's address; it is our client only if the
        // connection has stood all the while. One that was reset leaves its port to others,
        // and what it had sent to us.
        if was_reset(self.socket) {
            return Err(End::Silent);
        }
        Ok(())
    }

    /// Reads, checks and answers one request.
    fn request(
        &mut self,
        first_wait: Duration,
        handler: Option<&mut (dyn ConnectionHandler + 'static)>,
    ) -> Result<(), End> {
        let head = self.read_head(first_wait)?;
        self.entry.enter(Phase::Body);
        self.serve_head(&head, handler)
    }

    fn serve_head(
        &mut self,
        head: &Head,
        handler: Option<&mut (dyn ConnectionHandler + 'static)>,
    ) -> Result<(), End> {
        if let Some(handler) = handler {
            let has_body = head.framing != Framing::Length(0);
            self.entry
                .set_source(has_body.then(|| handler.source(head)).flatten());
            if handler.claims(head) {
                return handler.serve(head, self).into();
            }
        }
        self.answer(head).map_err(|end| match end {
            End::Refused(refusal, _) => End::Refused(refusal, head.method == "HEAD"),
            end => end,
        })
    }

    fn answer(&mut self, head: &Head) -> Result<(), End> {
        let target = Target::parse(&head.target)?;
        let state = self.state;
        state.hosts.check(head, &target.path, state.port)?;
        if state.backend.streams(&head.method, &target.path) {
            if head.expects_continue && self.inbox.is_empty() {
                self.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            return self.exchange(head, None);
        }
        if head.framing != Framing::Length(0) && state.table.is_over_share(self.entry) {
            return Err(Refusal::new(503, "too many requests from this address at once").into());
        }
        let (body, _held) = self.read_body(head)?;
        self.exchange(head, Some(body))
    }

    /// The wait for the first byte is `first_wait`; from there on the whole head has one
    /// deadline, which no trickle of bytes extends.
    fn read_head(&mut self, first_wait: Duration) -> Result<Head, End> {
        let limits = &self.state.limits;
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
                self.entry.enter(Phase::Head);
                until = Instant::now() + limits.head_time;
            }
            // Between requests there is seldom anything to read at once.
            let is_ready = scan.has_begun() || self.wait(until)?;
            if !is_ready || !self.fill(until)? {
                return Err(late(scan.has_begun(), "the request head"));
            }
        }
    }

    /// The body, and its share of what all bodies may take.
    pub(super) fn read_body(&mut self, head: &Head) -> Result<(Vec<u8>, HeldBody<'a>), End> {
        let limits = &self.state.limits;
        if let Framing::Length(length) = head.framing
            && usize::try_from(length).map_or(true, |length| length > limits.body)
        {
            return Err(self.too_large().into());
        }
        let mut body = Body::new(head.framing);
        if head.expects_continue && !body.is_done() && self.inbox.is_empty() {
            self.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let mut held = self.state.bodies.hold();
        let mut bytes = Vec::new();
        let mut progress = Progress::begin(self);
        loop {
            let whole = self.take_body(&mut body, &mut bytes)?;
            if !held.grow_to(bytes.len(), limits.bodies) {
                return Err(Refusal::new(503, "too many large requests at once").into());
            }
            if whole {
                return Ok((bytes, held));
            }
            progress.note(self, bytes.len());
            if !self.fill(progress.until)? {
                return Err(late(true, "the request body"));
            }
        }
    }

    /// Moves what has arrived of the body; true when it is whole.
    fn take_body(&mut self, body: &mut Body, bytes: &mut Vec<u8>) -> Result<bool, End> {
        let mut at = 0;
        while !body.is_done() && at < self.inbox.len() {
            let rest = self.inbox.get(at..).expect("a step stays within its input");
            let step = body.step(rest)?;
            bytes.extend_from_slice(rest.get(step.data).expect("a step stays within its input"));
            at += step.consumed;
        }
        self.consume(at);
        if bytes.len() > self.state.limits.body {
            return Err(self.too_large().into());
        }
        Ok(body.is_done())
    }

    fn too_large(&self) -> Refusal {
        let cap = self.state.limits.body;
        Refusal::new(413, format!("the request body is larger than {cap} bytes"))
    }

    /// One whose body is not given has it streamed.
    fn exchange(&mut self, head: &Head, body: Option<Vec<u8>>) -> Result<(), End> {
        self.entry.enter(Phase::Busy);
        let _slot = self.state.exchanges.enter().ok_or_else(too_busy)?;
        let cancel = CancelToken::new();
        // A body that is there lies with the head as one.
        let framing = body.as_ref().map_or(head.framing, |_| Framing::Length(0));
        let mut opened = self.open(head, body, &cancel)?;
        let rules = WorkerRules {
            state: self.state,
            pending: opened.pending.as_ref(),
            cancel: &cancel,
        };
        let mut transfer = Transfer::new(head, RequestBody::new(framing, opened.request));
        let (socket, timeouts) = (&mut opened.socket, rules.timeouts());
        let outcome = Exchange::new(self, socket, &mut transfer, &rules, timeouts).run();
        match outcome {
            Outcome::Done { .. } => cancel.disarm(),
            // Whatever became of the answer, nobody waits for it any more.
            _ => cancel.fire(),
        }
        rules.after(&outcome)?.into()
    }

    fn open(
        &self,
        head: &Head,
        body: Option<Vec<u8>>,
        cancel: &CancelToken,
    ) -> Result<Opened, Refusal> {
        let backend = &self.state.backend;
        let opened = backend.open(head, body.as_deref(), self.entry.peer, cancel);
        opened.map_err(|error| {
            log::warn!("http: cannot reach the workers: {error}");
            too_busy()
        })
    }

    /// Waits for more; false when `until` has passed.
    fn fill(&mut self, until: Instant) -> Result<bool, End> {
        loop {
            match self.receive(PIECE) {
                Ok(0) => return Err(End::Silent),
                Ok(_) => return Ok(true),
                failed if would_block(&failed) => {}
                Err(_) => return Err(End::Silent),
            }
            if !self.wait(until)? {
                return Ok(false);
            }
        }
    }

    /// Waits until there is something to read; false when `until` has passed.
    fn wait(&self, until: Instant) -> Result<bool, End> {
        let ready = poll_until([(self.socket, PollFlags::IN)], Some(until));
        let [ready] = ready.map_err(|_| End::Silent)?;
        Ok(!ready.is_empty())
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        if bytes >= self.inbox.len() {
            self.inbox = Vec::new(); // an idle connection holds no memory
        } else {
            self.inbox.drain(..bytes);
        }
    }

    fn end(&mut self, end: End) {
        self.entry.enter(Phase::Closing);
        match end {
            End::Silent => {}
            End::Finished => self.linger(),
            End::Reset => reset_when_closed(self.socket),
            End::Refused(refusal, to_head) => {
                log::debug!("http: refused {}: {refusal}", self.entry.peer.ip());
                self.state.note_refused(&refusal);
                let response = self.state.stamped(refused(refusal));
                let bytes = response_bytes(response, to_head, true);
                if self.write_all(&bytes).is_ok() {
                    self.linger();
                }
            }
        }
    }

    /// Closing with unread bytes would reset the connection, and the client might never
    /// see the answer: so they are read and thrown away, for a while.
    fn linger(&self) {
        let limits = &self.state.limits;
        let until = Instant::now() + limits.linger_time;
        let _ = self.socket.shutdown(Shutdown::Write);
        let mut piece = [0; PIECE];
        let mut left = limits.linger_bytes;
        while left > 0 && Instant::now() < until && !self.state.is_stopping() {
            let mut socket = self.socket;
            match socket.read(&mut piece) {
                Ok(0) => return,
                Ok(read) => left = left.saturating_sub(read),
                failed if would_block(&failed) => {
                    if poll_until([(self.socket, PollFlags::IN)], Some(until)).is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }

    pub(super) fn send(&self, head: &Head, response: Response, close: bool) -> After {
        let response = self.state.stamped(response);
        let bytes = response_bytes(response, head.method == "HEAD", close);
        match self.write_all(&bytes) {
            Err(_) => After::Drop,
            Ok(()) if close => After::Close,
            Ok(()) => After::Keep,
        }
    }

    /// Writes something small.
    fn write_all(&self, mut bytes: &[u8]) -> Result<(), End> {
        let until = Instant::now() + REFUSAL_WRITE;
        while !bytes.is_empty() {
            let mut socket = self.socket;
            match socket.write(bytes) {
                Ok(sent) => bytes = bytes.get(sent..).expect("no more is sent than there is"),
                failed if would_block(&failed) => {
                    let ready = poll_until([(self.socket, PollFlags::OUT)], Some(until));
                    let [ready] = ready.map_err(|_| End::Silent)?;
                    if ready.is_empty() || ready.intersects(BROKEN) {
                        return Err(End::Silent);
                    }
                }
                Err(_) => return Err(End::Silent),
            }
        }
        Ok(())
    }
}

impl From<After> for Result<(), End> {
    fn from(after: After) -> Result<(), End> {
        match after {
            After::Keep => Ok(()),
            After::Close => Err(End::Finished),
            After::Reset => Err(End::Reset),
            After::Drop => Err(End::Silent),
        }
    }
}

/// Holds a body to its pace: so many bytes in each stretch of time.
struct Progress {
    until: Instant,
    wanted: usize,
}

impl Progress {
    fn begin(connection: &Connection<'_>) -> Progress {
        let limits = &connection.state.limits;
        Progress {
            until: Instant::now() + limits.body_stall,
            wanted: limits.body_progress,
        }
    }

    fn note(&mut self, connection: &Connection<'_>, arrived: usize) {
        if arrived >= self.wanted {
            let next = Progress::begin(connection);
            self.until = next.until;
            self.wanted = arrived + next.wanted;
        }
    }
}

/// A connection that never began a request is closed without a word.
fn late(begun: bool, what: &str) -> End {
    if begun {
        Refusal::new(408, format!("{what} took too long")).into()
    } else {
        End::Silent
    }
}

fn refused(refusal: Refusal) -> Response {
    let status = refusal.status;
    let response = Response::error(&ApiError::from(refusal));
    if status == 405 {
        response.header("Allow", METHODS)
    } else {
        response
    }
}

/// An answer of our own as it goes out; without its body where the client asked by HEAD.
pub(crate) fn response_bytes(response: Response, to_head: bool, close: bool) -> Vec<u8> {
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
