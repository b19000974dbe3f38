//! Many connections of a tunnel leave nothing behind.

use std::io::{Read, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::fixture::proxy::Proxy;
use crate::fixture::staged::{Staged, Until};
use crate::fixture::{Counts, Target, WAIT, free_port, holds_within, serve, settings_for, visit};
use postern::tunnel::client::{Status, Tunnel};
use postern::tunnel::server::Users;
use support::own_process::ran_apart;

/// Reconnects that are tried.
const ROUNDS: u64 = 200;

/// Reconnects to a server that closes at once, and in the long form.
const DROPS: usize = 400;
const WHOLE_DROPS: usize = 2000;
/// KiB that the memory may grow by after the first tenth of them. Default 2 MiB: the allocator's play.
const GROWTH: u64 = 2048;
/// Visitors at once who say little.
const QUIET: usize = 100;

#[test]
fn threads_and_descriptors_are_back_after_reconnects_with_streams() {
    if ran_apart(threads_and_descriptors_are_back_after_reconnects_with_streams) {
        return;
    }
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let proxy = Proxy::start(server.address());
    let before = Counts::before(1);
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
    before.are_back();
}

#[test]
fn many_reconnects_leave_nothing() {
    if ran_apart(many_reconnects_leave_nothing) {
        return;
    }
    let drops = support::rounds(DROPS, WHOLE_DROPS);
    let server = Staged::start(Until::Up(Duration::ZERO));
    let before = Counts::before(0);
    let mut settings = settings_for(server.address, free_port(), 9);
    settings.retries.first = Duration::from_millis(1);
    settings.max_retry_interval = Duration::from_millis(1);
    let began = Instant::now();
    let tunnel = Tunnel::start(settings).unwrap();
    holds_within(WAIT * 4, "the first tenth", || server.taken() > drops / 10);
    let memory = resident();
    let most = Mutex::new((0, 0));
    holds_within(WAIT * 20, "all of them", || {
        let now = Counts::now();
        let mut most = most.lock().unwrap();
        *most = (most.0.max(now.threads), most.1.max(now.descriptors));
        server.taken() > drops
    });
    let after = resident();
    println!(
        "{drops} reconnects in {:?}; resident {memory} then {after} KiB; at most {:?} threads and descriptors, {before:?} before",
        began.elapsed(),
        most.lock().unwrap()
    );
    assert!(after <= memory + GROWTH, "{memory} KiB became {after}");
    tunnel.stop();
    assert!(tunnel.snapshot().reconnects as usize >= drops / 2);
    drop(tunnel);
    before.are_back();
}

/// Both ends are in this process, so a thread for each stream would be two for each visitor.
#[test]
fn quiet_streams_have_no_threads_and_go_on() {
    if ran_apart(quiet_streams_have_no_threads_and_go_on) {
        return;
    }
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let tunnel = Tunnel::start(settings_for(server.address(), port, target.port())).unwrap();
    holds_within(WAIT, "a connection", || {
        tunnel.snapshot().status == Status::Connected
    });
    let mut visitors: Vec<_> = (0..QUIET).map(|_| visit(port)).collect();
    let mut exchange = |size: usize| {
        let (sent, mut received) = (vec![7; size], vec![0; size]);
        for visitor in &mut visitors {
            visitor.write_all(&sent).unwrap();
            visitor.read_exact(&mut received).unwrap();
            assert_eq!(sent, received);
        }
    };
    exchange(1);
    holds_within(WAIT, "no threads", || threads_named("tunnel-stream") == 0);
    exchange(100);
    assert_eq!(threads_named("tunnel-stream"), 0);
    // More than a quiet stream has: they get threads, and give them back.
    exchange(50_000);
    holds_within(WAIT, "no threads again", || {
        threads_named("tunnel-stream") == 0
    });
    exchange(1);
}

/// Threads of this process with this name.
fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")));
    names
        .filter(|found| found.as_ref().is_ok_and(|found| found.trim() == name))
        .count()
}

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.unwrap().parse().unwrap()
}
