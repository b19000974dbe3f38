//! Connections that are kept between statements: those of sessions, and spare ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::db_conn::DbConn;
use super::running::StatementOwner;
use super::socket_handle::Peeked;
use crate::sqlweb::error::DbError;
use crate::sqlweb::held::HeldState;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Time without a statement after which a session's connection is closed and its transaction rolled back.
const SESSION_IDLE: Duration = crate::limits::SESSION_IDLE;

/// Time that a session is kept after its page has left; a reloaded page asks for it within this time.
const LEAVE_GRACE: Duration = Duration::from_secs(15);

/// Time after which a spare connection without a session is closed.
const SPARE_IDLE: Duration = Duration::from_secs(60);

/// Maximum number of spare connections: a page sends a few requests at once and then none.
const SPARES: usize = 3;

/// Time that a statement waits for the previous one in the same session.
const TURN_TIMEOUT: Duration = crate::limits::SESSION_TURN;

/// Idle time after which a connection is pinged before use, and not only checked for being closed.
const TRUSTED_IDLE: Duration = Duration::from_secs(5);

/// Time that a session without a connection is remembered.
const MEMORY_TIME: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of remembered sessions without a connection.
const MAX_REMEMBERED: usize = 4096;

/// Connections that are kept between statements.
pub(crate) struct SessionPool {
    pub(super) connector: Arc<Connector>,
    /// True if sessions have no state, as in read-only mode.
    pub(super) stateless: bool,
    state: Mutex<PoolState>,
    turn: Condvar,
}

#[derive(Default)]
struct PoolState {
    sessions: HashMap<StatementOwner, SessionSlot>,
    spares: Vec<IdleConn>,
}

enum SessionSlot {
    /// A statement runs.
    Busy {
        /// True if the connection is to be closed after it.
        closing: bool,
        /// Time when its page left.
        left: Option<Instant>,
    },
    Idle(IdleConn),
    Closed(ClosedSession),
}

/// A session without a connection; its next one enters the remembered database.
struct ClosedSession {
    database: Option<String>,
    since: Instant,
    /// State that was lost unnoticed; the session's next statement reports it.
    lost_state: Option<HeldState>,
}

impl ClosedSession {
    fn now(database: Option<String>, lost_state: Option<HeldState>) -> Self {
        Self {
            database,
            since: Instant::now(),
            lost_state,
        }
    }
}

impl SessionSlot {
    /// True if its time is over, or its server has closed the connection.
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

pub(super) struct IdleConn {
    pub(super) conn: DbConn,
    since: Instant,
    pub(super) database: Option<String>,
    /// Time when its page left.
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

    /// True if the server has ended it.
    fn is_closed(&self) -> bool {
        matches!(self.conn.socket.peek(), Peeked::Closed)
    }

    /// True if the connection still works; a statement is sent only on one that was just checked.
    pub(super) fn check_alive(&mut self) -> bool {
        match self.conn.socket.peek() {
            Peeked::Closed => return false,
            Peeked::Silence if self.since.elapsed() < TRUSTED_IDLE => return true,
            Peeked::Silence | Peeked::Data => {}
        }
        self.conn.ping()
    }
}

/// Connection of a session when its turn comes.
#[expect(clippy::large_enum_variant, reason = "moved once a statement")]
pub(super) enum SessionTurn {
    /// A connection.
    Idle(IdleConn),
    /// No connection yet, or no more, with the database that the session was in.
    New(Option<String>),
}

impl SessionPool {
    /// An empty pool. In read-only mode sessions are `stateless`.
    pub(crate) fn new(connector: Arc<Connector>, stateless: bool) -> Self {
        Self {
            connector,
            stateless,
            state: Mutex::default(),
            turn: Condvar::new(),
        }
    }

    /// Ends a session; its connection is closed now, or when its statement has ended.
    pub(crate) fn close(&self, owner: &StatementOwner) {
        let mut state = self.lock();
        match state.sessions.remove(owner) {
            Some(SessionSlot::Busy { .. }) => {
                let closing = SessionSlot::Busy {
                    closing: true,
                    left: None,
                };
                state.sessions.insert(owner.clone(), closing);
            }
            // Closing talks to the server, so it is done without the lock.
            removed => {
                drop(state);
                drop(removed);
            }
        }
    }

    /// Notes that the page of a session has left or is reloading; the session ends soon unless it comes back.
    pub(crate) fn leave(&self, owner: &StatementOwner) {
        let now = Some(Instant::now());
        match self.lock().sessions.get_mut(owner) {
            Some(SessionSlot::Busy { left, .. }) => *left = now,
            Some(SessionSlot::Idle(idle)) => idle.left = now,
            Some(SessionSlot::Closed(_)) | None => {}
        }
    }

    /// Notes that the page of a session is back; returns what is left of the session.
    pub(crate) fn come_back(&self, owner: &StatementOwner) -> SessionLeft {
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
            Some(SessionSlot::Closed(closed)) if closed.lost_state.is_some() => {
                closed.lost_state = None;
                SessionLeft::Lost
            }
            Some(SessionSlot::Closed(_)) => SessionLeft::Nothing,
        }
    }

    /// Closes connections that were idle for too long or lost their server, and forgets old sessions.
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

    /// Closes all idle connections; busy ones are closed when their statement ends.
    pub(crate) fn close_all(&self) {
        let everything = std::mem::take(&mut *self.lock());
        drop(everything);
    }

    /// Takes the spare connection that came back last of those that fit.
    pub(super) fn take_spare(&self, fits: impl Fn(&DbConn) -> bool) -> Option<IdleConn> {
        let mut state = self.lock();
        let at = state.spares.iter().rposition(|spare| fits(&spare.conn));
        at.map(|at| state.spares.swap_remove(at))
    }

    /// Closes the connection of the longest idle session, of those without state that `may` be closed.
    pub(super) fn evict_session(&self, may: impl Fn(&DbConn) -> bool) -> bool {
        let mut state = self.lock();
        let idle_since = |(owner, slot): (&StatementOwner, &SessionSlot)| match slot {
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

    /// Waits until no other statement of the session runs, and marks it busy.
    pub(super) fn take_turn(&self, owner: &StatementOwner) -> Result<SessionTurn, DbError> {
        let busy = |state: &mut PoolState| {
            matches!(state.sessions.get(owner), Some(SessionSlot::Busy { .. }))
        };
        let state = self.lock();
        let mut state = self.turn.wait_timeout_while(state, TURN_TIMEOUT, busy);
        if busy(&mut state) {
            return Err(DbError::SessionBusy);
        }
        let now_busy = SessionSlot::Busy {
            closing: false,
            left: None,
        };
        match state.sessions.insert(owner.clone(), now_busy) {
            Some(SessionSlot::Idle(idle)) => Ok(SessionTurn::Idle(idle)),
            Some(SessionSlot::Closed(ClosedSession {
                database,
                lost_state: Some(held),
                ..
            })) => {
                let told = ClosedSession::now(database, None);
                let slot = SessionSlot::Closed(told);
                state.sessions.insert(owner.clone(), slot);
                drop(state);
                self.turn.notify_all();
                Err(DbError::SessionLost(held))
            }
            Some(SessionSlot::Closed(closed)) => Ok(SessionTurn::New(closed.database)),
            Some(SessionSlot::Busy { .. }) | None => Ok(SessionTurn::New(None)),
        }
    }

    /// Takes a connection back, or notes that a session no longer has one; `missed` is state that was lost unnoticed.
    pub(super) fn put_back(
        &self,
        owner: Option<StatementOwner>,
        conn: Option<DbConn>,
        database: Option<String>,
        missed: Option<HeldState>,
    ) {
        let mut state = self.lock();
        let leftover = state.put_back(owner, conn, database, missed);
        drop(state);
        self.turn.notify_all();
        drop(leftover);
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }
}

impl PoolState {
    /// Like [`SessionPool::put_back`]; returns a connection that is not kept, to be closed.
    fn put_back(
        &mut self,
        owner: Option<StatementOwner>,
        conn: Option<DbConn>,
        database: Option<String>,
        missed: Option<HeldState>,
    ) -> Option<DbConn> {
        let Some(owner) = owner else {
            if self.spares.len() >= SPARES {
                return conn;
            }
            let spare = conn.map(|mut conn| {
                // It no longer belongs to a visitor.
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
        } else if missed.is_some() || database.is_some() {
            let closed = ClosedSession::now(database, missed);
            self.sessions.insert(owner, SessionSlot::Closed(closed));
        }
        None
    }

    /// Returns the idle connection of a removed session, to be closed, and remembers the session without it; forgets a
    /// session without a connection.
    fn close_idle(&mut self, owner: StatementOwner, slot: SessionSlot) -> Option<DbConn> {
        let SessionSlot::Idle(IdleConn { conn, database, .. }) = slot else {
            return None;
        };
        let closed = ClosedSession::now(database, conn.held());
        self.sessions.insert(owner, SessionSlot::Closed(closed));
        Some(conn)
    }

    /// Forgets the oldest sessions without a connection beyond [`MAX_REMEMBERED`].
    fn forget_oldest(&mut self) {
        let known = |(owner, slot): (&StatementOwner, &SessionSlot)| match slot {
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

/// State of a session whose page has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionLeft {
    /// Its connection with its state.
    All,
    /// Its connection was lost together with state.
    Lost,
    /// It has no connection, and no state was lost, or it is unknown.
    Nothing,
}
