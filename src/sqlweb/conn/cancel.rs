//! Stops statements: on threads of their own, when their client leaves, and around what comes before them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::connector::Connector;
use super::db_conn::DbConn;
use super::kill::SentStatement;
use super::running::{RunningStatement, StopRequest};
use crate::http::{CancelToken, DisconnectGuard};
use crate::sqlweb::error::{DbError, INTERRUPTED, StopCause};
use crate::sync::{Thread, spawn};

/// Stops `running` on a thread of its own, which ends when the server has been told: for callers that must not wait.
/// There is one such thread a statement, however often it is stopped while the server does not answer.
pub(crate) fn stop_in_background(
    running: Arc<RunningStatement>,
    cause: StopCause,
    connector: Arc<Connector>,
) {
    // Noted here and not there: it counts even where no thread is to be had.
    if !running.note(cause) || running.being_stopped.swap(true, Ordering::SeqCst) {
        return;
    }
    let stop = StopInProgress(running);
    let stopping = move || {
        stop.0.stop(cause, &connector);
    };
    spawn(Thread::DbKill, stopping)
        .unwrap_or_else(|error| log::warn!("no thread to stop a statement: {error}"));
}

/// A thread of [`stop_in_background`], or what would have been one.
struct StopInProgress(Arc<RunningStatement>);

impl Drop for StopInProgress {
    fn drop(&mut self) {
        self.0.being_stopped.store(false, Ordering::SeqCst);
    }
}

/// Stops `running` when `client` goes, as long as the guard is held.
pub(crate) fn stopped_when_gone(
    client: &CancelToken,
    running: &Arc<RunningStatement>,
    connector: &Arc<Connector>,
) -> DisconnectGuard {
    let (running, connector) = (running.clone(), connector.clone());
    // On a thread of its own: the end of this request must not wait for a server that takes no more connections.
    client.on_gone(move || stop_in_background(running, StopCause::ClientLeft, connector))
}

/// Does `work` on `conn`, where a stop of `running` reaches it; the statement itself may still follow.
pub(crate) fn stoppable<T>(
    running: &RunningStatement,
    conn: &mut DbConn,
    work: impl FnOnce(&mut DbConn) -> Result<T, DbError>,
) -> Result<T, DbError> {
    running.begin(SentStatement::on(conn, None, true))?;
    let outcome = work(conn);
    let stop = running.pause_after(&outcome);
    match (outcome, stop) {
        (Err(DbError::Statement(error)), Some(stop)) if error.code == INTERRUPTED => {
            Err(DbError::Stopped(stop.cause))
        }
        (outcome, stop) => outcome.map_err(|error| StopRequest::explains(stop, error)),
    }
}
