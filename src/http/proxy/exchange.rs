//! One request and its answer: the only loop that moves both, and the request on its way.
//!
//! No byte is read from one side while the other has not taken the bytes before it: so memory is bounded, and a slow
//! side slows the other down.

use std::time::Instant;

use rustix::event::PollFlags;

use super::byte_stream::{ByteStream, wait};
use super::response_body::ResponseBody;
use super::response_head::ResponseHead;
use super::rules::{Client, Outcome, Rules, Timeouts};
use crate::http::h1::Refusal;
use crate::http::h1::body::{Body, Framing};
use crate::http::h1::head::Head;
use crate::net::poll::{BROKEN, READ_CLOSED, would_block};

/// Bytes of a body read from a client at once. Default 64 KiB.
const BODY_PIECE: usize = 64 * 1024;
/// Bytes of what follows a request read at once: the beginning of the next. Default 2 KiB.
const AHEAD_PIECE: usize = 2 * 1024;
/// Bytes of what follows a request that are taken before it is answered. Default 32 KiB, a head.
const MAX_AHEAD: usize = 32 * 1024;
/// Pieces that go one way before the other has its turn. Default 16: 2 MiB.
const PIECES_A_TURN: usize = 16;

/// One exchange. Both sides are non-blocking.
pub(crate) struct Exchange<'e> {
    client: &'e mut dyn Client,
    upstream: &'e mut dyn ByteStream,
    rules: &'e dyn Rules,
    timeouts: Timeouts,
    transfer: &'e mut Transfer,
}

/// Progress of an exchange: all that is kept of it while no thread waits for it.
pub(crate) struct Transfer {
    request: RequestBody,
    answer: ResponseBody,
    /// Time at which the client was found to send nothing more.
    gone: Option<Instant>,
    /// True if the answer began before the upstream had the whole request: the upstream may leave some of it unread.
    is_early: bool,
}

/// Result of a step without waiting.
pub(crate) enum ExchangeStep {
    /// The exchange is over.
    Ended(Outcome),
    /// The upstream has the request, and only its answer is awaited.
    Quiet,
    /// More bytes can move, or another side is awaited.
    Busy,
}

/// State of a direction: whether it has stopped because it would have to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectionState {
    Blocked,
    More,
}

/// Side that did not move in time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LateSide {
    Client,
    ClientBody,
    Upstream,
}

impl Transfer {
    /// Begins the transfer of a request with this `head`, before any byte was sent.
    pub(crate) fn new(head: &Head, request: RequestBody) -> Transfer {
        Transfer {
            answer: ResponseBody::new(ResponseHead::new(head), request.moved),
            request,
            gone: None,
            is_early: false,
        }
    }

    /// The status that the client was told, if any.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.head.status
    }

    /// Bytes that were sent to the client.
    pub(crate) fn sent(&self) -> u64 {
        self.answer.sent
    }

    /// Returns the bytes from the upstream after its answer to an upgrade.
    pub(crate) fn rest(&self) -> Vec<u8> {
        self.answer.unseen().to_vec()
    }
}

impl<'e> Exchange<'e> {
    /// Goes on with `transfer`, from its current point.
    pub(crate) fn new(
        client: &'e mut dyn Client,
        upstream: &'e mut dyn ByteStream,
        transfer: &'e mut Transfer,
        rules: &'e dyn Rules,
        timeouts: Timeouts,
    ) -> Exchange<'e> {
        Exchange {
            client,
            upstream,
            rules,
            timeouts,
            transfer,
        }
    }

    /// Runs to the end.
    pub(crate) fn run(&mut self) -> Outcome {
        // Received bytes of the body go together with the head.
        let mut step = if self.transfer.request.body.is_done() || self.client.inbox().is_empty() {
            Ok(true)
        } else {
            self.take_body()
        };
        loop {
            step = match step {
                Ok(true) => self.turn(),
                Ok(false) => self.wait().map(|()| true),
                Err(outcome) => return outcome,
            }
        }
    }

    /// Sends the request as far as that goes without waiting, to an upstream that was just found to be silent.
    pub(crate) fn send(&mut self) -> ExchangeStep {
        match self.turn_up() {
            Ok(_) if self.waits_for_answer() => ExchangeStep::Quiet,
            Ok(_) => self.step(),
            Err(outcome) => ExchangeStep::Ended(outcome),
        }
    }

    /// Goes on as far as one turn leads, without waiting.
    pub(crate) fn step(&mut self) -> ExchangeStep {
        match self.turn() {
            Err(outcome) => {
                self.transfer.answer.give_back_buffer();
                ExchangeStep::Ended(outcome)
            }
            Ok(false) if self.waits_for_answer() => ExchangeStep::Quiet,
            Ok(_) => ExchangeStep::Busy,
        }
    }

    fn waits_for_answer(&self) -> bool {
        self.transfer.request.is_whole() && !self.transfer.answer.has_piece()
    }

    /// Moves both ways before either is awaited: bytes that TLS read while it wrote wake nobody. False if a side has to
    /// be awaited.
    fn turn(&mut self) -> Result<bool, Outcome> {
        let up = self.turn_up()?;
        let down = self.pull()?;
        if self.transfer.answer.is_done() {
            return Err(self.done());
        }
        let request = &self.transfer.request;
        if self.transfer.answer.is_upgraded() && (request.is_whole() || request.is_deaf) {
            return Err(Outcome::Upgraded);
        }
        let is_blocked = (up, down) == (DirectionState::Blocked, DirectionState::Blocked);
        Ok(!is_blocked || (self.wants_room() && self.upstream.may_write()))
    }

    fn turn_up(&mut self) -> Result<DirectionState, Outcome> {
        let was_whole = self.transfer.request.is_whole();
        let up = self.push()?;
        if !was_whole && self.transfer.request.is_whole() {
            self.mark_at_work();
        }
        Ok(up)
    }

    /// Called when the upstream has the whole request.
    fn mark_at_work(&self) {
        if self.rules.on_sent() {
            self.client.mark_busy();
        }
    }

    fn done(&self) -> Outcome {
        let head = &self.transfer.answer.head;
        let is_whole = self.transfer.request.is_whole()
            && !self.transfer.request.is_deaf
            && !self.transfer.is_early;
        Outcome::Done {
            keeps_client: head.keeps_client
                && self.transfer.request.body.is_done()
                && self.transfer.gone.is_none()
                && !self.client.is_stopping(),
            // Bytes after the answer are nobody's.
            keeps_upstream: head.keeps_upstream
                && is_whole
                && self.transfer.answer.unseen().is_empty(),
        }
    }

    /// Moves the request until somebody has to be waited for.
    fn push(&mut self) -> Result<DirectionState, Outcome> {
        for _ in 0..PIECES_A_TURN {
            if self.transfer.request.is_deaf {
                return Ok(DirectionState::Blocked);
            }
            if !self.transfer.request.pending().is_empty() {
                match self.upstream.write(self.transfer.request.pending()) {
                    Ok(taken) => {
                        self.rules.count_up(taken);
                        self.transfer.request.mark_taken(taken);
                    }
                    failed if would_block(&failed) => return Ok(DirectionState::Blocked),
                    Err(_) => self.transfer.request.is_deaf = true,
                }
            } else if self.transfer.request.body.is_done() || !self.take_body()? {
                return Ok(DirectionState::Blocked);
            }
        }
        Ok(DirectionState::More)
    }

    /// False when the client has to be waited for.
    fn take_body(&mut self) -> Result<bool, Outcome> {
        if self.client.inbox().is_empty() {
            match self.client.receive(BODY_PIECE) {
                Ok(0) => return Err(Outcome::Gone),
                Ok(_) => self.transfer.request.moved = Instant::now(),
                failed if would_block(&failed) => return Ok(false),
                Err(_) => return Err(Outcome::Gone),
            }
        }
        let inbox = self.client.inbox();
        let used = self.transfer.request.encode(inbox).map_err(|refusal| {
            // The upstream already has a part of the body, so it ends with this exchange.
            if self.transfer.answer.has_begun() {
                self.transfer.answer.broken_off()
            } else {
                Outcome::Refused(refusal)
            }
        })?;
        inbox.drain(..used);
        Ok(true)
    }

    /// Moves the answer until somebody has to be waited for.
    fn pull(&mut self) -> Result<DirectionState, Outcome> {
        for _ in 0..PIECES_A_TURN {
            if self.transfer.answer.has_piece() {
                match self.transfer.answer.send(self.client.stream()) {
                    Ok(sent) => self.rules.count_down(sent),
                    failed if would_block(&failed) => return Ok(DirectionState::Blocked),
                    Err(_) => return Err(Outcome::Gone),
                }
            } else if self.transfer.answer.is_over() || (!self.next_piece()? && !self.read()?) {
                return Ok(DirectionState::Blocked);
            }
        }
        Ok(DirectionState::More)
    }

    /// False when more has to be read.
    fn next_piece(&mut self) -> Result<bool, Outcome> {
        // An answer before the end of the request ends the connection: what is still coming
        // would have to be read to its end.
        let last = !self.transfer.request.body.is_done() || self.client.is_stopping();
        let had_head = self.transfer.answer.head.has_head();
        let looked = self.transfer.answer.next_piece(self.rules, last);
        self.transfer.is_early |=
            !had_head && self.transfer.answer.head.has_head() && !self.transfer.request.is_whole();
        looked
    }

    /// False when the upstream has to be waited for.
    fn read(&mut self) -> Result<bool, Outcome> {
        let Some(room) = self.transfer.answer.room() else {
            return Err(Outcome::NotHttp("its head is too large".into()));
        };
        match self.upstream.read(room) {
            Ok(0) => self.transfer.answer.ended().map(|()| true),
            Ok(count) => {
                self.transfer.answer.mark_filled(count);
                Ok(true)
            }
            failed if would_block(&failed) => {
                self.transfer.answer.give_back_buffer();
                Ok(false)
            }
            Err(error) => {
                log::debug!("http: an upstream failed: {error}");
                Err(self.transfer.answer.broke(error))
            }
        }
    }

    /// Waits until one side can go on.
    fn wait(&mut self) -> Result<(), Outcome> {
        let to_client = self.transfer.answer.has_piece();
        let is_stalled = to_client && self.rules.gives_way();
        if is_stalled {
            self.client.mark_stalled();
        }
        // The end of a body that is still coming is found by reading.
        let watches = self.transfer.gone.is_none() && self.transfer.request.body.is_done();
        let takes_ahead = watches && self.client.inbox().len() < MAX_AHEAD;
        // The end of a client that has closed its sending side, and takes nothing now, is seen too.
        let mut client = PollFlags::HUP;
        client.set(PollFlags::OUT, to_client);
        client.set(PollFlags::IN, self.wants_body() || takes_ahead);
        client.set(READ_CLOSED, watches);
        let until = self.deadline().map(|(until, _)| until);
        let reads = !to_client && !self.transfer.answer.is_over();
        let upstream = self.upstream.wanted(reads, self.wants_room());
        let waited = wait(self.client.stream().watched(client), upstream, until);
        let (polled, is_ready) = waited.map_err(|_| Outcome::Gone)?;
        // All other bytes stay unread.
        let ready = self.client.stream().ready(polled) & (client | BROKEN);
        if is_stalled && self.transfer.request.is_whole() {
            self.mark_at_work();
        }
        if ready.intersects(BROKEN) {
            return Err(Outcome::Gone);
        }
        if watches {
            self.watch_client(ready);
        }
        self.check_time(is_ready)
    }

    /// True if a piece of the body is awaited from the client.
    fn wants_body(&self) -> bool {
        !self.transfer.request.body.is_done()
            && self.transfer.request.pending().is_empty()
            && !self.transfer.request.is_deaf
    }

    /// True if the upstream is to take a piece of the request.
    fn wants_room(&self) -> bool {
        !self.transfer.request.pending().is_empty() && !self.transfer.request.is_deaf
    }

    /// Takes the bytes that a client sends ahead, and notes its end; on systems that do not report the end
    /// ([`READ_CLOSED`]), only reading finds it.
    fn watch_client(&mut self, ready: PollFlags) {
        let mut has_left = ready.intersects(READ_CLOSED);
        if ready.intersects(PollFlags::IN) {
            let received = self.client.receive(AHEAD_PIECE);
            has_left |= !would_block(&received) && !matches!(received, Ok(1..));
        }
        if has_left {
            self.transfer.gone = Some(Instant::now());
            self.rules.on_client_left();
        }
    }

    fn check_time(&self, is_ready: bool) -> Result<(), Outcome> {
        let Some((until, late)) = self.deadline() else {
            return Ok(());
        };
        if Instant::now() < until || (is_ready && late != LateSide::Client) {
            return Ok(());
        }
        Err(match late {
            LateSide::Client => Outcome::Gone,
            _ if self.transfer.answer.has_begun() => self.transfer.answer.broken_off(),
            LateSide::Upstream => Outcome::TooSlow {
                has_request: self.transfer.request.is_whole(),
            },
            LateSide::ClientBody => {
                Outcome::Refused(Refusal::new(408, "the request body took too long"))
            }
        })
    }

    /// Returns the time by which the next step must come, and the side that is late otherwise.
    fn deadline(&self) -> Option<(Instant, LateSide)> {
        let (request, answer, times) = (
            &self.transfer.request,
            &self.transfer.answer,
            &self.timeouts,
        );
        let after = |since: Instant, time, late| Some((since + time?, late));
        let moved = answer.moved.max(request.moved);
        let of_answer = if answer.has_piece() {
            after(answer.moved, Some(times.write_stall), LateSide::Client)
        } else if answer.head.has_head() {
            after(moved, times.silence, LateSide::Upstream)
        } else if self.wants_body() {
            None
        } else {
            after(moved, self.rules.answer_time(), LateSide::Upstream)
        };
        // Once the answer has begun, its silence counts for both.
        let is_answering = answer.head.has_head() && times.silence.is_some();
        let stall = (self.wants_body() && !is_answering).then_some(times.body_stall);
        let of_request = after(request.moved, stall, LateSide::ClientBody);
        let gone = self.transfer.gone;
        let grace = gone.and_then(|gone| after(gone, times.gone_grace, LateSide::Client));
        let all = [of_answer, of_request, grace].into_iter().flatten();
        all.min_by_key(|(until, _)| *until)
    }
}

/// A request on its way.
pub(crate) struct RequestBody {
    pub(super) body: Body,
    is_chunked: bool,
    /// Bytes that the upstream has not wholly taken.
    pending: Vec<u8>,
    /// Bytes of it that the upstream has.
    taken: usize,
    /// True if the upstream takes nothing more; its answer tells the reason.
    pub(super) is_deaf: bool,
    pub(super) moved: Instant,
}

impl RequestBody {
    /// Begins with `head`; a body in this framing follows it.
    pub(crate) fn new(framing: Framing, head: Vec<u8>) -> RequestBody {
        RequestBody {
            body: Body::new(framing),
            is_chunked: framing == Framing::Chunked,
            pending: head,
            taken: 0,
            is_deaf: false,
            moved: Instant::now(),
        }
    }

    /// Returns the bytes that the upstream is to take next.
    pub(super) fn pending(&self) -> &[u8] {
        self.pending
            .get(self.taken..)
            .expect("no more is taken than is pending")
    }

    /// True if the upstream has all of it.
    pub(super) fn is_whole(&self) -> bool {
        self.pending.is_empty() && self.body.is_done()
    }

    /// Notes that the upstream has taken so many bytes.
    pub(super) fn mark_taken(&mut self, count: usize) {
        self.moved = Instant::now();
        self.taken += count;
        if self.taken >= self.pending.len() {
            self.pending = Vec::new();
            self.taken = 0;
        }
    }

    /// Takes as much of the body as possible; chunks are written afresh, without extensions and trailers: two readers
    /// could read those differently.
    pub(super) fn encode(&mut self, input: &[u8]) -> Result<usize, Refusal> {
        let mut at = 0;
        while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty())
            && !self.body.is_done()
        {
            let step = self.body.step(rest)?;
            let data = rest.get(step.data).expect("a step stays within its input");
            at += step.consumed;
            if self.is_chunked && !data.is_empty() {
                self.pending
                    .extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
                self.pending.extend_from_slice(data);
                self.pending.extend_from_slice(b"\r\n");
            } else {
                self.pending.extend_from_slice(data);
            }
        }
        if self.is_chunked && self.body.is_done() {
            self.pending.extend_from_slice(b"0\r\n\r\n");
        }
        Ok(at)
    }
}
