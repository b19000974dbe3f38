//! The listener: a thread that accepts connections, and the server for streams of this process.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::connection::{self, Work};
use super::connection_handler::{Gateway, Reset};
use super::connection_table::ConnectionTable;
use super::limits::{Exchanges, Limits, within_open_files};
use super::policy::HostPolicy;
use super::server_state::{Backend, ServerState};
use super::threads::{AdmittedConnection, RemoveOnDrop, Threads};
use crate::http::proxy::ClientStream;
use crate::net::{Acceptor, Pause, keep_alive};
use crate::sync::{Permits, Thread};

/// Pause after an accept or a thread failed for lack of files, memory or threads.
const BACK_OFF: Duration = Duration::from_millis(20);
/// Silence after which the kernel asks whether the client is still there.
const PROBE_AFTER: Duration = Duration::from_secs(30);
/// Time between such questions; after nine without an answer the client has gone.
const PROBE_EVERY: Duration = Duration::from_secs(5);

/// Peer of a stream in this process.
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Settings of a listener.
pub(in crate::http) struct ListenerConfig {
    pub(in crate::http) listener: TcpListener,
    pub(in crate::http) hosts: HostPolicy,
    pub(in crate::http) check_other_users: bool,
    pub(in crate::http) limits: Limits,
    pub(in crate::http) backend: Arc<dyn Backend>,
    pub(in crate::http) gateway: Option<Arc<dyn Gateway>>,
}

/// A running listener.
pub(in crate::http) struct Listener {
    state: Arc<ServerState>,
    threads: Arc<Threads>,
    acceptor: Acceptor,
}

impl Listener {
    /// Starts to accept connections.
    pub(in crate::http) fn start(config: ListenerConfig) -> io::Result<Listener> {
        let port = config.listener.local_addr()?.port();
        let (connections, exchanges) = within_open_files(&config.limits)?;
        let state = Arc::new(ServerState {
            port,
            hosts: config.hosts,
            check_other_users: config.check_other_users,
            backend: config.backend,
            gateway: config.gateway,
            bodies: Permits::default(),
            exchanges: Exchanges::new(exchanges),
            table: ConnectionTable::new(connections, config.limits.per_source),
            stopping: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            limits: config.limits,
        });
        let threads = Threads::new(&state);
        let (theirs, own) = (Arc::clone(&state), Arc::clone(&threads));
        let take = move |accepted| admit_or_pause(&theirs, &own, accepted);
        let acceptor = Acceptor::start(config.listener, Thread::HttpAccept, take)?;
        Ok(Listener {
            state,
            threads,
            acceptor,
        })
    }

    /// Returns the server for streams of this process.
    pub(in crate::http) fn streams(&self) -> StreamServer {
        StreamServer(Arc::clone(&self.state))
    }

    /// Makes each answer from here on its connection's last.
    pub(in crate::http) fn drain(&self) {
        self.state.draining.store(true, Ordering::Relaxed);
    }

    /// Accepts nothing more, lets answers under way end for a while and aborts the rest.
    pub(in crate::http) fn stop(&mut self) {
        self.state.stopping.store(true, Ordering::SeqCst);
        self.acceptor.stop();
        self.state.table.stop(self.state.limits.stop_time);
        self.threads.stop();
    }
}

/// Serves clients whose streams are in this process, such as those of a tunnel, with the rules of the listener.
pub struct StreamServer(Arc<ServerState>);

impl StreamServer {
    /// Serves a client until it ends, also by `reset`. Its requests come from this machine, as if through a socket of
    /// this program.
    pub fn serve(&self, stream: impl ClientStream, reset: impl Reset + 'static) {
        let state = &self.0;
        let Some(entry) = state.table.admit(Arc::new(reset), HERE, false) else {
            return connection::turn_away(state, stream);
        };
        let _removal = RemoveOnDrop::new(state, &entry);
        // A server that stops ends the connections that are in the table by then.
        if !state.is_stopping() {
            connection::serve_stream(state, &entry, stream);
        }
    }
}

/// Admits a connection. A failure ends this connection only; for lack of files, memory or threads, another one gives
/// way.
fn admit_or_pause(
    state: &Arc<ServerState>,
    threads: &Arc<Threads>,
    accepted: io::Result<(TcpStream, SocketAddr)>,
) -> Pause {
    let admitted = accepted.and_then(|(socket, peer)| admit(state, threads, socket, peer));
    let error = admitted.err()?;
    log::warn!("http: cannot serve a connection: {error}");
    state.table.evict();
    Some(BACK_OFF)
}

/// Starts a connection's thread; an error says that there is none for it.
fn admit(
    state: &Arc<ServerState>,
    threads: &Arc<Threads>,
    socket: TcpStream,
    peer: SocketAddr,
) -> io::Result<()> {
    if prepare(&socket).is_err() {
        return Ok(());
    }
    let is_counted = !state.is_proxy(peer.ip());
    let socket = Arc::new(socket);
    match state.table.admit(socket.clone(), peer, is_counted) {
        Some(entry) => threads.serve(
            AdmittedConnection::new(state, entry, socket),
            Work::Accepted,
        ),
        None => {
            connection::turn_away(state, &*socket);
            Ok(())
        }
    }
}

/// Prepares a socket. Keep-alive probes find clients that vanished silently while a handler is silent.
fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_nodelay(true)?;
    keep_alive(socket, PROBE_AFTER, PROBE_EVERY, None)
}
