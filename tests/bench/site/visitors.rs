//! Visitors: uploads, messages, events, queries.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use support::gateway::find;
use support::{TIMEOUT, websocket};

use crate::Measured;
use crate::application::{MARK, MESSAGE};
use crate::http_load::{Waiting, exchange};
use crate::ways::Way;

/// Time for streams to get going.
const WARM_UP: Duration = Duration::from_millis(500);

/// One large body, which the application has read when it answers.
pub(crate) fn upload(way: &Way, length: usize) -> Measured {
    let mut socket = way.connect();
    let piece = vec![7; 1 << 17];
    let began = Instant::now();
    let head = way.head("POST", "/upload");
    write!(socket, "{head}Content-Length: {length}\r\n\r\n").unwrap();
    for _ in 0..length / piece.len() {
        socket.write_all(&piece).unwrap();
    }
    let mut answer = Vec::new();
    while !answer.ends_with(format!("\r\n\r\n{length}").as_bytes()) {
        let mut buffer = [0; 4096];
        let read = socket.read(&mut buffer).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..read]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
    let rate = length as f64 / began.elapsed().as_secs_f64() / 1e6;
    Measured::of_bytes(length, rate)
}

/// A message under way on each of `count` WebSockets.
pub(crate) fn messages(way: &Way, count: usize, span: Duration) -> Measured {
    let sockets = (0..count).map(|_| {
        let mut socket = way.connect();
        let head = way.head("GET", "/messages");
        write!(
            socket,
            "{head}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let head = websocket::read_head(&mut socket);
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        socket
    });
    let length = MESSAGE as u8;
    let mut message = vec![0x81, 0x80 | length, 1, 2, 3, 4];
    message.extend([7; MESSAGE]);
    let answer = [0x81, length, 6, 5, 4, 3];
    let is_whole = |got: &[u8]| {
        assert!(got.starts_with(&answer[..got.len().min(6)]), "{got:?}");
        got.len() == 2 + MESSAGE
    };
    exchange(sockets.collect(), &message, span, is_whole).into()
}

/// Events of `count` streams, as fast as they come.
pub(crate) fn events(way: &Way, count: usize, span: Duration) -> Measured {
    let waiting = Waiting::new();
    let connect = |number| {
        let mut socket = way.connect();
        socket.write_all(way.get("/events").as_bytes()).unwrap();
        waiting.add(&socket, number);
        socket
    };
    let mut sockets: Vec<TcpStream> = (0..count).map(connect).collect();
    let (mut all, mut before, mut began) = (0, None, Instant::now());
    let mut buffer = vec![0; 1 << 16];
    let started = began;
    let mut got = vec![false; count];
    while started.elapsed() < WARM_UP + span {
        for at in waiting.readable() {
            let read = sockets[at].read(&mut buffer).unwrap();
            assert!(read > 0, "a stream of events was cut");
            let is_mark = |byte: &&u8| **byte == MARK;
            all += buffer[..read].iter().filter(is_mark).count();
            got[at] = true;
        }
        if before.is_none() && started.elapsed() >= WARM_UP {
            (before, began) = (Some(all), Instant::now());
        }
    }
    assert!(got.iter().all(|got| *got), "a stream has sent nothing");
    let counted = all - before.unwrap();
    Measured {
        amount: all as f64,
        rate: counted as f64 / began.elapsed().as_secs_f64(),
        p99: None,
    }
}

/// A small query under way on each of `count` connections.
pub(crate) fn queries(way: &Way, count: usize, span: Duration) -> Measured {
    let body = r#"{"sql":"SELECT 1"}"#;
    let head = way.head("POST", "/api/query");
    let length = body.len();
    let request =
        format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
    let sockets = (0..count).map(|_| way.connect());
    exchange(sockets.collect(), request.as_bytes(), span, |answer| {
        let is_refused = answer.len() > 13 && !answer.starts_with(b"HTTP/1.1 200 ");
        assert!(!is_refused, "{}", String::from_utf8_lossy(answer));
        is_whole(answer)
    })
    .into()
}

/// True for the head and all of the body of an answer, whose length is told or which is chunked.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = find(answer, b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    match head.split_once("content-length: ") {
        Some((_, rest)) => {
            let length: usize = rest.lines().next().unwrap().parse().unwrap();
            answer.len() == end + 4 + length
        }
        None => answer.ends_with(b"\r\n0\r\n\r\n"),
    }
}

impl Way {
    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.at).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket.set_write_timeout(Some(TIMEOUT)).unwrap();
        socket
    }
}
