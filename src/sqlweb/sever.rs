//! A second handle on the driver's socket: the driver offers no way to end a connection that another thread reads from,
//! nor to change how long it waits.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mysql::Conn;

/// A second handle on one connection's socket; clones are the same handle. It holds nothing where the system cannot
/// duplicate a descriptor of one's own by its number (Linux before 5.6, a sandbox that forbids `pidfd_getfd`, other
/// systems): then a connection is only ever given up when it next sends something or the kernel finds the peer dead.
#[derive(Clone, Default)]
pub(crate) struct Socket(Option<Arc<OwnedFd>>);

impl Socket {
    /// The socket of `conn`.
    pub(crate) fn of(conn: &Conn) -> Self {
        Self(duplicate(conn.as_raw_fd()).map(Arc::new))
    }

    /// Whether this system lets a descriptor be duplicated; tried once, on a pair of sockets.
    pub(crate) fn can_be_had() -> bool {
        static ANSWER: OnceLock<bool> = OnceLock::new();
        *ANSWER.get_or_init(|| {
            let tried = UnixStream::pair().map(|(socket, _)| duplicate(socket.as_raw_fd()));
            let can = tried.is_ok_and(|fd| fd.is_some());
            if !can {
                log::info!("database sockets cannot be duplicated here: a server that stops answering is given up late");
            }
            can
        })
    }

    /// Ends the connection in both directions, so that whoever reads from it or writes to it fails at once.
    pub(crate) fn shut_down(&self) {
        if let Some(fd) = &self.0
            && let Err(error) = rustix::net::shutdown(fd, rustix::net::Shutdown::Both)
        {
            log::debug!("a database connection could not be shut down: {error}");
        }
    }

    /// How long one read waits for the server; `None` is for ever.
    pub(crate) fn set_patience(&self, patience: Option<Duration>) {
        use rustix::net::sockopt::{Timeout, set_socket_timeout};
        if let Some(fd) = &self.0
            && let Err(error) = set_socket_timeout(fd, Timeout::Recv, patience)
        {
            log::debug!("a database connection's read timeout could not be set: {error}");
        }
    }
}

/// The caller's owner of the descriptor keeps it open for the length of the call.
#[cfg(target_os = "linux")]
fn duplicate(fd: RawFd) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let this = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    pidfd_getfd(this, fd, PidfdGetfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn duplicate(_fd: RawFd) -> Option<OwnedFd> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_blocked_reader_is_woken() {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let socket = Socket(duplicate(ours.as_raw_fd()).map(Arc::new));
        assert!(socket.0.is_some() == Socket::can_be_had());
        if socket.0.is_none() {
            return;
        }
        let reader = std::thread::spawn(move || ours.read(&mut [0]));
        socket.shut_down();
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    }

    #[test]
    fn a_read_ends_with_the_patience() {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let socket = Socket(duplicate(ours.as_raw_fd()).map(Arc::new));
        if socket.0.is_some() {
            socket.set_patience(Some(Duration::from_millis(10)));
            let error = ours.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        }
    }
}
