//! Servers of two versions behind one address: each statement is judged by the one that it goes to.

use support::balancer::Balancer;
use support::database::{Database, Options};

use super::super::{ask, cell, first, message, web_client};

/// Servers that say that they are of these versions; only the second one's has `JSON_OVERLAPS`.
fn old_and_new() -> [Database; 2] {
    ["10.6.18-MariaDB", "10.11.6-MariaDB"].map(|version| {
        Database::start(Options {
            args: vec![format!("--version={version}")],
            ..Options::default()
        })
    })
}

const OVERLAPS: &str = "SELECT JSON_OVERLAPS('[1]', '[1]')";

#[test]
fn another_server_at_the_same_address_is_noticed() {
    let servers = old_and_new();
    let address = Balancer::before(&[servers[0].port(), servers[1].port()]);
    let postern = web_client(&address.target(), &["--readonly"]);
    let mut client = postern.client();
    let (status, body) = ask(&mut client, OVERLAPS);
    assert_eq!(
        (status, body["layer"].as_str()),
        (403, Some("gate")),
        "{body}"
    );
    address.fail_over_to(1);
    assert_eq!(cell(&mut client, "SELECT VERSION()"), "10.11.6-MariaDB");
    assert_eq!(cell(&mut client, OVERLAPS), "1");
    let version = client.get("/api/info").data()["version"].clone();
    assert_eq!(version, "10.11.6-MariaDB");
    // Back again: what the newer one has is no reason to send it to the older one.
    address.fail_over_to(0);
    let (status, body) = ask(&mut client, OVERLAPS);
    assert_eq!(status, 403, "{body}");
    assert!(message(&body).contains("json_overlaps"), "{body}");
}

/// A cluster while it is updated, a server after the other.
#[test]
fn servers_of_two_versions_take_turns() {
    let servers = old_and_new();
    let address = Balancer::before(&[servers[0].port(), servers[1].port()]);
    address.lead_in_turn();
    for mode in [&[][..], &["--readonly"]] {
        let postern = web_client(&address.target(), mode);
        let mut seen = Vec::new();
        for session in 0..6 {
            let mut client = postern.client();
            let mut on_its_own = |sql: &str| {
                let body = serde_json::json!({"sql": sql, "session": session.to_string()});
                let answer = client.post("/api/query", &body);
                (answer.status(), answer.json())
            };
            let (status, body) = on_its_own("SELECT VERSION()");
            assert_eq!(status, 200, "{body}");
            let version = first(&body).as_str().unwrap().to_owned();
            let is_new = version.starts_with("10.11.");
            // Without a database connection of its own a session may come to either in read-only mode.
            if mode.is_empty() {
                assert_eq!(*first(&on_its_own("SELECT VERSION()").1), version);
            }
            let (status, body) = on_its_own(OVERLAPS);
            assert!(status == 200 || status == 403, "{body}");
            if !mode.is_empty() && status == 403 {
                assert!(!is_new || body["layer"] == "gate", "{body}");
            }
            seen.push(version);
        }
        assert!(seen.iter().any(|v| v.starts_with("10.6.")), "{seen:?}");
        assert!(seen.iter().any(|v| v.starts_with("10.11.")), "{seen:?}");
    }
}
