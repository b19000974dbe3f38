//! One connect sequence: from the call to the remote server to the tunnel that is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, Sender, never, select};

use super::enforcement::Enforcement;
use super::error::{ConnectError, Ended};
use super::map::PortReservation;
use super::probe::Probe;
use super::record::ConnectionOwner;
use super::setup_call::{SetupCalls, requires_name};
use super::state::{ConnectResult, Step};
use super::watch::HealthWatch;
use crate::api::ErrorClass;
use crate::gateway::RefusedVisit;
use crate::http::auth::Code;
use crate::manager::app_state::AppState;
use crate::manager::apps::another_name;
use crate::manager::apps::app::AppConfig;
use crate::manager::quick_setup::{self, OTHER_NAME, Setup};
use crate::manager::remote::{Connector, RemoteServer, awaited};
use crate::manager::request_log::RequestRecord;
use crate::manager::server_url::ServerUrl;
use crate::manager::site::{self, SiteAccess, SiteGateway, SiteNames};
use crate::manager::web_client::WebClient;
use crate::plugin::Served;
use crate::sync::LogLimiter;
use crate::tunnel::client::{Class, OnNotice, Settings, Status};
use crate::tunnel::group::TunnelGroup;
use crate::tunnel::registry::{Registry, TunnelKey, TunnelKind};
use crate::tunnel::remote::Remote;

/// Time for the application's tunnel to connect. 30 s by the specification.
const TUNNEL_WAIT: Duration = crate::limits::TUNNEL_WAIT;
/// Time for this machine's own relay to take a WebSocket. Default 5 s: it answers within some milliseconds.
const STAND_IN_WAIT: Duration = Duration::from_secs(5);
/// Attempts in a row that miss a server after which it may have moved.
const MISSED_AFTER: u32 = 3;
/// Host on which the remote server listens for visitors: its site gateway is on the same host.
const REMOTE_HOST: &str = "127.0.0.1";

/// Resources of a connection, in the order of release.
#[derive(Default)]
pub(super) struct HeldResources {
    pub(super) tunnel: Option<OpenTunnel>,
    pub(super) port: Option<PortReservation>,
    pub(super) web_client: Option<WebClient>,
    /// Asks visitors of an application with a gateway for the code, where the server does not.
    access: Arc<SiteAccess>,
    /// Last answer of the server.
    pub(super) setup: Option<Setup>,
}

impl HeldResources {
    /// Answer of the server.
    pub(super) fn setup(&self) -> &Setup {
        let setup = self.setup.as_ref();
        setup.expect("who serves was set up")
    }

    /// A database's web client.
    fn served(&self) -> Option<&dyn Served> {
        self.web_client.as_ref().map(WebClient::served)
    }

    /// Gets a message each time that the tunnel has missed its server again.
    pub(super) fn misses(&self) -> Receiver<()> {
        let tunnel = self.tunnel.as_ref();
        tunnel.map_or_else(never, |tunnel| tunnel.missed.clone())
    }

    /// Applies the decided access to the application's visitors.
    pub(super) fn admit(&mut self, enforcement: &Enforcement, name: &str, setup: &Setup) {
        if let Some(client) = &mut self.web_client {
            return client.admit(enforcement, &setup.app.site_url);
        }
        match enforcement.code.as_ref().filter(|_| enforcement.asks_here) {
            Some(code) => {
                let code = Code::new(code);
                self.access
                    .require_code(name, setup.app_id(), code, enforcement.generation);
            }
            None => self.access.open_to_all(),
        }
    }
}

/// A tunnel in the registry, closed when this is dropped.
pub(super) struct OpenTunnel {
    tunnels: Arc<Registry>,
    key: TunnelKey,
    /// Gets a message when it has missed its server [`MISSED_AFTER`] times and more.
    missed: Receiver<()>,
}

impl Drop for OpenTunnel {
    fn drop(&mut self) {
        self.tunnels.close(&self.key);
    }
}

/// The work of one connection's thread.
pub(super) struct ConnectionWork<'a> {
    pub(super) core: &'a Arc<AppState>,
    pub(super) record: &'a ConnectionOwner,
    /// Application the connection is made from; changes that apply at once are made here.
    pub(super) app: AppConfig,
}

impl ConnectionWork<'_> {
    /// Steps 1 to 6, the last of which is to return the addresses for visitors.
    pub(super) fn sequence(
        &self,
        held: &mut HeldResources,
    ) -> Result<(ConnectResult, Arc<TunnelGroup>, HealthWatch), Ended> {
        let url = self
            .core
            .server_of(&self.app)
            .map_err(|error| ConnectError::new(ErrorClass::NoServer, error))?;
        url.origin()
            .clone_into(&mut self.record.change().shown.server);
        self.core.listeners.check(&self.app)?;
        let was_there = held.web_client.is_some();
        self.web_client(held)?;
        let (remote_host, remote_port) = self.exposed(held);
        let remote = self.core.servers.of(url.origin())?;
        self.record.change().begin(Step::QuickSetup);
        let (setup, connector) = self.call(&url, &remote, (&remote_host, remote_port))?;
        self.record.change().begin(Step::Credentials);
        let site_name_wanted = self.another_name(&url, &remote, &setup)?;
        let enforcement = Enforcement::of(&self.app, &setup)?;
        held.admit(&enforcement, &self.app.name, &setup);
        self.main_tunnel(&remote)?;
        self.record.change().begin(Step::AppTunnel);
        let (miss, missed) = crossbeam_channel::bounded(1);
        let names = Arc::new(SiteNames::of(&self.app, &setup));
        let forward = Remote {
            local_host: REMOTE_HOST.to_owned(),
            local_port: setup.app.resource.port,
            remote_host,
            remote_port,
        };
        let tunnel = self.open_tunnel(held, url.origin(), &connector, forward, &names, miss)?;
        let mut health = self.ask(held, names, missed, was_there);
        self.await_tunnel(&tunnel)?;
        if !health.wait_first(self.record) {
            return Err(Ended::Stopped);
        }
        let site = ConnectResult {
            auth_url: enforcement.auth_url,
            site_url: setup.app.site_url.clone(),
            app_id: setup.app.app_id.clone(),
            site_name_wanted,
            ..ConnectResult::default()
        };
        held.setup = Some(setup);
        Ok((site, tunnel, health))
    }

    /// Returns the wanted site name if a relay gave it another one. If the name is required, the site is released and
    /// this is an error: an older relay does not know that the name is required.
    fn another_name(
        &self,
        url: &ServerUrl,
        remote: &Arc<RemoteServer>,
        setup: &Setup,
    ) -> Result<Option<String>, Ended> {
        let wanted = another_name(&self.app, &setup.app.site_url);
        // A site keeps the name of its first connect, also if another one would be free now.
        let is_taken = setup.app.site_name_taken != Some(false);
        let Some(wanted) = wanted.filter(|_| setup.is_of_relay() && is_taken) else {
            return Ok(None);
        };
        if !requires_name(&self.app) {
            log::warn!(
                "application '{}': its site has another name than '{wanted}'",
                self.app.name
            );
            return Ok(Some(wanted));
        }
        let begun = remote.begin_call(false, &self.record.stopped)?;
        let done = quick_setup::release(url.clone(), begun.credentials, self.app.id.clone());
        // Nothing is shared, released or not.
        let _ = awaited(&done, &self.record.stopped)?;
        let error = format!("site_name: the name '{wanted}' is already taken");
        Err(ConnectError::new(ErrorClass::NameTaken, error)
            .hint(OTHER_NAME)
            .into())
    }

    /// Makes one more call for an application that is shared already.
    pub(super) fn ask_again(&self, held: &HeldResources) -> Result<(Setup, Connector), Ended> {
        let url = self.core.server_of(&self.app);
        let url = url.map_err(|error| ConnectError::new(ErrorClass::NoServer, error))?;
        let remote = self.core.servers.of(url.origin())?;
        let (ip, port) = self.exposed(held);
        self.call(&url, &remote, (&ip, port))
    }

    /// Returns the exposed address: the application's, or that of a database's web client.
    fn exposed(&self, held: &HeldResources) -> (String, u16) {
        match held.served().map(Served::address) {
            Some(own) => (own.ip().to_string(), own.port()),
            None => (self.app.ip.clone(), self.app.port),
        }
    }

    /// Starts a database's web client, unless it runs.
    fn web_client(&self, held: &mut HeldResources) -> Result<(), Ended> {
        if !self.app.protocol.is_database() {
            return Ok(());
        }
        let client = match held.web_client.take() {
            Some(running) => running,
            None => WebClient::start(self.core, &self.app, self.record)?,
        };
        self.record.change().shown.local_url = client.served().url();
        self.record.change().guest = client.served().guest();
        held.web_client = Some(client);
        Ok(())
    }

    /// Steps 1 and 2.
    fn call(
        &self,
        url: &ServerUrl,
        remote: &Arc<RemoteServer>,
        target: (&str, u16),
    ) -> Result<(Setup, Connector), Ended> {
        let mut calls = SetupCalls {
            core: self.core,
            url,
            remote,
            record: self.record,
            app: &self.app,
            target,
            saved: None,
        };
        let setup = calls.run()?;
        let saved = calls.saved()?;
        self.core.connections.addresses.note(url.origin(), &setup);
        Ok((setup, saved))
    }

    /// Step 3.
    fn main_tunnel(&self, remote: &Arc<RemoteServer>) -> Result<(), Ended> {
        if !self.core.keeps_main_tunnels() {
            return Ok(());
        }
        self.record.change().begin(Step::MainTunnel);
        let wait = remote.set_up_main_tunnel();
        wait.until_ready(&self.record.stopped, |tunnel| {
            self.record.change().wait_for(Step::MainTunnel, tunnel);
        })
    }

    /// Step 4.
    fn open_tunnel(
        &self,
        held: &mut HeldResources,
        origin: &str,
        connector: &Connector,
        forward: Remote,
        names: &Arc<SiteNames>,
        missed: Sender<()>,
    ) -> Result<Arc<TunnelGroup>, Ended> {
        let key = TunnelKey {
            server: origin.to_owned(),
            tunnel: TunnelKind::Port(forward.local_port),
        };
        held.port = Some(self.core.ports.reserve(&key, &self.record.stopped)?);
        let known = Arc::new(self.core.known.named_by(origin));
        let mut settings = connector.settings(Arc::clone(&known), forward)?;
        settings.retries.end_when_disowned = true;
        // The relay of this machine goes from one process to the next, and what has its port then may be another's.
        if self.core.choice.is_local_relay(origin) {
            settings.retries.end_when_moved = true;
            settings.dial.timeouts.handshake = STAND_IN_WAIT;
        }
        settings.max_streams = self.app.max_streams.map(u64::from);
        // The tunnel of a database leads to its web client.
        let own = held.served().map(Served::address);
        let may_dial = self.core.listeners.dial_filter(own);
        let changes = &self.record.changes_shown;
        if self.app.protocol.has_gateway() {
            let gateway = SiteGateway::new(
                &self.app,
                Arc::clone(names),
                &held.access,
                Arc::clone(&self.record.requests),
                Arc::clone(&may_dial),
                missed.clone(),
            );
            settings.serve = Some(site::serve(gateway));
        } else {
            settings.serve = held.served().map(Served::streams);
        }
        settings.target_missed = Some(missed);
        // Each visitor of a port is a stream, which is counted before its target is asked for.
        let visited = Arc::clone(changes);
        settings.may_dial = Some(Arc::new(move |address| {
            visited.note();
            may_dial(address)
        }));
        let missed = self.watch_failures(&mut settings, origin);
        settings.on_notice = Some(self.record_refused());
        let others = connector.others(&known);
        let tunnel = self.core.tunnels.start(key.clone(), settings, others);
        let tunnel = tunnel
            .map_err(|error| ConnectError::local(format!("cannot start the tunnel: {error}")))?;
        held.tunnel = Some(OpenTunnel {
            tunnels: Arc::clone(&self.core.tunnels),
            key,
            missed,
        });
        Ok(tunnel)
    }

    /// Logs failures of its tunnel while the main tunnel is connected; else the main tunnel's failure is logged, once
    /// for all. A connected tunnel shows that the server answers. Returns the channel that gets a message when the
    /// server is missed again and again.
    fn watch_failures(&self, settings: &mut Settings, origin: &str) -> Receiver<()> {
        let (miss, missed) = crossbeam_channel::bounded(1);
        let (misses, is_logged) = (
            Arc::new(AtomicU32::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (was_missed, was_logged) = (Arc::clone(&misses), Arc::clone(&is_logged));
        let of_each = || {
            let (name, server) = (self.app.name.clone(), origin.to_owned());
            let changes = Arc::clone(&self.record.changes_shown);
            (name, server, changes, Arc::clone(&self.core.environment))
        };
        let (name, server, changes, around) = of_each();
        settings.on_failed = Some(Box::new(move |failure, was_connected| {
            changes.note();
            let is_miss = !was_connected && !failure.class.is_disowned();
            // Another server answers there: its own may have moved.
            let is_other = failure.class == Class::HostKeyChanged;
            if is_miss && (misses.fetch_add(1, Ordering::Relaxed) + 1 >= MISSED_AFTER || is_other) {
                // One message is enough.
                let _ = miss.try_send(());
            }
            // After a loss, that of the main tunnel may not be noticed yet.
            let is_its_own = !was_connected && around.tunnels.is_main_connected(&server);
            if is_its_own && !is_logged.swap(true, Ordering::Relaxed) {
                log::warn!("'{name}': {failure}; retrying");
            }
        }));
        let (name, server, changes, around) = of_each();
        settings.on_connected = Some(Box::new(move || {
            changes.note();
            was_missed.store(0, Ordering::Relaxed);
            if was_logged.swap(false, Ordering::Relaxed) {
                log::warn!("'{name}': reconnected");
            }
            around.tunnels.wake_main(&server);
            around.connections.note_server_answers(&server);
        }));
        missed
    }

    /// Returns the handler of notices of refused visitors: they are logged, and are requests of the connection.
    fn record_refused(&self) -> OnNotice {
        let (name, requests) = (self.app.name.clone(), Arc::clone(&self.record.requests));
        let log = LogLimiter::default();
        Arc::new(move |data| {
            let Some(visit) = RefusedVisit::decode(data) else {
                return;
            };
            log.refused(format_args!("'{name}': {visit}"));
            let now = SystemTime::now();
            requests.begin(now);
            requests.note(RequestRecord::new(
                &visit.method,
                &visit.path,
                Some(visit.source),
                now,
                Duration::ZERO,
                visit.status,
                0,
            ));
        })
    }

    /// Begins the health checks. A web client that was just started has signed in.
    fn ask(
        &self,
        held: &HeldResources,
        names: Arc<SiteNames>,
        missed: Receiver<()>,
        was_there: bool,
    ) -> HealthWatch {
        match held.served() {
            Some(served) => {
                let probe = Probe::Database(served.sign_in());
                HealthWatch::begin(&self.app.name, probe, served.missed(), !was_there)
            }
            None => {
                let may_dial = self.core.listeners.dial_filter(None);
                let probe = Probe::of(&self.app, Some(names), Some(may_dial));
                HealthWatch::begin(&self.app.name, probe, missed, false)
            }
        }
    }

    /// Step 5.
    fn await_tunnel(&self, tunnel: &Arc<TunnelGroup>) -> Result<(), Ended> {
        self.record
            .change()
            .wait_for(Step::Signal, Arc::clone(tunnel));
        let timeout =
            || ConnectError::new(ErrorClass::Timeout, "App tunnel connect timeout").of_tunnel();
        let over = crossbeam_channel::after(TUNNEL_WAIT);
        loop {
            select! {
                recv(self.record.stopped) -> _ => return Err(Ended::Stopped),
                recv(over) -> _ => return Err(timeout().into()),
                recv(tunnel.connected()) -> _ => {}
            }
            match tunnel.snapshot().status {
                Status::Connected => return Ok(()),
                // The tunnel was lost again at once and goes on trying.
                Status::Connecting => {}
                _ => {
                    return Err(ConnectError::local("the tunnel was closed")
                        .of_tunnel()
                        .into());
                }
            }
        }
    }
}
