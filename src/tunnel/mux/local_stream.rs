//! A stream whose visitor is in this process: no port, and no thread of its own.
//!
//! Bytes down wait in the stream's queue, with a waker that can be waited for beside sockets; bytes
//! up go straight into the channel.

use std::fmt;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::Mux;
use super::stream::{Stream, add};
use super::waker::Waker;
use crate::tunnel::ssh::Error;

/// One stream through a tunnel to what its client forwards to. Nothing here waits for the peer,
/// but for the WebSocket to take what is written. Dropping it closes the stream at once.
pub struct LocalStream {
    line: Arc<Mux>,
    stream: Arc<Stream>,
    /// Readable when the channel takes more; made when it first did not.
    woken: Option<UnixStream>,
}

/// Why there is no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// No client holds this.
    NotHeld,
    /// The connection to the client is ending, or has no room for a further stream.
    Tunnel,
    /// The client refused, or did not answer in time.
    Refused,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHeld => "its tunnel is not connected",
            Self::Tunnel => "its tunnel takes no further stream",
            Self::Refused => "the other end of its tunnel refused the stream",
        })
    }
}

impl std::error::Error for OpenError {}

impl Mux {
    /// Server: opens a channel for a visitor in this process. Waits until the client confirms it.
    pub(in crate::tunnel) fn open_stream(
        self: &Arc<Self>,
        target: &str,
    ) -> Result<LocalStream, OpenError> {
        let waker = Waker::new().map_err(|_| OpenError::Tunnel)?;
        let stream = {
            let mut session = self.session();
            let channel = session
                .open("chisel", target.as_bytes())
                .map_err(|_| OpenError::Tunnel)?;
            // Under the session's lock: the answer must find it.
            self.add(channel, None, Some(waker))
        };
        let visitor = LocalStream {
            line: Arc::clone(self),
            stream,
            woken: None,
        };
        self.flush();
        if self.has_ended() {
            visitor.stream.abort(self);
        }
        match visitor.stream.wait_opened() {
            true => Ok(visitor),
            false if self.has_ended() => Err(OpenError::Tunnel),
            false => Err(OpenError::Refused),
        }
    }
}

impl LocalStream {
    /// What has come down; 0 at the end of the target's bytes. [`io::ErrorKind::ConnectionAborted`]
    /// when the tunnel ended first.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut state = self.stream.state();
        if state.rung
            && let Some(waker) = &self.stream.waker
        {
            // One that is only about to be rung is cleared the next time.
            state.rung = !waker.clear();
        }
        let count = state.queue.read(buffer);
        if count == 0 {
            state.listens = true;
            return state.nothing_to_read();
        }
        match state.queue.is_empty() && state.has_peer_ended() {
            true => self.stream.advance(&self.line, state),
            false => drop(state),
        }
        self.line.consumed(&self.stream, count);
        self.line.flush();
        Ok(count)
    }

    /// Takes as much as the channel's window has room for.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let taken = self.line.session().write(self.stream.channel, bytes);
            self.line.flush();
            match taken {
                Ok(0) if bytes.is_empty() => return Ok(0),
                Ok(0) => self.wait_by_polling()?,
                Ok(taken) => {
                    add(&self.line.traffic.sent, taken);
                    return Ok(taken);
                }
                Err(Error::NoChannel(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(_) => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
    }

    /// The target gets no more bytes.
    pub fn end_write(&mut self) {
        // A channel that is gone needs no EOF.
        let _ = self.line.session().eof(self.stream.channel);
        self.line.flush();
        let mut state = self.stream.state();
        state.up_done = true;
        self.stream.advance(&self.line, state);
    }

    /// Becomes readable when [`LocalStream::read`] has something to tell.
    pub fn readable(&self) -> BorrowedFd<'_> {
        // Made with a waker; without one this would be a descriptor that never wakes.
        self.stream.waker.as_ref().expect("it has a waker").as_fd()
    }

    /// Becomes readable when a write that would have waited may go on.
    pub fn writable(&self) -> BorrowedFd<'_> {
        match &self.woken {
            Some(woken) => woken.as_fd(),
            None => self.readable(),
        }
    }

    /// Fails with `WouldBlock` unless the channel has become writable meanwhile.
    fn wait_by_polling(&mut self) -> io::Result<()> {
        if let Some(woken) = &mut self.woken {
            // What it holds is told by the flag below.
            let _ = woken.read(&mut [0; 64]);
        } else {
            let (woken, waker) = pair()?;
            self.stream.state().waker = Some(waker);
            self.woken = Some(woken);
        }
        match std::mem::take(&mut self.stream.state().writable) {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Drop for LocalStream {
    fn drop(&mut self) {
        self.stream.broken(&self.line, self.stream.state());
        self.line.flush();
        self.line.count_down();
    }
}

impl fmt::Debug for LocalStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStream").finish_non_exhaustive()
    }
}

fn pair() -> io::Result<(UnixStream, UnixStream)> {
    let (one, other) = UnixStream::pair()?;
    one.set_nonblocking(true)?;
    other.set_nonblocking(true)?;
    Ok((one, other))
}
