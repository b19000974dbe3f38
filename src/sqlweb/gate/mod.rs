//! The read-only gate: decides from the text of a statement whether it only reads.
//!
//! This is layer 2 of the read-only mode. The module is pure: text in, verdict out, no IO, one pass, no recursion, and
//! memory that does not grow with the text.
//!
//! [`check`] is an allow-list. A statement passes if its kind is on the list (`SELECT`, `WITH`, `VALUES`, `TABLE`,
//! `SHOW`, `DESCRIBE`, `EXPLAIN` of those, `USE`, `HELP`), if none of its words can make it write, lock or execute, and
//! if every function it calls is a built-in one known to be harmless *on that server*: a name that is built into MySQL
//! 8 may be a user's stored function on MariaDB. In doubt a statement is refused.
//!
//! The lexer splits a text as the server does under the connection settings that layer 3 pins: character set `utf8mb4`
//! (so a quote or a backslash is never half of another character, as it can be in GBK or SJIS) and an `sql_mode`
//! without the modes that change quoting ([`Dialect`]).
//!
//! It fails closed: a broken invariant is a panic, and a panic is a refusal.
//!
//! Effects that a text cannot show are left to layer 3: a view or a generated column may call a function that writes.
//!
//! ```text
//! lexer           bytes → tokens, without comments
//! walk            tokens of one statement, with limits for columns, nesting and sums
//! geometry        limit for the depth of geometries
//! query, checker  tokens → ReadOnlyStatement or Refusal (verdict)
//! calls           calls of functions, and the known functions of sys
//! unprepared      statements that servers cannot prepare
//! split, script   the statements of a text and of a file (console: commands of client programs in it)
//! accounts        statements about accounts, which a shared web client never runs
//! dialect         the server's brand, version and modes
//! words, functions  lists of words and functions
//! ```

mod accounts;
mod calls;
mod checker;
mod console;
mod dialect;
mod functions;
mod geometry;
mod lexer;
mod query;
mod script;
mod split;
mod unprepared;
mod verdict;
mod walk;
mod words;

use super::catch_panic::catch_panic;
pub(crate) use accounts::{OF_ACCOUNTS, about_accounts, shows_secrets};
pub(crate) use calls::known as sys_function;
pub(crate) use console::{ConsoleCommand, MAX_DELIMITER};
pub use dialect::Dialect;
pub(crate) use script::{Script, ScriptForm, ScriptStatement};
pub use split::{Statements, split};
pub(crate) use split::{has_semicolon, unended};
pub use verdict::{CalledFunctions, ReadOnlyStatement, Refusal, StatementKind};

/// Checks one statement; `Ok` has its kind and its calls.
///
/// # Errors
/// A [`Refusal`] for a statement that is not known to only read.
pub fn check(sql: &str, dialect: &Dialect) -> Result<ReadOnlyStatement, Refusal> {
    fail_closed(|| checker::check(sql, dialect))
}

/// Runs `judge`; a panic becomes a refusal.
fn fail_closed(
    judge: impl FnOnce() -> Result<ReadOnlyStatement, Refusal>,
) -> Result<ReadOnlyStatement, Refusal> {
    catch_panic(judge)
}

/// Names of the built-in functions and words that pass before a parenthesis on that server, for tests that ask the
/// server for them.
#[doc(hidden)]
pub fn names_passed(dialect: &Dialect) -> Vec<&'static str> {
    functions::passed(dialect)
}

/// Words that no server takes for a function's name, for a test that asks the server.
#[doc(hidden)]
pub fn names_reserved() -> &'static [&'static str] {
    words::RESERVED
}

/// Names of the built-in functions that are refused.
#[doc(hidden)]
pub fn names_refused() -> Vec<&'static str> {
    functions::REFUSED.iter().map(|(name, _)| *name).collect()
}

/// True if some supported server has that harmless built-in function.
#[doc(hidden)]
pub fn is_known_harmless(name: &str) -> bool {
    functions::groups().any(|group| words::contains(group.names, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_refusal() {
        let refusal = fail_closed(|| panic!("a broken invariant")).unwrap_err();
        assert_eq!(refusal.statement, "statement");
        assert!(refusal.reason.contains("failed"), "{refusal}");
    }

    /// Combines pieces that begin, end and cut everything that the lexer knows in 50,000 ways.
    #[test]
    fn nothing_that_a_text_can_hold_breaks_an_invariant() {
        const PIECES: [&str; 40] = [
            "SELECT ",
            "'",
            "\"",
            "`",
            "\\",
            "é",
            "😀",
            "(",
            ")",
            ",",
            ".",
            ";",
            "@",
            "@@",
            "/*",
            "*/",
            "/*!",
            "/*M!50",
            "--",
            "-- ",
            "#",
            "\n",
            "x'",
            "b'",
            "N'",
            "0x",
            "1e",
            "1.",
            ":",
            ":=",
            "?",
            "$",
            "CASE ",
            " END ",
            "JSON_TABLE(",
            " COLUMNS ",
            "GROUP BY ROLLUP(",
            "EXTRACTVALUE(",
            "POINT",
            "EXPLAIN FORMAT=",
        ];
        let dialects = [Dialect::mariadb((10, 11, 0)), Dialect::mysql((8, 0, 36))];
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for round in 0..50_000 {
            let length = next() % 12 + 1;
            let pick = |r: u64| PIECES[usize::try_from(r).unwrap() % PIECES.len()];
            let text: String = (0..length).map(|_| pick(next() >> 32)).collect();
            let mut dialect = dialects[round % 2].clone();
            dialect.ansi_quotes = next() % 2 == 0;
            dialect.no_backslash_escapes = next() % 4 == 0;
            // Without `check`, which would contain the panic.
            let _ = checker::check(&text, &dialect);
            for span in split(&text, &dialect) {
                assert!(text.get(span).is_some(), "{text:?}");
            }
        }
    }
}
