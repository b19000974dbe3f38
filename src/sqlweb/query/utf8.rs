//! Texts go to and fro in UTF-8, whatever a statement says: what `SET NAMES latin1` would spoil is more than what it shows.

use crate::sqlweb::conn::{CLEAN, DbConn, rows, run_silently};
use crate::sqlweb::error::DbError;
use crate::sqlweb::results::Warning;

/// Longest text that is looked through, in bytes: what sets a character set is short.
const LONGEST: usize = 4096;

/// True if a statement of that kind may set the character set of what is sent or answered. What else has these words in
/// it is left alone: a question of ours would change `ROW_COUNT()`.
pub(super) fn may_leave(kind: &str, sql: &str) -> bool {
    if sql.len() > LONGEST || !["SET", "executable comment"].contains(&kind) {
        return false;
    }
    let text = sql.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    has(&["NAMES", "CHARSET", "CHARACTER", "COLLATION"]) && !has(&["STATEMENT"])
}

/// True for statements that may set it out of sight, by running others.
pub(super) fn may_leave_unseen(kind: &str) -> bool {
    ["CALL", "EXECUTE", "BEGIN"].contains(&kind)
}

/// True for a statement that reads what the one before it has left, which no question of ours may change.
pub(super) fn reads_last(sql: &str) -> bool {
    const WORDS: [&str; 6] = [
        "ROW_COUNT",
        "FOUND_ROWS",
        "DIAGNOSTICS",
        "WARNING",
        "ERROR",
        "LAST_INSERT_ID",
    ];
    let text = sql.get(..LONGEST).unwrap_or(sql).to_ascii_uppercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Returns a session to its character sets that a statement may have left in another one, before the next statement is sent.
pub(super) fn return_to(conn: &mut DbConn) -> Result<Vec<Warning>, DbError> {
    conn.charset_unsure = false;
    stay(conn, Vec::new())
}

/// Sets it back where it is another now, and says so. A collation of UTF-8 stays as it was set.
pub(super) fn stay(conn: &mut DbConn, mut warnings: Vec<Warning>) -> Result<Vec<Warning>, DbError> {
    let asked = "SELECT CONCAT_WS(' ', @@character_set_client, @@character_set_connection, IFNULL(@@character_set_results, '-'))";
    let answer = rows(&mut conn.driver, asked)?;
    let answer = answer.first().and_then(|row| row.get_opt::<String, _>(0));
    if answer.is_some_and(|answer| answer.is_ok_and(|answer| answer == "utf8mb4 utf8mb4 utf8mb4")) {
        return Ok(warnings);
    }
    run_silently(&mut conn.driver, CLEAN)?;
    warnings.push(Warning::ours("Note", STAYED));
    Ok(warnings)
}

const STAYED: &str = "the session's character sets stay utf8mb4: this page uses UTF-8, and other settings would corrupt text";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sets_a_character_set_is_noticed() {
        let of_set = [
            "SET NAMES latin1",
            "set @a = 1, Character_Set_Results = null",
            "SET CHARSET 'cp1250'",
        ];
        assert!(of_set.iter().all(|sql| may_leave("SET", sql)));
        let comment = "/*!40101 SET NAMES utf8 */";
        assert!(may_leave("executable comment", comment));
        assert!(may_leave("SET", "SET collation_connection = latin1_bin"));
        assert!(reads_last("select row_count()") && !reads_last("SELECT 1"));
        assert!(!may_leave("SET", "SET @a = 1"));
        assert!(!may_leave("UPDATE", "UPDATE t SET names = 1"));
    }
}
