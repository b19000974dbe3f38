//! The sockets that streams end in: a visitor's, or a target's.

use crate::net::keep_alive;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::RecvFlags;

use crate::tunnel::ws::socket::{receive_now, send_now};

/// Silence after which the kernel asks whether the other side is still there. Default 60 s: one that
/// vanished without a word would hold its stream for ever.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Time between such questions; after nine without an answer it has gone. Default 15 s.
const PROBE_EVERY: Duration = Duration::from_secs(15);

pub(super) struct Socket(TcpStream);

impl Socket {
    /// Whether it is blocking or not: no call here waits.
    pub(super) fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        keep_alive(&socket, PROBE_AFTER, PROBE_EVERY, None)?;
        Ok(Self(socket))
    }

    /// Takes what is there; 0 at the end.
    pub(super) fn receive_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        receive_now(&self.0, buffer)
    }

    /// Gives what there is room for.
    pub(super) fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        send_now(&self.0, bytes)
    }

    /// How many bytes wait to be read, of one; 0 at the end.
    pub(super) fn peek(&self) -> io::Result<usize> {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let (_, count) = retry_on_intr(|| rustix::net::recv(&self.0, &mut [0u8; 1], flags))?;
        Ok(count)
    }

    /// The other side gets no more bytes.
    pub(super) fn end_write(&self) {
        self.shutdown(Shutdown::Write);
    }

    /// Both directions.
    pub(super) fn end(&self) {
        self.shutdown(Shutdown::Both);
    }

    fn shutdown(&self, how: Shutdown) {
        // A socket that is gone already is as good.
        let _ = self.0.shutdown(how);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
