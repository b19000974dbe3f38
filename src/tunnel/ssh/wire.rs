//! The data types of RFC 4251 §5: reading them without trust, and writing them.

use super::error::Error;

const TRUNCATED: Error = Error::Protocol("a message ends too early");

/// Reads values from the front of a message.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The fields of a message, after its number.
    pub(super) fn after_kind(payload: &'a [u8]) -> Self {
        Self::new(payload.get(1..).expect("a message has its number"))
    }

    /// Returns the unread bytes.
    pub(super) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(TRUNCATED)?;
        self.rest = rest;
        Ok(head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        let (byte, rest) = self.rest.split_first().ok_or(TRUNCATED)?;
        self.rest = rest;
        Ok(*byte)
    }

    /// Every value but 0 is true.
    pub(super) fn boolean(&mut self) -> Result<bool, Error> {
        Ok(self.byte()? != 0)
    }

    pub(super) fn uint32(&mut self) -> Result<u32, Error> {
        let (head, rest) = self.rest.split_first_chunk::<4>().ok_or(TRUNCATED)?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*head))
    }

    pub(super) fn string(&mut self) -> Result<&'a [u8], Error> {
        let length = usize::try_from(self.uint32()?).map_err(|_| TRUNCATED)?;
        self.bytes(length)
    }

    /// A string that must be UTF-8, as texts and user names are (RFC 4251 §5).
    pub(super) fn text(&mut self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.string()?).map_err(|_| Error::Protocol("a text is not UTF-8"))
    }

    /// A name that must be printable US-ASCII (RFC 4251 §6) of at most `cap` bytes.
    pub(super) fn name(&mut self, cap: usize) -> Result<&'a str, Error> {
        let name = self.text()?;
        if name.len() > cap || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Protocol("a name is too long or not printable"));
        }
        Ok(name)
    }

    /// The names of a name-list, in order.
    pub(super) fn names(
        &mut self,
    ) -> Result<impl Iterator<Item = &'a str> + Clone + use<'a>, Error> {
        let list = self.text()?;
        if !list.is_ascii() {
            return Err(Error::Protocol("a name-list is not US-ASCII"));
        }
        Ok(list.split(',').filter(|name| !name.is_empty()))
    }

    /// A non-negative mpint without its leading zeros.
    pub(super) fn unsigned(&mut self) -> Result<&'a [u8], Error> {
        let bytes = self.string()?;
        if bytes.first().is_some_and(|byte| byte & 0x80 != 0) {
            return Err(Error::Protocol("a number is negative"));
        }
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        Ok(bytes.get(zeros..).expect("counted in it"))
    }

    /// Checks that nothing follows.
    pub(super) fn end(self) -> Result<(), Error> {
        match self.rest {
            [] => Ok(()),
            _ => Err(Error::Protocol("a message has bytes after its end")),
        }
    }
}

/// Appends values to a message.
pub(super) trait Put {
    /// Raw bytes, without a length.
    fn put(&mut self, bytes: &[u8]);

    fn put_byte(&mut self, byte: u8) {
        self.put(&[byte]);
    }

    fn put_bool(&mut self, value: bool) {
        self.put_byte(u8::from(value));
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    fn put_string(&mut self, bytes: &[u8]) {
        self.put_u32(length(bytes));
        self.put(bytes);
    }

    /// A name-list (RFC 4251 §5).
    fn put_names<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let names: Vec<&str> = names.collect();
        self.put_string(names.join(",").as_bytes());
    }

    /// An mpint from big-endian bytes that mean a non-negative number.
    fn put_unsigned(&mut self, bytes: &[u8]) {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let digits = bytes.get(zeros..).expect("counted in it");
        let sign = digits.first().is_some_and(|byte| byte & 0x80 != 0);
        self.put_u32(length(digits).saturating_add(u32::from(sign)));
        if sign {
            self.put_byte(0);
        }
        self.put(digits);
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Put for ring::digest::Context {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

/// The length of something that a cap keeps far below 4 GiB.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("messages are capped far below 4 GiB")
}

/// A count of bytes as a number that cannot overflow when summed.
pub(super) fn wide(count: usize) -> u64 {
    u64::try_from(count).expect("a length has at most 64 bits")
}

/// The beginning of a text that is sent.
pub(super) fn capped(text: &str, cap: usize) -> &str {
    text.get(..text.floor_char_boundary(cap))
        .expect("cut between two characters")
}

/// A peer's text, cut to `cap` bytes, with a mark where it was, and without control characters (RFC 4251 §9.2).
pub(super) fn printable(text: &[u8], cap: usize) -> String {
    let cut = text.get(..cap).unwrap_or(text);
    let mark = if cut.len() < text.len() {
        "… (cut)"
    } else {
        ""
    };
    let shown = String::from_utf8_lossy(cut);
    let shown = shown.chars().chain(mark.chars());
    shown
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsigned(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_unsigned(bytes);
        out
    }

    #[test]
    fn numbers_are_written_as_the_rfc_shows_them() {
        // RFC 4251 §5, the examples of mpint.
        assert_eq!(unsigned(&[]), [0, 0, 0, 0]);
        assert_eq!(unsigned(&[0, 0]), [0, 0, 0, 0]);
        assert_eq!(unsigned(&[0x80]), [0, 0, 0, 2, 0, 0x80]);
        let long = [0x09, 0xa3, 0x78, 0xf9, 0xb2, 0xe3, 0x32, 0xa7];
        assert_eq!(unsigned(&long)[..4], [0, 0, 0, 8]);
        assert_eq!(unsigned(&long)[4..], long);
    }

    #[test]
    fn numbers_are_read_back() {
        for digits in [&[][..], &[1], &[0x80, 0], &[0xff; 32]] {
            assert_eq!(Fields::new(&unsigned(digits)).unsigned().unwrap(), digits);
        }
        let negative = [0, 0, 0, 1, 0xff];
        assert!(Fields::new(&negative).unsigned().is_err());
    }

    #[test]
    fn nothing_is_read_past_the_end() {
        assert!(Fields::new(&[0, 0, 0]).uint32().is_err());
        assert!(Fields::new(&[0, 0, 0, 2, 1]).string().is_err());
        assert!(Fields::new(&[0xff; 8]).string().is_err());
        assert!(Fields::new(&[]).byte().is_err());
        assert!(Fields::new(&[1]).end().is_err());
    }

    #[test]
    fn names_are_printable_and_short() {
        let mut bytes = Vec::new();
        bytes.put_string(b"two words");
        assert!(Fields::new(&bytes).name(64).is_err());
        bytes.clear();
        bytes.put_string(&[b'a'; 65]);
        assert!(Fields::new(&bytes).name(64).is_err());
    }

    #[test]
    fn a_list_of_names_round_trips() {
        let mut bytes = Vec::new();
        bytes.put_names(["a", "b@c"].into_iter());
        assert_eq!(
            Fields::new(&bytes).names().unwrap().collect::<Vec<_>>(),
            ["a", "b@c"]
        );
        assert_eq!(Fields::new(&[0; 4]).names().unwrap().count(), 0);
    }

    #[test]
    fn a_peers_text_cannot_drive_a_terminal() {
        assert_eq!(printable(b"a\x1b[2Jb\nc", 64), "a [2Jb c");
        assert_eq!(printable(b"abc", 2), "ab… (cut)");
    }
}
