//! Real servers in front that send many visitors' requests over few connections, Debian's HAProxy and Caddy: what one
//! visitor sends, or makes an application send, is never another's.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use postern::http::Limits;
use support::front::{Front, Tap, connect_from};
use support::gateway::{Client, Relay, application, read_request};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// As hosts of 127.0.0.0/8, beside the proxy's own.
const ATTACKER: u8 = 2;
const VICTIM: u8 = 3;
/// Turns of an attack: each may meet another order of things.
const TURNS: usize = 20;

/// A gateway behind a server that was named, with what counts the connections between them.
struct Behind {
    relay: Relay,
    tap: Tap,
    front: Front,
}

impl Behind {
    fn all() -> [Behind; 2] {
        [Behind::of(Front::haproxy), Behind::of(Front::caddy)]
    }

    fn of(front: fn(std::net::SocketAddr) -> Front) -> Behind {
        let relay = Relay::start_with(Limits::default(), |config| {
            config.trust_proxy = vec!["127.0.0.1/32".parse().unwrap()];
        });
        let tap = Tap::before(relay.addr);
        let front = front(tap.address);
        Behind { relay, tap, front }
    }

    fn visitor(&self, host: u8) -> Client {
        Client::on(connect_from(host, self.front.address).unwrap())
    }

    /// One request on a connection of its own; what came back as text.
    fn ask(&self, host: u8, method: &str, path: &str, rest: &str) -> (u16, String) {
        let mut visitor = self.visitor(host);
        let head = self.relay.request(method, "shop", path, rest);
        visitor.send(head.as_bytes());
        let answer = visitor.answer(method == "HEAD").unwrap();
        (answer.status, answer.text())
    }
}

/// Without the body.
fn head_from(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// The unread rest of a body would be the beginning of the next visitor's request.
#[test]
fn a_body_that_is_left_unread_meets_no_other_request() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = Arc::clone(&seen);
    let port = application(move |mut stream| {
        while let Some(head) = head_from(&mut stream) {
            theirs.lock().unwrap().push(head);
            let _ = stream.write_all(OK);
        }
    });
    for behind in Behind::all() {
        let _shared = behind.relay.share("shop", port);
        for turn in 0..TURNS {
            let body = "GET /attacker-chosen HTTP/1.1\r\nX-Glue: ";
            let request = format!("Content-Length: {}\r\n", body.len());
            let request = behind.relay.request("POST", "shop", "/unread", &request) + body;
            let mut attacker = behind.visitor(ATTACKER);
            attacker.send(request.as_bytes());
            assert_eq!(attacker.answer(false).unwrap().status, 200);
            let cookie = format!("Cookie: session=VICTIM-{turn}\r\n");
            let answer = behind.ask(VICTIM, "GET", "/account", &cookie);
            assert_eq!(answer, (200, "ok".to_owned()));
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            let of_victim: Vec<_> = seen.iter().filter(|head| head.contains("VICTIM")).collect();
            assert_eq!(of_victim.len(), 1, "{seen:?}");
            let head = of_victim[0];
            assert!(head.starts_with("GET /account "), "{seen:?}");
            assert!(
                head.contains("X-Forwarded-For: 127.0.0.3, 127.0.0.1\r\n"),
                "{head}"
            );
        }
        let connections = behind.tap.connections();
        assert!(connections < 2 * TURNS, "nothing was pooled: {connections}");
    }
}

/// The application signs in connections, as with NTLM; behind one address are two people, of whom one has.
#[test]
fn what_one_signed_in_on_a_connection_is_not_the_others_of_the_same_address() {
    let port = application(|mut stream| {
        let mut user = "nobody".to_owned();
        while let Some(head) = head_from(&mut stream) {
            let shown = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": Bearer ")?;
                name.eq_ignore_ascii_case("authorization").then_some(value)
            });
            user = shown.map_or(user, str::to_owned);
            let length = user.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{user}"
            );
        }
    });
    for behind in Behind::all() {
        let _shared = behind.relay.share("shop", port);
        for turn in 0..TURNS {
            let signs_in = "Authorization: Bearer VICTIM\r\n";
            let of_victim = behind.ask(VICTIM, "GET", "/", signs_in);
            assert_eq!(of_victim, (200, "VICTIM".to_owned()));
            for lines in ["", "Cookie: session=OTHER\r\n"] {
                let of_other = behind.ask(VICTIM, "GET", "/", lines);
                assert_eq!(of_other, (200, "nobody".to_owned()), "turn {turn}");
            }
        }
        let connections = behind.tap.connections();
        assert!(connections < 3 * TURNS, "nothing was pooled: {connections}");
    }
}

/// Bytes behind an answer that is over, in each way that an application may send them.
#[test]
fn what_an_application_sends_late_is_nobodys_answer() {
    let port = application(|mut stream| {
        while let Some(head) = head_from(&mut stream) {
            let path = head.split(' ').nth(1).unwrap_or_default();
            let (first, late) = match path {
                "/no-content" => ("204 No Content\r\n\r\n", ""),
                "/no-content-chunks" => {
                    ("204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "")
                }
                "/not-modified" => ("304 Not Modified\r\nContent-Length: 4\r\n\r\n", "LATE"),
                "/head" => ("200 OK\r\nContent-Length: 4\r\n\r\n", "LATE"),
                "/twice" => ("200 OK\r\nContent-Length: 2\r\n\r\nok", ""),
                _ => {
                    let _ = stream.write_all(OK);
                    continue;
                }
            };
            let _ = write!(stream, "HTTP/1.1 {first}");
            std::thread::yield_now();
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nLATE";
            let _ = write!(stream, "{late}{answer}");
        }
    });
    for behind in Behind::all() {
        let _shared = behind.relay.share("shop", port);
        for turn in 0..TURNS {
            for (method, path, status) in [
                ("GET", "/no-content", 204),
                ("GET", "/no-content-chunks", 204),
                ("GET", "/not-modified", 304),
                ("HEAD", "/head", 200),
                ("GET", "/twice", 200),
            ] {
                assert_eq!(behind.ask(ATTACKER, method, path, "").0, status, "{path}");
                let answer = behind.ask(VICTIM, "GET", "/", "");
                assert_eq!(answer, (200, "ok".to_owned()), "{path}, turn {turn}");
            }
        }
        let connections = behind.tap.connections();
        assert!(
            connections < 10 * TURNS,
            "nothing was pooled: {connections}"
        );
    }
}

/// Every visitor gets what belongs to the own request, whatever the others send meanwhile.
#[test]
fn many_visitors_at_once_get_their_own_answers() {
    const VISITORS: u8 = 8;
    const REQUESTS: usize = 25;
    let port = application(|mut stream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let text = String::from_utf8_lossy(&request).into_owned();
            let who = text.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("x-who").then_some(value)
            });
            let line = text.lines().next().unwrap_or_default();
            let body = format!("{line} {}", who.unwrap_or("nobody"));
            let length = body.len();
            if line.starts_with("HEAD") {
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
                );
            } else {
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        }
    });
    for behind in Behind::all() {
        let _shared = behind.relay.share("shop", port);
        let visit = |host: u8| {
            for number in 0..REQUESTS {
                let (path, who) = (
                    format!("/{host}/{number}"),
                    format!("X-Who: {host}.{number}"),
                );
                let (method, rest) = match number % 3 {
                    0 => ("GET", format!("{who}\r\n")),
                    1 => ("HEAD", format!("{who}\r\n")),
                    _ => ("POST", format!("{who}\r\nContent-Length: 0\r\n")),
                };
                let (status, text) = behind.ask(host, method, &path, &rest);
                let expected = format!("{method} {path} HTTP/1.1 {host}.{number}");
                let expected = if method == "HEAD" {
                    String::new()
                } else {
                    expected
                };
                assert_eq!((status, text), (200, expected));
            }
        };
        std::thread::scope(|scope| {
            for host in 0..VISITORS {
                let visit = &visit;
                scope.spawn(move || visit(ATTACKER + host));
            }
        });
        let connections = behind.tap.connections();
        let requests = usize::from(VISITORS) * REQUESTS;
        assert!(connections < requests, "nothing was pooled: {connections}");
    }
}

/// HAProxy itself looks at the file, with a certificate in its place.
#[test]
fn the_file_for_haproxy_is_whole_as_it_is_deployed() {
    let dir = tempfile::tempdir().unwrap();
    let run = |program: &str, args: &str| {
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap());
        let mut command = Command::new(program);
        let args = command.args(args.split(' ')).current_dir(dir.path());
        args.env("PATH", path).output().unwrap()
    };
    let made = run(
        "openssl",
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=relay.example \
         -keyout one.pem -out two.pem",
    );
    assert!(made.status.success(), "{made:?}");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let both = read("one.pem") + &read("two.pem");
    std::fs::write(dir.path().join("relay.example.pem"), both).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deploy/haproxy.cfg");
    let file = std::fs::read_to_string(file).unwrap();
    let file = file.replace("/etc/ssl/relay.example.pem", "relay.example.pem");
    std::fs::write(dir.path().join("haproxy.cfg"), file).unwrap();
    let looked = run("haproxy", "-c -f haproxy.cfg");
    let said = String::from_utf8_lossy(&looked.stderr).into_owned();
    assert!(looked.status.success(), "{said}");
    assert!(!said.contains("ALERT"), "{said}");
}
