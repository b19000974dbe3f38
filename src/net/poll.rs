//! Waiting for sockets: poll(2), a descriptor that ends such a wait, and a thread that accepts connections.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::sync::{Thread, spawn_joined};

/// A descriptor and the events to wait for.
pub(crate) type Interest<'a> = (&'a dyn AsFd, PollFlags);

/// Waits until something is ready or `deadline` has passed (`None`: for ever), also when a signal interrupts it.
/// Returns the events in the order of `interests`, all empty if the time ran out.
pub(crate) fn poll_until<const N: usize>(
    interests: [Interest<'_>; N],
    deadline: Option<Instant>,
) -> io::Result<[PollFlags; N]> {
    let mut fds = interests.map(|(fd, flags)| PollFd::from_borrowed_fd(fd.as_fd(), flags));
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match rustix::event::poll(&mut fds, left.map(timespec).as_ref()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(fds.map(|fd| fd.revents())),
        }
    }
}

/// Like [`poll_until`], for `within` from now.
pub(crate) fn poll_within<const N: usize>(
    interests: [Interest<'_>; N],
    within: Duration,
) -> io::Result<[PollFlags; N]> {
    poll_until(interests, Instant::now().checked_add(within))
}

/// Rounded up to a millisecond, so that a wait never ends just before its time.
pub(crate) fn timespec(left: Duration) -> Timespec {
    let left = left.saturating_add(Duration::from_millis(1));
    Timespec {
        tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    }
}

/// A descriptor that is readable from [`Waker::wake`] to [`Waker::clear`].
pub(crate) struct Waker(imp::WakerEnds);

impl Waker {
    /// A pair that is not readable.
    pub(crate) fn new() -> io::Result<Self> {
        imp::WakerEnds::new().map(Self)
    }

    /// Makes it readable.
    pub(crate) fn wake(&self) {
        // A full one is readable already.
        let _ = self.0.wake();
    }

    /// Makes it unreadable; false if it was not readable.
    pub(crate) fn clear(&self) -> bool {
        matches!(self.0.clear(), Ok(1..))
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.readable()
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::event::{EventfdFlags, eventfd};

    pub(super) struct WakerEnds(OwnedFd);

    impl WakerEnds {
        pub(super) fn new() -> io::Result<Self> {
            let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
            Ok(Self(eventfd(0, flags)?))
        }

        pub(super) fn wake(&self) -> io::Result<usize> {
            Ok(rustix::io::write(&self.0, &1u64.to_ne_bytes())?)
        }

        pub(super) fn clear(&self) -> io::Result<usize> {
            Ok(rustix::io::read(&self.0, &mut [0u8; 8])?)
        }

        pub(super) fn readable(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io::{self, Read, Write};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::net::UnixStream;

    pub(super) struct WakerEnds(UnixStream, UnixStream);

    impl WakerEnds {
        pub(super) fn new() -> io::Result<Self> {
            let (one, other) = UnixStream::pair()?;
            one.set_nonblocking(true)?;
            other.set_nonblocking(true)?;
            Ok(Self(one, other))
        }

        pub(super) fn wake(&self) -> io::Result<usize> {
            (&self.1).write(&[1])
        }

        pub(super) fn clear(&self) -> io::Result<usize> {
            (&self.0).read(&mut [0; 64])
        }

        pub(super) fn readable(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

/// Pause after a failed accept. Without it a process that has no open files left would fail again at once, for ever.
pub(crate) type Pause = Option<Duration>;

/// A thread that accepts connections until this is dropped; the listener is closed when the drop returns.
#[derive(Debug)]
pub(crate) struct Acceptor {
    /// Closing it wakes the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Starts the thread. It passes each connection, or the error in its place, to `take`. Clients that left before
    /// they were accepted are skipped.
    pub(crate) fn start(
        listener: TcpListener,
        thread: Thread,
        mut take: impl FnMut(io::Result<(TcpStream, SocketAddr)>) -> Pause + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        listener.set_nonblocking(true)?;
        // Accepting waits; it ends when `stop` is closed.
        let accepting = move || accept_all(&listener, &stopped, &mut take);
        let thread = spawn_joined(thread, accepting)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Stops accepting; the listener is closed when this returns.
    pub(crate) fn stop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic in `take` was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept_all(
    listener: &TcpListener,
    stopped: &UnixStream,
    take: &mut impl FnMut(io::Result<(TcpStream, SocketAddr)>) -> Pause,
) {
    let mut pause = None;
    while !is_stopped(listener, stopped, pause.take()) {
        pause = match listener.accept() {
            Err(error) if is_nobody(error.kind()) => None,
            accepted => take(accepted),
        };
    }
}

fn is_nobody(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
    )
}

/// Waits for a connection, or for the end of the pause; true if the thread is to stop.
fn is_stopped(listener: &TcpListener, stopped: &UnixStream, pause: Pause) -> bool {
    let stop: Interest<'_> = (stopped, PollFlags::IN);
    let ready = match pause {
        Some(pause) => poll_within([stop], pause).map(|[stop]| stop),
        None => poll_until([stop, (listener, PollFlags::IN)], None).map(|[stop, _]| stop),
    };
    // If the wait fails, the next accept reports the error.
    ready.is_ok_and(|stop| !stop.is_empty())
}

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
    use super::*;
    use crate::net::poll::poll_until;
    use crossbeam_channel::unbounded;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_ready_is_told_apart_and_time_ends_a_wait() {
        let (mut one, other) = UnixStream::pair().unwrap();
        let (_quiet, silent) = UnixStream::pair().unwrap();
        let both: [Interest<'_>; 2] = [(&silent, PollFlags::IN), (&other, PollFlags::IN)];
        let none = poll_within(both, Duration::from_millis(1)).unwrap();
        assert!(none.iter().all(|flags| flags.is_empty()));
        one.write_all(b"x").unwrap();
        let [first, second] = poll_until(both, None).unwrap();
        assert!(first.is_empty() && second.contains(PollFlags::IN));
    }

    #[test]
    fn any_number_of_rings_is_cleared_at_once() {
        let waker = Waker::new().unwrap();
        assert!(!waker.clear());
        waker.wake();
        waker.wake();
        assert!(waker.clear());
        assert!(!waker.clear());
    }

    #[test]
    fn connections_come_until_it_is_dropped_and_then_the_port_is_free() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, accepted) = unbounded();
        let acceptor = Acceptor::start(listener, Thread::TunnelAccept, move |taken| {
            sender.send(taken.unwrap().1).unwrap();
            None
        })
        .unwrap();
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(accepted.recv().unwrap(), client.local_addr().unwrap());
        drop(acceptor);
        assert!(TcpStream::connect(address).is_err());
    }

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
