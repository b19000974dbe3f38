//! A call to the HTTP API of another process of ours on this machine.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::http::Method;

/// Time for the other process to take a connection. Default 2 s: it is on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for an answer. Default 15 s: a change waits up to 10 s for another writer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of an answer. Default 64 MiB: a relay with every connector it takes.
const ANSWER_CAP: u64 = 64 * 1024 * 1024;

/// Makes the call and returns the answer's body; `body` is JSON or empty.
pub(super) fn call(
    address: SocketAddr,
    method: Method,
    path: &str,
    authorization: Option<&str>,
    body: &[u8],
) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    let authorization = authorization.map(|value| format!("Authorization: {value}\r\n"));
    let head = format!(
        "{} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {}Content-Length: {}\r\n\r\n",
        method.as_str(),
        authorization.unwrap_or_default(),
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_CAP).read_to_end(&mut answer);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let text = format!("no answer within {} s", ANSWER_TIMEOUT.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, text)
        }
        _ => error,
    })?;
    Ok(body_of(&answer).to_vec())
}

/// Body after the head: our servers give such answers a length, never chunks.
fn body_of(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    end.and_then(|end| answer.get(end + 4..))
        .unwrap_or_default()
}
