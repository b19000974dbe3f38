//! Tests of where the key lies, and of what happens without it.

use std::os::unix::fs::PermissionsExt;

use serde::{Deserialize, Serialize};

use super::*;
use crate::store::JsonFile;
use crate::store::json_file::files_set_aside;
use crate::store::seal::Seal;

#[derive(Default, Serialize, Deserialize)]
struct Note {
    text: String,
}

/// A machine with an id, a directory on it, and a place apart.
struct Scene {
    root: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/machine-id"), "here").unwrap();
        Self { root }
    }

    fn place(&self) -> PathBuf {
        self.root.path().join("state/postern/key")
    }

    fn home(&self, name: &str) -> DataDir {
        DataDir::with_key_at(self.root.path().join(name), [self.place()])
    }

    fn file(&self, home: &DataDir) -> JsonFile<Note> {
        JsonFile::sealed(home.clone(), ".f", "p").on(self.root.path())
    }

    fn put(&self, home: &DataDir, text: &str) {
        let note = Note { text: text.into() };
        self.file(home).write(&note).unwrap();
    }

    fn text(&self, home: &DataDir) -> Option<String> {
        self.file(home).read().unwrap().map(|note| note.text)
    }

    fn seal(&self) -> Seal {
        Seal::new("p").on(self.root.path())
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn a_copy_of_the_directory_opens_nothing_without_the_key_and_all_with_it() {
    let scene = Scene::new();
    let home = scene.home("home");
    assert_eq!(key_file(&home).unwrap(), None);
    scene.put(&home, "secret");
    assert_eq!(key_file(&home).unwrap(), Some(scene.place()));
    let mode = fs::metadata(scene.place()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!home.dir().join(INSIDE).exists());

    // Machine and user are equal, so the fingerprint alone would open it.
    let copied = scene.home("copy");
    copy(home.dir(), copied.dir());
    let away = scene.root.path().join("away");
    fs::rename(scene.place(), &away).unwrap();
    assert_eq!(scene.text(&copied), None);
    let aside = files_set_aside(&copied);
    assert_eq!(aside.len(), 1, "as what is unreadable is");
    fs::create_dir_all(scene.place().parent().unwrap()).unwrap();
    fs::rename(&away, scene.place()).unwrap();
    fs::rename(&aside[0], copied.dir().join(".f")).unwrap();
    assert_eq!(scene.text(&copied).unwrap(), "secret");
}

#[test]
fn a_directory_that_is_moved_or_named_otherwise_finds_its_key() {
    let scene = Scene::new();
    scene.put(&scene.home("home"), "x");
    fs::rename(scene.root.path().join("home"), scene.root.path().join("b")).unwrap();
    let other = scene.root.path().join("b.key");
    let moved = DataDir::with_key_at(scene.root.path().join("b"), [other.clone()]);
    assert_eq!(scene.text(&moved).unwrap(), "x");
    scene.put(&moved, "y");
    assert!(!other.exists(), "the known one is used");
    assert_eq!(scene.text(&scene.home("b")).unwrap(), "y");
}

#[test]
fn what_the_first_version_sealed_is_sealed_anew_without_loss() {
    let scene = Scene::new();
    let home = scene.home("home");
    home.lock().unwrap();
    let old = scene.seal().seal_as_first(&home, b"{\"text\":\"old\"}");
    let path = home.dir().join(".f");
    fs::write(&path, &old).unwrap();
    let held = home.lock().unwrap();
    assert_eq!(
        scene.text(&home).unwrap(),
        "old",
        "also while it cannot be written"
    );
    assert_eq!(fs::read(&path).unwrap(), old);
    drop(held);
    assert_eq!(scene.text(&home).unwrap(), "old");
    assert_eq!(fs::read(&path).unwrap()[..5], *b"PSTN\x02");
    assert_eq!(scene.text(&home).unwrap(), "old");
    assert!(files_set_aside(&home).is_empty());
}

#[test]
fn a_newer_form_is_refused_and_stays_where_it_is() {
    let scene = Scene::new();
    let home = scene.home("home");
    scene.put(&home, "x");
    let path = home.dir().join(".f");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4] = 3;
    fs::write(&path, &bytes).unwrap();
    let file = scene.file(&home);
    for error in [
        file.read().err().unwrap(),
        file.update(|_| Ok::<_, Error>(())).unwrap_err(),
    ] {
        assert!(error.to_string().contains("newer version"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert!(files_set_aside(&home).is_empty());
}

#[test]
fn the_key_lies_in_the_directory_where_there_is_no_other_place() {
    let scene = Scene::new();
    let inside = |home: &DataDir| home.dir().join(INSIDE).exists() && !scene.place().exists();
    // Others could put theirs there.
    let state = scene.root.path().join("state/postern");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let home = scene.home("a");
    scene.put(&home, "x");
    assert!(inside(&home) && scene.text(&home).as_deref() == Some("x"));
    // Nothing can be made there.
    fs::remove_dir_all(scene.root.path().join("state")).unwrap();
    fs::write(scene.root.path().join("state"), "").unwrap();
    let home = scene.home("b");
    scene.put(&home, "x");
    assert!(inside(&home) && scene.text(&home).as_deref() == Some("x"));
    // The machine has no id: what lies apart may not live as long.
    fs::remove_file(scene.root.path().join("state")).unwrap();
    fs::remove_file(scene.root.path().join("etc/machine-id")).unwrap();
    let home = scene.home("c");
    scene.put(&home, "x");
    assert!(inside(&home) && scene.text(&home).as_deref() == Some("x"));
}

#[test]
fn what_is_no_key_is_none_and_is_left_as_it_is() {
    let scene = Scene::new();
    let home = scene.home("home");
    scene.put(&home, "x");
    fs::write(scene.place(), "garbage").unwrap();
    let place = scene.place();
    assert_eq!(scene.text(&home), None);
    scene.put(&home, "y");
    assert_eq!(scene.text(&home).unwrap(), "y", "sealed with another one");
    assert_eq!(fs::read_to_string(&place).unwrap(), "garbage");
    fs::write(home.dir().join(PLACE), "relative/key\n").unwrap();
    assert_eq!(scene.text(&home).unwrap(), "y");
}

#[test]
fn all_who_begin_at_once_take_one_key() {
    let scene = Scene::new();
    let homes: Vec<DataDir> = (0..8).map(|n| scene.home(&n.to_string())).collect();
    std::thread::scope(|scope| {
        for home in &homes {
            scope.spawn(|| scene.put(home, "x"));
        }
    });
    assert!(
        homes
            .iter()
            .all(|home| scene.text(home).as_deref() == Some("x"))
    );
    let beside = fs::read_dir(scene.place().parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 1, "nothing is left over");
}

#[test]
fn a_key_apart_that_is_not_this_users_alone_is_refused() {
    let scene = Scene::new();
    let home = scene.home("home");
    scene.put(&home, "x");
    let (file, dir) = (scene.place(), scene.place().parent().unwrap().to_owned());
    let refused = |reason: &str| {
        let read = scene.file(&home).read().err().unwrap();
        let wrote = scene.file(&home).write(&Note::default()).unwrap_err();
        for error in [read, wrote] {
            let wanted = format!("will not use the key {}: {reason}", file.display());
            assert_eq!(error.to_string(), wanted);
            assert!(error.hint().contains("chown"), "{}", error.hint());
        }
        assert!(files_set_aside(&home).is_empty(), "nothing is lost");
    };
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for mode in [0o770, 0o707] {
        set(&dir, mode);
        refused("other users can replace files in its directory");
    }
    for mode in [0o1777, 0o755] {
        set(&dir, mode);
        assert_eq!(scene.text(&home).unwrap(), "x");
    }
    for mode in [0o660, 0o602] {
        set(&file, mode);
        refused("other users can write to it");
    }
    set(&file, 0o600);
    assert_eq!(scene.text(&home).unwrap(), "x");
    // Only root can give something to another user.
    if rustix::process::geteuid().is_root() {
        let give = |path: &Path, user| std::os::unix::fs::chown(path, Some(user), None).unwrap();
        give(&file, 1);
        refused("it belongs to another user");
        give(&file, 0);
        give(&dir, 1);
        refused("its directory belongs to another user");
        give(&dir, 0);
        assert_eq!(scene.text(&home).unwrap(), "x");
    }
}

fn content(opened: Opened) -> Option<Vec<u8>> {
    match opened {
        Opened::Content(content, false) => Some(content.to_vec()),
        _ => None,
    }
}

fn sealed(home: &DataDir, text: &[u8]) -> Vec<u8> {
    let content = Zeroizing::new(text.to_vec());
    let seal = Seal::new("p").seal(home, &home.lock().unwrap(), content);
    seal.unwrap()
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let whole = sealed(&home, b"content");
    let open = |purpose: &'static str, sealed: &[u8]| {
        content(Seal::new(purpose).open(&home, sealed).unwrap())
    };
    assert_eq!(open("p", &whole).unwrap(), b"content");
    assert!(open("q", &whole).is_none());
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(open("p", &flipped).is_none(), "bit {bit}");
    }
    for length in 0..whole.len() {
        assert!(open("p", &whole[..length]).is_none(), "cut at {length}");
    }
    let longer = [whole.as_slice(), b"x"].concat();
    assert!(open("p", &longer).is_none());
}

#[test]
fn each_time_it_looks_different_and_nothing_of_the_content_shows() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let [first, second] = [(); 2].map(|()| sealed(&home, b"secret"));
    let header = MAGIC.len() + 1 + KEY_ID;
    assert_eq!(first.len(), header + SALT + NONCE + 6 + TAG);
    assert_eq!(first[..5], *b"PSTN\x02");
    assert_eq!(first[..header], second[..header]);
    assert_ne!(first[header..], second[header..]);
    assert!(!second.windows(6).any(|part| part == b"secret"));
}
