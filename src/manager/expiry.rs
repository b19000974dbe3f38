//! Applications that end by themselves: when each does, by both clocks.

use std::collections::HashMap;
use std::time::Duration;

use super::apps::app::AppConfig;
use crate::store::expiry::{Clocks, Expiry};
use crate::store::{DataDir, Ends};
use crate::sync::Mutex;

/// The ends that this process knows. One that it has seen stays where it is, also when the wall clock is set back.
#[derive(Default)]
pub(crate) struct Expiries {
    known: Mutex<HashMap<String, KnownEnd>>,
    /// Remaining times from an earlier process.
    ends: Ends,
}

struct KnownEnd {
    /// As it is stored: another one is another end.
    expires: String,
    expiry: Expiry,
    is_told: bool,
}

impl Expiries {
    /// None is known; what is left of each is noted in `home`.
    pub(crate) fn new(home: &DataDir) -> Self {
        Self {
            ends: Ends::open(home),
            ..Self::default()
        }
    }

    /// When an application ends; none where it does not by itself. Notes nothing: who asks may have an old copy.
    pub(crate) fn at(&self, app: &AppConfig, now: Clocks) -> Option<Expiry> {
        let expires = app.expires.as_ref()?;
        let known = self.known.lock();
        let seen = known.get(&app.id).filter(|end| end.expires == *expires);
        let read = || self.ends.expiry(&app.id, expires, now);
        Some(seen.map_or_else(read, |end| end.expiry))
    }

    /// Notes the end of an application as it is stored, in place of one that it had before; whether it has one.
    pub(crate) fn note(&self, stored: &AppConfig) -> bool {
        self.note_at(stored, Clocks::now())
    }

    /// True if it has expired, also if an earlier process saw its end.
    pub(crate) fn is_over(&self, app: &AppConfig) -> bool {
        let now = Clocks::now();
        app.has_lapsed() || self.at(app, now).is_some_and(|end| end.is_over(now))
    }

    fn note_at(&self, stored: &AppConfig, now: Clocks) -> bool {
        let mut known = self.known.lock();
        let Some(expires) = &stored.expires else {
            known.remove(&stored.id);
            return false;
        };
        if known
            .get(&stored.id)
            .is_none_or(|end| end.expires != *expires)
        {
            let end = KnownEnd {
                expires: expires.clone(),
                expiry: self.ends.expiry(&stored.id, expires, now),
                is_told: stored.has_lapsed(),
            };
            known.insert(stored.id.clone(), end);
        }
        true
    }

    /// Forgets an application that was removed.
    pub(crate) fn forget(&self, id: &str) {
        self.known.lock().remove(id);
    }

    /// The applications whose time is over now, each told once, with the end that it had; and the time until another
    /// one's is.
    pub(crate) fn take_over(&self, now: Clocks) -> (Vec<(String, String)>, Option<Duration>) {
        let mut known = self.known.lock();
        let (mut over, mut waiting) = (Vec::new(), Vec::new());
        for (id, end) in known.iter_mut().filter(|(_, end)| !end.is_told) {
            if end.expiry.is_over(now) {
                end.is_told = true;
                over.push((id.clone(), end.expires.clone()));
            } else {
                waiting.push((id.clone(), end.expires.clone(), end.expiry));
            }
        }
        drop(known);
        self.ends.note(&waiting, now);
        let left = waiting.iter().map(|(_, _, expiry)| expiry.left(now));
        (over, left.min())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::apps::app_input::AppInput;
    use crate::store::time::rfc3339;
    use serde_json::json;
    use std::time::SystemTime;

    const HOUR: Duration = Duration::from_secs(3600);

    fn ending(wall: SystemTime) -> AppConfig {
        let body = json!({"protocol": "http", "expires": rfc3339(wall)});
        AppInput::parse(&body, true).unwrap().into_new()
    }

    #[test]
    fn an_end_that_was_seen_is_not_moved_by_the_wall_clock() {
        let (expiries, start) = (Expiries::default(), Clocks::now());
        let app = ending(start.wall + HOUR);
        assert!(expiries.note_at(&app, start));
        let end = expiries.at(&app, start).unwrap();
        let back = Clocks {
            wall: start.wall - 10 * HOUR,
            monotonic: start.monotonic + HOUR,
        };
        assert_eq!(expiries.at(&app, back), Some(end));
        assert_eq!(expiries.take_over(start).0, []);
        let (over, left) = expiries.take_over(back);
        assert_eq!((over.len(), left), (1, None));
        assert_eq!(expiries.take_over(back).0, [], "it is told once");
    }

    #[test]
    fn a_clock_that_is_set_forward_ends_it_and_another_end_prolongs_it() {
        let (expiries, start) = (Expiries::default(), Clocks::now());
        let mut app = ending(start.wall + HOUR);
        expiries.note_at(&app, start);
        let forward = Clocks {
            wall: start.wall + 2 * HOUR,
            ..start
        };
        let id = app.id.clone();
        assert_eq!(
            expiries.take_over(forward).0.first().map(|over| &over.0),
            Some(&id)
        );
        app.expires = Some(rfc3339(start.wall + 4 * HOUR));
        expiries.note_at(&app, forward);
        assert!(!expiries.at(&app, forward).unwrap().is_over(forward));
        let (over, left) = expiries.take_over(forward);
        assert!(over.is_empty() && left > Some(HOUR));
    }

    /// A connection has a copy from when it began, and asks by it.
    #[test]
    fn an_old_copy_neither_removes_nor_replaces_what_is_stored() {
        let (expiries, start) = (Expiries::default(), Clocks::now());
        let stored = ending(start.wall + HOUR);
        let (mut without, mut other) = (stored.clone(), stored.clone());
        without.expires = None;
        other.expires = Some(rfc3339(start.wall + 3 * HOUR));
        assert!(expiries.note_at(&stored, start));
        assert_eq!(expiries.at(&without, start), None);
        let asked = expiries.at(&other, start).unwrap();
        assert!(asked.left(start) > 2 * HOUR);
        assert!(!expiries.is_over(&without) && !expiries.is_over(&other));
        let left = expiries.take_over(start).1.unwrap();
        assert!(left <= HOUR, "{left:?}");
        assert!(!expiries.note_at(&without, start));
        assert_eq!(expiries.take_over(start), (Vec::new(), None));
    }

    /// Whatever the clock says to the next process.
    #[test]
    fn what_has_lapsed_stays_over_until_it_is_prolonged() {
        let expiries = Expiries::default();
        let mut app = ending(SystemTime::now() + HOUR);
        assert!(!expiries.is_over(&app));
        app.lapsed.clone_from(&app.expires);
        assert!(expiries.is_over(&app));
        app.expires = Some(rfc3339(SystemTime::now() + 2 * HOUR));
        assert!(!expiries.is_over(&app));
        app.expires = None;
        assert!(!expiries.is_over(&app));
    }
}
