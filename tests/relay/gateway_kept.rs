//! Input on a kept connection while no thread waits for it: its second request, and everything else.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use postern::http::Limits;
use postern::tunnel::client::Tunnel;
use support::gateway::{
    BROWSER, Client, Relay, Shared, TIMEOUT, application, read_request, wait_until,
};
use support::relay::{PASSWORD, Relay as Process, body};

/// Bytes of a body that no visitor takes at once.
const LARGE: usize = 3_000_000;

/// Answers by the path: what it is asked for is what it does.
fn obliging() -> u16 {
    application(|mut stream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let text = String::from_utf8_lossy(&request).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default();
            match path {
                "/slow" => std::thread::sleep(Duration::from_millis(400)),
                "/ends" => return,
                "/parts" => {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Le");
                    std::thread::sleep(Duration::from_millis(20));
                    let _ = stream.write_all(b"ngth: 6\r\n\r\n/pa");
                    std::thread::sleep(Duration::from_millis(20));
                    let _ = stream.write_all(b"rts");
                    continue;
                }
                "/large" => {
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n");
                    let _ = stream.write_all(head.as_bytes());
                    let _ = stream.write_all(&vec![7; LARGE]);
                    continue;
                }
                "/nonsense" => {
                    let _ = stream.write_all(b"SSH-2.0-x\r\n");
                    return;
                }
                _ => {}
            }
            let body = format!("{path} {}", request.len());
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes());
        }
    })
}

/// A connection that was used, and is kept with its stream.
fn kept(relay: &Relay, shared: &Shared) -> Client {
    let mut client = relay.connect();
    for path in ["/first", "/second"] {
        ask(relay, &mut client, path, "");
        assert!(client.answer(false).unwrap().text().starts_with(path));
    }
    let visitors = &shared.site.stats.visitors;
    wait_until("nobody is counted as there", || {
        visitors.load(Ordering::SeqCst) == 0
    });
    client
}

fn ask(relay: &Relay, client: &mut Client, path: &str, lines: &str) {
    client.send(relay.request("GET", "shop", path, lines).as_bytes());
}

fn start() -> (Relay, Shared) {
    let relay = Relay::start();
    let shared = relay.share("shop", obliging());
    (relay, shared)
}

fn is_at_its_end(client: &mut Client) -> bool {
    matches!(client.socket.read(&mut [0]), Ok(0))
}

#[test]
fn whatever_a_kept_connection_asks_for_next_is_answered() {
    let (relay, shared) = start();
    let mut client = kept(&relay, &shared);
    for path in [
        "/slow", "/parts", "/large", "/quick", "/large", "/slow", "/quick",
    ] {
        ask(&relay, &mut client, path, "Accept: */*\r\n");
        let answer = client.answer(false).unwrap();
        assert!(answer.status == 200 && answer.whole, "{path}: {answer:?}");
        match path {
            "/large" => assert!(answer.body == vec![7; LARGE]),
            _ => assert!(answer.text().starts_with(path), "{answer:?}"),
        }
    }
}

#[test]
fn a_kept_connection_may_ask_in_pieces_in_advance_and_with_a_body() {
    let (relay, shared) = start();
    let mut client = kept(&relay, &shared);
    let request = relay.request("GET", "shop", "/pieces", "");
    for piece in request.as_bytes().chunks(7) {
        client.send(piece);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(client.answer(false).unwrap().text().starts_with("/pieces "));
    let both = ["/slow", "/next", "/last"].map(|path| relay.request("GET", "shop", path, ""));
    client.send(both.concat().as_bytes());
    for path in ["/slow", "/next", "/last"] {
        assert!(client.answer(false).unwrap().text().starts_with(path));
    }
    let mut post = relay.request("POST", "shop", "/post", "Content-Length: 5\r\n");
    post.push_str("12345");
    for _ in 0..2 {
        client.send(post.as_bytes());
        let length = post.len();
        let answer = client.answer(false).unwrap().text();
        let told: usize = answer.strip_prefix("/post ").unwrap().parse().unwrap();
        assert!(told > length, "the body came along: {answer}");
        ask(&relay, &mut client, "/again", "");
        assert!(client.answer(false).unwrap().text().starts_with("/again "));
    }
}

#[test]
fn a_kept_connection_is_told_what_is_wrong_with_its_next_request() {
    let (relay, shared) = start();
    let wrong = |send: &str| {
        let mut client = kept(&relay, &shared);
        client.send(send.as_bytes());
        client.answer(false).map_or(0, |answer| answer.status)
    };
    assert_eq!(wrong("GET / HTTP/1.1\r\nHost: a\nb\r\n\r\n"), 400);
    assert_eq!(wrong("GET / HTTP/3.1\r\nHost: a\r\n\r\n"), 505);
    assert_eq!(wrong(&relay.request("GET", "nobody", "/", "")), 404);
    assert_eq!(wrong(&relay.request("GET", "shop", "/nonsense", "")), 502);
    // Once the stream that was kept has ended, another one is asked: nothing had been done.
    assert_eq!(wrong(&relay.request("GET", "shop", "/ends", "")), 502);
    let own = format!(
        "GET / HTTP/1.1\r\nHost: localhost:{}\r\n\r\n",
        relay.addr.port()
    );
    assert_eq!(wrong(&own), 200, "the relay's own page");
}

#[test]
fn a_kept_connection_goes_on_with_another_stream_where_its_own_has_ended() {
    let (relay, shared) = start();
    let mut client = kept(&relay, &shared);
    for _ in 0..3 {
        // The application closes after this answer, sooner or later than the next request comes.
        ask(&relay, &mut client, "/quick", "");
        assert_eq!(client.answer(false).unwrap().status, 200);
        ask(&relay, &mut client, "/ends", "");
        assert_eq!(client.answer(false).unwrap().status, 502);
    }
}

#[test]
fn who_leaves_a_kept_connection_ends_its_request() {
    let relay = Relay::start();
    let (told, heard) = channel();
    let port = application(move |mut stream| {
        let mut rest = Vec::new();
        for _ in 0..2 {
            read_request(&mut stream, &mut rest).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n/f /seco";
            let _ = stream.write_all(answer);
        }
        read_request(&mut stream, &mut rest).unwrap();
        let _ = told.send("asked");
        let mut piece = [0; 64];
        while matches!(stream.read(&mut piece), Ok(1..)) {}
        let _ = told.send("ended");
    });
    let shared = relay.share("shop", port);
    let mut client = relay.connect();
    for _ in 0..2 {
        ask(&relay, &mut client, "/", "");
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
    ask(&relay, &mut client, "/", BROWSER);
    assert_eq!(heard.recv_timeout(TIMEOUT), Ok("asked"));
    assert_eq!(shared.site.stats.visitors.load(Ordering::SeqCst), 1);
    drop(client);
    assert_eq!(heard.recv_timeout(TIMEOUT), Ok("ended"));
    wait_until("the visitor is counted out", || {
        shared.site.stats.visitors.load(Ordering::SeqCst) == 0
    });
}

#[test]
fn a_kept_connection_ends_in_time_and_with_its_server() {
    let mut limits = Limits::default();
    limits.idle_time = Duration::from_millis(300);
    let relay = Relay::start_with(limits, |_| {});
    let shared = relay.share("shop", obliging());
    assert!(is_at_its_end(&mut kept(&relay, &shared)), "it was idle");

    let (mut relay, shared) = start();
    let mut client = kept(&relay, &shared);
    relay.server.take().unwrap().stop();
    assert!(is_at_its_end(&mut client), "the server has ended");

    let (relay, shared) = start();
    let mut client = kept(&relay, &shared);
    client.socket.shutdown(Shutdown::Write).unwrap();
    assert!(is_at_its_end(&mut client), "nothing more can be asked");
}

#[test]
fn many_kept_connections_ask_at_once_and_each_gets_its_own_answer() {
    let (relay, shared) = start();
    let mut clients: Vec<Client> = (0..40).map(|_| kept(&relay, &shared)).collect();
    for round in 0..20 {
        for (number, client) in clients.iter_mut().enumerate() {
            ask(&relay, client, &format!("/{round}/{number}"), "");
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let answer = client.answer(false).unwrap().text();
            assert!(
                answer.starts_with(&format!("/{round}/{number} ")),
                "{answer}"
            );
        }
    }
    let asked = shared.site.stats.requests.load(Ordering::Relaxed);
    assert_eq!(asked, 40 * 22, "each was counted once");
}

/// Answers to kept connections are read into the same memory, one after the other.
#[test]
fn answers_that_come_in_parts_at_the_same_time_are_not_mixed() {
    const ALL: usize = 8;
    let relay = Relay::start();
    let together = Arc::new(Barrier::new(ALL));
    let port = application(move |mut stream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let text = String::from_utf8_lossy(&request).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default();
            let body = format!("{path} {}", path.repeat(200));
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nX-Path: {path}\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            if !path.starts_with("/parts") {
                let _ = stream.write_all(answer.as_bytes());
                continue;
            }
            // In the head's lines, then in the body, when all others have got as far.
            for part in [&answer[..25], &answer[25..150], &answer[150..]] {
                let _ = stream.write_all(part.as_bytes());
                together.wait();
            }
        }
    });
    let shared = relay.share("shop", port);
    let mut clients: Vec<Client> = (0..ALL).map(|_| kept(&relay, &shared)).collect();
    for round in 0..5 {
        for (number, client) in clients.iter_mut().enumerate() {
            ask(&relay, client, &format!("/parts/{round}/{number}"), "");
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let path = format!("/parts/{round}/{number}");
            let answer = client.answer(false).unwrap();
            assert!(answer.head.contains(&format!("X-Path: {path}\r\n")));
            assert_eq!(answer.text(), format!("{path} {}", path.repeat(200)));
        }
    }
}

/// A stream that says something nobody asked for is not used again.
#[test]
fn what_an_application_says_between_two_requests_reaches_nobody() {
    let relay = Relay::start();
    let (more, wanted) = channel::<()>();
    let wanted = std::sync::Mutex::new(wanted);
    let port = application(move |mut stream: TcpStream| {
        let mut rest = Vec::new();
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
        while read_request(&mut stream, &mut rest).is_some() {
            let says_more = wanted.lock().unwrap().try_recv().is_ok();
            let _ = stream.write_all(answer);
            if says_more {
                std::thread::sleep(Duration::from_millis(30));
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
            }
        }
    });
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    for round in 0..6 {
        if round == 3 {
            more.send(()).unwrap();
        }
        ask(&relay, &mut client, "/", "");
        assert_eq!(client.answer(false).unwrap().text(), "good", "{round}");
        if round == 3 {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// A relay in a process of its own, with a site that connections have been kept at.
fn relay_with_kept(count: usize) -> (Process, Tunnel, Vec<Client>) {
    let relay = Process::start(&[]);
    let port = obliging();
    let assigned = relay.assign(&body("c", "shop", "http", port));
    let number = &assigned["app"]["resource"]["port"];
    let remote = format!("R:127.0.0.1:{number}:127.0.0.1:{port}");
    let tunnel = relay.tunnel("c", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    let mut clients: Vec<Client> = (0..count).map(|_| Client::connect(relay.address)).collect();
    for client in &mut clients {
        for path in ["/first", "/second"] {
            let port = relay.address.port();
            let head = format!("GET {path} HTTP/1.1\r\nHost: shop.localhost:{port}\r\n\r\n");
            client.send(head.as_bytes());
            let text = client.answer(false).unwrap().text();
            assert!(text.starts_with(path), "{text}");
        }
    }
    (relay, tunnel, clients)
}

#[cfg(target_os = "linux")]
#[test]
fn kept_connections_have_no_threads() {
    let (relay, _tunnel, clients) = relay_with_kept(60);
    wait_until("no connection has a thread", || {
        relay.connection_threads() == 0
    });
    drop(clients);
}

#[test]
fn every_request_is_in_the_log_when_the_relay_has_ended() {
    let (mut relay, _tunnel, clients) = relay_with_kept(20);
    drop(clients);
    relay.stop();
    let log = relay.stderr();
    for path in ["/first", "/second"] {
        let told = format!("postern::access: 127.0.0.1 shop GET {path} 200 ");
        assert_eq!(log.matches(&told).count(), 20, "{log}");
    }
}
