//! The main tunnel of a remote server, shared by all its applications, and the local API service at its end.
//!
//! ```text
//!          wanted by a connection, or at the start           signal
//! absent ──────────────────────────────────────> connecting ────────> ready
//!    ▲  ▲             30 s without the signal: waiters    │  │          │ │
//!    │  │             are told; it goes on trying         │  └──────────┤ └──┐
//!    │  └── failed <──────── it cannot be started ────────┘ other        │    │
//!    │        └───────────── wanted again: connecting       connector info    │
//!    └───────────────────── started afresh, or not used any more ─────────────┘
//! ```

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Weak};

use crossbeam_channel::TryRecvError;
use serde_json::json;

use super::Environment;
use super::connector::{Connector, ServerCredentials};
use super::server::{Command, MainTunnelProgress, MainTunnelView, RemoteServer};
use crate::http::{HostPolicy, Limits, Method, Response, Router, Server, ServerConfig};
use crate::manager::connection::Connections;
use crate::manager::own_listeners::RegisteredListener;
use crate::net::in_words;
use crate::tunnel::client::{Class, Way};
use crate::tunnel::group::TunnelGroup;
use crate::tunnel::registry::{TunnelKey, TunnelKind};
use crate::tunnel::remote::Remote;

/// Ports for the local API service, which takes the first free one. 4000 to 5000 by the specification.
const LOCAL_PORTS: std::ops::RangeInclusive<u16> = 4000..=5000;
/// Threads of the local API service. One: each answer takes microseconds.
const LOCAL_API_WORKERS: usize = 1;
/// Connections of the local API service: a remote server asks now and then.
const LOCAL_API_CONNECTIONS: usize = 32;

/// The main tunnel; only its server's owner has it.
pub(super) struct MainTunnel {
    key: TunnelKey,
    environment: Arc<Environment>,
    /// Gets the tunnel's message that it is connected.
    mailbox: Weak<RemoteServer>,
    state: MainTunnelState,
    service: Option<LocalService>,
}

enum MainTunnelState {
    /// Not set up, or ended.
    Absent,
    /// Trying, for as long as it takes.
    Connecting(Connector, Arc<TunnelGroup>),
    /// `mainReady`: also while the tunnel is lost and reconnects.
    Ready(Connector, Arc<TunnelGroup>),
    /// The tunnel or its local API service could not be set up.
    Failed(String, Option<Arc<TunnelGroup>>),
}

/// The local API service at this end of the tunnel. Its port is bound before the tunnel is up.
struct LocalService {
    port: u16,
    /// None once the service runs.
    listener: Option<TcpListener>,
    api: Option<Server>,
    _registered: RegisteredListener,
}

impl MainTunnel {
    pub(super) fn new(mailbox: &Arc<RemoteServer>, environment: Arc<Environment>) -> Self {
        Self {
            key: TunnelKey {
                server: mailbox.origin.clone(),
                tunnel: TunnelKind::Main,
            },
            environment,
            mailbox: Arc::downgrade(mailbox),
            state: MainTunnelState::Absent,
            service: None,
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self.state, MainTunnelState::Absent)
    }

    /// Progress for waiters; none if it is not set up.
    pub(super) fn progress(&self) -> Option<MainTunnelProgress> {
        match &self.state {
            MainTunnelState::Absent => None,
            MainTunnelState::Connecting(_, tunnel) => {
                Some(MainTunnelProgress::Connecting(Arc::clone(tunnel)))
            }
            MainTunnelState::Ready(..) => Some(MainTunnelProgress::Ready),
            MainTunnelState::Failed(error, _) => Some(MainTunnelProgress::Failed(error.clone())),
        }
    }

    /// View for the API; none if it is not set up.
    pub(super) fn view(&self) -> Option<MainTunnelView> {
        let (error, tunnel) = match &self.state {
            MainTunnelState::Absent => return None,
            MainTunnelState::Connecting(_, tunnel) | MainTunnelState::Ready(_, tunnel) => {
                (None, Some(tunnel))
            }
            MainTunnelState::Failed(error, tunnel) => (Some(error.clone()), tunnel.as_ref()),
        };
        Some(MainTunnelView {
            local_port: self.port(),
            error,
            tunnel: tunnel.cloned(),
        })
    }

    /// Begins to set it up, unless one with the same connector info exists; that one may move to another relay. Stops a
    /// tunnel with other connector info, which takes a second at most.
    pub(super) fn set_up(&mut self, info: Connector, credentials: &mut ServerCredentials) {
        if self.is_there(&info) {
            self.try_again();
            return self.hold_at(&info);
        }
        self.state = match self.start(&info, credentials) {
            Ok(tunnel) => MainTunnelState::Connecting(info, tunnel),
            Err(error) => self.failed(error, None),
        };
    }

    /// Ends the pause after a changed host key: it may be longer than a connection waits.
    fn try_again(&self) {
        let MainTunnelState::Connecting(_, tunnel) = &self.state else {
            return;
        };
        let error = tunnel.snapshot().error;
        if error.is_some_and(|failure| failure.class == Class::HostKeyChanged) {
            tunnel.retry_now();
        }
    }

    /// Holds it at another relay if one has been away for long.
    fn hold_at(&self, connector: &Connector) {
        let (MainTunnelState::Connecting(_, tunnel) | MainTunnelState::Ready(_, tunnel)) =
            &self.state
        else {
            return;
        };
        let known = Arc::new(self.environment.known.named_by(&self.key.server));
        if tunnel.wants_relay()
            && let Err(error) = tunnel.hold_at(connector.places(&known))
        {
            log::warn!("main tunnel to {}: {error}", self.key.server);
        }
    }

    /// Called when the tunnel has connected; false if it was ready already, or is lost again.
    pub(super) fn note_connected(&mut self, credentials: &mut ServerCredentials) -> bool {
        let (info, tunnel) = match &self.state {
            MainTunnelState::Connecting(info, tunnel) if tunnel.is_connected() => {
                (info.clone(), Arc::clone(tunnel))
            }
            _ => return false,
        };
        let way = tunnel.snapshot().way;
        self.state = match self.begin_service(&info, way, credentials) {
            Ok(()) => {
                let through = match way {
                    Some(Way::Url) => ", through the web port",
                    _ => "",
                };
                log::info!("main tunnel to {}: ready{through}", self.key.server);
                MainTunnelState::Ready(info, tunnel)
            }
            Err(error) => self.failed(error, Some(tunnel)),
        };
        true
    }

    /// Ends it.
    pub(super) fn retire(&mut self) {
        self.state = MainTunnelState::Absent;
        self.service = None;
        self.environment.tunnels.close(&self.key);
    }

    /// Called at the end of the program; the registry ends the tunnel.
    pub(super) fn end_service(&mut self) {
        self.service = None;
    }

    /// True if a tunnel with the same connector info exists and its thread has not broken off.
    fn is_there(&self, info: &Connector) -> bool {
        match &self.state {
            MainTunnelState::Connecting(present, tunnel)
            | MainTunnelState::Ready(present, tunnel) => {
                present.leads_as(info) && tunnel.ended().try_recv() == Err(TryRecvError::Empty)
            }
            MainTunnelState::Absent | MainTunnelState::Failed(..) => false,
        }
    }

    fn failed(&self, error: String, tunnel: Option<Arc<TunnelGroup>>) -> MainTunnelState {
        log::warn!("main tunnel to {}: {error}", self.key.server);
        MainTunnelState::Failed(error, tunnel)
    }

    /// Starts the tunnel in place of an earlier one.
    fn start(
        &mut self,
        info: &Connector,
        credentials: &mut ServerCredentials,
    ) -> Result<Arc<TunnelGroup>, String> {
        let forward = Remote {
            local_host: "0.0.0.0".into(),
            local_port: info.api_port,
            remote_host: "localhost".into(),
            remote_port: self.bind(credentials)?,
        };
        let known = Arc::new(self.environment.known.named_by(&self.key.server));
        let settings = info.settings(Arc::clone(&known), forward);
        let mut settings = settings.map_err(|error| error.error)?;
        // Port of `127.0.0.1` only: on `::1` it may belong to another program.
        settings.localhost = Some(Ipv4Addr::LOCALHOST.into());
        let mailbox = Weak::clone(&self.mailbox);
        settings.on_connected = Some(Box::new(move || {
            if let Some(mailbox) = mailbox.upgrade() {
                mailbox.send(Command::MainTunnelIsUp);
            }
        }));
        let connections = Arc::clone(&self.environment.connections);
        let origin = self.key.server.clone();
        settings.on_failed = Some(Box::new(move |failure, _| {
            connections.note_server_away(&origin, failure.class.into(), &failure.message);
        }));
        let others = info.others(&known);
        let tunnels = &self.environment.tunnels;
        let started = tunnels.start(self.key.clone(), settings, others);
        started.map_err(|error| format!("cannot start it: {}", in_words(error)))
    }

    /// Binds the local port: the previous one if possible, else the first free one.
    fn bind(&mut self, credentials: &mut ServerCredentials) -> Result<u16, String> {
        if let Some(port) = self.port() {
            return Ok(port);
        }
        let saved = credentials.get(false);
        let saved = saved.map_err(|error| error.to_string())?.local_port;
        let listeners = &self.environment.listeners;
        let bound = |port| {
            let bound = listeners.bind((Ipv4Addr::LOCALHOST, port).into(), "the local API");
            bound
                .ok()
                .map(|(listener, registered)| (listener, registered, port))
        };
        let saved = saved.filter(|port| *port != 0).into_iter();
        let (listener, registered, port) =
            saved.chain(LOCAL_PORTS).find_map(bound).ok_or_else(|| {
                format!(
                    "all ports from {} to {} on 127.0.0.1 are in use",
                    LOCAL_PORTS.start(),
                    LOCAL_PORTS.end()
                )
            })?;
        self.service = Some(LocalService {
            port,
            listener: Some(listener),
            api: None,
            _registered: registered,
        });
        Ok(port)
    }

    /// Called when the tunnel is connected: saves the port and starts the service.
    fn begin_service(
        &mut self,
        info: &Connector,
        way: Option<Way>,
        credentials: &mut ServerCredentials,
    ) -> Result<(), String> {
        let proven = (way == Some(Way::Port)).then_some(info.tunnel_port);
        let port = self.port().expect("a tunnel leads to a bound port");
        credentials
            .keep_ports(port, proven)
            .map_err(|error| format!("cannot save its ports: {error}"))?;
        // A service that cannot be started gives its port back.
        let mut service = self.service.take();
        if let Some(service) = &mut service
            && let Some(listener) = service.listener.take()
        {
            let api = start_local_api(&self.environment, &self.key.server, listener);
            let failed = |error| format!("cannot start the local API: {}", in_words(error));
            service.api = Some(api.map_err(failed)?);
        }
        self.service = service;
        Ok(())
    }

    /// Port of the service, once it is bound.
    fn port(&self) -> Option<u16> {
        self.service.as_ref().map(|service| service.port)
    }
}

/// Starts the local API service on `listener`, for the server with this origin; it ends when the result is dropped. The
/// remote server reaches it under any host name, so nothing on it changes state or names anything.
fn start_local_api(
    environment: &Environment,
    origin: &str,
    listener: TcpListener,
) -> io::Result<Server> {
    let limits = Limits {
        connections: LOCAL_API_CONNECTIONS,
        ..Limits::default()
    };
    let config = ServerConfig {
        listener,
        hosts: HostPolicy::any(),
        check_other_users: environment.check_other_users,
        run_dir: environment.run_dir.clone(),
        workers: LOCAL_API_WORKERS,
        limits,
    };
    let connections = Arc::clone(&environment.connections);
    Server::start(
        config,
        Arc::new(local_api_routes(connections, origin.to_owned())),
    )
}

fn local_api_routes(connections: Arc<Connections>, origin: String) -> Router {
    Router::new()
        .on(Method::Get, "/health", |request| {
            request.respond(Response::json(200, &json!({"status": "OK"})));
        })
        .on(Method::Get, "/version", |request| {
            request.respond(Response::ok(json!({"version": env!("CARGO_PKG_VERSION")})));
        })
        .on(Method::Get, "/status", move |request| {
            request.respond(Response::ok(connections.counts(&origin)));
        })
}
