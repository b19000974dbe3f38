//! `postern start` before applications that speak HTTP: by which name they are asked, what of their answers is written
//! afresh, who asks for the code, and what is known of who was here.

mod frameworks;
mod nginx;
mod odd;
mod odd_answers;
mod own_names;
mod passing;
mod virtual_host;
mod visitors;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use support::TIMEOUT;
use support::manager::Manager;
use support::relay::Relay;

/// An application that answers each head as it is told to, and keeps all heads. It ends with the process.
struct App {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl App {
    fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> App {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&heads), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &kept, |head| answer(head)));
            }
        });
        App { port, heads }
    }

    /// The heads of visitors' requests: those of `path`.
    fn heads_of(&self, path: &str) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let is_of = |head: &&String| head.split(' ').nth(1) == Some(path);
        heads.iter().filter(is_of).cloned().collect()
    }
}

fn serve(
    mut stream: impl Read + Write,
    kept: &Mutex<Vec<String>>,
    answer: impl Fn(&str) -> String,
) {
    while let Some(head) = read_head(&mut stream) {
        let said = answer(&head);
        kept.lock().unwrap().push(head);
        if stream.write_all(said.as_bytes()).is_err() {
            return;
        }
    }
}

/// A head, byte by byte; none at the end.
fn read_head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !stream.read(&mut byte).is_ok_and(|count| count == 1) {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

fn ok(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nok")
}

fn host(head: &str) -> &str {
    let line = head.lines().find_map(|line| line.strip_prefix("Host: "));
    line.unwrap_or_default()
}

/// One request on a connection of its own, and all that is answered.
#[track_caller]
fn ask(address: impl std::net::ToSocketAddrs, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A relay, a manager that uses it, and how a site is asked.
struct Way {
    relay: Relay,
    manager: Manager,
    domain: &'static str,
}

impl Way {
    fn new() -> Way {
        let relay = Relay::start(&[]);
        let manager = Manager::start(&["--server", &relay.url()]);
        Way {
            relay,
            manager,
            domain: "localhost",
        }
    }

    /// With sites that are not on loopback by their names.
    fn elsewhere() -> Way {
        let relay = Relay::start(&[
            "--domain",
            "relay.example",
            "--enroll-token",
            "a-token-for-tests",
        ]);
        let server = relay.url();
        let token = ["--enroll-token", "a-token-for-tests"];
        let manager = Manager::start(&["--server", &server, token[0], token[1]]);
        Way {
            relay,
            manager,
            domain: "relay.example",
        }
    }

    /// Behind a server that ends TLS: visitors come by `https://NAME.localhost`.
    fn by_https() -> Way {
        let relay = Relay::start(&[
            "--public-url=https://localhost",
            "--trust-proxy=127.0.0.1",
            "--enroll-token=a-token-for-tests",
        ]);
        let server = relay.url();
        let manager = Manager::start(&["--server", &server, "--enroll-token", "a-token-for-tests"]);
        Way {
            relay,
            manager,
            domain: "localhost",
        }
    }

    #[track_caller]
    fn connected(&self, app: &Value) -> (String, Value) {
        let id = self.manager.add(app);
        let result = self.manager.connected(&id);
        (id, result)
    }

    fn host(&self, site: &str) -> String {
        format!("{site}.{}:{}", self.domain, self.relay.address.port())
    }

    /// The answer to a GET.
    #[track_caller]
    fn get(&self, site: &str, path: &str, lines: &str) -> String {
        let host = self.host(site);
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n");
        ask(self.relay.address, &request)
    }
}

#[track_caller]
fn requests(manager: &Manager, id: &str, after: u64) -> Value {
    let path = format!("/api/apps/{id}/requests?after={after}");
    manager.client().get(&path).data()
}

#[track_caller]
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    while !read.ends_with(end.as_bytes()) {
        let mut piece = [0];
        assert_eq!(
            stream.read(&mut piece).unwrap(),
            1,
            "{}",
            String::from_utf8_lossy(&read)
        );
        read.push(piece[0]);
        if String::from_utf8_lossy(&read).contains(end) {
            break;
        }
    }
    String::from_utf8(read).unwrap()
}
