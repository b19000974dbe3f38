//! A call to the HTTP API of another process of ours on this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// Time for the other process to take a connection. Default 2 s: it is on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for an answer. Default 15 s: a change waits up to 10 s for another writer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of an answer. Default 64 MiB: a relay with every connector it takes.
const ANSWER_CAP: u64 = 64 * 1024 * 1024;

/// One call.
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    /// The value of `Authorization`; a secret.
    pub(super) authorization: Option<&'a str>,
    pub(super) body: Option<&'a Value>,
}

/// An answer, as far as it is in the envelope that our APIs use.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    /// The status; none where the answer is no envelope.
    pub(super) code: Option<u64>,
    pub(super) message: Option<String>,
    /// Hint, if the message contains none.
    pub(super) hint: Option<String>,
    pub(super) data: Value,
}

/// Makes the call and reads the answer.
pub(super) fn call(address: SocketAddr, call: &Call<'_>) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    let body = call.body.map(ToString::to_string).unwrap_or_default();
    let authorization = call
        .authorization
        .map(|value| format!("Authorization: {value}\r\n"));
    let head = format!(
        "{} {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {}Content-Length: {}\r\n\r\n",
        call.method,
        call.path,
        authorization.unwrap_or_default(),
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_CAP).read_to_end(&mut answer)?;
    Ok(serde_json::from_slice(body_of(&answer)).unwrap_or_default())
}

/// Body after the head: our servers give such answers a length, never chunks.
fn body_of(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    end.and_then(|end| answer.get(end + 4..))
        .unwrap_or_default()
}
