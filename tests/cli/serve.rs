//! `postern mysql` once it serves: what it prints, the browser it opens, and how it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::database::{PASSWORD, USER};
use support::{Database, Home, Postern, TIMEOUT, assert_within, wait_until};

#[test]
fn the_address_and_the_mode_are_printed() {
    let db = Database::shared();
    for (flags, mode) in [(&[][..], "read-write"), (&["--readonly"][..], "read-only")] {
        let postern = Postern::on(db, flags);
        let expected = format!(
            "Connecting to {} as {USER}\nWeb client: {}/\nMode: {mode}\n",
            db.target(),
            postern.url()
        );
        wait_until(TIMEOUT, "the mode", || postern.stdout() == expected);
        assert_eq!(postern.stderr(), "");
    }
}

#[test]
fn invisible_mode_prints_the_address_with_the_code() {
    let postern = Postern::on(Database::shared(), &["--invisible"]);
    let auth = postern.auth_url().unwrap();
    assert!(auth.starts_with(postern.url()), "{auth}");
}

#[test]
fn a_unix_socket_is_a_target() {
    let socket = Database::shared().socket().display().to_string();
    let postern = Postern::start(&[&socket, "--db-user", "root", "--db-pass="], &[]);
    let connecting = format!("Connecting to {socket} as root\n");
    assert!(
        postern.stdout().starts_with(&connecting),
        "{}",
        postern.stdout()
    );
}

#[test]
fn tls_that_a_socket_cannot_have_is_said_not_to_apply() {
    let socket = Database::shared().socket().display().to_string();
    let args = [
        &*socket,
        "--db-user",
        "root",
        "--db-pass=",
        "--tls",
        "require",
    ];
    let postern = Postern::start(&args, &[]);
    let said = postern.stdout();
    assert!(
        said.contains("--tls does not apply to a Unix socket"),
        "{said}"
    );
}

#[test]
fn a_url_with_its_credentials_is_a_target() {
    let db = Database::shared();
    let url = format!("mysql://{USER}:{PASSWORD}@{}/mysql", db.target());
    let postern = Postern::start(&[&url], &[]);
    let connecting = format!("Connecting to {} as {USER}, database mysql\n", db.target());
    assert!(
        postern.stdout().starts_with(&connecting),
        "{}",
        postern.stdout()
    );
}

#[test]
fn either_signal_ends_it_with_success_and_leaves_nothing() {
    for signal in ["-TERM", "-INT"] {
        let mut postern = Postern::on(Database::shared(), &[]);
        let run = postern.home().path().join("run");
        assert_eq!(entries(&run), 2, "the lock and a directory for the sockets");
        let sent = Instant::now();
        kill(signal, &postern);
        wait_until(TIMEOUT, "the end", || !postern.alive());
        assert_within(sent, Duration::from_secs(2));
        assert_eq!(entries(&run), 1);
        assert_eq!(postern.stop().and_then(|status| status.code()), Some(0));
    }
}

/// A server that says nothing holds the start up; a signal ends it all the same, and cleanly.
#[test]
fn a_signal_during_the_start_leaves_nothing() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = silent.local_addr().unwrap().to_string();
    let home = Home::with_plugin();
    let run = home.path().join("run");
    let mut command = home.command(&["mysql", &target, "--db-user", "u", "--listen=127.0.0.1:0"]);
    let mut child = Ended(command.stdout(Stdio::null()).spawn().unwrap());
    let _connected = silent.accept().unwrap();
    Command::new("kill")
        .args(["-INT", &child.0.id().to_string()])
        .status()
        .unwrap();
    wait_until(TIMEOUT, "the end", || child.0.try_wait().unwrap().is_some());
    assert_eq!(entries(&run), 1, "only the lock is left");
}

#[test]
fn what_a_killed_process_left_is_removed_at_the_next_start() {
    let home = Home::with_plugin();
    let path = home.path().to_owned();
    let db = Database::shared();
    let target = db.target();
    let arguments = [target.as_str(), "--db-user", USER, "--db-pass", PASSWORD];
    let mut first = Postern::try_start(home, &arguments, &[]).unwrap();
    kill("-KILL", &first);
    wait_until(TIMEOUT, "the end", || !first.alive());
    let run = path.join("run");
    assert_eq!(entries(&run), 2);
    let left = directory_in(&run);

    let mut again = Command::new(support::postern::binary());
    again
        .args(["mysql", "1", "--db-user", "u"])
        .env("POSTERN_HOME", &path);
    again.output().unwrap();
    assert!(!left.exists());
    assert_eq!(entries(&run), 1);
}

/// The opener gets the plain address: neither the code nor the password is for the list of processes.
#[test]
fn the_browser_gets_the_plain_address_and_no_secret() {
    let db = Database::shared();
    let tools = tempfile::tempdir().unwrap();
    let seen = tools.path().join("seen");
    script(
        &tools.path().join("xdg-open"),
        &format!(
            "#!/bin/sh\n{{ echo \"$@\"; env; }} > {0}.new; mv {0}.new {0}\n",
            seen.display()
        ),
    );
    let path = format!(
        "{}:{}",
        tools.path().display(),
        std::env::var("PATH").unwrap()
    );
    let home = Home::with_plugin();
    let mut command = Command::new(support::postern::binary());
    command
        .args([
            "mysql",
            &db.target(),
            "--db-user",
            USER,
            "--invisible",
            "--listen=127.0.0.1:0",
        ])
        .env("POSTERN_HOME", home.path())
        .env("POSTERN_DB_PASS", PASSWORD)
        .env("DISPLAY", ":0")
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut child = Ended(command.spawn().unwrap());
    wait_until(TIMEOUT, "the browser", || seen.exists());
    let seen = fs::read_to_string(&seen).unwrap();
    let url = seen.lines().next().unwrap();
    assert!(
        url.starts_with("http://127.0.0.1:") && url.ends_with('/'),
        "{url}"
    );
    assert!(
        !seen.contains(PASSWORD) && !seen.contains("code="),
        "{seen}"
    );
    Command::new("kill")
        .arg(child.0.id().to_string())
        .status()
        .unwrap();
    wait_until(TIMEOUT, "the end", || child.0.try_wait().unwrap().is_some());
}

#[test]
fn no_browser_is_opened_without_a_display_or_against_the_wish() {
    let tools = tempfile::tempdir().unwrap();
    let seen = tools.path().join("seen");
    script(
        &tools.path().join("xdg-open"),
        &format!("#!/bin/sh\ntouch {}\n", seen.display()),
    );
    let path = format!(
        "{}:{}",
        tools.path().display(),
        std::env::var("PATH").unwrap()
    );
    let mut wished = Postern::start(
        &[
            &Database::shared().target(),
            "--db-user",
            USER,
            "--db-pass",
            PASSWORD,
        ],
        &[("DISPLAY", ":0"), ("PATH", &path)],
    );
    // The opener would be started before the signal is waited for.
    wished.stop();
    assert!(!seen.exists(), "--no-open was given");
}

/// Ends with the test.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn kill(signal: &str, postern: &Postern) {
    let status = Command::new("kill")
        .args([signal, &postern.pid().to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn entries(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

fn directory_in(dir: &Path) -> std::path::PathBuf {
    let mut paths = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths.find(|path| path.is_dir()).unwrap()
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
