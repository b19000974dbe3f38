//! The way to a running manager: its own API, over loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli::failure::{Failure, printable, reported};
use crate::cli::start::Whereabouts;
use crate::vault::{Home, Instance};

/// Time for the manager to take a connection. Default 2 s: it is on this machine.
const CONNECT_WAIT: Duration = Duration::from_secs(2);
/// Time for an answer. Default 15 s: a change waits up to 10 s for another writer.
const ANSWER_WAIT: Duration = Duration::from_secs(15);
/// Bytes of an answer. Default 4 MiB: a hundred applications take a tenth of it.
const ANSWER_CAP: u64 = 4 * 1024 * 1024;
/// Time for an application to be connected. Default 180 s: five calls of 30 s, and the waits for two tunnels, seldom
/// all.
const CONNECTED_WAIT: Duration = Duration::from_secs(180);
/// Pause between two looks at the status.
const POLL: Duration = Duration::from_millis(100);

/// A running manager.
pub(super) struct Manager {
    address: SocketAddr,
}

impl Manager {
    /// The one that runs on the directory; none where there is none.
    pub(super) fn find(home: &Home) -> Result<Option<Self>, Failure> {
        let said = Instance::find(home);
        let said =
            said.map_err(|error| Failure::operation(error.to_string()).hint(error.hint()))?;
        let Some(said) = said else {
            return Ok(None);
        };
        let address = serde_json::from_slice::<Whereabouts>(&said)
            .ok()
            .and_then(|said| address(&said.url));
        match address {
            Some(address) => Ok(Some(Self { address })),
            None => Err(Failure::operation(format!(
                "run/start.json in {} is damaged",
                home.dir().display()
            ))
            .hint("end 'postern start' and start it again")),
        }
    }

    /// The `data` of the answer to one call.
    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let answer = self.exchange(method, path, body).map_err(|error| {
            Failure::operation(format!(
                "the manager at {} does not answer: {error}",
                self.address
            ))
            .hint("end 'postern start' and start it again")
        })?;
        let mut envelope: Value = serde_json::from_slice(body_of(&answer)).unwrap_or_default();
        match envelope.get("code").and_then(Value::as_u64) {
            Some(200..=299) => Ok(envelope
                .get_mut("data")
                .map(Value::take)
                .unwrap_or_default()),
            Some(_) => Err(Failure::operation(reported(text(&envelope, "/message")))),
            None => Err(Failure::operation(format!(
                "what answers at {} is not the manager",
                self.address
            ))),
        }
    }

    /// Waits for the end of the connecting, and fails with its error.
    pub(super) fn wait_connected(&self, id: &str) -> Result<Value, Failure> {
        let deadline = Instant::now() + CONNECTED_WAIT;
        loop {
            let result = self.call("GET", &format!("/api/status/{id}"), None)?;
            let error = printable(text(&result, "/error"));
            match text(&result, "/status") {
                "connected" => return Ok(result),
                "connecting" if Instant::now() < deadline => std::thread::sleep(POLL),
                "connecting" => {
                    return Err(Failure::operation("it is still connecting").hint(error));
                }
                "failed" => return Err(Failure::operation(error)),
                _ => return Err(Failure::operation("it was disconnected meanwhile")),
            }
        }
    }

    fn exchange(&self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, CONNECT_WAIT)?;
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        stream.set_write_timeout(Some(ANSWER_WAIT))?;
        let body = body.map(ToString::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(ANSWER_CAP).read_to_end(&mut answer)?;
        Ok(answer)
    }
}

/// What follows the head: the manager gives answers a length, never chunks.
fn body_of(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    end.and_then(|end| answer.get(end + 4..))
        .unwrap_or_default()
}

/// The text at a place in an answer; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn address(url: &str) -> Option<SocketAddr> {
    url.strip_prefix("http://")?
        .trim_end_matches('/')
        .parse()
        .ok()
}
