//! Files that only this user on this machine can open.
//!
//! ```text
//! "PSTN" | version 1 | salt, 16 bytes | nonce, 12 bytes | AES-256-GCM ciphertext and tag
//! └────────────────── associated data ─────────────────┘
//! key = HKDF-SHA-256(fingerprint, salt, purpose)
//! ```
//!
//! Salt and nonce are fresh at every write. What cannot be opened (a file from another machine, a
//! damaged one) is never overwritten: it is renamed to `NAME.unreadable-TIME`.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes256Gcm, Key, KeyInit};
use ring::hkdf;
use zeroize::Zeroizing;

use super::data_dir::DataDir;
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::lock::Locked;
use super::random;

/// Bytes of a sealed file. Default 4 MiB: a hundred applications need a tenth of it.
pub const SEALED_CAP: u64 = 4 * 1024 * 1024;

const MAGIC: &[u8; 5] = b"PSTN\x01";
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;
const HEADER: usize = MAGIC.len() + SALT + NONCE;
/// What stands in the name of a file that was set aside because it could not be read.
pub const UNREADABLE: &str = "unreadable";

/// One sealed file of the per-user directory. Reading and writing go to the disk each time.
#[derive(Clone)]
pub struct SealedFile {
    home: DataDir,
    name: &'static str,
    purpose: &'static str,
    readable: fn(&[u8]) -> bool,
    /// The root directory of the machine, from which the fingerprint is taken.
    machine: PathBuf,
}

/// What a sealed file holds.
pub enum Sealed {
    /// There is no such file.
    Absent,
    /// Its content.
    Content(Zeroizing<Vec<u8>>),
    /// It could not be opened and has been renamed to this; there is no such file any more.
    SetAside(PathBuf),
}

impl SealedFile {
    /// The file `name` of `home`; files of another `purpose` cannot be opened as this one.
    pub fn new(home: DataDir, name: &'static str, purpose: &'static str) -> Self {
        Self {
            home,
            name,
            purpose,
            readable: |_| true,
            machine: PathBuf::from("/"),
        }
    }

    /// Content that `readable` refuses, as a newer version may have written it, counts as unreadable.
    pub fn with_check(mut self, readable: fn(&[u8]) -> bool) -> Self {
        self.readable = readable;
        self
    }

    /// The present content. Takes no lock, but to set an unreadable file aside.
    pub fn read(&self) -> Result<Sealed, Error> {
        match self.look()? {
            Look::Absent => Ok(Sealed::Absent),
            Look::Content(content) => Ok(Sealed::Content(content)),
            Look::Unreadable => self.settle(&self.home.lock()?),
        }
    }

    /// Replaces the content by what `change` makes of it, under the writers' lock.
    ///
    /// `change` gets `None` where there is no file, or one that could not be opened and has been
    /// set aside. When it fails nothing is written. It must not write in the per-user directory
    /// itself: the lock is held.
    pub fn update<T, E: From<Error>>(
        &self,
        change: impl FnOnce(Option<&[u8]>) -> Result<(Zeroizing<Vec<u8>>, T), E>,
    ) -> Result<T, E> {
        let locked = self.home.lock()?;
        let old = match self.settle(&locked)? {
            Sealed::Content(content) => Some(content),
            Sealed::Absent | Sealed::SetAside(_) => None,
        };
        let (content, answer) = change(old.as_ref().map(|old| old.as_slice()))?;
        self.write(&locked, content)?;
        Ok(answer)
    }

    /// Renames the file to `NAME.WORD-TIME`, readable or not; `None` when there is none.
    pub fn retire(&self, word: &str) -> Result<Option<PathBuf>, Error> {
        let locked = self.home.lock()?;
        match fs::symlink_metadata(self.path()) {
            Ok(_) => locked.set_aside(self.name, word).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &self.path())(error)),
        }
    }

    /// Copies the file to `NAME.WORD-TIME`, readable or not; `None` when there is none.
    pub fn keep_copy(&self, word: &str) -> Result<Option<PathBuf>, Error> {
        let locked = self.home.lock()?;
        let Some(sealed) = self.home.read(self.name, SEALED_CAP)? else {
            return Ok(None);
        };
        let copy = locked.free_name(self.name, word);
        let name = copy.file_name().unwrap_or_default().to_string_lossy();
        locked.write(&name, &sealed)?;
        Ok(Some(copy))
    }

    /// The files of `home` that were set aside as unreadable, by name, to be shown to the user.
    pub fn set_aside(home: &DataDir) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(home.dir()) else {
            return Vec::new();
        };
        let mark = format!(".{UNREADABLE}-");
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().contains(&mark))
            .map(|entry| entry.path())
            .collect();
        files.sort();
        files
    }

    fn path(&self) -> PathBuf {
        self.home.dir().join(self.name)
    }

    /// The content for the holder of the lock; another writer may have been faster than the
    /// reader that came here, so it is looked at again before it is set aside.
    fn settle(&self, locked: &Locked) -> Result<Sealed, Error> {
        match self.look()? {
            Look::Absent => Ok(Sealed::Absent),
            Look::Content(content) => Ok(Sealed::Content(content)),
            Look::Unreadable => {
                let aside = locked.set_aside(self.name, UNREADABLE)?;
                log::warn!(
                    "{} is unreadable: it is damaged or comes from another machine or user; kept as {}",
                    self.path().display(),
                    aside.display()
                );
                Ok(Sealed::SetAside(aside))
            }
        }
    }

    fn look(&self) -> Result<Look, Error> {
        let sealed = match self.home.read(self.name, SEALED_CAP) {
            Ok(Some(sealed)) => sealed,
            Ok(None) => return Ok(Look::Absent),
            Err(Error::TooLarge { .. }) => return Ok(Look::Unreadable),
            Err(error) => return Err(error),
        };
        let Some(fingerprint) = Fingerprint::known(&self.home, &self.machine)? else {
            return Ok(Look::Unreadable);
        };
        match open(&fingerprint, self.purpose, sealed).filter(|content| (self.readable)(content)) {
            Some(content) => Ok(Look::Content(content)),
            None => Ok(Look::Unreadable),
        }
    }

    fn write(&self, locked: &Locked, content: Zeroizing<Vec<u8>>) -> Result<(), Error> {
        let fingerprint = Fingerprint::known_or_new(&self.home, locked, &self.machine)?;
        let too_large = || Error::TooLarge {
            path: self.path(),
            cap: SEALED_CAP,
        };
        let sealed = seal(&fingerprint, self.purpose, &content).ok_or_else(too_large)?;
        locked.write(self.name, &sealed)
    }
}

impl fmt::Debug for SealedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedFile({})", self.path().display())
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("Absent"),
            Self::Content(content) => write!(f, "Content({} bytes)", content.len()),
            Self::SetAside(path) => f.debug_tuple("SetAside").field(path).finish(),
        }
    }
}

enum Look {
    Absent,
    Content(Zeroizing<Vec<u8>>),
    Unreadable,
}

/// `None` when it would be larger than the cap.
fn seal(fingerprint: &Fingerprint, purpose: &str, content: &[u8]) -> Option<Vec<u8>> {
    let (salt, nonce) = (random::bytes::<SALT>(), random::bytes::<NONCE>());
    let header = [&MAGIC[..], &salt, &nonce].concat();
    let mut body = Zeroizing::new(content.to_vec());
    let tag = cipher(fingerprint, &salt, purpose)?
        .encrypt_in_place_detached(&nonce.into(), &header, &mut body)
        .ok()?;
    let sealed = [header.as_slice(), &body, &tag].concat();
    u64::try_from(sealed.len())
        .is_ok_and(|length| length <= SEALED_CAP)
        .then_some(sealed)
}

/// `None` for whatever [`seal`] has not made with this fingerprint and purpose.
fn open(fingerprint: &Fingerprint, purpose: &str, sealed: Vec<u8>) -> Option<Zeroizing<Vec<u8>>> {
    let (header, body) = sealed.split_at_checked(HEADER)?;
    let rest = header.strip_prefix(MAGIC)?;
    let (salt, nonce) = rest.split_at_checked(SALT)?;
    let nonce: [u8; NONCE] = nonce.try_into().ok()?;
    let (body, tag) = body.split_at_checked(body.len().checked_sub(TAG)?)?;
    let tag: [u8; TAG] = tag.try_into().ok()?;
    let mut content = Zeroizing::new(body.to_vec());
    cipher(fingerprint, salt, purpose)?
        .decrypt_in_place_detached(&nonce.into(), header, &mut content, &tag.into())
        .ok()?;
    Some(content)
}

/// HKDF (RFC 5869) with the purpose as its `info`.
fn cipher(fingerprint: &Fingerprint, salt: &[u8], purpose: &str) -> Option<Aes256Gcm> {
    let mut key = Zeroizing::new([0; 32]);
    let info = [purpose.as_bytes()];
    let pseudorandom = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(fingerprint.as_bytes());
    let expanded = pseudorandom.expand(&info, hkdf::HKDF_SHA256).ok()?;
    expanded.fill(key.as_mut_slice()).ok()?;
    Some(Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(key.as_slice())))
}

#[cfg(test)]
#[path = "sealed_tests.rs"]
mod tests;
