//! The per-user directory from outside: private, whole after a crash, and one writer at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::Home;
use support::postern::{Finished, binary};

#[test]
fn a_damaged_file_is_named_and_never_overwritten() {
    let home = Home::new();
    let file = home.path().join("plugins.json");
    fs::write(&file, "{\"plugins\": [").unwrap();
    for arguments in [
        &["plugin", "add", "mysql"][..],
        &["plugin", "remove", "mysql"],
        &["plugin", "list"],
        &["mysql", "db"],
    ] {
        let ended = home.run(arguments);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}"
        );
        let first = format!("postern: {} is damaged: ", file.display());
        assert!(ended.stderr.starts_with(&first), "{}", ended.stderr);
        assert!(
            ended
                .stderr
                .ends_with("\nfix the file, or move it away and add the plugins again\n")
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"plugins\": [");
    }
}

#[test]
fn files_are_private_whatever_the_umask() {
    let parent = tempfile::tempdir().unwrap();
    let home = parent.path().join("deep/home");
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" plugin add mysql"]);
    command.arg(binary());
    command.env("POSTERN_HOME", &home);
    assert!(command.output().unwrap().status.success());
    for (name, mode) in [
        ("", 0o700),
        ("run", 0o700),
        ("run/lock", 0o600),
        ("plugins.json", 0o600),
    ] {
        let found = fs::metadata(home.join(name)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{name}");
    }
}

#[test]
fn the_home_directory_is_found_or_asked_for() {
    let parent = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary());
    command.args(["plugin", "add", "mysql"]);
    command.env("POSTERN_HOME", "").env("HOME", parent.path());
    assert!(command.output().unwrap().status.success());
    assert!(parent.path().join(".postern/plugins.json").exists());

    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    command.env("POSTERN_HOME", file.join("home"));
    let ended = command.output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), ended.stdout), (Some(1), Vec::new()));
    assert!(stderr.starts_with("postern: cannot create "), "{stderr}");
    assert!(stderr.contains("POSTERN_HOME"), "{stderr}");
}

#[test]
fn of_many_writers_at_once_one_adds() {
    let home = Home::new();
    let ended: Vec<Finished> = std::thread::scope(|scope| {
        let add = |_| scope.spawn(|| home.run(&["plugin", "add", "mysql"]));
        let writers: Vec<_> = (0..12).map(add).collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .collect()
    });
    assert!(ended.iter().all(|ended| ended.code == Some(0)), "{ended:?}");
    let count = |words: &str| {
        ended
            .iter()
            .filter(|ended| ended.stdout.contains(words))
            .count()
    };
    assert_eq!((count("Added plugin"), count("is already added")), (1, 11));
    assert_eq!(home.run(&["plugin", "list"]).stdout.lines().count(), 2);
}

/// Writers that are killed at any moment leave the old list or the new one, and no litter in the end.
#[test]
fn a_killed_writer_leaves_a_whole_file() {
    let home = Home::with_plugin();
    for round in 0..80_u64 {
        let action = if round % 2 == 0 { "remove" } else { "add" };
        let mut command = home.command(&["plugin", action, "mysql"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_micros(round * 60);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let list = home.run(&["plugin", "list"]);
        assert_eq!(
            (list.code, list.stderr.as_str()),
            (Some(0), ""),
            "round {round}"
        );
    }
    let _ = home.run(&["plugin", "remove", "mysql"]);
    assert_eq!(home.run(&["plugin", "add", "mysql"]).code, Some(0));
    let mut names: Vec<_> = fs::read_dir(home.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["plugins.json", "run"]);
}

/// The number of an error helps nobody: each of these has the words alone. Every command that a test runs is checked so
/// (`has_plain_words`); these are the places where people met one.
#[test]
fn errors_of_the_system_are_told_in_words() {
    let home = Home::new();
    let missing = "/nowhere/file";
    let blocked = home.path().join("plain");
    fs::write(&blocked, "").unwrap();
    let below = blocked.join("x").to_string_lossy().into_owned();
    for (arguments, variable) in [
        (&["app", "import", missing][..], None),
        (&["man", &below], None),
        (&["tunnel-server", "--authfile", missing], None),
        (&["relay", "--data", &below, "--domain", "a.test"], None),
        (
            &[
                "relay",
                "--tunnel-listen",
                "192.0.2.1:1",
                "--listen",
                "127.0.0.1:0",
                "--domain",
                "a.test",
            ],
            None,
        ),
        (
            &["server", "add", "https://127.0.0.1:1"],
            Some(("SSL_CERT_FILE", missing)),
        ),
        (&["status"], Some(("POSTERN_HOME", below.as_str()))),
        (&["app", "list"], Some(("POSTERN_HOME", below.as_str()))),
    ] {
        let mut command = home.command(arguments);
        command.envs(variable);
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!said.contains("os error"), "{arguments:?}: {said}");
        let words = [
            "No such file",
            "Not a directory",
            "Cannot assign",
            "no such file",
        ];
        assert!(
            words.iter().any(|word| said.contains(word)),
            "{arguments:?}: {said}"
        );
    }
}
