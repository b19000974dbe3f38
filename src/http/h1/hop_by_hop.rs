//! Header lines that end at the next hop, trailers, and upgrades to other protocols: the same rules for every proxy
//! here.

use httparse::{EMPTY_HEADER, Status, parse_headers};

use super::body::Framing;
use super::head::{Head, Headers, Version};

/// Header lines of one connection only (RFC 9110 section 7.6.1), and the framing, which each
/// hop writes afresh.
pub const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "te",
    "trailer",
    "upgrade",
    "transfer-encoding",
    "content-length",
];
/// Trailer lines of an answer. Default 32.
const MOST: usize = crate::limits::ANSWER_TRAILERS;
/// Fields that may not be trailers (RFC 9110 section 6.5.1), as they mean something only before the body: framing and
/// routing, authentication, cookies, reading, keeping and protecting the content.
#[rustfmt::skip]
const FORBIDDEN: &[&str] = &[
    "host", "authorization", "www-authenticate", "authentication-info", "set-cookie", "set-cookie2", "cookie",
    "clear-site-data", "strict-transport-security", "content-security-policy", "content-security-policy-report-only",
    "x-frame-options", "x-content-type-options", "content-encoding", "content-type", "content-range",
    "content-disposition", "content-location", "content-language", "age", "cache-control", "date", "expires",
    "location", "refresh", "retry-after", "vary", "warning", "alt-svc", "status", "server",
];
/// Families of such fields, by how their names begin.
const FORBIDDEN_FAMILIES: [&str; 6] = [
    "access-control-",
    "cross-origin-",
    "proxy-",
    "sec-",
    "x-forwarded-",
    "x-postern-",
];
/// Protocol of a WebSocket.
const WEBSOCKET: &str = "websocket";
/// Protocols that a connection may change to: browsers; Tailscale's control protocol and its relays; Docker and others
/// that attach to a process; kubectl.
pub const PASSED: [&str; 5] = [
    WEBSOCKET,
    "tailscale-control-protocol",
    "DERP",
    "tcp",
    "SPDY/3.1",
];
/// Offer of a protocol that is ignored.
const IGNORED: &str = "h2c";

/// True if a line of this name belongs to one connection, or frames the message.
pub fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.iter().any(|hop| hop.eq_ignore_ascii_case(name))
}

/// The names that `Connection` makes lines of one connection too, in lower case.
pub fn named_by_connection(headers: &Headers) -> Vec<String> {
    headers
        .all("connection")
        .flat_map(|value| value.split(|b| *b == b','))
        .map(|name| String::from_utf8_lossy(name).trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty())
        .collect()
}

/// The lines of a message that are not its connection's alone, in order.
pub fn end_to_end(headers: &Headers) -> impl Iterator<Item = (&str, &[u8])> {
    let named = named_by_connection(headers);
    headers.iter().filter(move |(name, _)| {
        !is_hop_by_hop(name) && !named.iter().any(|named| named.eq_ignore_ascii_case(name))
    })
}

/// Adds one header line.
pub fn write_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// True if the client of this request takes trailers.
pub fn wants_trailers(head: &Head) -> bool {
    head.version == Version::Http11 && head.headers.lists("te", "trailers")
}

/// Writes the trailer lines that pass; none if one of them is malformed.
pub fn write_trailers(lines: &[u8], passes: &dyn Fn(&str) -> bool, out: &mut Vec<u8>) {
    let mut room = [EMPTY_HEADER; MOST];
    let whole = [lines, b"\r\n"].concat();
    let Ok(Status::Complete((_, parsed))) = parse_headers(&whole, &mut room) else {
        return;
    };
    for line in parsed.iter().filter(|line| may_be_trailer(line.name)) {
        if passes(line.name) {
            write_line(out, line.name, line.value.trim_ascii());
        }
    }
}

/// The names in `Trailer` that may be trailers.
pub fn announced_trailers(headers: &Headers) -> Vec<u8> {
    let names = headers
        .all("trailer")
        .flat_map(|value| value.split(|byte| *byte == b','));
    let names = names.filter_map(|name| std::str::from_utf8(name.trim_ascii()).ok());
    let names: Vec<&str> = names
        .filter(|name| !name.is_empty() && may_be_trailer(name))
        .collect();
    names.join(", ").into_bytes()
}

/// True if a field of this name may be a trailer.
pub fn may_be_trailer(name: &str) -> bool {
    let begins = |family: &&str| {
        let begin = name.get(..family.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(family))
    };
    let mut forbidden = FORBIDDEN.iter();
    !is_hop_by_hop(name)
        && !forbidden.any(|known| known.eq_ignore_ascii_case(name))
        && !FORBIDDEN_FAMILIES.iter().any(begins)
}

// Protocols that a connection may change to (RFC 9110 section 7.8). h2c and TLS never pass: many requests would follow
// on one connection that no proxy here reads, past codes and networks. A server may ignore `Upgrade`, and clients that
// offer h2c expect that (`curl --http2`): such a request passes as an ordinary one. Everything else is refused by name,
// as its client would wait in vain.

/// Upgrade that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upgrade {
    /// An ordinary request, or an offer that is ignored.
    None,
    /// A protocol that passes.
    To(&'static str),
    /// Any other protocol.
    Refused(String),
}

impl Upgrade {
    /// Reads a request's upgrade.
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

    /// Returns the protocol of a request if it passes.
    pub fn passed(head: &Head) -> Option<&'static str> {
        match Upgrade::of(head) {
            Upgrade::To(protocol) => Some(protocol),
            _ => None,
        }
    }
}

/// True if a request of this method and body may ask for the protocol. A WebSocket begins with a GET (RFC 6455 section
/// 4.1); Docker sends a body along, of which the end must be known.
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

    fn passed(lines: &str) -> String {
        let mut out = Vec::new();
        write_trailers(lines.as_bytes(), &|name| name != "X-Order", &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_that_frame_sign_in_or_set_cookies_do_not_pass() {
        let lines = "grpc-status: 0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\nX-A:  b \r\n\
            Set-Cookie: a=b\r\nWWW-Authenticate: Basic\r\nProxy-Authenticate: Basic\r\nAuthorization: x\r\nX-Order: 1\r\n\
            access-control-allow-origin: *\r\nLOCATION: /\r\nDigest: z\r\n";
        assert_eq!(passed(lines), "grpc-status: 0\r\nX-A: b\r\nDigest: z\r\n");
    }

    #[test]
    fn malformed_trailers_are_dropped_together() {
        assert_eq!(passed("X-A: 1\r\nnonsense\r\n"), "");
        assert_eq!(passed("X-A: 1\r\nX-B : 1\r\n"), "");
        assert_eq!(passed(&"X-A: 1\r\n".repeat(33)), "");
        assert_eq!(passed("X-A: 1\n"), "X-A: 1\r\n");
        assert_eq!(passed(""), "");
    }

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
