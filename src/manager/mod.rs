//! `postern start`: applications, their connections, and the page.
//!
//! ```text
//! api ── apps                        applications, as they are stored and shown
//!    └── connection ─┬─ web_client   a database's plugin
//!                    ├─ quick_setup  the call to the remote server
//!                    └─ remote       one thread per remote server: credentials, host keys, main tunnel
//! ```
//!
//! Nothing here knows how a tunnel or a database works.
//!
//! End times: [`app_state`] notes each one in [`Ends`] (`end_in_time`). The thread of `Ends` calls `end_expired`, which
//! disconnects the application and saves that it has expired. Two others enforce the end too: a relay learns the
//! remaining time with each quick-setup call, and a database's guest account expires by itself ([`web_client`]). A
//! changed end time reaches a running connection in `connection/terms.rs`.

pub mod apps;
pub mod diagnosis;
pub mod quick_setup;

mod api;
mod app_state;
mod connection;
mod list_error;
mod own_listeners;
mod remote;
mod request_log;
pub mod server_store;
mod server_url;
mod site;
mod sleep_watch;
mod web_client;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use zeroize::Zeroizing;

use self::app_state::AppState;
pub use self::app_state::Applications;
use self::app_store::AppStore;
use self::connection::{Ended, PortReservations};
use self::own_listeners::OwnListeners;
use self::remote::{Connector, Environment, MainTunnelWait, Servers};
use crate::api::{Client, MainTunnel};
use crate::http::{HostPolicy, InvalidHost, Limits, Server, ServerConfig};
use crate::plugin::{self, NoPlugins, WebClients};
use crate::store::{AuditSets, CredentialStore, Credentials, DataDir, Ends};
use crate::tunnel::known_servers::KnownServers;
pub use apps::{app, app_input, app_store, protocol, site_wish};
pub(crate) use connection::EXTEND;
pub use connection::MAX_ACTIVE;
pub use remote::DEFAULT_TUNNEL_PORT;
pub use server_store::{LocalRelay, ServerAccess, chosen_server};
use server_store::{ServerChoice, ServerStore};
pub use server_url::ServerUrl;

/// Threads that answer light requests; what writes files has threads of its own.
const WORKERS: usize = 2;
/// Time for the connections to give back what they hold at the end: the program has 2 s.
const CLOSE_TIME: Duration = Duration::from_millis(1500);

/// Time to begin the known main tunnels: it takes milliseconds.
const BEGIN_TIME: Duration = Duration::from_secs(1);

/// Options of the management server.
pub struct Options {
    /// The per-user directory.
    pub home: DataDir,
    /// A directory of ours, mode 0700, for private sockets.
    pub run_dir: PathBuf,
    /// Applications that the process works for.
    pub applications: Applications,
    /// Remote server given on the command line, for applications that name none.
    pub server: Option<ServerUrl>,
    /// Relay on this machine, for applications without any other server.
    pub local_relay: LocalRelay,
    /// Other listening addresses of this program, each with its name: no application may lead there.
    pub own_listeners: Vec<(SocketAddr, &'static str)>,
    /// Token with which an unknown connector enrols at `server`, or at the default.
    pub enroll_token: Option<Zeroizing<String>>,
    /// True if servers on other machines may be reached without TLS.
    pub insecure: bool,
    /// Further `HOST` or `HOST:PORT` values that a request's `Host` header may carry.
    pub allow_hosts: Vec<String>,
    /// True if connections of the machine's other users are refused.
    pub check_other_users: bool,
    /// The plugins.
    pub web_clients: &'static dyn WebClients,
    /// Notices for the user on the page.
    pub notices: Vec<String>,
}

/// Reason that it could not start.
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

/// Starts serving on `listener`, sets up the known main tunnels, and connects the applications with autoconnect.
pub fn start(mut options: Options, listener: TcpListener) -> Result<Running, StartError> {
    let hosts = HostPolicy::loopback();
    for host in &options.allow_hosts {
        hosts.allow(host).map_err(StartError::Host)?;
    }
    let own = listener.local_addr().map_err(StartError::System)?;
    options.own_listeners.push((own, "the management page"));
    let core = core_of(options);
    let config = ServerConfig {
        listener,
        hosts,
        check_other_users: core.check_other_users,
        run_dir: core.run_dir.clone(),
        workers: WORKERS,
        limits: Limits::default(),
    };
    let server = Server::start(config, Arc::new(api::routes(&core))).map_err(StartError::System)?;
    begin(&core);
    sleep_watch::start(&core);
    Ok(Running { core, server })
}

/// The API on the stored state, while no manager runs; it cannot connect applications.
pub(crate) fn open(home: &DataDir) -> Client {
    let core = core_of(Options {
        home: home.clone(),
        run_dir: home.dir().to_owned(),
        applications: Applications::Idle,
        server: None,
        local_relay: LocalRelay::default(),
        own_listeners: Vec::new(),
        enroll_token: None,
        // The program that runs later decides.
        insecure: true,
        allow_hosts: Vec::new(),
        check_other_users: true,
        web_clients: &NoPlugins,
        notices: Vec::new(),
    });
    core.connections.begin_close();
    core.servers.begin_close();
    Client::here(Arc::new(api::Local::of(&core)))
}

fn core_of(options: Options) -> Arc<AppState> {
    let home = options.home;
    let choice = ServerChoice::new(
        ServerStore::new(home.clone()),
        options.server,
        options.enroll_token,
        options.local_relay,
        options.insecure,
    );
    let environment = Arc::new(Environment {
        credentials: CredentialStore::new(home.clone()),
        known: KnownServers::new(home.clone()),
        tunnels: Arc::default(),
        listeners: OwnListeners::new(options.own_listeners),
        connections: Arc::default(),
        run_dir: options.run_dir,
        check_other_users: options.check_other_users,
    });
    let audit = AuditSets::new(&home);
    let core = AppState {
        apps: match options.applications {
            Applications::Stored | Applications::Idle => AppStore::new(home.clone()),
            Applications::Temporary => AppStore::in_memory(),
        },
        plugins: plugin::Registry::new(home.clone()),
        servers: Servers::new(Arc::clone(&environment)),
        environment,
        ends: Ends::open(&home),
        ports: PortReservations::default(),
        web_clients: options.web_clients,
        home,
        since: SystemTime::now(),
        choice,
        notices: options.notices,
        audit,
        applications: options.applications,
    };
    Arc::new(core)
}

/// Starts the automatic work of the program.
fn begin(core: &Arc<AppState>) {
    core.sweep_audit();
    if !core.keeps_main_tunnels() {
        return;
    }
    begin_main_tunnels(core);
    let apps = core.apps.list().unwrap_or_else(|error| {
        log::warn!("cannot connect applications at start: {error}");
        Vec::new()
    });
    web_client::sweep(core, &apps);
    for app in apps {
        core.end_in_time(&app);
        if !app.autoconnect || app.has_expired(&core.ends) {
            continue;
        }
        let name = app.name.clone();
        if let Err(refused) = connection::begin(core, app) {
            log::warn!(
                "application '{name}' was not connected at start: {}",
                refused.error
            );
        }
    }
}

/// Begins the main tunnels to servers that are in use and whose connector info is saved.
fn begin_main_tunnels(core: &AppState) {
    let known = core
        .credentials
        .with_connector_info()
        .unwrap_or_else(|error| {
            log::warn!("no main tunnel at start: {error}");
            Vec::new()
        });
    let in_use = known.iter().filter(|(origin, _)| core.is_in_use(origin));
    let begun: Vec<_> = in_use
        .filter_map(|(origin, credentials)| begin_main_tunnel(core, origin, credentials))
        .collect();
    // The page shows them from its first answer on.
    let deadline = Instant::now() + BEGIN_TIME;
    for wait in begun {
        wait.until_begun(deadline);
    }
}

/// Begins the main tunnel to a server. Connector info of an earlier version has no class of the server's address, so
/// the tunnel may have to wait for the relay's next answer.
fn begin_main_tunnel(
    core: &AppState,
    origin: &str,
    credentials: &Credentials,
) -> Option<MainTunnelWait> {
    if Connector::of(origin, credentials).is_none() {
        log::info!("main tunnel to {origin}: set up with the relay's next answer");
        return None;
    }
    match core.servers.of(origin) {
        Ok(remote) => Some(remote.set_up_main_tunnel()),
        Err(Ended::Stopped) => None,
        Err(Ended::Failed(error)) => {
            log::warn!("main tunnel to {origin}: {}", error.error);
            None
        }
    }
}

impl Running {
    /// API client in this process.
    pub(crate) fn client(&self) -> Client {
        Client::here(Arc::new(api::Local::of(&self.core)))
    }

    /// Listening address.
    pub fn address(&self) -> SocketAddr {
        self.server.addr()
    }

    /// The server of applications that name none, and its main tunnel, if it is set up; none where there is no server.
    pub(crate) fn server(&self) -> Option<(ServerUrl, Option<MainTunnel>)> {
        let server = self.core.choice.now().ok()?.default().ok()??;
        let all = self.core.servers.all();
        let remote = all.iter().find(|remote| remote.origin == server.origin());
        let main = remote.and_then(|remote| api::main_tunnel(&self.core, remote));
        Some((server, main))
    }

    /// Sets another relay on this machine for applications without any other server. `listeners` are its listening
    /// addresses, if it runs in this process.
    pub fn set_local_relay(
        &self,
        local_relay: LocalRelay,
        listeners: &[(SocketAddr, &'static str)],
    ) {
        let core = &self.core;
        core.listeners.add(listeners);
        let origin = |of: &LocalRelay| Some(of.relay.as_ref()?.server.origin().to_owned());
        let before = origin(&core.choice.local_relay());
        let is_elsewhere = before != origin(&local_relay);
        core.choice.set_local_relay(local_relay);
        if let Some(before) = before.filter(|_| is_elsewhere) {
            connection::leave(core, &before);
            core.retire_unused_main_tunnels();
        }
        // Waiting tunnels need not wait longer.
        core.tunnels.wake_all(false);
        core.connections.wake_all();
    }

    /// Numbers of applications, and of those with autoconnect.
    pub fn applications(&self) -> (usize, usize) {
        let apps = self.core.apps.list().unwrap_or_default();
        (
            apps.len(),
            apps.iter().filter(|app| app.autoconnect).count(),
        )
    }

    /// The first part of [`Running::stop`], which does not wait: a server that ends now is no failure to anybody.
    pub fn begin_stop(&self) {
        self.core.connections.begin_close();
        self.core.servers.begin_close();
        self.core.tunnels.begin_close_all();
    }

    /// Stops accepting, ends all connections, and returns when that is done: within 2 s.
    pub fn stop(self) {
        // Both at the same time: the connections close their tunnels while the last answers are written.
        self.begin_stop();
        self.server.stop();
        self.core.tunnels.close_all();
        let deadline = Instant::now() + CLOSE_TIME;
        let have_ended = self.core.servers.finish_close(deadline);
        if !self.core.connections.finish_close(deadline) || !have_ended {
            log::warn!("some connections did not end in time");
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
