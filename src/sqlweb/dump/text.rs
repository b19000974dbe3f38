//! Names and texts as they stand in the file.

use crate::sqlweb::error::DbError;

/// A text between quotes. The file's `sql_mode` takes backslashes for escapes; what the console would change on its way,
/// such as a carriage return, is written as letters. Line feeds stay, so that a program can be read.
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

/// The failure of a dump whose server does not say what made `object`, but something else that must not be run.
pub(super) fn refused(object: &str, why: &str) -> DbError {
    DbError::Request(format!(
        "the server's answer to SHOW CREATE for {object} is not one CREATE statement ({why}). Restoring it could run \
         something else, so the dump was stopped. Exclude that object, and do not trust this server"
    ))
}

/// A comment of one line, whatever is in it.
pub(super) fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let line: String = text.chars().map(plain).collect();
    format!("-- {}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_comment() {
        assert_eq!(comment("Table `a\n\\! rm`\r "), "-- Table `a?\\! rm`?\n");
        assert_eq!(quoted("it's \\ \r\n"), "'it''s \\\\ \\r\n'");
    }
}
