//! The statements that run now: who may stop them, and how a stop meets the end of the statement.
//!
//! ```text
//! Waiting ◀─pause──begin─▶ On(statement) ──▶ Waiting ──end──▶ Done
//!    └───────────stop───────────┴──▶ the cause is kept; On: KILL QUERY is sent, or, where that cannot be done safely,
//!    │                          │    the connection is shut down
//!    └──────────────────────────┴──▶ past its grace the connection that is held is shut down
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::kill::{Sent, Told};
use super::owner::Owner;
use super::socket_handle::Socket;
use crate::sqlweb::error::{Cause, DbError};
use crate::sync::Mutex;

/// How long a server may go on with a statement that nobody waits for after it was told to stop.
const GRACE_UNSEEN: Duration = Duration::from_millis(750);

/// The same where somebody waits for the answer and would lose the session's state with the connection, and for what is
/// asked around the statement.
const GRACE_WATCHED: Duration = Duration::from_secs(10);

/// One statement on its way.
pub(crate) struct Running {
    state: Mutex<State>,
    /// Held while a kill is being sent.
    killing: Mutex<()>,
    since: Instant,
    /// Who asked: a visitor and, where there is one, a session.
    pub(super) owner: Owner,
    /// Whether a thread of [`stop_apart`] is at it.
    pub(super) being_stopped: AtomicBool,
    /// Whether the statement has ended and waits for a kill that is being sent.
    leaving: AtomicBool,
}

struct State {
    phase: Phase,
    stop: Option<Stop>,
    /// Whether its client has left, before or after that.
    was_left: bool,
    /// The connection that was taken for the statement, from before the first word on it until it is given back.
    held: Option<Socket>,
}

impl State {
    fn is_overdue(&self) -> bool {
        let Some(stop) = self.stop else { return false };
        match self.phase {
            Phase::On(_) => stop.is_overdue(),
            Phase::Waiting => stop.since.elapsed() > GRACE_WATCHED,
            Phase::Done => false,
        }
    }
}

/// The first stop; later ones change nothing but whether the server knows, and whether anybody waits for the answer.
#[derive(Clone, Copy)]
pub(crate) struct Stop {
    /// Why.
    pub(crate) cause: Cause,
    /// Whether the server was told.
    pub(crate) told: bool,
    since: Instant,
}

impl Stop {
    /// What the statement failed with, as it is told: a stopped one whose connection is lost was given up.
    pub(crate) fn explains(stop: Option<Self>, error: DbError) -> DbError {
        match (error, stop) {
            (DbError::Lost(_) | DbError::Endless, Some(stop)) => {
                DbError::GivenUp(stop.cause, stop.told)
            }
            (error, _) => error,
        }
    }
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
    On(Box<Sent>),
    Done,
}

impl Running {
    pub(super) fn new(owner: Owner) -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Waiting,
                stop: None,
                was_left: false,
                held: None,
            }),
            killing: Mutex::new(()),
            since: Instant::now(),
            owner,
            being_stopped: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
        }
    }

    /// A connection was taken for the statement; until [`Running::end`] it is shut down when a stop is overdue,
    /// whatever is done on it.
    pub(crate) fn hold(&self, socket: &Socket) {
        self.state.lock().held = Some(socket.clone());
    }

    /// The statement is about to be sent; fails when it was stopped before.
    pub(crate) fn begin(&self, sent: Sent) -> Result<(), DbError> {
        let mut state = self.state.lock();
        if let Some(stop) = state.stop {
            return Err(DbError::Stopped(stop.cause));
        }
        state.phase = Phase::On(Box::new(sent));
        Ok(())
    }

    /// The server has finished with the statement or with what comes before it, or was given up. Where the connection is
    /// to be used again this waits for a kill that is being sent, so that it can never hit what runs next.
    pub(crate) fn pause(&self, connection_lives_on: bool) -> Option<Stop> {
        self.leaving.store(true, Ordering::SeqCst);
        let sent = connection_lives_on.then(|| self.killing.lock());
        let mut state = self.state.lock();
        state.phase = Phase::Waiting;
        self.leaving.store(false, Ordering::SeqCst);
        drop(sent);
        state.stop
    }

    /// Nothing more comes: a stop finds nothing, and the connection may serve others.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        (state.phase, state.held) = (Phase::Done, None);
    }

    /// Stops the statement and returns once the server was told. False when it had ended. The first cause is kept (but see
    /// [`Running::note`]); at
    /// each further stop the server is told again, where its process list does not say that it was.
    pub(crate) fn stop(&self, cause: Cause, connector: &Arc<Connector>) -> bool {
        self.stop_by(cause, |sent| self.kill(connector, sent))
    }

    /// Notes a stop, from which on the time is counted until the connection is shut down; false when it has ended. That
    /// its client has left outweighs what was asked for before: nobody waits for the answer any more, nor will hear it.
    pub(super) fn note(&self, cause: Cause) -> bool {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Done) {
            return false;
        }
        state.was_left |= cause == Cause::ClientLeft;
        let (since, told) = (Instant::now(), false);
        let stop = state.stop.get_or_insert(Stop { cause, since, told });
        if cause == Cause::ClientLeft && stop.cause != Cause::ShuttingDown {
            stop.cause = cause;
        }
        true
    }

    /// `kill` says what came of it, where the server could be asked.
    fn stop_by(&self, cause: Cause, kill: impl FnOnce(&Sent) -> Option<Told>) -> bool {
        // Noted at once, since a kill that is being sent may take its time.
        if !self.note(cause) {
            return false;
        }
        let _sending = self.killing.lock();
        let running = match &self.state.lock().phase {
            Phase::On(sent) => Some(sent.clone()),
            Phase::Waiting | Phase::Done => None,
        };
        if let Some(sent) = running {
            match kill(&sent) {
                Some(Told::Yes) => {
                    if let Some(stop) = &mut self.state.lock().stop {
                        stop.told = true;
                    }
                }
                // Another server's connections are nobody's to touch; what is left is to cut the statement's own.
                Some(Told::Unproven) => self.cut(&sent),
                None => {}
            }
        }
        true
    }

    /// Shuts the statement's connection down, while it is still that statement's.
    fn cut(&self, sent: &Sent) {
        let state = self.state.lock();
        if matches!(&state.phase, Phase::On(_)) && !self.leaving.load(Ordering::SeqCst) {
            log::debug!(
                "connection {} is shut down: its server could not be told to stop",
                sent.connection
            );
            sent.socket.shut_down();
        }
    }

    /// Tells the server to stop sending without counting it as a stop: enough rows have come. Call from the statement's
    /// own thread. False where the server was not told, so that it sends what is left.
    pub(crate) fn enough(&self, connector: &Arc<Connector>) -> bool {
        let _sending = self.killing.lock();
        let sent = match &*self.state.lock() {
            State {
                phase: Phase::On(sent),
                stop: None,
                ..
            } => sent.clone(),
            _ => return false,
        };
        self.kill(connector, &sent) == Some(Told::Yes)
    }

    /// What came of a `KILL QUERY`; `None` where the server could not be asked.
    fn kill(&self, connector: &Arc<Connector>, sent: &Sent) -> Option<Told> {
        let wanted = || !self.leaving.load(Ordering::SeqCst);
        let id = sent.connection;
        match connector.kill_query(sent, &wanted) {
            Ok(told) => Some(told),
            Err(error) => {
                log::warn!("the statement on connection {id} could not be stopped: {error}");
                None
            }
        }
    }

    /// Whether the statement was told to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.lock().stop.is_some()
    }

    /// Whether its client has left, so that nobody hears how it ends.
    pub(crate) fn was_left(&self) -> bool {
        self.state.lock().was_left
    }

    /// Why the statement was told to stop, where it goes on all the same. Servers are known to forget a kill that comes
    /// between two statements of a procedure.
    pub(crate) fn goes_on(&self) -> Option<Cause> {
        let state = self.state.lock();
        match (&state.phase, state.stop) {
            (Phase::On(_), Some(stop)) => Some(stop.cause),
            _ => None,
        }
    }

    /// Whether the statement was told to stop and has not for longer than it may.
    pub(crate) fn is_overdue(&self) -> bool {
        self.state.lock().is_overdue()
    }

    /// Shuts the connection of an overdue statement down: a server that answers no more, or sends without end, would
    /// hold the statement's thread for ever.
    pub(crate) fn sever_if_overdue(&self) {
        let state = self.state.lock();
        if !state.is_overdue() {
            return;
        }
        if let Some(socket) = &state.held {
            log::debug!("a connection whose statement did not stop is shut down");
            socket.shut_down();
        }
    }

    /// Time since the statement was asked for.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn sent() -> Sent {
        Sent::somewhere(7, Socket::default())
    }

    fn begun() -> Running {
        let running = Running::new(Owner::default());
        running.begin(sent()).unwrap();
        running
    }

    #[test]
    fn a_stop_is_told_again_until_the_statement_has_ended() {
        let running = begun();
        let mut told = Vec::new();
        let mut tell = |heard: bool| {
            running.stop_by(Cause::Cancelled, |sent| {
                told.push(sent.connection);
                heard.then_some(Told::Yes)
            })
        };
        assert!(tell(false) && tell(true) && tell(true));
        assert_eq!(told, [7, 7, 7]);
        let stop = running.pause(true).unwrap();
        assert!(stop.told && stop.cause == Cause::Cancelled);
        running.end();
        assert!(!running.stop_by(Cause::TimedOut, |_| panic!("it has ended")));
    }

    #[test]
    fn a_stop_between_preparing_and_running_counts() {
        let running = begun();
        assert!(running.pause(true).is_none());
        assert!(running.stop_by(Cause::ClientLeft, |_| panic!("nothing runs")));
        assert!(matches!(
            running.begin(sent()),
            Err(DbError::Stopped(Cause::ClientLeft))
        ));
    }

    /// Whatever is done on the connection when the stop comes, and also where no thread can be had to tell the server.
    #[test]
    fn a_held_connection_is_shut_down_when_a_stop_is_overdue_in_any_phase() {
        let phases: [fn(&Running); 3] = [
            |_| {},
            |running| running.begin(sent()).unwrap(),
            |running| {
                running.begin(sent()).unwrap();
                running.pause(true);
            },
        ];
        for enter in phases {
            let (mut ours, socket, _theirs) = Socket::pair();
            if !socket.is_some() {
                return;
            }
            let running = Running::new(Owner::default());
            running.hold(&socket);
            enter(&running);
            running.note(Cause::ClientLeft);
            running.sever_if_overdue();
            ours.set_nonblocking(true).unwrap();
            assert!(ours.read(&mut [0]).is_err(), "not yet");
            if let Some(stop) = &mut running.state.lock().stop {
                stop.since -= 2 * GRACE_WATCHED;
            }
            running.sever_if_overdue();
            assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn a_connection_that_was_given_back_is_left_alone() {
        let (mut ours, socket, _theirs): (UnixStream, _, _) = Socket::pair();
        let running = begun();
        running.hold(&socket);
        running.note(Cause::ClientLeft);
        running.pause(true);
        running.end();
        if let Some(stop) = &mut running.state.lock().stop {
            stop.since -= 2 * GRACE_WATCHED;
        }
        running.sever_if_overdue();
        ours.set_nonblocking(true).unwrap();
        assert!(ours.read(&mut [0]).is_err());
    }

    #[test]
    fn a_statement_whose_server_cannot_be_told_safely_is_cut() {
        let (mut ours, socket, _theirs) = Socket::pair();
        if !socket.is_some() {
            return;
        }
        let running = Running::new(Owner::default());
        running.begin(Sent::somewhere(7, socket)).unwrap();
        assert!(running.stop_by(Cause::Cancelled, |_| Some(Told::Unproven)));
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        assert!(!running.pause(false).unwrap().told);
    }
}
