//! Lines of a request that tell an application by which name and scheme its visitor came. Text in, text out.

use super::web_origin::default_port;
use crate::gateway::request_head::is;
use crate::http::h1::hop_by_hop::write_line;
use crate::net::authority;

/// Lines that applications would believe instead of those written here: Rack takes `X-Forwarded-Ssl` first, plugins of
/// WordPress `Cf-Visitor`. None with a visitor's address or a path is among them.
const NAMES: [&str; 21] = [
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-forwarded-scheme",
    "x-forwarded-protocol",
    "x-forwarded-https",
    "x-scheme",
    "x-url-scheme",
    "x-client-scheme",
    "x-proto",
    "x-https",
    "front-end-https",
    "x-arr-ssl",
    "cf-visitor",
    "cloudfront-forwarded-proto",
    "x-host",
    "x-original-host",
    "x-http-host-override",
    "forwarded-host",
];

/// True if a line of this name says by which name, port or scheme the visitor came.
pub(super) fn names_host(name: &str) -> bool {
    NAMES.iter().any(|wanted| is(name, wanted))
}

/// Adds the lines that say it, in a relay's order.
pub(super) fn write(host: &[u8], scheme: &str, out: &mut Vec<u8>) {
    write_line(out, "X-Forwarded-Proto", scheme.as_bytes());
    write_line(out, "X-Forwarded-Host", host);
    let named = std::str::from_utf8(host).ok().and_then(authority::split);
    let port = named.and_then(|(_, port)| authority::port(port?));
    if let Some(port) = port.or(default_port(scheme)) {
        write_line(out, "X-Forwarded-Port", port.to_string().as_bytes());
    }
}

/// A `Forwarded` line (RFC 7239) with this host and scheme wherever it has others; none where a quote does not end.
pub(super) fn rewritten(value: &[u8], host: &[u8], scheme: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len() + host.len());
    for (at, element) in split(value, b',')?.into_iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"" } else { b", " });
        for (at, pair) in split(element, b';')?.into_iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"" } else { b";" });
            let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
            if name.eq_ignore_ascii_case(b"host") {
                out.extend_from_slice(&[b"host=\"", host, b"\""].concat());
            } else if name.eq_ignore_ascii_case(b"proto") {
                out.extend_from_slice(&[b"proto=", scheme.as_bytes()].concat());
            } else {
                out.extend_from_slice(pair);
            }
        }
    }
    Some(out)
}

/// The parts between separators outside quotes; none where a quote does not end.
fn split(value: &[u8], separator: u8) -> Option<Vec<&[u8]>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(|byte| {
        is_quoted ^= *byte == b'"' && !is_escaped;
        is_escaped = is_quoted && !is_escaped && *byte == b'\\';
        *byte == separator && !is_quoted
    });
    let parts = parts.map(<[u8]>::trim_ascii).collect();
    (!is_quoted).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forwarded_line_has_the_name_wherever_it_names_one() {
        let rewritten = |value: &str| {
            let value = rewritten(value.as_bytes(), b"a:1", "http");
            value.map(|value| String::from_utf8(value).unwrap())
        };
        for (value, expected) in [
            ("for=1.1.1.1", Some("for=1.1.1.1")),
            (
                "Host=x;for=\"[::1]:5\"",
                Some("host=\"a:1\";for=\"[::1]:5\""),
            ),
            (
                "for=a ; proto=https,host=y",
                Some("for=a;proto=http, host=\"a:1\""),
            ),
            ("for=\"a\\\";host=b\"", Some("for=\"a\\\";host=b\"")),
            ("for=\"a;host=b", None),
            ("", Some("")),
        ] {
            assert_eq!(rewritten(value).as_deref(), expected, "{value}");
        }
    }
}
