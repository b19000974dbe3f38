//! One stream over a line with a round trip of 100 ms: its window has to grow, each way.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::tunnel_fixture::proxy::Proxy;
use crate::tunnel_fixture::{Target, WAIT, free_port, holds_within, serve, settings_for, visit};
use postern::tunnel::client::Tunnel;
use postern::tunnel::server::Users;
use support::{allowed, assert_within};

/// Bytes sent. A window that stands at twice the first one takes 13 s for them.
const SIZE: usize = 64 << 20;
/// Time for them on a busy machine; on a quiet one they take 1 s.
const LIMIT: Duration = Duration::from_secs(10);

/// A tunnel over the long line to this target, and its port.
fn far(target: &Target) -> (postern::tunnel::server::Server, Tunnel, u16) {
    let server = serve(Users::default());
    let proxy = Proxy::start(server.address());
    *proxy.faults.delay.lock().unwrap() = Duration::from_millis(50);
    let port = free_port();
    let tunnel = Tunnel::start(settings_for(proxy.address, port, target.port())).unwrap();
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    (server, tunnel, port)
}

#[test]
fn a_download_over_a_long_line_is_not_held_by_its_first_window() {
    let (_server, _tunnel, port) = far(&Target::flood());
    let (mut visitor, mut buffer, mut left) = (visit(port), vec![0; 1 << 17], SIZE);
    let began = Instant::now();
    while left > 0 {
        left = left.saturating_sub(visitor.read(&mut buffer).unwrap());
    }
    assert_within(began, LIMIT);
}

#[test]
fn an_upload_over_a_long_line_is_not_held_by_its_first_window() {
    let (_server, tunnel, port) = far(&Target::sink());
    let (mut visitor, piece) = (visit(port), vec![1; 1 << 17]);
    let began = Instant::now();
    for _ in 0..SIZE / piece.len() {
        visitor.write_all(&piece).unwrap();
    }
    holds_within(allowed(LIMIT), "the target has everything", || {
        tunnel.snapshot().received >= u64::try_from(SIZE).unwrap()
    });
    assert_within(began, LIMIT);
}
