//! How long an application takes to be connected, from the call to `connected`, through a relay on this machine: the
//! first one of a manager, which makes the main tunnel too, and the median of those that follow. `POSTERN_BIN` measures
//! another build than cargo's.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring program: a panic is how it reports"
)]

use std::time::{Duration, Instant};

use serde_json::json;
use support::manager::{Manager, Target};
use support::relay::Relay;

/// Connections after the first.
const RUNS: usize = 21;
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
