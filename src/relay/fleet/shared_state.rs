//! The state of a fleet in its shared store: reading, changing and copying it, and the store's availability.

use std::fmt;
use std::mem::discriminant;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::member;
use super::member::is_member;
use super::store::{Session, StorePassword, StoreUrl, Version};
use crate::relay::state::RelayState;
use crate::relay::state_rows::{Row, Rows};
use crate::relay::state_store::{Error, StateStore};
use crate::relay::store_error::StoreError;
use crate::relay::{state_rows, state_store};
use crate::store::DataDir;
use crate::sync::Mutex;

/// Time without any answer after which the store counts as unavailable. Default 15 s: more than a query takes at most.
const SILENT: Duration = Duration::from_secs(15);

/// The state's rows in the store.
pub(in crate::relay) struct SharedRows {
    session: Session,
    /// Version of the state that was written or read last.
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

/// Session of the thread that looks for changes.
pub(in crate::relay) struct Watching {
    /// ID of this relay.
    pub(in crate::relay) id: String,
    pub(super) session: Session,
}

impl OpenedStore {
    /// Reads the state, and creates the tables if they are missing.
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
                id: member::id_of(home)?,
                session: watching,
            },
        })
    }
}

/// Fails if the directory has a state and the store has none: it must not be lost.
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

/// Settings of a relay of a fleet.
pub struct Options {
    /// Address of the shared store.
    pub store: StoreUrl,
    /// Password of the account there.
    pub password: StorePassword,
    /// Listener for the links of the other relays.
    pub peer_listener: TcpListener,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Options({})", self.store)
    }
}

/// Availability of the store, from the last result: while it is unavailable, only the thread that checks for its return
/// waits for it.
#[derive(Debug)]
pub(super) struct StoreAvailability(Mutex<LastResult>);

/// Last result, and its time.
#[derive(Debug)]
struct LastResult {
    error: Option<StoreError>,
    at: Instant,
}

impl Default for StoreAvailability {
    fn default() -> Self {
        let at = Instant::now();
        Self(Mutex::new(LastResult { error: None, at }))
    }
}

impl StoreAvailability {
    /// Fails if the store is unavailable.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let last = self.0.lock();
        if last.at.elapsed() >= SILENT && last.error.is_none() {
            return Err(StoreError::Away("no answer".into()));
        }
        last.error.clone().map_or(Ok(()), Err)
    }

    /// Notes the result of a query; logs a failure once, again if it is of another kind, and its end.
    pub(super) fn note<T>(&self, outcome: &Result<T, StoreError>) {
        let now = outcome.as_ref().err().cloned();
        let mut last = self.0.lock();
        last.at = Instant::now();
        let before = std::mem::replace(&mut last.error, now);
        drop(last);
        match (before, outcome) {
            (before, Err(error))
                if before.as_ref().map(discriminant) != Some(discriminant(error)) =>
            {
                log::error!(
                    "{error}: existing connections continue, nothing new is accepted meanwhile"
                );
            }
            (Some(_), Ok(_)) => log::info!("the store is available again"),
            _ => {}
        }
    }
}

/// Location of a state.
pub enum StateLocation {
    /// A relay's directory, on which none runs.
    Directory(DataDir),
    /// A store, with the account's password.
    Store(StoreUrl, StorePassword),
}

impl fmt::Display for StateLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(data) => write!(f, "{}", data.dir().display()),
            Self::Store(url, _) => url.fmt(f),
        }
    }
}

impl fmt::Debug for StateLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateLocation({self})")
    }
}

/// Copies a state to an empty place; returns the numbers of connectors, revoked ones and invites. Host keys and
/// counters are not copied: they belong to one relay.
pub fn copy(from: &StateLocation, to: &StateLocation) -> Result<[usize; 3], Error> {
    let state = read(from)?;
    write(to, &state)?;
    Ok([
        state.connectors.len(),
        state.revoked.len(),
        state.invites.len(),
    ])
}

fn read(from: &StateLocation) -> Result<RelayState, Error> {
    let nothing = || StoreError::Absent(format!("there is no relay state in {from}"));
    match from {
        StateLocation::Directory(data) => Ok(state_store::peek(data)?.ok_or_else(nothing)?),
        StateLocation::Store(url, password) => {
            let (state, _) = Session::new(url.clone(), password.clone()).whole()?;
            Ok(state)
        }
    }
}

fn write(to: &StateLocation, state: &RelayState) -> Result<(), Error> {
    let not_empty = || StoreError::NotEmpty(format!("there is already a relay state in {to}"));
    match to {
        StateLocation::Directory(data) => {
            if is_member(data) || state_store::peek(data)?.is_some() {
                return Err(not_empty().into());
            }
            let store = StateStore::open_whole(data)?;
            store.update(|kept| {
                *kept = state.clone();
                Ok(())
            })
        }
        StateLocation::Store(url, password) => {
            let mut session = Session::making(url.clone(), password.clone());
            let made = session.change(&Version::default(), &state_rows::all(state))?;
            made.map(drop).ok_or_else(|| not_empty().into())
        }
    }
}
