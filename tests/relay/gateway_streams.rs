//! The gateway's handling of connections: long bodies, upgrades, ends of all kinds.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postern::http::Limits;
use support::assert_within;
use support::gateway::{BROWSER, Client, Relay, TIMEOUT, application, read_request, wait_until};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers each request with `ok`.
fn plain() -> u16 {
    application(|mut stream| {
        let mut rest = Vec::new();
        while read_request(&mut stream, &mut rest).is_some() {
            let _ = stream.write_all(OK);
        }
    })
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

/// Says when the connection ends.
fn tell_end(mut stream: TcpStream, told: &Sender<&'static str>) {
    let mut piece = [0; 4096];
    while matches!(stream.read(&mut piece), Ok(1..)) {}
    let _ = told.send("ended");
}

#[test]
fn a_websocket_passes_both_ways_and_each_way_ends_on_its_own() {
    let relay = Relay::start();
    let port = application(|mut stream| {
        read_head(&mut stream);
        let answer = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                       Upgrade: websocket\r\n\r\nfirst";
        stream.write_all(answer).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream
            .write_all(format!("got {}", all.len()).as_bytes())
            .unwrap();
    });
    let shared = relay.share("shop", port);
    let mut client = relay.connect();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let mut request = relay.request("GET", "shop", "/ws", upgrade).into_bytes();
    request.extend_from_slice(b"early");
    client.send(&request);
    assert_eq!(client.answer(false).unwrap().status, 101);
    let bytes = vec![7; 3_000_000];
    client.send(&bytes);
    client.socket.shutdown(Shutdown::Write).unwrap();
    let mut rest = std::mem::take(&mut client.buffer);
    client.socket.read_to_end(&mut rest).unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "firstgot 3000005");
    wait_until("the visitor is counted out", || {
        shared.site.stats.visitors.load(Ordering::SeqCst) == 0
    });
    assert!(shared.site.stats.bytes_in.load(Ordering::SeqCst) > 3_000_000);
}

#[test]
fn an_application_may_end_its_side_of_a_websocket_first() {
    let relay = Relay::start();
    let (told, heard) = channel();
    let port = application(move |mut stream| {
        read_head(&mut stream);
        let answer = b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        stream.write_all(answer).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        told.send(all).unwrap();
    });
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    client.send(relay.request("GET", "shop", "/ws", upgrade).as_bytes());
    assert_eq!(client.answer(false).unwrap().status, 101);
    assert_eq!(client.socket.read(&mut [0]).unwrap(), 0);
    client.send(b"last words");
    drop(client);
    assert_eq!(heard.recv_timeout(TIMEOUT).unwrap(), "last words");
}

#[test]
fn an_answer_may_come_before_the_request_has_ended() {
    let relay = Relay::start();
    let port = application(|mut stream| {
        read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            .unwrap();
        // It takes nothing more, and stays.
        let _ = stream.read(&mut [0; 1 << 16]);
        std::thread::park_timeout(Duration::from_secs(5));
    });
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    client.send(
        relay
            .request("POST", "shop", "/", "Content-Length: 100000000\r\n")
            .as_bytes(),
    );
    client.send(&[0; 10_000]);
    let answer = client.answer(false).unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (413, "no"));
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn a_request_may_go_on_while_its_answer_does() {
    let relay = Relay::start();
    let port = application(|mut stream| {
        read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n")
            .unwrap();
        let mut piece = [0; 2];
        for _ in 0..3 {
            stream.read_exact(&mut piece).unwrap();
            stream.write_all(&piece).unwrap();
        }
        let _ = stream.read(&mut [0]);
    });
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    client.send(
        relay
            .request("POST", "shop", "/", "Content-Length: 6\r\n")
            .as_bytes(),
    );
    let mut back = String::new();
    for piece in ["ab", "cd", "ef"] {
        client.send(piece.as_bytes());
        let mut bytes = [0; 512];
        while !back.ends_with(piece) {
            let read = client.socket.read(&mut bytes).unwrap();
            assert!(read > 0, "{back}");
            back.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }
}

/// As with event streams: a body that is not ended is no reason to end an answer that goes on.
#[test]
fn a_body_that_pauses_while_the_answer_comes_has_the_time_of_the_answer() {
    let relay = Relay::start_with(Limits::default(), |config| {
        config.limits.answer_time = Duration::from_millis(300);
    });
    let (go, gone_on) = channel();
    let gone_on = Mutex::new(gone_on);
    let port = application(move |mut stream| {
        read_head(&mut stream);
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok";
        stream.write_all(head).unwrap();
        let _: Result<(), _> = gone_on.lock().unwrap().recv_timeout(TIMEOUT);
        let _ = stream.write_all(b"ok");
    });
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    let request = relay.request("POST", "shop", "/", "Content-Length: 9\r\n");
    client.send(request.as_bytes());
    let began = Instant::now();
    wait_until("the time for a request has passed", || {
        began.elapsed() > Duration::from_secs(1)
    });
    go.send(()).unwrap();
    assert_eq!(
        client.answer(false).map(|answer| answer.text()).as_deref(),
        Some("okok")
    );
}

#[test]
fn a_visitor_who_vanishes_ends_his_stream() {
    let relay = Relay::start();
    let (told, heard) = channel();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let port = application(move |mut stream| {
        read_head(&mut stream);
        count.fetch_add(1, Ordering::SeqCst);
        tell_end(stream, &told);
    });
    let _shared = relay.share("shop", port);
    for body in [false, true] {
        let before = asked.load(Ordering::SeqCst);
        let mut client = relay.connect();
        let lines = if body { "Content-Length: 9\r\n" } else { "" };
        let lines = format!("{BROWSER}{lines}");
        client.send(relay.request("GET", "shop", "/", &lines).as_bytes());
        wait_until("the application is asked", || {
            asked.load(Ordering::SeqCst) > before
        });
        let began = Instant::now();
        drop(client);
        assert_eq!(heard.recv_timeout(TIMEOUT), Ok("ended"));
        assert_within(began, Duration::from_secs(3));
    }
}

/// Closes each connection after its first answer, as servers do with idle ones. Says for each
/// request which of its connection it was.
fn closing(told: Sender<(usize, String)>) -> u16 {
    application(move |mut stream| {
        let mut rest = Vec::new();
        for number in 0..2 {
            let Some(request) = read_request(&mut stream, &mut rest) else {
                return;
            };
            let line = String::from_utf8_lossy(&request);
            let line = line.lines().next().unwrap_or_default().to_owned();
            told.send((number, line)).unwrap();
            // The second request of a connection gets an end in place of an answer.
            if number == 0 {
                let _ = stream.write_all(OK);
            }
        }
    })
}

#[test]
fn a_request_without_consequences_is_repeated_once_and_no_other_is() {
    let relay = Relay::start();
    let (told, heard) = channel();
    let _shared = relay.share("shop", closing(told));
    let mut client = relay.connect();
    client.send(relay.request("GET", "shop", "/1", "").as_bytes());
    assert_eq!(client.answer(false).unwrap().status, 200);
    client.send(relay.request("GET", "shop", "/2", "").as_bytes());
    assert_eq!(client.answer(false).unwrap().status, 200);
    let body = "Content-Length: 2\r\n";
    client.send(relay.request("POST", "shop", "/3", body).as_bytes());
    client.send(b"hi");
    let answer = client.answer(false).unwrap();
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains("closed it without an answer"));
    let seen: Vec<(usize, String)> = heard.try_iter().collect();
    let line = |text: &str| format!("{text} HTTP/1.1");
    let wanted = [
        (0, line("GET /1")),
        (1, line("GET /2")),
        (0, line("GET /2")),
        (1, line("POST /3")),
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn nothing_of_one_visitor_reaches_another() {
    let relay = Relay::start();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let port = application(move |mut stream| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let mut rest = Vec::new();
        while read_request(&mut stream, &mut rest).is_some() {
            let text = format!("c{number:03}");
            let _ = stream.write_all(
                format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{text}").as_bytes(),
            );
        }
    });
    let _shared = relay.share("shop", port);
    let mut visitors: Vec<_> = (0..8).map(|_| relay.connect()).collect();
    let mut names: Vec<Option<String>> = vec![None; 8];
    for _ in 0..5 {
        for (visitor, name) in visitors.iter_mut().zip(&mut names) {
            visitor.send(relay.request("GET", "shop", "/", "").as_bytes());
            let answer = visitor.answer(false).unwrap().text();
            assert_eq!(*name.get_or_insert_with(|| answer.clone()), answer);
        }
    }
    assert_eq!(connections.load(Ordering::SeqCst), 8, "a stream a visitor");
}

#[test]
fn the_page_says_whether_tunnel_or_application_is_down() {
    let relay = Relay::start();
    let shared = relay.share("shop", plain());
    let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = refused.local_addr().unwrap().port();
    drop(refused);
    let _dead = relay.share("dead", dead);
    assert_eq!(relay.get("shop", "/").status, 200);
    let page = relay.get("dead", "/");
    assert_eq!(page.status, 502);
    assert!(page.text().contains("The application does not answer"));
    shared.tunnel.stop();
    wait_until("the tunnel is gone", || {
        relay.get("shop", "/").status == 502
    });
    let page = relay.get("shop", "/");
    assert!(
        page.text().contains("The tunnel is down"),
        "{}",
        page.text()
    );
    let mut client = relay.connect();
    client.send(
        relay
            .request("GET", "shop", "/", "Accept: application/json\r\n")
            .as_bytes(),
    );
    let json: serde_json::Value =
        serde_json::from_slice(&client.answer(false).unwrap().body).unwrap();
    assert_eq!(json["code"], 502);
}

#[test]
fn a_tunnel_that_breaks_cuts_the_answer_visibly() {
    let relay = Relay::start();
    let port = application(|mut stream| {
        read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\n\r\nbeginning")
            .unwrap();
        let _ = stream.read(&mut [0]);
    });
    let shared = relay.share("shop", port);
    let mut client = relay.connect();
    client.send(relay.request("GET", "shop", "/", "").as_bytes());
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("beginning") {
        let mut piece = [0; 512];
        let read = client.socket.read(&mut piece).unwrap();
        seen.extend_from_slice(&piece[..read]);
    }
    shared.tunnel.stop();
    let _ = client.socket.read_to_end(&mut seen);
    let seen = String::from_utf8_lossy(&seen);
    assert!(
        seen.contains("Transfer-Encoding: chunked") && !seen.ends_with("0\r\n\r\n"),
        "{seen}"
    );
}

#[test]
fn an_application_that_is_too_slow_is_given_up() {
    let relay = Relay::start_with(Limits::default(), |config| {
        config.limits.answer_time = Duration::from_millis(200);
        config.limits.silence = Duration::from_millis(300);
    });
    let port = application(|mut stream| {
        let head = read_head(&mut stream);
        if head.starts_with(b"GET /half") {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
                .unwrap();
        }
        let _ = stream.read(&mut [0]);
    });
    let _shared = relay.share("shop", port);
    let answer = relay.get("shop", "/");
    assert_eq!(answer.status, 504);
    assert!(answer.text().contains("too slow"));
    assert!(!relay.get("shop", "/half").whole);
}

/// Requests at work are not given up for others: with sites that do not answer, one connector could
/// have had all connections.
#[test]
fn one_connectors_sites_leave_room_for_others() {
    let mut limits = Limits::default();
    limits.connections = 8;
    let relay = Relay::start_with(limits, |_| {});
    let silent = application(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
    let stuck = relay.share("stuck", silent);
    let _shop = relay.share("shop", plain());
    let visitors = || stuck.site.stats.visitors.load(Ordering::Relaxed);
    let request = relay.request("GET", "stuck", "/", BROWSER);
    let mut waiting: Vec<_> = (0..8).map(|_| relay.connect()).collect();
    for client in &mut waiting {
        client.send(request.as_bytes());
    }
    let running = || stuck.site.busy.out();
    let is_refused = |client: &Client| client.has_heard();
    wait_until("half of eight run", || {
        running() == 4 && waiting.iter().filter(|client| is_refused(client)).count() == 4
    });
    for client in waiting.iter_mut().filter(|client| is_refused(client)) {
        let answer = client.answer(false).unwrap();
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("5"))
        );
        assert!(answer.text().contains("Too busy"), "{}", answer.text());
    }
    for _ in 0..3 {
        assert_eq!(relay.get("shop", "/").status, 200);
    }
    drop(waiting);
    wait_until("the others have gone", || visitors() == 0 && running() == 0);
}

/// Long polls and WebSockets count, and behind a trusted proxy a source is the visitor.
#[test]
fn one_visitor_has_a_quarter_whatever_he_asks_for() {
    let mut limits = Limits::default();
    limits.connections = 16;
    let relay = Relay::start_with(limits, |config| {
        config.trust_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let port = application(|mut stream| {
        let head = String::from_utf8(read_head(&mut stream)).unwrap();
        if head.contains("Upgrade: websocket") {
            let answer = b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
            stream.write_all(answer).unwrap();
        } else if head.starts_with("GET /now") {
            stream.write_all(OK).unwrap();
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let shared = relay.share("shop", port);
    let ask = |path: &str, from: &str, lines: &str| {
        let lines = format!("X-Forwarded-For: {from}\r\n{BROWSER}{lines}");
        let mut client = relay.connect();
        client.send(relay.request("GET", "shop", path, &lines).as_bytes());
        client
    };
    let running = || shared.site.busy.out();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let mut held: Vec<_> = (0..2).map(|_| ask("/poll", "192.0.2.1", "")).collect();
    for _ in 0..2 {
        let mut client = ask("/ws", "192.0.2.1", upgrade);
        assert_eq!(client.answer(false).unwrap().status, 101);
        held.push(client);
    }
    wait_until("four run", || running() == 4);
    let status = |from: &str| ask("/now", from, "").answer(false).unwrap().status;
    assert_eq!((status("192.0.2.1"), status("192.0.2.2")), (503, 200));
    let own = format!(
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
        relay.addr.port()
    );
    let mut client = relay.connect();
    client.send(own.as_bytes());
    assert_eq!(client.answer(false).unwrap().status, 200);
    drop(held);
    wait_until("all have ended", || running() == 0);
    assert_eq!(status("192.0.2.1"), 200);
}

/// Scaled: 2,000 idle ones are tried by hand.
#[test]
fn idle_slow_visitors_do_not_keep_a_real_one_waiting() {
    let mut limits = Limits::default();
    limits.connections = 200;
    let relay = Relay::start_with(limits, |_| {});
    let _shared = relay.share("shop", plain());
    let mut idle = Vec::new();
    for number in 0..500 {
        let mut client = relay.connect();
        match number % 3 {
            0 => client.send(b"GET / HTTP/1.1\r\nHost: sh"),
            1 => client.send(
                relay
                    .request("POST", "shop", "/", "Content-Length: 9\r\n")
                    .as_bytes(),
            ),
            _ => {}
        }
        idle.push(client);
    }
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(relay.get("shop", "/").status, 200);
        assert_within(began, Duration::from_secs(2));
    }
}
