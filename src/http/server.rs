//! The server: the fence in front, tiny_http and its workers behind.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use super::{HostPolicy, Limits, Request};

/// Answers requests. Called on a worker; moves slow work to a thread of its own.
pub trait Handler: Send + Sync + 'static {
    /// Answers `request`, here or later. One that is dropped unanswered becomes a 500.
    fn handle(&self, request: Request);
}

/// What a server needs.
#[derive(Debug)]
pub struct ServerConfig {
    /// The public listener.
    pub listener: TcpListener,
    /// The names it is served under.
    pub hosts: HostPolicy,
    /// Whether loopback connections of other users of this host are refused (Linux).
    pub check_other_users: bool,
    /// A directory for the Unix socket, short enough for a socket address.
    pub run_dir: PathBuf,
    /// Threads that call the handler.
    pub workers: usize,
    /// Caps and timeouts.
    pub limits: Limits,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
}

impl Server {
    /// Starts serving.
    pub fn start(config: ServerConfig, _handler: Arc<dyn Handler>) -> io::Result<Server> {
        Ok(Server {
            addr: config.listener.local_addr()?,
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops: accepts nothing more, lets light answers end, aborts the rest.
    pub fn stop(self) {}
}
