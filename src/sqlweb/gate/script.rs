//! The statements of a script, one after another, as its bytes come.
//!
//! Beside what the server takes, `DELIMITER` lines work as in the client programs: up to the next one a statement ends at
//! that sign, wherever it stands outside quotes and comments.

use std::io::{self, ErrorKind, Read};

use super::dialect::Dialect;
use super::split::split;

/// Bytes read ahead before the first statement is given. A browser reads nothing of an answer before it has sent the
/// whole body, so what it sends at once must find room without it.
const AHEAD: usize = 4 << 20;

/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// Bytes of statements that are done with, after which they are let go.
const DONE: usize = 1 << 20;

/// What some editors begin a file with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Longest sign that may end statements, in bytes.
const MAX_DELIMITER: usize = 32;

/// What a script is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptForm {
    /// SQL, as client programs read it.
    Sql,
    /// A JSON string a line, each a statement.
    Lines,
}

/// A statement of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptStatement {
    /// Where it begins, in bytes.
    pub(crate) offset: u64,
    /// The line in which it begins, from 1.
    pub(crate) line: u64,
    /// The text, without what ends it.
    pub(crate) sql: String,
}

/// Reads statements from a source.
pub(crate) struct Script<R> {
    source: R,
    form: ScriptForm,
    dialect: Dialect,
    /// What statements end with.
    delimiter: String,
    /// Longest statement, in bytes.
    most: usize,
    text: String,
    /// Bytes of the text that are done with.
    at: usize,
    /// Bytes behind the text that are no whole character yet.
    cut: Vec<u8>,
    is_ended: bool,
    /// Where `at` is in the script.
    offset: u64,
    line: u64,
}

/// What the beginning of a text is.
enum Found {
    /// A statement between these bytes, and where what ends it ends.
    Statement(usize, usize, usize),
    /// Nothing to run in so many bytes.
    Nothing(usize),
    /// A line that sets the delimiter, and its end.
    Delimiter(String, usize),
    /// Its end is not here; begins and ends so far.
    Open(usize, usize),
}

impl<R: Read> Script<R> {
    /// The statements of `source`, each of at most `most` bytes, ended by `delimiter`.
    pub(crate) fn new(
        source: R,
        form: ScriptForm,
        dialect: Dialect,
        delimiter: &str,
        most: usize,
    ) -> Self {
        Self {
            source,
            form,
            dialect,
            delimiter: delimiter.to_owned(),
            most,
            text: String::new(),
            at: 0,
            cut: Vec::new(),
            is_ended: false,
            offset: 0,
            line: 1,
        }
    }

    /// The sign that ends statements now.
    pub(crate) fn delimiter(&self) -> &str {
        &self.delimiter
    }

    /// Where what was not given out begins, in bytes, and its line.
    pub(crate) fn rest(&self) -> (u64, u64) {
        (self.offset, self.line)
    }

    /// The next statement; with `part` not the last one unless it is seen to be whole. Fails where the source does, where
    /// it is not UTF-8, and at a statement that is too long.
    pub(crate) fn next(&mut self, part: bool) -> io::Result<Option<ScriptStatement>> {
        if self.offset == 0 && self.text.is_empty() {
            self.fill(AHEAD)?;
            if self.form == ScriptForm::Sql && self.text.starts_with(BYTE_ORDER_MARK) {
                self.take(BYTE_ORDER_MARK.len_utf8());
            }
        }
        loop {
            // Where a part ends, a comment, a word or a delimiter may go on.
            let is_whole = self.is_ended && !part;
            let (start, end, taken) = match self.find(is_whole) {
                Found::Nothing(taken) => {
                    let is_all = self.at + taken == self.text.len();
                    self.take(taken);
                    if is_all && self.is_ended {
                        return if part { Ok(None) } else { self.is_whole() };
                    }
                    if is_all {
                        self.fill(PIECE)?;
                    }
                    continue;
                }
                Found::Delimiter(delimiter, taken) => {
                    self.delimiter = delimiter;
                    self.take(taken);
                    continue;
                }
                Found::Open(start, _) if !self.is_ended => {
                    // Looked at again when there is twice as much, so that a long statement is not read too often.
                    let open = self.text.len() - self.at;
                    if open > self.most {
                        self.take(start);
                        return Err(self.too_long());
                    }
                    let more = open.min(self.most - open);
                    self.fill(more.max(PIECE))?;
                    continue;
                }
                Found::Open(..) if part => return Ok(None),
                Found::Open(start, end) => (start, end, self.text.len() - self.at),
                Found::Statement(start, end, taken) => (start, end, taken),
            };
            return self.give(start, end, taken).map(Some);
        }
    }

    fn give(&mut self, start: usize, end: usize, taken: usize) -> io::Result<ScriptStatement> {
        let rest = self.left();
        let before = rest.get(..start).expect("it begins within the text");
        let line = self.line + lines(before);
        let text = rest.get(start..end).expect("it ends within the text");
        let sql = match self.form {
            ScriptForm::Sql => text.to_owned(),
            ScriptForm::Lines => serde_json::from_slice(text.as_bytes()).map_err(|error| {
                io::Error::other(format!("line {line} is no JSON string: {error}"))
            })?,
        };
        let offset = self.offset + count(start);
        if sql.len() > self.most {
            self.take(start);
            return Err(self.too_long());
        }
        self.take(taken);
        Ok(ScriptStatement { offset, line, sql })
    }

    fn too_long(&self) -> io::Error {
        let most = self.most >> 20;
        io::Error::new(
            ErrorKind::FileTooLarge,
            format!(
                "the statement that begins in line {} is longer than {most} MiB, the most that is sent here; split it",
                self.line
            ),
        )
    }

    fn left(&self) -> &str {
        self.text
            .get(self.at..)
            .expect("no more is taken than there is")
    }

    fn take(&mut self, bytes: usize) {
        let taken = self
            .left()
            .get(..bytes)
            .expect("it was found within the text");
        self.line += lines(taken);
        self.offset += count(bytes);
        self.at += bytes;
        if self.at >= DONE {
            self.text.drain(..self.at);
            self.at = 0;
        }
    }

    fn is_whole(&self) -> io::Result<Option<ScriptStatement>> {
        if self.cut.is_empty() {
            Ok(None)
        } else {
            Err(self.no_text())
        }
    }

    /// Reads so many bytes more, or to the end.
    fn fill(&mut self, more: usize) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut read = 0;
        while read < more && !self.is_ended {
            let count = self.source.read(&mut piece)?;
            read += count;
            self.is_ended = count == 0;
            let new = piece
                .get(..count)
                .expect("no more is read than there is room");
            self.append(new)?;
        }
        Ok(())
    }

    fn append(&mut self, new: &[u8]) -> io::Result<()> {
        let joined;
        let mut bytes = new;
        if !self.cut.is_empty() {
            joined = [&self.cut, new].concat();
            bytes = &joined;
        }
        let (whole, cut) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, &[][..]),
            Err(error) if error.error_len().is_none() => {
                let (whole, cut) = bytes.split_at(error.valid_up_to());
                (std::str::from_utf8(whole).expect("so much is valid"), cut)
            }
            Err(_) => return Err(self.no_text()),
        };
        self.text.push_str(whole);
        self.cut = cut.to_vec();
        Ok(())
    }

    fn no_text(&self) -> io::Error {
        let line = self.line + lines(self.left());
        io::Error::other(format!(
            "what follows line {line} is not UTF-8 text; convert the file first"
        ))
    }

    fn find(&self, is_whole: bool) -> Found {
        let text = self.left();
        if self.form == ScriptForm::Lines {
            return line_of(text);
        }
        let Some(start) = beginning(text) else {
            // A comment that is not closed yet.
            return if is_whole {
                Found::Nothing(text.len())
            } else {
                Found::Open(0, text.len())
            };
        };
        let rest = text.get(start..).expect("it begins within the text");
        if rest.is_empty() {
            return Found::Nothing(start);
        }
        if let Some(found) = delimiter_line(rest, is_whole) {
            return found.moved(start);
        }
        let found = if self.delimiter == ";" && rest.starts_with(';') {
            Found::Nothing(1)
        } else if self.delimiter == ";" {
            plain(rest, &self.dialect, is_whole)
        } else {
            up_to(rest, &self.delimiter)
        };
        found.moved(start)
    }
}

impl Found {
    /// The same, found so many bytes later.
    fn moved(self, by: usize) -> Self {
        match self {
            Self::Statement(start, end, taken) => Self::Statement(start + by, end + by, taken + by),
            Self::Nothing(taken) => Self::Nothing(taken + by),
            Self::Delimiter(delimiter, taken) => Self::Delimiter(delimiter, taken + by),
            Self::Open(start, end) => Self::Open(start + by, end + by),
        }
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn lines(text: &str) -> u64 {
    count(text.bytes().filter(|&byte| byte == b'\n').count())
}

fn line_of(text: &str) -> Found {
    match text.find('\n') {
        _ if text.trim().is_empty() => Found::Nothing(text.len()),
        None => Found::Open(0, text.len()),
        Some(0) => Found::Nothing(1),
        Some(end) => Found::Statement(0, end, end + 1),
    }
}

/// Behind space and comments; `None` within a comment that has no end. What a server may execute is no comment.
fn beginning(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let space = rest.len() - rest.trim_start().len();
        let rest = rest.get(space..)?;
        at += space;
        match comment(rest) {
            0 => return Some(at),
            usize::MAX => return None,
            length => at += length,
        }
    }
}

/// Bytes of the comment that `text` begins with: 0 where it does not, `usize::MAX` where it does not end.
fn comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_line = match bytes {
        [b'#', ..] => true,
        [b'-', b'-', next, ..] => next.is_ascii_whitespace() || next.is_ascii_control(),
        _ => false,
    };
    if is_line {
        return text.find('\n').map_or(usize::MAX, |end| end + 1);
    }
    match bytes {
        [b'/', b'*', b'!' | b'+', ..] | [b'/', b'*', b'M', b'!', ..] => 0,
        [b'/', b'*', ..] => text.find("*/").map_or(usize::MAX, |end| end + 2),
        _ => 0,
    }
}

/// `DELIMITER //`, where `text` begins with one.
fn delimiter_line(text: &str, is_ended: bool) -> Option<Found> {
    const WORD: &str = "DELIMITER";
    let word = text.get(..WORD.len())?;
    let behind = text.get(WORD.len()..)?;
    if !word.eq_ignore_ascii_case(WORD) || !behind.starts_with([' ', '\t']) {
        return None;
    }
    let end = match text.find('\n') {
        Some(end) => end + 1,
        None if is_ended => text.len(),
        None => return Some(Found::Open(0, text.len())),
    };
    let line = text.get(WORD.len()..end)?;
    let sign = line.split_whitespace().next();
    let sign = sign
        .filter(|sign| sign.len() <= MAX_DELIMITER)
        .unwrap_or(";");
    Some(Found::Delimiter(sign.to_owned(), end))
}

/// As the server sees statements.
fn plain(text: &str, dialect: &Dialect, is_ended: bool) -> Found {
    let mut statements = split(text, dialect);
    match statements.next_ended() {
        None if is_ended => Found::Nothing(text.len()),
        None => Found::Open(0, text.len()),
        Some((span, true)) => Found::Statement(span.start, span.end, statements.taken()),
        Some((span, false)) => Found::Open(span.start, span.end),
    }
}

/// As client programs do it with a sign that was set: quotes and comments hide it.
fn up_to(text: &str, delimiter: &str) -> Found {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(delimiter.as_bytes()) {
            let end = text.get(..at).unwrap_or_default().trim_end().len();
            let taken = at + delimiter.len();
            return if end == 0 {
                Found::Nothing(taken)
            } else {
                Found::Statement(0, end, taken)
            };
        }
        let skipped = match byte {
            b'\'' | b'"' | b'`' => quoted(rest),
            b'#' | b'-' | b'/' => comment(text.get(at..).unwrap_or_default()),
            _ => 1,
        };
        if skipped == usize::MAX {
            break;
        }
        at += skipped.max(1);
    }
    Found::Open(0, text.trim_end().len())
}

/// Bytes of the quoted text that `bytes` begins with; `usize::MAX` where it does not end.
fn quoted(bytes: &[u8]) -> usize {
    let quote = bytes.first().copied();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' && quote != Some(b'`') {
            at += 1;
        } else if Some(byte) == quote {
            return at + 1;
        }
        at += 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives at most so many bytes at once.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(self.1);
            self.0.read(&mut into[..most])
        }
    }

    fn script(text: &[u8], piece: usize) -> Script<Slow<'_>> {
        let dialect = Dialect::mariadb((10, 11, 0));
        Script::new(Slow(text, piece), ScriptForm::Sql, dialect, ";", 1 << 20)
    }

    fn all(text: &str, piece: usize) -> Vec<(u64, u64, String)> {
        let mut script = script(text.as_bytes(), piece);
        let next = || script.next(false).unwrap();
        std::iter::from_fn(next)
            .map(|one| (one.offset, one.line, one.sql))
            .collect()
    }

    #[test]
    fn a_dump_is_taken_apart_as_its_client_does_it() {
        let text = "-- Dump\n/*!40101 SET NAMES utf8 */;\nINSERT INTO t VALUES ('a;b\\';', \"x\"\"y;\"), (2);\n\
            DELIMITER ;;\n/*!50003 CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 1; END */;;\n\
            CREATE PROCEDURE p() BEGIN /* ;; */ SELECT ';;'; END;;\ndelimiter ;\nCREATE PROCEDURE q() BEGIN SELECT 1; END;\n\
            # the end;\nSELECT 'ä'";
        let found = all(text, usize::MAX);
        let texts: Vec<_> = found.iter().map(|(_, _, sql)| sql.as_str()).collect();
        assert_eq!(
            texts,
            [
                "/*!40101 SET NAMES utf8 */",
                "INSERT INTO t VALUES ('a;b\\';', \"x\"\"y;\"), (2)",
                "/*!50003 CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 1; END */",
                "CREATE PROCEDURE p() BEGIN /* ;; */ SELECT ';;'; END",
                "CREATE PROCEDURE q() BEGIN SELECT 1; END",
                "SELECT 'ä'",
            ]
        );
        let lines: Vec<_> = found.iter().map(|(_, line, _)| *line).collect();
        assert_eq!(lines, [2, 3, 5, 6, 8, 10]);
        for (offset, _, sql) in &found {
            let at = usize::try_from(*offset).unwrap();
            assert!(text[at..].starts_with(sql.as_str()), "{sql}");
        }
        for piece in 1..20 {
            assert_eq!(all(text, piece), found, "{piece} bytes at once");
        }
    }

    #[test]
    fn a_byte_order_mark_is_left_out() {
        let found = all("\u{feff}SELECT 1;\nSELECT '\u{feff}'", 2);
        let one = |offset, line, sql: &str| (offset, line, sql.to_owned());
        assert_eq!(
            found,
            [one(3, 1, "SELECT 1"), one(13, 2, "SELECT '\u{feff}'")]
        );
    }

    /// The statements of a text that is sent in parts of so many bytes, what a part leaves with the next.
    fn in_parts(text: &str, size: usize) -> Vec<String> {
        let (mut at, mut most, mut delimiter) = (0, size, ";".to_owned());
        let mut found = Vec::new();
        loop {
            let end = (at + most).min(text.len());
            let part = Slow(&text.as_bytes()[at..end], 7);
            let dialect = Dialect::mariadb((10, 11, 0));
            let mut script = Script::new(part, ScriptForm::Sql, dialect, &delimiter, 1 << 20);
            while let Some(one) = script.next(end < text.len()).unwrap() {
                found.push(one.sql);
            }
            if end == text.len() {
                return found;
            }
            let taken = usize::try_from(script.rest().0).unwrap();
            delimiter = script.delimiter().to_owned();
            (at, most) = (at + taken, if taken == 0 { most * 2 } else { size });
        }
    }

    #[test]
    fn a_text_in_parts_is_the_same_as_whole_wherever_it_is_cut() {
        let text = "-- a; comment 'of words\nSELECT 1; # and; another\n/* one; of\n lines */ SELECT 'a;b', \"c;\" ;\nDELIMITER ;;\n\
            BEGIN NOT ATOMIC SELECT 2; END;;\n-- ;; here\nDELIMITER ;\nSELECT 3 -- x;\n;\n\n;SELECT 4\n-- the end; of it";
        let whole: Vec<String> = all(text, 1 << 20).into_iter().map(|one| one.2).collect();
        assert_eq!(whole.len(), 5, "{whole:?}");
        for size in 1..text.len() {
            assert_eq!(in_parts(text, size), whole, "in parts of {size} bytes");
        }
    }

    #[test]
    fn a_part_leaves_what_may_go_on() {
        let mut script = script(b"SELECT 1; SELECT 'a", 5);
        assert_eq!(script.next(true).unwrap().unwrap().sql, "SELECT 1");
        assert_eq!(script.next(true).unwrap(), None);
        assert_eq!(script.rest(), (9, 1));
    }

    #[test]
    fn what_is_no_text_and_what_is_too_long_is_told() {
        let error = script(b"SELECT 1;\n\xff", 4).next(false).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
        let long = format!("SELECT 1;\nSELECT '{}", "x".repeat(3 << 20));
        let mut script = script(long.as_bytes(), 1 << 16);
        assert!(script.next(false).unwrap().is_some());
        let error = script.next(false).unwrap_err();
        assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
    }

    #[test]
    fn a_long_script_is_read_in_pieces_and_let_go() {
        let text = "INSERT INTO t VALUES (1, 'some text');\n".repeat(200_000);
        let mut script = script(text.as_bytes(), 1 << 16);
        let mut count = 0;
        while script.next(false).unwrap().is_some() {
            count += 1;
            assert!(script.text.capacity() < 16 << 20);
        }
        assert_eq!((count, script.line), (200_000, 200_001));
    }
}
