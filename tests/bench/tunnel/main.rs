//! The tunnel's figures, beside no tunnel and beside other tunnels: `make bench`.
//!
//! Every end is a process of its own, all on this machine, over loopback. `POSTERN_BIN` measures another
//! binary than cargo's. `POSTERN_CHISEL`, `POSTERN_RATHOLE` and `POSTERN_BORE` name the binaries of those to
//! measure beside it. Rounds go through all of them in turn, so that each sees the machine in the same
//! moods; the medians are printed, and in brackets the part of "no tunnel". `BENCH_ROUNDS` (default 3),
//! `BENCH_SECONDS` of each transfer (default 2), `BENCH_PEERS` (names) and `BENCH_ROWS` (parts of names)
//! make it shorter.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a measuring program: a panic is how it reports"
)]

mod load;
mod memory;
mod peers;
mod process;
#[path = "../../tunnel/fixture/proxy.rs"]
#[allow(dead_code)]
mod proxy;
mod report;
mod targets;

use std::time::Duration;

use load::{at, connections, download, echoes, upload};
use peers::{Kind, Running};
use proxy::Proxy;
use report::{Report, Unit};
use targets::Targets;

/// One way of the long line.
const HALF_TRIP: Duration = Duration::from_millis(50);
/// Round trips measured, alone and beside a download.
const ECHOES: usize = 10_000;
const ECHOES_BESIDE: usize = 1_000;
/// New connections measured: of one visitor after the other, which is their delay, and of several
/// at once, which is what the tunnel is able to do.
const CONNECTIONS: usize = 3_200;
const VISITORS: usize = 16;

fn main() {
    let rounds = setting("BENCH_ROUNDS").unwrap_or(3);
    let span = Duration::from_secs(setting("BENCH_SECONDS").unwrap_or(2));
    let targets = Targets::start();
    let kinds = Kind::wanted();
    let mut report = Report::new(kinds.iter().map(|kind| kind.name()).collect());
    for round in 1..=rounds {
        for kind in &kinds {
            eprintln!("bench: round {round} of {rounds}: {}", kind.name());
            let mut bench = Bench {
                kind: *kind,
                targets: &targets,
                report: &mut report,
                span,
            };
            bench.near();
            bench.far();
            bench.memory();
        }
    }
    report.print();
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

struct Bench<'a> {
    kind: Kind,
    targets: &'a Targets,
    report: &'a mut Report,
    span: Duration,
}

impl Bench<'_> {
    /// Over loopback as it is.
    fn near(&mut self) {
        let running = Running::start(self.kind, self.targets, None);
        if report::is_wanted("streams") {
            self.transfers(&running);
        }
        if report::is_wanted("echo") {
            self.echo("echo of 64 bytes", echoes(running.echo, ECHOES));
            self.beside(&running);
        }
        if report::is_wanted("new connections") {
            for visitors in [1, VISITORS] {
                let rate = connections(running.echo, visitors, CONNECTIONS);
                let name = format!("new connections, {visitors} visitors");
                self.add(&name, Unit::PerSecond, rate);
            }
        }
    }

    fn transfers(&mut self, running: &Running) {
        let before = running.client_cpu();
        let mut bytes = 0.0;
        for streams in [1, 8] {
            for (way, measure) in WAYS {
                let name = format!("{way}, {streams} streams");
                if !report::is_wanted(&name) {
                    continue;
                }
                let rate = measure(running, self.targets, streams, self.span);
                self.add(&name, Unit::MegabytesPerSecond, rate);
                bytes += rate * self.span.as_secs_f64() * 1e6;
            }
        }
        if let (Some(before), Some(after)) = (before, running.client_cpu()) {
            let each = (after - before).as_secs_f64() / (bytes / 1e9);
            self.add("the client's CPU per GB", Unit::Seconds, each);
        }
    }

    fn beside(&mut self, running: &Running) {
        let trips = std::thread::scope(|scope| {
            let loading = scope.spawn(|| download(running, self.targets, 1, self.span));
            load::wait_for_load(running);
            let trips = echoes(running.echo, ECHOES_BESIDE);
            loading.join().unwrap();
            trips
        });
        self.echo("echo beside a download", trips);
    }

    fn echo(&mut self, what: &str, trips: Vec<Duration>) {
        let micros = |share| at(&trips, share).as_secs_f64() * 1e6;
        self.add(&format!("{what}, p50"), Unit::Micros, micros(0.5));
        self.add(&format!("{what}, p99"), Unit::Micros, micros(0.99));
        self.add(&format!("{what}, worst"), Unit::Micros, micros(1.0));
    }

    /// Over a line with a round trip of 100 ms.
    fn far(&mut self) {
        if !self.kind.has_far_server() || !report::is_wanted("at 100 ms") {
            return;
        }
        let proxied = |to| {
            let proxy = Proxy::start(to);
            *proxy.faults.delay.lock().unwrap() = HALF_TRIP;
            proxy.address
        };
        for (way, measure) in WAYS {
            let running = Running::start(self.kind, self.targets, Some(&proxied));
            let rate = measure(&running, self.targets, 1, self.span * 3);
            let name = format!("{way}, 1 stream at 100 ms");
            self.add(&name, Unit::MegabytesPerSecond, rate);
        }
    }

    fn memory(&mut self) {
        if self.kind == Kind::None || !report::is_wanted("memory") {
            return;
        }
        for (name, bytes) in memory::measure(self.kind, self.targets) {
            self.add(&format!("memory, {name}"), Unit::Mebibytes, bytes);
        }
    }

    fn add(&mut self, row: &str, unit: Unit, value: f64) {
        self.report.add(row, unit, self.kind.name(), value);
    }
}

const WAYS: [(&str, Transfer); 2] = [("down", download), ("up", upload)];

type Transfer = fn(&Running, &Targets, usize, Duration) -> f64;
