//! Getting to a link: answers of all kinds, time limits, and being cancelled anywhere.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::ws_fixture::*;
use postern::tunnel::ws::{
    AcceptError, AcceptOptions, Accepted, Cancel, ConnectStage, DialError, DialOptions, Endpoint,
    Header, Proxy, ProxyChoice, accept, dial,
};
use support::free_port;
use support::own_process::{again, ran_apart, run_apart};

fn dialled(secure: bool, address: SocketAddr, options: &DialOptions) -> Result<Link, DialError> {
    dial(&endpoint(secure, address), options, &Cancel::new())
}

/// Result of dialling a server that reads the request and then sends `answer`.
fn answered(answer: &'static [u8]) -> Result<Link, DialError> {
    let (address, server) = server(move |mut socket| {
        read_head(&mut socket);
        socket.write_all(answer).unwrap();
    });
    let link = dialled(false, address, &options());
    server.join().unwrap();
    link
}

#[test]
fn servers_that_are_no_tunnels_are_told_apart() {
    for (answer, text) in [
        (
            &b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"[..],
            "it answered 200 OK",
        ),
        (
            b"HTTP/1.1 301 Moved\r\nLocation: https://x/\r\n\r\n",
            "it answered 301 Moved and redirects to https://x/",
        ),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "it answered 403"),
        (
            b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            "it answered 407",
        ),
        (b"HTTP/1.0 502 Bad Gateway\r\n\r\n", "it answered 502"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x50", "not HTTP"),
        (b"HTTP/1.1 101 X\nUpgrade: websocket\n\n", "not HTTP"),
        (b"HTTP/1.1 101 X\r\n\r\n", "something else"),
    ] {
        let error = answered(answer).unwrap_err().to_string();
        let is_blocked = text == "it answered 403";
        let begins = match is_blocked {
            true => "a proxy or web server blocks it: ",
            false => "not a tunnel server: ",
        };
        assert!(error.starts_with(begins) && error.contains(text), "{error}");
    }
    for cut in [
        &b""[..],
        b"HTTP/1.1 101 Switch",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        let error = answered(cut).unwrap_err();
        assert!(
            matches!(
                error,
                DialError::Broken {
                    stage: ConnectStage::Upgrade,
                    ..
                }
            ),
            "{error}"
        );
    }
    let endless = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(6).leak();
    assert!(
        answered(endless)
            .unwrap_err()
            .to_string()
            .contains("too many interim answers")
    );
}

#[test]
fn a_head_has_its_cap() {
    let (address, server) = server(|mut socket| {
        read_head(&mut socket);
        let line = [b"X: ", [b'x'; 1000].as_slice(), b"\r\n"].concat();
        // The client goes away before the end of it.
        let _ = socket.write_all(b"HTTP/1.1 101 X\r\n");
        (0..100_000)
            .take_while(|_| socket.write_all(&line).is_ok())
            .count()
    });
    let error = dialled(false, address, &options()).unwrap_err();
    assert!(matches!(error, DialError::BadUpgrade(_)), "{error}");
    assert!(server.join().unwrap() < 100_000);
}

#[test]
fn bytes_behind_the_101_belong_to_the_link() {
    let (address, server) = server(|mut socket| {
        let request = read_head(&mut socket);
        let mut answer = switching(&request).into_bytes();
        answer.extend(frame(0x82, None, b"early"));
        answer.extend(frame(0x89, None, b"?"));
        answer.extend(&frame(0x82, None, b"bird")[..3]);
        socket.write_all(&answer).unwrap();
        assert_eq!(read_frame(&mut socket), (0x8a, b"?".to_vec()));
        socket.write_all(b"ird").unwrap();
        request
    });
    let mut with_headers = options();
    with_headers.headers = vec![
        Header::parse("X-Extra: yes").unwrap(),
        Header::parse("Host: other").unwrap(),
    ];
    let (mut reader, _writer) = dialled(false, address, &with_headers).unwrap();
    assert_eq!(read_exactly(&mut reader, 9), b"earlybird");
    let request = server.join().unwrap();
    assert!(request.starts_with("GET / HTTP/1.1\r\n"));
    assert_eq!(
        header_of(&request, "Sec-WebSocket-Protocol").as_deref(),
        Some("chisel-v3")
    );
    assert_eq!(header_of(&request, "X-Extra").as_deref(), Some("yes"));
    assert_eq!(header_of(&request, "Host").as_deref(), Some("other"));
}

#[test]
fn interim_answers_and_single_bytes_are_put_up_with() {
    let (address, server) = server(|mut socket| {
        socket.set_nodelay(true).unwrap();
        let request = read_head(&mut socket);
        let answer = format!(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{}",
            switching(&request)
        );
        answer
            .bytes()
            .for_each(|byte| socket.write_all(&[byte]).unwrap());
        socket
    });
    dialled(false, address, &options()).unwrap();
    server.join().unwrap();
}

#[test]
fn another_library_can_stand_at_the_other_end() {
    let (address, server) = server(|socket| {
        let mut peer = tungstenite::accept(socket).unwrap();
        let message = peer.read().unwrap();
        peer.send(message).unwrap();
        assert!(peer.read().unwrap().is_close());
        // Its answer to the close goes out with the next call.
        let _ = peer.flush();
    });
    // It names no subprotocol either.
    let (mut reader, writer) = dialled(false, address, &options()).unwrap();
    writer.write(&mut vec![7; 100_000]).unwrap();
    assert_eq!(read_exactly(&mut reader, 100_000), vec![7; 100_000]);
    writer.close();
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    server.join().unwrap();
}

#[test]
fn nobody_listening_is_told_with_the_address() {
    let address = ([127, 0, 0, 1], free_port()).into();
    let error = dialled(false, address, &options()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("cannot connect to {address}: connection refused")
    );
}

#[test]
fn the_second_address_is_tried() {
    // Listens on one family only; the name has both, and nobody else has the port of the other.
    let port = support::free_port();
    let listener = TcpListener::bind(("::1", port))
        .or_else(|_| TcpListener::bind(("127.0.0.1", port)))
        .unwrap();
    let serving = thread::spawn(move || {
        accept(
            listener.accept().unwrap().0,
            &AcceptOptions::default(),
            &Cancel::new(),
        )
        .unwrap()
    });
    let target = Endpoint::parse(&format!("ws://localhost:{port}")).unwrap();
    let link = dial(&target, &options(), &Cancel::new()).unwrap();
    serving.join().unwrap();
    drop(link);
}

/// A listener whose queue is full: connecting to it hangs.
fn hanging() -> (SocketAddr, Vec<TcpStream>, TcpListener) {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let short = Duration::from_millis(100);
    let filling = std::iter::repeat_with(|| TcpStream::connect_timeout(&address, short));
    let connected = filling.map_while(Result::ok).take(64).collect();
    (address, connected, listener)
}

/// Dials, cancels as soon as `reached` says so, and expects the end at once.
fn cancelled(target: Endpoint, options: DialOptions, reached: impl FnOnce()) {
    let cancel = Cancel::new();
    let signal = cancel.clone();
    let dialling = thread::spawn(move || dial(&target, &options, &signal).map(drop));
    reached();
    let begun = Instant::now();
    cancel.cancel();
    let ended = within(TIMEOUT, "a cancelled dial", move || {
        dialling.join().unwrap()
    });
    assert!(matches!(ended, Err(DialError::Cancelled)), "{ended:?}");
    assert_prompt(begun);
}

#[test]
fn a_dial_can_be_cancelled_at_every_stage() {
    let silent = || TcpListener::bind("127.0.0.1:0").unwrap();
    // Before it begins.
    let cancel = Cancel::new();
    cancel.cancel();
    let ended = dial(
        &endpoint(false, silent().local_addr().unwrap()),
        &options(),
        &cancel,
    );
    assert!(matches!(ended, Err(DialError::Cancelled)));
    // While it connects.
    let (address, _filled, _listener) = hanging();
    cancelled(endpoint(false, address), options(), || ());
    // While it waits for TLS and for the upgrade.
    for secure in [false, true] {
        let listener = silent();
        cancelled(
            endpoint(secure, listener.local_addr().unwrap()),
            options(),
            move || {
                let mut socket = listener.accept().unwrap().0;
                socket.read_exact(&mut [0]).unwrap();
                // Held to the end of the test.
                std::mem::forget(socket);
            },
        );
    }
    // In the middle of an answer, and of one that never ends.
    let listener = silent();
    cancelled(
        endpoint(false, listener.local_addr().unwrap()),
        options(),
        move || {
            let mut socket = listener.accept().unwrap().0;
            read_head(&mut socket);
            socket.write_all(b"HTTP/1.1 101 Switching").unwrap();
            std::mem::forget(socket);
        },
    );
    // While it waits for the proxy.
    let listener = silent();
    let mut through = options();
    through.proxy =
        ProxyChoice::Fixed(Proxy::parse(&listener.local_addr().unwrap().to_string()).unwrap());
    cancelled(
        Endpoint::parse("wss://far.example").unwrap(),
        through,
        move || {
            let mut socket = listener.accept().unwrap().0;
            read_head(&mut socket);
            std::mem::forget(socket);
        },
    );
}

#[test]
fn every_stage_has_its_limit() {
    let mut short = options();
    short.timeouts.connect = Duration::from_millis(300);
    short.timeouts.handshake = Duration::from_millis(300);
    let (address, _filled, _listener) = hanging();
    let error = dialled(false, address, &short).unwrap_err().to_string();
    assert!(error.contains("timed out"), "{error}");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for (secure, stage) in [(false, ConnectStage::Upgrade), (true, ConnectStage::Tls)] {
        let error = dialled(secure, silent.local_addr().unwrap(), &short).unwrap_err();
        assert!(
            matches!(error, DialError::TimedOut { stage: found, .. } if found == stage),
            "{error}"
        );
    }
    // A byte now and then does not extend it.
    let (address, dripping) = server(|mut socket| {
        read_head(&mut socket);
        let drip = |_: &u32| {
            thread::park_timeout(Duration::from_millis(20));
            socket.write_all(b"H").is_ok()
        };
        (0..1000).take_while(drip).count()
    });
    let error = dialled(false, address, &short).unwrap_err();
    assert!(
        matches!(
            error,
            DialError::TimedOut {
                stage: ConnectStage::Upgrade,
                ..
            }
        ),
        "{error}"
    );
    assert!(dripping.join().unwrap() < 1000);
}

#[test]
fn nothing_is_left_open_after_a_failed_dial() {
    if ran_apart(nothing_is_left_open_after_a_failed_dial) {
        return;
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let cancel = Cancel::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut short = options();
    short.timeouts.handshake = Duration::from_millis(1);
    let try_all = || {
        for secure in [false, true] {
            let target = endpoint(secure, silent.local_addr().unwrap());
            assert!(dial(&target, &short, &cancel).is_err());
            drop(silent.accept().unwrap());
        }
        let none = Endpoint::parse("ws://no-such-host.invalid").unwrap();
        assert!(dial(&none, &short, &cancel).is_err());
    };
    try_all();
    let before = open();
    (0..50).for_each(|_| try_all());
    assert_eq!(open(), before);
}

/// Result of `accept` for these bytes, and the answer to the client.
fn accepted(request: &'static [u8]) -> (Result<Accepted, AcceptError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    let asking = thread::spawn(move || {
        client.write_all(request).unwrap();
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer);
        answer
    });
    let socket = listener.accept().unwrap().0;
    let accepted = accept(socket, &AcceptOptions::default(), &Cancel::new());
    (accepted, asking.join().unwrap())
}

#[test]
fn what_asks_for_no_tunnel_is_answered() {
    for (request, status, body) in [
        (&b"GET /health HTTP/1.1\r\nHost: h\r\n\r\n"[..], 200, "OK\n"),
        (b"GET /version HTTP/1.1\r\nHost: h\r\n\r\n", 200, env!("CARGO_PKG_VERSION")),
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", 404, "Not found\n"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: chisel-v2\r\n\r\n", 404, "Not found\n"),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 404, "Not found\n"),
    ] {
        let (accepted, answer) = accepted(request);
        assert!(matches!(accepted, Ok(Accepted::Answered(found)) if found == status), "{accepted:?}");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
    }
}

#[test]
fn what_is_no_http_is_refused() {
    let long: &'static [u8] = [&b"GET / HTTP/1.1\r\nX: "[..], &[b'x'; 40_000]]
        .concat()
        .leak();
    for (request, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"[..], 400),
        (b"GET / HTTP/1.1\nHost: h\n\n", 400),
        (
            b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        (long, 431),
    ] {
        let (accepted, answer) = accepted(request);
        let fits = |status| matches!(accepted, Err(AcceptError::Malformed { status: found, .. }) if found == status);
        assert!(fits(status), "{accepted:?}");
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
}

#[test]
fn a_client_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let pair = || {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    };
    let mut short = AcceptOptions::default();
    short.timeout = Duration::from_millis(200);
    let (_client, socket) = pair();
    let ended = accept(socket, &short, &Cancel::new());
    assert!(
        matches!(ended, Err(AcceptError::TimedOut(ConnectStage::Upgrade))),
        "{ended:?}"
    );
    let (client, socket) = pair();
    drop(client);
    let ended = accept(socket, &short, &Cancel::new());
    assert!(matches!(ended, Err(AcceptError::Io(_))), "{ended:?}");
    let (_client, socket) = pair();
    let cancel = Cancel::new();
    let signal = cancel.clone();
    let accepting =
        thread::spawn(move || accept(socket, &AcceptOptions::default(), &signal).map(drop));
    let begun = Instant::now();
    cancel.cancel();
    assert!(matches!(
        accepting.join().unwrap(),
        Err(AcceptError::Cancelled)
    ));
    assert_prompt(begun);
}

#[test]
fn a_link_can_be_joined_to_the_signal() {
    let ((mut reader, writer), _server) = link(false);
    let cancel = Cancel::new();
    let _watch = cancel.watch(move || writer.shutdown());
    let reading = thread::spawn(move || reader.read(&mut [0]).unwrap_err());
    let begun = Instant::now();
    cancel.cancel();
    reading.join().unwrap();
    assert_prompt(begun);
}

#[test]
fn loopback_is_reached_without_the_environments_proxy() {
    // Another process, so that no other test sees the variables.
    run_apart(
        again(bytes_behind_the_101_belong_to_the_link).envs(
            ["HTTP_PROXY", "http_proxy", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:1")),
        ),
    );
}
