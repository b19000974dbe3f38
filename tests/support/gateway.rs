//! A gateway with a real tunnel behind it, and applications that speak raw bytes.
#![allow(
    dead_code, // each test file uses its own part
    unreachable_pub,
    missing_docs,
    clippy::as_conversions,
    clippy::unwrap_used,
    clippy::indexing_slicing
)]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postern::gateway::{Gateway, GatewayConfig, OpenStream, Site, Sites, through};
use postern::http::{HostPolicy, Limits, Request, Response, Server, ServerConfig};
use postern::tunnel::client::{self, Tunnel};
use postern::tunnel::remote::Remote;
use postern::tunnel::server::{self, Grant, Policy};
use postern::tunnel::ssh::{KeyKind, ServerKey};

/// No answer here takes this long.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The connector's name and password.
pub const CONNECTOR: (&str, &str) = ("connector", "its password");

/// A line that only browsers send: one that ends its connection has left.
pub const BROWSER: &str = "Sec-Fetch-Mode: cors\r\n";

/// Holds whatever the connector asks for on loopback, and listens on its second address; nothing else is
/// granted.
struct OnlyHeld;

impl Policy for OnlyHeld {
    fn login(&self, user: &str, password: &str, _: SocketAddr) -> Option<String> {
        ((user, password) == CONNECTOR).then(|| user.to_owned())
    }

    fn grant(&self, _: &str, remote: &Remote) -> Grant {
        match remote.local_host.as_str() {
            "127.0.0.1" => Grant::Held,
            "127.0.0.2" => Grant::Listen,
            _ => Grant::Denied,
        }
    }
}

#[derive(Default)]
pub struct Table(Mutex<HashMap<String, Arc<Site>>>);

impl Table {
    pub fn put(&self, site: Site) -> Arc<Site> {
        let site = Arc::new(site);
        self.0
            .lock()
            .unwrap()
            .insert(site.name.clone(), Arc::clone(&site));
        site
    }
}

impl Sites for Table {
    fn find(&self, site: &str) -> Option<Arc<Site>> {
        self.0.lock().unwrap().get(site).cloned()
    }
}

/// All of it.
pub struct Relay {
    pub addr: SocketAddr,
    pub sites: Arc<Table>,
    pub tunnels: server::Server,
    pub server: Option<Server>,
    next_port: AtomicU16,
    _dir: tempfile::TempDir,
}

impl Relay {
    pub fn start() -> Relay {
        Relay::start_with(Limits::default(), |_| {})
    }

    pub fn start_with(limits: Limits, change: impl FnOnce(&mut GatewayConfig)) -> Relay {
        let dir = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let mut gateway = GatewayConfig::new("localhost", addr.port());
        change(&mut gateway);
        let sites = Arc::new(Table::default());
        let config = ServerConfig {
            listener,
            hosts: HostPolicy::loopback(),
            check_other_users: false,
            run_dir: dir.path().join("run"),
            workers: 2,
            limits,
        };
        let own = |request: Request| request.respond(Response::text(200, "the relay itself"));
        let gateway = Arc::new(Gateway::new(gateway, sites.clone()));
        let server = Server::start_with_gateway(gateway, config, Arc::new(own)).unwrap();
        Relay {
            addr,
            sites,
            tunnels: tunnel_server(),
            server: Some(server),
            next_port: AtomicU16::new(1),
            _dir: dir,
        }
    }

    /// Shares an application's port under a name, through a tunnel of its own.
    pub fn share(&self, name: &str, port: u16) -> Shared {
        self.share_as(name, port, |_| {})
    }

    pub fn share_as(&self, name: &str, port: u16, change: impl FnOnce(&mut Site)) -> Shared {
        let number = self.next_port.fetch_add(1, Ordering::Relaxed);
        let tunnel = self.tunnel(&format!("R:127.0.0.1:{number}:127.0.0.1:{port}"));
        let open: OpenStream = through(self.tunnels.opener(), CONNECTOR.0, number);
        let mut site = Site::new(name, format!("app-{name}"), open);
        change(&mut site);
        Shared {
            site: self.sites.put(site),
            tunnel,
        }
    }

    /// An application's port through a tunnel of its own, without the gateway.
    pub fn forward(&self, port: u16) -> (SocketAddr, Tunnel) {
        let free = TcpListener::bind("127.0.0.2:0").unwrap();
        let addr = free.local_addr().unwrap();
        drop(free);
        let tunnel = self.tunnel(&format!("R:{addr}:127.0.0.1:{port}"));
        (addr, tunnel)
    }

    fn tunnel(&self, remote: &str) -> Tunnel {
        let endpoint = format!("ws://{}", self.tunnels.address()).parse().unwrap();
        let mut settings = client::Settings::new(endpoint, vec![remote.parse().unwrap()]);
        settings.user = CONNECTOR.0.into();
        settings.password = CONNECTOR.1.to_owned().into();
        let tunnel = Tunnel::start(settings).unwrap();
        assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
        tunnel
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.addr)
    }

    /// One GET on a connection of its own.
    pub fn get(&self, site: &str, path: &str) -> Answer {
        let mut client = self.connect();
        client.send(self.request("GET", site, path, "").as_bytes());
        client.answer(false).unwrap()
    }

    /// A request without a body; `lines` end in CR LF.
    pub fn request(&self, method: &str, site: &str, path: &str, lines: &str) -> String {
        let port = self.addr.port();
        format!("{method} {path} HTTP/1.1\r\nHost: {site}.localhost:{port}\r\n{lines}\r\n")
    }
}

/// A site, and the tunnel that it comes through.
pub struct Shared {
    pub site: Arc<Site>,
    pub tunnel: Tunnel,
}

fn tunnel_server() -> server::Server {
    let keys = [ServerKey::generate(KeyKind::Ed25519).unwrap()];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = server::Settings::new(listener, keys.into_iter().collect());
    settings.policy = Box::new(OnlyHeld);
    server::Server::start(settings).unwrap()
}

/// An application: every connection is `serve`d on a thread of its own, which ends with it.
pub fn application(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            let _ = stream.set_nodelay(true);
            let _ = stream.set_read_timeout(Some(TIMEOUT));
            let _ = stream.set_write_timeout(Some(TIMEOUT));
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Reads one request as it comes, head and framed body; `None` at the end of the connection.
pub fn read_request(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Option<Vec<u8>> {
    let head = loop {
        if let Some(at) = find(rest, b"\r\n\r\n") {
            break at + 4;
        }
        more(stream, rest)?;
    };
    let text = String::from_utf8_lossy(&rest[..head]).to_ascii_lowercase();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let end = if value("transfer-encoding:").is_some() {
        loop {
            if let Some(at) = find(&rest[head..], b"0\r\n\r\n") {
                break head + at + 5;
            }
            more(stream, rest)?;
        }
    } else {
        let length: usize = value("content-length:").map_or(0, |v| v.parse().unwrap());
        while rest.len() < head + length {
            more(stream, rest)?;
        }
        head + length
    };
    Some(rest.drain(..end).collect())
}

fn more(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; 16 * 1024];
    let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
    rest.extend_from_slice(&piece[..read]);
    Some(())
}

/// One answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    /// Head and body as they came, chunks and all.
    pub raw: Vec<u8>,
    /// True if the body ended as its framing says.
    pub whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut pairs = lines.filter_map(|line| line.split_once(": "));
        pairs
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A visitor who speaks raw bytes.
pub struct Client<S = TcpStream> {
    pub socket: S,
    pub buffer: Vec<u8>,
}

impl Client {
    pub fn connect(addr: SocketAddr) -> Client {
        let socket = TcpStream::connect(addr).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket.set_write_timeout(Some(TIMEOUT)).unwrap();
        Client::on(socket)
    }

    /// True if data or the end has arrived; does not wait.
    pub fn has_heard(&self) -> bool {
        self.socket.set_nonblocking(true).unwrap();
        let heard = self.socket.peek(&mut [0]).is_ok();
        self.socket.set_nonblocking(false).unwrap();
        heard
    }
}

impl<S: Read + Write> Client<S> {
    pub fn on(socket: S) -> Client<S> {
        Client {
            socket,
            buffer: Vec::new(),
        }
    }

    /// A gateway that refuses may stop reading: that is no failure here.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// Reads one answer, interim ones too; `None` when the connection ended before it.
    pub fn answer(&mut self, to_head: bool) -> Option<Answer> {
        while find(&self.buffer, b"\r\n\r\n").is_none() {
            self.more()?;
        }
        let end = find(&self.buffer, b"\r\n\r\n")? + 4;
        let mut raw: Vec<u8> = self.buffer.drain(..end).collect();
        let head = String::from_utf8_lossy(&raw).into_owned();
        let mut answer = Answer {
            status: head.split(' ').nth(1)?.parse().ok()?,
            head,
            body: Vec::new(),
            raw: Vec::new(),
            whole: true,
        };
        if !to_head && !matches!(answer.status, 100..=199 | 204 | 304) {
            answer.whole = self.body(&mut answer, &mut raw).is_some();
        }
        answer.raw = raw;
        Some(answer)
    }

    fn body(&mut self, answer: &mut Answer, raw: &mut Vec<u8>) -> Option<()> {
        if answer.header("transfer-encoding") == Some("chunked") {
            return self.chunks(&mut answer.body, raw);
        }
        if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            let read = self.exactly(length, raw);
            answer.body = raw[answer.head.len()..].to_vec();
            return read;
        }
        while self.more().is_some() {}
        answer.body.append(&mut self.buffer);
        raw.extend_from_slice(&answer.body);
        Some(())
    }

    fn chunks(&mut self, body: &mut Vec<u8>, raw: &mut Vec<u8>) -> Option<()> {
        loop {
            while find(&self.buffer, b"\r\n").is_none() {
                self.more()?;
            }
            let end = find(&self.buffer, b"\r\n")?;
            let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
            raw.extend(self.buffer.drain(..end + 2));
            let size = line.split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).ok()?;
            if size == 0 {
                break;
            }
            let from = raw.len();
            self.exactly(size + 2, raw)?;
            body.extend_from_slice(&raw[from..from + size]);
        }
        loop {
            while find(&self.buffer, b"\r\n").is_none() {
                self.more()?;
            }
            let end = find(&self.buffer, b"\r\n")?;
            raw.extend(self.buffer.drain(..end + 2));
            if end == 0 {
                return Some(());
            }
        }
    }

    fn exactly(&mut self, length: usize, raw: &mut Vec<u8>) -> Option<()> {
        let mut left = length;
        loop {
            let take = left.min(self.buffer.len());
            raw.extend(self.buffer.drain(..take));
            left -= take;
            if left == 0 {
                return Some(());
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> Option<()> {
        let mut piece = vec![0; 64 * 1024];
        let read = self.socket.read(&mut piece).ok().filter(|read| *read > 0)?;
        self.buffer.extend_from_slice(&piece[..read]);
        Some(())
    }

    /// True if the gateway ends the connection without a further byte.
    pub fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !matches!(self.socket.read(&mut [0]), Ok(1..))
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
