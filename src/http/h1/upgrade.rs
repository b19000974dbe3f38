//! Protocols that a connection may change to (RFC 9110 section 7.8): the one list for both ends of a tunnel.
//!
//! h2c and TLS never pass: many requests would follow on one connection that nobody here reads, past codes and networks.
//! A server may ignore `Upgrade`, and clients that offer h2c expect that (`curl --http2`): such a request passes as an
//! ordinary one. Everything else is refused by name, as its client would wait in vain.

use super::body::Framing;
use super::head::{Head, Version};

/// WebSocket.
const WEBSOCKET: &str = "websocket";
/// Protocols that pass: browsers; Tailscale's control protocol and its relays; Docker and others that attach to a
/// process; kubectl.
pub const PASSED: [&str; 5] = [
    WEBSOCKET,
    "tailscale-control-protocol",
    "DERP",
    "tcp",
    "SPDY/3.1",
];
/// Offers that are ignored.
const IGNORED: &str = "h2c";

/// Result of looking at a request's `Upgrade`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upgrade {
    /// An ordinary request, or an offer that is ignored.
    None,
    /// It asks for this protocol, which passes.
    To(&'static str),
    /// It asks for another one.
    Refused(String),
}

impl Upgrade {
    /// Reads that of a request.
    pub fn of(head: &Head) -> Upgrade {
        let headers = &head.headers;
        if head.version == Version::Http10 || !headers.lists("connection", "upgrade") {
            return Upgrade::None;
        }
        let mut passed = PASSED.iter();
        if let Some(protocol) = passed.find(|known| headers.lists("upgrade", known)) {
            return match may_carry(head, protocol) {
                true => Upgrade::To(protocol),
                false => Upgrade::None,
            };
        }
        let offers = headers
            .all("upgrade")
            .flat_map(|value| value.split(|byte| *byte == b','));
        let mut offers = offers.map(<[u8]>::trim_ascii);
        let is_other =
            |offer: &&[u8]| !offer.is_empty() && !offer.eq_ignore_ascii_case(IGNORED.as_bytes());
        match offers.find(is_other) {
            Some(other) => Upgrade::Refused(String::from_utf8_lossy(other).into_owned()),
            None => Upgrade::None,
        }
    }

    /// The protocol that passes.
    pub fn passed(head: &Head) -> Option<&'static str> {
        match Upgrade::of(head) {
            Upgrade::To(protocol) => Some(protocol),
            _ => None,
        }
    }
}

/// True if a request of this method and body may ask for it. A WebSocket begins with a GET (RFC 6455 section 4.1); Docker
/// sends a body along, of which the end must be known.
fn may_carry(head: &Head, protocol: &str) -> bool {
    match head.framing {
        Framing::Length(0) => protocol != WEBSOCKET || head.method == "GET",
        Framing::Length(_) => protocol != WEBSOCKET,
        Framing::Chunked | Framing::UntilClose => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(begin: &str, lines: &str) -> Upgrade {
        let head = format!("{begin}\r\nHost: a\r\n{lines}\r\n");
        Upgrade::of(&Head::parse(head.as_bytes(), 100).unwrap())
    }

    #[test]
    fn five_protocols_pass_and_others_are_named() {
        let refused = |name: &str| Upgrade::Refused(name.to_owned());
        for (offered, expected) in [
            ("websocket", Upgrade::To("websocket")),
            ("WebSocket", Upgrade::To("websocket")),
            ("derp", Upgrade::To("DERP")),
            ("TCP", Upgrade::To("tcp")),
            ("spdy/3.1", Upgrade::To("SPDY/3.1")),
            (
                "Tailscale-Control-Protocol",
                Upgrade::To("tailscale-control-protocol"),
            ),
            ("h2c, websocket", Upgrade::To("websocket")),
            ("foo, websocket", Upgrade::To("websocket")),
            ("h2c", Upgrade::None),
            ("H2C,", Upgrade::None),
            ("", Upgrade::None),
            ("TLS/1.2", refused("TLS/1.2")),
            ("h2c, TLS/1.0", refused("TLS/1.0")),
            ("SPDY/3", refused("SPDY/3")),
            ("tcp/2", refused("tcp/2")),
            ("foo", refused("foo")),
        ] {
            let lines = format!("Connection: keep-alive, Upgrade\r\nUpgrade: {offered}\r\n");
            assert_eq!(asked("GET / HTTP/1.1", &lines), expected, "{offered}");
            assert_eq!(asked("GET / HTTP/1.0", &lines), Upgrade::None, "{offered}");
            let alone = format!("Upgrade: {offered}\r\n");
            assert_eq!(asked("GET / HTTP/1.1", &alone), Upgrade::None, "{offered}");
        }
    }

    #[test]
    fn docker_sends_a_body_along_and_a_websocket_none() {
        let lines = |protocol: &str, body: &str| {
            format!("Connection: Upgrade\r\nUpgrade: {protocol}\r\n{body}\r\n")
        };
        for (protocol, body, expected) in [
            ("tcp", "Content-Length: 27", Upgrade::To("tcp")),
            ("tcp", "Content-Length: 0", Upgrade::To("tcp")),
            ("tcp", "Transfer-Encoding: chunked", Upgrade::None),
            ("websocket", "Content-Length: 2", Upgrade::None),
            ("websocket", "Content-Length: 0", Upgrade::None),
        ] {
            assert_eq!(
                asked("POST / HTTP/1.1", &lines(protocol, body)),
                expected,
                "{protocol} {body}"
            );
        }
    }
}
