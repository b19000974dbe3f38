//! Throughput of a link on loopback: `cargo test --locked --release --test perf ws_speed -- --nocapture`.

use std::thread;
use std::time::Instant;

use crate::ws_fixture::*;

/// Bytes of one measurement: few where the compiler did not optimise.
const TOTAL: usize = if cfg!(debug_assertions) {
    64 << 20
} else {
    4 << 30
};

/// MB/s of one direction.
fn one_way(secure: bool, up: bool, size: usize) -> f64 {
    let (client, server) = link(secure);
    let ((idle, writer), (mut reader, other)) = if up {
        (client, server)
    } else {
        (server, client)
    };
    let begun = Instant::now();
    let sending = thread::spawn(move || {
        let mut payload = vec![7; size];
        for _ in 0..TOTAL / size {
            writer.write(&mut payload).unwrap();
        }
    });
    let mut space = vec![0; 64 << 10];
    let mut received = 0;
    while received < TOTAL / size * size {
        received += reader.read(&mut space).unwrap();
    }
    sending.join().unwrap();
    drop((idle, other));
    received as f64 / 1e6 / begun.elapsed().as_secs_f64()
}

#[test]
fn throughput() {
    for secure in [false, true] {
        for (up, direction) in [(true, "client to server"), (false, "server to client")] {
            for size in [32 << 10, 64 << 10] {
                let speed = one_way(secure, up, size);
                println!(
                    "{} {direction} {} KiB: {speed:.0} MB/s",
                    if secure { "wss" } else { "ws" },
                    size >> 10
                );
                assert!(speed > 1.0);
            }
        }
    }
}
