//! The tunnel's figures, both ends in this process on loopback: `cargo bench --bench tunnel`.
//!
//! Throughput of one and eight streams each way, echo alone and beside a download, new connections, and
//! one stream over a line of 100 ms.

#![allow(clippy::as_conversions, clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "../tunnel_support/mod.rs"]
mod tunnel_support;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use postern::tunnel::client::Tunnel;
use postern::tunnel::server::Users;
use tunnel_support::proxy::Proxy;
use tunnel_support::{Target, WAIT, free_port, holds_within, serve, settings_for, visit};

/// Time of each measurement of throughput.
const SPAN: Duration = Duration::from_secs(3);

fn main() {
    let server = serve(Users::default());
    let (echo, flood, sink) = (Target::echo(), Target::flood(), Target::sink());
    let up = |to: SocketAddr, target: &Target| {
        let port = free_port();
        let tunnel = Tunnel::start(settings_for(to, port, target.port())).unwrap();
        assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
        (tunnel, port)
    };
    let here = server.address();
    for streams in [1, 8] {
        let (tunnel, port) = up(here, &flood);
        println!(
            "down, {streams} streams: {:.0} MB/s",
            download(port, streams)
        );
        tunnel.stop();
        let (tunnel, port) = up(here, &sink);
        println!(
            "up, {streams} streams: {:.0} MB/s",
            upload(&tunnel, port, streams)
        );
        tunnel.stop();
    }
    let (tunnel, port) = up(here, &echo);
    show("echo", echoes(port, 20_000));
    println!("new connections: {:.0}/s", connections(port, 3000));
    tunnel.stop();
    beside_a_download(here, &echo, &flood);
    let proxy = Proxy::start(here);
    *proxy.faults.delay.lock().unwrap() = Duration::from_millis(50);
    let (tunnel, port) = up(proxy.address, &flood);
    // The window has to grow first.
    download(port, 1);
    println!("down at 100 ms: {:.0} MB/s", download(port, 1));
    tunnel.stop();
    let (tunnel, port) = up(proxy.address, &sink);
    println!("up at 100 ms: {:.0} MB/s", upload(&tunnel, port, 1));
    tunnel.stop();
}

/// Bytes that visitors get from a flooding target.
fn download(port: u16, streams: usize) -> f64 {
    let began = Instant::now();
    let readers: Vec<_> = (0..streams)
        .map(|_| {
            std::thread::spawn(move || {
                let (mut visitor, mut buffer) = (visit(port), vec![0; 1 << 17]);
                let (mut total, end) = (0, Instant::now() + SPAN);
                while Instant::now() < end {
                    total += visitor.read(&mut buffer).unwrap();
                }
                total
            })
        })
        .collect();
    let total: usize = readers
        .into_iter()
        .map(|reader| reader.join().unwrap())
        .sum();
    total as f64 / began.elapsed().as_secs_f64() / 1e6
}

/// Bytes that a target takes from visitors.
fn upload(tunnel: &Tunnel, port: u16, streams: usize) -> f64 {
    let (began, before) = (Instant::now(), tunnel.snapshot().received);
    let writers: Vec<_> = (0..streams)
        .map(|_| {
            std::thread::spawn(move || {
                let (mut visitor, buffer) = (visit(port), vec![0; 1 << 17]);
                let end = Instant::now() + SPAN;
                while Instant::now() < end {
                    visitor.write_all(&buffer).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    (tunnel.snapshot().received - before) as f64 / began.elapsed().as_secs_f64() / 1e6
}

/// Round trips of 64 bytes, sorted.
fn echoes(port: u16, count: usize) -> Vec<Duration> {
    let mut visitor = visit(port);
    let mut bytes = [7; 64];
    let mut trips: Vec<Duration> = (0..count)
        .map(|_| {
            let began = Instant::now();
            visitor.write_all(&bytes).unwrap();
            visitor.read_exact(&mut bytes).unwrap();
            began.elapsed()
        })
        .collect();
    trips.sort();
    trips
}

fn show(what: &str, trips: Vec<Duration>) {
    let at = |share: f64| trips[((trips.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: p50 {:?}, p99 {:?}, worst {:?}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn connections(port: u16, count: usize) -> f64 {
    let began = Instant::now();
    for _ in 0..count {
        let mut visitor = visit(port);
        visitor.write_all(b"x").unwrap();
        visitor.read_exact(&mut [0]).unwrap();
    }
    count as f64 / began.elapsed().as_secs_f64()
}

/// Both through one tunnel.
fn beside_a_download(server: SocketAddr, echo: &Target, flood: &Target) {
    let (port, bulk) = (free_port(), free_port());
    let mut settings = settings_for(server, port, echo.port());
    settings.remotes.push(
        format!("R:127.0.0.1:{bulk}:127.0.0.1:{}", flood.port())
            .parse()
            .unwrap(),
    );
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT));
    let loading = std::thread::spawn(move || download(bulk, 1));
    holds_within(WAIT, "the download", || tunnel.snapshot().sent > 1 << 22);
    show("echo beside a download", echoes(port, 2000));
    println!("  that download: {:.0} MB/s", loading.join().unwrap());
    tunnel.stop();
}
