//! The threads of connections: one each, and one for all that are parked.
//!
//! A connection of a gateway that has kept the stream of its last request is parked between requests.
//! The thread of all parked ones reads their next requests, passes each on, and passes on the answers
//! that come at once, without waiting for anybody; what many of them have to send at the same moment
//! leaves in one write. What takes longer, or is anything but a short request and its answer, goes on
//! with a thread of its own.

use std::io;
#[cfg(target_os = "linux")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::thread;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use super::admitted::Admitted;
use super::connection::{self, Work};
#[cfg(target_os = "linux")]
use super::parked::{self, Parked};
#[cfg(target_os = "linux")]
use super::parking_lot::{ParkedConnection, ParkingLot};
use super::server_state::ServerState;

/// Bytes of stack of a connection's thread: its buffers are on the heap. Code that is not
/// optimised needs more.
const STACK: usize = if cfg!(debug_assertions) { 256 } else { 96 } * 1024;
/// Stack size if a gateway may seal and write for a tunnel there, or speak TLS.
const GATEWAY_STACK: usize = if cfg!(debug_assertions) { 768 } else { 256 } * 1024;
/// Time that a parked connection waits for its upstream. Default 250 ms: an answer that takes longer is
/// worth a thread, which keeps the time limits.
#[cfg(target_os = "linux")]
const PATIENCE: Duration = Duration::from_millis(250);

/// Threads that serve the connections of a server.
pub(super) struct Threads {
    state: Arc<ServerState>,
    /// Made for the first connection of a gateway; none where that failed.
    #[cfg(target_os = "linux")]
    lot: OnceLock<Option<Arc<ParkingLot>>>,
}

impl Threads {
    pub(super) fn new(state: &Arc<ServerState>) -> Arc<Threads> {
        Arc::new(Threads {
            state: Arc::clone(state),
            #[cfg(target_os = "linux")]
            lot: OnceLock::new(),
        })
    }

    /// Serves a connection on a thread. An error says that there is none for it, and it has ended.
    pub(super) fn serve(self: &Arc<Self>, one: Admitted, work: Work) -> io::Result<()> {
        let stack = match self.state.gateway {
            Some(_) => GATEWAY_STACK,
            None => STACK,
        };
        let threads = Arc::clone(self);
        // Serves one connection; ends with it, when its socket is shut down from outside, or when the
        // connection is parked.
        let spawned = thread::Builder::new()
            .name("http-conn".into())
            .stack_size(stack)
            .spawn(move || threads.run(one, work));
        spawned.map(drop)
    }
}

#[cfg(not(target_os = "linux"))]
impl Threads {
    /// There is no parking without epoll.
    fn run(&self, mut one: Admitted, work: Work) {
        connection::serve(&self.state, &one.entry, &mut one.held, work, None);
    }

    pub(super) fn stop(&self) {}
}

#[cfg(target_os = "linux")]
impl Threads {
    fn run(self: &Arc<Self>, mut one: Admitted, work: Work) {
        let lot = self.lot();
        let waker = lot.map(|lot| lot.waker(one.entry.id));
        let is_parked =
            connection::serve(&self.state, &one.entry, &mut one.held, work, waker.as_ref());
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

    fn lot(self: &Arc<Self>) -> Option<&Arc<ParkingLot>> {
        self.state.gateway.as_ref()?;
        let start = || {
            let failed =
                |error: &_| log::warn!("http: each kept connection uses a thread: {error}");
            self.start_lot().inspect_err(failed).ok()
        };
        self.lot.get_or_init(start).as_ref()
    }

    fn start_lot(self: &Arc<Self>) -> io::Result<Arc<ParkingLot>> {
        let lot = Arc::new(ParkingLot::new()?);
        let (threads, own) = (Arc::clone(self), Arc::clone(&lot));
        // A thread because it waits; ends with the server.
        thread::Builder::new()
            .name("http-parked".into())
            .stack_size(GATEWAY_STACK)
            .spawn(move || threads.carry(&own))?;
        Ok(lot)
    }

    /// Carries all that are parked.
    fn carry(self: &Arc<Self>, lot: &ParkingLot) {
        let (mut events, mut ready) = (ParkingLot::events(), Vec::new());
        let mut moved: Vec<ParkedConnection> = Vec::new();
        let mut look_at = Instant::now();
        while lot.wait(&mut events, &mut ready, look_at) {
            // One look at the clock for all of this turn: it is soon over.
            let now = Instant::now();
            let of_upstreams = ready.drain(..).map(|id| (id, true));
            let of_clients = events.iter().map(|event| (event.data.u64(), false));
            for (id, of_upstream) in of_upstreams.chain(of_clients) {
                let step = contained(|| self.step(lot, id, of_upstream, now));
                moved.extend(step.flatten());
            }
            if !moved.is_empty() {
                // Bytes of many leave with the first.
                contained(|| moved.iter_mut().for_each(ParkedConnection::flush));
                lot.put_back(moved.drain(..));
                look_at = look_at.min(now + PATIENCE);
            }
            if look_at <= now {
                look_at = self.end_late(lot, now);
            }
        }
        lot.clear();
    }

    /// One that has moved is given back: it may have something to send.
    fn step(
        self: &Arc<Self>,
        lot: &ParkingLot,
        id: u64,
        of_upstream: bool,
        now: Instant,
    ) -> Option<ParkedConnection> {
        let mut parked = lot.take(id)?;
        match self.next(&mut parked, of_upstream) {
            Parked::Unchanged => {
                lot.put_back([parked]);
                return None;
            }
            Parked::Idle => parked.wait_for(false, now),
            Parked::Waits => parked.wait_for(true, now),
            Parked::Needs(work) => {
                self.leave(lot, parked, work);
                return None;
            }
            Parked::Gone => {
                drop(lot.release(parked));
                return None;
            }
        }
        Some(parked)
    }

    fn next(&self, parked: &mut ParkedConnection, of_upstream: bool) -> Parked {
        let Admitted { entry, held, .. } = &mut parked.one;
        match (parked.waits, of_upstream) {
            (false, false) => parked::read_parked(&self.state, entry, held),
            (true, true) => parked::go_on_parked(&self.state, entry, held),
            // The client has left, or sends the next request already.
            (true, false) => Parked::Needs(Work::Finish),
            (false, true) => {
                if let Some(handler) = held.handler() {
                    handler.check_upstream();
                }
                Parked::Unchanged
            }
        }
    }

    /// Gives it a thread again.
    fn leave(self: &Arc<Self>, lot: &ParkingLot, parked: ParkedConnection, work: Work) {
        if let Err(error) = self.serve(lot.release(parked), work) {
            log::warn!("http: cannot serve a connection: {error}");
        }
    }

    /// Ends who is idle for too long, and gives a thread to who waits; answers when to look again.
    fn end_late(self: &Arc<Self>, lot: &ParkingLot, now: Instant) -> Instant {
        let (late, next) = lot.late(now, (PATIENCE, self.state.limits.idle_time));
        for parked in late.into_iter().filter_map(|id| lot.take(id)) {
            if parked.waits {
                self.leave(lot, parked, Work::Finish);
            } else {
                drop(lot.release(parked));
            }
        }
        next
    }
}

/// One that breaks off has ended, and is no reason that others do.
#[cfg(target_os = "linux")]
fn contained<T>(step: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(step)).ok()
}
