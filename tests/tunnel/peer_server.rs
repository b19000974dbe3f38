//! `postern tunnel-client` against a server that is not ours: Python's asyncssh, set up by `tests/setup.sh`.

use std::time::Duration;

use serde::Deserialize;
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::wait_until;

/// Limit for a whole group on a busy machine.
const GROUP: Duration = Duration::from_secs(90);
/// Time in which a message must appear once the peer has seen what it is about.
const MESSAGE: Duration = Duration::from_secs(10);

/// The client that the peer wants, and what it must and must not say.
#[derive(Deserialize)]
struct Case {
    name: String,
    url: String,
    remotes: Vec<String>,
    args: Vec<String>,
    logs: Vec<String>,
    lacks: Vec<String>,
}

fn peer(group: &str) -> Leashed {
    let (python, script) = support::peers::script("as_server.py");
    KillOnDrop::new(python)
        .args([script.as_os_str()])
        .args([group])
        .start()
}

fn client(case: &Case) -> Leashed {
    // Known servers of its own: every case has another host key, and ports come back.
    let home = tempfile::tempdir().unwrap();
    KillOnDrop::new(env!("CARGO_BIN_EXE_postern"))
        .args(["tunnel-client", "-v"])
        .args(&case.args)
        .args([&case.url])
        .args(&case.remotes)
        .env("POSTERN_HOME", home.path())
        .env("AUTH", "")
        .owning(home)
        .start()
}

/// Starts a client for each case that the peer names, until the peer has passed all of them.
fn run(group: &str) {
    let mut peer = peer(group);
    let mut cases = 0;
    loop {
        let mut next = None;
        wait_until(GROUP, &format!("{group}: another case, or the end"), || {
            let said = peer.stdout.text();
            next = said
                .lines()
                .filter_map(|line| line.strip_prefix("case: "))
                .nth(cases)
                .and_then(|line| serde_json::from_str::<Case>(line).ok());
            next.is_some() || peer.ended().is_some()
        });
        let Some(case) = next else { break };
        cases += 1;
        check(&case, &mut peer);
    }
    peer.drained();
    let (said, errors) = (peer.stdout.text(), peer.stderr.text());
    let status = peer.ended().unwrap();
    assert!(status.success() && cases > 0, "{group}: {said}\n{errors}");
}

fn check(case: &Case, peer: &mut Leashed) {
    let mut client = client(case);
    let passed = format!("passed: {}\n", case.name);
    wait_until(GROUP, &case.name, || {
        peer.stdout.text().contains(&passed) || peer.ended().is_some()
    });
    let held = peer.stdout.text().contains(&passed);
    let said = |client: &Leashed| client.stdout.text() + &client.stderr.text();
    let complete = held
        && support::holds_within(MESSAGE, || {
            let said = said(&client);
            case.logs.iter().all(|text| said.contains(text))
        });
    client.terminate();
    client.drained();
    let said = said(&client);
    let context = || {
        format!(
            "{}\nthe client said: {said}\nthe peer: {}\n{}",
            case.name,
            peer.stdout.text(),
            peer.stderr.text()
        )
    };
    assert!(held, "{}", context());
    assert!(complete, "one of {:?} is missing: {}", case.logs, context());
    for text in &case.lacks {
        assert!(!said.contains(text), "{text:?} was said: {}", context());
    }
}

#[test]
fn each_cipher_works_with_each_kind_of_host_key() {
    run("algorithms");
}

#[test]
fn the_login_is_tried_once_and_never_before_the_host_key_is_verified() {
    run("login");
}

#[test]
fn the_configuration_is_complete_and_every_refusal_is_understood() {
    run("configuration");
}

#[test]
fn streams_requests_and_keep_alives_are_as_the_protocol_has_them() {
    run("streams");
}

#[test]
fn the_server_may_change_keys_in_mid_transfer() {
    run("rekey");
}

#[test]
fn exhausted_windows_hold_one_stream_only() {
    run("windows");
}
