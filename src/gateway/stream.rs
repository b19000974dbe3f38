//! Stream of a tunnel to an application, TLS inside it, and the resends of a request whose stream was lost.

use std::io;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::fd::BorrowedFd;
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustls::Connection;

use crate::http::proxy::{ByteStream, ClientStream, Outcome, only_if};
use crate::http::server::connection_handler::Reset;
use crate::tunnel::server::{LocalStream, StreamEnd};

/// Time from the first loss in which another way is tried. Default 1 s: a connector has a second tunnel, and a
/// connector that has lost both reconnects in that time.
const WITHIN: Duration = Duration::from_secs(1);
/// Pause before each try but the second. Default 100 ms.
const PAUSE: Duration = Duration::from_millis(100);

impl Read for LocalStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        LocalStream::read(self, buffer)
    }
}

impl Write for LocalStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LocalStream::write(self, bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let piece = |at: usize| pieces.get(at).map_or(&[][..], |piece| piece);
        self.write_both([piece(0), piece(1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        LocalStream::flush(self);
        Ok(())
    }
}

impl ByteStream for LocalStream {
    fn end_write(&mut self) {
        LocalStream::end_write(self);
    }

    fn defer(&mut self, waker: Option<Waker>) -> bool {
        LocalStream::defer(self, waker)
    }

    fn wanted(&self, read: bool, write: bool) -> [(BorrowedFd<'_>, PollFlags); 2] {
        [
            (self.readable(), only_if(read, PollFlags::IN)),
            (self.writable(), only_if(write, PollFlags::IN)),
        ]
    }
}

impl ClientStream for LocalStream {
    fn watched(&mut self, flags: PollFlags) -> [(BorrowedFd<'_>, PollFlags); 2] {
        // Its end alone is found by reading: what lies before it would wake for ever.
        let reads = flags.contains(PollFlags::IN);
        let watches = reads || flags.contains(PollFlags::HUP);
        if watches {
            self.watch(reads);
        }
        self.wanted(watches, flags.contains(PollFlags::OUT))
    }

    fn ready(&self, [_, writable]: [PollFlags; 2]) -> PollFlags {
        let mut ready = PollFlags::empty();
        ready.set(PollFlags::IN, self.has_something());
        ready.set(PollFlags::HUP, self.has_gone());
        ready.set(PollFlags::ERR, self.is_dead());
        ready.set(PollFlags::OUT, !writable.is_empty());
        ready
    }

    fn has_left(&self) -> bool {
        self.has_gone()
    }

    /// Does nothing: a stream that ends without an end of its own is broken off anyway.
    fn breaks_off(&mut self) {}
}

impl Reset for StreamEnd {
    fn reset(&self) {
        self.end();
    }
}

/// TLS inside a stream.
pub(crate) struct TlsStream {
    tls: Connection,
    inner: Box<dyn ByteStream>,
}

impl TlsStream {
    pub(crate) fn new(tls: Connection, inner: Box<dyn ByteStream>) -> TlsStream {
        TlsStream { tls, inner }
    }

    /// Sends what TLS has to send, as far as the stream takes it.
    fn push(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.inner)?;
        }
        Ok(())
    }

    /// Does what can be done without waiting.
    fn pull(&mut self) -> io::Result<usize> {
        let read = self.tls.read_tls(&mut self.inner)?;
        if let Err(error) = self.tls.process_new_packets() {
            // Tells the other end the reason, as far as possible.
            let _ = self.push();
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(read)
    }
}

impl Read for TlsStream {
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
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            not_blocked(self.push())?;
            if self.tls.is_handshaking() {
                not_blocked(self.pull().map(drop))?;
            }
            let taken = self.tls.writer().write(bytes)?;
            not_blocked(self.push())?;
            if taken > 0 || bytes.is_empty() {
                return Ok(taken);
            }
            // If the stream has taken everything meanwhile, there is room, and no event would wake anybody.
            if self.tls.wants_write() || self.tls.is_handshaking() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        not_blocked(self.push())?;
        self.inner.flush()
    }
}

impl ByteStream for TlsStream {
    fn end_write(&mut self) {
        self.tls.send_close_notify();
        // Best effort: the stream may be gone.
        let _ = self.push();
    }

    fn defer(&mut self, waker: Option<Waker>) -> bool {
        self.inner.defer(waker)
    }

    fn may_be_kept(&self) -> bool {
        self.inner.may_be_kept()
    }

    /// True if it may write: reading may end the handshake, and takes what is to be sent along.
    fn may_write(&self) -> bool {
        !self.tls.is_handshaking() && !self.tls.wants_write()
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

/// Resends of one request.
pub(super) struct Resends {
    /// True if a request may be sent more than once.
    allows_several: bool,
    lost: Option<Instant>,
}

impl Resends {
    /// Starts without a resend.
    pub(super) fn new(allows_several: bool) -> Self {
        Self {
            allows_several,
            lost: None,
        }
    }

    /// Begins a resend after `outcome`, if there is to be one. After a stream that was closed while its tunnel was not
    /// lost there is only one: the application may have closed it.
    pub(super) fn begin_after(&mut self, outcome: &Outcome) -> bool {
        let Outcome::Unanswered(error) = outcome else {
            return false;
        };
        let is_of_tunnel = error
            .as_ref()
            .is_some_and(|error| error.kind() == ErrorKind::ConnectionAborted);
        (is_of_tunnel || self.lost.is_none()) && self.begin_next()
    }

    /// Begins the next resend, if there is to be one: the first at once, the others after a pause.
    pub(super) fn begin_next(&mut self) -> bool {
        if !self.allows_several {
            return false;
        }
        let now = Instant::now();
        let Some(lost) = self.lost else {
            self.lost = Some(now);
            return true;
        };
        if now.saturating_duration_since(lost) + PAUSE > WITHIN {
            return false;
        }
        std::thread::sleep(PAUSE);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_try_or_as_many_as_a_second_has_room_for() {
        assert!(!Resends::new(false).begin_next());
        let (mut resends, began) = (Resends::new(true), Instant::now());
        assert!(resends.begin_next() && began.elapsed() < PAUSE);
        let mut count = 1;
        while resends.begin_next() {
            count += 1;
        }
        assert!((2..=10).contains(&count), "{count}");
        assert!(began.elapsed() >= PAUSE);
    }

    #[test]
    fn what_the_application_may_have_closed_is_asked_once_more() {
        let closed = Outcome::Unanswered(None);
        let lost = Outcome::Unanswered(Some(ErrorKind::ConnectionAborted.into()));
        let mut resends = Resends::new(true);
        assert!(resends.begin_after(&closed) && !resends.begin_after(&closed));
        assert!(resends.begin_after(&lost));
        let mut resends = Resends::new(true);
        assert!(
            !resends.begin_after(&Outcome::TooSlow { has_request: true })
                && resends.begin_after(&lost)
        );
        assert!(!resends.begin_after(&closed));
        assert!(!Resends::new(false).begin_after(&lost));
    }
}
