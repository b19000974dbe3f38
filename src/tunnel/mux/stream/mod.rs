//! One stream: a channel, and the socket of a visitor or of a target.
//!
//! *Up* is from the socket into the channel, *down* from the channel to the socket:
//!
//! ```text
//! up:   socket ── read ──> channel ── end of file ──> EOF ──> done
//! down: channel ──> socket, or queue ── EOF, queue empty ──> shutdown of the socket ──> done
//! ```
//!
//! Up is done by the watch while there is little to carry, and has a thread while there is much.
//! Down is done by the reading thread as far as the socket takes it at once; a drain thread exists
//! only while it does not. The channel is closed when both are done, or when the peer closed it and
//! down is done.

mod drain;
mod pending;
mod socket;
mod up;

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::queue::Queue;
use super::socket::Socket;
use super::waker::Waker;
use super::{End, Mux, PortStats};
use crate::tunnel::ssh::{ChannelId, ChannelOpenFailure, Error};
use crate::tunnel::target::{self, Begun};
use pending::{Pending, StreamPermit};
use socket::{close, write_now};
pub(super) use up::ReadOutcome;

/// Time for the peer to confirm a channel. Default 30 s: above the time it needs for its own connect.
const OPEN_WITHIN: Duration = Duration::from_secs(30);
/// Bytes read of a quiet stream at once. Default 16 KiB: one that fills it is not quiet.
pub(super) const PIECE: usize = 16 * 1024;

pub(super) struct Stream {
    pub(super) channel: ChannelId,
    /// Where its bytes count beside the connection's figures.
    visits: Option<Arc<PortStats>>,
    state: Mutex<State>,
    changed: Condvar,
    /// Of a visitor in this process, who takes his bytes from the queue himself. Rung without the
    /// state's lock: who is woken wants it.
    pub(super) waker: Option<Waker>,
}

#[derive(Default)]
pub(super) struct State {
    socket: Option<Arc<Socket>>,
    pub(super) queue: Queue,
    /// The visitor has found nothing and waits for the waker.
    pub(super) listens: bool,
    /// The waker has been rung, or is about to be, and was not cleared.
    pub(super) rung: bool,
    drain: Drain,
    opening: Opening,
    pending: Option<Pending>,
    guest: Option<StreamPermit>,
    /// Of a stream to a target: its share of what this process may open.
    permit: Option<Box<dyn Send>>,
    pub(super) writable: bool,
    /// Gets a byte when the channel takes more: wakes who waits by polling.
    pub(super) waker: Option<UnixStream>,
    peer_eof: bool,
    peer_closed: bool,
    pub(super) up_done: bool,
    down_done: bool,
    /// The socket, or the visitor, has got everything, and was told that this was the end.
    is_whole: bool,
    dead: bool,
    released: bool,
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Drain {
    /// There is no drain thread.
    #[default]
    None,
    /// It has written everything, and waits for more.
    Idle,
    /// It has bytes that come before any new ones.
    Busy,
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Opening {
    #[default]
    Pending,
    Open,
    Refused,
}

impl State {
    /// Whether nothing more comes down.
    pub(super) fn has_peer_ended(&self) -> bool {
        self.peer_eof || self.peer_closed
    }

    /// What an empty queue means to a visitor in this process.
    pub(super) fn nothing_to_read(&self) -> std::io::Result<usize> {
        match (self.is_whole, self.dead) {
            (true, _) => Ok(0),
            (false, true) => Err(ErrorKind::ConnectionAborted.into()),
            (false, false) => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl Mux {
    /// Client: accepts an offered channel and connects it to `target`, on a thread of its own where
    /// that takes time. Never waits. `permit` is kept as long as the stream is.
    pub(in crate::tunnel) fn serve_target(
        self: &Arc<Self>,
        channel: ChannelId,
        host: &str,
        port: u16,
        permit: impl Send + 'static,
    ) -> Result<(), Error> {
        let stream = self.add(channel, None, None);
        stream.state().permit = Some(Box::new(permit));
        let begun = match Begun::new(host, port, self.may_dial.as_ref()) {
            Some(Begun::Ended(Err(error))) if target::is_forbidden(&error) => {
                return stream.forbid(self);
            }
            Some(Begun::Ended(outcome)) => {
                stream.accept(self);
                stream.with_target(self, outcome);
                return Ok(());
            }
            begun => begun,
        };
        let (line, own, host) = (Arc::clone(self), Arc::clone(&stream), host.to_owned());
        // On a thread because connecting waits.
        let job = move || own.reach_target(&line, begun, &host, port);
        if let Err(error) = self.workers.run(job) {
            log::warn!("a stream is refused: no thread for it: {error}");
            self.streams().remove(&channel);
            self.count_down();
            return self.session().refuse(
                channel,
                ChannelOpenFailure::ResourceShortage,
                "no thread",
            );
        }
        Ok(())
    }

    pub(super) fn add(
        &self,
        channel: ChannelId,
        visits: Option<Arc<PortStats>>,
        waker: Option<Waker>,
    ) -> Arc<Stream> {
        let stream = Arc::new(Stream {
            channel,
            visits,
            state: Mutex::default(),
            changed: Condvar::new(),
            waker,
        });
        self.streams().insert(channel, Arc::clone(&stream));
        self.traffic.streams.fetch_add(1, Ordering::Relaxed);
        stream
    }

    fn target_missed(&self) {
        if let Some(missed) = &self.target_missed {
            // One message is enough.
            let _ = missed.try_send(());
        }
    }

    pub(super) fn count_down(&self) {
        self.traffic.streams.fetch_sub(1, Ordering::Relaxed);
    }

    /// The stream's socket, or its visitor in this process, has taken bytes: the peer may send as
    /// many again.
    pub(super) fn consumed(&self, stream: &Stream, bytes: usize) {
        add(&self.traffic.received, bytes);
        if let Some(visits) = &stream.visits {
            add(&visits.bytes_out, bytes);
        }
        let mut session = self.session();
        let granted = session.consumed(stream.channel, bytes, Instant::now());
        drop(session);
        // A channel that was closed meanwhile needs no window.
        if let Err(flooded @ Error::Flooded) = granted {
            self.end(End::Protocol(flooded));
            self.cut();
        }
    }
}

// What the reading thread tells; none of it waits.
impl Stream {
    pub(super) fn data(self: &Arc<Self>, line: &Arc<Mux>, bytes: &[u8]) {
        let mut state = self.state();
        if state.down_done {
            return;
        }
        if self.waker.is_some() {
            state.queue.push(bytes);
            return self.wake(state);
        }
        let direct = state.queue.is_empty() && state.drain != Drain::Busy;
        let taken = match state.socket.as_deref() {
            Some(socket) if direct => write_now(socket, bytes),
            _ => Ok(0),
        };
        let Ok(taken) = taken else {
            return self.broken(line, state);
        };
        if let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            state.queue.push(rest);
            self.need_drain(line, state);
        } else {
            drop(state);
        }
        if taken > 0 {
            line.consumed(self, taken);
        }
    }

    pub(super) fn eof(self: &Arc<Self>, line: &Arc<Mux>) {
        let mut state = self.state();
        state.peer_eof = true;
        self.advance(line, state);
    }

    pub(super) fn closed(self: &Arc<Self>, line: &Arc<Mux>) {
        let mut state = self.state();
        state.peer_closed = true;
        self.advance(line, state);
    }

    pub(super) fn writable(&self) {
        let mut state = self.state();
        state.writable = true;
        if let Some(mut waker) = state.waker.as_ref() {
            // One that is full wakes as well.
            let _ = waker.write(&[1]);
        }
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn opened(self: &Arc<Self>, line: &Arc<Mux>) {
        let mut state = self.state();
        state.opening = Opening::Open;
        let pending = state.pending.take();
        drop(state);
        self.changed.notify_all();
        if let Some(pending) = pending {
            self.with_visitor(line, pending.visitor);
        }
    }

    pub(super) fn refused(&self, line: &Mux) {
        let mut state = self.state();
        state.opening = Opening::Refused;
        state.released = true;
        self.turn_away(line, &mut state);
        self.changed.notify_all();
    }

    /// The connection has ended.
    pub(super) fn abort(&self, line: &Mux) {
        let mut state = self.state();
        self.turn_away(line, &mut state);
        state.dead = true;
        state.released = true;
        if self.waker.is_none() {
            state.queue.clear();
        }
        close(state.socket.as_deref());
        self.notify(state);
    }

    /// The visitor has had its time to close.
    pub(super) fn cut(&self) {
        let mut state = self.state();
        state.dead = true;
        close(state.socket.as_deref());
        self.changed.notify_all();
    }
}

// The end of a stream.
impl Stream {
    /// Wakes whoever waits for a change of the state.
    fn notify(&self, state: MutexGuard<'_, State>) {
        self.wake(state);
        self.changed.notify_all();
    }

    /// Wakes a visitor in this process who waits for bytes or their end.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let listens = std::mem::take(&mut state.listens);
        state.rung |= listens;
        drop(state);
        if let Some(waker) = self.waker.as_ref().filter(|_| listens) {
            waker.wake();
        }
    }

    /// Goes on to whatever the state allows.
    pub(super) fn advance(self: &Arc<Self>, line: &Arc<Mux>, mut state: MutexGuard<'_, State>) {
        let drained = state.queue.is_empty() && state.drain != Drain::Busy;
        let mut lingers = false;
        if drained
            && (state.peer_eof || state.peer_closed)
            && !state.down_done
            && (state.socket.is_some() || self.waker.is_some())
        {
            state.down_done = true;
            state.is_whole = true;
            if let Some(socket) = state.socket.as_deref() {
                socket.end_write();
                lingers = state.peer_closed && !state.up_done;
            }
        } else if state.peer_closed && state.down_done && !state.up_done && !state.released {
            lingers = state.socket.is_some();
        }
        let release = state.down_done && (state.up_done || state.peer_closed) && !state.released;
        state.released |= release;
        self.notify(state);
        if lingers {
            line.clock().linger(Arc::clone(self), Instant::now());
            line.wake_pump();
        }
        if release {
            line.release(self.channel);
        }
    }

    /// The socket is of no use any more.
    pub(super) fn broken(self: &Arc<Self>, line: &Arc<Mux>, mut state: MutexGuard<'_, State>) {
        state.up_done = true;
        state.down_done = true;
        state.dead = true;
        state.queue.clear();
        close(state.socket.as_deref());
        self.advance(line, state);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

// The beginning, and the end of the way up.
impl Stream {
    fn accept(&self, line: &Mux) {
        let accepted = line.session().accept(self.channel);
        self.state().opening = Opening::Open;
        if accepted.is_err() {
            // The connection has ended.
            self.abort(line);
        }
    }

    fn reach_target(
        self: &Arc<Self>,
        line: &Arc<Mux>,
        begun: Option<Begun>,
        host: &str,
        port: u16,
    ) {
        let (deadline, may_dial) = (Instant::now() + line.target_within, line.may_dial.as_ref());
        let found = match begun {
            Some(_) => Ok(Vec::new()),
            None => target::resolve(host, port, may_dial),
        };
        if found.as_ref().is_err_and(target::is_forbidden) {
            // The connection may have ended.
            let _ = self.forbid(line);
            return line.flush();
        }
        // Confirmed before the target answers, as the visitor's first bytes are then on their way.
        self.accept(line);
        line.flush();
        let unwanted = || self.state().dead || self.state().peer_closed;
        let outcome = match begun {
            Some(begun) => begun.finish(deadline, unwanted),
            None => {
                found.and_then(|found| target::connect_to(&found, deadline, may_dial, unwanted))
            }
        };
        self.with_target(line, outcome);
        line.flush();
    }

    /// The channel is refused: where it leads may not be dialled.
    fn forbid(&self, line: &Mux) -> Result<(), Error> {
        log::debug!("a stream is refused: its target is this program itself");
        line.target_missed();
        line.streams().remove(&self.channel);
        self.leave(line);
        let reason = "not a target of this client";
        line.session().refuse(
            self.channel,
            ChannelOpenFailure::AdministrativelyProhibited,
            reason,
        )
    }

    fn with_target(self: &Arc<Self>, line: &Arc<Mux>, outcome: std::io::Result<TcpStream>) {
        let may_dial = line.may_dial.as_ref();
        match outcome.and_then(|socket| target::still_permitted(socket, may_dial)) {
            Ok(socket) => self.with_socket(line, socket),
            Err(error) => {
                log::debug!("no stream to a target: {error}");
                line.target_missed();
                self.fail(line);
            }
        }
    }

    /// The channel is open.
    fn with_socket(self: &Arc<Self>, line: &Arc<Mux>, socket: TcpStream) {
        if let Some(socket) = self.join(line, socket) {
            self.wait(line, socket);
        }
    }

    /// The same for a visitor: what he has said by now saves the watch a turn.
    fn with_visitor(self: &Arc<Self>, line: &Arc<Mux>, visitor: TcpStream) {
        let Some(socket) = self.join(line, visitor) else {
            return;
        };
        match self.carry_piece(line, &socket, &mut vec![0; PIECE]) {
            ReadOutcome::Whole => self.wait(line, socket),
            ReadOutcome::Part(rest) => self.carry_on_a_thread(line, socket, rest),
            ReadOutcome::Ended(well) => self.finish(line, well),
        }
    }

    /// Brings the socket and what has come for it together; none when that was the end of it.
    fn join(self: &Arc<Self>, line: &Arc<Mux>, socket: TcpStream) -> Option<Arc<Socket>> {
        let joined = self.take(line, socket);
        if joined.is_none() {
            self.fail(line);
        }
        joined
    }

    fn take(self: &Arc<Self>, line: &Arc<Mux>, socket: TcpStream) -> Option<Arc<Socket>> {
        let socket = Arc::new(Socket::new(socket).ok()?);
        let mut state = self.state();
        if state.dead {
            return None;
        }
        state.socket = Some(Arc::clone(&socket));
        let taken = state
            .queue
            .write_to(|bytes| write_now(&socket, bytes))
            .ok()?;
        match state.queue.is_empty() {
            true => self.advance(line, state),
            false => self.need_drain(line, state),
        }
        if taken > 0 {
            line.consumed(self, taken);
        }
        Some(socket)
    }

    /// Waits for what the socket has to say, in the watch or on a thread.
    fn wait(self: &Arc<Self>, line: &Arc<Mux>, socket: Arc<Socket>) {
        if !line.watch(self, &socket) {
            self.carry_on_a_thread(line, socket, Vec::new());
        }
    }

    /// Nothing more comes up. `well` when that was the end of the socket's bytes. To be followed
    /// by a [`Mux::flush`].
    pub(super) fn finish(self: &Arc<Self>, line: &Arc<Mux>, well: bool) {
        let mut state = self.state();
        state.up_done = true;
        match well || state.peer_closed {
            true => self.advance(line, state),
            false => self.broken(line, state),
        }
        self.leave(line);
    }

    /// It is counted no more, and neither is its visitor.
    fn leave(&self, line: &Mux) {
        let mut state = self.state();
        let (guest, permit) = (state.guest.take(), state.permit.take());
        drop(state);
        drop((guest, permit));
        line.count_down();
    }

    /// There is no socket, and will be none.
    fn fail(self: &Arc<Self>, line: &Arc<Mux>) {
        self.broken(line, self.state());
        self.leave(line);
    }

    pub(super) fn wait_opened(&self) -> bool {
        let pending = |state: &mut State| state.opening == Opening::Pending && !state.dead;
        let waited = self
            .changed
            .wait_timeout_while(self.state(), OPEN_WITHIN, pending);
        let state = waited;
        state.opening == Opening::Open && !state.dead
    }
}

pub(super) fn add(counter: &std::sync::atomic::AtomicU64, bytes: usize) {
    counter.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
}
