//! The state of one stream: a channel, and the socket of a visitor or of a target, or a user in this
//! process.
//!
//! *Up* is from the socket into the channel, *down* from the channel to the socket:
//!
//! ```text
//! opening  Asked ── confirmed ──> Open           (a channel that the peer offered is Open at once)
//!            └───── refused ────> Refused
//! up       open ── the socket's end, queued as EOF ──> done
//! peer     Sending ── EOF ──> Ended ── CLOSE ──> Closed
//! down     Open ── Ended or Closed, and the socket has everything ──> Whole
//!            └──── the socket broke ──> Broken
//! drain    None ── the socket does not take all ──> Busy <──> Idle ── nothing for a second ──> None
//! ```
//!
//! The channel is closed (`released`) when up and down are done, or when the peer has closed it and
//! down is done. A socket that is still open when the peer has closed the channel lingers for a
//! moment, and is then cut (`dead`).
//!
//! This file has no locks and threads, and changes nothing else but the sockets' own buffers: each transition returns
//! the [`Effects`] that `Mux::apply` applies when the state is unlocked.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, task};

use super::queue::Queue;
use super::socket::Socket;
use super::stats::StreamPermit;
use crate::net::Waker;

/// Time for the peer to confirm a channel, 30 s: above the time it needs for its own connect.
pub(super) const OPEN_WITHIN: Duration = crate::limits::OPEN_WITHIN;

/// Effects of a transition.
#[must_use]
#[derive(Default)]
pub(super) struct Effects {
    /// The socket is to be shut.
    pub(super) shut: Option<(Arc<Socket>, Shutdown)>,
    /// The stream's threads that wait for a change look again.
    pub(super) notify: bool,
    /// The user of a stream in this process waits for this.
    pub(super) wake: Option<WakeUp>,
    /// Number of bytes taken: the peer may send as many again.
    pub(super) consumed: usize,
    /// A drain thread is to be started.
    pub(super) start_drain: bool,
    /// The socket is to be cut if it does not close soon.
    pub(super) linger: bool,
    /// The channel is done with in both directions.
    pub(super) close_channel: bool,
    /// The stream counts no more.
    pub(super) freed: Option<StreamPermit>,
    /// A visitor that is turned away, or has been let in.
    pub(super) visitor: Option<TcpStream>,
}

/// State of a stream.
#[derive(Default)]
pub(super) struct StreamState {
    opening: OpeningState,
    socket: Option<Arc<Socket>>,
    local: Option<LocalEnd>,
    queue: Queue,
    drain: Drain,
    peer: Peer,
    down: DownState,
    up_done: bool,
    /// The channel has called its stream: it takes more.
    writable: bool,
    /// The socket was shut in both directions, or the connection has ended.
    dead: bool,
    /// The channel is closed, or there never was one.
    released: bool,
    permit: Option<StreamPermit>,
}

#[derive(Default)]
enum OpeningState {
    /// The peer has not confirmed the channel: nothing of the visitor is read so far.
    Asked {
        visitor: Option<TcpStream>,
        since: Instant,
    },
    #[default]
    Open,
    Refused {
        is_full: bool,
    },
}

impl OpeningState {
    fn asked(visitor: Option<TcpStream>) -> Self {
        let since = Instant::now();
        Self::Asked { visitor, since }
    }
}

/// The user of a stream in this process.
struct LocalEnd {
    readable: Arc<Waker>,
    /// Task that is woken in its place, if there is one.
    task: Option<task::Waker>,
    /// It has found nothing, and waits for `readable`.
    waits: bool,
    /// `readable` has been woken, or is about to be, and was not cleared.
    woken: bool,
    /// Waker for the channel taking more; made when it first did not.
    writable: Option<Arc<Waker>>,
}

#[derive(Default, PartialEq, Eq)]
enum Drain {
    /// There is no drain thread.
    #[default]
    None,
    /// It has written everything, and waits for more.
    Idle,
    /// It has bytes that come before any new ones, or is about to start.
    Busy,
}

/// State of the peer's direction.
#[derive(Default, PartialEq, Eq)]
enum Peer {
    #[default]
    Sending,
    Ended,
    Closed,
}

#[derive(Default, PartialEq, Eq)]
enum DownState {
    #[default]
    Open,
    /// The socket has everything, with its end.
    Whole,
    Broken,
}

impl StreamState {
    /// The peer has offered the channel.
    pub(super) fn offered(permit: StreamPermit) -> Self {
        Self {
            permit: Some(permit),
            ..Self::default()
        }
    }

    /// The peer was asked for a channel for a visitor.
    pub(super) fn asked_for(visitor: TcpStream, permit: StreamPermit) -> Self {
        Self {
            opening: OpeningState::asked(Some(visitor)),
            ..Self::offered(permit)
        }
    }

    /// The peer was asked for a channel that is used in this process, which waits for `readable`.
    pub(super) fn asked_for_local(readable: Arc<Waker>) -> Self {
        Self {
            opening: OpeningState::asked(None),
            ..Self::used_here(readable)
        }
    }

    /// The peer has offered the channel, which is used in this process.
    pub(super) fn offered_to(readable: Arc<Waker>, permit: StreamPermit) -> Self {
        Self {
            permit: Some(permit),
            ..Self::used_here(readable)
        }
    }

    fn used_here(readable: Arc<Waker>) -> Self {
        Self {
            local: Some(LocalEnd {
                readable,
                task: None,
                waits: false,
                woken: false,
                writable: None,
            }),
            ..Self::default()
        }
    }

    pub(super) fn is_asked(&self) -> bool {
        matches!(self.opening, OpeningState::Asked { .. }) && !self.dead
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.opening, OpeningState::Open) && !self.dead
    }

    /// True if the peer has refused the channel since it has as many as it takes.
    pub(super) fn found_full(&self) -> bool {
        matches!(self.opening, OpeningState::Refused { is_full: true })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn is_closed_by_peer(&self) -> bool {
        self.peer == Peer::Closed
    }

    /// True if a visitor has waited too long for the peer.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        matches!(&self.opening, OpeningState::Asked { visitor: Some(_), since }
            if now.saturating_duration_since(*since) >= OPEN_WITHIN)
    }

    /// Data has come: it goes to the socket as far as that takes it at once, or where streams are held back to a drain
    /// thread alone.
    pub(super) fn on_data(&mut self, bytes: &[u8], is_held_back: bool) -> Effects {
        let mut effects = Effects::default();
        if self.down != DownState::Open {
            return effects;
        }
        if self.local.is_some() {
            self.queue.push(bytes);
            effects.wake = self.reader_to_wake();
            return effects;
        }
        let may_write = !is_held_back && self.is_drained();
        let taken = match self.socket.as_deref().filter(|_| may_write) {
            Some(socket) => socket.write_now(bytes),
            None => Ok(0),
        };
        let Ok(taken) = taken else {
            return self.on_broken();
        };
        effects.consumed = taken;
        let rest = bytes.get(taken..).expect("no more is taken than there is");
        if !rest.is_empty() {
            self.queue.push(rest);
            self.need_drain(&mut effects);
        }
        effects
    }

    /// The peer sends no more data.
    pub(super) fn on_eof(&mut self) -> Effects {
        if self.peer == Peer::Sending {
            self.peer = Peer::Ended;
        }
        self.advance()
    }

    /// The peer has closed the channel.
    pub(super) fn on_closed(&mut self) -> Effects {
        self.peer = Peer::Closed;
        Effects {
            freed: self.freed_here(),
            ..self.advance()
        }
    }

    /// The peer has confirmed the channel; the visitor, if it is one, is in the effects.
    pub(super) fn on_opened(&mut self) -> Effects {
        let visitor = match std::mem::replace(&mut self.opening, OpeningState::Open) {
            OpeningState::Asked { visitor, .. } => visitor,
            OpeningState::Open | OpeningState::Refused { .. } => None,
        };
        Effects {
            visitor,
            notify: true,
            ..Effects::default()
        }
    }

    /// The peer has refused the channel, perhaps since it has as many as it takes.
    pub(super) fn on_refused(&mut self, is_full: bool) -> Effects {
        let effects = self.turn_away();
        self.opening = OpeningState::Refused { is_full };
        self.released = true;
        effects
    }

    /// The connection has ended, or the visitor is not to wait any longer.
    pub(super) fn abort(&mut self) -> Effects {
        let effects = self.turn_away();
        self.dead = true;
        self.released = true;
        if self.local.is_none() {
            self.queue.clear();
        }
        Effects {
            shut: self.shut(Shutdown::Both),
            wake: self.reader_to_wake(),
            freed: effects.freed.or_else(|| self.freed_here()),
            ..effects
        }
    }

    /// Ends the stream, and drops bytes that were not taken.
    pub(super) fn discard(&mut self) -> Effects {
        self.queue.clear();
        self.abort()
    }

    /// The socket has had its time to close.
    pub(super) fn cut(&mut self) -> Effects {
        self.dead = true;
        Effects {
            shut: self.shut(Shutdown::Both),
            notify: true,
            ..Effects::default()
        }
    }

    /// Attaches a socket, and writes the bytes that have come to it; false if that ended the stream.
    pub(super) fn attach(&mut self, socket: &Arc<Socket>) -> (bool, Effects) {
        if self.dead {
            return (false, self.on_failed());
        }
        self.socket = Some(Arc::clone(socket));
        let Ok(consumed) = self.queue.write_to(|bytes| socket.write_now(bytes)) else {
            return (false, self.on_failed());
        };
        let mut effects = self.advance();
        if !self.queue.is_empty() {
            self.need_drain(&mut effects);
        }
        effects.consumed = consumed;
        (true, effects)
    }

    /// Notes that nothing more comes up. `well` if all was sent.
    pub(super) fn on_finished(&mut self, well: bool) -> Effects {
        self.up_done = true;
        let effects = if well || self.peer == Peer::Closed {
            self.advance()
        } else {
            self.on_broken()
        };
        let has_more = self.local.is_some();
        Effects {
            freed: self.permit.take_if(|_| !has_more),
            ..effects
        }
    }

    /// Notes that there is no socket, and will be none.
    pub(super) fn on_failed(&mut self) -> Effects {
        Effects {
            freed: self.permit.take(),
            ..self.on_broken()
        }
    }

    /// Notes that the socket is of no use any more.
    pub(super) fn on_broken(&mut self) -> Effects {
        self.up_done = true;
        if self.down == DownState::Open {
            self.down = DownState::Broken;
        }
        self.dead = true;
        self.queue.clear();
        Effects {
            shut: self.shut(Shutdown::Both),
            freed: self.freed_here(),
            ..self.advance()
        }
    }

    /// The drain thread could not write, or could not be started.
    pub(super) fn drain_broke(&mut self) -> Effects {
        self.drain = Drain::None;
        self.on_broken()
    }

    /// Reads what has come for this process; 0 at the end of the target's bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> (io::Result<usize>, Effects) {
        if let Some(end) = self.local.as_mut().filter(|end| end.woken) {
            // A waker that is only about to be woken is cleared the next time.
            end.woken = !end.readable.clear();
        }
        let count = self.queue.read(buffer);
        let mut effects = Effects::default();
        if count == 0 {
            if let Some(end) = &mut self.local {
                end.waits = true;
            }
            return (self.nothing_to_read(), effects);
        }
        if self.queue.is_empty() && self.peer != Peer::Sending {
            effects = self.advance();
        }
        effects.consumed = count;
        (Ok(count), effects)
    }

    /// Prepares a wait of the reader in this process: `readable` is woken from now on when the peer has closed the
    /// channel and, if it `reads`, when there is something to read.
    pub(super) fn watch(&mut self, reads: bool) {
        let is_ready = self.has_gone() || (reads && self.has_something());
        let Some(end) = &mut self.local else { return };
        if is_ready {
            end.woken = true;
            end.readable.wake();
        } else {
            if end.woken {
                // A waker that is only about to be woken is cleared the next time.
                end.woken = !end.readable.clear();
            }
            end.waits = true;
        }
    }

    /// True if nobody waits for anything any more.
    pub(super) fn has_gone(&self) -> bool {
        self.dead || self.peer == Peer::Closed
    }

    /// True if a read has something to tell.
    pub(super) fn has_something(&self) -> bool {
        !self.queue.is_empty() || self.peer != Peer::Sending || self.dead
    }

    fn nothing_to_read(&self) -> io::Result<usize> {
        if self.down == DownState::Whole {
            Ok(0)
        } else if self.dead {
            Err(io::ErrorKind::ConnectionAborted.into())
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// Sets the task that wakes the reader in this process; without one its descriptor does.
    pub(super) fn wake_by(&mut self, task: Option<task::Waker>) {
        if let Some(end) = &mut self.local {
            end.task = task;
        }
    }

    /// Notes that the channel takes more; returns the waker of this process, if it waits for that.
    pub(super) fn writable(&mut self) -> Option<Arc<Waker>> {
        self.writable = true;
        self.local.as_ref()?.writable.clone()
    }

    /// True if the channel has said since the last question that it takes more.
    pub(super) fn take_writable(&mut self) -> bool {
        std::mem::take(&mut self.writable)
    }

    /// Sets the waker for the channel taking more.
    pub(super) fn wake_when_writable(&mut self, waker: &Arc<Waker>) {
        if let Some(end) = &mut self.local {
            end.writable = Some(Arc::clone(waker));
        }
    }

    /// True if there is something to wait for before the channel takes more.
    pub(super) fn is_full(&self) -> bool {
        !(self.writable || self.dead || self.peer == Peer::Closed)
    }

    /// Returns the next chunk for a drain thread; it is idle otherwise.
    pub(super) fn next_chunk(&mut self) -> Option<(Arc<Socket>, Vec<u8>)> {
        self.drain = Drain::Idle;
        let socket = self.socket.clone().filter(|_| !self.dead)?;
        let chunk = self.queue.pop()?;
        self.drain = Drain::Busy;
        Some((socket, chunk))
    }

    /// True if an idle drain thread has something to wait for.
    pub(super) fn awaits_data(&self) -> bool {
        self.queue.is_empty()
            && !self.dead
            && self.down == DownState::Open
            && self.peer == Peer::Sending
    }

    /// An idle drain thread has waited: it ends, unless there is something to write.
    pub(super) fn end_drain(&mut self) -> Option<Effects> {
        if !self.queue.is_empty() && !self.dead {
            return None;
        }
        self.drain = Drain::None;
        Some(self.advance())
    }

    /// Makes all transitions that are possible now.
    fn advance(&mut self) -> Effects {
        let mut effects = Effects {
            notify: true,
            wake: self.reader_to_wake(),
            ..Effects::default()
        };
        let is_closed = self.peer == Peer::Closed;
        if self.down != DownState::Open {
            effects.linger = is_closed && !self.up_done && !self.released && self.socket.is_some();
        } else if self.peer != Peer::Sending
            && self.is_drained()
            && (self.socket.is_some() || self.local.is_some())
        {
            self.down = DownState::Whole;
            effects.shut = self.shut(Shutdown::Write);
            effects.linger = is_closed && !self.up_done && self.socket.is_some();
        }
        if self.down != DownState::Open && (self.up_done || is_closed) && !self.released {
            self.released = true;
            effects.close_channel = true;
        }
        effects
    }

    /// Takes the permit of a stream that is used here: it counts no more.
    fn freed_here(&mut self) -> Option<StreamPermit> {
        self.local.as_ref()?;
        self.permit.take()
    }

    /// Sees that a drain thread works on the queue, which is not empty.
    fn need_drain(&mut self, effects: &mut Effects) {
        if self.socket.is_none() {
            return;
        }
        match std::mem::replace(&mut self.drain, Drain::Busy) {
            Drain::Busy => {}
            Drain::Idle => effects.notify = true,
            Drain::None => effects.start_drain = true,
        }
    }

    fn turn_away(&mut self) -> Effects {
        let visitor = match &mut self.opening {
            OpeningState::Asked { visitor, .. } => visitor.take(),
            OpeningState::Open | OpeningState::Refused { .. } => None,
        };
        Effects {
            freed: visitor.as_ref().and_then(|_| self.permit.take()),
            visitor,
            notify: true,
            ..Effects::default()
        }
    }

    fn reader_to_wake(&mut self) -> Option<WakeUp> {
        let end = self.local.as_mut()?;
        if !std::mem::take(&mut end.waits) {
            return None;
        }
        if let Some(task) = &end.task {
            return Some(WakeUp::Task(task.clone()));
        }
        end.woken = true;
        Some(WakeUp::Poll(Arc::clone(&end.readable)))
    }

    fn shut(&self, how: Shutdown) -> Option<(Arc<Socket>, Shutdown)> {
        let socket = self.socket.as_ref()?;
        Some((Arc::clone(socket), how))
    }

    fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.drain != Drain::Busy
    }
}

/// Reader or writer that waits for a stream.
pub(super) enum WakeUp {
    /// A thread that polls this descriptor.
    Poll(Arc<Waker>),
    /// A task that carries many streams, and keeps a list of those that are ready.
    Task(task::Waker),
}

impl WakeUp {
    pub(super) fn wake(self) {
        match self {
            Self::Poll(waker) => waker.wake(),
            Self::Task(waker) => waker.wake(),
        }
    }
}

#[cfg(test)]
#[path = "stream_state_tests.rs"]
mod tests;
