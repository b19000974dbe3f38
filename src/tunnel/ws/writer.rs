//! The writing half: one lock orders whole frames.

use crate::sync::Mutex;
use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustls::Connection;

use super::limits::{ENCRYPT, MAX_FRAME};
use super::socket;
use super::websocket::{self, Header, Keys, Kind, Mask, Role};

/// Sends on a WebSocket; clones send on the same. The connection ends with the last of the clones
/// and the [`WsReader`](super::WsReader), or with [`WsWriter::shutdown`].
#[derive(Clone)]
pub struct WsWriter(Arc<Shared>);

/// Bytes of the tunnel's stream that a WebSocket has carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// From the peer.
    pub received: u64,
    /// To the peer: taken by the socket, or kept by [`WsWriter::write_now`].
    pub sent: u64,
}

impl WsWriter {
    pub(super) fn new(socket: TcpStream, tls: Option<Connection>, role: Role) -> Self {
        Self(Arc::new(Shared {
            socket,
            role,
            tls: tls.map(Mutex::new),
            out: Mutex::new(Out::new()),
            owed: Mutex::new(PendingControl::default()),
            down: AtomicBool::new(false),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }))
    }

    /// Sends `payload` as one frame, after those of earlier calls. A client masks it in place,
    /// so what it holds afterwards is of no use.
    ///
    /// Waits while the socket is full, at most [`WRITE_STALL`](super::WRITE_STALL) without any
    /// progress. An error ends the WebSocket.
    pub fn write(&self, payload: &mut [u8]) -> io::Result<()> {
        self.0.write(payload)
    }

    /// The same without waiting: false when something is left, which goes before the next frame,
    /// or with [`WsWriter::flush`]. What is left is kept in memory: to be used for short frames,
    /// and not again before all has gone.
    pub fn write_now(&self, payload: &mut [u8]) -> io::Result<bool> {
        self.0.write_now(payload)
    }

    /// Whether [`WsWriter::write_now`] has left nothing.
    pub fn is_clear(&self) -> bool {
        self.0.out.lock().queue.is_empty()
    }

    /// Sends what [`WsWriter::write_now`] left. Waits as [`WsWriter::write`] does.
    pub fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    /// Says goodbye, as far as that goes without waiting, and ends the sending. The reading half
    /// goes on to the peer's end; call [`WsWriter::shutdown`] when it has taken long enough.
    pub fn close(&self) {
        self.0.close();
    }

    /// Ends the connection in both directions at once: whoever reads or writes is woken.
    pub fn shutdown(&self) {
        self.0.shutdown();
    }

    /// What the WebSocket has carried.
    pub fn counters(&self) -> Counters {
        Counters {
            received: self.0.received.load(Ordering::Relaxed),
            sent: self.0.sent.load(Ordering::Relaxed),
        }
    }

    /// The other end's address: a proxy's, where one is used.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.peer_addr()
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl std::fmt::Debug for WsWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WsWriter")
            .field("socket", &self.0.socket)
            .field("counters", &self.counters())
            .finish()
    }
}

/// What both halves use.
pub(super) struct Shared {
    pub(super) socket: TcpStream,
    pub(super) role: Role,
    /// Only ever locked for arithmetic, never while the socket is waited for.
    pub(super) tls: Option<Mutex<Connection>>,
    /// The order of what is sent. Locked before `tls` and `owed` where both are.
    out: Mutex<Out>,
    /// What the reading half wants sent: see [`Shared::settle`].
    owed: Mutex<PendingControl>,
    down: AtomicBool,
    received: AtomicU64,
    sent: AtomicU64,
}

/// The sending direction.
struct Out {
    /// Bytes that come before anything else: what the socket had no room for at once.
    queue: VecDeque<u8>,
    keys: Keys,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The close frame has been sent: no more frames (RFC 6455 §5.5.1).
    Closing,
    /// A frame was left in the middle.
    Failed,
}

/// Control frames to be sent. It does not grow: of many pings the last is answered (RFC 6455
/// §5.5.3).
#[derive(Default)]
struct PendingControl {
    pong: Option<Vec<u8>>,
    close: Option<Vec<u8>>,
    /// TLS has messages of its own.
    tls: bool,
}

impl PendingControl {
    fn is_empty(&self) -> bool {
        self.pong.is_none() && self.close.is_none() && !self.tls
    }
}

impl Out {
    fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            keys: Keys::new(),
            state: State::Open,
        }
    }

    fn usable(&self) -> io::Result<()> {
        let reason = match self.state {
            State::Open => return Ok(()),
            State::Closing => "the link is closing",
            State::Failed => "the link has failed",
        };
        Err(io::Error::new(io::ErrorKind::BrokenPipe, reason))
    }
}

// Writing, with waiting.
impl Shared {
    fn write(&self, payload: &mut [u8]) -> io::Result<()> {
        if u64::try_from(payload.len()).is_ok_and(|length| length > MAX_FRAME) {
            let reason = "a frame over 64 MiB cannot be sent";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        if payload.is_empty() {
            return Ok(());
        }
        let mut out = self.out.lock();
        out.usable()?;
        let done = self.clear(&mut out);
        self.note(&mut out, done)?;
        // A goodbye may have been among what came first.
        out.usable()?;
        let done = self.frame(&mut out, payload);
        self.note(&mut out, done)?;
        drop(out);
        self.flush_control()
    }

    fn flush(&self) -> io::Result<()> {
        let mut out = self.out.lock();
        if out.queue.is_empty() {
            return Ok(());
        }
        let done = self.clear(&mut out);
        self.note(&mut out, done)?;
        drop(out);
        self.flush_control()
    }

    /// Sends what the reading half left while this thread held the lock.
    fn flush_control(&self) -> io::Result<()> {
        while !self.owed.lock().is_empty() {
            let Some(mut out) = self.out.try_lock() else {
                return Ok(());
            };
            let done = self.clear(&mut out);
            self.note(&mut out, done)?;
        }
        Ok(())
    }

    /// After an error nobody may send, and nobody should wait.
    fn note(&self, out: &mut Out, done: io::Result<()>) -> io::Result<()> {
        if done.is_err() {
            out.state = State::Failed;
            self.shutdown();
        }
        done
    }

    fn frame(&self, out: &mut Out, payload: &mut [u8]) -> io::Result<()> {
        let header = self.header(out, Kind::Data, payload)?;
        match &self.tls {
            None => self.send(header.bytes(), payload)?,
            Some(tls) => self.encrypt(tls, header.bytes(), payload)?,
        }
        count(&self.sent, payload.len());
        Ok(())
    }

    /// What goes before `payload`, which a client masks with a fresh key (RFC 6455 §5.3).
    fn header(&self, out: &mut Out, kind: Kind, payload: &mut [u8]) -> io::Result<Header> {
        let key = match self.role {
            Role::Client => Some(out.keys.next()?),
            Role::Server => None,
        };
        Mask::new(key.unwrap_or_default()).apply(payload);
        Ok(websocket::header(kind, payload.len(), key))
    }

    /// Sends all that comes before a new frame.
    fn clear(&self, out: &mut Out) -> io::Result<()> {
        self.fill_batch(out)?;
        let (front, back) = out.queue.as_slices();
        self.send(front, back)?;
        out.queue.clear();
        Ok(())
    }

    /// Sends both, in as few calls as the socket allows.
    fn send(&self, mut first: &[u8], mut second: &[u8]) -> io::Result<()> {
        while !first.is_empty() || !second.is_empty() {
            let parts = [IoSlice::new(first), IoSlice::new(second)];
            let sent = match (&self.socket).write_vectored(&parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if socket::would_block(&error) => return Err(self.stalled()),
                Err(error) => return Err(self.explained(error)),
            };
            let of_first = sent.min(first.len());
            first = first.get(of_first..).unwrap_or_default();
            second = second.get(sent - of_first..).unwrap_or_default();
        }
        Ok(())
    }

    fn stalled(&self) -> io::Error {
        let reason = "the peer has taken nothing for 30 s";
        io::Error::new(io::ErrorKind::TimedOut, reason)
    }

    /// What a broken connection means, depending on who broke it.
    pub(super) fn explained(&self, error: io::Error) -> io::Error {
        match self.is_down() {
            true => io::Error::new(io::ErrorKind::ConnectionAborted, "the link was shut down"),
            false => error,
        }
    }

    /// Encrypts and sends by turns, so that the reading half gets at the state in between.
    fn encrypt(
        &self,
        tls: &Mutex<Connection>,
        mut first: &[u8],
        mut second: &[u8],
    ) -> io::Result<()> {
        let mut records = Vec::new();
        while !first.is_empty() || !second.is_empty() {
            let now = second.get(..ENCRYPT).unwrap_or(second);
            let parts = [IoSlice::new(first), IoSlice::new(now)];
            let taken = {
                let mut tls = tls.lock();
                let taken = tls.writer().write_vectored(&parts)?;
                take_records(&mut tls, &mut records)?;
                taken
            };
            let of_first = taken.min(first.len());
            first = first.get(of_first..).unwrap_or_default();
            second = second.get(taken - of_first..).unwrap_or_default();
            self.send(&records, &[])?;
            records.clear();
        }
        Ok(())
    }
}

// Sending without waiting.
impl Shared {
    /// Leaves a pong to be sent; of several only the last is.
    pub(super) fn queue_pong(&self, payload: &[u8]) {
        self.owed.lock().pong = Some(payload.to_vec());
    }

    /// Leaves a close frame to be sent.
    pub(super) fn owe_close(&self, payload: Vec<u8>) {
        self.owed.lock().close.get_or_insert(payload);
    }

    /// Leaves TLS's own messages to be sent.
    pub(super) fn owe_tls(&self) {
        self.owed.lock().tls = true;
    }

    /// Sends what is owed, as far as that goes without waiting; true when the socket is full and
    /// something is left.
    ///
    /// When a writer holds the lock, nothing is done here: that writer looks at what is owed
    /// after it has unlocked. It cannot miss what was owed before the attempt to lock: either it
    /// locks `owed` after this half did, and finds it; or it did before, and had unlocked `out`
    /// by then, so that the attempt succeeds.
    pub(super) fn settle(&self) -> bool {
        while let Some(mut out) = self.out.try_lock() {
            match self.offer(&mut out) {
                Ok(false) => return true,
                Ok(true) => {}
                // The reading half goes on: it may still receive what came before.
                Err(_) => {
                    out.state = State::Failed;
                    return false;
                }
            }
            drop(out);
            if self.owed.lock().is_empty() {
                return false;
            }
        }
        false
    }

    /// Whoever finds the lock taken meanwhile is served as by [`Shared::settle`].
    fn write_now(&self, payload: &mut [u8]) -> io::Result<bool> {
        let mut out = self.out.lock();
        out.usable()?;
        let sent = self.queue_data(&mut out, payload);
        let sent = sent.and_then(|()| self.offer(&mut out));
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => return self.note(&mut out, Err(error)).map(|()| false),
        };
        drop(out);
        let is_full = self.settle();
        Ok(sent && !is_full)
    }

    fn queue_data(&self, out: &mut Out, payload: &mut [u8]) -> io::Result<()> {
        self.fill_batch(out)?;
        // A goodbye may have been among what came first.
        out.usable()?;
        let header = self.header(out, Kind::Data, payload)?;
        self.queue(out, header.bytes())?;
        self.queue(out, payload)?;
        count(&self.sent, payload.len());
        Ok(())
    }

    fn queue(&self, out: &mut Out, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &self.tls else {
            out.queue.extend(bytes);
            return Ok(());
        };
        let mut tls = tls.lock();
        for part in bytes.chunks(ENCRYPT) {
            tls.writer().write_all(part)?;
            take_records(&mut tls, &mut out.queue)?;
        }
        Ok(())
    }

    fn close(&self) {
        self.owe_close(1000u16.to_be_bytes().to_vec());
        let Some(mut out) = self.out.try_lock() else {
            return self.shutdown();
        };
        let mut sent = self.offer(&mut out);
        if let Some(tls) = &self.tls
            && matches!(sent, Ok(true))
        {
            tls.lock().send_close_notify();
            self.owe_tls();
            sent = self.offer(&mut out);
        }
        match sent {
            Ok(true) => drop(self.socket.shutdown(Shutdown::Write)),
            _ => self.shutdown(),
        }
        if out.state == State::Open {
            out.state = State::Closing;
        }
    }

    /// Whether everything was sent.
    fn offer(&self, out: &mut Out) -> io::Result<bool> {
        if out.state == State::Failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.fill_batch(out)?;
        while !out.queue.is_empty() {
            let (front, _) = out.queue.as_slices();
            match socket::send_now(&self.socket, front) {
                Ok(sent) => drop(out.queue.drain(..sent)),
                Err(error) if socket::would_block(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Puts what is owed behind what waits, once nothing waits: so the queue stays short.
    fn fill_batch(&self, out: &mut Out) -> io::Result<()> {
        if !out.queue.is_empty() {
            return Ok(());
        }
        let owed = std::mem::take(&mut *self.owed.lock());
        if let Some(payload) = owed.pong {
            self.control(out, Kind::Pong, payload)?;
        }
        if let Some(payload) = owed.close {
            self.control(out, Kind::Close, payload)?;
        }
        match &self.tls {
            Some(tls) if owed.tls => take_records(&mut tls.lock(), &mut out.queue),
            _ => Ok(()),
        }
    }

    fn control(&self, out: &mut Out, kind: Kind, mut payload: Vec<u8>) -> io::Result<()> {
        if out.state != State::Open {
            return Ok(());
        }
        let header = self.header(out, kind, &mut payload)?;
        let frame = [header.bytes(), &payload].concat();
        if kind == Kind::Close {
            out.state = State::Closing;
        }
        self.queue(out, &frame)
    }

    pub(super) fn shutdown(&self) {
        self.down.store(true, Ordering::Release);
        // It fails when the peer has ended the connection before.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::Acquire)
    }

    pub(super) fn count_received(&self, bytes: usize) {
        count(&self.received, bytes);
    }
}

/// Takes what TLS has ready to be sent. It is to be done in the order of sending, so under the
/// lock of [`Out`].
fn take_records(tls: &mut Connection, to: &mut impl Write) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(to)?;
    }
    Ok(())
}

fn count(counter: &AtomicU64, bytes: usize) {
    counter.fetch_add(u64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
