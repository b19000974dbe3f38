//! Connections that have no thread, with the event and the time that they wait for. One thread [`carry`]s them all.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{self, Wake};
use std::time::{Duration, Instant};

use rustix::event::Timespec;

use self::sockets::Sockets;
use crate::net::Waker;
use crate::net::poll::timespec;
use crate::sync::{CountedMap, Mutex, MutexGuard};

/// Sockets that are handled before the answers are sent. Default 64: a batch of small packets.
const TURN: usize = 64;
/// Token of the waker; connections count from 1.
const WAKER_TOKEN: u64 = 0;
/// Time that a parked connection waits for its answer. Default 250 ms: a slower answer is worth a thread, which keeps
/// the time limits.
const PATIENCE: Duration = Duration::from_millis(250);

/// A connection that can be parked.
pub(crate) trait Parkable: Send + 'static {
    /// Its number, above 0.
    fn id(&self) -> u64;

    /// Returns the socket that is polled, beside the waker.
    fn socket(&self) -> Option<BorrowedFd<'_>>;

    /// Sends the bytes that a step has left.
    fn flush(&mut self);
}

/// Next event that a parked connection waits for after a step.
pub(crate) enum Next<W> {
    /// No other event than before.
    Unchanged,
    /// Its next request.
    Idle,
    /// Its answer.
    Waits,
    /// A thread, which begins with this.
    Needs(W),
    /// No event: it has ended.
    Gone,
}

/// The steps of parked connections, none of which waits.
pub(crate) trait Steps<T> {
    /// Work that a thread begins with.
    type Work;

    /// Runs one step, after its waker was woken or its socket became readable.
    fn next(&self, parked: &mut Parked<T>, is_woken: bool) -> Next<Self::Work>;

    /// Gives it a thread again.
    fn leave(self: &Arc<Self>, one: T, work: Self::Work);

    /// Time after which a connection without a request ends.
    fn idle_time(&self) -> Duration;

    /// Work for a connection whose answer takes long.
    fn overdue(&self) -> Self::Work;
}

/// A parked connection.
pub(crate) struct Parked<T> {
    pub(crate) one: T,
    /// True if its answer is waited for, and not its next request.
    pub(crate) waits: bool,
    since: Instant,
}

/// All parked connections.
pub(crate) struct ParkingLot<T> {
    sockets: Sockets,
    waker: Waker,
    ready: Mutex<ReadyConnections>,
    lot: Mutex<LotState<T>>,
}

/// Connections of which the waker was woken.
#[derive(Default)]
struct ReadyConnections {
    ids: Vec<u64>,
    /// True if the waiting thread does not know of them: it must be woken.
    is_waited_for: bool,
}

struct LotState<T> {
    parked: CountedMap<Parked<T>>,
    is_closed: bool,
}

/// Wakes the lot for one connection.
struct ConnectionWaker<T> {
    lot: Arc<ParkingLot<T>>,
    id: u64,
}

impl<T: Parkable> Wake for ConnectionWaker<T> {
    fn wake(self: Arc<Self>) {
        self.lot.mark_ready(self.id);
    }
}

impl<T: Parkable> ParkingLot<T> {
    pub(crate) fn new() -> io::Result<ParkingLot<T>> {
        let lot = ParkingLot {
            sockets: Sockets::new()?,
            waker: Waker::new()?,
            ready: Mutex::default(),
            lot: Mutex::new(LotState {
                parked: CountedMap::default(),
                is_closed: false,
            }),
        };
        lot.sockets.add(lot.waker.as_fd(), WAKER_TOKEN)?;
        Ok(lot)
    }

    /// Waker for a connection with this number.
    pub(crate) fn waker(self: &Arc<Self>, id: u64) -> task::Waker {
        let lot = Arc::clone(self);
        task::Waker::from(Arc::new(ConnectionWaker { lot, id }))
    }

    /// Takes a connection that waits for its next request. A connection that cannot be polled is dropped.
    pub(crate) fn park(&self, one: T) -> io::Result<()> {
        let id = one.id();
        let parked = Parked {
            one,
            waits: false,
            since: Instant::now(),
        };
        let mut lot = self.lot();
        if lot.is_closed {
            return Ok(());
        }
        // Under the lock: its first event must find it.
        let added = match parked.one.socket() {
            Some(socket) => self.sockets.add(socket, id),
            None => Ok(()),
        };
        let left = match added {
            Ok(()) => lot.parked.insert(id, parked),
            Err(_) => Some(parked),
        };
        drop(lot);
        drop(left);
        added
    }

    /// Waits until `until` for sockets, and for wakers, which it adds to `ready`; false if it was closed, or waiting
    /// failed.
    fn wait(&self, readable: &mut Vec<u64>, ready: &mut Vec<u64>, until: Instant) -> bool {
        let limit = if self.begins_to_wait() {
            timespec(until.saturating_duration_since(Instant::now()))
        } else {
            Timespec::default()
        };
        readable.clear();
        if let Err(error) = self.sockets.wait(readable, &limit) {
            log::error!("http: cannot wait for kept connections: {error}");
            self.lot().is_closed = true;
        }
        if readable.contains(&WAKER_TOKEN) {
            self.waker.clear();
        }
        let mut woken = self.ready.lock();
        woken.is_waited_for = false;
        ready.append(&mut woken.ids);
        drop(woken);
        !self.lot().is_closed
    }

    /// Takes a connection out for a step; it stays polled.
    fn take(&self, id: u64) -> Option<Parked<T>> {
        self.lot().parked.remove(&id)
    }

    /// Puts connections back after a step.
    fn put_back(&self, parked: impl IntoIterator<Item = Parked<T>>) {
        let mut lot = self.lot();
        for parked in parked {
            lot.parked.insert(parked.one.id(), parked);
        }
    }

    /// Removes its socket from the poll.
    fn release(&self, parked: Parked<T>) -> T {
        if let Some(socket) = parked.one.socket() {
            // A socket that is not polled any more needs no removal.
            let _ = self.sockets.remove(socket);
        }
        parked.one
    }

    /// Returns the connections that have waited for their answer for longer than `patience`, or for their next request
    /// for longer than `idle`, and the time of the next one.
    fn late(&self, now: Instant, patience: Duration, idle: Duration) -> (Vec<u64>, Instant) {
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
    pub(crate) fn close(&self) {
        self.lot().is_closed = true;
        self.waker.wake();
    }

    /// Ends all that are left.
    fn clear(&self) {
        let left = std::mem::take(&mut self.lot().parked);
        drop(left);
    }

    /// Adds a connection whose waker was woken.
    fn mark_ready(&self, id: u64) {
        let mut ready = self.ready.lock();
        ready.ids.push(id);
        let wakes = std::mem::take(&mut ready.is_waited_for);
        drop(ready);
        if wakes {
            self.waker.wake();
        }
    }

    /// Notes that the thread waits now; false if a connection is ready.
    fn begins_to_wait(&self) -> bool {
        let mut ready = self.ready.lock();
        ready.is_waited_for = ready.ids.is_empty();
        ready.is_waited_for
    }

    fn lot(&self) -> MutexGuard<'_, LotState<T>> {
        self.lot.lock()
    }
}

/// Carries all parked connections until the lot is closed.
pub(crate) fn carry<T: Parkable, S: Steps<T>>(steps: &Arc<S>, lot: &ParkingLot<T>) {
    let (mut readable, mut ready) = (Vec::with_capacity(TURN), Vec::new());
    let mut moved: Vec<Parked<T>> = Vec::new();
    let mut look_at = Instant::now();
    while lot.wait(&mut readable, &mut ready, look_at) {
        // The clock is read once a turn, which is short.
        let now = Instant::now();
        let woken = ready.drain(..).map(|id| (id, true));
        let of_sockets = readable.iter().map(|id| (*id, false));
        for (id, is_woken) in woken.chain(of_sockets) {
            let step = contained(|| step(steps, lot, id, is_woken, now));
            moved.extend(step.flatten());
        }
        if !moved.is_empty() {
            // Bytes of many connections leave together.
            contained(|| moved.iter_mut().for_each(|parked| parked.one.flush()));
            lot.put_back(moved.drain(..));
            look_at = look_at.min(now + PATIENCE);
        }
        if look_at <= now {
            look_at = end_late(steps, lot, now);
        }
    }
    lot.clear();
}

/// Runs one step of a connection. Returns it if it may have something to send.
fn step<T: Parkable, S: Steps<T>>(
    steps: &Arc<S>,
    lot: &ParkingLot<T>,
    id: u64,
    is_woken: bool,
    now: Instant,
) -> Option<Parked<T>> {
    let mut parked = lot.take(id)?;
    match steps.next(&mut parked, is_woken) {
        Next::Unchanged => {
            lot.put_back([parked]);
            return None;
        }
        Next::Idle => (parked.waits, parked.since) = (false, now),
        Next::Waits => (parked.waits, parked.since) = (true, now),
        Next::Needs(work) => {
            steps.leave(lot.release(parked), work);
            return None;
        }
        Next::Gone => {
            drop(lot.release(parked));
            return None;
        }
    }
    Some(parked)
}

/// Ends connections that are idle for too long, and gives a thread to those whose answer is late; returns the time of
/// the next check.
fn end_late<T: Parkable, S: Steps<T>>(
    steps: &Arc<S>,
    lot: &ParkingLot<T>,
    now: Instant,
) -> Instant {
    let (late, next) = lot.late(now, PATIENCE, steps.idle_time());
    for parked in late.into_iter().filter_map(|id| lot.take(id)) {
        if parked.waits {
            steps.leave(lot.release(parked), steps.overdue());
        } else {
            drop(lot.release(parked));
        }
    }
    next
}

/// Runs a step; a panic ends its connection and no other.
fn contained<T>(step: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(step)).ok()
}

/// Sockets that are polled together, each with a number.
#[cfg(target_os = "linux")]
mod sockets {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::{BorrowedFd, OwnedFd};

    use rustix::event::{Timespec, epoll};
    use rustix::io::Errno;

    pub(super) struct Sockets(OwnedFd);

    impl Sockets {
        pub(super) fn new() -> io::Result<Sockets> {
            Ok(Sockets(epoll::create(epoll::CreateFlags::CLOEXEC)?))
        }

        pub(super) fn add(&self, socket: BorrowedFd<'_>, token: u64) -> io::Result<()> {
            let data = epoll::EventData::new_u64(token);
            Ok(epoll::add(&self.0, socket, data, epoll::EventFlags::IN)?)
        }

        pub(super) fn remove(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
            Ok(epoll::delete(&self.0, socket)?)
        }

        /// Adds the numbers of those that are readable, [`TURN`](super::TURN) at most.
        pub(super) fn wait(&self, readable: &mut Vec<u64>, limit: &Timespec) -> io::Result<()> {
            let mut room = [MaybeUninit::uninit(); super::TURN];
            match epoll::wait(&self.0, &mut room[..], Some(limit)) {
                Ok((events, _)) => readable.extend(events.iter().map(|event| event.data.u64())),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(())
        }
    }
}

/// Stub for systems without epoll: each connection has a thread.
#[cfg(not(target_os = "linux"))]
mod sockets {
    use std::io;
    use std::os::fd::BorrowedFd;

    use rustix::event::Timespec;

    pub(super) struct Sockets;

    impl Sockets {
        pub(super) fn new() -> io::Result<Sockets> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn add(&self, _: BorrowedFd<'_>, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn remove(&self, _: BorrowedFd<'_>) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn wait(&self, _: &mut Vec<u64>, _: &Timespec) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}
