//! Which connection a statement runs on: one of its own session, or any that was made clean.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::db_conn::DbConn;
use super::driver::{call_driver, run_silently};
use super::identity::CLEAN;
use super::owner::Owner;
use super::running::RunningStatement;
use super::socket_handle::Peeked;
use super::wire::LastTold;
use crate::sqlweb::error::DbError;
use crate::sqlweb::limits::CONNECTIONS_OF_ONE;
use crate::sync::{Condvar, Mutex, MutexGuard, Permit, Permits};

/// A session's connection is closed, and its transaction rolled back, after this time without a statement.
const SESSION_IDLE: Duration = Duration::from_secs(600);

/// How long a session is kept whose page has gone: one that is loaded again asks for it within this time.
const LEAVE_GRACE: Duration = Duration::from_secs(15);

/// A spare connection without a session is closed after this time.
const SPARE_IDLE: Duration = Duration::from_secs(60);

/// Spare connections kept: the page asks for a few things at once and then for nothing.
const SPARES: usize = 3;

/// How long a statement waits for the one before it in the same session.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// After this time without use a connection is asked whether it is still there, and not only whether it was closed.
const TRUSTED_IDLE: Duration = Duration::from_secs(5);

/// Longest silence of the server in answer to that.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How long what is left of a session without a connection is remembered.
const MEMORY_TIME: Duration = Duration::from_secs(24 * 3600);

/// Sessions without a connection that are remembered, at most.
const MAX_REMEMBERED: usize = 4096;

/// Connections that give way to a new one before that is refused: others may be quicker to take their places.
const MAX_EVICTIONS: usize = 4;

/// Pause before a server is asked again that has too many connections, how often it is, and for how many of those turns
/// one that has given way may still be counted: a second in all.
const LIMIT_PAUSE: Duration = Duration::from_millis(10);
const LIMIT_TURNS: usize = 100;
const LIMIT_TURNS_OF_ONE: usize = 25;

/// The connections that are kept between statements.
pub(crate) struct SessionPool {
    connector: Arc<Connector>,
    /// Whether a session holds nothing that a new connection would not have.
    stateless: bool,
    state: Mutex<PoolState>,
    turn: Condvar,
}

#[derive(Default)]
struct PoolState {
    sessions: HashMap<Owner, SessionSlot>,
    spares: Vec<IdleConn>,
}

enum SessionSlot {
    /// A statement runs; whether the connection is to be closed after it, and since when its page is gone.
    Busy {
        closing: bool,
        left: Option<Instant>,
    },
    Idle(IdleConn),
    Closed(ClosedSession),
}

/// A session without a connection: the next one enters its database.
struct ClosedSession {
    database: Option<String>,
    since: Instant,
    /// Whether more than the database was lost and nobody was there to be told: the session's next statement is.
    lost_state: bool,
}

impl ClosedSession {
    fn now(database: Option<String>, lost_state: bool) -> Self {
        Self {
            database,
            since: Instant::now(),
            lost_state,
        }
    }
}

impl SessionSlot {
    /// Whether it changes by being left alone.
    fn is_old(&self) -> bool {
        match self {
            Self::Busy { .. } => false,
            Self::Idle(idle) => {
                let has_left = |left: Instant| left.elapsed() > LEAVE_GRACE;
                idle.since.elapsed() > SESSION_IDLE
                    || idle.is_closed()
                    || idle.left.is_some_and(has_left)
            }
            Self::Closed(closed) => closed.since.elapsed() > MEMORY_TIME,
        }
    }
}

struct IdleConn {
    conn: DbConn,
    since: Instant,
    database: Option<String>,
    /// Since when its page is gone.
    left: Option<Instant>,
}

impl IdleConn {
    fn now(conn: DbConn, database: Option<String>) -> Self {
        Self {
            conn,
            since: Instant::now(),
            database,
            left: None,
        }
    }

    /// Whether the server has ended it.
    fn is_closed(&self) -> bool {
        matches!(self.conn.socket.peek(), Peeked::Closed)
    }

    /// Whether the connection can be used: a statement is only ever sent on one that was just there.
    fn is_alive(&mut self) -> bool {
        match self.conn.socket.peek() {
            Peeked::Closed => return false,
            Peeked::Silence if self.since.elapsed() < TRUSTED_IDLE => return true,
            Peeked::Silence | Peeked::Data => {}
        }
        let ping = |conn: &mut DbConn| call_driver(|| conn.driver.ping()).is_ok();
        self.conn.with_read_timeout(Some(PING_TIMEOUT), ping)
    }
}

/// What a session has when its turn comes.
enum SessionTurn {
    /// A connection.
    Idle(IdleConn),
    /// None yet, or no more, with the database it was in.
    New(Option<String>),
}

/// A connection in use. Dropped without [`Lease::give_back`] it is closed.
pub(crate) struct Lease<'a> {
    sessions: &'a SessionPool,
    owner: Option<Owner>,
    conn: Option<DbConn>,
    /// The current database, where it is known for certain. A session's is not entered again then: that would be a
    /// statement between two of the session's, which `ROW_COUNT()` shows.
    database: Option<String>,
}

/// What a request wants of its connection.
pub(crate) struct CheckoutRequest<'a> {
    /// The session and visitor; an empty session is none.
    pub(crate) owner: &'a Owner,
    /// The database to be in.
    pub(crate) database: Option<&'a str>,
    /// The database that the statement itself enters, and does nothing else: it leaves the one the session was in.
    pub(crate) enters: Option<&'a str>,
    /// The statement, which holds the connection from the first word on it.
    pub(crate) running: &'a RunningStatement,
    /// The connections of the visitor, where they are counted.
    pub(crate) of_visitor: Option<&'a Permits>,
}

impl SessionPool {
    /// No connections yet. In read-only mode sessions are `stateless`.
    pub(crate) fn new(connector: Arc<Connector>, stateless: bool) -> Self {
        Self {
            connector,
            stateless,
            state: Mutex::default(),
            turn: Condvar::new(),
        }
    }

    /// A connection as `wanted`, alive, speaking UTF-8, in the wanted database.
    pub(crate) fn check_out(
        &self,
        wanted: &CheckoutRequest<'_>,
    ) -> Result<Lease<'_>, CheckoutError> {
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
                Err(error.into())
            }
        }
    }

    /// Ends a session: its connection is closed now, or when its statement has ended.
    pub(crate) fn close(&self, owner: &Owner) {
        let mut state = self.lock();
        match state.sessions.remove(owner) {
            Some(SessionSlot::Busy { .. }) => {
                let closing = SessionSlot::Busy {
                    closing: true,
                    left: None,
                };
                state.sessions.insert(owner.clone(), closing);
            }
            // Closing speaks to the server, which the others must not wait for.
            removed => {
                drop(state);
                drop(removed);
            }
        }
    }

    /// The page of a session is gone, or being loaded again: unless it comes back the session ends in a while.
    pub(crate) fn leave(&self, owner: &Owner) {
        let now = Some(Instant::now());
        match self.lock().sessions.get_mut(owner) {
            Some(SessionSlot::Busy { left, .. }) => *left = now,
            Some(SessionSlot::Idle(idle)) => idle.left = now,
            Some(SessionSlot::Closed(_)) | None => {}
        }
    }

    /// The page of a session is back. What there is of the session.
    pub(crate) fn come_back(&self, owner: &Owner) -> SessionLeft {
        let mut state = self.lock();
        match state.sessions.get_mut(owner) {
            Some(SessionSlot::Busy { closing: true, .. }) | None => SessionLeft::Nothing,
            Some(SessionSlot::Busy { left, .. }) => {
                *left = None;
                SessionLeft::All
            }
            Some(SessionSlot::Idle(idle)) => {
                (idle.left, idle.since) = (None, Instant::now());
                SessionLeft::All
            }
            Some(SessionSlot::Closed(closed)) if closed.lost_state => {
                closed.lost_state = false;
                SessionLeft::Lost
            }
            Some(SessionSlot::Closed(_)) => SessionLeft::Nothing,
        }
    }

    /// Closes what was idle for too long or has lost its server, and forgets what nobody came back to.
    pub(crate) fn expire(&self) {
        let mut state = self.lock();
        let is_old = |spare: &mut IdleConn| spare.since.elapsed() > SPARE_IDLE || spare.is_closed();
        let spares: Vec<_> = state.spares.extract_if(.., is_old).collect();
        let old: Vec<_> = state.sessions.extract_if(|_, slot| slot.is_old()).collect();
        let closed = old
            .into_iter()
            .map(|(owner, slot)| state.close_idle(owner, slot));
        let closed: Vec<_> = closed.collect();
        state.forget_oldest();
        drop(state);
        let lost = |conn: &DbConn| matches!(conn.socket.peek(), Peeked::Closed);
        if spares.iter().any(|spare| lost(&spare.conn)) || closed.iter().flatten().any(lost) {
            self.connector.miss();
        }
        drop((spares, closed));
    }

    /// Closes everything that is idle; what is busy is closed when it ends.
    pub(crate) fn close_all(&self) {
        let everything = std::mem::take(&mut *self.lock());
        drop(everything);
    }

    fn spare(&self, wanted: &CheckoutRequest<'_>) -> Result<Lease<'_>, DbError> {
        let mut permit = self.of_visitor(wanted)?;
        loop {
            let idle = {
                let mut state = self.lock();
                let fits = |p: &IdleConn| wanted.database.is_some() || !p.conn.moved;
                let at = state.spares.iter().rposition(fits);
                at.map(|at| state.spares.swap_remove(at))
            };
            let mut lease = Lease::new(self, None);
            let Some(mut idle) = idle else {
                lease.take(self.fresh()?, wanted);
                lease.conn().of_visitor = permit;
                return Ok(lease);
            };
            wanted.running.hold(&idle.conn.socket);
            // In read-only mode it was made as new when it came back.
            if self.is_current(&idle.conn)
                && idle.is_alive()
                && (self.stateless || self.renew(&mut idle.conn).is_ok())
            {
                lease.take(idle.conn, wanted);
                lease.conn().of_visitor = permit.take();
                return Ok(lease);
            }
        }
    }

    /// Whether it is of the account as that is called now.
    fn is_current(&self, conn: &DbConn) -> bool {
        conn.user == self.connector.user()
    }

    /// One more connection of the visitor's; at the cap an idle one of their own, with nothing at stake, gives way.
    fn of_visitor(&self, wanted: &CheckoutRequest<'_>) -> Result<Option<Permit>, DbError> {
        let Some(permits) = wanted.of_visitor else {
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
        call_driver(|| conn.driver.reset())?;
        conn.has_state = false;
        conn.told = LastTold::ByDriver;
        self.connector.make_clean(conn)
    }

    /// A new connection; where the cap is reached, one that nobody misses gives way.
    fn fresh(&self) -> Result<DbConn, DbError> {
        for _ in 0..MAX_EVICTIONS {
            match self.connector.connect() {
                Err(DbError::Busy) if self.evict_one() => {}
                Err(error) if error.is_of_limit() => return self.fresh_at_limit(error),
                made => return made,
            }
        }
        Err(DbError::Busy)
    }

    /// The same where the server has refused one more: an account that may have few shares one between the sessions and
    /// the catalogue. A server counts one for a moment after it was closed.
    fn fresh_at_limit(&self, mut refusal: DbError) -> Result<DbConn, DbError> {
        for turn in 0..LIMIT_TURNS {
            if turn % LIMIT_TURNS_OF_ONE == 0 {
                self.evict_one();
            }
            std::thread::sleep(LIMIT_PAUSE);
            match self.connector.connect() {
                Err(error) if error.is_of_limit() => refusal = error,
                made => return made,
            }
        }
        Err(refusal)
    }

    /// Closes a spare connection, or else that of the session which was idle for longest and has nothing at stake.
    fn evict_one(&self) -> bool {
        let mut state = self.lock();
        if let Some(spare) = state.spares.pop() {
            drop(state);
            drop(spare);
            return true;
        }
        drop(state);
        self.evict_session(|_| true)
    }

    /// Closes the connection of the session that was idle for longest, of those that have nothing at stake and `may` go.
    fn evict_session(&self, may: impl Fn(&DbConn) -> bool) -> bool {
        let mut state = self.lock();
        let idle_since = |(owner, slot): (&Owner, &SessionSlot)| match slot {
            SessionSlot::Idle(idle) if !idle.conn.has_state && may(&idle.conn) => {
                Some((idle.since, owner.clone()))
            }
            _ => None,
        };
        let idle = state.sessions.iter().filter_map(idle_since);
        let Some((_, owner)) = idle.min_by_key(|(since, _)| *since) else {
            return false;
        };
        let slot = state.sessions.remove(&owner);
        let closed = slot.and_then(|slot| state.close_idle(owner, slot));
        drop(state);
        drop(closed);
        true
    }

    fn session(&self, wanted: &CheckoutRequest<'_>) -> Result<Lease<'_>, CheckoutError> {
        let turn = self.take_turn(wanted.owner)?;
        let mut lease = Lease::new(self, Some(wanted.owner.clone()));
        match turn {
            // Remembered where no connection can be had.
            SessionTurn::New(database) => lease.database = database,
            SessionTurn::Idle(mut idle) => {
                lease.database = idle.database.take();
                wanted.running.hold(&idle.conn.socket);
                if self.is_current(&idle.conn) && idle.is_alive() {
                    lease.take(idle.conn, wanted);
                    return Ok(lease);
                }
                if idle.conn.has_state {
                    self.connector.miss();
                    return Err(CheckoutError::Db(DbError::SessionLost));
                }
                log::debug!("an idle connection was lost, with nothing at stake, and is replaced");
            }
        }
        let permit = self.of_visitor(wanted)?;
        lease.take(self.fresh()?, wanted);
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
            return Err(error.into());
        }
        Ok(lease)
    }

    /// Waits until no other statement of the session runs and marks it busy.
    fn take_turn(&self, owner: &Owner) -> Result<SessionTurn, CheckoutError> {
        let busy = |state: &mut PoolState| {
            matches!(state.sessions.get(owner), Some(SessionSlot::Busy { .. }))
        };
        let state = self.lock();
        let mut state = self.turn.wait_timeout_while(state, TURN_TIMEOUT, busy);
        if busy(&mut state) {
            return Err(CheckoutError::SessionBusy);
        }
        let now_busy = SessionSlot::Busy {
            closing: false,
            left: None,
        };
        match state.sessions.insert(owner.clone(), now_busy) {
            Some(SessionSlot::Idle(idle)) => Ok(SessionTurn::Idle(idle)),
            Some(SessionSlot::Closed(closed)) if closed.lost_state => {
                let told = ClosedSession::now(closed.database, false);
                let slot = SessionSlot::Closed(told);
                state.sessions.insert(owner.clone(), slot);
                drop(state);
                self.turn.notify_all();
                Err(CheckoutError::Db(DbError::SessionLost))
            }
            Some(SessionSlot::Closed(closed)) => Ok(SessionTurn::New(closed.database)),
            Some(SessionSlot::Busy { .. }) | None => Ok(SessionTurn::New(None)),
        }
    }

    /// Takes a connection back, or notes that a session has none any more: `untold` when something was at stake and
    /// nobody was told.
    fn put_back(
        &self,
        owner: Option<Owner>,
        conn: Option<DbConn>,
        database: Option<String>,
        untold: bool,
    ) {
        let mut state = self.lock();
        let leftover = state.put_back(owner, conn, database, untold);
        drop(state);
        self.turn.notify_all();
        drop(leftover);
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }
}

impl PoolState {
    /// As [`SessionPool::put_back`]; what is not kept is to be closed.
    fn put_back(
        &mut self,
        owner: Option<Owner>,
        conn: Option<DbConn>,
        database: Option<String>,
        untold: bool,
    ) -> Option<DbConn> {
        let Some(owner) = owner else {
            if self.spares.len() >= SPARES {
                return conn;
            }
            let spare = conn.map(|mut conn| {
                // Nobody's from here on.
                conn.of_visitor = None;
                IdleConn::now(conn, database)
            });
            self.spares.extend(spare);
            return None;
        };
        let Some(SessionSlot::Busy {
            closing: false,
            left,
        }) = self.sessions.remove(&owner)
        else {
            return conn;
        };
        if let Some(conn) = conn {
            let mut idle = IdleConn::now(conn, database);
            idle.left = left;
            self.sessions.insert(owner, SessionSlot::Idle(idle));
        } else if untold || database.is_some() {
            let closed = ClosedSession::now(database, untold);
            self.sessions.insert(owner, SessionSlot::Closed(closed));
        }
        None
    }

    /// Of a session that was taken out, the idle connection, to be closed; what is remembered of it without that goes
    /// back, and one that has none is forgotten.
    fn close_idle(&mut self, owner: Owner, slot: SessionSlot) -> Option<DbConn> {
        let SessionSlot::Idle(IdleConn { conn, database, .. }) = slot else {
            return None;
        };
        let closed = ClosedSession::now(database, conn.has_state);
        self.sessions.insert(owner, SessionSlot::Closed(closed));
        Some(conn)
    }

    /// Bounds what is remembered of sessions without a connection; the oldest go first.
    fn forget_oldest(&mut self) {
        let known = |(owner, slot): (&Owner, &SessionSlot)| match slot {
            SessionSlot::Closed(closed) => Some((closed.since, owner.clone())),
            SessionSlot::Busy { .. } | SessionSlot::Idle(_) => None,
        };
        let mut remembered: Vec<_> = self.sessions.iter().filter_map(known).collect();
        let too_many = remembered.len().saturating_sub(MAX_REMEMBERED);
        remembered.sort_by_key(|(since, _)| *since);
        for (_, owner) in remembered.into_iter().take(too_many) {
            self.sessions.remove(&owner);
        }
    }
}

/// What there is of a session whose page has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionLeft {
    /// Its connection, with all that statements have left on it.
    All,
    /// No connection any more, and what statements had left on it was lost.
    Lost,
    /// No connection, and nothing that would be missed, or nothing that is known.
    Nothing,
}

/// Why no connection could be had.
#[derive(Debug)]
pub(crate) enum CheckoutError {
    /// Another statement of the session is still running.
    SessionBusy,
    /// The database's side.
    Db(DbError),
}

impl From<DbError> for CheckoutError {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

impl<'a> Lease<'a> {
    fn new(sessions: &'a SessionPool, owner: Option<Owner>) -> Self {
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

    fn take(&mut self, conn: DbConn, wanted: &CheckoutRequest<'_>) {
        wanted.running.hold(&conn.socket);
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
        let has_state = self.conn.as_ref().is_some_and(|conn| conn.has_state);
        if has_state && self.owner.is_some() {
            return error.with_state();
        }
        error
    }

    /// Changes the current database (COM_INIT_DB).
    fn enter(&mut self, database: &str) -> Result<(), DbError> {
        if !self.sessions.stateless && self.database.as_deref() == Some(database) {
            return Ok(());
        }
        let conn = self.conn();
        conn.moved = true;
        call_driver(|| conn.driver.select_db(database))?;
        self.database = Some(database.to_owned());
        Ok(())
    }

    /// Keeps the connection for the next statement when `outcome` left it usable; that of `running` has ended.
    pub(crate) fn give_back<T>(self, outcome: &Result<T, DbError>, running: &RunningStatement) {
        self.give_back_after(outcome.as_ref().err(), running);
    }

    fn give_back_after(mut self, error: Option<&DbError>, running: &RunningStatement) {
        let (owner, database) = (self.owner.take(), self.database.take());
        let conn = self.conn.take();
        let has_state = conn.as_ref().is_some_and(|conn| conn.has_state);
        let untold = has_state && running.was_left();
        let lasts = owner.is_some() && !self.sessions.stateless;
        let conn = conn.and_then(|conn| self.usable(conn, error, lasts));
        // From here on the connection is another statement's.
        running.end();
        self.sessions.put_back(owner, conn, database, untold);
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
            // Whoever else has a handle on it.
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
    call_driver(|| conn.driver.reset())?;
    conn.has_state = false;
    conn.told = LastTold::ByDriver;
    run_silently(&mut conn.driver, CLEAN)
}

/// The database that a session was in cannot be entered any more. Elsewhere its statement would mean something else.
fn no_more(database: &str, error: DbError) -> DbError {
    match error {
        DbError::Statement(mut error) => {
            error.message = format!(
                "the session's database '{database}' cannot be entered any more: {}; nothing was run: choose another one",
                error.message
            );
            DbError::Statement(error)
        }
        other => other,
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let conn = self.conn.take();
        drop(conn);
        if let Some(owner) = self.owner.take() {
            let database = self.database.take();
            self.sessions.put_back(Some(owner), None, database, false);
        }
    }
}
