//! Framing of bodies: which bytes are the body and where it ends. Bytes in, ranges out.

use std::ops::Range;

use super::Refusal;

/// Bytes of a chunk-size line. Extensions are legal and useless.
const MAX_SIZE_LINE: u16 = 256;
/// Bytes of all trailer lines of a body.
const MAX_TRAILER: u16 = 4096;
/// Hexadecimal digits of a chunk size: what fits a 64-bit number.
const MAX_SIZE_DIGITS: u8 = 16;
/// The largest chunk: no more than a signed reader takes.
const MAX_SIZE: u64 = u64::MAX >> 1;
const NEXT_CHUNK: BodyState = BodyState::Size {
    value: 0,
    digits: 0,
};

/// Framing of a body (RFC 9112 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked,
    /// All that comes until the connection closes (answers only).
    UntilClose,
}

/// Walks over a body as it arrives, in pieces of any size.
#[derive(Debug, Clone)]
pub struct Body {
    state: BodyState,
    /// True if chunks may have lines that end in a line feed alone, and spaces behind their sizes.
    is_answer: bool,
    /// Trailer lines so far, if they are passed on.
    trailers: Option<Vec<u8>>,
}

/// Fate of a byte of framing in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    AsIs,
    /// A part of an extension or a trailer.
    Dropped,
    /// A line feed that is to follow a carriage return.
    BehindCr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyState {
    Counted(u64),
    UntilClose,
    Size { value: u64, digits: u8 },
    Extension { value: u64, seen: u16 },
    SizeLf { value: u64 },
    Data(u64),
    DataCr,
    DataLf,
    LineStart { seen: u16 },
    Line { seen: u16 },
    LineLf { seen: u16 },
    LastLf,
    Done,
}

/// Result of one step over its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyStep {
    /// Bytes of the input that belong to the body and its framing.
    pub consumed: usize,
    /// Range of the body itself among them.
    pub data: Range<usize>,
}

impl Body {
    /// A body that has not begun.
    pub fn new(framing: Framing) -> Body {
        let state = match framing {
            Framing::Length(0) => BodyState::Done,
            Framing::Length(length) => BodyState::Counted(length),
            Framing::UntilClose => BodyState::UntilClose,
            Framing::Chunked => NEXT_CHUNK,
        };
        Body {
            state,
            is_answer: false,
            trailers: None,
        }
    }

    /// Makes the body of an application's answer, in the chunks that every other proxy reads: some servers pad sizes,
    /// others end lines in a line feed alone. [`Body::copy_plain`] makes them regular.
    pub fn of_answer(framing: Framing) -> Body {
        Body {
            is_answer: true,
            ..Body::new(framing)
        }
    }

    /// Makes [`Body::copy_plain`] pass the trailers on.
    pub fn with_trailers(self) -> Body {
        Body {
            trailers: Some(Vec::new()),
            ..self
        }
    }

    /// True if the body has ended.
    pub fn is_done(&self) -> bool {
        self.state == BodyState::Done
    }

    /// True if the end of the connection here is the end of the body.
    pub fn may_end_here(&self) -> bool {
        matches!(self.state, BodyState::Done | BodyState::UntilClose)
    }

    /// Takes `input` up to the end of the next stretch of data, or all of it.
    pub fn step(&mut self, input: &[u8]) -> Result<BodyStep, Refusal> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            if let Some(data) = self.data(input.len() - at) {
                return Ok(BodyStep {
                    consumed: at + data,
                    data: at..at + data,
                });
            }
            if self.is_done() {
                break;
            }
            self.state = self.framing_byte(byte)?;
            at += 1;
        }
        Ok(BodyStep {
            consumed: at,
            data: at..at,
        })
    }

    /// Returns the number of bytes of `input` that belong to the body and its framing, and if they must be copied
    /// because chunk extensions, trailers or irregular lines are among them.
    pub fn follow(&mut self, input: &[u8]) -> Result<(usize, bool), Refusal> {
        let mut at = 0;
        let mut has_extras = self.trailers.as_ref().is_some_and(|held| !held.is_empty());
        while let Some(&byte) = input.get(at).filter(|_| !self.is_done()) {
            if let Some(data) = self.data(input.len() - at) {
                at += data;
            } else {
                has_extras |= self.pass_framing(byte)? != Copied::AsIs;
                at += 1;
            }
        }
        Ok((at, has_extras))
    }

    /// Takes all of `input`, and adds it to `out` without chunk extensions: two readers could read those differently.
    /// `write` gets the trailer lines, and writes those that pass.
    pub fn copy_plain(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        write: &dyn Fn(&[u8], &mut Vec<u8>),
    ) -> Result<(), Refusal> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            if let Some(data) = self.data(input.len() - at) {
                let data = input.get(at..at + data);
                let data = data.expect("no more is data than there is");
                out.extend_from_slice(data);
                at += data.len();
            } else {
                let copied = self.pass_framing(byte)?;
                if self.state == BodyState::LastLf || self.is_done() {
                    let held = self.trailers.take().unwrap_or_default();
                    write(&held, out);
                }
                match copied {
                    Copied::AsIs => out.push(byte),
                    Copied::BehindCr => out.extend_from_slice(b"\r\n"),
                    Copied::Dropped => self.hold(byte),
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// Keeps a byte of a trailer line, if it is one.
    fn hold(&mut self, byte: u8) {
        if !matches!(self.state, BodyState::Extension { .. })
            && let Some(held) = &mut self.trailers
        {
            held.push(byte);
        }
    }

    /// Moves on by one byte of framing.
    fn pass_framing(&mut self, byte: u8) -> Result<Copied, Refusal> {
        let before = self.state;
        let is_bare = self.is_bare_lf(byte);
        self.state = self.framing_byte(byte)?;
        let is_extra = |state| {
            let mut extras = matches!(state, BodyState::Extension { .. });
            extras |= matches!(state, BodyState::Line { .. } | BodyState::LineLf { .. });
            extras
        };
        let ends_line = matches!(before, BodyState::LineLf { .. })
            || (is_bare && matches!(before, BodyState::Line { .. }));
        Ok(match (is_extra(self.state) || ends_line, is_bare) {
            (true, _) => Copied::Dropped,
            (false, true) => Copied::BehindCr,
            (false, false) => Copied::AsIs,
        })
    }

    /// True for a line feed of an answer that no carriage return precedes.
    fn is_bare_lf(&self, byte: u8) -> bool {
        let mut follows_cr = matches!(self.state, BodyState::SizeLf { .. } | BodyState::DataLf);
        follows_cr |= matches!(self.state, BodyState::LineLf { .. } | BodyState::LastLf);
        self.is_answer && byte == b'\n' && !follows_cr
    }

    /// Number of `available` bytes that are data; `None` where framing is expected.
    fn data(&mut self, available: usize) -> Option<usize> {
        let (left, counted) = match self.state {
            BodyState::UntilClose => return Some(available),
            BodyState::Counted(left) => (left, true),
            BodyState::Data(left) => (left, false),
            _ => return None,
        };
        let taken = usize::try_from(left).map_or(available, |left| left.min(available));
        let left = left - u64::try_from(taken).expect("a length has at most 64 bits");
        self.state = match (left, counted) {
            (0, true) => BodyState::Done,
            (0, false) => BodyState::DataCr,
            (left, true) => BodyState::Counted(left),
            (left, false) => BodyState::Data(left),
        };
        Some(taken)
    }

    /// RFC 9112 section 7.1, without the "bad white space" that it lets pass.
    fn framing_byte(&self, byte: u8) -> Result<BodyState, Refusal> {
        if self.is_bare_lf(byte) {
            let after_cr = Body {
                state: self.framing_byte(b'\r')?,
                ..Body::new(Framing::Chunked)
            };
            return after_cr.framing_byte(byte);
        }
        let text = matches!(byte, b'\t' | b' '..=b'~');
        Ok(match (self.state, byte) {
            (BodyState::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                size_digit(value, digits, byte)?
            }
            (BodyState::Size { value, digits: 1.. }, b'\r') => BodyState::SizeLf { value },
            (BodyState::Size { value, digits: 1.. }, b';') => {
                BodyState::Extension { value, seen: 0 }
            }
            (BodyState::Size { value, digits: 1.. }, b' ' | b'\t') if self.is_answer => {
                BodyState::Extension { value, seen: 0 }
            }
            (BodyState::Extension { value, .. }, b'\r') => BodyState::SizeLf { value },
            (BodyState::Extension { value, seen }, _) if text && seen < MAX_SIZE_LINE => {
                BodyState::Extension {
                    value,
                    seen: seen + 1,
                }
            }
            (BodyState::SizeLf { value: 0 }, b'\n') => BodyState::LineStart { seen: 0 },
            (BodyState::SizeLf { value }, b'\n') => BodyState::Data(value),
            (BodyState::DataCr, b'\r') => BodyState::DataLf,
            (BodyState::DataLf, b'\n') => NEXT_CHUNK,
            (BodyState::LineStart { .. }, b'\r') => BodyState::LastLf,
            (BodyState::Line { seen }, b'\r') => BodyState::LineLf { seen },
            (BodyState::LineStart { seen } | BodyState::Line { seen }, _)
                if text && seen < MAX_TRAILER =>
            {
                BodyState::Line { seen: seen + 1 }
            }
            (BodyState::LineLf { seen }, b'\n') => BodyState::LineStart { seen },
            (BodyState::LastLf, b'\n') => BodyState::Done,
            _ => return Err(Refusal::malformed("malformed chunk")),
        })
    }
}

fn size_digit(value: u64, digits: u8, byte: u8) -> Result<BodyState, Refusal> {
    let digit = char::from(byte).to_digit(16).map(u64::from);
    match digit {
        Some(digit) if digits < MAX_SIZE_DIGITS && value <= MAX_SIZE >> 4 => Ok(BodyState::Size {
            value: value << 4 | digit,
            digits: digits + 1,
        }),
        _ => Err(Refusal::malformed("chunk size out of range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(input: &[u8], split: usize) -> Result<(Vec<u8>, usize, bool), Refusal> {
        let mut body = Body::new(Framing::Chunked);
        let (mut out, mut total) = (Vec::new(), 0);
        for mut piece in input.chunks(split.max(1)) {
            while !piece.is_empty() && !body.is_done() {
                let step = body.step(piece)?;
                out.extend_from_slice(&piece[step.data.clone()]);
                total += step.consumed;
                piece = &piece[step.consumed..];
            }
        }
        Ok((out, total, body.is_done()))
    }

    #[test]
    fn chunks_read_the_same_however_they_are_split() {
        let input = b"5;a=b\r\nhello\r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET /";
        for split in 1..input.len() {
            let (out, total, done) = decode(input, split).unwrap();
            assert_eq!(out, b"hello0123456789");
            assert_eq!(total, input.len() - 5);
            assert!(done);
        }
    }

    #[test]
    fn malformed_chunks_are_refused_however_they_are_split() {
        let long = format!("5;{}\r\n", "x".repeat(300));
        let bad: [&[u8]; 15] = [
            b"\r\n",
            b"g\r\n",
            b"-5\r\n",
            b"+5\r\n",
            b"0x5\r\n",
            b" 5\r\n",
            b"5 \r\nhello\r\n",
            b"5\nhello\r\n",
            b"5;\nhello",
            b"5\r\nhelloX\r\n",
            b"5\r\nhello\n",
            b"10000000000000000\r\n",
            // A signed reader takes these for -1, and for the least number.
            b"FFFFFFFFFFFFFFFF\r\n",
            b"8000000000000000\r\n",
            long.as_bytes(),
        ];
        for input in bad {
            for split in 1..=input.len() {
                assert!(decode(input, split).is_err(), "{input:?} by {split}");
            }
        }
    }

    #[test]
    fn trailers_are_bounded() {
        let long = format!("0\r\n{}\r\n\r\n", "x: y\r\n".repeat(2000));
        assert!(decode(long.as_bytes(), 4096).is_err());
    }

    #[test]
    fn extensions_and_trailers_are_seen_and_left_out_however_they_are_split() {
        let input =
            b"5;a=b\r\nhello\r\n00A\r\n0123456789\r\n0;x\r\nX: y\r\nSet-Cookie: z\r\n\r\nGET";
        let plain = b"5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n";
        for split in 1..input.len() {
            let (mut seen, mut body) = (Body::new(Framing::Chunked), Body::new(Framing::Chunked));
            let (mut out, mut has_extras) = (Vec::new(), false);
            for piece in input.chunks(split) {
                let (taken, extras) = seen.follow(piece).unwrap();
                has_extras |= extras;
                body.copy_plain(&piece[..taken], &mut out, &|held, out| out.extend(held))
                    .unwrap();
            }
            assert!(seen.is_done() && has_extras);
            assert_eq!(out, plain, "{split}");
        }
        let mut body = Body::new(Framing::Chunked);
        assert_eq!(body.follow(&plain[..]), Ok((plain.len(), false)));
    }

    #[test]
    fn counted_bodies_leave_what_follows() {
        let mut body = Body::new(Framing::Length(3));
        let step = body.step(b"abcdef").unwrap();
        assert_eq!((step.consumed, step.data), (3, 0..3));
        assert!(body.is_done());
        assert_eq!(body.step(b"def").unwrap().consumed, 0);
    }
}
