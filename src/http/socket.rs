//! Waiting on non-blocking sockets.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// What to wait for at one socket.
pub(crate) type Wanted<'a> = (&'a dyn AsFd, PollFlags);

/// Said of a client that has sent its last byte: it closed, or shut down its sending side.
#[cfg(target_os = "linux")]
pub(crate) const READ_CLOSED: PollFlags = PollFlags::RDHUP;
/// Elsewhere the end is found by reading.
#[cfg(not(target_os = "linux"))]
pub(crate) const READ_CLOSED: PollFlags = PollFlags::empty();

/// Nothing more will come or go.
pub(crate) const BROKEN: PollFlags = PollFlags::ERR.union(PollFlags::HUP);

/// Waits until one of the sockets is ready or `until` has passed, for ever when that is
/// `None`. Returns what each is ready for, all empty when the time has passed.
pub(crate) fn wait<const N: usize>(
    sockets: [Wanted<'_>; N],
    until: Option<Instant>,
) -> io::Result<[PollFlags; N]> {
    let mut fds = sockets.map(|(socket, flags)| PollFd::from_borrowed_fd(socket.as_fd(), flags));
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        match poll(&mut fds, left.map(timespec).as_ref()) {
            Ok(0) if left.is_none() => {}
            Ok(_) => return Ok(fds.map(|fd| fd.revents())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Rounded up to a millisecond, so that a wait never ends just before its time.
pub(crate) fn timespec(left: Duration) -> Timespec {
    let left = left + Duration::from_millis(1);
    Timespec {
        tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    }
}

/// Whether an operation would have to wait.
pub(crate) fn would_block<T>(result: &io::Result<T>) -> bool {
    let kind = result.as_ref().err().map(io::Error::kind);
    matches!(
        kind,
        Some(io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
    )
}

/// Whether the other end has broken the connection off. What it sent before may still be there to read.
pub(crate) fn was_reset(socket: &TcpStream) -> bool {
    !matches!(socket.take_error(), Ok(None))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn a_connection_is_known_as_reset_before_what_it_sent_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut served, _) = listener.accept().unwrap();
        client.write_all(b"GET").unwrap();
        wait([(&served, PollFlags::IN)], Some(Instant::now() + PATIENCE)).unwrap();
        assert!(!was_reset(&served));
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        let until = Some(Instant::now() + PATIENCE);
        wait([(&served, PollFlags::empty())], until).unwrap();
        assert!(was_reset(&served));
        assert_eq!(served.read(&mut [0; 3]).unwrap(), 3, "the request is there");
    }
}
