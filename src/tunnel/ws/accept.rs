//! The server's way to a WebSocket.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::cancel::{Cancel, Wake};
use super::error::{AcceptError, Stage};
use super::handshake::{Failure, Handshake};
use super::limits::HANDSHAKE_TIMEOUT;
use super::reader::WsReader;
use super::socket::Halt;
use super::tls::ServerTls;
use super::upgrade::{self, Reply};
use super::websocket::Role;
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

/// What became of a connection.
#[derive(Debug)]
pub enum Accepted {
    /// A link.
    Link(WsReader, WsWriter),
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
    let mut stream = Handshake::new(socket, &wake, deadline).map_err(AcceptError::Io)?;
    if let Some(tls) = &options.tls {
        let connection = tls
            .connection()
            .map_err(|error| AcceptError::Tls(error.to_string()))?;
        stream.secure(connection).map_err(explained(Stage::Tls))?;
    }
    match request(&mut stream) {
        Ok(head) => reply(stream, &head),
        Err(Failure::Head(refusal)) => {
            let answer = upgrade::refusal(refusal.status);
            if stream.send(answer.as_bytes()).is_ok() {
                stream.linger(LINGER);
            }
            Err(explained(Stage::Upgrade)(Failure::Head(refusal)))
        }
        Err(failure) => Err(explained(Stage::Upgrade)(failure)),
    }
}

fn request(stream: &mut Handshake<'_>) -> Result<Head, Failure> {
    let bytes = stream.receive_head()?;
    Head::parse(&bytes, Limits::default().headers).map_err(Failure::Head)
}

fn reply(mut stream: Handshake<'_>, head: &Head) -> Result<Accepted, AcceptError> {
    match upgrade::decide(head) {
        Reply::Upgrade(answer) => {
            stream
                .send(answer.as_bytes())
                .map_err(explained(Stage::Upgrade))?;
            let (reader, writer) = stream.into_link(Role::Server).map_err(AcceptError::Io)?;
            Ok(Accepted::Link(reader, writer))
        }
        Reply::Answer(status, answer) => {
            stream
                .send(answer.as_bytes())
                .map_err(explained(Stage::Upgrade))?;
            stream.linger(LINGER);
            Ok(Accepted::Answered(status))
        }
    }
}

fn explained(stage: Stage) -> impl Fn(Failure) -> AcceptError {
    move |failure| match failure {
        Failure::Halt(Halt::Cancelled) => AcceptError::Cancelled,
        Failure::Halt(Halt::TimedOut) => AcceptError::TimedOut(stage),
        Failure::Halt(Halt::Io(error)) => AcceptError::Io(error),
        Failure::Tls(error) => AcceptError::Tls(error.to_string()),
        Failure::Ended => AcceptError::Io(io::ErrorKind::UnexpectedEof.into()),
        Failure::Head(refusal) => AcceptError::Malformed {
            status: refusal.status,
            reason: refusal.message.into_owned(),
        },
    }
}
