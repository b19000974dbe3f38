//! Counters of the applications' traffic, in a file beside the state: they go on after a restart. It is written while
//! it changes, each [`EVERY`] at most, and at the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::store::time::unix_seconds;
use crate::store::{DataDir, Error, JsonFile};
use crate::sync::Mutex;

/// Time between two writes, and so what a crash loses. Default 1 min.
pub const EVERY: Duration = crate::limits::FIGURES_EVERY;
/// The file's name.
const FILE: &str = "figures.json";
/// Bytes of it. Default 64 MiB: some 170 for an application, of as many as a relay takes.
const CAP: u64 = 64 * 1024 * 1024;

/// By an application's id: requests, bytes in and out, the last visit, and since when they are counted; times in seconds
/// since 1970.
type Kept = BTreeMap<String, [u64; 5]>;

/// Traffic of an application since counting began; goes on when the relay starts again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Requests of a site, or connections of a public port.
    pub(super) requests: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    /// Current visitors.
    pub(super) visitors: u64,
    /// Seconds since 1970; 0 without one.
    pub(super) last_visit: u64,
    /// When counting began, in seconds since 1970; 0 where nothing is counted.
    pub(super) since: u64,
}

impl Passed {
    pub(super) fn of(counters: [&AtomicU64; 5], since: u64) -> Self {
        let [requests, bytes_in, bytes_out, visitors, last_visit] =
            counters.map(|counter| counter.load(Ordering::Relaxed));
        Self {
            requests,
            bytes_in,
            bytes_out,
            visitors,
            last_visit,
            since,
        }
    }

    /// As it stands in the file.
    pub(super) fn from_kept([requests, bytes_in, bytes_out, last_visit, since]: [u64; 5]) -> Self {
        // Nothing was before its time, whoever has written it.
        let now = unix_seconds();
        Self {
            requests,
            bytes_in,
            bytes_out,
            visitors: 0,
            last_visit: last_visit.min(now),
            since: since.min(now),
        }
    }

    pub(super) fn to_kept(self) -> [u64; 5] {
        [
            self.requests,
            self.bytes_in,
            self.bytes_out,
            self.last_visit,
            self.since,
        ]
    }

    /// Both ways.
    pub(super) fn bytes(self) -> u64 {
        self.bytes_in.saturating_add(self.bytes_out)
    }

    /// Adds the counters of another.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            bytes_in: self.bytes_in.saturating_add(other.bytes_in),
            bytes_out: self.bytes_out.saturating_add(other.bytes_out),
            visitors: self.visitors.saturating_add(other.visitors),
            last_visit: self.last_visit.max(other.last_visit),
            since: match (self.since, other.since) {
                (0, since) | (since, 0) => since,
                (one, another) => one.min(another),
            },
        }
    }
}

/// The file, and what was read of it and is not in use.
#[derive(Debug, Default)]
pub(super) struct FigureFile {
    file: Option<JsonFile<Kept>>,
    unused: Mutex<Kept>,
    written: Mutex<Kept>,
}

impl FigureFile {
    /// Reads what an earlier process left in `home`. An unreadable file starts the counters from zero, which is logged.
    pub(super) fn open(home: &DataDir) -> Self {
        let file = file(home);
        let kept = home.refuse_foreign(FILE).and_then(|()| file.read());
        let kept = kept.unwrap_or_else(|error| {
            log::warn!("counters start from zero: {error}");
            None
        });
        let kept = kept.unwrap_or_default();
        Self {
            file: Some(file),
            unused: Mutex::new(kept.clone()),
            written: Mutex::new(kept),
        }
    }

    /// Returns the counters of an application that comes into use.
    pub(super) fn take(&self, app_id: &str) -> Option<Passed> {
        let kept = self.unused.lock().remove(app_id)?;
        Some(Passed::from_kept(kept))
    }

    /// Keeps the counters of an application that goes: it may come again.
    pub(super) fn give_back(&self, app_id: &str, passed: Passed) {
        self.unused
            .lock()
            .insert(app_id.to_owned(), passed.to_kept());
    }

    /// Writes what has passed through those in use, and through those that may come again; all others are forgotten.
    /// Waits for the disk where something is new.
    pub(super) fn write<'a>(
        &self,
        in_use: impl Iterator<Item = (&'a str, Passed)>,
        may_come: impl Iterator<Item = &'a str>,
    ) -> Result<(), Error> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut all: Kept = BTreeMap::new();
        let mut unused = self.unused.lock();
        for app_id in may_come {
            if let Some((app_id, kept)) = unused.remove_entry(app_id) {
                all.insert(app_id, kept);
            }
        }
        unused.clone_from(&all);
        drop(unused);
        let visited = in_use.filter(|(_, passed)| passed.last_visit > 0);
        all.extend(visited.map(|(app_id, passed)| (app_id.to_owned(), passed.to_kept())));
        let mut written = self.written.lock();
        if *written != all {
            file.write(&all)?;
            *written = all;
        }
        Ok(())
    }
}

fn file(home: &DataDir) -> JsonFile<Kept> {
    JsonFile::new(home.clone(), FILE, CAP)
}

/// Returns the traffic of each application, by its id, as a process that may have ended has left it.
pub(super) fn peek(home: &DataDir) -> impl Fn(&str) -> Option<Passed> {
    let kept = home.refuse_foreign(FILE).and_then(|()| file(home).look());
    let kept = kept.ok().flatten().unwrap_or_default();
    move |app_id| Some(Passed::from_kept(*kept.get(app_id)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(requests: u64) -> Passed {
        Passed::from_kept([requests, 1, 2, 3, 4])
    }

    #[test]
    fn nobody_was_here_in_the_future() {
        let kept = Passed::from_kept([1, 2, 3, u64::MAX, u64::MAX]);
        assert!(kept.last_visit <= unix_seconds() && kept.since <= unix_seconds());
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_have_written_is_not_counted_on() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let path = dir.path().join(FILE);
        std::fs::write(&path, "{\"a\":[1,1,1,1,1]}").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(FigureFile::open(&home).take("a"), None);
        assert_eq!(peek(&home)("a"), None);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(
            FigureFile::open(&home).take("a").map(|it| it.requests),
            Some(1)
        );
        let elsewhere = dir.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(FigureFile::open(&home).take("a"), None);
    }

    #[test]
    fn what_is_known_goes_on_and_what_nobody_has_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let file = FigureFile::open(&home);
        assert_eq!(file.take("a"), None);
        file.give_back("out", passed(3));
        file.give_back("gone", passed(4));
        let in_use = [
            ("a", passed(1)),
            ("b", passed(2)),
            ("new", Passed::default()),
        ];
        let may_come = || ["out"].into_iter();
        file.write(in_use.into_iter(), may_come()).unwrap();
        let again = FigureFile::open(&home);
        assert_eq!(again.take("a"), Some(passed(1)));
        assert_eq!(again.take("a"), None, "it is in use");
        assert_eq!(again.take("out"), Some(passed(3)));
        assert_eq!((again.take("gone"), again.take("new")), (None, None));
        assert_eq!(peek(&home)("b"), Some(passed(2)));
    }

    #[test]
    fn what_has_not_changed_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let path = dir.path().join(FILE);
        let write = |file: &FigureFile, requests| {
            let in_use = [("a", passed(requests))].into_iter();
            file.write(in_use, std::iter::empty()).unwrap();
        };
        let file = FigureFile::open(&home);
        file.write(std::iter::empty(), std::iter::empty()).unwrap();
        assert!(!path.exists());
        write(&file, 1);
        std::fs::remove_file(&path).unwrap();
        write(&file, 1);
        assert!(!path.exists());
        write(&file, 2);
        std::fs::remove_file(&path).unwrap();
        write(&FigureFile::open(&home), 2);
        assert!(path.exists(), "nothing is known of it");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_kept_aside_and_counting_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), "{\"a\":[1,").unwrap();
        let home = DataDir::at(dir.path());
        assert_eq!(FigureFile::open(&home).take("a"), None);
        assert_eq!(crate::store::files_set_aside(&home).len(), 1);
    }
}
