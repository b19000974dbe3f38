//! Deadlines of the HTTP server; apart from the other tests, whose load would blur the times.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::http_fixture::{Client, TIMEOUT, get, start, wait_until};
use postern::http::{CancelToken, Limits, Request, Response, ResponseHead};
use support::assert_within;

fn text(request: Request) {
    request.respond(Response::text(200, "ok"));
}

/// Waits in silence until the client has gone, and tells.
fn silent(
    told: &Sender<Instant>,
    watch: &Sender<CancelToken>,
) -> impl Fn(Request) + Send + Sync + 'static {
    let (told, watch) = (
        std::sync::Mutex::new(told.clone()),
        std::sync::Mutex::new(watch.clone()),
    );
    move |request: Request| {
        let client = request.client().clone();
        let told = told.lock().unwrap().clone();
        let (release, released) = channel();
        let guard = client.on_gone(move || {
            told.send(Instant::now()).unwrap();
            release.send(()).unwrap();
        });
        watch.lock().unwrap().send(client).unwrap();
        thread::spawn(move || {
            let _ = released.recv_timeout(TIMEOUT);
            drop(guard);
            drop(request);
        });
    }
}

#[test]
fn a_client_that_leaves_is_noticed_at_once() {
    let (told, gone) = channel();
    let (watch, watches) = channel();
    let server = start(Limits::default(), silent(&told, &watch));
    type Leave = fn(Client);
    let ways: [(&str, Leave); 3] = [
        ("close", |client| drop(client)),
        ("half-close", |client| {
            client.socket.shutdown(Shutdown::Write).unwrap();
            thread::spawn(move || {
                let mut rest = Vec::new();
                let _ = (&client.socket).read_to_end(&mut rest);
            });
        }),
        ("reset", |client| {
            rustix::net::sockopt::set_socket_linger(&client.socket, Some(Duration::ZERO)).unwrap();
        }),
    ];
    for (name, leave) in ways {
        let mut client = server.connect();
        client.send(&get(server.addr, "/"));
        let watch = watches.recv_timeout(TIMEOUT).unwrap();
        assert!(!watch.is_gone(), "{name}");
        let left = Instant::now();
        leave(client);
        let noticed = gone.recv_timeout(TIMEOUT).unwrap();
        assert!(watch.is_gone());
        assert!(
            noticed - left < support::allowed(Duration::from_millis(200)),
            "{name}: {:?}",
            noticed - left
        );
    }
}

#[test]
fn stopping_lets_light_answers_end_and_aborts_the_rest() {
    let gone = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&gone);
    let mut server = start(Limits::default(), move |request: Request| {
        let seen = Arc::clone(&seen);
        thread::spawn(move || {
            let mut stream = request.stream(ResponseHead::new(200)).unwrap();
            if stream.client().is_gone() {
                return;
            }
            let client = stream.client().clone();
            let (told, heard) = channel();
            let _guard = client.on_gone(move || told.send(()).unwrap());
            stream.write_all(b"begun").unwrap();
            stream.flush().unwrap();
            heard.recv_timeout(TIMEOUT).unwrap();
            seen.fetch_add(1, Ordering::SeqCst);
        });
    });
    let mut idle = server.connect();
    let mut busy = server.connect();
    busy.send(&get(server.addr, "/"));
    wait_until("it is under way", || {
        server.reached.load(Ordering::SeqCst) == 1
    });
    let run_dir = server.dir.path().join("run");
    assert_eq!(std::fs::read_dir(&run_dir).unwrap().count(), 1);
    let began = Instant::now();
    server.server.take().unwrap().stop();
    assert_within(began, Duration::from_millis(1500));
    assert!(idle.is_closed());
    assert!(busy.answer(false).is_none_or(|answer| !answer.whole));
    wait_until("the handler is told", || gone.load(Ordering::SeqCst) == 1);
    assert_eq!(std::fs::read_dir(&run_dir).unwrap().count(), 0);
    assert!(TcpStream::connect(server.addr).is_err());
}

#[test]
fn an_idle_server_stops_at_once() {
    let mut server = start(Limits::default(), text);
    let mut idle = server.connect();
    idle.send(&get(server.addr, "/"));
    assert_eq!(idle.answer(false).unwrap().status, 200);
    let began = Instant::now();
    server.server.take().unwrap().stop();
    assert_within(began, Duration::from_millis(300));
}
