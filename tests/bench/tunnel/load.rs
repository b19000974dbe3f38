//! The load of visitors.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::peers::Running;
use crate::targets::{PIECE, Targets};

/// Limit for anything that is waited for.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn visit(port: u16) -> TcpStream {
    let visitor = TcpStream::connect(("127.0.0.1", port)).unwrap();
    visitor.set_nodelay(true).unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    visitor.set_write_timeout(Some(TIMEOUT)).unwrap();
    visitor
}

/// MB/s that visitors get from a target that floods, after a quarter of the span to get going.
pub(crate) fn download(running: &Running, _: &Targets, streams: usize, span: Duration) -> f64 {
    let read = AtomicU64::new(0);
    let visitor = |stop: &AtomicBool| {
        let (mut visitor, mut buffer) = (visit(running.flood), vec![0; PIECE]);
        while !stop.load(Ordering::Relaxed) {
            let count = visitor.read(&mut buffer).unwrap();
            assert!(count > 0, "the download was cut");
            read.fetch_add(count as u64, Ordering::Relaxed);
        }
    };
    rate(streams, span, &visitor, &read)
}

/// MB/s that a target takes from visitors, measured likewise.
pub(crate) fn upload(running: &Running, targets: &Targets, streams: usize, span: Duration) -> f64 {
    let visitor = |stop: &AtomicBool| {
        let (mut visitor, piece) = (visit(running.sink), vec![1; PIECE]);
        while !stop.load(Ordering::Relaxed) {
            visitor.write_all(&piece).unwrap();
        }
    };
    rate(streams, span, &visitor, &targets.taken)
}

fn rate(
    streams: usize,
    span: Duration,
    visitor: &(impl Fn(&AtomicBool) + Sync),
    counter: &AtomicU64,
) -> f64 {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..streams {
            scope.spawn(|| visitor(&stop));
        }
        std::thread::sleep(span / 4);
        let (began, before) = (Instant::now(), counter.load(Ordering::Relaxed));
        std::thread::sleep(span * 3 / 4);
        let moved = counter.load(Ordering::Relaxed) - before;
        let rate = moved as f64 / began.elapsed().as_secs_f64() / 1e6;
        stop.store(true, Ordering::Relaxed);
        rate
    })
}

/// A download of its own shows when the tunnel is busy with the other.
pub(crate) fn wait_for_load(running: &Running) {
    let mut visitor = visit(running.flood);
    let mut buffer = vec![0; PIECE];
    let mut left = 8 * PIECE;
    while left > 0 {
        left = left.saturating_sub(visitor.read(&mut buffer).unwrap());
    }
}

/// Round trips of 64 bytes, sorted.
pub(crate) fn echoes(port: u16, count: usize) -> Vec<Duration> {
    let mut visitor = visit(port);
    let mut bytes = [7; 64];
    let mut trips: Vec<Duration> = (0..count)
        .map(|_| {
            let began = Instant::now();
            visitor.write_all(&bytes).unwrap();
            visitor.read_exact(&mut bytes).unwrap();
            began.elapsed()
        })
        .collect();
    trips.sort();
    trips
}

pub(crate) fn at(sorted: &[Duration], share: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// Connections a second of so many visitors at once, each with a byte to the target and back.
pub(crate) fn connections(port: u16, visitors: usize, count: usize) -> f64 {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..visitors {
            scope.spawn(|| {
                for _ in 0..count / visitors {
                    let mut visitor = visit(port);
                    visitor.write_all(b"x").unwrap();
                    visitor.read_exact(&mut [0]).unwrap();
                }
            });
        }
    });
    count as f64 / began.elapsed().as_secs_f64()
}
