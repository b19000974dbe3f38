//! The system calls of the WebSocket.

use crate::net::keep_alive;
use crate::net::poll::{Interest, poll_until};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};

use super::cancel::Wake;
use super::limits;

/// Why a wait brought nothing.
#[derive(Debug)]
pub(super) enum WaitError {
    Cancelled,
    TimedOut,
    Io(io::Error),
}

impl From<io::Error> for WaitError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for WaitError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// Waits until `socket` is ready for one of `events`, the signal is given, or time is up.
pub(super) fn wait(
    socket: impl AsFd,
    events: PollFlags,
    wake: &Wake,
    deadline: Instant,
) -> Result<(), WaitError> {
    let interests: [Interest<'_>; 2] = [(&socket, events), (wake.end(), PollFlags::IN)];
    let [ready, woken] = poll_until(interests, Some(deadline))?;
    if !woken.is_empty() {
        return Err(WaitError::Cancelled);
    }
    // Also for a socket that is always ready: data that drips in ends at the deadline.
    if ready.is_empty() || Instant::now() >= deadline {
        return Err(WaitError::TimedOut);
    }
    Ok(())
}

/// Waits without end until `socket` can be read, or written when `or_write`.
pub(super) fn wait_for_input(socket: &TcpStream, or_write: bool) -> io::Result<()> {
    let events = if or_write {
        PollFlags::IN | PollFlags::OUT
    } else {
        PollFlags::IN
    };
    poll_until([(socket, events)], None).map(drop)
}

/// Opens a connection; the socket stays in non-blocking mode.
pub(super) fn connect(
    to: SocketAddr,
    wake: &Wake,
    deadline: Instant,
) -> Result<TcpStream, WaitError> {
    let socket = begin_to_connect(to)?;
    wait(&socket, PollFlags::OUT, wake, deadline)?;
    Ok(connected(socket)?)
}

/// A socket in non-blocking mode, on its way to `to`: to be finished with [`connected`] when it can
/// be written.
pub(in crate::tunnel) fn begin_to_connect(to: SocketAddr) -> io::Result<TcpStream> {
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = TcpStream::from(stream_socket(family)?);
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Returns the result of a connection that was begun.
pub(in crate::tunnel) fn connected(socket: TcpStream) -> io::Result<TcpStream> {
    sockopt::socket_error(&socket)??;
    // Where nobody listens on a port of this machine, TCP's simultaneous open (RFC 9293 §3.5) can
    // connect a socket to itself: it would echo, and hold a port that a server wants back.
    let own = socket.local_addr()?;
    // A peer that has gone again is found by reading.
    if socket.peer_addr().is_ok_and(|peer| peer == own) {
        return Err(Errno::CONNREFUSED.into());
    }
    Ok(socket)
}

#[cfg(target_os = "linux")]
fn stream_socket(family: AddressFamily) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::net::SocketFlags;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(
        family,
        SocketType::STREAM,
        flags,
        None,
    )?)
}

#[cfg(not(target_os = "linux"))]
fn stream_socket(family: AddressFamily) -> io::Result<std::os::fd::OwnedFd> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Sets the options of a WebSocket's socket: no delay of small packets, and a peer that vanished is noticed.
///
/// An option that a system or a sandbox does not have costs the notice, not the WebSocket.
pub(super) fn tune(socket: &TcpStream) {
    let noted = |what: &str, done: io::Result<()>| {
        if let Err(error) = done {
            log::debug!("cannot set {what} on the tunnel's socket: {error}");
        }
    };
    noted("TCP_NODELAY", socket.set_nodelay(true));
    noted(
        "keep-alive",
        keep_alive(
            socket,
            limits::KEEPALIVE_IDLE,
            limits::KEEPALIVE_INTERVAL,
            Some(limits::KEEPALIVE_COUNT),
        ),
    );
    noted("a user timeout", user_timeout(socket));
}

/// RFC 5482: unacknowledged data ends the connection, not only unanswered probes.
#[cfg(target_os = "linux")]
fn user_timeout(socket: &TcpStream) -> io::Result<()> {
    let time = u32::try_from(limits::WRITE_STALL.as_millis()).expect("half a minute");
    Ok(sockopt::set_tcp_user_timeout(socket, time)?)
}

#[cfg(not(target_os = "linux"))]
fn user_timeout(_socket: &TcpStream) -> io::Result<()> {
    Ok(())
}

/// Puts the socket in blocking mode, where one write waits at most `stall`.
pub(super) fn block(socket: &TcpStream, stall: Duration) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(Some(stall))
}

/// Takes what is there, without waiting.
pub(in crate::tunnel) fn receive_now(socket: &TcpStream, space: &mut [u8]) -> io::Result<usize> {
    let (_, count) = retry_on_intr(|| rustix::net::recv(socket, &mut *space, RecvFlags::DONTWAIT))?;
    Ok(count)
}

/// Gives what there is room for, without waiting.
pub(in crate::tunnel) fn send_now(socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | NO_SIGNAL;
    Ok(retry_on_intr(|| rustix::net::send(socket, bytes, flags))?)
}

#[cfg(target_os = "linux")]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
/// Elsewhere the standard library has set that for the socket or the process.
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// True if an error only means that nothing can be done without waiting.
pub(super) fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_not_connected_to_itself() {
        let socket = TcpStream::from(stream_socket(AddressFamily::INET).unwrap());
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        rustix::net::bind(&socket, &any).unwrap();
        socket.set_nonblocking(false).unwrap();
        let own = socket.local_addr().unwrap();
        rustix::net::connect(&socket, &own).unwrap();
        assert_eq!(socket.peer_addr().unwrap(), own);
        assert_eq!(
            connected(socket).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
    }
}
