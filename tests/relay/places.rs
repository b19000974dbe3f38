//! Limits of the real relay for one visitor, one connector and all sites: numbers held at once, and times.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use postern::tunnel::client::Tunnel;
use serde_json::json;
use support::gateway::BROWSER;
use support::relay::{PASSWORD, Relay, body, with};
use support::{TIMEOUT, wait_until};

/// The attacker, as the proxy in front names him.
const ATTACKER: &str = "203.0.113.9";

/// Takes every connection and never answers; how many there are.
fn silent() -> (u16, Arc<Mutex<Vec<TcpStream>>>) {
    let held: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let theirs = Arc::clone(&held);
    let port = listen(move |stream| theirs.lock().unwrap().push(stream));
    (port, held)
}

/// Answers the first request of each connection with `ok`.
fn answering() -> u16 {
    listen(|mut stream| {
        std::thread::spawn(move || {
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            if matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
                let _ = stream.write_all(answer.as_bytes());
            }
        });
    })
}

/// The thread ends with the process.
fn listen(take: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(take));
    port
}

/// A site of a connector of its own, with its tunnel.
fn share(relay: &Relay, connector: &str, site: &str, port: u16) -> Tunnel {
    let token = json!({"enroll_token": relay.enrol_token()});
    let assigned = relay.assign(&with(body(connector, site, "http", port), token));
    let remote = format!(
        "R:127.0.0.1:{}:127.0.0.1:{port}",
        assigned["app"]["resource"]["port"]
    );
    let tunnel = relay.tunnel(connector, PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    tunnel
}

/// Sends a GET as the proxy would for a visitor at `from`.
fn get(relay: &Relay, host: &str, path: &str, from: &str) -> TcpStream {
    let mut socket = TcpStream::connect(relay.address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let port = relay.address.port();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nX-Forwarded-For: {from}\r\n{BROWSER}\r\n"
    );
    socket.write_all(request.as_bytes()).unwrap();
    socket
}

/// Reads the first piece, which is a whole head.
fn answer(socket: &mut TcpStream) -> String {
    let mut piece = [0; 8192];
    let read = socket.read(&mut piece).unwrap();
    String::from_utf8_lossy(&piece[..read]).into_owned()
}

/// True if an answer or the end has already arrived.
fn is_answered(socket: &TcpStream) -> bool {
    socket.set_nonblocking(true).unwrap();
    let peeked = socket.peek(&mut [0]);
    let came = !peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    socket.set_nonblocking(false).unwrap();
    came
}

/// Long polls of one visitor, at the sites of two connectors: everybody else is served all the same.
#[test]
fn one_visitor_does_not_take_the_places_of_others() {
    let relay = Relay::start(&["--public-url=http://localhost", "--trust-proxy=127.0.0.1"]);
    let (stuck, held) = silent();
    let _tunnels = [
        share(&relay, "one", "stuck-one", stuck),
        share(&relay, "two", "stuck-two", stuck),
        share(&relay, "three", "shop", answering()),
    ];
    let attack = |site: &'static str, count| {
        let relay = &relay;
        (0..count).map(move |_| get(relay, site, "/poll", ATTACKER))
    };
    let mut sockets: Vec<_> = attack("stuck-one.localhost", 400).collect();
    sockets.extend(attack("stuck-two.localhost", 200));
    wait_until(TIMEOUT, "each has a place or an answer", || {
        let answered = sockets.iter().filter(|socket| is_answered(socket)).count();
        answered + held.lock().unwrap().len() >= sockets.len()
    });
    let held = held.lock().unwrap().len();
    assert!(held <= 128, "{held} of 512 places are one visitor's");
    for number in 0..50 {
        let mut visitor = get(&relay, "shop.localhost", "/", &format!("192.0.2.{number}"));
        let said = answer(&mut visitor);
        assert!(
            said.starts_with("HTTP/1.1 200 "),
            "visitor {number}: {said}"
        );
    }
    for _ in 0..30 {
        assert_eq!(relay.client().get("/health").status(), 200);
    }
    let refused = answer(&mut get(&relay, "stuck-one.localhost", "/", ATTACKER));
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(
        refused.contains("\r\nRetry-After: ") && refused.contains("Too busy"),
        "{refused}"
    );
}

/// Keeps the last places for the relay's own names, so that connectors come back.
#[test]
fn all_sites_together_leave_the_relays_own_names_their_places() {
    let args = [
        "--public-url=http://localhost",
        "--trust-proxy=127.0.0.1",
        "--connections=32",
    ];
    let relay = Relay::start(&args);
    let (stuck, held) = silent();
    let _tunnels = [
        share(&relay, "one", "stuck-one", stuck),
        share(&relay, "two", "stuck-two", stuck),
    ];
    let visit = |site: &str, number: usize| get(&relay, site, "/", &format!("192.0.2.{number}"));
    let mut sockets: Vec<_> = (0..20).map(|n| visit("stuck-one.localhost", n)).collect();
    wait_until(TIMEOUT, "half of the places is one connector's", || {
        let answered = sockets.iter().filter(|socket| is_answered(socket)).count();
        answered == 4 && held.lock().unwrap().len() == 16
    });
    // One by one: of many at once, some would give way to others before they are heard.
    wait_until(TIMEOUT, "7/8 of the places are all sites'", || {
        sockets.push(visit("stuck-two.localhost", 20 + sockets.len() % 200));
        held.lock().unwrap().len() == 28
    });
    for number in 0..8 {
        let said = answer(&mut visit("stuck-two.localhost", number));
        assert!(said.starts_with("HTTP/1.1 503 "), "{said}");
    }
    for _ in 0..30 {
        assert_eq!(relay.client().get("/health").status(), 200);
    }
    let token = json!({"enroll_token": relay.enrol_token()});
    relay.assign(&with(body("one", "more", "http", 1), token));
    drop(sockets);
    let mut later = Vec::new();
    wait_until(TIMEOUT, "the places are given back", || {
        later.push(visit("stuck-one.localhost", 99));
        held.lock().unwrap().len() > 28
    });
}

#[test]
fn an_application_has_the_time_that_the_operator_gives_it() {
    let args = ["--public-url=http://localhost", "--answer-timeout=1"];
    let relay = Relay::start(&args);
    let _tunnel = share(&relay, "one", "stuck", silent().0);
    let said = answer(&mut get(&relay, "stuck.localhost", "/", "192.0.2.1"));
    assert!(said.starts_with("HTTP/1.1 504 "), "{said}");
}
