//! Audit logs: files with one line of JSON per entry, for people; this program never reads them.
//!
//! Each application has a set, `audit/ID/`, so that a busy one does not shorten the history of another: at most
//! [`FILES`]
//! files of [`FILE_CAP`] bytes. The newest is `audit.jsonl`, the one before it `audit.1.jsonl`, and so on; the oldest
//! is
//! removed. Lines are whole: one that does not fit on the disk is removed again. A full disk, or any other failure, is
//! reported once and stops nothing. The set of a removed application is kept for [`KEPT`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::data_dir::{DataDir, create_private, make_private};
use super::error::count_error;
use super::escape::escaped;
use super::lock::private_file;
use crate::sync::Mutex;

/// The directory's name in the per-user directory.
const DIRECTORY: &str = "audit";
/// Files of a set at once. Default 10.
const FILES: usize = crate::limits::AUDIT_FILES;
/// Bytes of a file. Default 10 MiB: some 50,000 requests.
const FILE_CAP: u64 = crate::limits::AUDIT_FILE;
/// Time for which the set of a removed application is kept after its last line. Default 90 days.
const KEPT: Duration = crate::limits::AUDIT_KEPT;
/// Maximum number of sets of removed applications: the newest are kept. Default 500, like the limit of applications.
const GONE_SETS: usize = crate::limits::AUDIT_REMOVED;

/// The sets of all applications of one process.
pub struct AuditSets {
    directory: PathBuf,
    /// Sets by application.
    sets: Mutex<BTreeMap<String, Arc<AuditFiles>>>,
}

impl AuditSets {
    /// Sets in `home`.
    pub fn new(home: &DataDir) -> Self {
        Self {
            directory: home.dir().join(DIRECTORY),
            sets: Mutex::default(),
        }
    }

    /// The set of the application with this identifier.
    pub fn of(&self, id: &str) -> Arc<AuditFiles> {
        let name = directory_name(id);
        let mut sets = self.sets.lock();
        let set = sets.entry(name).or_insert_with_key(|name| {
            let directory = self.directory.join(name);
            Arc::new(AuditFiles::new(directory))
        });
        Arc::clone(set)
    }

    /// Called when the application is removed. Returns the directory of its set, if it has one, which stays until
    /// [`Self::sweep`] finds it old.
    pub fn leave(&self, id: &str) -> Option<PathBuf> {
        let name = directory_name(id);
        self.sets.lock().remove(&name);
        Some(self.directory.join(name)).filter(|path| path.is_dir())
    }

    /// Returns a notice for each set with missing lines, with the reason.
    pub fn trouble(&self) -> Vec<String> {
        let sets = self.sets.lock();
        sets.values().filter_map(|set| set.trouble()).collect()
    }

    /// Removes the sets of removed applications that are old or too many. Errors are ignored.
    pub fn sweep(&self, is_there: impl Fn(&str) -> bool) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let is_gone = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.is_dir() && !path.is_symlink() && !is_there(&name)
        };
        let mut gone: Vec<_> = paths
            .filter(is_gone)
            .map(|path| (last_line(&path), path))
            .collect();
        gone.sort_unstable();
        let too_many = gone.len().saturating_sub(GONE_SETS);
        let oldest = SystemTime::now().checked_sub(KEPT);
        for (n, (time, path)) in gone.iter().enumerate() {
            if (n < too_many || Some(*time) < oldest)
                && let Err(error) = fs::remove_dir_all(path)
            {
                log::debug!("cannot remove {}: {error}", path.display());
            }
        }
    }
}

/// Directory name for an identifier with any characters. Our own identifiers are not changed.
fn directory_name(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let plain: String = id
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .take(64)
        .collect();
    if plain.is_empty() { "_".into() } else { plain }
}

/// Time of the last write to a set.
fn last_line(set: &Path) -> SystemTime {
    let time = |path: &Path| fs::metadata(path)?.modified();
    let newest = time(&set.join("audit.jsonl")).or_else(|_| time(set));
    newest.unwrap_or_else(|_| SystemTime::now())
}

/// The set of an application. Nothing is created before the first line.
pub struct AuditFiles {
    directory: PathBuf,
    cap: u64,
    newest: Mutex<Newest>,
    trouble: Mutex<Option<String>>,
}

/// The newest file; locked during a write, so that lines are whole.
#[derive(Default)]
struct Newest {
    file: Option<File>,
    length: u64,
    /// Begin of a half line that could not be removed.
    torn_at: Option<u64>,
}

impl AuditFiles {
    /// The set in `directory`.
    fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            cap: FILE_CAP,
            newest: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    /// Writes a line. Waits for the disk; errors are in [`Self::trouble`].
    pub fn write(&self, line: &impl Serialize) {
        let mut line = match serde_json::to_string(line) {
            Ok(json) => escaped(&json).into_owned(),
            Err(error) => return self.note(Err(error.into())),
        };
        line.push('\n');
        let written = self.write_line(&mut self.newest.lock(), line.as_bytes());
        self.note(written);
    }

    /// Returns a notice if lines are missing, with the reason.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    fn write_line(&self, newest: &mut Newest, line: &[u8]) -> io::Result<()> {
        let size = u64::try_from(line.len()).map_err(io::Error::other)?;
        let mut file = self.ready(newest, size)?;
        if let Err(error) = file.write_all(line) {
            // Removes the half line; if that fails too, it is removed before the next line.
            if file.set_len(newest.length).is_err() {
                newest.torn_at = Some(newest.length);
            } else {
                newest.file = Some(file);
            }
            return Err(error);
        }
        newest.length += size;
        newest.file = Some(file);
        Ok(())
    }

    /// Returns a file with room for `size` bytes. Files are rotated only if the newest was just found full, so that
    /// repeated failures never remove more than one file for each that was filled.
    fn ready(&self, newest: &mut Newest, size: u64) -> io::Result<File> {
        let is_full = |length: u64| length > 0 && length + size > self.cap;
        if let Some(file) = newest.file.take()
            && !is_full(newest.length)
        {
            return Ok(file);
        }
        let (mut file, mut length) = self.open()?;
        if let Some(whole) = newest.torn_at.filter(|whole| *whole < length) {
            file.set_len(whole)?;
            length = whole;
        }
        newest.torn_at = None;
        if is_full(length) {
            self.rotate()?;
            (file, length) = self.open()?;
        }
        newest.length = length;
        Ok(file)
    }

    /// The newest file, and its length.
    fn open(&self) -> io::Result<(File, u64)> {
        create_private(&self.directory).map_err(io::Error::other)?;
        for directory in self.directory.ancestors().take(2) {
            make_private(directory).map_err(io::Error::other)?;
        }
        let path = self.path(0);
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other("audit.jsonl is not a regular file"));
        }
        let file = private_file().append(true).create(true).open(path)?;
        let length = file.metadata()?.len();
        Ok((file, length))
    }

    /// Moves each file to the place of the one before it, up to the first free place, so that an interrupted rotation
    /// is only completed. If none is free, the oldest is removed.
    fn rotate(&self) -> io::Result<()> {
        let is_free = |number: &usize| {
            let found = fs::symlink_metadata(self.path(*number));
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let last = (1..FILES).find(is_free).unwrap_or(FILES - 1);
        for number in (0..last).rev() {
            fs::rename(self.path(number), self.path(number + 1))?;
        }
        Ok(())
    }

    fn path(&self, number: usize) -> PathBuf {
        match number {
            0 => self.directory.join("audit.jsonl"),
            number => self.directory.join(format!("audit.{number}.jsonl")),
        }
    }

    /// Notes the result of a write, and reports a failure once until a write succeeds.
    fn note(&self, written: io::Result<()>) {
        if written.is_err() {
            count_error();
        }
        let mut trouble = self.trouble.lock();
        match written {
            Ok(()) => {
                if trouble.take().is_some() {
                    log::info!("audit records are written again");
                }
            }
            Err(error) if trouble.is_none() => {
                let why = format!(
                    "audit records are missing: {} cannot be written: {error}; everything else continues",
                    self.directory.display()
                );
                log::warn!("{why}");
                *trouble = Some(why);
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn files(home: &Path, cap: u64) -> AuditFiles {
        AuditFiles {
            cap,
            ..AuditFiles::new(home.join("audit/a"))
        }
    }

    fn names(home: &Path) -> Vec<String> {
        let entries = fs::read_dir(home.join("audit/a")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_private_whole_bounded_and_go_on_after_a_start() {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let audit = files(home.path(), 30);
            for n in 0..40 {
                audit.write(&serde_json::json!({"line": n}));
            }
            assert_eq!(audit.trouble(), None);
        }
        let names = names(home.path());
        assert_eq!(names.len(), FILES);
        for name in &names {
            let path = home.path().join("audit/a").join(name);
            let found = fs::metadata(&path).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
            assert!(found.len() <= 30);
            for line in fs::read_to_string(&path).unwrap().lines() {
                serde_json::from_str::<serde_json::Value>(line).unwrap();
            }
        }
        let newest = fs::read_to_string(home.path().join("audit/a/audit.jsonl")).unwrap();
        assert!(newest.ends_with("{\"line\":39}\n"), "{newest}");
        for directory in ["audit", "audit/a"] {
            let found = fs::metadata(home.path().join(directory)).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_flood_of_one_application_leaves_the_others_lines() {
        let home = tempfile::tempdir().unwrap();
        let sets = AuditSets::new(&DataDir::at(home.path()));
        sets.of("b").write(&"quiet");
        let busy = files(home.path(), 8);
        for n in 0..10 * FILES {
            busy.write(&n);
        }
        assert_eq!(names(home.path()).len(), FILES);
        let quiet = fs::read_to_string(home.path().join("audit/b/audit.jsonl")).unwrap();
        assert_eq!(quiet, "\"quiet\"\n");
        assert!(Arc::ptr_eq(&sets.of("b"), &sets.of("b")), "one writer");
    }

    #[test]
    fn no_identifier_leads_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let sets = AuditSets::new(&DataDir::at(home.path()));
        for (id, name) in [
            ("../run", "___run"),
            ("/etc", "_etc"),
            ("", "_"),
            ("..", "__"),
        ] {
            sets.of(id).write(&1);
            let path = home.path().join("audit").join(name);
            assert_eq!(sets.leave(id), Some(path), "{id}");
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert_eq!(sets.leave("never"), None);
    }

    #[test]
    fn what_is_gone_stays_until_it_is_old() {
        let home = tempfile::tempdir().unwrap();
        let sets = AuditSets::new(&DataDir::at(home.path()));
        let path = |id: &str| home.path().join("audit").join(id);
        for id in ["there", "old", "young"] {
            sets.of(id).write(&1);
        }
        let long_ago = SystemTime::now() - KEPT - Duration::from_secs(60);
        for id in ["there", "old"] {
            let file = File::open(path(id).join("audit.jsonl")).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        sets.sweep(|id| id == "there");
        assert!(path("there").exists() && path("young").exists());
        assert!(!path("old").exists());
        for n in 0..GONE_SETS {
            fs::create_dir(path(&format!("gone{n}"))).unwrap();
        }
        sets.sweep(|id| id == "there");
        let left = fs::read_dir(home.path().join("audit")).unwrap().count();
        assert_eq!(left, GONE_SETS + 1);
        assert!(path("there").exists() && !path("young").exists());
    }

    #[test]
    fn nothing_that_drives_a_terminal_is_in_them() {
        let home = tempfile::tempdir().unwrap();
        let (audit, line) = (files(home.path(), 100), "/\u{1b}\u{9b}2J\u{202e}");
        audit.write(&line);
        let kept = fs::read_to_string(audit.path(0)).unwrap();
        assert_eq!(kept, "\"/\\u001b\\u009b2J\\u202e\"\n");
        assert_eq!(serde_json::from_str::<String>(&kept).unwrap(), line);
    }

    #[test]
    fn what_cannot_be_written_is_said_until_it_can() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("audit"), "in the way").unwrap();
        let audit = files(home.path(), 100);
        audit.write(&1);
        let trouble = audit.trouble().unwrap();
        assert!(trouble.contains("audit records are missing"), "{trouble}");
        fs::remove_file(home.path().join("audit")).unwrap();
        audit.write(&2);
        assert_eq!(audit.trouble(), None);
        let kept = fs::read_to_string(home.path().join("audit/a/audit.jsonl")).unwrap();
        assert_eq!(kept, "2\n");
    }

    /// Ten files, each full of its number, and what writes on.
    fn full(home: &Path) -> AuditFiles {
        let audit = files(home, 8);
        for n in 0..FILES {
            audit.write(&format!("{n:04}"));
        }
        assert_eq!(names(home).len(), FILES);
        audit
    }

    fn holds(home: &Path, number: usize) -> String {
        fs::read_to_string(files(home, 8).path(number)).unwrap_or_default()
    }

    #[test]
    fn a_newest_file_that_cannot_be_opened_takes_no_history_with_it() {
        let home = tempfile::tempdir().unwrap();
        let audit = full(home.path());
        // State after a rotation whose open failed: the full file is missing.
        fs::remove_file(audit.path(0)).unwrap();
        fs::create_dir(audit.path(0)).unwrap();
        for _ in 0..3 * FILES {
            audit.write(&"lost");
        }
        assert!(audit.trouble().is_some());
        for n in 1..FILES {
            let expected = format!("\"{:04}\"\n", FILES - 1 - n);
            assert_eq!(holds(home.path(), n), expected, "file {n}");
        }
        fs::remove_dir(audit.path(0)).unwrap();
        audit.write(&"kept");
        assert_eq!(audit.trouble(), None);
        assert_eq!(holds(home.path(), 0), "\"kept\"\n");
        assert_eq!(holds(home.path(), FILES - 1), "\"0000\"\n");
    }

    #[test]
    fn a_rotation_that_broke_off_is_only_completed() {
        let home = tempfile::tempdir().unwrap();
        let audit = full(home.path());
        // State after the rest was moved already.
        fs::remove_file(audit.path(4)).unwrap();
        audit.write(&"next");
        assert_eq!(holds(home.path(), 0), "\"next\"\n");
        assert_eq!(holds(home.path(), 4), "\"0006\"\n");
        assert_eq!(holds(home.path(), FILES - 1), "\"0000\"\n");
    }

    #[test]
    fn a_half_line_that_cannot_be_taken_back_costs_no_file() {
        let home = tempfile::tempdir().unwrap();
        let audit = files(home.path(), 100);
        audit.write(&1);
        for _ in 0..3 * FILES {
            // Neither to be written nor to be cut.
            let unwritable = File::open(audit.path(0)).unwrap();
            audit.newest.lock().file = Some(unwritable);
            audit.write(&"lost");
        }
        assert_eq!(names(home.path()), ["audit.jsonl"]);
        fs::write(audit.path(0), "1\n\"hal").unwrap();
        audit.write(&2);
        assert_eq!(audit.trouble(), None);
        assert_eq!(holds(home.path(), 0), "1\n2\n");
    }
}
