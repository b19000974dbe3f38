//! `postern start`: what is tried again by itself after a round that failed, when, and what is not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::free_port;
use support::http::JSON;
use support::manager::{Far, Manager, Target};
use support::quick_setup::Act;
use support::relay::Relay;
use support::{Home, TIMEOUT, wait_until};

/// Rounds and pauses in real time: a round of five calls takes 10 s, the pause after it up to 5 s.
const ROUNDS: Duration = Duration::from_secs(60);

fn autoconnected(target: &Target) -> Value {
    let mut app = target.app();
    app["autoconnect"] = json!(true);
    app
}

fn put(manager: &Manager, id: &str, app: &Value) {
    let path = format!("/api/apps/{id}");
    let body = app.to_string();
    let answer = manager
        .client()
        .send("PUT", &path, &[JSON], body.as_bytes());
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

/// Waits for so long that whatever failed before it began would have been tried again.
fn a_pause_passes(manager: &Manager, target: &Target) {
    let busy = Far::new();
    busy.quick.script([Act::json(500, &json!({}))]);
    let mut app = autoconnected(target);
    app["server"] = json!(busy.quick.url());
    let id = manager.add(&app);
    manager.connect(&id);
    busy.quick.wait_for(2);
    manager.disconnect(&id);
}

/// A computer that is started before its relay, with nobody there to click.
#[test]
fn what_is_connected_at_the_start_comes_when_the_relay_does() {
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let [gateway, tunnel] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    let relay_url = format!("http://{gateway}");
    let manager = Manager::start_in(&home, &["--server", &relay_url]);
    let id = manager.add(&autoconnected(&target));
    drop(manager);
    let manager = Manager::start_in(&home, &["--server", &relay_url]);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(failed["error_class"], "network", "{failed}");
    let wait = failed["next_retry_ms"].as_u64();
    assert!(wait.is_some_and(|ms| ms <= 5_000), "{failed}");
    let listed = home.run(&["app", "list"]).stdout;
    assert!(
        listed.contains("\tfailed: unreachable, next try in "),
        "{listed}"
    );
    let _relay = Relay::start_in(
        &Arc::new(Home::new()),
        &["--listen", &gateway, "--tunnel-listen", &tunnel],
    );
    wait_until(ROUNDS, "the connection", || {
        manager.status(&id)["status"] == "connected"
    });
    let log = manager.stderr();
    assert_eq!(log.matches("cannot be reached").count(), 1, "{log}");
}

/// A computer that is started before its network.
#[test]
fn a_name_without_an_address_is_tried_again_and_a_change_at_once() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    far.assign();
    let mut app = autoconnected(&target);
    app["server"] = json!("https://no-such-host.invalid");
    let id = manager.add(&app);
    manager.connect(&id);
    let failed = manager.wait_for(&id, "failed", |result| result["status"] == "failed");
    let error = failed["error"].as_str().unwrap();
    assert!(
        error.contains("has no DNS entry") && error.contains("5 attempts"),
        "{error}"
    );
    assert!(failed["next_retry_ms"].is_u64(), "{failed}");
    wait_until(ROUNDS, "the next round", || {
        manager.status(&id)["status"] == "connecting"
    });
    manager.wait_status(&id, "failed");
    app["server"] = json!(null);
    put(&manager, &id, &app);
    manager.wait_status(&id, "connected");
}

#[test]
fn what_was_refused_waits_for_a_change() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let (id, other) = (manager.add(&target.app()), manager.add(&target.app()));
    for id in [&id, &other] {
        far.assign();
        manager.connected(id);
    }
    manager.disconnect(&id);
    far.quick
        .script([Act::json(403, &json!({"message": "not you"}))]);
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(
        (&failed["error_class"], &failed["next_retry_ms"]),
        (&json!("forbidden"), &json!(null))
    );
    assert_eq!(far.quick.requests().len(), 3);
    // Not by time; once when the server takes the credentials again, which the main tunnel shows.
    a_pause_passes(&manager, &target);
    assert_eq!(far.quick.requests().len(), 3);
    far.close();
    manager.wait_status(&other, "connecting");
    far.open();
    manager.wait_status(&other, "connected");
    far.quick.wait_for(4);
    manager.wait_status(&id, "failed");
    a_pause_passes(&manager, &target);
    assert_eq!(far.quick.requests().len(), 4);
    manager.post(&format!("/api/retry/{id}"));
    far.quick.wait_for(5);
    manager.wait_status(&id, "failed");
    far.assign();
    let mut changed = target.app();
    changed["display_name"] = json!("another");
    put(&manager, &id, &changed);
    manager.wait_status(&id, "connected");
}

/// A revocation that is taken back needs nobody on this side.
#[test]
fn what_a_relay_lets_in_again_comes_back() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let url = relay.said("Relay: ");
    let manager = Manager::start_in(&Arc::new(Home::new()), &["--server", &url]);
    let ids = [autoconnected(&target), target.app()].map(|app| manager.add(&app));
    for id in &ids {
        manager.connected(id);
    }
    let listed = relay.home().run(&["relay", "list"]).stdout;
    let line = listed.lines().nth(1).unwrap();
    let name = line.split('\t').nth(1).unwrap();
    assert_eq!(relay.home().run(&["relay", "revoke", name]).code, Some(0));
    let all_are = |status: &str| ids.iter().all(|id| manager.status(id)["status"] == status);
    wait_until(ROUNDS, "the refusals", || all_are("failed"));
    for id in &ids {
        assert_eq!(manager.status(id)["error_class"], "revoked");
    }
    let listed = manager.home().run(&["app", "list"]).stdout;
    assert_eq!(listed.matches("\tfailed: revoked\t").count(), 2, "{listed}");
    let refused = manager.home().run(&["app", "connect", &ids[0]]);
    let hint =
        "ask the relay's operator to allow it again ('postern relay allow'); it then reconnects\n";
    assert!(
        refused.code == Some(4) && refused.stderr.ends_with(hint),
        "{refused:?}"
    );
    assert_eq!(relay.home().run(&["relay", "allow", name]).code, Some(0));
    wait_until(ROUNDS, "the return", || all_are("connected"));
}

/// It may last for days, and the attempts go on.
#[test]
fn a_changed_host_key_is_logged_once_and_tried_until_the_known_one_is_back() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = Manager::start(&["--server", &far.quick.url(), "-v"]);
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    far.close();
    let known = far.keys();
    far.change_key();
    far.open();
    let told = |level: &str| {
        let log = manager.stderr();
        let of_key = log
            .lines()
            .filter(|line| line.contains("host key does not match"));
        of_key.filter(|line| line.contains(level)).count()
    };
    wait_until(ROUNDS, "the attempts after the first", || {
        told("DEBUG") >= 2
    });
    // Once for the server, whatever goes through it.
    assert_eq!(told("WARN"), 1, "{}", manager.stderr());
    let shown = manager.status(&id);
    assert_eq!(shown["error_class"], "host-key-changed", "{shown}");
    let listed = manager.home().run(&["app", "list"]).stdout;
    assert!(
        listed.contains("\tconnecting: host key changed\t"),
        "{listed}"
    );
    far.close();
    far.set_keys(known);
    far.open();
    wait_until(ROUNDS, "the return", || {
        manager.status(&id)["status"] == "connected"
            && manager.stderr().contains(": reconnected after ")
    });
}

#[test]
fn what_was_disconnected_or_never_connected_is_not_tried() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.quick.script([Act::json(500, &json!({}))]);
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(failed["next_retry_ms"], json!(null), "connected by hand");
    a_pause_passes(&manager, &target);
    assert_eq!(far.quick.requests().len(), 1);
    far.assign();
    manager.connected(&id);
    manager.disconnect(&id);
    far.quick.script([Act::json(500, &json!({}))]);
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert!(
        failed["next_retry_ms"].is_u64(),
        "it was connected: {failed}"
    );
    far.quick.wait_for(4);
    manager.wait_status(&id, "failed");
    manager.disconnect(&id);
    assert_eq!(manager.status(&id)["status"], "idle");
    a_pause_passes(&manager, &target);
    assert_eq!(far.quick.requests().len(), 4);
}

#[test]
fn the_return_of_the_main_tunnel_wakes_what_waits() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let (up, waits) = (manager.add(&target.app()), manager.add(&target.app()));
    for id in [&up, &waits] {
        far.assign();
        manager.connected(id);
    }
    manager.disconnect(&waits);
    far.quick.script([Act::json(500, &json!({}))]);
    manager.connect(&waits);
    let before = far.quick.requests().len();
    // Two pauses of 5 s and 10 s, so that the third is long.
    far.quick.wait_for(before + 2);
    manager.wait_status(&waits, "failed");
    far.close();
    manager.wait_status(&up, "connecting");
    let failed = manager.wait_status(&waits, "failed");
    let (began, wait) = (Instant::now(), failed["next_retry_ms"].as_u64().unwrap());
    far.assign();
    far.open();
    manager.wait_status(&waits, "connected");
    assert!(began.elapsed() < Duration::from_millis(wait), "{wait}");
    manager.wait_status(&up, "connected");
    wait_until(TIMEOUT, "the main tunnel", || {
        manager.client().get("/api/tunnel").data()[0]["status"] == "connected"
    });
}

/// M10: a relay that is away and comes back is two lines, however many applications go through it; they come back
/// together, and their addresses stay where they are.
#[test]
fn a_relay_that_restarts_is_told_of_once_and_brings_all_back_together() {
    const APPS: usize = 12;
    let (home, target, relay_home) = (
        Arc::new(Home::new()),
        Target::start(),
        Arc::new(Home::new()),
    );
    let [gateway, tunnel] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    let args = ["--listen", &gateway, "--tunnel-listen", &tunnel];
    let relay = Relay::start_in(&relay_home, &args);
    let origin = format!("http://{gateway}");
    let manager = Manager::start_in(&home, &["--server", &origin]);
    let ids: Vec<String> = (0..APPS).map(|_| manager.add(&target.app())).collect();
    let sites: Vec<Value> = ids
        .iter()
        .map(|id| manager.connected(id)["site_url"].clone())
        .collect();
    let all_are = |status: &str| ids.iter().all(|id| manager.status(id)["status"] == status);
    drop(relay);
    wait_until(TIMEOUT, "the loss", || all_are("connecting"));
    // So long that the pauses between two attempts are the longest.
    let main_wait = || manager.client().get("/api/tunnel").data()[0]["next_retry_ms"].as_u64();
    wait_until(ROUNDS, "a long pause", || {
        main_wait().is_some_and(|ms| ms > 6_000)
    });
    for (id, site) in ids.iter().zip(&sites) {
        let shown = manager.status(id);
        assert_eq!(
            (&shown["site_url"], &shown["status"]),
            (site, &json!("connecting"))
        );
    }
    let told = |level: &str| -> Vec<String> {
        let log = manager.stderr();
        let lines = log.lines().filter(|line| line.contains(level));
        lines.map(str::to_owned).collect()
    };
    let down = told(" WARN ");
    assert!(
        down.len() == 1 && down[0].contains(&origin) && down[0].contains("12 applications"),
        "{down:?}"
    );
    let _relay = Relay::start_in(&relay_home, &args);
    let main_is_up = || manager.client().get("/api/tunnel").data()[0]["status"] == "connected";
    wait_until(ROUNDS, "the main tunnel", main_is_up);
    let began = Instant::now();
    wait_until(ROUNDS, "all of them", || all_are("connected"));
    // By themselves they would come within the ten seconds of their own pauses.
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    println!(
        "all {APPS} were back {:?} after the main tunnel",
        began.elapsed()
    );
    let told = told(" WARN ");
    assert!(
        told.len() == 2 && told[1].contains(&origin) && told[1].contains("12 applications"),
        "{told:?}"
    );
    let since = manager.stderr();
    let since = since.split_once(down[0].as_str()).unwrap().1;
    let lines = since.lines().filter(|line| line.contains(" INFO "));
    assert!(lines.count() < APPS, "it is told once: {since}");
    for (id, site) in ids.iter().zip(&sites) {
        assert_eq!(&manager.status(id)["site_url"], site);
    }
}

/// An application that failed several times keeps its address too.
#[test]
fn an_application_that_failed_still_shows_where_it_was() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let port = far.assign();
    manager.connected(&id);
    manager.disconnect(&id);
    manager.connected(&id);
    let site = format!("http://127.0.0.1:{port}/");
    far.quick.script([Act::json(500, &json!({}))]);
    let mut far = far;
    // The password is another one, so that the server is asked again.
    far.close();
    manager.wait_status(&id, "connecting");
    far.open_for("another-password");
    let failed = manager.wait_for(&id, "failed", |result| result["status"] == "failed");
    assert_eq!(failed["site_url"], json!(site), "{failed}");
}

/// A user's own connect does not wait for the pause, and makes no second connection.
#[test]
fn a_connect_by_hand_takes_the_place_of_the_one_that_waits() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&autoconnected(&target));
    far.quick.script([Act::json(500, &json!({}))]);
    manager.connect(&id);
    manager.wait_status(&id, "failed");
    let threads = manager.threads();
    for calls in 2..6 {
        manager.connect(&id);
        far.quick.wait_for(calls);
        manager.wait_status(&id, "failed");
    }
    wait_until(TIMEOUT, "the threads", || manager.threads() <= threads + 1);
    far.assign();
    manager.connected(&id);
    assert_eq!(far.quick.requests().len(), 6);
}

/// One word for it everywhere, with what to do; and nothing to do here once the operator has let it in again.
#[test]
fn a_revoked_connector_says_so_everywhere_and_comes_back_by_itself() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let home = Arc::new(Home::new());
    let known = home.run(&["server", "add", &relay.url(), "--default"]);
    assert_eq!(known.code, Some(0), "{known:?}");
    let manager = Manager::start_in(&home, &[]);
    let id = manager.add(&autoconnected(&target));
    manager.connected(&id);
    let name = relay.status()["connectors"][0]["name"].clone();
    let name = name.as_str().unwrap();
    let good = home.run(&["doctor"]).stdout;
    let knows = format!("ok     credentials: {} knows {name}\n", relay.url());
    assert!(good.contains(&knows), "{good}");

    let of_operator = |word: &str| {
        let done = relay.home().run(&["relay", word, name]);
        assert_eq!(done.code, Some(0), "{done:?}");
    };
    of_operator("revoke");
    let says = |manager: &Manager| {
        let revoked = |result: &Value| result["error_class"] == "revoked";
        manager.wait_for_within(ROUNDS, &id, "it is revoked", revoked);
        // The main tunnel is tried by itself.
        let listed = || home.run(&["server", "list"]);
        wait_until(TIMEOUT, "the server's word", || {
            listed().stdout.contains("\trevoked\t")
        });
        let listed = listed();
        let status = home.run(&["status"]).stdout;
        let ask = "'postern relay allow'); it then reconnects\n";
        for text in [&listed.stderr, &status] {
            assert!(text.contains(ask), "{text}");
        }
        let of_server = format!("Relay: {}: revoked: ", relay.url());
        assert!(status.contains(&of_server), "{status}");
        assert!(status.contains("\tfailed: revoked\t"), "{status}");
        let apps = home.run(&["app", "list"]).stdout;
        assert!(apps.contains("\tfailed: revoked\t"), "{apps}");
        let doctor = home.run(&["doctor"]).stdout;
        let of_doctor = format!(
            "WRONG  credentials: {name} is revoked at {}\n       ask its operator to run 'postern relay allow {name}'",
            relay.url()
        );
        assert!(doctor.contains(&of_doctor), "{doctor}");
        let tunnels = manager.client().get("/api/tunnel").data();
        assert_eq!(tunnels[0]["error_class"], "revoked", "{tunnels}");
        let failed = home.run(&["app", "connect", &id]);
        assert_eq!(failed.code, Some(4), "{failed:?}");
    };
    says(&manager);
    // Also where it is started while it is out.
    drop(manager);
    let manager = Manager::start_in(&home, &[]);
    says(&manager);
    of_operator("allow");
    wait_until(ROUNDS, "it is back", || {
        manager.status(&id)["status"] == "connected"
    });
    let listed = home.run(&["server", "list"]);
    assert!(listed.stdout.contains("\tconnected\t") && listed.stderr.is_empty());
}
