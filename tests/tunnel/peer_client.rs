//! `postern tunnel-server` against a client that is not ours: Python's asyncssh, set up by `tests/setup.sh`.

use std::time::Duration;

use support::kill_on_drop::{KillOnDrop, Leashed};
use support::{TIMEOUT, free_port, wait_until};

/// Limit for a whole group on a busy machine.
pub(crate) const GROUP: Duration = Duration::from_secs(90);

/// Users of the peer, with their rights.
const USERS: &str = r#"{"me:secret": [""], "guest:guest": ["^R:127.0.0.1:1$"]}"#;

/// The server, its URL and its fingerprints (ECDSA, Ed25519).
pub(crate) struct Server {
    pub(crate) process: Leashed,
    pub(crate) url: String,
    pub(crate) fingerprints: [String; 2],
}

pub(crate) fn server() -> Server {
    let home = tempfile::tempdir().unwrap();
    let users = home.path().join("users.json");
    std::fs::write(&users, USERS).unwrap();
    let mut process = KillOnDrop::new(env!("CARGO_BIN_EXE_postern"))
        .args(["tunnel-server", "-v", "--listen", "127.0.0.1:0"])
        .args(["--keepalive", "200ms", "--authfile"])
        .args([&users])
        .env("POSTERN_HOME", home.path())
        .env("AUTH", "")
        .owning(home)
        .start();
    wait_until(TIMEOUT, "the server listens", || {
        process.stdout.line_after("Listening on ").is_some() || process.ended().is_some()
    });
    let said = process.stdout.text();
    let fingerprint = |kind: &str| {
        let line = said.lines().find(|line| line.contains(kind));
        let word = line.and_then(|line| line.split_whitespace().nth(1));
        word.unwrap_or_else(|| panic!("no {kind}: {said}"))
            .to_owned()
    };
    Server {
        url: format!(
            "ws://{}/",
            process.stdout.line_after("Listening on ").unwrap()
        ),
        fingerprints: [fingerprint("ecdsa"), fingerprint("ed25519")],
        process,
    }
}

fn run(group: &str) {
    let server = server();
    let (python, script) = support::peers::script("as_client.py");
    let mut peer = KillOnDrop::new(python)
        .args([script.as_os_str()])
        .args([group, &server.url])
        .args(&server.fingerprints)
        .args([free_port().to_string()])
        .start();
    let status = peer.wait(GROUP);
    peer.kill();
    peer.drained();
    let context = format!(
        "{group}: {}\n{}\nthe server said: {}",
        peer.stdout.text(),
        peer.stderr.text(),
        server.process.stderr.text()
    );
    assert!(status.is_some_and(|status| status.success()), "{context}");
    assert!(context.contains("passed: "), "{context}");
    let log = server.process.stderr.text();
    assert!(!log.contains("secret") && !log.contains("wrong"), "{log}");
}

#[test]
fn each_cipher_works_with_each_host_key() {
    run("algorithms");
}

#[test]
fn wrong_logins_are_refused_and_counted() {
    run("login");
}

#[test]
fn configurations_are_checked_and_refused_with_the_reason() {
    run("configuration");
}

#[test]
fn streams_requests_and_keep_alives_are_as_the_protocol_has_them() {
    run("streams");
}

#[test]
fn the_client_may_change_keys_in_mid_transfer() {
    run("rekey");
}

#[test]
fn exhausted_windows_hold_one_stream_only() {
    run("windows");
}
