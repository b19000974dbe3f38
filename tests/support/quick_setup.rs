//! A scripted quick-setup server on raw sockets: it answers as a list says, also with what no decent server sends.
//!
//! Each connection takes one [`Act`]; when the list is at its end the last one is repeated. Every request is
//! recorded with the time at which it was complete. All threads and sockets end with the [`QuickSetup`].
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "test support: each test binary uses a part of it, and a panic is how a test reports"
)]

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Time in which a connection must send its request.
const REQUEST_WITHIN: Duration = Duration::from_secs(20);
/// Bytes of a request.
const MAX_REQUEST: usize = 1024 * 1024;

/// Reaction to one connection.
#[derive(Clone, Debug)]
pub enum Act {
    /// An ordinary answer.
    Answer {
        /// The status.
        status: u16,
        /// More header lines, as `Name: value`.
        headers: Vec<String>,
        /// The body; its length is sent with it.
        body: Vec<u8>,
        /// A pause before the first byte.
        delay: Duration,
    },
    /// The request is read and the connection closed.
    Close,
    /// A head that promises more than is sent, then the end.
    Cut,
    /// These bytes instead of HTTP, then the end.
    Raw(Vec<u8>),
    /// Status 200 and a body of this many bytes.
    Huge(u64),
    /// Status 200 and one byte of a body at a time, with this pause, for ever.
    Drip(Duration),
    /// The request is read and nothing happens until the server ends.
    Hold,
}

impl Act {
    /// An answer with a JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::text(status, &body.to_string())
    }

    /// An answer with any body.
    pub fn text(status: u16, body: &str) -> Self {
        let (headers, body, delay) = (Vec::new(), body.as_bytes().to_vec(), Duration::ZERO);
        Self::Answer {
            status,
            headers,
            body,
            delay,
        }
    }

    /// Adds a header line.
    pub fn header(mut self, line: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push(line.to_owned());
        }
        self
    }

    /// Adds a pause before the answer.
    pub fn after(mut self, pause: Duration) -> Self {
        if let Self::Answer { delay, .. } = &mut self {
            *delay = pause;
        }
        self
    }
}

/// A good answer: a tunnel server on 127.0.0.1 at `tunnel_port`, where the application may bind `port`.
pub fn good(tunnel_port: u16, port: u16) -> Value {
    json!({
        "connector": {
            "external_ip": "127.0.0.1", "api_port": 20000, "username": "assigned-user",
            "password": "assigned-password", "tunnel_port": tunnel_port,
        },
        "app": {
            "app_id": "app-1", "site_url": format!("http://127.0.0.1:{port}/"),
            "resource": {"ip": "127.0.0.1", "port": port},
        },
        "api_key": {"nhp_server": "auth.example", "code": "visitors-code", "app_id": "app-1"},
    })
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// Time at which it was complete.
    pub at: Instant,
    /// Request line and header lines.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The server.
pub struct QuickSetup {
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    script: VecDeque<Act>,
    requests: Vec<Request>,
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
    ended: bool,
}

impl QuickSetup {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(script: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        shared.lock().script = script.into_iter().collect();
        let accepting = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || accept(&listener, &accepting));
        Self {
            port,
            shared,
            accepting: Some(accepting),
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Replaces what is left of the script.
    pub fn script(&self, script: impl IntoIterator<Item = Act>) {
        self.shared.lock().script = script.into_iter().collect();
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Waits until there are `count` requests, and panics when that takes too long.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<Request> {
        let few = |state: &mut State| state.requests.len() < count;
        let waited =
            self.shared
                .changed
                .wait_timeout_while(self.shared.lock(), REQUEST_WITHIN, few);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(
            state.requests.len() >= count,
            "{} requests instead of {count}",
            state.requests.len()
        );
        state.requests.clone()
    }
}

impl Drop for QuickSetup {
    fn drop(&mut self) {
        let threads = {
            let mut state = self.shared.lock();
            state.ended = true;
            for socket in &state.sockets {
                let _ = socket.shutdown(Shutdown::Both);
            }
            self.shared.changed.notify_all();
            std::mem::take(&mut state.threads)
        };
        // Wakes the accept loop, which then sees the end.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        for thread in self.accepting.take().into_iter().chain(threads) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps, unless the server ends.
    fn sleep(&self, pause: Duration) {
        let state = self.lock();
        let _ = self
            .changed
            .wait_timeout_while(state, pause, |state| !state.ended);
    }

    fn next(&self, request: Request) -> Option<Act> {
        let mut state = self.lock();
        state.requests.push(request);
        self.changed.notify_all();
        match state.script.len() {
            0 | 1 => state.script.front().cloned(),
            _ => state.script.pop_front(),
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        let mut state = shared.lock();
        if state.ended {
            return;
        }
        let Ok(socket) = socket else { continue };
        state.sockets.push(socket.try_clone().unwrap());
        let of_connection = Arc::clone(shared);
        let serving = std::thread::spawn(move || {
            // A client that goes away is part of the tests.
            let _ = serve(&socket, &of_connection);
            let _ = socket.shutdown(Shutdown::Both);
        });
        state.threads.push(serving);
    }
}

fn serve(socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_read_timeout(Some(REQUEST_WITHIN))?;
    let request = request(socket)?;
    match shared.next(request) {
        None | Some(Act::Close) => Ok(()),
        Some(act) => perform(act, socket, shared),
    }
}

fn perform(act: Act, mut socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n{";
    match act {
        Act::Answer {
            status,
            headers,
            body,
            delay,
        } => {
            shared.sleep(delay);
            let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{more}\r\n");
            socket.write_all(head.as_bytes())?;
            socket.write_all(&body)
        }
        Act::Cut => socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"conn"),
        Act::Raw(bytes) => socket.write_all(&bytes),
        Act::Huge(bytes) => {
            write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n")?;
            io::copy(&mut io::repeat(b' ').take(bytes), &mut socket).map(drop)
        }
        Act::Drip(pause) => {
            socket.write_all(ENDLESS)?;
            while !shared.lock().ended {
                socket.write_all(b" ")?;
                shared.sleep(pause);
            }
            Ok(())
        }
        Act::Hold => {
            shared.sleep(Duration::from_secs(3600));
            Ok(())
        }
        Act::Close => Ok(()),
    }
}

fn request(mut socket: &TcpStream) -> io::Result<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = socket.read(&mut buffer)?;
        if read == 0 || bytes.len() > MAX_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let body = &bytes[end + 4..];
        if body.len() >= length(&head) {
            return Ok(Request {
                at: Instant::now(),
                body: body.to_vec(),
                head,
            });
        }
    }
}

fn length(head: &str) -> usize {
    let lines = head.lines().map(str::to_ascii_lowercase);
    let mut values =
        lines.filter_map(|line| Some(line.strip_prefix("content-length:")?.trim().to_owned()));
    values.next().map_or(0, |value| value.parse().unwrap())
}
