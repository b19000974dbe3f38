//! The gateway's figures, with its tunnel and an application in this process, on loopback:
//! `cargo bench --locked --profile release --bench gateway`.
//!
//! Requests a second over 64 kept connections, through the tunnel alone and through the gateway in front
//! of it, by turns; the latency that gateway and tunnel add to one, and a large download. Load and
//! application are one thread each, so that the figures are the gateway's. The request log is on, to a file.
//! With `--hold SECONDS`, 200 visitors ask for that long, and 2,000 idle ones are added; for a profiler,
//! `--load` asks the gateway alone, and `--tunnel` the tunnel. `--idle COUNT` has so many connections ask
//! once, and tells what they hold while they are kept.

#![allow(clippy::as_conversions, clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "http_load.rs"]
mod http_load;

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use postern::http::Limits;
use support::gateway::{Relay, find};

use self::http_load::{Waiting, download, load};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nhello, world\n";
const CONNECTIONS: usize = 64;
const SPAN: Duration = Duration::from_secs(5);
/// Set where stderr is the log.
const LOGGED: &str = "POSTERN_BENCH_LOGGED";
/// Pairs of tunnel and gateway.
const PAIRS: usize = 5;
/// Bytes of the large download.
const LARGE: usize = 1 << 30;

/// The request log is on, as the relay writes it, to a file that has no name any more: this program runs
/// once more with that as its stderr. Its exit status, where it has run.
fn logged() -> Option<i32> {
    if std::env::var_os(LOGGED).is_some() {
        postern::cli::log_as_relay();
        return None;
    }
    let path = std::env::temp_dir().join(format!("postern-bench-{}.log", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).append(true).create_new(true).open(&path);
    let file = file.unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(std::env::args_os().skip(1)).env(LOGGED, "1");
    let mut kept = file.try_clone().unwrap();
    let status = again.stderr(file).status().unwrap();
    if !status.success() {
        // A panic is how it reports: that is the last it has said.
        let from = kept.metadata().unwrap().len().saturating_sub(4096);
        kept.seek(SeekFrom::Start(from)).unwrap();
        std::io::copy(&mut kept, &mut std::io::stderr()).unwrap();
    }
    Some(status.code().unwrap_or(1))
}

fn main() {
    if let Some(code) = logged() {
        std::process::exit(code);
    }
    let mut limits = Limits::default();
    limits.connections = 4096;
    let relay = Relay::start_with(limits, |_| {});
    let small = small_server();
    let _small = relay.share("small", small.port());
    let (tunnel, _tunnel) = relay.forward(small.port());
    let large = large_server();
    let _large = relay.share("large", large.port());

    let arguments: Vec<String> = std::env::args().collect();
    let hold = arguments.iter().position(|argument| argument == "--hold");
    if let Some(seconds) = hold.and_then(|at| arguments.get(at + 1)) {
        return hold_for(&relay, Duration::from_secs(seconds.parse().unwrap()));
    }
    let request = relay.request("GET", "small", "/", "");
    for (option, to) in [("--load", relay.addr), ("--tunnel", tunnel)] {
        if arguments.iter().any(|argument| argument == option) {
            return load(to, &request, CONNECTIONS, SPAN).show("64 connections");
        }
    }
    let idle = arguments.iter().position(|argument| argument == "--idle");
    if let Some(count) = idle.and_then(|at| arguments.get(at + 1)) {
        return hold_idle(relay.addr, &request, count.parse().unwrap());
    }
    in_turn(tunnel, relay.addr, &request);
    let direct = load(small, &request, 1, Duration::from_secs(2));
    let through = load(relay.addr, &request, 1, Duration::from_secs(2));
    direct.show("1 connection, direct");
    through.show("1 connection");
    let added = through.at(0.5).saturating_sub(direct.at(0.5));
    println!("added latency: p50 {added:?}");
    for _ in 0..3 {
        println!(
            "download of 1 GiB: {:.0} MB/s",
            download(relay.addr, &relay.request("GET", "large", "/", ""), LARGE)
        );
    }
    println!(
        "the same without gateway and tunnel: {:.0} MB/s",
        download(large, &relay.request("GET", "large", "/", ""), LARGE)
    );
}

/// The tunnel alone and the gateway before it, by turns.
fn in_turn(tunnel: SocketAddr, gateway: SocketAddr, request: &str) {
    for to in [tunnel, gateway] {
        load(to, request, CONNECTIONS, Duration::from_secs(1));
    }
    let mut rates = Vec::new();
    for _ in 0..PAIRS {
        let pair = [("tunnel alone", tunnel), ("gateway", gateway)].map(|(what, to)| {
            let figures = load(to, request, CONNECTIONS, SPAN);
            figures.show(&format!("64 connections, {what}"));
            figures.rate()
        });
        rates.push(pair);
    }
    let median = |of: &dyn Fn(&[f64; 2]) -> f64| {
        let mut all: Vec<f64> = rates.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    println!(
        "median of {PAIRS} pairs: tunnel alone {:.0} requests/s, gateway {:.0}, {:.2} of it",
        median(&|pair| pair[0]),
        median(&|pair| pair[1]),
        median(&|pair| pair[1] / pair[0])
    );
}

/// Connections that were asked once and are kept: resident memory and threads, before and with them.
fn hold_idle(to: SocketAddr, request: &str, count: usize) {
    load(to, request, 1, Duration::from_millis(200));
    let held = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let number = |name: &str| -> usize {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let digits = line.unwrap().split_whitespace().next().unwrap();
            digits.parse().unwrap()
        };
        (number("VmRSS:"), number("Threads:"))
    };
    let before = held();
    let mut kept: Vec<TcpStream> = Vec::new();
    for _ in 0..count {
        let mut socket = TcpStream::connect(to).unwrap();
        for _ in 0..2 {
            socket.write_all(request.as_bytes()).unwrap();
            let read = socket.read(&mut [0; 4096]).unwrap();
            assert!(read > 0);
        }
        kept.push(socket);
    }
    std::thread::sleep(Duration::from_secs(2));
    let after = held();
    println!(
        "{} kept connections: {} KiB and {} threads before, {} KiB and {} threads with them",
        kept.len(),
        before.0,
        before.1,
        after.0,
        after.1
    );
}

/// 200 visitors, then the same beside 2,000 who say nothing or half a head.
fn hold_for(relay: &Relay, time: Duration) {
    let request = relay.request("GET", "small", "/", "");
    load(relay.addr, &request, 200, time).show("200 connections");
    let mut idle = Vec::new();
    for number in 0..2000 {
        let mut socket = TcpStream::connect(relay.addr).unwrap();
        if number % 2 == 0 {
            socket.write_all(b"GET / HTTP/1.1\r\nHost: small").unwrap();
        }
        idle.push(socket);
    }
    load(relay.addr, &request, 1, Duration::from_secs(10)).show("1 beside 2,000 idle");
}

/// Answers every head with the same; one thread for all.
fn small_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::Builder::new()
        .name("application".into())
        .spawn(move || {
            let waiting = Waiting::new();
            waiting.add(&listener, 0);
            let mut sockets: HashMap<usize, TcpStream> = HashMap::new();
            for next in 1.. {
                for number in waiting.readable() {
                    if number == 0 {
                        let (socket, _) = listener.accept().unwrap();
                        socket.set_nodelay(true).unwrap();
                        waiting.add(&socket, next);
                        sockets.insert(next, socket);
                    } else if sockets
                        .get_mut(&number)
                        .is_some_and(|socket| !answer(socket))
                    {
                        sockets.remove(&number);
                    }
                }
            }
        })
        .unwrap();
    address
}

fn answer(socket: &mut TcpStream) -> bool {
    let mut buffer = [0; 4096];
    match socket.read(&mut buffer) {
        Ok(read) if find(&buffer[..read], b"\r\n\r\n").is_some() => {
            socket.write_all(ANSWER).is_ok()
        }
        _ => false,
    }
}

fn large_server() -> SocketAddr {
    let port = support::gateway::application(|mut socket| {
        let piece = vec![7; 1 << 17];
        let _ = socket.read(&mut [0; 4096]);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n");
        let _ = socket.write_all(head.as_bytes());
        for _ in 0..LARGE / piece.len() {
            if socket.write_all(&piece).is_err() {
                return;
            }
        }
    });
    ([127, 0, 0, 1], port).into()
}
