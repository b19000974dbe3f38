use super::*;
use std::fs;

fn open(dir: &Path) -> (StateStore, Vec<PathBuf>) {
    let mut aside = Vec::new();
    let store = StateStore::open(&DataDir::at(dir), &mut aside).unwrap();
    (store, aside)
}

struct Saves<F>(F);

impl<F: FnMut(&Arc<RelayState>) -> Result<(), store::Error> + Send> Keep for Saves<F> {
    fn save(&mut self, state: &Arc<RelayState>) -> Result<(), store::Error> {
        (self.0)(state)
    }
}

fn full_disk() -> store::Error {
    store::Error::TooLarge {
        path: STATE.into(),
        cap: 0,
    }
}

#[test]
fn what_was_changed_is_there_again_and_what_was_refused_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let change = |name: &str, result| {
        store.writer().update(|state| {
            state.revoked.push(name.to_owned());
            result
        })
    };
    change("kept", Ok(())).unwrap();
    assert!(change("not", Err(Error::Form("refused".into()))).is_err());
    assert_eq!(store.snapshot().revoked, ["kept"]);
    let (again, aside) = open(dir.path());
    assert_eq!(again.snapshot().revoked, ["kept"]);
    assert!(aside.is_empty());
}

/// A save that lasts until the test lets it end, so that only the test's own order decides.
#[test]
fn no_reader_waits_for_a_slow_save() {
    let (begun, began) = crossbeam_channel::bounded(0);
    let (end, ended) = crossbeam_channel::bounded::<()>(0);
    let save = move |_: &Arc<RelayState>| {
        begun.send(()).unwrap();
        ended.recv().unwrap();
        Ok(())
    };
    let store = StateStore::new(RelayState::default(), Box::new(Saves(save)));
    let update = |name: &str, saving| {
        let mut writer = store.writer();
        let updated = writer.update_saving(|state| {
            state.revoked.push(name.to_owned());
            Ok::<_, Error>(((), saving))
        });
        updated.and_then(|((), saved)| saved)
    };
    std::thread::scope(|scope| {
        for (name, saving, seen) in [
            ("one", Saving::Must, &[][..]),
            ("two", Saving::Should, &["one", "two"]),
        ] {
            let writer = scope.spawn(move || update(name, saving));
            began.recv().unwrap();
            assert_eq!(store.snapshot().revoked, seen, "while it is saved");
            end.send(()).unwrap();
            writer.join().unwrap().unwrap();
            assert!(store.snapshot().revoked.contains(&name.to_owned()));
        }
    });
}

#[test]
fn what_the_disk_does_not_take_has_happened_only_where_it_may() {
    let save = |_: &Arc<RelayState>| Err(full_disk());
    let store = StateStore::new(RelayState::default(), Box::new(Saves(save)));
    let update = |name: &str, saving| {
        let mut writer = store.writer();
        writer.update_saving(|state| {
            state.revoked.push(name.to_owned());
            Ok::<_, Error>(((), saving))
        })
    };
    assert!(update("not", Saving::Must).is_err());
    assert!(update("at once", Saving::Should).unwrap().1.is_err());
    assert!(update("later", Saving::Later).unwrap().1.is_err());
    assert_eq!(store.snapshot().revoked, ["at once", "later"]);
    let store = StateStore::new(RelayState::default(), Box::new(Saves(save)));
    let mut writer = store.writer();
    let later = writer.update_saving(|_| Ok::<_, Error>(((), Saving::Later)));
    assert!(later.unwrap().1.is_ok(), "nothing was written");
}

#[test]
fn a_damaged_state_is_set_aside_each_time_and_never_lost() {
    let dir = tempfile::tempdir().unwrap();
    for content in ["", "{\"version\":1,", "[]"] {
        fs::write(dir.path().join(STATE), content).unwrap();
        let home = DataDir::at(dir.path());
        assert!(matches!(peek(&home), Err(Error::Unreadable(_))));
        let whole = StateStore::open_whole(&home, &mut Vec::new());
        assert!(matches!(whole.err(), Some(Error::Unreadable(_))));
        let (store, aside) = open(dir.path());
        assert_eq!(fs::read_to_string(&aside[0]).unwrap(), content);
        store.writer().update(|_| Ok::<_, Error>(())).unwrap();
    }
    assert_eq!(store::files_set_aside(&DataDir::at(dir.path())).len(), 3);
}

#[test]
fn what_others_may_have_written_is_not_read() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    for name in [STATE, JOURNAL] {
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
        open(dir.path())
            .0
            .writer()
            .update(|_| Ok::<_, Error>(()))
            .unwrap();
        fs::write(&path, if name == STATE { "{\"version\":2}" } else { "" }).unwrap();
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
        // Only root can give it away.
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            assert!(why().contains("another user"), "{}", why());
        }
    }
}

#[test]
fn a_later_versions_state_stays_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join(STATE),
        format!("{{\"version\":{},\"other\":1}}", VERSION + 1),
    )
    .unwrap();
    let opened = StateStore::open(&DataDir::at(dir.path()), &mut Vec::new());
    assert!(matches!(opened.err(), Some(Error::Newer(later)) if later == VERSION + 1));
    assert!(dir.path().join(STATE).exists());
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
