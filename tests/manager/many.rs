//! `postern start`: twenty applications that come and go at the same time, and nothing that stays.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::manager::{Far, Manager, Target, visit};
use support::quick_setup::Act;
use support::{TIMEOUT, wait_until};

const APPS: usize = 20;
/// Ports that are assigned in turn: so many that one is free again long before it comes round.
const PORTS: usize = 200;
/// Time for which they come and go; `POSTERN_MANY_SECONDS` is for a longer look.
const TIME: Duration = Duration::from_secs(10);

fn time() -> Duration {
    let wanted = std::env::var("POSTERN_MANY_SECONDS").ok();
    wanted
        .and_then(|text| text.parse().ok())
        .map_or(TIME, Duration::from_secs)
}

/// Ports that the system gives to nobody by itself.
fn ports() -> Vec<u16> {
    let first = 10_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..).filter(free).take(PORTS).collect()
}

#[test]
fn twenty_come_and_go_and_nothing_stays() {
    let (far, target) = (Far::new(), Target::start());
    let ports = ports();
    let answers = ports
        .iter()
        .cycle()
        .take(20_000)
        .map(|port| Act::json(200, &far.answer(*port)));
    far.quick.script(answers);
    let manager = far.manager();
    let ids: Vec<String> = (0..APPS).map(|_| manager.add(&target.app())).collect();
    // The main tunnel stays, so it belongs to what was there before.
    manager.connected(&ids[0]);
    manager.disconnect(&ids[0]);
    let before = settled(&manager, u64::MAX, usize::MAX);

    let (over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for (number, id) in ids.iter().enumerate() {
            let (manager, over, rounds) = (&manager, &over, &rounds);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    round(manager, id, number + rounds.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
        scope.spawn(|| watch(&manager, &over));
        std::thread::sleep(time());
        over.store(true, Ordering::Relaxed);
    });
    for id in &ids {
        manager.disconnect(id);
    }
    let after = settled(&manager, before.0, before.1);
    println!(
        "{} rounds; threads {before:?} before, {after:?} after",
        rounds.load(Ordering::Relaxed)
    );
    assert!(
        rounds.load(Ordering::Relaxed) >= APPS,
        "each came at least once"
    );
    let log = manager.stderr();
    assert!(
        !log.contains("fault of the program") && !log.contains("panicked"),
        "{log}"
    );
    let again = manager.connected(&ids[0]);
    let port = again["site_url"]
        .as_str()
        .unwrap()
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .unwrap();
    let port = port.parse().unwrap();
    wait_until(TIMEOUT, "a visit", || visit(port).is_some());
}

/// One connection of one application, ended at one moment or another.
fn round(manager: &Manager, id: &str, number: usize) {
    manager.connect(id);
    if number.is_multiple_of(3) {
        // In the middle of the work.
        return manager.disconnect(id);
    }
    let result = manager.wait_for(id, "connected", |result| result["status"] != "connecting");
    assert_eq!(result["status"], "connected", "{result}");
    assert_ne!(result["site_url"], "");
    manager.disconnect(id);
    assert_eq!(manager.status(id)["status"], "idle");
}

/// No status may ever be wrong.
fn watch(manager: &Manager, over: &AtomicBool) {
    let mut client = manager.client();
    while !over.load(Ordering::Relaxed) {
        let apps = client.get("/api/apps").data();
        for app in apps.as_array().unwrap() {
            let connection = &app["connection"];
            match app["conn_status"].as_str().unwrap() {
                "idle" => assert_eq!(connection, &Value::Null, "{app}"),
                "connecting" => assert_ne!(connection["step"], Value::Null, "{app}"),
                "connected" => assert!(
                    connection["site_url"] != "" && connection["since"].is_string(),
                    "{app}"
                ),
                other => panic!("{other}: {app}"),
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Threads and descriptors once they are down to what they may be, or have ceased to change.
fn settled(manager: &Manager, threads: u64, fds: usize) -> (u64, usize) {
    let deadline = Instant::now() + TIMEOUT;
    // Connections that wait for another request hold a thread and some descriptors each.
    let spare = |fds: usize| fds.saturating_add(8);
    loop {
        let now = (manager.threads(), manager.fds());
        let is_down = now.0 <= threads.saturating_add(4) && now.1 <= spare(fds);
        if is_down && (threads != u64::MAX || is_still(manager, now)) {
            return now;
        }
        assert!(
            Instant::now() < deadline,
            "{now:?} instead of {threads} threads and {fds} descriptors"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_still(manager: &Manager, now: (u64, usize)) -> bool {
    std::thread::sleep(Duration::from_millis(1500));
    (manager.threads(), manager.fds()) == now
}
