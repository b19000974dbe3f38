//! The stream of handshakes, and the server's handshake over it: TCP, then TLS on top. Every wait ends at one deadline,
//! or at once when it is cancelled.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustls::Connection;
use tungstenite::protocol::Role;

use super::error::{AcceptError, ConnectStage};
use super::reader::WsReader;
use super::shared_socket::WsWriter;
use super::socket::{Cancel, WRITE_STALL, WaitError, Wake};
use super::tls::ServerTls;
use super::upgrade::{UpgradeReply, UpgradeRequest};
use super::{frames, socket, upgrade};
use crate::http::Limits;
use crate::http::h1::Refusal;
use crate::http::h1::head::{Head, HeadScan};

/// Bytes of TLS records taken at once. Default 4 KiB: what rustls takes at once.
const CHUNK: usize = 4096;
/// Time for the proxy's answer, TLS and the upgrade together. Default 15 s.
pub const HANDSHAKE_TIMEOUT: Duration = crate::limits::HANDSHAKE_TIMEOUT;
/// Bytes of a head, request or answer. Default 16 KiB: a tunnel's are below 1 KiB.
pub const MAX_HEAD: usize = 16 * 1024;

/// Time in which a client that got an answer instead of a WebSocket may still send. Default 500 ms.
const LINGER: Duration = Duration::from_millis(500);

/// Reason that a handshake failed.
#[derive(Debug)]
pub(super) enum HandshakeError {
    Wait(WaitError),
    Tls(rustls::Error),
    /// The peer ended the connection too early.
    Ended,
    /// Not an HTTP head.
    Head(Refusal),
}

impl<H: Into<WaitError>> From<H> for HandshakeError {
    fn from(error: H) -> Self {
        Self::Wait(error.into())
    }
}

/// A connection on its way to a WebSocket.
pub(super) struct HandshakeStream<'a> {
    socket: TcpStream,
    wake: &'a Wake,
    deadline: Instant,
    tls: Option<Connection>,
    /// Bytes that were received and decrypted, and not used yet.
    input: Vec<u8>,
}

impl<'a> HandshakeStream<'a> {
    pub(super) fn new(socket: TcpStream, wake: &'a Wake, deadline: Instant) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket::tune(&socket);
        Ok(Self {
            socket,
            wake,
            deadline,
            tls: None,
            input: Vec::new(),
        })
    }

    /// Makes the TLS handshake; from now on everything goes through TLS.
    pub(super) fn secure(&mut self, mut tls: Connection) -> Result<(), HandshakeError> {
        if !self.input.is_empty() {
            return Err(HandshakeError::Ended);
        }
        while tls.is_handshaking() {
            self.flush(&mut tls)?;
            if tls.is_handshaking() && self.records(&mut tls)? == 0 {
                return Err(HandshakeError::Ended);
            }
        }
        self.flush(&mut tls)?;
        self.tls = Some(tls);
        Ok(())
    }

    /// Sends all of `bytes`.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), HandshakeError> {
        let Some(mut tls) = self.tls.take() else {
            return self.send_raw(bytes);
        };
        // A head is far below what rustls holds back for one write.
        let sent = io::Write::write_all(&mut tls.writer(), bytes)
            .map_err(HandshakeError::from)
            .and_then(|()| self.flush(&mut tls));
        self.tls = Some(tls);
        sent
    }

    /// Receives a complete head; what follows it stays for the WebSocket.
    pub(super) fn receive_head(&mut self) -> Result<Vec<u8>, HandshakeError> {
        let mut scan = HeadScan::default();
        loop {
            if let Some(range) = scan
                .scan(&self.input, MAX_HEAD)
                .map_err(HandshakeError::Head)?
            {
                let head = self.input.get(range.clone()).expect("found in it").to_vec();
                self.input.drain(..range.end);
                return Ok(head);
            }
            if self.more()? == 0 {
                return Err(HandshakeError::Ended);
            }
        }
    }

    /// Receives `count` bytes.
    pub(super) fn receive(&mut self, count: usize) -> Result<Vec<u8>, HandshakeError> {
        while self.input.len() < count {
            if self.more()? == 0 {
                return Err(HandshakeError::Ended);
            }
        }
        Ok(self.input.drain(..count).collect())
    }

    /// Waits for a line of the server's messages that begins with `start`; all of it stays for the WebSocket.
    pub(super) fn await_line(&mut self, start: &[u8]) -> Result<(), HandshakeError> {
        loop {
            let data = frames::data(&self.input)?;
            if data
                .split(|byte| *byte == b'\n')
                .any(|line| line.starts_with(start))
            {
                return Ok(());
            }
            if self.input.len() >= MAX_HEAD || self.more()? == 0 {
                return Err(HandshakeError::Ended);
            }
        }
    }

    /// True if bytes have come that were not asked for yet.
    pub(super) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// Ends the connection so that the peer sees what was sent last: a close with unread input
    /// would take it away again (RFC 9112 §9.6).
    pub(super) fn linger(mut self, time: Duration) {
        self.deadline = self.deadline.min(Instant::now() + time);
        if let Some(mut tls) = self.tls.take() {
            tls.send_close_notify();
            let _ = self.flush(&mut tls);
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        for _ in 0..MAX_HEAD {
            self.input.clear();
            if !matches!(self.receive_raw(), Ok(count) if count > 0) {
                return;
            }
        }
    }

    /// The WebSocket.
    pub(super) fn into_halves(self, role: Role) -> io::Result<(WsReader, WsWriter)> {
        socket::block(&self.socket, WRITE_STALL)?;
        let writer = WsWriter::new(self.socket, self.tls, role);
        Ok((WsReader::new(writer.clone(), self.input), writer))
    }

    /// Receives something; zero at the end.
    fn more(&mut self) -> Result<usize, HandshakeError> {
        let before = self.input.len();
        let Some(mut tls) = self.tls.take() else {
            return self.receive_raw();
        };
        // A TLS 1.3 server's tickets are records without data.
        let mut received = Ok(1);
        while self.input.len() == before && matches!(received, Ok(1..)) {
            received = self.records(&mut tls);
        }
        self.tls = Some(tls);
        received?;
        Ok(self.input.len() - before)
    }

    /// Receives TLS records and keeps the data in them; zero at the end.
    fn records(&mut self, tls: &mut Connection) -> Result<usize, HandshakeError> {
        let mut chunk = [0; CHUNK];
        let count = self.receive_into(&mut chunk)?;
        let mut records = chunk.get(..count).expect("received into it");
        while !records.is_empty() {
            tls.read_tls(&mut records)?;
            if let Err(error) = tls.process_new_packets() {
                // The alert that says why; the connection is lost either way.
                let _ = self.flush(tls);
                return Err(HandshakeError::Tls(error));
            }
            match io::Read::read_to_end(&mut tls.reader(), &mut self.input) {
                // The end of TLS: what follows is nothing (RFC 8446 §6.1).
                Ok(_) => return Ok(0),
                Err(error) if socket::would_block(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(count)
    }

    /// Sends what TLS has ready.
    fn flush(&mut self, tls: &mut Connection) -> Result<(), HandshakeError> {
        let mut records = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut records)?;
        }
        self.send_raw(&records)
    }

    fn receive_raw(&mut self) -> Result<usize, HandshakeError> {
        let mut chunk = [0; CHUNK];
        let count = self.receive_into(&mut chunk)?;
        self.input.extend(chunk.iter().take(count));
        Ok(count)
    }

    fn receive_into(&self, space: &mut [u8]) -> Result<usize, HandshakeError> {
        loop {
            // First, so that a peer that never pauses cannot outlast deadline and signal.
            self.wait(PollFlags::IN)?;
            match socket::receive_now(&self.socket, space) {
                Err(error) if socket::would_block(&error) => {}
                done => return Ok(done?),
            }
        }
    }

    fn send_raw(&self, mut bytes: &[u8]) -> Result<(), HandshakeError> {
        while !bytes.is_empty() {
            match socket::send_now(&self.socket, bytes) {
                Err(error) if socket::would_block(&error) => self.wait(PollFlags::OUT)?,
                done => bytes = bytes.get(done?..).expect("no more than there is"),
            }
        }
        Ok(())
    }

    fn wait(&self, events: PollFlags) -> Result<(), HandshakeError> {
        Ok(socket::wait(
            &self.socket,
            events,
            self.wake,
            self.deadline,
        )?)
    }
}

/// Options of a server for accepting connections.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AcceptOptions {
    /// Certificate and key for TLS. Default: none, which means no TLS.
    pub tls: Option<ServerTls>,
    /// TLS and upgrade together. Default [`HANDSHAKE_TIMEOUT`].
    pub timeout: Duration,
}

impl Default for AcceptOptions {
    fn default() -> Self {
        Self {
            tls: None,
            timeout: HANDSHAKE_TIMEOUT,
        }
    }
}

/// Result of a connection.
#[derive(Debug)]
pub enum Accepted {
    /// A WebSocket, in its two halves.
    WebSocket(WsReader, WsWriter),
    /// It was answered with this status (a health check, say) and is closed.
    Answered(u16),
}

/// Makes a WebSocket of a fresh connection, or answers another request on it. Blocks; `cancel` ends it at once.
pub fn accept(
    socket: TcpStream,
    options: &AcceptOptions,
    cancel: &Cancel,
) -> Result<Accepted, AcceptError> {
    let wake = Wake::new(cancel).map_err(AcceptError::Io)?;
    let deadline = Instant::now() + options.timeout;
    let mut stream = HandshakeStream::new(socket, &wake, deadline).map_err(AcceptError::Io)?;
    if let Some(tls) = &options.tls {
        let connection = tls
            .connection()
            .map_err(|error| AcceptError::Tls(error.to_string()))?;
        stream
            .secure(connection)
            .map_err(explained(ConnectStage::Tls))?;
    }
    match request(&mut stream) {
        Ok(head) => reply(stream, &head),
        Err(HandshakeError::Head(refusal)) => {
            let answer = upgrade::refusal(refusal.status);
            if stream.send(answer.as_bytes()).is_ok() {
                stream.linger(LINGER);
            }
            Err(explained(ConnectStage::Upgrade)(HandshakeError::Head(
                refusal,
            )))
        }
        Err(failure) => Err(explained(ConnectStage::Upgrade)(failure)),
    }
}

/// Makes a WebSocket of a connection whose request another listener has read. Blocks as [`accept`] does.
pub fn accept_request(
    socket: TcpStream,
    request: &UpgradeRequest,
    options: &AcceptOptions,
    cancel: &Cancel,
) -> Result<Accepted, AcceptError> {
    let wake = Wake::new(cancel).map_err(AcceptError::Io)?;
    let deadline = Instant::now() + options.timeout;
    let stream = HandshakeStream::new(socket, &wake, deadline).map_err(AcceptError::Io)?;
    upgrade(stream, &request.0)
}

fn request(stream: &mut HandshakeStream<'_>) -> Result<Head, HandshakeError> {
    let bytes = stream.receive_head()?;
    Head::parse(&bytes, Limits::default().headers).map_err(HandshakeError::Head)
}

fn reply(mut stream: HandshakeStream<'_>, head: &Head) -> Result<Accepted, AcceptError> {
    match upgrade::reply_to(head) {
        UpgradeReply::Upgrade(answer) => upgrade(stream, &answer),
        UpgradeReply::Answer(status, answer) => {
            stream
                .send(answer.as_bytes())
                .map_err(explained(ConnectStage::Upgrade))?;
            stream.linger(LINGER);
            Ok(Accepted::Answered(status))
        }
    }
}

fn upgrade(mut stream: HandshakeStream<'_>, answer: &str) -> Result<Accepted, AcceptError> {
    stream
        .send(answer.as_bytes())
        .map_err(explained(ConnectStage::Upgrade))?;
    let (reader, writer) = stream.into_halves(Role::Server).map_err(AcceptError::Io)?;
    Ok(Accepted::WebSocket(reader, writer))
}

fn explained(stage: ConnectStage) -> impl Fn(HandshakeError) -> AcceptError {
    move |failure| match failure {
        HandshakeError::Wait(WaitError::Cancelled) => AcceptError::Cancelled,
        HandshakeError::Wait(WaitError::TimedOut) => AcceptError::TimedOut(stage),
        HandshakeError::Wait(WaitError::Io(error)) => AcceptError::Io(error),
        HandshakeError::Tls(error) => AcceptError::Tls(error.to_string()),
        HandshakeError::Ended => AcceptError::Io(io::ErrorKind::UnexpectedEof.into()),
        HandshakeError::Head(refusal) => AcceptError::Malformed {
            status: refusal.status,
            reason: refusal.message.into_owned(),
        },
    }
}
