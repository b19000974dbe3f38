//! Frames (RFC 6455 §5): headers in, verdicts out. No sockets here, and no payloads: those are
//! masked where they lie.
//!
//! tungstenite reads and writes the headers, and names opcodes, close codes and roles. The rules
//! above them are by hand: its `FrameSocket` reads and writes through one object and holds whole
//! frames, copies every payload, unmasks none, and takes a length that is not in the shortest form.

use std::io;
use std::io::Cursor;

use ring::rand::{SecureRandom, SystemRandom};
use tungstenite::protocol::Role;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

use super::error::FrameError;

/// Bytes of a control frame's payload (§5.5).
pub(super) const MAX_CONTROL: usize = 125;
/// Bytes of the longest header (§5.2).
const MAX_HEADER: usize = 14;
/// The only message there is: binary, and of one frame where it is sent here.
pub(super) const BINARY: OpCode = OpCode::Data(Data::Binary);
/// Bytes of a frame's payload that are accepted. Default 64 MiB: peers send some 32 KiB.
pub const MAX_FRAME: u64 = 64 * 1024 * 1024;

/// Returns the data of the frames that a server has sent so far; an error once the server closes.
pub(super) fn data(mut input: &[u8]) -> io::Result<Vec<u8>> {
    let mut parser = FrameParser::new(Role::Client);
    let mut data = Vec::new();
    while let Some((frame, size)) = parser.header(input)? {
        input = input.get(size..).expect("a header in it");
        let length = usize::try_from(frame.length).map_or(input.len(), |all| all.min(input.len()));
        let (payload, rest) = input.split_at(length);
        match frame.opcode {
            OpCode::Data(_) => data.extend_from_slice(payload),
            OpCode::Control(Control::Close) => return Err(io::ErrorKind::UnexpectedEof.into()),
            OpCode::Control(_) => {}
        }
        input = rest;
    }
    Ok(data)
}

/// An accepted header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) opcode: OpCode,
    pub(super) length: u64,
    pub(super) mask: Mask,
}

/// Checks the headers of one direction.
pub(super) struct FrameParser {
    /// Role of the receiving end.
    role: Role,
    /// True inside a fragmented message.
    is_fragmented: bool,
}

impl FrameParser {
    pub(super) fn new(role: Role) -> Self {
        Self {
            role,
            is_fragmented: false,
        }
    }

    /// True between two messages.
    pub(super) fn is_between(&self) -> bool {
        !self.is_fragmented
    }

    /// Reads the header at the front of `input`, and its size; none if it is incomplete.
    pub(super) fn header(&mut self, input: &[u8]) -> Result<Option<(Frame, usize)>, FrameError> {
        let mut cursor = Cursor::new(input);
        let parsed = FrameHeader::parse(&mut cursor).map_err(|_| FrameError::Opcode)?;
        let Some((header, length)) = parsed else {
            return Ok(None);
        };
        let size = usize::try_from(cursor.position()).expect("within a slice");
        // §5.2: the shortest form, or two readers could disagree.
        if header.len(length) != size {
            return Err(FrameError::Length);
        }
        self.check(&header, length)?;
        let frame = Frame {
            opcode: header.opcode,
            length,
            mask: Mask::new(header.mask.unwrap_or_default()),
        };
        Ok(Some((frame, size)))
    }

    fn check(&mut self, header: &FrameHeader, length: u64) -> Result<(), FrameError> {
        // §5.2: no extension was negotiated.
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return Err(FrameError::ReservedBit);
        }
        // §5.1.
        match (self.role, header.mask) {
            (Role::Server, None) => return Err(FrameError::Unmasked),
            (Role::Client, Some(_)) => return Err(FrameError::Masked),
            _ => {}
        }
        if length > MAX_FRAME {
            return Err(FrameError::TooLong);
        }
        match header.opcode {
            OpCode::Data(data) => self.data(data, header.is_final),
            OpCode::Control(Control::Reserved(_)) => Err(FrameError::Opcode),
            // §5.5.
            OpCode::Control(_) => {
                let is_short = usize::try_from(length).is_ok_and(|length| length <= MAX_CONTROL);
                let is_whole = header.is_final && is_short;
                is_whole.then_some(()).ok_or(FrameError::Control)
            }
        }
    }

    /// §5.4.
    fn data(&mut self, data: Data, is_final: bool) -> Result<(), FrameError> {
        match (data, self.is_fragmented) {
            (Data::Binary, false) | (Data::Continue, true) => {
                self.is_fragmented = !is_final;
                Ok(())
            }
            (Data::Binary | Data::Text, true) => Err(FrameError::Interleaved),
            (Data::Continue, false) => Err(FrameError::Continuation),
            (Data::Text, false) => Err(FrameError::Text),
            (Data::Reserved(_), _) => Err(FrameError::Opcode),
        }
    }
}

/// The payload that answers a close frame: the same code (§5.5.1).
pub(super) fn close_echo(payload: &[u8]) -> Result<Vec<u8>, FrameError> {
    match payload {
        [] => Ok(Vec::new()),
        &[high, low, ..] if may_be_sent(u16::from_be_bytes([high, low])) => Ok(vec![high, low]),
        _ => Err(FrameError::Close),
    }
}

/// §7.4.1, §7.4.2; 1014 was registered since.
fn may_be_sent(code: u16) -> bool {
    code == 1014 || CloseCode::from(code).is_allowed()
}

/// A header to send: the frame is the only one of its message.
pub(super) fn header(opcode: OpCode, length: usize, mask: Option<[u8; 4]>) -> HeaderBytes {
    let header = FrameHeader {
        opcode,
        mask,
        ..FrameHeader::default()
    };
    let mut cursor = Cursor::new([0; MAX_HEADER]);
    let length = u64::try_from(length).expect("a length has at most 64 bits");
    header
        .format(length, &mut cursor)
        .expect("there is room for the longest header");
    HeaderBytes {
        size: usize::try_from(cursor.position()).expect("within an array"),
        bytes: cursor.into_inner(),
    }
}

/// The bytes of a header.
pub(super) struct HeaderBytes {
    bytes: [u8; MAX_HEADER],
    size: usize,
}

impl HeaderBytes {
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.size).expect("a header was written")
    }
}

/// A masking key and the place in it (§5.3); a key of zeros changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mask([u8; 4]);

impl Mask {
    pub(super) fn new(key: [u8; 4]) -> Self {
        Self(key)
    }

    /// Masks or unmasks the next bytes of a payload, eight at a time.
    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        let Self([a, b, c, d]) = *self;
        if self.0 == [0; 4] {
            return;
        }
        let key = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
        let (words, rest) = bytes.as_chunks_mut();
        for word in words {
            *word = (u64::from_ne_bytes(*word) ^ key).to_ne_bytes();
        }
        for (byte, key) in rest.iter_mut().zip([a, b, c, d, a, b, c]) {
            *byte ^= key;
        }
        self.0.rotate_left(rest.len() % 4);
    }
}

/// Masking keys, from the system's random source (§10.3): one call for many. The library keeps its
/// own to itself.
pub(super) struct MaskKeys {
    random: SystemRandom,
    pool: [u8; 256],
    used: usize,
}

impl MaskKeys {
    pub(super) fn new() -> Self {
        let pool = [0; 256];
        Self {
            random: SystemRandom::new(),
            used: pool.len(),
            pool,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<[u8; 4]> {
        if self.used >= self.pool.len() {
            let filled = self.random.fill(&mut self.pool);
            filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
            self.used = 0;
        }
        let key = self.pool.get(self.used..).and_then(<[u8]>::first_chunk);
        self.used += 4;
        Ok(*key.expect("the pool holds a whole number of keys"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(role: Role, input: &[u8]) -> Result<Option<(OpCode, u64, usize)>, FrameError> {
        let found = FrameParser::new(role).header(input)?;
        Ok(found.map(|(frame, size)| (frame.opcode, frame.length, size)))
    }

    #[test]
    fn headers_are_judged() {
        let [ping, pong, close] =
            [Control::Ping, Control::Pong, Control::Close].map(OpCode::Control);
        let good: [(&[u8], OpCode, u64, usize); 8] = [
            (&[0x82, 0], BINARY, 0, 2),
            (&[0x02, 125], BINARY, 125, 2),
            (&[0x82, 126, 0, 126], BINARY, 126, 4),
            (&[0x82, 126, 0xff, 0xff, 9], BINARY, 65535, 4),
            (&[0x82, 127, 0, 0, 0, 0, 4, 0, 0, 0], BINARY, 64 << 20, 10),
            (&[0x89, 125], ping, 125, 2),
            (&[0x8a, 0], pong, 0, 2),
            (&[0x88, 2], close, 2, 2),
        ];
        for (input, opcode, length, size) in good {
            let found = verdict(Role::Client, input);
            assert_eq!(found, Ok(Some((opcode, length, size))), "{input:x?}");
            for cut in 0..size {
                assert_eq!(verdict(Role::Client, &input[..cut]), Ok(None), "{input:x?}");
            }
        }
    }

    #[test]
    fn broken_rules_are_named() {
        use FrameError::*;
        let bad: [(&[u8], FrameError); 20] = [
            (&[0xc2, 0], ReservedBit),
            (&[0xa2, 0], ReservedBit),
            (&[0x92, 0], ReservedBit),
            (&[0x83, 0], Opcode),
            (&[0x87, 0], Opcode),
            (&[0x8b, 0], Opcode),
            (&[0x8f, 0], Opcode),
            (&[0x82, 126, 0, 125], Length),
            (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Length),
            (&[0x82, 127, 0, 0, 0, 0, 4, 0, 0, 1], TooLong),
            (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], TooLong),
            (
                &[0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255],
                TooLong,
            ),
            (&[0x82, 0x80, 1, 2, 3, 4], Masked),
            (&[0x81, 0], Text),
            (&[0x01, 0], Text),
            (&[0x80, 0], Continuation),
            (&[0x00, 0], Continuation),
            (&[0x09, 0], Control),
            (&[0x89, 126, 0, 126], Control),
            (&[0x08, 0], Control),
        ];
        for (input, error) in bad {
            assert_eq!(verdict(Role::Client, input), Err(error), "{input:x?}");
        }
        assert_eq!(verdict(Role::Server, &[0x82, 0]), Err(Unmasked));
        let masked = [0x82, 0x85, 1, 2, 3, 4];
        assert_eq!(verdict(Role::Server, &masked), Ok(Some((BINARY, 5, 6))));
    }

    #[test]
    fn fragments_make_one_message() {
        let mut frames = FrameParser::new(Role::Client);
        for header in [[0x02, 1], [0x89, 0], [0x00, 1], [0x80, 1], [0x82, 1]] {
            assert!(frames.header(&header).unwrap().is_some(), "{header:x?}");
        }
        assert!(frames.is_between());
        assert!(frames.header(&[0x02, 1]).is_ok() && !frames.is_between());
        assert_eq!(frames.header(&[0x82, 1]), Err(FrameError::Interleaved));
        assert_eq!(frames.header(&[0x81, 1]), Err(FrameError::Interleaved));
    }

    #[test]
    fn a_close_is_echoed_with_its_code() {
        assert_eq!(close_echo(&[]), Ok(vec![]));
        assert_eq!(close_echo(b"\x03\xe8bye"), Ok(vec![3, 0xe8]));
        assert_eq!(close_echo(&4999u16.to_be_bytes()), Ok(vec![0x13, 0x87]));
        for code in [0u16, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000] {
            assert_eq!(
                close_echo(&code.to_be_bytes()),
                Err(FrameError::Close),
                "{code}"
            );
        }
        assert_eq!(close_echo(&[3]), Err(FrameError::Close));
        for code in 0..=u16::MAX {
            let registered = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
            assert_eq!(may_be_sent(code), registered, "{code}");
        }
    }

    #[test]
    fn masking_is_the_same_in_any_pieces() {
        let plain: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let simple: Vec<u8> = plain
            .iter()
            .zip(key.iter().cycle())
            .map(|(b, k)| b ^ k)
            .collect();
        for piece in 1..=37 {
            let (mut bytes, mut mask) = (plain.clone(), Mask::new(key));
            bytes.chunks_mut(piece).for_each(|piece| mask.apply(piece));
            assert_eq!(bytes, simple, "{piece}");
        }
    }

    #[test]
    fn the_example_of_the_rfc_comes_out() {
        // §5.7: a masked "Hello", here as binary.
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let mut hello = *b"Hello";
        Mask::new(key).apply(&mut hello);
        assert_eq!(hello, [0x7f, 0x9f, 0x4d, 0x51, 0x58]);
        let header = header(BINARY, hello.len(), Some(key));
        assert_eq!(header.bytes(), [0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d]);
    }

    #[test]
    fn keys_differ() {
        let mut keys = MaskKeys::new();
        let drawn: std::collections::HashSet<_> = (0..200).map(|_| keys.next().unwrap()).collect();
        assert!(drawn.len() > 190);
    }
}
