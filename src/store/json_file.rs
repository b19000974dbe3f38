//! A JSON document in a file of the per-user directory, plain or sealed; and JSON buffers that are wiped.
//!
//! Reading takes no lock, and nothing is kept in memory, because other processes write the file too. An unreadable file
//! (damaged, or sealed on another machine) is never overwritten: it is renamed to `NAME.unreadable-TIME`.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::{fmt, fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

use super::data_dir::DataDir;
use super::error::{Error, count_error};
use super::lock::Locked;
use super::seal::{Opened, Seal};

/// Bytes of a sealed file. Default 16 MiB: five hundred applications need half a megabyte, without long lists of
/// grants.
const SEALED_CAP: u64 = 16 * 1024 * 1024;
/// Reason for a file whose key is missing.
const KEY_IS_LOST: &str = "its key is lost";
/// Initial size of a buffer for secrets, in bytes: enough for most. A larger one replaces it, and it is wiped.
const FIRST: usize = 1024;
/// Part of the name of an unreadable file that was set aside.
pub const UNREADABLE: &str = "unreadable";

/// The file of a document; `T` is a structure.
pub struct JsonFile<T> {
    file: DocumentFile,
    document: PhantomData<fn() -> T>,
}

/// Part that does not depend on the document type, so that it is compiled once.
#[derive(Clone)]
struct DocumentFile {
    home: DataDir,
    name: &'static str,
    cap: u64,
    seal: Option<Seal>,
    /// Text added to the warning about a file that was set aside.
    consequence: &'static str,
}

/// Content of a file, and true if an earlier version sealed it.
type Content = (Zeroizing<Vec<u8>>, bool);

impl DocumentFile {
    /// Reads the file's content, and opens it if it is sealed.
    fn content(&self) -> Result<Option<Content>, Error> {
        let bytes = match self.home.read(self.name, self.cap) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => bytes,
            Err(error @ Error::TooLarge { .. }) if self.seal.is_some() => {
                return Err(self.damaged(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let Some(seal) = &self.seal else {
            return Ok(Some((Zeroizing::new(bytes), false)));
        };
        let path = self.path();
        match seal.open(&self.home, &bytes)? {
            Opened::Content(content, is_old) => Ok(Some((content, is_old))),
            Opened::Newer(version) => Err(Error::Newer { path, version }),
            Opened::KeyIsLost => Err(self.damaged(KEY_IS_LOST.into())),
            Opened::Foreign => Err(self.damaged("it comes from another machine or user".into())),
        }
    }

    fn damaged(&self, reason: String) -> Error {
        count_error();
        Error::Damaged {
            path: self.path(),
            reason,
        }
    }

    /// Seals a file of an earlier version again, if possible.
    fn renew(&self, is_old: bool) {
        if is_old && let Err(error) = self.seal_anew() {
            log::debug!("{} is unchanged: {error}", self.path().display());
        }
    }

    /// Seals the content again in the current format, unless another process is writing.
    fn seal_anew(&self) -> Result<(), Error> {
        let locked = self.home.lock_now()?;
        if let (Some(seal), Some((content, true))) = (&self.seal, self.content()?) {
            let sealed = seal.seal(&self.home, &locked, content)?;
            locked.write(self.name, &sealed)?;
        }
        Ok(())
    }

    fn set_aside(&self, locked: &Locked) -> Result<PathBuf, Error> {
        locked.set_aside(self.name, UNREADABLE)
    }

    /// Sets the file aside and logs it.
    fn set_aside_for(&self, locked: &Locked, reason: &str) -> Result<(), Error> {
        let aside = self.set_aside(locked)?;
        // Other reasons may contain parts of the file.
        let cause = match self.seal {
            Some(_) if reason == KEY_IS_LOST => ": its key is lost",
            Some(_) => ": it is damaged or comes from another machine or user",
            None => "",
        };
        log::error!(
            "{} is unreadable{cause}; kept as {}{}",
            self.path().display(),
            aside.display(),
            self.consequence
        );
        Ok(())
    }

    /// Replaces the content, and seals it if the file is sealed.
    fn write(&self, locked: &Locked, mut content: Zeroizing<Vec<u8>>) -> Result<(), Error> {
        let bytes = match &self.seal {
            Some(seal) => Zeroizing::new(seal.seal(&self.home, locked, content)?),
            None => {
                content.push(b'\n');
                content
            }
        };
        if u64::try_from(bytes.len()).is_ok_and(|length| length <= self.cap) {
            return locked.write(self.name, &bytes);
        }
        let (path, cap) = (self.path(), self.cap);
        Err(Error::TooLarge { path, cap })
    }

    fn retire(&self, word: &str) -> Result<Option<PathBuf>, Error> {
        let locked = self.home.lock()?;
        match fs::symlink_metadata(self.path()) {
            Ok(_) => locked.set_aside(self.name, word).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &self.path())(error)),
        }
    }

    fn keep_copy(&self, word: &str) -> Result<Option<PathBuf>, Error> {
        let locked = self.home.lock()?;
        let Some(bytes) = self.home.read(self.name, self.cap)? else {
            return Ok(None);
        };
        locked.keep_copy(self.name, word, &bytes).map(Some)
    }

    fn path(&self) -> PathBuf {
        self.home.dir().join(self.name)
    }
}

impl<T: Serialize + DeserializeOwned> JsonFile<T> {
    /// The file `name` of `home`, of at most `cap` bytes.
    pub fn new(home: DataDir, name: &'static str, cap: u64) -> Self {
        let (seal, consequence) = (None, "");
        Self {
            file: DocumentFile {
                home,
                name,
                cap,
                seal,
                consequence,
            },
            document: PhantomData,
        }
    }

    /// Returns a sealed file; files of another `purpose` cannot be opened as this one.
    pub fn sealed(home: DataDir, name: &'static str, purpose: &'static str) -> Self {
        let mut sealed = Self::new(home, name, SEALED_CAP);
        sealed.file.seal = Some(Seal::new(purpose));
        sealed
    }

    /// Sets the text that tells the user the consequence of an unreadable file.
    pub fn with_consequence(mut self, consequence: &'static str) -> Self {
        self.file.consequence = consequence;
        self
    }

    /// Returns the document, `None` without a file; an unreadable one is an error.
    pub fn look(&self) -> Result<Option<T>, Error> {
        Ok(self.look_at_age()?.map(|(document, _)| document))
    }

    /// Looks, and also returns whether an earlier version sealed the file.
    fn look_at_age(&self) -> Result<Option<(T, bool)>, Error> {
        let Some((content, is_old)) = self.file.content()? else {
            return Ok(None);
        };
        let document = parse(&content).map_err(|reason| self.file.damaged(reason))?;
        Ok(Some((document, is_old)))
    }

    /// Returns the document, `None` without a file; an unreadable one is set aside, which is logged. A file sealed by
    /// an earlier version is sealed again, if possible.
    pub fn read(&self) -> Result<Option<T>, Error> {
        match self.look_at_age() {
            Err(Error::Damaged { .. }) => self.read_locked(&self.file.home.lock()?),
            looked => Ok(looked?.map(|(document, is_old)| {
                self.file.renew(is_old);
                document
            })),
        }
    }

    /// Reads for the holder of the lock. The file is read again, because another writer may have been faster.
    fn read_locked(&self, locked: &Locked) -> Result<Option<T>, Error> {
        match self.look() {
            Err(Error::Damaged { reason, .. }) => {
                self.file.set_aside_for(locked, &reason)?;
                Ok(None)
            }
            looked => looked,
        }
    }

    /// Renames the file because it is unreadable; returns its new path.
    pub fn set_aside(&self, locked: &Locked) -> Result<PathBuf, Error> {
        self.file.set_aside(locked)
    }

    /// Replaces the document, under the writers' lock.
    pub fn write(&self, document: &T) -> Result<(), Error> {
        self.write_locked(&self.file.home.lock()?, document)
    }

    /// Writes for the holder of the lock.
    pub fn write_locked(&self, locked: &Locked, document: &T) -> Result<(), Error> {
        let content = to_pretty_json(document);
        let content = content.expect("a document has strings for its keys, and then JSON for it");
        self.file.write(locked, content)
    }

    /// Renames the file to `NAME.WORD-TIME`, readable or not; `None` when there is none.
    pub fn retire(&self, word: &str) -> Result<Option<PathBuf>, Error> {
        self.file.retire(word)
    }

    /// Copies the file to `NAME.WORD-TIME`, readable or not; `None` when there is none.
    pub fn keep_copy(&self, word: &str) -> Result<Option<PathBuf>, Error> {
        self.file.keep_copy(word)
    }
}

impl<T: Serialize + DeserializeOwned + Default> JsonFile<T> {
    /// Changes the document, under the writers' lock.
    ///
    /// `change` gets the default if there is no file, or an unreadable one was set aside. If it fails, nothing is
    /// written. It must not write in the per-user directory itself, because the lock is held.
    pub fn update<A, E: From<Error>>(
        &self,
        change: impl FnOnce(&mut T) -> Result<A, E>,
    ) -> Result<A, E> {
        self.update_where_changed(|document| Ok((change(document)?, true)))
    }

    /// Like [`Self::update`], but `change` also returns whether it has changed anything: a write waits for the disk.
    pub fn update_where_changed<A, E: From<Error>>(
        &self,
        change: impl FnOnce(&mut T) -> Result<(A, bool), E>,
    ) -> Result<A, E> {
        let locked = self.file.home.lock()?;
        let mut document = self.read_locked(&locked)?.unwrap_or_default();
        let (answer, is_changed) = change(&mut document)?;
        if is_changed {
            self.write_locked(&locked, &document)?;
        }
        Ok(answer)
    }
}

/// Parses an object. Lists are refused, because one could be read as a structure.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.trim_ascii_start().first() {
        None | Some(b'{') => serde_json::from_slice(bytes).map_err(|error| error.to_string()),
        Some(_) => Err("it is not a JSON object".to_owned()),
    }
}

/// Files of `home` that were set aside as unreadable, by name.
pub fn files_set_aside(home: &DataDir) -> Vec<PathBuf> {
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

#[cfg(test)]
impl<T> JsonFile<T> {
    /// Moves it to another machine, for tests.
    pub(super) fn on(mut self, machine: &std::path::Path) -> Self {
        self.file.seal = self.file.seal.map(|seal| seal.on(machine));
        self
    }
}

impl<T> Clone for JsonFile<T> {
    fn clone(&self) -> Self {
        Self {
            file: self.file.clone(),
            document: PhantomData,
        }
    }
}

impl<T> fmt::Debug for JsonFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonFile({})", self.file.path().display())
    }
}

/// The JSON of `value`; no copy of any part of it stays in memory.
pub fn to_json(value: &impl Serialize) -> serde_json::Result<Zeroizing<Vec<u8>>> {
    let mut buffer = ZeroizingBuffer(Zeroizing::new(Vec::with_capacity(FIRST)));
    serde_json::to_writer(&mut buffer, value)?;
    Ok(buffer.0)
}

/// The typed form of `value`. Every type is read from text alone: a second kind of source costs 1 % of the executable.
pub(crate) fn from_json<T: DeserializeOwned>(value: &Value) -> serde_json::Result<T> {
    serde_json::from_slice(&to_json(value)?)
}

/// JSON on several lines, for files.
pub(super) fn to_pretty_json(value: &impl Serialize) -> serde_json::Result<Zeroizing<Vec<u8>>> {
    let mut buffer = ZeroizingBuffer(Zeroizing::new(Vec::with_capacity(FIRST)));
    serde_json::to_writer_pretty(&mut buffer, value)?;
    Ok(buffer.0)
}

/// A buffer that wipes its old memory when it grows, unlike a `Vec`.
struct ZeroizingBuffer(Zeroizing<Vec<u8>>);

impl io::Write for ZeroizingBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(needed * 2));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "json_file_tests.rs"]
mod tests;
