//! Looks for connections that were given up, on their servers, until those have ended them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::connector::Connector;
use super::db_conn::DbConn;
use super::driver::run_silently;
use super::kill::{KILL_TIMEOUT, field, is_ours, listed};
use crate::sqlweb::error::DbError;
use crate::sync::{Thread, spawn};

impl Connector {
    /// Looks, on a thread of its own, for what was given up; one look at a time.
    pub(crate) fn reap_abandoned(self: &Arc<Self>) {
        if !self.abandoned.due() || self.abandoned.looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let looking = ReapInProgress(self.clone());
        spawn(Thread::DbReap, move || {
            if let Err(error) = look(&looking.0) {
                log::debug!("cannot read the process list: {error}");
            }
            looking.0.abandoned.postpone();
        })
        .unwrap_or_else(|error| log::warn!("no thread to look for abandoned connections: {error}"));
    }
}

struct ReapInProgress(Arc<Connector>);

impl Drop for ReapInProgress {
    fn drop(&mut self) {
        self.0.abandoned.looking.store(false, Ordering::SeqCst);
    }
}

fn look(connector: &Arc<Connector>) -> Result<(), DbError> {
    let mut control = connector.control_connection(KILL_TIMEOUT)?;
    let server = control.server.clone();
    for id in connector.abandoned.on(server.as_ref()) {
        let is_listed = is_listed(&mut control, id)?;
        connector.abandoned.note(server.as_ref(), id, is_listed);
    }
    Ok(())
}

/// True if the server is still at work on the connection, which nobody has any more: it is told to end it, where the id
/// cannot have become somebody else's at a restart.
fn is_listed(control: &mut DbConn, id: u64) -> Result<bool, DbError> {
    let listed = listed(control, id)?;
    let Some(row) = listed.first() else {
        return Ok(false);
    };
    if control.is_dated && is_ours(row) && field(row, "COMMAND").as_deref() != Some("Killed") {
        match run_silently(&mut control.driver, &format!("KILL {id}")) {
            Err(error) if !error.leaves_connection_usable() => return Err(error),
            Err(error) => log::debug!("cannot end abandoned connection {id}: {error}"),
            Ok(()) => {}
        }
    }
    Ok(true)
}
