//! First output of `postern start`.

use std::sync::Arc;

use serde_json::Value;
use support::http::Client;
use support::manager::Manager;
use support::postern::binary;
use support::relay::Relay;
use support::{Home, TIMEOUT, wait_until};

/// `start` without `-v`, as people run it, until it has said `line`; what it said.
fn started(home: &Home, args: &[&str], line: &str) -> (String, String) {
    let mut process = support::kill_on_drop::KillOnDrop::new(binary())
        .args(["start", "0", "--no-open"])
        .args(args);
    for (name, value) in support::manager::environment(home.path()) {
        process = process.env(name, value);
    }
    let mut process = process.start();
    wait_until(TIMEOUT, line, || {
        process.stdout.text().contains(line)
            || process.stderr.text().contains(line)
            || process.ended().is_some()
    });
    process.terminate();
    process.drained();
    (process.stdout.text(), process.stderr.text())
}

#[test]
fn start_says_where_it_goes_and_its_log_names_applications() {
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::new());
    let url = relay.url();
    let (said, _) = started(&home, &["--server", &url], "Ctrl-C");
    assert!(
        said.contains(&format!(
            "\nRelay: {url}, contacted at the first connect\nApplications: 0\n"
        )),
        "{said}"
    );
    let added = home.run(&[
        "app",
        "add",
        "http",
        "1",
        "--name",
        "the shop",
        "--autoconnect",
    ]);
    let id = added.stdout.trim();
    let (said, log) = started(&home, &["--server", &url], "'the shop': connected");
    assert!(
        said.contains("\nApplications: 1, of which 1 are connected\n"),
        "{said}"
    );
    assert!(
        log.contains(" WARN  application 'the shop': 127.0.0.1:1 refuses connections\n"),
        "{log}"
    );
    assert!(!log.contains(id) && !log.contains("postern::"), "{log}");
    let (said, _) = started(
        &home,
        &["--server", &url],
        &format!("Relay: {url} is reachable\n"),
    );
    assert!(
        said.contains(&format!("Relay: {url} is reachable\n")),
        "{said}"
    );
    let (_, log) = started(
        &home,
        &["--server", &url, "--log-format", "json"],
        "'the shop': connected",
    );
    for line in log.lines() {
        let event: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            event["time"].is_string() && event["level"].is_string() && event["message"].is_string()
        );
    }
    let (said, log) = started(&home, &["--server", &url, "-q"], "Management page");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!log.contains("INFO"), "{log}");
    drop(relay);
    let (said, _) = started(&home, &["--server", &url], "is unreachable");
    assert!(
        said.contains(&format!("Relay: {url} is unreachable, retrying: ")),
        "{said}"
    );
}

#[test]
fn without_a_server_start_says_that_it_is_for_this_machine_alone() {
    let home = Home::new();
    let (said, _) = started(&home, &[], "Ctrl-C");
    assert!(
        said.contains("\nRelay: built in, for this machine only\nSites: http://NAME.localhost:"),
        "{said}"
    );
}

#[test]
fn a_second_start_says_where_the_first_is() {
    let manager = Manager::start(&[]);
    let second = manager.home().run(&["start", "0", "--no-open"]);
    assert_eq!(second.code, Some(1));
    assert!(
        second
            .stderr
            .contains(&format!("its page is at {}/", manager.url())),
        "{second:?}"
    );
    assert_eq!(
        Client::new(manager.authority())
            .get("/api/version")
            .status(),
        200
    );
}
