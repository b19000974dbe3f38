//! Runs one statement on one connection and streams its rows to a sink.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::budget::{self, RowBudget};
use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::conn::{
    Answer, Connector, DbConn, ResultSet, RunningStatement, SentStatement, StopRequest, readonly,
};
use crate::sqlweb::error::{DbError, INTERRUPTED, NOT_MYSQL, StopCause};
use crate::sqlweb::output::{Flow, RowSink};

/// Time for unwanted rows to arrive after the server was told to stop, which takes a while on a slow line.
const DECLINE_TIMEOUT: Duration = Duration::from_secs(30);

/// Result of a statement that the server reports as successful.
pub(crate) struct StatementEnd {
    /// Number of the server's warnings.
    pub(crate) warnings: u16,
    /// Cause of a stop, if any; the statement may have ended before, or in spite of it.
    pub(crate) stopped: Option<StopCause>,
}

/// Context of a running statement, for stopping it and for the budget of its rows.
pub(crate) struct RunContext<'a> {
    /// Statements before the text in the same packet; see [`readonly::guard`].
    pub(crate) guard: Option<String>,
    /// The session's current database, if known.
    pub(crate) database: Option<&'a str>,
    /// Connector for the connection that sends `KILL QUERY`.
    pub(crate) connector: &'a Arc<Connector>,
    /// The statement's place among the running ones.
    pub(crate) running: &'a RunningStatement,
    /// True if the statement only reads, so that its rest may be declined; one that writes is read to its end.
    pub(crate) harmless: bool,
    /// The budget of large rows.
    pub(crate) rows: &'a RowBudget,
    /// Reader of the rows, for the budget.
    pub(crate) reader: &'a str,
}

/// Runs `sql` on `conn` and returns its result. The caller must drop the connection after an error for which
/// [`DbError::leaves_connection_usable`] is false.
pub(crate) fn run(
    conn: &mut DbConn,
    sql: &str,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<StatementEnd, DbError> {
    run_bytes(conn, sql, sql.as_bytes(), sink, context)
}

/// Like [`run`], for bytes that a process list may show as the text `sql`.
pub(super) fn run_bytes(
    conn: &mut DbConn,
    sql: &str,
    bytes: &[u8],
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<StatementEnd, DbError> {
    let sent = SentStatement::on(conn, Some(sql), context.harmless).within(context.database);
    context.running.begin(sent)?;
    let guarded = context
        .guard
        .as_ref()
        .map(|guard| [guard.as_bytes(), bytes].concat());
    let guards = guarded.as_ref().map_or(0, |_| readonly::GUARDS);
    let text = guarded.as_deref().unwrap_or(bytes);
    let outcome = conn.with_read_timeout(None, |conn| {
        catch_panic(|| copy_results(conn.ask(text, guards)?, guards, sink, context))
    });
    let stop = context.running.pause_after(&outcome);
    match (outcome, stop) {
        (Err(DbError::Statement(error)), Some(stop)) if was_interrupted(error.code) => {
            Err(DbError::Stopped(stop.cause))
        }
        (Err(DbError::Statement(error)), _) if conn.ended_with(&error) => {
            let lost = DbError::Lost(match error.code {
                INTERRUPTED => "the server killed it".into(),
                _ => format!("the server ended it ({})", error.message),
            });
            Err(if context.harmless {
                lost
            } else {
                lost.with_effect()
            })
        }
        // It was read to its end.
        (Err(DbError::NoRoom), _) if !context.harmless => Err(DbError::Unshown),
        (Err(DbError::NoRoom), Some(stop)) => Err(DbError::Stopped(stop.cause)),
        (Err(error), stop) => match StopRequest::explains(stop, error) {
            lost @ DbError::Lost(_) if !context.harmless => Err(lost.with_effect()),
            error => Err(error),
        },
        (Ok(()), stop) => Ok(StatementEnd {
            warnings: conn.warnings(),
            stopped: stop.map(|stop| stop.cause),
        }),
    }
}

/// True for `ER_QUERY_INTERRUPTED` and other errors of killed or timed-out statements (MariaDB: 1969, 1968; MySQL:
/// 3024).
fn was_interrupted(code: u16) -> bool {
    matches!(code, 1317 | 1969 | 1968 | 3024)
}

/// Passes all results except the first `guards` to `sink`.
fn copy_results(
    mut answer: Answer<'_>,
    mut guards: usize,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<(), DbError> {
    // True for the first result of a guarded statement, which always has rows.
    let mut is_of_rows = guards > 0;
    let outcome = loop {
        let is_due = guards > 0 || is_of_rows;
        let result = if guards > 0 {
            guards -= 1;
            skip(&mut answer)
        } else {
            one_result(&mut answer, sink, context, std::mem::take(&mut is_of_rows))
        };
        match result {
            Ok(true) => {}
            // A result is missing.
            Ok(false) if is_due => break Err(DbError::Lost(NOT_MYSQL.into())),
            Ok(false) => break Ok(()),
            Err(error) => break Err(rest_read(&mut answer, error, context)),
        }
    };
    if outcome
        .as_ref()
        .err()
        .is_none_or(DbError::leaves_connection_usable)
    {
        answer.end();
    }
    outcome
}

/// Reads the rest after a failure on this side, and returns that failure, or the one of reading.
fn rest_read(answer: &mut Answer<'_>, error: DbError, context: &RunContext<'_>) -> DbError {
    let outcome = match error {
        DbError::Client(_) => {
            context
                .running
                .stop(StopCause::ClientLeft, context.connector);
            drain(answer, context)
        }
        DbError::NoRoom => decline_all(answer, context),
        _ => Ok(()),
    };
    outcome.err().unwrap_or(error)
}

/// Takes the answer to a statement of ours, which has no rows; returns false if there is none.
fn skip(answer: &mut Answer<'_>) -> Result<bool, DbError> {
    match answer.next_set()? {
        None => Ok(false),
        Some(ResultSet::Done(_)) => Ok(true),
        Some(ResultSet::Rows(_)) => Err(DbError::Lost(NOT_MYSQL.into())),
    }
}

/// Passes one result to `sink`; returns false if there is none. With `is_of_rows` a result without rows is invalid.
fn one_result(
    answer: &mut Answer<'_>,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
    is_of_rows: bool,
) -> Result<bool, DbError> {
    match answer.next_set()? {
        None => return Ok(false),
        Some(ResultSet::Done(_)) if is_of_rows => return Err(DbError::Lost(NOT_MYSQL.into())),
        // This may also be a server's answer to a comment behind the last semicolon.
        Some(ResultSet::Done(done)) => sink.done(done),
        Some(ResultSet::Rows(columns)) => {
            let is_large = budget::may_be_large(columns);
            sink.begin(columns).map_err(DbError::Client)?;
            let truncated = all_rows(answer, sink, context, is_large)?;
            sink.end(truncated).map_err(DbError::Client)?;
        }
    }
    Ok(true)
}

/// Passes all rows to `sink`. Returns true if it did not get all, since it had enough or the statement was told to
/// stop; the rows after that are dropped.
fn all_rows(
    answer: &mut Answer<'_>,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
    is_large: bool,
) -> Result<bool, DbError> {
    let wanted = || !context.running.is_stopped();
    let mut is_cut = false;
    loop {
        if is_large {
            context.rows.wait_for_room(context.reader, &wanted)?;
        }
        let Some(row) = answer.next_row()? else {
            return Ok(is_cut);
        };
        if context.running.was_stop_sent() {
            is_cut = true;
            continue;
        }
        let counted = is_large.then(|| budget::counted(row)).flatten();
        let permit = counted
            .map(|n| context.rows.acquire(context.reader, n, &wanted))
            .transpose()?;
        if sink.row(row).map_err(DbError::Client)? == Flow::Enough {
            drop(permit);
            return decline_rest(answer, context).map(|()| true);
        }
    }
}

/// Declines all further results.
fn decline_all(answer: &mut Answer<'_>, context: &RunContext<'_>) -> Result<(), DbError> {
    loop {
        decline_rest(answer, context)?;
        match answer.next_set() {
            Ok(None) => return Ok(()),
            Ok(Some(_)) => {}
            Err(error) => unless_interrupted(error, context)?,
        }
    }
}

/// Declines the rest of a result. A reading statement is told to stop. The rows of one that writes, which must run to
/// its end, are read and dropped, and so are those of a server that cannot be told, until somebody stops the statement.
fn decline_rest(answer: &mut Answer<'_>, context: &RunContext<'_>) -> Result<(), DbError> {
    // A server that could not be told has no deadline, since it rightly sends everything.
    let told = context.harmless && context.running.enough(context.connector);
    let deadline = told.then(|| Instant::now() + DECLINE_TIMEOUT);
    loop {
        match answer.next_row() {
            Ok(None) => return Ok(()),
            Ok(Some(_)) => in_time(context, deadline)?,
            Err(error) => unless_interrupted(error, context)?,
        }
    }
}

fn unless_interrupted(error: DbError, context: &RunContext<'_>) -> Result<(), DbError> {
    match error {
        DbError::Statement(error) if context.harmless && was_interrupted(error.code) => Ok(()),
        error => Err(error),
    }
}

/// Reads and drops the rest of a statement that was killed after a failure of the client's side; it is short.
fn drain(answer: &mut Answer<'_>, context: &RunContext<'_>) -> Result<(), DbError> {
    loop {
        match answer.next_row() {
            Ok(Some(_)) => {
                in_time(context, None)?;
                continue;
            }
            Ok(None) | Err(DbError::Statement(_)) => {}
            Err(error) => return Err(error),
        }
        match answer.next_set() {
            Ok(None) => return Ok(()),
            Ok(Some(_)) | Err(DbError::Statement(_)) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Fails if the server still sends long after it was told to stop. The connection, in the middle of a result, can then
/// no longer be used.
fn in_time(context: &RunContext<'_>, deadline: Option<Instant>) -> Result<(), DbError> {
    let late = deadline.is_some_and(|deadline| Instant::now() > deadline);
    if late || context.running.is_overdue() {
        return Err(DbError::Endless);
    }
    Ok(())
}
