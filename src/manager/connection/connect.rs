//! The work of one connection's thread: the connect sequence, the wait for the stop signal, and giving all back.
//!
//! ```text
//! [web client] ─ 1 quick-setup ─ 2 save credentials ─ 3 main tunnel ─ 4 app tunnel ─ 5 its signal ─ 6, 7 result ─ 8 wait
//!       │    ▲         └────── the stop signal ends each wait at once ──────┴─────────────┤
//!       │    └───────── the server does not know the tunnel's user any more ──────────────┤
//!       └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! That is one round; [`rounds`] says when another follows one that failed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, select};

use super::call::Call;
use super::health::{Over, Probe, Watch};
use super::record::{Awaited, ConnectError, ConnectionRecord, Site, Step};
use super::rounds::{self, Rounds};
use crate::manager::app::AppConfig;
use crate::manager::app_state::{AppState, PortReservation};
use crate::manager::app_store;
use crate::manager::main_tunnel;
use crate::manager::own_listeners;
use crate::manager::quick_setup::{self, Setup};
use crate::manager::server_url::ServerUrl;
use crate::manager::servers::{Connector, RemoteServer};
use crate::manager::web_client::WebClient;
use crate::tunnel::client::{Status, Tunnel};
use crate::tunnel::registry::{Key, Which};
use crate::tunnel::remote::Remote;

/// Time for the application's tunnel to connect. 30 s by the specification.
const TUNNEL_WAIT: Duration = Duration::from_secs(30);
/// Time for an earlier connection of the same application to give back what it held. Default 4 s: closing a tunnel
/// takes a second at most, ending a web client two.
const PREDECESSOR_WAIT: Duration = Duration::from_secs(4);
/// The least time from one sequence to the next, where the server turns the tunnel away. Default 10 s: the same as
/// between two attempts of a tunnel that is refused.
const SEQUENCE_PAUSE: Duration = Duration::from_secs(10);
/// Where the remote server listens for visitors: the site gateway is on its own host.
const REMOTE_HOST: &str = "127.0.0.1";

/// Why the sequence did not reach its end.
pub(crate) enum Ended {
    /// The stop signal was given.
    Stopped,
    /// A step failed.
    Failed(ConnectError),
}

impl From<ConnectError> for Ended {
    fn from(fault: ConnectError) -> Self {
        Self::Failed(fault)
    }
}

/// What a connection holds, in the order it is given back.
#[derive(Default)]
struct Held {
    tunnel: Option<OpenTunnel>,
    claim: Option<PortReservation>,
    web_client: Option<WebClient>,
}

/// A tunnel in the registry; it goes with this.
struct OpenTunnel {
    core: Arc<AppState>,
    key: Key,
}

impl Drop for OpenTunnel {
    fn drop(&mut self) {
        self.core.tunnels.close(&self.key);
    }
}

/// Does the work and waits for the stop signal. `before` is closed when the application's earlier connection is over.
pub(super) fn run(
    core: &Arc<AppState>,
    active: &Arc<ConnectionRecord>,
    app: AppConfig,
    before: Option<&Receiver<()>>,
) {
    let _contained = Contained(active);
    if let Some(before) = before {
        // One that takes longer loses its tunnel to this one.
        let _ = before.recv_timeout(PREDECESSOR_WAIT);
    }
    let (mut app, mut rounds) = (app, Rounds::new());
    while let Some(fault) = round(core, active, &app, &mut rounds)
        && let Some(awaited) = fail(core, active, &app, &mut rounds, fault)
        && wait_for(core, active, &app, awaited)
    {
        app = core.apps.find(&app.id).unwrap_or(app);
        if !rounds::comes_back(core, &app) {
            active.stays_failed();
            break;
        }
        if !active.begins_again(Step::first_of(app.protocol)) {
            break;
        }
    }
    // Its server may be none that the application names now.
    if active.is_stopped() {
        main_tunnel::retire_unused(core);
    }
}

/// One round; gives back what it held. None at the stop signal.
fn round(
    core: &Arc<AppState>,
    active: &Arc<ConnectionRecord>,
    app: &AppConfig,
    rounds: &mut Rounds,
) -> Option<ConnectError> {
    let mut held = Held::default();
    let ended = Work { core, active, app }.keep_connected(&mut held, rounds);
    log::debug!("application {}: giving back what it held", app.id);
    drop(held);
    match ended {
        Err(Ended::Failed(fault)) => Some(fault),
        Ok(()) | Err(Ended::Stopped) => None,
    }
}

/// A round has failed; answers what the next one waits for, where there is to be one.
fn fail(
    core: &AppState,
    active: &ConnectionRecord,
    app: &AppConfig,
    rounds: &mut Rounds,
    fault: ConnectError,
) -> Option<Awaited> {
    let pause = rounds::comes_back(core, app).then(|| rounds.pause());
    if rounds.is_told(&fault.error) {
        log::debug!("application {}: {}", app.id, fault.in_one_line());
    } else {
        log::warn!("application {}: {}", app.id, fault.in_one_line());
    }
    active.failed(fault, pause)
}

fn wait_for(core: &AppState, active: &ConnectionRecord, app: &AppConfig, awaited: Awaited) -> bool {
    let url = core.server_of(app).ok();
    let remote = url.map(|url| core.servers.of(url.origin()));
    rounds::wait(active, remote.as_deref(), awaited)
}

/// A connection whose thread panics has failed; one that has ended otherwise is not changed by this.
struct Contained<'a>(&'a ConnectionRecord);

impl Drop for Contained<'_> {
    fn drop(&mut self) {
        let fault = ConnectError::new(
            "local",
            "the connection's work broke off: this is a fault of the program",
        );
        self.0.failed(fault, None);
    }
}

/// What a failed call is classed as: an answer of 401 and a refused tunnel are one thing to the user.
fn class_of(failure: &quick_setup::Failure) -> &'static str {
    match failure {
        quick_setup::Failure::Local(_) => "local",
        quick_setup::Failure::Unauthorized { .. } => "wrong-password",
        quick_setup::Failure::Status { status: 403, .. } => "forbidden",
        quick_setup::Failure::Refused { code, .. } if code == "401" => "wrong-password",
        quick_setup::Failure::Refused { code, .. } if code == "403" => "forbidden",
        quick_setup::Failure::TooManyRequests { .. } => "limit",
        quick_setup::Failure::Unreachable { .. } => "network",
        _ => "quick-setup",
    }
}

struct Work<'a> {
    core: &'a Arc<AppState>,
    active: &'a Arc<ConnectionRecord>,
    app: &'a AppConfig,
}

impl Work<'_> {
    /// Ends with the stop signal, or with a step that fails.
    fn keep_connected(&self, held: &mut Held, rounds: &mut Rounds) -> Result<(), Ended> {
        self.active.is_made_from(self.app);
        self.still_wanted()?;
        loop {
            let begun = Instant::now();
            let (site, tunnel, mut health) = self.sequence(held)?;
            self.completed(site);
            rounds.reset();
            self.serve(&tunnel, &mut health)?;
            log::warn!(
                "application {}: turned away; the server is asked again",
                self.app.id
            );
            self.active.turned_away();
            (held.tunnel, held.claim) = (None, None);
            self.pause(SEQUENCE_PAUSE.saturating_sub(begun.elapsed()))?;
        }
    }

    /// Step 7.
    fn completed(&self, site: Site) {
        log::info!("application {}: connected", self.app.id);
        self.core.connections.note_connected(&self.app.id);
        self.active.completed(site);
        if let Err(error) = self.core.apps.connected(&self.app.id) {
            log::warn!(
                "application {}: the time of the connection is not noted: {error}",
                self.app.id
            );
        }
    }

    /// Step 8; also ends when the server takes the tunnel no more. What else happens to it, it mends by itself.
    fn serve(&self, tunnel: &Tunnel, health: &mut Watch) -> Result<(), Ended> {
        match health.run(self.active, &tunnel.ended()) {
            Over::Stopped => Err(Ended::Stopped),
            // Both may be true at once, as at the program's end.
            Over::TunnelEnded => self.still_wanted(),
        }
    }

    fn pause(&self, time: Duration) -> Result<(), Ended> {
        // A wish from before the pause does not end it.
        while self.active.retries().try_recv().is_ok() {}
        select! {
            recv(self.active.stopped()) -> _ => Err(Ended::Stopped),
            recv(self.active.retries()) -> _ => Ok(()),
            default(time) => Ok(()),
        }
    }

    /// Steps 1 to 6.
    fn sequence(&self, held: &mut Held) -> Result<(Site, Arc<Tunnel>, Watch), Ended> {
        let url = self
            .core
            .server_of(self.app)
            .map_err(|error| ConnectError::new("no-server", error))?;
        let remote = self.core.servers.of(url.origin());
        self.active.goes_through(url.origin());
        own_listeners::check(self.core, self.app)?;
        let was_there = held.web_client.is_some();
        let (ip, port) = self.target(held)?;
        let (setup, connector) = self.quick_setup(&url, &remote, &ip, port)?;
        if let Some(client) = &mut held.web_client {
            client.admit(&setup);
        }
        self.active.step(Step::MainTunnel);
        main_tunnel::ensure(self.core, &remote, self.active)?;
        self.active.step(Step::AppTunnel);
        let (tell, missed) = crossbeam_channel::bounded(1);
        let tunnel = self.open_tunnel(held, &remote, &connector, &setup, (ip, port), tell)?;
        let mut health = self.ask(held, missed, was_there);
        self.await_tunnel(&tunnel)?;
        if !health.first(self.active) {
            return Err(Ended::Stopped);
        }
        Ok((self.site(setup), tunnel, health))
    }

    /// Step 6.
    fn site(&self, setup: Setup) -> Site {
        let auth_url = setup.auth_url().filter(|_| self.app.invisible);
        Site {
            auth_url: auth_url.unwrap_or_default(),
            site_url: setup.app.site_url,
            app_id: setup.app.app_id,
        }
    }

    /// Begins to ask whether the application answers. A web client that was just started has signed in.
    fn ask(&self, held: &Held, missed: Receiver<()>, was_there: bool) -> Watch {
        let database = held.web_client.as_ref().and_then(WebClient::sign_in);
        match database {
            Some((sign_in, missed)) => {
                Watch::begin(&self.app.id, Probe::Database(sign_in), missed, !was_there)
            }
            None => {
                let may_dial = self.core.listeners.may_dial(None);
                let probe = Probe::of(self.app, may_dial);
                Watch::begin(&self.app.id, probe, missed, false)
            }
        }
    }

    /// One that was removed while its connection began has none, nor a record that says so for ever.
    fn still_wanted(&self) -> Result<(), Ended> {
        match self.core.apps.find(&self.app.id) {
            _ if self.active.is_stopped() => Err(Ended::Stopped),
            Ok(_) => Ok(()),
            Err(app_store::Error::Unknown(_)) => {
                self.core.connections.disconnect(&self.app.id);
                Err(Ended::Stopped)
            }
            Err(error) => Err(ConnectError::new("local", error.to_string()).into()),
        }
    }

    /// What is exposed: the application, or the web client of a database.
    fn target(&self, held: &mut Held) -> Result<(String, u16), Ended> {
        if !self.app.protocol.is_database() {
            return Ok((self.app.ip.clone(), self.app.port));
        }
        let client = match held.web_client.take() {
            Some(running) => running,
            None => WebClient::start(self.core, self.app, self.active.stopped())?,
        };
        self.active.offers(client.local_url());
        let target = client.target();
        held.web_client = Some(client);
        Ok(target)
    }

    /// Steps 1 and 2.
    fn quick_setup(
        &self,
        url: &ServerUrl,
        remote: &Arc<RemoteServer>,
        ip: &str,
        port: u16,
    ) -> Result<(Setup, Connector), Ended> {
        self.active.step(Step::QuickSetup);
        let call = Arc::new(Call::new(
            self.core,
            remote,
            self.active,
            self.app,
            (ip, port),
            url,
        ));
        let setup = quick_setup::run(
            url,
            call.clone(),
            self.active.stopped(),
            self.active.retries(),
        );
        let setup = setup.map_err(|failure| match failure {
            quick_setup::Failure::Stopped => Ended::Stopped,
            failure => ConnectError::new(class_of(&failure), failure.to_string())
                .hint(failure.hint())
                .into(),
        })?;
        self.active.step(Step::Credentials);
        let connector = call
            .saved()
            .map_err(|error| ConnectError::new("local", error))?;
        self.pin(remote, &connector, setup.connector.fingerprint.as_deref())?;
        Ok((setup, connector))
    }

    /// A fingerprint that came with the answer is pinned, unless one is already.
    fn pin(
        &self,
        remote: &RemoteServer,
        connector: &Connector,
        fingerprint: Option<&str>,
    ) -> Result<(), ConnectError> {
        let (Some(fingerprint), Ok(endpoint)) = (fingerprint, connector.endpoint()) else {
            return Ok(());
        };
        let pinned = remote
            .known(&self.core.known)
            .pin_first(&endpoint.authority(), fingerprint);
        pinned.map_err(|error| ConnectError::new("local", error.to_string()))
    }

    /// Step 4.
    fn open_tunnel(
        &self,
        held: &mut Held,
        remote: &RemoteServer,
        connector: &Connector,
        setup: &Setup,
        (ip, port): (String, u16),
        missed: Sender<()>,
    ) -> Result<Arc<Tunnel>, Ended> {
        let local_port = setup.app.resource.port;
        let key = Key {
            server: remote.origin().to_owned(),
            tunnel: Which::Port(local_port),
        };
        held.claim = Some(self.core.ports.claim(&key, self.active.stopped())?);
        let forward = Remote {
            local_host: REMOTE_HOST.to_owned(),
            local_port,
            remote_host: ip,
            remote_port: port,
        };
        let mut settings = connector.settings(remote.known(&self.core.known), forward)?;
        settings.retries.end_when_disowned = true;
        settings.target_missed = Some(missed);
        // A database's web client is what its tunnel leads to.
        let own = held.web_client.as_ref().and_then(WebClient::address);
        settings.may_dial = Some(self.core.listeners.may_dial(own));
        let tunnel = self.core.tunnels.start(key.clone(), settings);
        let tunnel = tunnel.map_err(|error| {
            ConnectError::new("local", format!("cannot start the tunnel: {error}"))
        })?;
        held.tunnel = Some(OpenTunnel {
            core: Arc::clone(self.core),
            key,
        });
        Ok(tunnel)
    }

    /// Step 5.
    fn await_tunnel(&self, tunnel: &Arc<Tunnel>) -> Result<(), Ended> {
        self.active.awaits(Step::Signal, Some(Arc::clone(tunnel)));
        let timeout = || ConnectError::new("timeout", "App tunnel connect timeout").of_tunnel();
        let over = crossbeam_channel::after(TUNNEL_WAIT);
        loop {
            select! {
                recv(self.active.stopped()) -> _ => return Err(Ended::Stopped),
                recv(over) -> _ => return Err(timeout().into()),
                recv(tunnel.connected()) -> _ => {}
            }
            match tunnel.snapshot().status {
                Status::Connected => return Ok(()),
                // It was lost again at once, and goes on trying.
                Status::Connecting => {}
                _ => {
                    let closed = ConnectError::new("local", "the tunnel was closed");
                    return Err(closed.of_tunnel().into());
                }
            }
        }
    }
}
