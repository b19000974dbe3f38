//! `postern start` against servers that lie, answer late, or try to speak for another one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use support::free_port;
use support::manager::{Far, Manager, Target};
use support::quick_setup::{Act, QuickSetup};
use support::{Home, TIMEOUT, wait_until};

fn put(manager: &Manager, path: &str, app: &Value) -> u16 {
    let json = [("Content-Type", "application/json")];
    let body = app.to_string();
    manager
        .client()
        .send("PUT", path, &json, body.as_bytes())
        .status()
}

/// Connector name in the next call.
fn name_told(far: &Far, manager: &Manager, id: &str) -> Value {
    let before = far.quick.requests().len();
    manager.connect(id);
    let requests = far.quick.wait_for(before + 1);
    manager.disconnect(id);
    requests[before].json()["connector_name"].clone()
}

#[test]
fn a_late_answer_does_not_replace_newer_credentials() {
    let far = Far::new();
    let manager = far.manager();
    let id = manager.add(&Target::start().app());
    let mut late = far.answer(free_port());
    late["connector"]["username"] = json!("late-user");
    late["connector"]["password"] = json!("late-password");
    let late = Act::json(200, &late).after(Duration::from_secs(2));
    let newer = Act::json(200, &far.answer(free_port()));
    far.quick.script([late, newer]);
    manager.connect(&id);
    far.quick.wait_for(1);
    manager.disconnect(&id);
    manager.connect(&id);
    manager.wait_status(&id, "connected");
    wait_until(TIMEOUT, "the late answer", || {
        manager.stderr().contains("came too late to be saved")
    });
    manager.disconnect(&id);
    assert_eq!(name_told(&far, &manager, &id), "assigned-user");
}

#[test]
fn a_late_answer_is_saved_where_nothing_is_newer() {
    let far = Far::new();
    let manager = far.manager();
    let id = manager.add(&Target::start().app());
    let late = Act::json(200, &far.answer(free_port())).after(Duration::from_secs(1));
    far.quick.script([late]);
    manager.connect(&id);
    far.quick.wait_for(1);
    manager.disconnect(&id);
    wait_until(TIMEOUT, "the late answer", || {
        manager.stderr().contains("are saved")
    });
    assert_eq!(name_told(&far, &manager, &id), "assigned-user");
}

/// One server names the tunnel server of another one, with a key of its own choice.
#[test]
fn no_server_pins_the_host_key_of_anothers_tunnel_server() {
    let far = Far::new();
    far.assign();
    let mut lie = far.answer(free_port());
    lie["connector"]["api_port"] = json!(free_port());
    lie["connector"]["fingerprint"] = json!("bm90IHRoZSBrZXkgb2YgdGhhdCBzZXJ2ZXIgYXQgYWxsIQ=");
    let liar = QuickSetup::start([Act::json(200, &lie)]);
    let manager = far.manager();
    let mut app = Target::start().app();
    let honest = manager.add(&app);
    app["server"] = json!(liar.url());
    let lied_to = manager.add(&app);
    manager.connect(&lied_to);
    let refused = manager.wait_for(&lied_to, "the refusal", |result| {
        result["error_class"] == "host-key-changed"
    });
    assert_eq!(refused["host_key"]["offered"], far.fingerprint());
    manager.connect(&honest);
    manager.wait_status(&honest, "connected");
    // The user can end the quarrel, for the one server that told of it.
    let trust = json!({
        "server": refused["host_key"]["server"], "fingerprint": far.fingerprint(),
    });
    assert_eq!(manager.client().post("/api/trust", &trust).status(), 200);
    manager.wait_status(&lied_to, "connected");
}

#[test]
fn what_is_wrong_here_is_not_blamed_on_the_server() {
    let (far, home) = (Far::new(), Arc::new(Home::new()));
    let manager = far.manager_in(&home);
    let id = manager.add(&Target::start().app());
    std::fs::create_dir(home.path().join(".credential")).unwrap();
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(failed["error_class"], "local", "{failed}");
    assert!(failed["error"].as_str().unwrap().contains(".credential"));
    assert!(far.quick.requests().is_empty());
}

/// A wrong tunnel port of one application is mended by mending that application.
#[test]
fn a_wrong_tunnel_port_goes_with_the_application_that_named_it() {
    let far = Far::new();
    let manager = far.manager();
    let mut app = Target::start().app();
    let id = manager.add(&app);
    far.assign();
    manager.connected(&id);
    manager.disconnect(&id);
    let mut silent = far.answer(free_port());
    silent["connector"]["tunnel_port"] = Value::Null;
    far.quick.script([Act::json(200, &silent)]);
    app["tunnel_port"] = json!(free_port());
    let path = format!("/api/apps/{id}");
    assert_eq!(put(&manager, &path, &app), 200);
    manager.connect(&id);
    manager.wait_for(&id, "the wrong port", |result| {
        result["error_class"] == "network"
    });
    manager.disconnect(&id);
    app["tunnel_port"] = Value::Null;
    assert_eq!(put(&manager, &path, &app), 200);
    manager.connected(&id);
}

/// As quickly as two threads can; every look in between must find a status of the contract.
#[test]
fn no_look_finds_a_status_that_there_is_not() {
    let far = Far::new();
    far.quick.script([Act::Hold]);
    let manager = far.manager();
    let id = manager.add(&Target::start().app());
    std::thread::scope(|scope| {
        let churn = scope.spawn(|| {
            for _ in 0..40 {
                manager.connect(&id);
                manager.disconnect(&id);
            }
        });
        let mut client = manager.client();
        while !churn.is_finished() {
            let apps = client.get("/api/apps").data();
            let status = apps[0]["conn_status"].as_str().unwrap();
            assert!(["idle", "connecting"].contains(&status), "{status}");
        }
    });
}

/// A server names an address in the connector's own network for tunnels: nothing is sent there.
#[test]
fn an_address_that_is_no_servers_is_not_dialled() {
    let far = Far::new();
    let manager = far.manager();
    let id = manager.add(&Target::start().app());
    let local = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    local.set_nonblocking(true).unwrap();
    // The first of them leads to this machine when it is dialled.
    for address in [
        "0.0.0.0",
        "::",
        "::ffff:0.0.0.0",
        "169.254.169.254",
        "255.255.255.255",
    ] {
        let mut answer = far.answer(free_port());
        answer["connector"]["external_ip"] = json!(address);
        answer["connector"]["tunnel_port"] = json!(local.local_addr().unwrap().port());
        far.quick.script([Act::json(200, &answer)]);
        manager.connect(&id);
        let failed = manager.wait_status(&id, "failed");
        let error = failed["error"].as_str().unwrap();
        assert!(
            error.contains(&format!("{address} is not a valid tunnel address")),
            "{error}"
        );
        assert_eq!(manager.client().get("/api/tunnel").data(), json!([]));
    }
    let nobody = local.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    let mut answer = far.answer(free_port());
    answer["connector"]["external_ip"] = json!("localhost");
    far.quick.script([Act::json(200, &answer)]);
    manager.connected(&id);
}
