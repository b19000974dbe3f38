//! A stream whose visitor is in this process: no port, no socket, and no thread of its own.
//!
//! Bytes down wait in the stream's queue, with a waker that can be waited for beside sockets; bytes
//! up go straight into the channel.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::task;
use std::time::Duration;

use super::connection::Mux;
use super::stats::{StreamPermit, add};
use super::stream::Stream;
use super::stream_state::StreamState;
use crate::net::Waker;
use crate::tunnel::ssh::Error;

/// One stream through a tunnel to the client's target. Calls never wait for the peer, but for the WebSocket to take
/// what is written. Dropping it closes the stream at once.
pub struct LocalStream {
    mux: Arc<Mux>,
    stream: Arc<Stream>,
    readable: Arc<Waker>,
    /// Woken when the channel takes more; made when it first did not.
    writable: Option<Arc<Waker>>,
    /// True if its user never waits, see [`LocalStream::defer`].
    is_deferred: bool,
    /// Permit of a stream that was opened here. The state has that of one that the peer opened, until the peer closes
    /// it.
    _permit: Option<StreamPermit>,
}

/// Serves a stream that the peer has asked for, in the place of a target. It is called on a thread of the tunnel's
/// pool, and returns when the stream is over: at the latest when the peer has closed it.
pub(crate) type Serve = Arc<dyn Fn(LocalStream) + Send + Sync>;

/// The threads of a stream's tunnel.
pub(crate) struct StreamThreads(Arc<Mux>);

impl StreamThreads {
    /// Runs `job` on a thread of its own. Never waits.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.0.threads.run(job)
    }
}

/// Ends a stream from elsewhere.
pub struct StreamEnd {
    mux: Arc<Mux>,
    stream: Arc<Stream>,
}

impl StreamEnd {
    /// Ends the stream in both directions; threads that wait for it are woken.
    pub fn end(&self) {
        self.mux.update(&self.stream, StreamState::on_broken);
        self.mux.flush();
    }
}

/// Reason that there is no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// No client holds this.
    NotHeld,
    /// The connection to the client is ending, or has no room for a further stream.
    Tunnel,
    /// The client refused, or did not answer in time.
    Refused,
    /// The client has as many streams as it takes.
    Full,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHeld => "its tunnel is not connected",
            Self::Tunnel => "its tunnel accepts no more streams",
            Self::Refused => "the other end of its tunnel refused the stream",
            Self::Full => "the other end of its tunnel has too many streams",
        })
    }
}

impl std::error::Error for OpenError {}

impl Mux {
    /// Server: opens a channel for a visitor in this process. Waits until the client confirms it.
    pub(in crate::tunnel) fn open_stream(
        self: &Arc<Self>,
        target: &str,
        within: Duration,
    ) -> Result<LocalStream, OpenError> {
        let readable = Arc::new(Waker::new().map_err(|_| OpenError::Tunnel)?);
        let state = StreamState::asked_for_local(Arc::clone(&readable));
        let stream = self
            .open_channel(target, None, state)
            .map_err(|_| OpenError::Tunnel)?;
        let permit = StreamPermit::new(&self.options.traffic, None, Vec::new());
        let local = LocalStream::new(self, stream, readable, Some(permit));
        self.flush();
        if self.has_ended() {
            self.update(&local.stream, StreamState::abort);
        }
        if local.stream.wait_opened(within) {
            Ok(local)
        } else if self.has_ended() {
            Err(OpenError::Tunnel)
        } else if local.stream.state().found_full() {
            Err(OpenError::Full)
        } else {
            Err(OpenError::Refused)
        }
    }
}

impl LocalStream {
    pub(super) fn new(
        mux: &Arc<Mux>,
        stream: Arc<Stream>,
        readable: Arc<Waker>,
        permit: Option<StreamPermit>,
    ) -> LocalStream {
        LocalStream {
            mux: Arc::clone(mux),
            stream,
            readable,
            writable: None,
            is_deferred: false,
            _permit: permit,
        }
    }

    /// Reads what has come down; 0 at the end of the target's bytes. [`io::ErrorKind::ConnectionAborted`]
    /// when the tunnel ended first. Waits for its turn where the holder is held to a rate.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let most = buffer.len().min(self.mux.piece());
        let buffer = buffer.get_mut(..most).expect("not above its length");
        let (outcome, effects) = self.stream.state().read(buffer);
        self.mux.apply(&self.stream, effects);
        if matches!(outcome, Ok(1..)) {
            self.sent();
            self.mux.wait_turn(&self.stream);
        }
        outcome
    }

    /// Takes as much as the channel's window has room for. Waits for its turn as well.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_both([bytes, &[]])
    }

    /// Takes two pieces, which leave together.
    pub fn write_both(&mut self, pieces: [&[u8]; 2]) -> io::Result<usize> {
        loop {
            let taken = self.queue(pieces);
            self.sent();
            match taken {
                Ok(0) if pieces.iter().all(|piece| piece.is_empty()) => return Ok(0),
                Ok(0) => self.check_writable()?,
                Ok(taken) => {
                    add(&self.mux.options.traffic.sent, taken);
                    self.mux.charge(taken);
                    self.mux.wait_turn(&self.stream);
                    return Ok(taken);
                }
                Err(Error::NoChannel(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(_) => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
    }

    /// Puts what the channel takes of both behind what is to be sent.
    fn queue(&self, [first, second]: [&[u8]; 2]) -> Result<usize, Error> {
        let most = self.mux.piece();
        let mut session = self.mux.session();
        let channel = self.stream.channel;
        let first = first.get(..most).unwrap_or(first);
        let taken = session.write(channel, first)?;
        let room = most - taken;
        let second = second.get(..room).unwrap_or(second);
        match taken == first.len() && !second.is_empty() {
            true => Ok(taken + session.write(channel, second).unwrap_or(0)),
            false => Ok(taken),
        }
    }

    /// Ends the bytes to the target.
    pub fn end_write(&mut self) {
        // A channel that is gone needs no EOF.
        let _ = self.mux.session().eof(self.stream.channel);
        self.mux.flush();
        self.mux
            .update(&self.stream, |state| state.on_finished(true));
    }

    /// Prepares the stream for a thread that carries many: from now on `waker` is woken when there is something to
    /// read, no call waits for the WebSocket, and output leaves with the next [`LocalStream::flush`] of any stream of
    /// the tunnel. `None` ends that. False if the holder is held to a rate: a read or write then waits for its turn.
    pub fn defer(&mut self, waker: Option<task::Waker>) -> bool {
        if waker.is_some() && self.mux.is_limited() {
            return false;
        }
        let was_deferred = std::mem::replace(&mut self.is_deferred, waker.is_some());
        self.stream.state().wake_by(waker);
        if was_deferred {
            self.mux.flush_soon();
        }
        true
    }

    /// Sends what waits, as far as that goes without waiting; the rest is sent by another thread.
    pub fn flush(&mut self) {
        self.mux.flush_soon();
    }

    /// Returns a handle that ends the stream from elsewhere.
    pub fn ender(&self) -> StreamEnd {
        StreamEnd {
            mux: Arc::clone(&self.mux),
            stream: Arc::clone(&self.stream),
        }
    }

    /// Returns the threads of the tunnel, for work that waits.
    pub(crate) fn threads(&self) -> StreamThreads {
        StreamThreads(Arc::clone(&self.mux))
    }

    /// Flushes what was queued, unless that is deferred.
    fn sent(&self) {
        if !self.is_deferred {
            self.mux.flush();
        }
    }

    /// Prepares a wait: from now on [`LocalStream::readable`] becomes readable when the peer has closed the stream and,
    /// if it `reads`, when there is something to read.
    pub fn watch(&mut self, reads: bool) {
        self.stream.state().watch(reads);
    }

    /// True if the peer has closed the stream, or the tunnel has ended.
    pub fn has_gone(&self) -> bool {
        self.stream.state().has_gone()
    }

    /// True if the tunnel has ended.
    pub fn is_dead(&self) -> bool {
        self.stream.state().is_dead()
    }

    /// True if a read has something to tell.
    pub fn has_something(&self) -> bool {
        self.stream.state().has_something()
    }

    /// Becomes readable when [`LocalStream::read`] has something to tell.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }

    /// Becomes readable when a write that would have waited may go on.
    pub fn writable(&self) -> BorrowedFd<'_> {
        self.writable.as_ref().unwrap_or(&self.readable).as_fd()
    }

    /// Fails with `WouldBlock` unless the channel has become writable meanwhile.
    fn check_writable(&mut self) -> io::Result<()> {
        if let Some(waker) = &self.writable {
            // Its message is in the state as well.
            waker.clear();
        } else {
            let waker = self.writable.insert(Arc::new(Waker::new()?));
            self.stream.state().wake_when_writable(waker);
        }
        if self.stream.state().take_writable() {
            Ok(())
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }
}

impl Drop for LocalStream {
    fn drop(&mut self) {
        self.mux.update(&self.stream, StreamState::on_broken);
        if self.is_deferred {
            self.mux.flush_soon();
        } else {
            self.mux.flush();
        }
    }
}

impl fmt::Debug for LocalStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStream").finish_non_exhaustive()
    }
}
