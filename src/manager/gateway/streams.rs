//! The streams of one application, and the thread of those that have none: see [`carry`].

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use super::site_gateway::SiteGateway;
use super::stream_client::IDLE_TIME;
use super::stream_connection::{StreamConnection, Work};
use crate::http::server::{Next, Parkable, Parked, ParkingLot, Steps, carry};

/// Bytes of stack of the thread: it seals and writes for a tunnel. Code that is not optimised needs more.
const STACK: usize = if cfg!(debug_assertions) { 768 } else { 256 } * 1024;

/// What the streams of an application share; its thread ends with it.
pub(super) struct Streams {
    gateway: Arc<SiteGateway>,
    parking: Parking,
}

/// Where streams are parked between requests.
#[derive(Clone)]
pub(super) struct Parking(Arc<Inner>);

struct Inner {
    /// Made for the first one; none where that failed.
    lot: OnceLock<Option<Arc<ParkingLot<ParkedStream>>>>,
    /// The last number.
    number: AtomicU64,
}

/// One that is parked.
struct ParkedStream {
    number: u64,
    connection: StreamConnection,
}

impl Streams {
    pub(super) fn new(gateway: SiteGateway) -> Streams {
        Streams {
            gateway: Arc::new(gateway),
            parking: Parking(Arc::new(Inner {
                lot: OnceLock::new(),
                number: AtomicU64::new(0),
            })),
        }
    }

    pub(super) fn gateway(&self) -> &Arc<SiteGateway> {
        &self.gateway
    }

    pub(super) fn parking(&self) -> Parking {
        self.parking.clone()
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        if let Some(Some(lot)) = self.parking.0.lot.get() {
            lot.close();
        }
    }
}

impl Parking {
    /// Takes a stream that waits for its next request, and is told its waker. Gives it back where that cannot be.
    pub(super) fn park(
        &self,
        mut connection: StreamConnection,
        is_told: impl FnOnce(&mut StreamConnection, Waker) -> bool,
    ) -> Option<StreamConnection> {
        let Some(lot) = self.lot() else {
            return Some(connection);
        };
        let number = self.0.number.fetch_add(1, Ordering::Relaxed) + 1;
        let waker = lot.waker(number);
        if !is_told(&mut connection, waker.clone()) {
            return Some(connection);
        }
        if let Err(error) = lot.park(ParkedStream { number, connection }) {
            log::warn!("cannot keep a stream: {error}");
        }
        // Its next request may have come before the waker.
        waker.wake();
        None
    }

    fn lot(&self) -> Option<&Arc<ParkingLot<ParkedStream>>> {
        let start = || {
            let failed = |error: &io::Error| log::warn!("each stream uses a thread: {error}");
            self.start().inspect_err(failed).ok()
        };
        self.0.lot.get_or_init(start).as_ref()
    }

    fn start(&self) -> io::Result<Arc<ParkingLot<ParkedStream>>> {
        let lot = Arc::new(ParkingLot::new()?);
        let own = Arc::clone(&lot);
        // A thread because it waits; ends with the application's tunnel.
        std::thread::Builder::new()
            .name("app-streams".into())
            .stack_size(STACK)
            .spawn(move || carry(&Arc::new(OfStreams), &own))?;
        Ok(lot)
    }
}

impl Parkable for ParkedStream {
    fn id(&self) -> u64 {
        self.number
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.connection.upstream()
    }

    fn flush(&mut self) {
        self.connection.flush();
    }
}

struct OfStreams;

impl Steps<ParkedStream> for OfStreams {
    type Work = Work;

    /// The waker is the stream's, the socket the application's.
    fn next(&self, parked: &mut Parked<ParkedStream>, is_woken: bool) -> Next<Work> {
        let connection = &mut parked.one.connection;
        match (parked.waits, is_woken) {
            (false, true) => connection.read_now(),
            (true, false) => connection.go_on(),
            // The visitor has left, or sends more already.
            (true, true) => Next::Needs(Work::Finish),
            (false, false) => {
                connection.check_kept();
                Next::Unchanged
            }
        }
    }

    fn leave(self: &Arc<Self>, one: ParkedStream, work: Work) {
        let threads = one.connection.threads();
        if let Err(error) = threads.run(move || one.connection.run(work)) {
            log::warn!("stream ended: no thread for it: {error}");
        }
    }

    fn idle_time(&self) -> Duration {
        IDLE_TIME
    }

    fn overdue(&self) -> Work {
        Work::Finish
    }
}
