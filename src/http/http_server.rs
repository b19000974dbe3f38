//! The HTTP server: its listener, and the workers that answer requests.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use super::server::connection_handler::Gateway;
use super::server::{Listener, ListenerConfig, StreamServer};
use super::upstream::Workers;
use super::{Handler, HostPolicy, Limits};

/// Time that workers have to end at the stop, after the connections have ended.
const WORKERS_STOP: Duration = Duration::from_millis(250);

/// Settings of a server.
#[derive(Debug)]
pub struct ServerConfig {
    /// The public listener.
    pub listener: TcpListener,
    /// The names it is served under.
    pub hosts: HostPolicy,
    /// True if loopback connections of other users of this host are refused (Linux).
    pub check_other_users: bool,
    /// A directory of ours alone (0700; made when missing) for the Unix socket. Its path
    /// must be short: a socket's address has room for about 100 bytes.
    pub run_dir: PathBuf,
    /// Threads that call the handler.
    pub workers: usize,
    /// Caps and timeouts.
    pub limits: Limits,
}

/// A running server. Dropping it stops it.
pub struct Server {
    addr: SocketAddr,
    listener: Listener,
    workers: Arc<Workers>,
}

impl Server {
    /// Starts serving.
    pub fn start(config: ServerConfig, handler: Arc<dyn Handler>) -> io::Result<Server> {
        Server::start_beside(None, config, handler)
    }

    /// Starts serving what `gateway` does not claim, and lets it serve the rest.
    pub fn start_with_gateway(
        gateway: Arc<dyn Gateway>,
        config: ServerConfig,
        handler: Arc<dyn Handler>,
    ) -> io::Result<Server> {
        Server::start_beside(Some(gateway), config, handler)
    }

    fn start_beside(
        gateway: Option<Arc<dyn Gateway>>,
        config: ServerConfig,
        handler: Arc<dyn Handler>,
    ) -> io::Result<Server> {
        let addr = config.listener.local_addr()?;
        let workers = Workers::start(&config.run_dir, config.workers, &handler)?;
        let listener = Listener::start(ListenerConfig {
            listener: config.listener,
            hosts: config.hosts,
            check_other_users: config.check_other_users,
            limits: config.limits,
            backend: workers.clone(),
            gateway,
        });
        match listener {
            Ok(listener) => Ok(Server {
                addr,
                listener,
                workers,
            }),
            Err(error) => {
                workers.stop(WORKERS_STOP);
                Err(error)
            }
        }
    }

    /// Address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the server for clients without a socket; it works as long as this one runs.
    pub fn streams(&self) -> StreamServer {
        self.listener.streams()
    }

    /// Makes each answer from here on its connection's last; connections are accepted as before.
    pub fn drain(&self) {
        self.listener.drain();
    }

    /// Stops accepting, lets answers end that take no longer than [`Limits::stop_time`](super::Limits::stop_time),
    /// aborts the rest and removes the socket. Takes at most 1.5 s.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.stop();
        self.workers.stop(WORKERS_STOP);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}
