//! Which connection a statement runs on: one of its own session, or any that was made clean.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connect::{Connector, Link};
use super::contain::contained;
use super::error::{Cause, DbError};
use super::running::Owner;
use super::statement::run_silently;

/// A session's connection is closed, and its transaction rolled back, after this time without a statement.
const SESSION_IDLE: Duration = Duration::from_secs(600);

/// A spare connection without a session is closed after this time.
const SPARE_IDLE: Duration = Duration::from_secs(60);

/// Spare connections kept: the page asks for a few things at once and then for nothing.
const SPARES: usize = 3;

/// How long a statement waits for the one before it in the same session.
const TURN: Duration = Duration::from_secs(10);

/// After this time without use a connection is asked whether it is still there.
const TRUSTED: Duration = Duration::from_secs(5);

/// What text is sent and received in, whatever the server's default is.
const CLEAN: &str = "SET NAMES utf8mb4";

/// The connections that are kept between statements.
pub(crate) struct Sessions {
    connector: Arc<Connector>,
    /// Whether a session holds nothing that a new connection would not have.
    stateless: bool,
    state: Mutex<State>,
    turn: Condvar,
}

#[derive(Default)]
struct State {
    sessions: HashMap<Owner, Slot>,
    spares: Vec<Parked>,
}

enum Slot {
    Busy {
        closing: bool,
    },
    Idle(Parked),
    /// The connection was given up and nobody was there to be told; the session's next statement is.
    Gone(Instant),
}

impl Slot {
    fn is_old(&self) -> bool {
        match self {
            Self::Busy { .. } => false,
            Self::Idle(Parked { since, .. }) | Self::Gone(since) => since.elapsed() > SESSION_IDLE,
        }
    }
}

struct Parked {
    link: Link,
    since: Instant,
    database: Option<String>,
}

/// A connection in use. Dropped without [`Lease::give_back`] it is closed.
pub(crate) struct Lease<'a> {
    sessions: &'a Sessions,
    owner: Option<Owner>,
    link: Option<Link>,
    /// The current database of a session's connection, where it is known for certain. It is not entered again then:
    /// that would be a statement between two of the session's, which `ROW_COUNT()` shows.
    database: Option<String>,
}

/// What a request wants of its connection.
pub(crate) struct Wanted<'a> {
    /// The session and visitor; an empty session is none.
    pub(crate) owner: &'a Owner,
    /// The database to be in.
    pub(crate) database: Option<&'a str>,
}

impl Sessions {
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
    pub(crate) fn check_out(&self, wanted: &Wanted<'_>) -> Result<Lease<'_>, CheckOut> {
        let mut lease = if wanted.owner.session.is_empty() {
            self.spare(wanted.database)?
        } else {
            self.session(wanted.owner)?
        };
        let Some(database) = wanted.database else {
            return Ok(lease);
        };
        match lease.enter(database) {
            Ok(()) => Ok(lease),
            Err(error) => {
                // An unknown database must not cost the session its connection.
                lease.give_back_after(Some(&error));
                Err(error.into())
            }
        }
    }

    /// Ends a session: its connection is closed now, or when its statement has ended.
    pub(crate) fn close(&self, owner: &Owner) {
        let mut state = self.lock();
        match state.sessions.remove(owner) {
            Some(Slot::Busy { .. }) => {
                let closing = Slot::Busy { closing: true };
                state.sessions.insert(owner.clone(), closing);
            }
            Some(Slot::Idle(parked)) => {
                drop(state);
                drop(parked);
            }
            Some(Slot::Gone(_)) | None => {}
        }
    }

    /// Closes what was idle for too long.
    pub(crate) fn expire(&self) {
        let mut state = self.lock();
        let old: Vec<Owner> = state
            .sessions
            .iter()
            .filter(|(_, slot)| slot.is_old())
            .map(|(owner, _)| owner.clone())
            .collect();
        let mut closed: Vec<Option<Slot>> = Vec::new();
        for owner in old {
            closed.push(state.sessions.remove(&owner));
        }
        let (old, kept) = std::mem::take(&mut state.spares)
            .into_iter()
            .partition::<Vec<_>, _>(|p| p.since.elapsed() > SPARE_IDLE);
        state.spares = kept;
        drop(state);
        drop((closed, old));
    }

    /// Closes everything that is idle; what is busy is closed when it ends.
    pub(crate) fn close_all(&self) {
        let everything = std::mem::take(&mut *self.lock());
        drop(everything);
    }

    fn spare(&self, database: Option<&str>) -> Result<Lease<'_>, DbError> {
        loop {
            let parked = {
                let mut state = self.lock();
                let fits = |p: &Parked| database.is_some() || !p.link.moved;
                let at = state.spares.iter().rposition(fits);
                at.map(|at| state.spares.swap_remove(at))
            };
            let Some(Parked {
                mut link, since, ..
            }) = parked
            else {
                return self.lease(None, self.fresh()?);
            };
            // In read-only mode every statement resets its connection anyway.
            if self.stateless && since.elapsed() < TRUSTED {
                return self.lease(None, link);
            }
            if contained(|| Ok(link.conn.reset()?)).is_ok()
                && run_silently(&mut link.conn, CLEAN).is_ok()
            {
                return self.lease(None, link);
            }
        }
    }

    /// A new connection; where the cap is reached, a spare one gives way.
    fn fresh(&self) -> Result<Link, DbError> {
        let made = self.connector.connect();
        let mut link = match made {
            Err(DbError::Busy) if self.drop_a_spare() => self.connector.connect()?,
            other => other?,
        };
        run_silently(&mut link.conn, CLEAN)?;
        Ok(link)
    }

    fn drop_a_spare(&self) -> bool {
        let spare = self.lock().spares.pop();
        spare.is_some()
    }

    fn session(&self, owner: &Owner) -> Result<Lease<'_>, CheckOut> {
        let idle = self.take_turn(owner)?;
        let mut lease = Lease {
            sessions: self,
            owner: Some(owner.clone()),
            link: None,
            database: None,
        };
        let link = match idle {
            None => self.fresh()?,
            Some(mut parked) => match self.still_there(&mut parked) {
                true => {
                    lease.database = parked.database;
                    parked.link
                }
                false if self.stateless => self.fresh()?,
                false => return Err(CheckOut::Db(DbError::Lost(SESSION_GONE.into()))),
            },
        };
        lease.link = Some(link);
        Ok(lease)
    }

    /// Waits until no other statement of the session runs and marks it busy.
    fn take_turn(&self, owner: &Owner) -> Result<Option<Parked>, CheckOut> {
        let busy = |state: &mut State| matches!(state.sessions.get(owner), Some(Slot::Busy { .. }));
        let state = self.lock();
        let (mut state, wait) = self
            .turn
            .wait_timeout_while(state, TURN, busy)
            .unwrap_or_else(PoisonError::into_inner);
        if wait.timed_out() {
            return Err(CheckOut::SessionBusy);
        }
        let now_busy = Slot::Busy { closing: false };
        match state.sessions.insert(owner.clone(), now_busy) {
            Some(Slot::Idle(parked)) => Ok(Some(parked)),
            Some(Slot::Gone(_)) => {
                state.sessions.remove(owner);
                drop(state);
                self.turn.notify_all();
                Err(CheckOut::Db(DbError::Lost(SESSION_GONE.into())))
            }
            _ => Ok(None),
        }
    }

    fn still_there(&self, parked: &mut Parked) -> bool {
        parked.since.elapsed() < TRUSTED || contained(|| Ok(parked.link.conn.ping()?)).is_ok()
    }

    fn lease(&self, owner: Option<Owner>, link: Link) -> Result<Lease<'_>, DbError> {
        Ok(Lease {
            sessions: self,
            owner,
            link: Some(link),
            database: None,
        })
    }

    /// Takes a connection back, or notes that a session has none any more: `untold` when nobody was told.
    fn put_back(
        &self,
        owner: Option<Owner>,
        link: Option<Link>,
        database: Option<String>,
        untold: bool,
    ) {
        let mut state = self.lock();
        let parked = link.map(|link| Parked {
            link,
            since: Instant::now(),
            database,
        });
        let leftover = match owner {
            Some(owner) => {
                let was = state.sessions.remove(&owner);
                let closing = !matches!(was, Some(Slot::Busy { closing: false }));
                match parked {
                    Some(parked) if !closing => {
                        state.sessions.insert(owner, Slot::Idle(parked));
                        None
                    }
                    None if untold && !closing && !self.stateless => {
                        state.sessions.insert(owner, Slot::Gone(Instant::now()));
                        None
                    }
                    other => other,
                }
            }
            None if state.spares.len() < SPARES => {
                state.spares.extend(parked);
                None
            }
            None => parked,
        };
        drop(state);
        self.turn.notify_all();
        drop(leftover);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a person is told when the connection behind a session with possible state is gone.
const SESSION_GONE: &str = "the session's transaction, variables and temporary tables are gone with it, nothing was run; run it again to go on with a new connection";

/// Why no connection could be had.
#[derive(Debug)]
pub(crate) enum CheckOut {
    /// Another statement of the session is still running.
    SessionBusy,
    /// The database's side.
    Db(DbError),
}

impl From<DbError> for CheckOut {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

impl Lease<'_> {
    /// The connection.
    pub(crate) fn link(&mut self) -> Result<&mut Link, DbError> {
        self.link
            .as_mut()
            .ok_or_else(|| DbError::Lost("the connection was closed".into()))
    }

    /// The statement that follows may change the current database.
    pub(crate) fn lose_track(&mut self) {
        self.database = None;
    }

    /// Changes the current database (COM_INIT_DB).
    fn enter(&mut self, database: &str) -> Result<(), DbError> {
        if self.database.as_deref() == Some(database) {
            return Ok(());
        }
        let link = self.link()?;
        link.moved = true;
        let entered = contained(|| Ok(link.conn.select_db(database)?));
        if entered
            .as_ref()
            .is_err_and(|e| !e.leaves_connection_usable())
        {
            self.link = None;
        }
        let known = entered.is_ok() && !self.sessions.stateless;
        self.database = known.then(|| database.to_owned());
        entered
    }

    /// Keeps the connection for the next statement when `outcome` left it usable.
    pub(crate) fn give_back<T>(self, outcome: &Result<T, DbError>) {
        self.give_back_after(outcome.as_ref().err());
    }

    fn give_back_after(mut self, error: Option<&DbError>) {
        if error.is_some_and(|error| !error.leaves_connection_usable()) {
            self.link = None;
        }
        let untold = matches!(error, Some(DbError::GivenUp(Cause::ClientLeft)));
        let (owner, link) = (self.owner.take(), self.link.take());
        let database = self.database.take();
        self.sessions.put_back(owner, link, database, untold);
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let link = self.link.take();
        drop(link);
        if let Some(owner) = self.owner.take() {
            self.sessions.put_back(Some(owner), None, None, false);
        }
    }
}
