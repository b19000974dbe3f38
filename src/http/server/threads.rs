//! The threads of connections: one each, and one for all that are parked; and the entry of a connection in the table.
//!
//! A connection of a gateway that has kept the stream of its last request is parked between requests. The thread of all
//! parked ones reads their next requests, passes each on, and passes on the answers that come at once, without waiting
//! for anybody; the bytes of many connections at the same moment leave in one write. Longer requests, and all but short
//! ones, go on with a thread of their own.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::connection;
use super::connection::{CarriedState, Connection, Work};
use super::connection_handler::{After, ConnectionHandler, Progress};
use super::connection_table::{ConnectionEntry, Phase};
use super::parking_lot::{Next, Parked, ParkingLot, Steps, carry};
use super::requests::HeadNow;
use super::server_state::ServerState;
use crate::sync::{Thread, spawn};

/// Threads that serve the connections of a server.
pub(super) struct Threads {
    state: Arc<ServerState>,
    /// Made for the first connection of a gateway; none if that failed.
    lot: OnceLock<Option<Arc<ParkingLot<AdmittedConnection>>>>,
}

impl Threads {
    pub(super) fn new(state: &Arc<ServerState>) -> Arc<Threads> {
        Arc::new(Threads {
            state: Arc::clone(state),
            lot: OnceLock::new(),
        })
    }

    /// Serves a connection on a thread. An error says that there is none for it, and that it has ended.
    pub(super) fn serve(self: &Arc<Self>, one: AdmittedConnection, work: Work) -> io::Result<()> {
        let thread = match self.state.gateway {
            Some(_) => Thread::HttpConnOfGateway,
            None => Thread::HttpConn,
        };
        let threads = Arc::clone(self);
        // Serves one connection; ends with it, when its socket is shut down from outside, or when the
        // connection is parked.
        spawn(thread, move || threads.run(one, work))
    }
}

impl Threads {
    fn run(self: &Arc<Self>, mut one: AdmittedConnection, work: Work) {
        let lot = self.lot();
        let waker = lot.map(|lot| lot.waker(one.entry.id));
        let AdmittedConnection {
            entry,
            socket,
            held,
            ..
        } = &mut one;
        let is_parked = connection::serve(&self.state, entry, socket, held, work, waker.as_ref());
        if let Some(lot) = lot.filter(|_| is_parked)
            && let Err(error) = lot.park(one)
        {
            log::warn!("http: cannot keep a connection: {error}");
        }
    }

    /// Ends all parked connections.
    pub(super) fn stop(&self) {
        if let Some(Some(lot)) = self.lot.get() {
            lot.close();
        }
    }

    fn lot(self: &Arc<Self>) -> Option<&Arc<ParkingLot<AdmittedConnection>>> {
        self.state.gateway.as_ref()?;
        let start = || {
            let failed =
                |error: &_| log::warn!("http: each kept connection uses a thread: {error}");
            self.start_lot().inspect_err(failed).ok()
        };
        self.lot.get_or_init(start).as_ref()
    }

    fn start_lot(self: &Arc<Self>) -> io::Result<Arc<ParkingLot<AdmittedConnection>>> {
        let lot = Arc::new(ParkingLot::new()?);
        let (threads, own) = (Arc::clone(self), Arc::clone(&lot));
        // A thread because it waits; ends with the server.
        spawn(Thread::HttpParked, move || carry(&threads, &own))?;
        Ok(lot)
    }
}

impl Steps<AdmittedConnection> for Threads {
    type Work = Work;

    /// The waker is the upstream's, the socket the client's.
    fn next(&self, parked: &mut Parked<AdmittedConnection>, is_woken: bool) -> Next<Work> {
        let AdmittedConnection {
            entry,
            socket,
            held,
            ..
        } = &mut parked.one;
        match (parked.waits, is_woken) {
            (false, false) => {
                with_parked(&self.state, entry, socket, held, |connection, handler| {
                    connection.read_now(handler)
                })
            }
            (true, true) => with_parked(&self.state, entry, socket, held, |connection, handler| {
                let progress = handler.go_on(connection);
                connection.parked(progress)
            }),
            // The client has left, or sends the next request already.
            (true, false) => Next::Needs(Work::Finish),
            (false, true) => {
                if let Some(handler) = held.handler() {
                    handler.check_upstream();
                }
                Next::Unchanged
            }
        }
    }

    fn leave(self: &Arc<Self>, one: AdmittedConnection, work: Work) {
        if let Err(error) = self.serve(one, work) {
            log::warn!("http: cannot serve a connection: {error}");
        }
    }

    fn idle_time(&self) -> Duration {
        self.state.limits.idle_time
    }

    fn overdue(&self) -> Work {
        Work::Finish
    }
}

fn with_parked(
    state: &ServerState,
    entry: &Arc<ConnectionEntry>,
    socket: &TcpStream,
    held: &mut CarriedState,
    step: impl FnOnce(&mut Connection<'_, &TcpStream>, &mut dyn ConnectionHandler) -> Next<Work>,
) -> Next<Work> {
    let mut connection = Connection::new(state, entry, socket, &mut held.inbox);
    let Some(handler) = held.handler() else {
        return Next::Gone;
    };
    let next = step(&mut connection, handler);
    held.inbox = connection.requests.inbox;
    next
}

impl Connection<'_, &TcpStream> {
    /// Reads the next request and begins with it, as far as that goes without waiting.
    fn read_now(&mut self, handler: &mut dyn ConnectionHandler) -> Next<Work> {
        let head = match self.requests.head_now(&self.state.limits) {
            HeadNow::Whole(head) => head,
            HeadNow::Part => return Next::Needs(Work::Read),
            HeadNow::Nothing => return Next::Unchanged,
            HeadNow::Gone => return Next::Gone,
        };
        let begun = if handler.claims(&head) {
            handler.begin(head, self)
        } else {
            Err(head)
        };
        let next = match begun {
            Ok(progress) => self.parked(progress),
            Err(head) => Next::Needs(Work::Serve(head)),
        };
        // A connection that waits for its answer has marked itself as busy.
        if matches!(next, Next::Needs(_)) {
            self.entry.mark_reading();
        }
        next
    }

    fn parked(&self, progress: Progress) -> Next<Work> {
        match progress {
            Progress::Idle => Next::Unchanged,
            Progress::Waits => Next::Waits,
            Progress::NeedsThread => Next::Needs(Work::Finish),
            Progress::Done(After::Keep) if self.state.is_stopping() => {
                Next::Needs(Work::ConnectionEnd(After::Close))
            }
            Progress::Done(After::Keep) => {
                self.entry.set_phase(Phase::Idle);
                Next::Idle
            }
            Progress::Done(after) => Next::Needs(Work::ConnectionEnd(after)),
        }
    }
}

/// A connection in the table, with its state between threads. One thread has it at a time.
pub(super) struct AdmittedConnection {
    pub(super) held: CarriedState,
    pub(super) entry: Arc<ConnectionEntry>,
    pub(super) socket: Arc<TcpStream>,
    /// Last field, so that it is dropped last: the connection has given everything back by then.
    _removal: RemoveOnDrop,
}

impl AdmittedConnection {
    pub(super) fn new(
        state: &Arc<ServerState>,
        entry: Arc<ConnectionEntry>,
        socket: Arc<TcpStream>,
    ) -> AdmittedConnection {
        let gateway = state.gateway.as_ref();
        AdmittedConnection {
            held: CarriedState::new(gateway.map(|gateway| gateway.visit(entry.peer))),
            _removal: RemoveOnDrop::new(state, &entry),
            entry,
            socket,
        }
    }
}

impl super::parking_lot::Parkable for AdmittedConnection {
    fn id(&self) -> u64 {
        self.entry.id
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn flush(&mut self) {
        if let Some(handler) = self.held.handler() {
            handler.flush();
        }
    }
}

/// Takes a connection out of the table when dropped.
pub(super) struct RemoveOnDrop {
    state: Arc<ServerState>,
    id: u64,
}

impl RemoveOnDrop {
    pub(super) fn new(state: &Arc<ServerState>, entry: &ConnectionEntry) -> RemoveOnDrop {
        let (state, id) = (Arc::clone(state), entry.id);
        RemoveOnDrop { state, id }
    }
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        self.state.table.remove(self.id);
    }
}
