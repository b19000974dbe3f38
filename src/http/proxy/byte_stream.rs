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
use crate::net::poll::was_reset;
use crate::net::reset_when_closed;

/// A non-blocking byte stream. Dropping it ends it; an end that came too early is an error to read.
pub trait ByteStream: Read + Write + Send {
    /// Ends the writing side.
    fn end_write(&mut self);

    /// True if a write that would have waited can go on although nothing wakes for it: a read has made room.
    fn may_write(&self) -> bool {
        false
    }

    /// Puts the stream on a thread that carries many: `waker` is woken when there is something to read, nothing waits
    /// here, and written bytes leave with [`flush`](Write::flush). `None` ends that. False if it is not possible.
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

/// The client's side of an exchange: its end is seen also while nothing is read.
pub trait ClientStream: ByteStream {
    /// Returns the descriptors to poll, to learn which of these it is ready for: `IN`, `OUT`, `HUP` and
    /// [`READ_CLOSED`].
    ///
    /// [`READ_CLOSED`]: crate::net::poll::READ_CLOSED
    fn watched(&mut self, flags: PollFlags) -> [(BorrowedFd<'_>, PollFlags); 2];

    /// Returns the flags that it is ready for, from the poll of both descriptors.
    fn ready(&self, polled: [PollFlags; 2]) -> PollFlags;

    /// True if nobody waits for an answer any more, as far as is known without waiting.
    fn has_left(&self) -> bool;

    /// Returns another handle of the socket, for its next owner; an error if there is none.
    fn socket(&self) -> io::Result<TcpStream> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes its drop break the connection off, so that the client sees that bytes are missing.
    fn breaks_off(&mut self);
}

impl ClientStream for &TcpStream {
    fn watched(&mut self, flags: PollFlags) -> [(BorrowedFd<'_>, PollFlags); 2] {
        [
            ((**self).as_fd(), flags),
            ((**self).as_fd(), PollFlags::empty()),
        ]
    }

    fn ready(&self, [polled, _]: [PollFlags; 2]) -> PollFlags {
        polled
    }

    fn has_left(&self) -> bool {
        was_reset(self)
    }

    fn socket(&self) -> io::Result<TcpStream> {
        self.try_clone()
    }

    fn breaks_off(&mut self) {
        reset_when_closed(self);
    }
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
socket_stream!(&TcpStream);
socket_stream!(UnixStream);

/// Returns `flags`, or nothing to poll for.
pub(crate) fn only_if(wanted: bool, flags: PollFlags) -> PollFlags {
    if wanted { flags } else { PollFlags::empty() }
}

/// Polls a client and an upstream until `until`, for ever if that is `None`. A descriptor of which nothing is wanted is
/// left out: a closed one would wake for ever. Returns the flags that the client's descriptors are ready for, and if
/// anything was.
pub(super) fn wait(
    client: [(BorrowedFd<'_>, PollFlags); 2],
    upstream: [(BorrowedFd<'_>, PollFlags); 2],
    until: Option<Instant>,
) -> io::Result<([PollFlags; 2], bool)> {
    let left = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    let [first, second] = upstream;
    let [of_client, also] = client;
    let all = [of_client, also, first, second];
    let mut fds: Vec<PollFd<'_>> = all
        .iter()
        .filter(|(_, flags)| !flags.is_empty())
        .map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
        .collect();
    let ready = match poll(&mut fds, left.as_ref()) {
        Ok(ready) => ready > 0,
        Err(Errno::INTR) => true,
        Err(error) => return Err(error.into()),
    };
    let mut found = fds.iter().map(PollFd::revents);
    let of_client = client.map(|(_, flags)| match flags.is_empty() {
        true => PollFlags::empty(),
        false => found.next().unwrap_or(PollFlags::empty()),
    });
    Ok((of_client, ready))
}
