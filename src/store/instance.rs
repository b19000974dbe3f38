//! One long-running process at a time on a directory, which the others can find.
//!
//! `run/start.lock` is locked while it lives, so that a crash leaves nothing in the way; `run/start.json` says where
//! it is.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::atomic::{private_file, write_atomic};
use super::data_dir::DataDir;
use super::error::Error;

/// The file that is locked.
const LOCK: &str = "start.lock";
/// The file that says where it is.
const INFO: &str = "run/start.json";
/// The largest text of it, in bytes. Default 4 KiB: it is an address and a process id.
const INFO_CAP: u64 = 4096;
/// Time to wait for a look of another process at the lock to end, or for a process that starts to say where it is.
/// Default 1 s: both take milliseconds.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// The right to be the one; it ends with this or with the process.
#[derive(Debug)]
pub struct Instance {
    info: PathBuf,
    _lock: File,
}

/// Why the right was not had.
#[derive(Debug)]
pub enum ClaimError {
    /// Another process has it; what it said, where it has said something.
    Held(Option<Vec<u8>>),
    /// The directory failed.
    Failed(Error),
}

impl Instance {
    /// Claims the right in `home`.
    pub fn claim(home: &DataDir) -> Result<Self, ClaimError> {
        let run = home.ensure_run().map_err(ClaimError::Failed)?;
        let path = run.join(LOCK);
        let lock = open(&path).map_err(ClaimError::Failed)?;
        let deadline = Instant::now() + TIMEOUT;
        while !is_taken(&lock)
            .map_err(|error| ClaimError::Failed(Error::io("lock", &path)(error)))?
        {
            let info = if is_held(&lock) {
                home.read(INFO, INFO_CAP).map_err(ClaimError::Failed)?
            } else {
                // Other commands take a look, which is over at once; what is said is from before a crash.
                None
            };
            if info.is_some() || Instant::now() >= deadline {
                return Err(ClaimError::Held(info));
            }
            std::thread::sleep(PAUSE);
        }
        let info = home.dir().join(INFO);
        // The file of a killed process would point nowhere.
        let _ = std::fs::remove_file(&info);
        Ok(Self { info, _lock: lock })
    }

    /// Returns the text of the living process in `home`; none without one.
    pub fn find(home: &DataDir) -> Result<Option<Vec<u8>>, Error> {
        let path = home.dir().join("run").join(LOCK);
        let lock = match File::open(&path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("open", &path)(error)),
        };
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match lock.try_lock_shared() {
                Ok(()) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            let info = home.read(INFO, INFO_CAP)?;
            if info.is_some() || Instant::now() >= deadline {
                return Ok(info);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Says where it is, in a text for [`Instance::find`].
    pub fn announce(&self, info: &[u8]) -> Result<(), Error> {
        write_atomic(&self.info, info).map_err(Error::io("write", &self.info))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Without it the lock, free in a moment, says the same.
        let _ = std::fs::remove_file(&self.info);
    }
}

/// Takes the lock; false where somebody has it, or looks at it.
fn is_taken(lock: &File) -> std::io::Result<bool> {
    match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// True if somebody has the lock: those who look share it.
fn is_held(lock: &File) -> bool {
    let is_shared = lock.try_lock_shared().is_ok();
    // Nothing was taken where it was not.
    let _ = lock.unlock();
    !is_shared
}

fn open(path: &std::path::Path) -> Result<File, Error> {
    let opened = private_file()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    opened.map_err(Error::io("open", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_the_others_find_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        assert_eq!(Instance::find(&home).unwrap(), None);
        let first = Instance::claim(&home).unwrap();
        first.announce(b"here").unwrap();
        assert_eq!(
            Instance::find(&home).unwrap().as_deref(),
            Some(&b"here"[..])
        );
        let second = Instance::claim(&home).unwrap_err();
        assert!(matches!(second, ClaimError::Held(Some(info)) if info == b"here"));
        drop(first);
        assert_eq!(Instance::find(&home).unwrap(), None);
        Instance::claim(&home).unwrap();
    }

    #[test]
    fn a_look_at_the_lock_is_no_holder() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        drop(Instance::claim(&home).unwrap());
        std::fs::write(home.dir().join(INFO), "stale").unwrap();
        let looking = File::open(home.dir().join("run").join(LOCK)).unwrap();
        looking.lock_shared().unwrap();
        std::thread::scope(|scope| {
            let claimed = scope.spawn(|| Instance::claim(&home));
            std::thread::sleep(PAUSE * 3);
            drop(looking);
            assert!(claimed.join().unwrap().is_ok());
        });
    }

    #[test]
    fn what_a_killed_process_said_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        drop(Instance::claim(&home).unwrap());
        std::fs::write(home.dir().join(INFO), "stale").unwrap();
        assert_eq!(Instance::find(&home).unwrap(), None);
        let _claimed = Instance::claim(&home).unwrap();
        assert!(!home.dir().join(INFO).exists());
    }
}
