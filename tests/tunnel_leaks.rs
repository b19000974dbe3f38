//! What many connections of a tunnel leave behind: nothing.

#![allow(clippy::unwrap_used)]

mod tunnel_support;

use std::io::{Read, Write};
use std::time::Duration;

use postern::tunnel::client::{Status, Tunnel};
use postern::tunnel::server::Users;
use tunnel_support::proxy::Proxy;
use tunnel_support::{Target, WAIT, free_port, holds_within, serve, settings_for, visit};

/// Reconnects that are tried.
const ROUNDS: u64 = 200;

/// Threads and descriptors of this process.
fn counts() -> (usize, usize) {
    let count = |dir| std::fs::read_dir(dir).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[test]
fn threads_and_descriptors_are_back_after_many_reconnects() {
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let proxy = Proxy::start(server.address());
    let before = counts();
    let mut settings = settings_for(proxy.address, port, target.port());
    settings.max_retry_interval = Duration::from_millis(10);
    let tunnel = Tunnel::start(settings).unwrap();
    for round in 0..ROUNDS {
        holds_within(WAIT, "a connection", || {
            let snapshot = tunnel.snapshot();
            snapshot.reconnects >= round && snapshot.status == Status::Connected
        });
        // Every tenth is cut while a stream is open.
        if round % 10 == 0 {
            let mut visitor = visit(port);
            visitor.write_all(b"x").unwrap();
            visitor.read_exact(&mut [0]).unwrap();
            proxy.reset_all();
            assert_eq!(visitor.read(&mut [0]).unwrap_or(0), 0);
        } else {
            proxy.reset_all();
        }
    }
    tunnel.stop();
    drop(tunnel);
    proxy.reset_all();
    let mut last = counts();
    holds_within(WAIT, "the counts are back", || {
        last = counts();
        last.0 <= before.0 && last.1 <= before.1
    });
}
