//! What leads to an application: bytes both ways, and nothing that waits.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::PollFlags;
use rustls::Connection;

use crate::tunnel::server::LocalStream;

/// A non-blocking byte stream. Dropping it ends it.
pub trait ByteStream: Send {
    /// What has arrived; 0 at the end. An end that came too early is an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Takes as much as there is room for.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Nothing more will be written.
    fn end_write(&mut self);

    /// What to poll for before reading, or writing, is tried again.
    fn wanted(&self, read: bool, write: bool) -> [(BorrowedFd<'_>, PollFlags); 2];
}

impl ByteStream for LocalStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        LocalStream::read(self, buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LocalStream::write(self, bytes)
    }

    fn end_write(&mut self) {
        LocalStream::end_write(self);
    }

    fn wanted(&self, read: bool, write: bool) -> [(BorrowedFd<'_>, PollFlags); 2] {
        [
            (self.readable(), only_if(read, PollFlags::IN)),
            (self.writable(), only_if(write, PollFlags::IN)),
        ]
    }
}

/// A connection of this machine; it must be non-blocking.
impl ByteStream for TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Read::read(self, buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

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

fn only_if(wanted: bool, flags: PollFlags) -> PollFlags {
    if wanted { flags } else { PollFlags::empty() }
}

/// TLS inside a stream.
pub(super) struct Secured {
    tls: Connection,
    inner: Box<dyn ByteStream>,
}

impl Secured {
    pub(super) fn new(tls: Connection, inner: Box<dyn ByteStream>) -> Secured {
        Secured { tls, inner }
    }

    /// Sends what TLS has to send, as far as the stream takes it.
    fn push(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut Adapter(self.inner.as_mut()))?;
        }
        Ok(())
    }

    /// Does what can be done without waiting.
    fn pull(&mut self) -> io::Result<usize> {
        let read = self.tls.read_tls(&mut Adapter(self.inner.as_mut()))?;
        if let Err(error) = self.tls.process_new_packets() {
            // The other end is told why, as far as that goes.
            let _ = self.push();
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(read)
    }
}

impl ByteStream for Secured {
    /// An end without TLS's own is an error: it may have been cut.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            not_blocked(self.push())?;
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.pull()?;
                }
                read => return read,
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        not_blocked(self.push())?;
        if self.tls.is_handshaking() {
            not_blocked(self.pull().map(drop))?;
        }
        let taken = self.tls.writer().write(bytes)?;
        not_blocked(self.push())?;
        match taken {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    fn end_write(&mut self) {
        self.tls.send_close_notify();
        // Best effort: the stream may be gone.
        let _ = self.push();
    }

    /// During the handshake each direction needs the other.
    fn wanted(&self, read: bool, write: bool) -> [(BorrowedFd<'_>, PollFlags); 2] {
        let read = read || (write && self.tls.is_handshaking());
        self.inner.wanted(read, self.tls.wants_write())
    }
}

fn not_blocked(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        result => result,
    }
}

/// What rustls reads from and writes to.
struct Adapter<'a>(&'a mut dyn ByteStream);

impl Read for Adapter<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Adapter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
