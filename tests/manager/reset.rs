//! `postern start`: starting afresh with one server, and servers that no application uses any more.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use support::free_port;
use support::http::Response;
use support::manager::{Far, Manager, PASSWORD, Target, visit};
use support::quick_setup::Act;
use support::{Home, TIMEOUT, wait_until};

fn reset(manager: &Manager, body: &Value) -> Response {
    manager.client().post("/api/reset", body)
}

/// Origins of the main tunnels.
fn tunnels(manager: &Manager) -> Vec<String> {
    let shown = manager.client().get("/api/tunnel").data();
    let origin = |tunnel: &Value| tunnel["server"].as_str().unwrap().to_owned();
    shown.as_array().unwrap().iter().map(origin).collect()
}

/// An application that is connected through `other`.
fn elsewhere(target: &Target, other: &Far) -> Value {
    let mut app = target.app();
    app["server"] = json!(other.quick.url());
    app
}

fn name_told(far: &Far, call: usize) -> Value {
    far.quick.requests()[call].json()["connector_name"].clone()
}

#[test]
fn one_server_is_begun_afresh_with_and_the_others_stay() {
    let (far, other, target) = (Far::new(), Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let id = manager.add(&target.app());
    let idle = manager.add(&target.app());
    let of_other = manager.add(&elsewhere(&target, &other));
    let port = far.assign();
    let port_of_other = other.assign();
    manager.connected(&id);
    manager.connected(&of_other);
    let pins = fs::read(home.path().join("known_servers.json")).unwrap();

    let refused = reset(&manager, &json!({"server": far.quick.url()}));
    assert_eq!(refused.status(), 409);
    assert_eq!(refused.json()["connected"], json!([id]));
    assert_eq!(manager.status(&id)["status"], "connected");

    // Spelled as a person would.
    let server = format!("{}/", far.quick.url().to_uppercase());
    let answer = reset(&manager, &json!({"server": server, "disconnect": true}));
    let expected = json!({"server": far.quick.url(), "disconnected": [id]});
    assert_eq!(answer.data(), expected);
    assert_eq!(manager.status(&id)["status"], "idle");
    wait_until(TIMEOUT, "the end of the site", || visit(port).is_none());
    assert_eq!(tunnels(&manager), [other.quick.url()]);
    assert_eq!(manager.status(&of_other)["status"], "connected");
    assert!(visit(port_of_other).is_some());
    let kept = fs::read_dir(home.path()).unwrap().flatten();
    let kept = kept.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(".credential.reset-")
    });
    assert_eq!(kept.count(), 1);

    for id in [&id, &idle] {
        far.assign();
        manager.connected(id);
    }
    let requests = far.quick.requests();
    assert_eq!(requests[1].json()["reset"], true);
    assert!(name_told(&far, 1).as_str().unwrap().starts_with("postern_"));
    assert_ne!(name_told(&far, 0), name_told(&far, 1));
    assert_ne!(requests[1].json()["password"], PASSWORD);
    assert_eq!(
        requests[1].json()["client_app_id"],
        json!(id),
        "the applications stay"
    );
    let pinned = fs::read(home.path().join("known_servers.json")).unwrap();
    assert_eq!(pinned, pins, "host keys have a question of their own");
    assert_eq!(other.quick.requests().len(), 1);
}

#[test]
fn a_refused_connector_gets_in_again() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    manager.disconnect(&id);
    far.quick.script([Act::json(401, &json!({}))]);
    far.close();
    far.open_for("another");
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(failed["error_class"], "wrong-password");
    let answer = reset(&manager, &json!({"server": failed["server"]}));
    assert_eq!(answer.data()["disconnected"], json!([]), "none was live");
    assert_eq!(
        manager.status(&id)["status"],
        "idle",
        "the failure is history"
    );
    let mut good = far.answer(free_port());
    good["connector"]["password"] = json!("another");
    far.quick.script([Act::json(200, &good)]);
    manager.connected(&id);
    let last = far.quick.requests().pop().unwrap().json();
    assert!(
        last["connector_name"]
            .as_str()
            .unwrap()
            .starts_with("postern_")
    );
    assert_eq!(last["reset"], true);
}

#[test]
fn what_was_never_known_cannot_be_forgotten() {
    let manager = Manager::start(&[]);
    for (status, body) in [
        (404, json!({"server": "https://relay.example"})),
        (400, json!({"server": "relay.example"})),
        (400, json!({"server": "https://user:planted@relay.example"})),
        (400, json!({"server": "https://relay.example", "all": true})),
        (400, json!({"server": null})),
        (400, json!({})),
        (400, json!([])),
    ] {
        let answer = reset(&manager, &body);
        assert_eq!(answer.status(), status, "{body}: {}", answer.text());
        assert!(!answer.text().contains("planted"));
    }
    let plain = manager
        .client()
        .send("POST", "/api/reset", &[], b"{\"server\":\"x\"}");
    assert_eq!(plain.status(), 415);
}

/// Its credentials would come back, and nobody would know why the fresh ones are gone.
#[test]
fn an_answer_that_comes_after_it_changes_nothing() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let ids = [manager.add(&target.app()), manager.add(&target.app())];
    far.assign();
    manager.connected(&ids[0]);
    let late = Act::json(200, &far.answer(free_port())).after(Duration::from_secs(1));
    far.quick.script([late]);
    manager.connect(&ids[1]);
    wait_until(TIMEOUT, "the call", || far.quick.requests().len() == 2);
    let body = json!({"server": far.quick.url(), "disconnect": true});
    let ended = reset(&manager, &body).data()["disconnected"].clone();
    assert_eq!(ended.as_array().unwrap().len(), 2);
    wait_until(TIMEOUT, "the late answer", || {
        manager.stderr().contains("came too late to be saved")
    });
    assert!(tunnels(&manager).is_empty());
    far.assign();
    manager.connected(&ids[1]);
    assert!(name_told(&far, 2).as_str().unwrap().starts_with("postern_"));
}

#[test]
fn a_server_that_no_application_uses_has_no_main_tunnel() {
    let (far, other, target) = (Far::new(), Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let id = manager.add(&target.app());
    let first = manager.add(&elsewhere(&target, &other));
    let second = manager.add(&elsewhere(&target, &other));
    far.assign();
    manager.connected(&id);
    for id in [&first, &second] {
        other.assign();
        manager.connected(id);
    }
    assert_eq!(tunnels(&manager).len(), 2);
    let delete = |id: &str| {
        let path = format!("/api/apps/{id}");
        assert_eq!(
            manager.client().send("DELETE", &path, &[], b"").status(),
            200
        );
    };
    delete(&first);
    assert_eq!(tunnels(&manager).len(), 2, "one still uses it");
    // The server changes under a connection: its tunnels stay until it ends.
    let mut moved = target.app();
    moved["server"] = json!(null);
    let changed = manager.client().send(
        "PUT",
        &format!("/api/apps/{second}"),
        &[support::http::JSON],
        moved.to_string().as_bytes(),
    );
    assert_eq!(changed.status(), 200);
    assert_eq!(tunnels(&manager).len(), 2, "it is connected through it");
    manager.disconnect(&second);
    let own = [far.quick.url()];
    wait_until(TIMEOUT, "the end of the tunnel", || {
        tunnels(&manager) == own
    });
    delete(&id);
    delete(&second);
    assert_eq!(tunnels(&manager), own, "the one that new ones will use");
    drop(manager);
    let manager = far.manager_in(&home);
    wait_until(TIMEOUT, "the main tunnel", || tunnels(&manager) == own);
    assert!(!manager.stderr().contains(&other.quick.url()));
}
