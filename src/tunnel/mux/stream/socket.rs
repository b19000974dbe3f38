//! What a stream does with its socket.

use std::io::ErrorKind;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

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

/// False when nothing came in that time.
pub(super) fn wait_readable(socket: &Socket, within: Option<Duration>) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    let within = within.and_then(|time| Timespec::try_from(time).ok());
    // An interrupted or failed wait is followed by a read.
    poll(&mut fds, within.as_ref()) != Ok(0)
}

/// Ends both directions, which wakes whoever waits for the socket.
pub(super) fn close(socket: Option<&Socket>) {
    if let Some(socket) = socket {
        socket.end();
    }
}
