//! Tests that states of earlier versions are read.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::state::tests::connector;
use super::super::state_store::{StateStore, peek};
use super::*;

/// A state of form 2 with three connectors, one of them revoked, and everything else that it can contain.
fn document() -> Value {
    let ann = serde_json::to_value(connector()).unwrap();
    json!({
        "version": 2,
        "number": 7,
        "connectors": {"ann": ann, "bob": ann},
        "revoked": ["old", "carol"],
        "revocations": {"carol": {"at": "2026-01-01T00:00:00Z", "connector": ann}},
        "reserved": [{"connector": "ann", "site": "shop", "since": "2026-01-01T00:00:00Z"}],
        "forbidden_tokens": [serde_json::to_value(SecretHash::of("token")).unwrap()],
        "invites": [],
    })
}

/// A change of that: bob is revoked, and dave is new.
fn change() -> Value {
    let mut rest = document();
    rest["connectors"] = json!({});
    rest["number"] = 0.into();
    rest["revoked"] = json!(["old", "carol", "bob"]);
    let dave = serde_json::to_value(connector()).unwrap();
    json!({"from": 7, "to": 9, "connectors": {"bob": null, "dave": dave}, "rest": rest})
}

fn write(dir: &Path, document: &Value, journal: &str) {
    fs::write(dir.join(MARK), document.to_string()).unwrap();
    fs::write(dir.join(JOURNAL), journal).unwrap();
    fs::write(dir.join(FIGURES), "{\"1\":[5,1,2,3,4]}").unwrap();
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "run")
        .map(|name| name.split("-20").next().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn all_of_it_is_moved_once_and_the_old_files_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let torn = &change().to_string()[..90];
    let journal = format!("{}\n{torn}", change());
    write(dir.path(), &document(), &journal);
    let before = peek(&home).unwrap().unwrap();
    assert_eq!(
        names(dir.path()).len(),
        3,
        "whoever only looks moves nothing"
    );
    let store = StateStore::open_whole(&home).unwrap();
    let state = store.snapshot();
    assert_eq!(*state, before);
    assert_eq!(state.connectors.keys().collect::<Vec<_>>(), ["ann", "dave"]);
    assert_eq!(**state.revoked, ["old", "carol", "bob"]);
    assert!(state.revocations["carol"].connector.is_some());
    assert_eq!(state.reserved.len(), 1);
    assert!(state.forbidden_tokens[0].is("token"));
    assert_eq!(state.traffic["1"], [5, 1, 2, 3, 4]);
    let files = [
        "figures.json.earlier",
        "relay.journal.earlier",
        "relay.json",
        "relay.json.earlier",
        "relay.rows",
    ];
    assert_eq!(names(dir.path()), files);
    drop(store);
    for _ in 0..2 {
        let again = StateStore::open_whole(&home).unwrap();
        assert_eq!(*again.snapshot(), *state);
        assert_eq!(names(dir.path()), files, "once");
    }
}

/// A move that a crash interrupted begins again, whatever it had written.
#[test]
fn what_was_moved_by_half_is_moved_again() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    write(dir.path(), &document(), "");
    fs::write(dir.path().join(super::super::row_log::ROWS), "half").unwrap();
    let state = StateStore::open_whole(&home).unwrap().snapshot();
    assert_eq!(state.connectors.len(), 2);
    let kept = fs::read_dir(dir.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let kept = kept.filter(|path| path.to_string_lossy().contains("relay.rows.replaced"));
    let kept: Vec<_> = kept.collect();
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "half");
}

#[test]
fn a_damaged_one_stays_as_it_is() {
    let whole = change().to_string();
    for (file, document, journal) in [
        (JOURNAL, document(), whole.replacen('{', "[", 1) + "\n"),
        (
            JOURNAL,
            document(),
            whole.replacen("\"from\":7", "\"from\":8", 1) + "\n",
        ),
        (
            MARK,
            json!({"version": 2, "revokee": ["ann"]}),
            String::new(),
        ),
        (MARK, json!({"version": 1, "number": "x"}), String::new()),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        write(dir.path(), &document, &journal);
        let expected = format!("{file} of an earlier version is damaged (");
        for opened in [
            StateStore::open_whole(&home).err(),
            StateStore::open(&home, &mut Vec::new()).err(),
        ] {
            let refused = opened.unwrap().to_string();
            assert!(refused.contains(&expected), "{refused}");
        }
        assert_eq!(names(dir.path()).len(), 3);
        assert_eq!(
            fs::read_to_string(dir.path().join(MARK)).unwrap(),
            document.to_string()
        );
    }
}

/// The journal alone may have said that somebody was revoked; the counters alone are still valid.
#[test]
fn without_its_main_file_a_journal_is_damage_and_counters_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    write(dir.path(), &document(), &format!("{}\n", change()));
    fs::remove_file(dir.path().join(MARK)).unwrap();
    let refused = StateStore::open(&home, &mut Vec::new()).err().unwrap();
    assert!(
        refused
            .to_string()
            .contains("relay.journal of an earlier version")
    );
    assert_eq!(names(dir.path()).len(), 2);
    fs::remove_file(dir.path().join(JOURNAL)).unwrap();
    let store = StateStore::open_whole(&home).unwrap();
    assert_eq!(store.snapshot().traffic.len(), 1);
}

#[test]
fn the_enrol_token_of_form_1_is_the_one_that_all_share() {
    let token = "t".repeat(40);
    let mut document = document();
    document["version"] = 1.into();
    document["enroll_token"] = serde_json::to_value(SecretHash::of(&token)).unwrap();
    let earlier: Earlier = serde_json::from_value(document).unwrap();
    let mut state = earlier.into_state();
    let invite = state.invites.of_token(&token).unwrap().clone();
    assert!(invite.is_common && invite.check("9999").is_ok());
    let of_ann = state.connectors["ann"].invite.clone();
    assert_eq!(
        of_ann.unwrap().id,
        invite.id,
        "it has let in whoever is known"
    );
    assert!(state.is_revoked("old"));
    assert!(state.allow("old").unwrap().connector.is_none());
}
