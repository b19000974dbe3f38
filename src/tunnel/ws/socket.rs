//! The system calls of the WebSocket, and the signal that ends their waits.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::event::PollFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, sockopt};

use crate::net::keep_alive;
use crate::net::poll::{Interest, poll_until};
use crate::sync::{Mutex, MutexGuard};

/// Time a write may stand without one byte taken by the peer. Default 30 s. Unacknowledged
/// data ends the connection after the same time (RFC 5482), whichever side writes.
pub const WRITE_STALL: Duration = crate::limits::TUNNEL_STALL;
/// Time without traffic after which the kernel probes the peer, and how often and many times.
/// Defaults 15 s, 5 s, 3: a peer that vanished is noticed after 30 s, within the tunnel's 40.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
/// See [`KEEPALIVE_IDLE`].
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// See [`KEEPALIVE_IDLE`].
const KEEPALIVE_COUNT: u32 = 3;

/// Reason that a wait failed.
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
    // TCP's simultaneous open (RFC 9293 §3.5) can connect a socket to itself, if nobody listens on a port of this
    // machine: it would echo, and hold a port that a server wants back.
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
            KEEPALIVE_IDLE,
            KEEPALIVE_INTERVAL,
            Some(KEEPALIVE_COUNT),
        ),
    );
    noted("a user timeout", user_timeout(socket));
}

/// RFC 5482: unacknowledged data ends the connection, not only unanswered probes.
#[cfg(target_os = "linux")]
fn user_timeout(socket: &TcpStream) -> io::Result<()> {
    let time = u32::try_from(WRITE_STALL.as_millis()).expect("half a minute");
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

/// Ends waits from another thread; clones are the same signal. Once given it stays given.
///
/// It holds no descriptors: those that [`dial`](super::dial()) needs to be woken live as long as
/// the call.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Mutex<CancelState>>);

#[derive(Default)]
struct CancelState {
    cancelled: bool,
    next: u64,
    watchers: BTreeMap<u64, Box<dyn FnOnce() + Send>>,
}

impl Cancel {
    /// A signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal: every watcher is called, on this thread.
    pub fn cancel(&self) {
        let watchers = {
            let mut state = self.state();
            state.cancelled = true;
            std::mem::take(&mut state.watchers)
        };
        for watcher in watchers.into_values() {
            watcher();
        }
    }

    /// True if the signal has been given.
    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Calls `watcher` when the signal is given, at once when it has been; not any more after
    /// the answer was dropped (but a call under way is not waited for). It must not block.
    pub fn watch(&self, watcher: impl FnOnce() + Send + 'static) -> Watch {
        let mut state = self.state();
        let id = state.next;
        if state.cancelled {
            drop(state);
            watcher();
        } else {
            state.next += 1;
            state.watchers.insert(id, Box::new(watcher));
        }
        Watch {
            cancel: self.clone(),
            id,
        }
    }

    fn state(&self) -> MutexGuard<'_, CancelState> {
        self.0.lock()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cancelled = self.is_cancelled();
        f.debug_struct("Cancel")
            .field("cancelled", &cancelled)
            .finish()
    }
}

/// A registration with [`Cancel::watch`]; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the registration ends when this is dropped"]
pub struct Watch {
    cancel: Cancel,
    id: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let watcher = self.cancel.state().watchers.remove(&self.id);
        // The watcher may hold something with a destructor of its own: not under the lock.
        drop(watcher);
    }
}

/// A descriptor that becomes readable when the signal is given.
pub(super) struct Wake {
    end: UnixStream,
    _watch: Watch,
}

impl Wake {
    pub(super) fn new(cancel: &Cancel) -> io::Result<Self> {
        let (end, other) = UnixStream::pair()?;
        Ok(Self {
            end,
            _watch: cancel.watch(move || drop(other)),
        })
    }

    pub(super) fn end(&self) -> &UnixStream {
        &self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    fn counter(count: &Arc<AtomicUsize>) -> impl FnOnce() + Send + use<> {
        let count = Arc::clone(count);
        move || {
            count.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn watchers_are_called_once_and_only_while_watching() {
        let (cancel, count) = (Cancel::new(), Arc::new(AtomicUsize::new(0)));
        drop(cancel.watch(counter(&count)));
        let _kept = cancel.watch(counter(&count));
        assert!(!cancel.is_cancelled());
        cancel.clone().cancel();
        cancel.cancel();
        assert!(cancel.is_cancelled());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let _late = cancel.watch(counter(&count));
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_watcher_may_use_the_signal_itself() {
        let cancel = Cancel::new();
        let inner = cancel.clone();
        let _watch = cancel.watch(move || assert!(inner.is_cancelled()));
        cancel.cancel();
    }

    #[test]
    fn a_wake_becomes_readable_and_leaves_nothing_behind() {
        let cancel = Cancel::new();
        drop(Wake::new(&cancel).unwrap());
        assert!(cancel.state().watchers.is_empty());
        let wake = Wake::new(&cancel).unwrap();
        cancel.cancel();
        assert_eq!((&wake.end).read(&mut [0]).unwrap(), 0);
    }
}
