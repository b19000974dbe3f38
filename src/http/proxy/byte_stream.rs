//! Connection to an upstream: bytes both ways, and nothing that waits.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::task::Waker;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::net::poll::timespec;

/// A non-blocking byte stream. Dropping it ends it; an end that came too early is an error to read.
pub trait ByteStream: Read + Write + Send {
    /// Nothing more will be written.
    fn end_write(&mut self);

    /// True if a write that would have waited may go on, though nothing wakes for it: a read has made room.
    fn may_write(&self) -> bool {
        false
    }

    /// One thread carries it with many others from now on: `waker` is woken when there is something to
    /// read, nothing waits here, and what is written leaves with [`flush`](Write::flush). `None` ends
    /// that. False where it cannot be done.
    fn defer(&mut self, _waker: Option<Waker>) -> bool {
        false
    }

    /// True if a further request may use it once an answer is over.
    fn may_be_kept(&self) -> bool {
        true
    }

    /// Returns what to poll for before reading, or writing, is tried again.
    fn wanted(&self, read: bool, write: bool) -> [(BorrowedFd<'_>, PollFlags); 2];
}

// A socket must be non-blocking.
macro_rules! socket_stream {
    ($socket:ty) => {
        impl ByteStream for $socket {
            fn end_write(&mut self) {
                // A socket that is gone already is as good.
                let _ = self.shutdown(Shutdown::Write);
            }

            fn wanted(&self, read: bool, write: bool) -> [(BorrowedFd<'_>, PollFlags); 2] {
                [
                    (self.as_fd(), only_if(read, PollFlags::IN)),
                    (self.as_fd(), only_if(write, PollFlags::OUT)),
                ]
            }
        }
    };
}

socket_stream!(TcpStream);
socket_stream!(UnixStream);

/// `flags`, or nothing to poll for.
pub(crate) fn only_if(wanted: bool, flags: PollFlags) -> PollFlags {
    if wanted { flags } else { PollFlags::empty() }
}

/// Polls a client's socket and an upstream until `until`, for ever when that is `None`. What nothing
/// is wanted of is left out: a closed one would wake for ever. Returns what the socket is ready
/// for, and whether anything was.
pub(super) fn wait(
    client: (&TcpStream, PollFlags),
    upstream: [(BorrowedFd<'_>, PollFlags); 2],
    until: Option<Instant>,
) -> io::Result<(PollFlags, bool)> {
    let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    let [first, second] = upstream;
    let all = [(client.0.as_fd(), client.1), first, second];
    let wanted = all.iter().filter(|(_, flags)| !flags.is_empty());
    let mut fds: Vec<PollFd<'_>> = wanted
        .map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
        .collect();
    let ready = match poll(&mut fds, left.as_ref()) {
        Ok(ready) => ready > 0,
        Err(Errno::INTR) => true,
        Err(error) => return Err(error.into()),
    };
    let of_client = fds.first().filter(|_| !client.1.is_empty());
    let of_client = of_client.map_or(PollFlags::empty(), PollFd::revents);
    Ok((of_client, ready))
}
