//! The data directory: who has it, the state, and the host keys.

use crate::sync::{Mutex, MutexGuard};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use zeroize::Zeroizing;

use super::state::{RelayState, VERSION};
use crate::store::{self, DataDir, Locked};
use crate::tunnel::ssh::{KeyKind, ServerKey};

/// The state.
const BOOK: &str = "relay.json";
/// The largest book that is read, in bytes. Default 64 MiB: every connector with all its applications.
const BOOK_CAP: u64 = 64 * 1024 * 1024;
/// The host keys, the one whose fingerprint quick-setup names first: clients prefer that kind.
const KEYS: [(KeyKind, &str); 2] = [
    (KeyKind::EcdsaP256, "host.ecdsa"),
    (KeyKind::Ed25519, "host.ed25519"),
];
/// Bytes of a host key file. Default 4 KiB: an EC key takes 138.
const KEY_CAP: u64 = 4096;
/// Files of one name that are set aside in one second.
const MAX_ASIDE: u32 = 100;

/// The state on disk, and in memory.
#[derive(Debug)]
pub(super) struct Store {
    home: DataDir,
    book: Mutex<RelayState>,
    /// Whether the last write failed: what fails is said once, and when it is over.
    is_failing: AtomicBool,
}

/// Whether a change may be had without the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saving {
    /// What the disk does not take has not happened.
    Must,
    /// It is made in memory all the same, and is on disk with the next change that is.
    Should,
}

impl Store {
    /// Reads the state. One that is no book is set aside, and the path it has now is added to `aside`.
    pub(super) fn open(home: DataDir, aside: &mut Vec<PathBuf>) -> Result<Self, Error> {
        let locked = home.lock()?;
        let book = match home.read(BOOK, BOOK_CAP)? {
            None => RelayState::default(),
            Some(bytes) => match read(&bytes)? {
                Some(book) => book,
                None => {
                    aside.push(set_aside(home.dir(), BOOK)?);
                    RelayState::default()
                }
            },
        };
        drop(locked);
        Ok(Self {
            home,
            book: Mutex::new(book),
            is_failing: AtomicBool::new(false),
        })
    }

    /// Looks something up.
    pub(super) fn read<T>(&self, at: impl FnOnce(&RelayState) -> T) -> T {
        at(&self.book())
    }

    /// Changes the state, on disk first: what `change` refuses or the disk does not take has not happened.
    pub(super) fn update<T, E: From<Error>>(
        &self,
        change: impl FnOnce(&mut RelayState) -> Result<T, E>,
    ) -> Result<T, E> {
        self.update_saving(|book| change(book).map(|outcome| (outcome, Saving::Must)))
    }

    /// The same, where `change` says what it needs of the disk.
    pub(super) fn update_saving<T, E: From<Error>>(
        &self,
        change: impl FnOnce(&mut RelayState) -> Result<(T, Saving), E>,
    ) -> Result<T, E> {
        let mut book = self.book();
        let mut changed = book.clone();
        let (outcome, saving) = change(&mut changed)?;
        let saved = self.write(&changed);
        if saving == Saving::Must {
            saved?;
        }
        *book = changed;
        Ok(outcome)
    }

    /// The same for what must not wait for a disk: it is made in memory whatever that says. Whether it
    /// was saved comes with the outcome; if not, it is with the next change that is.
    pub(super) fn change_at_once<T, E>(
        &self,
        change: impl FnOnce(&mut RelayState) -> Result<T, E>,
    ) -> Result<(T, Result<(), Error>), E> {
        let mut book = self.book();
        let mut changed = book.clone();
        let outcome = change(&mut changed)?;
        let saved = self.write(&changed);
        *book = changed;
        Ok((outcome, saved))
    }

    fn tell(&self, saved: &Result<(), Error>) {
        let was_failing = self.is_failing.swap(saved.is_err(), Ordering::Relaxed);
        match saved {
            Err(error) if !was_failing => log::error!(
                "the relay's state is not saved: {error}: connectors that are known are served, \
                 and nothing new is taken"
            ),
            Ok(()) if was_failing => log::info!("the relay's state is saved again"),
            _ => {}
        }
    }

    fn write(&self, book: &RelayState) -> Result<(), Error> {
        let write = || {
            let form = |error: serde_json::Error| Error::Form(error.to_string());
            let bytes = serde_json::to_vec_pretty(book).map_err(form)?;
            Ok(self.home.lock()?.write(BOOK, &bytes)?)
        };
        let saved = write();
        self.tell(&saved);
        saved
    }

    fn book(&self) -> MutexGuard<'_, RelayState> {
        self.book.lock()
    }

    /// The host keys, made where they are missing, so that clients see the same ones after a restart.
    pub(super) fn host_keys(&self, aside: &mut Vec<PathBuf>) -> Result<Arc<[ServerKey]>, Error> {
        let locked = self.home.lock()?;
        let keys: Result<Vec<ServerKey>, Error> = KEYS
            .into_iter()
            .map(|(kind, name)| host_key(&self.home, &locked, kind, name, aside))
            .collect();
        keys.map(Arc::from)
    }
}

/// Whether a relay was ever started there: it has made its keys, if nothing else.
pub(super) fn exists(home: &DataDir) -> bool {
    let names = KEYS.into_iter().map(|(_, name)| name).chain([BOOK]);
    // One that cannot be looked at is told of by whoever reads it.
    names
        .map(|name| home.dir().join(name))
        .any(|path| path.try_exists().unwrap_or(true))
}

/// The state as it is on disk, without the right to change it.
pub(super) fn peek(home: &DataDir) -> Result<Option<RelayState>, Error> {
    match home.read(BOOK, BOOK_CAP)? {
        None => Ok(None),
        Some(bytes) => match read(&bytes)? {
            Some(book) => Ok(Some(book)),
            None => Err(Error::Form(format!("{BOOK} is unreadable"))),
        },
    }
}

/// `None` for what is no book; an error for one of a later version, which is not ours to replace.
fn read(bytes: &[u8]) -> Result<Option<RelayState>, Error> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    match serde_json::from_slice::<Versioned>(bytes) {
        Ok(found) if found.version > VERSION => Err(Error::Newer(found.version)),
        _ => Ok(serde_json::from_slice(bytes).ok()),
    }
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
            Err(_) => aside.push(set_aside(home.dir(), name)?),
        }
    }
    let key = ServerKey::generate(kind).map_err(|error| Error::Form(error.to_string()))?;
    locked.write(name, key.to_pkcs8())?;
    Ok(key)
}

/// Renames a file that cannot be read, never onto another one.
fn set_aside(dir: &Path, name: &str) -> Result<PathBuf, Error> {
    let from = dir.join(name);
    // A colon cannot stand in a name everywhere.
    let time = store::time::rfc3339(SystemTime::now()).replace(':', "");
    let free = |path: &PathBuf| !path.exists();
    let names = (0..MAX_ASIDE).map(|number| match number {
        0 => dir.join(format!("{name}.unreadable-{time}")),
        _ => dir.join(format!("{name}.unreadable-{time}-{number}")),
    });
    let to = names.into_iter().find(free).unwrap_or_else(|| from.clone());
    std::fs::rename(&from, &to).map_err(|error| Error::Aside(from, error))?;
    Ok(to)
}

/// Why the data directory cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read, written or locked.
    Store(store::Error),
    /// The state was written by a later version of this program, with this number.
    Newer(u32),
    /// A file that is unreadable cannot be set aside.
    Aside(PathBuf, std::io::Error),
    /// Something has no form in which it could be kept.
    Form(String),
    /// There are as many connectors as a relay takes.
    Full,
}

impl Error {
    /// What to try.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Store(error) => hint_of(error),
            Self::Newer(_) => {
                "run the version that wrote it, or name another directory with --data"
            }
            Self::Aside(..) | Self::Form(_) => "name another directory with --data",
            Self::Full => "'postern relay revoke NAME' makes room",
        }
    }
}

/// What to try about the data directory, which `--data` names.
pub fn hint_of(error: &store::Error) -> &'static str {
    match error {
        store::Error::Io { .. } => {
            "check its owner, permissions and free space, or name another directory with --data"
        }
        store::Error::NotPrivate { .. } => {
            "mend that, or name a directory that only you can write in with --data"
        }
        error => error.hint(),
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Newer(version) => write!(f, "{BOOK} has the form {version} of a later version"),
            Self::Aside(path, error) => {
                write!(f, "cannot set {} aside: {error}", path.display())
            }
            Self::Form(text) => f.write_str(text),
            Self::Full => f.write_str("the relay has as many connectors as it takes (1000)"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn open(dir: &Path) -> (Store, Vec<PathBuf>) {
        let mut aside = Vec::new();
        let store = Store::open(DataDir::at(dir), &mut aside).unwrap();
        (store, aside)
    }

    #[test]
    fn what_was_changed_is_there_again_and_what_was_refused_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = open(dir.path());
        let change = |name: &str, result| {
            store.update(|book| {
                book.revoked.push(name.to_owned());
                result
            })
        };
        change("kept", Ok(())).unwrap();
        assert!(change("not", Err(Error::Form("refused".into()))).is_err());
        assert_eq!(store.read(|book| book.revoked.clone()), ["kept"]);
        let (again, aside) = open(dir.path());
        assert_eq!(again.read(|book| book.revoked.clone()), ["kept"]);
        assert!(aside.is_empty());
    }

    #[test]
    fn a_damaged_book_is_set_aside_each_time_and_never_lost() {
        let dir = tempfile::tempdir().unwrap();
        for content in ["", "{\"version\":1,", "[]"] {
            fs::write(dir.path().join(BOOK), content).unwrap();
            let (store, aside) = open(dir.path());
            assert_eq!(fs::read_to_string(&aside[0]).unwrap(), content);
            store.update(|_| Ok::<_, Error>(())).unwrap();
        }
        let unreadable = fs::read_dir(dir.path()).unwrap().flatten();
        let names = unreadable.map(|entry| entry.file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.contains("unreadable")).count(), 3);
    }

    #[test]
    fn a_later_versions_book_stays_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(BOOK), "{\"version\":2,\"other\":1}").unwrap();
        let opened = Store::open(DataDir::at(dir.path()), &mut Vec::new());
        assert!(matches!(opened, Err(Error::Newer(2))));
        assert!(dir.path().join(BOOK).exists());
    }

    #[test]
    fn host_keys_stay_the_same_and_a_damaged_one_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let prints = || {
            let (store, mut aside) = open(dir.path());
            let keys = store.host_keys(&mut aside).unwrap();
            let prints: Vec<String> = keys.iter().map(|key| key.public().fingerprint()).collect();
            (prints, aside)
        };
        let (first, _) = prints();
        assert_eq!(prints(), (first.clone(), Vec::new()));
        fs::write(dir.path().join("host.ed25519"), "x").unwrap();
        let (second, aside) = prints();
        assert_eq!(aside.len(), 1);
        assert_eq!(first[0], second[0]);
        assert_ne!(first[1], second[1]);
    }
}
