//! Statements of a script in the session's own character set: runs those that are not UTF-8, and keeps the session in
//! UTF-8 after others have changed its character set.
//!
//! Bytes are sent directly if the socket can be written. The driver takes only text, so with TLS a statement is put
//! into a variable by its bytes and run from there.

use mysql::Value;
use mysql::prelude::Queryable;

use super::statement::{self, RunContext, StatementEnd};
use crate::sqlweb::catalogue::text;
use crate::sqlweb::conn::{CLEAN, DbConn, call_driver, rows, run_silently};
use crate::sqlweb::error::DbError;
use crate::sqlweb::output::RowSink;
use crate::sqlweb::results::Warning;

/// `ER_UNSUPPORTED_PS`: MySQL cannot prepare a statement that creates a program.
const NOT_PREPARED: u16 = 1295;

/// Longest text that is searched, in bytes; statements that set a character set are short.
const LONGEST: usize = 4096;

/// Variable in which a page keeps the session's collation while it creates a program again, with the collation in which
/// the old one was created.
const KEPT: &str = "@POSTERN_COLLATION";

const STAYED: &str = "the session's character sets stay utf8mb4: this page uses UTF-8, and other settings would corrupt text";

/// Runs the `bytes` of a statement, which `shown` shows as text.
pub(super) fn run(
    conn: &mut DbConn,
    shown: &str,
    bytes: &[u8],
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<StatementEnd, DbError> {
    if conn.takes_bytes(bytes.len()) {
        return statement::run_bytes(conn, shown, bytes, sink, context);
    }
    call_driver(|| {
        let value = (Value::Bytes(bytes.to_vec()),);
        conn.driver.exec_drop("SET @postern_statement = ?", value)
    })?;
    if conn.info().dialect.mariadb {
        return statement::run(conn, "EXECUTE IMMEDIATE @postern_statement", sink, context);
    }
    match run_silently(&mut conn.driver, "PREPARE postern FROM @postern_statement") {
        Ok(()) => statement::run(conn, "EXECUTE postern", sink, context),
        Err(DbError::Statement(error)) if error.code == NOT_PREPARED => {
            as_text(conn, sink, context)
        }
        Err(error) => Err(error),
    }
}

/// Runs the statement as text, converted from the session's character set.
fn as_text(
    conn: &mut DbConn,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<StatementEnd, DbError> {
    let cell = |conn: &mut DbConn, asked: &str| -> Result<String, DbError> {
        let answer = rows(&mut conn.driver, asked)?;
        Ok(answer
            .first()
            .and_then(|row| text(row, 0))
            .unwrap_or_default())
    };
    let charset = cell(conn, "SELECT @@character_set_client")?;
    let known = charset.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let charset = if known { charset.as_str() } else { "utf8mb4" };
    let converted = format!(
        "CONVERT(CONVERT(CAST(@postern_statement AS BINARY) USING {charset}) USING utf8mb4)"
    );
    let kept = format!(
        "SELECT CAST(CONVERT({converted} USING {charset}) AS BINARY) = CAST(@postern_statement AS BINARY)"
    );
    if charset == "binary" || cell(conn, &kept)? != "1" {
        return Err(DbError::Request(format!(
            "the statement has bytes that are not text in the character set '{charset}', and MySQL accepts such a \
             program only without TLS: run this file with --tls off, or through the server's Unix socket"
        )));
    }
    let sql = cell(conn, &format!("SELECT CAST({converted} AS BINARY)"))?;
    run_silently(&mut conn.driver, "SET character_set_client = utf8mb4")?;
    let outcome = statement::run(conn, &sql, sink, context);
    if outcome
        .as_ref()
        .err()
        .is_none_or(DbError::leaves_connection_usable)
    {
        let back = format!("SET character_set_client = {charset}");
        run_silently(&mut conn.driver, &back)?;
    }
    outcome
}

/// True if a statement of that kind may set the session's character sets. For other statements with these words nothing
/// is asked, since that would change `ROW_COUNT()`.
pub(super) fn may_leave(kind: &str, sql: &str) -> bool {
    if sql.len() > LONGEST || !["SET", "executable comment"].contains(&kind) {
        return false;
    }
    let text = sql.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let may = has(&["NAMES", "CHARSET", "CHARACTER"]) || has(&["COLLATION"]) && !has(&[KEPT]);
    may && !has(&["STATEMENT"])
}

/// True for statements that may set them unnoticed, by running others.
pub(super) fn may_leave_unseen(kind: &str) -> bool {
    ["CALL", "EXECUTE", "BEGIN"].contains(&kind)
}

/// True for a statement that reads a result of the previous one, which no query of ours may change.
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

/// Restores the session's character sets before the next statement, if an earlier one may have changed them unnoticed.
pub(super) fn return_to(conn: &mut DbConn) -> Result<Vec<Warning>, DbError> {
    conn.charset_unsure = false;
    stay(conn, Vec::new())
}

/// Restores the session's character sets if they were changed, and adds a note. A collation of UTF-8 stays.
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
        let kept = "SET @postern_collation = @@collation_connection, SESSION collation_connection = latin1_bin";
        assert!(!may_leave("SET", kept));
        assert!(may_leave(
            "SET",
            &format!("{kept}, character_set_client = gbk")
        ));
        assert!(!may_leave("SET", "SET @a = 1"));
        assert!(!may_leave("UPDATE", "UPDATE t SET names = 1"));
    }
}
