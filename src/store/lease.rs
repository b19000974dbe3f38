//! Lease that lasts as long as a process: it holds a locked file, which the system releases however the process ends,
//! and another process can wait for that.

use std::fs::{File, Metadata, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::atomic::private_file;
use super::data_dir::DataDir;
use super::error::Error;

/// A lease that this process holds; it ends with this, or with the process.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    _lock: File,
}

/// A lease that another process may hold.
#[derive(Debug)]
pub struct LeaseWatch(File);

impl Lease {
    /// Takes the lease `name` of `home`; none where somebody has it. `name` is letters and digits.
    pub fn take(home: &DataDir, name: &str) -> Result<Option<Self>, Error> {
        home.ensure_run()?;
        let path = path(home, name);
        loop {
            let opened = private_file()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path);
            let lock = opened.map_err(Error::io("open", &path))?;
            match lock.try_lock() {
                // Else whoever had it has removed the file since it was opened here: others would lock a new one.
                Ok(()) if is_at(&lock, &path) => return Ok(Some(Self { path, _lock: lock })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
            }
        }
    }
}

/// True if this open file is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |known: Metadata| (known.dev(), known.ino());
    let opened = file.metadata().map(identity);
    let there = std::fs::metadata(path).map(identity);
    opened.is_ok_and(|opened| there.is_ok_and(|there| opened == there))
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A file that stays says nothing: the lock does.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl LeaseWatch {
    /// The lease `name` of `home`; none where nobody has it.
    pub fn of(home: &DataDir, name: &str) -> Result<Option<Self>, Error> {
        let path = path(home, name);
        let lock = match File::open(&path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("open", &path)(error)),
        };
        match lock.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(Self(lock))),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", &path)(error)),
        }
    }

    /// Waits until nobody has it.
    pub fn wait_for_end(self) {
        // A file system that knows no such wait ends it at once: better than a lease without end.
        let _ = self.0.lock_shared();
    }
}

fn path(home: &DataDir, name: &str) -> PathBuf {
    home.dir().join("run").join(format!("lease-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_one_process_s_and_its_end_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        assert!(LeaseWatch::of(&home, "a").unwrap().is_none());
        let lease = Lease::take(&home, "a").unwrap().unwrap();
        assert!(Lease::take(&home, "a").unwrap().is_none());
        assert!(Lease::take(&home, "b").unwrap().is_some());
        let watch = LeaseWatch::of(&home, "a").unwrap().unwrap();
        let waiting = std::thread::spawn(move || watch.wait_for_end());
        drop(lease);
        waiting.join().unwrap();
        assert!(LeaseWatch::of(&home, "a").unwrap().is_none());
        assert!(Lease::take(&home, "a").unwrap().is_some());
    }

    #[test]
    fn however_many_take_it_and_give_it_back_one_has_it_at_a_time() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        let (holders, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while taken.load(Ordering::SeqCst) < 1000 {
                        if let Some(lease) = Lease::take(&home, "a").unwrap() {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            std::thread::yield_now();
                            holders.fetch_sub(1, Ordering::SeqCst);
                            drop(lease);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_file_that_was_removed_meanwhile_is_no_lease() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lease");
        let opened = File::create(&path).unwrap();
        assert!(is_at(&opened, &path));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&opened, &path));
        let _other = File::create(&path).unwrap();
        assert!(!is_at(&opened, &path));
    }
}
