//! Limits of one connector: `--quota-sites` and `--quota-mbps`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use postern::tunnel::client::Tunnel;
use serde_json::{Value, json};
use support::manager::{Manager, Target};
use support::postern::Home;
use support::relay::{PASSWORD, Relay, body};
use support::{TIMEOUT, wait_until};

/// 8 Mbit/s, in bytes a second.
const RATE: usize = 1_000_000;
/// Bytes that are sent through: two seconds of them.
const LOAD: usize = 2 * RATE;
/// Least time for the load. The rest may arrive at once after silence, or is on its way.
const AT_LEAST: Duration = Duration::from_millis(1500);

#[test]
fn one_site_more_than_the_quota_is_refused_and_those_that_are_there_stay() {
    let relay = Relay::start(&["--quota-sites=2"]);
    for app in ["a", "b"] {
        relay.assign(&body("one", app, "http", 1));
    }
    for protocol in ["http", "ssh"] {
        let refused = relay.call(&body("one", "c", protocol, 1));
        let said = refused.text();
        assert_eq!(refused.status(), 403, "{said}");
        assert!(
            said.contains("quota") && said.contains("2 applications"),
            "{said}"
        );
    }
    relay.assign(&body("one", "b", "http", 1));
    relay.assign(&body("two", "c", "http", 1));
    assert_eq!(relay.release("one", PASSWORD, "a").status(), 200);
    relay.assign(&body("one", "c", "http", 1));
    let listed = relay.home().run(&["relay", "list", "--json"]).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["quota"], json!({"sites": 2, "mbps": null}));
}

/// The table shows the use of each quota. A lower quota removes nothing.
#[test]
fn a_quota_is_listed_and_one_below_what_is_in_use_takes_nothing_away() {
    let quota = |relay: &Relay| {
        let listed = relay.home().run(&["relay", "list"]).stdout;
        let cells = |line: &str| -> Vec<String> { line.split('\t').map(str::to_owned).collect() };
        let (heading, row) = listed.split_once('\n').unwrap();
        let at = cells(heading).iter().position(|cell| cell == "QUOTA");
        cells(row.lines().next().unwrap())[at.expect("a column")].clone()
    };
    let relay = Relay::start(&["--quota-sites=5", "--quota-mbps=10"]);
    for (app, protocol) in [("a", "http"), ("b", "http"), ("c", "tcp")] {
        relay.assign(&body("one", app, protocol, 1));
    }
    assert_eq!(quota(&relay), "3 of 5 applications, 10 Mbit/s");
    let relay = relay.restart(&["--quota-sites=1"]);
    assert_eq!(quota(&relay), "3 of 1 applications");
    for (app, protocol) in [("a", "http"), ("b", "http"), ("c", "tcp")] {
        relay.assign(&body("one", app, protocol, 1));
    }
    let refused = |app| relay.call(&body("one", app, "http", 1)).status() == 403;
    assert!(refused("d"));
    for app in ["a", "b"] {
        assert_eq!(relay.release("one", PASSWORD, app).status(), 200);
        assert!(refused("d"), "there is one application still");
    }
    assert_eq!(relay.release("one", PASSWORD, "c").status(), 200);
    relay.assign(&body("one", "d", "http", 1));
    assert_eq!(quota(&relay), "1 of 1 applications");
    let relay = relay.restart(&[]);
    assert_eq!(quota(&relay), "-");
}

#[test]
fn a_relay_whose_ports_are_all_given_away_says_so_and_nobody_waits_for_one() {
    let port = support::free_port();
    let relay = Relay::start(&[&format!("--ports={port}-{port}")]);
    let first = relay.assign(&body("one", "a", "tcp", 1));
    assert_eq!(first["app"]["resource"]["port"], port, "{first}");
    let refused = relay.call(&body("two", "b", "tcp", 1));
    let said = refused.text();
    assert_eq!(refused.status(), 403, "{said}");
    assert!(said.contains("--ports"), "{said}");
    wait_until(TIMEOUT, "that is logged", || {
        relay
            .stderr()
            .contains("no public port of this relay is free")
    });
}

#[test]
fn who_shares_one_site_too_many_is_told_of_the_quota() {
    let relay = Relay::start(&["--quota-sites=1"]);
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    let add =
        |name: &str| manager.add(&json!({"protocol": "http", "port": target.port(), "name": name}));
    manager.connected(&add("first"));
    add("second");
    let refused = home.run(&["app", "connect", "second"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("--quota-sites"), "{refused:?}");
}

/// Takes connections, one thread each; they end with the process.
fn serve(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

/// A tunnel to an application at `port`, and what it was assigned.
fn share(relay: &Relay, connector: &str, protocol: &str, port: u16) -> (Value, Tunnel) {
    let assigned = relay.assign(&body(connector, protocol, protocol, port));
    let remote = format!(
        "R:127.0.0.1:{}:127.0.0.1:{port}",
        assigned["app"]["resource"]["port"]
    );
    let tunnel = relay.tunnel(connector, PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    (assigned, tunnel)
}

/// Reads until the head is over; what has come of the body with it.
fn past_head(stream: &mut TcpStream) -> usize {
    let mut come = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).unwrap();
        assert_ne!(count, 0, "{}", String::from_utf8_lossy(&come));
        come.extend_from_slice(&piece[..count]);
        if let Some(end) = come.windows(4).position(|four| four == b"\r\n\r\n") {
            return come.len() - end - 4;
        }
    }
}

/// Reads so many bytes, and answers how long that took since `begun`.
fn read_all(stream: &mut TcpStream, already: usize, begun: Instant) -> Duration {
    let mut left = LOAD - already;
    let mut piece = [0; 65536];
    while left > 0 {
        let count = stream.read(&mut piece).unwrap();
        assert_ne!(count, 0, "{left} bytes are missing");
        left -= count;
    }
    begun.elapsed()
}

fn visit(relay: &Relay, site: &str, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(relay.address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let host = format!("{site}.localhost:{}", relay.address.port());
    write!(stream, "{head} HTTP/1.1\r\nHost: {host}\r\n").unwrap();
    stream
}

/// A large answer arrives at the limited rate, and complete; two visitors share the rate.
#[test]
fn what_a_site_sends_passes_at_the_connectors_rate() {
    let relay = Relay::start(&["--quota-mbps=8"]);
    let port = serve(|mut stream| {
        past_head(&mut stream);
        let half = LOAD / 2;
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {half}\r\n\r\n");
        let _ = stream.write_all(&vec![b'x'; half]);
    });
    let (_, _tunnel) = share(&relay, "one", "http", port);
    let begun = Instant::now();
    let visitors: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = visit(&relay, "http", "GET /");
            stream.write_all(b"\r\n").unwrap();
            std::thread::spawn(move || {
                let already = past_head(&mut stream) + LOAD / 2;
                read_all(&mut stream, already, begun)
            })
        })
        .collect();
    let took = visitors.into_iter().map(|visitor| visitor.join().unwrap());
    let took = took.max().unwrap();
    assert!(took > AT_LEAST, "{took:?}");
    let figures = &relay.status()["connectors"][0]["applications"][0]["figures"];
    assert!(
        figures["bytes_out"].as_u64().unwrap() >= LOAD as u64,
        "{figures}"
    );
}

#[test]
fn what_visitors_send_to_a_site_passes_at_the_connectors_rate() {
    let relay = Relay::start(&["--quota-mbps=8"]);
    let port = serve(|mut stream| {
        let already = past_head(&mut stream);
        read_all(&mut stream, already, Instant::now());
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let (_, _tunnel) = share(&relay, "one", "http", port);
    let begun = Instant::now();
    let mut stream = visit(&relay, "http", "POST /");
    write!(stream, "Content-Length: {LOAD}\r\n\r\n").unwrap();
    stream.write_all(&vec![b'x'; LOAD]).unwrap();
    past_head(&mut stream);
    assert!(begun.elapsed() > AT_LEAST, "{:?}", begun.elapsed());
}

/// Both ways of a public port, at the same time: together they have the rate.
#[test]
fn what_passes_a_public_port_is_held_to_the_rate_both_ways() {
    let relay = Relay::start(&["--quota-mbps=8"]);
    // All that comes goes back.
    let port = serve(|mut stream| {
        let mut back = stream.try_clone().unwrap();
        let _ = std::io::copy(&mut stream, &mut back);
    });
    let (assigned, _tunnel) = share(&relay, "one", "tcp", port);
    let public = assigned["app"]["resource"]["port"].as_u64().unwrap();
    let mut stream = TcpStream::connect(format!("127.0.0.1:{public}")).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut sender = stream.try_clone().unwrap();
    let begun = Instant::now();
    let half = LOAD / 2;
    let sent = std::thread::spawn(move || sender.write_all(&vec![b'x'; half]).unwrap());
    let took = read_all(&mut stream, half, begun);
    sent.join().unwrap();
    assert!(took > AT_LEAST, "{took:?}");
}

/// A tunnel that is held back lives, and small requests of others come through it meanwhile.
#[test]
fn a_tunnel_that_is_held_back_answers_other_visitors() {
    let relay = Relay::start(&["--quota-mbps=8"]);
    let port = serve(|mut stream| {
        past_head(&mut stream);
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
        );
        while stream.write_all(&[b'x'; 65536]).is_ok() {}
    });
    let small = Target::start();
    let (_, _endless) = share(&relay, "one", "http", port);
    let site = body("one", "small", "http", small.port());
    let assigned = relay.assign(&site);
    let remote = format!(
        "R:127.0.0.1:{}:127.0.0.1:{}",
        assigned["app"]["resource"]["port"],
        small.port()
    );
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    let streams: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = visit(&relay, "http", "GET /");
            stream.write_all(b"\r\n").unwrap();
            past_head(&mut stream);
            std::thread::spawn(move || {
                let mut piece = [0; 65536];
                while matches!(stream.read(&mut piece), Ok(1..)) {}
            })
        })
        .collect();
    for _ in 0..5 {
        assert_eq!(relay.visit("small", "/").status(), 200);
    }
    drop(relay);
    for stream in streams {
        stream.join().unwrap();
    }
}
