//! The sockets that streams end in: a visitor's, a target's, or one half of a pair in this process.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{RecvFlags, sockopt};

/// Silence after which the kernel asks whether the other side is still there. Default 60 s: one that
/// vanished without a word would hold its stream for ever.
const PROBE_AFTER: Duration = Duration::from_secs(60);
/// Time between such questions; after nine without an answer it has gone. Default 15 s.
const PROBE_EVERY: Duration = Duration::from_secs(15);

pub(super) enum Socket {
    Tcp(TcpStream),
    Local(UnixStream),
}

impl Socket {
    pub(super) fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => {
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                sockopt::set_tcp_keepidle(socket, PROBE_AFTER)?;
                sockopt::set_tcp_keepintvl(socket, PROBE_EVERY)?;
                Ok(sockopt::set_socket_keepalive(socket, true)?)
            }
            Self::Local(socket) => socket.set_nonblocking(true),
        }
    }

    /// How many bytes wait to be read, of one; 0 at the end. Never waits.
    pub(super) fn peek(&self) -> io::Result<usize> {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let (_, count) = rustix::net::recv(self, &mut [0u8; 1], flags)?;
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
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(how),
            Self::Local(socket) => socket.shutdown(how),
        };
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&mut &*socket).read(buffer),
            Socket::Local(socket) => (&mut &*socket).read(buffer),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&mut &*socket).write(bytes),
            Socket::Local(socket) => (&mut &*socket).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Local(socket) => socket.as_fd(),
        }
    }
}
