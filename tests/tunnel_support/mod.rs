//! Servers, targets and visitors for the tests of tunnels.

#![allow(dead_code)] // each test file uses its own part
#![allow(clippy::as_conversions, clippy::unwrap_used, clippy::indexing_slicing)]

pub(crate) mod proxy;
pub(crate) mod staged;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use postern::tunnel::client::Settings;
use postern::tunnel::remote::Remote;
use postern::tunnel::server::{self, Server, Users};
use postern::tunnel::ssh::{KeyKind, ServerKey};

/// How long anything may take on a busy machine.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// Waits until `condition` holds.
pub(crate) fn holds_within(time: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + time;
    while !condition() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Held by a test that counts what its process has, so that no other one runs beside it.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads of tunnels, and descriptors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) threads: usize,
    pub(crate) descriptors: usize,
}

impl Counts {
    /// Those of this process before a test, when this many servers have started.
    pub(crate) fn before(servers: usize) -> Self {
        // A thread gives itself its name.
        holds_within(WAIT, "the servers' threads", || {
            threads(|name| name == "tunnel-accept") >= servers
        });
        Self::now()
    }

    /// Those of this process now.
    pub(crate) fn now() -> Self {
        Self {
            threads: threads(|name| name == "tunnel" || name.starts_with("tunnel-")),
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
        }
    }

    /// Waits until there are no more than these again.
    pub(crate) fn are_back(self) {
        let until = Instant::now() + WAIT;
        loop {
            let now = Self::now();
            if now.threads <= self.threads && now.descriptors <= self.descriptors {
                return;
            }
            assert!(Instant::now() < until, "before {self:?}, after {now:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn threads(named: fn(&str) -> bool) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| named(name.trim_end()))
        .count()
}

/// A port that was free a moment ago, and that no other call was given.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let probe = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = probe.local_addr().unwrap().port();
        if !given.contains(&port) {
            given.push(port);
            return port;
        }
    }
}

/// A server on loopback.
pub(crate) fn serve(users: Users) -> Server {
    serve_at(([127, 0, 0, 1], 0).into(), users)
}

/// A server at this address.
pub(crate) fn serve_at(address: SocketAddr, users: Users) -> Server {
    start(address, users, &[KeyKind::EcdsaP256])
}

/// A server on loopback with a host key of each kind.
pub(crate) fn serve_with_all_keys(users: Users) -> Server {
    start(
        ([127, 0, 0, 1], 0).into(),
        users,
        &[KeyKind::EcdsaP256, KeyKind::Ed25519],
    )
}

/// A server on loopback for everybody, with other settings.
pub(crate) fn serve_with(change: impl FnOnce(&mut server::Settings)) -> Server {
    let keys = [ServerKey::generate(KeyKind::EcdsaP256).unwrap()].into();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = server::Settings::new(listener, keys);
    change(&mut settings);
    Server::start(settings).unwrap()
}

/// A listener that takes no more connections, and does not refuse them either.
pub(crate) fn black_hole() -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut inside = Vec::new();
    // Linux takes one more than it is told.
    while let Ok(socket) = TcpStream::connect_timeout(&address, Duration::from_millis(150)) {
        inside.push(socket);
    }
    (listener, inside)
}

fn start(address: SocketAddr, users: Users, kinds: &[KeyKind]) -> Server {
    let keys = kinds
        .iter()
        .map(|kind| ServerKey::generate(*kind).unwrap())
        .collect();
    let mut settings = server::Settings::new(TcpListener::bind(address).unwrap(), keys);
    settings.policy = Box::new(users);
    Server::start(settings).unwrap()
}

/// A client that forwards the server's `port` to the target's.
pub(crate) fn client_settings(server: &Server, port: u16, target: u16) -> Settings {
    settings_for(server.address(), port, target)
}

/// The same, by address.
pub(crate) fn settings_for(server: SocketAddr, port: u16, target: u16) -> Settings {
    let remote: Remote = format!("R:127.0.0.1:{port}:127.0.0.1:{target}")
        .parse()
        .unwrap();
    Settings::new(format!("ws://{server}").parse().unwrap(), vec![remote])
}

/// A visitor on a forwarded port.
pub(crate) fn visit(port: u16) -> TcpStream {
    let visitor = TcpStream::connect(("127.0.0.1", port)).unwrap();
    visitor.set_read_timeout(Some(WAIT)).unwrap();
    visitor.set_nodelay(true).unwrap();
    visitor
}

/// Something that visitors are led to; its threads end with its connections.
pub(crate) struct Target {
    address: SocketAddr,
}

impl Target {
    /// Sends back what it gets.
    pub(crate) fn echo() -> Self {
        Self::each(|mut stream| {
            let mut buffer = vec![0; 65536];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
            let _ = stream.shutdown(Shutdown::Write);
        })
    }

    /// Sends without end.
    pub(crate) fn flood() -> Self {
        Self::each(|mut stream| {
            let buffer = vec![1; 65536];
            while stream.write_all(&buffer).is_ok() {}
        })
    }

    /// Reads and drops.
    pub(crate) fn sink() -> Self {
        Self::each(|mut stream| {
            let mut buffer = vec![0; 65536];
            while let Ok(1..) = stream.read(&mut buffer) {}
        })
    }

    fn each(serve: fn(TcpStream)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = stream.set_nodelay(true);
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { address }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

/// A small generator of the same numbers each time (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next bytes, as many as fit and are left.
    pub(crate) fn fill<'a>(&mut self, buffer: &'a mut [u8], left: usize) -> &'a [u8] {
        for eight in buffer.chunks_exact_mut(8) {
            eight.copy_from_slice(&self.next().to_le_bytes());
        }
        let count = buffer.len().min(left);
        &buffer[..count]
    }
}
