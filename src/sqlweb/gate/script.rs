//! Reads the statements of a script one after another while its bytes arrive.
//!
//! Commands of client programs are also recognized ([`super::console`]). After a `DELIMITER` line a statement ends at
//! that sign anywhere outside quotes and comments.

use std::io::{self, ErrorKind, Read};

use super::console::{Command, ConsoleCommand, command, place};
use super::dialect::Dialect;
use super::lexer::is_space;
use super::split::split;

/// Bytes read ahead before the first statement is returned. A browser reads no answer before it has sent the whole
/// body, so a body of this size must be read before answering.
const AHEAD: usize = 4 << 20;

/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// Bytes of finished statements after which they are dropped.
const DONE: usize = 1 << 20;

/// Byte-order mark with which some editors begin a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Form of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptForm {
    /// SQL, read as client programs do.
    Sql,
    /// One JSON string per line, each a statement.
    Lines,
}

/// A statement of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptStatement {
    /// Its start, in bytes.
    pub(crate) offset: u64,
    /// Line in which it begins, from 1.
    pub(crate) line: u64,
    /// The text without its delimiter, in the session's character set.
    pub(crate) sql: Vec<u8>,
    /// True if a delimiter that was set ended it, so that the server itself finds the statements in it, as with its own
    /// console.
    pub(crate) is_delimited: bool,
    /// Set if it is a command to this program, which goes to no server.
    pub(crate) command: Option<ConsoleCommand>,
}

/// Reads statements from a source.
pub(crate) struct Script<R> {
    source: R,
    form: ScriptForm,
    dialect: Dialect,
    /// Delimiter of statements.
    delimiter: String,
    /// Longest statement, in bytes.
    most: usize,
    text: Vec<u8>,
    /// Number of finished bytes of the text.
    at: usize,
    is_ended: bool,
    /// Position of `at` in the script.
    offset: u64,
    line: u64,
}

/// Beginning of a text, with places in bytes.
enum TextStart {
    /// A statement: its start, its end, and the end of its delimiter.
    Statement(usize, usize, usize),
    /// Bytes without anything to run.
    Nothing(usize),
    /// A command of a client program: its start and end.
    Command(Command, usize, usize),
    /// A statement whose end is not here yet: its start, and its end so far.
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
            text: Vec::new(),
            at: 0,
            is_ended: false,
            offset: 0,
            line: 1,
        }
    }

    /// The current delimiter.
    pub(crate) fn delimiter(&self) -> &str {
        &self.delimiter
    }

    /// Start of the rest that was not returned, in bytes, and its line.
    pub(crate) fn rest(&self) -> (u64, u64) {
        (self.offset, self.line)
    }

    /// Reads on in that dialect.
    pub(crate) fn follow(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// The next statement; for a `part`, without a last one that may continue. Fails if the source fails, and at a
    /// statement that is too long.
    pub(crate) fn next(&mut self, part: bool) -> io::Result<Option<ScriptStatement>> {
        if self.offset == 0 && self.text.is_empty() {
            self.fill(AHEAD)?;
            if self.form == ScriptForm::Sql && self.text.starts_with(BYTE_ORDER_MARK) {
                self.take(BYTE_ORDER_MARK.len());
            }
        }
        loop {
            // At the end of a part, a comment, a word or a delimiter may continue.
            let is_whole = self.is_ended && !part;
            let (start, end, taken) = match self.find(is_whole) {
                TextStart::Nothing(taken) => {
                    let is_all = self.at + taken == self.text.len();
                    self.take(taken);
                    if is_all && self.is_ended {
                        return Ok(None);
                    }
                    if is_all {
                        self.fill(PIECE)?;
                    }
                    continue;
                }
                TextStart::Command(command, start, taken) => {
                    match self.command(command, start, taken) {
                        None => continue,
                        told => return Ok(told),
                    }
                }
                TextStart::Open(start, _) if !self.is_ended => {
                    // Searched again at twice the size, so that a long statement is not searched too often.
                    let open = self.text.len() - self.at;
                    if open > self.most {
                        self.take(start);
                        return Err(self.too_long());
                    }
                    let more = open.min(self.most - open);
                    self.fill(more.max(PIECE))?;
                    continue;
                }
                TextStart::Open(..) if part => return Ok(None),
                TextStart::Open(start, end) => (start, end, self.text.len() - self.at),
                TextStart::Statement(start, end, taken) => (start, end, taken),
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
            ScriptForm::Sql => text.to_vec(),
            ScriptForm::Lines => serde_json::from_slice::<String>(text)
                .map_err(|error| {
                    io::Error::other(format!("line {line} is not a JSON string: {error}"))
                })?
                .into_bytes(),
        };
        let is_delimited = self.form == ScriptForm::Sql && self.delimiter != ";";
        let offset = self.offset + count(start);
        if sql.len() > self.most {
            self.take(start);
            return Err(self.too_long());
        }
        self.take(taken);
        Ok(ScriptStatement {
            offset,
            line,
            sql,
            is_delimited,
            command: None,
        })
    }

    fn command(&mut self, command: Command, start: usize, taken: usize) -> Option<ScriptStatement> {
        self.take(start);
        let text = self.left().get(..taken - start);
        let text = text.expect("it was found within the text").trim_ascii();
        let (sql, command) = match command {
            Command::Sql(sql) => (sql.into_bytes(), None),
            Command::Own(Some(command)) => (text.to_vec(), Some(command)),
            Command::Own(None) => (Vec::new(), None),
            Command::Delimiter(sign) => {
                self.delimiter = sign;
                (Vec::new(), None)
            }
        };
        let (offset, line) = (self.offset, self.line);
        self.take(taken - start);
        let statement = ScriptStatement {
            offset,
            line,
            sql,
            is_delimited: false,
            command,
        };
        (!statement.sql.is_empty()).then_some(statement)
    }

    fn too_long(&self) -> io::Error {
        let most = self.most >> 20;
        io::Error::new(
            ErrorKind::FileTooLarge,
            format!(
                "the statement that begins in line {} is longer than {most} MiB, the limit here; split it",
                self.line
            ),
        )
    }

    fn left(&self) -> &[u8] {
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

    /// Reads `more` bytes, or to the end.
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
            self.text.extend_from_slice(new);
        }
        Ok(())
    }

    fn find(&self, is_whole: bool) -> TextStart {
        let text = self.left();
        if self.form == ScriptForm::Lines {
            return line_of(text);
        }
        let Some(start) = beginning(text, &self.dialect) else {
            // The text is an unclosed comment.
            return if is_whole {
                TextStart::Nothing(text.len())
            } else {
                TextStart::Open(0, text.len())
            };
        };
        let rest = text.get(start..).expect("it begins within the text");
        if rest.is_empty() {
            return TextStart::Nothing(start);
        }
        match command(rest, self.delimiter.as_bytes(), is_whole) {
            Ok(None) => {}
            Ok(Some((command, taken))) => return TextStart::Command(command, start, start + taken),
            Err(()) => return TextStart::Open(start, text.len()),
        }
        let found = if self.delimiter == ";" && rest.starts_with(b";") {
            TextStart::Nothing(1)
        } else if self.delimiter == ";" {
            plain(rest, &self.dialect, is_whole)
        } else {
            up_to(rest, self.delimiter.as_bytes(), &self.dialect)
        };
        found.moved(start)
    }
}

impl TextStart {
    /// Moves the places by `by` bytes.
    fn moved(self, by: usize) -> Self {
        match self {
            Self::Statement(start, end, taken) => Self::Statement(start + by, end + by, taken + by),
            Self::Nothing(taken) => Self::Nothing(taken + by),
            Self::Command(command, start, taken) => Self::Command(command, start + by, taken + by),
            Self::Open(start, end) => Self::Open(start + by, end + by),
        }
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn lines(text: &[u8]) -> u64 {
    count(text.iter().filter(|&&byte| byte == b'\n').count())
}

/// Number of bytes of `text` without trailing space.
fn trimmed(text: &[u8]) -> usize {
    let last = text.iter().rposition(|&byte| !is_space(byte));
    last.map_or(0, |last| last + 1)
}

fn line_of(text: &[u8]) -> TextStart {
    match text.iter().position(|&byte| byte == b'\n') {
        _ if trimmed(text) == 0 => TextStart::Nothing(text.len()),
        None => TextStart::Open(0, text.len()),
        Some(0) => TextStart::Nothing(1),
        Some(end) => TextStart::Statement(0, end, end + 1),
    }
}

/// Position behind space and comments; `None` if a comment is not closed. An executable comment is not skipped. Two
/// dashes begin a comment whatever follows, as in the consoles.
fn beginning(text: &[u8], dialect: &Dialect) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let space = rest.iter().take_while(|&&byte| is_space(byte)).count();
        at += space;
        let rest = rest.get(space..)?;
        let found = match rest {
            [b'-', b'-', ..] => line_comment(rest),
            _ => comment(rest, dialect),
        };
        match found {
            0 => return Some(at),
            usize::MAX => return None,
            length => at += length,
        }
    }
}

/// Bytes of the comment at the beginning of `text`: 0 if there is none, `usize::MAX` if it is not closed.
fn comment(text: &[u8], dialect: &Dialect) -> usize {
    let is_line = match text {
        [b'#', ..] => true,
        [b'-', b'-', next, ..] => next.is_ascii_whitespace() || next.is_ascii_control(),
        _ => false,
    };
    match text {
        _ if is_line => line_comment(text),
        [b'/', b'*', b'!' | b'+', ..] => 0,
        [b'/', b'*', b'M', b'!', ..] if dialect.mariadb => 0,
        [b'/', b'*', rest @ ..] => place(rest, b"*/").map_or(usize::MAX, |end| end + 4),
        _ => 0,
    }
}

fn line_comment(text: &[u8]) -> usize {
    place(text, b"\n").map_or(usize::MAX, |end| end + 1)
}

/// Finds a statement by the server's rules.
fn plain(text: &[u8], dialect: &Dialect, is_ended: bool) -> TextStart {
    let mut statements = split(text, dialect);
    match statements.next_ended() {
        None if is_ended => TextStart::Nothing(text.len()),
        None => TextStart::Open(0, text.len()),
        Some((span, true)) => TextStart::Statement(span.start, span.end, statements.taken()),
        Some((span, false)) => TextStart::Open(span.start, span.end),
    }
}

/// Finds a statement by a delimiter that was set, outside quotes, comments and hints, as client programs do.
fn up_to(text: &[u8], delimiter: &[u8], dialect: &Dialect) -> TextStart {
    let (mut at, mut end) = (0, 0);
    while let Some(&byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let is_go = matches!(rest, [b'\\', b'g' | b'G', ..]);
        if is_go || rest.starts_with(delimiter) {
            let taken = at + if is_go { 2 } else { delimiter.len() };
            return if end == 0 {
                TextStart::Nothing(taken)
            } else {
                TextStart::Statement(0, end, taken)
            };
        }
        let comment = match byte {
            b'#' | b'-' | b'/' => comment(rest, dialect),
            _ => 0,
        };
        let skipped = match byte {
            _ if comment > 0 => comment,
            b'\'' | b'"' | b'`' => quoted(rest, dialect),
            b'/' if rest.starts_with(b"/*+") => {
                place(rest, b"*/").map_or(usize::MAX, |end| end + 2)
            }
            b'$' if !dialect.mariadb => dollar_text(rest),
            b'\\' if matches!(rest.get(1), Some(b'\'' | b'"' | b'`')) => 2,
            _ => 1,
        };
        at = at.saturating_add(skipped.max(1)).min(text.len());
        if comment == 0 && !is_space(byte) {
            end = at;
        }
    }
    TextStart::Open(0, end)
}

/// Bytes of MySQL's `$tag$ … $tag$` at the beginning of `bytes`; 0 if there is none.
fn dollar_text(bytes: &[u8]) -> usize {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let tag = 1 + bytes
        .iter()
        .skip(1)
        .take_while(|byte| is_name(byte))
        .count();
    match bytes.split_at_checked(tag + 1) {
        Some((tag, text)) if tag.ends_with(b"$") => {
            place(text, tag).map_or(usize::MAX, |length| length + 2 * tag.len())
        }
        _ => 0,
    }
}

/// Bytes of the quoted text at the beginning of `bytes`; `usize::MAX` if it is not closed.
fn quoted(bytes: &[u8], dialect: &Dialect) -> usize {
    let quote = bytes.first().copied();
    let is_text = quote == Some(b'\'') || quote == Some(b'"') && !dialect.ansi_quotes;
    let escapes = is_text && !dialect.no_backslash_escapes;
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' && escapes {
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

    /// Returns at most so many bytes at once.
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
            .map(|one| (one.offset, one.line, String::from_utf8(one.sql).unwrap()))
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
    fn the_shared_vectors_are_taken_apart_however_they_come() {
        let vectors: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../tests/data/split.json")).unwrap();
        for vector in vectors {
            let sql = vector["sql"].as_str().unwrap();
            let modes = vector["modes"].as_str().unwrap_or_default();
            let mut dialect = Dialect::mariadb((10, 11, 0));
            dialect.mariadb = vector["server"] != "mysql";
            dialect.ansi_quotes = modes.contains("ANSI_QUOTES");
            dialect.no_backslash_escapes = modes.contains("NO_BACKSLASH_ESCAPES");
            for piece in [1, 5, usize::MAX] {
                let source = Slow(sql.as_bytes(), piece);
                let mut script =
                    Script::new(source, ScriptForm::Sql, dialect.clone(), ";", 1 << 20);
                let next = || script.next(false).unwrap();
                let found: Vec<_> = std::iter::from_fn(next)
                    .filter(|one| !one.sql.to_ascii_uppercase().starts_with(b"DELIMITER"))
                    .map(|one| String::from_utf8(one.sql).unwrap())
                    .collect();
                let wanted: Vec<_> = (vector["statements"].as_array().unwrap().iter())
                    .map(|one| one.as_str().unwrap())
                    .collect();
                assert_eq!(found, wanted, "{sql:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_delimiter_is_set_as_in_a_console() {
        let one = |text: &str| {
            let found = script(text.as_bytes(), 3).next(false).unwrap().unwrap();
            (found.command.is_some(), found.is_delimited)
        };
        for text in [
            "DELIMITER",
            "delimiter \n",
            "DELIMITER ''\n",
            "DELIMITER a\\b\n",
        ] {
            assert_eq!(one(text), (true, false), "{text}");
        }
        for text in [
            "DELIMITER //\na//",
            "DELIMITER '//' b\na//",
            "delimiter \"//\"\r\na//",
        ] {
            assert_eq!(one(text), (false, true), "{text}");
        }
        assert_eq!(one("DELIMITER ';'\na;"), (false, false));
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

    /// Statements of a text that is sent in parts of `size` bytes, each with the rest of the part before.
    fn in_parts(text: &str, size: usize) -> Vec<String> {
        let (mut at, mut most, mut delimiter) = (0, size, ";".to_owned());
        let mut found = Vec::new();
        loop {
            let end = (at + most).min(text.len());
            let part = Slow(&text.as_bytes()[at..end], 7);
            let dialect = Dialect::mariadb((10, 11, 0));
            let mut script = Script::new(part, ScriptForm::Sql, dialect, &delimiter, 1 << 20);
            while let Some(one) = script.next(end < text.len()).unwrap() {
                found.push(String::from_utf8(one.sql).unwrap());
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
        assert_eq!(script.next(true).unwrap().unwrap().sql, b"SELECT 1");
        assert_eq!(script.next(true).unwrap(), None);
        assert_eq!(script.rest(), (9, 1));
    }

    #[test]
    fn what_is_no_text_is_given_as_it_is_and_what_is_too_long_is_told() {
        let mut bytes = script(b"SELECT 1;\n\xff';\xfe' ; SELECT '\xe4", 4);
        let next = || bytes.next(false).unwrap();
        let found: Vec<_> = std::iter::from_fn(next).map(|one| one.sql).collect();
        assert_eq!(found, [&b"SELECT 1"[..], b"\xff';\xfe'", b"SELECT '\xe4"]);
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
