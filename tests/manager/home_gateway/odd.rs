//! Targets and requests that are not as they should be.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;
use support::manager::Far;
use support::{TIMEOUT, wait_until};

use super::{App, Way, ask, host, ok};

#[test]
fn what_is_not_there_or_speaks_something_else_is_named() {
    let way = Way::new();
    let free = support::free_port();
    way.connected(&json!({"protocol": "http", "port": free, "name": "nobody"}));
    let answer = way.get("nobody", "/", "");
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(
        answer.contains("It refused the connection, or closed it without an answer."),
        "{answer}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
                let _ = stream.read(&mut [0; 64]);
            });
        }
    });
    way.connected(&json!({"protocol": "http", "port": port, "name": "ssh"}));
    let json = way.get("ssh", "/", "Accept: application/json\r\n");
    assert!(
        json.starts_with("HTTP/1.1 502") && json.contains("share it as ssh"),
        "{json}"
    );
    assert_eq!(json.matches("Cache-Control:").count(), 1, "{json}");
}

/// A server that is not ours passes on what visitors send as it is.
#[test]
fn odd_requests_are_refused_and_reach_nobody() {
    let (far, app) = (Far::new(), App::start(|_| ok("")));
    let manager = far.manager();
    let id = manager.add(&json!({"protocol": "http", "port": app.port}));
    let port = far.assign();
    manager.connected(&id);
    wait_until(TIMEOUT, "the site", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(70_000));
    for (request, status) in [
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            400,
        ),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        (&long, 414),
    ] {
        let answer = ask(("127.0.0.1", port), request);
        let shown = request.get(..60).unwrap_or(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{shown:?}: {answer}"
        );
    }
    let seen = app.heads.lock().unwrap().len();
    for begin in [
        "",
        "G",
        "GET / HTTP/1.1\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
    ] {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.write_all(begin.as_bytes()).unwrap();
    }
    let old = ask(("127.0.0.1", port), "GET /old HTTP/1.0\r\n\r\n");
    assert!(old.ends_with("\r\n\r\nok"), "{old}");
    let head = app.heads_of("/old").pop().unwrap();
    assert_eq!(host(&head), format!("127.0.0.1:{}", app.port));
    let heads = app.heads.lock().unwrap();
    let odd = |head: &&String| !head.starts_with("HEAD / ") && !head.starts_with("GET /old ");
    let odd: Vec<_> = heads.iter().filter(odd).collect();
    assert!(
        odd.iter().all(|head| head.starts_with("POST / ")),
        "{odd:?} of {seen}"
    );
    assert!(
        !manager.stderr().contains("panicked"),
        "{}",
        manager.stderr()
    );
}
