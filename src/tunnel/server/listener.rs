//! A server, the thread that takes its clients, and their limits.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use super::clients::{Clients, MAX_CONNECTIONS, ServerStats, count};
use super::connection;
use super::ports::{MAX_VISITORS, Ports};
use super::settings::Settings;
use super::state::{Opener, ServerState};
use crate::http::h1::Refusal;
use crate::http::server::raise_open_files;
use crate::net::Acceptor;
use crate::sync::{LogLimiter, Mutex, Thread, spawn};
use crate::tunnel::mux::{FAREWELL, Traffic};
use crate::tunnel::ws::{Cancel, UpgradeRequest};

/// Pause after an accept that failed, for lack of descriptors say. Default 100 ms.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Time for the connections to end after they were cut. Default 600 ms.
const STOP_WAIT: Duration = Duration::from_millis(600);

/// Open files of a client: its socket, and during the handshake what wakes it.
const CLIENT_FILES: usize = 3;
/// Open files of a visitor of a public port.
const VISITOR_FILES: usize = 1;
/// Open files of all public ports, three each. Default 4096.
const PORT_FILES: usize = 4096;
/// Clients, and visitors, that are always allowed.
const LEAST: usize = 16;

/// A server at work. Dropping it stops it.
pub struct Server {
    state: Arc<ServerState>,
    address: SocketAddr,
    acceptor: Option<Acceptor>,
    done: Receiver<()>,
}

impl Server {
    /// Starts serving.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let listener = settings.listener;
        let address = match &listener {
            Some(listener) => listener.local_addr()?,
            None => (Ipv4Addr::UNSPECIFIED, 0).into(),
        };
        let (working, done) = crossbeam_channel::bounded(0);
        let most = allowed(settings.reserved_files);
        let stats = Arc::<ServerStats>::default();
        let state = Arc::new(ServerState {
            keys: settings.keys,
            policy: settings.policy,
            keepalive: settings.keepalive,
            accept: settings.accept,
            timeouts: settings.timeouts,
            ssh: settings.ssh,
            traffic: Arc::default(),
            ports: Ports::new(most.visitors, Arc::clone(&stats)),
            stats,
            clients: Clients::new(most.clients),
            turned_away: LogLimiter::default(),
            working: Mutex::new(Some(working)),
            cancel: Cancel::new(),
            cut: Cancel::new(),
        });
        let of_thread = Arc::clone(&state);
        let accept = move |accepted: io::Result<(TcpStream, SocketAddr)>| {
            let taken = accepted.and_then(|(socket, peer)| take(&of_thread, socket, None, peer));
            taken.err().map(|error| {
                log::warn!("client refused: {error}");
                AFTER_ERROR
            })
        };
        let start = |listener| Acceptor::start(listener, Thread::TunnelAccept, accept);
        let acceptor = listener.map(start).transpose()?;
        Ok(Self {
            state,
            address,
            acceptor,
            done,
        })
    }

    /// Address that it listens on; port 0 if it does not listen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its counters, over all clients.
    pub fn traffic(&self) -> &Traffic {
        &self.state.traffic
    }

    /// Opens streams to what is held for this process; works while the server does.
    pub fn opener(&self) -> Opener {
        Opener(Arc::clone(&self.state))
    }

    /// Takes clients from another listener, as long as the server does.
    pub fn intake(&self) -> Intake {
        Intake(Arc::clone(&self.state))
    }

    /// Takes no more clients; those that are there stay.
    pub fn stop_accepting(&mut self) {
        self.acceptor = None;
        *self.state.working.lock() = None;
    }

    /// Stops the server: its clients are told, and its ports are free when this returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop_accepting();
        self.state.cancel.cancel();
        // Every connection's thread holds the other end.
        let _ = self.done.recv_timeout(FAREWELL);
        self.state.cut.cancel();
        let _ = self.done.recv_timeout(STOP_WAIT);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes clients whose requests another listener has read.
#[derive(Clone)]
pub struct Intake(Arc<ServerState>);

impl Intake {
    /// Serves a client on a thread of its own; `peer` is its address as the other listener knows it. A client over a
    /// limit is refused before anything was sent.
    pub fn take(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        request: UpgradeRequest,
    ) -> Result<(), Refusal> {
        let taken = take(&self.0, socket, Some(request), peer);
        let is_taken = taken.unwrap_or_else(|error| {
            log::warn!("client refused: {error}");
            false
        });
        let full = || Refusal::new(503, "no room for another tunnel: try again later");
        is_taken.then_some(()).ok_or_else(full)
    }
}

/// Serves a client on a thread of its own; false if it may not come now.
fn take(
    state: &Arc<ServerState>,
    socket: TcpStream,
    request: Option<UpgradeRequest>,
    peer: SocketAddr,
) -> io::Result<bool> {
    let Some(working) = state.working.lock().clone() else {
        return Ok(false);
    };
    let Some(permit) = state.clients.take(peer.ip()) else {
        count(&state.stats.turned_away);
        state.log_refused(format_args!("{peer}: refused: too many connections"));
        return Ok(false);
    };
    let state = Arc::clone(state);
    // A connection's reading thread; ends with the connection.
    spawn(Thread::TunnelClient, move || {
        connection::run(&state, socket, request, peer, &permit);
        drop((permit, working));
    })?;
    Ok(true)
}

/// Limits for clients and visitors at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Allowed {
    clients: usize,
    visitors: usize,
}

/// Raises the limit of open files as far as needed and possible. `reserved` files are left to the rest of the program.
fn allowed(reserved: usize) -> Allowed {
    let (clients, visitors) = (MAX_CONNECTIONS * CLIENT_FILES, MAX_VISITORS * VISITOR_FILES);
    let wanted = reserved + clients + visitors + PORT_FILES;
    within(raise_open_files(wanted).saturating_sub(reserved))
}

/// Shares out open files: up to a third for visitors, up to a third for ports, and the rest for clients.
fn within(files: usize) -> Allowed {
    let share = files / 3;
    let (visitors, ports) = (
        share.min(MAX_VISITORS * VISITOR_FILES),
        share.min(PORT_FILES),
    );
    let clients = (files - visitors - ports) / CLIENT_FILES;
    Allowed {
        clients: clients.clamp(LEAST, MAX_CONNECTIONS),
        visitors: (visitors / VISITOR_FILES).max(LEAST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_leaves_room_for_the_rest() {
        let allowed = |clients, visitors| Allowed { clients, visitors };
        // Files that the unit's limit leaves.
        assert_eq!(within(60_000), allowed(16_384, 4096));
        assert_eq!(within(20_000), allowed(3936, 4096));
        assert_eq!(within(1500), allowed(166, 500));
        assert_eq!(within(0), allowed(16, 16));
    }
}
