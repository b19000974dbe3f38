//! Check that the server's text for an object is exactly one CREATE statement, whatever a rogue server sends: a console
//! also runs commands of its own in a text, such as `\!` for the shell. Also quotes texts and comments for the file.

use crate::sqlweb::error::DbError;

/// The modes in which a console and a server read a text.
#[derive(Clone, Copy, Default)]
pub(super) struct ReadingModes {
    /// True if `"` begins a name, in which a backslash is an ordinary character.
    pub(super) ansi_quotes: bool,
    /// True if a backslash is an ordinary character everywhere.
    pub(super) no_escapes: bool,
    /// True for a program between two delimiters, which may contain semicolons.
    pub(super) is_program: bool,
}

impl ReadingModes {
    /// The modes in a list of `sql_mode`.
    pub(super) fn of_mode(mode: &str) -> Self {
        const ANSI: [&str; 7] = [
            "ANSI_QUOTES",
            "ANSI",
            "DB2",
            "MAXDB",
            "MSSQL",
            "ORACLE",
            "POSTGRESQL",
        ];
        let has = |name: &str| {
            mode.split(',')
                .any(|word| word.trim().eq_ignore_ascii_case(name))
        };
        Self {
            ansi_quotes: ANSI.into_iter().any(has),
            no_escapes: has("NO_BACKSLASH_ESCAPES"),
            is_program: false,
        }
    }
}

/// Words that may come before the kind of the created object.
const BEFORE_KIND: [&str; 14] = [
    "CREATE",
    "OR",
    "REPLACE",
    "ALGORITHM",
    "UNDEFINED",
    "MERGE",
    "TEMPTABLE",
    "DEFINER",
    "SQL",
    "SECURITY",
    "INVOKER",
    "AGGREGATE",
    "TEMPORARY",
    "EDITIONABLE",
];

/// Reason that a text is not one statement that creates a `kind`; `None` if it is.
pub(super) fn fault(text: &str, kind: &str, reading: ReadingModes) -> Option<&'static str> {
    let mut scan = Scan {
        rest: text.as_bytes(),
        reading,
    };
    let kind = kind.split(' ').next().unwrap_or_default();
    let (mut is_first, mut is_made) = (true, false);
    while let Some(part) = scan.next() {
        match part {
            Part::Fault(why) => return Some(why),
            Part::Word(word) if !is_made => {
                let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
                if is_first != is("CREATE") {
                    return Some("it does not begin with CREATE");
                }
                is_made = is(kind);
                if !is_made && !BEFORE_KIND.into_iter().any(is) {
                    return Some("it creates something else");
                }
            }
            // The catalogue's statements never fill a table.
            Part::Word(word) if kind == "TABLE" && word.eq_ignore_ascii_case(b"SELECT") => {
                return Some("it fills a table");
            }
            Part::Word(_) => {}
            Part::Other if is_first => return Some("it does not begin with CREATE"),
            Part::Other => continue,
        }
        is_first = false;
    }
    (!is_made).then_some("it creates nothing")
}

/// A part of a text.
enum Part<'a> {
    /// A word outside of quotes and comments.
    Word(&'a [u8]),
    /// A sign, or anything in quotes.
    Other,
    Fault(&'static str),
}

/// Scanner that reads a text as a console does.
struct Scan<'a> {
    rest: &'a [u8],
    reading: ReadingModes,
}

const UNCLOSED: &str = "it has an unclosed quote or comment";

impl<'a> Scan<'a> {
    fn next(&mut self) -> Option<Part<'a>> {
        loop {
            let (&first, behind) = self.rest.split_first()?;
            match first {
                b'#' => self.skip_line(),
                b'-' if is_dashes(behind) => self.skip_line(),
                b'/' if behind.starts_with(b"*") && !is_code(behind) => {
                    let Some(end) = behind.windows(2).skip(1).position(|two| two == b"*/") else {
                        return Some(self.fault(UNCLOSED));
                    };
                    self.rest = behind.get(end + 3..).unwrap_or_default();
                }
                _ if first.is_ascii_whitespace() => self.rest = behind,
                b'\'' | b'"' | b'`' => return Some(self.quoted(first, behind)),
                b';' if !self.reading.is_program => {
                    return Some(self.fault("it has more than one statement"));
                }
                b'\\' if behind.first() != Some(&b'N') => {
                    return Some(self.fault("it has a backslash outside of quotes"));
                }
                0 => return Some(self.fault("it has a NUL byte")),
                _ if is_word(first) => {
                    let end = self.rest.iter().position(|byte| !is_word(*byte));
                    let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                    self.rest = rest;
                    return Some(Part::Word(word));
                }
                _ => {
                    self.rest = behind;
                    return Some(Part::Other);
                }
            }
        }
    }

    fn fault(&mut self, why: &'static str) -> Part<'a> {
        self.rest = &[];
        Part::Fault(why)
    }

    fn skip_line(&mut self) {
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        self.rest = self
            .rest
            .get(end.unwrap_or(self.rest.len())..)
            .unwrap_or_default();
    }

    fn quoted(&mut self, quote: u8, behind: &'a [u8]) -> Part<'a> {
        let is_name = quote == b'`' || quote == b'"' && self.reading.ansi_quotes;
        let has_escapes = !is_name && !self.reading.no_escapes;
        let mut bytes = behind.iter();
        while let Some(&byte) = bytes.next() {
            if byte == b'\\' && has_escapes {
                bytes.next();
            } else if byte == 0 {
                return self.fault("it has a NUL byte");
            } else if byte == quote {
                // A doubled quote begins the next quoted part.
                self.rest = bytes.as_slice();
                return Part::Other;
            }
        }
        self.fault(UNCLOSED)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// True if the text behind a dash makes it a comment.
fn is_dashes(behind: &[u8]) -> bool {
    match behind {
        [b'-'] => true,
        [b'-', next, ..] => next.is_ascii_whitespace() || next.is_ascii_control(),
        _ => false,
    }
}

/// True if the text behind a slash makes it a comment that servers run.
fn is_code(behind: &[u8]) -> bool {
    behind.starts_with(b"*!") || behind.starts_with(b"*M!")
}

/// Quotes a text for the file's `sql_mode`, in which backslashes escape. Characters that the console would change, such
/// as a carriage return, are escaped. Line feeds stay, so that programs remain readable.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\r' => out.push_str("\\r"),
            '\x1a' => out.push_str("\\Z"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Error of a dump whose server's text for `object` is not one CREATE statement.
pub(super) fn refused(object: &str, why: &str) -> DbError {
    DbError::Request(format!(
        "the server's answer to SHOW CREATE for {object} is not one CREATE statement ({why}). Restoring it could run \
         something else, so the dump was stopped. Exclude that object, and do not trust this server"
    ))
}

/// Writes a comment of one line, whatever the text contains.
pub(super) fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let line: String = text.chars().map(plain).collect();
    format!("-- {}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_statement_is_taken_and_nothing_else() {
        let table = |text: &str| fault(text, "TABLE", ReadingModes::default());
        for good in [
            "CREATE TABLE `a\n\\! x` (\n `b;` int DEFAULT '\\';' COMMENT 'a\n\\! sh\n',\n c int /* ; \\! */ -- ; \\!\n)",
            "CREATE TABLE `t` (a int) /*!50100 PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1)) */",
            "CREATE TEMPORARY TABLE t (a int DEFAULT \\N, b char(1) DEFAULT '''')",
        ] {
            assert_eq!(table(good), None, "{good}");
        }
        for bad in [
            "CREATE TABLE t (a int)\n\\! touch x",
            "CREATE TABLE t (a int);\nsystem touch x",
            "CREATE TABLE t (a int COMMENT 'it's; \\! x')",
            "CREATE TABLE t (a int) COMMENT='x",
            "CREATE TABLE t (a int) /*!50100 ; \\! x */",
            "CREATE TABLE t (a int) /* x",
            "CREATE TABLE t (a int) -- x\n; select 1",
            "CREATE TABLE t AS SELECT LOAD_FILE('x')",
            "CREATE USER t",
            "source x",
            "\\! CREATE TABLE t (a int)",
            "system touch x",
            "(CREATE TABLE t (a int))",
            "CREATE",
            "",
        ] {
            assert!(table(bad).is_some(), "{bad}");
        }
        let program = ReadingModes {
            is_program: true,
            ..ReadingModes::default()
        };
        let text =
            "CREATE DEFINER=`a`@`b` PROCEDURE `p`()\nBEGIN SELECT '\\''; -- '\n SELECT 2; END";
        assert_eq!(fault(text, "PROCEDURE", program), None);
        assert!(fault(text, "FUNCTION", program).is_some());
        assert!(fault(&format!("{text}\n\\! x"), "PROCEDURE", program).is_some());
    }

    #[test]
    fn a_quote_ends_as_the_mode_has_it() {
        let text = r#"CREATE VIEW v AS SELECT 'a\' AS "b\""#;
        assert!(fault(text, "VIEW", ReadingModes::default()).is_some());
        let modes = ReadingModes::of_mode("STRICT_ALL_TABLES,ansi_quotes,NO_BACKSLASH_ESCAPES");
        assert_eq!(fault(text, "VIEW", modes), None);
    }

    #[test]
    fn a_name_cannot_leave_its_comment() {
        assert_eq!(comment("Table `a\n\\! rm`\r "), "-- Table `a?\\! rm`?\n");
        assert_eq!(quoted("it's \\ \r\n"), "'it''s \\\\ \\r\n'");
    }
}
