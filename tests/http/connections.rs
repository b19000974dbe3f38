//! Handling of connections: slow, endless, leaving, aborted, too many.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{Client, TIMEOUT, echo, get, start, wait_until};
use postern::http::{
    Handler, HostPolicy, Limits, Request, Response, ResponseHead, Server, ServerConfig, Stream,
};
use support::assert_within;
use support::own_process::ran_apart;

fn quick() -> Limits {
    let mut limits = Limits::default();
    limits.head_time = Duration::from_millis(300);
    limits.idle_time = Duration::from_millis(300);
    limits.body_stall = Duration::from_millis(300);
    limits
}

fn text(request: Request) {
    request.respond(Response::text(200, "ok"));
}

#[test]
fn a_slow_head_has_one_deadline() {
    let server = start(quick(), text);
    let mut client = server.connect();
    let began = Instant::now();
    let mut trickle = client.socket.try_clone().unwrap();
    let sender = thread::spawn(move || {
        while trickle.write_all(b"x").is_ok() && began.elapsed() < TIMEOUT {
            thread::park_timeout(Duration::from_millis(20));
        }
    });
    assert_eq!(client.answer(false).unwrap().status, 408);
    assert_within(began, Duration::from_secs(2));
    drop(client);
    sender.join().unwrap();
    assert_eq!(server.reached.load(Ordering::SeqCst), 0);
}

#[test]
fn an_endless_head_is_cut() {
    let server = start(Limits::default(), text);
    let mut client = server.connect();
    client.send(b"GET / HTTP/1.1\r\n");
    for _ in 0..3000 {
        client.send(b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n");
    }
    assert_eq!(client.answer(false).unwrap().status, 431);
}

#[test]
fn a_body_must_make_progress() {
    let server = start(quick(), text);
    let mut client = server.connect();
    client.send(
        format!(
            "POST / HTTP/1.1\r\nHost: {}\r\nContent-Length: 100000\r\n\r\n",
            server.addr
        )
        .as_bytes(),
    );
    let mut trickle = client.socket.try_clone().unwrap();
    let began = Instant::now();
    let sender = thread::spawn(move || {
        while trickle.write_all(b"x").is_ok() && began.elapsed() < TIMEOUT {
            thread::park_timeout(Duration::from_millis(20));
        }
    });
    assert_eq!(client.answer(false).unwrap().status, 408);
    drop(client);
    sender.join().unwrap();
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let server = start(quick(), text);
    let mut never = server.connect();
    let mut once = server.connect();
    once.send(&get(server.addr, "/"));
    assert_eq!(once.answer(false).unwrap().status, 200);
    assert!(once.is_closed());
    assert!(never.is_closed());
}

#[test]
fn a_connection_serves_many_requests_in_order() {
    let server = start(Limits::default(), echo);
    let mut client = server.connect();
    for turn in 0..100 {
        client.send(&get(server.addr, &format!("/{turn}")));
        assert_eq!(
            client.answer(false).unwrap().json()["data"]["path"],
            format!("/{turn}")
        );
    }
    let all: Vec<u8> = (0..100)
        .flat_map(|n| get(server.addr, &format!("/p{n}")))
        .collect();
    client.send(&all);
    for turn in 0..100 {
        assert_eq!(
            client.answer(false).unwrap().json()["data"]["path"],
            format!("/p{turn}")
        );
    }
}

#[test]
fn large_bodies_arrive_whole() {
    let server = start(Limits::default(), |request: Request| {
        let sum: u64 = request.body().iter().map(|b| u64::from(*b)).sum();
        let seen = format!("{} {sum}", request.body().len());
        request.respond(Response::text(200, seen));
    });
    let body: Vec<u8> = (0..4 * 1024 * 1024)
        .map(|n: usize| (n % 251) as u8)
        .collect();
    let sum: u64 = body.iter().map(|b| u64::from(*b)).sum();
    let wanted = format!("{} {sum}", body.len());
    let mut client = server.connect();
    client.send(
        format!(
            "POST / HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
            server.addr,
            body.len()
        )
        .as_bytes(),
    );
    client.send(&body);
    assert_eq!(client.answer(false).unwrap().body, wanted.as_bytes());
    client.send(
        format!(
            "POST / HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
            server.addr
        )
        .as_bytes(),
    );
    for piece in body.chunks(7777) {
        client.send(format!("{:x}\r\n", piece.len()).as_bytes());
        client.send(piece);
        client.send(b"\r\n");
    }
    client.send(b"0\r\n\r\n");
    assert_eq!(client.answer(false).unwrap().body, wanted.as_bytes());
}

#[test]
fn continue_is_said_to_who_waits_for_it() {
    let server = start(Limits::default(), echo);
    let mut client = server.connect();
    client.send(
        format!(
            "POST / HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
            server.addr
        )
        .as_bytes(),
    );
    let mut interim = [0; 25];
    client.socket.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.send(b"hi");
    assert_eq!(client.answer(false).unwrap().json()["data"]["body"], "hi");
}

#[test]
fn a_huge_declared_length_costs_no_memory() {
    if ran_apart(a_huge_declared_length_costs_no_memory) {
        return;
    }
    let mut limits = Limits::default();
    limits.body = usize::MAX;
    let server = start(limits, text);
    let before = resident_kib();
    let clients: Vec<Client> = (0..20)
        .map(|_| {
            let mut client = server.connect();
            client.send(
                format!(
                    "POST / HTTP/1.1\r\nHost: {}\r\nContent-Length: 99999999999\r\n\r\nx",
                    server.addr
                )
                .as_bytes(),
            );
            client
        })
        .collect();
    assert_eq!(server.get("/").status, 200);
    assert!(resident_kib() < before + 8 * 1024);
    drop(clients);
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

/// Answers `/whole` whole, `/cut` in part, `/never` not at all.
fn streamer(request: Request) {
    let path = request.path().to_owned();
    if path == "/never" {
        return;
    }
    let mut stream = request.stream(ResponseHead::new(200)).unwrap();
    for _ in 0..50 {
        if stream.write_all(&[b'x'; 10_000]).is_err() {
            return;
        }
    }
    if path == "/whole" {
        stream.finish().unwrap();
    }
}

#[test]
fn a_streamed_answer_ends_whole() {
    let server = start(Limits::default(), streamer);
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(&get(server.addr, "/whole"));
        let answer = client.answer(false).unwrap();
        assert_eq!(
            (answer.status, answer.body.len(), answer.whole),
            (200, 500_000, true)
        );
    }
    client.send(format!("HEAD /whole HTTP/1.1\r\nHost: {}\r\n\r\n", server.addr).as_bytes());
    assert_eq!(client.answer(true).unwrap().status, 200);
    client.send(&get(server.addr, "/whole"));
    assert!(client.answer(false).unwrap().whole);
}

#[test]
fn a_cookie_goes_with_whichever_answer() {
    let server = start(Limits::default(), |mut request: Request| {
        request.set_cookie(Some("own=1".to_owned()));
        match request.path() {
            "/text" => text(request),
            _ => streamer(request),
        }
    });
    for path in ["/text", "/whole", "/never"] {
        assert_eq!(server.get(path).header("set-cookie"), Some("own=1"));
    }
}

#[test]
fn an_aborted_answer_is_seen_as_broken() {
    let server = start(Limits::default(), streamer);
    let mut client = server.connect();
    client.send(&get(server.addr, "/cut"));
    let answer = client.answer(false).unwrap();
    assert_eq!((answer.status, answer.whole), (200, false));
    assert!(client.is_closed());
}

#[test]
fn http_1_0_gets_no_chunks_and_a_reset_for_an_abort() {
    let server = start(Limits::default(), streamer);
    let ask = |path: &str| {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", server.addr).as_bytes());
        client.answer(false).unwrap()
    };
    let whole = ask("/whole");
    assert_eq!((whole.body.len(), whole.whole), (500_000, true));
    assert_eq!(whole.header("transfer-encoding"), None);
    assert!(!ask("/cut").whole, "an HTTP/1.0 client must see a reset");
}

#[test]
fn a_request_dropped_or_panicked_over_is_a_500() {
    let server = start(Limits::default(), |request: Request| {
        assert!(request.path() != "/panic", "as asked");
        streamer(request);
    });
    let mut client = server.connect();
    for path in ["/never", "/panic", "/panic", "/panic", "/never"] {
        client.send(&get(server.addr, path));
        let answer = client.answer(false).unwrap();
        assert_eq!(answer.status, 500);
        assert_eq!(answer.json()["code"], 500);
    }
}

#[test]
fn a_pipelined_request_is_not_leaving() {
    let (watch, watches) = channel();
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = start(Limits::default(), move |request: Request| {
        watch.send(request.client().clone()).unwrap();
        let _ = wait.lock().unwrap().recv_timeout(TIMEOUT);
        text(request);
    });
    let mut client = server.connect();
    client.send(&get(server.addr, "/1"));
    let watch = watches.recv_timeout(TIMEOUT).unwrap();
    client.send(&get(server.addr, "/2"));
    client.send(&vec![b'x'; 100_000]);
    assert!(!watch.is_gone());
    go.send(()).unwrap();
    go.send(()).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 200);
    assert_eq!(client.answer(false).unwrap().status, 200);
    assert!(!watch.is_gone());
}

#[test]
fn a_light_answer_still_reaches_a_client_that_half_closed() {
    let server = start(Limits::default(), text);
    let mut client = server.connect();
    client.send(&get(server.addr, "/"));
    client.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 200);
}

#[test]
fn a_stream_to_a_client_that_left_fails() {
    let (failed, heard) = channel();
    let failed = std::sync::Mutex::new(failed);
    let server = start(Limits::default(), move |request: Request| {
        let mut stream = request.stream(ResponseHead::new(200)).unwrap();
        while stream.write_all(&[0; 65536]).is_ok() {}
        let gone = stream.client().clone();
        wait_until("the watch says so too", || gone.is_gone());
        failed.lock().unwrap().send(()).unwrap();
    });
    let mut client = server.connect();
    client.send(&get(server.addr, "/"));
    let mut some = [0; 100_000];
    client.socket.read_exact(&mut some).unwrap();
    drop(client);
    heard.recv_timeout(TIMEOUT).unwrap();
}

#[test]
fn a_client_that_takes_nothing_is_given_up() {
    let (ended, heard) = channel();
    let ended = std::sync::Mutex::new(ended);
    let mut limits = Limits::default();
    limits.write_stall = Duration::from_millis(200);
    let server = start(limits, move |request: Request| {
        let mut stream = request.stream(ResponseHead::new(200)).unwrap();
        while stream.write_all(&[0; 65536]).is_ok() {}
        ended.lock().unwrap().send(()).unwrap();
    });
    let mut client = server.connect();
    client.send(&get(server.addr, "/"));
    heard.recv_timeout(TIMEOUT).unwrap();
}

#[test]
fn flushed_pieces_arrive_while_the_handler_goes_on() {
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = start(Limits::default(), move |request: Request| {
        let mut stream: Stream = request.stream(ResponseHead::new(200)).unwrap();
        stream.write_all(b"first").unwrap();
        stream.flush().unwrap();
        wait.lock().unwrap().recv_timeout(TIMEOUT).unwrap();
        stream.write_all(b"second").unwrap();
        stream.finish().unwrap();
    });
    let mut client = server.connect();
    client.send(&get(server.addr, "/"));
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while !seen.ends_with(b"5\r\nfirst\r\n") {
        let read = client.socket.read(&mut piece).unwrap();
        assert!(read > 0);
        seen.extend_from_slice(&piece[..read]);
    }
    go.send(()).unwrap();
    while !seen.ends_with(b"6\r\nsecond\r\n0\r\n\r\n") {
        let read = client.socket.read(&mut piece).unwrap();
        assert!(read > 0);
        seen.extend_from_slice(&piece[..read]);
    }
}

#[test]
fn idle_connections_make_room_for_new_ones() {
    let server = start(Limits::default(), text);
    let mut idle: Vec<Client> = (0..600).map(|_| server.connect()).collect();
    assert_eq!(server.get("/").status, 200);
    assert!(idle[0].is_closed(), "the oldest goes first");
    let last = idle.last_mut().unwrap();
    last.send(&get(server.addr, "/"));
    assert_eq!(last.answer(false).unwrap().status, 200);
}

#[test]
fn slow_work_does_not_block_light_answers() {
    let (go, wait) = channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let server = start(Limits::default(), move |request: Request| {
        if request.path() == "/slow" {
            let wait = Arc::clone(&wait);
            thread::spawn(move || {
                let _ = wait.lock().unwrap().recv_timeout(TIMEOUT);
                text(request);
            });
        } else {
            text(request);
        }
    });
    let mut slow: Vec<Client> = (0..40).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.send(&get(server.addr, "/slow"));
    }
    wait_until("all are under way", || {
        server.reached.load(Ordering::SeqCst) == 40
    });
    let began = Instant::now();
    assert_eq!(server.get("/light").status, 200);
    assert!(began.elapsed() < TIMEOUT / 2, "{:?}", began.elapsed());
    for _ in &slow {
        go.send(()).unwrap();
    }
    for client in &mut slow {
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
}

#[test]
fn busy_workers_are_waited_for_and_then_given_up() {
    let released = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&released);
    let mut limits = Limits::default();
    limits.upstream_timeout = Duration::from_millis(200);
    let server = start(limits, move |request: Request| {
        wait_until("released", || gate.load(Ordering::SeqCst));
        text(request);
    });
    let mut stuck: Vec<Client> = (0..2).map(|_| server.connect()).collect();
    for client in &mut stuck {
        client.send(&get(server.addr, "/"));
    }
    wait_until("both workers are busy", || {
        server.reached.load(Ordering::SeqCst) == 2
    });
    assert_eq!(server.get("/").status, 503);
    released.store(true, Ordering::SeqCst);
    for client in &mut stuck {
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn the_socket_is_private_and_useless_without_the_server() {
    let server = start(Limits::default(), text);
    let run_dir = server.dir.path().join("run");
    assert_eq!(
        std::fs::metadata(&run_dir).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let socket = std::fs::read_dir(&run_dir)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        socket.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    for request in [
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nx-postern-request: 99\r\nConnection: close\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let mut direct = UnixStream::connect(socket.path()).unwrap();
        direct.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        direct.read_to_string(&mut answer).unwrap();
        assert!(!answer.contains(" 200 "), "{answer}");
    }
    assert_eq!(server.reached.load(Ordering::SeqCst), 0);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn a_run_directory_open_to_others_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let handler: Arc<dyn Handler> = Arc::new(text);
    let config = ServerConfig {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        hosts: HostPolicy::loopback(),
        check_other_users: true,
        run_dir: dir.path().to_owned(),
        workers: 1,
        limits: Limits::default(),
    };
    let error = Server::start(config, handler).unwrap_err();
    assert!(error.to_string().contains("chmod 700"), "{error}");
}

#[test]
fn hosts_come_and_go() {
    let server = start(Limits::default(), text);
    let ask = || {
        let mut client = server.connect();
        client.send(b"GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n");
        client.answer(false).unwrap().status
    };
    assert_eq!(ask(), 421);
    server.hosts.allow("shop.example").unwrap();
    assert_eq!(ask(), 200);
    server.hosts.disallow("Shop.Example");
    assert_eq!(ask(), 421);
    assert!(server.hosts.allow("no/host").is_err());
    assert!(server.hosts.allow("host:99999").is_err());
}

#[test]
fn cookies_of_other_programs_do_no_harm() {
    let server = start(Limits::default(), echo);
    let mut client = server.connect();
    client.send(b"GET / HTTP/1.1\r\nHost: ");
    client.send(format!("{}\r\nCookie: a=\u{f6}; b=2\r\n\r\n", server.addr).as_bytes());
    assert_eq!(
        client.answer(false).unwrap().json()["data"]["cookie_b"],
        "2"
    );
}
