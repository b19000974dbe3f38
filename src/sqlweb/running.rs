//! The statements that run now: who may stop them, and how a stop meets the end of the statement.
//!
//! ```text
//! Waiting ◀─pause──begin─▶ On(connection) ──end──▶ Done
//!    └───────────stop───────────┴──▶ the cause is kept; On: KILL QUERY is sent
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connect::Connector;
use super::error::{Cause, DbError};

/// Longest statement id that a client may choose, in bytes.
pub(crate) const MAX_ID: usize = 128;

/// One statement on its way.
pub(crate) struct Running {
    state: Mutex<State>,
    since: Instant,
    /// Who asked: a visitor and, where there is one, a session.
    owner: Owner,
    /// Whether a thread of [`stop_apart`] is at it.
    being_stopped: AtomicBool,
}

/// To whom a statement belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Owner {
    /// The visitor's cookie in invisible mode, else empty.
    pub(crate) visitor: String,
    /// The client's session id, else empty.
    pub(crate) session: String,
}

struct State {
    phase: Phase,
    cause: Option<Cause>,
    /// Whether the server knows of `cause`.
    told: bool,
}

enum Phase {
    Waiting,
    On(u32),
    Done,
}

impl Running {
    fn new(owner: Owner) -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Waiting,
                cause: None,
                told: false,
            }),
            since: Instant::now(),
            owner,
            being_stopped: AtomicBool::new(false),
        }
    }

    /// The statement is about to be sent on `connection`; fails when it was stopped before.
    pub(crate) fn begin(&self, connection: u32) -> Result<(), DbError> {
        let mut state = self.lock();
        if let Some(cause) = state.cause {
            return Err(DbError::Stopped(cause));
        }
        state.phase = Phase::On(connection);
        Ok(())
    }

    /// The server has finished with the statement. Waits for a kill that is being sent, so that it can never hit what
    /// runs next on the same connection.
    pub(crate) fn end(&self) -> Option<Cause> {
        self.leave(Phase::Done)
    }

    /// The server has finished with what comes before the statement; as [`Running::end`], but a stop still counts.
    pub(crate) fn pause(&self) -> Option<Cause> {
        self.leave(Phase::Waiting)
    }

    fn leave(&self, phase: Phase) -> Option<Cause> {
        let mut state = self.lock();
        state.phase = phase;
        state.cause
    }

    /// Stops the statement and returns once the server was told. False when it had ended. The first cause is kept; a
    /// server that could not be told is told at the next try.
    pub(crate) fn stop(&self, cause: Cause, connector: &Arc<Connector>) -> bool {
        self.stop_by(cause, |connection| connector.kill_query(connection))
    }

    fn stop_by(&self, cause: Cause, kill: impl FnOnce(u32) -> Result<(), DbError>) -> bool {
        let mut state = self.lock();
        match state.phase {
            Phase::Done => false,
            Phase::Waiting => {
                state.cause.get_or_insert(cause);
                true
            }
            Phase::On(connection) => {
                state.cause.get_or_insert(cause);
                if !state.told {
                    match kill(connection) {
                        Ok(()) => state.told = true,
                        Err(error) => log::warn!(
                            "the statement on connection {connection} could not be stopped: {error}"
                        ),
                    }
                }
                true
            }
        }
    }

    /// Tells the server to stop sending without counting it as a stop: enough rows have come. Call from the statement's
    /// own thread.
    pub(crate) fn enough(&self, connector: &Arc<Connector>) {
        let state = self.lock();
        if let (Phase::On(connection), None) = (&state.phase, state.cause)
            && let Err(error) = connector.kill_query(*connection)
        {
            log::warn!("the rest of a result could not be declined: {error}");
        }
    }

    /// Time since the statement was asked for.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops `running` on a thread of its own, which ends when the server has been told: for callers that must not wait.
/// There is one such thread a statement, however often it is stopped while the server does not answer.
pub(crate) fn stop_apart(running: Arc<Running>, cause: Cause, connector: Arc<Connector>) {
    if running.being_stopped.swap(true, Ordering::SeqCst) {
        return;
    }
    let attempt = Attempt(running);
    let stopping = move || {
        attempt.0.stop(cause, &connector);
    };
    let spawned = std::thread::Builder::new()
        .name("db-kill".into())
        .stack_size(128 << 10)
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

/// All statements on their way, by owner and the id that the client chose.
#[derive(Default)]
pub(crate) struct RunningMap {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Key: visitor and query id, or a number of ours where the client chose none.
    map: HashMap<(String, String), Arc<Running>>,
    unnamed: u64,
}

/// A place in the map; leaving it when dropped.
pub(crate) struct Entry<'a> {
    map: &'a RunningMap,
    key: (String, String),
    /// The statement.
    pub(crate) running: Arc<Running>,
}

impl RunningMap {
    /// Enters a statement; `None` when the id is in use by the same visitor.
    pub(crate) fn enter(&self, owner: Owner, query_id: Option<&str>) -> Option<Entry<'_>> {
        let Some(id) = query_id else {
            return Some(self.enter_unnamed(owner));
        };
        let mut inner = self.lock();
        let key = (owner.visitor.clone(), format!("q{id}"));
        let is_free = !inner.map.contains_key(&key);
        is_free.then(|| self.insert(&mut inner, key, owner))
    }

    /// Enters a statement that its client gave no id.
    pub(crate) fn enter_unnamed(&self, owner: Owner) -> Entry<'_> {
        let mut inner = self.lock();
        inner.unnamed += 1;
        let key = (owner.visitor.clone(), format!("u{}", inner.unnamed));
        self.insert(&mut inner, key, owner)
    }

    fn insert(&self, inner: &mut Inner, key: (String, String), owner: Owner) -> Entry<'_> {
        let running = Arc::new(Running::new(owner));
        inner.map.insert(key.clone(), running.clone());
        Entry {
            map: self,
            key,
            running,
        }
    }

    /// The visitor's statement of that id, while it runs.
    pub(crate) fn find(&self, visitor: &str, query_id: &str) -> Option<Arc<Running>> {
        let key = (visitor.to_owned(), format!("q{query_id}"));
        self.lock().map.get(&key).cloned()
    }

    /// Every statement for which `wanted` says yes.
    pub(crate) fn filter(&self, wanted: impl Fn(&Owner, &Running) -> bool) -> Vec<Arc<Running>> {
        let inner = self.lock();
        let all = inner.map.values();
        all.filter(|r| wanted(&r.owner, r)).cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.map.lock().map.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_that_the_server_did_not_hear_is_tried_again() {
        let running = Running::new(Owner::default());
        running.begin(7).unwrap();
        let deaf = |_| Err(DbError::Busy);
        assert!(running.stop_by(Cause::Cancelled, deaf));
        let mut told = Vec::new();
        assert!(running.stop_by(Cause::TimedOut, |id| {
            told.push(id);
            Ok(())
        }));
        assert!(running.stop_by(Cause::TimedOut, |_| panic!("it was told")));
        assert_eq!(told, [7]);
        assert_eq!(running.end(), Some(Cause::Cancelled));
        assert!(!running.stop_by(Cause::Cancelled, |_| panic!("it has ended")));
    }

    #[test]
    fn a_statement_that_is_stopped_while_it_waits_never_begins() {
        let running = Running::new(Owner::default());
        running.begin(7).unwrap();
        assert_eq!(running.pause(), None);
        assert!(running.stop_by(Cause::ClientLeft, |_| panic!("nothing runs yet")));
        assert!(matches!(
            running.begin(7),
            Err(DbError::Stopped(Cause::ClientLeft))
        ));
    }
}
