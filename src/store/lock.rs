//! One writer at a time, across processes.

use std::fs::{self, File, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::atomic::{private_file, sync_directory, temporary_prefix, write_atomic};
use super::error::Error;
use super::time::rfc3339;

/// How long a writer waits for another: a write takes milliseconds, so a
/// longer wait means a stopped process.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// The pause between two attempts; the system offers no wait with a timeout.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The right to write files of a directory; ends when it is dropped or the process dies.
#[derive(Debug)]
pub struct Locked {
    dir: PathBuf,
    _lock: File,
}

impl Locked {
    /// Waits for the lock file `lock` of the directory `dir`.
    pub(super) fn acquire(dir: &Path, lock: &Path) -> Result<Self, Error> {
        Self::acquire_within(dir, lock, LOCK_WAIT)
    }

    /// Takes the lock without waiting.
    pub(super) fn acquire_now(dir: &Path, lock: &Path) -> Result<Self, Error> {
        Self::acquire_within(dir, lock, Duration::ZERO)
    }

    fn acquire_within(dir: &Path, lock: &Path, wait: Duration) -> Result<Self, Error> {
        let file = private_file()
            .write(true)
            .create(true)
            .truncate(false)
            .open(lock)
            .map_err(Error::io("open", lock))?;
        let deadline = Instant::now() + wait;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    let path = lock.to_owned();
                    return Err(Error::Busy { path });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", lock)(error)),
            }
        }
        Ok(Self {
            dir: dir.to_owned(),
            _lock: file,
        })
    }

    /// Replaces the file `name` of the directory with `bytes`.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.sweep(name);
        let path = self.dir.join(name);
        write_atomic(&path, bytes).map_err(Error::io("write", &path))
    }

    /// Makes the first `kept` bytes of the file `name`, with `bytes` after them, all that is in it, on disk before this
    /// returns. Where it fails those first bytes stand.
    pub fn append(&self, name: &str, kept: u64, bytes: &[u8]) -> Result<(), Error> {
        let path = self.dir.join(name);
        let append = || {
            let mut file = (private_file().write(true).create(true).truncate(false)).open(&path)?;
            file.set_len(kept)?;
            file.seek(SeekFrom::Start(kept))?;
            let written = file.write_all(bytes).and_then(|()| file.sync_data());
            if written.is_err() {
                // The first error is the one to report.
                let _ = file.set_len(kept);
            }
            written
        };
        append().map_err(Error::io("write", &path))?;
        if kept == 0 {
            sync_directory(&path).map_err(Error::io("write", &self.dir))?;
        }
        Ok(())
    }

    /// Writes a copy of the file `name`, which has this content, to `NAME.WORD-TIME`; answers where that is.
    pub fn keep_copy(&self, name: &str, word: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let copy = self.free_name(name, word);
        let name = copy.file_name().expect("it has the file's name in it");
        self.write(&name.to_string_lossy(), content)?;
        Ok(copy)
    }

    /// Renames the file `name` to `NAME.WORD-TIME`, never onto another one; answers where it is now.
    pub fn set_aside(&self, name: &str, word: &str) -> Result<PathBuf, Error> {
        let from = self.dir.join(name);
        let aside = self.free_name(name, word);
        fs::rename(&from, &aside).map_err(Error::io("rename", &from))?;
        sync_directory(&aside).map_err(Error::io("write", &self.dir))?;
        Ok(aside)
    }

    /// `NAME.unreadable-20260131T235959Z`, with `-2`, `-3`, … where that exists; free for as long as this is held.
    fn free_name(&self, name: &str, word: &str) -> PathBuf {
        // A colon is not allowed in the names of every file system.
        let time = rfc3339(SystemTime::now()).replace(['-', ':'], "");
        let first = self.dir.join(format!("{name}.{word}-{time}"));
        let mut free = first.clone();
        let mut serial = 2_u32;
        while fs::symlink_metadata(&free).is_ok() {
            free = PathBuf::from(format!("{}-{serial}", first.display()));
            serial += 1;
        }
        free
    }

    /// Removes what writers of `name` left that were killed: under the lock no other is at work.
    fn sweep(&self, name: &str) {
        let prefix = temporary_prefix(name);
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                // A file that stays costs a few bytes; the write matters more.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_reported_after_the_wait() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("lock");
        let held = Locked::acquire(dir.path(), &lock).unwrap();
        let wait = Duration::from_millis(20);
        let second = Locked::acquire_within(dir.path(), &lock, wait);
        assert!(matches!(second, Err(Error::Busy { .. })));
        drop(held);
        Locked::acquire_within(dir.path(), &lock, wait).unwrap();
    }

    #[test]
    fn a_write_sweeps_what_a_killed_writer_left() {
        let dir = tempfile::tempdir().unwrap();
        let locked = Locked::acquire(dir.path(), &dir.path().join("lock")).unwrap();
        fs::write(dir.path().join(".f.tmp-1-0"), "half").unwrap();
        fs::write(dir.path().join(".g.tmp-1-0"), "other").unwrap();
        locked.write("f", b"whole").unwrap();
        assert!(!dir.path().join(".f.tmp-1-0").exists());
        assert!(dir.path().join(".g.tmp-1-0").exists());
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"whole");
    }
}
