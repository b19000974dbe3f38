//! A server and the thread that takes its clients.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use super::clients::Clients;
use super::connection;
use super::open_files;
use super::opener::Opener;
use super::ports::Ports;
use super::settings::Settings;
use super::state::ServerState;
use super::stats::{ServerStats, count};
use crate::http::h1::Refusal;
use crate::net::Acceptor;
use crate::sync::{LogLimiter, Mutex, Thread, spawn};
use crate::tunnel::mux::{FAREWELL, Traffic};
use crate::tunnel::ws::{Cancel, UpgradeRequest};

/// Pause after an accept that failed, for lack of descriptors say. Default 100 ms.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Time for the connections to end after they were cut. Default 600 ms.
const STOP_WAIT: Duration = Duration::from_millis(600);

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
        let most = open_files::allowed(settings.reserved_files);
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

    /// Where it listens; port 0 if it does not.
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

    /// Stops: no more clients, those that are there are told, ports are free when it returns.
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
    /// Serves a client on a thread of its own, from `peer` on as it is known to the other listener. What is over a limit
    /// is refused, and nothing was sent.
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
