//! Which connection a statement runs on: one of its own session, or any that was made clean.

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

/// Connections that give way to a new one before that is refused: others may be quicker to take their places.
const MAX_EVICTIONS: usize = 4;

/// Pause before a server is asked again that has too many connections, how often it is, and for how many of those turns
/// one that has given way may still be counted: a second in all.
const LIMIT_PAUSE: Duration = Duration::from_millis(10);
const LIMIT_TURNS: usize = 100;
const LIMIT_TURNS_OF_ONE: usize = 25;

/// Request for a connection.
pub(crate) struct CheckoutRequest<'a> {
    /// The session and visitor; an empty session is none.
    pub(crate) owner: &'a StatementOwner,
    /// The database to be in.
    pub(crate) database: Option<&'a str>,
    /// The database that the statement itself enters, and does nothing else: it leaves the one the session was in.
    pub(crate) enters: Option<&'a str>,
    /// The statement, which holds the connection from the first word on it.
    pub(crate) running: &'a RunningStatement,
    /// Use of the visitor, where that is counted.
    pub(crate) uses: Option<&'a Use>,
}

impl SessionPool {
    /// A connection as `wanted`, alive, speaking UTF-8, in the wanted database.
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
            // In read-only mode it was made as new when it came back.
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

    /// True if it is of the account as that is called now.
    fn is_current(&self, conn: &DbConn) -> bool {
        conn.user == self.connector.user()
    }

    /// One more connection of the visitor's; at the cap an idle one of their own, with nothing at stake, gives way.
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

    /// A connection as new; where sessions hold nothing it was made so when it came back.
    fn renew(&self, conn: &mut DbConn) -> Result<(), DbError> {
        conn.reset()?;
        conn.forget_state();
        self.connector.make_clean(conn)
    }

    /// A new connection; where the cap is reached, one that nobody misses gives way.
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

    /// Connects after the server has refused one more: an account that may have few shares one between the sessions and
    /// the catalogue. A server counts one for a moment after it was closed.
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

    /// Closes a spare connection, or else that of the session which was idle for longest and has nothing at stake.
    fn evict_one(&self) -> bool {
        self.take_spare(|_| true).is_some() || self.evict_session(|_| true)
    }

    fn session(&self, wanted: &CheckoutRequest<'_>) -> Result<Lease<'_>, DbError> {
        let turn = self.take_turn(wanted.owner)?;
        let mut lease = Lease::new(self, Some(wanted.owner.clone()));
        match turn {
            // Remembered where no connection can be had.
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

/// The database that a session was in cannot be entered any more. Elsewhere its statement would mean something else.
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
