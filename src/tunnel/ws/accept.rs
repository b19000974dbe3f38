//! The server's way to a WebSocket.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tungstenite::protocol::Role;

use super::cancel::{Cancel, Wake};
use super::error::{AcceptError, ConnectStage};
use super::handshake::{HandshakeError, HandshakeStream};
use super::limits::HANDSHAKE_TIMEOUT;
use super::reader::WsReader;
use super::socket::WaitError;
use super::tls::ServerTls;
use super::upgrade::{self, UpgradeReply, UpgradeRequest};
use super::writer::WsWriter;
use crate::http::Limits;
use crate::http::h1::head::Head;

/// Time in which a client that got an answer instead of a WebSocket may still send. Default 500 ms.
const LINGER: Duration = Duration::from_millis(500);

/// How a server takes connections.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AcceptOptions {
    /// Where TLS is spoken, what is shown. Default: plain.
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

/// Makes a WebSocket of a fresh connection, or answers what else was asked for. Blocks; `cancel`
/// ends it at once.
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
