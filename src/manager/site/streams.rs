//! The streams of one application, and the thread of those that have none: see [`carry`].

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::site_gateway::SiteGateway;
use super::stream_connection::{IDLE_TIME, StreamConnection, Work};
use crate::http::server::connection_handler::ConnectionHandler;
use crate::http::server::{Next, Parked, ParkingLot, Steps, carry};
use crate::sync::{Permits, Thread, spawn};
use crate::tunnel::client::Serve;

/// Streams that have a thread at once: long requests and upgraded connections. Default 512.
const MOST_THREADS: usize = crate::limits::THREADS_OF_SITE;

/// Handler for the streams of the application's tunnel.
pub(crate) fn serve(gateway: SiteGateway) -> Serve {
    let (gateway, ending) = (Arc::new(gateway), StreamsEnd::default());
    Arc::new(move |stream| {
        let connection = StreamConnection::new(&gateway, stream);
        ending.0.accept(connection);
    })
}

/// Ends the parked streams of an application with its tunnel.
#[derive(Default)]
struct StreamsEnd(Arc<Streams>);

/// The streams of an application.
#[derive(Default)]
struct Streams {
    /// Made for the first one that is parked; none where that failed.
    lot: OnceLock<Option<Arc<ParkingLot<StreamConnection>>>>,
    /// The last number.
    number: AtomicU64,
    /// Streams that have a thread.
    threads: Permits,
}

impl Drop for StreamsEnd {
    fn drop(&mut self) {
        if let Some(Some(lot)) = self.0.lot.get() {
            lot.close();
        }
    }
}

impl Streams {
    /// Takes a new stream. One that asks nothing yet has no thread.
    fn accept(self: &Arc<Self>, connection: StreamConnection) {
        // Something of a request is there, or the end.
        let asked = if connection.client.stream.has_something() {
            Some(connection)
        } else {
            self.park(connection)
        };
        if let Some(asked) = asked {
            self.run(asked, Work::Read);
        }
    }

    /// Serves a stream on this thread until it ends, or is parked.
    fn run(self: &Arc<Self>, mut connection: StreamConnection, mut work: Work) {
        connection.client.stream.defer(None);
        let permit = self.threads.take(MOST_THREADS);
        if permit.is_none() && matches!(work, Work::Read | Work::Serve(_)) {
            return connection.turn_away();
        }
        while let Some(idle) = connection.run(work) {
            let Some(own) = self.park(idle) else { return };
            (connection, work) = (own, Work::Read);
        }
    }

    /// Takes a stream that waits for its next request; gives it back where that cannot be.
    fn park(self: &Arc<Self>, mut connection: StreamConnection) -> Option<StreamConnection> {
        let Some(lot) = self.lot() else {
            return Some(connection);
        };
        connection.number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let waker = lot.waker(connection.number);
        if !connection.client.stream.defer(Some(waker.clone())) {
            return Some(connection);
        }
        if let Err(error) = lot.park(connection) {
            log::warn!("cannot keep a stream: {error}");
        }
        // Its next request may have come before the waker.
        waker.wake();
        None
    }

    fn lot(self: &Arc<Self>) -> Option<&Arc<ParkingLot<StreamConnection>>> {
        let start = || {
            let failed = |error: &io::Error| log::warn!("each stream uses a thread: {error}");
            self.start().inspect_err(failed).ok()
        };
        self.lot.get_or_init(start).as_ref()
    }

    fn start(self: &Arc<Self>) -> io::Result<Arc<ParkingLot<StreamConnection>>> {
        let lot = Arc::new(ParkingLot::new()?);
        let (streams, own) = (Arc::clone(self), Arc::clone(&lot));
        // A thread because it waits; ends with the application's tunnel.
        spawn(Thread::AppStreams, move || carry(&streams, &own))?;
        Ok(lot)
    }
}

impl Steps<StreamConnection> for Streams {
    type Work = Work;

    /// The waker is the stream's, the socket the application's.
    fn next(&self, parked: &mut Parked<StreamConnection>, is_woken: bool) -> Next<Work> {
        let connection = &mut parked.one;
        match (parked.waits, is_woken) {
            (false, true) => connection.read_now(),
            (true, false) => connection.go_on(),
            // The visitor has left, or sends more already.
            (true, true) => Next::Needs(Work::Finish),
            (false, false) => {
                // The kept connection has something to tell although nothing was asked.
                connection.handler.check_upstream();
                Next::Unchanged
            }
        }
    }

    fn leave(self: &Arc<Self>, one: StreamConnection, work: Work) {
        let threads = one.client.stream.threads();
        let streams = Arc::clone(self);
        if let Err(error) = threads.run(move || streams.run(one, work)) {
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
