//! Faults and their times: one after another, on a way that a seed chooses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use support::fault_proxy::Proxy;

use crate::content::Random;
use crate::ledger::Ledger;
use crate::world::{PROCESSES, Process, World};

/// Faults by name.
const FAULTS: [&str; 8] = [
    "delay", "slow", "pieces", "refusals", "cut", "reset", "vanish", "garbage",
];
/// Time that a fault which lasts does.
const LASTS: std::ops::Range<usize> = 200..2_500;
/// Pause between two faults, in milliseconds.
const PAUSE: std::ops::Range<usize> = 100..1_500;
/// Time that a killed process is down, in milliseconds.
const DOWN: std::ops::Range<usize> = 0..3_000;

/// Until `over`.
pub(crate) fn go_wrong(world: &World, ledger: &Ledger, mut random: Random, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let (way, proxy) = random.of_list(&world.ways);
        let fault = *random.of_list(&FAULTS);
        // Only sealed bytes show that they were changed.
        let fault = if fault == "garbage" && *way != "tunnels" {
            "reset"
        } else {
            fault
        };
        inflict(proxy, fault, &mut random);
        ledger.done(&format!("{fault} of {way}"));
        // A vanished peer may stay away until an end notices it.
        let lasts = match fault {
            "vanish" => random.chance(50),
            _ => matches!(fault, "delay" | "slow" | "pieces" | "refusals"),
        };
        if lasts {
            sleep(random.within(LASTS));
            proxy.heal();
        }
        sleep(random.within(PAUSE));
    }
    world.heal();
}

fn inflict(proxy: &Proxy, fault: &str, random: &mut Random) {
    let faults = &proxy.faults;
    match fault {
        "delay" => {
            let delay = Duration::from_millis(random.within(5..150) as u64);
            *faults.delay.lock().unwrap() = delay;
        }
        "slow" => faults
            .rate
            .store(random.within(100_000..2_000_000), Ordering::SeqCst),
        "pieces" => faults
            .piece
            .store(random.within(50..2_000), Ordering::SeqCst),
        "refusals" => faults.refuses.store(true, Ordering::SeqCst),
        "cut" => proxy.cut_all(),
        "reset" => proxy.reset_all(),
        "vanish" => proxy.vanish_all(),
        _ => proxy.spoil_all(),
    }
}

/// Kills each process in turn, `rounds` times, spread over `time`.
pub(crate) fn kill_in_turn(world: &World, ledger: &Ledger, random: &mut Random, time: Duration) {
    let began = Instant::now();
    // Each is killed at least once, and as often as it goes to have half a minute between two.
    let rounds = (time.as_secs() / 30 / PROCESSES.len() as u64).max(1) as u32;
    let kills = rounds * PROCESSES.len() as u32;
    for number in 0..kills {
        let process = PROCESSES[number as usize % PROCESSES.len()];
        let due = time * number / kills + time / (2 * kills);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        kill(world, ledger, process, random);
    }
    std::thread::sleep(time.saturating_sub(began.elapsed()));
}

fn kill(world: &World, ledger: &Ledger, process: Process, random: &mut Random) {
    let down = Duration::from_millis(random.within(DOWN) as u64);
    println!("kill -9 of {process}, which is down for {down:.1?}");
    world.kill(process, down);
    ledger.done(&format!("kill -9 of {process}"));
}

fn sleep(millis: usize) {
    std::thread::sleep(Duration::from_millis(millis as u64));
}
