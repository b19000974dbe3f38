//! Sealed files when a writer is killed, the disk is full, or two processes write.
//!
//! The writers are this test binary again, told by an environment variable to be one.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postern::store::{CredentialStore, DataDir, Error, JsonFile, files_set_aside};
use ring::rand::SecureRandom;
use serde::{Deserialize, Serialize};
use support::own_process::again;

/// Tells a child its directory; without it the child's test has nothing to do.
const CHILD: &str = "POSTERN_TEST_VAULT";
/// Number of times a writer is killed.
const KILLS: u32 = 100;
/// Bytes of a content: some pages, so that a write is no single instant.
const LENGTH: usize = 20_000;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Content of the file.
#[derive(Default, Serialize, Deserialize)]
struct Counter {
    content: String,
}

fn file(home: &Path) -> JsonFile<Counter> {
    JsonFile::sealed(DataDir::at(home), ".counter", "test")
}

/// The number in a content, all of whose bytes are checked; 0 where nothing was written.
fn number(Counter { content }: &Counter) -> u64 {
    if content.is_empty() {
        return 0;
    }
    let (number, filling) = content.split_once(' ').unwrap();
    let letter = char::from(b'a' + (number.len() % 26) as u8);
    assert!(filling.len() == LENGTH && filling.chars().all(|c| c == letter));
    number.parse().unwrap()
}

fn content(number: u64) -> String {
    let number = number.to_string();
    let letter = char::from(b'a' + (number.len() % 26) as u8).to_string();
    format!("{number} {}", letter.repeat(LENGTH))
}

fn increment(file: &JsonFile<Counter>) -> Result<u64, Error> {
    file.update(|counter| {
        let next = number(counter) + 1;
        counter.content = content(next);
        Ok(next)
    })
}

/// Returns the number in the file; an unreadable file fails the test.
fn now(file: &JsonFile<Counter>) -> u64 {
    number(&file.look().unwrap().unwrap_or_default())
}

/// A writer in a process of its own; it ends with this value, and with this process.
struct Writer(Child);

impl Writer {
    /// `test` is the child's test; `limit` a shell's words before it starts.
    fn start(home: &Path, test: impl Fn(), limit: &str) -> Self {
        let test = again(test);
        let script = format!("{limit} exec \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, "sh"])
            .arg(test.get_program())
            .args(test.get_args())
            .env(CHILD, home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Everything it prints until its end.
    fn output(mut self) -> String {
        let mut text = String::new();
        self.0
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    /// Waits for a line of its output.
    fn wait_for(&mut self, line: &str) {
        let mut lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|got| got.unwrap().ends_with(line)), "no '{line}'");
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The directory where this process is a child; then also ends it when its parent ends.
fn as_child() -> Option<PathBuf> {
    let home = std::env::var_os(CHILD)?;
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    Some(home.into())
}

/// The child of the first test: writes until it is killed.
#[test]
fn child_writes_for_ever() {
    let Some(home) = as_child() else { return };
    println!("\nwriting");
    loop {
        increment(&file(&home)).unwrap();
    }
}

/// The child of the second test.
#[test]
fn child_writes_a_hundred_times() {
    let Some(home) = as_child() else { return };
    for _ in 0..100 {
        // On a loaded machine the other writer may have the lock for longer than one waits for it.
        while let Err(error) = increment(&file(&home)) {
            assert!(matches!(error, Error::Busy { .. }), "{error}");
        }
    }
    println!("\ndone");
}

/// The child of the full disk.
#[test]
fn child_writes_once() {
    let Some(home) = as_child() else { return };
    match increment(&file(&home)) {
        Ok(number) => println!("\nwrote {number}"),
        Err(error) => println!("\nfailed: {error}"),
    }
}

/// The child of the credentials' test.
#[test]
fn child_loads_credentials() {
    let Some(home) = as_child() else { return };
    let store = CredentialStore::new(DataDir::at(home));
    for server in 0..20 {
        let origin = format!("https://server-{server}.example:443");
        println!("\nloaded {}", store.load(&origin).unwrap().connector_name);
    }
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_or_the_new_content() {
    let dir = tempfile::tempdir().unwrap();
    let file = file(dir.path());
    let random = ring::rand::SystemRandom::new();
    let begun = Instant::now();
    let mut last = increment(&file).unwrap();
    let write = begun.elapsed();
    let mut kills = 0;
    // The first write may have been quicker than most: as many kills as it takes to hit writers
    // that write.
    while kills < KILLS || last <= u64::from(KILLS) / 2 {
        assert!(
            begun.elapsed() < TIMEOUT,
            "the writers hardly wrote: {last}"
        );
        kills += 1;
        let mut writer = Writer::start(dir.path(), child_writes_for_ever, "");
        writer.wait_for("writing");
        // Any instant of the first four writes.
        let mut byte = [0];
        random.fill(&mut byte).unwrap();
        let until = Instant::now() + write * u32::from(byte[0]) / 64;
        while Instant::now() < until {
            std::thread::yield_now();
        }
        writer.0.kill().unwrap();
        writer.0.wait().unwrap();
        let found = now(&file);
        assert!(found >= last, "kill {kills}: {found} after {last}");
        last = found;
    }
    println!("{last} writes, {write:?} each, {kills} kills");
    assert_eq!(
        increment(&file).unwrap(),
        last + 1,
        "the lock of a dead process is free"
    );
    let names = names(dir.path());
    assert_eq!(names, [".counter", ".key", "run"], "the next write sweeps");
}

/// Seals as the version before the key file did, described in `store/sealed.rs`. Returns none on a machine without an
/// ID.
fn sealed_by_first_version(home: &Path, content: &[u8]) -> Option<Vec<u8>> {
    use ring::{aead, digest, hkdf};
    use std::os::unix::fs::MetadataExt;
    let id = std::fs::read_to_string("/etc/machine-id").ok()?;
    let id = Some(id.trim()).filter(|id| !id.is_empty() && *id != "uninitialized")?;
    let user = std::fs::metadata(home).unwrap().uid();
    let parts = format!("postern fingerprint 1\0machine\0{user}\0{id}\0");
    let fingerprint = digest::digest(&digest::SHA256, parts.as_bytes());
    let header = [&b"PSTN\x01"[..], &[7; 16], &[9; 12]].concat();
    let expanded = hkdf::Salt::new(hkdf::HKDF_SHA256, &[7; 16]).extract(fingerprint.as_ref());
    let mut key = [0; 32];
    let info: &[&[u8]] = &[b"test"];
    let okm = expanded.expand(info, hkdf::HKDF_SHA256).unwrap();
    okm.fill(&mut key).unwrap();
    let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_256_GCM, &key).unwrap());
    let mut sealed = content.to_vec();
    let nonce = aead::Nonce::assume_unique_for_key([9; 12]);
    let with = aead::Aad::from(&header);
    key.seal_in_place_append_tag(nonce, with, &mut sealed)
        .unwrap();
    Some([header, sealed].concat())
}

/// The child of the migration's test.
#[test]
fn child_reads_once() {
    let Some(home) = as_child() else { return };
    println!("\nreading");
    apart(&home).read().unwrap();
    println!("\nread");
}

/// The file with its key apart.
fn apart(home: &Path) -> JsonFile<Counter> {
    let key = home.with_file_name("state").join("key");
    JsonFile::sealed(DataDir::with_key_at(home, [key]), ".counter", "test")
}

/// A file of the version before is sealed anew when it is read, and whoever is killed over that loses nothing.
#[test]
fn a_reader_that_is_killed_while_it_seals_anew_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let json = format!("{{\"content\":\"{}\"}}", content(7));
    let random = ring::rand::SystemRandom::new();
    let (begun, mut old, mut new, mut rounds) = (Instant::now(), 0_u64, 0_u64, 0);
    // As many kills as it takes to hit some before and some after.
    while rounds < KILLS || old < 5 || new < 5 {
        assert!(begun.elapsed() < TIMEOUT, "{old} old, {new} new");
        rounds += 1;
        let home = dir.path().join(rounds.to_string()).join("home");
        std::fs::create_dir_all(&home).unwrap();
        let Some(sealed) = sealed_by_first_version(&home, json.as_bytes()) else {
            return;
        };
        std::fs::write(home.join(".counter"), &sealed).unwrap();
        let mut writer = Writer::start(&home, child_reads_once, "");
        writer.wait_for("reading");
        let mut byte = [0];
        random.fill(&mut byte).unwrap();
        // Longer where kills come before it too often: a disk may be slow.
        let late = 1 + (old / (new + 1) / 8).min(50);
        let until = Instant::now() + Duration::from_micros(u64::from(byte[0]) * 40 * late);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        writer.0.kill().unwrap();
        writer.0.wait().unwrap();
        let version = std::fs::read(home.join(".counter")).unwrap()[4];
        *(if version == 1 { &mut old } else { &mut new }) += 1;
        assert_eq!(now(&apart(&home)), 7, "round {rounds}, version {version}");
        assert_eq!(number(&apart(&home).read().unwrap().unwrap()), 7);
        let version = std::fs::read(home.join(".counter")).unwrap()[4];
        assert_eq!(version, 2);
        assert!(files_set_aside(&DataDir::at(&home)).is_empty());
    }
    println!("{rounds} kills: {old} before it was sealed anew, {new} after");
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn two_processes_lose_no_write() {
    let dir = tempfile::tempdir().unwrap();
    let start = || Writer::start(dir.path(), child_writes_a_hundred_times, "");
    let writers = [start(), start()];
    let file = file(dir.path());
    // A reader takes no lock and sees only whole contents, in order.
    let (deadline, mut last) = (Instant::now() + TIMEOUT, 0);
    while last < 200 {
        let found = now(&file);
        assert!(
            found >= last && Instant::now() < deadline,
            "{found} after {last}"
        );
        last = found;
    }
    for writer in writers {
        assert!(writer.output().contains("done"));
    }
    assert_eq!(now(&file), 200);
}

#[test]
fn two_processes_that_find_no_credentials_agree() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("h");
    let start = || Writer::start(&home, child_loads_credentials, "");
    let writers = [start(), start(), start()];
    let loaded = writers.map(|writer| {
        let output = writer.output();
        let lines = output
            .lines()
            .filter_map(|line| line.strip_prefix("loaded "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(loaded[0].len(), 20);
    assert!(loaded.iter().all(|names| *names == loaded[0]));
}

/// A file may not grow beyond 4 KiB here: the signal that says so is ignored, so that the write fails.
#[test]
fn a_write_that_does_not_fit_leaves_the_old_content() {
    let dir = tempfile::tempdir().unwrap();
    increment(&file(dir.path())).unwrap();
    let writer = Writer::start(dir.path(), child_writes_once, "trap '' XFSZ; ulimit -f 8;");
    let output = writer.output();
    assert!(output.contains("failed: cannot write"), "{output}");
    assert_eq!(now(&file(dir.path())), 1);
    assert_eq!(names(dir.path()), [".counter", ".key", "run"]);
}

/// A small file system of its own, where the user may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let disk = Self(tempfile::tempdir().unwrap());
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=128k,mode=0700", "none"]);
        let status = command.arg(disk.0.path()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = self.0.path();
        let _ = Command::new("umount")
            .arg(path)
            .stderr(Stdio::null())
            .status();
    }
}

#[test]
fn a_full_disk_leaves_the_old_content_and_heals() {
    // Only root may mount; the limit on file sizes above shows the same to everybody.
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let home = disk.0.path();
    let file = file(home);
    increment(&file).unwrap();
    let filling = home.join("filling");
    let full = std::fs::write(&filling, vec![0; 1024 * 1024]);
    assert!(full.is_err());
    for _ in 0..3 {
        let error = increment(&file).unwrap_err();
        assert!(error.to_string().contains("cannot write"), "{error}");
        assert_eq!(now(&file), 1);
    }
    std::fs::remove_file(filling).unwrap();
    assert_eq!(increment(&file).unwrap(), 2);
    assert_eq!(names(home), [".counter", ".key", "run"]);
}

#[test]
fn a_damaged_file_is_kept_however_often_that_happens() {
    let dir = tempfile::tempdir().unwrap();
    let file = file(dir.path());
    let mut damaged = Vec::new();
    for round in 0..5_u8 {
        increment(&file).unwrap();
        let mut bytes = std::fs::read(dir.path().join(".counter")).unwrap();
        let place = bytes.len() / usize::from(round + 2);
        bytes[place] ^= 0x10;
        std::fs::write(dir.path().join(".counter"), &bytes).unwrap();
        damaged.push(bytes);
        assert!(file.read().unwrap().is_none());
        let kept = files_set_aside(&DataDir::at(dir.path()));
        let is_kept = |bytes: &Vec<u8>| {
            kept.iter()
                .any(|path| std::fs::read(path).unwrap() == *bytes)
        };
        assert!(damaged.iter().all(is_kept), "round {round}");
    }
    let kept = files_set_aside(&DataDir::at(dir.path()));
    let mut kept: Vec<_> = kept
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    kept.sort();
    damaged.sort();
    assert_eq!(kept, damaged);
}

/// Several readers find the same damaged file at once; one sets it aside, and none reports an error.
#[test]
fn readers_that_find_the_damage_together_agree() {
    let dir = tempfile::tempdir().unwrap();
    for round in 1..=20 {
        std::fs::write(dir.path().join(".counter"), "PSTN, but not really").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(file(dir.path()).read().unwrap().is_none()));
            }
        });
        let kept = files_set_aside(&DataDir::at(dir.path()));
        assert_eq!(kept.len(), round, "once a round");
    }
}
