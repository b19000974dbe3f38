//! Speed of a long answer from the handler to the client. Prints the figures (`--nocapture`); the bound is loose, so
//! that a debug build on a busy machine holds it.

use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::http_fixture::{get, start};
use postern::http::{Limits, Request, ResponseHead};

const PIECE: usize = 64 * 1024;
const PIECES: usize = 2880; // 180 MiB

#[test]
fn a_long_answer_passes_through_fast() {
    let server = start(Limits::default(), |request: Request| {
        let mut stream = request.stream(ResponseHead::new(200)).unwrap();
        let piece = [b'x'; PIECE];
        for _ in 0..PIECES {
            stream.write_all(&piece).unwrap();
        }
        stream.finish().unwrap();
    });
    let mut client = server.connect();
    let began = Instant::now();
    client.send(&get(server.addr, "/"));
    let mut buffer = vec![0; 256 * 1024];
    let mut total = 0;
    let mut tail = Vec::new();
    while !tail.ends_with(b"\r\n0\r\n\r\n") {
        let read = client.socket.read(&mut buffer).unwrap();
        assert!(read > 0, "broken after {total} bytes");
        total += read;
        tail.extend_from_slice(&buffer[read.saturating_sub(8)..read]);
        tail.drain(..tail.len().saturating_sub(8));
    }
    let elapsed = began.elapsed();
    assert!(total > PIECE * PIECES);
    let connection = cpu_of("http-conn");
    println!(
        "{} MiB in {elapsed:?}: {:.0} MiB/s; CPU connection {connection:?}, worker {:?}",
        total >> 20,
        total as f64 / elapsed.as_secs_f64() / 1048576.0,
        cpu_of("http-worker"),
    );
    assert!(elapsed < support::allowed(Duration::from_secs(20)));
}

/// Time on a processor of all threads of a name, to the kernel's nanosecond.
fn cpu_of(name: &str) -> Duration {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let task = task.unwrap().path();
        if fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name) {
            let stat = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
            let run = stat.split(' ').next().unwrap_or_default();
            sum += run.parse::<u64>().unwrap_or_default();
        }
    }
    Duration::from_nanos(sum)
}
