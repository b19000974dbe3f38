//! `postern start`: applications, their connections, and the page.
//!
//! ```text
//! routes ── store ── draft, app, protocol                 (what is to be connected)
//!    └───── connection ── connect ─┬─ web_client          (a database's plugin)
//!                                  ├─ quick_setup         (the call to the remote server)
//!                                  ├─ servers             (credentials, by server origin)
//!                                  └─ main_tunnel ── local_api
//! ```
//!
//! Nothing here knows how a tunnel or a database works.

pub mod app;
pub mod app_input;
pub mod app_store;
pub mod one_shot;
pub mod protocol;
pub mod quick_setup;
mod server_url;

mod app_state;
mod connection;
mod local_api;
mod main_tunnel;
mod own_listeners;
mod reset;
mod routes;
mod servers;
mod web_client;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use self::app_state::AppState;
use crate::http::{HostPolicy, InvalidHost, Limits, Server, ServerConfig};
use crate::plugin::{self, WebClients};
use crate::store::{CredentialStore, DataDir};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::registry::Registry;
pub use server_url::ServerUrl;

pub use connection::MAX_ACTIVE;
pub use servers::DEFAULT_TUNNEL_PORT;

/// Threads that answer light requests; what writes files has threads of its own.
const WORKERS: usize = 2;
/// Time for the connections to give back what they hold at the end. Default 1.5 s: the program has 2 s.
const CLOSE_TIME: Duration = Duration::from_millis(1500);

/// What the management server is started with.
pub struct Options {
    /// The per-user directory.
    pub home: DataDir,
    /// Where it listens.
    pub listener: TcpListener,
    /// A directory of ours, mode 0700, for private sockets.
    pub run_dir: PathBuf,
    /// The remote server of applications that name none.
    pub server: Option<ServerUrl>,
    /// Whether that server is a part of this program.
    pub embedded: bool,
    /// Where this program listens beside the manager, and what each is: no application may lead there.
    pub own_listeners: Vec<(SocketAddr, &'static str)>,
    /// What lets an unknown connector enroll at `server`.
    pub enroll_token: Option<Zeroizing<String>>,
    /// Whether remote servers off this machine may be reached without TLS.
    pub insecure: bool,
    /// Further `HOST` or `HOST:PORT` values that a request's `Host` header may carry.
    pub allow_hosts: Vec<String>,
    /// Whether connections of the machine's other users are refused.
    pub check_other_users: bool,
    /// The plugins.
    pub web_clients: &'static dyn WebClients,
    /// What the page is to tell the user, calmly.
    pub notices: Vec<String>,
}

/// Why it could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A name that cannot be allowed.
    Host(InvalidHost),
    /// The system refused a thread or a socket.
    System(io::Error),
}

/// The management server at work.
pub struct Running {
    core: Arc<AppState>,
    server: Server,
}

/// Starts serving, sets up the main tunnels that are known, and connects what is to be connected at the start.
pub fn start(options: Options) -> Result<Running, StartError> {
    let hosts = HostPolicy::loopback();
    for host in &options.allow_hosts {
        hosts.allow(host).map_err(StartError::Host)?;
    }
    let mut options = options;
    let own = options.listener.local_addr().map_err(StartError::System)?;
    options.own_listeners.push((own, "the management page"));
    let (core, listener) = core_of(options);
    let config = ServerConfig {
        listener,
        hosts,
        check_other_users: core.check_other_users,
        run_dir: core.run_dir.clone(),
        workers: WORKERS,
        limits: Limits::default(),
    };
    let server =
        Server::start(config, Arc::new(routes::routes(&core))).map_err(StartError::System)?;
    begin(&core);
    Ok(Running { core, server })
}

fn core_of(options: Options) -> (Arc<AppState>, TcpListener) {
    let core = AppState {
        apps: app_store::AppStore::new(options.home.clone()),
        credentials: CredentialStore::new(options.home.clone()),
        known: KnownServers::new(options.home.clone()),
        plugins: plugin::Registry::new(options.home.clone()),
        tunnels: Registry::default(),
        servers: servers::Servers::default(),
        connections: connection::Connections::default(),
        ports: self::app_state::PortReservations::default(),
        web_clients: options.web_clients,
        run_dir: options.run_dir,
        home: options.home,
        server: options.server,
        embedded: options.embedded,
        listeners: own_listeners::OwnListeners::new(options.own_listeners),
        enroll_token: options.enroll_token,
        insecure: options.insecure,
        check_other_users: options.check_other_users,
        notices: options.notices,
    };
    (Arc::new(core), options.listener)
}

/// What the program does of itself at its start.
fn begin(core: &Arc<AppState>) {
    begin_main_tunnels(core);
    let apps = core.apps.list().unwrap_or_else(|error| {
        log::warn!("no application is connected at the start: {error}");
        Vec::new()
    });
    for app in apps.into_iter().filter(|app| app.autoconnect) {
        let id = app.id.clone();
        if let Err(refused) = core.connections.connect(core, app) {
            log::warn!("application {id} is not connected at the start: {refused}");
        }
    }
}

/// Where connector info was saved, and something is to be connected through it.
fn begin_main_tunnels(core: &Arc<AppState>) {
    match core.credentials.with_connector_info() {
        Ok(known) => {
            let in_use = known.iter().filter(|(origin, _)| core.is_in_use(origin));
            for (origin, credentials) in in_use {
                main_tunnel::begin_at_start(core, &core.servers.of(origin), credentials);
            }
        }
        Err(error) => log::warn!("no main tunnel is set up at the start: {error}"),
    }
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.addr()
    }

    /// The first part of [`Running::stop`], which does not wait: a server that ends now is no failure to anybody.
    pub fn begin_stop(&self) {
        self.core.connections.begin_close();
        self.core.tunnels.begin_close_all();
    }

    /// Stops accepting, ends all connections, and returns when that is done: within 2 s.
    pub fn stop(self) {
        // At the same time: the connections close their tunnels while the last answers are written.
        self.begin_stop();
        self.server.stop();
        self.core.tunnels.close_all();
        for server in self.core.servers.all() {
            server.main.close();
        }
        if !self.core.connections.finish_close(CLOSE_TIME) {
            log::warn!("not every connection ended in time");
        }
    }
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(error) => write!(f, "--allow-host: {error}"),
            Self::System(error) => write!(f, "cannot start the management server: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
