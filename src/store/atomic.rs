//! Files that are replaced whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells two writes of one process apart.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Replaces `path` with a file of mode 0600 that holds `bytes`.
///
/// After a crash at any point the file has its old content or the new one; a
/// temporary file may be left beside it, which the next write under
/// [`Locked`](super::Locked) removes.
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

/// Makes `path` a file of mode 0600 that holds `bytes`, whole or not at all; `AlreadyExists` where there is one.
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

/// `create_new` follows no link and takes nothing that is there (O_EXCL, open(2)).
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

/// Makes the rename survive a power cut. Only Unix opens directories as files.
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
