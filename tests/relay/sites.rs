//! Sites behind the real relay, through the real manager and through chisel clients.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use postern::tunnel::client::Tunnel;
use serde_json::{Value, json};
use support::http::Client;
use support::manager::{Manager, Target, visit};
use support::relay::{PASSWORD, Relay, body, refusal, with};
use support::{Database, Home, TIMEOUT, database, wait_until};

const HELLO: &str = "hello from the target";

/// A manager whose server is this relay.
fn manager(relay: &Relay) -> Manager {
    Manager::start(&["--server", &relay.url()])
}

fn add(manager: &Manager, target: &Target, changes: Value) -> String {
    manager.add(&with(target.app(), changes))
}

#[test]
fn a_site_is_reached_through_relay_and_tunnel() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = manager(&relay);
    let id = add(&manager, &target, json!({"name": "My shop"}));
    let result = manager.connected(&id);
    let url = format!("http://my-shop.localhost:{}/", relay.address.port());
    assert_eq!(
        (&result["site_url"], &result["auth_url"]),
        (&json!(url), &json!(""))
    );
    assert_eq!(relay.visit("my-shop", "/").text(), HELLO);
    assert_eq!(relay.visit("MY-SHOP", "/x?y").text(), HELLO);
    assert_eq!(relay.visit("other", "/").status(), 404);
    let status = relay.status();
    let application = &status["connectors"][0]["applications"][0];
    assert_eq!(
        (&application["connected"], &application["url"]),
        (&json!(true), &json!(url))
    );
    assert_eq!(application["figures"]["requests"], 2);
    manager.disconnect(&id);
    wait_until(TIMEOUT, "the site's end", || {
        relay.visit("my-shop", "/").status() == 502
    });
}

#[test]
fn an_invisible_site_asks_for_its_code() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = manager(&relay);
    let id = add(
        &manager,
        &target,
        json!({"name": "hidden", "invisible": true}),
    );
    let result = manager.connected(&id);
    assert_eq!(relay.visit("hidden", "/").status(), 401);
    let auth = result["auth_url"].as_str().unwrap();
    let path = auth.split_once(".localhost").unwrap().1;
    let path = &path[path.find('/').unwrap()..];
    assert_eq!(relay.visit("hidden", &format!("{path}x")).status(), 401);
    let cookie = relay.visit("hidden", path).cookie().unwrap();
    let enter = |relay: &Relay| {
        let host = format!("hidden.localhost:{}", relay.address.port());
        let headers = [("Host", host.as_str()), ("Origin", ""), ("Cookie", &cookie)];
        relay
            .client()
            .send("GET", "/", &headers, b"")
            .text()
            .to_owned()
    };
    assert_eq!(enter(&relay), HELLO);
    let code = path.split("code=").nth(1).unwrap().to_owned();
    assert!(!relay.stderr().contains(&code), "no log holds it");
    assert!(
        !support::relay::texts_below(&relay.data()).contains(&code),
        "nor the state"
    );
    let relay = relay.restart(&[]);
    wait_until(TIMEOUT, "the tunnel", || {
        relay.visit("hidden", path).status() == 303
    });
}

/// The WebSocket handshake and what follows pass through everything.
#[test]
fn a_websocket_passes() {
    let relay = Relay::start(&[]);
    let manager = manager(&relay);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Ends with the process; whoever asks whether it is there comes too.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || echo_after_upgrade(stream));
        }
    });
    let id = manager.add(&json!({"protocol": "http", "port": port, "name": "socket"}));
    manager.connected(&id);
    let mut visitor = TcpStream::connect(relay.address).unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(
        visitor,
        "GET /ws HTTP/1.1\r\nHost: socket.localhost:{}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        relay.address.port()
    )
    .unwrap();
    let head = read_head(&mut visitor);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    visitor.write_all(b"\x81\x04ping").unwrap();
    let mut echoed = [0; 6];
    visitor.read_exact(&mut echoed).unwrap();
    assert_eq!(&echoed, b"\x81\x04ping");
}

pub(crate) fn echo_after_upgrade(mut stream: TcpStream) {
    read_head(&mut stream);
    let answer =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    stream.write_all(answer.as_bytes()).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let _ = std::io::copy(&mut stream, &mut writer);
}

pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn another_protocol_has_a_public_port() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = manager(&relay);
    let id = add(&manager, &target, json!({"protocol": "tcp"}));
    let result = manager.connected(&id);
    let address = result["site_url"]
        .as_str()
        .unwrap()
        .strip_prefix("tcp://127.0.0.1:")
        .unwrap();
    let port: u16 = address.parse().unwrap();
    assert_eq!(visit(port).as_deref(), Some(HELLO));
    wait_until(TIMEOUT, "its figures", || {
        let status = relay.status();
        let figures = &status["connectors"][0]["applications"][0]["figures"];
        let is_gone = figures["visitors"] == 0 && figures["requests"] == 1;
        is_gone && figures["bytes_in"].as_u64() > Some(0) && figures["bytes_out"].as_u64() > Some(0)
    });
    manager.disconnect(&id);
    wait_until(TIMEOUT, "the port's end", || {
        TcpStream::connect(("127.0.0.1", port)).is_err()
    });
}

/// Nobody on the relay's host goes around the gateway: what a site's tunnel names is no port.
#[test]
fn a_site_has_no_port_and_neither_has_the_main_tunnel() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let assigned = relay.assign(&body("one", "shop", "http", target.port()));
    let port = &assigned["app"]["resource"]["port"];
    let api = &assigned["connector"]["api_port"];
    let remotes = [
        format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port()),
        format!("R:0.0.0.0:{api}:localhost:4000"),
    ];
    let tunnel = relay.tunnel("one", PASSWORD, &[&remotes[0], &remotes[1]]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    assert_eq!(relay.visit("shop", "/").text(), HELLO);
    for port in [port, api] {
        let port = u16::try_from(port.as_u64().unwrap()).unwrap();
        assert!(
            TcpStream::connect(("127.0.0.1", port)).is_err(),
            "{port} is open"
        );
    }
}

#[test]
fn a_connector_gets_its_own_ports_and_nothing_else() {
    let relay = Relay::start(&[]);
    let port = |connector: &str, app: &str, protocol: &str| {
        relay.assign(&body(connector, app, protocol, 80))["app"]["resource"]["port"].clone()
    };
    let (own, site) = (port("one", "a", "tcp"), port("one", "b", "http"));
    let (others, others_site) = (port("two", "a", "tcp"), port("two", "b", "http"));
    for (user, password, remote, expected) in [
        (
            "one",
            PASSWORD,
            format!("R:127.0.0.1:{others}:localhost:80"),
            "denied",
        ),
        (
            "one",
            PASSWORD,
            format!("R:127.0.0.1:{others_site}:localhost:80"),
            "denied",
        ),
        (
            "one",
            PASSWORD,
            "R:127.0.0.1:65000:localhost:80".to_owned(),
            "denied",
        ),
        (
            "one",
            PASSWORD,
            format!("R:0.0.0.0:{}:localhost:80", relay.address.port()),
            "denied",
        ),
        (
            "one",
            PASSWORD,
            format!("R:192.0.2.1:{own}:localhost:80"),
            "denied",
        ),
        (
            "one",
            "another-password",
            format!("R:{own}:localhost:80"),
            "password",
        ),
        (
            "nobody",
            PASSWORD,
            format!("R:{own}:localhost:80"),
            "password",
        ),
        ("", "", format!("R:{own}:localhost:80"), "password"),
    ] {
        let said = refusal(&relay.tunnel(user, password, &[&remote]));
        assert!(said.contains(expected), "{user} {remote}: {said}");
    }
    let (own, site) = (
        format!("R:127.0.0.1:{own}:localhost:80"),
        format!("R:127.0.0.1:{site}:localhost:80"),
    );
    let tunnel = relay.tunnel("one", PASSWORD, &[&own, &site]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
}

#[test]
fn after_a_restart_the_same_addresses_come_back_by_themselves() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = manager(&relay);
    let site = add(&manager, &target, json!({"name": "shop"}));
    let port = add(&manager, &target, json!({"protocol": "tcp"}));
    let before = manager.connected(&site)["site_url"].clone();
    let tcp = manager.connected(&port)["site_url"].clone();
    let relay = relay.restart(&[]);
    wait_until(TIMEOUT, "the site", || {
        relay.visit("shop", "/").status() == 200
    });
    assert_eq!(manager.wait_status(&site, "connected")["site_url"], before);
    assert_eq!(manager.wait_status(&port, "connected")["site_url"], tcp);
    let port = tcp
        .as_str()
        .unwrap()
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    wait_until(TIMEOUT, "the port", || {
        visit(port).as_deref() == Some(HELLO)
    });
}

#[test]
fn a_revoked_connector_is_out_at_once_and_for_good() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let assigned = relay.assign(&body("one", "shop", "http", target.port()));
    let public = relay.assign(&body("one", "port", "tcp", target.port()));
    let remote = |assigned: &Value| {
        format!(
            "R:127.0.0.1:{}:127.0.0.1:{}",
            assigned["app"]["resource"]["port"],
            target.port()
        )
    };
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote(&assigned), &remote(&public)]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    assert_eq!(relay.visit("shop", "/").text(), HELLO);
    let listed = relay.home().run(&["relay", "list"]);
    assert!(listed.stdout.contains("one\tconnected\t"), "{listed:?}");
    let revoked = relay.home().run(&["relay", "revoke", "one"]);
    assert_eq!(
        (
            revoked.code,
            revoked.stdout.starts_with("one is revoked until ")
        ),
        (Some(0), true),
        "{revoked:?}"
    );
    assert_eq!(relay.visit("shop", "/").status(), 410);
    let port = u16::try_from(public["app"]["resource"]["port"].as_u64().unwrap()).unwrap();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    let again = relay.call(&body("one", "shop", "http", 1));
    assert_eq!(again.status(), 403, "{}", again.text());
    refused_again(&tunnel);
    let twice = relay.home().run(&["relay", "revoke", "one"]);
    assert_eq!(twice.code, Some(1));
    let relay = relay.restart(&[]);
    assert_eq!(relay.call(&body("one", "shop", "http", 1)).status(), 403);
}

/// It has lost its connection, and its password is of no use any more.
fn refused_again(tunnel: &Tunnel) {
    wait_until(TIMEOUT, "the refusal", || {
        let error = tunnel.snapshot().error;
        error.is_some_and(|error| error.to_string().contains("password"))
    });
}

/// Its connection was only found by what it held.
#[test]
fn a_revoked_connector_is_out_though_it_holds_nothing() {
    let relay = Relay::start(&[]);
    let port = relay.assign(&body("one", "shop", "http", 80))["app"]["resource"]["port"].clone();
    let tunnel = relay.tunnel("one", PASSWORD, &[&format!("R:{port}:localhost:80")]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    assert_eq!(relay.release("one", PASSWORD, "shop").status(), 200);
    let revoked = relay.home().run(&["relay", "revoke", "one"]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    refused_again(&tunnel);
}

/// The port of an application that became a site stayed open, and was nobody's: one connector
/// could take all of them.
#[test]
fn an_application_that_becomes_a_site_has_no_port_any_more() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let public = relay.assign(&body("one", "app", "tcp", target.port()));
    let port = u16::try_from(public["app"]["resource"]["port"].as_u64().unwrap()).unwrap();
    let remote = format!("R:{port}:127.0.0.1:{}", target.port());
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    assert_eq!(visit(port).as_deref(), Some(HELLO));
    relay.assign(&body("one", "app", "http", target.port()));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// An invisible database asks for its code once: at the connector, where no tunnel server reads it.
#[test]
fn a_database_is_reached_with_its_code_and_stays_read_only() {
    let db = Database::shared();
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::with_plugin());
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    let (host, port) = (db.target(), db.target());
    let (host, port) = (
        host.split(':').next().unwrap(),
        port.rsplit(':').next().unwrap(),
    );
    let id = manager.add(&json!({"protocol": "mysql", "name": "data", "ip": host,
        "port": port.parse::<u16>().unwrap(), "db_user": database::USER, "db_pass": database::PASSWORD}));
    let result = manager.connected(&id);
    let site = format!("data.localhost:{}", relay.address.port());
    assert_eq!(result["site_url"], format!("http://{site}/"));
    let auth = result["auth_url"].as_str().unwrap();
    let path = auth.strip_prefix(&format!("http://{site}")).unwrap();
    let origin = format!("http://{site}");
    let send = |method: &str, path: &str, cookie: &str, body: &str| {
        let headers = [
            ("Host", site.as_str()),
            ("Origin", origin.as_str()),
            ("Cookie", cookie),
            ("Content-Type", "application/json"),
        ];
        relay.client().send(method, path, &headers, body.as_bytes())
    };
    assert_eq!(send("GET", "/api/info", "", "").status(), 401);
    assert_eq!(relay.visit("data", "/auth?code=wrong").status(), 401);
    let entered = relay.visit("data", path);
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let cookie = entered.cookie().unwrap();
    let info = send("GET", "/api/info", &cookie, "").data();
    assert_eq!(info["readonly"], true);
    let refused = send("POST", "/api/query", &cookie, r#"{"sql": "DROP TABLE t"}"#);
    assert_eq!(refused.status(), 403, "{}", refused.text());
    let forged = [
        ("Host", site.as_str()),
        ("Origin", "http://evil.example"),
        ("Cookie", cookie.as_str()),
    ];
    let forged = relay.client().send("GET", "/api/info", &forged, b"");
    assert_eq!(forged.status(), 403, "{}", forged.text());
    // Everybody is signed out here, where the code is asked for; the relay never had it.
    manager.post(&format!("/api/apps/{id}/signout")).data();
    wait_until(TIMEOUT, "the cookie's end", || {
        send("GET", "/api/info", &cookie, "").status() == 401
    });
    // Open connections at the relay end a moment later; an earlier sign-in ends with them.
    let mut cookie = None;
    wait_until(TIMEOUT, "another sign-in", || {
        cookie = relay.visit("data", path).cookie();
        cookie.is_some()
    });
    let cookie = cookie.unwrap();
    wait_until(TIMEOUT, "the database again", || {
        send("GET", "/api/info", &cookie, "").status() == 200
    });
    manager.post(&format!("/api/apps/{id}/code")).data();
    wait_until(TIMEOUT, "the new code", || {
        manager.status(&id)["auth_url"] != auth
    });
    wait_until(TIMEOUT, "the end of both", || {
        let is_out = send("GET", "/api/info", &cookie, "").status() == 401;
        is_out && relay.visit("data", path).status() == 401
    });
    let code = path.split("code=").nth(1).unwrap();
    let known = support::relay::texts_below(&relay.data()) + &relay.stderr();
    assert!(!known.contains(code), "the relay knows the code");
}

/// Another tenant's public port may be a server of the same host name, and browsers send a cookie to
/// every port.
#[test]
fn by_https_a_databases_cookie_is_for_this_server_alone() {
    let db = Database::shared();
    let relay = Relay::start(&["--public-url=https://localhost"]);
    let home = Arc::new(Home::with_plugin());
    let (url, token) = (relay.url(), relay.enrol_token());
    let manager = Manager::start_in(&home, &["--server", &url, "--enroll-token", &token]);
    let target = db.target();
    let (host, port) = target.rsplit_once(':').unwrap();
    let id = manager.add(&json!({"protocol": "mysql", "name": "data", "ip": host,
        "port": port.parse::<u16>().unwrap(), "db_user": database::USER, "db_pass": database::PASSWORD}));
    let result = manager.connected(&id);
    let auth = result["auth_url"].as_str().unwrap();
    let path = auth.strip_prefix("https://data.localhost").unwrap();
    assert!(path.starts_with("/.postern/auth?app_id="), "{path}");
    let send = |path: &str, cookie: &str| {
        let headers = [
            ("Host", "data.localhost"),
            ("Origin", ""),
            ("Cookie", cookie),
        ];
        relay.client().send("GET", path, &headers, b"")
    };
    let entered = send(path, "");
    let whole = entered.header("set-cookie").unwrap().to_owned();
    assert!(
        whole.starts_with("__Host-postern_") && whole.ends_with("; Secure"),
        "{whole}"
    );
    let hsts = entered.header("strict-transport-security");
    assert_eq!(hsts, Some("max-age=31536000"));
    let pair = entered.cookie().unwrap();
    assert_eq!(send("/api/info", &pair).status(), 200);
    let plain = pair.trim_start_matches("__Host-");
    assert_eq!(
        send("/api/info", plain).status(),
        401,
        "anybody can set that one"
    );
}

/// The manager gives back what its server holds for an application that is deleted.
#[test]
fn a_deleted_application_is_given_back() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = manager(&relay);
    let id = add(&manager, &target, json!({"name": "shop"}));
    manager.connected(&id);
    let deleted = manager
        .client()
        .send("DELETE", &format!("/api/apps/{id}"), &[], b"");
    assert_eq!(deleted.status(), 200);
    wait_until(TIMEOUT, "the release", || {
        relay.status()["connectors"][0]["applications"] == json!([])
    });
    wait_until(TIMEOUT, "the name's end", || {
        relay.visit("shop", "/").status() == 410
    });
}

#[test]
fn without_a_server_the_relay_is_embedded_and_naming_one_later_needs_nothing_else() {
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let manager = Manager::start_in(&home, &[]);
    let version = manager.client().get("/api/version").data();
    assert_eq!(version["embedded"], true);
    let notices = version["notices"].to_string();
    assert!(
        notices.contains(".localhost") && notices.contains("--server"),
        "{notices}"
    );
    let id = add(&manager, &target, json!({"name": "shop"}));
    let url = manager.connected(&id)["site_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let host = url
        .strip_prefix("http://")
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    let address = host.replace("shop.localhost", "127.0.0.1");
    let hello = Client::new(&address).send("GET", "/", &[("Host", &host), ("Origin", "")], b"");
    assert_eq!(hello.text(), HELLO);
    let stranger =
        Client::new(&address).post("/api/public/quick-setup", &body("x", "y", "http", 1));
    assert_eq!(stranger.status(), 403, "the token is the manager's alone");
    let listed = home.run(&["relay", "list"]);
    assert!(listed.stdout.contains(&url), "{listed:?}");
    let second = Relay::try_start_in(
        &home,
        &["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"],
    );
    let refused = second.err().expect("one relay on a directory");
    assert!(refused.stderr.contains("another relay uses"), "{refused:?}");
    drop(manager);
    let relay = Relay::start(&[]);
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    assert_eq!(
        manager.client().get("/api/version").data()["embedded"],
        false
    );
    manager.connected(&id);
    assert_eq!(relay.visit("shop", "/").text(), HELLO);
}

/// A revocation ends the enrolment token, which the manager of the same process never needed.
#[test]
fn who_revokes_his_own_connector_at_the_embedded_relay_can_start_afresh() {
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let manager = Manager::start_in(&home, &[]);
    let id = add(&manager, &target, json!({"name": "shop"}));
    let server = manager.connected(&id)["server"].clone();
    let listed = home.run(&["relay", "list"]).stdout;
    let name = listed.lines().nth(1).unwrap().split('\t').nth(1).unwrap();
    let revoked = home.run(&["relay", "revoke", name]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    let wanted = json!({"server": server, "disconnect": true});
    let reset = manager.client().post("/api/reset", &wanted);
    assert_eq!(reset.status(), 200, "{}", reset.text());
    manager.connected(&id);
}

/// The manager of a user who already runs a relay uses that one, without a token.
#[test]
fn a_relay_that_runs_already_is_used_without_being_named() {
    let ports = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];
    let home = Arc::new(Home::new());
    let public = "--public-url=http://localhost:8080";
    let relay = Relay::start_in(&home, &[ports[0], ports[1], public]);
    let target = Target::start();
    let manager = Manager::start_in(&home, &[]);
    let version = manager.client().get("/api/version").data();
    assert_eq!(version["embedded"], false);
    let id = add(&manager, &target, json!({"name": "shop"}));
    manager.connected(&id);
    assert_eq!(relay.visit("shop", "/").text(), HELLO);
}

/// A visitor in the middle of a download holds nobody up.
#[test]
fn it_ends_in_two_seconds_with_visitors_at_work() {
    let mut relay = Relay::start(&[]);
    let manager = manager(&relay);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Ends with the process; whoever asks whether it is there comes too.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                read_head(&mut stream);
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n";
                let _ = stream.write_all(head);
                while stream.write_all(&[0; 65536]).is_ok() {}
            });
        }
    });
    let id = manager.add(&json!({"protocol": "http", "port": port, "name": "endless"}));
    manager.connected(&id);
    let mut visitor = TcpStream::connect(relay.address).unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    let host = format!("endless.localhost:{}", relay.address.port());
    write!(visitor, "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    assert!(read_head(&mut visitor).starts_with("HTTP/1.1 200 "));
    let begun = std::time::Instant::now();
    assert_eq!(relay.stop().and_then(|status| status.code()), Some(0));
    assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
}
