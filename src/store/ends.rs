//! Remaining time of each share, in a file: a process that begins while the wall clock is set
//! back gives nothing longer than the one before it would have.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::data_dir::DataDir;
use super::expiry::{Clocks, Expiry};
use super::json_file::JsonFile;
use super::time::parse_rfc3339;
use crate::sync::Mutex;

/// The file's name.
const FILE: &str = "ends.json";
/// Its largest size, in bytes. Default 16 MiB: some hundred thousand ends.
const CAP: u64 = 16 * 1024 * 1024;
/// Time between two writes while nothing but the time changes, and so what a clock that is set back can win. Default
/// 1 min.
const EVERY: Duration = Duration::from_secs(60);

/// Remaining times, by the number or name of what ends.
#[derive(Debug, Default)]
pub struct Ends {
    file: Option<JsonFile<Kept>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    kept: Kept,
    /// When it was written, by the monotonic clock.
    written: Option<Duration>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    ends: BTreeMap<String, KeptEnd>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptEnd {
    /// As it is stored: another one is another end.
    expires: String,
    /// Whole seconds.
    left: u64,
}

impl Ends {
    /// Those that an earlier process has left in `home`. A file that cannot be read is none.
    pub fn open(home: &DataDir) -> Self {
        let file = JsonFile::new(home.clone(), FILE, CAP);
        let kept = file.read().unwrap_or_else(|error| {
            log::warn!("cannot read the remaining times of shares: {error}");
            None
        });
        let kept = kept.unwrap_or_default();
        Self {
            file: Some(file),
            known: Mutex::new(Known {
                kept,
                written: None,
            }),
        }
    }

    /// When `id` ends, whose end is stored as `expires` (RFC 3339): then, and in no more time than was left of it. One
    /// that cannot be read is over.
    pub fn expiry(&self, id: &str, expires: &str, now: Clocks) -> Expiry {
        let wall = parse_rfc3339(expires).unwrap_or(SystemTime::UNIX_EPOCH);
        let expiry = Expiry::at(wall, now);
        let known = self.known.lock();
        let kept = known.kept.ends.get(id).filter(|end| end.expires == expires);
        match kept {
            Some(end) => expiry.within(Duration::from_secs(end.left), now),
            None => expiry,
        }
    }

    /// Notes what is left of all that is to end: `(id, expires, expiry)` of each. Waits for the disk at times.
    pub fn note(&self, all: &[(String, String, Expiry)], now: Clocks) {
        let ends = all.iter().map(|(id, expires, expiry)| {
            let left = expiry.left_at_most(now).as_secs() + 1;
            let expires = expires.clone();
            (id.clone(), KeptEnd { expires, left })
        });
        let kept = Kept {
            ends: ends.collect(),
        };
        let mut known = self.known.lock();
        let is_recent = known
            .written
            .is_some_and(|at| now.monotonic.saturating_sub(at) < EVERY);
        if is_recent && kept.is_of_the_same(&known.kept) {
            return;
        }
        known.written = Some(now.monotonic);
        known.kept = kept.clone();
        drop(known);
        if let Some(file) = &self.file
            && let Err(error) = file.write(&kept)
        {
            log::debug!("cannot save the remaining times of shares: {error}");
        }
    }
}

impl Kept {
    fn is_of_the_same(&self, other: &Self) -> bool {
        let ends = |kept: &Self| {
            let ends = kept.ends.iter();
            ends.map(|(id, end)| (id.clone(), end.expires.clone()))
                .collect::<Vec<_>>()
        };
        ends(self) == ends(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::time::rfc3339;

    const HOUR: Duration = Duration::from_secs(3600);
    const MINUTE: Duration = Duration::from_secs(60);

    /// An hour from `start` on, of which the first process saw 40 minutes; `home` is as the next one finds it.
    fn after_forty_minutes(home: &DataDir, start: Clocks) -> String {
        let expires = rfc3339(start.wall + HOUR);
        let ends = Ends::open(home);
        let expiry = ends.expiry("a", &expires, start);
        for minutes in 0..=40 {
            let now = Clocks {
                wall: start.wall + minutes * MINUTE,
                monotonic: start.monotonic + minutes * MINUTE,
            };
            ends.note(&[("a".to_owned(), expires.clone(), expiry)], now);
        }
        expires
    }

    #[test]
    fn a_clock_that_was_set_back_before_the_start_prolongs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (home, start) = (DataDir::at(dir.path()), Clocks::now());
        let expires = after_forty_minutes(&home, start);
        let ends = Ends::open(&home);
        // The machine was started anew, with a clock of yesterday.
        let back = Clocks {
            wall: start.wall - 24 * HOUR,
            monotonic: Duration::from_secs(5),
        };
        let left = ends.expiry("a", &expires, back).left(back);
        assert!(left > 19 * MINUTE && left < 21 * MINUTE, "{left:?}");
        let other = ends.expiry("b", &expires, back).left(back);
        assert!(other > 24 * HOUR, "nothing is known of it");
        let later = rfc3339(back.wall + 3 * HOUR);
        let prolonged = ends.expiry("a", &later, back).left(back);
        assert!(prolonged > 2 * HOUR, "another end is another one");
    }

    #[test]
    fn a_clock_that_is_right_or_ahead_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let (home, start) = (DataDir::at(dir.path()), Clocks::now());
        let expires = after_forty_minutes(&home, start);
        let ends = Ends::open(&home);
        let at = |minutes: u32| Clocks {
            wall: start.wall + minutes * MINUTE,
            monotonic: Duration::ZERO,
        };
        let left = |minutes| ends.expiry("a", &expires, at(minutes)).left(at(minutes));
        assert!(left(55) <= 5 * MINUTE && left(55) > 4 * MINUTE);
        assert!(left(61).is_zero() && left(6000).is_zero());
    }

    /// It was ahead for a moment: what is left by the other clock is kept.
    #[test]
    fn a_wall_clock_that_jumps_while_it_is_noted_shortens_nothing_later() {
        let dir = tempfile::tempdir().unwrap();
        let (home, start) = (DataDir::at(dir.path()), Clocks::now());
        let expires = rfc3339(start.wall + 2 * HOUR);
        let ends = Ends::open(&home);
        let expiry = ends.expiry("a", &expires, start);
        let ahead = Clocks {
            wall: start.wall + HOUR,
            ..start
        };
        ends.note(&[("a".to_owned(), expires.clone(), expiry)], ahead);
        let left = Ends::open(&home).expiry("a", &expires, start).left(start);
        assert!(left > HOUR + 59 * MINUTE, "{left:?}");
        ends.note(&[], start);
        let kept = std::fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert!(!kept.contains(&expires), "what is over is forgotten");
    }
}
