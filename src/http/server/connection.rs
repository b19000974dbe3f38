//! The loop of one connection, the only place that reads its requests, and the rules of an exchange with a worker.

use std::borrow::Cow;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::connection_handler::{After, ClientConnection, ConnectionHandler, Gateway, Reset};
use super::connection_table::{ConnectionEntry, Phase};
use super::limits::{ExchangeSlot, Limits, hold_body};
use super::peer;
use super::requests::{ConnectionEnd, PIECE, RequestReader, now, response_bytes};
use super::server_state::{PendingResponse, ServerState, UpstreamConnection};
use crate::http::h1::Refusal;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::body::Framing;
use crate::http::h1::head::{Head, Target};
use crate::http::h1::hop_by_hop::{end_to_end, write_line};
use crate::http::proxy::{
    Client, ClientStream, Exchange, Outcome, RequestBody, Rules, Timeouts, Transfer,
};
use crate::http::response::HSTS;
use crate::http::{ApiError, CancelToken, Response};
use crate::net::poll::was_reset;
use crate::sync::Permit;

/// Methods for 405 (RFC 9110 section 15.5.6).
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE, OPTIONS";

/// State that a connection keeps from one thread to the next.
pub(super) struct CarriedState {
    handler: Option<Box<dyn ConnectionHandler>>,
    /// Bytes that have arrived and are not yet used.
    pub(super) inbox: Vec<u8>,
}

impl CarriedState {
    /// State of a new connection.
    pub(super) fn new(handler: Option<Box<dyn ConnectionHandler>>) -> CarriedState {
        let inbox = Vec::new();
        CarriedState { handler, inbox }
    }

    /// Returns the handler of a parked connection.
    pub(super) fn handler(&mut self) -> Option<&mut (dyn ConnectionHandler + 'static)> {
        self.handler.as_deref_mut()
    }
}

/// Work that a thread begins with.
pub(super) enum Work {
    /// Read the first request of a new connection.
    Accepted,
    /// Read a request.
    Read,
    /// Serve a request.
    Serve(Head),
    /// Let the handler end the request that it has begun.
    Finish,
    /// End the connection after its last answer.
    ConnectionEnd(After),
}

/// Serves the requests of one connection until it ends, or until it is parked (true), which needs a `waker` for its
/// upstream.
pub(super) fn serve(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    socket: &TcpStream,
    held: &mut CarriedState,
    work: Work,
    waker: Option<&Waker>,
) -> bool {
    let mut connection = Connection::new(state, entry, socket, &mut held.inbox);
    if let Some(handler) = held.handler() {
        handler.unpark();
    }
    let may = match work {
        Work::Accepted => connection.check_user(),
        _ => Ok(()),
    };
    let end = match may {
        Ok(()) => connection.run(held.handler(), work, waker),
        Err(end) => Some(end),
    };
    let Some(end) = end else {
        return true;
    };
    // Its memory is free for other connections from here on.
    held.handler = None;
    connection.end(end);
    false
}

/// Serves the requests of a client whose stream is in this process, until it ends.
pub(super) fn serve_stream(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    stream: impl ClientStream,
) {
    let mut connection = Connection::new(state, entry, stream, &mut Vec::new());
    if let Some(end) = connection.run(None, Work::Accepted, None) {
        connection.end(end);
    }
}

/// Tells a client that there is no room for it, as far as that goes without waiting.
pub(super) fn turn_away(state: &ServerState, mut stream: impl ClientStream) {
    let refusal = Refusal::new(503, "too many connections: try again later");
    state.note_refused(&refusal);
    let response = state.stamped(refused(refusal));
    let _ = stream.write(&response_bytes(response, false, true));
    stream.end_write();
}

/// One connection while a thread has it.
pub(super) struct Connection<'a, S> {
    pub(super) state: &'a ServerState,
    pub(super) entry: &'a Arc<ConnectionEntry>,
    pub(super) requests: RequestReader<S>,
}

impl Connection<'_, &TcpStream> {
    fn check_user(&self) -> Result<(), ConnectionEnd> {
        if !self.state.check_other_users {
            return Ok(());
        }
        let ours = self
            .requests
            .stream
            .local_addr()
            .map_err(|_| ConnectionEnd::Silent)?;
        peer::check(self.entry.peer, ours)?;
        // The peer's address belonged to our client when the kernel was asked; that holds only if the connection has
        // stood all the while. A connection that was reset leaves its port to others, and the bytes that it had sent to
        // us.
        if was_reset(self.requests.stream) {
            return Err(ConnectionEnd::Silent);
        }
        Ok(())
    }
}

impl<'a, S: ClientStream> Connection<'a, S> {
    /// Begins with the bytes of the inbox.
    pub(super) fn new(
        state: &'a ServerState,
        entry: &'a Arc<ConnectionEntry>,
        stream: S,
        inbox: &mut Vec<u8>,
    ) -> Connection<'a, S> {
        let requests = RequestReader::new(stream, std::mem::take(inbox));
        Connection {
            state,
            entry,
            requests,
        }
    }

    /// Returns the reason of its end; none if it is to be parked, with an empty inbox.
    fn run(
        &mut self,
        mut handler: Option<&mut (dyn ConnectionHandler + 'static)>,
        work: Work,
        waker: Option<&Waker>,
    ) -> Option<ConnectionEnd> {
        let limits = &self.state.limits;
        let mut served = match work {
            Work::Accepted => self.request(limits.head_time, handler.as_deref_mut()),
            Work::Read => self.request(limits.idle_time, handler.as_deref_mut()),
            Work::Serve(head) => self.serve_head(&head, handler.as_deref_mut()),
            Work::Finish => handler.as_deref_mut()?.finish(self).into(),
            Work::ConnectionEnd(after) => after.into(),
        };
        loop {
            if let Err(end) = served {
                return Some(end);
            }
            self.entry.set_phase(Phase::Idle);
            if self.state.is_stopping() {
                return Some(ConnectionEnd::Finished);
            }
            if let (Some(handler), Some(waker)) = (handler.as_deref_mut(), waker)
                && self.requests.inbox.is_empty()
                && handler.park(waker)
            {
                return None;
            }
            served = self.request(limits.idle_time, handler.as_deref_mut());
        }
    }

    /// Reads, checks and answers one request.
    fn request(
        &mut self,
        first_wait: Duration,
        handler: Option<&mut (dyn ConnectionHandler + 'static)>,
    ) -> Result<(), ConnectionEnd> {
        let begins = || self.entry.set_phase(Phase::Head);
        let head = (self.requests).read_head(&self.state.limits, first_wait, begins)?;
        self.entry.set_phase(Phase::Body);
        self.serve_head(&head, handler)
    }

    fn serve_head(
        &mut self,
        head: &Head,
        handler: Option<&mut (dyn ConnectionHandler + 'static)>,
    ) -> Result<(), ConnectionEnd> {
        if let Some(handler) = handler {
            let has_body = head.framing != Framing::Length(0);
            self.entry
                .set_source(has_body.then(|| handler.source(head)).flatten());
            if handler.claims(head) {
                return handler.serve(head, self).into();
            }
        }
        self.answer(head).map_err(|end| match end {
            ConnectionEnd::Refused(refusal, _) => {
                ConnectionEnd::Refused(refusal, head.method == "HEAD")
            }
            end => end,
        })
    }

    fn answer(&mut self, head: &Head) -> Result<(), ConnectionEnd> {
        let target = Target::parse(&head.target)?;
        let state = self.state;
        state.hosts.check(head, &target.path, state.port)?;
        if let Some(gateway) = &state.gateway
            && gateway.is_tunnel(&head.target)
        {
            return Err(self.hand_over(gateway.as_ref(), head));
        }
        if state.backend.streams(&head.method, &target.path) {
            self.requests.ask_for_body(head)?;
            return self.exchange(head, None);
        }
        if head.framing != Framing::Length(0) && state.table.is_over_share(self.entry) {
            return Err(Refusal::new(503, "too many requests from this address at once").into());
        }
        let (body, _held) = self.read_body(head, state.limits.body)?;
        self.exchange(head, Some(body))
    }

    /// Gives the connection to the gateway for a tunnel. A client that has sent more before the answer is refused: a
    /// proxy may have taken the request of another client for the rest of this one.
    fn hand_over(&self, gateway: &dyn Gateway, head: &Head) -> ConnectionEnd {
        if !self.requests.inbox.is_empty() {
            return Refusal::malformed("bytes follow the request for a tunnel").into();
        }
        // The entry is not given up while both have the connection.
        self.entry.set_phase(Phase::Busy);
        let Ok(socket) = self.requests.stream.socket() else {
            return too_busy().into();
        };
        match gateway.take_tunnel(head, socket, self.entry.peer) {
            Ok(()) => ConnectionEnd::HandedOver,
            Err(refusal) => refusal.into(),
        }
    }

    /// Returns the body, and its share of the memory for all bodies.
    pub(super) fn read_body(
        &mut self,
        head: &Head,
        most: usize,
    ) -> Result<(Vec<u8>, Permit), ConnectionEnd> {
        let state = self.state;
        let mut held = state.bodies.empty();
        let may_hold = |bytes| hold_body(&mut held, bytes, state.limits.bodies);
        let body = (self.requests).read_body(head, &state.limits, most, may_hold)?;
        Ok((body, held))
    }

    /// Passes a request on to a worker; without a body given, the body is streamed.
    fn exchange(&mut self, head: &Head, body: Option<Vec<u8>>) -> Result<(), ConnectionEnd> {
        self.entry.set_phase(Phase::Busy);
        let _slot = self.state.exchanges.enter().ok_or_else(too_busy)?;
        let cancel = CancelToken::new();
        // A body that was read goes together with the head.
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
            // Nobody waits for the answer any more.
            _ => cancel.fire(),
        }
        rules.after(&outcome)?.into()
    }

    fn open(
        &self,
        head: &Head,
        body: Option<Vec<u8>>,
        cancel: &CancelToken,
    ) -> Result<UpstreamConnection, Refusal> {
        let backend = &self.state.backend;
        let opened = backend.open(head, body.as_deref(), self.entry.peer, cancel);
        opened.map_err(|error| {
            log::warn!("http: cannot reach the workers: {error}");
            too_busy()
        })
    }

    fn end(&mut self, end: ConnectionEnd) {
        if matches!(end, ConnectionEnd::HandedOver) {
            return;
        }
        self.entry.set_phase(Phase::Closing);
        match end {
            ConnectionEnd::Silent | ConnectionEnd::HandedOver => {}
            ConnectionEnd::Finished => self.linger(),
            ConnectionEnd::Reset => self.requests.stream.breaks_off(),
            ConnectionEnd::Refused(refusal, to_head) => {
                log::debug!("http: refused {}: {refusal}", self.entry.peer.ip());
                self.state.note_refused(&refusal);
                let response = self.state.stamped(refused(refusal));
                if self.requests.send_last(response, to_head) {
                    self.linger();
                }
            }
        }
    }

    fn linger(&mut self) {
        let state = self.state;
        self.requests.linger(&state.limits, || state.is_stopping());
    }

    pub(super) fn send(&mut self, head: &Head, response: Response, close: bool) -> After {
        let response = self.state.stamped(response);
        self.requests.send(head, response, close)
    }
}

fn refused(refusal: Refusal) -> Response {
    let status = refusal.status;
    let response = Response::error(&ApiError::from(refusal));
    match status {
        405 => response.header("Allow", METHODS),
        // RFC 9110 section 15.5.22, RFC 6455 section 4.4.
        426 => response
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13"),
        _ => response,
    }
}

impl<S: ClientStream> Client for Connection<'_, S> {
    fn stream(&mut self) -> &mut dyn ClientStream {
        &mut self.requests.stream
    }

    fn inbox(&mut self) -> &mut Vec<u8> {
        &mut self.requests.inbox
    }

    fn receive(&mut self, most: usize) -> io::Result<usize> {
        let read = self.requests.receive(most)?;
        if most > PIECE {
            self.entry.note_body(read, self.state.limits.body_progress);
        }
        Ok(read)
    }

    fn is_stopping(&self) -> bool {
        self.state.is_ending()
    }

    fn mark_busy(&self) {
        self.entry.set_phase(Phase::Busy);
    }

    fn mark_stalled(&self) {
        self.entry.set_phase(Phase::Stalled);
    }
}

impl<S: ClientStream> ClientConnection for Connection<'_, S> {
    fn limits(&self) -> &Limits {
        &self.state.limits
    }

    fn capacity(&self) -> usize {
        self.state.capacity()
    }

    fn reserve(&self) -> Option<ExchangeSlot> {
        let slot = self.state.exchanges.enter_site();
        if slot.is_none() {
            self.state.table.give_up_idle();
        }
        slot
    }

    fn has_left(&self) -> bool {
        self.requests.stream.has_left()
    }

    fn resetter(&self) -> Option<Arc<dyn Reset>> {
        Some(self.entry.resetter())
    }

    fn body(&mut self, head: &Head, most: usize) -> Result<Vec<u8>, After> {
        match self.read_body(head, most) {
            Ok((body, _)) => Ok(body),
            Err(ConnectionEnd::Refused(refusal, _)) => {
                let response = Response::error(&refusal.into());
                Err(self.send(head, response, true))
            }
            Err(_) => Err(After::Drop),
        }
    }

    fn answer(&mut self, head: &Head, response: Response, body_is_read: bool) -> After {
        let unread = !body_is_read && head.framing != Framing::Length(0);
        let close = unread || !head.keep_alive || self.is_stopping();
        self.send(head, response, close)
    }
}

/// Rules of an exchange with a worker. A worker that has taken the request has no time limit: an export may run for
/// hours.
struct WorkerRules<'a> {
    state: &'a ServerState,
    pending: &'a dyn PendingResponse,
    cancel: &'a CancelToken,
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

    /// tiny_http's own interim answers are for this process alone.
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
    fn timeouts(&self) -> Timeouts {
        let limits = &self.state.limits;
        Timeouts {
            write_stall: limits.write_stall,
            body_stall: limits.body_stall,
            gone_grace: Some(limits.gone_grace),
            silence: None,
        }
    }

    /// Returns the next state of the connection, or the refusal that its client still gets.
    fn after(&self, outcome: &Outcome) -> Result<After, Refusal> {
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

fn too_busy() -> Refusal {
    Refusal::new(503, "too busy: try again")
}
