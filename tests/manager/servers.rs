//! `/api/servers`: the servers that a user knows, their tokens, the default, and who stays where.

use std::sync::Arc;

use serde_json::{Value, json};
use support::http::{JSON, Response};
use support::manager::{Far, Manager, Target};
use support::relay::Relay;
use support::{Home, TIMEOUT, wait_until};

/// An enrolment token that nothing may show.
const TOKEN: &str = "marked-enrol-token-0123456789";

fn put(manager: &Manager, body: &Value) -> Value {
    let answer = manager.client().post("/api/servers", body);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.data()
}

fn listed(manager: &Manager, url: &str) -> Value {
    let all = manager.client().get("/api/servers").data();
    let found = all
        .as_array()
        .unwrap()
        .iter()
        .find(|server| server["url"] == url);
    found.cloned().unwrap_or(json!(null))
}

fn delete(manager: &Manager, url: &str) -> Response {
    let path = format!("/api/servers?url={}", url.replace('/', "%2F"));
    manager.client().send("DELETE", &path, &[], b"")
}

fn no_trace_of_the_token(home: &Home, manager: &Manager) {
    let answer = manager.client().get("/api/servers");
    let all = answer.text();
    assert!(!all.contains(TOKEN) && !manager.stderr().contains(TOKEN));
    for entry in std::fs::read_dir(home.path()).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        let has_it = bytes
            .windows(TOKEN.len())
            .any(|part| part == TOKEN.as_bytes());
        assert!(!has_it, "{:?}", entry.path());
    }
}

/// M6: the token of the server of all is none for an application's own, which can be enrolled at all the same.
#[test]
fn an_applications_own_relay_is_enrolled_at_with_its_own_token() {
    let (relay, target) = (Relay::start(&["--enroll-token", TOKEN]), Target::start());
    let url = relay.said("Relay: ").trim_end_matches('/').to_owned();
    let (home, far) = (Arc::new(Home::new()), Far::new());
    let manager = Manager::start_in(
        &home,
        &[
            "--server",
            &far.quick.url(),
            "--enroll-token",
            "another-token",
        ],
    );
    let mut app = target.app();
    app["name"] = json!("printer");
    app["server"] = json!(url);
    app["autoconnect"] = json!(true);
    let id = manager.add(&app);
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(failed["error_class"], "forbidden", "{failed}");
    let shown = listed(&manager, &url);
    assert_eq!(
        (&shown["known"], &shown["status"]),
        (&json!(false), &json!("failed"))
    );
    assert!(shown["error"].is_string(), "{shown}");
    let kept = put(
        &manager,
        &json!({"url": url, "label": "lab", "enroll_token": TOKEN}),
    );
    assert_eq!(
        (&kept["has_enroll_token"], &kept["label"], &kept["default"]),
        (&json!(true), &json!("lab"), &json!(false))
    );
    // It tries again by itself: something has changed.
    manager.wait_status(&id, "connected");
    let shown = listed(&manager, &url);
    assert_eq!(shown["status"], "connected", "{shown}");
    assert_eq!(shown["host_key"], relay.said("Fingerprint: "), "{shown}");
    assert_eq!(shown["applications"], json!([app["name"]]), "{shown}");
    no_trace_of_the_token(&home, &manager);
    assert!(far.quick.requests().is_empty(), "it is that relay's alone");
    let refused = delete(&manager, &url);
    assert_eq!(refused.status(), 409, "{}", refused.text());
    assert_eq!(refused.json()["applications"], json!([app["name"]]));
}

/// M7: a server is entered while `start` runs, and nothing that is connected moves.
#[test]
fn a_default_is_chosen_without_a_restart_and_what_is_connected_stays() {
    let (first, second, target) = (Far::new(), Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = Manager::start_in(&home, &[]);
    let version = || manager.client().get("/api/version").data();
    assert_eq!(version()["embedded"], true);
    let [a, b] = [&first, &second].map(|far| far.quick.url());
    put(
        &manager,
        &json!({"url": a, "default": true, "enroll_token": TOKEN}),
    );
    assert_eq!(
        (
            &version()["server"],
            &version()["embedded"],
            &version()["notices"]
        ),
        (&json!(a), &json!(false), &json!([]))
    );
    let id = manager.add(&target.app());
    first.assign();
    manager.connected(&id);
    assert_eq!(first.quick.requests()[0].json()["enroll_token"], TOKEN);
    put(&manager, &json!({"url": b, "default": true}));
    assert_eq!(listed(&manager, &a)["default"], false);
    assert_eq!(manager.status(&id)["status"], "connected");
    assert_eq!(manager.status(&id)["pending_changes"], false);
    manager.disconnect(&id);
    manager.connected(&id);
    assert_eq!(
        (first.quick.requests().len(), second.quick.requests().len()),
        (2, 0)
    );
    let refused = delete(&manager, &a);
    assert_eq!(refused.status(), 409, "an application stays with it");
    // The page sends back what it was shown, and null for the default.
    let shown = manager.client().get(&format!("/api/apps/{id}")).data();
    assert_eq!(shown["server"], json!(a));
    let path = format!("/api/apps/{id}");
    let put = |server: Value| {
        let mut app = target.app();
        app["server"] = server;
        let body = app.to_string();
        let answer = manager
            .client()
            .send("PUT", &path, &[JSON], body.as_bytes());
        assert_eq!(answer.status(), 200, "{}", answer.text());
        manager.status(&id)["pending_changes"] == json!(true)
    };
    assert!(!put(json!(a)));
    // A change is told by its time, of whole seconds.
    wait_until(TIMEOUT, "the change", || put(json!(null)));
    manager.disconnect(&id);
    second.assign();
    manager.connected(&id);
    assert_eq!(second.quick.requests().len(), 1);
    assert!(
        second.quick.requests()[0]
            .json()
            .get("enroll_token")
            .is_none(),
        "the first one's token is the first one's"
    );
    assert_eq!(delete(&manager, &a).status(), 200);
    no_trace_of_the_token(&home, &manager);
    drop(manager);
    // Plain 'start' uses the default, and embeds nothing.
    let manager = Manager::start_in(&home, &[]);
    assert_eq!(
        manager.client().get("/api/version").data()["server"],
        json!(b)
    );
    manager.connected(&id);
    assert_eq!(second.quick.requests().len(), 2);
}

#[test]
fn a_server_of_the_command_line_is_known_and_no_default() {
    let (far, home) = (Far::new(), Arc::new(Home::new()));
    let url = far.quick.url();
    let manager = far.manager_in(&home);
    let shown = listed(&manager, &url);
    assert_eq!(
        [&shown["known"], &shown["default"], &shown["named"]],
        [&json!(true), &json!(false), &json!(true)]
    );
    drop(manager);
    let manager = Manager::start_in(&home, &[]);
    assert_eq!(
        manager.client().get("/api/version").data()["embedded"],
        true
    );
    let shown = listed(&manager, &url);
    assert_eq!(
        (&shown["known"], &shown["named"]),
        (&json!(true), &json!(false))
    );
    let all = manager.client().get("/api/servers").data();
    let own = all
        .as_array()
        .unwrap()
        .iter()
        .find(|server| server["on_this_machine"] == true);
    assert_eq!(own.unwrap()["default"], true, "{all}");
    assert_eq!(delete(&manager, &url).status(), 200);
    assert_eq!(delete(&manager, &url).status(), 404);
}

/// An application that found no server waits, and is connected when there is one.
#[test]
fn what_waits_for_a_server_comes_when_one_is_entered() {
    let (far, target, home) = (Far::new(), Target::start(), Arc::new(Home::new()));
    let manager = far.manager_in(&home);
    put(&manager, &json!({"url": far.quick.url(), "default": true}));
    drop(manager);
    let manager = Manager::start_in(&home, &[]);
    put(&manager, &json!({"url": far.quick.url(), "default": false}));
    let mut app = target.app();
    app["autoconnect"] = json!(true);
    let id = manager.add(&app);
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(failed["error_class"], "no-server", "{failed}");
    far.assign();
    put(&manager, &json!({"url": far.quick.url(), "default": true}));
    wait_until(TIMEOUT, "the connection", || {
        manager.status(&id)["status"] == "connected"
    });
}

/// Another default moves nothing that is connected, so the relay within `start` stays in the lists as long.
#[test]
fn an_application_counts_at_the_server_that_it_uses() {
    let (far, target, home) = (Far::new(), Target::start(), Arc::new(Home::new()));
    let url = far.quick.url();
    let manager = Manager::start_in(&home, &[]);
    let id = manager.add(&target.app());
    manager.connected(&id);
    let own = manager.client().get("/api/version").data()["server"].clone();
    let own = own.as_str().unwrap();
    let users = |url: &str| listed(&manager, url)["applications"].clone();
    let name = manager.client().get(&format!("/api/apps/{id}")).data()["name"].clone();
    put(&manager, &json!({"url": url, "default": true}));
    assert_eq!((users(own), users(&url)), (json!([name]), json!([])));
    for command in [&["server", "list"][..], &["status"], &["doctor"]] {
        let said = home.run(command).stdout;
        assert!(said.contains(own), "{command:?}: {said}");
    }
    manager.disconnect(&id);
    assert_eq!((users(own), users(&url)), (json!(null), json!([name])));
    let back = home.run(&["server", "default", "none"]);
    assert_eq!((back.code, back.stderr.as_str()), (Some(0), ""), "{back:?}");
    assert_eq!((users(own), users(&url)), (json!([name]), json!([])));
    far.assign();
    put(&manager, &json!({"url": url, "default": true}));
    manager.connected(&id);
    assert_eq!(home.run(&["server", "default", "none"]).code, Some(0));
    drop(manager);
    let offline = home.run(&["server", "list", "--json"]).stdout;
    let offline: Value = serde_json::from_str(&offline).unwrap();
    assert_eq!(offline[0]["applications"], json!([name]), "{offline}");
}

/// M12: the relay within the program cannot have its port, says so, and every application keeps its name.
#[test]
fn the_embedded_relay_at_another_port_keeps_names_and_says_why() {
    let (target, home) = (Target::start(), Arc::new(Home::new()));
    let mut manager = Manager::start_in(&home, &[]);
    let mut app = target.app();
    app["site_name"] = json!("printer");
    let id = manager.add(&app);
    let port_and_name = |manager: &Manager| {
        let site = manager.connected(&id)["site_url"]
            .as_str()
            .unwrap()
            .to_owned();
        let host = site.trim_start_matches("http://").trim_end_matches('/');
        let (name, port) = host.split_once(".localhost:").unwrap();
        (port.parse::<u16>().unwrap(), name.to_owned())
    };
    let (port, name) = port_and_name(&manager);
    assert_eq!(name, "printer");
    manager.stop();
    // Another test's relay may have taken it already.
    let _holders = [port, 8180].map(|port| std::net::TcpListener::bind(("127.0.0.1", port)));
    let manager = Manager::start_in(&home, &[]);
    let (moved, name) = port_and_name(&manager);
    assert!(moved != port && moved != 8180, "{moved}");
    assert_eq!(name, "printer");
    let notices = manager.client().get("/api/version").data()["notices"].to_string();
    let said = format!("printer.localhost:{moved}").replace("printer", "name");
    assert!(
        notices.contains("Port 8180 is in use") && notices.contains(&said),
        "{notices}"
    );
    assert!(manager.stderr().contains("Port 8180 is in use"));
}
