use super::super::row_log::FORM;
use super::super::state::Revocation;
use super::super::state_rows::Row;
use super::*;
use crate::sync::Mutex;
use std::fs;

fn open(dir: &Path) -> (StateStore, Vec<PathBuf>) {
    let mut aside = Vec::new();
    let store = StateStore::open(&DataDir::at(dir), &mut aside).unwrap();
    (store, aside)
}

struct Saves<F>(F);

impl<F: FnMut(&RelayState) -> Result<(), store::Error> + Send> Rows for Saves<F> {
    fn apply(&mut self, _: &[Row], state: &RelayState) -> Result<(), Error> {
        Ok((self.0)(state)?)
    }

    fn number(&self) -> u64 {
        0
    }
}

/// A change that causes a row.
pub(in crate::relay) fn turn_out(state: &mut RelayState, name: &str) {
    state.revoked.push(name.to_owned());
    state
        .revocations
        .insert(name.to_owned(), Revocation::default());
}

fn full_disk() -> store::Error {
    store::Error::TooLarge {
        path: ROWS.into(),
        cap: 0,
    }
}

#[test]
fn what_was_changed_is_there_again_and_what_was_refused_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let change = |name: &str, refused: Option<&str>| {
        store.update(|state| {
            turn_out(state, name);
            refused.map_or(Ok(()), |why| Err(Error::Form(why.into())))
        })
    };
    change("kept", None).unwrap();
    assert!(change("not", Some("refused")).is_err());
    assert_eq!(**store.snapshot().revoked, ["kept"]);
    let (again, aside) = open(dir.path());
    assert_eq!(**again.snapshot().revoked, ["kept"]);
    assert!(aside.is_empty());
}

/// A save that lasts until the test ends it, so that only the test's own order decides.
#[test]
fn no_reader_waits_for_a_slow_save() {
    let (begun, began) = crossbeam_channel::bounded(0);
    let (end, ended) = crossbeam_channel::bounded::<()>(0);
    let save = move |_: &RelayState| {
        begun.send(()).unwrap();
        ended.recv().unwrap();
        Ok(())
    };
    let store = StateStore::new(RelayState::default(), Box::new(Saves(save)));
    let update = |name: &str, saving| {
        let updated = store.update_saving(|state| {
            turn_out(state, name);
            Ok::<_, Error>(((), saving))
        });
        updated.and_then(|((), saved)| saved)
    };
    std::thread::scope(|scope| {
        for (name, saving, seen) in [
            ("one", Saving::First, &[][..]),
            ("two", Saving::AtOnce, &["one", "two"]),
        ] {
            let writer = scope.spawn(move || update(name, saving));
            began.recv().unwrap();
            assert_eq!(**store.snapshot().revoked, *seen, "while it is saved");
            end.send(()).unwrap();
            writer.join().unwrap().unwrap();
            assert!(store.snapshot().revoked.contains(&name.to_owned()));
        }
    });
}

/// A store whose saves begin and end under the control of the test: the state of each save, and the way to end it.
fn at_hand() -> (
    StateStore,
    crossbeam_channel::Receiver<Arc<RelayState>>,
    crossbeam_channel::Sender<Result<(), store::Error>>,
) {
    let (begun, began) = crossbeam_channel::bounded(0);
    let (end, ended) = crossbeam_channel::bounded(0);
    let save = move |state: &RelayState| {
        begun.send(Arc::new(state.clone())).unwrap();
        ended.recv().unwrap()
    };
    let store = StateStore::new(RelayState::default(), Box::new(Saves(save)));
    (store, began, end)
}

const CALLERS: usize = 16;

/// A save of one caller that runs, and the callers that come meanwhile; `end` has the outcome of the first save, and of
/// the one that all others share. Returns the callers that were told that it is saved, and the effects in their order.
fn at_once(
    outcomes: [Result<(), store::Error>; 2],
) -> (Arc<RelayState>, Vec<(String, bool)>, Vec<String>) {
    let (store, began, end) = at_hand();
    let follow_ups = Arc::<Mutex<Vec<String>>>::default();
    let of_follow = Arc::clone(&follow_ups);
    store.follow_with(Box::new(move |before, after| {
        let mut follow_ups = of_follow.lock();
        assert_eq!(*follow_ups, **before.revoked);
        follow_ups.clone_from(&after.revoked);
    }));
    let change = |number: usize| {
        let name = number.to_string();
        let changed = store.update(|state| {
            turn_out(state, &name);
            Ok::<_, Error>(())
        });
        let is_followed = follow_ups.lock().contains(&name);
        assert_eq!(is_followed, changed.is_ok(), "before it is answered");
        (name, changed.is_ok())
    };
    let found = std::thread::scope(|scope| {
        let first = scope.spawn(|| change(0));
        assert_eq!(**began.recv().unwrap().revoked, ["0"]);
        let change = &change;
        let others: Vec<_> = (1..CALLERS)
            .map(|number| scope.spawn(move || change(number)))
            .collect();
        while store.made() < CALLERS {
            std::thread::yield_now();
        }
        assert!(store.snapshot().revoked.is_empty(), "nothing is on disk");
        let [of_first, of_others] = outcomes;
        let is_first_saved = of_first.is_ok();
        end.send(of_first).unwrap();
        let mut found = vec![first.join().unwrap()];
        let mut left = CALLERS - 1;
        let mut of_others = Some(of_others);
        while left > 0 {
            let saved = began.recv().unwrap().revoked.len();
            assert!(others.iter().any(|other| !other.is_finished()));
            if is_first_saved {
                assert_eq!(saved, CALLERS, "all who wait share one save");
                left = 0;
            } else {
                left = CALLERS - 1 - saved;
            }
            end.send(of_others.take().unwrap_or(Ok(()))).unwrap();
        }
        found.extend(others.into_iter().map(|other| other.join().unwrap()));
        found
    });
    assert!(
        began.try_recv().is_err(),
        "there is no save without a change"
    );
    let follow_ups = follow_ups.lock().clone();
    (store.snapshot(), found, follow_ups)
}

#[test]
fn who_waits_shares_one_save_and_what_follows_is_done_in_order() {
    let (state, found, follow_ups) = at_once([Ok(()), Ok(())]);
    assert!(found.iter().all(|(_, is_saved)| *is_saved));
    assert_eq!(state.revoked.len(), found.len());
    assert_eq!(follow_ups, **state.revoked);
}

#[test]
fn a_failed_save_fails_all_that_were_in_it_and_nothing_of_them_has_happened() {
    let (state, found, follow_ups) = at_once([Ok(()), Err(full_disk())]);
    let saved = found.iter().filter(|(_, is_saved)| *is_saved);
    assert_eq!(saved.count(), 1);
    assert_eq!(
        (&**state.revoked, &*follow_ups),
        (&["0".to_owned()][..], &["0".to_owned()][..])
    );
}

/// They may then share a save or have several.
#[test]
fn what_was_made_on_top_of_a_failed_save_is_made_again_without_it() {
    let (state, found, follow_ups) = at_once([Err(full_disk()), Ok(())]);
    for (name, is_saved) in &found {
        assert_eq!(
            (*is_saved, state.revoked.contains(name)),
            (name != "0", name != "0")
        );
    }
    assert_eq!(follow_ups, **state.revoked);
}

/// Answers about known facts are about the state on disk.
#[test]
fn what_is_not_worth_a_save_shares_that_of_what_it_was_made_on() {
    let (begun, began) = crossbeam_channel::bounded(0);
    let (end, ended) = crossbeam_channel::bounded(0);
    let save = move |state: &RelayState| {
        begun.send(state.revoked.len()).unwrap();
        ended.recv().unwrap()
    };
    let mut state = RelayState::default();
    let connector = super::super::state::tests::connector();
    state.connectors.insert("one".into(), connector.into());
    let store = StateStore::new(state, Box::new(Saves(save)));
    let call = |at: &str| {
        let called = store.update(|state| {
            let one = state.connectors.get_mut("one").unwrap();
            one.caller.0.label = at.to_owned();
            Ok::<_, Error>(state.revoked.len())
        });
        called.unwrap()
    };
    let called_at = || store.snapshot().connectors["one"].caller.label.clone();
    assert_eq!(
        (call("alone"), called_at().as_str()),
        (0, "alone"),
        "nothing is written"
    );
    for (round, outcome, seen) in [(0, Ok(()), 1), (1, Err(full_disk()), 1)] {
        let (name, at) = (format!("must-{round}"), format!("later-{round}"));
        std::thread::scope(|scope| {
            let made = store.made();
            let must = scope.spawn(|| {
                store.update(|state| {
                    turn_out(state, &name);
                    Ok::<_, Error>(())
                })
            });
            assert_eq!(began.recv().unwrap(), round + 1);
            let later = scope.spawn(|| call(&at));
            while store.made() < made + 2 {
                std::thread::yield_now();
            }
            assert_ne!(called_at(), at);
            let is_kept = outcome.is_ok();
            end.send(outcome).unwrap();
            assert_eq!(must.join().unwrap().is_ok(), is_kept);
            assert_eq!((later.join().unwrap(), called_at()), (seen, at.clone()));
        });
    }
    assert!(began.try_recv().is_err());
}

#[test]
fn what_the_disk_does_not_take_has_happened_only_where_it_may() {
    let save = |_: &RelayState| Err(full_disk());
    let store = StateStore::new(RelayState::default(), Box::new(Saves(save)));
    let update = |name: &str, saving| {
        store.update_saving(|state| {
            turn_out(state, name);
            Ok::<_, Error>(((), saving))
        })
    };
    assert!(update("not", Saving::First).is_err());
    assert!(update("at once", Saving::AtOnce).unwrap().1.is_err());
    let unchanged = || {
        store
            .update_saving(|_| Ok::<_, Error>(((), Saving::First)))
            .unwrap()
            .1
    };
    assert!(unchanged().is_err(), "it is tried again with each call");
    assert_eq!(**store.snapshot().revoked, ["at once"]);
    let store = StateStore::new(RelayState::default(), Box::new(Saves(save)));
    let unchanged = || {
        store
            .update_saving(|_| Ok::<_, Error>(((), Saving::First)))
            .unwrap()
            .1
    };
    assert!(unchanged().is_ok(), "nothing was written");
}

/// A change that counts at once is made while another one is saved, which fails or not; and then a third one that does
/// not.
#[test]
fn what_counts_at_once_is_neither_undone_nor_made_twice_by_a_save_before_it() {
    for first in [Ok(()), Err(full_disk())] {
        let (store, began, end) = at_hand();
        let update = |name: &str, saving| {
            let updated = store.update_saving(|state| {
                if state.revoked.iter().any(|known| known == name) {
                    return Err(Error::Form("made twice".into()));
                }
                turn_out(state, name);
                Ok::<_, Error>(((), saving))
            });
            updated.map(|((), saved)| saved.is_ok())
        };
        std::thread::scope(|scope| {
            let is_first_kept = first.is_ok();
            let one = scope.spawn(|| update("one", Saving::AtOnce));
            assert_eq!(**began.recv().unwrap().revoked, ["one"]);
            let two = scope.spawn(|| update("two", Saving::AtOnce));
            while store.snapshot().revoked.len() < 2 {
                std::thread::yield_now();
            }
            let made = store.made();
            let three = scope.spawn(|| update("three", Saving::First));
            while store.made() == made {
                std::thread::yield_now();
            }
            end.send(first).unwrap();
            assert_eq!(one.join().unwrap().unwrap(), is_first_kept);
            let shown = store.snapshot().revoked.clone();
            assert_eq!(**shown, ["one", "two"], "nothing goes back");
            while !(two.is_finished() && three.is_finished()) {
                if began
                    .recv_timeout(std::time::Duration::from_millis(10))
                    .is_ok()
                {
                    end.send(Ok(())).unwrap();
                }
            }
            assert!(two.join().unwrap().unwrap());
            assert!(three.join().unwrap().unwrap());
        });
        assert_eq!(**store.snapshot().revoked, ["one", "two", "three"]);
    }
}

#[test]
fn a_damaged_state_is_set_aside_each_time_and_never_lost() {
    let contents = ["", "x\n", "00000000\t1\t0\tform\t\"\"\t3\n"];
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    for (number, content) in contents.iter().enumerate() {
        fs::write(dir.path().join(ROWS), content).unwrap();
        assert!(matches!(peek(&home), Err(Error::Unreadable(..))));
        let whole = StateStore::open_whole(&home);
        assert!(matches!(whole.err(), Some(Error::Unreadable(..))));
        let (store, aside) = open(dir.path());
        assert_eq!(fs::read_to_string(&aside[0]).unwrap(), *content);
        assert!(!store.lost().is_empty(), "{content}");
        let name = number.to_string();
        let changed = store.update(|state| {
            turn_out(state, &name);
            Ok::<_, Error>(())
        });
        changed.unwrap();
    }
    assert_eq!(store::files_set_aside(&home).len(), contents.len());
    fs::remove_file(dir.path().join(ROWS)).unwrap();
    assert!(matches!(peek(&home), Err(Error::Unreadable(..))));
    let (store, aside) = open(dir.path());
    assert_eq!(
        (store.lost(), aside.len()),
        (&["it is missing".to_owned()][..], 0)
    );
}

/// The earlier version can repair it better itself.
#[test]
fn a_damaged_earlier_state_is_not_touched() {
    for content in [
        "",
        "{\"version\":1,",
        "[]",
        "[2]",
        "{}",
        "{\"version\":2,\"other\":1}",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        fs::write(dir.path().join(MARK), content).unwrap();
        for opened in [
            peek(&home).map(drop),
            StateStore::open_whole(&home).map(drop),
            StateStore::open(&home, &mut Vec::new()).map(drop),
        ] {
            assert!(matches!(opened, Err(Error::Earlier(..))), "{content}");
        }
        assert_eq!(fs::read_to_string(dir.path().join(MARK)).unwrap(), content);
    }
}

#[test]
fn what_others_may_have_written_is_not_read() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    for name in [MARK, ROWS] {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let path = dir.path().join(name);
        let why = || match StateStore::open(&home, &mut Vec::new()).err() {
            Some(error) => {
                assert!(peek(&home).is_err());
                error.to_string()
            }
            None => String::new(),
        };
        let (store, _) = open(dir.path());
        let changed = store.update(|state| {
            turn_out(state, "one");
            Ok::<_, Error>(())
        });
        changed.unwrap();
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o666, 0o660, 0o602] {
            set(mode);
            assert!(
                why().contains("other users can write"),
                "{mode:o}: {}",
                why()
            );
        }
        set(0o644);
        assert_eq!(why(), "", "what others can read is no more than that");
        fs::rename(&path, dir.path().join("elsewhere")).unwrap();
        symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert!(why().contains("symbolic link"), "{}", why());
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        // Only root can change its owner.
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            assert!(why().contains("another user"), "{}", why());
        }
    }
}

#[test]
fn a_later_versions_state_stays_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join(MARK),
        format!("{{\"version\":{},\"other\":1}}", FORM + 1),
    )
    .unwrap();
    let opened = StateStore::open(&DataDir::at(dir.path()), &mut Vec::new());
    assert!(matches!(opened.err(), Some(Error::Newer(later)) if later == FORM + 1));
    assert!(dir.path().join(MARK).exists());
}

#[test]
fn host_keys_stay_the_same_and_a_damaged_one_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let prints = || {
        let mut aside = Vec::new();
        let keys = host_keys(&DataDir::at(dir.path()), &mut aside).unwrap();
        let prints: Vec<String> = keys.iter().map(|key| key.public().fingerprint()).collect();
        (prints, aside)
    };
    let (first, _) = prints();
    assert_eq!(prints(), (first.clone(), Vec::new()));
    fs::write(dir.path().join("host.ed25519"), "x").unwrap();
    let (second, aside) = prints();
    assert_eq!(aside.len(), 1);
    assert_eq!(first[0], second[0]);
    assert_ne!(first[1], second[1]);
}
