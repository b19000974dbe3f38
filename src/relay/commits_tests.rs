//! Of a state that several change. What is on a disk alone is tried where it is opened.

use std::sync::Arc;

use super::super::journal::{Keep, SaveError};
use super::super::state::RelayState;
use super::super::state_store::{Error, StateStore};
use super::super::store_error::StoreError;
use super::*;
use crate::sync::Mutex;

/// State that several share.
#[derive(Default)]
struct Shared {
    state: Mutex<Arc<RelayState>>,
    away: Mutex<bool>,
}

/// The way of one of them to that.
struct Way {
    shared: Arc<Shared>,
    saved: Arc<RelayState>,
}

impl Way {
    fn check(&self) -> Result<(), StoreError> {
        match *self.shared.away.lock() {
            true => Err(StoreError::Away("it is".into())),
            false => Ok(()),
        }
    }
}

impl Keep for Way {
    fn save(&mut self, state: &Arc<RelayState>) -> Result<(), SaveError> {
        self.check().map_err(SaveError::Away)?;
        let mut there = self.shared.state.lock();
        if there.number != self.saved.number {
            return Err(SaveError::Outdated);
        }
        *there = Arc::clone(state);
        self.saved = Arc::clone(state);
        Ok(())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn news(&mut self) -> Result<Option<Arc<RelayState>>, StoreError> {
        self.check()?;
        let there = Arc::clone(&self.shared.state.lock());
        if there.number == self.saved.number {
            return Ok(None);
        }
        self.saved = Arc::clone(&there);
        Ok(Some(there))
    }

    fn pass(&mut self, _: &Arc<RelayState>, state: &Arc<RelayState>) {
        self.saved = Arc::clone(state);
    }
}

fn stores<const N: usize>() -> (Arc<Shared>, [StateStore; N]) {
    let shared = Arc::<Shared>::default();
    let store = |_| {
        let way = Way {
            shared: Arc::clone(&shared),
            saved: Arc::default(),
        };
        StateStore::new(RelayState::default(), Box::new(way))
    };
    let stores = std::array::from_fn(store);
    (shared, stores)
}

fn push(store: &StateStore, name: &str, saving: Saving) -> Result<(), Error> {
    let mut writer = store.writer();
    let pushed = writer.update_saving(|state| {
        state.revoked.push(name.to_owned());
        Ok::<_, Error>(((), saving))
    });
    pushed.map(|((), saved)| saved).and_then(|saved| saved)
}

#[test]
fn of_many_who_change_it_at_once_nobodys_change_is_lost_or_made_twice() {
    const EACH: usize = 25;
    let (shared, stores) = stores::<3>();
    std::thread::scope(|scope| {
        for (at, store) in stores.iter().enumerate() {
            for thread in 0..2 {
                scope.spawn(move || {
                    for number in 0..EACH {
                        let name = format!("{at}-{thread}-{number}");
                        push(store, &name, Saving::Must).unwrap();
                    }
                });
            }
        }
    });
    let mut names = shared.state.lock().revoked.clone();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 6 * EACH);
    assert_eq!(shared.state.lock().revoked.len(), names.len());
    for store in &stores {
        store.refresh().unwrap();
        assert_eq!(store.snapshot().revoked, shared.state.lock().revoked);
    }
}

#[test]
fn what_others_have_changed_is_followed_once_and_in_order() {
    let (_, [one, other]) = stores();
    let followed = Arc::<Mutex<Vec<(usize, usize)>>>::default();
    let of_follow = Arc::clone(&followed);
    other.follow_with(Box::new(move |before, after| {
        let lengths = (before.revoked.len(), after.revoked.len());
        of_follow.lock().push(lengths);
    }));
    push(&one, "a", Saving::Must).unwrap();
    push(&one, "b", Saving::Must).unwrap();
    other.refresh().unwrap();
    other.refresh().unwrap();
    assert_eq!(*followed.lock(), [(0, 2)]);
    push(&one, "c", Saving::Must).unwrap();
    // Too late, so what the first has changed comes before it.
    push(&other, "d", Saving::Must).unwrap();
    assert_eq!(*followed.lock(), [(0, 2), (2, 3)]);
    assert_eq!(other.snapshot().revoked, ["a", "b", "c", "d"]);
}

#[test]
fn while_it_is_away_nothing_is_promised_and_what_is_known_is_confirmed() {
    let (shared, [store]) = stores();
    push(&store, "before", Saving::Must).unwrap();
    *shared.away.lock() = true;
    for saving in [Saving::Must, Saving::Should] {
        let refused = push(&store, "meanwhile", saving);
        assert!(matches!(refused, Err(Error::Shared(_))), "{refused:?}");
    }
    assert_eq!(store.snapshot().revoked, ["before"]);
    push(&store, "call", Saving::Later).unwrap();
    assert_eq!(store.snapshot().revoked, ["before", "call"]);
    assert!(store.refresh().is_err());
    *shared.away.lock() = false;
    push(&store, "after", Saving::Must).unwrap();
    assert_eq!(store.snapshot().revoked, ["before", "call", "after"]);
}
