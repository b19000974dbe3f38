//! The loop of one connection: the only place that reads its requests.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::connection_handler::{After, ClientConnection, ConnectionHandler, Gateway, Reset};
use super::connection_table::{ConnectionEntry, Phase};
use super::limits::Limits;
use super::limits::{ExchangeSlot, hold_body};
use super::peer;
use super::requests::{ConnectionEnd, PIECE, RequestReader, response_bytes};
use super::requests::{WorkerRules, too_busy};
use super::server_state::{ServerState, UpstreamConnection};
use crate::http::h1::Refusal;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::h1::head::Target;
use crate::http::proxy::{Client, ClientStream, Exchange, Outcome, RequestBody, Transfer};
use crate::http::socket::was_reset;
use crate::http::{ApiError, CancelToken, Response};
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
    ConnectionEnd(After),
}

/// Serves the requests of one connection until it ends, or (true) is parked, which it is only where
/// there is a `waker` for its upstream.
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
    // Its memory is free for others from here on.
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

/// One connection, as long as a thread has it.
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
        // The connection just asked about has our client's address; it is our client only if the
        // connection has stood all the while. One that was reset leaves its port to others,
        // and what it had sent to us.
        if was_reset(self.requests.stream) {
            return Err(ConnectionEnd::Silent);
        }
        Ok(())
    }
}

impl<'a, S: ClientStream> Connection<'a, S> {
    /// Takes the inbox along.
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

    /// Returns the reason of its end; none where it is to be parked, with an empty inbox.
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

    /// Gives the connection to the gateway for a tunnel. A client that has sent more before the answer is refused: what it
    /// sent may be a request of somebody else, which a proxy took for one more.
    fn hand_over(&self, gateway: &dyn Gateway, head: &Head) -> ConnectionEnd {
        if !self.requests.inbox.is_empty() {
            return Refusal::malformed("bytes follow the request for a tunnel").into();
        }
        // Nobody gives it up while both have it.
        self.entry.set_phase(Phase::Busy);
        let Ok(socket) = self.requests.stream.socket() else {
            return too_busy().into();
        };
        match gateway.take_tunnel(head, socket, self.entry.peer) {
            Ok(()) => ConnectionEnd::HandedOver,
            Err(refusal) => refusal.into(),
        }
    }

    /// The body, and its share of what all bodies may take.
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

    /// One whose body is not given has it streamed.
    fn exchange(&mut self, head: &Head, body: Option<Vec<u8>>) -> Result<(), ConnectionEnd> {
        self.entry.set_phase(Phase::Busy);
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
