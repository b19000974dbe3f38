//! Speed at which one core seals and opens, without any socket; printed, and held to a low bound.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::ssh_fixture::{Pair, pattern};
use postern::tunnel::ssh::{Cipher, Config, Event, KeyKind};

/// Least rate in any build, in bytes a second: only a blunder is slower.
const LEAST_RATE: f64 = 5e6;

#[test]
fn each_ciphers_throughput() {
    let bytes = if cfg!(debug_assertions) {
        8 << 20
    } else {
        1 << 30
    };
    for cipher in Cipher::preferred() {
        let mut config = Config::default();
        config.ciphers = vec![cipher];
        let mut pair = Pair::new(&config, &config, KeyKind::Ed25519);
        pair.log_in(usize::MAX);
        let (sealing, opening) = transfer(&mut pair, bytes);
        let rate = |time: Duration| bytes as f64 / time.as_secs_f64();
        let [out, inward] = [rate(sealing), rate(opening)];
        eprintln!(
            "{:32} queue and seal {:5.2} GB/s, open {:5.2} GB/s",
            cipher.name(),
            out / 1e9,
            inward / 1e9
        );
        let least = LEAST_RATE / support::slowdown();
        assert!(out > least && inward > least);
    }
}

/// The time that the server spends on sending `bytes`, and the client on receiving them.
fn transfer(pair: &mut Pair, bytes: usize) -> (Duration, Duration) {
    let (up, down) = pair.channel();
    let data = pattern(64 * 1024);
    let mut wire = Vec::new();
    let (mut sealing, mut opening) = (Duration::ZERO, Duration::ZERO);
    let mut got = 0;
    while got < bytes {
        let start = Instant::now();
        let _ = pair.server.session.borrow_mut().write(down, &data).unwrap();
        while pair
            .server
            .writer
            .fill(|| pair.server.session.borrow_mut())
            .unwrap()
        {
            let output = pair.server.writer.output();
            wire.extend_from_slice(output);
            let count = output.len();
            pair.server.writer.advance(count);
        }
        sealing += start.elapsed();
        let start = Instant::now();
        // The buffer takes all of it at once only when it has grown.
        let mut fed = 0;
        while fed < wire.len() {
            fed += pair.client.reader.feed(&wire[fed..]);
            while let Some(event) = pair
                .client
                .reader
                .next(start, || pair.client.session.borrow_mut())
                .unwrap()
            {
                if let Event::Data { data, .. } = event {
                    got += black_box(data).len();
                    let count = data.len();
                    let mut session = pair.client.session.borrow_mut();
                    session.consume(up, count, Instant::now()).unwrap();
                }
            }
        }
        wire.clear();
        opening += start.elapsed();
        let adjust = pair.client.send(9);
        pair.server.incoming.extend(adjust);
        pair.server.receive(usize::MAX, start);
    }
    (sealing, opening)
}
