//! Statements that are no UTF-8: bytes of a script, which the session's character set gives a meaning.
//!
//! They are sent as they are where the socket is ours to write to. The driver takes text alone, so by TLS a statement goes
//! into a variable, by its bytes, and is run from there.

use mysql::Value;
use mysql::prelude::Queryable;

use super::statement::{self, RunContext, StatementEnd};
use crate::sqlweb::catalogue::text;
use crate::sqlweb::conn::{DbConn, call_driver, rows, run_silently};
use crate::sqlweb::error::DbError;
use crate::sqlweb::output::RowSink;

/// Runs the `bytes` of a statement, which a person may know by the text `shown`.
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

/// `ER_UNSUPPORTED_PS`: MySQL prepares no statement that makes a program.
const NOT_PREPARED: u16 = 1295;

/// Runs the statement as the text that it is in the session's character set.
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
