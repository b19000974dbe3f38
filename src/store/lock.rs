//! One writer at a time, across processes, and files that are written whole.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use super::error::Error;
use super::time::rfc3339;

/// Time that a writer waits for another: a write takes milliseconds, so a longer wait means a stopped process.
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

    /// Cuts the file `name` after the first `kept` bytes and appends `bytes`; all is on disk when this returns. If it
    /// fails, the first bytes stay.
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

    /// Writes a copy of the file `name`, which has this content, to `NAME.WORD-TIME`; returns its path.
    pub fn keep_copy(&self, name: &str, word: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let copy = self.free_name(name, word);
        let name = copy.file_name().expect("it has the file's name in it");
        self.write(&name.to_string_lossy(), content)?;
        Ok(copy)
    }

    /// Renames the file `name` to `NAME.WORD-TIME`, never onto another file; returns the new path.
    pub fn set_aside(&self, name: &str, word: &str) -> Result<PathBuf, Error> {
        let from = self.dir.join(name);
        let aside = self.free_name(name, word);
        fs::rename(&from, &aside).map_err(Error::io("rename", &from))?;
        sync_directory(&aside).map_err(Error::io("write", &self.dir))?;
        Ok(aside)
    }

    /// `NAME.unreadable-20260131T235959Z`, with `-2`, `-3`, … if that exists; free as long as the lock is held.
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

    /// Removes files left by killed writers of `name`: under the lock there is no other writer.
    fn sweep(&self, name: &str) {
        let prefix = temporary_prefix(name);
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                // An error is ignored: the file only costs a few bytes.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Distinguishes two writes of a process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Replaces `path` with a file of mode 0600 that holds `bytes`.
///
/// After a crash at any point the file has its old content or the new one. A temporary file may be left next to it,
/// which the next write under [`Locked`] removes.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, private_file())
}

/// Like [`write_atomic`], but others may read the file, as far as the umask allows.
pub fn write_atomic_for_all(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, OpenOptions::new())
}

fn replace(path: &Path, bytes: &[u8], options: OpenOptions) -> io::Result<()> {
    let temporary = temporary_for(path)?;
    let written = write_new(&temporary, bytes, options).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    sync_directory(path)
}

/// Creates the file `path` with mode 0600 and `bytes`, completely or not at all; `AlreadyExists` if it exists.
pub(super) fn create_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_for(path)?;
    let made = write_new(&temporary, bytes, private_file()).and_then(|()| {
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Some file systems have no links.
            Err(_) if !path.exists() => fs::rename(&temporary, path),
            linked => linked,
        }
    });
    let _ = fs::remove_file(&temporary);
    made.and_then(|()| sync_directory(path))
}

/// The beginning of every temporary file's name for the file `name`.
pub(super) fn temporary_prefix(name: &str) -> String {
    format!(".{name}.tmp-")
}

fn temporary_for(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".tmp-{}-{serial}", std::process::id()));
    Ok(path.with_file_name(temporary))
}

/// Writes a new file; `create_new` follows no link and opens no existing file (O_EXCL, open(2)).
fn write_new(path: &Path, bytes: &[u8], mut options: OpenOptions) -> io::Result<()> {
    let mut file = options.write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Options that create a file with mode 0600.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a rename survive a power cut. Only Unix opens directories as files.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if cfg!(unix) => {
            let here = Path::new(".");
            let parent = if parent.as_os_str().is_empty() {
                here
            } else {
                parent
            };
            File::open(parent)?.sync_all()
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn replaces_content_and_keeps_the_mode_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::create_dir_all(path.join("in-the-way")).unwrap();
        assert!(write_atomic(&path, b"x").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write_atomic(&dir.path().join("no/such/f"), b"x").is_err());
        assert!(write_atomic(Path::new("/"), b"x").is_err());
    }
}
