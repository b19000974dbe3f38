//! Open faults of tiny_http 0.12, by the number of the issue or pull request: no client can reach them.
//!
//! Tests elsewhere show the same of others:
//! - 14, targets that are no path: `vectors`, "absolute target" and "asterisk";
//! - 195, 283, running out of files ends the listener: `files`;
//! - 267, headers beyond ASCII: `connections::cookies_of_other_programs_do_no_harm`, `vectors`, "value with UTF-8";
//! - 287, CVE-2026-66752, any `Transfer-Encoding` counts as chunked: `vectors`, "TE …" and "CL and TE";
//! - no number, heads without a limit in size and time: `connections::an_endless_head_is_cut`,
//!   `a_slow_head_has_one_deadline`.

use std::io::Read;
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::fixture::{Client, Fixture, TIMEOUT, get, start, start_handler};
use postern::http::{Handler, Limits, Request, Response, ServerConfig};
use support::own_process::ran_apart;

/// Streams every body to a function.
struct Streaming<F>(F);

impl<F: Fn(Request) + Send + Sync + 'static> Handler for Streaming<F> {
    fn handle(&self, request: Request) {
        self.0(request);
    }

    fn streams(&self, _: &str, _: &str) -> bool {
        true
    }
}

fn streaming(handle: impl Fn(Request) + Send + Sync + 'static) -> Fixture {
    start_handler(Limits::default(), true, Arc::new(Streaming(handle)))
}

fn post(server: &Fixture, framing: &str) -> Client {
    let mut client = server.connect();
    client.send(
        format!(
            "POST / HTTP/1.1\r\nHost: {}\r\n{framing}\r\n\r\n",
            server.addr
        )
        .as_bytes(),
    );
    client
}

/// Answers with the first bytes of the body.
fn first_bytes(mut request: Request) {
    let mut seen = [0; 3];
    let mut body = request.take_stream().unwrap();
    body.read_exact(&mut seen).unwrap();
    request.respond(Response::new(200, "text/plain", seen));
}

/// 252, 290: the unread rest of a body is read into one buffer of its declared length.
#[test]
fn a_body_that_nobody_reads_costs_no_memory() {
    if ran_apart(a_body_that_nobody_reads_costs_no_memory) {
        return;
    }
    let server = streaming(first_bytes);
    for length in ["100000000000", "4611686018427387904", "9223372036854775807"] {
        let mut client = post(&server, &format!("Content-Length: {length}"));
        client.send(b"body");
        let answer = client.answer(false).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"bod"[..]));
    }
    let mut client = post(&server, "Content-Length: 8000000");
    client.send(&vec![b'x'; 8_000_000]);
    assert_eq!(client.answer(false).unwrap().body, b"xxx");
}

/// No number: a body that ends too early looks whole.
#[test]
fn a_body_that_breaks_off_is_not_taken_for_whole() {
    let (told, heard) = channel();
    let told = Mutex::new(told);
    let server = streaming(move |mut request: Request| {
        let told = told.lock().unwrap();
        told.send((Ok(0), request.client().is_gone())).unwrap();
        let read = (request.take_stream().unwrap()).read_to_end(&mut Vec::new());
        let ended = read.map_err(|error| error.kind());
        told.send((ended, request.client().is_gone())).unwrap();
    });
    let hear = || heard.recv_timeout(TIMEOUT).unwrap();
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let mut client = post(&server, framing);
        client.send(b"5\r\nab");
        assert_eq!(hear(), (Ok(0), false));
        drop(client);
        let (ended, is_gone) = hear();
        // The end of chunks cannot be told from a lost client, but that the client is lost can.
        let is_chunked = framing.ends_with("chunked");
        assert!(ended.is_err() || is_chunked, "{ended:?}");
        assert!(is_gone, "{framing}");
    }
    let mut client = post(&server, "Content-Length: 2");
    client.send(b"ab");
    assert_eq!((hear(), hear()), ((Ok(0), false), (Ok(2), false)));
}

/// 288, CVE-2026-66753: line breaks in header values.
#[test]
fn a_header_value_never_begins_another_line() {
    let server = start(Limits::default(), |request: Request| {
        let value = request.query("v").unwrap().to_owned();
        request.respond(Response::redirect(303, &value).header("X-Seen", &value));
    });
    let answer = server.get("/?v=/%0d%0aSet-Cookie:%20a=1%0d%0a%0d%0a%00%0a");
    assert_eq!((answer.status, answer.header("set-cookie")), (303, None));
    assert_eq!(answer.header("x-seen"), Some("/  Set-Cookie: a=1"));
    assert!(answer.body.is_empty());
}

/// 136: `Content-Length` where there is no body.
#[test]
fn an_answer_without_a_body_has_no_length() {
    let server = start(Limits::default(), |request: Request| {
        let status = request.path().trim_start_matches('/').parse().unwrap();
        request.respond(Response::empty(status));
    });
    let mut client = server.connect();
    for status in [204, 304, 204] {
        client.send(&get(server.addr, &format!("/{status}")));
        let answer = client.answer(false).unwrap();
        assert_eq!(
            (answer.status, answer.header("content-length")),
            (status, None)
        );
        assert_eq!(answer.header("transfer-encoding"), None);
    }
}

/// 180, 285: a client that has left before its address is asked for ends a thread.
#[test]
fn clients_that_leave_at_once_end_no_thread() {
    let server = start(Limits::default(), |request: Request| {
        request.respond(Response::text(200, "ok"));
    });
    for turn in 0..200 {
        let mut client = server.connect();
        // Reset in place of a close, where an answer is unread.
        client.send(&get(server.addr, "/").repeat(1 + turn % 3));
    }
    assert_eq!(server.get("/").status, 200);
}

/// 221: one thread for each slow client, without a limit.
#[test]
fn slow_clients_have_no_thread_of_tiny_http() {
    if ran_apart(slow_clients_have_no_thread_of_tiny_http) {
        return;
    }
    let server = start(Limits::default(), |request: Request| {
        request.respond(Response::text(200, "ok"));
    });
    assert_eq!(server.get("/").status, 200);
    let before = threads();
    let slow: Vec<Client> = (0..100)
        .map(|turn| match turn % 2 {
            0 => post(&server, "Content-Length: 5"),
            _ => {
                let mut client = server.connect();
                client.send(b"GET / HT");
                client
            }
        })
        .collect();
    assert_eq!(server.get("/").status, 200);
    // One thread of the server's own for each, and that of the last request.
    assert!(
        threads() <= before + slow.len() + 2,
        "{} threads",
        threads()
    );
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// 244: after a server is dropped, a kept connection swallows the first request to the next one.
#[test]
fn a_server_that_follows_another_answers_its_first_request() {
    let text = |request: Request| request.respond(Response::text(200, "ok"));
    let mut first = start(Limits::default(), text);
    let mut kept = first.connect();
    kept.send(&get(first.addr, "/"));
    assert_eq!(kept.answer(false).unwrap().status, 200);
    drop(first.server.take());
    assert!(kept.is_closed());
    let next = ServerConfig {
        listener: TcpListener::bind(first.addr).unwrap(),
        hosts: first.hosts.clone(),
        check_other_users: true,
        run_dir: first.dir.path().join("run"),
        workers: 2,
        limits: Limits::default(),
    };
    first.server = Some(postern::http::Server::start(next, Arc::new(text)).unwrap());
    let mut client = first.connect();
    client
        .socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    client.send(&get(first.addr, "/"));
    assert_eq!(client.answer(false).unwrap().status, 200);
}
