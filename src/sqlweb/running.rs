//! The statements that run now: who may stop them, and how a stop meets the end of the statement.
//!
//! ```text
//! Waiting ──begin──▶ On(connection) ──end──▶ Done
//!    └────────stop────────┴──▶ the cause is kept; On: KILL QUERY is sent
//! ```

use std::collections::HashMap;
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
            }),
            since: Instant::now(),
            owner,
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
        let mut state = self.lock();
        state.phase = Phase::Done;
        state.cause
    }

    /// Stops the statement and returns once the server was told. False when it had ended. The first cause is kept.
    pub(crate) fn stop(&self, cause: Cause, connector: &Arc<Connector>) -> bool {
        let mut state = self.lock();
        match state.phase {
            Phase::Done => false,
            Phase::Waiting => {
                state.cause.get_or_insert(cause);
                true
            }
            Phase::On(connection) => {
                if state.cause.is_none() {
                    state.cause = Some(cause);
                    if let Err(error) = connector.kill_query(connection) {
                        log::warn!(
                            "the statement on connection {connection} could not be stopped: {error}"
                        );
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
pub(crate) fn stop_apart(running: Arc<Running>, cause: Cause, connector: Arc<Connector>) {
    let stopping = move || {
        running.stop(cause, &connector);
    };
    let spawned = std::thread::Builder::new()
        .name("db-kill".into())
        .stack_size(128 << 10)
        .spawn(stopping);
    if let Err(error) = spawned {
        log::warn!("no thread to stop a statement: {error}");
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
        let mut inner = self.lock();
        let id = match query_id {
            Some(id) => format!("q{id}"),
            None => {
                inner.unnamed += 1;
                format!("u{}", inner.unnamed)
            }
        };
        let key = (owner.visitor.clone(), id);
        if inner.map.contains_key(&key) {
            return None;
        }
        let running = Arc::new(Running::new(owner));
        inner.map.insert(key.clone(), running.clone());
        Some(Entry {
            map: self,
            key,
            running,
        })
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
