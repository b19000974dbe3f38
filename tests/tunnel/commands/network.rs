//! The client on the network: headers, proxies, signs of life.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::running::{PASSWORD, Running, client_ends, echoes, failed_with, server};
use crate::fixture::proxy::Proxy;
use crate::fixture::{Target, free_port};
use support::{Home, TIMEOUT, wait_until};

/// The head of the first request that comes, on a connection that stays open.
fn head_of(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn headers_are_sent_along() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let headers = [
        "--header",
        "X-Token: abc def",
        "--header",
        "Host: other.example",
    ];
    let args: Vec<&str> = ["R:1:localhost:1"].into_iter().chain(headers).collect();
    let client = Running::client(address, &args);
    let head = head_of(&mut listener.accept().unwrap().0).to_lowercase();
    assert!(head.contains("\r\nx-token: abc def\r\n"), "{head}");
    assert!(head.contains("\r\nhost: other.example\r\n"), "{head}");
    assert_eq!(head.matches("\r\nhost:").count(), 1, "{head}");
    assert!(
        head.contains("\r\nsec-websocket-protocol: chisel-v3\r\n"),
        "{head}"
    );
    client.ends_well(Signal::TERM);
}

/// A proxy that lets `me:s3cret-Pass` through, for CONNECT only.
fn connect_proxy() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut near in listener.incoming().flatten() {
            let head = head_of(&mut near);
            let to = head
                .strip_prefix("CONNECT ")
                .and_then(|rest| rest.split(' ').next());
            // The base64 of the credentials above.
            if !head.contains("Proxy-Authorization: Basic bWU6czNjcmV0LVBhc3M=\r\n") {
                let refusal =
                    b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
                near.write_all(refusal).unwrap();
                continue;
            }
            let far = TcpStream::connect(to.unwrap()).unwrap();
            near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .unwrap();
            for (mut from, mut to) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    address
}

#[test]
fn a_proxy_is_gone_through_with_its_credentials() {
    let (server, proxy, target, port) = (server(&[]), connect_proxy(), Target::echo(), free_port());
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port());
    let url = format!("http://me:{PASSWORD}@{proxy}");
    let client = Running::client(server.address(), &[&remote, "--proxy", &url]);
    client.says("Connected (Latency ");
    echoes(port);
    client.ends_well(Signal::TERM);
    let wrong = format!("http://me:{PASSWORD}x@{proxy}");
    let auth = format!("me:{PASSWORD}");
    let finished = client_ends(
        &Home::new(),
        server.address(),
        &auth,
        &[&remote, "--proxy", &wrong],
    );
    failed_with(&finished, "proxy");
    server.ends_well(Signal::TERM);
}

#[test]
fn the_keep_alive_is_as_often_as_it_is_told() {
    let server = server(&["--keepalive", "0s"]);
    let proxy = Proxy::start(server.address());
    let sent = || proxy.faults.up_bytes.load(Ordering::SeqCst);
    let port = free_port();
    let remote = format!("R:127.0.0.1:{port}:localhost:1");
    let often = Running::client(proxy.address, &[&remote, "--keepalive", "50ms"]);
    often.says("Connected (Latency ");
    let mut last = sent();
    for _ in 0..5 {
        wait_until(TIMEOUT, "another keep-alive", || sent() > last);
        last = sent();
    }
    often.ends_well(Signal::TERM);
    let never = Running::client(proxy.address, &[&remote, "--keepalive", "0s"]);
    never.says("Connected (Latency ");
    let (mut last, mut since) = (sent(), Instant::now());
    wait_until(TIMEOUT, "silence for a second", || {
        if sent() != last {
            (last, since) = (sent(), Instant::now());
        }
        since.elapsed() > Duration::from_secs(1)
    });
    never.ends_well(Signal::TERM);
    server.ends_well(Signal::TERM);
}
