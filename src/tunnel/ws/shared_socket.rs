//! The writing half, and the socket under both halves with the order in which whole frames go into it.
//!
//! By hand: tungstenite writes through the object that reads, and waits where the socket is full. Here
//! a frame's header and payload go out in one call, from where they lie, and the reading half never
//! waits for what it has to send.

use std::collections::VecDeque;
use std::io;
use std::io::{IoSlice, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustls::Connection;
use tungstenite::protocol::Role;
use tungstenite::protocol::frame::coding::{CloseCode, Control, OpCode};

use super::frames::{BINARY, HeaderBytes, MAX_FRAME, Mask, MaskKeys};
use super::{frames, socket};
use crate::sync::Mutex;

/// Bytes encrypted and written with one call. Default 64 KiB, as above; it is also how long
/// the reading half may have to wait for the TLS state.
const ENCRYPT: usize = 64 * 1024;

/// Sends on a WebSocket; clones send on the same. The connection ends with the last of the clones
/// and the [`WsReader`](super::WsReader), or with [`WsWriter::shutdown`].
#[derive(Clone)]
pub struct WsWriter(Arc<SharedSocket>);

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
        Self(Arc::new(SharedSocket::new(socket, tls, role)))
    }

    /// Sends `payload` as one frame, after those of earlier calls. A client masks it in place,
    /// so what it holds afterwards is of no use.
    ///
    /// Waits while the socket is full, at most [`WRITE_STALL`](super::WRITE_STALL) without any
    /// progress. An error ends the WebSocket.
    pub fn write(&self, payload: &mut [u8]) -> io::Result<()> {
        self.0.write(payload)
    }

    /// Writes without waiting: false when something is left, which goes before the next frame,
    /// or with [`WsWriter::flush`]. What is left is kept in memory: to be used for short frames,
    /// and not again before all has gone.
    pub fn write_now(&self, payload: &mut [u8]) -> io::Result<bool> {
        self.0.write_now(payload)
    }

    /// True if [`WsWriter::write_now`] has left nothing.
    pub fn is_clear(&self) -> bool {
        self.0.is_clear()
    }

    /// Sends what [`WsWriter::write_now`] left. Waits as [`WsWriter::write`] does.
    pub fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    /// Sends a close frame, as far as that goes without waiting, and ends the sending. The reading
    /// half goes on to the peer's end; call [`WsWriter::shutdown`] when it has taken long enough.
    pub fn close(&self) {
        self.0.close();
    }

    /// Ends the connection in both directions at once, which wakes its readers and writers.
    pub fn shutdown(&self) {
        self.0.shutdown();
    }

    /// Returns the WebSocket's counters.
    pub fn counters(&self) -> Counters {
        let (received, sent) = self.0.counts();
        Counters { received, sent }
    }

    /// The other end's address: a proxy's, where one is used.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.socket.peer_addr()
    }

    pub(super) fn shared(&self) -> &Arc<SharedSocket> {
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

/// Socket that both halves use.
pub(super) struct SharedSocket {
    pub(super) socket: TcpStream,
    pub(super) role: Role,
    /// Only ever locked for arithmetic, never while the socket is waited for.
    pub(super) tls: Option<Mutex<Connection>>,
    /// The order of what is sent. Locked before `tls` and `pending` where both are.
    outgoing: Mutex<Outgoing>,
    /// Control frames that the reading half wants sent: see [`SharedSocket::try_flush_control`].
    pending: Mutex<PendingControl>,
    down: AtomicBool,
    received: AtomicU64,
    sent: AtomicU64,
}

/// The sending direction.
struct Outgoing {
    /// Bytes that come before anything else: what the socket had no room for at once.
    queue: VecDeque<u8>,
    mask_keys: MaskKeys,
    state: SendState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SendState {
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

impl Outgoing {
    fn check_open(&self) -> io::Result<()> {
        let reason = match self.state {
            SendState::Open => return Ok(()),
            SendState::Closing => "the link is closing",
            SendState::Failed => "the link has failed",
        };
        Err(io::Error::new(io::ErrorKind::BrokenPipe, reason))
    }
}

impl SharedSocket {
    pub(super) fn new(socket: TcpStream, tls: Option<Connection>, role: Role) -> Self {
        Self {
            socket,
            role,
            tls: tls.map(Mutex::new),
            outgoing: Mutex::new(Outgoing {
                queue: VecDeque::new(),
                mask_keys: MaskKeys::new(),
                state: SendState::Open,
            }),
            pending: Mutex::default(),
            down: AtomicBool::new(false),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }
    }

    pub(super) fn shutdown(&self) {
        self.down.store(true, Ordering::Release);
        // It fails when the peer has ended the connection before.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::Acquire)
    }

    /// Bytes of payload, received and sent.
    pub(super) fn counts(&self) -> (u64, u64) {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (of(&self.received), of(&self.sent))
    }

    pub(super) fn count_received(&self, bytes: usize) {
        count(&self.received, bytes);
    }

    pub(super) fn is_clear(&self) -> bool {
        self.outgoing.lock().queue.is_empty()
    }

    /// Explains a broken connection, depending on who broke it.
    pub(super) fn explained(&self, error: io::Error) -> io::Error {
        if self.is_down() {
            return io::Error::new(io::ErrorKind::ConnectionAborted, "the link was shut down");
        }
        error
    }
}

// Writing, with waiting.
impl SharedSocket {
    pub(super) fn write(&self, payload: &mut [u8]) -> io::Result<()> {
        if u64::try_from(payload.len()).is_ok_and(|length| length > MAX_FRAME) {
            let reason = "a frame over 64 MiB cannot be sent";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        if payload.is_empty() {
            return Ok(());
        }
        let mut out = self.outgoing.lock();
        out.check_open()?;
        self.or_fail(&mut out, |out| self.send_queue(out))?;
        // A close frame may have been among what came first.
        out.check_open()?;
        self.or_fail(&mut out, |out| self.send_frame(out, payload))?;
        drop(out);
        self.flush_control()
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        let mut out = self.outgoing.lock();
        if out.queue.is_empty() {
            return Ok(());
        }
        self.or_fail(&mut out, |out| self.send_queue(out))?;
        drop(out);
        self.flush_control()
    }

    /// Sends what the reading half left while this thread held the lock.
    fn flush_control(&self) -> io::Result<()> {
        while !self.pending.lock().is_empty() {
            let Some(mut out) = self.outgoing.try_lock() else {
                return Ok(());
            };
            self.or_fail(&mut out, |out| self.send_queue(out))?;
        }
        Ok(())
    }

    /// After an error nobody may send, and nobody should wait.
    fn or_fail<T>(
        &self,
        out: &mut Outgoing,
        step: impl FnOnce(&mut Outgoing) -> io::Result<T>,
    ) -> io::Result<T> {
        let done = step(out);
        if done.is_err() {
            out.state = SendState::Failed;
            self.shutdown();
        }
        done
    }

    fn send_frame(&self, out: &mut Outgoing, payload: &mut [u8]) -> io::Result<()> {
        let header = self.header(out, BINARY, payload)?;
        match &self.tls {
            None => self.send(header.bytes(), payload)?,
            Some(tls) => self.encrypt(tls, header.bytes(), payload)?,
        }
        count(&self.sent, payload.len());
        Ok(())
    }

    /// Writes the header for `payload`, which a client masks with a fresh key (RFC 6455 §5.3).
    fn header(
        &self,
        out: &mut Outgoing,
        opcode: OpCode,
        payload: &mut [u8],
    ) -> io::Result<HeaderBytes> {
        let key = match self.role {
            Role::Client => Some(out.mask_keys.next()?),
            Role::Server => None,
        };
        if let Some(key) = key {
            Mask::new(key).apply(payload);
        }
        Ok(frames::header(opcode, payload.len(), key))
    }

    /// Sends all that comes before a new frame.
    fn send_queue(&self, out: &mut Outgoing) -> io::Result<()> {
        self.fill_batch(out)?;
        let (front, back) = out.queue.as_slices();
        self.send(front, back)?;
        out.queue.clear();
        Ok(())
    }

    /// Sends both, in as few calls as the socket allows.
    fn send(&self, first: &[u8], second: &[u8]) -> io::Result<()> {
        let mut parts = [IoSlice::new(first), IoSlice::new(second)];
        let mut parts = parts.as_mut_slice();
        // Takes out those that are empty.
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            match (&self.socket).write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => IoSlice::advance_slices(&mut parts, sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if socket::would_block(&error) => {
                    let reason = "the peer has read nothing for 30 s";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
                Err(error) => return Err(self.explained(error)),
            }
        }
        Ok(())
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
            first = first.get(of_first..).expect("a part of it");
            second = second.get(taken - of_first..).expect("a part of it");
            self.send(&records, &[])?;
            records.clear();
        }
        Ok(())
    }
}

// Sending without waiting.
impl SharedSocket {
    /// Leaves a pong to be sent; of several only the last is.
    pub(super) fn queue_pong(&self, payload: &[u8]) {
        self.pending.lock().pong = Some(payload.to_vec());
    }

    /// Leaves a close frame to be sent; of several only the first is.
    pub(super) fn queue_close(&self, payload: Vec<u8>) {
        self.pending.lock().close.get_or_insert(payload);
    }

    /// Leaves TLS's own messages to be sent.
    pub(super) fn queue_tls(&self) {
        self.pending.lock().tls = true;
    }

    /// Sends what is pending, as far as that goes without waiting; true when the socket is full and
    /// something is left.
    ///
    /// Does nothing while a writer holds the lock: that writer looks at what is pending
    /// after it has unlocked. It cannot miss what was left before the attempt to lock: either it
    /// locks `pending` after this half did, and finds it; or it did before, and had unlocked
    /// `outgoing` by then, so that the attempt succeeds.
    pub(super) fn try_flush_control(&self) -> bool {
        while let Some(mut out) = self.outgoing.try_lock() {
            match self.try_send_queue(&mut out) {
                Ok(false) => return true,
                Ok(true) => {}
                // The reading half goes on: it may still receive what came before.
                Err(_) => {
                    out.state = SendState::Failed;
                    return false;
                }
            }
            drop(out);
            if self.pending.lock().is_empty() {
                return false;
            }
        }
        false
    }

    /// Sends one frame without waiting, then control frames as [`SharedSocket::try_flush_control`] does. False when
    /// something is left.
    pub(super) fn write_now(&self, payload: &mut [u8]) -> io::Result<bool> {
        let mut out = self.outgoing.lock();
        out.check_open()?;
        let sent = self.or_fail(&mut out, |out| {
            self.queue_frame(out, payload)?;
            self.try_send_queue(out)
        })?;
        drop(out);
        let is_full = self.try_flush_control();
        Ok(sent && !is_full)
    }

    fn queue_frame(&self, out: &mut Outgoing, payload: &mut [u8]) -> io::Result<()> {
        self.fill_batch(out)?;
        // A close frame may have been among what came first.
        out.check_open()?;
        let header = self.header(out, BINARY, payload)?;
        self.queue(out, header.bytes())?;
        self.queue(out, payload)?;
        count(&self.sent, payload.len());
        Ok(())
    }

    fn queue(&self, out: &mut Outgoing, bytes: &[u8]) -> io::Result<()> {
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

    pub(super) fn close(&self) {
        self.queue_close(u16::from(CloseCode::Normal).to_be_bytes().to_vec());
        let Some(mut out) = self.outgoing.try_lock() else {
            return self.shutdown();
        };
        let mut sent = self.try_send_queue(&mut out);
        if let Some(tls) = &self.tls
            && matches!(sent, Ok(true))
        {
            tls.lock().send_close_notify();
            self.queue_tls();
            sent = self.try_send_queue(&mut out);
        }
        match sent {
            Ok(true) => drop(self.socket.shutdown(Shutdown::Write)),
            _ => self.shutdown(),
        }
        if out.state == SendState::Open {
            out.state = SendState::Closing;
        }
    }

    /// True if everything was sent.
    fn try_send_queue(&self, out: &mut Outgoing) -> io::Result<bool> {
        if out.state == SendState::Failed {
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

    /// Puts what is pending behind what waits, once nothing waits: so the queue stays short.
    fn fill_batch(&self, out: &mut Outgoing) -> io::Result<()> {
        if !out.queue.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut *self.pending.lock());
        if let Some(payload) = pending.pong {
            self.queue_control(out, Control::Pong, payload)?;
        }
        if let Some(payload) = pending.close {
            self.queue_control(out, Control::Close, payload)?;
        }
        match &self.tls {
            Some(tls) if pending.tls => take_records(&mut tls.lock(), &mut out.queue),
            _ => Ok(()),
        }
    }

    fn queue_control(
        &self,
        out: &mut Outgoing,
        control: Control,
        mut payload: Vec<u8>,
    ) -> io::Result<()> {
        if out.state != SendState::Open {
            return Ok(());
        }
        let header = self.header(out, OpCode::Control(control), &mut payload)?;
        let frame = [header.bytes(), &payload].concat();
        if control == Control::Close {
            out.state = SendState::Closing;
        }
        self.queue(out, &frame)
    }
}

/// Takes what TLS has ready to be sent. It is to be done in the order of sending, so under the
/// lock of [`Outgoing`].
fn take_records(tls: &mut Connection, to: &mut impl Write) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(to)?;
    }
    Ok(())
}

fn count(counter: &AtomicU64, bytes: usize) {
    let bytes = u64::try_from(bytes).expect("a length has at most 64 bits");
    counter.fetch_add(bytes, Ordering::Relaxed);
}

#[cfg(test)]
#[path = "shared_socket_tests.rs"]
mod tests;
