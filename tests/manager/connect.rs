//! `postern start`: what connecting does, step by step, and each row of the specification's tables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::free_port;
use support::manager::{CODE, Far, PASSWORD, Target, USER, visit};
use support::quick_setup::Act;
use support::{Home, TIMEOUT, assert_within, wait_until};

const HELLO: &str = "hello from the target";

#[test]
fn an_application_is_connected_visited_and_disconnected() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    assert_eq!(manager.status(&id)["status"], "idle");
    assert!(
        far.quick.requests().is_empty(),
        "adding makes no remote call"
    );
    let port = far.assign();
    let begun = Instant::now();
    let answer = manager.post(&format!("/api/connect/{id}"));
    assert_within(begun, Duration::from_secs(1));
    let expected = json!({"code": 200, "status": "connecting", "data": {"status": "connecting"}});
    assert_eq!(answer.json(), expected);
    let result = manager.wait_status(&id, "connected");
    assert_eq!(result["site_url"], format!("http://127.0.0.1:{port}/"));
    assert_eq!(
        (&result["auth_url"], &result["error"]),
        (&json!(""), &json!(""))
    );
    assert_eq!(result["app_id"], format!("remote-{port}"));
    wait_until(TIMEOUT, "a visit", || visit(port).as_deref() == Some(HELLO));
    // The time is saved after that is said.
    wait_until(TIMEOUT, "the time is saved", || {
        let apps = manager.client().get("/api/apps").data();
        assert_eq!(apps[0]["conn_status"], "connected");
        apps[0]["last_connected_at"].is_string()
    });
    let result = manager.status(&id);
    assert!(
        result["bytes_in"].as_u64() > Some(0) && result["bytes_out"].as_u64() > Some(0),
        "{result}"
    );
    assert!(result["latency_ms"].as_f64() > Some(0.0) && result["since"].is_string());

    let begun = Instant::now();
    manager.disconnect(&id);
    assert_eq!(manager.status(&id)["status"], "idle");
    wait_until(TIMEOUT, "the end of the tunnel", || visit(port).is_none());
    assert_within(begun, Duration::from_secs(1));
    let tunnels = manager.client().get("/api/tunnel").data();
    assert_eq!(
        tunnels[0]["status"], "connected",
        "the main tunnel stays open"
    );
}

#[test]
fn the_request_says_what_is_to_be_exposed_and_the_answer_is_saved() {
    let (far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let mut app = target.app();
    app["site_name"] = json!("shop");
    app["display_name"] = json!("The shop");
    let id = manager.add(&app);
    far.assign();
    manager.connected(&id);
    let body = far.quick.requests()[0].json();
    for (name, value) in [
        ("protocol", json!("http")),
        ("ip", json!("127.0.0.1")),
        ("port", json!(target.port())),
        ("client_app_id", json!(id)),
        ("site_name", json!("shop")),
        ("display_name", json!("The shop")),
        ("invisible", json!(false)),
        ("visable", json!("")),
        ("reset", json!(true)),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    assert!(
        body["connector_name"]
            .as_str()
            .unwrap()
            .starts_with("postern_")
    );
    assert!(body.get("enroll_token").is_none());
    manager.disconnect(&id);
    manager.connected(&id);
    let body = far.quick.requests()[1].json();
    assert_eq!(
        (&body["connector_name"], &body["password"]),
        (&json!(USER), &json!(PASSWORD))
    );
    assert_eq!(body["reset"], false, "the credentials were accepted");
    drop(manager);
    let manager = far.manager_in(&home);
    manager.connected(&id);
    assert_eq!(
        far.quick.requests()[2].json()["connector_name"],
        USER,
        "after a restart too"
    );
}

#[test]
fn invisible_mode_has_an_auth_url() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let mut app = target.app();
    app["invisible"] = json!(true);
    let id = manager.add(&app);
    let port = far.assign();
    let result = manager.connected(&id);
    let expected =
        format!("https://auth.example/auth?app_id=remote-{port}&code=visitors-code%2F%2B%20%25");
    assert_eq!(result["auth_url"], expected);
    assert_eq!(far.quick.requests()[0].json()["invisible"], true);
    assert!(!manager.stderr().contains(CODE) && !manager.stderr().contains("visitors-code"));
}

#[test]
fn a_second_connect_makes_no_second_connection() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let port = free_port();
    far.quick
        .script([Act::json(200, &far.answer(port)).after(Duration::from_millis(500))]);
    for _ in 0..3 {
        let answer = manager.post(&format!("/api/connect/{id}"));
        assert_eq!(answer.json()["status"], "connecting");
    }
    manager.wait_status(&id, "connected");
    let answer = manager.post(&format!("/api/connect/{id}"));
    assert_eq!(answer.json()["data"]["status"], "connected");
    assert_eq!(far.quick.requests().len(), 1);
}

#[test]
fn a_step_that_fails_says_why_and_can_be_tried_again() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.quick
        .script([Act::json(403, &json!({"message": "not you"}))]);
    manager.connect(&id);
    let result = manager.wait_status(&id, "failed");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("403") && error.contains("not you"),
        "{error}"
    );
    assert_eq!(result["error_class"], "forbidden");
    assert_eq!(
        manager.client().get("/api/apps").data()[0]["conn_status"],
        "failed"
    );
    far.assign();
    manager.connected(&id);
    manager.disconnect(&id);
    far.quick.script([Act::json(403, &json!({}))]);
    manager.connect(&id);
    manager.wait_status(&id, "failed");
    manager.disconnect(&id);
    assert_eq!(
        manager.status(&id)["status"],
        "idle",
        "a failed one is forgotten too"
    );
}

/// The row `connecting | app tunnel wait times out`: 30 s, in real time.
#[test]
fn a_tunnel_that_does_not_come_up_in_30_s_is_a_timeout() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    far.quick.script([Act::json(200, &far.answer(port))]);
    manager.connect(&id);
    let result = manager.wait_for(&id, "waiting", |result| {
        result["error_class"] == "port-held"
    });
    let begun = Instant::now();
    assert_eq!(
        (&result["status"], &result["step"]),
        (&json!("connecting"), &json!(5))
    );
    wait_until(TIMEOUT, "the next attempt", || {
        manager.status(&id)["next_retry_ms"].is_u64()
    });
    let result = manager.wait_status(&id, "failed");
    let waited = begun.elapsed().as_secs_f32();
    assert!((28.0..32.0).contains(&waited), "{waited}");
    assert_eq!(result["error"], "App tunnel connect timeout");
    assert_eq!(result["error_class"], "port-held");
    assert!(
        result["detail"].as_str().unwrap().contains("cannot listen"),
        "{result}"
    );
}

#[test]
fn a_drop_shows_as_connecting_until_the_tunnel_is_back() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let port = far.assign();
    manager.connected(&id);
    far.close();
    let result = manager.wait_status(&id, "connecting");
    assert_ne!(result["error"], "");
    assert_eq!(result["latency_ms"], json!(null), "there is none");
    assert_eq!(
        result["site_url"],
        format!("http://127.0.0.1:{port}/"),
        "the site stays the same"
    );
    far.open();
    manager.post(&format!("/api/retry/{id}"));
    let result = manager.wait_status(&id, "connected");
    assert_eq!(
        (&result["error"], &result["reconnects"]),
        (&json!(""), &json!(1))
    );
    wait_until(TIMEOUT, "a visit", || visit(port).as_deref() == Some(HELLO));
    assert_eq!(
        far.quick.requests().len(),
        1,
        "the tunnel came back by itself"
    );
}

/// A server that was set up anew has other credentials, and other ports, for who asks.
#[test]
fn a_connection_that_is_turned_away_asks_the_server_again() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let first = far.assign();
    let shown = manager.connected(&id);
    assert_eq!(shown["server"], far.quick.url());
    let renewed = |far: &Far, password: &str| {
        let port = free_port();
        let mut answer = far.answer(port);
        answer["connector"]["password"] = json!(password);
        far.quick.script([Act::json(200, &answer)]);
        port
    };
    far.close();
    let port = renewed(&far, "renewed");
    far.open_for("renewed");
    let site = format!("http://127.0.0.1:{port}/");
    let result = manager.wait_for(&id, "at its new place", |result| {
        result["status"] == "connected" && result["site_url"] == site
    });
    assert_eq!(
        (&result["error"], far.quick.requests().len()),
        (&json!(""), 2)
    );
    wait_until(TIMEOUT, "a visit", || visit(port).as_deref() == Some(HELLO));
    assert!(visit(first).is_none());
    wait_until(TIMEOUT, "the main tunnel", || {
        manager.client().get("/api/tunnel").data()[0]["status"] == "connected"
    });

    far.close();
    far.quick
        .script([Act::json(401, &json!({"message": "who are you"}))]);
    far.open_for("another");
    let result = manager.wait_status(&id, "failed");
    assert_eq!(result["error_class"], "wrong-password");
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("401 who are you"), "{error}");
    assert!(!manager.stderr().contains("renewed"));
    renewed(&far, "another");
    manager.connected(&id);
}

#[test]
fn a_changed_host_key_is_shown_and_can_be_trusted() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    let known = far.fingerprint();
    far.close();
    let offered = far.change_key();
    far.open();
    manager.post(&format!("/api/retry/{id}"));
    let changed = |result: &Value| result["error_class"] == "host-key-changed";
    let result = manager.wait_for(&id, "refused", changed);
    let server = format!("127.0.0.1:{}", far.tunnel_port());
    assert_eq!(
        result["host_key"],
        json!({"server": server, "known": known, "offered": offered})
    );
    let trust = |fingerprint: &str| {
        let body = json!({"server": server, "fingerprint": fingerprint});
        manager.client().post("/api/trust", &body).status()
    };
    assert_eq!(trust(&known), 404, "only what was offered can be trusted");
    assert_eq!(trust(&offered), 200);
    manager.wait_status(&id, "connected");
    wait_until(TIMEOUT, "the main tunnel", || {
        manager.client().get("/api/tunnel").data()[0]["status"] == "connected"
    });
    assert_eq!(trust(&offered), 404, "nothing is refused any more");
}

#[test]
fn a_fingerprint_in_the_answer_is_pinned_first_and_does_not_replace_a_pin() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let port = free_port();
    let mut answer = far.answer(port);
    answer["connector"]["fingerprint"] = json!(Far::new().fingerprint());
    far.quick.script([Act::json(200, &answer)]);
    manager.connect(&id);
    let result = manager.wait_for(&id, "refused", |result| {
        result["error_class"] == "host-key-changed"
    });
    assert_eq!(result["step"], 3, "the main tunnel already");
    manager.disconnect(&id);
    answer["connector"]["fingerprint"] = json!(far.fingerprint());
    far.quick.script([Act::json(200, &answer)]);
    manager.connect(&id);
    manager.wait_for(&id, "refused", |result| {
        result["error_class"] == "host-key-changed"
    });
}

/// A tcp application that leads to the page itself would hand it to every visitor, codes and all.
#[test]
fn what_this_program_listens_on_is_no_target() {
    let (manager, target) = (support::manager::Manager::start(&[]), Target::start());
    let id = manager.add(&target.app());
    manager.connected(&id);
    let port_of = |url: &str| -> u16 { url.rsplit(':').next().unwrap().parse().unwrap() };
    let version = manager.client().get("/api/version").data();
    let local_port = manager.client().get("/api/tunnel").data()[0]["local_port"].as_u64();
    let ports = std::fs::read(manager.home().path().join("relay/embedded.json")).unwrap();
    let ports: Value = serde_json::from_slice(&ports).unwrap();
    let page = port_of(manager.authority());
    for (ip, port, what) in [
        ("127.0.0.1", page, "the management page"),
        ("localhost", page, "the management page"),
        ("0.0.0.0", page, "the management page"),
        ("::ffff:127.0.0.1", page, "the management page"),
        (
            "127.0.0.1",
            port_of(version["server"].as_str().unwrap()),
            "the relay",
        ),
        (
            "127.0.0.1",
            u16::try_from(ports["tunnel"].as_u64().unwrap()).unwrap(),
            "the relay's tunnel server",
        ),
        (
            "127.0.0.1",
            u16::try_from(local_port.unwrap()).unwrap(),
            "the local API",
        ),
    ] {
        let id = manager.add(&json!({"protocol": "tcp", "ip": ip, "port": port}));
        manager.connect(&id);
        let failed = manager.wait_status(&id, "failed");
        let error = failed["error"].as_str().unwrap();
        assert!(error.contains(what), "{ip}:{port}: {error}");
        assert_eq!(failed["error_class"], "own-listener");
    }
    // This port of another address belongs to somebody else.
    let id = manager.add(&json!({"protocol": "tcp", "ip": "127.0.0.2", "port": page}));
    manager.connected(&id);
}

#[test]
fn two_that_are_connected_at_once_are_one_connector() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let ids = [manager.add(&target.app()), manager.add(&target.app())];
    let answers = [free_port(), free_port()]
        .map(|port| Act::json(200, &far.answer(port)).after(Duration::from_millis(300)));
    far.quick.script(answers);
    std::thread::scope(|scope| {
        for id in &ids {
            scope.spawn(|| manager.connect(id));
        }
    });
    let requests = far.quick.wait_for(2);
    let told = |call: usize, name: &str| requests[call].json()[name].clone();
    for name in ["connector_name", "password"] {
        assert_eq!(told(0, name), told(1, name), "{name}");
        assert_ne!(told(0, name), "");
    }
    for id in &ids {
        manager.wait_status(id, "connected");
    }
}
