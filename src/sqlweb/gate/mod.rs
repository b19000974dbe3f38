//! The read-only gate: decides from the text of a statement whether it only reads.
//!
//! Layer 2 of the read-only mode. The module is pure: text in, verdict out, no
//! IO, one pass, no recursion, memory that does not grow with the text.
//!
//! [`check`] is an allow-list. A statement passes when its kind is on the list
//! (`SELECT`, `WITH`, `VALUES`, `TABLE`, `SHOW`, `DESCRIBE`, `EXPLAIN` of those,
//! `USE`, `HELP`), when none of its words can make it write, lock or execute,
//! and when every function it calls is a built-in one known to be harmless *on
//! that server*: a name that is built in on MySQL 8 may be a stored function of
//! somebody's on MariaDB. What cannot be decided is refused.
//!
//! The lexer splits a text as the server does under the connection settings
//! that layer 3 pins: character set `utf8mb4` (so a quote or a backslash is
//! never half of another character, as it can be in GBK or SJIS) and an
//! `sql_mode` without the modes that change quoting ([`Dialect`]).
//!
//! What a text cannot show is left to layer 3: a view or a generated column may
//! call a function that writes.
//!
//! ```text
//! lexer  bytes → tokens, comments dropped
//! verdict  tokens → Passed or Refusal      calls  which "name (" is a call
//! nesting  how deep a server goes for it      geometry  how deep a geometry it could make
//! rollup  how many sums it asks for
//! words, functions, spatial  the lists     split  where statements end
//! ```

mod calls;
mod functions;
mod geometry;
mod lexer;
mod nesting;
mod rollup;
mod spatial;
mod split;
mod verdict;
mod words;

use std::fmt;

pub use split::{Statements, split};

/// What the lexer assumes of the connection; layer 3 makes it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// MariaDB, else MySQL (and what calls itself MySQL).
    pub mariadb: bool,
    /// Major, minor and patch of the server.
    pub version: (u16, u16, u16),
    /// `ANSI_QUOTES`: `"` quotes identifiers.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`: a backslash in a string is a backslash.
    pub no_backslash_escapes: bool,
    /// `IGNORE_SPACE`: a space may stand between `COUNT` and its parenthesis.
    pub ignore_space: bool,
}

impl Dialect {
    /// MariaDB of that version, with the pinned `sql_mode`.
    pub const fn mariadb(version: (u16, u16, u16)) -> Self {
        Self {
            mariadb: true,
            version,
            ansi_quotes: false,
            no_backslash_escapes: false,
            ignore_space: false,
        }
    }

    /// MySQL of that version, with the pinned `sql_mode`.
    pub const fn mysql(version: (u16, u16, u16)) -> Self {
        let mut dialect = Self::mariadb(version);
        dialect.mariadb = false;
        dialect
    }

    /// Reads the text of `VERSION()`: `10.11.6-MariaDB-log`, `8.0.36`, and
    /// `5.5.5-10.3.1-MariaDB` as old MariaDB servers greet. `None` where it has
    /// no version number.
    pub fn from_server_version(text: &str) -> Option<Self> {
        let mariadb = contains_ignoring_case(text, "mariadb");
        let number = if mariadb {
            text.strip_prefix("5.5.5-").unwrap_or(text)
        } else {
            text
        };
        let mut parts = number.splitn(3, '.').map(leading_number);
        let version = (
            parts.next()??,
            parts.next()??,
            parts.next().flatten().unwrap_or(0),
        );
        Some(if mariadb {
            Self::mariadb(version)
        } else {
            Self::mysql(version)
        })
    }
}

fn leading_number(text: &str) -> Option<u16> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..digits)?.parse().ok()
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.as_bytes()
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// A statement that only reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// What kind of statement it is.
    pub kind: StatementKind,
    /// The names that it calls, in upper case, each once: built-in functions by the lists here, and keywords before a
    /// parenthesis that a server could take for a function's name. Layer 3 asks the server whether somebody has made a
    /// function of such a name.
    pub calls: Vec<&'static str>,
}

/// The kinds of statement that can pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementKind {
    /// `SELECT …`, also in parentheses and with `UNION`.
    Select,
    /// `WITH … SELECT`, `WITH … VALUES`, `WITH … TABLE`.
    With,
    /// `VALUES (…)`.
    Values,
    /// `TABLE t`.
    Table,
    /// `SHOW …`.
    Show,
    /// `DESCRIBE t` or `EXPLAIN t`.
    Describe,
    /// `EXPLAIN SELECT …`, `EXPLAIN FOR CONNECTION n`.
    Explain,
    /// `USE db`, with the database's name, unquoted.
    Use(String),
    /// `HELP 'topic'`.
    Help,
}

impl StatementKind {
    /// The word the statement starts with.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::With => "WITH",
            Self::Values => "VALUES",
            Self::Table => "TABLE",
            Self::Show => "SHOW",
            Self::Describe => "DESCRIBE",
            Self::Explain => "EXPLAIN",
            Self::Use(_) => "USE",
            Self::Help => "HELP",
        }
    }
}

/// Why a statement was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was refused: `DELETE`, `SELECT … INTO`, `function load_file`.
    pub statement: String,
    /// Why, and where there is something, what to try.
    pub reason: String,
    /// Byte offset into the text.
    pub offset: usize,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.statement, self.reason)
    }
}

impl std::error::Error for Refusal {}

/// Checks one statement. `Ok` names the kind of statement that passed.
///
/// # Errors
/// A [`Refusal`] for whatever is not known to only read.
pub fn check(sql: &str, dialect: &Dialect) -> Result<Passed, Refusal> {
    verdict::check(sql, dialect)
}

/// The harmless built-in functions as JavaScript reads them; a test compares
/// this with `html/sql/core/functions.js`.
#[doc(hidden)]
pub fn functions_as_javascript() -> String {
    functions::as_javascript()
}

/// Names of the built-in functions and words that pass before a parenthesis on
/// that server, for tests that ask the server whether it knows them.
#[doc(hidden)]
pub fn names_passed(dialect: &Dialect) -> Vec<&'static str> {
    functions::passed(dialect)
}

/// Words of that list that no server takes for a function's name, for a test that asks the server.
#[doc(hidden)]
pub fn names_reserved() -> &'static [&'static str] {
    words::RESERVED
}

/// Built-in functions that are known and refused, with the reason.
#[doc(hidden)]
pub fn names_refused() -> Vec<&'static str> {
    functions::REFUSED.iter().map(|(name, _)| *name).collect()
}

/// Whether some supported server has that harmless built-in function.
#[doc(hidden)]
pub fn is_known_harmless(name: &str) -> bool {
    functions::groups().any(|group| words::contains(group.names, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_versions() {
        let read = Dialect::from_server_version;
        assert_eq!(
            read("10.11.6-MariaDB-log"),
            Some(Dialect::mariadb((10, 11, 6)))
        );
        assert_eq!(
            read("5.5.5-10.3.1-MariaDB"),
            Some(Dialect::mariadb((10, 3, 1)))
        );
        assert_eq!(read("8.0.36"), Some(Dialect::mysql((8, 0, 36))));
        assert_eq!(
            read("8.0.36-0ubuntu0.22.04.1"),
            Some(Dialect::mysql((8, 0, 36)))
        );
        assert_eq!(read("10.6-MariaDB"), Some(Dialect::mariadb((10, 6, 0))));
        assert_eq!(read("nonsense"), None);
        assert_eq!(read(""), None);
    }
}
