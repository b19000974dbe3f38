//! Tunnels over networks and to servers that misbehave: each fault ends in time, is named, and leaves nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::fixture::proxy::Proxy;
use crate::fixture::{Target, WAIT, free_port, holds_within, serve, settings_for, visit};
use postern::tunnel::client::{Class, Status, Tunnel};
use postern::tunnel::server::Users;
use support::assert_within;

/// A server that answers every connection with these bytes, and keeps it open.
fn scripted(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let _ = stream.write_all(answer);
                while let Ok(1..) = stream.read(&mut request) {}
            });
        }
    });
    address
}

fn echoes(port: u16) {
    let mut visitor = visit(port);
    visitor.write_all(b"still here").unwrap();
    let mut answer = [0; 10];
    visitor.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still here");
}

/// Stops within a second.
fn stops_at_once(tunnel: &Tunnel) {
    let began = Instant::now();
    tunnel.stop();
    assert_within(began, Duration::from_secs(1));
    assert_eq!(tunnel.snapshot().status, Status::Stopped);
}

#[test]
fn what_is_no_tunnel_server_is_named_by_its_status() {
    for (answer, status) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"[..], "200"),
        (
            b"HTTP/1.1 301 Moved\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n",
            "301",
        ),
        (
            b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
            "403",
        ),
        (b"HTTP/1.1 407 Proxy\r\nContent-Length: 0\r\n\r\n", "407"),
        (
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
            "502",
        ),
    ] {
        let tunnel = Tunnel::start(settings_for(scripted(answer), free_port(), 9)).unwrap();
        holds_within(WAIT, status, || tunnel.snapshot().error.is_some());
        let error = tunnel.snapshot().error.unwrap();
        assert_eq!(error.class, Class::NotATunnelServer, "{error}");
        assert!(error.message.contains(status), "{error}");
        stops_at_once(&tunnel);
    }
}

#[test]
fn a_stop_ends_a_handshake_that_hangs() {
    for answer in [&b""[..], b"HTTP/1.1 101 Switching Protocols\r\n"] {
        let tunnel = Tunnel::start(settings_for(scripted(answer), free_port(), 9)).unwrap();
        assert!(!tunnel.wait(Duration::from_millis(300)));
        assert_eq!(tunnel.snapshot().status, Status::Connecting);
        stops_at_once(&tunnel);
    }
    // After the upgrade: the server's words are long on their way.
    let server = serve(Users::default());
    let proxy = Proxy::start(server.address());
    *proxy.faults.delay.lock().unwrap() = Duration::from_secs(1);
    let tunnel = Tunnel::start(settings_for(proxy.address, free_port(), 9)).unwrap();
    let sent = || proxy.faults.up_bytes.load(Ordering::SeqCst);
    holds_within(WAIT, "the upgrade is asked for", || sent() > 0);
    let asked = sent();
    holds_within(WAIT, "more is said", || sent() > asked);
    assert_eq!(tunnel.snapshot().status, Status::Connecting);
    stops_at_once(&tunnel);
}

#[test]
fn a_peer_that_vanished_is_noticed_and_its_port_is_taken_back() {
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let proxy = Proxy::start(server.address());
    let mut settings = settings_for(proxy.address, port, target.port());
    settings.keepalive = Some(Duration::from_millis(500));
    settings.timeouts.answer = Duration::from_secs(1);
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    let visitor = visit(port);
    let began = Instant::now();
    proxy.faults.up_lost.store(true, Ordering::SeqCst);
    proxy.faults.down_lost.store(true, Ordering::SeqCst);
    holds_within(Duration::from_secs(40), "the silence", || {
        tunnel.snapshot().status == Status::Connecting
    });
    assert_within(began, Duration::from_secs(4));
    assert!(
        tunnel
            .snapshot()
            .error
            .unwrap()
            .message
            .contains("not answered")
    );
    drop(visitor);
    // The server still believes in the old connection, which holds the port.
    proxy.faults.up_lost.store(false, Ordering::SeqCst);
    proxy.faults.down_lost.store(false, Ordering::SeqCst);
    let began = Instant::now();
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    assert_within(began, Duration::from_secs(8));
    echoes(port);
}

#[test]
fn a_reset_connection_is_made_again() {
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let proxy = Proxy::start(server.address());
    let tunnel = Tunnel::start(settings_for(proxy.address, port, target.port())).unwrap();
    assert!(tunnel.wait(WAIT));
    for round in 1..=5 {
        proxy.reset_all();
        holds_within(WAIT, "another connection", || {
            let snapshot = tunnel.snapshot();
            snapshot.reconnects == round && snapshot.status == Status::Connected
        });
        echoes(port);
    }
    stops_at_once(&tunnel);
}

#[test]
fn bytes_that_come_one_at_a_time_are_as_good() {
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let proxy = Proxy::start(server.address());
    proxy.faults.piece.store(1, Ordering::SeqCst);
    let tunnel = Tunnel::start(settings_for(proxy.address, port, target.port())).unwrap();
    assert!(tunnel.wait(WAIT));
    echoes(port);
}

#[test]
fn a_stop_is_quick_while_bytes_pass_and_nobody_reads() {
    let (server, target, port) = (serve(Users::default()), Target::flood(), free_port());
    let tunnel = Tunnel::start(settings_for(server.address(), port, target.port())).unwrap();
    assert!(tunnel.wait(WAIT));
    let _stalled: Vec<TcpStream> = (0..3).map(|_| visit(port)).collect();
    holds_within(WAIT, "the flood", || tunnel.snapshot().sent > 1 << 20);
    stops_at_once(&tunnel);
    holds_within(WAIT, "the streams are gone", || {
        tunnel.snapshot().streams == 0
    });
}
