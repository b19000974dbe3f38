//! Connections that have no thread: what they wait for, and since when.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::task::{self, Wake};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::admitted::Admitted;
use crate::net::Waker;
use crate::net::poll::timespec;
use crate::sync::{CountedMap, Mutex, MutexGuard};

/// Sockets that are looked after before what they have to send is sent. Default 64: a batch of small
/// packets.
const TURN: usize = 64;
/// Token of the waker; connections count from 1.
const WAKER_TOKEN: u64 = 0;

/// A parked connection.
pub(super) struct ParkedConnection {
    pub(super) one: Admitted,
    /// True if its upstream is waited for, and not its next request.
    pub(super) waits: bool,
    pub(super) since: Instant,
}

/// All that are parked.
pub(super) struct ParkingLot {
    epoll: OwnedFd,
    waker: Waker,
    ready: Mutex<Ready>,
    lot: Mutex<Lot>,
}

/// Whose upstream has something to tell.
#[derive(Default)]
struct Ready {
    ids: Vec<u64>,
    /// True if the waiting thread does not know of them: it must be woken.
    is_waited_for: bool,
}

#[derive(Default)]
struct Lot {
    parked: CountedMap<ParkedConnection>,
    is_closed: bool,
}

/// Wakes the lot for one connection.
struct Upstream {
    lot: Arc<ParkingLot>,
    id: u64,
}

impl Wake for Upstream {
    fn wake(self: Arc<Self>) {
        self.lot.is_ready(self.id);
    }
}

impl ParkedConnection {
    /// It waits for its upstream, or for its next request, since `now`.
    pub(super) fn wait_for(&mut self, upstream: bool, now: Instant) {
        self.waits = upstream;
        self.since = now;
    }

    /// Sends what a step has left to be sent.
    pub(super) fn flush(&mut self) {
        if let Some(handler) = self.one.held.handler() {
            handler.flush();
        }
    }
}

impl ParkingLot {
    pub(super) fn new() -> io::Result<ParkingLot> {
        let lot = ParkingLot {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            waker: Waker::new()?,
            ready: Mutex::default(),
            lot: Mutex::default(),
        };
        lot.add(&lot.waker, WAKER_TOKEN)?;
        Ok(lot)
    }

    /// Waker for a connection's upstream when it has something to tell.
    pub(super) fn waker(self: &Arc<Self>, id: u64) -> task::Waker {
        let lot = Arc::clone(self);
        task::Waker::from(Arc::new(Upstream { lot, id }))
    }

    /// Takes a connection that waits for its next request. One that cannot be waited for is dropped.
    pub(super) fn park(&self, one: Admitted) -> io::Result<()> {
        let entry = Arc::clone(&one.entry);
        let parked = ParkedConnection {
            one,
            waits: false,
            since: Instant::now(),
        };
        let mut lot = self.lot();
        if lot.is_closed {
            return Ok(());
        }
        lot.parked.insert(entry.id, parked);
        // Under the lock: its first event must find it.
        let added = self.add(&entry.socket, entry.id);
        let left = added.is_err().then(|| lot.parked.remove(&entry.id));
        drop(lot);
        drop(left);
        added
    }

    /// Room for the events of one turn.
    pub(super) fn events() -> Vec<epoll::Event> {
        Vec::with_capacity(TURN)
    }

    /// Waits until `until` for sockets, and for upstreams, which it adds to `ready`; false when it was
    /// closed, or waiting failed.
    pub(super) fn wait(
        &self,
        events: &mut Vec<epoll::Event>,
        ready: &mut Vec<u64>,
        until: Instant,
    ) -> bool {
        let limit = if self.begins_to_wait() {
            timespec(until.saturating_duration_since(Instant::now()))
        } else {
            Timespec::default()
        };
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => {
                log::error!("http: cannot wait for kept connections: {error}");
                self.lot().is_closed = true;
            }
        }
        if events.iter().any(|event| event.data.u64() == WAKER_TOKEN) {
            self.waker.clear();
        }
        let mut told = self.ready.lock();
        told.is_waited_for = false;
        ready.append(&mut told.ids);
        drop(told);
        !self.lot().is_closed
    }

    /// Takes one out for a step; it is polled all the while.
    pub(super) fn take(&self, id: u64) -> Option<ParkedConnection> {
        self.lot().parked.remove(&id)
    }

    /// The other way.
    pub(super) fn put_back(&self, parked: impl IntoIterator<Item = ParkedConnection>) {
        let mut lot = self.lot();
        for parked in parked {
            lot.parked.insert(parked.one.entry.id, parked);
        }
    }

    /// It is not polled any more.
    pub(super) fn release(&self, parked: ParkedConnection) -> Admitted {
        // One that is not polled already is as good.
        let _ = epoll::delete(&self.epoll, &parked.one.entry.socket);
        parked.one
    }

    /// Connections that have waited for their upstream for longer than `patience`, or for their next request for longer
    /// than `idle`; and when the next one has.
    pub(super) fn late(
        &self,
        now: Instant,
        (patience, idle): (Duration, Duration),
    ) -> (Vec<u64>, Instant) {
        let (mut late, mut next) = (Vec::new(), now + idle);
        for (id, parked) in &self.lot().parked {
            let until = parked.since + if parked.waits { patience } else { idle };
            if until <= now {
                late.push(*id);
            } else {
                next = next.min(until);
            }
        }
        (late, next)
    }

    /// Wakes the waiting thread; no connection is accepted any more.
    pub(super) fn close(&self) {
        self.lot().is_closed = true;
        self.waker.wake();
    }

    /// Ends all that are left.
    pub(super) fn clear(&self) {
        let left = std::mem::take(&mut self.lot().parked);
        drop(left);
    }

    /// A connection's upstream has something to tell.
    fn is_ready(&self, id: u64) {
        let mut ready = self.ready.lock();
        ready.ids.push(id);
        let wakes = std::mem::take(&mut ready.is_waited_for);
        drop(ready);
        if wakes {
            self.waker.wake();
        }
    }

    /// False when something is ready.
    fn begins_to_wait(&self) -> bool {
        let mut ready = self.ready.lock();
        ready.is_waited_for = ready.ids.is_empty();
        ready.is_waited_for
    }

    fn add(&self, what: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, what, data, epoll::EventFlags::IN)?)
    }

    fn lot(&self) -> MutexGuard<'_, Lot> {
        self.lot.lock()
    }
}
