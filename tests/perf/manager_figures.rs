//! `postern start`: what it costs. Printed with `--nocapture`; `POSTERN_BIN` measures another build. The bounds are the
//! promised figures for a released build, and loose for others and for a busy machine.

use std::time::{Duration, Instant};

use support::manager::{Far, Target};
use support::process::processor_time;
use support::quick_setup::Act;
use support::{allowed, free_port};

/// Permitted multiple of what is promised.
const LOOSE: u32 = 10;
/// Time for which idleness is measured.
const IDLE: Duration = Duration::from_secs(3);
const APPS: usize = 20;

#[test]
fn what_it_costs() {
    let (far, target) = (Far::new(), Target::start());
    let begun = Instant::now();
    let manager = far.manager();
    manager.client().get("/api/apps");
    let start = begun.elapsed();
    // The test's watchdog, a shell, is part of it.
    report(
        "start to the first answer",
        start,
        Duration::from_millis(60),
    );
    println!(
        "resident without an application: {} KiB (promised 5120)",
        manager.rss_kib()
    );

    far.quick
        .script((0..APPS).map(|_| Act::json(200, &far.answer(free_port()))));
    let ids: Vec<String> = (0..APPS).map(|_| manager.add(&target.app())).collect();
    let (mut answers, mut connected) = (Vec::new(), Vec::new());
    for (number, id) in ids.iter().enumerate() {
        let mut client = manager.client();
        client.get("/api/version");
        let begun = Instant::now();
        client.send("POST", &format!("/api/connect/{id}"), &[], b"");
        answers.push(begun.elapsed());
        let asked = far.quick.wait_for(number + 1)[number].at;
        manager.wait_status(id, "connected");
        connected.push(asked.elapsed());
    }
    // The first one makes the main tunnel too.
    report(
        "connect to connected, the first",
        connected[0],
        Duration::from_millis(150),
    );
    report(
        "connect to connected, median",
        median(connected),
        Duration::from_millis(20),
    );
    report(
        "answer to a connect, median",
        median(answers),
        Duration::from_millis(10),
    );

    let (before, begun) = (processor_time(manager.pid()), Instant::now());
    std::thread::sleep(IDLE);
    // A clock tick is 10 ms on Linux, for user programs everywhere.
    let spent = processor_time(manager.pid()) - before;
    let spent = spent.as_secs_f64() / begun.elapsed().as_secs_f64();
    println!(
        "idle with {APPS} connected: {:.2} % of a core (promised 0.2)",
        spent * 100.0
    );
    println!(
        "resident with {APPS} connected: {} KiB (promised 8192); {} threads, {} descriptors",
        manager.rss_kib(),
        manager.threads(),
        manager.fds()
    );
    assert!(spent < 0.2, "{spent}");
    assert!(manager.rss_kib() < 8 * 1024 * u64::from(LOOSE));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn report(what: &str, took: Duration, promised: Duration) {
    println!(
        "{what}: {:.1} ms (promised {})",
        took.as_secs_f64() * 1000.0,
        promised.as_millis()
    );
    assert!(took < allowed(promised * LOOSE), "{what}: {took:?}");
}
