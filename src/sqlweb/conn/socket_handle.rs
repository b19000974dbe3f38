//! A second handle on the driver's socket. The driver cannot end a connection that another thread reads from, nor
//! change its read timeout.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use mysql::Conn;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;

/// A second handle on one connection's socket; clones are the same handle. It is empty if the system cannot duplicate
/// an own descriptor by its number (Linux before 5.6, a sandbox that forbids `pidfd_getfd`, other systems). A
/// connection is then given up only when it next sends something or the kernel finds the peer dead.
#[derive(Clone, Default)]
pub(crate) struct SocketHandle(Option<Arc<OwnedFd>>);

impl SocketHandle {
    /// The socket of `conn`.
    pub(crate) fn of(conn: &Conn) -> Self {
        Self(duplicate(conn.as_raw_fd()).map(Arc::new))
    }

    /// True if this system can duplicate a descriptor; tried once, on a pair of sockets.
    pub(crate) fn is_supported() -> bool {
        static ANSWER: OnceLock<bool> = OnceLock::new();
        *ANSWER.get_or_init(|| {
            let tried = UnixStream::pair().map(|(socket, _)| duplicate(socket.as_raw_fd()));
            let can = tried.is_ok_and(|fd| fd.is_some());
            if !can {
                log::info!("cannot duplicate database sockets: a server that stops answering is noticed late");
            }
            can
        })
    }

    /// One end of a pair of sockets, a second handle on it, and the other end.
    #[cfg(test)]
    pub(crate) fn pair() -> (UnixStream, Self, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let socket = Self(duplicate(ours.as_raw_fd()).map(Arc::new));
        (ours, socket, theirs)
    }

    /// True if there is a handle.
    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Ends the connection in both directions, so that reads and writes fail at once, here and on the server.
    pub(crate) fn shut_down(&self) {
        let Some(fd) = &self.0 else { return };
        // An orderly end is not enough: a server that writes into a full window would wait for room for minutes, since
        // nothing is read any more (Linux). A reset needs no room.
        if let Err(error) = rustix::net::sockopt::set_socket_linger(fd, Some(Duration::ZERO)) {
            log::debug!("a database connection cannot be reset when it is closed: {error}");
        }
        if let Err(error) = rustix::net::shutdown(fd, rustix::net::Shutdown::Both) {
            log::debug!("cannot shut down a database connection: {error}");
        }
        // Sends the reset now, although a thread still has the connection; a Unix socket has no reset and needs none.
        if let Err(error) = rustix::net::connect_unspec(fd) {
            log::debug!("cannot reset a database connection: {error}");
        }
    }

    /// Checks if the server has sent something on an idle connection; nothing is taken from it.
    pub(crate) fn peek(&self) -> Peeked {
        use rustix::net::RecvFlags;
        let Some(fd) = &self.0 else {
            return Peeked::Data;
        };
        let mut byte = [0];
        match rustix::net::recv(fd, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((0, _)) => Peeked::Closed,
            Ok(_) => Peeked::Data,
            Err(Errno::AGAIN | Errno::INTR) => Peeked::Silence,
            Err(_) => Peeked::Closed,
        }
    }

    /// Sends all of `bytes`, waiting for room.
    pub(super) fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            // Rust programs ignore SIGPIPE, so a closed peer is an error.
            match rustix::io::write(self.open()?, bytes) {
                Ok(sent) => bytes = bytes.split_at(sent).1,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Appends received bytes up to the capacity of `buffer`, and waits if there are none; 0 is the end.
    pub(super) fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        Ok(rustix::io::read(self.open()?, spare_capacity(buffer))?)
    }

    fn open(&self) -> io::Result<&OwnedFd> {
        let fd = self.0.as_deref();
        fd.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// A handle that does not keep the connection open.
    pub(crate) fn weak(&self) -> WeakSocketHandle {
        WeakSocketHandle(self.0.as_ref().map_or_else(Weak::new, Arc::downgrade))
    }

    /// Sets the time that one read waits for the server; `None` is without limit.
    pub(crate) fn set_read_timeout(&self, read_timeout: Option<Duration>) {
        use rustix::net::sockopt::{Timeout, set_socket_timeout};
        if let Some(fd) = &self.0
            && let Err(error) = set_socket_timeout(fd, Timeout::Recv, read_timeout)
        {
            log::debug!("cannot set the read timeout of a database connection: {error}");
        }
    }
}

/// State of an idle connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peeked {
    /// It is silent, as expected.
    Silence,
    /// Unexpected bytes, such as a last message or a part of TLS; also if the state cannot be known.
    Data,
    /// The server has closed it.
    Closed,
}

/// See [`SocketHandle::weak`].
pub(crate) struct WeakSocketHandle(Weak<OwnedFd>);

impl WeakSocketHandle {
    /// The handle, while the connection exists.
    pub(crate) fn get(&self) -> Option<SocketHandle> {
        self.0.upgrade().map(|fd| SocketHandle(Some(fd)))
    }
}

/// Duplicates a descriptor, which its owner must keep open during the call.
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
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_blocked_reader_is_woken() {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let socket = SocketHandle(duplicate(ours.as_raw_fd()).map(Arc::new));
        assert!(socket.0.is_some() == SocketHandle::is_supported());
        if socket.0.is_none() {
            return;
        }
        let reader = std::thread::spawn(move || ours.read(&mut [0]));
        socket.shut_down();
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    }

    /// A server that writes into a full window does not notice an orderly end for minutes.
    #[test]
    fn a_blocked_writer_at_the_other_end_is_woken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        let socket = SocketHandle(duplicate(ours.as_raw_fd()).map(Arc::new));
        if !socket.is_some() {
            return;
        }
        theirs
            .set_write_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        theirs.set_nonblocking(true).unwrap();
        while theirs.write(&[0; 4096]).is_ok() {}
        theirs.set_nonblocking(false).unwrap();
        let writer = std::thread::spawn(move || {
            loop {
                if let Err(error) = theirs.write(&[0; 4096]) {
                    return error.kind();
                }
            }
        });
        socket.shut_down();
        // Received bytes may be read to their end, which must not matter.
        while ours.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
        drop((ours, socket));
        let kind = writer.join().unwrap();
        assert_ne!(kind, std::io::ErrorKind::WouldBlock, "it was left to wait");
    }

    #[test]
    fn an_idle_connection_tells_whether_it_was_closed() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let socket = SocketHandle(duplicate(ours.as_raw_fd()).map(Arc::new));
        if socket.is_some() {
            assert_eq!(socket.peek(), Peeked::Silence);
            theirs.write_all(b"bye").unwrap();
            assert_eq!(socket.peek(), Peeked::Data);
            let weak = socket.weak();
            assert!(weak.get().is_some());
            drop((ours, socket));
            assert!(weak.get().is_none());
        }
        let (ours, theirs) = UnixStream::pair().unwrap();
        let socket = SocketHandle(duplicate(ours.as_raw_fd()).map(Arc::new));
        drop(theirs);
        assert!(!socket.is_some() || socket.peek() == Peeked::Closed);
    }

    #[test]
    fn a_read_ends_with_the_patience() {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let socket = SocketHandle(duplicate(ours.as_raw_fd()).map(Arc::new));
        if socket.0.is_some() {
            socket.set_read_timeout(Some(Duration::from_millis(10)));
            let error = ours.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        }
    }
}
