//! Channels (RFC 4254 §5) of any type, opened by either side.
//!
//! ```text
//! open() > ──> opening ── < CONFIRMATION ──┐
//!                                          ├──> live ── CLOSE both ways, close() ──> gone
//! < OPEN ───> offered ── accept() > ───────┘
//! ```
//!
//! Writing is admitted, not queued without end: by the peer's window, and by the room in the
//! output. Channels that find no room wait in line; the writer wakes as many as fit.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::Session;
use super::channel::{Channel, Stage, Wait};
use crate::tunnel::ssh::error::{Error, Refusal};
use crate::tunnel::ssh::event::{ChannelId, Event};
use crate::tunnel::ssh::limits::{self, ChannelLimits};
use crate::tunnel::ssh::names::msg;
use crate::tunnel::ssh::output::Output;
use crate::tunnel::ssh::window::{Budget, Window};
use crate::tunnel::ssh::wire::{Fields, Put, wide};

/// All channels of a connection.
pub(super) struct Channels {
    table: HashMap<u32, Channel>,
    next: u32,
    budget: Budget,
    /// Channels that wait for room in the output, the longest waiting first.
    line: VecDeque<u32>,
    /// A channel that was called has queued nothing: the next one's turn.
    turn_unused: bool,
}

impl Session {
    /// Opens a channel; `extra` is what follows the standard fields. The answer is
    /// [`Event::Opened`] or [`Event::OpenRefused`].
    pub fn open(&mut self, kind: &str, extra: &[u8]) -> Result<ChannelId, Error> {
        self.check_open()?;
        if extra.len() > limits::MAX_EXTRA || kind.len() > limits::MAX_NAME {
            return Err(Error::Misuse("the channel's target is too long"));
        }
        let id = self.channels.add(Stage::Opening)?;
        let mut head = vec![msg::CHANNEL_OPEN];
        head.put_string(kind.as_bytes());
        head.put_u32(id);
        head.put_u32(self.channels.first_window(id));
        head.put_u32(MAX_DATA);
        self.out.urgent(&[&head, extra]);
        Ok(ChannelId(id))
    }

    /// Accepts the channel of [`Event::Open`].
    pub fn accept(&mut self, channel: ChannelId) -> Result<(), Error> {
        self.check_alive()?;
        let window = self.channels.first_window(channel.0);
        let entry = self.channels.at_stage(channel, Stage::Offered)?;
        entry.stage = Stage::Live;
        let mut message = vec![msg::CHANNEL_OPEN_CONFIRMATION];
        message.put_u32(entry.remote);
        message.put_u32(channel.0);
        message.put_u32(window);
        message.put_u32(MAX_DATA);
        self.out.urgent(&[&message]);
        Ok(())
    }

    /// Refuses the channel of [`Event::Open`], which exists no more.
    pub fn refuse(&mut self, channel: ChannelId, why: Refusal, text: &str) -> Result<(), Error> {
        self.check_alive()?;
        let remote = self.channels.at_stage(channel, Stage::Offered)?.remote;
        self.channels.remove(channel.0);
        refuse(&mut self.out, remote, why, super::cut(text));
        Ok(())
    }

    /// Sends data on a channel; answers how much of it was taken. When that is less than all,
    /// keep the rest until the channel is named writable: by [`Event::Writable`], or by
    /// [`Writer::woken`](crate::tunnel::ssh::Writer::woken).
    pub fn write(&mut self, channel: ChannelId, data: &[u8]) -> Result<usize, Error> {
        self.check_alive()?;
        self.channels.write(channel, data, &mut self.out)
    }

    /// Bytes of the peer's window for this channel. When there are none, the channel is named
    /// writable as soon as there are, as after [`Session::write`].
    pub fn window(&mut self, channel: ChannelId) -> Result<usize, Error> {
        self.check_alive()?;
        let channels = &mut self.channels;
        let entry = channels
            .table
            .get_mut(&channel.0)
            .filter(|entry| entry.is_writable())
            .ok_or(Error::NoChannel(channel))?;
        if entry.send_window == 0 {
            let before = std::mem::replace(&mut entry.wait, Wait::Window);
            channels.turn_unused |= before == Wait::Called && !channels.line.is_empty();
        }
        Ok(usize::try_from(entry.send_window).unwrap_or(usize::MAX))
    }

    /// Received data has been used: the peer may send as much again. [`Error::Flooded`] when it
    /// does so without reading that it may; the connection is then to be ended.
    pub fn consumed(
        &mut self,
        channel: ChannelId,
        bytes: usize,
        now: Instant,
    ) -> Result<(), Error> {
        self.check_alive()?;
        let trip = self.requests.round_trip();
        let channels = &mut self.channels;
        let entry = channels
            .table
            .get_mut(&channel.0)
            .filter(|entry| !entry.released)
            .ok_or(Error::NoChannel(channel))?;
        let budget = &mut channels.budget;
        let grant = entry.receive.consume(wide(bytes), now, trip, budget);
        if let Some(more) = grant.filter(|_| entry.stage == Stage::Live) {
            let mut message = vec![msg::CHANNEL_WINDOW_ADJUST];
            message.put_u32(entry.remote);
            message.put_u32(more);
            self.out.urgent(&[&message]);
            self.check_answers()?;
        }
        Ok(())
    }

    /// Sends no more data on this channel; receiving goes on (RFC 4254 §5.3).
    pub fn eof(&mut self, channel: ChannelId) -> Result<(), Error> {
        self.check_alive()?;
        let entry = self.channels.at_stage(channel, Stage::Live)?;
        if !entry.eof_sent && !entry.close_sent {
            entry.eof_sent = true;
            entry.send_last(channel.0, msg::CHANNEL_EOF, &mut self.out);
        }
        Ok(())
    }

    /// Ends a channel in both directions, behind what was written to it. To be called once
    /// for every channel, also after [`Event::Closed`]: its received data counts until then.
    /// No more events but data name it.
    pub fn close(&mut self, channel: ChannelId) -> Result<(), Error> {
        self.check_alive()?;
        self.channels.close(channel, &mut self.out)
    }

    /// How many channels there are, opening and closing ones included.
    pub fn channels(&self) -> usize {
        self.channels.table.len()
    }

    /// Bytes that all receive windows and unconsumed data take of their budget.
    pub fn window_bytes(&self) -> u64 {
        self.channels.budget.charged()
    }

    /// What the peer may send on this channel in all, were it to send now.
    pub(in crate::tunnel::ssh) fn receivable(&self, channel: u32) -> Option<u64> {
        let entry = self.channels.table.get(&channel)?;
        entry.receives().then(|| entry.receive.granted())
    }

    /// The peer has sent EOF, after so many bytes of data.
    pub(in crate::tunnel::ssh) fn peer_eof(
        &mut self,
        channel: u32,
        received: u64,
    ) -> Result<Event<'static>, Error> {
        let Some(entry) = receiving(&mut self.channels.table, self.channels.next, channel)? else {
            return Ok(Event::Quiet);
        };
        let released = entry.released;
        entry.receive.end(received, &mut self.channels.budget);
        let channel = ChannelId(channel);
        Ok(match released {
            true => Event::Quiet,
            false => Event::Eof { channel },
        })
    }

    /// The peer has sent CLOSE, after so many bytes of data. RFC 4254 §5.3: answered with
    /// CLOSE, unless that was sent.
    pub(in crate::tunnel::ssh) fn peer_close(
        &mut self,
        channel: u32,
        received: u64,
    ) -> Result<Event<'static>, Error> {
        let Some(entry) = receiving(&mut self.channels.table, self.channels.next, channel)? else {
            return Ok(Event::Quiet);
        };
        entry.close_received = true;
        entry.send_close(channel, &mut self.out);
        entry.receive.end(received, &mut self.channels.budget);
        if entry.released {
            self.channels.remove(channel);
            return Ok(Event::Quiet);
        }
        let channel = ChannelId(channel);
        Ok(Event::Closed { channel })
    }
}

impl Channels {
    pub(super) fn new(limits: ChannelLimits) -> Self {
        Self {
            table: HashMap::new(),
            next: 0,
            budget: Budget::new(limits),
            line: VecDeque::new(),
            turn_unused: false,
        }
    }

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
                Ok(Event::Quiet)
            }
            msg::CHANNEL_OPEN_CONFIRMATION => self.confirmed(id, fields, out),
            msg::CHANNEL_OPEN_FAILURE => self.refused(id, fields),
            msg::CHANNEL_WINDOW_ADJUST => self.adjusted(id, fields),
            msg::CHANNEL_REQUEST => self.requested(id, fields, out),
            // This side sends no channel requests; a stray answer does no harm.
            msg::CHANNEL_SUCCESS | msg::CHANNEL_FAILURE => Ok(Event::Quiet),
            _ => Err(Error::Protocol("a channel message has an unknown number")),
        }
    }

    /// RFC 4254 §5.1.
    fn offered<'a>(
        &mut self,
        mut fields: Fields<'a>,
        out: &mut Output,
    ) -> Result<Event<'a>, Error> {
        let kind = fields.name(limits::MAX_NAME)?;
        let remote = fields.uint32()?;
        let (window, max_data) = (fields.uint32()?, fields.uint32()?);
        let Ok(id) = self.add(Stage::Offered) else {
            refuse(out, remote, Refusal::ResourceShortage, "too many channels");
            return Ok(Event::Quiet);
        };
        self.live(id)?.meet(remote, window, max_data)?;
        Ok(Event::Open {
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
        if entry.stage != Stage::Opening {
            return Err(Error::Protocol("a channel was confirmed twice"));
        }
        entry.stage = Stage::Live;
        let remote = fields.uint32()?;
        entry.meet(remote, fields.uint32()?, fields.uint32()?)?;
        if entry.released {
            entry.send_close(id, out);
            return Ok(Event::Quiet);
        }
        Ok(Event::Opened {
            channel: ChannelId(id),
        })
    }

    fn refused<'a>(&mut self, id: u32, mut fields: Fields<'a>) -> Result<Event<'a>, Error> {
        let entry = self.live(id)?;
        if entry.stage != Stage::Opening {
            return Err(Error::Protocol("an open channel was refused"));
        }
        let released = entry.released;
        self.remove(id);
        let (code, text) = (fields.uint32()?, fields.string().unwrap_or_default());
        if released {
            return Ok(Event::Quiet);
        }
        let channel = ChannelId(id);
        Ok(Event::OpenRefused {
            channel,
            code,
            text,
        })
    }

    /// RFC 4254 §5.2: a window never exceeds 2^32 - 1 bytes.
    fn adjusted(&mut self, id: u32, mut fields: Fields<'_>) -> Result<Event<'static>, Error> {
        let more = fields.uint32()?;
        let entry = self.live(id)?;
        if entry.stage != Stage::Live {
            return Err(UNKNOWN_CHANNEL);
        }
        entry.send_window = entry
            .send_window
            .checked_add(more)
            .ok_or(Error::Protocol("a window is wider than 4 GiB"))?;
        if entry.wait != Wait::Window || more == 0 || !entry.is_writable() {
            return Ok(Event::Quiet);
        }
        entry.wait = Wait::No;
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
        Ok(Event::Quiet)
    }

    fn write(&mut self, channel: ChannelId, data: &[u8], out: &mut Output) -> Result<usize, Error> {
        let alone = self.line.is_empty();
        let entry = self
            .table
            .get_mut(&channel.0)
            .filter(|entry| entry.is_writable())
            .ok_or(Error::NoChannel(channel))?;
        let called = entry.wait == Wait::Called;
        let mut turn = match (entry.wait, alone) {
            (Wait::Line, _) | (Wait::No | Wait::Window, false) => 0,
            (Wait::Called, false) => TURN,
            (_, true) => usize::MAX,
        };
        if entry.wait != Wait::Line {
            entry.wait = Wait::No;
        }
        let queued = entry.queued;
        let mut rest = data;
        while let Some(piece) = entry.piece(rest) {
            if !entry.send(channel.0, piece, data.len(), turn, out) {
                let unused = called && rest.len() == data.len();
                self.stand_in_line(channel.0, unused);
                return Ok(data.len() - rest.len());
            }
            turn = turn.saturating_sub(piece.len());
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
        if !rest.is_empty() {
            entry.wait = Wait::Window;
        } else if std::mem::replace(&mut entry.wait, Wait::No) == Wait::Line {
            // Small enough to overtake: it must not be called, and leave the next waiting.
            self.line.retain(|waiting| *waiting != channel.0);
        }
        self.turn_unused |= called && entry.queued == queued && !self.line.is_empty();
        Ok(data.len() - rest.len())
    }

    /// A channel that was called and found no room keeps its place.
    fn stand_in_line(&mut self, id: u32, unused_turn: bool) {
        let Some(entry) = self.table.get_mut(&id) else {
            return;
        };
        match std::mem::replace(&mut entry.wait, Wait::Line) {
            Wait::Line => {}
            _ if unused_turn => self.line.push_front(id),
            _ => self.line.push_back(id),
        }
    }

    /// The writer has taken `size` bytes of this channel's bulk data.
    pub(super) fn freed(&mut self, channel: u32, size: usize) {
        if let Some(entry) = self.table.get_mut(&channel) {
            entry.queued = entry.queued.saturating_sub(size);
        }
    }

    /// Whether somebody is to be called although nothing was taken.
    pub(super) fn owes_turn(&self) -> bool {
        self.turn_unused
    }

    /// Calls as many waiting channels as fit into `room`. One that is called and then leaves
    /// queues EOF or CLOSE, the taking of which calls the next.
    pub(super) fn wake(&mut self, room: usize, woken: &mut Vec<ChannelId>) {
        self.turn_unused = false;
        let mut turns = room / TURN;
        while turns > 0
            && let Some(id) = self.line.pop_front()
        {
            let Some(entry) = self.table.get_mut(&id) else {
                continue;
            };
            if entry.wait == Wait::Line && entry.is_writable() {
                entry.wait = Wait::Called;
                woken.push(ChannelId(id));
                turns -= 1;
            }
        }
    }

    fn close(&mut self, channel: ChannelId, out: &mut Output) -> Result<(), Error> {
        let entry = self
            .table
            .get_mut(&channel.0)
            .filter(|entry| !entry.released && entry.stage != Stage::Offered)
            .ok_or(Error::NoChannel(channel))?;
        entry.released = true;
        entry.receive.release(&mut self.budget);
        if entry.stage == Stage::Live {
            entry.send_close(channel.0, out);
        }
        if entry.close_received {
            self.remove(channel.0);
        }
        Ok(())
    }

    fn add(&mut self, stage: Stage) -> Result<u32, Error> {
        if self.table.len() >= self.budget.channels() {
            return Err(Error::Exhausted("channels"));
        }
        let receive = Window::open(&mut self.budget).ok_or(Error::Exhausted("channels"))?;
        while self.table.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let id = self.next;
        self.next = id.wrapping_add(1);
        self.table.insert(id, Channel::new(stage, receive));
        Ok(id)
    }

    fn remove(&mut self, id: u32) {
        if let Some(mut entry) = self.table.remove(&id) {
            entry.receive.release(&mut self.budget);
        }
    }

    fn first_window(&self, id: u32) -> u32 {
        let size = self.table.get(&id).map_or(0, |entry| entry.receive.size());
        u32::try_from(size).unwrap_or(u32::MAX)
    }

    /// Whether the peer has closed this channel. Some peers go on speaking of one for a
    /// moment, which is not worth all the others.
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

    fn at_stage(&mut self, channel: ChannelId, stage: Stage) -> Result<&mut Channel, Error> {
        self.table
            .get_mut(&channel.0)
            .filter(|entry| entry.stage == stage && !entry.released)
            .ok_or(Error::NoChannel(channel))
    }
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

fn refuse(out: &mut Output, remote: u32, why: Refusal, text: &str) {
    let mut message = vec![msg::CHANNEL_OPEN_FAILURE];
    message.put_u32(remote);
    message.put_u32(why.code());
    message.put_string(text.as_bytes());
    message.put_string(b"");
    out.urgent(&[&message]);
}

/// Bytes of bulk data that a channel may queue each time it is called, while others wait.
/// Default 64 KiB: a batch.
const TURN: usize = limits::BATCH;

/// [`limits::MAX_DATA`] as it is announced.
const MAX_DATA: u32 = 32 * 1024;

const UNKNOWN_CHANNEL: Error = Error::Protocol("a message names a channel that is not open");
