//! Pages from a directory, the router, and what the answers carry. Runs itself again with
//! `POSTERN_HTML` set: a process may not change its own environment safely.

use std::sync::Arc;

use crate::fixture::{Answer, Fixture, start};
use postern::http::{ApiError, Handler, Limits, Method, Request, Response, Router, assets};
use serde_json::{Value, json};
use support::own_process::{again, run_apart};

/// More than the buffers between server and client take.
const LARGE: usize = 12_000_000;

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

fn server() -> Fixture {
    let router = Router::new()
        .on(Method::Get, "/", |request| {
            assets::page(request, "sql/index.html")
        })
        .on(Method::Get, "/none", |request| {
            assets::page(request, "no/such.html")
        })
        .on(Method::Get, "/assets/*", assets::asset)
        .on(Method::Get, "/api/item/{id}", |request: Request| {
            let id = request.param("id").unwrap().to_owned();
            request.respond(Response::ok(id));
        })
        .on(Method::Post, "/api/item/{id}", |request: Request| {
            let answer = match request.json::<Value>() {
                Ok(value) => Response::ok(value),
                Err(error) => Response::error(&error.with("hint", "x")),
            };
            request.respond(answer);
        })
        .on(Method::Post, "/large", |request: Request| {
            request.respond(Response::text(200, "y".repeat(LARGE)));
        })
        .on(Method::Get, "/inject", |request: Request| {
            let value = "a\r\nX-Evil: 1";
            request.respond(
                Response::redirect(303, "/")
                    .header("X-Name", value)
                    .header("Content-Length", "7"),
            );
        })
        .on(Method::Get, "/fails", |request: Request| {
            request.respond(ApiError::bad_gateway("gone").into());
        });
    let router = Arc::new(router);
    start(Limits::default(), move |request| router.handle(request))
}

fn ask(server: &Fixture, method: &str, path: &str, more: &str) -> Answer {
    let mut client = server.connect();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}",
        server.addr
    );
    client.send(text.as_bytes());
    client.answer(method == "HEAD").unwrap()
}

#[test]
fn the_router_finds_its_way() {
    let server = server();
    let get = |path: &str| ask(&server, "GET", path, "\r\n");
    assert_eq!(
        get("/api/item/a%20b").json(),
        json!({"code": 200, "data": "a b"})
    );
    assert_eq!(get("/api/nothing").status, 404);
    let other = ask(&server, "DELETE", "/api/item/1", "\r\n");
    assert_eq!(
        (other.status, other.header("allow")),
        (405, Some("GET, HEAD, POST"))
    );
    assert_eq!(other.json()["code"], 405);
    let head = ask(&server, "HEAD", "/api/item/1", "\r\n");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("23"))
    );
    assert_eq!(
        get("/fails").json(),
        json!({"code": 502, "message": "gone"})
    );
    let inject = get("/inject");
    assert_eq!(inject.header("x-evil"), None);
    assert_eq!(
        (inject.status, inject.header("content-length")),
        (303, Some("0"))
    );
}

#[test]
fn json_must_be_declared_and_well_formed() {
    let server = server();
    let post = |kind: &str, body: &str| {
        let more = format!("{kind}Content-Length: {}\r\n\r\n{body}", body.len());
        ask(&server, "POST", "/api/item/1", &more)
    };
    assert_eq!(post("", "{}").status, 415);
    assert_eq!(
        post("Content-Type: text/plain\r\n", "{}").json()["hint"],
        "x"
    );
    assert_eq!(
        post("Content-Type: application/jsonx\r\n", "{}").status,
        415
    );
    let ok = post("Content-Type: Application/JSON; charset=utf-8\r\n", "[1]");
    assert_eq!(ok.json(), json!({"code": 200, "data": [1]}));
    let bad = post("Content-Type: application/json\r\n", "{");
    assert_eq!(bad.status, 400);
    assert!(bad.json()["message"].as_str().unwrap().contains("line 1"));
}

#[test]
fn slow_readers_of_large_answers_do_not_hold_the_workers() {
    let server = server();
    let mut slow: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.send(format!("POST /large HTTP/1.1\r\nHost: {}\r\n\r\n", server.addr).as_bytes());
    }
    assert_eq!(ask(&server, "GET", "/api/item/1", "\r\n").status, 200);
    for client in &mut slow {
        assert_eq!(client.answer(false).unwrap().body.len(), LARGE);
    }
}

#[test]
fn pages_come_from_a_directory_while_working_on_them() {
    if std::env::var_os("POSTERN_HTML").is_some() {
        return check_directory();
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sql")).unwrap();
    let page = "<script type=module src=/assets/@/sql/main.js></script>";
    std::fs::write(dir.path().join("sql/index.html"), page).unwrap();
    std::fs::write(dir.path().join("sql/main.js"), "export {}").unwrap();
    run_apart(
        again(pages_come_from_a_directory_while_working_on_them).env("POSTERN_HTML", dir.path()),
    );
}

fn check_directory() {
    let server = server();
    let page = ask(&server, "GET", "/", "\r\n");
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    for (name, value) in [
        ("content-security-policy", CSP),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    let script = ask(&server, "GET", "/assets/@/sql/main.js", "\r\n");
    assert_eq!(script.body, b"export {}");
    assert_eq!(
        script.header("content-type"),
        Some("text/javascript; charset=utf-8")
    );
    for path in [
        "/none",
        "/assets/@/nothing.js",
        "/assets/@/",
        "/assets/x",
        "/assets/@/sql",
    ] {
        assert_eq!(ask(&server, "GET", path, "\r\n").status, 404, "{path}");
    }
}
