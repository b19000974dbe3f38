//! The state in the store, in the place of the files.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::member_id::{self, is_member};
use super::options::Options;
use super::presence::Presence;
use super::store::{Commit, Committed, News, Session, Taken};
use crate::relay::journal::{Keep, SaveError};
use crate::relay::state::RelayState;
use crate::relay::state_store::{self, Error};
use crate::relay::store_error::StoreError;
use crate::store::DataDir;

/// The state in the store.
pub(in crate::relay) struct SharedState {
    session: Session,
    /// State of the store, without what was passed.
    saved: Arc<RelayState>,
    presence: Arc<Presence>,
    /// Actual state of the store, if it was found to be another.
    other: Option<Box<RelayState>>,
}

impl SharedState {
    /// A name or a port is taken that nobody has in the state that this one knows.
    fn free(&mut self, commit: &Commit) -> Result<Committed, StoreError> {
        match self.session.whose(commit)? {
            Taken::Outdated => Ok(Committed::Outdated),
            // One that is taken again now is somebody's.
            Taken::Freed => self.session.commit(commit),
            Taken::Other(state) => {
                log::error!(
                    "the store's state differs from this relay's but has the same number: reading it again"
                );
                self.other = Some(state);
                Ok(Committed::Outdated)
            }
        }
    }
}

/// Initial state of a relay of a fleet.
pub(in crate::relay) struct Opened {
    pub(in crate::relay) state: RelayState,
    pub(in crate::relay) keep: SharedState,
    /// Secret that only the relays of the fleet know.
    pub(in crate::relay) secret: Zeroizing<[u8; 32]>,
    pub(super) presence: Arc<Presence>,
    pub(in crate::relay) watching: Watching,
}

/// For who looks what is new.
pub(in crate::relay) struct Watching {
    /// The relay's name among all.
    pub(in crate::relay) id: String,
    pub(super) session: Session,
}

impl Opened {
    /// Reads the state, and makes the tables where there are none.
    pub(in crate::relay) fn open(home: &DataDir, options: &Options) -> Result<Self, Error> {
        let session = |of: fn(_, _) -> Session| of(options.store.clone(), options.password.clone());
        let mut making = session(Session::making);
        let state = making.whole()?;
        check_files(home, &state)?;
        let secret = making.secret()?;
        making.settle_on(&secret);
        let mut watching = session(Session::new);
        watching.settle_on(&secret);
        let presence = Arc::<Presence>::default();
        Ok(Self {
            keep: SharedState {
                session: making,
                saved: Arc::new(state.clone()),
                presence: Arc::clone(&presence),
                other: None,
            },
            state,
            secret,
            presence,
            watching: Watching {
                id: member_id::of(home)?,
                session: watching,
            },
        })
    }
}

/// Nothing that the directory has is to be lost by that the store is empty.
fn check_files(home: &DataDir, state: &RelayState) -> Result<(), Error> {
    if is_member(home) {
        return Ok(());
    }
    let of_files = state_store::peek(home)?;
    let is_new = state.number == 0;
    match of_files {
        Some(of_files) if is_new && of_files.number > 0 => {
            Err(Error::NotCopied(home.dir().to_owned()))
        }
        Some(_) => {
            log::warn!(
                "ignoring the state in {}: the store has its own",
                home.dir().display()
            );
            Ok(())
        }
        None => Ok(()),
    }
}

impl Keep for SharedState {
    fn save(&mut self, state: &Arc<RelayState>) -> Result<(), SaveError> {
        self.presence.check()?;
        let commit = Commit::new(&self.saved, state);
        let mut committed = self.session.commit(&commit);
        if committed == Ok(Committed::Taken) {
            committed = self.free(&commit);
        }
        self.presence.note(&committed);
        match committed? {
            Committed::Done => {
                self.saved = Arc::clone(state);
                Ok(())
            }
            Committed::Outdated | Committed::Taken => Err(SaveError::Outdated),
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn news(&mut self) -> Result<Option<Arc<RelayState>>, StoreError> {
        self.presence.check()?;
        if let Some(other) = self.other.take() {
            self.saved = Arc::new(*other);
            return Ok(Some(Arc::clone(&self.saved)));
        }
        let news = self.session.news(self.saved.number);
        self.presence.note(&news);
        let state = match news? {
            News::Nothing => return Ok(None),
            News::Changes(changes) => {
                let mut state = RelayState::clone(&self.saved);
                for change in changes {
                    change.apply(&mut state);
                }
                state
            }
            News::Whole(state) => *state,
        };
        if state.number < self.saved.number {
            log::warn!(
                "the store has an older state than before, perhaps from a backup. Later changes are lost, including \
                 revocations. Check 'postern relay list'"
            );
        }
        self.saved = Arc::new(state);
        Ok(Some(Arc::clone(&self.saved)))
    }

    fn pass(&mut self, before: &Arc<RelayState>, state: &Arc<RelayState>) {
        if Arc::ptr_eq(&self.saved, before) {
            self.saved = Arc::clone(state);
        }
    }
}

impl From<StoreError> for SaveError {
    fn from(error: StoreError) -> Self {
        Self::Away(error)
    }
}
