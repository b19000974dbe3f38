//! A connection in the hands of one statement, and how it comes back.

use super::db_conn::DbConn;
use super::driver::{call_driver, run_silently};
use super::identity::CLEAN;
use super::owner::StatementOwner;
use super::running::RunningStatement;
use super::session_pool::SessionPool;
use crate::sqlweb::error::DbError;

/// A connection in use. Dropped without [`Lease::give_back`] it is closed.
pub(crate) struct Lease<'a> {
    sessions: &'a SessionPool,
    owner: Option<StatementOwner>,
    conn: Option<DbConn>,
    /// The current database, where it is known for certain. A session's is not entered again then: that would be a
    /// statement between two of the session's, which `ROW_COUNT()` shows.
    pub(super) database: Option<String>,
}

impl<'a> Lease<'a> {
    pub(super) fn new(sessions: &'a SessionPool, owner: Option<StatementOwner>) -> Self {
        Self {
            sessions,
            owner,
            conn: None,
            database: None,
        }
    }

    /// The connection.
    pub(crate) fn conn(&mut self) -> &mut DbConn {
        let conn = self.conn.as_mut();
        conn.expect("a lease has its connection until it is given back")
    }

    pub(super) fn take(&mut self, conn: DbConn, running: &RunningStatement) {
        running.hold(&conn.socket);
        self.conn = Some(conn);
    }

    /// The statement that follows may change the current database; answers which one it is.
    pub(crate) fn lose_track(&mut self) -> Option<String> {
        self.database.take()
    }

    /// The current database is known again.
    pub(crate) fn keep_track(&mut self, database: Option<String>) {
        self.database = database;
    }

    /// The failure of a statement on this connection, with what else was lost with it.
    pub(crate) fn explain(&self, error: DbError) -> DbError {
        let held = self.conn.as_ref().and_then(DbConn::held);
        match held.filter(|_| self.owner.is_some()) {
            Some(held) => error.with_state(held),
            None => error,
        }
    }

    /// Changes the current database (COM_INIT_DB).
    pub(super) fn enter(&mut self, database: &str) -> Result<(), DbError> {
        let is_sure = !self.sessions.stateless && !self.conn().database_unsure;
        if is_sure && self.database.as_deref() == Some(database) {
            return Ok(());
        }
        let conn = self.conn();
        conn.moved = true;
        call_driver(|| conn.driver.select_db(database))?;
        conn.database_unsure = false;
        self.database = Some(database.to_owned());
        Ok(())
    }

    /// Keeps the connection for the next statement when `outcome` left it usable; that of `running` has ended.
    pub(crate) fn give_back<T>(self, outcome: &Result<T, DbError>, running: &RunningStatement) {
        self.give_back_after(outcome.as_ref().err(), running);
    }

    pub(super) fn give_back_after(mut self, error: Option<&DbError>, running: &RunningStatement) {
        let (owner, database) = (self.owner.take(), self.database.take());
        let conn = self.conn.take();
        let held = conn.as_ref().and_then(DbConn::held);
        let missed = held.filter(|_| running.was_left());
        let lasts = owner.is_some() && !self.sessions.stateless;
        let conn = conn.and_then(|conn| self.usable(conn, error, lasts));
        // From here on the connection is another statement's.
        running.end();
        self.sessions.put_back(owner, conn, database, missed);
    }

    /// The connection, as the next statement may have it; where its session `lasts`, with what statements have left.
    fn usable(&self, mut conn: DbConn, error: Option<&DbError>, lasts: bool) -> Option<DbConn> {
        if error.is_some_and(DbError::leaves_server_at_work) {
            self.sessions.connector.miss();
            self.sessions.connector.give_up(conn);
            return None;
        }
        if error.is_some_and(|error| !error.leaves_connection_usable()) {
            self.sessions.connector.miss();
            // Ends it for any other holder of a handle, too.
            conn.socket.shut_down();
            return None;
        }
        // Nothing that a statement has left, such as a lock, may outlive it.
        let is_foul = self.sessions.stateless || conn.has_state;
        if !lasts && is_foul && reset(&mut conn).is_err() {
            return None;
        }
        Some(conn)
    }
}

/// Ends what statements have left on a connection. The server's default character set is back then, in which names of
/// databases would be read, too.
fn reset(conn: &mut DbConn) -> Result<(), DbError> {
    conn.reset()?;
    conn.forget_state();
    run_silently(&mut conn.driver, CLEAN)
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let conn = self.conn.take();
        drop(conn);
        if let Some(owner) = self.owner.take() {
            let database = self.database.take();
            self.sessions.put_back(Some(owner), None, database, None);
        }
    }
}
