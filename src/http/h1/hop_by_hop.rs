//! Header lines that end at the next hop: the one list for both directions of every proxy here.

use super::head::Headers;

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
