//! Tunnels that come in where visitors do, at `/.postern/tunnel`: what takes them and what refuses them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use postern::tunnel::client::{Settings, Status, Tunnel};
use postern::tunnel::ws::Header;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use support::front::Front;
use support::gateway::application;
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::postern::Home;
use support::relay::{PASSWORD, Relay, body, refusal, settings_at, with};
use support::{TIMEOUT, wait_until};

const PATH: &str = "/.postern/tunnel";
/// The lines of a valid request, but for its first and its `Host`.
const ASKS: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chisel-v3\r\n";
/// One visitor's requests run one after the other within these connections.
const FEW: &str = "--connections=16";

/// Answers each request of a connection with `ok`.
fn answering() -> u16 {
    application(|mut stream| {
        while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    })
}

/// Assigns a site; the remote that leads to it.
fn assign(relay: &Relay, site: &str, port: u16) -> String {
    let token = json!({"enroll_token": relay.enrol_token()});
    let assigned = relay.assign(&with(body("one", site, "http", port), token));
    let number = &assigned["app"]["resource"]["port"];
    format!("R:127.0.0.1:{number}:127.0.0.1:{port}")
}

/// Settings of a tunnel by the URL, through the server at `at`.
fn by_url(relay: &Relay, at: SocketAddr, remotes: &[&str]) -> Settings {
    let mut settings = settings_at(&format!("ws://{at}{PATH}"), "one", PASSWORD, remotes);
    let host = Header::new("Host", &relay.address.to_string()).unwrap();
    settings.dial.headers.push(host);
    settings
}

fn open(relay: &Relay, at: SocketAddr, remote: &str) -> Tunnel {
    let tunnel = Tunnel::start(by_url(relay, at, &[remote])).unwrap();
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    tunnel
}

fn tunnels(relay: &Relay, state: &str) -> u64 {
    let status = relay.status();
    status["metrics"]["postern_relay_tunnels"][state]
        .as_u64()
        .unwrap()
}

/// Sends a head; the connection, and the status of the answer.
fn ask(at: SocketAddr, head: &str) -> (TcpStream, u16, String) {
    let mut socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.write_all(head.as_bytes()).unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    let text = |answer: &[u8]| String::from_utf8_lossy(answer).into_owned();
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        match socket.read(&mut piece) {
            Ok(read @ 1..) => answer.extend_from_slice(&piece[..read]),
            ended => panic!("{ended:?} after {:?} to {head}", text(&answer)),
        }
    }
    let answer = text(&answer);
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (socket, status, answer)
}

fn asking(relay: &Relay, more: &str) -> String {
    format!(
        "GET {PATH} HTTP/1.1\r\nHost: {}\r\n{ASKS}{more}\r\n",
        relay.address
    )
}

#[test]
fn a_tunnel_by_the_url_serves_a_site_directly_and_behind_each_web_server() {
    let relay = Relay::start(&["--trust-proxy=127.0.0.1"]);
    let remote = assign(&relay, "shop", answering());
    let fronts = [
        Front::nginx_told(relay.address),
        Front::caddy(relay.address),
        Front::haproxy(relay.address),
    ];
    let places = fronts.iter().map(|front| front.address);
    for at in [relay.address].into_iter().chain(places) {
        let tunnel = open(&relay, at, &remote);
        assert_eq!(relay.visit("shop", "/").text(), "ok", "{at}");
        assert_eq!(tunnels(&relay, "connected"), 1);
        let connector = &relay.status()["connectors"][0];
        assert_eq!(connector["connected"], true, "{connector}");
        drop(tunnel);
        wait_until(TIMEOUT, "its end", || tunnels(&relay, "connected") == 0);
    }
}

#[test]
fn the_answer_names_the_url_and_the_option_sets_it() {
    let named = |args: &[&str]| {
        let relay = Relay::start(args);
        let token = json!({"enroll_token": relay.enrol_token()});
        let call = with(body("one", "shop", "http", 1), token);
        let connector = relay.assign(&call)["connector"].clone();
        assert_eq!(connector["tunnel_port"], relay.tunnel.port());
        let url = connector["tunnel_url"].as_str().unwrap().to_owned();
        assert_eq!(relay.said("Tunnel URL: "), url);
        assert_eq!(relay.status()["tunnel_url"], url);
        (url, relay)
    };
    let (url, relay) = named(&[]);
    assert_eq!(
        url,
        format!("ws://localhost:{}{PATH}", relay.address.port())
    );
    let public = "--public-url=https://relay.test";
    let domain = "--domain=relay.test";
    assert_eq!(
        named(&[domain, public]).0,
        format!("wss://relay.test{PATH}")
    );
    let (url, relay) = named(&[domain, public, "--tunnel-url=wss://relay.test:8443/t/1"]);
    assert_eq!(url, "wss://relay.test:8443/t/1");
    // Both paths are a tunnel's, and the port of the URL is one of its own.
    for path in ["/t/1", PATH] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: relay.test:8443\r\n{ASKS}\r\n");
        assert_eq!(ask(relay.address, &head).1, 101, "{path}");
    }
    for (url, why) in [
        ("wss://other.test/", "relay.test"),
        ("https://relay.test/", "wss://HOST/PATH"),
        ("wss://relay.test/a?b", "path"),
    ] {
        let flag = format!("--tunnel-url={url}");
        let failed = Relay::try_start_in(&Arc::new(Home::new()), &[domain, public, &flag]);
        let failed = failed.err().expect(url);
        assert!(
            failed.code == Some(2) && failed.stderr.contains(why),
            "{failed:?}"
        );
    }
}

#[test]
fn whatever_is_no_tunnel_of_the_relays_own_is_refused() {
    let relay = Relay::start(&[]);
    let _tunnel = open(&relay, relay.address, &assign(&relay, "shop", answering()));
    let port = relay.address.port();
    let own = format!("Host: {}\r\n", relay.address);
    let valid = asking(&relay, "");
    let changed = |from: &str, to: &str| {
        assert!(valid.contains(from), "{from}");
        valid.replacen(from, to, 1)
    };
    let hosted = |host: &str| changed(&own, &format!("Host: {host}\r\n"));
    let plain = format!("GET {PATH} HTTP/1.1\r\n{own}\r\n");
    let at = |target: &str| changed(PATH, target);
    let table = [
        (valid.clone(), 101),
        (at("/.postern/tunnel?x=y"), 101),
        (at(&format!("http://{}{PATH}", relay.address)), 101),
        (hosted(&format!("LocalHost:{port}")), 101),
        (changed("n: Upgrade", "n: keep-alive, Upgrade"), 101),
        (plain.clone(), 426),
        (plain.replace("GET", "HEAD"), 426),
        (plain.replace("HTTP/1.1", "HTTP/1.0"), 426),
        (changed("Upgrade: websocket", "Upgrade: h2c"), 426),
        (changed(": 13", ": 8"), 426),
        (asking(&relay, "Origin: null\r\n"), 403),
        (
            asking(&relay, &format!("Origin: http://localhost:{port}\r\n")),
            403,
        ),
        (asking(&relay, "Origin: https://evil.test\r\n"), 403),
        (changed("GET", "POST"), 404),
        (changed("chisel-v3", "chisel-v2"), 404),
        (asking(&relay, "Sec-WebSocket-Protocol: chisel-v3\r\n"), 404),
        (changed("HTTP/1.1", "HTTP/1.0"), 400),
        (changed("n: Upgrade", "n: close"), 400),
        (changed("dGhl", "dGh"), 400),
        (
            asking(&relay, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
            400,
        ),
        (asking(&relay, "Content-Length: 3\r\n") + "abc", 400),
        (
            asking(&relay, "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n",
            400,
        ),
        (format!("{valid}GET / HTTP/1.1\r\n"), 400),
        (at("/.postern/tunnel/"), 404),
        (at("/.postern/tunnel/x"), 404),
        (at("/.Postern/tunnel"), 404),
        (at("/.postern/%74unnel"), 404),
        (at("//.postern/tunnel"), 400),
        (at("/x/../.postern/tunnel"), 400),
        (at("http://shop.localhost/.postern/tunnel"), 400),
        // Other names, among them a site's.
        (hosted("other.test"), 421),
        (hosted("127.0.0.1:1"), 421),
        (hosted(&format!("localhost.:{port}")), 421),
        // The application's own, as every path of an open site.
        (hosted(&format!("shop.localhost:{port}")), 200),
        (hosted(&format!("SHOP.localhost.:{port}")), 200),
        (hosted(&format!("none.localhost:{port}")), 404),
        (changed(&own, ""), 421),
        (
            changed(&own, &format!("{own}Host: shop.localhost\r\n")),
            421,
        ),
    ];
    for (head, expected) in table {
        let (_, status, answer) = ask(relay.address, &head);
        assert_eq!(status, expected, "{head}\n{answer}");
    }
    let (_, _, answer) = ask(relay.address, &plain);
    assert!(answer.contains("\r\nUpgrade: websocket\r\n"), "{answer}");
    wait_until(TIMEOUT, "the end of those", || {
        tunnels(&relay, "pending") == 0
    });
    assert_eq!(relay.visit("shop", "/").text(), "ok");
    let mut wrong = by_url(&relay, relay.address, &["R:127.0.0.1:1:127.0.0.1:1"]);
    wrong.password = "wrong".to_owned().into();
    let said = refusal(&Tunnel::start(wrong).unwrap());
    assert!(
        said.contains("password") || said.contains("login"),
        "{said}"
    );
}

/// Each holds a thread of tunnels, and no place of visitors.
#[test]
fn tunnels_by_the_url_take_no_place_of_visitors_and_end_with_the_relay() {
    let mut relay = Relay::start(&[FEW]);
    let port = answering();
    let remotes: Vec<_> = (0..3 * 16)
        .map(|n| assign(&relay, &format!("s{n}"), port))
        .collect();
    let all: Vec<_> = remotes
        .iter()
        .map(|remote| open(&relay, relay.address, remote))
        .collect();
    assert_eq!(tunnels(&relay, "connected"), 48);
    assert_eq!(relay.visit("s0", "/").text(), "ok");
    assert_eq!(relay.visit("s47", "/").text(), "ok");
    let revoked = relay.home().run(&["relay", "revoke", "one"]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    wait_until(TIMEOUT, "the end of all", || {
        let is_gone = |tunnel: &Tunnel| tunnel.snapshot().status != Status::Connected;
        all.iter().all(is_gone) && tunnels(&relay, "connected") == 0
    });
    let (_pending, status, _) = ask(relay.address, &asking(&relay, ""));
    assert_eq!(status, 101);
    assert!(relay.stop().is_some_and(|status| status.success()));
}

#[test]
fn a_relay_that_is_stopping_takes_no_more_and_serves_by_those_it_has() {
    let mut relay = Relay::start(&["--drain=10"]);
    let _tunnel = open(&relay, relay.address, &assign(&relay, "shop", answering()));
    let pid = Pid::from_raw(i32::try_from(relay.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let head = asking(&relay, "");
    wait_until(TIMEOUT, "a refusal", || ask(relay.address, &head).1 == 503);
    assert_eq!(relay.visit("shop", "/").text(), "ok");
    assert!(relay.wait_end().is_some_and(|status| status.success()));
}

/// An office shares one address: half-open tunnels of one host in it keep none of its connectors out.
#[test]
fn a_source_has_its_share_as_the_trusted_proxy_names_it() {
    let relay = Relay::start(&["--trust-proxy=127.0.0.1"]);
    let from = |source: &str| {
        let head = asking(&relay, &format!("X-Forwarded-For: {source}\r\n"));
        ask(relay.address, &head)
    };
    let connector = |site: &str| {
        let mut settings = by_url(&relay, relay.address, &[&assign(&relay, site, answering())]);
        let header = Header::new("X-Forwarded-For", "192.0.2.1").unwrap();
        settings.dial.headers.push(header);
        let tunnel = Tunnel::start(settings).unwrap();
        assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
        tunnel
    };
    let _other = from("192.0.2.2");
    let first = connector("first");
    let crowd: Vec<_> = (0..150)
        .map(|n| match n % 2 {
            0 => from("192.0.2.1"),
            // An invented one before it.
            _ => from("203.0.113.5, 192.0.2.1"),
        })
        .collect();
    assert!(crowd.iter().all(|(_, status, _)| *status == 101));
    wait_until(TIMEOUT, "the end of the oldest", || {
        tunnels(&relay, "pending") == 127 + 1
    });
    let second = connector("second");
    assert_eq!(relay.visit("first", "/").text(), "ok");
    assert_eq!(relay.visit("second", "/").text(), "ok");
    assert_eq!(tunnels(&relay, "connected"), 2);
    drop((crowd, first, second));
    let direct = Relay::start(&[]);
    let claims = asking(&direct, "X-Forwarded-For: 192.0.2.1\r\n");
    let crowd: Vec<_> = (0..130).map(|_| ask(direct.address, &claims)).collect();
    assert!(
        crowd.iter().all(|(_, status, _)| *status == 101),
        "nobody is believed"
    );
}

/// They have a thread each, so there are no more of them than 1024; the oldest give way.
#[test]
fn half_open_tunnels_keep_neither_visitors_nor_tunnels_out() {
    let relay = Relay::start(&[FEW]);
    let remote = assign(&relay, "shop", answering());
    let _tunnel = open(&relay, relay.address, &remote);
    let head = asking(&relay, "");
    let crowd: Vec<_> = (0..1200).map(|_| ask(relay.address, &head)).collect();
    assert!(crowd.iter().all(|(_, status, _)| *status == 101));
    wait_until(TIMEOUT, "the end of the oldest", || {
        tunnels(&relay, "pending") == 1024
    });
    assert_eq!(relay.visit("shop", "/").text(), "ok");
    let other = assign(&relay, "other", answering());
    let _other = open(&relay, relay.address, &other);
    assert_eq!(relay.visit("other", "/").text(), "ok");
    drop(crowd);
    wait_until(TIMEOUT, "the end of all", || {
        tunnels(&relay, "pending") == 0
    });
}

#[test]
fn without_the_port_tunnels_come_by_the_url_alone_and_the_operator_is_told() {
    let home = Arc::new(Home::new());
    let relay = Relay::start_in(&home, &["--listen=127.0.0.1:0", "--tunnel-listen=none"]);
    assert_eq!(relay.said("Tunnel server: "), "none");
    let remote = assign(&relay, "shop", answering());
    let connector = relay.assign(&body("one", "shop", "http", 1))["connector"].clone();
    assert_eq!(connector["tunnel_port"], 0);
    assert_eq!(connector["external_ip"], "localhost");
    let remote = remote
        .rsplit_once(':')
        .map(|(before, _)| before)
        .unwrap()
        .to_owned();
    let remote = format!("{remote}:{}", answering());
    let _tunnel = open(&relay, relay.address, &remote);
    assert_eq!(relay.visit("shop", "/").text(), "ok");
    let status = relay.status();
    assert_eq!(status["tunnel_port"], 0);
    let is_told = |notices: &Value| {
        let notice = notices[0].as_str().unwrap_or_default();
        notice.contains("(older builds) cannot connect")
    };
    assert!(is_told(&status["notices"]), "{status}");
    assert!(is_told(&json!([relay.stderr()])));
    let invited = home.run(&["relay", "invite"]);
    assert!(is_told(&json!([invited.stderr])), "{invited:?}");
    let with_port = Relay::start(&[]);
    let invited = with_port.home().run(&["relay", "invite"]);
    assert_eq!(invited.stderr, "");
    let args = ["--tunnel-listen=none", "--store=mariadb://u@127.0.0.1/s"];
    let failed = Relay::try_start_in(&Arc::new(Home::new()), &args)
        .err()
        .unwrap();
    assert!(failed.stderr.contains("--tunnel-url"), "{failed:?}");
}

/// Runs if `POSTERN_CHISEL` names chisel: its client takes the URL as `http://`, or `https://`.
#[test]
fn chisels_client_takes_the_url() {
    let Some(chisel) = std::env::var_os("POSTERN_CHISEL") else {
        return;
    };
    let relay = Relay::start(&["--trust-proxy=127.0.0.1"]);
    let remote = assign(&relay, "shop", answering());
    let front = Front::nginx_told(relay.address);
    for at in [relay.address, front.address] {
        let client: Leashed = KillOnDrop::new(&chisel)
            .args(["client", "--auth", &format!("one:{PASSWORD}")])
            .args([
                "--fingerprint",
                relay.status()["fingerprint"].as_str().unwrap(),
            ])
            .args(["--header", &format!("Host: {}", relay.address)])
            .args([format!("http://{at}{PATH}"), remote.clone()])
            .start();
        wait_until(TIMEOUT, "chisel", || tunnels(&relay, "connected") == 1);
        wait_until(TIMEOUT, "the site", || {
            relay.visit("shop", "/").text() == "ok"
        });
        drop(client);
        wait_until(TIMEOUT, "its end", || tunnels(&relay, "connected") == 0);
    }
}
