//! Peers for the tests of the link: links of our own, scripted servers and clients that share no code with them, and
//! certificates.
#![allow(unreachable_pub)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use postern::tunnel::ws::{
    AcceptOptions, Accepted, Cancel, DialOptions, Endpoint, ProxyChoice, ServerTls, Tls, WsReader,
    WsWriter, accept, dial,
};

/// Time limit for any step of a test; generous because two cores may be shared by many test binaries.
pub const TIMEOUT: Duration = Duration::from_secs(60);

pub type Link = (WsReader, WsWriter);

/// Certificates, made once a process by the `openssl` command.
pub struct Certificates {
    _dir: tempfile::TempDir,
    pub authority: PathBuf,
    /// The authority's own key, as a server might use it by mistake.
    pub authority_key: PathBuf,
    /// For `localhost` and `127.0.0.1`.
    pub good: (PathBuf, PathBuf),
    /// For another name.
    pub wrong_name: (PathBuf, PathBuf),
    /// No longer valid.
    pub expired: (PathBuf, PathBuf),
}

pub static CERTIFICATES: LazyLock<Certificates> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let openssl = |line: &str| {
        let done = Command::new("openssl")
            .args(line.split(' '))
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    let key = "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!(
        "{key} -x509 -days 2 -subj /CN=Test-Authority -keyout ca.key -out ca.pem"
    ));
    let make = |name: &str, names: &str, validity: &str| {
        let extensions = format!("subjectAltName={names}\nbasicConstraints=CA:FALSE\n");
        std::fs::write(dir.path().join("ext.cnf"), extensions).unwrap();
        openssl(&format!(
            "{key} -subj /CN={name} -keyout {name}.key -out {name}.csr"
        ));
        openssl(&format!(
            "x509 -req {validity} -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile ext.cnf -out {name}.pem"
        ));
        (
            dir.path().join(format!("{name}.pem")),
            dir.path().join(format!("{name}.key")),
        )
    };
    Certificates {
        authority: dir.path().join("ca.pem"),
        authority_key: dir.path().join("ca.key"),
        good: make("good", "DNS:localhost,IP:127.0.0.1", "-days 2"),
        wrong_name: make("other", "DNS:other.example", "-days 2"),
        // Negative days are what every version of the command understands.
        expired: make("expired", "DNS:localhost,IP:127.0.0.1", "-days -1"),
        _dir: dir,
    }
});

pub fn server_tls(files: &(PathBuf, PathBuf)) -> ServerTls {
    ServerTls::read(&files.0, &files.1).unwrap()
}

/// No proxy; the test's own authority.
pub fn options() -> DialOptions {
    let mut options = DialOptions::default();
    options.proxy = ProxyChoice::Direct;
    options.tls = Tls::with_authority(&CERTIFICATES.authority);
    options
}

pub fn endpoint(secure: bool, address: SocketAddr) -> Endpoint {
    let scheme = if secure { "wss" } else { "ws" };
    Endpoint::parse(&format!("{scheme}://{address}")).unwrap()
}

/// A client's and a server's end of one link.
pub fn link(secure: bool) -> (Link, Link) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = endpoint(secure, listener.local_addr().unwrap());
    let client = thread::spawn(move || dial(&target, &options(), &Cancel::new()).unwrap());
    let mut accepting = AcceptOptions::default();
    accepting.tls = secure.then(|| server_tls(&CERTIFICATES.good));
    let socket = listener.accept().unwrap().0;
    match accept(socket, &accepting, &Cancel::new()).unwrap() {
        Accepted::WebSocket(reader, writer) => (client.join().unwrap(), (reader, writer)),
        other => panic!("{other:?}"),
    }
}

/// A server of one connection, run by `script` on a thread.
pub fn server<T: Send + 'static>(
    script: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let run = move || {
        let socket = listener.accept().unwrap().0;
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        script(socket)
    };
    (address, thread::spawn(run))
}

/// Reads a head, byte by byte so that nothing behind it is lost.
pub fn read_head(socket: &mut impl Read) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

pub fn header_of(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    lines
        .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.to_owned())
        .next()
}

/// A 101 that fits the request, computed by another library.
pub fn switching(request: &str) -> String {
    let key = header_of(request, "Sec-WebSocket-Key").unwrap();
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
}

/// A link whose server's end is a bare socket.
pub fn with_raw_server() -> (Link, TcpStream) {
    let (address, server) = server(|mut socket| {
        let request = read_head(&mut socket);
        socket.write_all(switching(&request).as_bytes()).unwrap();
        socket
    });
    let link = dial(&endpoint(false, address), &options(), &Cancel::new()).unwrap();
    (link, server.join().unwrap())
}

/// A link whose client's end is a bare socket.
pub fn with_raw_client() -> (Link, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let key = tungstenite::handshake::client::generate_key();
    let request = format!(
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chisel-v3\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).unwrap();
    let accepted = accept(
        listener.accept().unwrap().0,
        &AcceptOptions::default(),
        &Cancel::new(),
    );
    let Ok(Accepted::WebSocket(reader, writer)) = accepted else {
        panic!("{accepted:?}");
    };
    assert!(read_head(&mut socket).starts_with("HTTP/1.1 101 "));
    ((reader, writer), socket)
}

/// A frame as the RFC draws it, written out by hand.
pub fn frame(first: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let bit = if mask.is_some() { 0x80 } else { 0 };
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..=125 => frame.push(bit | short as u8),
        middle @ 126..=0xffff => {
            frame.push(bit | 126);
            frame.extend((middle as u16).to_be_bytes());
        }
        long => {
            frame.push(bit | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    match mask {
        None => frame.extend(payload),
        Some(mask) => {
            frame.extend(mask);
            frame.extend(
                payload
                    .iter()
                    .zip(mask.iter().cycle())
                    .map(|(byte, key)| byte ^ key),
            );
        }
    }
    frame
}

/// Reads one frame: first byte and payload, unmasked.
pub fn read_frame(socket: &mut impl Read) -> (u8, Vec<u8>) {
    let mut two = [0; 2];
    socket.read_exact(&mut two).unwrap();
    let length = match two[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            socket.read_exact(&mut length).unwrap();
            u16::from_be_bytes(length) as usize
        }
        127 => {
            let mut length = [0; 8];
            socket.read_exact(&mut length).unwrap();
            u64::from_be_bytes(length) as usize
        }
        short => short as usize,
    };
    let mut mask = [0; 4];
    if two[1] & 0x80 != 0 {
        socket.read_exact(&mut mask).unwrap();
    }
    let mut payload = vec![0; length];
    socket.read_exact(&mut payload).unwrap();
    payload
        .iter_mut()
        .zip(mask.iter().cycle())
        .for_each(|(byte, key)| *byte ^= key);
    (two[0], payload)
}

/// Reads exactly so many bytes of a link.
pub fn read_exactly(reader: &mut WsReader, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    let mut filled = 0;
    while filled < count {
        let read = reader.read(&mut bytes[filled..]).unwrap();
        assert!(read > 0, "the stream ended after {filled} of {count} bytes");
        filled += read;
    }
    bytes
}

/// Runs `work`, and ends the test when it takes longer than `limit`.
#[track_caller]
pub fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, finished) = crossbeam_channel::bounded(1);
    let thread = thread::spawn(move || drop(done.send(work())));
    match finished.recv_timeout(limit) {
        Ok(answer) => answer,
        Err(crossbeam_channel::RecvTimeoutError::Timeout) => panic!("{what}: not within {limit:?}"),
        Err(_) => std::panic::resume_unwind(thread.join().unwrap_err()),
    }
}

/// Deterministic numbers for sizes and splits.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Checks that a cancelled wait ended soon after `begun`.
#[track_caller]
pub fn assert_prompt(begun: Instant) {
    support::assert_within(begun, Duration::from_secs(1));
}
