//! A site as users run it: relay, connector, application and load are processes of their own, the request log is on.
//! `cargo bench --locked --profile release --bench site`.
//!
//! By turns with our tunnel alone, and with chisel alone and nginx in front of it where `POSTERN_CHISEL` names the
//! program: requests a second over 64 kept connections and over one, the processor time of both ends for each, and a
//! large download. The application is nginx.

#![allow(clippy::as_conversions, clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "http_load.rs"]
mod http_load;

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use self::http_load::{download, load};

/// Rounds, each of all ways.
const ROUNDS: usize = 5;
const SPAN: Duration = Duration::from_secs(4);
/// Bytes of the large download.
const LARGE: usize = 1 << 30;

/// A process, ended with its owner.
struct Process(Child);

impl Process {
    /// Its output goes to `NAME.out` and `NAME.log` in `dir`.
    fn start(dir: &Path, name: &str, command: &mut Command) -> Process {
        let file = |end: &str| File::create(dir.join(format!("{name}.{end}"))).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("log"));
        command
            .env("POSTERN_HOME", dir.join(name))
            .env("DISPLAY", "");
        Process(
            command
                .spawn()
                .unwrap_or_else(|error| panic!("{command:?}: {error}")),
        )
    }

    /// Processor time, user and system, in steps of 10 ms.
    fn busy(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks = fields.split_whitespace().skip(11).take(2);
        Duration::from_millis(
            10 * ticks
                .map(|ticks| ticks.parse::<u64>().unwrap())
                .sum::<u64>(),
        )
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A way to the application.
struct Way {
    name: &'static str,
    at: SocketAddr,
    host: String,
    /// Both ends: that of visitors, and that of the application.
    ends: Vec<Process>,
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let application = free();
    let _nginx = nginx(
        dir,
        "application",
        &format!(
            "server {{ listen {application}; location / {{ return 200 \"hello, world\\n\"; }} location /large {{ root {}; }} }}",
            dir.display()
        ),
    );
    File::create(dir.join("large"))
        .unwrap()
        .set_len(LARGE as u64)
        .unwrap();
    wait_for(|| std::net::TcpStream::connect(application).is_ok());
    let mut ways = vec![site(dir, application), tunnel(dir, application)];
    if let Some(chisel) = std::env::var_os("POSTERN_CHISEL").map(PathBuf::from) {
        let alone = of_chisel(dir, application, &chisel, "chisel");
        let mut behind = of_chisel(dir, application, &chisel, "nginx and chisel");
        let front = free();
        behind.ends.insert(0, nginx(dir, "front", &format!(
            "upstream tunnel {{ server {}; keepalive 64; }} server {{ listen {front}; location / {{ proxy_pass http://tunnel; \
             proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; }} }}",
            behind.at
        )));
        behind.at = front;
        ways.extend([alone, behind]);
    }
    for way in &ways {
        wait_for(|| std::net::TcpStream::connect(way.at).is_ok());
        load(way.at, &way.request("/"), 64, Duration::from_secs(1)).show(way.name);
    }
    for connections in [64, 1] {
        let mut all: Vec<Vec<[f64; 4]>> = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for (way, figures) in ways.iter().zip(&mut all) {
                figures.push(way.measure(connections));
            }
        }
        println!("{connections} connections, medians of {ROUNDS} rounds:");
        let site = median(&all[0], 0);
        for (way, figures) in ways.iter().zip(&all) {
            println!(
                "  {:<17} {:>7.0} requests/s ({:.2} times as many by the site), p99 {:>6.0} µs, processor {:>5.1} µs at \
                 visitors and {:>5.1} µs at the application",
                way.name,
                median(figures, 0),
                site / median(figures, 0),
                median(figures, 1),
                median(figures, 2),
                median(figures, 3)
            );
        }
    }
    println!("download of 1 GiB, medians of 3:");
    for way in &ways {
        let mut rates: Vec<[f64; 1]> = (0..3)
            .map(|_| [download(way.at, &way.request("/large"), LARGE)])
            .collect();
        rates.sort_by(|one, other| one[0].total_cmp(&other[0]));
        println!("  {:<17} {:>7.0} MB/s", way.name, rates[1][0]);
    }
}

impl Way {
    fn request(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host)
    }

    /// Requests a second, p99 in µs, and µs of processor for each at the two ends.
    fn measure(&self, connections: usize) -> [f64; 4] {
        let busy = || self.ends.iter().map(Process::busy).collect::<Vec<_>>();
        let before = busy();
        let figures = load(self.at, &self.request("/"), connections, SPAN);
        let requests = figures.rate() * SPAN.as_secs_f64();
        let after = busy();
        let each = after
            .iter()
            .zip(&before)
            .map(|(after, before)| (*after - *before).as_secs_f64() * 1e6 / requests);
        let each: Vec<f64> = each.collect();
        let (home, front) = each.split_last().unwrap();
        [
            figures.rate(),
            figures.at(0.99).as_secs_f64() * 1e6,
            front.iter().sum(),
            *home,
        ]
    }
}

/// `postern relay` and `postern http`.
fn site(dir: &Path, application: SocketAddr) -> Way {
    let mut relay = Command::new(postern());
    relay.args([
        "relay",
        "--listen",
        "127.0.0.1:0",
        "--tunnel-listen",
        "127.0.0.1:0",
    ]);
    let relay = Process::start(dir, "relay", &mut relay);
    let at: SocketAddr = said(dir, "relay", "Listening on: ").parse().unwrap();
    let mut share = Command::new(postern());
    share.args([
        "http",
        &application.to_string(),
        "--visible",
        "--no-open",
        "--name",
        "bench",
    ]);
    share.args(["--server", &format!("http://{at}")]);
    let share = Process::start(dir, "share", &mut share);
    let link = said(dir, "share", "http://");
    Way {
        name: "site",
        at,
        host: link.trim_end_matches('/').to_owned(),
        ends: vec![relay, share],
    }
}

/// `postern tunnel-server` and `postern tunnel-client`.
fn tunnel(dir: &Path, application: SocketAddr) -> Way {
    let (server, at) = (free(), free());
    let mut command = Command::new(postern());
    command.args([
        "tunnel-server",
        "--reverse",
        "--listen",
        &server.to_string(),
    ]);
    let far = Process::start(dir, "tunnel-server", &mut command);
    wait_for(|| std::net::TcpStream::connect(server).is_ok());
    let mut command = Command::new(postern());
    command.args([
        "tunnel-client",
        &format!("http://{server}"),
        &format!("R:{at}:{application}"),
    ]);
    let near = Process::start(dir, "tunnel-client", &mut command);
    Way {
        name: "our tunnel",
        at,
        host: at.to_string(),
        ends: vec![far, near],
    }
}

fn of_chisel(dir: &Path, application: SocketAddr, chisel: &Path, name: &'static str) -> Way {
    let (server, at) = (free(), free());
    let mut command = Command::new(chisel);
    command.args([
        "server",
        "--reverse",
        "--host",
        "127.0.0.1",
        "--port",
        &server.port().to_string(),
    ]);
    let far = Process::start(dir, &format!("{name} server"), &mut command);
    wait_for(|| std::net::TcpStream::connect(server).is_ok());
    let mut command = Command::new(chisel);
    command.args([
        "client",
        &format!("http://{server}"),
        &format!("R:{at}:{application}"),
    ]);
    let near = Process::start(dir, &format!("{name} client"), &mut command);
    Way {
        name,
        at,
        host: at.to_string(),
        ends: vec![far, near],
    }
}

fn nginx(dir: &Path, name: &str, servers: &str) -> Process {
    let own = dir.join(format!("nginx-{name}"));
    std::fs::create_dir(&own).unwrap();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {}/{kind};", own.display()));
    let file = format!(
        "daemon off; worker_processes 1; pid {}/pid; error_log stderr; events {{ worker_connections 4096; }} http {{ access_log \
         off; sendfile on; keepalive_requests 1000000000; {} {servers} }}",
        own.display(),
        temporary.join(" ")
    );
    std::fs::write(own.join("nginx.conf"), file).unwrap();
    let mut command = Command::new("nginx");
    command
        .arg("-p")
        .arg(&own)
        .arg("-c")
        .arg(own.join("nginx.conf"));
    // One process: its worker would outlive it.
    command.args(["-g", "master_process off;"]);
    Process::start(dir, &format!("nginx {name}"), &mut command)
}

/// Text after `prefix` in the output of one, once it is there.
fn said(dir: &Path, name: &str, prefix: &str) -> String {
    let mut found = None;
    wait_for(|| {
        let text = std::fs::read_to_string(dir.join(format!("{name}.out"))).unwrap();
        let mut lines = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        found = lines.find_map(|line| Some(line.strip_prefix(prefix)?.trim().to_owned()));
        found.is_some()
    });
    found.unwrap()
}

fn postern() -> PathBuf {
    let chosen = std::env::var_os("POSTERN_BIN").map(PathBuf::from);
    chosen.unwrap_or_else(|| env!("CARGO_BIN_EXE_postern").into())
}

fn free() -> SocketAddr {
    ([127, 0, 0, 1], support::free_port()).into()
}

fn wait_for(mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < until, "it does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn median<const N: usize>(of: &[[f64; N]], at: usize) -> f64 {
    let mut all: Vec<f64> = of.iter().map(|figures| figures[at]).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
