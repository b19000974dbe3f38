//! The tunnel's figures, beside no tunnel and beside other tunnels: `make bench`.
//!
//! Every end is a process of its own, all on this machine, over loopback. `POSTERN_BIN` measures another
//! binary than cargo's. `POSTERN_CHISEL`, `POSTERN_RATHOLE` and `POSTERN_BORE` name the binaries of those to
//! measure beside it. Rounds go through all of them in turn, so that each sees the machine in the same
//! moods; the medians are printed, and in brackets the part of "no tunnel". `BENCH_ROUNDS` (default 3),
//! `BENCH_SECONDS` of each transfer (default 2), `BENCH_PEERS` (names) and `BENCH_ROWS` (parts of names)
//! make it shorter.
//!
//! `POSTERN_OLD` names the binary of another build: then only that and ours are measured, by turns within each
//! group of rows, seven rounds where `BENCH_ROUNDS` says nothing else. Medians of both with their spread are printed,
//! and the processor time of both ends beside each row.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a measuring program: a panic is how it reports"
)]

mod load;
mod memory;
mod peers;
mod report;
mod targets;

use std::time::Duration;

use load::{at, connections, download, echoes, upload};
use peers::{Kind, Running};
use report::{Report, Unit};
use support::fault_proxy::Proxy;
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
    let pairs = std::env::var_os("POSTERN_OLD").is_some();
    let rounds = setting("BENCH_ROUNDS").unwrap_or(if pairs { 7 } else { 3 });
    let span = Duration::from_secs(setting("BENCH_SECONDS").unwrap_or(2));
    let targets = Targets::start();
    let kinds = if pairs {
        vec![Kind::OldPostern, Kind::Postern]
    } else {
        Kind::wanted()
    };
    let mut report = Report::new(kinds.iter().map(|kind| kind.name()).collect());
    let mut measure = |groups: &[Group]| {
        for round in 1..=rounds {
            for kind in &kinds {
                eprintln!("bench: round {round} of {rounds}: {}", kind.name());
                let mut bench = Bench {
                    kind: *kind,
                    targets: &targets,
                    report: &mut report,
                    span,
                    pairs,
                };
                groups.iter().for_each(|group| group(&mut bench));
            }
        }
    };
    let groups: [Group; 5] = [
        |bench| bench.transfers(),
        |bench| bench.echoes(),
        |bench| bench.connections(),
        |bench| bench.far(),
        |bench| bench.memory(),
    ];
    if pairs {
        groups.chunks(1).for_each(measure);
        report.print_pairs();
    } else {
        measure(&groups);
        report.print();
    }
}

type Group = fn(&mut Bench<'_>);

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

struct Bench<'a> {
    kind: Kind,
    targets: &'a Targets,
    report: &'a mut Report,
    span: Duration,
    pairs: bool,
}

impl Bench<'_> {
    fn transfers(&mut self) {
        if !report::is_wanted("streams") {
            return;
        }
        let running = Running::start(self.kind, self.targets, None);
        let before = running.client_cpu();
        let mut bytes = 0.0;
        for streams in [1, 8] {
            for (way, measure) in WAYS {
                let name = format!("{way}, {streams} streams");
                if !report::is_wanted(&name) {
                    continue;
                }
                let before = running.cpu();
                let rate = measure(&running, self.targets, streams, self.span);
                let moved = rate * self.span.as_secs_f64() * 1e6;
                self.add(&name, Unit::MegabytesPerSecond, rate);
                self.add_cpu(&format!("{name}, a GB"), &running, before, moved / 1e9);
                bytes += moved;
            }
        }
        if let (Some(before), Some(after)) = (before, running.client_cpu()) {
            let each = (after - before).as_secs_f64() / (bytes / 1e9);
            self.add("the client's CPU per GB", Unit::Seconds, each);
        }
    }

    fn echoes(&mut self) {
        if !report::is_wanted("echo") {
            return;
        }
        let running = Running::start(self.kind, self.targets, None);
        let before = running.cpu();
        self.echo("echo of 64 bytes", echoes(running.echo, ECHOES));
        self.add_cpu(&format!("{ECHOES} echoes"), &running, before, 1.0);
        let trips = std::thread::scope(|scope| {
            let loading = scope.spawn(|| download(&running, self.targets, 1, self.span));
            load::wait_for_load(&running);
            let trips = echoes(running.echo, ECHOES_BESIDE);
            loading.join().unwrap();
            trips
        });
        self.echo("echo beside a download", trips);
    }

    fn connections(&mut self) {
        if !report::is_wanted("new connections") {
            return;
        }
        let running = Running::start(self.kind, self.targets, None);
        for visitors in [1, VISITORS] {
            let before = running.cpu();
            let rate = connections(running.echo, visitors, CONNECTIONS);
            let name = format!("new connections, {visitors} visitors");
            self.add(&name, Unit::PerSecond, rate);
            self.add_cpu(&format!("{CONNECTIONS} {name}"), &running, before, 1.0);
        }
    }

    /// Processor time of both ends since `before`, for each of so many units.
    fn add_cpu(&mut self, what: &str, running: &Running, before: Duration, units: f64) {
        if self.pairs {
            let each = (running.cpu() - before).as_secs_f64() / units;
            self.add(&format!("CPU: {what}"), Unit::Seconds, each);
        }
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
