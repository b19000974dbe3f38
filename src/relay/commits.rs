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
//!
//! Where the state is shared with other relays, what they have changed comes in the same way ([`Commits::refresh`]), in its
//! turn; what is staged is made again on top of it, and so is what was saved too late ([`SaveError::Outdated`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::journal::{Keep, SaveError};
use super::state::RelayState;
use super::store_error::StoreError;
use crate::http::metrics::Histogram;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// The saves since the store was opened.
#[derive(Debug, Default)]
pub(super) struct SaveStats {
    pub(super) took: Histogram,
    pub(super) errors: AtomicU64,
}

/// How urgently a change must be saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saving {
    /// Refused if the disk does not take it.
    Must,
    /// It is made in memory at once, and is on disk with the next change that is.
    Should,
    /// As `Should`, but not worth a write of its own: the time of a call.
    Later,
}

/// Result of the save that changes share.
enum Outcome {
    Saved,
    Failed(SaveError),
    /// They were made on top of changes that have not happened.
    Undone,
}

type Group = OnceLock<Outcome>;

/// Does what follows where others have changed the state: from which one, to which one.
pub(super) type Follow = Box<dyn Fn(&RelayState, &RelayState) + Send + Sync>;

/// The state in memory, and the way to the disk. Locked in this order: saver, staging, current; the turns alone.
pub(super) struct Commits {
    /// State that readers see. Locked to take or to replace it, and for nothing else.
    current: Mutex<Arc<RelayState>>,
    staging: Mutex<Staging>,
    saver: Mutex<Saver>,
    turns: Turns,
    /// True if others change the state too.
    is_shared: bool,
    follow: OnceLock<Follow>,
}

/// Staged changes; the thread that holds the lock makes a change.
pub(super) struct Staging {
    state: Arc<RelayState>,
    /// True if that is more than what is on disk, or is on its way there.
    is_pending: bool,
    /// Those whose save has not begun.
    group: Arc<Group>,
    /// Changes that were made so far.
    made: u64,
    /// Changes since the last save that were not worth one: from which state, to which.
    passed: Option<(Arc<RelayState>, Arc<RelayState>)>,
    /// True if the last save failed.
    is_failing: bool,
}

struct Saver {
    files: Box<dyn Keep>,
    saves: Arc<SaveStats>,
    /// True while saving fails: the failure is logged once, and its end.
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
            is_shared: files.is_shared(),
            follow: OnceLock::new(),
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

    /// True if others change the state too.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns the state that readers see.
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
        let saving = match saving {
            // Nothing is promised that another relay does not know of.
            Saving::Should if self.is_shared => Saving::Must,
            saving => saving,
        };
        let is_worth_none = saving == Saving::Later && (self.is_shared || !staging.is_failing);
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
        let turn = self.next_turn(&mut staging);
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
        self.save(&group);
        let saved = match group.get() {
            Some(Outcome::Saved) => Ok(()),
            Some(Outcome::Failed(SaveError::Outdated)) => {
                drop(turn);
                return self.again_on_news();
            }
            Some(Outcome::Failed(error)) => Err(error.clone()),
            Some(Outcome::Undone) | None => return None,
        };
        if saved.is_err() && is_worth_none {
            return None;
        }
        drop(turn.wait());
        Some((turn, saved))
    }

    /// Another relay was faster: none where the change can be made again.
    fn again_on_news(&self) -> Option<(Turn<'_>, Result<(), SaveError>)> {
        let error = self.refresh().err()?;
        let turn = self.next_turn(&mut self.staging.lock());
        drop(turn.wait());
        Some((turn, Err(SaveError::Away(error))))
    }

    fn next_turn(&self, staging: &mut Staging) -> Turn<'_> {
        staging.made += 1;
        Turn {
            turns: &self.turns,
            number: staging.made,
        }
    }

    /// Waits until a group's save is over, and begins it where nobody has.
    fn save(&self, group: &Group) {
        let mut saver = self.saver.lock();
        if group.get().is_none() {
            // Those whose it is are told, by the group.
            let _ = self.save_staged(&mut saver);
        }
    }

    /// Does what follows where others have changed the state. Set once; what they have changed before that is in the
    /// state that readers see.
    pub(super) fn follow_with(&self, follow: Follow) {
        // A second one would be of a second service.
        let _ = self.follow.set(follow);
    }

    /// Takes over what others have changed. What waits to be saved is made again on top of that.
    pub(super) fn refresh(&self) -> Result<(), StoreError> {
        let mut saver = self.saver.lock();
        if let Some((before, after)) = self.staging.lock().passed.take() {
            saver.files.pass(&before, &after);
        }
        let Some(news) = saver.files.news()? else {
            return Ok(());
        };
        let mut staging = self.staging.lock();
        let before = std::mem::replace(&mut *self.current.lock(), Arc::clone(&news));
        staging.state = Arc::clone(&news);
        staging.is_pending = false;
        // Of a call while this was read, that it was made: nobody misses it.
        staging.passed = None;
        let _ = std::mem::take(&mut staging.group).set(Outcome::Undone);
        let turn = self.next_turn(&mut staging);
        drop(staging);
        drop(saver);
        drop(turn.wait());
        if let Some(follow) = self.follow.get() {
            follow(&before, &news);
        }
        Ok(())
    }

    /// Saves what waits.
    fn settle(&self) {
        let mut saver = self.saver.lock();
        if self.staging.lock().is_pending {
            // Those whose it is are told.
            let _ = self.save_staged(&mut saver);
        }
    }

    /// Saves what is staged; later changes wait for the next save.
    fn save_staged(&self, saver: &mut Saver) -> Result<(), SaveError> {
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
                Outcome::Failed(error.clone())
            }
        };
        let _ = group.set(outcome);
        saved
    }

    /// Saves all that is not on disk. What is changed after that may be lost.
    pub(super) fn end(&self) -> Result<(), SaveError> {
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
    fn save(&mut self, state: &Arc<RelayState>) -> Result<(), SaveError> {
        let began = Instant::now();
        let saved = self.files.save(state);
        if matches!(saved, Err(SaveError::Outdated)) {
            return saved;
        }
        self.saves.took.note(began.elapsed());
        let is_of_files = !matches!(saved, Err(SaveError::Away(_)));
        let was_failing = std::mem::replace(&mut self.is_failing, saved.is_err() && is_of_files);
        if saved.is_err() {
            self.saves.errors.fetch_add(1, Ordering::Relaxed);
        }
        match &saved {
            // Of a store that is away it is said where that is found.
            Err(error) if !was_failing && is_of_files => log::error!(
                "the relay's state is not saved: {error}: known connectors are still served, nothing new is accepted"
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

#[cfg(test)]
#[path = "commits_tests.rs"]
mod tests;
