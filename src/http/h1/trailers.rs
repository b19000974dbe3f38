//! Trailers of an answer (RFC 9110 section 6.5): header lines behind its last chunk.

use httparse::{EMPTY_HEADER, Status, parse_headers};

use super::head::{Head, Headers, Version};
use super::hop_by_hop::{is_hop_by_hop, write_line};

/// Trailer lines of an answer. Default 32.
const MOST: usize = crate::limits::ANSWER_TRAILERS;
/// Fields that mean something only before the body (section 6.5.1): framing and routing, authentication, cookies, how
/// the content is read, kept and protected.
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

/// True if the client of this request takes trailers.
pub fn are_wanted(head: &Head) -> bool {
    head.version == Version::Http11 && head.headers.lists("te", "trailers")
}

/// Writes those of these lines that pass; none where one of them is malformed.
pub fn write(lines: &[u8], passes: &dyn Fn(&str) -> bool, out: &mut Vec<u8>) {
    let mut room = [EMPTY_HEADER; MOST];
    let whole = [lines, b"\r\n"].concat();
    let Ok(Status::Complete((_, parsed))) = parse_headers(&whole, &mut room) else {
        return;
    };
    for line in parsed.iter().filter(|line| is_allowed(line.name)) {
        if passes(line.name) {
            write_line(out, line.name, line.value.trim_ascii());
        }
    }
}

/// The names in `Trailer` that may be trailers.
pub fn announced(headers: &Headers) -> Vec<u8> {
    let names = headers
        .all("trailer")
        .flat_map(|value| value.split(|byte| *byte == b','));
    let names = names.filter_map(|name| std::str::from_utf8(name.trim_ascii()).ok());
    let names: Vec<&str> = names
        .filter(|name| !name.is_empty() && is_allowed(name))
        .collect();
    names.join(", ").into_bytes()
}

/// True if a field of this name may be a trailer.
pub fn is_allowed(name: &str) -> bool {
    let begins = |family: &&str| {
        let begin = name.get(..family.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(family))
    };
    let mut forbidden = FORBIDDEN.iter();
    !is_hop_by_hop(name)
        && !forbidden.any(|known| known.eq_ignore_ascii_case(name))
        && !FORBIDDEN_FAMILIES.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(lines: &str) -> String {
        let mut out = Vec::new();
        write(lines.as_bytes(), &|name| name != "X-Order", &mut out);
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
}
