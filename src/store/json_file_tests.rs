//! Tests of documents in files.

use serde::Deserialize;

use super::*;

#[derive(Default, Serialize, Deserialize)]
struct Note {
    #[serde(default)]
    text: String,
}

struct Machine {
    root: tempfile::TempDir,
}

impl Machine {
    fn new(id: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/machine-id"), id).unwrap();
        Self { root }
    }

    fn file(&self, home: &DataDir, purpose: &'static str) -> JsonFile<Note> {
        JsonFile::sealed(home.clone(), ".f", purpose).on(self.root.path())
    }
}

fn put(file: &JsonFile<Note>, text: &str) -> Result<(), Error> {
    file.update(|note| {
        text.clone_into(&mut note.text);
        Ok(())
    })
}

#[track_caller]
fn content(file: &JsonFile<Note>) -> String {
    file.look().unwrap().expect("there is a file").text
}

/// Path of the unreadable file after it was set aside.
#[track_caller]
fn aside(file: &JsonFile<Note>) -> PathBuf {
    let before = files_set_aside(&file.file.home);
    assert!(matches!(file.look(), Err(Error::Damaged { .. })));
    assert!(file.read().unwrap().is_none());
    let mut after = files_set_aside(&file.file.home);
    after.retain(|path| !before.contains(path));
    assert_eq!(after.len(), 1);
    after.remove(0)
}

#[test]
fn what_was_written_is_read_and_reading_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path().join("h"));
    let machine = Machine::new("a");
    let plain = JsonFile::new(home.clone(), "f.json", 1024);
    for file in [machine.file(&home, "p"), plain] {
        assert!(file.read().unwrap().is_none());
        put(&file, "").unwrap();
        assert_eq!(content(&file), "");
        put(&file, "text").unwrap();
        assert_eq!(content(&file), "text");
    }
    let plain = fs::read_to_string(home.dir().join("f.json")).unwrap();
    assert_eq!(plain, "{\n  \"text\": \"text\"\n}\n");
    let none = DataDir::at(dir.path().join("none"));
    assert!(machine.file(&none, "p").read().unwrap().is_none() && !none.dir().exists());
}

#[test]
fn a_file_from_another_machine_is_set_aside_twice_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let (here, elsewhere) = (Machine::new("here"), Machine::new("elsewhere"));
    put(&elsewhere.file(&home, "p"), "one").unwrap();
    let one = fs::read(dir.path().join(".f")).unwrap();
    let first = aside(&here.file(&home, "p"));
    assert!(here.file(&home, "p").read().unwrap().is_none());

    put(&elsewhere.file(&home, "p"), "two").unwrap();
    let two = fs::read(dir.path().join(".f")).unwrap();
    put(&here.file(&home, "p"), "three").unwrap();
    assert_eq!(content(&here.file(&home, "p")), "three");

    let kept = files_set_aside(&home);
    assert_eq!(kept.len(), 2);
    assert!(kept.contains(&first));
    let contents: Vec<_> = kept.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(contents.contains(&one) && contents.contains(&two));
    let name = first.file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        name.starts_with(".f.unreadable-2") && name.len() == 30,
        "{name}"
    );
}

#[test]
fn another_purpose_is_another_key() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let machine = Machine::new("a");
    put(&machine.file(&home, "credentials"), "x").unwrap();
    aside(&machine.file(&home, "applications"));
}

#[test]
fn too_large_a_document_is_not_written_and_too_large_a_sealed_file_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let file = Machine::new("a").file(&home, "p");
    let cap = usize::try_from(SEALED_CAP).unwrap();
    put(&file, "old").unwrap();
    let large = put(&file, &"x".repeat(cap));
    assert!(matches!(large, Err(Error::TooLarge { .. })));
    assert_eq!(content(&file), "old");
    fs::write(file.file.path(), vec![0; cap + 1]).unwrap();
    aside(&file);

    let plain: JsonFile<Note> = JsonFile::new(home.clone(), "f.json", 64);
    assert!(matches!(
        put(&plain, &"x".repeat(64)),
        Err(Error::TooLarge { .. })
    ));
    fs::write(plain.file.path(), vec![b' '; 65]).unwrap();
    assert!(matches!(plain.read(), Err(Error::TooLarge { .. })));
}

#[test]
fn a_failed_change_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = Machine::new("a").file(&DataDir::at(dir.path()), "p");
    put(&file, "old").unwrap();
    let refused: Result<(), Error> = file.update(|note| {
        assert_eq!(note.text, "old");
        note.text.clear();
        Err(Error::NoHome)
    });
    assert!(refused.is_err());
    assert_eq!(content(&file), "old");
}

#[test]
fn what_is_no_such_document_is_kept_aside() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let plain: JsonFile<Note> = JsonFile::new(home.clone(), "f.json", 64);
    for content in ["", "{", "[]", "[\"x\"]", "null", "{\"text\":7}"] {
        fs::write(plain.file.path(), content).unwrap();
        assert_eq!(fs::read_to_string(aside(&plain)).unwrap(), content);
    }
    let machine = Machine::new("a");
    put(&machine.file(&home, "p"), "from a newer version").unwrap();
    let mut other: JsonFile<std::collections::BTreeMap<String, u8>> =
        JsonFile::sealed(home.clone(), ".f", "p");
    other.file.seal = machine.file(&home, "p").file.seal;
    assert!(other.read().unwrap().is_none());
    let kept = files_set_aside(&home);
    let kept = kept
        .iter()
        .find(|path| path.to_string_lossy().contains("/.f."));
    fs::rename(kept.unwrap(), other.file.path()).unwrap();
    assert_eq!(content(&machine.file(&home, "p")), "from a newer version");
}

#[test]
fn retired_files_and_copies_stay_apart() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path().join("h"));
    let file = Machine::new("a").file(&home, "p");
    assert_eq!(file.retire("reset").unwrap(), None);
    assert_eq!(file.keep_copy("reset").unwrap(), None);
    put(&file, "one").unwrap();
    let first = file.retire("reset").unwrap().unwrap();
    put(&file, "two").unwrap();
    let copy = file.keep_copy("reset").unwrap().unwrap();
    assert_eq!(content(&file), "two");
    let second = file.retire("reset").unwrap().unwrap();
    assert!(first != copy && copy != second && first != second);
    assert_eq!(fs::read(copy).unwrap(), fs::read(second).unwrap());
    assert!(file.read().unwrap().is_none());
    assert!(files_set_aside(&home).is_empty());
}

/// A machine without any id that loses its random one cannot open its files any more, and says so.
#[test]
fn without_any_id_the_random_one_is_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let machine = Machine {
        root: tempfile::tempdir().unwrap(),
    };
    let file = machine.file(&home, "p");
    put(&file, "x").unwrap();
    assert_eq!(content(&file), "x");
    fs::remove_file(dir.path().join(".machine-id")).unwrap();
    aside(&file);
    put(&file, "y").unwrap();
    assert_eq!(content(&file), "y");
}

#[test]
fn it_is_ordinary_json_of_any_length() {
    let value = vec!["\u{e4}\"\n".repeat(300); 20];
    let json = super::to_json(&value).unwrap();
    assert_eq!(*json, serde_json::to_vec(&value).unwrap());
}
