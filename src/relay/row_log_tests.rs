//! Tests that the log is read as it was written, and that damage is found.

use std::fs;
use std::path::Path;

use super::super::state::CalledAt;
use super::super::state::tests::connector;
use super::super::state_store::tests::turn_out;
use super::super::state_store::{StateStore, peek};
use super::*;

fn change(store: &StateStore, change: impl Fn(&mut RelayState)) {
    let changed = store.update(|state| {
        change(state);
        Ok::<_, Error>(())
    });
    changed.unwrap();
}

fn enrol(store: &StateStore, name: &str) {
    change(store, |state| {
        state.connectors.insert(name.to_owned(), connector().into());
    });
}

fn whole(dir: &Path) -> Result<StateStore, Error> {
    StateStore::open_whole(&DataDir::at(dir))
}

fn assert_read(dir: &Path, state: &RelayState) {
    let store = whole(dir).unwrap();
    assert_eq!(*store.snapshot(), *state);
    assert_eq!(peek(&DataDir::at(dir)).unwrap().as_ref(), Some(state));
}

#[test]
fn each_change_is_appended_and_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = whole(dir.path()).unwrap();
    assert!(
        !dir.path().join(MARK).exists(),
        "nothing is written for nothing"
    );
    enrol(&store, "ann \"tab\\t\n");
    let first = fs::read(dir.path().join(ROWS)).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join(MARK)).unwrap(), MARKER);
    let changes: [fn(&mut RelayState); 6] = [
        |state| drop(state.connectors.insert("bob".into(), connector().into())),
        |state| state.connectors.get_mut("bob").unwrap().api_port = 7,
        |state| drop(state.revoke("bob", "2026-01-01T00:00:00Z").unwrap()),
        |state| {
            state
                .release("ann \"tab\\t\n", "1", "2026-01-02T00:00:00Z")
                .map(drop)
                .unwrap()
        },
        |state| _ = state.traffic.insert("1".into(), [1, 2, 3, 4, 5]),
        |state| drop(state.allow("bob").unwrap()),
    ];
    for made in changes {
        change(&store, made);
        assert!(fs::read(dir.path().join(ROWS)).unwrap().starts_with(&first));
        assert_read(dir.path(), &store.snapshot());
    }
    fs::remove_file(dir.path().join(MARK)).unwrap();
    assert_read(dir.path(), &store.snapshot());
    assert_eq!(fs::read_to_string(dir.path().join(MARK)).unwrap(), MARKER);
    store.end();
    let lines = fs::read_to_string(dir.path().join(ROWS)).unwrap();
    assert_eq!(lines.lines().count(), 5, "all in one change: {lines}");
    assert_read(dir.path(), &store.snapshot());
}

#[test]
fn a_long_log_is_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let store = whole(dir.path()).unwrap();
    let length = || fs::metadata(dir.path().join(ROWS)).unwrap().len();
    let (mut longest, mut before, mut anew) = (0, 0, 0);
    for number in 0..300 {
        enrol(&store, &format!("c{}", number % 50));
        change(&store, |state| {
            state.connectors.get_mut("c0").unwrap().api_port = number;
        });
        anew += usize::from(length() < before);
        before = length();
        longest = longest.max(before);
    }
    assert!(anew > 0 && longest < 3 * SLACK, "{anew} times, {longest}");
    assert_read(dir.path(), &store.snapshot());
}

/// Each write may end at any byte: changes that were answered stand, and the new one counts as a whole or not at all.
#[test]
fn a_write_that_breaks_off_takes_nothing_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = whole(dir.path()).unwrap();
    for name in ["ann", "bob"] {
        enrol(&store, name);
    }
    let (before, content) = (store.snapshot(), fs::read(dir.path().join(ROWS)).unwrap());
    change(&store, |state| {
        drop(state.revoke("bob", "2026-01-01T00:00:00Z").unwrap())
    });
    let after = store.snapshot();
    let all = fs::read(dir.path().join(ROWS)).unwrap();
    for end in content.len()..=all.len() {
        fs::write(dir.path().join(ROWS), &all[..end]).unwrap();
        // Only the end of the last line may be missing.
        let is_after = end + 1 >= all.len();
        let expected = if is_after { &after } else { &before };
        assert_read(dir.path(), expected);
        let store = whole(dir.path()).unwrap();
        enrol(&store, "carol");
        let state = store.snapshot();
        assert_eq!(state.is_revoked("bob"), is_after);
        assert_read(dir.path(), &state);
    }
    for end in 0..content.len() {
        fs::write(dir.path().join(ROWS), &content[..end]).unwrap();
        match whole(dir.path()) {
            Ok(store) => assert!(store.snapshot().connectors.contains_key("ann"), "{end}"),
            Err(error) => assert!(
                error.to_string().contains("relay.rows is damaged"),
                "{error}"
            ),
        }
    }
}

/// Damages each byte of both files: one of its bits, and all of them.
#[test]
fn a_damaged_byte_is_found_and_named_and_forgives_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let store = whole(dir.path()).unwrap();
    for name in ["ann", "bob", "carol"] {
        enrol(&store, name);
    }
    store.end();
    change(&store, |state| {
        drop(state.revoke("bob", "2026-01-01T00:00:00Z").unwrap())
    });
    change(&store, |state| turn_out(state, "carol"));
    let state = store.snapshot();
    drop(store);
    for file in [MARK, ROWS] {
        let path = dir.path().join(file);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            for mask in [1 << (at % 8), 255] {
                let mut damaged = good.clone();
                damaged[at] ^= mask;
                fs::write(&path, &damaged).unwrap();
                match whole(dir.path()) {
                    // The end of the last line is no part of it.
                    Ok(store) => {
                        assert_eq!((file, at), (ROWS, good.len() - 1));
                        assert_eq!(*store.snapshot(), *state);
                    }
                    Err(error) => {
                        let found = error.to_string();
                        assert!(found.contains(file), "{at} {mask}: {found}");
                        if file == ROWS {
                            assert!(
                                found.contains("line ") || found.contains("the end"),
                                "{found}"
                            );
                        }
                        assert_eq!(fs::read(&path).unwrap(), damaged, "nothing was changed");
                    }
                }
            }
        }
        fs::write(&path, &good).unwrap();
    }
    fs::remove_file(dir.path().join(ROWS)).unwrap();
    let found = whole(dir.path()).err().unwrap().to_string();
    assert!(
        found.contains("relay.rows is damaged (it is missing)"),
        "{found}"
    );
}

#[test]
fn what_can_be_read_of_a_damaged_log_lasts_and_who_was_turned_out_is_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = whole(dir.path()).unwrap();
    for name in ["ann", "bob", "carol"] {
        enrol(&store, name);
    }
    change(&store, |state| {
        drop(state.revoke("bob", "2026-01-01T00:00:00Z").unwrap())
    });
    drop(store);
    let good = fs::read_to_string(dir.path().join(ROWS)).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    // The form, three connectors in three changes; then bob is removed, and his revocation is added.
    assert_eq!(lines.len(), 6, "{good}");
    for at in 0..lines.len() {
        let mut damaged = lines.clone();
        damaged[at] = "x";
        fs::write(dir.path().join(ROWS), damaged.join("\n") + "\n").unwrap();
        let mut aside = Vec::new();
        let store = StateStore::open(&DataDir::at(dir.path()), &mut aside).unwrap();
        assert_eq!(store.lost(), [format!("line {} of relay.rows", at + 1)]);
        assert_eq!(aside.len(), 1);
        let state = store.snapshot();
        assert_eq!(state.connectors.contains_key("ann"), at != 1);
        assert!(!state.connectors.contains_key("bob"), "{at}");
        assert_read(dir.path(), &state);
    }
    // A whole change is missing, an old one comes again, the end is missing.
    let mut fewer = lines.clone();
    fewer.remove(2);
    let again = [&lines[..], &lines[1..2]].concat();
    for (content, lost) in [
        (fewer, "lines before line 3 of relay.rows"),
        (again, "line 7 of relay.rows, which is out of order"),
        (lines[..5].to_vec(), "the end of relay.rows"),
    ] {
        fs::write(dir.path().join(ROWS), content.join("\n") + "\n").unwrap();
        let is_torn = lost.starts_with("the end");
        assert_eq!(whole(dir.path()).is_ok(), is_torn, "{lost}");
        if !is_torn {
            let store = StateStore::open(&DataDir::at(dir.path()), &mut Vec::new()).unwrap();
            assert_eq!(store.lost(), [lost]);
        }
    }
}

/// All rows are in memory: a file that somebody else has changed is written anew.
#[test]
fn a_log_that_was_cut_removed_or_replaced_while_it_is_used_is_whole_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(ROWS);
    let store = whole(dir.path()).unwrap();
    enrol(&store, "ann");
    let backup = fs::read(&path).unwrap();
    let harms: [&dyn Fn(); 6] = [
        &|| fs::write(&path, "").unwrap(),
        &|| fs::remove_file(&path).unwrap(),
        &|| fs::write(&path, &backup).unwrap(),
        &|| {
            fs::remove_file(&path).unwrap();
            fs::write(&path, &backup).unwrap();
        },
        &|| {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        },
        &|| {
            fs::rename(&path, dir.path().join("elsewhere")).unwrap();
            std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        },
    ];
    for (number, harm) in harms.iter().enumerate() {
        harm();
        enrol(&store, &format!("c{number}"));
        assert_read(dir.path(), &store.snapshot());
        enrol(&store, &format!("d{number}"));
        assert_read(dir.path(), &store.snapshot());
    }
    assert_eq!(store.snapshot().connectors.len(), 13);
}

#[test]
fn what_the_disk_does_not_take_is_refused_and_all_is_written_next() {
    let dir = tempfile::tempdir().unwrap();
    let store = whole(dir.path()).unwrap();
    enrol(&store, "ann");
    let (path, elsewhere) = (dir.path().join(ROWS), dir.path().join("elsewhere"));
    fs::rename(&path, &elsewhere).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("full"), "").unwrap();
    let refused = store.update(|state| {
        turn_out(state, "refused");
        Ok::<_, Error>(())
    });
    assert!(refused.is_err() && store.snapshot().revoked.is_empty());
    fs::remove_dir_all(&path).unwrap();
    fs::rename(&elsewhere, &path).unwrap();
    change(&store, |state| turn_out(state, "kept"));
    assert_eq!(**store.snapshot().revoked, ["kept"]);
    assert_read(dir.path(), &store.snapshot());
}

#[test]
fn what_may_be_lost_is_kept_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = whole(dir.path()).unwrap();
    enrol(&store, "ann");
    let written = fs::read(dir.path().join(ROWS)).unwrap();
    change(&store, |state| {
        let ann = state.connectors.get_mut("ann").unwrap();
        ann.called_at.note(&CalledAt::at("2026-01-01T00:00:00Z"));
    });
    assert_eq!(fs::read(dir.path().join(ROWS)).unwrap(), written);
    store.end();
    let again = whole(dir.path()).unwrap().snapshot();
    assert_eq!(
        again.connectors["ann"].called_at.to_string(),
        "2026-01-01T00:00:00Z"
    );
}
