//! What a stream does with its socket.

use std::io::ErrorKind;

use rustix::event::{PollFd, PollFlags, poll};

use super::Socket;

/// As much as the socket takes at once.
pub(super) fn write_now(socket: &Socket, bytes: &[u8]) -> std::io::Result<usize> {
    let mut taken = 0;
    while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
        match socket.send_now(rest) {
            Ok(count) => taken += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

pub(super) fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

pub(super) fn wait_readable(socket: &Socket) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    matches!(poll(&mut fds, None), Ok(_) | Err(rustix::io::Errno::INTR))
}

/// Ends both directions, which wakes whoever waits for the socket.
pub(super) fn close(socket: Option<&Socket>) {
    if let Some(socket) = socket {
        socket.end();
    }
}
