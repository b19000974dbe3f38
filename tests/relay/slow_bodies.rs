//! Visitors who send their requests slowly and applications that read late: how long they may, and who gives way.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use support::front::{Front, connect_from};
use support::gateway::{Answer, BROWSER, Client, application};
use support::manager::Manager;
use support::postern::Home;
use support::relay::Relay;
use support::{TIMEOUT, holds_within, is_whole, rounds, wait_until};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// Time after which a body that brings nothing is slow.
const SLOW: Duration = Duration::from_millis(2500);
/// A little more than the longest of the limits that held before `--answer-timeout` did.
const LONG: Duration = Duration::from_secs(62);

/// A relay, and sites behind a manager.
struct World {
    relay: Relay,
    _manager: Manager,
    /// Bodies that applications wait for.
    bodies: Arc<AtomicUsize>,
}

impl World {
    fn start(args: &[&str], sites: &[&str]) -> World {
        let relay = Relay::start(&[&["--public-url=http://localhost"], args].concat());
        let home = Arc::new(Home::new());
        let token = relay.enrol_token();
        let args = ["--server", &relay.url(), "--enroll-token", &token];
        let manager = Manager::start_in(&home, &args);
        let bodies = Arc::new(AtomicUsize::new(0));
        for site in sites {
            let theirs = Arc::clone(&bodies);
            let port = application(move |stream| {
                let _ = serve(stream, &theirs);
            });
            let app = json!({"protocol": "http", "port": port, "name": site});
            manager.connected(&manager.add(&app));
        }
        World {
            relay,
            _manager: manager,
            bodies,
        }
    }

    fn request(&self, method: &str, site: &str, path: &str, lines: &str) -> String {
        let port = self.relay.address.port();
        format!("{method} {path} HTTP/1.1\r\nHost: {site}.localhost:{port}\r\n{lines}\r\n")
    }

    /// A request whose answer is still to come.
    fn ask(&self, method: &str, path: &str, lines: &str) -> Client {
        let mut client = Client::connect(self.relay.address);
        let patience = TIMEOUT.max(2 * LONG);
        client.socket.set_read_timeout(Some(patience)).unwrap();
        client.send(self.request(method, "shop", path, lines).as_bytes());
        client
    }
}

/// Answers requests; by their paths it reads late, or never, or answers late.
fn serve(mut stream: TcpStream, bodies: &AtomicUsize) -> Option<()> {
    stream.set_read_timeout(Some(2 * LONG)).unwrap();
    loop {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let path = head.split(' ').nth(1).unwrap_or_default();
        if path.starts_with("/late") {
            let late = path.trim_start_matches("/late/").parse().unwrap();
            pass(Duration::from_millis(late));
        } else if path == "/never" {
            pass(2 * LONG);
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then_some(value)
        });
        let length = length.map_or(0, |length| length.parse().unwrap());
        bodies.fetch_add(1, Ordering::SeqCst);
        let read = stream.read_exact(&mut vec![0; length]);
        bodies.fetch_sub(1, Ordering::SeqCst);
        read.ok()?;
        stream.write_all(OK).ok()?;
    }
}

/// Lets that much time pass, which is what is tried.
fn pass(time: Duration) {
    let began = Instant::now();
    wait_until(2 * time + TIMEOUT, "time passes", || {
        began.elapsed() >= time
    });
}

/// Proxy between visitors and the relay.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Direct,
    Nginx,
    Haproxy,
}

/// Slow bodies of one visitor, more than there are connections: the others are served all the same, here and at other
/// sites, and keep the connections that they have.
#[test]
fn one_visitors_slow_bodies_take_a_site_from_nobody() {
    for way in [Way::Direct, Way::Nginx, Way::Haproxy] {
        slow_bodies(way);
    }
}

fn slow_bodies(way: Way) {
    let (capacity, visits) = (rounds(64, 512), rounds(200, 2000));
    let connections = format!("--connections={capacity}");
    let mut args = vec![connections.as_str()];
    args.extend((way != Way::Direct).then_some("--trust-proxy=127.0.0.1"));
    let world = World::start(&args, &["shop", "wiki"]);
    let front = match way {
        Way::Direct => None,
        Way::Nginx => Some(Front::nginx_told(world.relay.address)),
        Way::Haproxy => Some(Front::haproxy_told(world.relay.address)),
    };
    let door = front
        .as_ref()
        .map_or(world.relay.address, |front| front.address);
    let attack = |count| (0..count).map(|_| slow_body(&world, door));
    let mut kept: Vec<_> = (0..8).map(|host| Visitor::new(door, 100 + host)).collect();
    let are_kept = |kept: &mut Vec<Visitor>| {
        let good = kept.iter_mut().filter_map(|one| one.get(&world, "shop"));
        good.filter(|status| *status == 200).count()
    };
    assert_eq!(are_kept(&mut kept), 8, "{way:?}");
    let mut slow: Vec<_> = attack(capacity - 16).collect();
    pass(SLOW);
    slow.extend(attack(24));
    let mut good = 0;
    for number in 0..visits {
        let host = 10 + u8::try_from(number % 50).unwrap();
        let site = ["shop", "wiki"][number % 2];
        let status = Visitor::new(door, host).get(&world, site);
        good += usize::from(status == Some(200));
    }
    assert!(
        good * 100 >= visits * 99,
        "{way:?}: {good} of {visits} were good"
    );
    assert_eq!(
        are_kept(&mut kept),
        8,
        "{way:?}: a connection was taken away"
    );
    let bodies = world.bodies.load(Ordering::SeqCst);
    assert!(
        bodies <= capacity / 4,
        "{way:?}: {bodies} bodies are one visitor's"
    );
    drop(slow);
    let gone = holds_within(TIMEOUT, || world.bodies.load(Ordering::SeqCst) == 0);
    assert!(gone, "{way:?}: bodies outlive their visitor");
}

/// Slow bodies at the relay's own name. Uploads of others continue, even slow ones, and the visitor gets only its
/// share.
#[test]
fn one_visitors_slow_bodies_to_the_relay_itself_cut_no_upload() {
    let capacity = rounds(64, 512);
    let connections = format!("--connections={capacity}");
    let world = World::start(&[&connections, "--trust-proxy=127.0.0.1"], &["shop"]);
    let front = Front::nginx_told(world.relay.address);
    let upload = |host: u8| {
        let line = format!("X-Visitor: 198.51.100.{host}\r\nContent-Length: 6\r\n");
        let mut client = Client::on(connect_from(host, front.address).unwrap());
        client.send(world.request("POST", "shop", "/", &line).as_bytes());
        client
    };
    let mut uploads: Vec<_> = (10..18).map(upload).collect();
    let port = world.relay.address.port();
    let attack = || {
        let mut socket = connect_from(2, front.address).unwrap();
        let request = format!(
            "POST /auth HTTP/1.1\r\nHost: localhost:{port}\r\nX-Visitor: 203.0.113.9\r\nContent-Length: 9000\r\n\r\nx"
        );
        let _ = socket.write_all(request.as_bytes());
        socket
    };
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.extend((0..capacity / 2).map(|_| attack()));
        pass(SLOW / 2);
        for upload in &mut uploads {
            upload.send(b"x");
        }
    }
    for upload in &mut uploads {
        upload.send(b"x");
        assert_eq!(upload.answer(false).map(|answer| answer.status), Some(200));
    }
}

/// A byte of a body, and then nothing.
fn slow_body(world: &World, door: SocketAddr) -> TcpStream {
    let lines = "X-Visitor: 203.0.113.9\r\nContent-Length: 1000000\r\n";
    let mut socket = connect_from(2, door).unwrap();
    let request = world.request("POST", "shop", "/", lines) + "x";
    let _ = socket.write_all(request.as_bytes());
    socket
}

struct Visitor {
    client: Client,
    host: u8,
}

impl Visitor {
    fn new(door: SocketAddr, host: u8) -> Visitor {
        let client = Client::on(connect_from(host, door).unwrap());
        Visitor { client, host }
    }

    /// The status; none where the connection has ended.
    fn get(&mut self, world: &World, site: &str) -> Option<u16> {
        let line = format!("X-Visitor: 198.51.100.{}\r\n", self.host);
        let request = world.request("GET", site, "/", &line);
        self.client.send(request.as_bytes());
        self.client.answer(false).map(|answer| answer.status)
    }
}

#[test]
fn a_request_that_stands_still_has_the_time_of_answer_timeout_and_the_page_says_who_was_late() {
    let world = World::start(&["--answer-timeout=1"], &["shop"]);
    let told = |answer: Option<Answer>| {
        let answer = answer.expect("an answer");
        (answer.status, answer.text())
    };
    let mut upload = world.ask("POST", "/", "Content-Length: 9\r\n");
    let (status, said) = told(upload.answer(false));
    assert!(
        status == 408 && said.contains("The upload stopped"),
        "{status} {said}"
    );
    let mut unread = world.ask("POST", "/never", "Content-Length: 30000000\r\n");
    let mut sending = unread.socket.try_clone().unwrap();
    let sent = std::thread::spawn(move || sending.write_all(&vec![0; 30_000_000]));
    let (status, said) = told(unread.answer(false));
    assert!(
        status == 504 && said.contains("did not read the whole"),
        "{status} {said}"
    );
    drop(unread);
    assert!(sent.join().unwrap().is_err());
    let (status, said) = told(world.ask("GET", "/never", "").answer(false));
    assert!(
        status == 504 && said.contains("received the request"),
        "{status} {said}"
    );
}

/// The usual form is longer than the second that such a client had, the long one than all limits that there were.
#[test]
fn late_readers_uploads_that_pause_and_clients_that_half_close_are_waited_for() {
    let world = World::start(&[], &["shop"]);
    let pause = if is_whole() {
        LONG
    } else {
        Duration::from_millis(1500)
    };
    let late = format!("/late/{}", pause.as_millis());
    let status = |mut client: Client| client.answer(false).map(|answer| answer.status);
    let answers: Mutex<Vec<_>> = Mutex::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let client = world.ask("GET", &late, "");
            client.socket.shutdown(std::net::Shutdown::Write).unwrap();
            answers
                .lock()
                .unwrap()
                .push(("half-closed", status(client)));
        });
        scope.spawn(|| {
            let mut client = world.ask("POST", &late, "Content-Length: 30000000\r\n");
            client.send(&vec![0; 30_000_000]);
            answers.lock().unwrap().push(("read late", status(client)));
        });
        scope.spawn(|| {
            let mut client = world.ask("POST", "/", "Content-Length: 2\r\n");
            client.send(b"x");
            pass(pause);
            client.send(b"x");
            answers.lock().unwrap().push(("paused", status(client)));
        });
    });
    let answers = answers.into_inner().unwrap();
    assert!(
        answers.iter().all(|(_, status)| *status == Some(200)),
        "{answers:?}"
    );
}

/// A browser closes both ways, which looks like one; nobody waits for what it has asked.
#[test]
fn what_a_browser_has_left_ends_at_once() {
    let world = World::start(&[], &["shop"]);
    let visitors = || {
        let status = world.relay.status();
        let figures = &status["connectors"][0]["applications"][0]["figures"];
        figures["visitors"].as_u64().unwrap()
    };
    let visitor = world.ask("GET", "/never", BROWSER);
    wait_until(TIMEOUT, "it is there", || visitors() == 1);
    let left = Instant::now();
    drop(visitor);
    wait_until(TIMEOUT, "it has left", || visitors() == 0);
    assert!(
        left.elapsed() < Duration::from_secs(20),
        "{:?}",
        left.elapsed()
    );
}
