//! The terms of an application: for whom, for how long, with which code.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use postern::tunnel::client::Tunnel;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::http::Response;
use support::manager::Target;
use support::relay::{PASSWORD, Relay, body, refusal, texts_below, with};
use support::websocket::{ends, websocket};
use support::{TIMEOUT, wait_until};

use crate::sites::echo_after_upgrade;

const HELLO: &str = "hello from the target";
/// Longer than a test takes.
const LONG: u64 = 3600;

fn sha256(code: &str) -> String {
    let digest = Sha256::digest(code.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An invisible site by this code.
fn shop(code: &str, changes: Value) -> Value {
    let invisible = json!({"invisible": true, "code_sha256": sha256(code)});
    with(with(body("one", "shop", "http", 80), invisible), changes)
}

/// A tunnel to `target` for the assigned application.
fn tunnel(relay: &Relay, assigned: &Value, target: u16) -> Tunnel {
    let port = &assigned["app"]["resource"]["port"];
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{target}");
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    tunnel
}

fn send(relay: &Relay, path: &str, headers: &[(&str, &str)]) -> Response {
    let host = format!("shop.localhost:{}", relay.address.port());
    let own = [("Host", host.as_str()), ("Origin", "")];
    relay
        .client()
        .send("GET", path, &[&own, headers].concat(), b"")
}

/// Status of a sign-in with this code, and the cookie of a right one.
fn enter(relay: &Relay, assigned: &Value, code: &str) -> (u16, Option<String>) {
    let app_id = assigned["app"]["app_id"].as_str().unwrap();
    let answer = send(
        relay,
        &format!("/.postern/auth?app_id={app_id}&code={code}"),
        &[],
    );
    (answer.status(), answer.cookie())
}

/// Echoes what is sent after an upgrade; ends with the process.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || echo_after_upgrade(stream));
        }
    });
    port
}

#[test]
fn a_connectors_own_code_opens_its_site_and_is_told_to_nobody() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let code = "a-code-of-the-connectors-own";
    let assigned = relay.assign(&shop(code, json!({})));
    assert_eq!(assigned["api_key"]["code"], "");
    assert_eq!(assigned["app"]["in_force"], json!(["code"]));
    let _tunnel = tunnel(&relay, &assigned, target.port());
    assert_eq!(send(&relay, "/", &[]).status(), 401);
    assert_eq!(enter(&relay, &assigned, "another").0, 401);
    assert_eq!(enter(&relay, &assigned, &sha256(code)).0, 401);
    let cookie = enter(&relay, &assigned, code).1.unwrap();
    assert_eq!(send(&relay, "/", &[("Cookie", &cookie)]).text(), HELLO);
    assert!(!texts_below(&relay.data()).contains(code) && !relay.stderr().contains(code));
    let relay = relay.restart(&[]);
    assert_eq!(enter(&relay, &assigned, code).0, 303, "it is stable");
}

/// A call of a connector of an earlier version.
#[test]
fn an_earlier_connector_gets_a_code_as_before() {
    let relay = Relay::start(&[]);
    let invisible = json!({"invisible": true});
    let assigned = relay.assign(&with(body("one", "shop", "http", 80), invisible));
    assert_eq!(assigned["app"]["in_force"], json!([]));
    let code = assigned["api_key"]["code"].as_str().unwrap();
    assert_eq!(code.len(), 40);
    assert_eq!(enter(&relay, &assigned, code).0, 303);
}

#[test]
fn another_code_and_another_generation_end_cookies_and_what_is_open() {
    let relay = Relay::start(&[]);
    let assigned = relay.assign(&shop("one", json!({})));
    let _tunnel = tunnel(&relay, &assigned, echo());
    for (code, terms) in [
        ("two", json!({})),
        ("two", json!({"generation": 1})),
        ("two", json!({"generation": 0})),
    ] {
        let before = if code == "two" && terms == json!({}) {
            "one"
        } else {
            "two"
        };
        let cookie = enter(&relay, &assigned, before).1.unwrap();
        let visitor = websocket(&relay, &cookie);
        let again = relay.assign(&shop(code, terms.clone()));
        assert_eq!(again["app"]["site_url"], assigned["app"]["site_url"]);
        assert!(ends(visitor).is_empty());
        let refused = send(&relay, "/", &[("Cookie", &cookie)]);
        assert_eq!(refused.status(), 401, "{terms}");
        // Repeating the call ends nothing.
        let cookie = enter(&relay, &assigned, code).1.unwrap();
        let mut visitor = websocket(&relay, &cookie);
        relay.assign(&shop(code, terms));
        visitor.write_all(b"\x81\x04ping").unwrap();
        visitor.read_exact(&mut [0; 6]).unwrap();
    }
}

#[test]
fn a_site_ends_by_itself_and_comes_back_without_its_cookies() {
    let relay = Relay::start(&[]);
    let assigned = relay.assign(&shop("one", json!({"expires_in": LONG})));
    assert_eq!(assigned["app"]["in_force"], json!(["code", "expires_in"]));
    let _tunnel = tunnel(&relay, &assigned, echo());
    let cookie = enter(&relay, &assigned, "one").1.unwrap();
    let visitor = websocket(&relay, &cookie);
    relay.assign(&shop("one", json!({"expires_in": 2})));
    assert!(ends(visitor).is_empty());
    let over = send(&relay, "/", &[("Cookie", &cookie)]);
    assert_eq!(over.status(), 410);
    assert!(
        over.text().contains("This site has ended"),
        "{}",
        over.text()
    );
    assert_eq!(enter(&relay, &assigned, "one").0, 410);
    let relay = relay.restart(&[]);
    assert_eq!(send(&relay, "/", &[]).status(), 410, "that is remembered");
    relay.assign(&shop("one", json!({"expires_in": LONG})));
    assert_eq!(send(&relay, "/", &[("Cookie", &cookie)]).status(), 401);
}

#[test]
fn who_was_signed_in_when_it_ended_signs_in_again_when_it_is_prolonged() {
    let relay = Relay::start(&[]);
    let assigned = relay.assign(&shop("one", json!({"expires_in": LONG})));
    let _tunnel = tunnel(&relay, &assigned, echo());
    let cookie = enter(&relay, &assigned, "one").1.unwrap();
    relay.assign(&shop("one", json!({"expires_in": 2 * LONG})));
    drop(websocket(&relay, &cookie));
    relay.assign(&shop("one", json!({"expires_in": 0})));
    assert_eq!(send(&relay, "/", &[("Cookie", &cookie)]).status(), 410);
    relay.assign(&shop("one", json!({})));
    assert_eq!(send(&relay, "/", &[("Cookie", &cookie)]).status(), 401);
    assert_eq!(enter(&relay, &assigned, "one").0, 303);
}

/// Bytes that a visitor receives; none if nobody listens.
fn dial(port: u64) -> Option<Vec<u8>> {
    let address = format!("127.0.0.1:{port}");
    let mut visitor = TcpStream::connect(address).ok()?;
    visitor
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let _ = visitor.write_all(b"GET / HTTP/1.0\r\n\r\n");
    let _ = visitor.shutdown(Shutdown::Write);
    let mut got = Vec::new();
    let _ = visitor.read_to_end(&mut got);
    Some(got)
}

#[test]
fn a_public_port_ends_by_itself() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let call = |expires_in: u64| {
        let call = body("one", "ssh", "ssh", 22);
        relay.assign(&with(call, json!({"expires_in": expires_in})))
    };
    let assigned = call(LONG);
    let port = assigned["app"]["resource"]["port"].as_u64().unwrap();
    let _tunnel = tunnel(&relay, &assigned, target.port());
    assert!(
        String::from_utf8(dial(port).unwrap())
            .unwrap()
            .contains(HELLO)
    );
    let mut open = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    open.set_read_timeout(Some(TIMEOUT)).unwrap();
    call(1);
    assert!(!matches!(open.read(&mut [0]), Ok(1..)), "it was cut");
    wait_until(TIMEOUT, "the port's end", || dial(port).is_none());
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port());
    let again = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(refusal(&again).contains("denied"));
    drop(again);
    let relay = relay.restart(&[]);
    let again = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(refusal(&again).contains("denied"));
}

#[test]
fn only_the_networks_that_are_allowed_see_a_site() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let call = |allow: Value| {
        let call = body("one", "shop", "http", 80);
        relay.assign(&with(call, json!({"allow": allow})))
    };
    let assigned = call(json!(["192.0.2.0/24"]));
    assert_eq!(assigned["app"]["in_force"], json!(["allow"]));
    let _tunnel = tunnel(&relay, &assigned, target.port());
    let refused = send(&relay, "/", &[]);
    assert_eq!(refused.status(), 403);
    assert!(
        refused.text().contains("your address is not in one"),
        "{}",
        refused.text()
    );
    let forged = send(&relay, "/", &[("X-Forwarded-For", "192.0.2.1")]);
    assert_eq!(forged.status(), 403, "whoever says so");
    call(json!(["192.0.2.0/24", "127.0.0.0/8", "::1"]));
    assert_eq!(send(&relay, "/", &[]).text(), HELLO);
    call(json!([]));
    assert_eq!(send(&relay, "/", &[]).text(), HELLO);
}

#[test]
fn behind_a_trusted_proxy_it_is_the_visitor_who_is_looked_at() {
    let (relay, target) = (
        Relay::start(&["--trust-proxy", "127.0.0.1"]),
        Target::start(),
    );
    let terms = json!({"allow": ["192.0.2.0/24"], "enroll_token": relay.enrol_token()});
    let call = with(body("one", "shop", "http", 80), terms);
    let assigned = relay.assign(&call);
    let _tunnel = tunnel(&relay, &assigned, target.port());
    for (source, status) in [
        ("192.0.2.1", 200),
        ("198.51.100.1", 403),
        ("192.0.2.1, 198.51.100.1", 403),
    ] {
        let visit = send(&relay, "/", &[("X-Forwarded-For", source)]);
        assert_eq!(visit.status(), status, "{source}");
        let cache = visit.header("cache-control").unwrap_or_default().to_owned();
        assert!(cache.contains("private") || cache == "no-store", "{cache}");
    }
}

#[test]
fn who_may_not_come_to_a_public_port_gets_no_byte() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let call = |allow: Value| {
        let call = body("one", "ssh", "ssh", 22);
        relay.assign(&with(call, json!({"allow": allow})))
    };
    let assigned = call(json!(["192.0.2.0/24"]));
    let port = assigned["app"]["resource"]["port"].as_u64().unwrap();
    let _tunnel = tunnel(&relay, &assigned, target.port());
    assert_eq!(dial(port), Some(Vec::new()));
    call(json!(["127.0.0.1"]));
    assert!(!dial(port).unwrap().is_empty());
    let mut open = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    open.set_read_timeout(Some(TIMEOUT)).unwrap();
    call(json!(["192.0.2.0/24"]));
    assert!(!matches!(open.read(&mut [0]), Ok(1..)), "it was cut");
    assert_eq!(dial(port), Some(Vec::new()));
}

/// Sign-ins have no places that a flood could take.
#[test]
fn a_flood_of_sign_ins_signs_nobody_out() {
    let relay = Relay::start(&["--trust-proxy", "127.0.0.1"]);
    let terms = json!({"enroll_token": relay.enrol_token()});
    let assigned = relay.assign(&shop("one", terms));
    let app_id = assigned["app"]["app_id"].as_str().unwrap();
    let path = format!("/.postern/auth?app_id={app_id}&code=one");
    let mut client = relay.client();
    let host = format!("shop.localhost:{}", relay.address.port());
    let mut get = |path: &str, source: &str, cookie: &str| {
        let headers = [
            ("Host", host.as_str()),
            ("Origin", ""),
            ("X-Forwarded-For", source),
            ("Cookie", cookie),
        ];
        client.send("GET", path, &headers, b"")
    };
    let cookie = get(&path, "192.0.2.1", "").cookie().unwrap();
    let flooders = get(&path, "198.51.100.1", "").cookie().unwrap();
    for _ in 0..1000 {
        assert_eq!(get(&path, "198.51.100.1", "").status(), 303);
    }
    // Nothing leads to the application.
    assert_eq!(get("/", "192.0.2.1", &cookie).status(), 502);
    assert_eq!(get("/", "198.51.100.1", &flooders).status(), 502);
}
