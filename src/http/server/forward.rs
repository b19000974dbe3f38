//! How an answer from behind goes on to the client. Bytes in, ranges out.
//!
//! The head is written afresh; the body passes as it is, its framing followed, so that the
//! end of an answer is known from its abortion. Only a client of HTTP/1.0 gets chunks
//! taken apart.

use std::ops::Range;

use super::date;
use super::{HSTS, Refusal};
use crate::http::h1::body::{Body, Framing};
use crate::http::h1::head::{AnswerHead, Head, HeadScan, Version};

/// Bytes of an answer's head.
const MAX_HEAD: usize = 64 * 1024;

/// Header lines that belong to one connection only (RFC 9110 section 7.6.1), and those
/// that are written afresh.
pub const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "te",
    "trailer",
    "upgrade",
    "transfer-encoding",
    "content-length",
    "date",
];

/// Passes one answer on.
#[derive(Debug)]
pub struct Forward {
    to_head: bool,
    version: Version,
    keep_alive: bool,
    is_https: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Head(HeadScan),
    Body { body: Body, unchunk: bool },
}

/// What one step made of its input.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Bytes of the input that are done with.
    pub consumed: usize,
    /// To be sent first.
    pub head: Vec<u8>,
    /// Which bytes of the input are to be sent then.
    pub body: Range<usize>,
}

impl Forward {
    /// For the answer to `request`; `keep_alive` when the connection may be used again,
    /// `is_https` when clients are to come by `https` alone.
    pub fn new(request: &Head, keep_alive: bool, is_https: bool) -> Forward {
        Forward {
            to_head: request.method == "HEAD",
            version: request.version,
            keep_alive: keep_alive && request.keep_alive,
            is_https,
            state: State::Head(HeadScan::default()),
        }
    }

    /// Whether the answer's head has been passed on.
    pub fn has_begun(&self) -> bool {
        matches!(self.state, State::Body { .. })
    }

    /// Whether the whole answer has been passed on.
    pub fn is_done(&self) -> bool {
        matches!(&self.state, State::Body { body, .. } if body.is_done())
    }

    /// Whether the answer may end where the way behind ended.
    pub fn may_end_here(&self) -> bool {
        matches!(&self.state, State::Body { body, .. } if body.may_end_here())
    }

    /// Whether the client's connection stays open after the answer.
    pub fn keeps_alive(&self) -> bool {
        self.keep_alive
    }

    /// Takes what it can of `input`, which begins where the last step ended. Nothing
    /// consumed means that it needs more.
    pub fn step(&mut self, input: &[u8]) -> Result<Piece, Refusal> {
        match &mut self.state {
            State::Head(scan) => match scan.scan(input, MAX_HEAD)? {
                Some(range) => self.head(input, range),
                None => Ok(Piece::default()),
            },
            State::Body {
                body,
                unchunk: true,
            } => {
                let step = body.step(input)?;
                Ok(piece(step.consumed, step.data))
            }
            State::Body { body, .. } => {
                let consumed = body.follow(input)?;
                Ok(piece(consumed, 0..consumed))
            }
        }
    }

    fn head(&mut self, input: &[u8], range: Range<usize>) -> Result<Piece, Refusal> {
        let bytes = input.get(range.clone()).unwrap_or_default();
        let answer = AnswerHead::parse(bytes, self.to_head)?;
        let unchunk = self.version == Version::Http10 && answer.framing == Framing::Chunked;
        if unchunk || answer.framing == Framing::UntilClose {
            self.keep_alive = false;
        }
        let head = self.write_head(&answer);
        self.state = State::Body {
            body: Body::new(answer.framing),
            unchunk,
        };
        Ok(Piece {
            consumed: range.end,
            head,
            body: range.end..range.end,
        })
    }

    fn write_head(&self, answer: &AnswerHead) -> Vec<u8> {
        let mut out = format!("HTTP/1.1 {} {}\r\n", answer.status, answer.reason).into_bytes();
        for (name, value) in answer.headers.iter() {
            if !HOP_BY_HOP.iter().any(|hop| hop.eq_ignore_ascii_case(name)) {
                header(&mut out, name, value);
            }
        }
        self.write_framing(answer, &mut out);
        header(&mut out, "Date", date::now().as_bytes());
        if self.is_https {
            header(&mut out, "Strict-Transport-Security", HSTS.as_bytes());
        }
        if !self.keep_alive {
            header(&mut out, "Connection", b"close");
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    /// A HEAD request is told the length that GET would have (RFC 9110 section 8.6).
    fn write_framing(&self, answer: &AnswerHead, out: &mut Vec<u8>) {
        let chunked = answer.headers.lists("transfer-encoding", "chunked");
        if chunked && self.version == Version::Http11 {
            header(out, "Transfer-Encoding", b"chunked");
        }
        if let Some(length) = answer.headers.all("content-length").next() {
            header(out, "Content-Length", length);
        }
    }
}

fn piece(consumed: usize, body: Range<usize>) -> Piece {
    Piece {
        consumed,
        head: Vec::new(),
        body,
    }
}

fn header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
