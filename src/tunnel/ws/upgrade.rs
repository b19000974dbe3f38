//! The upgrade from HTTP to a WebSocket (RFC 6455 §4), both sides, without sockets.
//!
//! tungstenite makes the key and its digest. The rest is by hand: its client refuses an answer that
//! names no subprotocol, as a chisel server's does not, knows no interim answers, takes a `Connection`
//! of one word only, and logs the request with its credentials; its server looks at the first of
//! several equal headers, where a second one is refused here. Both read a head without a deadline, up
//! to a cap of their own.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
pub(super) use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;
use zeroize::Zeroizing;

use super::endpoint::Endpoint;
use super::error::DialError;
use crate::http::h1::Refusal;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::head::{Head, Headers, Version};

/// The subprotocol that both ends must mean.
const PROTOCOL: &str = "chisel-v3";
/// Bytes of a key before it is encoded (§4.1).
const KEY: usize = 16;
/// Bytes of a peer's text in a message. Default 1 KiB: more than any status line says.
const TEXT_CAP: usize = 1024;
/// Headers that are the upgrade's own; a caller's may not stand in for them.
const OWN: [&str; 5] = [
    "connection",
    "upgrade",
    "content-length",
    "transfer-encoding",
    "expect",
];

/// A header line to be sent along with the upgrade. `Debug` shows its name alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: Zeroizing<String>,
}

impl Header {
    /// Reads `Name: value`. `Host` takes the place of the one that would be sent.
    ///
    /// The error says what is wrong and does not show the value.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (name, value) = line
            .split_once(':')
            .ok_or("a header needs a colon: give 'Name: value'")?;
        Self::new(name.trim(), value.trim())
    }

    /// A header of this name and value, under the same rules.
    pub fn new(name: &str, value: &str) -> Result<Self, String> {
        let lower = name.to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!(
                "'{}' is not a valid header name",
                name.escape_default()
            ));
        }
        if OWN.contains(&lower.as_str()) || lower.starts_with("sec-websocket-") {
            return Err(format!("the header {name} is reserved for the tunnel"));
        }
        // RFC 9110 §5.5; without it a value could smuggle lines in.
        if !value
            .bytes()
            .all(|b| b == b'\t' || (b' '..=b'~').contains(&b))
        {
            return Err(format!(
                "the value of the header {name} has a forbidden character"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            value: Zeroizing::new(value.to_owned()),
        })
    }

    fn is_host(&self) -> bool {
        self.name.eq_ignore_ascii_case("host")
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ***", self.name)
    }
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The client's request (§4.1).
pub(super) fn request(target: &Endpoint, headers: &[Header], key: &str) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(String::new());
    let mut line = |parts: [&str; 3]| {
        parts.iter().for_each(|part| text.push_str(part));
        text.push_str("\r\n");
    };
    line(["GET ", &target.path, " HTTP/1.1"]);
    if !headers.iter().any(Header::is_host) {
        line(["Host", ": ", &target.host_header()]);
    }
    line(["Upgrade", ": ", "websocket"]);
    line(["Connection", ": ", "Upgrade"]);
    line(["Sec-WebSocket-Key", ": ", key]);
    line(["Sec-WebSocket-Version", ": ", "13"]);
    line(["Sec-WebSocket-Protocol", ": ", PROTOCOL]);
    for header in headers {
        line([&header.name, ": ", &header.value]);
    }
    line(["", "", ""]);
    Zeroizing::new(text.as_bytes().to_vec())
}

/// Meaning of an answer for the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UpgradeAnswer {
    /// The connection is a WebSocket now.
    Upgraded,
    /// Status 1xx: the answer is still to come (RFC 9110 §15.2).
    Interim,
}

/// Checks the server's answer (§4.1, second list).
pub(super) fn check_answer(head: &[u8], key: &str) -> Result<UpgradeAnswer, DialError> {
    let bad = |reason: &str| DialError::BadUpgrade(reason.to_owned());
    let answer = AnswerHead::parse(head, false).map_err(|_| bad("its answer is not HTTP"))?;
    match answer.status {
        101 => {}
        100..=199 => return Ok(UpgradeAnswer::Interim),
        _ => return Err(other_status(&answer)),
    }
    let headers = &answer.headers;
    if !head.starts_with(b"HTTP/1.1 ") {
        return Err(bad("it upgrades in an HTTP version other than 1.1"));
    }
    if !only_is(headers, "upgrade", "websocket") {
        return Err(bad("it upgrades to something else, not a WebSocket"));
    }
    if !headers.lists("connection", "upgrade") {
        return Err(bad("its upgrade lacks 'Connection: Upgrade'"));
    }
    let expected = derive_accept_key(key.as_bytes());
    if headers.only("sec-websocket-accept") != Ok(Some(expected.as_bytes())) {
        return Err(bad("its Sec-WebSocket-Accept does not match this request"));
    }
    if headers.all("sec-websocket-extensions").next().is_some() {
        return Err(bad("it uses a WebSocket extension that was not offered"));
    }
    // A chisel server names no subprotocol although one was offered.
    match headers.only("sec-websocket-protocol") {
        Ok(None) => Ok(UpgradeAnswer::Upgraded),
        Ok(Some(name)) if name == PROTOCOL.as_bytes() => Ok(UpgradeAnswer::Upgraded),
        _ => Err(bad("its subprotocol is not chisel-v3")),
    }
}

fn other_status(answer: &AnswerHead) -> DialError {
    let location = answer.headers.only("location").ok().flatten();
    DialError::NotATunnelServer {
        status: answer.status,
        reason: printable(answer.reason.as_bytes()),
        location: location.map(printable),
    }
}

/// A peer's text, fit for a message; the mark at its end says that there was more.
pub(super) fn printable(text: &[u8]) -> String {
    let short = text.get(..TEXT_CAP).unwrap_or(text);
    let mark = if short.len() < text.len() {
        "… (cut)"
    } else {
        ""
    };
    let shown = String::from_utf8_lossy(short).escape_debug().to_string();
    shown + mark
}

fn only_is(headers: &Headers, name: &str, value: &str) -> bool {
    matches!(headers.only(name), Ok(Some(found)) if found.eq_ignore_ascii_case(value.as_bytes()))
}

/// Reply of the server to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UpgradeReply {
    /// Send this; then the connection is a WebSocket.
    Upgrade(String),
    /// Send this and close.
    Answer(u16, String),
}

/// Decides the reply to a request (§4.2.1). As in a chisel server the path of an upgrade does not
/// matter, so that a proxy may put the tunnel under one.
pub(super) fn reply_to(head: &Head) -> UpgradeReply {
    let headers = &head.headers;
    let is_get = head.method == "GET";
    let target = head.target.as_str();
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    if !headers.lists("upgrade", "websocket") {
        return match path {
            "/health" if is_get || head.method == "HEAD" => plain(head, 200, "OK\n"),
            "/version" if is_get || head.method == "HEAD" => {
                plain(head, 200, env!("CARGO_PKG_VERSION"))
            }
            _ => plain(head, 404, "Not found\n"),
        };
    }
    match UpgradeRequest::of(head) {
        Ok(request) => UpgradeReply::Upgrade(request.0),
        // As a chisel server answers, which does not say what it is.
        Err(refusal) if refusal.status == 404 => plain(head, 404, "Not found\n"),
        Err(refusal) => plain(head, refusal.status, &format!("{}\n", refusal.message)),
    }
}

/// A valid request for the WebSocket of a tunnel: the answer to it.
#[derive(Debug)]
pub struct UpgradeRequest(pub(super) String);

impl UpgradeRequest {
    /// Checks a request head; the path may be any.
    pub fn of(head: &Head) -> Result<Self, Refusal> {
        let headers = &head.headers;
        if !headers.lists("upgrade", "websocket") {
            return Err(Refusal::new(
                426,
                "this address takes tunnels: use it with postern or a chisel client",
            ));
        }
        let protocol = headers.only("sec-websocket-protocol");
        if head.method != "GET" || protocol != Ok(Some(PROTOCOL.as_bytes())) {
            return Err(Refusal::new(
                404,
                "not a tunnel: the request must be a GET with the subprotocol chisel-v3",
            ));
        }
        if headers.only("sec-websocket-version") != Ok(Some(b"13")) {
            return Err(Refusal::new(426, "Only WebSocket version 13 is spoken"));
        }
        let sent = headers.only("sec-websocket-key").ok().flatten();
        match sent.and_then(key).filter(|_| is_sound(head)) {
            Some(key) => Ok(Self(upgraded(&key))),
            None => Err(Refusal::new(400, "Malformed WebSocket upgrade")),
        }
    }
}

/// True if version, `Connection`, `Host` and framing are those of an upgrade (§4.2.1).
fn is_sound(head: &Head) -> bool {
    head.version == Version::Http11
        && head.headers.lists("connection", "upgrade")
        && matches!(head.headers.only("host"), Ok(Some(_)))
        && head.framing == crate::http::h1::body::Framing::Length(0)
}

/// A key is 16 bytes in base64 (§4.2.1).
fn key(value: &[u8]) -> Option<String> {
    let bytes = BASE64.decode(value).ok()?;
    (bytes.len() == KEY).then(|| String::from_utf8_lossy(value).into_owned())
}

/// §4.2.2. The subprotocol is not named, as a chisel server does: its clients want it so.
fn upgraded(key: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\n\
         Upgrade: websocket\r\n\
         Connection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        derive_accept_key(key.as_bytes())
    )
}

fn plain(head: &Head, status: u16, text: &str) -> UpgradeReply {
    let body = if head.method == "HEAD" { "" } else { text };
    UpgradeReply::Answer(status, answer(status, text.len(), body))
}

/// The answer to a request that is not HTTP.
pub(super) fn refusal(status: u16) -> String {
    let text = "Malformed request\n";
    answer(status, text.len(), text)
}

fn answer(status: u16, length: usize, body: &str) -> String {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        505 => "HTTP Version Not Supported",
        _ => "Bad Request",
    };
    // RFC 9110 §15.5.6; RFC 6455 §4.4, RFC 9110 §15.5.22.
    let what_would_do = match status {
        405 => "Allow: GET, HEAD\r\n",
        426 => "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
        _ => "",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\n{what_would_do}\
         Content-Type: text/plain; charset=utf-8\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
#[path = "upgrade_tests.rs"]
mod tests;
