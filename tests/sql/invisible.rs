//! Invisible mode, and the API against its own description.

use std::time::Duration;

use serde_json::{Value, json};
use support::database::Database;
use support::openapi::Described;
use support::postern::Postern;
use support::wait_until;

#[test]
fn everything_but_the_sign_in_page_needs_a_session() {
    let postern = Postern::on(Database::shared(), &["--invisible"]);
    let mut client = postern.client();
    for path in [
        "/api/info",
        "/api/databases",
        "/api/openapi.json",
        "/api/export/x",
        "/nothing",
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status(), 401, "{path}");
        assert_eq!(answer.json()["code"], 401);
    }
    assert_eq!(
        client
            .post("/api/query", &json!({"sql": "SELECT 1"}))
            .status(),
        401
    );
    let home = client.get("/");
    assert_eq!(
        (home.status(), home.header("location")),
        (303, Some("/auth"))
    );
    let page = client.get("/auth");
    assert_eq!(page.status(), 200);
    assert!(page.text().contains("<form"), "{}", page.text());
    let text = page.text();
    let script = text
        .split('"')
        .find(|part| part.ends_with("/sql/signin.js"))
        .expect("the page has a script");
    assert_eq!(client.get(script).status(), 200, "{script}");
    let app = script.replace("signin.js", "app.js");
    assert_eq!(client.get(&app).status(), 401, "{app}");
}

#[test]
fn the_link_opens_once_a_session_each_and_sessions_are_apart() {
    let postern = Postern::on(Database::shared(), &["--invisible"]);
    let auth_url = postern.auth_url().expect("it is printed").to_owned();
    let path = auth_url.strip_prefix(postern.url()).unwrap().to_owned();
    assert!(
        path.strip_prefix("/auth?code=").unwrap().len() >= 32,
        "{path}"
    );
    let sign_in = || {
        let mut client = postern.client();
        let answer = client.get(&path);
        assert_eq!(
            (answer.status(), answer.header("location")),
            (303, Some("/"))
        );
        let attributes = answer.header("set-cookie").unwrap();
        assert!(
            attributes.contains("HttpOnly") && attributes.contains("SameSite=Lax"),
            "{attributes}"
        );
        client.set_cookie(&answer.cookie().unwrap());
        client
    };
    let (mut one, mut two) = (sign_in(), sign_in());
    assert_eq!(one.get("/api/info").status(), 200);
    assert_eq!(one.get("/").status(), 200);
    let set = json!({"sql": "SET @mine = 1", "session": "s"});
    assert_eq!(one.post("/api/query", &set).status(), 200);
    let read = json!({"sql": "SELECT @mine AS m", "session": "s"});
    assert_eq!(one.post("/api/query", &read).data()["rows"][0]["m"], 1);
    assert_eq!(
        two.post("/api/query", &read).data()["rows"][0]["m"],
        Value::Null
    );
    let ticket = one
        .post("/api/export", &json!({"sql": "SELECT 1", "ticket": true}))
        .data()["ticket"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(two.get(&format!("/api/export/{ticket}")).status(), 404);
    assert_eq!(one.get(&format!("/api/export/{ticket}")).status(), 200);
    let mut stranger = postern.client();
    stranger.set_cookie(&format!("postern_{}=guess", postern.port()));
    assert_eq!(stranger.get("/api/info").status(), 401);
    assert!(!postern.stderr().contains("code="), "{}", postern.stderr());
}

/// A server in front that terminates TLS on this machine says so. Browsers send a cookie to every port of a host name.
#[test]
fn by_https_the_cookie_is_for_this_server_alone() {
    let postern = Postern::on(Database::shared(), &["--invisible"]);
    let code = postern.auth_url().unwrap().split("code=").nth(1).unwrap();
    let https = ("X-Forwarded-Proto", "https");
    let mut client = postern.client();
    let entered = client.send("GET", &format!("/auth?code={code}"), &[https], b"");
    let whole = entered.header("set-cookie").unwrap();
    assert!(
        whole.starts_with("__Host-postern_") && whole.ends_with("; Secure"),
        "{whole}"
    );
    let pair = entered.cookie().unwrap();
    let plain = pair.trim_start_matches("__Host-").to_owned();
    let mut status = |cookie: &str| {
        let headers = [https, ("Cookie", cookie)];
        client.send("GET", "/api/info", &headers, b"").status()
    };
    assert_eq!((status(&pair), status(&plain)), (200, 401));
}

#[test]
fn a_whole_link_is_understood_where_its_code_is_asked_for() {
    let postern = Postern::on(Database::shared(), &["--invisible"]);
    let link = postern.auth_url().unwrap().to_owned();
    let mut client = postern.client();
    assert_eq!(client.post("/auth", &json!({"code": link})).status(), 200);
    let path = link.strip_prefix(postern.url()).unwrap().to_owned();
    let of_site = client.get(&format!("/.postern{path}"));
    assert_eq!(of_site.status(), 303, "as the links of sites are");
}

#[test]
fn the_log_tells_what_was_done_and_no_secret() {
    let postern = Postern::on(Database::shared(), &["-v"]);
    let mut client = postern.client();
    client.query_ok("", "SELECT 'of the heart' AS x");
    let body = json!({"sql": "SELECT 1", "ticket": true});
    let ticket = client.post("/api/export", &body).data()["ticket"].to_string();
    let ticket = ticket.trim_matches('"');
    assert_eq!(client.get(&format!("/api/export/{ticket}")).status(), 200);
    assert_eq!(client.get("/auth?code=guess").status(), 303);
    wait_until(Duration::from_secs(5), "the last line is there", || {
        postern.stderr().contains("GET /auth from")
    });
    let log = postern.stderr();
    for part in [
        "POST /api/query from 127.0.0.1",
        "SELECT of 26 bytes: 200 after ",
        "GET /api/export/… from",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    for secret in [ticket, "guess", "of the heart"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[test]
fn wrong_codes_are_limited_and_a_right_one_always_passes() {
    let postern = Postern::on(Database::shared(), &["--invisible", "-v"]);
    let mut client = postern.client();
    for _ in 0..5 {
        assert_eq!(client.get("/auth?code=wrong").status(), 401);
    }
    let limited = client.get("/auth?code=wrong");
    assert_eq!(limited.status(), 429);
    assert!(limited.text().contains("<form"));
    assert_eq!(
        client.post("/auth", &json!({"code": "wrong"})).json()["code"],
        429
    );
    let code = postern
        .auth_url()
        .unwrap()
        .split("code=")
        .nth(1)
        .unwrap()
        .to_owned();
    let by_script = client.post("/auth", &json!({"code": code}));
    assert_eq!(by_script.status(), 200);
    assert!(by_script.cookie().is_some());
    let form = client.send(
        "POST",
        "/auth",
        &[("Content-Type", "application/x-www-form-urlencoded")],
        format!("code={code}").as_bytes(),
    );
    assert_eq!(form.status(), 303);
    let log = postern.stderr();
    assert!(!log.contains(&code) && !log.contains("code="), "{log}");
    assert!(
        !log.contains(support::database::PASSWORD),
        "the password is in the log: {log}"
    );
}

#[test]
fn described_members_of_requests_are_read() {
    let postern = Postern::on(Database::shared(), &[]);
    let mut client = postern.client();
    let document = client.get("/api/openapi.json").json();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let content = &methods["post"]["requestBody"]["content"];
        let Some(schema) = content["application/json"]["schema"]["$ref"].as_str() else {
            continue;
        };
        let schema = document.pointer(schema.trim_start_matches('#')).unwrap();
        let members = schema["properties"].as_object().unwrap();
        let wrong: serde_json::Map<_, _> = members
            .keys()
            .map(|name| (name.clone(), json!({})))
            .collect();
        let answer = client.post(path, &Value::Object(wrong));
        assert_eq!(answer.status(), 400, "{path}: {}", answer.text());
        for name in members.keys() {
            let is_named = answer.text().contains(&format!("'{name}'"));
            assert!(is_named, "{path}: '{name}' is not read: {}", answer.text());
        }
    }
}

#[test]
fn the_server_keeps_to_its_description() {
    let db = Database::shared();
    db.exec("CREATE DATABASE IF NOT EXISTS described; CREATE TABLE described.parent (id INT PRIMARY KEY); \
             CREATE TABLE described.t (id INT PRIMARY KEY, v TEXT, FOREIGN KEY (id) REFERENCES parent (id)); \
             CREATE OR REPLACE VIEW described.v AS SELECT 1 AS x");
    db.exec("CREATE PROCEDURE described.p() BEGIN SELECT 1 AS a; SELECT 'x' AS b; END");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let document = client.get("/api/openapi.json").json();
    let mut described = Described::new("sql", document);
    let mut check = |method: &str, path: &str, template: &str, body: Option<Value>| {
        let answer = match &body {
            Some(Value::String(sql)) => {
                let headers = [("Content-Type", "application/sql")];
                client.send("POST", path, &headers, sql.as_bytes())
            }
            Some(body) => client.post(path, body),
            None => client.get(path),
        };
        described.check(method, template, &answer);
    };
    check("get", "/api/info", "/api/info", None);
    check("get", "/api/databases", "/api/databases", None);
    check("get", "/api/tables?db=described", "/api/tables", None);
    check(
        "get",
        "/api/tables?db=described&detail=1",
        "/api/tables",
        None,
    );
    check("get", "/api/tables?db=nope", "/api/tables", None);
    check("get", "/api/tables", "/api/tables", None);
    check(
        "get",
        "/api/schema?db=described&table=t",
        "/api/schema",
        None,
    );
    check(
        "get",
        "/api/schema?db=described&table=v",
        "/api/schema",
        None,
    );
    for query in ["q=described&db=described", "kind=tables", "db=nope"] {
        let path = format!("/api/search?{query}");
        check("get", &path, "/api/search", None);
    }
    check("get", "/api/openapi.json", "/api/openapi.json", None);
    for sql in [
        "SELECT 1, NULL, 'x', 1.5, 18446744073709551615",
        "SELECT 1/0",
        "INSERT INTO described.parent VALUES (1)",
        "selct",
        "CALL described.p()",
        "SELECT id FROM described.t WHERE 0",
    ] {
        check(
            "post",
            "/api/query",
            "/api/query",
            Some(json!({"sql": sql, "session": "s"})),
        );
    }
    for body in [json!("SELECT 1; selct"), json!({"sql": "SELECT 1"})] {
        check("post", "/api/script", "/api/script", Some(body));
    }
    check(
        "post",
        "/api/cancel",
        "/api/cancel",
        Some(json!({"query_id": "none"})),
    );
    for path in ["/api/session/resume", "/api/session/close"] {
        check("post", path, path, Some(json!({"session": "s"})));
    }
    check(
        "post",
        "/api/export",
        "/api/export",
        Some(json!({"sql": "SELECT 1"})),
    );
    check(
        "post",
        "/api/export",
        "/api/export",
        Some(json!({"sql": "SELECT 1", "ticket": true})),
    );
    check(
        "post",
        "/api/export",
        "/api/export",
        Some(json!({"sql": "SELECT 1", "format": "x"})),
    );
    for more in [
        json!({}),
        json!({"db": "described"}),
        json!({"db": "described", "tables": ["t"], "ticket": true}),
        json!({"db": "described", "review": true}),
        json!({"db": "described", "tables": ["nowhere"]}),
        json!({"db": "nowhere"}),
    ] {
        check("post", "/api/dump", "/api/dump", Some(more));
    }
    check("get", "/api/export/none", "/api/export/{ticket}", None);
    let edit = |table: &str, change: Value, review: bool| {
        Some(json!({"db": "described", "table": table, "changes": [change], "review": review}))
    };
    let update =
        |old: Value| json!({"op": "update", "key": {"id": 1}, "old": old, "new": {"v": "x"}});
    for body in [
        edit("t", json!({"op": "insert", "new": {"id": 1}}), true),
        edit("t", json!({"op": "insert", "new": {"id": 1}}), false),
        edit("t", json!({"op": "insert", "new": {"id": 1}}), false),
        edit("t", update(json!({"v": "other"})), false),
        edit("t", update(json!({"v": null})), false),
        edit("t", json!({"op": "update"}), false),
        edit("t", json!({"op": "delete", "key": {"id": 1}}), false),
        edit("t", json!({"op": "delete", "key": {"id": 1}}), false),
        edit("v", update(json!({})), false),
        edit("none", update(json!({})), false),
        Some(json!({})),
    ] {
        check("post", "/api/edit", "/api/edit", body);
    }
    described.finish();
}
