//! The statements that run now: who may stop them, and how a stop meets the end of the statement.
//!
//! ```text
//! Waiting ──begin──▶ On(connection) ──end──▶ Done
//!    └────────stop────────┴──▶ the cause is kept; On: KILL QUERY is sent
//!                         └──▶ past its grace the connection is shut down
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connect::Connector;
use super::error::{Cause, DbError};
use super::sever::Socket;

/// How long a server may go on with a statement that nobody waits for after it was told to stop.
const GRACE_UNSEEN: Duration = Duration::from_millis(750);

/// The same where somebody waits for the answer and would lose the session's state with the connection.
const GRACE_WATCHED: Duration = Duration::from_secs(10);

/// Longest statement id that a client may choose, in bytes.
pub(crate) const MAX_ID: usize = 128;

/// One statement on its way.
pub(crate) struct Running {
    state: Mutex<State>,
    /// Held while a kill is being sent.
    killing: Mutex<()>,
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
    stop: Option<Stop>,
}

/// The first stop; later ones change nothing.
#[derive(Clone, Copy)]
struct Stop {
    cause: Cause,
    since: Instant,
}

impl Stop {
    fn is_overdue(self) -> bool {
        let grace = match self.cause {
            Cause::ClientLeft | Cause::ShuttingDown => GRACE_UNSEEN,
            Cause::Cancelled | Cause::TimedOut => GRACE_WATCHED,
        };
        self.since.elapsed() > grace
    }
}

enum Phase {
    Waiting,
    On(u32, Socket),
    Done,
}

impl Running {
    fn new(owner: Owner) -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Waiting,
                stop: None,
            }),
            killing: Mutex::new(()),
            since: Instant::now(),
            owner,
        }
    }

    /// The statement is about to be sent on `connection`; fails when it was stopped before.
    pub(crate) fn begin(&self, connection: u32, socket: Socket) -> Result<(), DbError> {
        let mut state = lock(&self.state);
        if let Some(stop) = state.stop {
            return Err(DbError::Stopped(stop.cause));
        }
        state.phase = Phase::On(connection, socket);
        Ok(())
    }

    /// The server has finished with the statement, or was given up. Where the connection is to be used again this waits
    /// for a kill that is being sent, so that it can never hit what runs next.
    pub(crate) fn end(&self, connection_lives_on: bool) -> Option<Cause> {
        let sent = connection_lives_on.then(|| lock(&self.killing));
        let mut state = lock(&self.state);
        state.phase = Phase::Done;
        drop(sent);
        state.stop.map(|stop| stop.cause)
    }

    /// Stops the statement and returns once the server was told. False when it had ended. The first cause is kept.
    pub(crate) fn stop(&self, cause: Cause, connector: &Arc<Connector>) -> bool {
        let _sending = lock(&self.killing);
        let (is_first, connection) = {
            let mut state = lock(&self.state);
            let connection = match &state.phase {
                Phase::Done => return false,
                Phase::Waiting => None,
                Phase::On(connection, _) => Some(*connection),
            };
            let since = Instant::now();
            let is_first = state.stop.is_none();
            state.stop.get_or_insert(Stop { cause, since });
            (is_first, connection)
        };
        if let Some(connection) = connection.filter(|_| is_first) {
            kill(connector, connection);
        }
        true
    }

    /// Tells the server to stop sending without counting it as a stop: enough rows have come. Call from the statement's
    /// own thread.
    pub(crate) fn enough(&self, connector: &Arc<Connector>) {
        let _sending = lock(&self.killing);
        let connection = match &*lock(&self.state) {
            State {
                phase: Phase::On(connection, _),
                stop: None,
            } => *connection,
            _ => return,
        };
        kill(connector, connection);
    }

    /// Whether the statement was told to stop and has not for longer than it may.
    pub(crate) fn is_overdue(&self) -> bool {
        let state = lock(&self.state);
        !matches!(state.phase, Phase::Done) && state.stop.is_some_and(Stop::is_overdue)
    }

    /// Shuts the connection of an overdue statement down: a server that answers no more, or sends without end, would
    /// hold the statement's thread for ever.
    pub(crate) fn sever_if_overdue(&self) {
        let state = lock(&self.state);
        if let (Phase::On(connection, socket), Some(stop)) = (&state.phase, state.stop)
            && stop.is_overdue()
        {
            log::debug!("connection {connection} did not stop and is shut down");
            socket.shut_down();
        }
    }

    /// Time since the statement was asked for.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

fn kill(connector: &Arc<Connector>, connection: u32) {
    if let Err(error) = connector.kill_query(connection) {
        log::warn!("the statement on connection {connection} could not be stopped: {error}");
    }
}

/// A panic elsewhere leaves nothing half-done behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.map.lock().map.remove(&self.key);
    }
}
