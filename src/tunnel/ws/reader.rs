//! The reading half: frames in, the bytes of their payloads out.
//!
//! By hand: tungstenite hands out a frame when it is whole, in memory of its own. Here the bytes of a
//! payload go straight from the socket to where the caller wants them, as they come.

use std::fmt;
use std::io::{self, IoSliceMut, Read};
use std::ops::Range;
use std::sync::Arc;

use rustls::Connection;
use tungstenite::protocol::frame::coding::{Control, OpCode};

use super::error::FrameError;
use super::frames::{self, FrameParser, Mask};
use super::shared_socket::{SharedSocket, WsWriter};
use super::socket;
use crate::sync::Mutex;

/// Bytes read beyond the caller's buffer: the next frame's header and what follows it.
/// Default 16 KiB, and not less than [`MAX_HEAD`](super::MAX_HEAD): many small frames come with one call.
const AHEAD: usize = 16 * 1024;
/// Bytes of TLS records read with one call. Default 64 KiB: four of the largest records.
const RECORDS: usize = 64 * 1024;

/// Receives from a WebSocket; it belongs to one thread. Dropping it shuts the WebSocket down, since
/// nobody could answer the peer any more.
pub struct WsReader {
    source: Source,
    ahead: ReadAhead,
    frames: FrameParser,
    state: ReadState,
    /// Comes with the next call: there were bytes to deliver before it.
    error: Option<io::Error>,
}

/// Place of the next byte.
enum ReadState {
    Header,
    /// Payload of a data frame: bytes that are to come.
    Data(u64, Mask),
    /// A control frame, with the length of its payload.
    Control(Control, usize, Mask),
    /// The peer has sent a close frame, or broken a rule.
    Ended,
}

/// Bytes that were received and are not used yet.
struct ReadAhead {
    buffer: Box<[u8]>,
    filled: Range<usize>,
}

/// The stream below the frames.
struct Source {
    shared: Arc<SharedSocket>,
    /// A control frame is pending and the socket was full, or it was not tried yet.
    has_pending: bool,
    /// With TLS: received ciphertext, and the part of it that is not decrypted yet.
    records: Box<[u8]>,
    pending: Range<usize>,
}

impl WsReader {
    pub(super) fn new(writer: WsWriter, early: Vec<u8>) -> Self {
        let shared = Arc::clone(writer.shared());
        let filled = 0..early.len();
        let mut buffer = early;
        buffer.resize(AHEAD.max(filled.end), 0);
        let records = if shared.tls.is_some() { RECORDS } else { 0 };
        Self {
            frames: FrameParser::new(shared.role),
            source: Source {
                shared,
                has_pending: false,
                records: vec![0; records].into(),
                pending: 0..0,
            },
            ahead: ReadAhead {
                buffer: buffer.into(),
                filled,
            },
            state: ReadState::Header,
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
            self.state = ReadState::Ended;
            if filled == 0 {
                self.source.flush_control();
                return Err(error);
            }
            self.error = Some(error);
        }
        self.source.flush_control();
        self.source.shared.count_received(filled);
        Ok(filled)
    }
}

impl WsReader {
    /// Goes on until there is something to deliver and more could not be had without waiting.
    fn fill(&mut self, buffer: &mut [u8], filled: &mut usize) -> io::Result<()> {
        loop {
            let complete = match self.state {
                ReadState::Ended => return Ok(()),
                ReadState::Data(0, _) => {
                    self.state = ReadState::Header;
                    true
                }
                ReadState::Data(..) => {
                    let space = buffer.get_mut(*filled..).expect("filled so far");
                    match self.data(space, *filled == 0)? {
                        0 => return Ok(()),
                        count => *filled += count,
                    }
                    true
                }
                ReadState::Header => self.header()?,
                ReadState::Control(..) => self.control()?,
            };
            if !complete && !self.more(*filled)? {
                return self.end(*filled);
            }
        }
    }

    /// Takes bytes of the payload; none when there is no space, or no byte and it may not wait.
    fn data(&mut self, space: &mut [u8], may_wait: bool) -> io::Result<usize> {
        let ReadState::Data(left, mask) = &mut self.state else {
            return Ok(0);
        };
        let most = usize::try_from(*left).unwrap_or(usize::MAX);
        let most = most.min(space.len());
        let space = space.get_mut(..most).expect("no longer than it is");
        let mut count = self.ahead.take(space);
        if count == 0 && may_wait && !space.is_empty() {
            let received = self.source.receive(space, &mut self.ahead)?;
            count = received.min(space.len());
            if count == 0 {
                return Err(cut_short());
            }
        }
        mask.apply(space.get_mut(..count).expect("what came fits"));
        *left -= u64::try_from(count).expect("a length has at most 64 bits");
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

    /// The connection ended; a peer that just closes it, without a close frame, is no error between
    /// two messages.
    fn end(&mut self, filled: usize) -> io::Result<()> {
        if filled > 0 {
            return Ok(());
        }
        let between = matches!(self.state, ReadState::Header) && self.ahead.bytes().is_empty();
        if !between || !self.frames.is_between() {
            return Err(cut_short());
        }
        self.state = ReadState::Ended;
        Ok(())
    }

    /// Reads the next header; false when more bytes are needed.
    fn header(&mut self) -> io::Result<bool> {
        let found = self.frames.header(self.ahead.bytes());
        let Some((frame, size)) = found.map_err(|error| self.broken(error))? else {
            return Ok(false);
        };
        self.ahead.skip(size);
        self.state = match frame.opcode {
            OpCode::Data(_) => ReadState::Data(frame.length, frame.mask),
            OpCode::Control(control) => {
                let length = usize::try_from(frame.length).expect("a control frame is short");
                ReadState::Control(control, length, frame.mask)
            }
        };
        Ok(true)
    }

    /// Deals with a control frame; false when more bytes are needed.
    fn control(&mut self) -> io::Result<bool> {
        let ReadState::Control(control, length, mask) = &mut self.state else {
            return Ok(true);
        };
        let control = *control;
        let Some(payload) = self.ahead.bytes().get(..*length) else {
            return Ok(false);
        };
        let mut payload = payload.to_vec();
        mask.apply(&mut payload);
        self.ahead.skip(payload.len());
        self.state = ReadState::Header;
        let shared = &self.source.shared;
        match control {
            Control::Ping => shared.queue_pong(&payload),
            Control::Close => {
                let echo = frames::close_echo(&payload);
                let echo = echo.map_err(|error| self.broken(error))?;
                self.source.shared.queue_close(echo);
                self.state = ReadState::Ended;
            }
            _ => return Ok(true),
        }
        self.source.has_pending = true;
        Ok(true)
    }

    /// Tells the peer which rule it broke (RFC 6455 §7.1.7).
    fn broken(&mut self, error: FrameError) -> io::Error {
        let code = u16::from(error.code());
        self.source.shared.queue_close(code.to_be_bytes().to_vec());
        self.source.has_pending = true;
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

impl ReadAhead {
    fn bytes(&self) -> &[u8] {
        self.buffer.get(self.filled.clone()).expect("filled so far")
    }

    fn skip(&mut self, count: usize) {
        self.filled.start = (self.filled.start + count).min(self.filled.end);
    }

    /// Copies what there is and fits.
    fn take(&mut self, space: &mut [u8]) -> usize {
        let mut bytes = self.bytes();
        let count = bytes.read(space).expect("a slice is read");
        self.skip(count);
        count
    }

    /// Space for more bytes; moves the present ones to the front.
    fn space(&mut self) -> &mut [u8] {
        if self.filled.start > 0 {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        self.buffer
            .get_mut(self.filled.end..)
            .expect("filled so far")
    }

    fn mark_filled(&mut self, count: usize) {
        self.filled.end = (self.filled.end + count).min(self.buffer.len());
    }
}

impl Source {
    /// Waits for bytes; puts them into `first`, and into `ahead` what is too many. Answers how
    /// many came, zero at the end.
    fn receive(&mut self, first: &mut [u8], ahead: &mut ReadAhead) -> io::Result<usize> {
        let shared = Arc::clone(&self.shared);
        let room = first.len();
        let count = match &shared.tls {
            None => self.receive_raw(first, ahead.space())?,
            Some(tls) => self.receive_records(tls, first, ahead.space())?,
        };
        ahead.mark_filled(count.saturating_sub(room));
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

    /// Decrypts until both buffers are full or nothing is left; returns the number of bytes, and true if TLS has ended.
    fn decrypt(
        &mut self,
        tls: &mut Connection,
        first: &mut [u8],
        second: &mut [u8],
    ) -> io::Result<(usize, bool)> {
        let (room, mut count) = (first.len(), 0);
        let decrypted = loop {
            let space = if count < room {
                first.get_mut(count..)
            } else {
                second.get_mut(count - room..)
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
            self.shared.queue_tls();
            self.has_pending = true;
        }
        decrypted
    }

    fn process(&mut self, tls: &mut Connection) -> io::Result<()> {
        let mut records = self
            .records
            .get(self.pending.clone())
            .expect("received so far");
        self.pending.start += tls.read_tls(&mut records)?;
        let processed = tls.process_new_packets();
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(())
    }

    /// Waits for bytes from the socket, and meanwhile for room for what is pending.
    fn receive_raw(&mut self, first: &mut [u8], second: &mut [u8]) -> io::Result<usize> {
        let received = loop {
            self.flush_control();
            let received = if self.has_pending {
                let both = [&mut *first, &mut *second];
                let space = both.into_iter().find(|space| !space.is_empty());
                socket::receive_now(&self.shared.socket, space.expect("there is room for more"))
            } else {
                let mut both = [IoSliceMut::new(first), IoSliceMut::new(second)];
                (&self.shared.socket).read_vectored(&mut both)
            };
            match received {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.has_pending && socket::would_block(&error) => {
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

    /// Sends what is pending, as far as that goes at once.
    fn flush_control(&mut self) {
        if self.has_pending {
            self.has_pending = self.shared.try_flush_control();
        }
    }
}
