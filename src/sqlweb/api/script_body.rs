//! The body of a script: the owner's is unpacked (gzip and UTF-16, each recognized by its first bytes, never by a
//! name), a shared web client's is read with limits.

use std::cell::{Cell, RefCell};
use std::io;
use std::io::{Cursor, ErrorKind, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;

use crate::sqlweb::limits::{SCRIPTS, SCRIPTS_OF_ONE};
use crate::sqlweb::visitors::Use;
use crate::sync::{Permit, Permits};

/// First bytes of a deflated gzip file (RFC 1952 section 2.3).
const GZIP: &[u8] = &[0x1f, 0x8b, 8];

/// Byte order marks of UTF-16, little and big endian.
const LITTLE: &[u8] = &[0xff, 0xfe];
const BIG: &[u8] = &[0xfe, 0xff];

/// Bytes that are decoded at once.
const PIECE: usize = 32 << 10;

/// Bytes of a script before it is counted as a large one.
const SMALL: usize = 64 << 10;

/// Time for the next statement to arrive: enough for the longest one at 35 KB a second.
const STATEMENT_TIME: Duration = crate::limits::STATEMENT_TIME;

/// Reads the script in `body`, decompressed, and from UTF-16 to UTF-8; other bytes are unchanged.
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

/// Reads unpacked bytes, with errors that name gzip.
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

/// Progress of a script, shared by its body and the code that runs it.
pub(super) struct ScriptProgress {
    /// End of the previous statement.
    since: Cell<Instant>,
    /// Number of bytes read.
    read: Cell<usize>,
    /// Set once its first statement is whole.
    has_begun: Cell<bool>,
    /// Permits of a script that is large or has no whole statement yet.
    permits: RefCell<Vec<Permit>>,
}

impl ScriptProgress {
    /// Progress of a script of which nothing has been read.
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            since: Cell::new(Instant::now()),
            read: Cell::new(0),
            has_begun: Cell::new(false),
            permits: RefCell::default(),
        })
    }

    /// Notes that a statement is complete; a small script then needs no permits.
    pub(super) fn mark_statement_read(&self) {
        self.has_begun.set(true);
        if !self.must_count() {
            self.permits.borrow_mut().clear();
        }
    }

    /// Restarts the time for the next statement.
    pub(super) fn restart_timeout(&self) {
        self.since.set(Instant::now());
    }

    fn must_count(&self) -> bool {
        !self.has_begun.get() || self.read.get() > SMALL
    }
}

/// Body of a script of a shared web client. Reading fails with [`ErrorKind::ResourceBusy`] if too many scripts are
/// being read that are large or have no whole statement yet, and with [`ErrorKind::TimedOut`] if no statement has ended
/// for too long.
pub(super) struct SharedBody<'a, R> {
    pub(super) body: R,
    pub(super) progress: Rc<ScriptProgress>,
    /// Permits for such scripts of all visitors.
    pub(super) scripts: &'a Permits,
    pub(super) uses: Option<Use>,
}

impl<R> SharedBody<'_, R> {
    fn count(&self) -> io::Result<()> {
        let mut permits = self.progress.permits.borrow_mut();
        if !permits.is_empty() || !self.progress.must_count() {
            return Ok(());
        }
        let own = self.uses.as_ref().map(|uses| &uses.scripts);
        let most = Use::most_of(self.uses.as_ref(), SCRIPTS);
        for (scripts, most) in [(Some(self.scripts), most), (own, SCRIPTS_OF_ONE)] {
            let Some(scripts) = scripts else { continue };
            let busy = "too many scripts are being read; try again when they have ended";
            let busy = || io::Error::new(ErrorKind::ResourceBusy, busy);
            permits.push(scripts.take(most).ok_or_else(busy)?);
        }
        Ok(())
    }
}

impl<R: Read> Read for SharedBody<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.progress.since.get().elapsed() > STATEMENT_TIME {
            let slow = "no statement has ended for two minutes, so the script is not read further";
            return Err(io::Error::new(ErrorKind::TimedOut, slow));
        }
        self.count()?;
        let count = self.body.read(into)?;
        self.progress.read.update(|read| read.saturating_add(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

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

    fn body<'a>(scripts: &'a Permits, uses: &Use) -> SharedBody<'a, io::Repeat> {
        SharedBody {
            body: io::repeat(b'a'),
            progress: ScriptProgress::new(),
            scripts,
            uses: Some(uses.clone()),
        }
    }

    #[test]
    fn large_scripts_are_few_for_all_and_fewer_for_one() {
        let (scripts, one) = (Permits::default(), Use::default());
        let mut large = vec![0; 2 * SMALL];
        let mut open = |uses: &Use| {
            let mut body = body(&scripts, uses);
            body.read_exact(&mut large[..])?;
            body.progress.mark_statement_read();
            body.read(&mut [0]).map(|_| body)
        };
        let held: Vec<_> = (0..SCRIPTS_OF_ONE).map(|_| open(&one).unwrap()).collect();
        let refused = open(&one).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::ResourceBusy);
        let visitors = Use::most_of(Some(&one), SCRIPTS);
        let others: Vec<_> = (SCRIPTS_OF_ONE..visitors)
            .map(|_| open(&Use::default()).unwrap())
            .collect();
        assert!(open(&Use::default()).is_err());
        drop(held);
        assert!(open(&one).is_ok());
        drop(others);
        assert_eq!((scripts.out(), one.scripts.out()), (0, 0));
    }

    #[test]
    fn a_small_script_counts_until_its_first_statement_is_whole() {
        let (scripts, one) = (Permits::default(), Use::default());
        let open = || {
            let mut body = body(&scripts, &one);
            body.read(&mut [0; 8]).map(|_| body)
        };
        let mut held: Vec<_> = (0..SCRIPTS_OF_ONE).map(|_| open().unwrap()).collect();
        assert!(open().is_err());
        held[0].progress.mark_statement_read();
        assert_eq!(one.scripts.out(), SCRIPTS_OF_ONE - 1);
        held.push(open().unwrap());
        held[0].read_exact(&mut [0; SMALL]).unwrap();
        assert!(held[0].read(&mut [0]).is_err(), "it is large now");
        drop(held);
        assert_eq!((scripts.out(), one.scripts.out()), (0, 0));
    }

    #[test]
    fn a_statement_that_does_not_end_is_not_waited_for() {
        let (scripts, uses) = (Permits::default(), Use::default());
        let mut body = body(&scripts, &uses);
        assert!(body.read(&mut [0]).is_ok());
        let long_ago = Instant::now().checked_sub(STATEMENT_TIME + Duration::from_secs(1));
        body.progress.since.set(long_ago.unwrap());
        let refused = body.read(&mut [0]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
    }
}
