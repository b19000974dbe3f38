//! Somebody on the way between client and server who edits what passes before it is sealed, as CVE-2023-48795 has it: a
//! packet put in, and the first sealed one left out, so that the numbers of the packets fit again.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postern::tunnel::client::Tunnel;
use postern::tunnel::ssh::Cipher;
use postern::tunnel::ws::{
    AcceptOptions, Accepted, Cancel, DialOptions, Endpoint, ProxyChoice, WsReader, WsWriter,
    accept, dial,
};

use super::running::{PASSWORD, Running, client_ends, server};
use crate::fixture::{WAIT, free_port, holds_within, serve_with, settings_for};
use support::Home;

/// Numbers of messages (RFC 4250 section 4.1.2, RFC 8308).
const IGNORE: u8 = 2;
const UNIMPLEMENTED: u8 = 3;
const DEBUG: u8 = 4;
const EXT_INFO: u8 = 7;
const KEXINIT: u8 = 20;
const NEWKEYS: u8 = 21;
const ECDH_INIT: u8 = 30;
const ECDH_REPLY: u8 = 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// Change to a connection.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Nothing,
    /// A packet of this kind is put in before the first of that one, and the first sealed packet is left out.
    Inject {
        way: Way,
        kind: u8,
        before: u8,
    },
    /// One is put in behind NEWKEYS, not sealed.
    Behind(Way),
    /// The offer of strict key exchange reads otherwise.
    Unmark(Way),
}

impl Edit {
    /// True if `said` names this change. An end must detect the change itself at once, not its later damage.
    fn is_told_in(self, said: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Inject {
                kind: EXT_INFO,
                before: KEXINIT,
                ..
            } => said.contains("a packet came that key exchange forbids"),
            Self::Inject { .. } => said.contains("a stray packet came"),
            Self::Behind(_) => said.contains("a packet was damaged in transit"),
            Self::Unmark(_) => said.contains("host key signature is wrong"),
        }
    }

    /// True if the client detects it.
    fn is_seen_by_the_client(self) -> bool {
        match self {
            Self::Inject { way, .. } | Self::Behind(way) => way == Way::Down,
            Self::Nothing | Self::Unmark(_) => true,
        }
    }
}

fn edits() -> Vec<Edit> {
    let mut all = Vec::new();
    let exchange = |way| match way {
        Way::Up => [KEXINIT, ECDH_INIT, NEWKEYS],
        Way::Down => [KEXINIT, ECDH_REPLY, NEWKEYS],
    };
    for way in [Way::Up, Way::Down] {
        for before in exchange(way) {
            let kinds = [IGNORE, UNIMPLEMENTED, DEBUG, EXT_INFO];
            all.extend(kinds.map(|kind| Edit::Inject { way, kind, before }));
        }
        all.extend([Edit::Behind(way), Edit::Unmark(way)]);
    }
    all
}

/// Packets in the clear, in the order in which they passed.
type Seen = Arc<Mutex<Vec<(Way, Vec<u8>)>>>;

/// The attacker in the middle; the threads end with their connections.
struct Middle {
    address: SocketAddr,
    seen: Seen,
}

impl Middle {
    fn before(server: SocketAddr, edit: Edit, cipher: Cipher) -> Middle {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Seen::default();
        let passed = Arc::clone(&seen);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let passing = |way| Passing::new(way, edit, cipher, &passed);
                let ways = [passing(Way::Up), passing(Way::Down)];
                std::thread::spawn(move || join(client, server, ways));
            }
        });
        Middle { address, seen }
    }
}

fn join(client: TcpStream, server: SocketAddr, [up, down]: [Passing; 2]) {
    let accepted = accept(client, &AcceptOptions::default(), &Cancel::new());
    let Ok(Accepted::WebSocket(from_client, to_client)) = accepted else {
        return;
    };
    let mut options = DialOptions::default();
    options.proxy = ProxyChoice::Direct;
    let endpoint = Endpoint::parse(&format!("ws://{server}")).unwrap();
    let (from_server, to_server) = dial(&endpoint, &options, &Cancel::new()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || carry(from_client, &to_server, up));
        scope.spawn(move || carry(from_server, &to_client, down));
    });
}

fn carry(mut from: WsReader, to: &WsWriter, mut passing: Passing) {
    let mut buffer = vec![0; 65536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut edited = passing.pass(&buffer[..count]);
        if !edited.is_empty() && to.write(&mut edited).is_err() {
            break;
        }
    }
    to.close();
}

/// Packets in one direction.
struct Passing {
    way: Way,
    edit: Edit,
    cipher: Cipher,
    seen: Seen,
    pending: Vec<u8>,
    is_identified: bool,
    is_sealed: bool,
    /// The first sealed packet is to be left out.
    leaves_out: bool,
}

impl Passing {
    fn new(way: Way, edit: Edit, cipher: Cipher, seen: &Seen) -> Passing {
        Passing {
            way,
            edit,
            cipher,
            seen: Arc::clone(seen),
            pending: Vec::new(),
            is_identified: false,
            is_sealed: false,
            leaves_out: matches!(edit, Edit::Inject { way: of, .. } if of == way),
        }
    }

    fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        let mut out = Vec::new();
        if !self.is_identified {
            let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') else {
                return out;
            };
            out.extend(self.pending.drain(..=end));
            self.is_identified = true;
        }
        while !self.is_sealed
            && let Some(packet) = self.take(0)
        {
            self.clear(packet, &mut out);
        }
        if self.is_sealed && self.leaves_out {
            self.leaves_out = !self.leave_out();
        }
        if self.is_sealed && !self.leaves_out {
            out.append(&mut self.pending);
        }
        out
    }

    /// The next packet whose length can be read, with so many bytes behind it.
    fn take(&mut self, behind: usize) -> Option<Vec<u8>> {
        let length = u32::from_be_bytes(*self.pending.first_chunk()?) as usize;
        let end = 4 + length + behind;
        (self.pending.len() >= end).then(|| self.pending.drain(..end).collect())
    }

    fn clear(&mut self, mut packet: Vec<u8>, out: &mut Vec<u8>) {
        let kind = packet[5];
        self.seen.lock().unwrap().push((self.way, packet.clone()));
        match self.edit {
            Edit::Inject {
                way,
                kind: injected,
                before,
            } if way == self.way && before == kind => out.extend(in_the_clear(injected)),
            Edit::Unmark(way) if way == self.way && kind == KEXINIT => {
                let at = packet.windows(10).position(|text| text == b"kex-strict");
                packet[at.unwrap()] = b'K';
            }
            _ => {}
        }
        out.append(&mut packet);
        self.is_sealed = kind == NEWKEYS;
        if self.is_sealed && matches!(self.edit, Edit::Behind(way) if way == self.way) {
            out.extend(in_the_clear(IGNORE));
        }
    }

    /// The first sealed packet is about the service in both directions: 17 bytes, of which nobody misses the first.
    fn leave_out(&mut self) -> bool {
        if self.cipher == Cipher::Chacha20Poly1305 {
            // Its length is sealed too.
            let is_there = self.pending.len() >= 44;
            if is_there {
                self.pending.drain(..44);
            }
            return is_there;
        }
        self.take(16).is_some()
    }
}

/// A packet of five bytes with six of padding: an empty text, or the number 0.
fn in_the_clear(kind: u8) -> [u8; 16] {
    [0, 0, 0, 12, 6, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

#[test]
fn the_built_server_lets_nobody_in_whose_packets_were_edited() {
    let server = server(&[]);
    for cipher in [Cipher::Chacha20Poly1305, Cipher::Aes128Gcm] {
        let through = |edit| {
            let middle = Middle::before(server.address(), edit, cipher);
            let mut settings = settings_for(middle.address, free_port(), 9);
            settings.user = "me".to_owned();
            settings.password = PASSWORD.to_owned().into();
            settings.ssh.ciphers = vec![cipher];
            settings.max_retries = Some(0);
            (Tunnel::start(settings).unwrap(), middle)
        };
        for edit in edits() {
            let logged = server.process.stderr.text().len();
            let (tunnel, _middle) = through(edit);
            let said = || {
                let error = tunnel.snapshot().error;
                let error = error.map_or_else(String::new, |error| error.to_string());
                error + &format!("{:?}", &server.process.stderr.text()[logged..])
            };
            let what = format!("the end: {edit:?}, {cipher:?}");
            holds_within(WAIT, &what, || edit.is_told_in(&said()));
            holds_within(WAIT, &what, || tunnel.snapshot().error.is_some());
            assert!(!tunnel.wait(Duration::ZERO), "{edit:?}, {cipher:?}");
        }
        let (tunnel, _middle) = through(Edit::Nothing);
        assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    }
}

#[test]
fn the_built_client_trusts_no_server_whose_packets_were_edited() {
    for cipher in [Cipher::Chacha20Poly1305, Cipher::Aes128Gcm] {
        let server = serve_with(|settings| settings.ssh.ciphers = vec![cipher]);
        let remote = format!("R:127.0.0.1:{}:127.0.0.1:9", free_port());
        let auth = format!("me:{PASSWORD}");
        for edit in edits() {
            let middle = Middle::before(server.address(), edit, cipher);
            let ended = client_ends(&Home::new(), middle.address, &auth, &[&remote]);
            assert_eq!(ended.code, Some(1), "{edit:?}, {cipher:?}: {ended:?}");
            assert!(!ended.stderr.contains("Connected"), "{edit:?}: {ended:?}");
            let is_told = edit.is_told_in(&ended.stderr) || !edit.is_seen_by_the_client();
            assert!(is_told, "{edit:?}, {cipher:?}: {ended:?}");
        }
        let middle = Middle::before(server.address(), Edit::Nothing, cipher);
        Running::client(middle.address, &[&remote]).says("Connected (Latency ");
    }
}

/// OpenSSH's PROTOCOL, section 1.10.
#[test]
fn both_commands_offer_strict_key_exchange_first_and_send_nothing_else() {
    let server = server(&[]);
    let middle = Middle::before(server.address(), Edit::Nothing, Cipher::Aes128Gcm);
    let remote = format!("R:127.0.0.1:{}:127.0.0.1:9", free_port());
    Running::client(middle.address, &[&remote]).says("Connected (Latency ");
    let seen = middle.seen.lock().unwrap();
    for (way, name, kinds) in [
        (
            Way::Up,
            "kex-strict-c-v00@openssh.com",
            [KEXINIT, ECDH_INIT, NEWKEYS],
        ),
        (
            Way::Down,
            "kex-strict-s-v00@openssh.com",
            [KEXINIT, ECDH_REPLY, NEWKEYS],
        ),
    ] {
        let packets: Vec<_> = seen.iter().filter(|(of, _)| *of == way).collect();
        let sent: Vec<u8> = packets.iter().map(|(_, packet)| packet[5]).collect();
        assert_eq!(sent, kinds);
        let first = String::from_utf8_lossy(&packets[0].1).into_owned();
        assert!(first.contains(name), "{first}");
    }
}
