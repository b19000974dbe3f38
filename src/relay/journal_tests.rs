use super::super::secret::SecretHash;
use super::super::state_store::StateStore;
use super::*;
use std::fs;
use std::path::{Path, PathBuf};

const STATE: &str = "relay.json";

/// With a journal from the second save on.
fn files(dir: &Path) -> StateFiles {
    let home = DataDir::at(dir);
    let file = JsonFile::new(home.clone(), STATE, 1 << 20);
    StateFiles {
        large: 0,
        ..StateFiles::new(home, file)
    }
}

fn connector(label: &str) -> Connector {
    let mut connector = Connector {
        password: SecretHash::of(&"p".repeat(43)),
        api_port: 30_000,
        enrolled_at: String::new(),
        called_at: String::new(),
        caller: Default::default(),
        invite: None,
        applications: Vec::new().into(),
    };
    label.clone_into(&mut connector.caller.label);
    connector
}

/// The state after a change of it.
fn changed(before: &Arc<RelayState>, change: impl FnOnce(&mut RelayState)) -> Arc<RelayState> {
    let mut state = RelayState::clone(before);
    change(&mut state);
    state.number += 1;
    Arc::new(state)
}

/// Twenty connectors, so that one of them is far less than all.
fn many() -> Arc<RelayState> {
    changed(&Arc::default(), |state| {
        for number in 0..20 {
            let name = format!("c{number}");
            state.connectors.insert(name, connector("first"));
        }
    })
}

/// Reads the state on disk as the next start does, with what was set aside.
fn read(dir: &Path) -> (Arc<RelayState>, Vec<PathBuf>) {
    let mut aside = Vec::new();
    let store = StateStore::open(&DataDir::at(dir), &mut aside).unwrap();
    (store.snapshot(), aside)
}

fn is_read(dir: &Path, state: &RelayState) {
    let (found, aside) = read(dir);
    assert!(aside.is_empty(), "{aside:?}");
    assert_eq!(to_json(&*found), to_json(state));
}

#[test]
fn a_change_of_a_large_state_is_a_line_and_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = files(dir.path());
    let all = || fs::read(dir.path().join(STATE)).unwrap();
    let mut state = many();
    files.save(&state).unwrap();
    let first = all();
    let changes: [fn(&mut RelayState); 5] = [
        |state| drop(state.connectors.insert("new".into(), connector("x"))),
        |state| state.connectors.get_mut("c3").unwrap().api_port = 7,
        |state| drop(state.connectors.remove("c4")),
        |state| state.revoked.push("gone".into()),
        |state| drop(state.revoke("c5", "2026-01-01T00:00:00Z").unwrap()),
    ];
    for change in changes {
        state = changed(&state, change);
        files.save(&state).unwrap();
        assert_eq!(all(), first, "all is not written anew");
        is_read(dir.path(), &state);
    }
    files.end(&state).unwrap();
    assert_ne!(all(), first);
    assert!(!dir.path().join(JOURNAL).exists(), "one file at the end");
    is_read(dir.path(), &state);
}

#[test]
fn a_small_state_is_written_whole_and_a_long_journal_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut small = StateFiles {
        large: LARGE,
        ..files(dir.path())
    };
    let mut state = many();
    for _ in 0..3 {
        state = changed(&state, |state| state.revoked.push("x".into()));
        small.save(&state).unwrap();
        assert!(!dir.path().join(JOURNAL).exists());
        is_read(dir.path(), &state);
    }
    let mut files = files(dir.path());
    let mut longest = 0;
    for number in 0..200 {
        state = changed(&state, |state| {
            state
                .connectors
                .insert("c0".into(), connector(&number.to_string()));
        });
        files.save(&state).unwrap();
        let length = fs::metadata(dir.path().join(JOURNAL)).map_or(0, |of| of.len());
        longest = longest.max(length);
    }
    assert!(longest > 0 && longest < 2 * fs::metadata(dir.path().join(STATE)).unwrap().len());
    is_read(dir.path(), &state);
}

#[test]
fn a_line_that_was_not_finished_and_lines_that_are_in_the_state_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = files(dir.path());
    let first = many();
    files.save(&first).unwrap();
    let second = changed(&first, |state| state.revoked.push("one".into()));
    files.save(&second).unwrap();
    let journal = dir.path().join(JOURNAL);
    let lines = fs::read(&journal).unwrap();
    // Ended while it wrote the next one.
    fs::write(
        &journal,
        [&lines[..], b"{\"from\":2,\"to\":3,\"conn"].concat(),
    )
    .unwrap();
    is_read(dir.path(), &second);
    // Ended before it could remove what it had written into the state.
    files.end(&second).unwrap();
    fs::write(&journal, &lines).unwrap();
    is_read(dir.path(), &second);
    let third = changed(&second, |state| state.revoked.push("two".into()));
    files.save(&third).unwrap();
    is_read(dir.path(), &third);
}

/// Revoked connectors stay revoked after a further start, and whatever stands before that in the journal.
#[test]
fn what_can_be_read_of_a_damaged_journal_counts_and_lasts() {
    for at in 0..=2 {
        let dir = tempfile::tempdir().unwrap();
        let mut files = files(dir.path());
        let first = many();
        files.save(&first).unwrap();
        let second = changed(&first, |state| state.revoked.push("one".into()));
        files.save(&second).unwrap();
        let third = changed(&second, |state| state.revoked.push("two".into()));
        files.save(&third).unwrap();
        let journal = dir.path().join(JOURNAL);
        let text = fs::read_to_string(&journal).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(at, "x");
        fs::write(&journal, lines.join("\n") + "\n").unwrap();
        let (found, aside) = read(dir.path());
        assert_eq!(aside.len(), 1);
        assert_eq!(to_json(&*found), to_json(&*third));
        is_read(dir.path(), &third);
        // One of the lines is lost.
        let mut lines: Vec<&str> = text.lines().collect();
        lines[0] = "x";
        fs::remove_file(dir.path().join(STATE)).unwrap();
        fs::write(&journal, lines.join("\n") + "\n").unwrap();
        let (found, _) = read(dir.path());
        assert_eq!(found.revoked, ["one", "two"]);
        is_read(dir.path(), &found);
    }
}

#[test]
fn a_journal_that_is_damaged_or_of_another_state_is_set_aside_and_kept() {
    for content in ["{}\n", "[1]\n", "{\"from\":7,\"to\":8,\"connectors\":{}}\n"] {
        let dir = tempfile::tempdir().unwrap();
        let mut files = files(dir.path());
        let first = many();
        files.save(&first).unwrap();
        fs::write(dir.path().join(JOURNAL), content).unwrap();
        let (found, aside) = read(dir.path());
        assert_eq!(to_json(&*found), to_json(&*first));
        assert_eq!(fs::read_to_string(&aside[0]).unwrap(), content);
        is_read(dir.path(), &first);
        // The journal without its state.
        fs::rename(&aside[0], dir.path().join(JOURNAL)).unwrap();
        fs::remove_file(dir.path().join(STATE)).unwrap();
        assert_eq!(read(dir.path()).1.len(), 1);
    }
}

#[test]
fn what_the_journal_does_not_take_is_refused_and_all_is_written_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = files(dir.path());
    let first = many();
    files.save(&first).unwrap();
    let in_the_way = dir.path().join(JOURNAL);
    fs::create_dir(&in_the_way).unwrap();
    let refused = changed(&first, |state| state.revoked.push("refused".into()));
    assert!(files.save(&refused).is_err());
    fs::remove_dir(&in_the_way).unwrap();
    is_read(dir.path(), &first);
    let second = changed(&first, |state| state.revoked.push("kept".into()));
    files.save(&second).unwrap();
    assert!(!in_the_way.exists());
    is_read(dir.path(), &second);
}

#[test]
fn what_is_not_worth_a_write_is_saved_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = files(dir.path());
    let first = many();
    files.save(&first).unwrap();
    let mut passed = RelayState::clone(&first);
    passed.connectors.get_mut("c1").unwrap().called_at = "now".into();
    let passed = Arc::new(passed);
    files.pass(&first, &passed);
    is_read(dir.path(), &first);
    // Nor does the next line have it.
    let next = changed(&passed, |state| state.revoked.push("one".into()));
    files.save(&next).unwrap();
    assert_eq!(read(dir.path()).0.connectors["c1"].called_at, "");
    files.end(&next).unwrap();
    is_read(dir.path(), &next);
}

/// Three lines, of which the second turns somebody out and the third says something of another connector, or a lot more.
#[test]
fn a_line_that_may_have_turned_somebody_out_is_missed() {
    for (last, is_sure) in [(false, false), (true, true)] {
        let dir = tempfile::tempdir().unwrap();
        let mut files = files(dir.path());
        let first = many();
        files.save(&first).unwrap();
        let second = changed(&first, |state| {
            state.revoke("c5", "2026-01-01T00:00:00Z").unwrap();
        });
        files.save(&second).unwrap();
        let third = changed(&second, |state| {
            let one = state.connectors.get_mut("c3").unwrap();
            one.api_port = 7;
            if last {
                state.revoked.push("another".into());
            }
        });
        files.save(&third).unwrap();
        let journal = dir.path().join(JOURNAL);
        let whole = fs::read_to_string(&journal).unwrap();
        let damaged = whole.replacen('{', "[", 1);
        fs::write(&journal, &damaged).unwrap();
        let home = DataDir::at(dir.path());
        let mut aside = Vec::new();
        let opened = StateStore::open_whole(&home, &mut aside);
        if is_sure {
            let state = opened.ok().unwrap().snapshot();
            assert_eq!(to_json(&*state), to_json(&*third), "nobody is back");
            assert_eq!(fs::read_to_string(&aside[0]).unwrap(), damaged);
            continue;
        }
        let refused = opened.err().unwrap().to_string();
        assert!(refused.contains("revocation"), "{refused}");
        assert_eq!(fs::read_to_string(&journal).unwrap(), damaged);
        // The operator goes on with what can be read.
        let (state, aside) = read(dir.path());
        assert_eq!((aside.len(), state.connectors["c3"].api_port), (1, 7));
        assert!(StateStore::open_whole(&home, &mut Vec::new()).is_ok());
    }
}
