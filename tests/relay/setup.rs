//! Quick-setup at the real `postern relay`: who is let in, what is assigned, and what is refused.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};
use support::openapi::Described;
use support::relay::{PASSWORD, Relay, body, refusal, texts_below, with};
use support::{Home, TIMEOUT, wait_until};

/// Flag that makes a relay public, although it listens on loopback.
const PUBLIC: &str = "--public-url=https://localhost";

#[test]
fn an_application_is_assigned_a_site_and_keeps_it() {
    let relay = Relay::start(&[]);
    let first = relay.assign(&body("one", "shop", "http", 3000));
    let connector = &first["connector"];
    assert_eq!(connector["external_ip"], "127.0.0.1");
    assert_eq!(connector["tunnel_port"], relay.tunnel.port());
    assert_eq!(connector["fingerprint"], relay.said("Fingerprint: "));
    assert_eq!(
        (&connector["username"], &connector["password"]),
        (&json!("one"), &json!(PASSWORD))
    );
    let url = format!("http://shop.localhost:{}/", relay.address.port());
    assert_eq!(first["app"]["site_url"], url);
    assert_eq!(first["api_key"]["nhp_server"], format!("{url}.postern"));
    assert_eq!(
        first["api_key"]["code"].as_str().unwrap().len(),
        40,
        "160 bits"
    );
    let second = relay.assign(&with(
        body("one", "shop", "http", 9),
        json!({"display_name": "Other"}),
    ));
    assert_eq!(second["app"], first["app"]);
    let relay = relay.restart(&[]);
    let third = relay.assign(&body("one", "shop", "http", 3000));
    assert_eq!(
        (&third["app"], &third["connector"]),
        (&first["app"], &first["connector"])
    );
}

#[test]
fn a_name_that_is_held_gets_a_number_and_a_port_is_public_for_other_protocols() {
    let relay = Relay::start(&[]);
    let site = |connector: &str, app: &str, name: &str| {
        let wish = with(body(connector, app, "http", 1), json!({"site_name": name}));
        relay.assign(&wish)["app"]["site_url"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let port = relay.address.port();
    assert_eq!(
        site("one", "a", "shop"),
        format!("http://shop.localhost:{port}/")
    );
    assert_eq!(
        site("two", "a", "shop"),
        format!("http://shop-2.localhost:{port}/")
    );
    assert_eq!(
        site("one", "b", "shop"),
        format!("http://shop-3.localhost:{port}/")
    );
    let ssh = relay.assign(&body("one", "c", "ssh", 22));
    let public = ssh["app"]["resource"]["port"].as_u64().unwrap();
    assert_eq!(ssh["app"]["site_url"], format!("tcp://127.0.0.1:{public}"));
    assert_eq!(ssh["api_key"]["code"], "");
}

#[test]
fn a_wrong_password_is_401_and_changes_nothing() {
    let relay = Relay::start(&[]);
    let first = relay.assign(&body("one", "shop", "http", 3000));
    for (password, reset) in [
        ("another-password", true),
        ("another-password", false),
        ("12345678", true),
    ] {
        let wrong = with(
            body("one", "shop", "http", 1),
            json!({"password": password, "reset": reset}),
        );
        let answer = relay.call(&wrong);
        assert_eq!(
            (answer.status(), answer.json()["code"].clone()),
            (401, json!(401))
        );
        assert!(!answer.text().contains(password));
    }
    let again = relay.assign(&body("one", "shop", "http", 3000));
    assert_eq!(again["app"], first["app"]);
}

#[test]
fn a_public_relay_enrols_with_its_token_only() {
    let relay = Relay::start(&[PUBLIC]);
    let token = relay.first_token();
    let call = |changes: Value| relay.call(&with(body("one", "shop", "http", 1), changes));
    let absent = call(json!({}));
    assert_eq!(absent.status(), 403);
    assert!(
        absent.text().contains("--enroll-token"),
        "{}",
        absent.text()
    );
    let wrong = call(json!({"enroll_token": "not-the-token-that-was-printed"}));
    assert_eq!(wrong.status(), 403);
    let right = call(json!({"enroll_token": token})).data();
    assert_eq!(right["app"]["site_url"], "https://shop.localhost/");
    call(json!({})).data();
    let texts = texts_below(&relay.data());
    assert!(
        !texts.contains(&token) && !texts.contains(PASSWORD),
        "kept hashed"
    );
    assert!(!relay.stderr().contains(&token) && !relay.stderr().contains(PASSWORD));
    let relay = relay.restart(&[PUBLIC]);
    assert!(!relay.stdout().contains("Enrolment token"), "shown once");
    let ask = |relay: &Relay, connector: &str, token: &str| {
        let token = json!({"enroll_token": token});
        let call = with(body(connector, "shop", "http", 1), token);
        relay.call(&call).status()
    };
    assert_eq!(ask(&relay, "two", &token), 403, "it was good once");
    let invite = relay.enrol_token();
    let chosen = ["chosen-by-the-operator", "chosen-by-the-operator-later"];
    let relay = relay.restart(&[PUBLIC, "--enroll-token", chosen[0]]);
    let three = [("three", chosen[0]), ("four", chosen[0]), ("five", &invite)];
    assert!(
        three
            .iter()
            .all(|(name, token)| ask(&relay, name, token) == 200)
    );
    let relay = relay.restart(&[PUBLIC, "--enroll-token", chosen[1]]);
    assert_eq!(
        ask(&relay, "six", chosen[0]),
        403,
        "another is in its place"
    );
    let two = [("seven", chosen[1]), ("eight", &*invite)];
    assert!(
        two.iter()
            .all(|(name, token)| ask(&relay, name, token) == 200)
    );
}

#[test]
fn wrong_fields_are_all_named() {
    let relay = Relay::start(&[]);
    let answer = relay
        .call(&json!({"protocol": "ftp", "port": 0, "connector_name": "a b", "password": "x"}));
    assert_eq!(answer.status(), 400);
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    for field in ["protocol", "ip", "port", "connector_name", "password"] {
        assert!(message.contains(&format!("{field}: ")), "{message}");
    }
    for name in ["www", "api", "Ab", "a--b", "-ab", "relay"] {
        let reserved = with(body("one", "shop", "http", 1), json!({"site_name": name}));
        assert_eq!(relay.call(&reserved).status(), 400, "{name}");
    }
    for text in ["", "[]", "null", "{"] {
        let json = ("Content-Type", "application/json");
        let answer =
            relay
                .client()
                .send("POST", "/api/public/quick-setup", &[json], text.as_bytes());
        assert_eq!(answer.status(), 400, "{text}");
    }
}

#[test]
fn web_pages_elsewhere_and_other_names_do_not_reach_it() {
    let relay = Relay::start(&[]);
    let call = body("one", "shop", "http", 1).to_string();
    let send = |headers: &[(&str, &str)]| {
        let answer =
            relay
                .client()
                .send("POST", "/api/public/quick-setup", headers, call.as_bytes());
        answer.status()
    };
    let json = ("Content-Type", "application/json");
    assert_eq!(send(&[]), 415);
    assert_eq!(send(&[("Content-Type", "text/plain")]), 415);
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "http://shop.localhost",
    ] {
        assert_eq!(send(&[json, ("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(send(&[json, ("Host", "evil.example")]), 421);
    let site = format!("other.localhost:{}", relay.address.port());
    assert_eq!(
        send(&[json, ("Host", &site), ("Origin", "")]),
        404,
        "a site's name is not the relay's"
    );
    let own = format!("localhost:{}", relay.address.port());
    assert_eq!(send(&[json, ("Host", &own), ("Origin", "")]), 200);
}

#[test]
fn a_flood_is_429_and_says_how_long_to_wait() {
    let relay = Relay::start(&[]);
    let mut client = relay.client();
    let statuses: Vec<u16> = (0..40)
        .map(|_| client.post("/api/public/quick-setup", &json!({})).status())
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 30);
    let last = client.post("/api/public/quick-setup", &body("one", "shop", "http", 1));
    assert_eq!(last.status(), 429);
    let wait: u64 = last.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(client.get("/health").json(), json!({"status": "OK"}));
}

/// From ever new addresses nobody is over the limit of one, and the disk must not fill all the same.
#[test]
fn those_who_are_turned_away_get_so_many_lines_a_minute() {
    let relay = Relay::start(&[PUBLIC, "--trust-proxy=127.0.0.1"]);
    let call = body("one", "shop", "http", 1).to_string();
    let mut client = relay.client();
    for number in 0..200 {
        let source = format!("198.51.100.{number}");
        let headers = [
            ("X-Forwarded-For", source.as_str()),
            ("Content-Type", "application/json"),
        ];
        let path = "/api/public/quick-setup";
        let answer = client.send("POST", path, &headers, call.as_bytes());
        assert_eq!(answer.status(), 403, "{}", answer.text());
    }
    let said = |text: &str| relay.stderr().matches(text).count();
    assert!(said("was refused") > 0);
    // The window may have ended once meanwhile.
    let more = said("more refused calls are not shown");
    assert!(said("'one' was refused") <= 120 * (1 + more));
}

/// A connector that comes back after a flood, from wherever.
#[test]
fn a_known_connector_with_its_password_is_never_counted() {
    let relay = Relay::start(&[]);
    let shop = body("one", "shop", "http", 1);
    let wrong = with(
        shop.clone(),
        json!({"password": "another-password-of-43-characters-012345678"}),
    );
    assert!((0..40).all(|_| relay.call(&shop).status() == 200));
    let statuses: Vec<u16> = (0..40).map(|_| relay.call(&wrong).status()).collect();
    // One more was counted as it was enrolled.
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 29);
    assert_eq!(statuses.last(), Some(&429));
    assert_eq!(relay.call(&body("two", "shop", "http", 1)).status(), 429);
    assert_eq!(relay.call(&shop).status(), 200);
    assert_eq!(relay.release("one", PASSWORD, "shop").status(), 200);
    assert_eq!(relay.release("one", "wrong", "shop").status(), 429);
}

/// A token that a person chose takes long to compare, and whoever likes can have that done.
#[test]
fn slow_comparisons_keep_nobody_waiting() {
    let args = [
        PUBLIC,
        "--trust-proxy=127.0.0.1",
        "--enroll-token=chosen-by-a-person",
    ];
    let relay = Relay::start(&args);
    let wrong = with(
        body("one", "shop", "http", 1),
        json!({"enroll_token": "not-the-right-one"}),
    );
    let wrong = wrong.to_string();
    let calls: Vec<_> = (0..16)
        .map(|number| {
            let mut socket = TcpStream::connect(relay.address).unwrap();
            write!(
                socket,
                "POST /api/public/quick-setup HTTP/1.1\r\nHost: {}\r\nX-Forwarded-For: 192.0.2.{number}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{wrong}",
                relay.address,
                wrong.len()
            )
            .unwrap();
            socket
        })
        .collect();
    assert_eq!(relay.client().get("/health").status(), 200);
    let is_answered = |socket: &&TcpStream| {
        socket.set_nonblocking(true).unwrap();
        socket.peek(&mut [0]).is_ok()
    };
    // Three workers in turn would have done at least 13 of them first.
    let answered = calls.iter().filter(is_answered).count();
    assert!(answered < 13, "{answered} were answered before");
    wait_until(TIMEOUT, "all of them", || {
        calls.iter().filter(is_answered).count() == 16
    });
    let token = json!({"enroll_token": "chosen-by-a-person"});
    assert_eq!(
        relay
            .call(&with(body("one", "shop", "http", 1), token))
            .status(),
        200
    );
}

#[test]
fn calls_behind_a_trusted_proxy_are_counted_by_visitor() {
    let relay = Relay::start(&[PUBLIC, "--trust-proxy=127.0.0.1"]);
    let json = ("Content-Type", "application/json");
    let from = |address: &str| {
        let headers = [json, ("X-Forwarded-For", address)];
        let answer = relay
            .client()
            .send("POST", "/api/public/quick-setup", &headers, b"{}");
        answer.status()
    };
    assert!((0..30).all(|_| from("192.0.2.1") == 400));
    assert_eq!((from("192.0.2.1"), from("192.0.2.2")), (429, 400));
    // As the gateway reads it: some proxies add the port, some a line of their own.
    assert_eq!((from("192.0.2.1:4711"), from("192.0.2.3:80")), (429, 400));
    let lines = [
        json,
        ("X-Forwarded-For", "192.0.2.4"),
        ("X-Forwarded-For", "[::ffff:192.0.2.1]"),
    ];
    let answer = relay
        .client()
        .send("POST", "/api/public/quick-setup", &lines, b"{}");
    assert_eq!(answer.status(), 429);
}

#[test]
fn an_application_is_given_back_by_its_connector_alone() {
    let relay = Relay::start(&[]);
    relay.assign(&body("one", "shop", "http", 1));
    relay.assign(&body("two", "other", "http", 1));
    let release =
        |name: &str, password: &str, app: &str| relay.release(name, password, app).status();
    assert_eq!(release("one", "wrong-password", "shop"), 401);
    assert_eq!(release("nobody", PASSWORD, "shop"), 401);
    assert_eq!(release("two", PASSWORD, "shop"), 404);
    let without = relay
        .client()
        .send("DELETE", "/api/public/applications/shop", &[], b"");
    assert_eq!(without.status(), 401);
    assert_eq!(release("one", PASSWORD, "shop"), 200);
    assert_eq!(release("one", PASSWORD, "shop"), 404);
    let url = |connector: &str, app: &str| {
        let wish = with(
            body(connector, app, "http", 1),
            json!({"site_name": "shop"}),
        );
        relay.assign(&wish)["app"]["site_url"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let other = url("two", "more");
    assert!(
        other.starts_with("http://shop-2."),
        "it is kept for whom had it: {other}"
    );
    let again = url("one", "again");
    assert!(again.starts_with("http://shop."), "{again}");
}

/// A public port on the sites' address is a server under every site's name.
#[test]
fn a_relay_that_others_reach_gives_public_ports_only_where_that_was_said() {
    let out = [
        "--listen=127.0.0.1:0",
        "--tunnel-listen=0.0.0.0:0",
        "--external-ip=127.0.0.1",
    ];
    let start = |flags: &[&str]| Relay::start_in(&Arc::new(Home::new()), &[&out, flags].concat());
    let ask = |relay: &Relay, app: &str, protocol: &str| {
        let token = json!({"enroll_token": relay.enrol_token()});
        relay.call(&with(body("one", app, protocol, 22), token))
    };
    let relay = start(&[]);
    for protocol in ["tcp", "ssh", "rdp", "vnc", "telnet", "mysql"] {
        let refused = ask(&relay, "a", protocol);
        assert_eq!(refused.status(), 403, "{protocol}");
        let text = refused.text();
        assert!(
            text.contains("--port-listen") && text.contains("--shared-host-ports"),
            "{text}"
        );
    }
    assert_eq!(ask(&relay, "b", "http").status(), 200);
    let shared = start(&["--shared-host-ports"]);
    let setup = ask(&shared, "a", "ssh").data();
    let url = setup["app"]["site_url"].as_str().unwrap();
    assert!(url.starts_with("tcp://127.0.0.1:"), "{url}");
    // A port that was assigned with the flag does not come back after a start without it.
    let port = setup["app"]["resource"]["port"].as_u64().unwrap();
    let home = Arc::clone(shared.home());
    drop(shared);
    let relay = Relay::start_in(&home, &out);
    let tunnel = relay.tunnel(
        "one",
        PASSWORD,
        &[&format!("R:0.0.0.0:{port}:127.0.0.1:22")],
    );
    refusal(&tunnel);
}

#[test]
fn public_ports_are_on_the_address_that_was_named() {
    let relay = Relay::start(&["--port-listen=127.0.0.2"]);
    let setup = relay.assign(&body("one", "a", "ssh", 22));
    let port = setup["app"]["resource"]["port"].as_u64().unwrap();
    assert_eq!(setup["app"]["site_url"], format!("tcp://127.0.0.2:{port}"));
    let tunnel = relay.tunnel(
        "one",
        PASSWORD,
        &[&format!("R:0.0.0.0:{port}:127.0.0.1:22")],
    );
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    TcpStream::connect(format!("127.0.0.2:{port}")).unwrap();
    let on_sites = TcpStream::connect(format!("127.0.0.1:{port}"));
    assert!(on_sites.is_err(), "the sites' address has no such port");
}

/// A token that everybody knows who was ever let in would let the one who was turned out in again.
#[test]
fn a_revocation_ends_the_enrol_token_for_good_and_can_be_undone() {
    const CHOSEN: &str = "chosen-by-the-operator";
    let flags = [PUBLIC, "--enroll-token", CHOSEN];
    let relay = Relay::start(&flags);
    let ask = |relay: &Relay, connector: &str, token: &str| {
        let wish = json!({"enroll_token": token, "site_name": "shop"});
        relay.call(&with(body(connector, "a", "http", 1), wish))
    };
    assert_eq!(ask(&relay, "one", CHOSEN).status(), 200);
    assert_eq!(ask(&relay, "two", CHOSEN).status(), 200);
    let revoked = relay.home().run(&["relay", "revoke", "one"]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    let line = revoked
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Enrolment token: "));
    let token = line.unwrap().split(' ').next().unwrap().to_owned();

    let check = |relay: &Relay, fresh: &str| {
        assert_eq!(ask(relay, "one", CHOSEN).status(), 403);
        assert_eq!(ask(relay, "one", &token).status(), 403, "its name is out");
        let afresh = ask(relay, fresh, CHOSEN);
        assert_eq!(afresh.status(), 403, "the same one under another name");
        assert!(afresh.text().contains("revoked"), "{}", afresh.text());
        assert_eq!(
            ask(relay, "two", "").status(),
            200,
            "who is enrolled needs none"
        );
        let url = ask(relay, fresh, &token).data()["app"]["site_url"].to_string();
        assert!(!url.contains("//shop."), "the name stays its own: {url}");
        let listed = relay.home().run(&["relay", "list"]);
        assert!(listed.stdout.contains("\n-\tone\trevoked\t"), "{listed:?}");
        assert_eq!(relay.status()["revoked"][0]["name"], "one");
    };
    check(&relay, "three");
    let relay = relay.restart(&flags);
    let said = relay.stderr();
    assert!(
        said.contains("was revoked or cancelled") && !said.contains(CHOSEN),
        "{said}"
    );
    check(&relay, "four");
    assert!(!texts_below(&relay.data()).contains(&token), "kept hashed");
    assert!(!relay.stderr().contains(&token));

    let unknown = relay.home().run(&["relay", "allow", "nobody"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    let allowed = relay.home().run(&["relay", "allow", "one"]);
    assert!(
        allowed.code == Some(0) && allowed.stdout.contains("still reserved for it"),
        "{allowed:?}"
    );
    let back = ask(&relay, "one", "").data();
    assert_eq!(back["app"]["site_url"], "https://shop.localhost/");
    assert_eq!(relay.status()["revoked"], json!([]));
    assert_eq!(
        ask(&relay, "five", CHOSEN).status(),
        403,
        "the token stays forbidden"
    );
}

#[test]
fn a_revocation_without_a_running_relay_is_as_good() {
    let first = "chosen-by-the-operator";
    let relay = Relay::start(&[PUBLIC, "--enroll-token", first]);
    let ask = |relay: &Relay, connector: &str, token: &str| {
        let token = json!({"enroll_token": token});
        relay
            .call(&with(body(connector, "shop", "http", 1), token))
            .status()
    };
    assert_eq!(ask(&relay, "one", first), 200);
    let home = Arc::clone(relay.home());
    drop(relay);
    let revoked = home.run(&["relay", "revoke", "one"]);
    let line = revoked
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Enrolment token: "));
    let token = line.unwrap().split(' ').next().unwrap().to_owned();
    let ports = [
        "--listen=127.0.0.1:0",
        "--tunnel-listen=127.0.0.1:0",
        PUBLIC,
    ];
    let relay = Relay::start_in(&home, &ports);
    assert_eq!(
        (ask(&relay, "two", first), ask(&relay, "two", &token)),
        (403, 200)
    );
    assert_eq!(ask(&relay, "one", &token), 403);
    drop(relay);
    let allowed = home.run(&["relay", "allow", "one"]);
    assert!(
        allowed.stdout.contains("still reserved for it"),
        "{allowed:?}"
    );
    let relay = Relay::start_in(&home, &ports);
    assert_eq!(ask(&relay, "one", ""), 200);
}

/// Compares all answers with the description.
#[test]
fn answers_are_those_of_the_description() {
    let relay = Relay::start(&[]);
    let mut described = Described::new("relay", relay.client().get("/api/openapi.json").json());
    relay.assign(&body("one", "shop", "http", 1));
    relay.assign(&body("two", "other", "http", 1));
    let setup = relay.call(&body("one", "shop", "http", 1));
    let bearer = format!("Bearer {}", relay.operator_token());
    let operator = [("Authorization", bearer.as_str())];
    let operators = |method: &str, path: &str| relay.client().send(method, path, &operator, b"");
    let names = |method: &str, path: &str, body: &[u8]| relay.operators(method, path, body);
    let name = "/api/sites/{name}";
    let given = "/api/public/applications/{client_app_id}";
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let tls = "/api/public/tls-allowed";
    let of = |query: &str| format!("{tls}{query}");
    let trusting = Relay::start(&["--trust-proxy=127.0.0.1"]);
    let visitors = [("X-Forwarded-For", "192.0.2.1")];
    let answers = [
        ("/api/public/quick-setup", "post", setup),
        (
            "/.postern/tunnel",
            "get",
            relay.client().get("/.postern/tunnel"),
        ),
        ("/api/public/quick-setup", "post", relay.call(&json!({}))),
        (
            "/api/public/enrolment",
            "post",
            relay
                .client()
                .post("/api/public/enrolment", &body("one", "shop", "http", 1)),
        ),
        (
            "/api/status",
            "get",
            relay.client().send("GET", "/api/status", &operator, b""),
        ),
        ("/api/status", "get", relay.client().get("/api/status")),
        (
            "/api/connectors/{name}",
            "delete",
            relay
                .client()
                .send("DELETE", "/api/connectors/nobody", &operator, b""),
        ),
        (
            "/api/connectors/{name}",
            "delete",
            relay
                .client()
                .send("DELETE", "/api/connectors/one", &operator, b""),
        ),
        ("/api/status", "get", operators("GET", "/api/status")),
        (
            "/api/revoked/{name}",
            "delete",
            operators("DELETE", "/api/revoked/nobody"),
        ),
        (
            "/api/revoked/{name}",
            "delete",
            operators("DELETE", "/api/revoked/one"),
        ),
        ("/api/invites", "get", operators("GET", "/api/invites")),
        (
            "/api/invites",
            "post",
            relay.operators(
                "POST",
                "/api/invites",
                br#"{"label": "a", "uses": 2, "expires_in": 60}"#,
            ),
        ),
        (
            "/api/invites",
            "post",
            relay.operators("POST", "/api/invites", b"{\"uses\": 0}"),
        ),
        (
            "/api/invites/{id}",
            "delete",
            operators("DELETE", "/api/invites/none"),
        ),
        ("/api/links", "post", operators("POST", "/api/links")),
        (
            "/api/links",
            "post",
            relay.client().send("POST", "/api/links", &[], b""),
        ),
        ("/health", "get", relay.client().get("/health")),
        (
            name,
            "put",
            names("PUT", "/api/sites/other", br#"{"connector": "nobody"}"#),
        ),
        (
            name,
            "put",
            names("PUT", "/api/sites/other", br#"{"connector": "two"}"#),
        ),
        (
            name,
            "put",
            names("PUT", "/api/sites/none", br#"{"connector": "two"}"#),
        ),
        (name, "put", names("PUT", "/api/sites/other", b"{}")),
        (name, "delete", names("DELETE", "/api/sites/none", b"")),
        (
            given,
            "delete",
            relay.release("two", "wrong-password", "other"),
        ),
        (given, "delete", relay.release("two", PASSWORD, "none")),
        (given, "delete", relay.release("two", PASSWORD, "other")),
        (name, "delete", names("DELETE", "/api/sites/other", b"")),
        ("/", "get", relay.client().get("/")),
        ("/auth", "get", relay.client().get("/auth")),
        (
            "/auth",
            "post",
            relay.client().send("POST", "/auth", &form, b"code=wrong"),
        ),
        (
            "/api/openapi.json",
            "get",
            relay.client().get("/api/openapi.json"),
        ),
        (tls, "get", trusting.client().get(&of("?domain=localhost"))),
        (
            tls,
            "get",
            trusting.client().get(&of("?domain=no.localhost")),
        ),
        (tls, "get", trusting.client().get(&of(""))),
        (tls, "get", relay.client().send("GET", tls, &visitors, b"")),
    ];
    for (path, method, answer) in answers {
        described.check(method, path, &answer);
    }
    described.finish();
}
