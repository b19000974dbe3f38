//! Attacks of tenants, visitors and strangers on the real relay.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use postern::tunnel::client::Tunnel;
use serde_json::{Value, json};
use support::gateway::{application, read_request};
use support::http::{Client, Response};
use support::relay::{PASSWORD, Relay, body, with};
use support::{Home, TIMEOUT, wait_until};

/// Flags that make a relay public, with a TLS server in front, although it listens on loopback.
const PUBLIC: [&str; 2] = ["--public-url=https://localhost", "--trust-proxy=127.0.0.1"];

/// A call with the relay's enrolment token, through the proxy in front, for one at `from`.
fn call_from(client: &mut Client, from: &str, call: &Value) -> Response {
    let headers = [
        ("X-Forwarded-For", from),
        ("Content-Type", "application/json"),
    ];
    let call = call.to_string();
    client.send("POST", "/api/public/quick-setup", &headers, call.as_bytes())
}

fn token(relay: &Relay) -> Value {
    json!({"enroll_token": relay.enrol_token()})
}

/// A site with its tunnel.
fn share(relay: &Relay, site: &str, port: u16, changes: Value) -> Tunnel {
    let call = with(with(body("one", site, "http", port), token(relay)), changes);
    let assigned = relay.assign(&call);
    let number = &assigned["app"]["resource"]["port"];
    let remote = format!("R:127.0.0.1:{number}:127.0.0.1:{port}");
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    tunnel
}

/// Two ports in a row where nobody listens, others each time, and away from those that are given to anybody.
fn two_free_ports() -> u16 {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    static ASKED: AtomicU16 = AtomicU16::new(0);
    let asked = ASKED.fetch_add(100, Ordering::Relaxed);
    let begin = u16::try_from(std::process::id() % 8000).unwrap() + asked;
    let all = (0..9000).map(|step| 10_240 + (begin + step) % 9000);
    let mut pairs = all.filter(|port| is_free(*port) && is_free(port + 1));
    pairs.next().expect("two free ports")
}

/// Visitors of telnet, VNC and RDP give their passwords to whoever has the port.
#[test]
fn a_port_that_was_given_up_is_nobody_elses() {
    let first = two_free_ports();
    let range = format!("--ports={first}-{}", first + 1);
    let relay = Relay::start(&[&range]);
    let ask = |relay: &Relay, connector: &str, app: &str| {
        let answer = relay.call(&body(connector, app, "telnet", 23));
        let port = || answer.data()["app"]["resource"]["port"].as_u64().unwrap();
        (answer.status() == 200).then(|| u16::try_from(port()).unwrap())
    };
    let given_up = ask(&relay, "one", "a").unwrap();
    assert!((first..=first + 1).contains(&given_up), "{given_up}");
    assert_eq!(relay.release("one", PASSWORD, "a").status(), 200);
    let other = ask(&relay, "two", "a").unwrap();
    assert_ne!(other, given_up);
    assert_eq!(ask(&relay, "three", "a"), None, "it is kept for who had it");
    let relay = relay.restart(&[&range]);
    assert_eq!(ask(&relay, "three", "a"), None, "after a restart too");
    assert_eq!(ask(&relay, "one", "b"), Some(given_up));
    let revoked = relay.home().run(&["relay", "revoke", "one"]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    assert_eq!(
        ask(&relay, "three", "a"),
        None,
        "nor that of one who is out"
    );
}

/// A port from before the operator named others, which a firewall may have closed.
#[test]
fn a_port_that_is_none_of_the_operators_is_not_listened_on() {
    let relay = Relay::start(&[]);
    let port = relay.assign(&body("one", "a", "ssh", 22))["app"]["resource"]["port"].clone();
    let first = two_free_ports();
    let relay = relay.restart(&[&format!("--ports={first}-{}", first + 1)]);
    let remote = format!("R:0.0.0.0:{port}:127.0.0.1:22");
    let said = support::relay::refusal(&relay.tunnel("one", PASSWORD, &[&remote]));
    assert!(said.contains("denied"), "{said}");
    let again = relay.assign(&body("one", "a", "ssh", 22))["app"]["resource"]["port"].as_u64();
    assert!(again.is_some_and(|port| port == u64::from(first) || port == u64::from(first) + 1));
}

/// 65,536 of them are one network of IPv6.
#[test]
fn ten_thousand_strangers_keep_no_newcomer_out() {
    let relay = Relay::start(&PUBLIC);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let mut client = relay.client();
            scope.spawn(move || {
                for number in 0..2_520 {
                    let from = format!("2001:db8:{part}:{number:x}::1");
                    assert_eq!(call_from(&mut client, &from, &json!({})).status(), 400);
                }
            });
        }
    });
    let newcomer = with(body("one", "shop", "http", 1), token(&relay));
    let answer = call_from(&mut relay.client(), "198.51.100.7", &newcomer);
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

/// The paths of the API would not lead to it, and a command would take it for a flag.
#[test]
fn nobody_enrols_under_a_name_that_cannot_be_revoked() {
    let relay = Relay::start(&[]);
    for name in [".", "..", "-h", "--help", "a/b", "%2e", "é", "a\u{202e}b"] {
        let refused = relay.call(&body(name, "shop", "http", 1));
        assert_eq!(refused.status(), 400, "{name}");
        assert_eq!(
            relay.call(&body("one", name, "http", 1)).status(),
            400,
            "{name}"
        );
    }
    for name in ["_x", "a..b", "0-.", &"x".repeat(64)] {
        relay.assign(&body(name, "shop", "http", 1));
        let revoked = relay.home().run(&["relay", "revoke", name]);
        assert_eq!(revoked.code, Some(0), "{revoked:?}");
    }
}

/// Checks that every name is a label below the domain, and never one of the relay's own.
#[test]
fn no_wish_for_a_name_leads_out_of_the_domain() {
    let relay = Relay::start(&["--public-url=http://own-page.localhost"]);
    let long = "x".repeat(64);
    let call = |changes: Value| {
        let call = with(with(body("one", "a", "http", 1), token(&relay)), changes);
        relay.call(&call)
    };
    for wish in [
        "www",
        "WPAD",
        "openpgpkey",
        "mail7",
        "relay",
        "xn--80ak6aa92e",
        "a.b",
        "a/b",
        "a:1",
        "a",
        "-abc",
        "abc-",
        "a--b",
        "аpple",
        "a b",
        "abc\n",
        "abc\0",
        "localhost",
        &long,
    ] {
        assert_eq!(call(json!({"site_name": wish})).status(), 400, "{wish:?}");
    }
    let url = |changes: Value| {
        let answer = call(changes);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.data()["app"]["site_url"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let own = url(json!({"site_name": "own-page"}));
    assert_eq!(
        own, "http://own-page-2.localhost/",
        "the relay is the other"
    );
    for (number, called) in [
        "www",
        "..",
        "//evil.example",
        "аdmin",
        "a\u{202e}b",
        "🏴\u{e0067}",
        "x".repeat(100).as_str(),
    ]
    .iter()
    .enumerate()
    {
        let id = format!("id-{number}");
        let url = url(json!({"client_app_id": id, "display_name": called}));
        let name = url
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix(".localhost/"));
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let is_label = name.is_some_and(|name| name.len() <= 63 && name.bytes().all(legal));
        assert!(is_label && name != Some("www"), "{called:?}: {url}");
    }
}

/// Calls of a connector that is known are not counted, and connections that do not log in neither: the disk must not
/// fill all the same.
#[test]
fn neither_a_tenant_nor_a_stranger_fills_the_log() {
    let relay = Relay::start(&[]);
    let shop = body("one", "shop", "http", 1);
    assert!((0..200).all(|_| relay.call(&shop).status() == 200));
    let tunnels: Vec<_> = (0..150)
        .map(|_| relay.tunnel("one", "not-the-right-password", &["R:20000:localhost:80"]))
        .collect();
    wait_until(TIMEOUT, "all are refused", || {
        tunnels
            .iter()
            .all(|tunnel| tunnel.snapshot().error.is_some())
    });
    let log = relay.stderr();
    let said = |text: &str| log.matches(text).count();
    for (line, more) in [
        ("'one' got http", "more answered calls are not shown"),
        ("login refused", "more refused clients are not shown"),
    ] {
        let count = said(line);
        // A window may have ended meanwhile.
        let most = 120 * (1 + said(more));
        assert!((1..=most).contains(&count), "{line}: {count} of {most}");
    }
}

/// A connector that is known may call without end, and each call had the whole state written and synced.
#[test]
fn calls_that_change_nothing_write_nothing() {
    let relay = Relay::start(&[]);
    let shop = with(
        body("one", "shop", "http", 1),
        json!({"code_sha256": "0".repeat(64)}),
    );
    relay.assign(&shop);
    relay.assign(&body("one", "other", "http", 1));
    let file = relay.data().join(support::relay::ROWS);
    let written = || std::fs::metadata(&file).unwrap().modified().unwrap();
    let mut times = BTreeSet::from([written()]);
    for _ in 0..100 {
        relay.assign(&shop);
        times.insert(written());
    }
    // A minute may have ended meanwhile, or two.
    assert!(times.len() <= 3, "it was written at {times:?}");
    relay.assign(&with(shop, json!({"port": 2})));
    let state = std::fs::read_to_string(&file).unwrap();
    assert!(state.contains("127.0.0.1:2"), "what changes is written");
}

/// The application is told what its own visitor's address and the site are, and nothing of what a visitor claims, also by
/// way of a proxy that passes it on.
#[test]
fn a_visitor_forges_neither_his_address_nor_the_host() {
    let relay = Relay::start(&PUBLIC);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = Arc::clone(&seen);
    let port = application(move |mut stream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            theirs
                .lock()
                .unwrap()
                .push(String::from_utf8_lossy(&request).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let _tunnel = share(&relay, "shop", port, json!({}));
    let forged = [
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Port: 1337",
        "X-Forwarded-Server: evil.example",
        "X-Forwarded-Prefix: /evil",
        "X.Forwarded.For: 6.6.6.6",
        "X_Forwarded_For: 6.6.6.6",
        "Forwarded: for=6.6.6.6;host=evil.example",
        "X-Real-IP: 6.6.6.6",
        "True-Client-IP: 6.6.6.6",
        "CF-Connecting-IP: 6.6.6.6",
        "X-Client-IP: 6.6.6.6",
        "X-Cluster-Client-IP: 6.6.6.6",
        "Client-IP: 6.6.6.6",
        "X-Original-URL: /evil",
        "X-Rewrite-URL: /evil",
    ];
    let ask = |host: &str, lines: &str| {
        let mut socket = TcpStream::connect(relay.address).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        write!(
            socket,
            "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nX-Forwarded-For: 198.51.100.8\r\n\
             X-Forwarded-Proto: https\r\n{lines}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    let lines: String = forged.iter().map(|line| format!("{line}\r\n")).collect();
    assert!(ask("shop.localhost", &lines).starts_with("HTTP/1.1 200 "));
    let got = seen.lock().unwrap().concat();
    for trace in ["evil", "6.6.6.6", "1337"] {
        assert!(!got.contains(trace), "{trace}: {got}");
    }
    for told in [
        "X-Real-IP: 198.51.100.8\r\n",
        "X-Forwarded-For: 198.51.100.8, 127.0.0.1\r\n",
        "X-Forwarded-Host: shop.localhost\r\n",
        "X-Forwarded-Port: 443\r\n",
        "X-Forwarded-Proto: https\r\n",
    ] {
        assert!(got.contains(told), "{told}: {got}");
    }
    for host in [
        "shop.localhost:20003",
        "SHOP.localhost.:1",
        "shop.localhost:80",
    ] {
        let refused = ask(host, "");
        assert!(refused.starts_with("HTTP/1.1 421 "), "{host}: {refused}");
        assert!(
            refused.contains("\r\nStrict-Transport-Security: max-age="),
            "{refused}"
        );
    }
    let passed = seen.lock().unwrap().len();
    assert_eq!(passed, 1, "nothing of these reached the application");
}

/// A page by `http` under the relay's own name may be anybody's who stands between; it changes nothing here. And who
/// comes under a name that is none of its own is told what names it has.
#[test]
fn an_https_relay_takes_no_page_by_http_for_its_own() {
    let relay = Relay::start(&[
        "--domain=relay.test",
        "--public-url=https://admin.relay.test",
        "--external-ip=tunnels.relay.test",
    ]);
    let mut client = relay.client();
    let mut send = |host: &str, origin: &str| {
        let headers = [
            ("Host", host),
            ("Origin", origin),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        client.send("POST", "/auth", &headers, b"code=wrong")
    };
    let (listens, port) = (relay.address.to_string(), relay.address.port());
    let inner = format!("tunnels.relay.test:{port}");
    for (host, origin, status) in [
        ("admin.relay.test", "https://admin.relay.test", 401),
        ("admin.relay.test", "http://admin.relay.test", 403),
        ("admin.relay.test", "http://admin.relay.test:443", 403),
        ("admin.relay.test", "http://relay.test", 403),
        ("admin.relay.test", &format!("http://{inner}"), 403),
        ("admin.relay.test", "https://shop.relay.test", 403),
        ("relay.test", "https://relay.test", 401),
        ("relay.test", "http://relay.test", 403),
        (&listens, &format!("http://{listens}"), 401),
        (&inner, "", 401),
    ] {
        assert_eq!(send(host, origin).status(), status, "{host} {origin}");
    }
    let elsewhere = send("evil.test", "");
    let (status, text) = (elsewhere.status(), elsewhere.text());
    assert!(status == 421 && text.contains("--public-url"), "{text}");
    assert!(!text.contains("--allow-host"), "{text}");
}

/// HSTS holds for every port of a host: a tenant's public port under a site's name is out of browsers' reach.
#[test]
fn every_answer_of_an_https_relay_says_so() {
    let relay = Relay::start(&PUBLIC);
    let _tunnel = share(&relay, "veiled", 1, json!({"invisible": true}));
    let _dead = share(&relay, "dead", 1, json!({}));
    let operator = relay.operator_token();
    let mut client = relay.client();
    let mut ask = |host: &str, method: &str, path: &str| {
        let headers = [
            ("Host", host),
            ("Origin", ""),
            ("X-Forwarded-For", "198.51.100.9"),
        ];
        client.send(method, path, &headers, b"")
    };
    for (host, method, path, status) in [
        ("localhost", "GET", "/", 303),
        ("localhost", "GET", "/auth", 200),
        ("localhost", "GET", "/auth?code=wrong", 401),
        ("localhost", "GET", &*format!("/auth?code={operator}"), 303),
        ("localhost", "GET", "/nothing", 404),
        ("localhost", "GET", "/api/status", 401),
        ("localhost", "PUT", "/health", 405),
        ("localhost", "GET", "/health", 200),
        ("localhost", "POST", "/api/public/quick-setup", 415),
        ("nobody.localhost", "GET", "/", 404),
        ("veiled.localhost", "GET", "/", 401),
        ("veiled.localhost", "GET", "/.postern/auth?code=wrong", 401),
        ("veiled.localhost", "PUT", "/.postern/auth", 405),
        ("dead.localhost", "GET", "/", 502),
        ("dead.localhost:81", "GET", "/", 421),
        ("evil.example", "GET", "/", 421),
    ] {
        let answer = ask(host, method, path);
        let what = format!("{method} {host}{path}: {}", answer.text());
        assert_eq!(answer.status(), status, "{what}");
        let all = answer.head.headers.iter();
        let stamps = all.filter(|(name, _)| name == "strict-transport-security");
        let stamps: Vec<&str> = stamps.map(|(_, value)| value.as_str()).collect();
        assert_eq!(stamps, ["max-age=31536000"], "{what}");
    }
}

/// The operator's cookie of a relay without TLS may be in the hands of a tenant whose port has the relay's host name: it
/// is not what opens the page by https, and no form of another site turns anybody out.
#[test]
fn no_cookie_but_the_bound_one_is_the_operators() {
    let home = Arc::new(Home::new());
    let ports = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];
    let relay = Relay::start_in(&home, &[&ports[..], &PUBLIC].concat());
    let entered = relay
        .client()
        .get(&format!("/auth?code={}", relay.operator_token()));
    let cookie = entered.cookie().unwrap();
    assert!(cookie.starts_with("__Host-postern-relay-"), "{cookie}");
    let status = |cookie: &str, origin: &str| {
        let headers = [("Cookie", cookie), ("Origin", origin)];
        relay
            .client()
            .send("GET", "/api/status", &headers, b"")
            .status()
    };
    assert_eq!(status(&cookie, ""), 200);
    assert_eq!(status(cookie.trim_start_matches("__Host-"), ""), 401);
    assert_eq!(status(&cookie, "https://shop.localhost"), 403);
    assert_eq!(status(&cookie, "https://localhost:20003"), 403);
}
