//! Sealed content, which only this user on this machine can open, and the random key for it. The key is kept outside
//! the
//! per-user directory, so that a copy of the directory cannot be opened, even with the machine's id, which is not
//! secret.
//!
//! | the per-user directory | its key |
//! |---|---|
//! | `~/.postern` | `$XDG_STATE_HOME/postern/key`, else `~/.local/state/postern/key` |
//! | that of `POSTERN_HOME`, and on Windows | next to it: `DIRECTORY.key` |
//! | one without such a place | in it: `.key` |
//!
//! There is no such place if the directory is a volume of its own, as in a container, or if the machine has no id of
//! its
//! own: files outside the directory would not live as long. Nor if it cannot be written, or others can write there.
//! `.key-place` in the directory names the place, so that a move, another environment or another spelling of the
//! directory does not lose the key.
//!
//! A key outside that belongs to another user, or that others can change, is refused: anyone who knows it could open
//! everything that is sealed with it.
//!
//! ```text
//! "PSTN" | version 2 | key's id, 8 bytes | salt, 16 bytes | nonce, 12 bytes | AES-256-GCM ciphertext and tag
//! └───────────────────────── associated data ────────────────────────────┘
//! key = HKDF-SHA-256(fingerprint | key file, salt, purpose)
//! ```
//!
//! Salt and nonce are new at every write. Version 1 had no key file and no key id; it is read, and sealed again as soon
//! as
//! possible.

use std::path::{Path, PathBuf};
use std::{fs, io};

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes256Gcm, Key, KeyInit};
use ring::hkdf;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::data_dir::{DataDir, create_private};
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::lock::{Locked, create_atomic};
use super::random::{self, hex};

/// Bytes of a key.
pub(super) const KEY: usize = 32;
/// Bytes of a key's id in a sealed file.
pub(super) const KEY_ID: usize = 8;
/// Name of a key in the directory itself.
pub(super) const INSIDE: &str = ".key";
/// File with the place of the key: one line.
const PLACE: &str = ".key-place";
/// Bytes of that file, and of a key file. Default 4 KiB: a path.
const CAP: u64 = 4096;

/// Parts of sealed content.
const MAGIC: &[u8; 4] = b"PSTN";
const VERSION: u8 = 2;
/// The version without a key file.
const FIRST_VERSION: u8 = 1;
/// Versions of newer programs; higher bytes are letters, never a version.
const NEWER: std::ops::RangeInclusive<u8> = VERSION + 1..=0x1f;
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;

/// Seals and opens content: the inputs of its key besides the user and the salt.
#[derive(Clone)]
pub(super) struct Seal {
    /// Content of another purpose cannot be opened as this one.
    purpose: &'static str,
    /// The root directory of the machine, from which the fingerprint is taken.
    machine: PathBuf,
}

/// Result of an attempt to open.
pub(super) enum Opened {
    /// The content; `true` if an earlier version sealed it.
    Content(Zeroizing<Vec<u8>>, bool),
    /// Not sealed with this purpose by this user on this machine, or damaged.
    Foreign,
    /// The key that it names is missing.
    KeyIsLost,
    /// Sealed by a newer version of the program: the version of its format.
    Newer(u8),
}

impl Seal {
    pub(super) fn new(purpose: &'static str) -> Self {
        Self {
            purpose,
            machine: PathBuf::from("/"),
        }
    }

    /// Opens sealed content.
    pub(super) fn open(&self, home: &DataDir, sealed: &[u8]) -> Result<Opened, Error> {
        let Some((&version, rest)) = sealed.strip_prefix(MAGIC).and_then(<[u8]>::split_first)
        else {
            return Ok(Opened::Foreign);
        };
        if NEWER.contains(&version) {
            return Ok(Opened::Newer(version));
        }
        let Some(fingerprint) = Fingerprint::known(home, &self.machine)? else {
            return Ok(Opened::Foreign);
        };
        let (key, header) = match version {
            FIRST_VERSION => (None, MAGIC.len() + 1),
            VERSION => {
                let Some((id, _)) = rest.split_at_checked(KEY_ID) else {
                    return Ok(Opened::Foreign);
                };
                match SealKey::with_id(home, id)? {
                    Some(key) => (Some(key), MAGIC.len() + 1 + KEY_ID),
                    None => return Ok(Opened::KeyIsLost),
                }
            }
            _ => return Ok(Opened::Foreign),
        };
        let secret = secret(&fingerprint, key.as_ref());
        Ok(match open(&secret, self.purpose, sealed, header) {
            Some(content) => Opened::Content(content, version == FIRST_VERSION),
            None => Opened::Foreign,
        })
    }

    /// Seals content for the holder of the lock: a machine without an id gets one, and a directory without a key.
    pub(super) fn seal(
        &self,
        home: &DataDir,
        locked: &Locked,
        content: Zeroizing<Vec<u8>>,
    ) -> Result<Vec<u8>, Error> {
        let lasts_apart = Fingerprint::is_machines(&self.machine)?;
        let key = SealKey::known_or_new(home, locked, lasts_apart)?;
        let fingerprint = Fingerprint::known_or_new(home, locked, &self.machine)?;
        let start = [&MAGIC[..], &[VERSION], &key.id].concat();
        let secret = secret(&fingerprint, Some(&key));
        Ok(seal(&secret, self.purpose, &start, content))
    }
}

/// Secret from which a cipher's key is derived.
fn secret(fingerprint: &Fingerprint, key: Option<&SealKey>) -> Zeroizing<Vec<u8>> {
    let key = key.map_or(&[][..], |key| key.secret.as_slice());
    Zeroizing::new([fingerprint.as_bytes(), key].concat())
}

/// Seals content; `start` is the part before the salt.
fn seal(secret: &[u8], purpose: &str, start: &[u8], mut content: Zeroizing<Vec<u8>>) -> Vec<u8> {
    let (salt, nonce) = (random::bytes::<SALT>(), random::bytes::<NONCE>());
    let header = [start, &salt, &nonce].concat();
    let tag = cipher(secret, &salt, purpose)
        .encrypt_in_place_detached(&nonce.into(), &header, &mut content)
        .expect("it is shorter than AES-GCM's 64 GiB");
    [header.as_slice(), &content, &tag].concat()
}

/// Opens the result of [`seal`]; `None` unless it was made with this secret and purpose and a start of this length.
fn open(secret: &[u8], purpose: &str, sealed: &[u8], start: usize) -> Option<Zeroizing<Vec<u8>>> {
    let (header, body) = sealed.split_at_checked(start + SALT + NONCE)?;
    let (_, rest) = header.split_at_checked(start)?;
    let (salt, nonce) = rest.split_at_checked(SALT)?;
    let nonce: [u8; NONCE] = nonce.try_into().ok()?;
    let (body, tag) = body.split_at_checked(body.len().checked_sub(TAG)?)?;
    let tag: [u8; TAG] = tag.try_into().ok()?;
    let mut content = Zeroizing::new(body.to_vec());
    cipher(secret, salt, purpose)
        .decrypt_in_place_detached(&nonce.into(), header, &mut content, &tag.into())
        .ok()?;
    Some(content)
}

/// Derives the cipher by HKDF (RFC 5869), with the purpose as its `info`.
fn cipher(secret: &[u8], salt: &[u8], purpose: &str) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    hkdf::Salt::new(hkdf::HKDF_SHA256, salt)
        .extract(secret)
        .expand(&[purpose.as_bytes()], hkdf::HKDF_SHA256)
        .and_then(|expanded| expanded.fill(key.as_mut_slice()))
        .expect("a key is as long as the digest");
    Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(key.as_slice()))
}

/// A key, and its id in sealed files.
pub(super) struct SealKey {
    pub(super) secret: Zeroizing<[u8; KEY]>,
    pub(super) id: [u8; KEY_ID],
}

impl SealKey {
    /// The key that a sealed file names; none if it is lost.
    pub(super) fn with_id(home: &DataDir, id: &[u8]) -> Result<Option<Self>, Error> {
        for place in candidates(home)? {
            if let Some(key) = Self::read(home, &place)?.filter(|key| key.id == id) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// The key to seal with, for the holder of the lock; a new one if there is none, which is on disk before it is
    /// used. `lasts_apart` is true if files outside the directory live as long as those in it.
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

    /// The first existing key, and its place.
    fn known(home: &DataDir) -> Result<Option<(Self, PathBuf)>, Error> {
        for place in candidates(home)? {
            if let Some(key) = Self::read(home, &place)? {
                return Ok(Some((key, place)));
            }
        }
        Ok(None)
    }

    /// Creates a key in the first possible place; the last is the directory itself.
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

    /// Reads a key; none if the file is missing or not a key.
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

/// Place of the directory's key: the first existing one, else none.
pub fn key_file(home: &DataDir) -> Result<Option<PathBuf>, Error> {
    Ok(SealKey::known(home)?.map(|(_, place)| place))
}

/// Derives the id, which reveals nothing about the key.
fn id_of(secret: &[u8; KEY]) -> [u8; KEY_ID] {
    let mut hash = Sha256::new();
    hash.update(b"postern key id 1\0");
    hash.update(secret);
    let digest = hash.finalize();
    let (id, _) = digest.split_first_chunk().expect("a digest is longer");
    *id
}

/// Possible places of a key, the most likely first.
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

/// Writes the key, unless it exists; a missing directory is created.
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

/// Refuses to create a key in a directory that others can write, even a sticky one: they could take the name first.
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

/// Refuses a key of another user, even if it is readable, and one that others can replace.
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
impl Seal {
    /// Moves it to another machine, for tests.
    pub(super) fn on(mut self, machine: &std::path::Path) -> Self {
        self.machine = machine.to_owned();
        self
    }

    /// Seals in the format of the first version.
    pub(super) fn seal_as_first(&self, home: &DataDir, content: &[u8]) -> Vec<u8> {
        let fingerprint = Fingerprint::known(home, &self.machine).unwrap().unwrap();
        let start = [&MAGIC[..], &[FIRST_VERSION]].concat();
        let secret = secret(&fingerprint, None);
        seal(
            &secret,
            self.purpose,
            &start,
            Zeroizing::new(content.to_vec()),
        )
    }
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
