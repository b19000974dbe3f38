//! A thread that reads the changes of other relays, and writes the heartbeat of this one.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::member::Member;
use super::shared_state::{OpenedStore, StoreAvailability, Watching};
use super::store::{MemberRow, Session};
use crate::relay::store_error::StoreError;
use crate::sqlweb::catch_panic::catch_panic;
use crate::store::random;
use crate::sync::{Condvar, Mutex, Thread, spawn_joined};

/// Pause between two looks. Default 500 ms: a change at another relay is known here within that time.
const PAUSE: Duration = Duration::from_millis(500);
/// Shortest pause if somebody waits for a look: any visitor of an unknown name does. Default 20 ms.
const LEAST: Duration = Duration::from_millis(20);
/// Beats after which old relays are forgotten. Default 720: an hour.
const FORGET_EACH: u64 = 720;
/// Pause between two beats. Default 5 s.
const BEAT: Duration = Duration::from_secs(5);

/// Requests for a look.
#[derive(Default)]
struct LookRequests {
    asked: u64,
    /// Requests before the last look began.
    done: u64,
    is_over: bool,
}

/// Asks for a look at the store.
#[derive(Clone)]
pub(in crate::relay) struct Looks {
    requests: Arc<(Mutex<LookRequests>, Condvar)>,
    availability: Arc<StoreAvailability>,
}

impl Looks {
    /// Makes the requests of a relay that is not watched yet.
    pub(in crate::relay) fn new(opened: &OpenedStore) -> Self {
        Self {
            requests: Arc::default(),
            availability: Arc::clone(&opened.availability),
        }
    }

    /// Looks now, and waits for the result; false if the store does not answer in time.
    pub(in crate::relay) fn look_now(&self, within: Duration) -> bool {
        if self.availability.check().is_err() {
            return false;
        }
        let until = Instant::now() + within;
        let (requests, changed) = &*self.requests;
        let mut held = requests.lock();
        held.asked += 1;
        let mine = held.asked;
        changed.notify_all();
        while held.done < mine && !held.is_over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            held = changed.wait_timeout(held, left);
        }
        self.availability.check().is_ok()
    }

    /// True if the store is available.
    pub(in crate::relay) fn is_there(&self) -> bool {
        self.availability.check().is_ok()
    }
}

/// The watching thread.
pub(in crate::relay) struct StoreWatch {
    looks: Looks,
    thread: Option<JoinHandle<()>>,
}

/// Functions of the relay that a watch needs.
pub(in crate::relay) struct WatchHooks {
    /// Returns the number of the relay's state.
    pub(in crate::relay) number: Box<dyn Fn() -> u64 + Send>,
    /// Takes over the changes.
    pub(in crate::relay) refresh: Box<dyn Fn() -> Result<(), StoreError> + Send>,
    /// Returns the entry of the relay: JSON.
    pub(in crate::relay) body: Box<dyn Fn() -> String + Send>,
    /// Receives all relays.
    pub(in crate::relay) seen: Box<dyn Fn(Vec<MemberRow>) + Send>,
}

/// Reason that a watch does not begin.
pub(in crate::relay) enum WatchError {
    Store(StoreError),
    Thread(io::Error),
}

impl StoreWatch {
    /// Writes the first heartbeat, and begins: a relay without the right to write it is of no use.
    pub(in crate::relay) fn start(
        looks: &Looks,
        Watching { id, session }: Watching,
        watched: WatchHooks,
    ) -> Result<Self, WatchError> {
        let of_thread = looks.clone();
        let mut watcher = Watcher {
            session,
            row: MemberRow {
                id,
                // A value that differs from the one before a restart.
                beat: u64::from(u32::from_be_bytes(random::bytes())),
                body: String::new(),
            },
            beaten: None,
            is_logged: false,
            watched,
        };
        watcher.await_twin().map_err(WatchError::Store)?;
        watcher.look(true).map_err(WatchError::Store)?;
        let thread = spawn_joined(Thread::FleetWatch, move || watcher.run(&of_thread))
            .map_err(WatchError::Thread)?;
        Ok(Self {
            looks: looks.clone(),
            thread: Some(thread),
        })
    }
}

impl Drop for StoreWatch {
    /// Does not wait for a store that does not answer.
    fn drop(&mut self) {
        let (requests, changed) = &*self.looks.requests;
        requests.lock().is_over = true;
        changed.notify_all();
        if self.looks.is_there()
            && let Some(thread) = self.thread.take()
        {
            // A panic of the thread has been logged.
            let _ = thread.join();
        }
    }
}

struct Watcher {
    session: Session,
    row: MemberRow,
    /// Time of the last beat.
    beaten: Option<Instant>,
    /// True if it was logged that another relay has its id.
    is_logged: bool,
    watched: WatchHooks,
}

impl Watcher {
    fn run(mut self, looks: &Looks) {
        let (requests, changed) = &*looks.requests;
        loop {
            let (asked, began) = (requests.lock().asked, Instant::now());
            let seen = catch_panic(|| self.look(looks.is_there()));
            looks.availability.note(&seen);
            let mut held = requests.lock();
            held.done = asked;
            changed.notify_all();
            while !held.is_over {
                let pause = if held.asked == held.done {
                    PAUSE
                } else {
                    LEAST
                };
                let left = pause.saturating_sub(began.elapsed());
                if left.is_zero() {
                    break;
                }
                held = changed.wait_timeout(held, left);
            }
            if held.is_over {
                break;
            }
        }
        if looks.is_there()
            && let Err(error) = self.session.leave(&self.row.id)
        {
            log::debug!("cannot tell the store that this relay stops: {error}");
        }
    }

    /// Waits if another relay has the same id at other addresses: that one keeps the id if it shows within this time
    /// that it runs.
    fn await_twin(&mut self) -> Result<(), StoreError> {
        let own = (self.watched.body)();
        let mut find = || {
            let rows = self.session.members()?;
            let own = rows.into_iter().find(|row| row.id == self.row.id);
            Ok::<_, StoreError>(own)
        };
        let Some(before) = find()?.filter(|row| row.body != own) else {
            return Ok(());
        };
        let until = Instant::now() + BEAT + 2 * PAUSE;
        log::info!(
            "the store lists a relay with the same ID at other addresses: waiting {:?} to see if it runs",
            BEAT
        );
        while Instant::now() < until {
            thread::sleep(PAUSE);
            match find()? {
                Some(row) if row.beat == before.beat => {}
                Some(row) => {
                    let member = serde_json::from_slice::<Member>(row.body.as_bytes());
                    let at = member.map_or_else(|_| "an unknown address".to_owned(), |it| it.peer);
                    return Err(StoreError::Twin(at));
                }
                // It has ended.
                None => break,
            }
        }
        Ok(())
    }

    /// Logs if another relay has the same id, such as a copy of this machine: the others see both as one relay, and the
    /// two never reach each other.
    fn check_own(&mut self, rows: &[MemberRow]) {
        let own = rows.iter().find(|row| row.id == self.row.id);
        let is_other = own.is_some_and(|own| own.beat != self.row.beat);
        if is_other && !std::mem::replace(&mut self.is_logged, true) {
            log::error!(
                "another relay of the fleet has the same ID ({}): remove fleet.id from the data directory of one of \
                 them and restart it",
                self.row.id
            );
        }
    }

    /// Reads changes and members, and writes a due beat. A store that has refused a write is available again after a
    /// write.
    fn look(&mut self, is_there: bool) -> Result<(), StoreError> {
        // Revocations and other changes come first, even if the rest cannot be read.
        let number = self.session.number()?;
        if number != (self.watched.number)()
            && let Err(error) = (self.watched.refresh)()
        {
            // This error is of another connection, perhaps to another server: the next look asks again.
            log::debug!("cannot read changes: {error}");
        }
        let body = (self.watched.body)();
        let is_due = self.beaten.is_none_or(|at| at.elapsed() >= BEAT);
        if is_due || !is_there || body != self.row.body {
            self.row.beat += 1;
            self.row.body = body;
            self.session.beat(&self.row)?;
            if self.beaten.is_none() || self.row.beat.is_multiple_of(FORGET_EACH) {
                self.session.forget_members()?;
            }
            self.beaten = Some(Instant::now());
        }
        let rows = self.session.members()?;
        self.check_own(&rows);
        (self.watched.seen)(rows);
        Ok(())
    }
}
