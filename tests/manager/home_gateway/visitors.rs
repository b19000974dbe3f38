//! The sign-in page for visitors, and the record of their visits.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use serde_json::json;
use support::manager::{CODE, Far};
use support::{TIMEOUT, wait_until};

use super::{App, Way, ask, ok, read_until, requests};

#[test]
fn where_the_server_asks_for_no_code_this_end_does() {
    let (far, app) = (
        Far::new(),
        App::start(|_| ok("Cache-Control: public, max-age=9\r\n")),
    );
    let manager = far.manager();
    let id = manager.add(&json!({"protocol": "http", "port": app.port, "invisible": true}));
    let port = far.assign();
    manager.connected(&id);
    let get = |path: &str, lines: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{lines}\r\n"
        );
        ask(("127.0.0.1", port), &request)
    };
    wait_until(TIMEOUT, "the site", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let page = get("/deep?q=marked-query", "");
    assert!(
        page.starts_with("HTTP/1.1 401") && page.contains("name=\"code\""),
        "{page}"
    );
    assert!(get("/.postern/auth?code=wrong", "").starts_with("HTTP/1.1 401"));
    let code = "visitors-code%2F%2B%20%25";
    let entered = get(&format!("/auth?app_id=remote-{port}&code={code}"), "");
    assert!(entered.starts_with("HTTP/1.1 303"), "{entered}");
    let cookie = entered.split("Set-Cookie: ").nth(1).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    assert!(app.heads_of("/in").is_empty());
    let inside = get("/in?q=marked-query", &format!("Cookie: a=1; {cookie}\r\n"));
    assert!(inside.ends_with("\r\n\r\nok"), "{inside}");
    assert!(
        inside.contains("\r\nCache-Control: private, max-age=9\r\n"),
        "{inside}"
    );
    let head = app.heads_of("/in?q=marked-query").pop().unwrap();
    assert!(head.contains("\r\nCookie: a=1\r\n"), "{head}");
    assert!(get("/x", "Cookie: postern-visitor=00\r\n").starts_with("HTTP/1.1 401"));
    // A form may be no longer than a code needs.
    let long = format!(
        "POST /.postern/auth HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n5000\r\n{}",
        "a".repeat(0x5000)
    );
    let refused = ask(("127.0.0.1", port), &long);
    assert!(refused.starts_with("HTTP/1.1 413"), "{refused}");
    // A visitor's own claim about its address does not give it more tries.
    let tries: Vec<String> = (0..9)
        .map(|n| {
            get(
                "/.postern/auth?code=no",
                &format!("X-Forwarded-For: 192.0.2.{n}\r\n"),
            )
        })
        .collect();
    assert!(
        tries.last().unwrap().starts_with("HTTP/1.1 429"),
        "{tries:?}"
    );
    let again = get(&format!("/.postern/auth?code={code}"), "");
    assert!(
        again.starts_with("HTTP/1.1 303"),
        "a right one passes: {again}"
    );
    let answer = manager.post(&format!("/api/apps/{id}/signout"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let is_out = || get("/in", &format!("Cookie: {cookie}\r\n")).starts_with("HTTP/1.1 401");
    wait_until(TIMEOUT, "the end of the sign-in", is_out);
    let log = requests(&manager, &id, 0).to_string();
    let value = cookie.split('=').nth(1).unwrap();
    for secret in [
        "marked-query",
        value,
        CODE,
        "visitors-code",
        ".postern",
        "192.0.2",
    ] {
        assert!(!log.contains(secret), "{secret}: {log}");
        assert!(
            !manager.stderr().contains(secret) || secret == ".postern",
            "{secret}"
        );
    }
}

#[test]
fn who_was_here_is_known_and_nothing_more() {
    let (way, app) = (
        Way::new(),
        App::start(|_| ok("Set-Cookie: marked-answer=1\r\n")),
    );
    let (id, result) = way.connected(&json!({"protocol": "http", "port": app.port, "name": "log"}));
    let nobody =
        json!({"counts": "visitors", "now": 0, "total": 0, "last_at": null, "requests": 0});
    assert_eq!(
        result["visitors"], nobody,
        "what asks for its health is no visitor"
    );
    let secrets = "Cookie: marked-cookie=1\r\nAuthorization: Basic marked-basic\r\n\
         Referer: http://marked-referer/\r\n";
    way.get("log", "/a/b?code=marked-query", secrets);
    way.get("log", "/.postern/marked-own", "");
    let long = format!("/{}", "x".repeat(9000));
    way.get("log", &long, "");
    wait_until(TIMEOUT, "the requests", || {
        requests(&way.manager, &id, 0)["last"] == 2
    });
    let log = requests(&way.manager, &id, 0);
    let first = &log["requests"][0];
    assert_eq!(
        (
            &first["n"],
            &first["method"],
            &first["path"],
            &first["status"],
            &first["source"]
        ),
        (
            &json!(1),
            &json!("GET"),
            &json!("/a/b"),
            &json!(200),
            &json!("127.0.0.1")
        )
    );
    assert!(first["bytes"].as_u64().unwrap() > 30 && first["ms"].is_u64());
    assert!(!log.to_string().contains("marked"), "{log}");
    assert!(log["requests"][1]["path"].as_str().unwrap().len() < 300);
    assert_eq!(
        requests(&way.manager, &id, 1)["requests"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let bad = way
        .manager
        .client()
        .get(&format!("/api/apps/{id}/requests?after=x"));
    assert_eq!(bad.status(), 400);
    let visitors = way.manager.status(&id)["visitors"].clone();
    assert_eq!(visitors["requests"], 2);
    assert!(visitors["last_at"].is_string());

    let mut open = TcpStream::connect(way.relay.address).unwrap();
    write!(open, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", way.host("log")).unwrap();
    way.manager
        .wait_for(&id, "a visitor", |result| result["visitors"]["now"] == 1);
    // A browser has several connections.
    let more = [(); 5].map(|()| TcpStream::connect(way.relay.address).unwrap());
    for mut one in &more {
        write!(
            one,
            "GET /more HTTP/1.1\r\nHost: {}\r\n\r\n",
            way.host("log")
        )
        .unwrap();
    }
    wait_until(TIMEOUT, "their requests", || {
        requests(&way.manager, &id, 0)["last"] == 8
    });
    let visitors = way.manager.status(&id)["visitors"].clone();
    let counted = (&visitors["counts"], &visitors["now"], &visitors["total"]);
    assert_eq!(counted, (&json!("visitors"), &json!(1), &json!(1)));
    drop((open, more));
    way.manager
        .wait_for(&id, "nobody", |result| result["visitors"]["now"] == 0);
    assert!(!way.manager.stderr().contains("marked"));
    way.manager.disconnect(&id);
    assert_eq!(
        requests(&way.manager, &id, 0),
        json!({"last": 0, "requests": []})
    );
    assert_eq!(
        way.manager
            .client()
            .get("/api/apps/0000000000000000/requests")
            .status(),
        404
    );
}

/// A request that is still open at the end is cut off, and stays in the log with the number of bytes sent.
#[test]
fn what_was_cut_at_the_end_is_in_the_log() {
    let way = Way::new();
    let app = App::start(|_| "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\na beginning".into());
    let end = SystemTime::now() + Duration::from_secs(4);
    let body = json!({"protocol": "http", "port": app.port, "name": "cut",
        "expires": postern::store::time::rfc3339(end)});
    let (id, _) = way.connected(&body);
    let mut visitor = TcpStream::connect(way.relay.address).unwrap();
    write!(
        visitor,
        "GET /cut HTTP/1.1\r\nHost: {}\r\n\r\n",
        way.host("cut")
    )
    .unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    let got = read_until(&mut visitor, "a beginning");
    assert!(got.ends_with("a beginning"), "{got}");
    let result = way.manager.wait_for(&id, "over", |result| {
        result["error_class"] == "expired" && result["visitors"]["now"] == 0
    });
    let counted = (
        &result["visitors"]["total"],
        &result["visitors"]["requests"],
    );
    assert_eq!(counted, (&json!(1), &json!(1)));
    assert!(result["bytes_out"].as_u64() > Some(50), "{result}");
    let log = requests(&way.manager, &id, 0);
    assert_eq!(log["requests"][0]["path"], "/cut");
    assert!(log["requests"][0]["bytes"].as_u64() > Some(50), "{log}");
}

#[test]
fn of_what_speaks_no_http_connections_are_counted() {
    let (far, app) = (Far::new(), App::start(|_| ok("")));
    let manager = far.manager();
    let id = manager.add(&json!({"protocol": "tcp", "port": app.port}));
    let port = far.assign();
    let result = manager.connected(&id);
    let none =
        json!({"counts": "connections", "now": 0, "total": 0, "last_at": null, "requests": 0});
    assert_eq!(result["visitors"], none);
    wait_until(TIMEOUT, "the port", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let open = TcpStream::connect(("127.0.0.1", port)).unwrap();
    manager.wait_for(&id, "a visitor", |result| {
        result["visitors"]["now"].as_u64() >= Some(1) && result["visitors"]["last_at"].is_string()
    });
    drop(open);
    manager.wait_for(&id, "nobody", |result| result["visitors"]["now"] == 0);
    assert_eq!(requests(&manager, &id, 0)["last"], 0);
}
