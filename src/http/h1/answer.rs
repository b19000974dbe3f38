//! Heads of answers: bytes of an application in, a parsed head or the line that is wrong out.
//!
//! Requests are refused at the first doubt, as two readers could read them differently. An answer is written afresh, so
//! what every other proxy passes on is passed on and made regular. Two framings in one answer stay refused:
//! `tests/data/answers.json` shows both, and what nginx, HAProxy and Caddy do.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use httparse::{Error, ParserConfig, Status};

use super::Refusal;
use super::body::Framing;
use super::head::{Headers, MAX_HEADERS, Version, decimal};
use crate::http::response::reason;

/// Bytes of a line that are quoted. Default 60.
const QUOTED: usize = 60;

/// The head of an answer of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerHead {
    /// The version.
    pub version: Version,
    /// The status, 100 to 999.
    pub status: u16,
    /// The phrase beside it, visible ASCII.
    pub reason: String,
    /// The header lines.
    pub headers: Headers,
    /// Framing of the body.
    pub framing: Framing,
}

impl AnswerHead {
    /// Parses a complete head; `to_head` when it answers a HEAD request. A refusal names the line.
    pub fn parse(bytes: &[u8], to_head: bool) -> Result<AnswerHead, Refusal> {
        let bytes = without_controls(bytes);
        let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut answer = httparse::Response::new(&mut []);
        let mut config = ParserConfig::default();
        config.allow_multiple_spaces_in_response_status_delimiters(true);
        match config.parse_response_with_uninit_headers(&mut answer, &bytes, &mut lines) {
            Ok(Status::Complete(length)) if length == bytes.len() => {}
            Err(Error::TooManyHeaders) => {
                let many = format!("it has more than {MAX_HEADERS} header lines");
                return Err(Refusal::new(502, many));
            }
            _ => return Err(Refusal::new(502, fault(&bytes))),
        }
        let status = answer.code.expect("a complete answer has one");
        let version = match answer.version {
            Some(0) => Version::Http10,
            _ => Version::Http11,
        };
        let headers = Headers::collect(answer.headers, MAX_HEADERS)?;
        Ok(AnswerHead {
            framing: framing(status, version, to_head, &headers)?,
            reason: phrase(&bytes, answer.reason.unwrap_or_default(), status),
            version,
            status,
            headers,
        })
    }
}

/// Control characters become spaces (RFC 9110 section 5.5), all but those that end lines, tabs and NUL.
fn without_controls(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_control = |byte: &u8| matches!(byte, 1..=8 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f);
    if !bytes.iter().any(is_control) {
        return Cow::Borrowed(bytes);
    }
    let mut clean = bytes.to_vec();
    clean
        .iter_mut()
        .filter(|byte| is_control(byte))
        .for_each(|byte| *byte = b' ');
    Cow::Owned(clean)
}

/// Returns the phrase; one that is not ASCII is replaced by the usual one: no client reads it (RFC 9112 section 4), and
/// relays of earlier versions refuse it.
fn phrase(head: &[u8], sent: &str, status: u16) -> String {
    let is_plain = |line: &[u8]| line.iter().all(|byte| *byte != b'\t' && byte.is_ascii());
    let line = lines(head).next();
    let kept = Some(sent).filter(|_| line.is_some_and(is_plain));
    kept.unwrap_or_else(|| reason(status)).to_owned()
}

/// RFC 9112 section 6.3.
fn framing(
    status: u16,
    version: Version,
    to_head: bool,
    headers: &Headers,
) -> Result<Framing, Refusal> {
    let broken = |why: String| Refusal::new(502, why);
    let coding = headers.only("transfer-encoding");
    let coding = coding.map_err(|_| broken("it has more than one Transfer-Encoding".to_owned()))?;
    let length = one_length(headers)?;
    if coding.is_some() && version == Version::Http10 {
        return Err(broken("it has Transfer-Encoding in HTTP/1.0".to_owned()));
    }
    if to_head || matches!(status, 100..=199 | 204 | 304) {
        return Ok(Framing::Length(0));
    }
    match (coding, length) {
        (None, None) => Ok(Framing::UntilClose),
        (None, Some(length)) => decimal(length).map(Framing::Length).map_err(|_| {
            broken(format!(
                "its Content-Length is “{}”, which is not a valid length",
                quoted(length)
            ))
        }),
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        (Some(coding), None) => Err(broken(format!(
            "its Transfer-Encoding is “{}”; only “chunked” is supported",
            quoted(coding)
        ))),
        (Some(_), Some(_)) => Err(broken(
            "it has both Content-Length and Transfer-Encoding".to_owned(),
        )),
    }
}

/// Returns the only length, however many lines or list items repeat it (RFC 9110 section 8.6).
fn one_length(headers: &Headers) -> Result<Option<&[u8]>, Refusal> {
    let lines = headers.all("content-length");
    let mut values = lines
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii);
    let Some(first) = values.next() else {
        return Ok(None);
    };
    match values.find(|other| *other != first) {
        None => Ok(Some(first)),
        Some(other) => {
            let (first, other) = (quoted(first), quoted(other));
            let why = format!("its Content-Length is both “{first}” and “{other}”");
            Err(Refusal::new(502, why))
        }
    }
}

/// Names the first line of a refused head that is wrong. Values are not shown: visitors read this too.
pub(in crate::http) fn fault(head: &[u8]) -> Cow<'static, str> {
    let mut lines = lines(head);
    let status_line = lines.next().unwrap_or_default();
    if !is_status_line(status_line) {
        let shown = quoted(status_line);
        return format!("its status line “{shown}” is malformed").into();
    }
    let wrong = (2..).zip(lines).find_map(|(number, line)| {
        let (name, why) = line_fault(line)?;
        let shown = match name {
            [] => String::new(),
            name => format!(" (“{}”)", quoted(name.trim_ascii_end())),
        };
        Some(format!("line {number} of its head{shown} {why}"))
    });
    wrong.map_or("its head is malformed".into(), Cow::Owned)
}

/// The lines of a head without their ends, up to the empty one; an empty one before the head is skipped.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines
        .enumerate()
        .filter(|(number, line)| *number > 0 || !line.is_empty())
        .map(|(_, line)| line)
        .take_while(|line| !line.is_empty())
}

/// RFC 9112 section 4, with any number of spaces.
fn is_status_line(line: &[u8]) -> bool {
    let version = [&b"HTTP/1.0 "[..], b"HTTP/1.1 "];
    let rest = version.iter().find_map(|known| line.strip_prefix(*known));
    let Some((status, phrase)) = rest.and_then(|rest| rest.trim_ascii_start().split_at_checked(3))
    else {
        return false;
    };
    status.iter().all(u8::is_ascii_digit)
        && matches!(phrase, [] | [b' ', ..])
        && !phrase.iter().any(|byte| matches!(byte, 0 | b'\r'))
}

/// Returns the name of a header line and its fault, if it has one.
fn line_fault(line: &[u8]) -> Option<(&[u8], &'static str)> {
    let end = line.iter().position(|byte| *byte == b':');
    let name = end.and_then(|end| line.get(..end)).unwrap_or_default();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let why = if line.contains(&b'\r') {
        "has a carriage return inside"
    } else if line.contains(&0) {
        "has a NUL byte inside"
    } else if matches!(line, [b' ' | b'\t', ..]) {
        return Some((b"", "begins with a space: folded lines are obsolete"));
    } else if end.is_none() {
        "has no colon"
    } else if name.is_empty() {
        "has no name"
    } else if name.trim_ascii_end().len() < name.len() {
        "has a space before the colon"
    } else if !name.iter().all(is_token) {
        "has an invalid name"
    } else {
        return None;
    };
    Some((name, why))
}

/// Returns the beginning of a text, fit to be shown.
fn quoted(text: &[u8]) -> String {
    let shown = text.get(..QUOTED).unwrap_or(text);
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{more}", shown.escape_ascii())
}
