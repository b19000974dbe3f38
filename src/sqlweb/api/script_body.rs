//! The bytes of a script, out of what it comes in: gzip and UTF-16, each told by its first bytes and never by a name.

use std::io::{self, Cursor, ErrorKind, Read};

use flate2::read::MultiGzDecoder;

/// The first bytes of a gzip file (RFC 1952 section 2.3) that is deflated.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];

/// Byte order marks of UTF-16, little and big end first.
const LITTLE: &[u8] = &[0xff, 0xfe];
const BIG: &[u8] = &[0xfe, 0xff];

/// Bytes that are decoded at once.
const PIECE: usize = 32 << 10;

/// The script in `body`, decompressed and, where it is UTF-16, as UTF-8; all else comes as it is.
pub(super) fn script_of<'a>(body: impl Read + 'a) -> Box<dyn Read + 'a> {
    opened(body).unwrap_or_else(|error| Box::new(Failed(Some(error))))
}

/// A script that cannot be read from its first byte on.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn opened<'a>(body: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let (start, body) = started(body)?;
    if start.starts_with(GZIP) {
        let unpacked = Unpacked(MultiGzDecoder::new(body));
        let (start, unpacked) = started(unpacked)?;
        return Ok(as_utf8(&start, unpacked));
    }
    Ok(as_utf8(&start, body))
}

/// The first bytes of `body`, and all of it.
fn started<'a>(mut body: impl Read + 'a) -> io::Result<(Vec<u8>, Box<dyn Read + 'a>)> {
    let mut start = Vec::new();
    let wanted = u64::try_from(GZIP.len()).unwrap_or(u64::MAX);
    body.by_ref().take(wanted).read_to_end(&mut start)?;
    let whole = Cursor::new(start.clone()).chain(body);
    Ok((start, Box::new(whole)))
}

fn as_utf8<'a>(start: &[u8], body: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
    if !start.starts_with(LITTLE) && !start.starts_with(BIG) {
        return body;
    }
    Box::new(FromUtf16 {
        body,
        unit: if start.starts_with(BIG) {
            u16::from_be_bytes
        } else {
            u16::from_le_bytes
        },
        undecoded: Vec::new(),
        text: Cursor::new(Vec::new()),
    })
}

/// Reads unpacked bytes, with errors that say so.
struct Unpacked<R>(MultiGzDecoder<R>);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                io::Error::other(format!("the script is not a complete gzip file: {error}"))
            }
            _ => error,
        })
    }
}

/// UTF-8 out of UTF-16.
struct FromUtf16<R> {
    body: R,
    unit: fn([u8; 2]) -> u16,
    /// Bytes of a character whose rest is to come.
    undecoded: Vec<u8>,
    text: Cursor<Vec<u8>>,
}

impl<R: Read> FromUtf16<R> {
    /// Decodes the next piece; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let mut piece = vec![0; PIECE];
        let count = self.body.read(&mut piece)?;
        self.undecoded.extend(piece.iter().take(count));
        let units = self.undecoded.chunks_exact(2);
        let mut units: Vec<u16> = units
            .filter_map(<[u8]>::first_chunk)
            .map(|two| (self.unit)(*two))
            .collect();
        // The second half of a pair may be in the next piece.
        if count > 0
            && units
                .last()
                .is_some_and(|unit| (0xd800..0xdc00).contains(unit))
        {
            units.pop();
        }
        self.undecoded.drain(..2 * units.len());
        let text = String::from_utf16(&units);
        let broken = || io::Error::other("the script starts as UTF-16, but is not valid UTF-16");
        self.text = Cursor::new(text.map_err(|_| broken())?.into_bytes());
        if count == 0 && !self.undecoded.is_empty() {
            return Err(broken());
        }
        Ok(count > 0)
    }
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.text.read(into)?;
            if count > 0 || into.is_empty() || !self.advance()? {
                return Ok(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(1);
            self.0.read(into.get_mut(..most).unwrap())
        }
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        script_of(Slow(bytes)).read_to_end(&mut all)?;
        Ok(all)
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_script_is_unpacked_and_other_bytes_are_left_alone() {
        for plain in [
            &b""[..],
            b"S",
            b"SELECT 1;\n",
            b"\x1f\x8bx",
            b"INSERT '\xff\xfe\x00'",
        ] {
            assert_eq!(read(plain).unwrap(), plain);
            assert_eq!(read(&packed(plain)).unwrap(), plain);
        }
        let two = [packed(b"SELECT 1;"), packed(b"SELECT 2;")].concat();
        assert_eq!(read(&two).unwrap(), b"SELECT 1;SELECT 2;");
        let whole = packed(b"SELECT 1;");
        let cut = read(whole.get(..whole.len() - 9).unwrap()).unwrap_err();
        assert!(cut.to_string().contains("gzip"), "{cut}");
    }

    #[test]
    fn utf_16_becomes_utf_8() {
        let text = "\u{feff}SELECT 'žluť 🐴';";
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [&big, &little, &packed(&little)] {
            assert_eq!(read(bytes).unwrap(), text.as_bytes());
        }
        let odd = read(little.get(..little.len() - 1).unwrap()).unwrap_err();
        assert!(odd.to_string().contains("UTF-16"), "{odd}");
        assert!(read(&[0xff, 0xfe, 0x00, 0xdc]).is_err());
    }
}
