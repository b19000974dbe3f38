//! Stops statements: on threads of their own, when their client leaves, and around what comes before them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::connector::Connector;
use super::db_conn::DbConn;
use super::kill::Sent;
use super::running::{Running, Stop};
use crate::http::{CancelToken, DisconnectGuard};
use crate::sqlweb::error::{Cause, DbError, INTERRUPTED};

/// Stops `running` on a thread of its own, which ends when the server has been told: for callers that must not wait.
/// There is one such thread a statement, however often it is stopped while the server does not answer.
pub(crate) fn stop_apart(running: Arc<Running>, cause: Cause, connector: Arc<Connector>) {
    // Noted here and not there: it counts even where no thread is to be had.
    if !running.note(cause) || running.being_stopped.swap(true, Ordering::SeqCst) {
        return;
    }
    let attempt = Attempt(running);
    let stopping = move || {
        attempt.0.stop(cause, &connector);
    };
    let spawned = std::thread::Builder::new()
        .name("db-kill".into())
        .stack_size(256 << 10)
        .spawn(stopping);
    if let Err(error) = spawned {
        log::warn!("no thread to stop a statement: {error}");
    }
}

/// A thread of [`stop_apart`], or what would have been one.
struct Attempt(Arc<Running>);

impl Drop for Attempt {
    fn drop(&mut self) {
        self.0.being_stopped.store(false, Ordering::SeqCst);
    }
}

/// Stops `running` when `client` goes, as long as the guard is held.
pub(crate) fn stopped_when_gone(
    client: &CancelToken,
    running: &Arc<Running>,
    connector: &Arc<Connector>,
) -> DisconnectGuard {
    let (running, connector) = (running.clone(), connector.clone());
    // On a thread of its own: the end of this request must not wait for a server that takes no more connections.
    client.on_gone(move || stop_apart(running, Cause::ClientLeft, connector))
}

/// Does `work` on `link`, where a stop of `running` reaches it; the statement itself may still follow.
pub(crate) fn stoppable<T>(
    running: &Running,
    link: &mut DbConn,
    work: impl FnOnce(&mut DbConn) -> Result<T, DbError>,
) -> Result<T, DbError> {
    running.begin(Sent::on(link, None, true))?;
    let outcome = work(link);
    let lives_on = match &outcome {
        Ok(_) => true,
        Err(error) => error.leaves_connection_usable(),
    };
    match (outcome, running.pause(lives_on)) {
        (Err(DbError::Statement(error)), Some(stop)) if error.code == INTERRUPTED => {
            Err(DbError::Stopped(stop.cause))
        }
        (outcome, stop) => outcome.map_err(|error| Stop::explains(stop, error)),
    }
}
