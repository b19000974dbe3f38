//! Runs one statement on one connection and hands its rows to a sink as they come.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, QueryResult, Text};

use super::budget::{self, RowBudget};
use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::conn::{
    Connector, DbConn, RunningStatement, SentStatement, SocketHandle, StopRequest, has_set,
    readonly,
};
use crate::sqlweb::error::{DbError, NOT_MYSQL, StopCause};
use crate::sqlweb::output::{Done, Flow, RowSink};

/// How long rows that nobody wants may come after the server was told to stop: on a slow line it takes a while until
/// those on their way have arrived.
const DECLINE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long is waited for what a server that has sent nonsense may still send.
const NONSENSE_TIMEOUT: Duration = Duration::from_millis(500);

/// How a statement ended that the server calls a success.
pub(crate) struct Ended {
    /// Warnings that the server holds ready.
    pub(crate) warnings: u16,
    /// Why it was told to stop, where it was: it may have ended before, or given a result all the same.
    pub(crate) stopped: Option<StopCause>,
}

/// What a statement runs with: how it is stopped, and the budget of its rows.
pub(crate) struct RunContext<'a> {
    /// What goes before the text in the same packet, see [`readonly::guard`].
    pub(crate) guard: Option<String>,
    /// The database that the session is in while it runs, where that is known.
    pub(crate) database: Option<&'a str>,
    /// For the connection that sends `KILL QUERY`.
    pub(crate) connector: &'a Arc<Connector>,
    /// The statement's place among the running ones.
    pub(crate) running: &'a RunningStatement,
    /// Whether the statement only reads, so that its rest may be declined; one that writes is read to its end.
    pub(crate) harmless: bool,
    /// The budget of large rows.
    pub(crate) rows: &'a RowBudget,
    /// Who reads the rows, for their budget.
    pub(crate) reader: &'a str,
}

/// Runs `sql` on `conn` and tells how it ended. The caller throws it away after an error for which
/// [`DbError::leaves_connection_usable`] is false.
pub(crate) fn run(
    conn: &mut DbConn,
    sql: &str,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<Ended, DbError> {
    let sent = SentStatement::on(conn, Some(sql), context.harmless).within(context.database);
    context.running.begin(sent)?;
    let socket = conn.socket.clone();
    let outcome = conn.with_read_timeout(None, |driver| {
        catch_panic(|| copy_rows(driver, &socket, sql, sink, context))
    });
    let stop = context.running.pause_after(&outcome);
    match (outcome, stop) {
        (Err(DbError::Statement(error)), Some(stop)) if was_interrupted(error.code) => {
            Err(DbError::Stopped(stop.cause))
        }
        // It was read to its end.
        (Err(DbError::NoRoom), _) if !context.harmless => Err(DbError::Unshown),
        (Err(DbError::NoRoom), Some(stop)) => Err(DbError::Stopped(stop.cause)),
        (Err(error), stop) => match StopRequest::explains(stop, error) {
            lost @ DbError::Lost(_) if !context.harmless => Err(lost.with_effect()),
            error => Err(error),
        },
        (Ok(()), stop) => Ok(Ended {
            warnings: conn.driver.warnings(),
            stopped: stop.map(|stop| stop.cause),
        }),
    }
}

/// `ER_QUERY_INTERRUPTED`, and what a killed or timed-out statement says elsewhere (MariaDB error codes 1317, 1969, 1968).
fn was_interrupted(code: u16) -> bool {
    matches!(code, 1317 | 1969 | 1968 | 3024)
}

/// The result is kept from its own destructor, which would go on reading: while a panic unwinds, or from a server that
/// sends without end. What is not dropped then is the list of its columns.
fn copy_rows(
    conn: &mut Conn,
    socket: &SocketHandle,
    sql: &str,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<(), DbError> {
    let guarded = context.guard.as_ref().map(|guard| guard.clone() + sql);
    let ours = guarded.as_ref().map_or(0, |_| readonly::GUARDS);
    let mut result = ManuallyDrop::new(conn.query_iter(guarded.as_deref().unwrap_or(sql))?);
    let mut nth = 0;
    while has_set(&mut result) {
        let ended = if nth < ours {
            skip(&mut result)
        } else if !result.columns().as_ref().is_empty() {
            one_set(&mut result, sink, context)
        } else if ours > 0 && nth == ours {
            Err(without_columns(&mut result, socket))
        } else {
            // Also what a server says of a comment behind the last semicolon.
            no_rows(&mut result, sink)
        };
        nth += 1;
        if let Err(error) = ended {
            let error = match error {
                DbError::Client(_) => {
                    context
                        .running
                        .stop(StopCause::ClientLeft, context.connector);
                    drain(&mut result, context).err().unwrap_or(error)
                }
                DbError::NoRoom => decline_all(&mut result, context).err().unwrap_or(error),
                _ => error,
            };
            if error.leaves_connection_usable() {
                drop(ManuallyDrop::into_inner(result));
            }
            return Err(error);
        }
    }
    drop(ManuallyDrop::into_inner(result));
    Ok(())
}

/// Takes the answer to a statement of ours.
fn skip(result: &mut QueryResult<'_, '_, '_, Text>) -> Result<(), DbError> {
    result.next().map_or(Ok(()), |row| Ok(row.map(drop)?))
}

/// Why a statement that only reads, all of which return rows, has none. Where the server sent nonsense the driver still
/// believes what the guard's answers have said: that more is to come.
fn without_columns(result: &mut QueryResult<'_, '_, '_, Text>, socket: &SocketHandle) -> DbError {
    socket.set_read_timeout(Some(NONSENSE_TIMEOUT));
    match result.next() {
        Some(Err(error)) => error.into(),
        Some(Ok(_)) | None => DbError::Lost(NOT_MYSQL.into()),
    }
}

fn no_rows(
    result: &mut QueryResult<'_, '_, '_, Text>,
    sink: &mut dyn RowSink,
) -> Result<(), DbError> {
    let done = Done {
        affected_rows: result.affected_rows(),
        last_insert_id: result.last_insert_id().unwrap_or(0),
    };
    match result.next() {
        Some(Err(error)) => Err(error.into()),
        _ => {
            sink.done(done);
            Ok(())
        }
    }
}

fn one_set(
    result: &mut QueryResult<'_, '_, '_, Text>,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
) -> Result<(), DbError> {
    let is_large = budget::may_be_large(result.columns().as_ref());
    let wanted = || !context.running.is_stopped();
    sink.begin(result.columns().as_ref())
        .map_err(DbError::Client)?;
    loop {
        if is_large {
            context.rows.wait_for_room(context.reader, &wanted)?;
        }
        let Some(row) = result.next() else { break };
        let row = row?;
        let counted = is_large.then(|| budget::counted(&row)).flatten();
        let permit = counted
            .map(|n| context.rows.acquire(context.reader, n, &wanted))
            .transpose()?;
        if sink.row(&row).map_err(DbError::Client)? == Flow::Enough {
            drop((row, permit));
            decline_rest(result, context)?;
            return sink.end(true).map_err(DbError::Client);
        }
    }
    sink.end(false).map_err(DbError::Client)
}

/// The same for all sets that follow.
fn decline_all(
    result: &mut QueryResult<'_, '_, '_, Text>,
    context: &RunContext<'_>,
) -> Result<(), DbError> {
    while has_set(result) {
        decline_rest(result, context)?;
    }
    Ok(())
}

/// A reading statement is told to stop; one that writes must come to its end, so its rows are read and dropped. So are
/// those of a server that cannot be told, until somebody stops the statement.
fn decline_rest(
    result: &mut QueryResult<'_, '_, '_, Text>,
    context: &RunContext<'_>,
) -> Result<(), DbError> {
    // One that could not be told sends all there is, which is no fault of its own.
    let told = context.harmless && context.running.enough(context.connector);
    let deadline = told.then(|| Instant::now() + DECLINE_TIMEOUT);
    for row in result.by_ref() {
        match row {
            Err(mysql::Error::MySqlError(error))
                if context.harmless && was_interrupted(error.code) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => in_time(context, deadline)?,
        }
    }
    Ok(())
}

/// After a failure of the client's side the statement was killed; the rest, which then is short, is read and dropped.
fn drain(
    result: &mut QueryResult<'_, '_, '_, Text>,
    context: &RunContext<'_>,
) -> Result<(), DbError> {
    while has_set(result) {
        for row in result.by_ref() {
            match row {
                Ok(_) => in_time(context, None)?,
                Err(mysql::Error::MySqlError(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// Fails where the server goes on sending after it was told to stop. The connection, in the middle of a result, is of
/// no more use then.
fn in_time(context: &RunContext<'_>, deadline: Option<Instant>) -> Result<(), DbError> {
    let late = deadline.is_some_and(|deadline| Instant::now() > deadline);
    if late || context.running.is_overdue() {
        return Err(DbError::Endless);
    }
    Ok(())
}
