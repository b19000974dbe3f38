//! A server behind the listener, and a client that speaks raw bytes.
#![allow(unreachable_pub)]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use postern::http::{Handler, HostPolicy, Limits, Request, Response, Server, ServerConfig};
use serde_json::json;

/// No answer here takes this long.
pub const TIMEOUT: Duration = Duration::from_secs(30);

pub struct Fixture {
    pub addr: SocketAddr,
    pub hosts: HostPolicy,
    #[allow(dead_code, reason = "the measuring tests stop it")]
    pub server: Option<Server>,
    pub reached: Arc<AtomicUsize>,
    pub dir: tempfile::TempDir,
}

/// Starts a server whose handler is counted.
pub fn start(limits: Limits, handler: impl Fn(Request) + Send + Sync + 'static) -> Fixture {
    start_with(limits, true, handler)
}

pub fn start_with(
    limits: Limits,
    check_other_users: bool,
    handler: impl Fn(Request) + Send + Sync + 'static,
) -> Fixture {
    let reached = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reached);
    let counted: Arc<dyn Handler> = Arc::new(move |request: Request| {
        counter.fetch_add(1, Ordering::SeqCst);
        handler(request);
    });
    let fixture = start_handler(limits, check_other_users, counted);
    Fixture { reached, ..fixture }
}

/// Starts a server with a handler that counts nothing.
pub fn start_handler(
    limits: Limits,
    check_other_users: bool,
    handler: Arc<dyn Handler>,
) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = HostPolicy::loopback();
    let config = ServerConfig {
        listener,
        hosts: hosts.clone(),
        check_other_users,
        run_dir: dir.path().join("run"),
        workers: 2,
        limits,
    };
    let server = Server::start(config, handler).unwrap();
    Fixture {
        addr: server.addr(),
        hosts,
        server: Some(server),
        reached: Arc::default(),
        dir,
    }
}

impl Fixture {
    pub fn connect(&self) -> Client {
        Client::connect(self.addr)
    }

    pub fn get(&self, path: &str) -> Answer {
        let mut client = self.connect();
        client.send(&get(self.addr, path));
        client.answer(false).unwrap()
    }
}

/// A GET request with all it needs.
pub fn get(addr: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\n\r\n").into_bytes()
}

/// Answers with what came in.
pub fn echo(request: Request) {
    let seen = json!({
        "method": request.method().as_str(),
        "path": request.path(),
        "body": String::from_utf8_lossy(request.body()),
        "cookie_b": request.cookies("b").next(),
    });
    request.respond(Response::ok(seen));
}

/// One answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    /// True if the body ended as its framing says.
    pub whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub struct Client {
    pub socket: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn connect(addr: SocketAddr) -> Client {
        let socket = TcpStream::connect(addr).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket.set_write_timeout(Some(TIMEOUT)).unwrap();
        Client {
            socket,
            buffer: Vec::new(),
        }
    }

    /// A server that refuses may stop reading: that is no failure here.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// Reads one answer; `None` when the connection ended before it.
    pub fn answer(&mut self, to_head: bool) -> Option<Answer> {
        let end = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            if self.more().ok()? == 0 {
                return None;
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end);
        let status = head.split(' ').nth(1)?.parse().ok()?;
        if status == 100 {
            return self.answer(to_head);
        }
        let mut answer = Answer {
            status,
            head,
            body: Vec::new(),
            whole: true,
        };
        if !to_head && !matches!(status, 204 | 304) {
            answer.whole = self.body(&mut answer).is_some();
        }
        Some(answer)
    }

    fn body(&mut self, answer: &mut Answer) -> Option<()> {
        if answer.header("transfer-encoding") == Some("chunked") {
            return self.chunks(&mut answer.body);
        }
        if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            return self.exactly(length, &mut answer.body);
        }
        loop {
            match self.more() {
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => return None,
            }
        }
        answer.body.append(&mut self.buffer);
        Some(())
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            while find(&self.buffer, b"\r\n").is_none() {
                self.more().ok().filter(|n| *n > 0)?;
            }
            let end = find(&self.buffer, b"\r\n")?;
            let size = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
            self.buffer.drain(..end + 2);
            let size = usize::from_str_radix(&size, 16).ok()?;
            let mut data = Vec::new();
            self.exactly(size + 2, &mut data)?;
            assert!(data.ends_with(b"\r\n"));
            body.extend_from_slice(&data[..size]);
            if size == 0 {
                return Some(());
            }
        }
    }

    fn exactly(&mut self, length: usize, body: &mut Vec<u8>) -> Option<()> {
        while self.buffer.len() < length {
            if self.more().ok().filter(|n| *n > 0).is_none() {
                body.append(&mut self.buffer);
                return None;
            }
        }
        body.extend(self.buffer.drain(..length));
        Some(())
    }

    fn more(&mut self) -> io::Result<usize> {
        let mut piece = vec![0; 64 * 1024];
        let read = self.socket.read(&mut piece)?;
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(read)
    }

    /// True if the server ends the connection without a further byte.
    pub fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !matches!(self.more(), Ok(1..)) && self.buffer.is_empty()
    }
}

pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

/// Waits for a condition; fails naming it when it does not come true.
pub fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !is() {
        assert!(Instant::now() < until, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
