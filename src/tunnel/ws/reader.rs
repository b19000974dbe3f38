//! The reading half: frames in, the bytes of their payloads out.

use crate::sync::Mutex;
use std::fmt;
use std::io::{self, IoSliceMut, Read};
use std::ops::Range;
use std::sync::Arc;

use rustls::Connection;

use super::error::FrameError;
use super::limits::{AHEAD, RECORDS};
use super::socket;
use super::websocket::{self, Frames, Kind, MAX_CONTROL, Mask};
use super::writer::{Shared, WsWriter};

/// Receives from a WebSocket; it belongs to one thread. Dropping it shuts the WebSocket down, since
/// nobody could answer the peer any more.
pub struct WsReader {
    source: Source,
    ahead: Ahead,
    frames: Frames,
    state: State,
    /// Comes with the next call: there were bytes to deliver before it.
    error: Option<io::Error>,
}

/// Where the next byte belongs.
enum State {
    Header,
    Data(u64, Mask),
    Control(Kind, usize, Mask),
    /// The peer has said goodbye, or broken a rule.
    Ended,
}

/// Received and not used yet.
struct Ahead {
    buffer: Box<[u8]>,
    filled: Range<usize>,
}

/// The stream below the frames.
struct Source {
    shared: Arc<Shared>,
    /// Something is owed to the peer and the socket was full, or it was not tried yet.
    owing: bool,
    /// With TLS: received ciphertext, and the part of it that is not decrypted yet.
    records: Box<[u8]>,
    pending: Range<usize>,
}

impl WsReader {
    pub(super) fn new(writer: WsWriter, early: Vec<u8>) -> Self {
        let shared = Arc::clone(writer.shared());
        let mut buffer = vec![0; AHEAD.max(early.len())];
        for (to, from) in buffer.iter_mut().zip(&early) {
            *to = *from;
        }
        let records = if shared.tls.is_some() { RECORDS } else { 0 };
        Self {
            frames: Frames::new(shared.role),
            source: Source {
                shared,
                owing: false,
                records: vec![0; records].into(),
                pending: 0..0,
            },
            ahead: Ahead {
                buffer: buffer.into(),
                filled: 0..early.len(),
            },
            state: State::Header,
            error: None,
        }
    }

    /// Waits for bytes of the stream and puts at least one, and all that is there, into
    /// `buffer`, which must not be empty; zero at the end of the stream. Waits without limit:
    /// [`WsWriter::shutdown`] ends it.
    ///
    /// Errors: the connection broke (also inside a frame: `UnexpectedEof`), it was shut down here
    /// (`ConnectionAborted`), or the peer broke a rule ([`FrameError`] in `InvalidData`).
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            let reason = "there is no space to read into";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut filled = 0;
        let done = self.fill(buffer, &mut filled);
        if let Err(error) = done {
            self.state = State::Ended;
            match filled {
                0 => {
                    self.source.settle();
                    return Err(error);
                }
                _ => self.error = Some(error),
            }
        }
        self.source.settle();
        self.source.shared.count_received(filled);
        Ok(filled)
    }
}

impl WsReader {
    /// Goes on until there is something to deliver and more could not be had without waiting.
    fn fill(&mut self, buffer: &mut [u8], filled: &mut usize) -> io::Result<()> {
        loop {
            let complete = match self.state {
                State::Ended => return Ok(()),
                State::Data(0, _) => {
                    self.state = State::Header;
                    true
                }
                State::Data(..) => {
                    let space = buffer.get_mut(*filled..).unwrap_or_default();
                    match self.data(space, *filled == 0)? {
                        0 => return Ok(()),
                        count => *filled += count,
                    }
                    true
                }
                State::Header => self.header()?,
                State::Control(..) => self.control()?,
            };
            if !complete && !self.more(*filled)? {
                return self.end(*filled);
            }
        }
    }

    /// Takes bytes of the payload; none when there is no space, or no byte and it may not wait.
    fn data(&mut self, space: &mut [u8], may_wait: bool) -> io::Result<usize> {
        let State::Data(left, mask) = &mut self.state else {
            return Ok(0);
        };
        let most = usize::try_from(*left).unwrap_or(usize::MAX);
        let most = most.min(space.len());
        let space = space.get_mut(..most).unwrap_or_default();
        let mut count = self.ahead.take(space);
        if count == 0 && may_wait && !space.is_empty() {
            let received = self.source.receive(space, &mut self.ahead)?;
            count = received.min(space.len());
            if count == 0 {
                return Err(cut_short());
            }
        }
        mask.apply(space.get_mut(..count).unwrap_or_default());
        *left -= u64::try_from(count).unwrap_or(0);
        Ok(count)
    }

    /// Receives more behind what is there; false at the end, or when something is to be
    /// delivered first.
    fn more(&mut self, filled: usize) -> io::Result<bool> {
        if filled > 0 {
            return Ok(false);
        }
        Ok(self.source.receive(&mut [], &mut self.ahead)? > 0)
    }

    /// The connection ended; a peer that just closes it, without a goodbye, is no error between
    /// two messages.
    fn end(&mut self, filled: usize) -> io::Result<()> {
        if filled > 0 {
            return Ok(());
        }
        let between = matches!(self.state, State::Header) && self.ahead.bytes().is_empty();
        match between && self.frames.is_between() {
            true => {
                self.state = State::Ended;
                Ok(())
            }
            false => Err(cut_short()),
        }
    }

    /// Reads the next header; false when more bytes are needed.
    fn header(&mut self) -> io::Result<bool> {
        let found = self.frames.header(self.ahead.bytes());
        let Some((frame, size)) = found.map_err(|error| self.broken(error))? else {
            return Ok(false);
        };
        self.ahead.skip(size);
        self.state = match frame.kind {
            Kind::Data => State::Data(frame.length, frame.mask),
            kind => {
                let length = usize::try_from(frame.length).unwrap_or(MAX_CONTROL);
                State::Control(kind, length, frame.mask)
            }
        };
        Ok(true)
    }

    /// Deals with a control frame; false when more bytes are needed.
    fn control(&mut self) -> io::Result<bool> {
        let State::Control(kind, length, mask) = &mut self.state else {
            return Ok(true);
        };
        let kind = *kind;
        let Some(payload) = self.ahead.bytes().get(..*length) else {
            return Ok(false);
        };
        let mut payload = payload.to_vec();
        mask.apply(&mut payload);
        self.ahead.skip(payload.len());
        self.state = State::Header;
        let shared = &self.source.shared;
        match kind {
            Kind::Ping => shared.queue_pong(&payload),
            Kind::Close => {
                let echo = websocket::close_echo(&payload);
                let echo = echo.map_err(|error| self.broken(error))?;
                self.source.shared.owe_close(echo);
                self.state = State::Ended;
            }
            _ => return Ok(true),
        }
        self.source.owing = true;
        Ok(true)
    }

    /// Tells the peer which rule it broke (RFC 6455 §7.1.7).
    fn broken(&mut self, error: FrameError) -> io::Error {
        let code = error.code().to_be_bytes().to_vec();
        self.source.shared.owe_close(code);
        self.source.owing = true;
        error.into()
    }
}

impl fmt::Debug for WsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WsReader")
            .field("socket", &self.source.shared.socket)
            .finish_non_exhaustive()
    }
}

impl Drop for WsReader {
    fn drop(&mut self) {
        self.source.shared.shutdown();
    }
}

fn cut_short() -> io::Error {
    let reason = "the connection ended inside a message";
    io::Error::new(io::ErrorKind::UnexpectedEof, reason)
}

impl Ahead {
    fn bytes(&self) -> &[u8] {
        self.buffer.get(self.filled.clone()).unwrap_or_default()
    }

    fn skip(&mut self, count: usize) {
        self.filled.start = (self.filled.start + count).min(self.filled.end);
    }

    /// Copies what there is and fits.
    fn take(&mut self, space: &mut [u8]) -> usize {
        let bytes = self.bytes();
        let count = bytes.len().min(space.len());
        if let (Some(to), Some(from)) = (space.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        self.skip(count);
        count
    }

    /// Where more may be put; what is there has moved to the front.
    fn space(&mut self) -> &mut [u8] {
        if self.filled.start > 0 {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        self.buffer.get_mut(self.filled.end..).unwrap_or_default()
    }

    fn filled(&mut self, count: usize) {
        self.filled.end = (self.filled.end + count).min(self.buffer.len());
    }
}

impl Source {
    /// Waits for bytes; puts them into `first`, and into `ahead` what is too many. Answers how
    /// many came, zero at the end.
    fn receive(&mut self, first: &mut [u8], ahead: &mut Ahead) -> io::Result<usize> {
        let shared = Arc::clone(&self.shared);
        let room = first.len();
        let count = match &shared.tls {
            None => self.receive_raw(first, ahead.space())?,
            Some(tls) => self.receive_records(tls, first, ahead.space())?,
        };
        ahead.filled(count.saturating_sub(room));
        Ok(count)
    }

    fn receive_records(
        &mut self,
        tls: &Mutex<Connection>,
        first: &mut [u8],
        second: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            let (count, ended) = self.decrypt(&mut tls.lock(), first, second)?;
            if count > 0 || ended {
                return Ok(count);
            }
            // Not under the lock: the writing half goes on while this one waits.
            let mut records = std::mem::take(&mut self.records);
            let received = self.receive_raw(&mut records, &mut []);
            self.records = records;
            self.pending = 0..received?;
            if self.pending.is_empty() {
                return Ok(0);
            }
        }
    }

    /// Decrypts until both buffers are full or nothing is left; also whether TLS has ended.
    fn decrypt(
        &mut self,
        tls: &mut Connection,
        first: &mut [u8],
        second: &mut [u8],
    ) -> io::Result<(usize, bool)> {
        let (room, mut count) = (first.len(), 0);
        let decrypted = loop {
            let space = match count < room {
                true => first.get_mut(count..),
                false => second.get_mut(count - room..),
            };
            match space.map(|space| tls.reader().read(space)) {
                // No space is left, or TLS has ended: it is only asked for more than nothing.
                Some(Ok(0)) | None => break Ok((count, count < room + second.len())),
                Some(Ok(more)) => {
                    count += more;
                    continue;
                }
                Some(Err(error)) if socket::would_block(&error) => {}
                Some(Err(error)) => break Err(error),
            }
            if self.pending.is_empty() {
                break Ok((count, false));
            }
            if let Err(error) = self.process(tls) {
                break Err(error);
            }
        };
        if tls.wants_write() {
            self.shared.owe_tls();
            self.owing = true;
        }
        decrypted
    }

    fn process(&mut self, tls: &mut Connection) -> io::Result<()> {
        let mut records = self.records.get(self.pending.clone()).unwrap_or_default();
        self.pending.start += tls.read_tls(&mut records)?;
        match tls.process_new_packets() {
            Ok(_) => Ok(()),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    /// Waits for bytes from the socket, and meanwhile for room for what is owed.
    fn receive_raw(&mut self, first: &mut [u8], second: &mut [u8]) -> io::Result<usize> {
        let received = loop {
            self.settle();
            let received = match self.owing {
                false => (&self.shared.socket)
                    .read_vectored(&mut [IoSliceMut::new(first), IoSliceMut::new(second)]),
                true => {
                    let space = if first.is_empty() {
                        &mut *second
                    } else {
                        &mut *first
                    };
                    socket::receive_now(&self.shared.socket, space)
                }
            };
            match received {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.owing && socket::would_block(&error) => {
                    socket::wait_for_input(&self.shared.socket, true)?;
                }
                done => break done,
            }
        };
        match received {
            Ok(0) if self.shared.is_down() => {
                Err(self.shared.explained(io::ErrorKind::UnexpectedEof.into()))
            }
            Ok(count) => Ok(count),
            Err(error) => Err(self.shared.explained(error)),
        }
    }

    /// Sends what is owed, as far as that goes at once.
    fn settle(&mut self) {
        if self.owing {
            self.owing = self.shared.settle();
        }
    }
}
