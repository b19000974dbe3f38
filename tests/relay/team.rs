//! A team's relay over the months: it moves, members leave and come, names are handed over.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use support::manager::{Manager, Target};
use support::relay::Relay;
use support::share::Sharing;
use support::{Home, wait_until};

/// Time in which a member finds a relay again that has moved.
const FOUND_WITHIN: Duration = Duration::from_secs(90);

/// A member's `postern start`, enrolled at the relay.
#[track_caller]
fn member(relay: &Relay, home: &Arc<Home>) -> Manager {
    let (url, token) = (relay.url(), relay.enrol_token());
    Manager::start_in(home, &["--server", &url, "--enroll-token", &token])
}

/// An application that is to have this site.
fn app(target: &Target, site: &str) -> Value {
    let mut app = target.app();
    for (field, value) in [("name", json!(site)), ("site_name", json!(site))] {
        app[field] = value;
    }
    app["protocol"] = json!("http");
    app
}

#[track_caller]
fn share(manager: &Manager, target: &Target, site: &str) -> String {
    let id = manager.add(&app(target, site));
    manager.connected(&id);
    id
}

#[track_caller]
fn is_there(relay: &Relay, site: &str) -> bool {
    let answer = relay.visit(site, "/");
    answer.status() == 200 && answer.text() == "hello from the target"
}

/// H1: the name of the relay leads to another machine now, whose tunnels come in at another address and port.
#[test]
fn a_relay_that_moved_is_found_again_without_a_command() {
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let relay = Relay::start_in(
        &home,
        &["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"],
    );
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let members = homes.each_ref().map(|home| member(&relay, home));
    let mut ids = Vec::new();
    for (at, member) in members.iter().enumerate() {
        ids.extend((0..3).map(|of| (at, share(member, &target, &format!("site-{at}-{of}")))));
    }
    let (url, port) = (relay.url(), target.port().to_string());
    let (alone, token) = (Home::new(), relay.enrol_token());
    let flags = [
        "http",
        &port,
        "--visible",
        "--name",
        "alone",
        "--server",
        &url,
    ];
    let flags = [&flags[..], &["--enroll-token", &token]].concat();
    let sharing = Sharing::start(&alone, &flags);
    sharing.link();
    let at = relay.address.to_string();
    let fingerprint = relay.said("Fingerprint: ");
    drop(relay);
    let relay = Relay::start_in(&home, &["--listen", &at, "--tunnel-listen=127.0.0.2:0"]);
    assert_eq!(
        relay.said("Fingerprint: "),
        fingerprint,
        "its directory moved along"
    );
    let sites = (0..2).flat_map(|at| (0..3).map(move |of| format!("site-{at}-{of}")));
    let sites: Vec<_> = sites.chain(["alone".to_owned()]).collect();
    wait_until(FOUND_WITHIN, "all sites", || {
        sites.iter().all(|site| is_there(&relay, site))
    });
    for (at, id) in &ids {
        let member = &members[*at];
        member.wait_status(id, "connected");
        let main = member.client().get("/api/tunnel").data();
        assert_eq!(main[0]["status"], "connected", "{main}");
    }
}

/// The answer to a call is not believed about the key: another server at the new address gets no password.
#[test]
fn a_relay_that_moved_shows_the_key_that_is_known() {
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let relay = Relay::start_in(
        &home,
        &["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"],
    );
    let of_member = Arc::new(Home::new());
    let member = member(&relay, &of_member);
    let id = share(&member, &target, "site");
    let (at, data) = (relay.address.to_string(), relay.data());
    drop(relay);
    // All but the keys is what it was.
    let is_key = |name: &str| name.starts_with("host.");
    let files = std::fs::read_dir(&data).unwrap().flatten();
    let keys: Vec<_> = files
        .filter(|file| is_key(&file.file_name().to_string_lossy()))
        .collect();
    assert!(!keys.is_empty(), "{data:?}");
    for key in keys {
        std::fs::remove_file(key.path()).unwrap();
    }
    let relay = Relay::start_in(&home, &["--listen", &at, "--tunnel-listen=127.0.0.2:0"]);
    let shown = member.wait_for_within(FOUND_WITHIN, &id, "the changed key", |status| {
        status["error_class"] == "host-key-changed"
    });
    assert_eq!(
        shown["host_key"]["server"],
        relay.tunnel.to_string(),
        "{shown}"
    );
    assert!(!is_there(&relay, "site"));
}
