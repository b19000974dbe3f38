//! The statements that run now: who may stop them, and how a stop meets the end of the statement.
//!
//! ```text
//! Waiting ◀─pause──begin─▶ On(connection) ──end──▶ Done
//!    └───────────stop───────────┴──▶ the cause is kept; On: KILL QUERY is sent
//!                               └──▶ past its grace the connection is shut down
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    stop: Option<Stop>,
}

/// The first stop; later ones change nothing but whether the server knows.
#[derive(Clone, Copy)]
struct Stop {
    cause: Cause,
    since: Instant,
    /// Whether the server was told.
    told: bool,
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
            being_stopped: AtomicBool::new(false),
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
        self.leave(Phase::Done, connection_lives_on)
    }

    /// The server has finished with what comes before the statement; as [`Running::end`], but a stop still counts.
    pub(crate) fn pause(&self, connection_lives_on: bool) -> Option<Cause> {
        self.leave(Phase::Waiting, connection_lives_on)
    }

    fn leave(&self, phase: Phase, connection_lives_on: bool) -> Option<Cause> {
        let sent = connection_lives_on.then(|| lock(&self.killing));
        let mut state = lock(&self.state);
        state.phase = phase;
        drop(sent);
        state.stop.map(|stop| stop.cause)
    }

    /// Stops the statement and returns once the server was told. False when it had ended. The first cause is kept; a
    /// server that could not be told is told at the next stop.
    pub(crate) fn stop(&self, cause: Cause, connector: &Arc<Connector>) -> bool {
        self.stop_by(cause, |connection| kill(connector, connection))
    }

    /// `kill` says whether the server was told.
    fn stop_by(&self, cause: Cause, kill: impl FnOnce(u32) -> bool) -> bool {
        // Noted at once, since a kill that is being sent may take its time.
        {
            let mut state = lock(&self.state);
            if matches!(state.phase, Phase::Done) {
                return false;
            }
            let (since, told) = (Instant::now(), false);
            state.stop.get_or_insert(Stop { cause, since, told });
        }
        let _sending = lock(&self.killing);
        let untold = {
            let state = lock(&self.state);
            match (&state.phase, &state.stop) {
                (Phase::On(connection, _), Some(stop)) if !stop.told => Some(*connection),
                _ => None,
            }
        };
        if let Some(connection) = untold {
            let told = kill(connection);
            if let Some(stop) = &mut lock(&self.state).stop {
                stop.told = told;
            }
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

/// Whether the server was told.
fn kill(connector: &Arc<Connector>, connection: u32) -> bool {
    let told = connector.kill_query(connection);
    if let Err(error) = &told {
        log::warn!("the statement on connection {connection} could not be stopped: {error}");
    }
    told.is_ok()
}

/// A panic elsewhere leaves nothing half-done behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    left: Condvar,
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

    /// Waits until no statement is under way, for at most `time`.
    pub(crate) fn wait_until_empty(&self, time: Duration) {
        let waited = self
            .left
            .wait_timeout_while(self.lock(), time, |inner| !inner.map.is_empty());
        let (inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !inner.map.is_empty() {
            log::warn!("{} statements have not ended in time", inner.map.len());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.map.lock().map.remove(&self.key);
        self.map.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> Running {
        let running = Running::new(Owner::default());
        running.begin(7, Socket::default()).unwrap();
        running
    }

    #[test]
    fn a_stop_that_the_server_did_not_hear_is_tried_again() {
        let running = begun();
        let mut told = Vec::new();
        let mut tell = |heard: bool| {
            running.stop_by(Cause::Cancelled, |connection| {
                told.push(connection);
                heard
            })
        };
        assert!(tell(false) && tell(true) && tell(true));
        assert_eq!(told, [7, 7]);
        assert_eq!(running.end(true), Some(Cause::Cancelled));
        assert!(!running.stop_by(Cause::TimedOut, |_| panic!("it has ended")));
    }

    #[test]
    fn a_stop_between_preparing_and_running_counts() {
        let running = begun();
        assert_eq!(running.pause(true), None);
        assert!(running.stop_by(Cause::ClientLeft, |_| panic!("nothing runs")));
        assert!(matches!(
            running.begin(7, Socket::default()),
            Err(DbError::Stopped(Cause::ClientLeft))
        ));
    }
}
