//! The data directory: the state on disk and in memory, and the host keys.
//!
//! Readers take a snapshot of the state and wait for nobody. A change ([`Writer`]) is made on a copy, saved, with those of
//! others who wait ([`Commits`]), in [`StateFiles`], and then put in the place of what readers see.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

pub(super) use super::commits::Saving;
use super::commits::{Commits, Follow, SaveStats, Turn};
use super::fleet;
use super::journal::{self, JOURNAL, Keep, Replayed, SaveError, StateFiles};
use super::salvage::salvage;
use super::state::{RelayState, VERSION};
use super::store_error::StoreError;
use crate::store::{self, DataDir, JsonFile, Locked, random};
use crate::tunnel::ssh::{KeyKind, ServerKey};

/// The state.
const STATE: &str = "relay.json";
/// Bytes of the state's file, and of its journal. Default 64 MiB: every connector with all its applications.
const STATE_CAP: u64 = 64 * 1024 * 1024;
/// The host keys, the one whose fingerprint quick-setup names first: clients prefer that kind.
const KEYS: [(KeyKind, &str); 2] = [
    (KeyKind::EcdsaP256, "host.ecdsa"),
    (KeyKind::Ed25519, "host.ed25519"),
];
/// Bytes of a host key file. Default 4 KiB: an EC key takes 138.
const KEY_CAP: u64 = 4096;

/// Changes of a shared state that are tried, each on what another relay has made of it meanwhile. Default 300: more than
/// a store's answers in the time that a caller waits.
const MOST_TRIES: u32 = 300;
/// Those of them without a pause before.
const TRIES_AT_ONCE: u32 = 3;
/// Increase from each pause to the next, at most, and the longest. Default 2 ms and 20 ms: a store takes some
/// milliseconds for a change.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The state, in memory and on disk.
pub(super) struct StateStore {
    pub(super) saves: Arc<SaveStats>,
    commits: Commits,
    /// Parts of it that could not be read, in a few words each.
    lost: Vec<String>,
}

/// Right to change the state; keeps the turn of its last change until what follows from that is done.
pub(super) struct Writer<'s> {
    commits: &'s Commits,
    turn: Option<Turn<'s>>,
}

impl StateStore {
    /// Reads the state, or what can be read of it. A file that is unreadable is set aside, and the path it has now is
    /// added to `aside`.
    pub(super) fn open(home: &DataDir, aside: &mut Vec<PathBuf>) -> Result<Self, Error> {
        Self::open_as(home, true, aside)
    }

    /// As `open`, unless that would forget a revocation or a disabled token: then all
    /// stays as it is, and the error says what to do.
    pub(super) fn open_whole(home: &DataDir, aside: &mut Vec<PathBuf>) -> Result<Self, Error> {
        Self::open_as(home, false, aside)
    }

    fn open_as(home: &DataDir, may_forget: bool, aside: &mut Vec<PathBuf>) -> Result<Self, Error> {
        refuse_member(home)?;
        let file = state_file(home);
        let locked = home.lock()?;
        let journal = journal(home)?;
        let mut lost = Vec::new();
        let mut state = match look(home) {
            Err(Error::Unreadable(_)) if may_forget => {
                let damaged = home.read(STATE, STATE_CAP)?.unwrap_or_default();
                aside.push(file.set_aside(&locked)?);
                let (state, of_file) = salvage(&damaged);
                lost = of_file;
                // It has no other place from then on.
                file.write_locked(&locked, &state)?;
                state
            }
            state => state?.unwrap_or_default(),
        };
        let replayed = journal::replay(&mut state, &journal);
        if replayed == Replayed::Unsure && !may_forget {
            return Err(Error::Unsure(home.dir().join(JOURNAL)));
        }
        if replayed != Replayed::Whole {
            // Recovers what could be read of this too.
            lost.push(format!("lines of {JOURNAL}"));
            file.write_locked(&locked, &state)?;
            aside.push(locked.set_aside(JOURNAL, store::UNREADABLE)?);
        }
        drop(locked);
        for lost in &lost {
            log::warn!("lost of the relay's state: {lost}");
        }
        let files = StateFiles::new(home.clone(), file);
        Ok(Self {
            lost,
            ..Self::new(state, Box::new(files))
        })
    }

    /// The state, as it is kept elsewhere.
    pub(super) fn new(state: RelayState, files: Box<dyn Keep>) -> Self {
        let saves = Arc::<SaveStats>::default();
        Self {
            commits: Commits::new(state, files, Arc::clone(&saves)),
            saves,
            lost: Vec::new(),
        }
    }

    /// Returns the parts that could not be read as it was opened, in a few words each.
    pub(super) fn lost(&self) -> &[String] {
        &self.lost
    }

    /// The state as it is now.
    pub(super) fn snapshot(&self) -> Arc<RelayState> {
        self.commits.current()
    }

    /// Takes over what other relays have changed in a state that they share.
    pub(super) fn refresh(&self) -> Result<(), StoreError> {
        self.commits.refresh()
    }

    /// Does what follows from that; set once.
    pub(super) fn follow_with(&self, follow: Follow) {
        self.commits.follow_with(follow);
    }

    /// To change the state with.
    pub(super) fn writer(&self) -> Writer<'_> {
        Writer {
            commits: &self.commits,
            turn: None,
        }
    }

    #[cfg(test)]
    fn commits(&self) -> &Commits {
        &self.commits
    }

    /// Saves what was not worth a write so far. What is changed after that may be lost.
    pub(super) fn end(&self) {
        if let Err(error) = self.commits.end() {
            log::debug!("the last changes are not saved: {error}");
        }
    }
}

impl Writer<'_> {
    /// Changes the state, on disk first: what `change` refuses or the disk does not take has not happened. It may be called
    /// more than once.
    pub(super) fn update<T, E: From<Error>>(
        &mut self,
        change: impl Fn(&mut RelayState) -> Result<T, E>,
    ) -> Result<T, E> {
        let (outcome, _) =
            self.update_saving(|state| change(state).map(|outcome| (outcome, Saving::Must)))?;
        Ok(outcome)
    }

    /// As `update`, where `change` says what it needs of the disk. With the outcome of one that is made at once comes
    /// whether it was saved.
    pub(super) fn update_saving<T, E: From<Error>>(
        &mut self,
        change: impl Fn(&mut RelayState) -> Result<(T, Saving), E>,
    ) -> Result<(T, Result<(), Error>), E> {
        self.turn = None;
        let mut tries = 0;
        loop {
            if self.commits.is_shared() {
                give_way(tries).map_err(Error::from)?;
            }
            let staging = self.commits.staging();
            let mut changed = staging.copy();
            let (outcome, saving) = change(&mut changed)?;
            let Some((turn, saved)) = self.commits.commit(staging, changed, saving) else {
                tries += 1;
                continue;
            };
            let saved = saved.map_err(Error::from);
            return match saved {
                Err(error @ Error::Shared(_)) => Err(error.into()),
                Err(error) if saving == Saving::Must => Err(error.into()),
                saved => {
                    self.turn = Some(turn);
                    Ok((outcome, saved))
                }
            };
        }
    }
}

/// Lets other relays go first, a little longer each time, so that of many that change one state none is always too late.
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

/// Of a relay of a fleet nothing stands in its directory.
fn refuse_member(home: &DataDir) -> Result<(), Error> {
    if fleet::is_member(home) {
        return Err(Error::OfFleet(home.dir().to_owned()));
    }
    Ok(())
}

fn state_file(home: &DataDir) -> JsonFile<RelayState> {
    JsonFile::new(home.clone(), STATE, STATE_CAP)
}

/// The journal's lines.
fn journal(home: &DataDir) -> Result<Vec<u8>, Error> {
    home.refuse_foreign(JOURNAL)?;
    Ok(home.read(JOURNAL, STATE_CAP)?.unwrap_or_default())
}

/// The state on disk; an error for one of a later version, which is not ours to replace, and for what others may have
/// written.
fn look(home: &DataDir) -> Result<Option<RelayState>, Error> {
    #[derive(Serialize, Deserialize)]
    struct Versioned {
        version: u32,
    }
    home.refuse_foreign(STATE)?;
    let versioned = JsonFile::<Versioned>::new(home.clone(), STATE, STATE_CAP);
    match versioned.look().map_err(unreadable)? {
        Some(found) if found.version > VERSION => Err(Error::Newer(found.version)),
        _ => {
            let state = state_file(home).look().map_err(unreadable)?;
            Ok(state.map(RelayState::migrated))
        }
    }
}

fn unreadable(error: store::Error) -> Error {
    match error {
        store::Error::Damaged { path, .. } => Error::Unreadable(path),
        error => error.into(),
    }
}

/// The state as it is on disk, without the right to change it.
pub(super) fn peek(home: &DataDir) -> Result<Option<RelayState>, Error> {
    refuse_member(home)?;
    // First, since what is in it by now may be in the state's file a moment later, and no more in it.
    let journal = journal(home)?;
    let mut state = look(home)?;
    if let Some(state) = &mut state {
        // Of what cannot be read the next start tells.
        let _ = journal::replay(state, &journal);
    }
    Ok(state)
}

/// Notice about a file that could not be read and was set aside.
pub fn set_aside_notice(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let consequence = if name.starts_with(STATE) || name.starts_with(JOURNAL) {
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

/// True if a relay was ever started there: it has made its keys, if nothing else.
pub(super) fn exists(home: &DataDir) -> bool {
    let names = KEYS.into_iter().map(|(_, name)| name).chain([STATE]);
    // One that cannot be looked at is told of by whoever reads it.
    names
        .map(|name| home.dir().join(name))
        .any(|path| path.try_exists().unwrap_or(true))
}

/// The host keys, made where they are missing, so that clients see the same ones after a restart.
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

/// Why the data directory cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read, written or locked.
    Store(Arc<store::Error>),
    /// The state is in a store that several relays share, and that does not do what is asked.
    Shared(StoreError),
    /// The state was written by a later version of this program, with this number.
    Newer(u32),
    /// The file of the state is damaged.
    Unreadable(PathBuf),
    /// The journal is damaged, and may have said that somebody is turned out.
    Unsure(PathBuf),
    /// The directory is of a relay of a fleet, whose state is in a store.
    OfFleet(PathBuf),
    /// The directory has a state, and the store that is named has none.
    NotCopied(PathBuf),
    /// Something has no form in which it could be kept.
    Form(String),
    /// There are as many connectors as a relay takes.
    Full,
    /// There are as many invites as are kept, and all of them are good.
    Invites,
}

impl Error {
    /// Returns advice.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Store(error) => hint_of(error),
            Self::Newer(_) => {
                "run the version that wrote it, or name another directory with --data"
            }
            Self::Unreadable(_) => {
                "restore it from a backup, or run 'postern relay recover' with the same --data, which keeps what can \
                 be read and lists what is lost"
            }
            Self::Unsure(_) => {
                "restore it and relay.json from a backup, or run 'postern relay recover' with the same --data, which \
                 keeps what can be read and lists what is lost"
            }
            Self::Shared(error) => error.hint(),
            Self::OfFleet(_) => {
                "start the relay with --store and ask while it runs, or name another directory with --data"
            }
            Self::NotCopied(_) => {
                "copy it with 'postern relay copy-store DIRECTORY STORE', or name another directory with --data"
            }
            Self::Form(_) => "name another directory with --data",
            Self::Full => "make room with 'postern relay revoke NAME'",
            Self::Invites => "make room with 'postern relay uninvite ID'",
        }
    }
}

/// Returns advice about the data directory, which `--data` names.
pub fn hint_of(error: &store::Error) -> &'static str {
    match error {
        store::Error::Io { .. } => {
            "check its owner, permissions and free space, or name another directory with --data"
        }
        store::Error::NotPrivate { .. } => {
            "fix that, or name with --data a directory that only you can write to"
        }
        error => error.hint(),
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Newer(version) => write!(f, "{STATE} is from a newer version (format {version})"),
            Self::Unreadable(path) => write!(
                f,
                "{} is damaged. It lists enrolled and revoked connectors, so the relay does not start. Nothing was changed",
                path.display()
            ),
            Self::Unsure(path) => write!(
                f,
                "{} is damaged or belongs to another {STATE}. It may contain a revocation, so the relay does not \
                 start. Nothing was changed",
                path.display()
            ),
            Self::Shared(error) => error.fmt(f),
            Self::OfFleet(dir) => write!(
                f,
                "{} belongs to a fleet: its state is in the fleet's store",
                dir.display()
            ),
            Self::NotCopied(dir) => write!(
                f,
                "{} contains a relay's state, but the store has none",
                dir.display()
            ),
            Self::Form(text) => f.write_str(text),
            Self::Full => f.write_str("the relay has reached its limit of 2500 connectors"),
            Self::Invites => f.write_str("the limit of 1000 invites is reached"),
        }
    }
}

impl std::error::Error for Error {}

impl From<SaveError> for Error {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Files(error) => Self::Store(error),
            SaveError::Away(error) => Self::Shared(error),
            SaveError::Outdated => Self::Shared(StoreError::Away(error.to_string())),
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Shared(error)
    }
}

#[cfg(test)]
#[path = "state_store_tests.rs"]
mod tests;
