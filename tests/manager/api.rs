//! `postern start`: the management API, each route, against its own description, and against those who should not
//! reach it.

use std::sync::Arc;

use serde_json::{Value, json};
use support::Home;
use support::free_port;
use support::http::{Client, JSON, Response};
use support::manager::{CODE, Far, Manager, PASSWORD, Target};
use support::openapi::Described;
use support::quick_setup::Act;
use support::relay::with;

fn send(manager: &Manager, method: &str, path: &str, body: Option<&Value>) -> Response {
    let body = body.map(ToString::to_string).unwrap_or_default();
    let headers: &[_] = if body.is_empty() { &[] } else { &[JSON] };
    manager
        .client()
        .send(method, path, headers, body.as_bytes())
}

#[test]
fn an_application_lives_through_its_routes() {
    let manager = Manager::start(&[]);
    assert_eq!(manager.client().get("/api/apps").data(), json!([]));
    let id = manager
        .add(&json!({"protocol": "mysql", "db_pass": "planted-db", "auth_pass": "planted-auth"}));
    let path = format!("/api/apps/{id}");
    let shown = manager.client().get(&path).data();
    let expected = json!({"id": id, "name": "mysql 127.0.0.1:3306", "ip": "127.0.0.1", "port": 3306, "invisible": true,
        "has_auth_pass": true, "has_db_pass": true, "db_readonly": true, "host_header": "visitor", "allow": [],
        "expires": null, "conn_status": "idle", "temporary": false});
    assert_eq!(with(shown.clone(), expected), shown);
    let put = |body: Value| send(&manager, "PUT", &path, Some(&body));
    let changed = put(json!({"protocol": "mysql", "name": "books", "db_pass": ""})).data();
    assert_eq!(
        (
            &changed["name"],
            &changed["has_db_pass"],
            &changed["has_auth_pass"]
        ),
        (&json!("books"), &json!(false), &json!(true))
    );
    assert_eq!(changed["created_at"], shown["created_at"]);
    let sent_back = put(changed.clone()).data();
    assert_eq!(sent_back["id"], id, "what was shown can be sent back");
    let wrong = put(json!({"protocol": "mysql", "port": 0, "colour": 1, "ip": "a b"}));
    assert_eq!(wrong.status(), 400);
    let wrong = wrong.json();
    let fields: Vec<&String> = wrong["fields"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["colour", "ip", "port"]);
    assert!(
        wrong["message"]
            .as_str()
            .unwrap()
            .contains("port must be a whole number")
    );
    assert_eq!(
        manager.client().get(&path).data()["name"],
        "books",
        "nothing was changed"
    );
    assert_eq!(send(&manager, "DELETE", &path, None).status(), 200);
    for (method, path) in [
        ("GET", path.clone()),
        ("PUT", path.clone()),
        ("DELETE", path),
        ("POST", format!("/api/connect/{id}")),
        ("POST", format!("/api/disconnect/{id}")),
        ("GET", format!("/api/status/{id}")),
        ("POST", format!("/api/retry/{id}")),
    ] {
        let answer = send(
            &manager,
            method,
            &path,
            (method == "PUT").then_some(&json!({"protocol": "http"})),
        );
        assert_eq!(
            (answer.status(), &answer.json()["code"]),
            (404, &json!(404)),
            "{method} {path}"
        );
    }
    assert!(!manager.stderr().contains("planted"));
}

#[test]
fn the_server_keeps_to_its_description() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let document = manager.client().get("/api/openapi.json").json();
    let mut described = Described::new("manager", document);
    let mut check = |method: &str, path: &str, template: &str, body: Option<Value>| -> Value {
        let answer = send(&manager, method, path, body.as_ref());
        described.check(method, template, &answer);
        answer.json()
    };
    let (apps, app) = ("/api/apps", "/api/apps/{id}");
    check("GET", "/api/openapi.json", "/api/openapi.json", None);
    let added = check("POST", apps, apps, Some(target.app()));
    let id = added["data"]["id"].as_str().unwrap().to_owned();
    let of = |template: &str| template.replace("{id}", &id);
    check("POST", apps, apps, Some(json!({"protocol": "nope"})));
    check("PUT", &of(app), app, Some(target.app()));
    check("PUT", &of(app), app, Some(json!([])));
    check("PUT", "/api/apps/none", app, Some(target.app()));
    check("GET", &of(app), app, None);
    check("GET", "/api/apps/none", app, None);
    let shares = "/api/shares";
    check(
        "POST",
        apps,
        apps,
        Some(json!({"protocol": "http", "name": "taken"})),
    );
    check(
        "POST",
        apps,
        apps,
        Some(json!({"protocol": "http", "name": "taken"})),
    );
    check(
        "PUT",
        &of(app),
        app,
        Some(json!({"protocol": "http", "name": "taken"})),
    );
    for template in ["/api/apps/{id}/code", "/api/apps/{id}/signout"] {
        check("POST", &of(template), template, None);
        check("POST", &template.replace("{id}", "none"), template, None);
    }
    let hidden = with(target.app(), json!({"invisible": true}));
    check("PUT", &of(app), app, Some(hidden));
    check(
        "POST",
        &of("/api/apps/{id}/code"),
        "/api/apps/{id}/code",
        None,
    );
    let over = with(target.app(), json!({"expires": "2020-01-01T00:00:00Z"}));
    check("PUT", &of(app), app, Some(over));
    check("GET", &of(app), app, None);
    check("POST", &of("/api/connect/{id}"), "/api/connect/{id}", None);
    check("GET", &of("/api/status/{id}"), "/api/status/{id}", None);
    let open = with(target.app(), json!({"expires": null}));
    check("PUT", &of(app), app, Some(open));
    check("POST", shares, shares, Some(json!({"protocol": "http"})));
    let lease = "00112233445566aa";
    let mut shared = target.app();
    shared["lease"] = json!(lease);
    check("POST", shares, shares, Some(shared.clone()));
    let home = postern::store::DataDir::at(manager.home().path().to_owned());
    let _held = postern::store::Lease::take(&home, lease).unwrap();
    check("POST", shares, shares, Some(shared.clone()));
    check("POST", shares, shares, Some(shared));
    let each = [
        "/api/connect/{id}",
        "/api/status/{id}",
        "/api/retry/{id}",
        "/api/disconnect/{id}",
    ];
    let method = |template: &str| {
        if template.contains("status") {
            "GET"
        } else {
            "POST"
        }
    };
    far.quick.script([Act::json(400, &json!({}))]);
    for template in each {
        check(method(template), &of(template), template, None);
        if template == each[0] {
            manager.wait_status(&id, "failed");
        }
        check(
            method(template),
            &template.replace("{id}", "none"),
            template,
            None,
        );
    }
    far.assign();
    check("POST", &of(each[0]), each[0], None);
    manager.wait_status(&id, "connected");
    // The time of it is saved just after.
    let listed = format!("/api/apps/{id}");
    support::wait_until(
        std::time::Duration::from_secs(10),
        "the time is saved",
        || manager.client().get(&listed).data()["last_connected_at"].is_string(),
    );
    check("POST", &of(each[0]), each[0], None);
    check("GET", &of(each[1]), each[1], None);
    check("GET", apps, apps, None);
    let requests = "/api/apps/{id}/requests";
    for query in ["", "?after=1", "?after=x"] {
        check("GET", &format!("{}{query}", of(requests)), requests, None);
    }
    check("GET", "/api/apps/none/requests", requests, None);
    let changes = "/api/apps/{id}/changes";
    for query in ["", "?after=0", "?after=x"] {
        check("GET", &format!("{}{query}", of(changes)), changes, None);
    }
    check("GET", "/api/apps/none/changes", changes, None);
    check("GET", "/api/tunnel", "/api/tunnel", None);
    check("GET", "/api/listeners", "/api/listeners", None);
    let servers = "/api/servers";
    let known = json!({"url": far.quick.url(), "label": "far", "default": true});
    let spare = json!({"url": "https://a.example"});
    for body in [known, spare, json!({"url": "x"}), json!({"label": "x"})] {
        check("POST", servers, servers, Some(body));
    }
    check("GET", servers, servers, None);
    let encoded = far.quick.url().replace('/', "%2F");
    for query in [
        "",
        "?url=https:%2F%2Fa.example",
        "?url=https:%2F%2Fa.example",
    ] {
        check("DELETE", &format!("{servers}{query}"), servers, None);
    }
    check("DELETE", &format!("{servers}?url={encoded}"), servers, None);
    let statements = "/api/apps/{id}/statements";
    check("GET", &of(statements), statements, None);
    check(
        "GET",
        &format!("{}?after=x", of(statements)),
        statements,
        None,
    );
    check("GET", "/api/apps/none/statements", statements, None);
    let objects = "/api/guest/objects";
    let nobody = json!({"protocol": "mysql", "ip": "127.0.0.1", "port": free_port()});
    for body in [json!({"id": "none"}), json!({"id": id}), json!([]), nobody] {
        check("POST", objects, objects, Some(body));
    }
    check("GET", "/api/plugins", "/api/plugins", None);
    for name in ["mariadb", "mysql", "postgres"] {
        let body = json!({"name": name});
        check("POST", "/api/plugins", "/api/plugins", Some(body));
    }
    check("POST", "/api/plugins", "/api/plugins", Some(json!({})));
    check("GET", "/api/version", "/api/version", None);
    for text in ["https://a.example/", &"x".repeat(1001)] {
        check("POST", "/api/qr", "/api/qr", Some(json!({"text": text})));
    }
    check(
        "POST",
        "/api/trust",
        "/api/trust",
        Some(json!({"server": "a:1", "fingerprint": "x"})),
    );
    check(
        "POST",
        "/api/trust",
        "/api/trust",
        Some(json!({"server": "a:1"})),
    );
    for body in [
        json!({"server": far.quick.url()}),
        json!({"server": "https://nowhere.example"}),
        json!({"server": 7}),
        json!({"server": far.quick.url(), "disconnect": true}),
    ] {
        check("POST", "/api/reset", "/api/reset", Some(body));
    }
    check("DELETE", &of(app), app, None);
    check("DELETE", &of(app), app, None);
    described.finish();
}

#[test]
fn bodies_are_checked() {
    let manager = Manager::start(&[]);
    let post = |headers: &[(&str, &str)], body: &[u8]| {
        manager
            .client()
            .send("POST", "/api/apps", headers, body)
            .status()
    };
    assert_eq!(post(&[], b"{\"protocol\":\"http\"}"), 415);
    assert_eq!(
        post(
            &[("Content-Type", "text/plain")],
            b"{\"protocol\":\"http\"}"
        ),
        415
    );
    for body in [
        &b""[..],
        b"{",
        b"[]",
        b"null",
        b"{\"protocol\":",
        b"\xff",
        b"{\"protocol\":\"http\",}",
    ] {
        assert_eq!(post(&[JSON], body), 400, "{body:?}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(post(&[JSON], deep.as_bytes()), 400);
    assert_eq!(post(&[JSON], &vec![b' '; 5 * 1024 * 1024]), 413);
    let answer = manager.client().send("PATCH", "/api/apps", &[], b"");
    assert_eq!(
        (answer.status(), answer.header("allow")),
        (405, Some("GET, HEAD, POST"))
    );
    let answer = manager
        .client()
        .send("GET", "/api/connect/0123456789abcdef", &[], b"");
    assert_eq!(
        (answer.status(), answer.header("allow")),
        (405, Some("POST"))
    );
    assert_eq!(manager.client().get("/api/apps").data(), json!([]));
}

#[test]
fn tricks_in_the_path_lead_nowhere() {
    let manager = Manager::start(&[]);
    let id = manager.add(&json!({"protocol": "http"}));
    for trick in [
        "..",
        "%2e%2e",
        "../apps",
        "%2e%2e%2fapps",
        "%00",
        "..%2f..%2f.credential",
        "%f0%28",
        "null",
        "",
        &format!("{id}/"),
        &format!("{id}%00"),
        &id.to_uppercase(),
        &format!("{id} "),
        &"a".repeat(5000),
        "%3Cscript%3E",
        "*",
        "{id}",
    ] {
        for (method, path) in [
            ("GET", "/api/apps/"),
            ("DELETE", "/api/apps/"),
            ("POST", "/api/connect/"),
        ] {
            let answer = manager.client().send(
                method,
                &format!("{path}{}", trick.replace(' ', "%20")),
                &[],
                b"",
            );
            assert!(
                matches!(answer.status(), 400 | 404),
                "{method} {path}{trick}: {}",
                answer.status()
            );
            assert!(answer.body.len() < 6000);
        }
    }
    assert_eq!(
        manager
            .client()
            .get("/api/apps")
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

/// A page elsewhere, also with DNS rebinding, reaches nothing.
#[test]
fn other_web_sites_are_kept_out() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.assign();
    let own = format!("http://{}", manager.authority());
    let calls = [
        ("POST", format!("/api/connect/{id}")),
        ("POST", format!("/api/disconnect/{id}")),
        ("DELETE", format!("/api/apps/{id}")),
        ("POST", "/api/apps".to_owned()),
        ("POST", "/api/trust".to_owned()),
        ("POST", "/api/reset".to_owned()),
        ("GET", "/api/apps".to_owned()),
        ("GET", format!("/api/status/{id}")),
    ];
    for (method, path) in &calls {
        for (status, headers) in [
            (
                421,
                [("Host", "evil.example"), ("Origin", "http://evil.example")],
            ),
            (421, [("Host", "localhost:1"), ("Origin", "")]),
            (421, [("Host", "127.0.0.1.evil.example"), ("Origin", "")]),
            (
                403,
                [
                    ("Origin", "http://evil.example"),
                    ("Sec-Fetch-Site", "cross-site"),
                ],
            ),
            (403, [("Origin", "null"), ("Sec-Fetch-Site", "")]),
            (
                403,
                [("Origin", "https://127.0.0.1"), ("Sec-Fetch-Site", "")],
            ),
            (
                403,
                [
                    ("Origin", "http://localhost:1"),
                    ("Sec-Fetch-Site", "same-site"),
                ],
            ),
            (403, [("Origin", ""), ("Sec-Fetch-Site", "cross-site")]),
            (403, [("Origin", &own), ("Sec-Fetch-Site", "same-site")]),
        ] {
            let answer = manager.client().send(method, path, &headers, b"");
            assert_eq!(answer.status(), status, "{method} {path} {headers:?}");
            assert!(answer.header("access-control-allow-origin").is_none());
        }
    }
    let preflight = [
        ("Origin", "http://evil.example"),
        ("Access-Control-Request-Method", "POST"),
    ];
    assert_eq!(
        manager
            .client()
            .send("OPTIONS", "/api/apps", &preflight, b"")
            .status(),
        403
    );
    assert_eq!(manager.status(&id)["status"], "idle");
    assert!(far.quick.requests().is_empty(), "nothing was begun");
}

#[test]
fn the_limits_are_named() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    // The list's own tests check its limit of 500, as each addition changes the file.
    let ids: Vec<String> = (0..=100).map(|_| manager.add(&target.app())).collect();
    far.quick.script([Act::Hold]);
    for id in &ids[..100] {
        manager.connect(id);
    }
    let more = manager.post(&format!("/api/connect/{}", ids[100]));
    assert_eq!(more.status(), 429);
    assert!(more.text().contains("100 connections"), "{}", more.text());
    assert_eq!(manager.status(&ids[100])["status"], "idle");
    let again = manager.post(&format!("/api/connect/{}", ids[0]));
    assert_eq!(again.status(), 200, "one that is there is no new one");
    manager.disconnect(&ids[3]);
    manager.connect(&ids[100]);
}

/// Harmful values in an answer of a quick-setup server are not shown as they are, saved or kept.
#[test]
fn a_malicious_answer_is_refused() {
    let (far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let id = manager.add(&target.app());
    let changed = |pointer: &str, value: Value| {
        let mut answer = far.answer(free_port());
        *answer.pointer_mut(pointer).unwrap() = value;
        Act::json(200, &answer)
    };
    let long = "x".repeat(100_000);
    for (what, act) in [
        ("port 0", changed("/app/resource/port", json!(0))),
        ("port 70000", changed("/app/resource/port", json!(70000))),
        (
            "a port as a text",
            changed("/app/resource/port", json!("x")),
        ),
        ("API port 0", changed("/connector/api_port", json!(0))),
        (
            "tunnel port -1",
            changed("/connector/tunnel_port", json!(-1)),
        ),
        (
            "javascript",
            changed("/app/site_url", json!("javascript:alert(1)")),
        ),
        ("data", changed("/app/site_url", json!("data:text/html,x"))),
        (
            "a line break",
            changed("/app/site_url", json!("http://a/\r\nX: y")),
        ),
        (
            "an escape",
            changed("/connector/external_ip", json!("127.0.0.1\u{1b}[31m")),
        ),
        (
            "a host with a path",
            changed("/connector/external_ip", json!("a/../../b")),
        ),
        ("a long name", changed("/connector/username", json!(long))),
        ("no connector", Act::json(200, &json!({"app": {}}))),
        (
            "another code",
            Act::json(200, &json!({"code": 500, "message": "<b>no</b>"})),
        ),
        ("no JSON", Act::text(200, "<script>alert(1)</script>")),
        ("100 MB", Act::Huge(100 * 1024 * 1024)),
        ("no HTTP", Act::Raw(b"\x00\x01\x02\xff".to_vec())),
        (
            "a redirect",
            Act::json(302, &json!({})).header("Location: http://127.0.0.1:1/"),
        ),
    ] {
        far.quick.script([act]);
        manager.connect(&id);
        let result = manager.wait_for(&id, what, |result| {
            result["status"] == "failed" || result["next_retry_ms"].is_u64()
        });
        let error = result["error"].as_str().unwrap();
        assert!(!error.is_empty() && error.len() < 1000, "{what}: {error}");
        assert!(!error.chars().any(char::is_control), "{what}: {error:?}");
        assert_eq!(result["site_url"], "", "{what}");
        manager.disconnect(&id);
    }
    assert_eq!(
        manager.client().get("/api/tunnel").data(),
        json!([]),
        "nothing was saved"
    );
    far.assign();
    manager.connected(&id);
}

/// A server that names another target is not followed: only what was configured is exposed.
#[test]
fn a_target_that_differs_from_what_was_asked_is_not_served() {
    let (far, target, other) = (Far::new(), Target::start(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let port = free_port();
    let mut answer = far.answer(port);
    answer["app"]["resource"]["ip"] = json!("10.0.0.1");
    answer["app"]["target"] = json!({"ip": "127.0.0.1", "port": other.port()});
    far.quick.script([Act::json(200, &answer)]);
    manager.connected(&id);
    support::wait_until(support::TIMEOUT, "a visit", || {
        support::manager::visit(port).is_some()
    });
}

#[test]
fn one_port_for_two_applications_is_refused_to_the_second() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let ids = [manager.add(&target.app()), manager.add(&target.app())];
    far.assign();
    manager.connected(&ids[0]);
    manager.connect(&ids[1]);
    let error = manager.wait_status(&ids[1], "failed")["error"].to_string();
    assert!(error.contains("another application"), "{error}");
    assert_eq!(manager.status(&ids[0])["status"], "connected");
}

#[test]
fn no_answer_and_no_log_holds_a_secret() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let mut app = target.app();
    for name in ["auth_pass", "db_pass"] {
        app[name] = json!(format!("planted-{name}"));
    }
    app["invisible"] = json!(true);
    let id = manager.add(&app);
    far.assign();
    manager.connected(&id);
    let mut everything = String::new();
    let mut client = manager.client();
    for path in [
        "/api/apps".to_owned(),
        format!("/api/apps/{id}"),
        format!("/api/status/{id}"),
        "/api/tunnel".to_owned(),
        "/api/version".to_owned(),
        "/api/plugins".to_owned(),
    ] {
        everything.push_str(client.get(&path).text());
    }
    let mut local = Client::new(&format!("127.0.0.1:{}", far.api_port));
    for path in ["/health", "/version", "/status"] {
        everything.push_str(local.get(path).text());
    }
    assert!(
        !everything.contains(PASSWORD) && !everything.contains("planted"),
        "{everything}"
    );
    let password = far.quick.requests()[0].json()["password"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!everything.contains(&password));
    let command_line = std::fs::read_to_string(format!("/proc/{}/cmdline", manager.pid())).unwrap();
    let log = manager.stderr() + &command_line;
    for secret in [PASSWORD, "planted", &password, CODE, "visitors-code"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}
