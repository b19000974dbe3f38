//! A proxy in front that sends many visitors' requests on one connection: what one of them sends, or
//! makes an application send, is never another's.
#![allow(clippy::as_conversions, clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/gateway.rs"]
mod gateway_support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gateway_support::{Answer, Client, Relay, application, read_request, wait_until};
use postern::http::Limits;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const ATTACKER: &str = "203.0.113.9";
const VICTIM: &str = "198.51.100.1";

fn behind_a_proxy() -> Relay {
    Relay::start_with(Limits::default(), |config| {
        config.trust_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    })
}

fn head_from(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

fn ask(
    relay: &Relay,
    client: &mut Client,
    method: &str,
    path: &str,
    from: &str,
    rest: &str,
) -> Answer {
    let lines = format!("X-Forwarded-For: {from}\r\n{rest}");
    client.send(relay.request(method, "shop", path, &lines).as_bytes());
    client.answer(method == "HEAD").unwrap()
}

/// The finding's own attack: what an application leaves unread of a body would be the beginning of
/// the next request on its connection.
#[test]
fn a_body_that_is_left_unread_never_meets_another_visitors_request() {
    let relay = behind_a_proxy();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = Arc::clone(&seen);
    let port = application(move |mut stream| {
        while let Some(head) = head_from(&mut stream) {
            theirs.lock().unwrap().push(head);
            let _ = stream.write_all(OK);
        }
    });
    let _shared = relay.share("shop", port);
    // Even the same address is many visitors: a company, or a provider's customers.
    for victim in [VICTIM, ATTACKER] {
        let mut proxy = relay.connect();
        let prefix = "GET /attacker-chosen HTTP/1.1\r\nX-Glue: ";
        let lines = format!(
            "X-Forwarded-For: {ATTACKER}\r\nContent-Length: {}\r\n",
            prefix.len()
        );
        let request = relay.request("POST", "shop", "/noread", &lines) + prefix;
        proxy.send(request.as_bytes());
        assert_eq!(proxy.answer(false).unwrap().status, 200);
        let cookie = "Cookie: session=VICTIM\r\n";
        let answer = ask(&relay, &mut proxy, "GET", "/account", victim, cookie);
        assert_eq!(answer.status, 200);
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let of_victim: Vec<_> = seen.iter().filter(|head| head.contains("VICTIM")).collect();
        assert_eq!(of_victim.len(), 1, "{seen:?}");
        assert!(of_victim[0].starts_with("GET /account "), "{seen:?}");
    }
}

/// Says with each answer which of its connections it came on.
fn numbered(answers: &'static [(&str, &str)]) -> u16 {
    let count = AtomicUsize::new(0);
    application(move |mut stream| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let line = String::from_utf8_lossy(&request).into_owned();
            let path = line.split(' ').nth(1).unwrap();
            let answer = match answers.iter().find(|(wanted, _)| *wanted == path) {
                Some((_, answer)) => (*answer).to_owned(),
                None => format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{number:03}"),
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    })
}

#[test]
fn a_stream_is_one_visitors_and_kept_for_him() {
    let relay = behind_a_proxy();
    let _shared = relay.share("shop", numbered(&[]));
    let mut proxy = relay.connect();
    let mut on = |from: &str, lines: &str| {
        let method = if lines.is_empty() { "GET" } else { "POST" };
        ask(&relay, &mut proxy, method, "/", from, lines).text()
    };
    assert_eq!([on(VICTIM, ""), on(VICTIM, "")], ["000", "000"]);
    let through = format!("{VICTIM}, 127.0.0.7");
    assert_eq!(on(&through, ""), "001", "another way here");
    assert_eq!(on(ATTACKER, ""), "002");
    assert_eq!(on(VICTIM, ""), "003");
    assert_eq!(on(VICTIM, "Content-Length: 0\r\n"), "003", "no body");
}

/// Without a proxy a connection is its visitor's own.
#[test]
fn a_visitors_own_connection_keeps_its_stream_after_a_body() {
    let relay = Relay::start();
    let _shared = relay.share("shop", numbered(&[]));
    let mut client = relay.connect();
    for _ in 0..3 {
        let body = relay.request("POST", "shop", "/", "Content-Length: 2\r\n") + "hi";
        client.send(body.as_bytes());
        assert_eq!(client.answer(false).unwrap().text(), "000");
    }
}

/// An application that announces a body where none may be will send it, sooner or later.
#[test]
fn an_answer_that_may_be_followed_by_a_body_ends_its_stream() {
    let relay = Relay::start();
    let port = numbered(&[
        (
            "/chunks-204",
            "HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        ("/length-204", "HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n"),
        (
            "/chunks-304",
            "HTTP/1.1 304 N\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        (
            "/chunks-head",
            "HTTP/1.1 200 O\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        ("/empty-204", "HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n"),
        ("/length-304", "HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n"),
        (
            "/length-head",
            "HTTP/1.1 200 O\r\nContent-Length: 5\r\n\r\n",
        ),
    ]);
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    let mut get = |method: &str, path: &str| {
        client.send(relay.request(method, "shop", path, "").as_bytes());
        client.answer(method == "HEAD").unwrap()
    };
    let mut number = get("GET", "/").text().parse::<u32>().unwrap();
    for (method, path, is_kept) in [
        ("GET", "/chunks-204", false),
        ("GET", "/length-204", false),
        ("GET", "/chunks-304", false),
        ("HEAD", "/chunks-head", false),
        ("GET", "/empty-204", true),
        ("GET", "/length-304", true),
        ("HEAD", "/length-head", true),
    ] {
        assert!([200, 204, 304].contains(&get(method, path).status));
        let next: u32 = get("GET", "/").text().parse().unwrap();
        assert_eq!(next == number, is_kept, "{path}: {number}, then {next}");
        number = next;
    }
}

/// A second answer to one request, after the visitor has got the first.
#[test]
fn a_late_second_answer_reaches_nobody_else() {
    let relay = behind_a_proxy();
    let late = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&late);
    let port = application(move |mut stream| {
        while let Some(head) = head_from(&mut stream) {
            let _ = stream.write_all(OK);
            if head.starts_with("GET /twice") {
                std::thread::yield_now();
                let second = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nLATE";
                let _ = stream.write_all(second);
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let _shared = relay.share("shop", port);
    for number in 1..=50 {
        let mut proxy = relay.connect();
        let first = ask(&relay, &mut proxy, "GET", "/twice", ATTACKER, "");
        assert_eq!(first.text(), "ok");
        let second = ask(&relay, &mut proxy, "GET", "/", VICTIM, "");
        assert_eq!(second.text(), "ok", "turn {number}");
        wait_until("the late answer", || late.load(Ordering::SeqCst) == number);
    }
}
