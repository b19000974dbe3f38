//! Checkout of the connection for a statement: its session's, or any clean one; and its return.

use std::time::Duration;

use super::db_conn::DbConn;
use super::driver::{call_driver, run_silently};
use super::identity::CLEAN;
use super::running::{RunningStatement, StatementOwner};
use super::session_pool::{SessionPool, SessionTurn};
use crate::sqlweb::error::DbError;
use crate::sqlweb::limits::{CONNECTIONS_OF_ONE, MAX_CONNECTIONS};
use crate::sqlweb::visitors::Use;
use crate::sync::Permit;

/// Number of connections to close for a new one before that is refused, since others may take the freed places first.
const MAX_EVICTIONS: usize = 4;

/// Pause before a server with too many connections is tried again, number of tries (one second in all), and number of
/// tries per closed connection, which the server may still count for a moment.
const LIMIT_PAUSE: Duration = Duration::from_millis(10);
const LIMIT_TURNS: usize = 100;
const LIMIT_TURNS_OF_ONE: usize = 25;

/// Request for a connection.
pub(crate) struct CheckoutRequest<'a> {
    /// The session and visitor; an empty session means none.
    pub(crate) owner: &'a StatementOwner,
    /// The wanted current database.
    pub(crate) database: Option<&'a str>,
    /// The new database of a statement that only changes the database.
    pub(crate) enters: Option<&'a str>,
    /// The statement, which holds the connection from now on.
    pub(crate) running: &'a RunningStatement,
    /// Use of the visitor, if it is counted.
    pub(crate) uses: Option<&'a Use>,
}

impl SessionPool {
    /// A live connection for `wanted`, set to UTF-8, in the wanted database.
    pub(crate) fn check_out(&self, wanted: &CheckoutRequest<'_>) -> Result<Lease<'_>, DbError> {
        let mut lease = if wanted.owner.session.is_empty() {
            self.spare(wanted)?
        } else {
            self.session(wanted)?
        };
        let Some(database) = wanted.database else {
            return Ok(lease);
        };
        match lease.enter(database) {
            Ok(()) => Ok(lease),
            Err(error) => {
                let error = lease.explain(error);
                // An unknown database must not cost the session its connection.
                lease.give_back_after(Some(&error), wanted.running);
                Err(error)
            }
        }
    }

    fn spare(&self, wanted: &CheckoutRequest<'_>) -> Result<Lease<'_>, DbError> {
        let mut permit = self.of_visitor(wanted)?;
        loop {
            let idle = self.take_spare(|conn| wanted.database.is_some() || !conn.moved);
            let mut lease = Lease::new(self, None);
            let Some(mut idle) = idle else {
                lease.take(self.fresh(wanted)?, wanted.running);
                lease.conn().of_visitor = permit;
                return Ok(lease);
            };
            wanted.running.hold(&idle.conn.socket);
            // In read-only mode it was reset when it was given back.
            if self.is_current(&idle.conn)
                && idle.check_alive()
                && (self.stateless || self.renew(&mut idle.conn).is_ok())
            {
                lease.take(idle.conn, wanted.running);
                lease.conn().of_visitor = permit.take();
                return Ok(lease);
            }
        }
    }

    /// True if its user is the account's current name.
    fn is_current(&self, conn: &DbConn) -> bool {
        conn.user == self.connector.user()
    }

    /// Permit for one more connection of the visitor; at the cap, an idle one of theirs without state is closed for it.
    fn of_visitor(&self, wanted: &CheckoutRequest<'_>) -> Result<Option<Permit>, DbError> {
        let Some(Use {
            connections: permits,
            ..
        }) = wanted.uses
        else {
            return Ok(None);
        };
        for _ in 0..MAX_EVICTIONS {
            if let Some(permit) = permits.take(CONNECTIONS_OF_ONE) {
                return Ok(Some(permit));
            }
            let is_theirs = |conn: &DbConn| {
                let permit = conn.of_visitor.as_ref();
                permit.is_some_and(|permit| permit.is_of(permits))
            };
            if !self.evict_session(is_theirs) {
                break;
            }
        }
        Err(DbError::VisitorBusy)
    }

    /// Resets a connection.
    fn renew(&self, conn: &mut DbConn) -> Result<(), DbError> {
        conn.reset()?;
        conn.forget_state();
        self.connector.make_clean(conn)
    }

    /// A new connection; at the cap, an idle one without state is closed for it.
    fn fresh(&self, wanted: &CheckoutRequest<'_>) -> Result<DbConn, DbError> {
        let most = Use::most_of(wanted.uses, MAX_CONNECTIONS);
        for _ in 0..MAX_EVICTIONS {
            match self.connector.connect_within(most) {
                Err(DbError::Busy) if self.evict_one() => {}
                Err(error) if error.is_of_limit() => return self.fresh_at_limit(most, error),
                made => return made,
            }
        }
        Err(DbError::Busy)
    }

    /// Connects after the server has refused one more. With an account that may have few, sessions and catalogue must
    /// share connections. A server still counts one for a moment after it was closed.
    fn fresh_at_limit(&self, most: usize, mut refusal: DbError) -> Result<DbConn, DbError> {
        for turn in 0..LIMIT_TURNS {
            if turn % LIMIT_TURNS_OF_ONE == 0 {
                self.evict_one();
            }
            std::thread::sleep(LIMIT_PAUSE);
            match self.connector.connect_within(most) {
                Err(error) if error.is_of_limit() => refusal = error,
                made => return made,
            }
        }
        Err(refusal)
    }

    /// Closes a spare connection, or else that of the longest idle session without state.
    fn evict_one(&self) -> bool {
        self.take_spare(|_| true).is_some() || self.evict_session(|_| true)
    }

    fn session(&self, wanted: &CheckoutRequest<'_>) -> Result<Lease<'_>, DbError> {
        let turn = self.take_turn(wanted.owner)?;
        let mut lease = Lease::new(self, Some(wanted.owner.clone()));
        match turn {
            // Remembered in case no connection is available.
            SessionTurn::New(database) => lease.database = database,
            SessionTurn::Idle(mut idle) => {
                lease.database = idle.database.take();
                wanted.running.hold(&idle.conn.socket);
                if self.is_current(&idle.conn) && idle.check_alive() {
                    lease.take(idle.conn, wanted.running);
                    return Ok(lease);
                }
                if idle.conn.has_state {
                    self.connector.miss();
                    return Err(DbError::SessionLost(idle.conn.held));
                }
                log::debug!("a lost idle connection is replaced");
            }
        }
        let permit = self.of_visitor(wanted)?;
        lease.take(self.fresh(wanted)?, wanted.running);
        lease.conn().of_visitor = permit;
        let Some(was_in) = lease.database.take() else {
            return Ok(lease);
        };
        let entered = wanted.database.or(wanted.enters).unwrap_or(&was_in);
        if let Err(error) = lease.enter(entered) {
            let error = if entered == was_in {
                no_more(&was_in, error)
            } else {
                error
            };
            // The new connection is in another database than the session, so it is not kept.
            lease.database = Some(was_in);
            return Err(error);
        }
        Ok(lease)
    }
}

/// Error if a session's database cannot be entered any more; in another one its statement could mean something else.
fn no_more(database: &str, error: DbError) -> DbError {
    match error {
        DbError::Statement(mut error) => {
            error.message = format!(
                "cannot return to the session's database '{database}': {}; nothing was run: choose another one",
                error.message
            );
            DbError::Statement(error)
        }
        other => other,
    }
}

/// A connection in use, which is closed if it is dropped without [`Lease::give_back`].
pub(crate) struct Lease<'a> {
    sessions: &'a SessionPool,
    owner: Option<StatementOwner>,
    conn: Option<DbConn>,
    /// The current database, if it is certain. It is then not entered again, since a statement between two of the
    /// session's shows in `ROW_COUNT()`.
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

    /// Returns and forgets the current database, before a statement that may change it.
    pub(crate) fn lose_track(&mut self) -> Option<String> {
        self.database.take()
    }

    /// The current database, if it is certain.
    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Sets the known current database.
    pub(crate) fn keep_track(&mut self, database: Option<String>) {
        self.database = database;
    }

    /// Adds to the failure of a statement the state that the session lost with it.
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

    /// Keeps the connection for the next statement if `outcome` left it usable, and marks `running` as ended.
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
        // From now on the connection may be another statement's.
        running.end();
        self.sessions.put_back(owner, conn, database, missed);
    }

    /// The connection if the next statement may have it, without state unless its session `lasts`.
    fn usable(&self, mut conn: DbConn, error: Option<&DbError>, lasts: bool) -> Option<DbConn> {
        if error.is_some_and(DbError::leaves_server_at_work) {
            self.sessions.connector.miss();
            self.sessions.connector.give_up(conn);
            return None;
        }
        if error.is_some_and(|error| !error.leaves_connection_usable()) {
            self.sessions.connector.miss();
            // Ends it for other holders of a handle, too.
            conn.socket.shut_down();
            return None;
        }
        // Nothing that a statement leaves, such as a lock, may outlive it.
        let is_foul = self.sessions.stateless || conn.has_state;
        if !lasts && is_foul && reset(&mut conn).is_err() {
            return None;
        }
        Some(conn)
    }
}

/// Resets a connection. That brings back the server's default character set, also for names of databases, so UTF-8 is
/// set again.
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
