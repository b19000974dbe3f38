//! Keys that change while streams are busy, by bytes and by time, begun by either end.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::fixture::{
    Numbers, Target, WAIT, client_settings, free_port, holds_within, serve_with, visit,
};
use postern::tunnel::client::Tunnel;
use postern::tunnel::server::Server;
use postern::tunnel::ssh::Config;

/// Bytes that each visitor sends and gets back.
const VOLUME: usize = 4 << 20;
const VISITORS: u64 = 3;
/// Far below what the visitors move together.
const BYTES: u64 = 512 << 10;

fn by_bytes(config: &mut Config) {
    config.rekey_bytes = BYTES;
}

fn by_time(config: &mut Config) {
    config.rekey_time = Duration::from_millis(50);
}

fn untouched(_: &mut Config) {}

type Change = fn(&mut Config);

/// A server and a client of it, each with its own thresholds; and the forwarded port.
fn tunnel(server: Change, client: Change) -> (Server, Tunnel, u16) {
    let (target, port) = (Target::echo(), free_port());
    // Often enough that the time is looked at.
    let keepalive = Some(Duration::from_millis(20));
    let server = serve_with(|settings| {
        server(&mut settings.ssh);
        settings.keepalive = keepalive;
    });
    let mut settings = client_settings(&server, port, target.port());
    client(&mut settings.ssh);
    settings.keepalive = keepalive;
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    (server, tunnel, port)
}

fn rekeys(server: &Server) -> u64 {
    server.traffic().rekeys.load(Ordering::Relaxed)
}

/// All that is sent comes back unchanged.
fn echo(port: u16, seed: u64) {
    let mut receiving = visit(port);
    let mut sending = receiving.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let (mut numbers, mut left, mut buffer) = (Numbers(seed), VOLUME, vec![0; 65536]);
        while left > 0 {
            let piece = numbers.fill(&mut buffer, left);
            sending.write_all(piece).unwrap();
            left -= piece.len();
        }
        sending.shutdown(Shutdown::Write).unwrap();
    });
    let (mut numbers, mut left) = (Numbers(seed), VOLUME);
    let (mut expected, mut got) = (vec![0; 65536], vec![0; 65536]);
    while left > 0 {
        let piece = numbers.fill(&mut expected, left);
        receiving.read_exact(&mut got[..piece.len()]).unwrap();
        assert!(
            piece == &got[..piece.len()],
            "changed with {left} bytes left"
        );
        left -= piece.len();
    }
    assert_eq!(receiving.read(&mut got).unwrap(), 0, "the end of file");
    sender.join().unwrap();
}

fn load(port: u16) {
    std::thread::scope(|scope| {
        for seed in 0..VISITORS {
            scope.spawn(move || echo(port, seed));
        }
    });
}

#[test]
fn either_end_changes_keys_by_bytes_while_streams_are_busy() {
    let whole = VISITORS * u64::try_from(VOLUME).unwrap();
    let changes: [(Change, Change); 3] = [
        (by_bytes, untouched),
        (untouched, by_bytes),
        (by_bytes, by_bytes),
    ];
    for (server, client) in changes {
        let (server, tunnel, port) = tunnel(server, client);
        load(port);
        // Each direction counts alone, and one change serves both.
        let changes = rekeys(&server);
        assert!(changes >= whole / BYTES / 4, "{changes}");
        assert_eq!(tunnel.snapshot().reconnects, 0);
        tunnel.stop();
    }
}

#[test]
fn either_end_changes_keys_by_time_with_and_without_load() {
    let changes: [(Change, Change); 2] = [(by_time, untouched), (untouched, by_time)];
    for (server, client) in changes {
        let (server, tunnel, port) = tunnel(server, client);
        load(port);
        let before = rekeys(&server);
        holds_within(WAIT, "changes on an idle line", || {
            rekeys(&server) >= before + 3
        });
        load(port);
        assert_eq!(tunnel.snapshot().reconnects, 0);
        tunnel.stop();
    }
}

#[test]
fn keys_are_good_for_a_gibibyte_or_an_hour() {
    let config = Config::default();
    assert_eq!(config.rekey_bytes, 1 << 30);
    assert_eq!(config.rekey_time, Duration::from_secs(3600));
}
