//! The gateway's memory: bounded, whatever passes and whoever asks. The tests take turns, as they
//! measure the process.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postern::http::Limits;
use support::gateway::{Relay, TIMEOUT, application};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a head and leaves the rest.
fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    head
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let digits = line.unwrap().split_whitespace().nth(1).unwrap();
    digits.parse().unwrap()
}

#[test]
fn large_bodies_pass_both_ways_in_constant_memory() {
    let _turn = turn();
    const SIZE: usize = 256 << 20;
    let relay = Relay::start();
    let port = application(|mut stream| {
        let head = read_head(&mut stream);
        let mut piece = vec![0; 1 << 16];
        if head.starts_with(b"POST") {
            let mut left = SIZE;
            while left > 0 {
                left -= stream.read(&mut piece).unwrap();
            }
            stream.write_all(OK).unwrap();
        } else {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            for _ in 0..SIZE / piece.len() {
                stream.write_all(&piece).unwrap();
            }
        }
    });
    let shared = relay.share("shop", port);
    let before = resident_kib();
    let mut client = relay.connect();
    let length = format!("Content-Length: {SIZE}\r\n");
    client.send(relay.request("POST", "shop", "/up", &length).as_bytes());
    let piece = vec![1; 1 << 16];
    for _ in 0..SIZE / piece.len() {
        client.send(&piece);
    }
    assert_eq!(client.answer(false).unwrap().status, 200);
    client.send(relay.request("GET", "shop", "/down", "").as_bytes());
    let mut received = 0;
    let mut end = Vec::new();
    let mut piece = vec![0; 1 << 16];
    while !end.ends_with(b"\r\n0\r\n\r\n") {
        let read = client.socket.read(&mut piece).unwrap();
        assert!(read > 0, "cut after {received}");
        received += read;
        end.extend_from_slice(&piece[read.saturating_sub(7)..read]);
        end.drain(..end.len().saturating_sub(7));
    }
    assert!(received > SIZE);
    // Windows and buffers of two ends, in one process: far below what was moved.
    assert!(
        resident_kib() < before + 64 * 1024,
        "{} KiB",
        resident_kib()
    );
    assert!(shared.site.stats.bytes_out.load(Ordering::SeqCst) > SIZE as u64);
}

#[test]
fn a_visitor_who_never_reads_is_bounded_in_time_and_memory() {
    let _turn = turn();
    let mut limits = Limits::default();
    limits.write_stall = Duration::from_millis(500);
    let relay = Relay::start_with(limits, |_| {});
    let (told, heard) = channel();
    let port = application(move |mut stream| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while stream.write_all(&[0; 1 << 16]).is_ok() {}
        let _ = told.send("ended");
    });
    let _shared = relay.share("shop", port);
    let before = resident_kib();
    let mut client = relay.connect();
    client.send(relay.request("GET", "shop", "/", "").as_bytes());
    assert_eq!(heard.recv_timeout(TIMEOUT), Ok("ended"));
    assert!(resident_kib() < before + 48 * 1024);
    drop(client);
}

#[test]
fn ten_thousand_unknown_names_leave_nothing_behind() {
    let _turn = turn();
    let relay = Relay::start();
    let mut client = relay.connect();
    let ask = |client: &mut support::gateway::Client, number: usize| {
        client.send(
            relay
                .request("GET", &format!("n{number}"), "/", "")
                .as_bytes(),
        );
        assert_eq!(client.answer(false).unwrap().status, 404);
    };
    (0..1000).for_each(|number| ask(&mut client, number));
    let before = resident_kib();
    (0..10_000).for_each(|number| ask(&mut client, number));
    assert!(resident_kib() < before + 4 * 1024);
}
