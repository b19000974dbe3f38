//! `ROW_COUNT()` after a statement with warnings: asking for those makes it -1, and no harmless statement restores it.
//! So the number is kept here and put into the next statement in place of its calls.

use std::io;

use mysql::Column;

use crate::sqlweb::output::{Flow, RowSink};
use crate::sqlweb::results::{Done, TextRow};

/// The function's name.
const NAME: &str = "ROW_COUNT";

/// Statements whose own calls are replaced; others may keep a call for later.
const CALLERS: [&str; 8] = [
    "SELECT", "SET", "DO", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH",
];

/// Words that end the list of selected columns.
const BEHIND_LIST: [&str; 9] = [
    "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "INTO", "UNION", "FOR",
];

/// Passes results on and remembers the number of rows that the last one changed.
pub(super) struct CountingSink<'a> {
    pub(super) sink: &'a mut dyn RowSink,
    /// Number of those rows; `None` after a result with rows.
    pub(super) affected: Option<u64>,
}

impl RowSink for CountingSink<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.affected = None;
        self.sink.begin(columns)
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        self.sink.row(row)
    }

    fn end(&mut self, truncated: bool) -> io::Result<()> {
        self.sink.end(truncated)
    }

    fn done(&mut self, done: Done) {
        self.affected = Some(done.affected_rows);
        self.sink.done(done);
    }
}

/// The text with `count` in place of each call of the function; `None` if it has no such call.
pub(super) fn filled_in(sql: &str, kind: &str, count: u64, has_escapes: bool) -> Option<String> {
    if !CALLERS.contains(&kind) || !sql.to_ascii_uppercase().contains(NAME) {
        return None;
    }
    let (mut out, mut rest, mut depth) = (String::new(), sql, 0_i32);
    let (mut is_filled, mut is_in_list, mut before) = (false, kind == "SELECT", "SELECT");
    while !rest.is_empty() {
        let (token, behind) = rest.split_at(token_length(rest, has_escapes)?);
        rest = behind;
        let call =
            call_length(behind).filter(|_| token.eq_ignore_ascii_case(NAME) && before != ".");
        if let Some(length) = call {
            let (brackets, behind) = rest.split_at(length);
            rest = behind;
            out += &count.to_string();
            // The name of a column is its text.
            let begins = before == "," || before.eq_ignore_ascii_case("SELECT");
            let is_column = depth == 0 && is_in_list && begins && ends_column(behind);
            if is_column {
                out += &format!(" AS `{token}{brackets}`");
            }
            (is_filled, before) = (true, ")");
            continue;
        }
        match token {
            "(" => depth += 1,
            ")" => depth -= 1,
            word if depth == 0 => {
                is_in_list &= !BEHIND_LIST.iter().any(|one| one.eq_ignore_ascii_case(word))
            }
            _ => {}
        }
        if !is_blank(token) {
            before = token;
        }
        out += token;
    }
    is_filled.then_some(out)
}

fn is_blank(token: &str) -> bool {
    token.starts_with(|c: char| c.is_whitespace() || c == '#')
        || token.starts_with("--")
        || token.starts_with("/*")
}

/// Bytes of the empty parentheses of a call at the beginning of a text.
fn call_length(text: &str) -> Option<usize> {
    let inner = text.trim_start().strip_prefix('(')?;
    let rest = inner.trim_start().strip_prefix(')')?;
    Some(text.len() - rest.len())
}

/// True if a column of a list ends before this text.
fn ends_column(text: &str) -> bool {
    let rest = text.trim_start();
    let from = rest
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case("FROM "));
    rest.is_empty() || rest.starts_with([',', ';']) || from
}

/// Bytes of the word, text, comment, blank or sign at the beginning of a text; `None` if it has no end.
fn token_length(text: &str, has_escapes: bool) -> Option<usize> {
    let first = text.chars().next()?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@');
    let until =
        |end: &str, from: usize| text.get(from..)?.find(end).map(|at| from + at + end.len());
    match first {
        '#' => Some(text.find('\n').unwrap_or(text.len())),
        '-' if text.starts_with("-- ") || text.starts_with("--\n") || text.starts_with("--\t") => {
            Some(text.find('\n').unwrap_or(text.len()))
        }
        '/' if text.starts_with("/*") => until("*/", 2),
        '`' => until("`", 1),
        '\'' | '"' => {
            let mut chars = text.char_indices().skip(1);
            while let Some((at, c)) = chars.next() {
                if c == '\\' && has_escapes {
                    chars.next();
                } else if c == first {
                    return Some(at + 1);
                }
            }
            None
        }
        c if c.is_whitespace() => Some(text.len() - text.trim_start().len()),
        c if is_word(c) => Some(text.find(|c| !is_word(c)).unwrap_or(text.len())),
        c => Some(c.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use super::filled_in;

    #[test]
    fn calls_are_filled_in_and_nothing_else() {
        let filled = |sql: &str, kind: &str| filled_in(sql, kind, 2, true);
        for (sql, wanted) in [
            ("SELECT ROW_COUNT()", "SELECT 2 AS `ROW_COUNT()`"),
            (
                "select 1, row_count ( ) , 'row_count()' from t",
                "select 1, 2 AS `row_count ( )` , 'row_count()' from t",
            ),
            (
                "SELECT ROW_COUNT() AS n, IF(ROW_COUNT() > 0, 1, 2)",
                "SELECT 2 AS n, IF(2 > 0, 1, 2)",
            ),
            (
                "SELECT a FROM t ORDER BY a, ROW_COUNT()",
                "SELECT a FROM t ORDER BY a, 2",
            ),
            ("SELECT ROW_COUNT() INTO @n", "SELECT 2 INTO @n"),
            (
                "SELECT 'it\\'s', ROW_COUNT() -- ROW_COUNT()",
                "SELECT 'it\\'s', 2 -- ROW_COUNT()",
            ),
        ] {
            assert_eq!(filled(sql, "SELECT").as_deref(), Some(wanted));
        }
        let set = filled("SET @n = ROW_COUNT()", "SET");
        assert_eq!(set.as_deref(), Some("SET @n = 2"));
        for (sql, kind) in [
            (
                "SELECT 'ROW_COUNT()', row_count, `ROW_COUNT`(), f.ROW_COUNT(), ROW_COUNT(1)",
                "SELECT",
            ),
            ("SELECT ROW_COUNT(), 'open", "SELECT"),
            ("CREATE PROCEDURE p() SELECT ROW_COUNT()", "CREATE"),
            ("CALL p(ROW_COUNT())", "CALL"),
        ] {
            assert_eq!(filled(sql, kind), None, "{sql}");
        }
    }
}
