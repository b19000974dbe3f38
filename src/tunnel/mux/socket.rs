//! The sockets that streams end in: a visitor's, or a target's. Only [`Socket::wait_readable`] and
//! [`Socket::wait_writable`] wait.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::retry_on_intr;
use rustix::net::RecvFlags;

use crate::net::poll::poll_until;
use crate::net::{keep_alive, reset_when_closed};
use crate::tunnel::ws::socket::{receive_now, send_now};

/// Silence after which the kernel asks whether the other side is still there, 60 s: one that
/// vanished without a word would hold its stream for ever.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Time between such questions, 15 s; after nine without an answer it has gone.
const PROBE_EVERY: Duration = Duration::from_secs(15);

pub(super) struct Socket(TcpStream);

impl Socket {
    /// In blocking mode or not: reading and writing never wait.
    pub(super) fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        keep_alive(&socket, PROBE_AFTER, PROBE_EVERY, None)?;
        Ok(Self(socket))
    }

    /// Reads what is there; 0 at the end.
    pub(super) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        receive_now(&self.0, buffer)
    }

    /// Writes as much as there is room for.
    pub(super) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            match send_now(&self.0, rest) {
                Ok(count) => taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Returns 1 if a byte waits to be read, 0 at the end.
    pub(super) fn peek(&self) -> io::Result<usize> {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let (_, count) = retry_on_intr(|| rustix::net::recv(&self.0, &mut [0u8; 1], flags))?;
        Ok(count)
    }

    /// False when nothing came in that time.
    pub(super) fn wait_readable(&self, within: Option<Duration>) -> bool {
        self.wait(PollFlags::IN, within)
    }

    /// False when there was no room in that time.
    pub(super) fn wait_writable(&self, within: Duration) -> bool {
        self.wait(PollFlags::OUT, Some(within))
    }

    fn wait(&self, flags: PollFlags, within: Option<Duration>) -> bool {
        let deadline = within.map(|time| Instant::now() + time);
        // A wait that failed is followed by a read or a write.
        poll_until([(self, flags)], deadline).map_or(true, |[ready]| !ready.is_empty())
    }

    /// Discards unsent bytes when it is closed, and the other side sees a reset.
    pub(super) fn reset_when_closed(&self) {
        reset_when_closed(&self.0);
    }

    /// Ends one direction or both, which wakes threads that wait for the socket.
    pub(super) fn shutdown(&self, how: Shutdown) {
        // A socket that has ended needs no shutdown.
        let _ = self.0.shutdown(how);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// True if a call that failed so may be tried again later.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
