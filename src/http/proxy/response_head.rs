//! An answer of an upstream on its way to the client. Bytes in, ranges out.
//!
//! The head is written afresh. The body passes as it is, its framing followed, so that the end of an
//! answer is known from its breaking off; only HTTP/1.0 gets chunks taken apart, and an answer that
//! ends with its connection is put into chunks.

use std::borrow::Cow;
use std::ops::Range;

use super::rules::Rules;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::body::{Body, Framing};
use crate::http::h1::head::{Head, HeadScan, Version, decimal};
use crate::http::h1::hop_by_hop;
use crate::http::h1::hop_by_hop::write_line;
use crate::http::h1::{Refusal, answer};

/// Bytes of an answer's head. Default 64 KiB: some applications set many cookies.
const MAX_HEAD: usize = crate::limits::ANSWER_HEAD;
/// Bytes that most heads stay below, with a short body. Default 512.
const USUAL_HEAD: usize = 512;
/// Interim answers before the answer. Default 16.
const MAX_INTERIM: usize = 16;
/// Beginning of an answer of HTTP/1 (RFC 9112 section 4).
const HTTP: &[u8] = b"HTTP/";

/// Fault of an answer that is not HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotHttp(pub(super) Cow<'static, str>);

impl NotHttp {
    fn because(why: &'static str) -> NotHttp {
        NotHttp(why.into())
    }
}

/// Passes one answer on.
pub(super) struct ResponseHead {
    /// True if the client asked by HEAD.
    to_head: bool,
    /// True if it speaks HTTP/1.0.
    is_old_client: bool,
    /// True if it takes trailers.
    takes_trailers: bool,
    interim: usize,
    part: AnswerPart,
    /// Status, once known.
    pub(super) status: Option<u16>,
    /// True if the client's connection may be used again after the answer.
    pub(super) keeps_client: bool,
    /// True if the upstream may.
    pub(super) keeps_upstream: bool,
}

/// Next part of the answer.
enum AnswerPart {
    Head(HeadScan),
    Body(Body, BodyMode),
    /// No more HTTP follows.
    Upgraded,
}

/// Form of the body for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyMode {
    /// The bytes as sent, with their framing followed.
    AsIs,
    /// Without its chunks: HTTP/1.0 has none.
    Unchunked,
    /// In chunks: the upstream ends it by closing, and the client has to know if that was the end. True once a chunk
    /// was sent.
    Chunked(bool),
}

/// Result of one step over its input.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// Bytes of the input that are finished.
    pub(super) consumed: usize,
    /// Bytes to be sent first.
    pub(super) before: Vec<u8>,
    /// Range of the input to be sent then.
    pub(super) body: Range<usize>,
}

impl ResponseHead {
    /// Begins the answer to `request`.
    pub(super) fn new(request: &Head) -> ResponseHead {
        ResponseHead {
            to_head: request.method == "HEAD",
            is_old_client: request.version == Version::Http10,
            takes_trailers: hop_by_hop::wants_trailers(request),
            interim: 0,
            part: AnswerPart::Head(HeadScan::of_answer()),
            status: None,
            keeps_client: request.keep_alive,
            keeps_upstream: true,
        }
    }

    /// True if the final head has been passed on.
    pub(super) fn has_head(&self) -> bool {
        !matches!(self.part, AnswerPart::Head(_))
    }

    /// True if all has been passed on.
    pub(super) fn is_done(&self) -> bool {
        matches!(&self.part, AnswerPart::Body(body, _) if body.is_done())
    }

    /// True if the bytes after it are not HTTP any more.
    pub(super) fn is_upgraded(&self) -> bool {
        matches!(self.part, AnswerPart::Upgraded)
    }

    /// True if a client can tell from its framing that this answer is not whole.
    pub(super) fn shows_its_end(&self) -> bool {
        match &self.part {
            AnswerPart::Body(body, _) if body.is_done() => true,
            AnswerPart::Body(_, BodyMode::Unchunked) => false,
            AnswerPart::Body(body, BodyMode::AsIs) => !body.may_end_here(),
            _ => true,
        }
    }

    /// Takes as much as possible of `input`, which begins at the end of the last step. It consumes nothing if it needs
    /// more. `last` if the client's connection is to end with this answer.
    pub(super) fn step(
        &mut self,
        rules: &dyn Rules,
        input: &[u8],
        last: bool,
    ) -> Result<Piece, NotHttp> {
        match &mut self.part {
            AnswerPart::Head(_) if !begins_http(input) => {
                Err(NotHttp::because(rules.name_protocol(input)))
            }
            AnswerPart::Head(scan) => {
                let found = scan.scan(input, MAX_HEAD);
                match found.map_err(|refusal| head_fault(scan.seen(input), &refusal))? {
                    Some(range) => self.head(rules, input, range, last),
                    None => Ok(Piece::default()),
                }
            }
            AnswerPart::Body(body, mode) => step_body(rules, body, mode, input),
            AnswerPart::Upgraded => Ok(Piece::default()),
        }
    }

    /// Returns the bytes to send if the upstream's end here; an error if they must not end here.
    pub(super) fn end(&mut self) -> Result<Vec<u8>, NotHttp> {
        self.keeps_upstream = false;
        match &mut self.part {
            AnswerPart::Body(body, mode) if body.may_end_here() => {
                let last: &[u8] = match mode {
                    BodyMode::Chunked(true) => b"\r\n0\r\n\r\n",
                    BodyMode::Chunked(false) => b"0\r\n\r\n",
                    _ => b"",
                };
                *body = Body::new(Framing::Length(0));
                Ok(last.to_vec())
            }
            _ => Err(NotHttp::because("it ended too early")),
        }
    }

    fn head(
        &mut self,
        rules: &dyn Rules,
        input: &[u8],
        range: Range<usize>,
        last: bool,
    ) -> Result<Piece, NotHttp> {
        let bytes = input
            .get(range.clone())
            .expect("a head lies in what was scanned");
        let answer =
            AnswerHead::parse(bytes, self.to_head).map_err(|refusal| NotHttp(refusal.message))?;
        let before = match answer.status {
            101 => self.upgrade(rules, &answer)?,
            100..=199 => self.interim(rules, &answer)?,
            200..=999 => self.begin(rules, &answer, last),
            status => {
                return Err(NotHttp(
                    format!("its status {status} is out of range").into(),
                ));
            }
        };
        Ok(Piece {
            consumed: range.end,
            before,
            body: range.end..range.end,
        })
    }

    fn upgrade(&mut self, rules: &dyn Rules, answer: &AnswerHead) -> Result<Vec<u8>, NotHttp> {
        let asked = rules.upgrade();
        let Some(protocol) = asked.filter(|asked| answer.headers.lists("upgrade", asked)) else {
            let why = "it switches to a protocol that was not requested";
            return Err(NotHttp::because(why));
        };
        self.part = AnswerPart::Upgraded;
        self.status = Some(answer.status);
        let mut out = status_and_lines(rules, answer);
        write_line(&mut out, "Connection", b"Upgrade");
        write_line(&mut out, "Upgrade", protocol.as_bytes());
        out.extend_from_slice(b"\r\n");
        Ok(out)
    }

    /// HTTP/1.0 knows no interim answers (RFC 9110 section 15.2).
    fn interim(&mut self, rules: &dyn Rules, answer: &AnswerHead) -> Result<Vec<u8>, NotHttp> {
        self.part = AnswerPart::Head(HeadScan::of_answer());
        if self.is_old_client || !rules.passes_interim() {
            return Ok(Vec::new());
        }
        self.interim += 1;
        if self.interim > MAX_INTERIM {
            return Err(NotHttp::because("it has too many interim answers"));
        }
        let mut out = status_and_lines(rules, answer);
        out.extend_from_slice(b"\r\n");
        Ok(out)
    }

    fn begin(&mut self, rules: &dyn Rules, answer: &AnswerHead, last: bool) -> Vec<u8> {
        let is_old_client = self.is_old_client;
        let mode = match (answer.framing, is_old_client) {
            (Framing::Chunked, true) => BodyMode::Unchunked,
            (Framing::UntilClose, false) => BodyMode::Chunked(false),
            _ => BodyMode::AsIs,
        };
        let endless =
            is_old_client && matches!(answer.framing, Framing::Chunked | Framing::UntilClose);
        self.keeps_client &= !(last || endless);
        self.keeps_upstream = answer.version == Version::Http11
            && answer.framing != Framing::UntilClose
            && !answer.headers.lists("connection", "close")
            && !self.is_bodiless(answer);
        let mut out = status_and_lines(rules, answer);
        self.write_framing(answer, mode, &mut out);
        if !self.keeps_client {
            write_line(&mut out, "Connection", b"close");
        }
        out.extend_from_slice(b"\r\n");
        self.status = Some(answer.status);
        self.part = AnswerPart::Body(self.body(answer, mode), mode);
        out
    }

    fn body(&self, answer: &AnswerHead, mode: BodyMode) -> Body {
        let body = Body::of_answer(answer.framing);
        if self.takes_trailers && mode == BodyMode::AsIs {
            body.with_trailers()
        } else {
            body
        }
    }

    /// True if HTTP has no place for a body (RFC 9110 section 6.4.1, and 15.3.6 of 205). Some applications send
    /// one all the same, sooner or later: it would be read as the answer to the next request.
    fn is_bodiless(&self, answer: &AnswerHead) -> bool {
        self.to_head || matches!(answer.status, 204 | 205 | 304)
    }

    /// An answer to HEAD, or a 304, tells the length that it would have had (RFC 9110 section 8.6).
    fn write_framing(&self, answer: &AnswerHead, mode: BodyMode, out: &mut Vec<u8>) {
        let bodiless = self.to_head || matches!(answer.status, 204 | 304);
        match (answer.framing, mode) {
            _ if bodiless => {
                let length = answer.headers.all("content-length").next();
                let length = length.and_then(|digits| decimal(digits).ok());
                if let Some(length) = length.filter(|_| answer.status != 204) {
                    write_length(out, length);
                }
            }
            (Framing::Length(length), _) => {
                write_length(out, length);
            }
            (Framing::Chunked, BodyMode::AsIs) | (Framing::UntilClose, BodyMode::Chunked(_)) => {
                write_line(out, "Transfer-Encoding", b"chunked");
            }
            _ => {}
        }
        if self.takes_trailers && (answer.framing, mode) == (Framing::Chunked, BodyMode::AsIs) {
            let announced = hop_by_hop::announced_trailers(&answer.headers);
            if !announced.is_empty() {
                write_line(out, "Trailer", &announced);
            }
        }
    }
}

/// Returns the fault of a head that could not be scanned to its end.
fn head_fault(seen: &[u8], refusal: &Refusal) -> NotHttp {
    NotHttp(match refusal.status {
        414 | 431 => format!("its head is larger than {} KiB", MAX_HEAD / 1024).into(),
        _ => answer::fault(seen),
    })
}

fn write_length(out: &mut Vec<u8>, length: u64) {
    let mut buffer = itoa::Buffer::new();
    write_line(out, "Content-Length", buffer.format(length).as_bytes());
}

fn status_and_lines(rules: &dyn Rules, answer: &AnswerHead) -> Vec<u8> {
    let mut out = Vec::with_capacity(USUAL_HEAD);
    let mut buffer = itoa::Buffer::new();
    // Three digits, behind one that is left out.
    let (_, status) = buffer.format(1000 + u64::from(answer.status)).split_at(1);
    for part in ["HTTP/1.1 ", status, " ", &answer.reason] {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    rules.write_lines(answer, &mut out);
    out
}

/// True if `input`, as far as it has come, is how an answer begins. One empty line before it is skipped.
fn begins_http(input: &[u8]) -> bool {
    let line = input.strip_prefix(b"\r\n").unwrap_or(input);
    let begin = line.get(..HTTP.len()).unwrap_or(line);
    HTTP.starts_with(begin) || input == b"\r"
}

fn step_body(
    rules: &dyn Rules,
    body: &mut Body,
    mode: &mut BodyMode,
    input: &[u8],
) -> Result<Piece, NotHttp> {
    let broken = |_| NotHttp::because("its chunks are malformed");
    if *mode == BodyMode::AsIs {
        let mut ahead = body.clone();
        let (consumed, has_extras) = ahead.follow(input).map_err(broken)?;
        if has_extras {
            return plain(rules, body, input, consumed);
        }
        *body = ahead;
        return Ok(Piece {
            consumed,
            before: Vec::new(),
            body: 0..consumed,
        });
    }
    let step = body.step(input).map_err(broken)?;
    let before = match mode {
        BodyMode::Chunked(begun) if !step.data.is_empty() => {
            let between = if *begun { "\r\n" } else { "" };
            *begun = true;
            format!("{between}{:x}\r\n", step.data.len()).into_bytes()
        }
        _ => Vec::new(),
    };
    Ok(Piece {
        consumed: step.consumed,
        before,
        body: step.data,
    })
}

/// Returns a piece without its chunk extensions, and with only the trailers that pass.
fn plain(
    rules: &dyn Rules,
    body: &mut Body,
    input: &[u8],
    consumed: usize,
) -> Result<Piece, NotHttp> {
    let input = input
        .get(..consumed)
        .expect("a step stays within its input");
    let mut before = Vec::with_capacity(consumed);
    let copied = body.copy_plain(input, &mut before, &|held, out| {
        hop_by_hop::write_trailers(held, &|name| rules.passes_trailer(name), out);
    });
    copied.map_err(|_| NotHttp::because("its chunks are malformed"))?;
    Ok(Piece {
        consumed,
        before,
        body: consumed..consumed,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::http::h1::hop_by_hop::end_to_end;

    /// Rules that pass everything.
    struct Plain;

    impl Rules for Plain {
        fn write_lines(&self, answer: &AnswerHead, out: &mut Vec<u8>) {
            end_to_end(&answer.headers).for_each(|(name, value)| write_line(out, name, value));
        }

        fn answer_time(&self) -> Option<Duration> {
            None
        }
    }

    fn request(version: &str) -> Head {
        let head = format!("GET / {version}\r\nHost: a\r\n\r\n");
        Head::parse(head.as_bytes(), 100).unwrap()
    }

    /// Passes an answer that arrives in pieces of `split` bytes, chunks' own
    /// borders aside, and whether it is whole.
    fn pass(request: &Head, input: &[u8], split: usize) -> (Vec<u8>, Result<bool, NotHttp>) {
        let mut answer = ResponseHead::new(request);
        let (mut out, mut at, mut end) = (Vec::new(), 0, 0);
        while end < input.len() && !answer.is_done() {
            end = (end + split).min(input.len());
            while at < end && !answer.is_done() {
                let piece = match answer.step(&Plain, &input[at..end], false) {
                    Ok(piece) => piece,
                    Err(why) => return (out, Err(why)),
                };
                let begun = answer.has_head() && piece.before.starts_with(b"HTTP/");
                if begun || request.version == Version::Http10 || piece.body.is_empty() {
                    out.extend_from_slice(&piece.before);
                }
                out.extend_from_slice(&input[at..end][piece.body.clone()]);
                at += piece.consumed;
                if piece.consumed == 0 {
                    break;
                }
            }
        }
        let whole = answer.is_done() || answer.end().is_ok();
        (out, Ok(whole))
    }

    /// An answer of `tests/data/answers.json`: the visitor gets `back`, or the owner reads the reason that it is
    /// `refused`. The behaviour of nginx 1.22, HAProxy 2.6 and Caddy 2.6 stands beside it.
    #[derive(serde::Deserialize)]
    struct OddAnswer {
        name: String,
        app: String,
        #[serde(default)]
        back: String,
        #[serde(default)]
        refused: String,
        /// True if the answer breaks off.
        #[serde(default)]
        cut: bool,
    }

    /// Returns a byte for each character, by its number.
    fn bytes(text: &str) -> Vec<u8> {
        let text = text
            .replace("{pad:61440}", &"x".repeat(61_440))
            .replace("{lines:130}", &"X-A: 1\r\n".repeat(130));
        text.chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect()
    }

    #[test]
    fn odd_answers_pass_where_every_other_proxy_passes_them_and_are_named_else() {
        let cases = include_str!("../../../tests/data/answers.json");
        let cases: Vec<OddAnswer> = serde_json::from_str(cases).unwrap();
        assert!(cases.len() >= 40, "{} cases", cases.len());
        let request = request("HTTP/1.1");
        for case in &cases {
            let app = bytes(&case.app);
            for split in [1, 2, 7, app.len()] {
                let (out, whole) = pass(&request, &app, split);
                if case.refused.is_empty() {
                    assert_eq!(whole, Ok(!case.cut), "{}", case.name);
                    assert_eq!(
                        out.escape_ascii().to_string(),
                        bytes(&case.back).escape_ascii().to_string(),
                        "{}",
                        case.name
                    );
                } else {
                    let why = whole.map_err(|NotHttp(why)| why.into_owned());
                    assert_eq!(why, Err(case.refused.clone()), "{}", case.name);
                }
            }
        }
    }

    #[test]
    fn any_answer_passes_the_same_however_it_arrives() {
        let seeds: [&[u8]; 5] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhellomore",
            b"HTTP/1.1 103 E\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nT: u\r\n\r\n",
            b"HTTP/1.0 200 OK\r\nSet-Cookie: a=1; Domain=b\r\n\r\nuntil the close",
            b"HTTP/1.1 304 Not Modified\r\nConnection: X-A\r\nX-A: b\r\n\r\n",
        ];
        let mut random = 42_u64;
        let mut next = move |below: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(random >> 33).unwrap() % below
        };
        for turn in 0..20_000 {
            let mut input = seeds[turn % seeds.len()].to_vec();
            for _ in 0..next(4) {
                let at = next(input.len());
                input[at] = b"\r\n :;,0aZ\x00\x80HTP1"[next(15)];
            }
            let request = request(["HTTP/1.1", "HTTP/1.0"][next(2)]);
            let (out, whole) = pass(&request, &input, input.len());
            for split in [1, 2, 7] {
                let (other, other_whole) = pass(&request, &input, split);
                let shown = input.escape_ascii().to_string();
                assert_eq!(other_whole, whole, "{shown}");
                if whole.is_ok() {
                    assert_eq!(other, out, "{shown}");
                }
            }
            let shown = String::from_utf8_lossy(&out).to_ascii_lowercase();
            assert!(!shown.contains("x-a: b") || input != seeds[4]);
        }
    }

    #[test]
    fn an_answer_is_known_by_as_much_as_has_come() {
        for begin in [
            "",
            "H",
            "HTTP",
            "HTTP/",
            "HTTP/1.1 200",
            "\r",
            "\r\n",
            "\r\nHT",
        ] {
            assert!(begins_http(begin.as_bytes()), "{begin:?}");
        }
        for begin in [
            "h",
            "HTP",
            "HTTPS",
            "S",
            "\n",
            "\r\n\r\n",
            "\0",
            " HTTP/1.1",
        ] {
            assert!(!begins_http(begin.as_bytes()), "{begin:?}");
        }
    }
}
