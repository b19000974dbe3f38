//! One request and its answer: the loop between a client and the backend.

use crate::net::poll::{Interest, poll_until};
use std::io::{IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::event::PollFlags;

use super::forward::{Forward, Piece};
use super::limits::Limits;
use super::socket::{BROKEN, READ_CLOSED, would_block};
use super::{PendingResponse, Refusal};
use crate::http::CancelToken;

/// Bytes read from behind at once, at first: most answers are small.
const SMALL_BUFFER: usize = 8 * 1024;
/// Bytes read from behind at once when an answer fills the small buffer.
const LARGE_BUFFER: usize = 128 * 1024;

/// How an exchange ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The whole answer has been sent.
    Done {
        /// Whether the connection may be used again.
        keep_alive: bool,
    },
    /// The answer broke off after a part of it had been sent.
    Aborted,
    /// The client has gone.
    Gone,
    /// There was no answer; the client is still to be told.
    Refused(Refusal),
}

/// One exchange. Both sockets are non-blocking.
pub(super) struct Exchange<'a> {
    pub(super) limits: &'a Limits,
    pub(super) client: &'a TcpStream,
    pub(super) behind: &'a UnixStream,
    pub(super) ticket: &'a dyn PendingResponse,
    pub(super) watch: &'a CancelToken,
    /// What the client sends meanwhile: the beginning of its next request.
    pub(super) inbox: &'a mut Vec<u8>,
    /// Head and body of the request, as far as they are not sent.
    pub(super) request: Vec<u8>,
    pub(super) sent: usize,
    pub(super) forward: Forward,
    /// When the client was found gone.
    pub(super) gone: Option<Instant>,
}

impl Exchange<'_> {
    /// Runs to the end.
    pub(super) fn run(mut self) -> Outcome {
        let upstream_timeout = Instant::now() + self.limits.upstream_timeout;
        self.relay(upstream_timeout)
            .unwrap_or_else(|outcome| outcome)
    }

    /// Sends the request and passes the answer on.
    fn relay(&mut self, upstream_timeout: Instant) -> Result<Outcome, Outcome> {
        let mut buffer = vec![0; SMALL_BUFFER];
        let mut filled = 0;
        self.push_request();
        loop {
            filled = self.pass_on(&mut buffer, filled)?;
            if self.forward.is_done() {
                return Ok(self.done());
            }
            let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) else {
                return Err(self.broken("the answer's head is too large"));
            };
            let mut behind = self.behind;
            match behind.read(room) {
                Ok(0) => return self.ended_behind(),
                Ok(read) => {
                    filled += read;
                    grow(&mut buffer, filled);
                }
                failed if would_block(&failed) => self.wait(upstream_timeout)?,
                Err(_) => return self.ended_behind(),
            }
        }
    }

    /// Sends on what can be sent of the buffer; returns how much is left in it.
    fn pass_on(&mut self, buffer: &mut [u8], filled: usize) -> Result<usize, Outcome> {
        let mut at = 0;
        while !self.forward.is_done() && at < filled {
            let input = buffer.get(at..filled).unwrap_or_default();
            let Piece {
                consumed,
                head,
                body,
            } = match self.forward.step(input) {
                Ok(piece) => piece,
                Err(refusal) => return Err(self.broken(&refusal.message)),
            };
            if consumed == 0 {
                break;
            }
            if head.is_empty() {
                self.send(&head, input.get(body).unwrap_or_default())?;
            } else {
                at += self.send_head(&head, input.get(consumed..).unwrap_or_default())?;
            }
            at += consumed;
        }
        buffer.copy_within(at..filled, 0);
        Ok(filled - at)
    }

    /// The head goes together with what there is of the body: one packet for most answers.
    /// Returns how much of the body went with it.
    fn send_head(&mut self, head: &[u8], rest: &[u8]) -> Result<usize, Outcome> {
        match self.forward.step(rest) {
            Ok(Piece { consumed, body, .. }) => {
                self.send(head, rest.get(body).unwrap_or_default())?;
                Ok(consumed)
            }
            Err(_) => Err(Outcome::Aborted),
        }
    }

    fn send(&mut self, mut first: &[u8], mut second: &[u8]) -> Result<(), Outcome> {
        while !first.is_empty() || !second.is_empty() {
            let mut client = self.client;
            match client.write_vectored(&[IoSlice::new(first), IoSlice::new(second)]) {
                Ok(0) => return Err(self.lost()),
                Ok(sent) => {
                    let of_first = sent.min(first.len());
                    first = first.get(of_first..).unwrap_or_default();
                    second = second.get(sent - of_first..).unwrap_or_default();
                }
                failed if would_block(&failed) => self.wait_for_room()?,
                Err(_) => return Err(self.lost()),
            }
        }
        Ok(())
    }

    /// Waits until the client takes more.
    fn wait_for_room(&mut self) -> Result<(), Outcome> {
        let stalled = Instant::now() + self.limits.write_stall;
        let until = self.grace().map_or(stalled, |grace| grace.min(stalled));
        let watch = if self.gone.is_some() {
            PollFlags::empty()
        } else {
            READ_CLOSED
        };
        let [client] = poll_until([(self.client, PollFlags::OUT | watch)], Some(until))
            .map_err(|_| Outcome::Aborted)?;
        if client.is_empty() || client.intersects(BROKEN) {
            return Err(self.lost());
        }
        if client.intersects(watch) {
            self.client_left();
        }
        Ok(())
    }

    /// Waits for either side, and moves what comes from the client.
    fn wait(&mut self, upstream_timeout: Instant) -> Result<(), Outcome> {
        let pending = self.sent < self.request.len();
        let mut behind = PollFlags::IN;
        behind.set(PollFlags::OUT, pending);
        let until = self.deadline(upstream_timeout);
        let sockets: [Interest<'_>; 2] = [(self.behind, behind), (self.client, self.wanted())];
        let [behind, client] = poll_until(sockets, until).map_err(|_| Outcome::Aborted)?;
        if behind.is_empty() && client.is_empty() {
            return self.time_is_up(upstream_timeout);
        }
        if pending && behind.intersects(PollFlags::OUT | BROKEN) {
            self.push_request();
        }
        self.hear_client(client)
    }

    /// What is listened for at the client. Once it has gone there is nothing to hear; bytes
    /// of its next request are taken as long as there is room.
    fn wanted(&self) -> PollFlags {
        if self.gone.is_some() {
            return PollFlags::empty();
        }
        let mut wanted = READ_CLOSED;
        wanted.set(PollFlags::IN, self.inbox.len() < self.limits.head);
        wanted
    }

    fn hear_client(&mut self, ready: PollFlags) -> Result<(), Outcome> {
        if ready.intersects(BROKEN) {
            return Err(self.lost());
        }
        if ready.intersects(PollFlags::IN) && self.gone.is_none() {
            self.take_from_client();
        }
        if ready.intersects(READ_CLOSED) {
            self.client_left();
        }
        Ok(())
    }

    fn take_from_client(&mut self) {
        let mut piece = [0; 2048];
        let mut client = self.client;
        match client.read(&mut piece) {
            Ok(0) => self.client_left(),
            Ok(read) => self
                .inbox
                .extend_from_slice(piece.get(..read).unwrap_or_default()),
            failed if would_block(&failed) => {}
            Err(_) => self.client_left(),
        }
    }

    fn push_request(&mut self) {
        let mut behind = self.behind;
        match behind.write(self.request.get(self.sent..).unwrap_or_default()) {
            Ok(written) => self.sent += written,
            failed if would_block(&failed) => {}
            // Whoever is behind answers early or not at all: reading tells which.
            Err(_) => self.sent = self.request.len(),
        }
        if self.sent == self.request.len() {
            self.request = Vec::new();
            self.sent = 0;
        }
    }

    fn deadline(&self, upstream_timeout: Instant) -> Option<Instant> {
        let taken = self.ticket.is_taken();
        self.grace()
            .or(if taken { None } else { Some(upstream_timeout) })
    }

    /// Until when a client that has gone may still be answered.
    fn grace(&self) -> Option<Instant> {
        self.gone.map(|since| since + self.limits.gone_grace)
    }

    fn time_is_up(&mut self, upstream_timeout: Instant) -> Result<(), Outcome> {
        let now = Instant::now();
        if self.grace().is_some_and(|grace| grace <= now) {
            return Err(Outcome::Gone);
        }
        if !self.ticket.is_taken() && upstream_timeout <= now {
            return Err(self.broken_with(503, "too busy: try again"));
        }
        Ok(())
    }

    fn done(&self) -> Outcome {
        Outcome::Done {
            keep_alive: self.forward.keeps_alive() && self.gone.is_none(),
        }
    }

    fn ended_behind(&mut self) -> Result<Outcome, Outcome> {
        if self.forward.may_end_here() {
            return Ok(self.done());
        }
        Err(self.broken("the request was not answered"))
    }

    fn broken(&self, why: &str) -> Outcome {
        let status = if self.ticket.is_taken() { 500 } else { 503 };
        self.broken_with(status, why)
    }

    fn broken_with(&self, status: u16, why: &str) -> Outcome {
        if self.forward.has_begun() {
            return Outcome::Aborted;
        }
        Outcome::Refused(Refusal::new(status, why.to_owned()))
    }

    /// The client sends nothing more; it may still read.
    fn client_left(&mut self) {
        if self.gone.is_none() {
            self.gone = Some(Instant::now());
            self.watch.fire();
        }
    }

    /// The client neither sends nor reads.
    fn lost(&mut self) -> Outcome {
        self.client_left();
        Outcome::Gone
    }
}

/// A buffer that was filled at once is too small for this answer.
fn grow(buffer: &mut Vec<u8>, filled: usize) {
    if filled == buffer.len() && filled < LARGE_BUFFER {
        buffer.resize(LARGE_BUFFER, 0);
    }
}
