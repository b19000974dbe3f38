//! A private directory for one process's sockets.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::atomic::private_file;
use super::data_dir::{DataDir, make_private};
use super::error::Error;
use super::time::since_epoch;

/// The longest path of the directory, in bytes. A Unix socket's path has 104
/// bytes on macOS and 108 on Linux with its end mark; 24 are left for the
/// socket's own name.
const PATH_CAP: usize = 79;
/// How the directories of all processes begin, so that others' leavings are recognised.
const PREFIX: &str = "postern-run-";
/// The file that its process keeps locked while it lives.
const LOCK: &str = "lock";

/// How many names are tried; one that exists is a coincidence or somebody's trick.
const NAME_ATTEMPTS: u32 = 16;

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
    /// Makes one in the `run/` of `home`; in the system's temporary directory
    /// where there is no home, it cannot be written, or its path is too long for a socket.
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
                // Without its lock nobody would ever remove it.
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

/// Refuses a directory where others could put theirs in the place of ours: its owner may, and in one that all may
/// write in everybody may unless it is sticky.
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

/// A new directory; fails rather than take one that exists, so that nobody can prepare it for us.
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

/// Eight digits that differ between two attempts and two processes at a time.
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

/// Locks before the file gets its name: who finds a lock file that can be
/// locked knows that its owner is dead.
fn take_lock(dir: &Path) -> std::io::Result<File> {
    let unnamed = dir.join("lock.new");
    let file = private_file().write(true).create_new(true).open(&unnamed)?;
    file.lock()?;
    fs::rename(&unnamed, dir.join(LOCK))?;
    Ok(file)
}

/// Removes the directories of dead processes. What cannot be removed is left: it is nobody's need.
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

/// Keeps us, as root too, away from what others put into a shared temporary directory.
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
}
