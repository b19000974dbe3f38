//! Running statements: the table of all, and for each the race between a stop and the statement's end.
//!
//! ```text
//! Waiting ◀─pause──begin─▶ On(statement) ──▶ Waiting ──end──▶ Done
//!    └───────────stop───────────┴──▶ the cause is kept; On: KILL QUERY is sent, or, if that cannot be done safely,
//!    │                          │    the connection is shut down
//!    └──────────────────────────┴──▶ after its grace the held connection is shut down
//! ```
//!
//! Nothing is locked while the server is told. A connection for `KILL QUERY` is made first; then the statement is
//! marked ([`RunningStatement::begin_kill`]) while the kill may be on its way, and its end waits for that mark.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::db_conn::DbConn;
use super::kill::{self, KillOutcome, SentStatement};
use super::socket_handle::SocketHandle;
use crate::http::{CancelToken, DisconnectGuard};
use crate::sqlweb::error::{DbError, INTERRUPTED, StopCause};
use crate::sync::{Condvar, Mutex, MutexGuard, Thread, spawn};

/// Time for a stopped statement to end, if nobody waits for its answer.
const GRACE_UNSEEN: Duration = Duration::from_millis(750);

/// Time for a stopped statement to end, if somebody waits for its answer and would lose the session's state with the
/// connection; also for queries of ours around a statement.
const GRACE_WATCHED: Duration = Duration::from_secs(10);

/// Longest statement id that a client may choose, in bytes.
pub(crate) const MAX_ID: usize = 128;

/// A running statement.
pub(crate) struct RunningStatement {
    state: Mutex<StatementState>,
    kill_ended: Condvar,
    since: Instant,
    /// True after a stop; it is read at every row, without the lock.
    was_stop_sent: AtomicBool,
    /// Its visitor and session.
    pub(super) owner: StatementOwner,
    /// True while a thread of [`stop_in_background`] stops it.
    pub(super) being_stopped: AtomicBool,
}

struct StatementState {
    phase: StatementPhase,
    stop: Option<StopRequest>,
    /// True if its client has left, before or after the stop.
    was_left: bool,
    /// The connection that the statement has taken, until it is given back.
    held: Option<SocketHandle>,
    /// True if a kill may be on its way to the server.
    is_being_killed: bool,
    /// True if the statement has ended and may be waiting for the kill.
    is_ending: bool,
    /// True if another statement follows under the same id.
    goes_on: bool,
}

impl StatementState {
    /// True if a kill would hit this statement and no other.
    fn is_under_way(&self) -> bool {
        matches!(self.phase, StatementPhase::On(_)) && !self.is_ending
    }

    fn is_overdue(&self) -> bool {
        let Some(stop) = self.stop else { return false };
        match self.phase {
            StatementPhase::On(_) => stop.is_overdue(),
            StatementPhase::Waiting => stop.since.elapsed() > GRACE_WATCHED,
            StatementPhase::Done => false,
        }
    }
}

/// The first stop of a statement. Later ones only change whether the server was told, and whether somebody waits for
/// the answer.
#[derive(Clone, Copy)]
pub(crate) struct StopRequest {
    /// Its cause.
    pub(crate) cause: StopCause,
    /// True if the server was told.
    pub(crate) was_stop_sent: bool,
    since: Instant,
}

impl StopRequest {
    /// Explains the failure of a statement: one that was stopped and lost its connection was given up.
    pub(crate) fn explains(stop: Option<Self>, error: DbError) -> DbError {
        match (error, stop) {
            (DbError::Lost(_) | DbError::Endless, Some(stop)) => {
                DbError::GivenUp(stop.cause, stop.was_stop_sent)
            }
            (error, _) => error,
        }
    }

    fn is_overdue(self) -> bool {
        let grace = match self.cause {
            StopCause::ClientLeft | StopCause::ShuttingDown => GRACE_UNSEEN,
            StopCause::Cancelled | StopCause::TimedOut => GRACE_WATCHED,
        };
        self.since.elapsed() > grace
    }
}

enum StatementPhase {
    Waiting,
    On(Box<SentStatement>),
    Done,
}

impl RunningStatement {
    pub(super) fn new(owner: StatementOwner) -> Self {
        Self {
            state: Mutex::new(StatementState {
                phase: StatementPhase::Waiting,
                stop: None,
                was_left: false,
                held: None,
                is_being_killed: false,
                is_ending: false,
                goes_on: false,
            }),
            kill_ended: Condvar::new(),
            since: Instant::now(),
            was_stop_sent: AtomicBool::new(false),
            owner,
            being_stopped: AtomicBool::new(false),
        }
    }

    /// Notes the connection taken for the statement, which is shut down if a stop becomes overdue before
    /// [`RunningStatement::end`].
    pub(crate) fn hold(&self, socket: &SocketHandle) {
        self.state.lock().held = Some(socket.clone());
    }

    /// Notes that the statement is about to be sent; fails if it was stopped.
    pub(crate) fn begin(&self, sent: SentStatement) -> Result<(), DbError> {
        let mut state = self.state.lock();
        if let Some(stop) = state.stop {
            return Err(DbError::Stopped(stop.cause));
        }
        state.phase = StatementPhase::On(Box::new(sent));
        Ok(())
    }

    /// Notes that the server has finished with the statement or with queries before it, or was given up. If the
    /// connection will be used again, waits for a kill on its way, which must not hit the next statement.
    fn pause(&self, connection_lives_on: bool) -> Option<StopRequest> {
        let mut state = self.state.lock();
        state.is_ending = true;
        if connection_lives_on {
            state = self.wait_for_kill(state);
        }
        (state.phase, state.is_ending) = (StatementPhase::Waiting, false);
        state.stop
    }

    /// Like [`pause`](Self::pause), after the connection was used with that outcome.
    pub(crate) fn pause_after<T>(&self, outcome: &Result<T, DbError>) -> Option<StopRequest> {
        let error = outcome.as_ref().err();
        self.pause(error.is_none_or(DbError::leaves_connection_usable))
    }

    /// Marks that a kill may be on its way, until the mark is dropped; `None` if the statement has ended. Waits for
    /// another thread's kill. Once a stop is noted nothing more begins, so a running statement is the one to stop.
    fn begin_kill(&self) -> Option<KillInFlight<'_>> {
        let mut state = self.wait_for_kill(self.state.lock());
        if !state.is_under_way() {
            return None;
        }
        state.is_being_killed = true;
        Some(KillInFlight(self))
    }

    fn wait_for_kill<'a>(
        &self,
        state: MutexGuard<'a, StatementState>,
    ) -> MutexGuard<'a, StatementState> {
        self.kill_ended
            .wait_while(state, |state| state.is_being_killed)
    }

    /// Ends the statement: a stop no longer finds it, and its connection may serve others.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        let next = if state.goes_on {
            StatementPhase::Waiting
        } else {
            StatementPhase::Done
        };
        (state.phase, state.held) = (next, None);
    }

    /// Notes whether more statements follow under the same id; a stop is then for all of them.
    pub(crate) fn mark_one_of_many(&self, is: bool) {
        self.state.lock().goes_on = is;
    }

    /// Stops the statement and returns once the server was told; false if it had ended. The first cause is kept, but
    /// see [`RunningStatement::note`]. Each further stop tells the server again, unless its process list shows the
    /// kill.
    pub(crate) fn stop(&self, cause: StopCause, connector: &Arc<Connector>) -> bool {
        self.stop_by(cause, |sent| self.kill(connector, sent, kill::LOOKS))
    }

    /// Notes a stop, which starts the time until the connection is shut down; false if the statement has ended. A
    /// client that has left overrides an earlier cause, since nobody waits for the answer any more.
    pub(super) fn note(&self, cause: StopCause) -> bool {
        let mut state = self.state.lock();
        if matches!(state.phase, StatementPhase::Done) {
            return false;
        }
        self.was_stop_sent.store(true, Ordering::Relaxed);
        state.was_left |= cause == StopCause::ClientLeft;
        let (since, was_stop_sent) = (Instant::now(), false);
        let stop = state.stop.get_or_insert(StopRequest {
            cause,
            since,
            was_stop_sent,
        });
        if cause == StopCause::ClientLeft && stop.cause != StopCause::ShuttingDown {
            stop.cause = cause;
        }
        true
    }

    /// Stops the statement by `kill`, which returns `None` if the server could not be asked.
    fn stop_by(
        &self,
        cause: StopCause,
        kill: impl FnOnce(&SentStatement) -> Option<KillOutcome>,
    ) -> bool {
        // Noted at once, since a kill on its way may take a while.
        if !self.note(cause) {
            return false;
        }
        let sent = match &self.state.lock().phase {
            StatementPhase::On(sent) => sent.clone(),
            StatementPhase::Waiting | StatementPhase::Done => return true,
        };
        match kill(&sent) {
            Some(KillOutcome::Done) => {
                if let Some(stop) = &mut self.state.lock().stop {
                    stop.was_stop_sent = true;
                }
            }
            // On another server nothing may be killed, so the statement's own connection is ended.
            Some(KillOutcome::Unproven) => self.shut_down(&sent),
            None => {}
        }
        true
    }

    /// Shuts the statement's connection down if it is still its own; the statement's end waits for the lock.
    fn shut_down(&self, sent: &SentStatement) {
        let state = self.state.lock();
        if state.is_under_way() {
            log::debug!(
                "connection {} is closed: its server could not be told to stop",
                sent.connection
            );
            sent.socket.shut_down();
        }
    }

    /// Tells the server to stop sending since enough rows have come; this is not counted as a stop. Must be called from
    /// the statement's own thread. Returns false if the server was not told, so that it sends the rest.
    pub(crate) fn enough(&self, connector: &Arc<Connector>) -> bool {
        let sent = match &*self.state.lock() {
            StatementState {
                phase: StatementPhase::On(sent),
                stop: None,
                ..
            } => sent.clone(),
            _ => return false,
        };
        self.kill(connector, &sent, kill::LOOKS_AFTER_ROWS) == Some(KillOutcome::Done)
    }

    /// Sends a `KILL QUERY` and returns its result; `None` if the server could not be asked.
    fn kill(
        &self,
        connector: &Arc<Connector>,
        sent: &SentStatement,
        looks: u32,
    ) -> Option<KillOutcome> {
        let is_wanted = || self.state.lock().is_under_way();
        let kill = || {
            let mut control = match connector.connect_to_kill(sent, &is_wanted) {
                Ok(Some(control)) => control,
                // An account at its limit of connections would be refused again.
                Ok(None) | Err(DbError::Denied(_)) => return Ok(KillOutcome::Unproven),
                Err(error) => return Err(error),
            };
            // Marked only now, since the statement's end waits for a kill, but must not wait for a connect.
            let Some(_in_flight) = self.begin_kill() else {
                return Ok(KillOutcome::Done);
            };
            kill::kill_over(&mut control, sent, looks, &is_wanted)
        };
        kill()
            .inspect_err(|error: &DbError| {
                let id = sent.connection;
                log::warn!("cannot stop the statement on connection {id}: {error}");
            })
            .ok()
    }

    /// True if the statement was told to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped_by().is_some()
    }

    /// Reason that the statement was told to stop.
    pub(crate) fn stopped_by(&self) -> Option<StopCause> {
        self.state.lock().stop.map(|stop| stop.cause)
    }

    /// True after a stop. Reads without the lock, so it may be a row late.
    pub(crate) fn was_stop_sent(&self) -> bool {
        self.was_stop_sent.load(Ordering::Relaxed)
    }

    /// True if its client has left, so that nobody reads the answer.
    pub(crate) fn was_left(&self) -> bool {
        self.state.lock().was_left
    }

    /// Cause of the stop of a statement that still runs. Servers are known to forget a kill between two statements of a
    /// procedure.
    pub(crate) fn goes_on(&self) -> Option<StopCause> {
        let state = self.state.lock();
        match (&state.phase, state.stop) {
            (StatementPhase::On(_), Some(stop)) => Some(stop.cause),
            _ => None,
        }
    }

    /// True if the statement was told to stop and its grace is over.
    pub(crate) fn is_overdue(&self) -> bool {
        self.state.lock().is_overdue()
    }

    /// Shuts the connection of an overdue statement down, since a silent server, or one that sends without end, would
    /// hold the statement's thread forever.
    pub(crate) fn shut_down_if_overdue(&self) {
        let state = self.state.lock();
        if !state.is_overdue() {
            return;
        }
        if let Some(socket) = &state.held {
            log::debug!("a connection whose statement did not stop is closed");
            socket.shut_down();
        }
    }

    /// Time since the statement was requested.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

/// The mark of [`RunningStatement::begin_kill`].
struct KillInFlight<'a>(&'a RunningStatement);

impl Drop for KillInFlight<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_being_killed = false;
        self.0.kill_ended.notify_all();
    }
}

/// Stops `running` on a thread of its own, which ends when the server has been told; for callers that must not wait. A
/// statement has at most one such thread, however often it is stopped.
pub(crate) fn stop_in_background(
    running: Arc<RunningStatement>,
    cause: StopCause,
    connector: Arc<Connector>,
) {
    // Noted here and not on the thread, so that it counts even if no thread can be started.
    if !running.note(cause) || running.being_stopped.swap(true, Ordering::SeqCst) {
        return;
    }
    let stop = StopInProgress(running);
    let stopping = move || {
        stop.0.stop(cause, &connector);
    };
    spawn(Thread::DbKill, stopping)
        .unwrap_or_else(|error| log::warn!("no thread to stop a statement: {error}"));
}

/// Mark that a thread of [`stop_in_background`] is needed, removed when dropped.
struct StopInProgress(Arc<RunningStatement>);

impl Drop for StopInProgress {
    fn drop(&mut self) {
        self.0.being_stopped.store(false, Ordering::SeqCst);
    }
}

/// Stops `running` when `client` leaves, while the guard is held.
pub(crate) fn stopped_when_gone(
    client: &CancelToken,
    running: &Arc<RunningStatement>,
    connector: &Arc<Connector>,
) -> DisconnectGuard {
    let (running, connector) = (running.clone(), connector.clone());
    // On a thread of its own, since the end of this request must not wait for a server without free connections.
    client.on_gone(move || stop_in_background(running, StopCause::ClientLeft, connector))
}

/// Does `work` on `conn` so that a stop of `running` reaches it; the statement itself may still follow.
pub(crate) fn stoppable<T>(
    running: &RunningStatement,
    conn: &mut DbConn,
    work: impl FnOnce(&mut DbConn) -> Result<T, DbError>,
) -> Result<T, DbError> {
    running.begin(SentStatement::on(conn, None, true))?;
    let outcome = work(conn);
    let stop = running.pause_after(&outcome);
    match (outcome, stop) {
        (Err(DbError::Statement(error)), Some(stop)) if error.code == INTERRUPTED => {
            Err(DbError::Stopped(stop.cause))
        }
        (outcome, stop) => outcome.map_err(|error| StopRequest::explains(stop, error)),
    }
}

/// Owner of a statement: a visitor, and a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct StatementOwner {
    /// The visitor's id in invisible mode, else empty.
    pub(crate) visitor: String,
    /// The client's session id, else empty.
    pub(crate) session: String,
}

/// All running statements.
#[derive(Default)]
pub(crate) struct RunningStatements {
    table: Mutex<StatementTable>,
    left: Condvar,
}

#[derive(Default)]
struct StatementTable {
    /// Statements by visitor and query id, or by a number of ours if the client chose no id.
    map: HashMap<(String, String), Arc<RunningStatement>>,
    unnamed: u64,
}

/// A statement's place in the table, which it leaves when dropped.
pub(crate) struct RunningEntry<'a> {
    map: &'a RunningStatements,
    key: (String, String),
    /// The statement.
    pub(crate) running: Arc<RunningStatement>,
}

impl RunningStatements {
    /// Enters a statement; `None` if the same visitor already uses the id.
    pub(crate) fn enter(&self, owner: StatementOwner, query_id: &str) -> Option<RunningEntry<'_>> {
        let mut table = self.lock();
        let key = (owner.visitor.clone(), format!("q{query_id}"));
        let is_free = !table.map.contains_key(&key);
        is_free.then(|| self.insert(&mut table, key, owner))
    }

    /// Enters a statement without an id of its client.
    pub(crate) fn enter_unnamed(&self, owner: StatementOwner) -> RunningEntry<'_> {
        let mut table = self.lock();
        table.unnamed += 1;
        let key = (owner.visitor.clone(), format!("u{}", table.unnamed));
        self.insert(&mut table, key, owner)
    }

    fn insert(
        &self,
        table: &mut StatementTable,
        key: (String, String),
        owner: StatementOwner,
    ) -> RunningEntry<'_> {
        let running = Arc::new(RunningStatement::new(owner));
        table.map.insert(key.clone(), running.clone());
        RunningEntry {
            map: self,
            key,
            running,
        }
    }

    /// The visitor's running statement of that id.
    pub(crate) fn find(&self, visitor: &str, query_id: &str) -> Option<Arc<RunningStatement>> {
        let key = (visitor.to_owned(), format!("q{query_id}"));
        self.lock().map.get(&key).cloned()
    }

    /// All statements that are `wanted`.
    pub(crate) fn filter(
        &self,
        wanted: impl Fn(&StatementOwner, &RunningStatement) -> bool,
    ) -> Vec<Arc<RunningStatement>> {
        let table = self.lock();
        let all = table.map.values();
        all.filter(|r| wanted(&r.owner, r)).cloned().collect()
    }

    /// Waits until no statement runs, for at most `time`.
    pub(crate) fn wait_until_empty(&self, time: Duration) {
        let table = self
            .left
            .wait_timeout_while(self.lock(), time, |table| !table.map.is_empty());
        if !table.map.is_empty() {
            log::warn!("{} statements did not end in time", table.map.len());
        }
    }

    fn lock(&self) -> MutexGuard<'_, StatementTable> {
        self.table.lock()
    }
}

impl Drop for RunningEntry<'_> {
    fn drop(&mut self) {
        self.map.lock().map.remove(&self.key);
        self.map.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn sent() -> SentStatement {
        SentStatement::somewhere(7, SocketHandle::default())
    }

    fn begun() -> RunningStatement {
        let running = RunningStatement::new(StatementOwner::default());
        running.begin(sent()).unwrap();
        running
    }

    #[test]
    fn a_stop_is_told_again_until_the_statement_has_ended() {
        let running = begun();
        let mut told = Vec::new();
        let mut tell = |heard: bool| {
            running.stop_by(StopCause::Cancelled, |sent| {
                told.push(sent.connection);
                heard.then_some(KillOutcome::Done)
            })
        };
        assert!(tell(false) && tell(true) && tell(true));
        assert_eq!(told, [7, 7, 7]);
        let stop = running.pause(true).unwrap();
        assert!(stop.was_stop_sent && stop.cause == StopCause::Cancelled);
        running.end();
        assert!(!running.stop_by(StopCause::TimedOut, |_| panic!("it has ended")));
    }

    /// The second connection for `KILL QUERY` may take 5 s to be made.
    #[test]
    fn a_statement_ends_while_the_connection_for_its_kill_is_being_made() {
        let running = begun();
        let (connecting, is_connecting) = crossbeam_channel::bounded(0);
        let (connected, is_connected) = crossbeam_channel::bounded(0);
        let connect = |_: &SentStatement| {
            connecting.send(()).unwrap();
            is_connected.recv().unwrap();
            assert!(running.begin_kill().is_none(), "it has ended");
            Some(KillOutcome::Done)
        };
        std::thread::scope(|scope| {
            let stopping = scope.spawn(|| running.stop_by(StopCause::Cancelled, connect));
            is_connecting.recv().unwrap();
            assert!(running.pause(true).is_some());
            connected.send(()).unwrap();
            assert!(stopping.join().unwrap());
        });
    }

    #[test]
    fn the_end_of_a_statement_waits_for_a_kill_that_is_on_its_way() {
        let running = begun();
        let is_over = AtomicBool::new(false);
        let in_flight = running.begin_kill().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                running.pause(true);
                assert!(is_over.load(Ordering::SeqCst));
            });
            while !running.state.lock().is_ending {
                std::thread::yield_now();
            }
            is_over.store(true, Ordering::SeqCst);
            drop(in_flight);
        });
        assert!(running.begin_kill().is_none());
    }

    #[test]
    fn a_stop_between_preparing_and_running_counts() {
        let running = begun();
        assert!(running.pause(true).is_none());
        assert!(running.stop_by(StopCause::ClientLeft, |_| panic!("nothing runs")));
        assert!(matches!(
            running.begin(sent()),
            Err(DbError::Stopped(StopCause::ClientLeft))
        ));
    }

    /// Also if no thread can be started to tell the server.
    #[test]
    fn a_held_connection_is_shut_down_when_a_stop_is_overdue_in_any_phase() {
        let phases: [fn(&RunningStatement); 3] = [
            |_| {},
            |running| running.begin(sent()).unwrap(),
            |running| {
                running.begin(sent()).unwrap();
                running.pause(true);
            },
        ];
        for enter in phases {
            let (mut ours, socket, _theirs) = SocketHandle::pair();
            if !socket.is_some() {
                return;
            }
            let running = RunningStatement::new(StatementOwner::default());
            running.hold(&socket);
            enter(&running);
            running.note(StopCause::ClientLeft);
            running.shut_down_if_overdue();
            ours.set_nonblocking(true).unwrap();
            assert!(ours.read(&mut [0]).is_err(), "not yet");
            if let Some(stop) = &mut running.state.lock().stop {
                stop.since -= 2 * GRACE_WATCHED;
            }
            running.shut_down_if_overdue();
            assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn a_connection_that_was_given_back_is_left_alone() {
        let (mut ours, socket, _theirs): (UnixStream, _, _) = SocketHandle::pair();
        let running = begun();
        running.hold(&socket);
        running.note(StopCause::ClientLeft);
        running.pause(true);
        running.end();
        if let Some(stop) = &mut running.state.lock().stop {
            stop.since -= 2 * GRACE_WATCHED;
        }
        running.shut_down_if_overdue();
        ours.set_nonblocking(true).unwrap();
        assert!(ours.read(&mut [0]).is_err());
    }

    /// The next statement on it, perhaps another session's, would be lost.
    #[test]
    fn no_connection_is_shut_down_after_its_statement_has_ended() {
        for _ in 0..500 {
            let (mut ours, socket, _theirs) = SocketHandle::pair();
            if !socket.is_some() {
                return;
            }
            ours.set_nonblocking(true).unwrap();
            let mut is_shut = || ours.read(&mut [0]).is_ok();
            let running = RunningStatement::new(StatementOwner::default());
            running.begin(SentStatement::somewhere(7, socket)).unwrap();
            let unproven = |_: &SentStatement| Some(KillOutcome::Unproven);
            std::thread::scope(|scope| {
                let stopping = scope.spawn(|| running.stop_by(StopCause::Cancelled, unproven));
                while !running.is_stopped() {
                    std::thread::yield_now();
                }
                running.pause(true);
                running.end();
                let was_shut = is_shut();
                assert!(stopping.join().unwrap());
                assert_eq!(is_shut(), was_shut);
            });
        }
    }

    #[test]
    fn a_statement_whose_server_cannot_be_told_safely_is_cut() {
        let (mut ours, socket, _theirs) = SocketHandle::pair();
        if !socket.is_some() {
            return;
        }
        let running = RunningStatement::new(StatementOwner::default());
        running.begin(SentStatement::somewhere(7, socket)).unwrap();
        assert!(running.stop_by(StopCause::Cancelled, |_| Some(KillOutcome::Unproven)));
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        assert!(!running.pause(false).unwrap().was_stop_sent);
    }
}
