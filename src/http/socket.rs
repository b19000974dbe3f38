//! Flags and results of non-blocking sockets.

use std::io;
use std::net::TcpStream;

use rustix::event::PollFlags;

/// Flag of a client that has sent its last byte: it closed, or shut down its sending side.
#[cfg(target_os = "linux")]
pub(crate) const READ_CLOSED: PollFlags = PollFlags::RDHUP;
/// Empty on other systems: reading finds the end.
#[cfg(not(target_os = "linux"))]
pub(crate) const READ_CLOSED: PollFlags = PollFlags::empty();

/// Flags of a connection on which no more bytes move.
pub(crate) const BROKEN: PollFlags = PollFlags::ERR.union(PollFlags::HUP);

/// True if an operation would have to wait.
pub(crate) fn would_block<T>(result: &io::Result<T>) -> bool {
    let kind = result.as_ref().err().map(io::Error::kind);
    matches!(
        kind,
        Some(io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
    )
}

/// True if the other end has broken the connection off. What it sent before may still be there to read.
pub(crate) fn was_reset(socket: &TcpStream) -> bool {
    !matches!(socket.take_error(), Ok(None))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::net::poll::poll_until;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn a_connection_is_known_as_reset_before_what_it_sent_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut served, _) = listener.accept().unwrap();
        client.write_all(b"GET").unwrap();
        poll_until([(&served, PollFlags::IN)], Some(Instant::now() + TIMEOUT)).unwrap();
        assert!(!was_reset(&served));
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        let until = Some(Instant::now() + TIMEOUT);
        poll_until([(&served, PollFlags::empty())], until).unwrap();
        assert!(was_reset(&served));
        assert_eq!(served.read(&mut [0; 3]).unwrap(), 3, "the request is there");
    }
}
