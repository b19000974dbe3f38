//! The threads of connections: one each, and one for all that are parked.
//!
//! A connection of a gateway that has kept the stream of its last request is parked between requests.
//! The thread of all parked ones reads their next requests, passes each on, and passes on the answers
//! that come at once, without waiting for anybody; what many of them have to send at the same moment
//! leaves in one write. What takes longer, or is anything but a short request and its answer, goes on
//! with a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use super::admitted::AdmittedConnection;
use super::connection::{self, Work};
use super::parked;
use super::parking_lot::{Next, Parked, ParkingLot, Steps, carry};
use super::server_state::ServerState;
use crate::sync::{Thread, spawn};

/// Threads that serve the connections of a server.
pub(super) struct Threads {
    state: Arc<ServerState>,
    /// Made for the first connection of a gateway; none where that failed.
    lot: OnceLock<Option<Arc<ParkingLot<AdmittedConnection>>>>,
}

impl Threads {
    pub(super) fn new(state: &Arc<ServerState>) -> Arc<Threads> {
        Arc::new(Threads {
            state: Arc::clone(state),
            lot: OnceLock::new(),
        })
    }

    /// Serves a connection on a thread. An error says that there is none for it, and it has ended.
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

    /// Ends what is parked.
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
            (false, false) => parked::read_parked(&self.state, entry, socket, held),
            (true, true) => parked::go_on_parked(&self.state, entry, socket, held),
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
