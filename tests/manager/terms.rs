//! `postern start`: how long an application is shared, with whom and by which code; what of that is changed while it
//! runs, and who sees to it.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use postern::store::time::rfc3339;
use serde_json::{Value, json};
use support::http::{JSON, Response};
use support::manager::{Far, Manager, Target, visit};
use support::quick_setup::Act;
use support::relay::{Relay, texts_below, with};
use support::websocket::{ends, read_head, websocket};
use support::{Home, TIMEOUT, wait_until};

const HELLO: &str = "hello from the target";

fn shop(target: &Target, changes: Value) -> Value {
    with(with(target.app(), json!({"name": "shop"})), changes)
}

fn put(manager: &Manager, id: &str, app: &Value) -> Value {
    let path = format!("/api/apps/{id}");
    let body = app.to_string();
    let answer = manager
        .client()
        .send("PUT", &path, &[JSON], body.as_bytes());
    answer.data()
}

fn seconds_from_now(seconds: u64) -> String {
    rfc3339(SystemTime::now() + Duration::from_secs(seconds))
}

fn send(relay: &Relay, path: &str, cookie: &str) -> Response {
    let host = format!("shop.localhost:{}", relay.address.port());
    let headers = [("Host", host.as_str()), ("Origin", ""), ("Cookie", cookie)];
    relay.client().send("GET", path, &headers, b"")
}

/// The path of the link that carries the code.
fn auth_path(connection: &Value) -> String {
    let url = connection["auth_url"].as_str().unwrap();
    let (_, rest) = url.split_once("localhost:").expect("a site of the relay");
    rest[rest.find('/').unwrap()..].to_owned()
}

fn sign_in(relay: &Relay, connection: &Value) -> String {
    let answer = send(relay, &auth_path(connection), "");
    assert_eq!(answer.status(), 303, "{}", answer.text());
    answer.cookie().unwrap()
}

/// Echoes after an upgrade; ends with the process.
fn echo() -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                read_head(&mut stream);
                let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                    Upgrade: websocket\r\n\r\n";
                stream.write_all(answer.as_bytes()).unwrap();
                let mut writer = stream.try_clone().unwrap();
                let _ = std::io::copy(&mut stream, &mut writer);
            });
        }
    });
    json!({"protocol": "http", "port": port, "name": "shop"})
}

#[test]
fn an_application_ends_by_itself_and_is_not_connected_before_it_is_extended() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let home = Arc::new(Home::new());
    let args = ["--server", &relay.url()];
    let manager = Manager::start_in(&home, &args);
    let expires = seconds_from_now(4);
    let body = echo();
    let ending = with(
        body.clone(),
        json!({"expires": expires, "autoconnect": true}),
    );
    let id = manager.add(&ending);
    let connected = manager.connected(&id);
    assert_eq!(connected["exposed"]["expires"], json!(expires));
    let visitor = websocket(&relay, "");
    ends(visitor);
    let is_over = |manager: &Manager| {
        let over = manager.wait_for(&id, "its end", |status| status["error_class"] == "expired");
        assert_eq!(over["status"], "idle", "{over}");
        assert!(
            over["hint"].as_str().unwrap().contains("extend it"),
            "{over}"
        );
        let refused = manager.post(&format!("/api/connect/{id}"));
        assert_eq!(refused.status(), 409);
        assert!(
            refused.json()["hint"]
                .as_str()
                .unwrap()
                .contains("extend it")
        );
        assert_eq!(
            manager.post(&format!("/api/retry/{id}")).data()["status"],
            "idle"
        );
    };
    is_over(&manager);
    let refused = home.run(&["app", "connect", "shop"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let hint = "has expired\nextend it: 'postern app edit shop --for 1h'\n";
    assert!(refused.stderr.ends_with(hint), "{refused:?}");
    let says_so = || {
        for line in [&["app", "list"][..], &["status"], &["app", "show", "shop"]] {
            let said = home.run(line).stdout;
            let word = "expired: extend it: 'postern app edit shop --for 1h'";
            assert!(said.contains(word), "{line:?}: {said}");
        }
    };
    says_so();
    wait_until(TIMEOUT, "the relay's end of it", || {
        send(&relay, "/", "").status() == 410
    });
    assert!(manager.stderr().contains("application 'shop': expired"));
    drop(manager);
    says_so();
    let manager = Manager::start_in(&home, &args);
    is_over(&manager);
    let shown = put(
        &manager,
        &id,
        &with(target.app(), json!({"name": "shop", "expires": null})),
    );
    assert!(shown.get("connection").is_none(), "{shown}");
    manager.connected(&id);
    assert_eq!(send(&relay, "/", "").text(), HELLO);
}

/// As after a start with a wall clock that was set back: the stored end is an hour away.
#[test]
fn what_was_left_is_not_more_after_a_restart() {
    let (relay, home) = (Relay::start(&[]), Arc::new(Home::new()));
    let args = ["--server", &relay.url()];
    let manager = Manager::start_in(&home, &args);
    let ending = json!({"expires": seconds_from_now(3600), "autoconnect": true});
    let id = manager.add(&with(echo(), ending));
    manager.connected(&id);
    let noted = home.path().join("ends.json");
    let read = || std::fs::read_to_string(&noted).unwrap_or_default();
    wait_until(TIMEOUT, "what is left", || read().contains(&id));
    drop(manager);
    let mut kept: Value = serde_json::from_str(&read()).unwrap();
    let left = &mut kept["ends"][&id]["left"];
    assert!(left.as_u64().is_some_and(|left| left > 3000 && left < 3602));
    *left = json!(5);
    std::fs::write(&noted, kept.to_string()).unwrap();
    let manager = Manager::start_in(&home, &args);
    manager.wait_for(&id, "its end", |status| status["error_class"] == "expired");
}

/// An end in the past is rejected without any request for it.
#[test]
fn an_end_that_has_passed_already_connects_nothing() {
    let far = Far::new();
    let manager = far.manager();
    let over = json!({"protocol": "http", "port": 1, "expires": "2020-01-01T00:00:00Z"});
    let id = manager.add(&over);
    assert_eq!(manager.post(&format!("/api/connect/{id}")).status(), 409);
    assert_eq!(manager.status(&id)["error_class"], "expired");
    assert!(far.quick.requests().is_empty());
}

#[test]
fn a_running_connection_is_extended_and_shortened() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = Manager::start(&["--server", &relay.url()]);
    let id = manager.add(&shop(&target, json!({"expires": seconds_from_now(5)})));
    let before = manager.connected(&id);
    let later = seconds_from_now(3600);
    let shown = put(&manager, &id, &shop(&target, json!({"expires": later})));
    assert_eq!(shown["connection"]["pending_changes"], false);
    let after = manager.wait_for(&id, "the later end", |status| {
        status["exposed"]["expires"] == json!(later)
    });
    assert_eq!(
        (&after["since"], &after["error"]),
        (&before["since"], &json!(""))
    );
    wait_until(TIMEOUT, "the relay knows it", || {
        texts_below(&relay.data()).contains(&later)
    });
    put(
        &manager,
        &id,
        &shop(&target, json!({"expires": seconds_from_now(1)})),
    );
    manager.wait_for(&id, "its end", |status| status["error_class"] == "expired");
}

#[test]
fn a_code_is_the_applications_own_until_it_is_renewed() {
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::new());
    let args = ["--server", &relay.url()];
    let manager = Manager::start_in(&home, &args);
    let id = manager.add(&with(echo(), json!({"invisible": true})));
    let first = manager.connected(&id);
    let code = auth_path(&first).split("code=").nth(1).unwrap().to_owned();
    assert_eq!(code.len(), 40, "160 bits");
    manager.disconnect(&id);
    assert_eq!(manager.connected(&id)["auth_url"], first["auth_url"]);
    drop(manager);
    let manager = Manager::start_in(&home, &args);
    let again = manager.connected(&id);
    assert_eq!(again["auth_url"], first["auth_url"]);
    let cookie = sign_in(&relay, &again);
    let visitor = websocket(&relay, &cookie);
    let shown = manager.post(&format!("/api/apps/{id}/code")).data();
    assert_eq!(shown["id"], id);
    let renewed = manager.wait_for(&id, "the new code", |status| {
        status["auth_url"] != first["auth_url"]
    });
    assert_eq!(renewed["since"], again["since"], "the tunnel stays");
    assert_eq!(send(&relay, "/", &cookie).status(), 401);
    assert_eq!(send(&relay, &auth_path(&first), "").status(), 401);
    ends(visitor);
    drop(websocket(&relay, &sign_in(&relay, &renewed)));
    for text in [
        texts_below(&relay.data()),
        relay.stderr(),
        manager.stderr(),
        texts_below(home.path()),
    ] {
        assert!(!text.contains(&code), "it is in no file and no log");
    }
}

#[test]
fn everybody_is_signed_out_and_the_code_stays() {
    let relay = Relay::start(&[]);
    let manager = Manager::start(&["--server", &relay.url()]);
    let id = manager.add(&with(echo(), json!({"invisible": true})));
    let connection = manager.connected(&id);
    let cookie = sign_in(&relay, &connection);
    let visitor = websocket(&relay, &cookie);
    manager.post(&format!("/api/apps/{id}/signout")).data();
    wait_until(TIMEOUT, "the cookie's end", || {
        send(&relay, "/", &cookie).status() == 401
    });
    ends(visitor);
    assert_eq!(manager.status(&id)["auth_url"], connection["auth_url"]);
    drop(websocket(&relay, &sign_in(&relay, &connection)));
}

#[test]
fn a_sign_out_returns_when_it_holds_at_the_relay_or_says_that_it_is_under_way() {
    let (mut relay, target) = (Relay::start(&[]), Target::start());
    let manager = Manager::start(&["--server", &relay.url()]);
    let id = manager.add(&shop(&target, json!({"invisible": true})));
    let connection = manager.connected(&id);
    let sign_out = || manager.home().run(&["app", "signout", "shop"]);
    for turn in 0..5 {
        let cookie = sign_in(&relay, &connection);
        let done = sign_out();
        assert_eq!(send(&relay, "/", &cookie).status(), 401, "turn {turn}");
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    relay.stop();
    let answer = manager.post(&format!("/api/apps/{id}/signout"));
    assert_eq!(answer.status(), 202, "{}", answer.text());
    let done = sign_out();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("repeats the request"), "{done:?}");
    let relay = relay.restart(&[]);
    manager.post(&format!("/api/retry/{id}"));
    manager.wait_status(&id, "connected");
    let cookie = sign_in(&relay, &connection);
    let done = sign_out();
    assert_eq!(
        (done.code, send(&relay, "/", &cookie).status()),
        (Some(0), 401)
    );
}

#[test]
fn who_may_come_is_changed_at_once() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = Manager::start(&["--server", &relay.url()]);
    let id = manager.add(&shop(&target, json!({})));
    let before = manager.connected(&id);
    assert_eq!(send(&relay, "/", "").text(), HELLO);
    let allow = json!(["192.0.2.0/24"]);
    put(&manager, &id, &shop(&target, json!({"allow": allow})));
    wait_until(TIMEOUT, "the refusal", || {
        send(&relay, "/", "").status() == 403
    });
    let after = manager.wait_for(&id, "what is in force", |status| {
        status["exposed"]["allow"] == allow
    });
    assert_eq!(after["since"], before["since"]);
    put(&manager, &id, &shop(&target, json!({"allow": null})));
    wait_until(TIMEOUT, "everybody", || {
        send(&relay, "/", "").status() == 200
    });
}

/// Its connection has a copy from when it began: that one knows no end, or another.
#[test]
fn an_end_that_is_given_while_it_connects_holds() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    for before in [Value::Null, json!(seconds_from_now(3600))] {
        let port = support::free_port();
        far.quick.script([
            Act::text(429, "wait").header("Retry-After: 2"),
            Act::json(200, &far.answer(port)).after(Duration::from_secs(1)),
        ]);
        let asked = far.quick.requests().len();
        let id = manager.add(&with(target.app(), json!({"expires": before})));
        manager.connect(&id);
        wait_until(TIMEOUT, "the first call", || {
            far.quick.requests().len() > asked
        });
        let soon = json!({"expires": seconds_from_now(6)});
        put(&manager, &id, &with(target.app(), soon));
        manager.wait_status(&id, "connected");
        manager.wait_for(&id, "its end", |status| status["error_class"] == "expired");
        wait_until(TIMEOUT, "the port's end", || visit(port).is_none());
    }
}

#[test]
fn an_end_that_is_given_while_the_relay_is_away_holds() {
    let (mut relay, target) = (Relay::start(&[]), Target::start());
    let manager = Manager::start(&["--server", &relay.url()]);
    let id = manager.add(&shop(&target, json!({})));
    relay.stop();
    manager.connect(&id);
    manager.wait_for(&id, "a call in vain", |status| status["error"] != "");
    let soon = json!({"expires": seconds_from_now(8)});
    put(&manager, &id, &shop(&target, soon));
    let relay = relay.restart(&[]);
    manager.post(&format!("/api/retry/{id}"));
    manager.wait_status(&id, "connected");
    assert_eq!(send(&relay, "/", "").text(), HELLO);
    manager.wait_for(&id, "its end", |status| status["error_class"] == "expired");
    wait_until(TIMEOUT, "the relay's end of it", || {
        send(&relay, "/", "").status() == 410
    });
}

/// A relay of ours, as far as its answers go.
fn relay_like(far: &Far, port: u16) -> Act {
    let mut answer = far.answer(port);
    answer["app"]["in_force"] = json!(["expires_in"]);
    Act::json(200, &answer)
}

#[test]
fn a_server_that_does_not_hear_of_a_change_is_told_again() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let port = support::free_port();
    far.quick.script([relay_like(&far, port)]);
    let [soon, late] = [600, 7200].map(seconds_from_now);
    let id = manager.add(&shop(&target, json!({"expires": soon})));
    let before = manager.connected(&id);
    let asked = far.quick.requests().len();
    far.quick.script([
        Act::json(500, &json!({"message": "not now"})),
        relay_like(&far, port),
    ]);
    put(&manager, &id, &shop(&target, json!({"expires": late})));
    let owing = manager.wait_for(&id, "what is owed", |status| status["error"] != "");
    assert!(
        owing["error"].as_str().unwrap().contains("not now"),
        "{owing}"
    );
    assert!(owing["next_retry_ms"].is_u64() && owing["status"] == "connected");
    assert_eq!(
        owing["exposed"]["expires"],
        json!(soon),
        "the server ends it then"
    );
    let told = manager.wait_for(&id, "the news", |status| {
        status["exposed"]["expires"] == json!(late)
    });
    assert_eq!(
        (&told["error"], &told["since"]),
        (&json!(""), &before["since"])
    );
    let requests = far.quick.requests();
    assert_eq!(requests.len(), asked + 2);
    let left = requests.last().unwrap().json()["expires_in"]
        .as_u64()
        .unwrap();
    assert!((3600..=7200).contains(&left), "{left}");
    // A nearer end holds here whatever the server says.
    far.quick.script([Act::Hold]);
    put(
        &manager,
        &id,
        &shop(&target, json!({"expires": seconds_from_now(2)})),
    );
    manager.wait_for(&id, "its end", |status| status["error_class"] == "expired");
    assert!(visit(port).is_none());
}

#[test]
fn what_another_server_does_not_see_to_is_seen_to_here_or_not_connected() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let port = far.assign();
    let id = manager.add(&shop(&target, json!({"allow": ["192.0.2.0/24"]})));
    manager.connect(&id);
    let refused = manager.wait_status(&id, "failed");
    assert_eq!(refused["error_class"], "not-enforced", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("postern relay"));
    assert!(visit(port).is_none());
    assert_eq!(
        far.quick.requests().last().unwrap().json()["allow"],
        json!(["192.0.2.0/24"])
    );

    let port = far.assign();
    put(
        &manager,
        &id,
        &shop(
            &target,
            json!({"allow": null, "expires": seconds_from_now(4)}),
        ),
    );
    manager.connected(&id);
    assert_eq!(visit(port).as_deref(), Some(HELLO));
    let asked = far.quick.requests().len();
    put(
        &manager,
        &id,
        &shop(&target, json!({"expires": seconds_from_now(2)})),
    );
    manager.wait_for(&id, "its end", |status| status["error_class"] == "expired");
    assert!(visit(port).is_none());
    assert_eq!(
        far.quick.requests().len(),
        asked,
        "it has nothing to do with it"
    );

    let port = far.assign();
    put(&manager, &id, &shop(&target, json!({"expires": null})));
    manager.connected(&id);
    put(
        &manager,
        &id,
        &shop(&target, json!({"allow": ["192.0.2.0/24"]})),
    );
    let refused = manager.wait_status(&id, "failed");
    assert_eq!(refused["error_class"], "not-enforced", "{refused}");
    wait_until(TIMEOUT, "the port's end", || visit(port).is_none());
}

#[test]
fn names_are_one_applications_alone_and_reserved_ones_nobodys() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = Manager::start(&["--server", &relay.url()]);
    let id = manager.add(&target.app());
    let site = manager.connected(&id)["site_url"].clone();
    let site = site.as_str().unwrap();
    assert!(
        !site.contains("127-0-0-1") && !site.contains(&target.port().to_string()),
        "{site}"
    );
    manager.disconnect(&id);
    assert_eq!(
        manager.connected(&id)["site_url"],
        site,
        "it keeps what was drawn"
    );
    let short = manager.add(&with(target.app(), json!({"name": "a"})));
    let site = manager.connected(&short)["site_url"].clone();
    assert!(site.as_str().unwrap().starts_with("http://a-"), "{site}");
    let twice = manager
        .client()
        .post("/api/apps", &with(target.app(), json!({"name": "a"})));
    assert_eq!(twice.status(), 409);
    assert_eq!(twice.json()["message"], "another application is named 'a'");
    let www = manager.client().post(
        "/api/apps",
        &with(target.app(), json!({"site_name": "www"})),
    );
    assert_eq!(www.status(), 400);
    assert!(
        www.json()["fields"]["site_name"]
            .as_str()
            .unwrap()
            .contains("reserved")
    );
}

/// A visit by the remote port, at a server that is none of ours.
fn visit_with(port: u16, path: &str, cookie: &str) -> Option<Response> {
    let mut client = support::http::Client::new(&format!("127.0.0.1:{port}"));
    client
        .try_send("GET", path, &[("Cookie", cookie)], b"")
        .ok()
}

#[test]
fn a_code_that_no_server_asks_for_is_asked_for_here_and_renewed_here() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let port = support::free_port();
    let mut answer = far.answer(port);
    answer["api_key"] = json!({"nhp_server": "", "code": ""});
    far.quick.script([Act::json(200, &answer)]);
    let id = manager.add(&shop(&target, json!({"invisible": true})));
    let first = manager.connected(&id);
    let path = |connection: &Value| {
        let url = connection["auth_url"].as_str().unwrap();
        let site = format!("http://127.0.0.1:{port}");
        url.strip_prefix(&site).unwrap().to_owned()
    };
    assert_eq!(visit_with(port, "/", "").unwrap().status(), 401);
    let entered = visit_with(port, &path(&first), "").unwrap();
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let cookie = entered.cookie().unwrap();
    assert_eq!(visit_with(port, "/", &cookie).unwrap().text(), HELLO);
    let asked = far.quick.requests().len();
    manager.post(&format!("/api/apps/{id}/signout")).data();
    let is_out =
        |cookie: &str| visit_with(port, "/", cookie).is_some_and(|visit| visit.status() == 401);
    wait_until(TIMEOUT, "the cookie's end", || is_out(&cookie));
    let cookie = visit_with(port, &path(&first), "")
        .unwrap()
        .cookie()
        .unwrap();
    manager.post(&format!("/api/apps/{id}/code")).data();
    let renewed = manager.wait_for(&id, "the new code", |status| {
        status["auth_url"] != first["auth_url"]
    });
    assert!(is_out(&cookie));
    assert_eq!(visit_with(port, &path(&first), "").unwrap().status(), 401);
    assert_eq!(visit_with(port, &path(&renewed), "").unwrap().status(), 303);
    assert_eq!(
        far.quick.requests().len(),
        asked,
        "the server has nothing to do with it"
    );
}
