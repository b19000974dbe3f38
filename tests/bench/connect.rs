//! Time to connect an application, from the call to `connected`, through a relay on this machine: for the
//! first one of a manager, which makes the main tunnel too, and the median of those that follow. Then the time from the
//! command `postern http PORT` to its printed link, alone and through a running `postern start`. `POSTERN_BIN` measures
//! another build than cargo's.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring program: a panic is how it reports"
)]

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use support::Home;
use support::manager::{Manager, Target, environment};
use support::relay::Relay;

/// Connections after the first.
const RUNS: usize = 21;
/// Commands of each kind.
const COMMANDS: usize = 11;
/// Pause between two looks at the status.
const LOOK: Duration = Duration::from_micros(300);

fn main() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    for protocol in ["http", "tcp"] {
        let manager = Manager::start(&["--server", &relay.url()]);
        let id = manager.add(&json!({"protocol": protocol, "port": target.port()}));
        let first = connect(&manager, &id);
        let mut runs: Vec<Duration> = (0..RUNS).map(|_| connect(&manager, &id)).collect();
        runs.sort_unstable();
        println!(
            "connect to connected, {protocol}: the first {first:.1?}; then the median {:.1?}, the fastest {:.1?} of {RUNS}",
            runs[RUNS / 2],
            runs[0]
        );
    }
    drop(relay);
    let home = Arc::new(Home::new());
    link_row("alone", &home, &target);
    let _manager = Manager::start_in(&home, &[]);
    link_row("through a running start", &home, &target);
}

fn link_row(how: &str, home: &Home, target: &Target) {
    let mut runs: Vec<Duration> = (0..COMMANDS).map(|_| link(home, target.port())).collect();
    let first = runs[0];
    runs.sort_unstable();
    println!(
        "'postern http PORT' to its link, {how}: the first {first:.1?}; the median {:.1?}, the fastest {:.1?} of {COMMANDS}",
        runs[COMMANDS / 2],
        runs[0]
    );
}

fn link(home: &Home, port: u16) -> Duration {
    let begun = Instant::now();
    let mut command = home.command(&["http", &port.to_string()]);
    let command = command.envs(environment(home.path()));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let taken = begun.elapsed();
    assert!(line.starts_with("http://"), "{line:?}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    taken
}

fn connect(manager: &Manager, id: &str) -> Duration {
    let mut client = manager.client();
    client.get("/api/version");
    let begun = Instant::now();
    let answer = client.send("POST", &format!("/api/connect/{id}"), &[], b"");
    assert_eq!(answer.status(), 200, "{}", answer.text());
    loop {
        let status = client.get(&format!("/api/status/{id}")).data();
        if status["status"] == "connected" {
            break;
        }
        assert_eq!(status["status"], "connecting", "{status}");
        std::thread::sleep(LOOK);
    }
    let taken = begun.elapsed();
    manager.disconnect(id);
    taken
}
