//! Tests of sealed files.

use super::*;

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

    fn file(&self, home: &DataDir, purpose: &'static str) -> SealedFile {
        let mut file = SealedFile::new(home.clone(), ".f", purpose);
        file.machine = self.root.path().to_owned();
        file
    }
}

fn put(file: &SealedFile, text: &str) {
    let stored: Result<(), Error> =
        file.update(|_| Ok((Zeroizing::new(text.as_bytes().to_vec()), ())));
    stored.unwrap();
}

#[track_caller]
fn content(file: &SealedFile) -> String {
    match file.read().unwrap() {
        Sealed::Content(content) => String::from_utf8(content.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn aside(file: &SealedFile) -> PathBuf {
    match file.read().unwrap() {
        Sealed::SetAside(path) => path,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_sealed_is_opened_and_each_write_differs() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path().join("h"));
    let file = Machine::new("a").file(&home, "p");
    assert!(matches!(file.read().unwrap(), Sealed::Absent));
    assert!(!home.dir().exists(), "reading creates nothing");
    put(&file, "");
    assert_eq!(content(&file), "");
    put(&file, "secret");
    let first = fs::read(file.path()).unwrap();
    put(&file, "secret");
    let second = fs::read(file.path()).unwrap();
    assert_eq!(content(&file), "secret");
    assert_eq!(first.len(), HEADER + 6 + TAG);
    assert_eq!(first[..5], *b"PSTN\x01");
    assert_ne!(first[5..HEADER], second[5..HEADER]);
    assert!(!second.windows(6).any(|part| part == b"secret"));
}

#[test]
fn a_file_from_another_machine_is_set_aside_twice_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path());
    let (here, elsewhere) = (Machine::new("here"), Machine::new("elsewhere"));
    put(&elsewhere.file(&home, "p"), "one");
    let one = fs::read(dir.path().join(".f")).unwrap();
    let first = aside(&here.file(&home, "p"));
    assert!(matches!(
        here.file(&home, "p").read().unwrap(),
        Sealed::Absent
    ));

    put(&elsewhere.file(&home, "p"), "two");
    let two = fs::read(dir.path().join(".f")).unwrap();
    put(&here.file(&home, "p"), "three");
    assert_eq!(content(&here.file(&home, "p")), "three");

    let kept = SealedFile::set_aside(&home);
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
    put(&machine.file(&home, "credentials"), "x");
    aside(&machine.file(&home, "applications"));
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let fingerprint_home = tempfile::tempdir().unwrap();
    let fingerprint = Fingerprint::of(&DataDir::at(fingerprint_home.path())).unwrap();
    let whole = seal(&fingerprint, "p", b"content").unwrap();
    assert_eq!(*open(&fingerprint, "p", whole.clone()).unwrap(), b"content");
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&fingerprint, "p", flipped).is_none(), "bit {bit}");
    }
    for length in 0..whole.len() {
        let cut = whole[..length].to_vec();
        assert!(open(&fingerprint, "p", cut).is_none(), "cut at {length}");
    }
    let longer = [whole.as_slice(), b"x"].concat();
    assert!(open(&fingerprint, "p", longer).is_none());
}

#[test]
fn too_large_a_file_is_set_aside_and_none_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = Machine::new("a").file(&DataDir::at(dir.path()), "p");
    let cap = usize::try_from(SEALED_CAP).unwrap();
    put(&file, "old");
    let large: Result<(), Error> = file.update(|_| Ok((Zeroizing::new(vec![0; cap]), ())));
    assert!(matches!(large, Err(Error::TooLarge { .. })));
    assert_eq!(content(&file), "old");
    fs::write(file.path(), vec![0; cap + 1]).unwrap();
    aside(&file);
}

#[test]
fn a_failed_change_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = Machine::new("a").file(&DataDir::at(dir.path()), "p");
    put(&file, "old");
    let refused: Result<(), Error> = file.update(|old| {
        assert_eq!(old, Some(&b"old"[..]));
        Err(Error::NoHome)
    });
    assert!(refused.is_err());
    assert_eq!(content(&file), "old");
}

#[test]
fn content_that_the_check_refuses_is_kept_aside() {
    let dir = tempfile::tempdir().unwrap();
    let file = Machine::new("a").file(&DataDir::at(dir.path()), "p");
    put(&file, "from a newer version");
    let strict = file.clone().with_check(|content| content.starts_with(b"{"));
    let kept = aside(&strict);
    fs::rename(kept, file.path()).unwrap();
    assert_eq!(content(&file), "from a newer version");
}

#[test]
fn retired_files_stay_apart() {
    let dir = tempfile::tempdir().unwrap();
    let home = DataDir::at(dir.path().join("h"));
    let file = Machine::new("a").file(&home, "p");
    assert_eq!(file.retire("reset").unwrap(), None);
    put(&file, "one");
    let first = file.retire("reset").unwrap().unwrap();
    put(&file, "two");
    let second = file.retire("reset").unwrap().unwrap();
    assert_ne!(first, second);
    assert!(matches!(file.read().unwrap(), Sealed::Absent));
    assert!(SealedFile::set_aside(&home).is_empty());
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
    put(&file, "x");
    assert_eq!(content(&file), "x");
    fs::remove_file(dir.path().join(".machine-id")).unwrap();
    aside(&file);
    put(&file, "y");
    assert_eq!(content(&file), "y");
}
