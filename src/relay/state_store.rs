//! The data directory: the state on disk and in memory, and the host keys.
//!
//! Readers take a snapshot of the state and wait for nobody. A change is made on a copy and stored as rows before
//! anybody sees it; changes that are made meanwhile share the next transaction:
//!
//! ```text
//! change 1 ── rows kept ──────────────────> seen ── followed
//! change 2 ──┐
//! change 3 ──┴─ staged ──── rows kept ────> seen ── followed
//! ```
//!
//! If storing fails, none of those changes has happened; changes on top of them are made again. The effects of a
//! change, made here or at another relay of a fleet, are applied by a function of the state before and after it
//! ([`StateStore::follow_with`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::earlier::{self, MARK};
use super::fleet;
use super::row_log::{self, Damaged, ROWS, RowLog, StoredState};
use super::state::RelayState;
use super::state_rows::{self, Rows};
pub(super) use super::store_error::Error;
use super::store_error::StoreError;
use crate::http::metrics::Histogram;
use crate::store::{self, DataDir, Locked, random};
use crate::sync::Mutex;
use crate::tunnel::ssh::{KeyKind, ServerKey};

/// The host keys, the one whose fingerprint quick-setup names first: clients prefer that kind.
const KEYS: [(KeyKind, &str); 2] = [
    (KeyKind::EcdsaP256, "host.ecdsa"),
    (KeyKind::Ed25519, "host.ed25519"),
];
/// Bytes of a host key file. Default 4 KiB: an EC key takes 138.
const KEY_CAP: u64 = 4096;

/// Tries to change a shared state that other relays change meanwhile. Default 300: more than a store answers in the
/// time that a caller waits.
const MOST_TRIES: u32 = 300;
/// Tries without a pause before.
const TRIES_AT_ONCE: u32 = 3;
/// Increase of each pause, at most, and the longest pause. Default 2 ms and 20 ms: a store takes some milliseconds for
/// a change.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The saves since the store was opened.
#[derive(Debug, Default)]
pub(super) struct SaveStats {
    pub(super) took: Histogram,
    pub(super) errors: AtomicU64,
}

/// Time at which a change counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saving {
    /// Once it is stored.
    First,
    /// At once, even if it cannot be stored; later changes bring it along.
    AtOnce,
}

/// Result of the transaction that changes share.
#[derive(Clone)]
enum Outcome {
    Kept,
    Failed(Error),
    /// The changes were made on top of changes that have not happened.
    Undone,
}

/// Applies the effects of changes: from one state to another.
pub(super) type Follow = Box<dyn Fn(&RelayState, &RelayState) + Send + Sync>;

/// The state, in memory and on disk. Lock order: saver, staging, current; `followed` alone.
pub(super) struct StateStore {
    pub(super) saves: Arc<SaveStats>,
    saver: Mutex<Saver>,
    staging: Mutex<Staging>,
    /// State that readers see. Locked only to take or to replace it.
    current: Mutex<Arc<RelayState>>,
    /// State whose effects have been applied.
    followed: Mutex<Arc<RelayState>>,
    follow: OnceLock<Follow>,
    /// [`Rows::number`].
    number: AtomicU64,
    is_shared: bool,
    /// Parts of it that could not be read, in a few words each.
    lost: Vec<String>,
}

/// Waiting changes; the thread that holds the lock makes one.
struct Staging {
    /// The state that readers see, with these changes.
    state: Arc<RelayState>,
    /// Outcome of the next transaction, which these changes share.
    group: Option<Arc<OnceLock<Outcome>>>,
    /// True if readers see a change that is not stored.
    is_behind: bool,
    /// Number of states staged so far, and its value when the state was staged that readers see.
    made: u64,
    seen: u64,
}

struct Saver {
    rows: Box<dyn Rows>,
    /// The stored state.
    kept: Arc<RelayState>,
    /// True while storing fails: the failure is logged once, and its end.
    is_failing: bool,
}

impl StateStore {
    /// Reads the state, or its readable part. An unreadable file is set aside, and its new path is added to `aside`.
    pub(super) fn open(home: &DataDir, aside: &mut Vec<PathBuf>) -> Result<Self, Error> {
        refuse_member(home)?;
        Self::open_as(home, true, aside)
    }

    /// Opens the directory of a relay of a fleet: only its own counters of traffic are there.
    pub(super) fn open_for_traffic(
        home: &DataDir,
        aside: &mut Vec<PathBuf>,
    ) -> Result<Self, Error> {
        Self::open_as(home, true, aside)
    }

    /// Reads the state; fails if any part is damaged, which may have been a revocation: then nothing is changed, and
    /// the error gives advice.
    pub(super) fn open_whole(home: &DataDir) -> Result<Self, Error> {
        refuse_member(home)?;
        Self::open_as(home, false, &mut Vec::new())
    }

    fn open_as(home: &DataDir, may_forget: bool, aside: &mut Vec<PathBuf>) -> Result<Self, Error> {
        let locked = home.lock()?;
        let mut log = RowLog::new(home.clone());
        let mut lost = Vec::new();
        let state = match row_log::look(home)? {
            StoredState::Nothing => RelayState::default(),
            StoredState::Log(state, found) => {
                log = found;
                log.mark(&locked)?;
                if log.torn > 0 {
                    log::warn!(
                        "skipped the last {} bytes of {ROWS}: the change is incomplete",
                        log.torn
                    );
                }
                state
            }
            StoredState::Earlier(state, document) => {
                if home.dir().join(ROWS).try_exists().unwrap_or(true) {
                    // A move was interrupted, or the file was put back.
                    let kept = locked.set_aside(ROWS, "replaced")?;
                    log::warn!(
                        "{MARK} of an earlier version is used; kept {}",
                        kept.display()
                    );
                }
                earlier::keep_copy(&locked, &document)?;
                log.write_all(&locked, &state)?;
                earlier::put_away(home, &locked)?;
                log::info!("the relay's state was moved to {ROWS}; the earlier files are kept");
                state
            }
            StoredState::Damaged(damaged) if !may_forget => {
                return Err(damaged.into_error(home));
            }
            StoredState::Damaged(damaged) => {
                if home.dir().join(damaged.file).try_exists().unwrap_or(true) {
                    aside.push(locked.set_aside(damaged.file, store::UNREADABLE)?);
                }
                lost = damaged.lost;
                // The state is stored nowhere else from then on.
                log.write_all(&locked, &damaged.state)?;
                damaged.state
            }
        };
        drop(locked);
        for lost in &lost {
            log::warn!("lost of the relay's state: {lost}");
        }
        Ok(Self {
            lost,
            ..Self::new(state, Box::new(log))
        })
    }

    /// Makes the store of a state that is stored in `rows`.
    pub(super) fn new(state: RelayState, rows: Box<dyn Rows>) -> Self {
        let state = Arc::new(state);
        Self {
            saves: Arc::default(),
            is_shared: rows.is_shared(),
            number: rows.number().into(),
            saver: Mutex::new(Saver {
                rows,
                kept: Arc::clone(&state),
                is_failing: false,
            }),
            staging: Mutex::new(Staging {
                state: Arc::clone(&state),
                group: None,
                is_behind: false,
                made: 0,
                seen: 0,
            }),
            current: Mutex::new(Arc::clone(&state)),
            followed: Mutex::new(state),
            follow: OnceLock::new(),
            lost: Vec::new(),
        }
    }

    /// Returns the parts that could not be read at the opening, in a few words each.
    pub(super) fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Returns the current state.
    pub(super) fn snapshot(&self) -> Arc<RelayState> {
        Arc::clone(&self.current.lock())
    }

    /// Number of the last stored change.
    pub(super) fn number(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }

    /// Returns the saving of a change that must not wait for a disk: in a shared state nothing is promised before
    /// others know it.
    pub(super) fn at_once(&self) -> Saving {
        if self.is_shared {
            Saving::First
        } else {
            Saving::AtOnce
        }
    }

    /// Sets the function that applies the effects of changes from here on. Called once.
    pub(super) fn follow_with(&self, follow: Follow) {
        *self.followed.lock() = self.snapshot();
        // A second one would be of a second service.
        let _ = self.follow.set(follow);
    }

    fn follow_up(&self) {
        if let Some(follow) = self.follow.get() {
            let mut followed = self.followed.lock();
            let now = self.snapshot();
            if !Arc::ptr_eq(&followed, &now) {
                follow(&followed, &now);
                *followed = now;
            }
        }
    }

    /// Changes the state: a change that `change` refuses or the disk does not take has not happened. `change` may be
    /// called more than once. The effects have been applied when this returns.
    pub(super) fn update<T, E: From<Error>>(
        &self,
        change: impl Fn(&mut RelayState) -> Result<T, E>,
    ) -> Result<T, E> {
        let change = |state: &mut RelayState| change(state).map(|outcome| (outcome, Saving::First));
        self.update_saving(change).map(|(outcome, _)| outcome)
    }

    /// Changes the state like `update`; `change` says when it counts. The outcome of a change that counts at once
    /// includes the result of storing it. A change of values that may be lost also counts at once, and is not written.
    pub(super) fn update_saving<T, E: From<Error>>(
        &self,
        change: impl Fn(&mut RelayState) -> Result<(T, Saving), E>,
    ) -> Result<(T, Result<(), Error>), E> {
        let mut tries = 0;
        loop {
            if self.is_shared {
                give_way(tries).map_err(Error::from)?;
            }
            tries += 1;
            let mut staging = self.staging.lock();
            let mut state = RelayState::clone(&staging.state);
            let (outcome, saving) = change(&mut state)?;
            let has_rows = state != *staging.state;
            let is_alone = staging.made == staging.seen;
            if !is_alone && saving == Saving::AtOnce {
                drop(staging);
                // It must not be undone with the waiting ones.
                self.settle();
                continue;
            }
            let is_at_once = is_alone && (saving == Saving::AtOnce || !has_rows);
            let is_saved = has_rows || !is_alone || (staging.is_behind && !self.is_shared);
            staging.state = Arc::new(state);
            staging.made += 1;
            if is_at_once {
                self.publish(&mut staging);
            }
            if !is_saved {
                return Ok((outcome, Ok(())));
            }
            let mut group = Arc::clone(staging.group.get_or_insert_default());
            drop(staging);
            if is_at_once {
                self.follow_up();
            }
            let mut saved = self.save(&group);
            while matches!(saved, Outcome::Undone) && is_at_once && !self.is_shared {
                // Readers see it: only its saving is undone.
                group = Arc::clone(self.staging.lock().group.get_or_insert_default());
                saved = self.save(&group);
            }
            return match saved {
                Outcome::Failed(Error::Outdated) => {
                    self.refresh().map_err(Error::from)?;
                    continue;
                }
                Outcome::Undone => continue,
                Outcome::Failed(_) if !has_rows && !is_at_once => continue,
                Outcome::Failed(error) if is_at_once => Ok((outcome, Err(error))),
                Outcome::Failed(error) => Err(error.into()),
                Outcome::Kept => {
                    self.follow_up();
                    Ok((outcome, Ok(())))
                }
            };
        }
    }

    /// Shows readers the staged state.
    fn publish(&self, staging: &mut Staging) {
        *self.current.lock() = Arc::clone(&staging.state);
        staging.seen = staging.made;
    }

    /// Stores the staged changes, unless that was done for this group; returns its outcome.
    fn save(&self, group: &OnceLock<Outcome>) -> Outcome {
        let mut saver = self.saver.lock();
        if group.get().is_none() {
            self.save_staged(&mut saver);
        }
        group.get().cloned().unwrap_or(Outcome::Undone)
    }

    /// Stores the waiting changes, and tells their callers.
    fn settle(&self) {
        self.save_staged(&mut self.saver.lock());
    }

    /// Stores the staged changes; later changes wait for the next transaction.
    fn save_staged(&self, saver: &mut Saver) {
        let mut staging = self.staging.lock();
        let (state, made) = (Arc::clone(&staging.state), staging.made);
        let Some(group) = staging.group.take() else {
            return;
        };
        drop(staging);
        let saved = saver.save(&state, &self.saves);
        let mut staging = self.staging.lock();
        let outcome = match saved {
            Ok(()) => {
                self.number.store(saver.rows.number(), Ordering::SeqCst);
                staging.is_behind = false;
                // Readers may see a later change that counts at once.
                if made > staging.seen {
                    *self.current.lock() = state;
                    staging.seen = made;
                }
                Outcome::Kept
            }
            Err(error) => {
                let current = self.snapshot();
                staging.is_behind = *current != *saver.kept;
                staging.state = current;
                staging.seen = staging.made;
                if let Some(later) = staging.group.take() {
                    // Nobody else sets its outcome.
                    let _ = later.set(Outcome::Undone);
                }
                Outcome::Failed(error)
            }
        };
        let _ = group.set(outcome);
    }

    /// Takes over changes of other relays in a shared state. Waiting changes are made again on top of them.
    pub(super) fn refresh(&self) -> Result<(), StoreError> {
        let mut saver = self.saver.lock();
        let kept = Arc::clone(&saver.kept);
        let Some(news) = saver.rows.news(&kept)? else {
            return Ok(());
        };
        let news = Arc::new(news);
        saver.kept = Arc::clone(&news);
        let mut staging = self.staging.lock();
        staging.state = news;
        staging.is_behind = false;
        if let Some(group) = staging.group.take() {
            let _ = group.set(Outcome::Undone);
        }
        self.publish(&mut staging);
        self.number.store(saver.rows.number(), Ordering::SeqCst);
        drop(staging);
        drop(saver);
        self.follow_up();
        Ok(())
    }

    /// Stores everything that is not on disk. Later changes may be lost.
    pub(super) fn end(&self) {
        self.settle();
        let mut saver = self.saver.lock();
        let state = self.snapshot();
        if saver.rows.number() > 0
            && let Err(error) = saver.rows.end(&state)
        {
            log::debug!("the last changes are not saved: {error}");
        }
    }

    #[cfg(test)]
    fn made(&self) -> usize {
        usize::try_from(self.staging.lock().made).unwrap()
    }
}

impl Saver {
    fn save(&mut self, state: &Arc<RelayState>, stats: &SaveStats) -> Result<(), Error> {
        let rows = state_rows::between(&self.kept, state);
        if rows.is_empty() {
            self.kept = Arc::clone(state);
            return Ok(());
        }
        let began = Instant::now();
        let saved = self.rows.apply(&rows, state);
        if matches!(saved, Err(Error::Outdated)) {
            return saved;
        }
        stats.took.note(began.elapsed());
        // An unavailable store is logged at its own place.
        let is_logged = !matches!(saved, Err(Error::Shared(_)));
        let was_failing = std::mem::replace(&mut self.is_failing, saved.is_err() && is_logged);
        match &saved {
            Ok(()) => {
                self.kept = Arc::clone(state);
                if was_failing {
                    log::info!("the relay's state is saved again");
                }
            }
            Err(error) => {
                stats.errors.fetch_add(1, Ordering::Relaxed);
                if !was_failing && is_logged {
                    log::error!(
                        "the relay's state is not saved: {error}: known connectors are still served, nothing new is \
                         accepted"
                    );
                }
            }
        }
        saved
    }
}

/// Lets other relays go first, a little longer each time, so that none of many that change one state is always too
/// late.
fn give_way(tries: u32) -> Result<(), StoreError> {
    if tries >= MOST_TRIES {
        let why = "other relays keep changing it";
        return Err(StoreError::Away(why.into()));
    }
    if tries >= TRIES_AT_ONCE {
        let [drawn] = random::bytes::<1>();
        let share = u32::from(drawn) + 1;
        std::thread::sleep(LONGEST_PAUSE.min(PAUSE * tries) * share / 256);
    }
    Ok(())
}

/// Fails for a relay of a fleet, whose state is not in its directory.
fn refuse_member(home: &DataDir) -> Result<(), Error> {
    if fleet::is_member(home) {
        return Err(Error::OfFleet(home.dir().to_owned()));
    }
    Ok(())
}

/// Reads the state on disk, without the right to change it.
pub(super) fn peek(home: &DataDir) -> Result<Option<RelayState>, Error> {
    refuse_member(home)?;
    match row_log::look(home)? {
        StoredState::Nothing => Ok(None),
        StoredState::Log(state, _) | StoredState::Earlier(state, _) => Ok(Some(state)),
        StoredState::Damaged(damaged) => Err(damaged.into_error(home)),
    }
}

impl Damaged {
    fn into_error(self, home: &DataDir) -> Error {
        let place = self.lost.into_iter().next().unwrap_or_default();
        Error::Unreadable(home.dir().join(self.file), place)
    }
}

/// Notice about a file that could not be read and was set aside.
pub fn set_aside_notice(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let consequence = if name.starts_with(MARK) || name.starts_with(ROWS) {
        ". Recent enrolments and assignments may be lost, and revoked connectors or disabled enrolment tokens may be \
         valid again. Check 'postern relay list', then remove that file"
    } else if KEYS.iter().any(|(_, key)| name.starts_with(key)) {
        ". A new host key was created, so connectors stop. Restore the old key from a backup, or give members the \
         new fingerprint"
    } else {
        ""
    };
    format!("unreadable file moved to {}{consequence}", path.display())
}

/// True if a relay was ever started there: it has at least its keys.
pub(super) fn exists(home: &DataDir) -> bool {
    let names = KEYS.into_iter().map(|(_, name)| name).chain([MARK, ROWS]);
    // A file that cannot be checked counts; its reader reports the error.
    names
        .map(|name| home.dir().join(name))
        .any(|path| path.try_exists().unwrap_or(true))
}

/// Reads the host keys, or makes missing ones, so that clients see the same ones after a restart.
pub(super) fn host_keys(
    home: &DataDir,
    aside: &mut Vec<PathBuf>,
) -> Result<Arc<[ServerKey]>, Error> {
    let locked = home.lock()?;
    KEYS.into_iter()
        .map(|(kind, name)| host_key(home, &locked, kind, name, aside))
        .collect()
}

fn host_key(
    home: &DataDir,
    locked: &Locked,
    kind: KeyKind,
    name: &str,
    aside: &mut Vec<PathBuf>,
) -> Result<ServerKey, Error> {
    if let Some(der) = home.read(name, KEY_CAP)?.map(Zeroizing::new) {
        match ServerKey::from_pkcs8(&der) {
            Ok(key) => return Ok(key),
            Err(_) => aside.push(locked.set_aside(name, store::UNREADABLE)?),
        }
    }
    let key = ServerKey::generate(kind).map_err(|error| Error::Form(error.to_string()))?;
    locked.write(name, key.to_pkcs8())?;
    Ok(key)
}

#[cfg(test)]
#[path = "state_store_tests.rs"]
pub(super) mod tests;
