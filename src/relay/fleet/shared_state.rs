//! The state in the store, in the place of the log.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::availability::StoreAvailability;
use super::member_id::{self, is_member};
use super::options::Options;
use super::store::{Session, Version};
use crate::relay::state::RelayState;
use crate::relay::state_rows::{Row, Rows};
use crate::relay::state_store::{self, Error};
use crate::relay::store_error::StoreError;
use crate::store::DataDir;

/// The rows in the store.
pub(in crate::relay) struct SharedRows {
    session: Session,
    /// Of the state that was written or read last.
    version: Version,
    availability: Arc<StoreAvailability>,
}

/// Initial state of a relay of a fleet.
pub(in crate::relay) struct OpenedStore {
    pub(in crate::relay) state: RelayState,
    pub(in crate::relay) rows: SharedRows,
    /// Secret that only the relays of the fleet know.
    pub(in crate::relay) secret: Zeroizing<[u8; 32]>,
    pub(super) availability: Arc<StoreAvailability>,
    pub(in crate::relay) watching: Watching,
}

/// For who looks what is new.
pub(in crate::relay) struct Watching {
    /// The relay's name among all.
    pub(in crate::relay) id: String,
    pub(super) session: Session,
}

impl OpenedStore {
    /// Reads the state, and makes the tables where there are none.
    pub(in crate::relay) fn open(home: &DataDir, options: &Options) -> Result<Self, Error> {
        let session = |of: fn(_, _) -> Session| of(options.store.clone(), options.password.clone());
        let mut making = session(Session::making);
        let (state, version) = making.whole()?;
        check_files(home, version.number == 0)?;
        let secret = making.secret()?;
        making.settle_on(&secret);
        let mut watching = session(Session::new);
        watching.settle_on(&secret);
        let availability = Arc::<StoreAvailability>::default();
        Ok(Self {
            rows: SharedRows {
                session: making,
                version,
                availability: Arc::clone(&availability),
            },
            state,
            secret,
            availability,
            watching: Watching {
                id: member_id::of(home)?,
                session: watching,
            },
        })
    }
}

/// Nothing that the directory has is to be lost by that the store is empty.
fn check_files(home: &DataDir, is_new: bool) -> Result<(), Error> {
    if is_member(home) {
        return Ok(());
    }
    let of_files = state_store::peek(home)?;
    match of_files {
        Some(_) if is_new => Err(Error::NotCopied(home.dir().to_owned())),
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

impl Rows for SharedRows {
    fn apply(&mut self, rows: &[Row], _: &RelayState) -> Result<(), Error> {
        self.availability.check()?;
        let changed = self.session.change(&self.version, rows);
        self.availability.note(&changed);
        self.version = changed?.ok_or(Error::Outdated)?;
        Ok(())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn number(&self) -> u64 {
        self.version.number
    }

    fn news(&mut self, state: &RelayState) -> Result<Option<RelayState>, StoreError> {
        self.availability.check()?;
        let news = self.session.news(state, &self.version);
        self.availability.note(&news);
        let Some((state, version)) = news? else {
            return Ok(None);
        };
        if version.number < self.version.number {
            log::warn!(
                "the store has an older state than before, perhaps from a backup. Later changes are lost, including \
                 revocations. Check 'postern relay list'"
            );
        }
        self.version = version;
        Ok(Some(state))
    }
}
