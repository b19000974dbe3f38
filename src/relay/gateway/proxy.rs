//! One request to an application and its answer: the only loop that moves both.
//!
//! ```text
//! visitor ── inbox ── Body ──> request ──> stream        (to_app: what the stream has not taken)
//! visitor <── piece <── ResponseHead <── buffer <── stream     (piece: what the visitor has not taken)
//! ```
//!
//! Nothing is read from one side while the other has not taken what was read before: so memory is
//! bounded, and a slow side slows the other down.

use crate::net::poll::timespec;
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::limits::Limits;
use super::permits::BusyPermit;
use super::request_body::RequestBody;
use super::response_body::ResponseBody;
use super::response_head::ResponseHead;
use super::site::{Stats, add};
use super::stream::ByteStream;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler::ClientConnection;
use crate::http::server::{BROKEN, READ_CLOSED, Refusal, would_block};

/// Bytes of a body read from a visitor at once. Default 64 KiB.
const BODY_PIECE: usize = 64 * 1024;
/// Pieces that go one way before the other has its turn. Default 16: 2 MiB.
const TURN: usize = 16;

/// How an exchange ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The whole answer has been sent.
    Done {
        /// Whether the visitor's connection may be used again.
        keeps_visitor: bool,
        /// Whether the stream may.
        keeps_stream: bool,
    },
    /// From here on bytes go both ways.
    Upgraded,
    /// Not a byte came, and the stream has ended.
    Unanswered(Ended),
    /// What came is no answer; the visitor is still to be told.
    NotHttp(&'static str),
    /// The application took too long; the visitor is still to be told.
    TooSlow,
    /// The request's body cannot be passed on; the visitor is still to be told.
    Refused(Refusal),
    /// The answer broke off after a part of it had been sent.
    BrokenOff {
        /// Whether the visitor can tell that from its framing.
        shows: bool,
    },
    /// The visitor has gone, or takes nothing.
    Gone,
}

impl Outcome {
    /// Whether the stream may be used again.
    pub(super) fn keeps_stream(&self) -> bool {
        matches!(self, Self::Done { keeps_stream, .. } if *keeps_stream)
    }
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// The application closed it.
    Closed,
    /// The tunnel broke.
    Tunnel,
    /// TLS with the application failed, say: what happened.
    Failed(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        match error.kind() {
            io::ErrorKind::ConnectionAborted => Ended::Tunnel,
            io::ErrorKind::ConnectionReset => Ended::Closed,
            _ => Ended::Failed(error.to_string()),
        }
    }
}

/// One exchange.
pub(super) struct Proxy<'e, 'v, 'a> {
    visitor: &'e mut ClientConnection<'v, 'a>,
    client: &'a TcpStream,
    stream: &'e mut dyn ByteStream,
    limits: &'e Limits,
    figures: &'e Stats,
    permit: &'e BusyPermit<'e>,
    request: RequestBody,
    answer: ResponseBody<'e>,
    /// When the visitor was found to send nothing more.
    gone: Option<Instant>,
    /// Whether the answer began before the application had the whole request: then it may leave some
    /// of it unread.
    is_early: bool,
}

/// Whether a direction has stopped because it would have to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Blocked,
    More,
}

impl<'e, 'v, 'a> Proxy<'e, 'v, 'a> {
    /// Sends `head`, the request's head as the application gets it, and passes `answer` on.
    pub(super) fn new(
        (visitor, stream): (&'e mut ClientConnection<'v, 'a>, &'e mut dyn ByteStream),
        limits: &'e Limits,
        (figures, permit): (&'e Stats, &'e BusyPermit<'e>),
        (request, head): (&Head, Vec<u8>),
        answer: ResponseHead<'e>,
    ) -> Self {
        Proxy {
            client: visitor.socket(),
            visitor,
            stream,
            limits,
            figures,
            permit,
            request: RequestBody::new(request.framing, head),
            answer: ResponseBody::new(answer),
            gone: None,
            is_early: false,
        }
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) -> Outcome {
        // What has come of the body goes together with the head.
        let mut step = match self.request.body.is_done() || self.visitor.inbox().is_empty() {
            true => Ok(()),
            false => self.take_body().map(drop),
        };
        loop {
            match step {
                Ok(()) => step = self.turn(),
                Err(outcome) => return outcome,
            }
        }
    }

    /// The status that the visitor was told, if any.
    pub(super) fn status(&self) -> Option<u16> {
        self.answer.answer.status
    }

    /// Bytes that were sent to the visitor.
    pub(super) fn sent(&self) -> usize {
        self.answer.sent
    }

    /// What came from the application after its answer to an upgrade.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        self.answer.unseen().to_vec()
    }

    /// Both ways are tried before either is waited for: what TLS has read while it wrote wakes
    /// nobody.
    fn turn(&mut self) -> Result<(), Outcome> {
        let was_whole = self.request.is_whole();
        let up = self.push()?;
        if !was_whole && self.request.is_whole() {
            self.is_at_work();
        }
        let down = self.pull()?;
        if self.answer.is_done() {
            return Err(self.done());
        }
        if self.answer.is_upgraded() {
            return Err(Outcome::Upgraded);
        }
        match (up, down) {
            (Turn::Blocked, Turn::Blocked) => self.wait(),
            _ => Ok(()),
        }
    }

    /// The application has the whole request: it is not given up for others any more, unless too
    /// many such came while its body did.
    fn is_at_work(&mut self) {
        if self.permit.take().is_ok() {
            self.visitor.is_busy();
        }
    }

    fn done(&self) -> Outcome {
        let answer = &self.answer.answer;
        let is_whole = self.request.is_whole() && !self.request.is_deaf && !self.is_early;
        Outcome::Done {
            keeps_visitor: answer.keeps_visitor()
                && self.request.body.is_done()
                && self.gone.is_none()
                && !self.visitor.is_stopping(),
            // Bytes behind the answer are nobody's.
            keeps_stream: answer.keeps_stream() && is_whole && self.answer.unseen().is_empty(),
        }
    }

    /// Moves the request until somebody has to be waited for.
    fn push(&mut self) -> Result<Turn, Outcome> {
        for _ in 0..TURN {
            if self.request.is_deaf {
                return Ok(Turn::Blocked);
            }
            if !self.request.pending().is_empty() {
                match self.stream.write(self.request.pending()) {
                    Ok(taken) => {
                        add(&self.figures.bytes_in, taken);
                        self.request.has_taken(taken);
                    }
                    failed if would_block(&failed) => return Ok(Turn::Blocked),
                    Err(_) => self.request.is_deaf = true,
                }
            } else if self.request.body.is_done() || !self.take_body()? {
                return Ok(Turn::Blocked);
            }
        }
        Ok(Turn::More)
    }

    /// False when the visitor has to be waited for.
    fn take_body(&mut self) -> Result<bool, Outcome> {
        let inbox = self.visitor.inbox();
        if inbox.is_empty() {
            match read_more(self.client, inbox) {
                Ok(0) => return Err(Outcome::Gone),
                Ok(_) => self.request.moved = Instant::now(),
                failed if would_block(&failed) => return Ok(false),
                Err(_) => return Err(Outcome::Gone),
            }
        }
        let used = self.request.encode(inbox).map_err(|refusal| {
            // What came of the body cannot be taken back: the stream ends with it.
            match self.answer.has_begun() {
                true => self.answer.broken_off(),
                false => Outcome::Refused(refusal),
            }
        })?;
        inbox.drain(..used);
        Ok(true)
    }

    /// Moves the answer until somebody has to be waited for.
    fn pull(&mut self) -> Result<Turn, Outcome> {
        for _ in 0..TURN {
            if self.answer.has_piece() {
                let sent = self.answer.sent;
                let turn = self.answer.send(self.client);
                add(&self.figures.bytes_out, self.answer.sent - sent);
                match turn {
                    Ok(Turn::Blocked) => return Ok(Turn::Blocked),
                    Ok(Turn::More) => {}
                    Err(_) => return Err(Outcome::Gone),
                }
            } else if self.answer.is_over() || (!self.next_piece()? && !self.read()?) {
                return Ok(Turn::Blocked);
            }
        }
        Ok(Turn::More)
    }

    /// False when more has to be read.
    fn next_piece(&mut self) -> Result<bool, Outcome> {
        // An answer before the end of the request ends the connection: what is still coming
        // would have to be read to its end.
        let last = !self.request.body.is_done() || self.visitor.is_stopping();
        let had_head = self.answer.answer.has_head();
        let looked = self.answer.next_piece(last);
        self.is_early |= !had_head && self.answer.answer.has_head() && !self.request.is_whole();
        looked
    }

    /// False when the application has to be waited for.
    fn read(&mut self) -> Result<bool, Outcome> {
        let room = match self.answer.room() {
            Some(room) => room,
            None => return Err(Outcome::NotHttp("its head is too large")),
        };
        match self.stream.read(room) {
            Ok(0) => self.answer.ended().map(|()| true),
            Ok(count) => {
                self.answer.filled(count);
                Ok(true)
            }
            failed if would_block(&failed) => Ok(false),
            Err(error) => {
                log::debug!("gateway: a stream broke: {error}");
                Err(self.answer.broke(error))
            }
        }
    }

    /// Waits for whoever has to be waited for.
    fn wait(&mut self) -> Result<(), Outcome> {
        let wants_body = !self.request.is_whole() && !self.request.is_deaf;
        let to_app = !self.request.pending().is_empty() && !self.request.is_deaf;
        let to_visitor = self.answer.has_piece();
        if to_visitor {
            self.visitor.is_stalled();
        }
        let mut client = PollFlags::empty();
        client.set(PollFlags::OUT, to_visitor);
        client.set(PollFlags::IN, wants_body && !to_app);
        // The end of a body that is still coming is found by reading.
        let watches = self.gone.is_none() && self.request.body.is_done();
        client.set(READ_CLOSED, watches);
        let (until, late) = self.deadline(wants_body, to_app, to_visitor);
        let wanted = self.stream.wanted(!to_visitor, to_app);
        let waited = wait((self.client, client), wanted, until);
        let (ready, is_ready) = waited.map_err(|_| Outcome::Gone)?;
        if to_visitor && self.request.is_whole() {
            self.is_at_work();
        }
        if ready.intersects(BROKEN) {
            return Err(Outcome::Gone);
        }
        if watches && ready.intersects(READ_CLOSED) {
            self.gone = Some(Instant::now());
        }
        let is_late = Instant::now() >= until;
        match is_late && (!is_ready || late == Outcome::Gone) {
            true => Err(late),
            false => Ok(()),
        }
    }

    /// Until when the next step must come, and what it means if it does not.
    fn deadline(&self, wants_body: bool, to_app: bool, to_visitor: bool) -> (Instant, Outcome) {
        let front = self.visitor.limits();
        let (request, answer) = (&self.request, &self.answer);
        let slow = match answer.has_begun() {
            true => answer.broken_off(),
            false => Outcome::TooSlow,
        };
        let mut first = if to_visitor {
            (answer.moved + front.write_stall, Outcome::Gone)
        } else if answer.answer.has_head() {
            (
                answer.moved.max(request.moved) + self.limits.silence,
                slow.clone(),
            )
        } else {
            (
                answer.moved.max(request.moved) + self.limits.answer_time,
                slow.clone(),
            )
        };
        let others = [
            to_app.then(|| (request.moved + self.limits.request_stall, slow)),
            (wants_body && !to_app)
                .then(|| (request.moved + front.body_stall, self.body_is_late())),
            self.gone
                .map(|since| (since + front.gone_grace, Outcome::Gone)),
        ];
        for other in others.into_iter().flatten() {
            if other.0 < first.0 {
                first = other;
            }
        }
        first
    }

    fn body_is_late(&self) -> Outcome {
        match self.answer.has_begun() {
            true => self.answer.broken_off(),
            false => Outcome::Refused(Refusal::new(408, "the request body took too long")),
        }
    }
}

fn read_more(mut client: &TcpStream, inbox: &mut Vec<u8>) -> io::Result<usize> {
    *inbox = vec![0; BODY_PIECE];
    let read = client.read(inbox);
    inbox.truncate(*read.as_ref().unwrap_or(&0));
    read
}

/// Polls a visitor's socket and a stream until `until`. What nothing is wanted of is left out: a
/// closed one would wake for ever. Returns what the socket is ready for, and whether anything was.
pub(super) fn wait(
    client: (&TcpStream, PollFlags),
    stream: [(BorrowedFd<'_>, PollFlags); 2],
    until: Instant,
) -> io::Result<(PollFlags, bool)> {
    let left = timespec(until.saturating_duration_since(Instant::now()));
    let [first, second] = stream;
    let all = [(client.0.as_fd(), client.1), first, second];
    let wanted = all.iter().filter(|(_, flags)| !flags.is_empty());
    let mut fds: Vec<PollFd<'_>> = wanted
        .map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
        .collect();
    let ready = match poll(&mut fds, Some(&left)) {
        Ok(ready) => ready > 0,
        Err(Errno::INTR) => true,
        Err(error) => return Err(error.into()),
    };
    let of_client = fds.first().filter(|_| !client.1.is_empty());
    let of_client = of_client.map_or(PollFlags::empty(), PollFd::revents);
    Ok((of_client, ready))
}
