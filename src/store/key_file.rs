//! The random key of sealed files. It lies apart from them, so that a copy of the per-user directory opens nothing, also
//! with the machine's id, which is no secret.
//!
//! | the per-user directory | its key |
//! |---|---|
//! | `~/.postern` | `$XDG_STATE_HOME/postern/key`, else `~/.local/state/postern/key` |
//! | that of `POSTERN_HOME`, and on Windows | beside it: `DIRECTORY.key` |
//! | one with no such place | in it: `.key` |
//!
//! There is no such place where the directory is a volume of its own, as in a container: what lies apart does not live
//! as long; where the machine has no id of its own, for the same reason; and where nothing can be written there, or
//! others can. `.key-place` in the directory says where the key lies, so that a move, another environment or another
//! spelling of the directory loses nothing.
//!
//! A key apart that is another user's, or that others can change, is refused: whoever knows it opens all that is sealed
//! with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::atomic::create_atomic;
use super::data_dir::{DataDir, create_private};
use super::error::Error;
use super::lock::Locked;
use super::random::{self, hex};

/// Bytes of a key.
pub(super) const KEY: usize = 32;
/// Bytes of what names a key in a sealed file.
pub(super) const KEY_ID: usize = 8;
/// The key's name in the directory itself.
pub(super) const INSIDE: &str = ".key";
/// The file that says where the key is: one line.
const PLACE: &str = ".key-place";
/// Bytes of that file, and of a key's. Default 4 KiB: a path.
const CAP: u64 = 4096;

/// A key, and what a sealed file calls it.
pub(super) struct SealKey {
    pub(super) secret: Zeroizing<[u8; KEY]>,
    pub(super) id: [u8; KEY_ID],
}

impl SealKey {
    /// The key that a sealed file names; none where it is lost.
    pub(super) fn with_id(home: &DataDir, id: &[u8]) -> Result<Option<Self>, Error> {
        for place in candidates(home)? {
            if let Some(key) = Self::read(home, &place)?.filter(|key| key.id == id) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// The key to seal with, for the holder of the lock: a new one where there is none. It is on the disk before it is
    /// used. `lasts_apart` says whether what is kept outside the directory lives as long as what is in it.
    pub(super) fn known_or_new(
        home: &DataDir,
        locked: &Locked,
        lasts_apart: bool,
    ) -> Result<Self, Error> {
        let (key, place) = match Self::known(home)? {
            Some(known) => known,
            None => Self::new(home, lasts_apart && !is_volume(home.dir()))?,
        };
        let said = format!("{}\n", place.display());
        let is_inside = place == home.dir().join(INSIDE);
        if !is_inside && home.read(PLACE, CAP)?.as_deref() != Some(said.as_bytes()) {
            locked.write(PLACE, said.as_bytes())?;
        }
        Ok(key)
    }

    /// The first that is there, and where.
    fn known(home: &DataDir) -> Result<Option<(Self, PathBuf)>, Error> {
        for place in candidates(home)? {
            if let Some(key) = Self::read(home, &place)? {
                return Ok(Some((key, place)));
            }
        }
        Ok(None)
    }

    /// Makes one in the first place where that can be done; in the directory itself at last.
    fn new(home: &DataDir, lasts_apart: bool) -> Result<(Self, PathBuf), Error> {
        let text = Zeroizing::new(hex(&random::bytes::<KEY>()));
        let apart = home.key_places().iter().filter(|_| lasts_apart);
        for place in apart {
            match make(place, &text).and_then(|()| Self::made(home, place.clone())) {
                Ok(made) => return Ok(made),
                Err(error) => log::debug!("no key at {}: {error}", place.display()),
            }
        }
        let inside = home.dir().join(INSIDE);
        make(&inside, &text)?;
        Self::made(home, inside)
    }

    /// Returns the key that now exists: another process may have been first.
    fn made(home: &DataDir, place: PathBuf) -> Result<(Self, PathBuf), Error> {
        match Self::read(home, &place)? {
            Some(key) => Ok((key, place)),
            None => Err(Error::Damaged {
                path: place,
                reason: "it is not a key".to_owned(),
            }),
        }
    }

    /// None where there is none: no file, or one that is no key.
    fn read(home: &DataDir, place: &Path) -> Result<Option<Self>, Error> {
        let Some(found) = found(place)?.filter(|found| found.is_file() && found.len() <= CAP)
        else {
            return Ok(None);
        };
        // A key in the directory is as private as the directory.
        if place.parent() != Some(home.dir()) {
            refuse_foreign(place, &found)?;
        }
        let text = Zeroizing::new(fs::read_to_string(place).map_err(Error::io("read", place))?);
        let mut secret = Zeroizing::new([0; KEY]);
        let text = text.trim();
        if text.len() != 2 * KEY || !text.is_ascii() {
            return Ok(None);
        }
        for (index, byte) in secret.iter_mut().enumerate() {
            let digits = text.get(2 * index..2 * index + 2).unwrap_or_default();
            let Ok(value) = u8::from_str_radix(digits, 16) else {
                return Ok(None);
            };
            *byte = value;
        }
        let id = id_of(&secret);
        Ok(Some(Self { secret, id }))
    }
}

/// Where the key of the directory is: the first that is there, else none.
pub fn key_file(home: &DataDir) -> Result<Option<PathBuf>, Error> {
    Ok(SealKey::known(home)?.map(|(_, place)| place))
}

/// It tells nothing of the key.
fn id_of(secret: &[u8; KEY]) -> [u8; KEY_ID] {
    let mut hash = Sha256::new();
    hash.update(b"postern key id 1\0");
    hash.update(secret);
    let digest = hash.finalize();
    let (id, _) = digest.split_first_chunk().expect("a digest is longer");
    *id
}

/// Where a key may be, the most likely first.
fn candidates(home: &DataDir) -> Result<Vec<PathBuf>, Error> {
    let said = home.read(PLACE, CAP)?;
    let said = said.and_then(|said| String::from_utf8(said).ok());
    let said = said.map(|said| PathBuf::from(said.trim_end_matches('\n')));
    let mut places: Vec<PathBuf> = said.into_iter().filter(|path| path.is_absolute()).collect();
    // A separate place is not tried if the key is known to be here.
    places.push(home.dir().join(INSIDE));
    places.extend(home.key_places().iter().cloned());
    Ok(places)
}

/// Writes the key, unless there is one, in a directory that is made where it is missing.
fn make(place: &Path, text: &str) -> Result<(), Error> {
    let parent = place.parent().ok_or(Error::NoHome)?;
    create_private(parent)?;
    refuse_shared(parent)?;
    match create_atomic(place, format!("{text}\n").as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::io("write", place)(error))
        }
        _ => Ok(()),
    }
}

/// Refuses to make a key where others write too, be it sticky: whoever comes first has the name.
#[cfg(unix)]
fn refuse_shared(dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(dir).map_err(Error::io("read", dir))?;
    let user = rustix::process::geteuid().as_raw();
    let is_ours = found.uid() == user || found.uid() == 0;
    if is_ours && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let (path, reason) = (dir.to_owned(), "other users can write to it");
    Err(Error::NotPrivate { path, reason })
}

/// Refuses a key of another user's, also where this one may read it, and one that others can swap.
#[cfg(unix)]
fn refuse_foreign(place: &Path, found: &fs::Metadata) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let dir = place.parent().ok_or(Error::NoHome)?;
    let dir = fs::metadata(dir).map_err(Error::io("read", dir))?;
    let user = rustix::process::geteuid().as_raw();
    let reason = if found.uid() != user {
        "it belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "other users can write to it"
    } else if dir.uid() != user && dir.uid() != 0 {
        "its directory belongs to another user"
    } else if dir.mode() & 0o022 != 0 && dir.mode() & 0o1000 == 0 {
        "other users can replace files in its directory"
    } else {
        return Ok(());
    };
    let path = place.to_owned();
    Err(Error::ForeignKey { path, reason })
}

#[cfg(not(unix))]
fn refuse_shared(_: &Path) -> Result<(), Error> {
    Ok(())
}

#[cfg(not(unix))]
fn refuse_foreign(_: &Path, _: &fs::Metadata) -> Result<(), Error> {
    Ok(())
}

fn found(path: &Path) -> Result<Option<fs::Metadata>, Error> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// True if the directory is a file system of its own.
#[cfg(unix)]
fn is_volume(dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    dir.parent()
        .is_some_and(|parent| device(parent) != device(dir))
}

#[cfg(not(unix))]
fn is_volume(_: &Path) -> bool {
    false
}

#[cfg(test)]
#[path = "key_file_tests.rs"]
mod tests;
