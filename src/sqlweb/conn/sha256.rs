//! Sign-in to accounts of MySQL's `sha256_password`, which the driver (mysql 28) lacks.
//!
//! MySQL also asks for that method if it has no such account, so that nobody learns which exist; only its answer to the
//! password is true. So the password is sent from here, inside TLS or under the server's RSA key, and the driver talks
//! to the server through a socket and a thread of ours.
//!
//! ```text
//! driver ── Unix socket in our directory ── this thread ── the server, by TLS, TCP or its own Unix socket
//! ```

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::PollFlags;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use tempfile::TempDir;
use zeroize::Zeroizing;

use crate::net::keep_alive;
use crate::net::poll::{poll_until, poll_within};
use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::error::{DbError, NOT_MYSQL};
use crate::sync::{Thread, spawn_joined};

/// Name of the method in the protocol.
pub(super) const METHOD: &str = "sha256_password";

/// Name of the socket in its directory.
const SOCKET: &str = "s";

/// Largest packet of a sign-in, in bytes: names, proofs and attributes of the client.
const MAX_SIGN_IN: usize = 64 << 10;

/// Bytes that may wait in each direction.
const MAX_WAITING: usize = 64 << 10;

/// `CLIENT_SSL` (MySQL, "Capabilities Flags").
const CLIENT_SSL: u8 = 0x08;

/// Bytes of a client's answer that are also its request for TLS: flags, packet size, character set and filler.
const SSL_REQUEST: usize = 32;

/// Packet that asks for the server's public key.
const KEY_REQUEST: &[u8] = &[1];

/// Kind of the error if the server asks for another method, on a network without TLS.
pub(super) const ANOTHER_METHOD: io::ErrorKind = io::ErrorKind::Unsupported;

/// Address of the server. Without TLS it sends a key, which has to be trusted.
pub(super) enum SignInServer {
    /// TCP with TLS.
    Tls(SocketAddr, Arc<ClientConfig>, ServerName<'static>),
    /// TCP without TLS.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// Time limits.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    /// For the connection.
    pub(super) connect: Duration,
    /// For each packet of the sign-in.
    pub(super) read: Duration,
    /// Silence before the kernel probes the server.
    pub(super) silence: Duration,
    /// Time between two probes.
    pub(super) probe: Duration,
}

/// Socket for the driver, and the thread behind it that signs in; it ends with the connection.
pub(super) struct SignInProxy {
    dir: TempDir,
    thread: JoinHandle<io::Result<()>>,
}

impl SignInProxy {
    /// Starts a proxy to `server`, with its socket in `dir`, for one connection.
    pub(super) fn start(
        dir: &Path,
        server: SignInServer,
        password: Zeroizing<String>,
        timeouts: Timeouts,
    ) -> io::Result<Self> {
        let dir = tempfile::tempdir_in(dir)?;
        let listener = UnixListener::bind(dir.path().join(SOCKET))?;
        let thread = spawn_joined(Thread::DbRelay, move || {
            relay(&listener, &server, &password, timeouts)
        })?;
        Ok(Self { dir, thread })
    }

    /// The socket's path, valid until this is dropped.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join(SOCKET)
    }

    /// Error of the proxy, if it was not the driver's; called when the driver has given up.
    pub(super) fn failure(self) -> Option<io::Error> {
        self.thread.join().ok()?.err()
    }
}

/// Waits for the driver at `listener`, signs it in to `server`, and relays both directions until one of them ends.
fn relay(
    listener: &UnixListener,
    server: &SignInServer,
    password: &str,
    timeouts: Timeouts,
) -> io::Result<()> {
    let [ready] = poll_within([(listener, PollFlags::IN)], timeouts.connect)?;
    if ready.is_empty() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let (mut driver, _) = listener.accept()?;
    driver.set_read_timeout(Some(timeouts.read))?;
    let mut wire = sign_in(&mut driver, server, password, timeouts)?;
    driver.set_nonblocking(true)?;
    wire.set_nonblocking()?;
    let outcome = carry(&mut driver, &mut wire);
    wire.shut_down();
    outcome
}

/// Passes on the server's greeting and the driver's answer, and answers the server's request for the password itself.
fn sign_in(
    driver: &mut UnixStream,
    server: &SignInServer,
    password: &str,
    timeouts: Timeouts,
) -> io::Result<ServerStream> {
    let mut wire = dial(server, timeouts)?;
    let (_, greeting) = read_packet(&mut wire)?;
    write_packet(driver, 0, &greeting)?;
    let (_, mut answer) = read_packet(driver)?;
    if let SignInServer::Tls(_, config, name) = server {
        wire = begin_tls(wire, &mut answer, Arc::clone(config), name.clone())?;
        write_packet(&mut wire, 2, &answer)?;
    } else {
        write_packet(&mut wire, 1, &answer)?;
    }
    let (number, mut said) = read_packet(&mut wire)?;
    if let Some(nonce) = asks_for_password(&said) {
        said = send_password(&mut wire, number.wrapping_add(1), password, nonce)?;
    }
    // On its Unix socket the driver would send the plain password to anybody who asks.
    if matches!(wire, ServerStream::Tcp(_)) && !is_last_word(&said) {
        return Err(io::Error::new(ANOTHER_METHOD, "another method"));
    }
    // The driver expects a single answer to its own.
    write_packet(driver, 2, &said)?;
    Ok(wire)
}

fn dial(server: &SignInServer, timeouts: Timeouts) -> io::Result<ServerStream> {
    let address = match server {
        SignInServer::Unix(path) => {
            let socket = UnixStream::connect(path)?;
            socket.set_read_timeout(Some(timeouts.read))?;
            return Ok(ServerStream::Unix(socket));
        }
        SignInServer::Tcp(address) | SignInServer::Tls(address, ..) => address,
    };
    let socket = TcpStream::connect_timeout(address, timeouts.connect)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(timeouts.read))?;
    keep_alive(&socket, timeouts.silence, timeouts.probe, None)?;
    Ok(ServerStream::Tcp(socket))
}

/// Asks for TLS with the beginning of the driver's `answer`, whose flag for TLS is set.
fn begin_tls(
    wire: ServerStream,
    answer: &mut [u8],
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
) -> io::Result<ServerStream> {
    let ServerStream::Tcp(mut socket) = wire else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = answer.get_mut(1).ok_or_else(not_mysql)?;
    *flags |= CLIENT_SSL;
    let request = answer.get(..SSL_REQUEST);
    write_packet(&mut socket, 1, request.ok_or_else(not_mysql)?)?;
    let tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
    Ok(ServerStream::Tls(Box::new(StreamOwned::new(tls, socket))))
}

/// True if the packet ends the sign-in, with success or an error.
fn is_last_word(packet: &[u8]) -> bool {
    matches!(packet.first(), Some(0 | 0xff))
}

/// The nonce of a request to continue with this method (AuthSwitchRequest).
fn asks_for_password(packet: &[u8]) -> Option<&[u8]> {
    let rest = packet.strip_prefix(&[0xfe])?;
    let nonce = rest.strip_prefix(METHOD.as_bytes())?.strip_prefix(&[0])?;
    Some(nonce.strip_suffix(&[0]).unwrap_or(nonce))
}

/// Sends the password inside TLS, or under the key that the server sends, and returns the server's answer.
fn send_password(
    wire: &mut ServerStream,
    number: u8,
    password: &str,
    nonce: &[u8],
) -> io::Result<Vec<u8>> {
    let mut plain = Zeroizing::new([password.as_bytes(), &[0]].concat());
    // An empty password needs no protection.
    if matches!(wire, ServerStream::Tls(_)) || password.is_empty() {
        write_packet(wire, number, &plain)?;
        return Ok(read_packet(wire)?.1);
    }
    write_packet(wire, number, KEY_REQUEST)?;
    let (number, said) = read_packet(wire)?;
    // Any other answer ends the sign-in.
    let Some(key) = said.strip_prefix(&[1]) else {
        return Ok(said);
    };
    for (byte, mask) in plain.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    // An invalid key makes the driver's library panic.
    let sealed = catch_panic(|| Ok::<_, DbError>(mysql_common::crypto::encrypt(&plain, key)));
    let sealed = sealed.map_err(|_| io::Error::other("the server's key cannot be used"))?;
    write_packet(wire, number.wrapping_add(1), &sealed)?;
    Ok(read_packet(wire)?.1)
}

/// Error for a server that is not MySQL; the kind "invalid data" is reserved for TLS.
fn not_mysql() -> io::Error {
    io::Error::other(NOT_MYSQL)
}

/// Reads a packet's number and payload (MySQL, "MySQL Packets").
fn read_packet(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let [a, b, c, number] = head;
    let size = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
    if size > MAX_SIGN_IN {
        return Err(not_mysql());
    }
    let mut payload = vec![0; size];
    from.read_exact(&mut payload)?;
    Ok((number, payload))
}

fn write_packet(to: &mut impl Write, number: u8, payload: &[u8]) -> io::Result<()> {
    let size = u32::try_from(payload.len()).map_err(|_| not_mysql())?;
    let [a, b, c, _] = size.to_le_bytes();
    let packet = Zeroizing::new([&[a, b, c, number], payload].concat());
    to.write_all(&packet)?;
    to.flush()
}

/// The server's end.
enum ServerStream {
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl ServerStream {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.sock.set_nonblocking(true),
            Self::Tcp(socket) => socket.set_nonblocking(true),
            Self::Unix(socket) => socket.set_nonblocking(true),
        }
    }

    fn shut_down(&self) {
        // It may have ended already.
        let _ = match self {
            Self::Tls(stream) => stream.sock.shutdown(Shutdown::Both),
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// True if written bytes have not been sent yet.
    fn holds_back(&self) -> bool {
        match self {
            Self::Tls(stream) => stream.conn.wants_write(),
            Self::Tcp(_) | Self::Unix(_) => false,
        }
    }
}

impl AsFd for ServerStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tls(stream) => stream.sock.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Read for ServerStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => match stream.read(buffer) {
                // Some servers end without closing TLS.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
            Self::Tcp(socket) => socket.read(buffer),
            Self::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for ServerStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => stream.write(bytes),
            Self::Tcp(socket) => socket.write(bytes),
            Self::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.flush(),
            Self::Tcp(socket) => socket.flush(),
            Self::Unix(socket) => socket.flush(),
        }
    }
}

/// Pending bytes of one direction.
#[derive(Default)]
struct PendingBytes {
    bytes: Vec<u8>,
    ended: bool,
}

impl PendingBytes {
    fn has_room(&self) -> bool {
        !self.ended && self.bytes.len() < MAX_WAITING
    }

    /// Reads without waiting; true if bytes or the end came.
    fn fill(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let mut buffer = [0; 16 << 10];
        match at_once(from.read(&mut buffer))? {
            None => Ok(false),
            Some(0) => {
                self.ended = true;
                Ok(true)
            }
            Some(n) => {
                self.bytes.extend(buffer.iter().take(n));
                Ok(true)
            }
        }
    }

    /// Writes without waiting; true if anything was written.
    fn empty(&mut self, to: &mut impl Write) -> io::Result<bool> {
        if self.bytes.is_empty() {
            return Ok(false);
        }
        let written = at_once(to.write(&self.bytes))?.unwrap_or(0);
        self.bytes.drain(..written);
        Ok(written > 0)
    }

    fn is_over(&self) -> bool {
        self.ended && self.bytes.is_empty()
    }
}

/// `None` for an operation that would have to wait.
fn at_once(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        other => other.map(Some),
    }
}

/// Relays both directions until one of them has ended and all its bytes have arrived.
fn carry(driver: &mut UnixStream, wire: &mut ServerStream) -> io::Result<()> {
    let (mut up, mut down) = (PendingBytes::default(), PendingBytes::default());
    loop {
        let mut moved = false;
        if down.has_room() {
            moved |= down.fill(wire)?;
        }
        moved |= down.empty(driver)?;
        if up.has_room() {
            moved |= up.fill(driver)?;
        }
        moved |= up.empty(wire)?;
        if wire.holds_back() {
            at_once(wire.flush().map(|()| 0))?;
        }
        if down.is_over() || up.is_over() && !wire.holds_back() {
            return Ok(());
        }
        if !moved {
            wait(driver, wire, &up, &down)?;
        }
    }
}

fn wait(
    driver: &UnixStream,
    wire: &ServerStream,
    up: &PendingBytes,
    down: &PendingBytes,
) -> io::Result<()> {
    let flags = |reads: bool, writes: bool| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads);
        flags.set(PollFlags::OUT, writes);
        flags
    };
    let of_driver = flags(up.has_room(), !down.bytes.is_empty());
    let of_wire = flags(down.has_room(), !up.bytes.is_empty() || wire.holds_back());
    let ready = poll_until([(driver, of_driver), (wire, of_wire)], None)?;
    // A closed end from which nothing is to be read can receive nothing more.
    let asked = [of_driver, of_wire];
    let gone = ready.iter().zip(asked).any(|(ready, asked)| {
        ready.intersects(PollFlags::ERR | PollFlags::HUP) && !ready.intersects(asked)
    });
    if gone {
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    Ok(())
}
