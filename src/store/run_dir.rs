//! Files in `run/`: a private directory for a process's sockets ([`RunDir`]), the lock of the one long-running process
//! ([`Instance`]), and leases that end with a process ([`Lease`]).

use std::fs::{self, File, Metadata, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::data_dir::{DataDir, make_private};
use super::error::Error;
use super::lock::{private_file, write_atomic};
use super::time::since_epoch;

/// The longest path of the directory, in bytes. A Unix socket's path has 104
/// bytes on macOS and 108 on Linux with its end mark; 24 are left for the
/// socket's own name.
const PATH_CAP: usize = 79;
/// Prefix of all such directories, to recognise those of dead processes.
const PREFIX: &str = "postern-run-";
/// File that the process keeps locked while it lives.
const LOCK: &str = "lock";

/// Number of names that are tried; an existing one is a coincidence or an attack.
const NAME_ATTEMPTS: u32 = 16;

/// File that an [`Instance`] keeps locked.
const START_LOCK: &str = "start.lock";
/// File with the text of an [`Instance`].
const INFO: &str = "run/start.json";
/// Maximum size of the text, in bytes. Default 4 KiB: it is an address and a process id.
const INFO_CAP: u64 = 4096;
/// Time to wait while another process tests the lock, or until a starting process has written its text. Default 1 s:
/// both take milliseconds.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// A directory of mode 0700 that is removed with everything in it when it is dropped.
///
/// A process that is killed leaves its directory; the next one to start
/// removes it, told apart from a living one's by its lock.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Creates one in the `run/` of `home`; in the system's temporary directory if there is no home, it is not
    /// writable, or its path is too long for a socket.
    pub fn create(home: Option<&DataDir>) -> Result<Self, Error> {
        let in_home = home.map(|home| home.ensure_run().and_then(|run| Self::create_in(&run)));
        if let Some(Ok(made)) = in_home {
            return Ok(made);
        }
        let shared = std::env::temp_dir();
        let made = refuse_replaceable(&shared).and_then(|()| Self::create_in(&shared));
        // The first error is the one to report.
        made.map_err(|error| in_home.and_then(Result::err).unwrap_or(error))
    }

    fn create_in(parent: &Path) -> Result<Self, Error> {
        sweep(parent);
        let path = make_unique(parent)?;
        make_private(&path)?;
        match take_lock(&path) {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) => {
                // Without a lock nobody would ever remove it.
                let _ = fs::remove_dir_all(&path);
                Err(Error::io("lock", &path)(error))
            }
        }
    }

    /// True if a living process has the run directory `dir`.
    pub fn is_held(dir: &Path) -> bool {
        let is_locked = |lock: File| matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
        is_own_directory(dir) && File::open(dir.join(LOCK)).is_ok_and(is_locked)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            log::debug!("cannot remove {}: {error}", self.path.display());
        }
    }
}

/// Refuses a directory in which others could replace ours: its owner can, and everybody in one that all can write,
/// unless it is sticky.
#[cfg(unix)]
fn refuse_replaceable(dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(dir).map_err(Error::io("read", dir))?;
    let user = rustix::process::geteuid().as_raw();
    let reason = if found.uid() != user && found.uid() != 0 {
        "it belongs to another user"
    } else if found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0 {
        "other users can replace files in it (it is not sticky)"
    } else {
        return Ok(());
    };
    let path = dir.to_owned();
    Err(Error::NotPrivate { path, reason })
}

#[cfg(not(unix))]
fn refuse_replaceable(_: &Path) -> Result<(), Error> {
    Ok(())
}

/// Creates a new directory, never uses an existing one, which somebody may have prepared.
fn make_unique(parent: &Path) -> Result<PathBuf, Error> {
    for attempt in 1..=NAME_ATTEMPTS {
        let path = parent.join(name(SystemTime::now()));
        if path.as_os_str().len() > PATH_CAP {
            let source = std::io::ErrorKind::InvalidFilename.into();
            return Err(Error::io("put a socket under", parent)(source));
        }
        match make_new(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                log::debug!("{} exists, attempt {attempt}", path.display());
            }
            Err(error) => return Err(Error::io("create", &path)(error)),
        }
    }
    let source = std::io::ErrorKind::AlreadyExists.into();
    Err(Error::io("create a directory in", parent)(source))
}

/// A name with eight digits that differ between attempts and between processes.
fn name(time: SystemTime) -> String {
    let nanos = since_epoch(time).subsec_nanos();
    // A nanosecond count has 30 bits; the process id is spread over the upper ones too.
    let number = nanos ^ std::process::id().rotate_right(8);
    format!("{PREFIX}{number:08x}")
}

fn make_new(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Locks before the file gets its name: if a lock file can be locked, its owner is dead.
fn take_lock(dir: &Path) -> std::io::Result<File> {
    let unnamed = dir.join("lock.new");
    let file = private_file().write(true).create_new(true).open(&unnamed)?;
    file.lock()?;
    fs::rename(&unnamed, dir.join(LOCK))?;
    Ok(file)
}

/// Removes the directories of dead processes; errors are ignored.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if ours && is_abandoned(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(dir: &Path) -> bool {
    is_own_directory(dir) && File::open(dir.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

/// True if the directory is ours: also root does not touch directories of others in a shared temporary directory.
#[cfg(unix)]
fn is_own_directory(dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(dir)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o777 == 0o700)
}

#[cfg(not(unix))]
fn is_own_directory(dir: &Path) -> bool {
    dir.is_dir()
}

/// The right to be the one long-running process on a directory; it ends with this or with the process. `run/start.lock`
/// is locked meanwhile, so that a crash leaves no obstacle; `run/start.json` tells others its address.
#[derive(Debug)]
pub struct Instance {
    info: PathBuf,
    _lock: File,
}

/// Reason that a claim failed.
#[derive(Debug)]
pub enum ClaimError {
    /// Another process has the right; its text, if there is one.
    Held(Option<Vec<u8>>),
    /// The directory failed.
    Failed(Error),
}

impl Instance {
    /// Claims the right in `home`.
    pub fn claim(home: &DataDir) -> Result<Self, ClaimError> {
        let run = home.ensure_run().map_err(ClaimError::Failed)?;
        let path = run.join(START_LOCK);
        let lock = open_lock(&path).map_err(ClaimError::Failed)?;
        let deadline = Instant::now() + TIMEOUT;
        while !is_taken(&lock)
            .map_err(|error| ClaimError::Failed(Error::io("lock", &path)(error)))?
        {
            let info = if is_held(&lock) {
                home.read(INFO, INFO_CAP).map_err(ClaimError::Failed)?
            } else {
                // Another command tests the lock for a moment; a text is from before a crash.
                None
            };
            if info.is_some() || Instant::now() >= deadline {
                return Err(ClaimError::Held(info));
            }
            std::thread::sleep(PAUSE);
        }
        let info = home.dir().join(INFO);
        // The text of a killed process is no longer valid.
        let _ = std::fs::remove_file(&info);
        Ok(Self { info, _lock: lock })
    }

    /// Returns the text of the living process in `home`; none without one.
    pub fn find(home: &DataDir) -> Result<Option<Vec<u8>>, Error> {
        let path = home.dir().join("run").join(START_LOCK);
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

    /// Writes the text for [`Instance::find`].
    pub fn announce(&self, info: &[u8]) -> Result<(), Error> {
        write_atomic(&self.info, info).map_err(Error::io("write", &self.info))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // If that fails, the free lock shows that the process has ended.
        let _ = std::fs::remove_file(&self.info);
    }
}

/// Takes the lock; false if another process has or tests it.
fn is_taken(lock: &File) -> std::io::Result<bool> {
    match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// True if another process has the lock; tests use a shared lock.
fn is_held(lock: &File) -> bool {
    let is_shared = lock.try_lock_shared().is_ok();
    // No effect if it was not locked.
    let _ = lock.unlock();
    !is_shared
}

fn open_lock(path: &Path) -> Result<File, Error> {
    let opened = private_file()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    opened.map_err(Error::io("open", path))
}

/// A lease that this process holds: a locked file, which the system unlocks however the process ends. Another process
/// can wait for that.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    _lock: File,
}

/// A lease that another process may hold.
#[derive(Debug)]
pub struct LeaseWatch(File);

impl Lease {
    /// Takes the lease `name` of `home`; none if it is held. `name` has only letters and digits.
    pub fn take(home: &DataDir, name: &str) -> Result<Option<Self>, Error> {
        home.ensure_run()?;
        let path = lease_path(home, name);
        loop {
            let lock = open_lock(&path)?;
            match lock.try_lock() {
                // Else the holder removed the file after it was opened here, and others would lock a new one.
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
        // If that fails, the free lock still shows the end.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl LeaseWatch {
    /// The lease `name` of `home`; none if nobody holds it.
    pub fn of(home: &DataDir, name: &str) -> Result<Option<Self>, Error> {
        let path = lease_path(home, name);
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

    /// Waits until nobody holds it.
    pub fn wait_for_end(self) {
        // A file system without this wait ends the lease at once: better than a lease without end.
        let _ = self.0.lock_shared();
    }
}

fn lease_path(home: &DataDir, name: &str) -> PathBuf {
    home.dir().join("run").join(format!("lease-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_directory_stays_and_an_abandoned_one_goes() {
        let parent = tempfile::tempdir().unwrap();
        let home = DataDir::at(parent.path());
        let living = RunDir::create(Some(&home)).unwrap();
        assert!(living.path().starts_with(parent.path()));

        let dead = parent.path().join("run/postern-run-00000001");
        make_new(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(dead.join("http.sock"), "").unwrap();
        let foreign = parent.path().join("run/postern-data");
        make_new(&foreign).unwrap();
        fs::write(foreign.join(LOCK), "").unwrap();
        let being_made = parent.path().join("run/postern-run-00000002");
        make_new(&being_made).unwrap();

        let second = RunDir::create(Some(&home)).unwrap();
        assert!(!dead.exists(), "its lock is free");
        assert!(being_made.exists(), "its lock has no name yet");
        assert!(foreign.exists(), "its name is not ours");
        assert!(living.path().exists());
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_home_too_deep_for_sockets_gives_a_temporary_directory() {
        let parent = tempfile::tempdir().unwrap();
        let deep = DataDir::at(parent.path().join("x".repeat(100)));
        let run = RunDir::create(Some(&deep)).unwrap();
        assert!(!run.path().starts_with(parent.path()));
        std::os::unix::net::UnixListener::bind(run.path().join("a-name-of-23-bytes.sock")).unwrap();
    }

    #[test]
    fn a_shared_directory_where_others_could_replace_ours_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        for (mode, is_fine) in [
            (0o700, true),
            (0o755, true),
            (0o1777, true),
            (0o777, false),
            (0o770, false),
        ] {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(refuse_replaceable(dir.path()).is_ok(), is_fine, "{mode:o}");
        }
    }

    #[test]
    fn no_home_gives_a_temporary_directory() {
        let run = RunDir::create(None).unwrap();
        let other = RunDir::create(None).unwrap();
        assert_ne!(run.path(), other.path());
        assert!(is_own_directory(run.path()));
        assert!(!is_abandoned(run.path()));
    }

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
        let looking = File::open(home.dir().join("run").join(START_LOCK)).unwrap();
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
