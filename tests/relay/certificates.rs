//! Names for which a server in front may get a certificate, and callers that may ask.

use std::sync::Arc;

use serde_json::{Value, json};
use support::relay::{PASSWORD, Relay, body, with};
use support::{Home, TIMEOUT, wait_until};

const ARGS: [&str; 6] = [
    "--listen=127.0.0.1:0",
    "--tunnel-listen=127.0.0.1:0",
    "--domain=relay.test",
    "--public-url=https://admin.relay.test",
    "--external-ip=tunnels.relay.test",
    "--trust-proxy=127.0.0.1",
];
const TOKEN: &str = "--enroll-token=enrol-token-of-these-tests-0123456789012";

fn relay() -> Relay {
    Relay::start_in(&Arc::new(Home::new()), &[&ARGS[..], &[TOKEN]].concat())
}

/// Status of the answer for a server in front.
fn ask(relay: &Relay, domain: &str) -> u16 {
    ask_with(relay, &format!("?domain={domain}"), &[]).0
}

fn ask_with(relay: &Relay, query: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let path = format!("/api/public/tls-allowed{query}");
    let answer = relay.client().send("GET", &path, headers, b"");
    (answer.status(), answer.text().to_owned())
}

fn site(app: &str, name: &str) -> Value {
    let token = TOKEN.split_once('=').unwrap().1;
    let changes = json!({"site_name": name, "enroll_token": token});
    with(body("one", app, "http", 9), changes)
}

/// The remote of the site's tunnel.
fn remote(assigned: &Value) -> String {
    let port = &assigned["app"]["resource"]["port"];
    format!("R:127.0.0.1:{port}:127.0.0.1:9")
}

/// Has the site connected once, which is noted then.
fn connect_once(relay: &Relay, name: &str) {
    let remote = remote(&relay.assign(&site(name, name)));
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    wait_until(TIMEOUT, "its connect is noted", || {
        noted(relay, name).is_some()
    });
    tunnel.stop();
    wait_until(TIMEOUT, "its end", || visit(relay, name) == 502);
}

fn visit(relay: &Relay, name: &str) -> u16 {
    let host = format!("{name}.relay.test");
    let headers = [("Host", host.as_str()), ("Origin", "")];
    relay.client().send("GET", "/", &headers, b"").status()
}

/// Time of the site's last connect, according to the state.
fn noted(relay: &Relay, name: &str) -> Option<String> {
    let state = support::relay::state(&relay.data());
    let known = state["connectors"]["one"]["applications"].as_array()?;
    let known = known.iter().find(|known| known["site"]["name"] == name)?;
    Some(known["connected_at"].as_str()?.to_owned())
}

#[test]
fn names_that_lead_somewhere_may_have_a_certificate_and_no_others() {
    let relay = relay();
    let remote = remote(&relay.assign(&site("shop", "shop")));
    assert_eq!(
        ask(&relay, "shop.relay.test"),
        404,
        "it was never connected"
    );
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    for name in [
        "shop.relay.test",
        "SHOP.Relay.Test",
        "shop.relay.test.",
        "shop%2erelay.test",
        "relay.test",
        "Relay.TEST.",
        "admin.relay.test",
        "tunnels.relay.test",
    ] {
        assert_eq!(ask(&relay, name), 200, "{name}");
    }
    for name in [
        "",
        ".",
        "shop",
        "test",
        "other.relay.test",
        "www.relay.test",
        "a.shop.relay.test",
        "shop.relay.test..",
        ".shop.relay.test",
        ".relay.test",
        "shop.relay.test:443",
        "*.relay.test",
        "shoprelay.test",
        "shop.relay.test.evil.test",
        "shop.evil.test",
        "evil.test",
        "%20shop.relay.test",
        "shop.relay.test%00",
        "127.0.0.1",
        "203.0.113.7",
        "::1",
        "[::1]",
        "localhost",
    ] {
        assert_eq!(ask(&relay, name), 404, "{name}");
    }
    for query in [
        "",
        "?",
        "?name=relay.test",
        "?domain=relay.test&domain=relay.test",
    ] {
        assert_eq!(ask_with(&relay, query, &[]).0, 400, "{query}");
    }
}

/// Neither visitors, whom the server in front tells of, nor anybody else learn which sites there are.
#[test]
fn the_server_in_front_alone_is_told() {
    let relay = relay();
    let query = "?domain=relay.test";
    assert_eq!(ask_with(&relay, query, &[]).0, 200);
    let told_of = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("x-forwarded-for", "127.0.0.1"),
        ("Forwarded", "for=192.0.2.1"),
        // A server that names no visitor.
        ("X-Forwarded-Proto", "https"),
        ("x-forwarded-host", "relay.test"),
        ("X-Real-IP", "192.0.2.1"),
        ("Via", "1.1 front"),
        ("Host", "admin.relay.test"),
        ("Host", "RELAY.test"),
        ("Host", "admin.relay.test:443"),
    ];
    for header in told_of {
        let (status, text) = ask_with(&relay, query, &[header]);
        assert_eq!(status, 403, "{header:?}");
        let other = ask_with(&relay, "?domain=other.relay.test", &[header]);
        assert_eq!((status, text), other, "{header:?}");
    }
    for trusted in [&[][..], &["--trust-proxy=192.0.2.0/24"]] {
        let relay = Relay::start(trusted);
        for name in ["localhost", "other.localhost"] {
            assert_eq!(ask(&relay, name), 403, "{name}, {trusted:?}");
        }
    }
}

/// Its visitors come to the relay still, which tells them that it has ended.
#[test]
fn a_name_may_have_a_certificate_for_a_while_after_its_site() {
    let relay = relay();
    connect_once(&relay, "shop");
    connect_once(&relay, "gone");
    relay.assign(&site("never", "never"));
    let all = ["shop", "gone", "never"].map(|name| format!("{name}.relay.test"));
    let are = |relay: &Relay| all.each_ref().map(|name| ask(relay, name));
    assert_eq!(are(&relay), [200, 200, 404], "not connected any more");
    for app in ["gone", "never"] {
        assert_eq!(relay.release("one", PASSWORD, app).status(), 200);
    }
    assert_eq!(are(&relay), [200, 200, 404], "given back, and kept for it");
    let home = Arc::clone(relay.home());
    drop(relay);
    let relay = Relay::start_in(&home, &ARGS);
    assert_eq!(are(&relay), [200, 200, 404], "after a restart");
    drop(relay);
    assert_eq!(home.run(&["relay", "revoke", "one"]).code, Some(0));
    let relay = Relay::start_in(&home, &ARGS);
    assert_eq!(are(&relay), [200, 200, 404], "turned out");
    for name in ["shop", "gone"] {
        assert_eq!(visit(&relay, name), 410, "{name} has ended");
    }
}

/// A clock that was wrong is no reason that it lasts for ever.
#[test]
fn what_was_connected_long_ago_or_in_a_time_to_come_does_not_count() {
    let relay = relay();
    connect_once(&relay, "shop");
    connect_once(&relay, "kept");
    assert_eq!(relay.release("one", PASSWORD, "kept").status(), 200);
    let home = Arc::clone(relay.home());
    let data = relay.data();
    drop(relay);
    let saved = support::relay::state(&data);
    let mut state = saved.clone();
    for time in ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", ""] {
        state["connectors"]["one"]["applications"][0]["connected_at"] = json!(time);
        state["reserved"][0]["connected_at"] = json!(time);
        support::relay::put_state(&data, &state);
        let relay = Relay::start_in(&home, &ARGS);
        for name in ["shop", "kept"] {
            assert_eq!(
                ask(&relay, &format!("{name}.relay.test")),
                404,
                "{name} {time}"
            );
        }
    }
    support::relay::put_state(&data, &saved);
    let relay = Relay::start_in(&home, &ARGS);
    assert_eq!(ask(&relay, "shop.relay.test"), 200);
}
