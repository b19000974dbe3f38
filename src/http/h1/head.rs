//! Heads of requests, header lines, and decoded targets: bytes in, a parsed head or a refusal out.
//!
//! `httparse` tokenises; the strictness is here. It runs on complete heads only, found by
//! [`HeadScan`], whose verdict is the same however the bytes arrive.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use httparse::{Error, Header, Status};

use super::Refusal;
use super::body::Framing;
use crate::net::percent;

/// Header lines that httparse gets room for; callers may allow fewer.
pub(super) const MAX_HEADERS: usize = crate::limits::ANSWER_HEADERS;
/// Bytes of a method. Default 32: the longest registered one, UPDATEREDIRECTREF, has 17, and methods
/// are shown in logs.
const MAX_METHOD: usize = 32;

/// Finds the end of a head and refuses what no head may contain: control characters, a
/// line feed or carriage return alone, anything over the cap.
#[derive(Debug, Clone, Default)]
pub struct HeadScan {
    seen: usize,
    line: usize,
    lines: usize,
    start: usize,
    after_cr: bool,
    is_answer: bool,
}

/// The first and the next byte after a head.
pub type HeadRange = std::ops::Range<usize>;

impl HeadScan {
    /// Makes the scan of an application's answer. It also takes the irregularities that every other proxy passes on:
    /// lines that end in a line feed alone, control characters, and a phrase that is not ASCII. `AnswerHead::parse`
    /// makes them regular.
    pub fn of_answer() -> HeadScan {
        HeadScan {
            is_answer: true,
            ..HeadScan::default()
        }
    }

    /// Goes on where it stopped: `input` is all that has arrived since the head began. One
    /// empty line before the head is skipped (RFC 9112 section 2.2).
    pub fn scan(&mut self, input: &[u8], cap: usize) -> Result<Option<HeadRange>, Refusal> {
        loop {
            let fresh = input.get(self.seen..);
            let fresh = fresh.expect("what was seen is still there");
            let Some(&byte) = fresh.first() else {
                return Ok(None);
            };
            if self.seen >= cap {
                return Err(self.too_large());
            }
            // Most bytes of a line only need to be looked at.
            let most = fresh.get(..cap - self.seen).unwrap_or(fresh);
            let plain = if self.after_cr { 0 } else { visible(most) };
            self.seen += plain;
            self.line += plain;
            if plain > 0 {
                continue;
            }
            self.seen += 1;
            if self.byte(byte)? {
                return Ok(Some(self.start..self.seen));
            }
        }
    }

    /// The part of `input` that has been seen.
    pub(in crate::http) fn seen<'i>(&self, input: &'i [u8]) -> &'i [u8] {
        input.get(..self.seen).unwrap_or(input)
    }

    /// True if anything of a head has been seen.
    pub fn has_begun(&self) -> bool {
        self.seen > 0
    }

    /// Takes a byte that is not visible ASCII, or follows a carriage return. True at the end of the empty line that
    /// ends the head.
    fn byte(&mut self, byte: u8) -> Result<bool, Refusal> {
        match (byte, self.after_cr) {
            (b'\n', after_cr) if after_cr || self.is_answer => return self.line_end(),
            (b'\n', _) => return Err(Refusal::malformed("line feed without carriage return")),
            (_, true) => return Err(Refusal::malformed("carriage return without line feed")),
            (b'\r', false) => self.after_cr = true,
            (b'\t' | 0x80..=0xff, false) if self.lines > 0 => self.line += 1,
            (1.., false) if self.is_answer => self.line += 1,
            _ => return Err(Refusal::malformed("forbidden byte in the head")),
        }
        Ok(false)
    }

    fn line_end(&mut self) -> Result<bool, Refusal> {
        self.after_cr = false;
        let empty = std::mem::take(&mut self.line) == 0;
        match (empty, self.lines, self.start) {
            (true, 0, 0) => self.start = self.seen,
            (true, 0, _) => return Err(Refusal::malformed("empty lines before the head")),
            (true, ..) => return Ok(true),
            (false, ..) => self.lines += 1,
        }
        Ok(false)
    }

    fn too_large(&self) -> Refusal {
        if self.lines == 0 {
            Refusal::new(414, "the request line is too long")
        } else {
            Refusal::new(431, "the request head is too large")
        }
    }
}

/// Number of bytes of visible ASCII and spaces at the beginning of `input`.
fn visible(input: &[u8]) -> usize {
    let is_visible = |byte: &&u8| matches!(byte, b' '..=b'~');
    input.iter().take_while(is_visible).count()
}

/// The two versions that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: no chunks, no kept connections.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// Header lines in order, names as sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Box<Lines>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Lines {
    /// Names of all lines in one text: each request has many lines, and a buffer for each costs more than a search.
    names: String,
    values: Vec<u8>,
    /// End of the name and of the value of each line.
    ends: Vec<(usize, usize)>,
}

impl Headers {
    /// Every value of `name`, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Returns the only value of `name`, `None` if there is none, an error if there are several.
    pub fn only<'a>(&'a self, name: &'a str) -> Result<Option<&'a [u8]>, MoreThanOne> {
        let mut values = self.all(name);
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(_) => Err(MoreThanOne),
        }
    }

    /// All header lines.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut begin = (0, 0);
        let lines = &self.0;
        lines.ends.iter().map(move |end| {
            let name = lines.names.get(begin.0..end.0);
            let value = lines.values.get(begin.1..end.1);
            begin = *end;
            let whole = "lines lie one behind the other";
            (name.expect(whole), value.expect(whole))
        })
    }

    /// True if a comma-separated list such as `Connection` holds `token`.
    pub fn lists(&self, name: &str, token: &str) -> bool {
        self.all(name)
            .flat_map(|value| value.split(|&b| b == b','))
            .any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    }

    pub(super) fn collect(parsed: &[Header<'_>], max: usize) -> Result<Headers, Refusal> {
        if parsed.len() > max {
            return Err(Refusal::new(431, "too many header lines"));
        }
        let lines = parsed.iter().map(|h| (h.name, h.value.trim_ascii()));
        let lengths = lines.clone().map(|(name, value)| (name.len(), value.len()));
        let (names, values) = lengths.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let mut headers = Lines {
            names: String::with_capacity(names),
            values: Vec::with_capacity(values),
            ends: Vec::with_capacity(parsed.len()),
        };
        for (name, value) in lines {
            headers.names.push_str(name);
            headers.values.extend_from_slice(value);
            let end = (headers.names.len(), headers.values.len());
            headers.ends.push(end);
        }
        Ok(Headers(Box::new(headers)))
    }
}

/// Error for a header that may occur only once and occurs several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoreThanOne;

/// A request head that is well formed. The server's `policy` decides if it may pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The method, a token.
    pub method: String,
    /// The target in origin form: begins with `/`, visible ASCII, no fragment.
    pub target: String,
    /// The authority of a target in absolute form.
    pub authority: Option<String>,
    /// The version.
    pub version: Version,
    /// The header lines.
    pub headers: Headers,
    /// Framing of the body.
    pub framing: Framing,
    /// True if the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
    /// True if the connection may be used again after this request.
    pub keep_alive: bool,
}

impl Head {
    /// Parses a complete head as delimited by [`HeadScan`], of at most `max_headers` lines.
    pub fn parse(bytes: &[u8], max_headers: usize) -> Result<Head, Refusal> {
        let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        match request.parse_with_uninit_headers(bytes, &mut lines) {
            Ok(Status::Complete(length)) if length == bytes.len() => {}
            Ok(_) => return Err(Refusal::malformed("the head ends early")),
            Err(error) => return Err(refusal(error)),
        }
        let headers = Headers::collect(request.headers, max_headers)?;
        let version = version(request.version)?;
        let method = method(request.method.expect("a complete request has one"))?;
        let (target, authority) =
            target(&method, request.path.expect("a complete request has one"))?;
        Ok(Head {
            framing: request_framing(&headers, version)?,
            expects_continue: expectation(&headers, version)?,
            keep_alive: version == Version::Http11 && !headers.lists("connection", "close"),
            method,
            target,
            authority,
            version,
            headers,
        })
    }
}

/// RFC 9112 section 3: 501 for a method that is longer than all served ones.
fn method(name: &str) -> Result<String, Refusal> {
    if name.len() > MAX_METHOD {
        return Err(Refusal::new(501, "the method's name is too long"));
    }
    Ok(name.to_owned())
}

fn version(minor: Option<u8>) -> Result<Version, Refusal> {
    match minor {
        Some(0) => Ok(Version::Http10),
        Some(1) => Ok(Version::Http11),
        _ => Err(Refusal::new(505, "only HTTP/1.0 and HTTP/1.1 are served")),
    }
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::TooManyHeaders => Refusal::new(431, "too many header lines"),
        Error::Version => Refusal::new(505, "only HTTP/1.0 and HTTP/1.1 are served"),
        Error::HeaderName => Refusal::malformed("malformed header name"),
        Error::HeaderValue => Refusal::malformed("malformed header value"),
        _ => Refusal::malformed("malformed request"),
    }
}

/// RFC 9112 section 3.2: origin form, or absolute form whose authority the policy compares
/// with the Host header. `CONNECT` and `*` have no use here.
fn target(method: &str, raw: &str) -> Result<(String, Option<String>), Refusal> {
    if matches!(method, "CONNECT" | "TRACE") {
        return Err(Refusal::new(405, "this method is not supported"));
    }
    if !raw.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
        return Err(Refusal::malformed("malformed request target"));
    }
    if raw.starts_with('/') {
        return Ok((raw.to_owned(), None));
    }
    let (scheme, rest) = raw
        .split_once("://")
        .ok_or(Refusal::malformed("malformed request target"))?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Refusal::malformed("only http targets are supported"));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((format!("{slash}{path}"), Some(authority.to_owned())))
}

/// RFC 9112 section 6. Refuses everything that two readers could read differently.
fn request_framing(headers: &Headers, version: Version) -> Result<Framing, Refusal> {
    let coding = headers
        .only("transfer-encoding")
        .map_err(|_| Refusal::malformed("more than one Transfer-Encoding"))?;
    let length = headers
        .only("content-length")
        .map_err(|_| Refusal::malformed("more than one Content-Length"))?;
    match (coding, length) {
        (Some(_), Some(_)) => Err(Refusal::malformed(
            "both Transfer-Encoding and Content-Length",
        )),
        (Some(_), None) if version == Version::Http10 => {
            Err(Refusal::malformed("Transfer-Encoding in HTTP/1.0"))
        }
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        (Some(_), None) => Err(Refusal::malformed("unknown Transfer-Encoding")),
        (None, Some(length)) => decimal(length).map(Framing::Length),
        (None, None) => Ok(Framing::Length(0)),
    }
}

/// Digits only, and no more than a signed reader takes: 2^63-1.
pub(in crate::http) fn decimal(digits: &[u8]) -> Result<u64, Refusal> {
    let malformed = || Refusal::malformed("malformed Content-Length");
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(malformed());
    }
    let most = u64::try_from(i64::MAX).expect("it is positive");
    let value = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok());
    let value = value.filter(|value| *value <= most);
    value.ok_or_else(|| Refusal::new(413, "the Content-Length is out of range"))
}

fn expectation(headers: &Headers, version: Version) -> Result<bool, Refusal> {
    match headers.only("expect") {
        Ok(None) => Ok(false),
        Ok(Some(value)) if value.eq_ignore_ascii_case(b"100-continue") => {
            Ok(version == Version::Http11)
        }
        _ => Err(Refusal::new(
            417,
            "only 'Expect: 100-continue' is supported",
        )),
    }
}

/// A decoded target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The path, decoded; begins with `/`, without empty, `.` or `..` segments.
    pub path: String,
    /// The parameters in order, decoded.
    pub query: Vec<(String, String)>,
}

impl Target {
    /// Decodes a target in origin form. Refuses forms that could name the same place in two ways: encoded slashes, dot
    /// segments, empty segments, control characters.
    pub fn parse(raw: &str) -> Result<Target, Refusal> {
        let (path, query) = raw.split_once('?').unwrap_or((raw, ""));
        Ok(Target {
            path: decode_path(path)?,
            query: form_fields(query)?,
        })
    }
}

fn decode_path(raw: &str) -> Result<String, Refusal> {
    let odd = || Refusal::malformed("invalid path");
    let rest = raw.strip_prefix('/').ok_or_else(odd)?;
    let slashes = raw.matches('/').count();
    let path = decode(raw, false)?;
    let doubled = path.matches('/').count() != slashes || path.contains('\\');
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let inner = segments.peek().is_some();
        if matches!(segment, "." | "..") || (segment.is_empty() && (inner && !rest.is_empty())) {
            return Err(odd());
        }
    }
    if doubled || path.chars().any(char::is_control) {
        return Err(odd());
    }
    Ok(path)
}

/// The fields of a query or a form (`application/x-www-form-urlencoded`), decoded, in order.
pub fn form_fields(raw: &str) -> Result<Vec<(String, String)>, Refusal> {
    raw.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(key, true)?, decode(value, true)?))
        })
        .collect()
}

/// Percent-decoding to UTF-8; `plus` as in forms, where `+` is a space.
fn decode(raw: &str, plus: bool) -> Result<String, Refusal> {
    let spaced = if plus {
        Cow::Owned(raw.replace('+', " "))
    } else {
        Cow::Borrowed(raw)
    };
    let bytes = percent::decode(&spaced).ok_or(Refusal::malformed("malformed percent-encoding"))?;
    let text = std::str::from_utf8(&bytes);
    text.map(str::to_owned)
        .map_err(|_| Refusal::malformed("the target is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8], split: usize) -> Result<Option<Head>, Refusal> {
        let mut scan = HeadScan::default();
        for end in (0..=input.len())
            .step_by(split)
            .skip(1)
            .chain([input.len()])
        {
            if let Some(range) = scan.scan(&input[..end], 32 * 1024)? {
                return Head::parse(&input[range], 100).map(Some);
            }
        }
        Ok(None)
    }

    /// Any input gets one verdict, however it arrives.
    fn assert_split_proof(input: &[u8]) {
        let whole = read(input, input.len().max(1));
        for split in [1, 2, 3, 7, 64] {
            assert_eq!(
                read(input, split),
                whole,
                "{:?}",
                input.escape_ascii().to_string()
            );
        }
    }

    /// Checks the properties of a head that the rest of the program relies on.
    fn assert_sound(head: &Head) {
        assert!(head.target.starts_with('/') && head.target.bytes().all(|b| b.is_ascii_graphic()));
        assert!(!head.method.is_empty() && head.method.bytes().all(|b| b.is_ascii_graphic()));
        for (name, value) in head.headers.iter() {
            assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b':'));
            assert!(value.iter().all(|b| !matches!(b, b'\r' | b'\n' | 0)));
        }
        assert!(head.framing != Framing::UntilClose);
    }

    #[test]
    fn a_head_is_read_however_it_is_split() {
        let input = b"\r\nPOST /a?b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\nrest";
        assert_split_proof(input);
        let head = read(input, 1).unwrap().unwrap();
        assert_eq!(
            (head.method.as_str(), head.target.as_str()),
            ("POST", "/a?b")
        );
        assert_eq!((head.framing, head.keep_alive), (Framing::Chunked, true));
    }

    #[test]
    fn the_caps_hold() {
        let mut long = b"GET / HTTP/1.1\r\n".to_vec();
        long.resize(40_000, b'x');
        assert_eq!(read(&long, 999).unwrap_err().status, 431);
        assert_eq!(read(&vec![b'x'; 40_000], 999).unwrap_err().status, 414);
        assert_split_proof(&long);
    }

    /// Smoke fuzz: mutations of heads, seeded so that a failure comes again.
    #[test]
    fn mutated_heads_get_one_verdict_and_never_panic() {
        let seeds: [&[u8]; 4] = [
            b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            b"POST http://h:1/ HTTP/1.1\r\nHost: h:1\r\nContent-Length: 12\r\n\r\n",
            b"PUT /%41?x HTTP/1.0\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"\r\nHEAD / HTTP/1.1\r\nExpect: 100-continue\r\nOrigin: null\r\n\r\n",
        ];
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |bound: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            usize::try_from(random % u64::try_from(bound.max(1)).unwrap()).unwrap()
        };
        let odd = b"\r\n\0 \t:,;#%/\x7f\x80\xff0aA";
        let mut passed = 0;
        for _ in 0..20_000 {
            let mut input = seeds[next(seeds.len())].to_vec();
            for _ in 0..next(4) {
                let at = next(input.len());
                match next(4) {
                    0 => input[at] = odd[next(odd.len())],
                    1 => input.insert(at, odd[next(odd.len())]),
                    2 => drop(input.remove(at)),
                    _ => input.extend_from_within(at..),
                }
            }
            assert_split_proof(&input);
            if let Ok(Some(head)) = read(&input, 5) {
                passed += 1;
                assert_sound(&head);
            }
        }
        assert!(
            passed > 1000,
            "only {passed} mutations passed: the seeds are no good"
        );
    }

    #[test]
    fn decodes_paths_and_queries() {
        let target = Target::parse("/a%20b/%c3%a9?db=x+y%2F&t=%00&flag&=v").unwrap();
        assert_eq!(target.path, "/a b/é");
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(
            target.query,
            [
                pair("db", "x y/"),
                pair("t", "\0"),
                pair("flag", ""),
                pair("", "v")
            ]
        );
        assert_eq!(Target::parse("/").unwrap().path, "/");
        assert_eq!(Target::parse("/a/").unwrap().path, "/a/");
    }

    #[test]
    fn refuses_what_names_a_place_in_two_ways() {
        for raw in [
            "//",
            "//a",
            "/a//b",
            "/a//",
            "/.",
            "/..",
            "/a/../b",
            "/a/./b",
            "/%2e%2e/a",
            "/%2E/a",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/%00",
            "/%0a",
            "/%7f",
            "/%",
            "/%4",
            "/%zz",
            "/%+1",
            "/%ff",
            "/?a=%",
            "/?%zz",
            "/?a=%ff",
        ] {
            assert!(Target::parse(raw).is_err(), "{raw}");
        }
    }
}
