//! A scripted server that speaks the MySQL protocol, for what no installed server does: MySQL 8's sign-in, and
//! everything a hostile server may send.
//!
//! It shares no code with the driver under test. Every command is recorded; a [`Twist`] may answer in place of the
//! usual answers. All threads and sockets end with the [`Fake`].
#![allow(unreachable_pub)]

mod keys;
pub mod packets;
mod sign_in;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub use keys::{Rsa, tls};
pub use packets::{column, framed, row};

/// The user and password that the fake takes.
pub const USER: &str = "app";
/// See [`USER`].
pub const PASSWORD: &str = "correct horse";

/// `SERVER_MORE_RESULTS_EXISTS`.
const MORE_RESULTS: u16 = 8;

/// A command as the client sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// COM_QUIT, or the end of the stream.
    Quit,
    /// COM_INIT_DB.
    InitDb(String),
    /// COM_QUERY.
    Query(String),
    /// COM_PING.
    Ping,
    /// COM_STMT_PREPARE.
    Prepare(String),
    /// COM_STMT_CLOSE.
    Close,
    /// COM_RESET_CONNECTION.
    Reset,
    /// Anything else.
    Other(u8),
}

/// Beginning and end of the statements that make a session read-only.
const GUARD: [&str; 2] = [
    "SET NAMES utf8mb4, sql_mode = ",
    "; START TRANSACTION READ ONLY; ",
];

impl Command {
    /// A statement without what stands before it in the same packet to make its session read-only, and whether that was
    /// there.
    fn without_guard(self) -> (Command, bool) {
        let Command::Query(sql) = &self else {
            return (self, false);
        };
        match sql.split_once(GUARD[1]) {
            Some((guard, sql)) if guard.starts_with(GUARD[0]) && !sql.contains("@@session.") => {
                (Command::Query(sql.to_owned()), true)
            }
            _ => (self, false),
        }
    }

    /// True if it asks which server this is.
    pub fn asks_who(&self) -> bool {
        matches!(self, Command::Query(sql) if sql.starts_with("SET NAMES utf8mb4; SELECT CONCAT_WS("))
    }
}

/// Events of the connections, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection was accepted.
    Connected(u32),
    /// The client switched to TLS.
    Secured(u32),
    /// The client's first proof: user and authentication data.
    Proof(u32, Vec<u8>),
    /// A packet of the sign-in after that.
    Reply(u32, Vec<u8>),
    /// A command.
    Said(u32, Command),
    /// The connection has ended, from either side.
    Ended(u32),
}

/// Method by which accounts sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `mysql_native_password` from the greeting on.
    Native,
    /// `caching_sha2_password`, the password in the server's cache.
    Sha2Fast,
    /// `caching_sha2_password`, the whole password wanted.
    Sha2Full,
    /// Greets with `mysql_native_password` and switches to `caching_sha2_password` (fast).
    NativeToSha2,
    /// Greets with `mysql_native_password` and switches to `caching_sha2_password` (full).
    NativeToSha2Full,
    /// Greets with `caching_sha2_password` and switches to `mysql_native_password`.
    Sha2ToNative,
    /// `sha256_password` on connections up to this number, and then [`Method::Sha2Full`].
    Sha256Until(u32),
    /// Asks for a plugin of this name with a switch.
    Switch(&'static str),
    /// Sends these packets, whatever they are, and takes a reply between two of them.
    Says(&'static [&'static [u8]]),
}

/// Answers a command in place of the usual answer; false to leave it to that.
pub type Twist = Arc<dyn Fn(&mut Wire, &Command) -> io::Result<bool> + Send + Sync>;

/// Replaces a whole connection.
pub type Opening = Arc<dyn Fn(&mut TcpStream, u32) -> io::Result<()> + Send + Sync>;

/// Behaviour of the fake.
#[derive(Clone)]
pub struct Script {
    /// The address to listen on.
    pub ip: IpAddr,
    /// The version it greets with.
    pub version: String,
    /// Sign-in method of the accounts.
    pub method: Method,
    /// TLS, where it offers it; by connection number, so that it can stop to.
    pub tls: Option<Arc<ServerConfig>>,
    /// The last connection that TLS is offered to.
    pub tls_until: u32,
    /// Bytes that somebody on the way sends along with the greeting.
    pub injected: Vec<u8>,
    /// The key pair of the full exchange without TLS.
    pub rsa: Option<Arc<Rsa>>,
    /// Answers that differ from the usual.
    pub twist: Option<Twist>,
    /// While it is true, new connections are accepted and hear nothing.
    pub mute: Option<Arc<AtomicBool>>,
    /// While it is true, several statements in one text are answered as if there were only the first.
    pub first_alone: Option<Arc<AtomicBool>>,
    /// Handler in place of the greeting.
    pub opening: Option<Opening>,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            ip: Ipv4Addr::LOCALHOST.into(),
            version: "8.0.36".to_owned(),
            method: Method::Native,
            tls: None,
            tls_until: u32::MAX,
            injected: Vec::new(),
            rsa: None,
            twist: None,
            mute: None,
            first_alone: None,
            opening: None,
        }
    }
}

impl Script {
    /// Usual answers but for `twist`.
    pub fn twisted(
        twist: impl Fn(&mut Wire, &Command) -> io::Result<bool> + Send + Sync + 'static,
    ) -> Script {
        Script {
            twist: Some(Arc::new(twist)),
            ..Script::default()
        }
    }

    /// No MySQL at all: `opening` has the raw connection.
    pub fn raw(
        opening: impl Fn(&mut TcpStream, u32) -> io::Result<()> + Send + Sync + 'static,
    ) -> Script {
        Script {
            opening: Some(Arc::new(opening)),
            ..Script::default()
        }
    }
}

/// The running fake; it ends when dropped.
pub struct Fake {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    script: Script,
    stopping: AtomicBool,
    next: AtomicU32,
    events: Mutex<Vec<Event>>,
    changed: Condvar,
    open: Mutex<HashMap<u32, TcpStream>>,
    /// Running statements by connection: the process list.
    running: Mutex<HashMap<u32, (&'static str, String)>>,
}

impl Fake {
    /// Starts on a free port.
    pub fn start(script: Script) -> Fake {
        let listener = TcpListener::bind((script.ip, 0)).expect("the address is this machine's");
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script,
            stopping: AtomicBool::new(false),
            next: AtomicU32::new(1),
            events: Mutex::default(),
            changed: Condvar::new(),
            open: Mutex::default(),
            running: Mutex::default(),
        });
        let accepting = shared.clone();
        let acceptor = std::thread::spawn(move || accept(&listener, &accepting));
        Fake {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    /// `HOST:PORT`.
    pub fn target(&self) -> String {
        self.address.to_string()
    }

    /// Everything so far.
    pub fn events(&self) -> Vec<Event> {
        self.shared.events.lock().unwrap().clone()
    }

    /// The commands so far, of all connections.
    pub fn commands(&self) -> Vec<Command> {
        let said = |event| match event {
            Event::Said(_, command) => Some(command),
            _ => None,
        };
        self.events().into_iter().filter_map(said).collect()
    }

    /// The replies of the sign-ins so far.
    pub fn replies(&self) -> Vec<Vec<u8>> {
        let reply = |event| match event {
            Event::Reply(_, bytes) => Some(bytes),
            _ => None,
        };
        self.events().into_iter().filter_map(reply).collect()
    }

    /// Forgets what happened.
    pub fn forget(&self) {
        self.shared.events.lock().unwrap().clear();
    }

    /// Waits for an event, and says whether it came.
    pub fn sees(&self, patience: Duration, wanted: impl Fn(&Event) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut events = self.shared.events.lock().unwrap();
        while !events.iter().any(&wanted) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            events = self.shared.changed.wait_timeout(events, left).unwrap().0;
        }
        true
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then waits for the others.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let number = shared.next.fetch_add(1, Ordering::SeqCst);
        let handle = stream.try_clone().unwrap();
        shared.open.lock().unwrap().insert(number, handle);
        shared.note(Event::Connected(number));
        let serving = shared.clone();
        threads.push(std::thread::spawn(move || {
            // A client that goes away is how most tests end.
            let _ = serve(stream, number, &serving);
            if let Some(handle) = serving.open.lock().unwrap().remove(&number) {
                let _ = handle.shutdown(Shutdown::Both);
            }
            serving.running.lock().unwrap().remove(&number);
            serving.note(Event::Ended(number));
        }));
    }
    for stream in shared.open.lock().unwrap().values() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

impl Shared {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
        self.changed.notify_all();
    }
}

fn serve(mut stream: TcpStream, number: u32, shared: &Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if let Some(opening) = &shared.script.opening {
        return opening(&mut stream, number);
    }
    let mute = shared.script.mute.as_ref();
    if mute.is_some_and(|mute| mute.load(Ordering::SeqCst)) {
        return stream.read(&mut [0]).map(|_| ());
    }
    let mut wire = Wire {
        stream: Stream::Plain(stream),
        seq: 0,
        number,
        shared: shared.clone(),
    };
    wire.sign_in()?;
    loop {
        let (command, is_guarded) = wire.command()?.without_guard();
        wire.shared.note(Event::Said(number, command.clone()));
        if command == Command::Quit {
            return Ok(());
        }
        wire.list(&command);
        let alone = shared.script.first_alone.as_ref();
        if is_guarded && alone.is_some_and(|alone| alone.load(Ordering::SeqCst)) {
            wire.ok()?;
            continue;
        }
        if is_guarded {
            (0..3).try_for_each(|_| wire.further_ok())?;
        }
        let twisted = match shared.script.twist.clone() {
            Some(twist) => twist(&mut wire, &command)?,
            None => false,
        };
        if !twisted {
            wire.usual(&command)?;
        }
        shared
            .running
            .lock()
            .unwrap()
            .insert(number, ("Sleep", String::new()));
    }
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
    /// In between.
    None,
}

/// One connection, packet by packet.
pub struct Wire {
    stream: Stream,
    seq: u8,
    number: u32,
    shared: Arc<Shared>,
}

impl Wire {
    /// The connection's number, which is also its MySQL connection id.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// True if the fake is being ended.
    pub fn stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::SeqCst)
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Stream::None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Sends one packet with the next sequence number.
    pub fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let packet = framed(self.seq, payload);
        self.seq = self.seq.wrapping_add(1);
        self.raw(&packet)
    }

    /// The sequence number of the next packet.
    pub fn seq(&self) -> u8 {
        self.seq
    }

    /// Jumps to another sequence number.
    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    fn exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(stream) => stream.read_exact(bytes),
            Stream::Tls(stream) => stream.read_exact(bytes),
            Stream::None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Reads one packet.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.exact(&mut head)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        let mut payload = vec![0; length];
        self.exact(&mut payload)?;
        self.seq = head[3].wrapping_add(1);
        Ok(payload)
    }

    /// Waits until the client has closed; what it still sends is recorded as replies.
    pub fn wait_for_end(&mut self) -> io::Result<()> {
        loop {
            let packet = self.receive()?;
            self.shared.note(Event::Reply(self.number, packet));
        }
    }

    fn command(&mut self) -> io::Result<Command> {
        let packet = match self.receive() {
            Ok(packet) => packet,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Command::Quit),
            Err(error) => return Err(error),
        };
        let text = || String::from_utf8_lossy(&packet[1..]).into_owned();
        Ok(match packet.first() {
            None | Some(1) => Command::Quit,
            Some(2) => Command::InitDb(text()),
            Some(3) => Command::Query(text()),
            Some(0x0e) => Command::Ping,
            Some(0x16) => Command::Prepare(text()),
            Some(0x19) => Command::Close,
            Some(0x1f) => Command::Reset,
            Some(other) => Command::Other(*other),
        })
    }

    /// Enters a command in the process list.
    fn list(&self, command: &Command) {
        let (name, text) = match command {
            Command::Query(sql) => ("Query", sql.clone()),
            Command::Prepare(sql) => ("Prepare", sql.clone()),
            _ => return,
        };
        let mut running = self.shared.running.lock().unwrap();
        running.insert(self.number, (name, text));
    }

    /// The process list's row of one connection.
    fn listed(&mut self, question: &str) -> io::Result<()> {
        let digits = question.split("WHERE ID = ").nth(1).unwrap_or_default();
        let id: String = digits.chars().take_while(char::is_ascii_digit).collect();
        let asked = id.parse().ok();
        let found = asked.and_then(|id: u32| self.shared.running.lock().unwrap().get(&id).cloned());
        self.head(&[b"ID", b"USER", b"COMMAND", b"TIME", b"IS_OURS", b"INFO"])?;
        if let Some((name, text)) = found {
            let text = (name != "Sleep").then_some(text.as_bytes());
            let row = [id.as_bytes(), USER.as_bytes(), name.as_bytes(), b"0", b"1"];
            let row: Vec<Option<&[u8]>> = row.into_iter().map(Some).chain([text]).collect();
            self.row(&row)?;
        }
        self.eof()
    }

    /// Answers as a healthy MySQL 8 would, as far as the program asks.
    pub fn usual(&mut self, command: &Command) -> io::Result<()> {
        match command {
            Command::Query(sql) => self.usual_query(&sql.clone()),
            Command::Prepare(_) => {
                // One statement without parameters and columns.
                self.send(&[0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }
            Command::Close => Ok(()),
            _ => self.ok(),
        }
    }

    fn usual_query(&mut self, sql: &str) -> io::Result<()> {
        if sql.starts_with("SELECT VERSION()") {
            let version = self.shared.script.version.clone();
            let row = [version.as_str(), "SYSTEM", "STRICT_TRANS_TABLES", "UTC"];
            return self.rows(&row.map(Some));
        }
        if sql.starts_with("SELECT CONNECTION_ID(), ") {
            let id = self.number.to_string();
            return self.rows(&[&id, "4b1d"].map(Some));
        }
        if sql.contains("SELECT CONCAT(@@global.read_only") {
            if sql.starts_with("SET NAMES") {
                self.further_ok()?;
            }
            return self.rows(&[Some("0/0/0")]);
        }
        if sql.starts_with("SET NAMES utf8mb4; SELECT CONCAT_WS(") {
            self.further_ok()?;
            let id = self.number.to_string();
            return self.rows(&["4b1d", &id, "1700000000"].map(Some));
        }
        if sql.contains(".PROCESSLIST WHERE ID = ") {
            return self.listed(sql);
        }
        if sql == "SHOW GRANTS" {
            return self.rows(&[Some("GRANT SELECT ON *.* TO `app`@`%`")]);
        }
        if sql.contains("SET SESSION TRANSACTION READ ONLY") {
            self.further_ok()?;
            self.further_ok()?;
            self.further_ok()?;
            let id = self.number.to_string();
            let version = self.shared.script.version.clone();
            let known = ["1", "STRICT_TRANS_TABLES", "utf8mb4", &id, "1", &version];
            let mut row = known.map(Some).to_vec();
            // After the current database; functions of the called names where it was asked for them.
            row.extend([None, Some("4b1d"), Some("0/0/0")]);
            let unknown = if sql.contains("ROUTINES") { 2 } else { 0 };
            row.extend(std::iter::repeat_n(None, unknown));
            return self.rows(&row);
        }
        if let Some(literal) = sql.strip_prefix("SELECT '") {
            return self.rows(&[literal.strip_suffix('\'')]);
        }
        if sql == "select @@version_comment limit 1" {
            return self.rows(&[Some("(scripted)")]);
        }
        if sql == "SELECT @@maxscale_version" {
            return self.error(1193, "HY000", "Unknown system variable 'maxscale_version'");
        }
        if sql.starts_with("SELECT") || sql.starts_with("SHOW") {
            return self.rows(&[Some("fine")]);
        }
        self.ok()
    }

    /// OK packet.
    pub fn ok(&mut self) -> io::Result<()> {
        self.ok_with(0)
    }

    /// OK packet with more results to follow.
    pub fn further_ok(&mut self) -> io::Result<()> {
        self.ok_with(MORE_RESULTS)
    }

    fn ok_with(&mut self, flags: u16) -> io::Result<()> {
        let [f0, f1] = (flags | 2).to_le_bytes();
        self.send(&[0, 0, 0, f0, f1, 0, 0])
    }

    /// ERR packet.
    pub fn error(&mut self, code: u16, state: &str, message: &str) -> io::Result<()> {
        let code = code.to_le_bytes();
        self.send(
            &[
                &[0xff],
                &code[..],
                b"#",
                state.as_bytes(),
                message.as_bytes(),
            ]
            .concat(),
        )
    }

    /// EOF packet.
    pub fn eof(&mut self) -> io::Result<()> {
        self.send(&[0xfe, 0, 0, 2, 0])
    }

    /// The head of a result with these columns, all of them text.
    pub fn head(&mut self, names: &[&[u8]]) -> io::Result<()> {
        self.send(&[names.len() as u8])?;
        for name in names {
            self.send(&column(name, 0xfd))?;
        }
        self.eof()
    }

    /// A whole result of one row.
    pub fn rows(&mut self, row: &[Option<&str>]) -> io::Result<()> {
        let names: Vec<String> = (1..=row.len()).map(|n| format!("c{n}")).collect();
        let names: Vec<&[u8]> = names.iter().map(|n| n.as_bytes()).collect();
        self.head(&names)?;
        let values: Vec<Option<&[u8]>> = row.iter().map(|v| v.map(str::as_bytes)).collect();
        self.row(&values)?;
        self.eof()
    }

    /// One row of text.
    pub fn row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        self.send(&row(values))
    }
}
