//! End times: of anything that is limited in time ([`Expiry`]), and those of shares ([`Ends`]).
//!
//! The wall clock can be set, and may be wrong for a while. The monotonic clock goes on while the machine sleeps, but
//! restarts with the machine; [`Ends`] keeps remaining times in a file for that. An end has come when the first of both
//! clocks says so.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::data_dir::DataDir;
use super::json_file::JsonFile;
use super::time::{parse_rfc3339, since_boot};
use crate::sync::{Lookout, Mutex};

/// The longest time: longer ones are shortened to it. Default 100 years.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Name of the file with remaining times.
const FILE: &str = "ends.json";
/// Maximum size of the file, in bytes. Default 16 MiB: some hundred thousand ends.
const CAP: u64 = 16 * 1024 * 1024;
/// Time between two writes while only the time changes. A clock that is set back can win as much. Default 1 min.
const EVERY: Duration = Duration::from_secs(60);

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// The clock that people read, and can set.
    pub wall: SystemTime,
    /// The clock that nobody can set: time since the machine was started, including sleep.
    pub monotonic: Duration,
}

impl Clocks {
    /// Reads both clocks.
    pub fn now() -> Self {
        Self {
            wall: SystemTime::now(),
            monotonic: since_boot(),
        }
    }

    /// The wall clock as it would be if nobody had set it since `then`.
    pub fn wall_unset(self, then: Self) -> SystemTime {
        then.wall + self.monotonic.saturating_sub(then.monotonic)
    }

    /// The wall clock, but at most as much later than at `then` as time has really passed. Used to remove old data: a
    /// clock that is set forward by mistake removes nothing.
    pub fn wall_as_passed(self, then: Self) -> SystemTime {
        self.wall.min(self.wall_unset(then))
    }
}

/// An end time by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry(Clocks);

impl Expiry {
    /// End at this moment of the wall clock as it is `now`: setting the clock back later does not move the end.
    pub fn at(wall: SystemTime, now: Clocks) -> Self {
        let left = wall.duration_since(now.wall).unwrap_or_default();
        Self(Clocks {
            wall,
            monotonic: now.monotonic + left.min(LONGEST),
        })
    }

    /// End after this time from `now`.
    pub fn after(left: Duration, now: Clocks) -> Self {
        Self::at(now.wall + left.min(LONGEST), now)
    }

    /// Limits it to this much time.
    #[must_use]
    pub fn within(self, left: Duration, now: Clocks) -> Self {
        let most = now.monotonic + left.min(LONGEST);
        Self(Clocks {
            monotonic: self.0.monotonic.min(most),
            ..self.0
        })
    }

    /// The end by the wall clock.
    pub fn wall(self) -> SystemTime {
        self.0.wall
    }

    /// Remaining time, by the clock that leaves less.
    pub fn left(self, now: Clocks) -> Duration {
        let by_wall = self.0.wall.duration_since(now.wall).unwrap_or_default();
        by_wall.min(self.left_at_most(now))
    }

    /// Remaining time by the clock that nobody can set.
    pub fn left_at_most(self, now: Clocks) -> Duration {
        self.0.monotonic.saturating_sub(now.monotonic)
    }

    /// True if it is over.
    pub fn is_over(self, now: Clocks) -> bool {
        self.left(now).is_zero()
    }
}

/// End times of shares, by identifier. A noted end does not move when the wall clock is set back. Remaining times are
/// also in a file: a process that starts while the wall clock is set back gives no share more time than the process
/// before it.
#[derive(Debug, Default)]
pub struct Ends {
    file: Option<JsonFile<Kept>>,
    known: Mutex<Known>,
    /// The thread that waits for the next end.
    pub(crate) lookout: Lookout,
}

#[derive(Debug, Default)]
struct Known {
    ends: HashMap<String, End>,
    /// Remaining times in the file.
    kept: Kept,
    /// Time of the last write, by the monotonic clock.
    written: Option<Duration>,
}

#[derive(Debug)]
struct End {
    /// Stored end time; if it changes, the end is a new one.
    expires: String,
    expiry: Expiry,
    has_expired: bool,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    ends: BTreeMap<String, KeptEnd>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptEnd {
    /// Stored end time.
    expires: String,
    /// Remaining time in whole seconds.
    left: u64,
}

impl Ends {
    /// Reads the remaining times that an earlier process has saved in `home`; none if the file cannot be read.
    pub fn open(home: &DataDir) -> Self {
        let file = JsonFile::new(home.clone(), FILE, CAP);
        let kept = file.read().unwrap_or_else(|error| {
            log::warn!("cannot read the remaining times of shares: {error}");
            None
        });
        let known = Known {
            kept: kept.unwrap_or_default(),
            ..Known::default()
        };
        Self {
            file: Some(file),
            known: Mutex::new(known),
            lookout: Lookout::default(),
        }
    }

    /// End of `id`, which is stored as `expires` (RFC 3339), but after at most its saved remaining time. An invalid
    /// text has passed. Notes nothing, because the caller may have an old copy.
    pub fn at(&self, id: &str, expires: &str, now: Clocks) -> Expiry {
        self.known.lock().at(id, expires, now)
    }

    /// Notes the stored end of `id`, in place of an earlier one; `has_expired` if it is known to have passed.
    pub fn note(&self, id: &str, expires: &str, has_expired: bool, now: Clocks) -> Expiry {
        let mut known = self.known.lock();
        let expiry = known.at(id, expires, now);
        if known.ends.get(id).is_none_or(|end| end.expires != expires) {
            let end = End {
                expires: expires.to_owned(),
                expiry,
                has_expired,
            };
            known.ends.insert(id.to_owned(), end);
        }
        expiry
    }

    /// Forgets the end of `id`.
    pub fn forget(&self, id: &str) {
        let mut known = self.known.lock();
        known.ends.remove(id);
        if known.kept.ends.remove(id).is_some() {
            // The file is written at the next call of `take_expired`.
            known.written = None;
        }
    }

    /// Returns the identifiers that have expired, once each, with their ends; and the time until the next end.
    /// Sometimes waits for the disk.
    pub fn take_expired(&self, now: Clocks) -> (Vec<(String, String)>, Option<Duration>) {
        let (mut expired, mut next) = (Vec::new(), None);
        let mut known = self.known.lock();
        // Ends of an earlier process that are not noted yet stay in the file.
        let mut kept = known.kept.clone();
        kept.ends.retain(|id, end| {
            !known.ends.contains_key(id) && !known.at(id, &end.expires, now).is_over(now)
        });
        for (id, end) in known.ends.iter_mut().filter(|(_, end)| !end.has_expired) {
            let expires = end.expires.clone();
            if end.expiry.is_over(now) {
                end.has_expired = true;
                expired.push((id.clone(), expires));
            } else {
                let left = end.expiry.left_at_most(now).as_secs() + 1;
                kept.ends.insert(id.clone(), KeptEnd { expires, left });
                let left = end.expiry.left(now);
                next = Some(next.map_or(left, |next| left.min(next)));
            }
        }
        let is_recent = known
            .written
            .is_some_and(|at| now.monotonic.saturating_sub(at) < EVERY);
        if is_recent && kept.is_of_the_same(&known.kept) {
            return (expired, next);
        }
        known.written = Some(now.monotonic);
        known.kept = kept.clone();
        drop(known);
        if let Some(file) = &self.file
            && let Err(error) = file.write(&kept)
        {
            log::debug!("cannot save the remaining times of shares: {error}");
        }
        (expired, next)
    }
}

impl Known {
    fn at(&self, id: &str, expires: &str, now: Clocks) -> Expiry {
        if let Some(end) = self.ends.get(id).filter(|end| end.expires == expires) {
            return end.expiry;
        }
        let wall = parse_rfc3339(expires).unwrap_or(SystemTime::UNIX_EPOCH);
        let expiry = Expiry::at(wall, now);
        let kept = self.kept.ends.get(id).filter(|end| end.expires == expires);
        kept.map_or(expiry, |end| {
            expiry.within(Duration::from_secs(end.left), now)
        })
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

    fn start() -> Clocks {
        Clocks::now()
    }

    /// So much later by the wall clock, and by the other one.
    fn later(now: Clocks, wall: Duration, monotonic: Duration) -> Clocks {
        Clocks {
            wall: now.wall + wall,
            monotonic: now.monotonic + monotonic,
        }
    }

    #[test]
    fn it_ends_in_time_where_both_clocks_go_alike() {
        let start = start();
        let expiry = Expiry::after(HOUR, start);
        assert!(!expiry.is_over(start));
        assert_eq!(expiry.left(start), HOUR);
        let before = later(start, HOUR / 2, HOUR / 2);
        assert_eq!(expiry.left(before), HOUR / 2);
        assert!(expiry.is_over(later(start, HOUR, HOUR)));
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_nothing() {
        let start = start();
        let expiry = Expiry::after(HOUR, start);
        let back = Clocks {
            wall: start.wall - 24 * HOUR,
            monotonic: start.monotonic + HOUR,
        };
        assert!(expiry.is_over(back));
        let earlier = Clocks {
            monotonic: start.monotonic + HOUR / 2,
            ..back
        };
        assert_eq!(expiry.left(earlier), HOUR / 2);
    }

    #[test]
    fn a_clock_that_is_set_forward_ends_it_and_so_does_a_sleep() {
        let start = start();
        let expiry = Expiry::after(HOUR, start);
        let slept_and_set_back = Clocks {
            wall: start.wall - HOUR,
            monotonic: start.monotonic + HOUR,
        };
        assert!(expiry.is_over(slept_and_set_back));
        assert!(expiry.is_over(later(start, 2 * HOUR, Duration::ZERO)));
        assert!(!expiry.is_over(later(start, HOUR / 2, Duration::ZERO)));
    }

    #[test]
    fn a_clock_that_is_set_forward_makes_nothing_older_than_it_is() {
        let start = start();
        let day = 24 * HOUR;
        for (wall, passed, expected) in
            [(day, day, day), (400 * day, HOUR, HOUR), (HOUR, day, HOUR)]
        {
            let now = later(start, wall, passed);
            assert_eq!(now.wall_as_passed(start), start.wall + expected);
        }
        let back = Clocks {
            wall: start.wall - day,
            monotonic: start.monotonic + HOUR,
        };
        assert_eq!(back.wall_as_passed(start), back.wall);
    }

    #[test]
    fn what_has_passed_is_over_and_what_is_far_away_does_not_overflow() {
        let start = start();
        assert!(Expiry::at(start.wall - HOUR, start).is_over(start));
        assert!(Expiry::at(SystemTime::UNIX_EPOCH, start).is_over(start));
        let far = Expiry::after(Duration::MAX, start);
        assert_eq!(far.left(start), LONGEST);
    }

    const MINUTE: Duration = Duration::from_secs(60);

    /// An hour from `start` on, of which the first process saw 40 minutes; `home` is as the next one finds it.
    fn after_forty_minutes(home: &DataDir, start: Clocks) -> String {
        let expires = rfc3339(start.wall + HOUR);
        let ends = Ends::open(home);
        ends.note("a", &expires, false, start);
        for minutes in 0..=40 {
            let now = Clocks {
                wall: start.wall + minutes * MINUTE,
                monotonic: start.monotonic + minutes * MINUTE,
            };
            ends.take_expired(now);
        }
        expires
    }

    /// Clocks of a machine that was started anew, with a clock of yesterday.
    fn a_day_back(start: Clocks) -> Clocks {
        Clocks {
            wall: start.wall - 24 * HOUR,
            monotonic: Duration::from_secs(5),
        }
    }

    #[test]
    fn a_clock_that_was_set_back_before_the_start_prolongs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (home, start) = (DataDir::at(dir.path()), Clocks::now());
        let expires = after_forty_minutes(&home, start);
        let ends = Ends::open(&home);
        let back = a_day_back(start);
        let left = ends.at("a", &expires, back).left(back);
        assert!(left > 19 * MINUTE && left < 21 * MINUTE, "{left:?}");
        let other = ends.at("b", &expires, back).left(back);
        assert!(other > 24 * HOUR, "nothing is known of it");
        let later = rfc3339(back.wall + 3 * HOUR);
        let prolonged = ends.at("a", &later, back).left(back);
        assert!(prolonged > 2 * HOUR, "another end is another one");
    }

    /// The first look may come before all ends are noted.
    #[test]
    fn an_end_that_is_noted_after_the_first_look_keeps_its_remaining_time() {
        let dir = tempfile::tempdir().unwrap();
        let (home, start) = (DataDir::at(dir.path()), Clocks::now());
        let expires = after_forty_minutes(&home, start);
        let ends = Ends::open(&home);
        let back = a_day_back(start);
        ends.note("b", &rfc3339(back.wall + HOUR), false, back);
        ends.take_expired(back);
        for ends in [ends, Ends::open(&home)] {
            let left = ends.at("a", &expires, back).left(back);
            assert!(left < 21 * MINUTE, "{left:?}");
        }
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
        let left = |minutes| ends.at("a", &expires, at(minutes)).left(at(minutes));
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
        ends.note("a", &expires, false, start);
        let ahead = Clocks {
            wall: start.wall + HOUR,
            ..start
        };
        ends.take_expired(ahead);
        let left = Ends::open(&home).at("a", &expires, start).left(start);
        assert!(left > HOUR + 59 * MINUTE, "{left:?}");
        ends.forget("a");
        ends.take_expired(start);
        let kept = std::fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert!(!kept.contains(&expires), "what is over is forgotten");
    }

    #[test]
    fn an_end_that_was_seen_is_not_moved_by_the_wall_clock() {
        let (ends, start) = (Ends::default(), Clocks::now());
        let expires = rfc3339(start.wall + HOUR);
        let end = ends.note("a", &expires, false, start);
        let back = Clocks {
            wall: start.wall - 10 * HOUR,
            monotonic: start.monotonic + HOUR,
        };
        assert_eq!(ends.at("a", &expires, back), end);
        assert_eq!(ends.note("a", &expires, false, back), end);
        assert_eq!(ends.take_expired(start).0, []);
        let (expired, next) = ends.take_expired(back);
        assert_eq!((expired.len(), next), (1, None));
        assert_eq!(ends.take_expired(back).0, [], "it is told once");
        ends.note("b", &expires, true, back);
        assert_eq!(
            ends.take_expired(back),
            (Vec::new(), None),
            "known to be over"
        );
    }

    #[test]
    fn a_clock_that_is_set_forward_ends_it_and_another_end_prolongs_it() {
        let (ends, start) = (Ends::default(), Clocks::now());
        let expires = rfc3339(start.wall + HOUR);
        ends.note("a", &expires, false, start);
        let forward = Clocks {
            wall: start.wall + 2 * HOUR,
            ..start
        };
        let expected = [("a".to_owned(), expires)];
        assert_eq!(ends.take_expired(forward).0, expected);
        let later = rfc3339(start.wall + 4 * HOUR);
        ends.note("a", &later, false, forward);
        assert!(!ends.at("a", &later, forward).is_over(forward));
        let (expired, next) = ends.take_expired(forward);
        assert!(expired.is_empty() && next > Some(HOUR));
    }

    /// A connection has a copy from when it began, and asks by it.
    #[test]
    fn an_old_copy_neither_removes_nor_replaces_what_is_stored() {
        let (ends, start) = (Ends::default(), Clocks::now());
        ends.note("a", &rfc3339(start.wall + HOUR), false, start);
        let asked = ends.at("a", &rfc3339(start.wall + 3 * HOUR), start);
        assert!(asked.left(start) > 2 * HOUR);
        let left = ends.take_expired(start).1.unwrap();
        assert!(left <= HOUR, "{left:?}");
        ends.forget("a");
        assert_eq!(ends.take_expired(start), (Vec::new(), None));
    }
}
