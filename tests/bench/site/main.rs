//! A site as users run it: relay, connector, application and load are processes of their own, and the request log is
//! on. `cargo bench --locked --profile release --bench site`.
//!
//! The runs alternate with our tunnel alone. If `POSTERN_CHISEL` names the program, they also alternate with chisel
//! alone and with nginx in front of it. First come requests a second over 64 kept connections and over one, and a large
//! download, with nginx as the application. Then come large uploads, WebSockets and event streams, with this program as
//! the application, in a process of its own. The requests, downloads and uploads are repeated with tunnels through the
//! URL of one nginx, for ours and for chisel's. Last comes a shared database: small queries through the site and at the
//! web client itself. Each table has medians, and the processor time of both ends. `BENCH_ROWS` (parts of titles,
//! separated by commas) limits the rows.

#![allow(clippy::as_conversions, clippy::unwrap_used, clippy::indexing_slicing)]

mod application;
mod visitors;
mod ways;

#[path = "../http_load.rs"]
mod http_load;

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use support::database::Options;
use support::process::{Process, processor_time};
use support::{Database, Postern, TIMEOUT, wait_until};

use self::http_load::{download, load};
use self::ways::Way;

/// Bytes of the large download.
const LARGE: usize = 1 << 30;
/// Connections at once, where there are several.
const MANY: usize = 64;
/// Connections of a shared database's visitor at once: no more of them are served.
const QUERIES: usize = 4;

fn main() {
    if application::is_one() {
        return application::run();
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    pages(dir);
    streams(dir);
    by_url(dir);
    database(dir);
}

/// Measures requests and downloads, of which nginx is the application.
fn pages(dir: &Path) {
    let (_nginx, application) = pages_of_nginx(dir, "application");
    let ways = ways::all(&dir.join("pages"), application);
    for connections in [MANY, 1] {
        let title = format!("requests over {connections} kept connections");
        let table = Table {
            title: &title,
            units: "requests",
            rounds: 5,
        };
        if connections == MANY && table.is_wanted() {
            for way in &ways {
                load(way.at, &way.get("/"), MANY, Duration::from_secs(1)).show(way.name);
            }
        }
        table.measure(&ways, |way| {
            let span = Duration::from_secs(4);
            load(way.at, &way.get("/"), connections, span).into()
        });
    }
    Table {
        title: "download of 1 GiB",
        units: "MB",
        rounds: 3,
    }
    .measure(&ways, |way| {
        let rate = download(way.at, &way.get("/large"), LARGE);
        Measured::of_bytes(LARGE, rate)
    });
}

/// nginx as the application: a short answer, and a large file.
fn pages_of_nginx(dir: &Path, name: &str) -> (Process, SocketAddr) {
    let application = ways::free();
    let root = dir.display();
    let servers = format!(
        "server {{ listen {application}; location / {{ return 200 \"hello, world\\n\"; }} location /large {{ root {root}; }} }}"
    );
    let nginx = ways::nginx(dir, name, &servers);
    let large = File::create(dir.join("large"));
    large.unwrap().set_len(LARGE as u64).unwrap();
    (nginx, application)
}

/// Measures uploads, WebSockets and event streams, of which this program is the application.
fn streams(dir: &Path) {
    let (_application, at) = application::start(dir);
    let ways = ways::all(&dir.join("streams"), at);
    let span = Duration::from_secs(3);
    Table {
        title: "upload of 512 MiB",
        units: "MB",
        rounds: 3,
    }
    .measure(&ways, |way| visitors::upload(way, LARGE / 2));
    Table {
        title: "messages back and forth over 64 WebSockets",
        units: "messages",
        rounds: 3,
    }
    .measure(&ways, |way| visitors::messages(way, MANY, span));
    Table {
        title: "events over 64 event streams",
        units: "events",
        rounds: 3,
    }
    .measure(&ways, |way| visitors::events(way, MANY, span));
}

/// Measures tunnels that come in through nginx, as where only port 443 gets out.
fn by_url(dir: &Path) {
    let (_application, at) = application::start(dir);
    let (_nginx, application) = pages_of_nginx(dir, "application-by-url");
    let ways = ways::by_url(&dir.join("by-url"), application);
    Table {
        title: "requests by the URL over 64 kept connections",
        units: "requests",
        rounds: 5,
    }
    .measure(&ways, |way| {
        load(way.at, &way.get("/"), MANY, Duration::from_secs(4)).into()
    });
    Table {
        title: "download of 1 GiB by the URL",
        units: "MB",
        rounds: 5,
    }
    .measure(&ways, |way| {
        let rate = download(way.at, &way.get("/large"), LARGE);
        Measured::of_bytes(LARGE, rate)
    });
    let ways = ways::by_url(&dir.join("by-url-up"), at);
    Table {
        title: "upload of 512 MiB by the URL",
        units: "MB",
        rounds: 5,
    }
    .measure(&ways, |way| visitors::upload(way, LARGE / 2));
}

/// Measures a database shared by `postern mysql --share`, and the same web client without a tunnel.
fn database(dir: &Path) {
    let table = Table {
        title: "queries of a shared database over 4 connections",
        units: "queries",
        rounds: 3,
    };
    if !table.is_wanted() {
        return;
    }
    let db = Database::start(Options::default());
    let (relay, at) = ways::relay(dir);
    let server = format!("http://{at}");
    let postern = Postern::on(&db, &["--share", "--visible", "--server", &server]);
    let link = || postern.stdout().strip_suffix('\n').map(str::to_owned);
    wait_until(TIMEOUT, "the link", || link().is_some());
    let host = link().unwrap().replace("http://", "");
    let ends = vec![relay.pid(), postern.pid()];
    let through = Way::new("site", at, &host, ends);
    let local = postern.authority();
    let own = local.parse().unwrap();
    let alone = Way::new("web client", own, local, vec![postern.pid()]);
    table.measure(&[through, alone], |way| {
        visitors::queries(way, QUERIES, Duration::from_secs(3))
    });
}

/// One measurement of one way.
struct Measured {
    amount: f64,
    rate: f64,
    /// Longest wait, without the slowest hundredth; none if nothing was waited for.
    p99: Option<Duration>,
}

impl Measured {
    fn of_bytes(bytes: usize, rate: f64) -> Measured {
        Measured {
            amount: bytes as f64 / 1e6,
            rate,
            p99: None,
        }
    }
}

impl From<http_load::Figures> for Measured {
    fn from(figures: http_load::Figures) -> Measured {
        Measured {
            amount: figures.count(),
            rate: figures.rate(),
            p99: Some(figures.at(0.99)),
        }
    }
}

/// A measurement of all ways by turns.
struct Table<'a> {
    title: &'a str,
    /// Name of the counted things.
    units: &'a str,
    rounds: usize,
}

impl Table<'_> {
    fn is_wanted(&self) -> bool {
        let named = std::env::var("BENCH_ROWS").ok();
        named.is_none_or(|named| named.split(',').any(|part| self.title.contains(part)))
    }

    /// Prints a line of medians for each way; the first is the site.
    fn measure(&self, ways: &[Way], measure: impl Fn(&Way) -> Measured) {
        if !self.is_wanted() {
            return;
        }
        let mut all: Vec<Vec<[f64; 4]>> = vec![Vec::new(); ways.len()];
        let began = Instant::now();
        for _ in 0..self.rounds {
            for (way, figures) in ways.iter().zip(&mut all) {
                figures.push(with_processor_time(way, &measure));
            }
        }
        let Table { title, units, .. } = self;
        let took = began.elapsed().as_secs();
        println!("{title}, medians of {} ({took} s):", self.rounds);
        let site = median(&all[0], 0);
        for (way, figures) in ways.iter().zip(&all) {
            let [rate, p99, front, home] = std::array::from_fn(|at| median(figures, at));
            let p99 = match p99 {
                0.0 => String::new(),
                p99 => format!("p99 {p99:>6.0} µs, "),
            };
            println!(
                "  {:<21} {rate:>8.0} {units}/s ({:.2} times as many by the site), {p99}processor {front:>7.2} µs at visitors \
                 and {home:>7.2} µs at the application for each",
                way.name,
                site / rate,
            );
        }
    }
}

/// Returns the rate a second, p99 in µs, and µs of processor for each at the two ends.
fn with_processor_time(way: &Way, measure: impl Fn(&Way) -> Measured) -> [f64; 4] {
    let busy = || way.ends.iter().map(|pid| processor_time(*pid));
    let before: Vec<Duration> = busy().collect();
    let measured = measure(way);
    let each = busy()
        .zip(before)
        .map(|(after, before)| (after - before).as_secs_f64() * 1e6 / measured.amount);
    let each: Vec<f64> = each.collect();
    let (home, front) = each.split_last().unwrap();
    let p99 = measured.p99.unwrap_or_default().as_secs_f64() * 1e6;
    [
        measured.rate,
        p99,
        front.iter().fold(0.0, |all, one| all + one),
        *home,
    ]
}

fn median<const N: usize>(of: &[[f64; N]], at: usize) -> f64 {
    let mut all: Vec<f64> = of.iter().map(|figures| figures[at]).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
