//! Answers that are not quite HTTP, and protocols that are not: through relay and connector.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;
use support::{TIMEOUT, wait_until};

use super::{Way, read_head, read_until};

/// Serves each connection once: reads a head, writes what is answered to it, and sends back all that follows.
fn raw(answer: impl Fn(&str) -> Vec<u8> + Send + Copy + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let head = read_head(&mut stream)?;
                let said = answer(&head);
                stream.write_all(&said).ok()?;
                if said.starts_with(b"HTTP/1.1 101") {
                    let mut piece = [0; 256];
                    while let Ok(count @ 1..) = stream.read(&mut piece) {
                        stream.write_all(&piece[..count]).ok()?;
                    }
                }
                Some(())
            });
        }
    });
    port
}

#[test]
fn an_odd_answer_is_made_regular_or_the_card_and_the_log_name_its_line() {
    let port = raw(|head| match head.split(' ').nth(1) {
        Some("/phrase") => {
            b"HTTP/1.1 404 Nicht verf\xfcgbar\r\nContent-Length: 2\r\n\r\nok".to_vec()
        }
        Some("/lf") => b"HTTP/1.1 200 OK\nX-A: 1\nContent-Length: 2\n\nok".to_vec(),
        Some("/twice") => {
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok".to_vec()
        }
        Some("/both") => {
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\
            0\r\n\r\n"
                .to_vec()
        }
        Some("/trailers") => {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\
            Grpc-Status: 0\r\nSet-Cookie: a=b\r\n\r\n"
                .to_vec()
        }
        _ => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
    });
    let way = Way::new();
    let (id, _) = way.connected(&json!({"protocol": "http", "port": port, "name": "odd"}));
    let phrase = way.get("odd", "/phrase", "");
    assert!(phrase.starts_with("HTTP/1.1 404 Not Found\r\n"), "{phrase}");
    let lf = way.get("odd", "/lf", "");
    assert!(lf.starts_with("HTTP/1.1 200 OK\r\nX-A: 1\r\n"), "{lf}");
    let twice = way.get("odd", "/twice", "");
    assert_eq!(twice.matches("Content-Length: 2\r\n").count(), 1, "{twice}");
    let trailers = way.get("odd", "/trailers", "TE: trailers\r\n");
    assert!(
        trailers.ends_with("2\r\nok\r\n0\r\nGrpc-Status: 0\r\n\r\n"),
        "{trailers}"
    );
    let without = way.get("odd", "/trailers", "");
    assert!(without.ends_with("2\r\nok\r\n0\r\n\r\n"), "{without}");

    let line = "it has both Content-Length and Transfer-Encoding";
    let both = way.get("odd", "/both", "");
    assert!(
        both.starts_with("HTTP/1.1 502") && both.contains(line),
        "{both}"
    );
    wait_until(TIMEOUT, "the card names the line", || {
        let app = way.manager.client().get(&format!("/api/apps/{id}")).data();
        let error = app["health"]["error"].as_str().unwrap_or_default();
        error.contains(line)
    });
    let log = way.manager.stderr();
    assert!(
        log.contains(&format!("at /both is not valid HTTP: {line}")),
        "{log}"
    );
}

#[test]
fn five_protocols_pass_both_ways_and_others_are_refused_by_name() {
    let port = raw(|head| {
        let line = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::to_owned)
        };
        match line("Upgrade: ") {
            Some(protocol) => format!(
                "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\nhello "
            )
            .into_bytes(),
            None => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain".to_vec(),
        }
    });
    let way = Way::new();
    way.connected(&json!({"protocol": "http", "port": port, "name": "up"}));
    let host = way.host("up");
    for (protocol, method, body) in [
        ("websocket", "GET", ""),
        ("DERP", "GET", ""),
        ("tailscale-control-protocol", "POST", ""),
        ("tcp", "POST", "{\"Tty\":true}"),
        ("SPDY/3.1", "POST", ""),
    ] {
        let mut socket = TcpStream::connect(way.relay.address).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        let length = body.len();
        write!(
            socket,
            "{method} / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\
             Content-Length: {length}\r\n\r\n{body}ping"
        )
        .unwrap();
        let head = read_head(&mut socket).unwrap();
        assert!(head.starts_with("HTTP/1.1 101 "), "{protocol}: {head}");
        assert!(head.contains(&format!("Upgrade: {protocol}\r\n")), "{head}");
        let echoed = read_until(&mut socket, "ping");
        assert_eq!(echoed, format!("hello {body}ping"), "{protocol}");
        socket.write_all(b"pong").unwrap();
        assert_eq!(read_until(&mut socket, "pong"), "pong", "{protocol}");
    }
    let h2c = way.get(
        "up",
        "/",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
    );
    assert!(h2c.ends_with("\r\n\r\nplain"), "{h2c}");
    let other = way.get("up", "/", "Connection: Upgrade\r\nUpgrade: foo/1\r\n");
    assert!(
        other.starts_with("HTTP/1.1 501") && other.contains("foo/1"),
        "{other}"
    );
}
