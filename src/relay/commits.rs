//! Changes of the state, saved in groups: who makes one while a save is under way shares the next one with all who wait.
//!
//! ```text
//! change 1 ── saved ──────────────> seen ── follow-ups of 1
//! change 2 ──┐
//! change 3 ──┴─ staged ── saved ──> seen ── follow-ups of 2 ── of 3
//! ```
//!
//! A change is made on what is staged: what readers see, with the changes that wait for the disk. Each is answered when it
//! is on disk itself. Where a save fails, none of its changes has happened; those that were made on top of them are made
//! again. What follows from changes is done in their order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::journal::Keep;
use super::state::RelayState;
use crate::http::metrics::Histogram;
use crate::store;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// The saves since the store was opened.
#[derive(Debug, Default)]
pub(super) struct SaveStats {
    pub(super) took: Histogram,
    pub(super) errors: AtomicU64,
}

/// Whether a change may be had without the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saving {
    /// What the disk does not take has not happened.
    Must,
    /// It is made in memory at once, and is on disk with the next change that is.
    Should,
    /// The same, and it is not worth a write of its own: the time of a call.
    Later,
}

/// Why a change is not on disk.
#[derive(Debug)]
pub(super) enum SaveError {
    Store(store::Error),
    /// As one that another caller has: what it says.
    Shared(String),
}

/// What became of the save that changes share.
enum Outcome {
    Saved,
    Failed(String),
    /// They were made on top of changes that have not happened.
    Undone,
}

type Group = OnceLock<Outcome>;

/// The state in memory, and the way to the disk. Locked in this order: saver, staging, current; the turns alone.
pub(super) struct Commits {
    /// What readers see. Locked to take or to replace it, and for nothing else.
    current: Mutex<Arc<RelayState>>,
    staging: Mutex<Staging>,
    saver: Mutex<Saver>,
    turns: Turns,
}

/// What is staged; whoever has it locked is the one who makes a change.
pub(super) struct Staging {
    state: Arc<RelayState>,
    /// Whether that is more than what is on disk, or is on its way there.
    is_pending: bool,
    /// Those whose save has not begun.
    group: Arc<Group>,
    /// Changes that were made so far.
    made: u64,
    /// What was changed since the last save without being worth one: from which state, to which.
    passed: Option<(Arc<RelayState>, Arc<RelayState>)>,
    /// Whether the last save failed.
    is_failing: bool,
}

struct Saver {
    files: Box<dyn Keep>,
    saves: Arc<SaveStats>,
    /// What fails is said once, and when it is over.
    is_failing: bool,
}

#[derive(Default)]
struct Turns {
    /// The changes whose follow-ups are done.
    done: Mutex<u64>,
    changed: Condvar,
}

/// A change's turn to do what follows from it; the next one's comes when it is dropped.
pub(super) struct Turn<'c> {
    turns: &'c Turns,
    number: u64,
}

impl Staging {
    /// To be changed, and handed to [`Commits::commit`].
    pub(super) fn copy(&self) -> RelayState {
        RelayState::clone(&self.state)
    }

    fn pass(&mut self, changed: &Arc<RelayState>) {
        let before = Arc::clone(&self.state);
        let first = self.passed.take().map_or(before, |(first, _)| first);
        self.passed = Some((first, Arc::clone(changed)));
    }
}

impl Commits {
    pub(super) fn new(state: RelayState, files: Box<dyn Keep>, saves: Arc<SaveStats>) -> Self {
        let state = Arc::new(state);
        Self {
            current: Mutex::new(Arc::clone(&state)),
            staging: Mutex::new(Staging {
                state,
                is_pending: false,
                group: Arc::default(),
                made: 0,
                passed: None,
                is_failing: false,
            }),
            saver: Mutex::new(Saver {
                files,
                saves,
                is_failing: false,
            }),
            turns: Turns::default(),
        }
    }

    /// What readers see.
    pub(super) fn current(&self) -> Arc<RelayState> {
        Arc::clone(&self.current.lock())
    }

    /// The right to make a change.
    pub(super) fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock()
    }

    /// Makes a change of what is staged, and waits for its save where it has one: its turn, and whether it is on disk. None
    /// where it is to be made again, as what it was made on is not there any more.
    pub(super) fn commit<'c>(
        &'c self,
        mut staging: MutexGuard<'c, Staging>,
        mut changed: RelayState,
        saving: Saving,
    ) -> Option<(Turn<'c>, Result<(), SaveError>)> {
        let is_worth_none = saving == Saving::Later && !staging.is_failing;
        let is_at_once = saving != Saving::Must && !is_worth_none;
        if staging.is_pending && is_at_once {
            // It is not to be undone with those that wait.
            drop(staging);
            self.settle();
            return None;
        }
        // One that is worth no save of its own shares what those need that it was made on.
        let is_saved = staging.is_pending || !is_worth_none;
        changed.number += u64::from(is_saved);
        let changed = Arc::new(changed);
        if !is_saved {
            staging.pass(&changed);
        }
        staging.state = Arc::clone(&changed);
        staging.made += 1;
        let turn = Turn {
            turns: &self.turns,
            number: staging.made,
        };
        if is_at_once || !is_saved {
            *self.current.lock() = changed;
        }
        if !is_saved {
            drop(staging);
            drop(turn.wait());
            return Some((turn, Ok(())));
        }
        staging.is_pending = true;
        let group = Arc::clone(&staging.group);
        drop(staging);
        let saved = match (self.save(&group), group.get()) {
            (_, Some(Outcome::Saved)) => Ok(()),
            (Some(error), _) => Err(SaveError::Store(error)),
            (None, Some(Outcome::Failed(why))) => Err(SaveError::Shared(why.clone())),
            (None, Some(Outcome::Undone) | None) => return None,
        };
        if saved.is_err() && is_worth_none {
            return None;
        }
        drop(turn.wait());
        Some((turn, saved))
    }

    /// Waits until a group's save is over, and begins it where nobody has; the error of one that was begun here.
    fn save(&self, group: &Group) -> Option<store::Error> {
        let mut saver = self.saver.lock();
        if group.get().is_some() {
            return None;
        }
        self.save_staged(&mut saver).err()
    }

    /// Saves what waits.
    fn settle(&self) {
        let mut saver = self.saver.lock();
        if self.staging.lock().is_pending {
            // Those whose it is are told.
            let _ = self.save_staged(&mut saver);
        }
    }

    /// What is staged while this runs waits for the next one.
    fn save_staged(&self, saver: &mut Saver) -> Result<(), store::Error> {
        let mut staging = self.staging.lock();
        let state = Arc::clone(&staging.state);
        let group = std::mem::take(&mut staging.group);
        let passed = staging.passed.take();
        drop(staging);
        if let Some((before, after)) = passed {
            saver.files.pass(&before, &after);
        }
        let saved = saver.save(&state);
        let mut staging = self.staging.lock();
        staging.is_failing = saved.is_err();
        let outcome = match &saved {
            Ok(()) => {
                staging.is_pending = !Arc::ptr_eq(&staging.state, &state);
                *self.current.lock() = state;
                Outcome::Saved
            }
            Err(error) => {
                staging.state = self.current();
                staging.is_pending = false;
                // Nobody else has its group's end to tell.
                let _ = std::mem::take(&mut staging.group).set(Outcome::Undone);
                Outcome::Failed(error.to_string())
            }
        };
        let _ = group.set(outcome);
        saved
    }

    /// Saves all that is not on disk. What is changed after that may be lost.
    pub(super) fn end(&self) -> Result<(), store::Error> {
        self.settle();
        let mut saver = self.saver.lock();
        if let Some((before, after)) = self.staging.lock().passed.take() {
            saver.files.pass(&before, &after);
        }
        saver.files.end(&self.current())
    }
}

#[cfg(test)]
impl Commits {
    /// Changes that were made so far.
    pub(super) fn made(&self) -> usize {
        usize::try_from(self.staging.lock().made).unwrap()
    }
}

impl Saver {
    fn save(&mut self, state: &Arc<RelayState>) -> Result<(), store::Error> {
        let began = Instant::now();
        let saved = self.files.save(state);
        self.saves.took.note(began.elapsed());
        let was_failing = std::mem::replace(&mut self.is_failing, saved.is_err());
        if saved.is_err() {
            self.saves.errors.fetch_add(1, Ordering::Relaxed);
        }
        match &saved {
            Err(error) if !was_failing => log::error!(
                "the relay's state is not saved: {error}: connectors that are known are served, \
                 and nothing new is taken"
            ),
            Ok(()) if was_failing => log::info!("the relay's state is saved again"),
            _ => {}
        }
        saved
    }
}

impl Turn<'_> {
    fn wait(&self) -> MutexGuard<'_, u64> {
        let done = self.turns.done.lock();
        let is_not_mine = |done: &mut u64| *done + 1 != self.number;
        self.turns.changed.wait_while(done, is_not_mine)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.wait() = self.number;
        self.turns.changed.notify_all();
    }
}
