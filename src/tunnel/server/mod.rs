//! The server: takes clients, listens for them, and opens a stream for every visitor.

use crate::net::Acceptor;
mod clients;
mod connection;
mod files;
mod policy;
mod ports;
mod users;
mod visitors;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use super::mux::{FAREWELL, Traffic};
pub use super::mux::{LocalStream, OpenError, PortStats};
use super::ssh::{self, ServerKey};
use super::ws::{AcceptOptions, Cancel};
use clients::Clients;
pub use policy::{Grant, Policy};
use ports::Ports;
pub use users::Users;
use visitors::Visitors;

/// Open files of the rest of the program. Default 128: logs, the standard streams, what it reads.
const RESERVED_FILES: usize = 128;
/// Bytes of a connection thread's stack. Default 256 KiB: TLS and the handshake.
const STACK: usize = 256 * 1024;
/// Bytes of the accepting thread's stack. Default 64 KiB.
const ACCEPT_STACK: usize = 64 * 1024;
/// Pause after an accept that failed, for lack of descriptors say. Default 100 ms.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Time from the WebSocket to a login. Default 30 s.
pub const LOGIN_WITHIN: Duration = Duration::from_secs(30);
/// Time from the login to the configuration. Default 10 s, as a chisel server has it.
pub const CONFIG_WITHIN: Duration = Duration::from_secs(10);
/// Time for the connections to end after they were cut. Default 600 ms.
const STOP_WAIT: Duration = Duration::from_millis(600);

/// What a server is made of.
#[non_exhaustive]
pub struct Settings {
    /// Where clients come in.
    pub listener: TcpListener,
    /// The host keys, one of each kind at most.
    pub keys: Arc<[ServerKey]>,
    /// Who may log in, and to what.
    pub policy: Box<dyn Policy>,
    /// The pause between keep-alive requests; none for no keep-alive.
    pub keepalive: Option<Duration>,
    /// How connections are taken.
    pub accept: AcceptOptions,
    /// How long a client may take.
    pub timeouts: Timeouts,
    /// What the protocol offers and allows.
    pub ssh: ssh::Config,
    /// Open files that the rest of the program may need: caps on clients and visitors leave them.
    pub reserved_files: usize,
}

/// How long a client may take to be ready.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the WebSocket to a login. Default [`LOGIN_WITHIN`].
    pub login: Duration,
    /// From the login to the configuration. Default [`CONFIG_WITHIN`].
    pub config: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            login: LOGIN_WITHIN,
            config: CONFIG_WITHIN,
        }
    }
}

impl Settings {
    /// A server for everybody.
    pub fn new(listener: TcpListener, keys: Arc<[ServerKey]>) -> Self {
        Self {
            listener,
            keys,
            policy: Box::new(Users::default()),
            keepalive: Some(super::client::KEEPALIVE),
            accept: AcceptOptions::default(),
            timeouts: Timeouts::default(),
            ssh: ssh::Config::default(),
            reserved_files: RESERVED_FILES,
        }
    }
}

/// A server at work. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: Acceptor,
    done: Receiver<()>,
}

struct Shared {
    keys: Arc<[ServerKey]>,
    policy: Box<dyn Policy>,
    keepalive: Option<Duration>,
    accept: AcceptOptions,
    timeouts: Timeouts,
    ssh: ssh::Config,
    traffic: Arc<Traffic>,
    ports: Ports,
    clients: Clients,
    /// Ends connections politely, and those that do not follow at once.
    cancel: Cancel,
    cut: Cancel,
}

impl Server {
    /// Starts serving.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let listener = settings.listener;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let room = files::room(settings.reserved_files);
        let shared = Arc::new(Shared {
            keys: settings.keys,
            policy: settings.policy,
            keepalive: settings.keepalive,
            accept: settings.accept,
            timeouts: settings.timeouts,
            ssh: settings.ssh,
            traffic: Arc::default(),
            ports: Ports::new(Visitors::new(room.visitors)),
            clients: Clients::new(room.clients),
            cancel: Cancel::new(),
            cut: Cancel::new(),
        });
        let (working, done) = crossbeam_channel::bounded(0);
        let of_thread = Arc::clone(&shared);
        let accepting =
            Acceptor::start(listener, ("tunnel-accept", ACCEPT_STACK), move |accepted| {
                let taken = accepted
                    .and_then(|(socket, peer)| take(&of_thread, socket, peer, working.clone()));
                taken.err().map(|error| {
                    log::warn!("a client is turned away: {error}");
                    AFTER_ERROR
                })
            })?;
        Ok(Self {
            shared,
            address,
            accepting,
            done,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its figures, over all clients.
    pub fn traffic(&self) -> &Traffic {
        &self.shared.traffic
    }

    /// Opens streams to what is held for this process; works while the server does.
    pub fn opener(&self) -> Opener {
        Opener(Arc::clone(&self.shared))
    }

    /// Stops: no more clients, those that are there are told, ports are free when it returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.accepting.stop();
        self.shared.cancel.cancel();
        // Every connection's thread holds the other end.
        let _ = self.done.recv_timeout(FAREWELL);
        self.shared.cut.cancel();
        let _ = self.done.recv_timeout(STOP_WAIT);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Leads to what clients hold without a port ([`Grant::Held`]).
#[derive(Clone)]
pub struct Opener(Arc<Shared>);

impl Opener {
    /// Opens a stream to the target of `holder`'s remote with this port. Waits until the client
    /// confirms it, at most 30 s; whether the target takes it shows only on the stream.
    pub fn open(&self, holder: &str, port: u16) -> Result<LocalStream, OpenError> {
        self.0.ports.open(holder, port)
    }

    /// Whether `holder` holds this port now, for this process or listening on it.
    pub fn is_held(&self, holder: &str, port: u16) -> bool {
        self.0.ports.is_held(holder, port)
    }

    /// Takes this port from `holder`; a listener on it is closed when this returns.
    pub fn free(&self, holder: &str, port: u16) {
        self.0.ports.free(holder, port);
    }

    /// Ends the connections of `holder`, politely and then surely.
    pub fn disconnect(&self, holder: &str) {
        for line in self.0.clients.lines(holder) {
            line.stop();
            line.cut();
        }
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

fn take(
    shared: &Arc<Shared>,
    socket: TcpStream,
    peer: SocketAddr,
    working: Sender<()>,
) -> io::Result<()> {
    let Some(place) = shared.clients.take(peer.ip()) else {
        log::info!("{peer}: turned away: too many connections");
        return Ok(());
    };
    let shared = Arc::clone(shared);
    // A connection's reading thread; ends with the connection.
    std::thread::Builder::new()
        .name("tunnel-client".into())
        .stack_size(STACK)
        .spawn(move || {
            connection::run(&shared, socket, peer, &place);
            drop((place, working));
        })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_thirty_seconds_to_log_in_and_ten_to_configure() {
        let timeouts = Timeouts::default();
        assert_eq!(timeouts.login, Duration::from_secs(30));
        assert_eq!(timeouts.config, Duration::from_secs(10));
    }
}
