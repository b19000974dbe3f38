//! Channels (RFC 4254 §5) of any type, opened by either side.
//!
//! ```text
//! open() > ──> opening ── < CONFIRMATION ──┐
//!                                          ├──> open ── CLOSE both ways, close() ──> gone
//! < OPEN ───> offered ── accept() > ───────┘
//! ```
//!
//! Writing is admitted, not queued without end: by the peer's window, and by the room in the
//! output. Channels that find no room wait for it; the writer wakes as many as fit.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::channel::{Channel, ChannelStage, WriteWait};
use super::config::{self, ChannelLimits};
use super::error::{ChannelOpenFailure, Error};
use super::event::Event;
use super::names::{ChannelId, msg};
use super::output::Output;
use super::window::{Window, WindowBudget};
use super::wire::{Fields, Put, capped, wide};

/// Bytes of bulk data that a channel may queue each time it is woken, while others wait.
/// Default 64 KiB: a batch.
const QUANTUM: usize = config::BATCH;
/// [`config::MAX_DATA`] as it is announced.
const MAX_DATA: u32 = 32 * 1024;
const UNKNOWN_CHANNEL: Error = Error::Protocol("a message names a channel that is not open");

/// All channels of a connection.
pub(super) struct Channels {
    table: HashMap<u32, Channel>,
    next: u32,
    budget: WindowBudget,
    /// Channels that wait for room in the output, the longest waiting first.
    waiting: VecDeque<u32>,
    /// A channel that was woken has queued nothing: its quantum is the next one's.
    quantum_unused: bool,
}

// Requests of this side. The methods of the session describe each for its caller.
impl Channels {
    pub(super) fn new(limits: ChannelLimits) -> Self {
        Self {
            table: HashMap::new(),
            next: 0,
            budget: WindowBudget::new(limits),
            waiting: VecDeque::new(),
            quantum_unused: false,
        }
    }

    pub(super) fn open(
        &mut self,
        kind: &str,
        extra: &[u8],
        out: &mut Output,
    ) -> Result<ChannelId, Error> {
        if extra.len() > config::MAX_EXTRA || kind.len() > config::MAX_NAME {
            return Err(Error::Misuse("the channel's target is too long"));
        }
        let (id, window) = self.add(ChannelStage::Opening)?;
        let mut head = vec![msg::CHANNEL_OPEN];
        head.put_string(kind.as_bytes());
        head.put_u32(id);
        head.put_u32(window);
        head.put_u32(MAX_DATA);
        out.urgent(&[&head, extra]);
        Ok(ChannelId(id))
    }

    pub(super) fn accept(&mut self, channel: ChannelId, out: &mut Output) -> Result<(), Error> {
        let entry = self.at_stage(channel, ChannelStage::Offered)?;
        entry.stage = ChannelStage::Open;
        let mut message = vec![msg::CHANNEL_OPEN_CONFIRMATION];
        message.put_u32(entry.remote);
        message.put_u32(channel.0);
        message.put_u32(first_window(&entry.receive));
        message.put_u32(MAX_DATA);
        out.urgent(&[&message]);
        Ok(())
    }

    pub(super) fn refuse(
        &mut self,
        channel: ChannelId,
        why: ChannelOpenFailure,
        text: &str,
        out: &mut Output,
    ) -> Result<(), Error> {
        let remote = self.at_stage(channel, ChannelStage::Offered)?.remote;
        self.remove(channel.0);
        refuse(out, remote, why, capped(text, config::MAX_TEXT));
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        channel: ChannelId,
        data: &[u8],
        out: &mut Output,
    ) -> Result<usize, Error> {
        let nobody_waits = self.waiting.is_empty();
        let entry = find(&mut self.table, channel, Channel::is_writable)?;
        let woken = entry.wait == WriteWait::Woken;
        let mut quantum = match entry.wait {
            WriteWait::Queue => 0,
            _ if nobody_waits => usize::MAX,
            WriteWait::Woken => QUANTUM,
            WriteWait::No | WriteWait::Window => 0,
        };
        if entry.wait != WriteWait::Queue {
            entry.wait = WriteWait::No;
        }
        let queued = entry.queued;
        let mut rest = data;
        while let Some(piece) = entry.piece(rest) {
            if !entry.send(channel.0, piece, data.len(), quantum, out) {
                let unused = woken && rest.len() == data.len();
                let before = std::mem::replace(&mut entry.wait, WriteWait::Queue);
                self.enqueue(channel.0, before, unused);
                return Ok(data.len() - rest.len());
            }
            quantum = quantum.saturating_sub(piece.len());
            rest = rest.get(piece.len()..).expect("a piece of the rest");
        }
        if !rest.is_empty() {
            entry.wait = WriteWait::Window;
        } else if std::mem::replace(&mut entry.wait, WriteWait::No) == WriteWait::Queue {
            // Small enough to overtake: it must not be woken, and leave the next waiting.
            self.waiting.retain(|waiting| *waiting != channel.0);
        }
        self.quantum_unused |= woken && entry.queued == queued && !self.waiting.is_empty();
        Ok(data.len() - rest.len())
    }

    /// A channel that was woken and found no room keeps its place.
    fn enqueue(&mut self, id: u32, before: WriteWait, quantum_unused: bool) {
        match before {
            WriteWait::Queue => {}
            _ if quantum_unused => self.waiting.push_front(id),
            _ => self.waiting.push_back(id),
        }
    }

    pub(super) fn window(&mut self, channel: ChannelId) -> Result<usize, Error> {
        let entry = find(&mut self.table, channel, Channel::is_writable)?;
        if entry.send_window == 0 {
            let before = std::mem::replace(&mut entry.wait, WriteWait::Window);
            self.quantum_unused |= before == WriteWait::Woken && !self.waiting.is_empty();
        }
        Ok(usize::try_from(entry.send_window).unwrap_or(usize::MAX))
    }

    /// Notes used bytes; true if the peer was granted more.
    pub(super) fn consume(
        &mut self,
        channel: ChannelId,
        bytes: usize,
        now: Instant,
        round_trip: Option<Duration>,
        out: &mut Output,
    ) -> Result<bool, Error> {
        let entry = find(&mut self.table, channel, |entry| !entry.released)?;
        let budget = &mut self.budget;
        let grant = entry.receive.consume(wide(bytes), now, round_trip, budget);
        let Some(more) = grant.filter(|_| entry.stage == ChannelStage::Open) else {
            return Ok(false);
        };
        let mut message = vec![msg::CHANNEL_WINDOW_ADJUST];
        message.put_u32(entry.remote);
        message.put_u32(more);
        out.urgent(&[&message]);
        Ok(true)
    }

    pub(super) fn eof(&mut self, channel: ChannelId, out: &mut Output) -> Result<(), Error> {
        let entry = self.at_stage(channel, ChannelStage::Open)?;
        if !entry.close_sent && !std::mem::replace(&mut entry.eof_sent, true) {
            entry.send_last(channel.0, msg::CHANNEL_EOF, out);
        }
        Ok(())
    }

    pub(super) fn close(&mut self, channel: ChannelId, out: &mut Output) -> Result<(), Error> {
        let is_ours = |entry: &Channel| !entry.released && entry.stage != ChannelStage::Offered;
        let entry = find(&mut self.table, channel, is_ours)?;
        entry.released = true;
        entry.receive.release(&mut self.budget);
        if entry.stage == ChannelStage::Open {
            entry.send_close(channel.0, out);
        }
        if entry.close_received {
            self.remove(channel.0);
        }
        Ok(())
    }

    pub(super) fn count(&self) -> usize {
        self.table.len()
    }

    pub(super) fn window_bytes(&self) -> u64 {
        self.budget.charged()
    }

    fn add(&mut self, stage: ChannelStage) -> Result<(u32, u32), Error> {
        if self.table.len() >= self.budget.channels() {
            return Err(Error::Exhausted("channels"));
        }
        let receive = Window::open(&mut self.budget).ok_or(Error::Exhausted("channels"))?;
        while self.table.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let (id, window) = (self.next, first_window(&receive));
        self.next = id.wrapping_add(1);
        self.table.insert(id, Channel::new(stage, receive));
        Ok((id, window))
    }

    fn remove(&mut self, id: u32) {
        if let Some(mut entry) = self.table.remove(&id) {
            entry.receive.release(&mut self.budget);
        }
    }

    fn at_stage(&mut self, channel: ChannelId, stage: ChannelStage) -> Result<&mut Channel, Error> {
        let is_there = |entry: &Channel| entry.stage == stage && !entry.released;
        find(&mut self.table, channel, is_there)
    }
}

// Calls of the writer.
impl Channels {
    /// Notes that the writer has taken `size` bytes of this channel's bulk data.
    pub(super) fn note_written(&mut self, channel: u32, size: usize) {
        if let Some(entry) = self.table.get_mut(&channel) {
            entry.queued = entry.queued.saturating_sub(size);
        }
    }

    /// True if a waiting channel is to be woken although nothing was taken.
    pub(super) fn has_unused_quantum(&self) -> bool {
        self.quantum_unused
    }

    /// Wakes as many waiting channels as fit into `room`. A channel that is woken and then leaves queues EOF or CLOSE,
    /// and taking that wakes the next.
    pub(super) fn wake(&mut self, room: usize, woken: &mut Vec<ChannelId>) {
        self.quantum_unused = false;
        let mut quanta = room / QUANTUM;
        while quanta > 0
            && let Some(id) = self.waiting.pop_front()
        {
            let Some(entry) = self.table.get_mut(&id) else {
                continue;
            };
            if entry.wait == WriteWait::Queue && entry.is_writable() {
                entry.wait = WriteWait::Woken;
                woken.push(ChannelId(id));
                quanta -= 1;
            }
        }
    }
}

// Messages of the peer.
impl Channels {
    /// Messages but data, EOF and CLOSE, which the reader sees first.
    pub(super) fn handle<'a>(
        &mut self,
        kind: u8,
        mut fields: Fields<'a>,
        out: &mut Output,
    ) -> Result<Event<'a>, Error> {
        if kind == msg::CHANNEL_OPEN {
            return self.offered(fields, out);
        }
        let id = fields.uint32()?;
        match kind {
            msg::CHANNEL_WINDOW_ADJUST | msg::CHANNEL_REQUEST if self.is_past(id) => {
                Ok(Event::Handled)
            }
            msg::CHANNEL_OPEN_CONFIRMATION => self.confirmed(id, fields, out),
            msg::CHANNEL_OPEN_FAILURE => self.refused(id, fields),
            msg::CHANNEL_WINDOW_ADJUST => self.on_window_adjust(id, fields),
            msg::CHANNEL_REQUEST => self.requested(id, fields, out),
            // This side sends no channel requests; a stray answer does no harm.
            msg::CHANNEL_SUCCESS | msg::CHANNEL_FAILURE => Ok(Event::Handled),
            _ => Err(Error::Protocol("a channel message has an unknown number")),
        }
    }

    /// RFC 4254 §5.1.
    fn offered<'a>(
        &mut self,
        mut fields: Fields<'a>,
        out: &mut Output,
    ) -> Result<Event<'a>, Error> {
        let kind = fields.name(config::MAX_NAME)?;
        let remote = fields.uint32()?;
        let (window, max_data) = (fields.uint32()?, fields.uint32()?);
        let Ok((id, _)) = self.add(ChannelStage::Offered) else {
            refuse(
                out,
                remote,
                ChannelOpenFailure::ResourceShortage,
                "too many channels",
            );
            return Ok(Event::Handled);
        };
        self.live(id)?.set_remote(remote, window, max_data)?;
        Ok(Event::ChannelOpen {
            channel: ChannelId(id),
            kind,
            extra: fields.rest(),
        })
    }

    fn confirmed(
        &mut self,
        id: u32,
        mut fields: Fields<'_>,
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        let entry = self.live(id)?;
        if entry.stage != ChannelStage::Opening {
            return Err(Error::Protocol("a channel was confirmed twice"));
        }
        entry.stage = ChannelStage::Open;
        let remote = fields.uint32()?;
        entry.set_remote(remote, fields.uint32()?, fields.uint32()?)?;
        if entry.released {
            entry.send_close(id, out);
            return Ok(Event::Handled);
        }
        Ok(Event::ChannelOpenConfirmation {
            channel: ChannelId(id),
        })
    }

    fn refused<'a>(&mut self, id: u32, mut fields: Fields<'a>) -> Result<Event<'a>, Error> {
        let entry = self.live(id)?;
        if entry.stage != ChannelStage::Opening {
            return Err(Error::Protocol("an open channel was refused"));
        }
        let released = entry.released;
        self.remove(id);
        let (code, text) = (fields.uint32()?, fields.string().unwrap_or_default());
        if released {
            return Ok(Event::Handled);
        }
        let channel = ChannelId(id);
        Ok(Event::ChannelOpenFailure {
            channel,
            code,
            text,
        })
    }

    /// RFC 4254 §5.2: a window never exceeds 2^32 - 1 bytes.
    fn on_window_adjust(
        &mut self,
        id: u32,
        mut fields: Fields<'_>,
    ) -> Result<Event<'static>, Error> {
        let more = fields.uint32()?;
        let entry = self.live(id)?;
        if entry.stage != ChannelStage::Open {
            return Err(UNKNOWN_CHANNEL);
        }
        entry.send_window = entry
            .send_window
            .checked_add(more)
            .ok_or(Error::Protocol("a window is wider than 4 GiB"))?;
        if entry.wait != WriteWait::Window || more == 0 || !entry.is_writable() {
            return Ok(Event::Handled);
        }
        entry.wait = WriteWait::No;
        Ok(Event::Writable {
            channel: ChannelId(id),
        })
    }

    /// RFC 4254 §5.4: no request is known here.
    fn requested(
        &mut self,
        id: u32,
        mut fields: Fields<'_>,
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        fields.string()?;
        let wants_reply = fields.boolean()?;
        let entry = self.live(id)?;
        if wants_reply && !entry.close_sent {
            let mut failure = vec![msg::CHANNEL_FAILURE];
            failure.put_u32(entry.remote);
            out.urgent(&[&failure]);
        }
        Ok(Event::Handled)
    }

    /// True if the peer has closed this channel. Some peers go on naming it for a moment, which is no reason to end the
    /// connection.
    fn is_past(&self, id: u32) -> bool {
        let gone = |entry: &Channel| entry.close_received;
        id < self.next && self.table.get(&id).is_none_or(gone)
    }

    /// A channel that the peer may speak of.
    fn live(&mut self, id: u32) -> Result<&mut Channel, Error> {
        self.table
            .get_mut(&id)
            .filter(|entry| !entry.close_received)
            .ok_or(UNKNOWN_CHANNEL)
    }

    /// Returns the bytes that the peer may send on this channel in all, were it to send now.
    pub(super) fn receivable(&self, channel: u32) -> Option<u64> {
        let entry = self.table.get(&channel)?;
        entry.receives().then(|| entry.receive.granted())
    }

    /// Handles EOF of the peer, after `received` bytes of data.
    pub(super) fn peer_eof(
        &mut self,
        channel: u32,
        received: u64,
    ) -> Result<Event<'static>, Error> {
        let Some(entry) = receiving(&mut self.table, self.next, channel)? else {
            return Ok(Event::Handled);
        };
        entry.receive.end(received, &mut self.budget);
        if entry.released {
            return Ok(Event::Handled);
        }
        let channel = ChannelId(channel);
        Ok(Event::Eof { channel })
    }

    /// Handles CLOSE of the peer, after `received` bytes of data: answered with CLOSE, unless that was sent (RFC 4254
    /// §5.3).
    pub(super) fn peer_close(
        &mut self,
        channel: u32,
        received: u64,
        out: &mut Output,
    ) -> Result<Event<'static>, Error> {
        let Some(entry) = receiving(&mut self.table, self.next, channel)? else {
            return Ok(Event::Handled);
        };
        entry.close_received = true;
        entry.send_close(channel, out);
        entry.receive.end(received, &mut self.budget);
        if entry.released {
            self.remove(channel);
            return Ok(Event::Handled);
        }
        let channel = ChannelId(channel);
        Ok(Event::Closed { channel })
    }
}

/// The channel of a call, if it is in the state that the call needs.
fn find(
    table: &mut HashMap<u32, Channel>,
    channel: ChannelId,
    is_fit: impl FnOnce(&Channel) -> bool,
) -> Result<&mut Channel, Error> {
    let entry = table.get_mut(&channel.0).filter(|entry| is_fit(entry));
    entry.ok_or(Error::NoChannel(channel))
}

/// The bytes of a window, as the opening of its channel tells them.
fn first_window(window: &Window) -> u32 {
    u32::try_from(window.size()).unwrap_or(u32::MAX)
}

/// The channel that the peer ends; none when it has done so before.
fn receiving(
    table: &mut HashMap<u32, Channel>,
    next: u32,
    id: u32,
) -> Result<Option<&mut Channel>, Error> {
    match table.get_mut(&id) {
        Some(entry) if entry.close_received => Ok(None),
        Some(entry) if entry.receives() => Ok(Some(entry)),
        None if id < next => Ok(None),
        _ => Err(UNKNOWN_CHANNEL),
    }
}

fn refuse(out: &mut Output, remote: u32, why: ChannelOpenFailure, text: &str) {
    let mut message = vec![msg::CHANNEL_OPEN_FAILURE];
    message.put_u32(remote);
    message.put_u32(why.code());
    message.put_string(text.as_bytes());
    message.put_string(b"");
    out.urgent(&[&message]);
}
