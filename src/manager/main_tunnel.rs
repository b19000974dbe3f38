//! The main tunnel of a remote server: one, shared by all its applications.
//!
//! ```text
//!            ensure, or the start of the program          signal
//! not ready ──────────────────────────────────> trying ──────────> ready
//!     ▲ 30 s without the signal: who waits is told;    │             │
//!     │ the trying goes on, and the next one waits     │             │
//!     ├────────── other connector info ────────────────┤             │
//!     └────────── started afresh, or not used any more ┴─────────────┘
//! ```

use crate::sync::{Mutex, MutexGuard};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, select};
use serde_json::{Value, json};

use super::app_state::AppState;
use super::connection::connect::Ended;
use super::connection::record::{ConnectError, ConnectionRecord, Step, millis_until};
use super::connection::result::{HostKey, class_name, latency_ms};
use super::local_api::LocalApi;
use super::own_listeners::Registered;
use super::servers::{self, Connector, RemoteServer};
use crate::store::Credentials;
use crate::tunnel::client::{Snapshot, Status, Tunnel};
use crate::tunnel::registry::{Key, Which};
use crate::tunnel::remote::Remote;

/// Time for the main tunnel to connect. 30 s by the specification.
const MAIN_WAIT: Duration = Duration::from_secs(30);
/// Where the local API service listens: the first free one. 4000 to 5000 by the specification.
const LOCAL_PORTS: std::ops::RangeInclusive<u16> = 4000..=5000;
/// Bytes of the stack of the thread that makes it ready. Default 256 KiB: it saves the credentials.
const STACK: usize = 256 * 1024;

/// The main tunnel of one server.
#[derive(Default)]
pub(crate) struct MainTunnel {
    main: Mutex<Main>,
    /// Held while a tunnel takes its place in the registry, so that an older one does not take it from a newer.
    starting: Mutex<()>,
}

#[derive(Default)]
struct Main {
    /// What it is made with; none before the first set-up.
    info: Option<Info>,
    /// Counts set-ups with other connector info.
    generation: u64,
    /// `mainReady`.
    is_ready: bool,
    /// The set-up under way.
    set_up: Option<SetUp>,
    /// Why the last one ended without a tunnel that tries.
    error: Option<String>,
    door: Door,
}

/// The service at the tunnel's end here.
#[derive(Default)]
enum Door {
    #[default]
    None,
    /// The port is taken, and the tunnel not up yet.
    Bound(TcpListener, Registered, u16),
    Open {
        _api: LocalApi,
        _registered: Registered,
        port: u16,
    },
}

#[derive(Clone, PartialEq, Eq)]
struct Info {
    connector: Connector,
    api_port: u16,
}

#[derive(Clone)]
struct SetUp {
    /// Closed when the tunnel is in the registry.
    started: Receiver<()>,
    /// Closed when it is ready, or cannot become so.
    over: Receiver<()>,
}

enum Begun {
    Ready,
    Trying(SetUp),
}

/// Makes sure that the main tunnel is up: skips when it is ready, else sets it up and waits.
pub(crate) fn ensure(
    core: &Arc<AppState>,
    remote: &Arc<RemoteServer>,
    active: &ConnectionRecord,
) -> Result<(), Ended> {
    let timeout = crossbeam_channel::after(MAIN_WAIT);
    loop {
        let Begun::Trying(set_up) = begin(core, remote)? else {
            return Ok(());
        };
        for stage in [&set_up.started, &set_up.over] {
            active.awaits(Step::MainTunnel, core.tunnels.find(&key(remote)));
            select! {
                recv(active.stopped()) -> _ => return Err(Ended::Stopped),
                recv(timeout) -> _ => {
                    let late = ConnectError::new("timeout", "Main tunnel connect timeout");
                    return Err(late.of_tunnel().into());
                }
                recv(stage) -> _ => {}
            }
        }
        if let Some(error) = remote.main.lock().error.clone() {
            return Err(ConnectError::new("local", error).into());
        }
    }
}

/// Sets it up in the background where saved connector info exists. Where that is of an earlier version, which did not
/// keep how far inside the network the server was, the next answer may have to come first.
pub(crate) fn begin_at_start(
    core: &Arc<AppState>,
    remote: &Arc<RemoteServer>,
    credentials: &Credentials,
) {
    if servers::class_of(remote.origin(), credentials).is_none() {
        log::info!(
            "main tunnel to {}: set up with the server's next answer",
            remote.origin()
        );
        return;
    }
    if let Err(fault) = begin(core, remote) {
        log::warn!("main tunnel to {}: {}", remote.origin(), fault.error);
    }
}

/// As `/api/tunnel` shows it; none where it was never set up.
pub(crate) fn shown(core: &AppState, remote: &RemoteServer) -> Option<Value> {
    let (local_port, error) = {
        let main = remote.main.lock();
        main.info.as_ref()?;
        (main.door.port(), main.error.clone())
    };
    let snapshot = core
        .tunnels
        .find(&key(remote))
        .map(|tunnel| tunnel.snapshot());
    Some(described(
        remote.origin(),
        local_port,
        error,
        snapshot.as_ref(),
    ))
}

/// The host key change that it reports.
pub(crate) fn changed_host_key(core: &AppState, remote: &RemoteServer) -> Option<HostKey> {
    let snapshot = core.tunnels.find(&key(remote))?.snapshot();
    snapshot.error?.host_key.map(HostKey::from)
}

/// Ends its present pause.
pub(crate) fn retry(core: &AppState, remote: &RemoteServer) {
    if let Some(tunnel) = core.tunnels.find(&key(remote)) {
        tunnel.retry_now();
    }
}

/// Ends it and forgets its connector info, until the next set-up.
pub(crate) fn retire(core: &AppState, remote: &RemoteServer) {
    let (generation, door) = {
        let mut main = remote.main.lock();
        let (generation, door) = (main.generation + 1, std::mem::take(&mut main.door));
        *main = Main {
            generation,
            ..Main::default()
        };
        (generation, door)
    };
    drop(door);
    // After whoever puts a tunnel in its place just now; a set-up that has begun since replaces it anyway.
    let _starting = remote.main.starting();
    if remote.main.lock().generation == generation {
        core.tunnels.close(&key(remote));
    }
}

/// Ends those of servers that no application is connected through, or is to be.
pub(crate) fn retire_unused(core: &AppState) {
    for remote in core.servers.all() {
        let is_set_up = remote.main.lock().info.is_some();
        if is_set_up && !core.is_in_use(remote.origin()) {
            log::info!("main tunnel to {}: no application uses it", remote.origin());
            retire(core, &remote);
        }
    }
}

fn described(
    origin: &str,
    local_port: Option<u16>,
    error: Option<String>,
    snapshot: Option<&Snapshot>,
) -> Value {
    let status = match snapshot.map(|snapshot| snapshot.status) {
        Some(Status::Connected) => "connected",
        Some(Status::Connecting) => "connecting",
        None if error.is_none() => "connecting",
        _ => "failed",
    };
    let failure = snapshot
        .filter(|_| status != "connected")
        .and_then(|snapshot| snapshot.error.as_ref());
    let error = failure.map(|failure| failure.message.clone()).or(error);
    json!({
        "server": origin,
        "status": status,
        "error": error.unwrap_or_default(),
        "error_class": failure.map(|failure| class_name(failure.class)),
        "host_key": failure.and_then(|failure| failure.host_key.clone()).map(HostKey::from),
        "next_retry_ms": snapshot.and_then(|snapshot| snapshot.next_retry).map(millis_until),
        "local_port": local_port,
        "latency_ms": snapshot.and_then(latency_ms),
    })
}

fn key(remote: &RemoteServer) -> Key {
    Key {
        server: remote.origin().to_owned(),
        tunnel: Which::Main,
    }
}

/// Finds it ready, or a set-up under way, or begins one.
fn begin(core: &Arc<AppState>, remote: &Arc<RemoteServer>) -> Result<Begun, ConnectError> {
    let (info, mut main) = current(core, remote)?;
    if main.info.as_ref() == Some(&info) {
        if main.is_ready {
            return Ok(Begun::Ready);
        }
        if let Some(set_up) = main.set_up.as_ref().filter(|it| it.is_under_way()) {
            return Ok(Begun::Trying(set_up.clone()));
        }
    }
    main.generation += 1;
    main.is_ready = false;
    main.error = None;
    main.info = Some(info.clone());
    let keeper = MainTunnelTask {
        core: Arc::clone(core),
        remote: Arc::clone(remote),
        info,
        generation: main.generation,
    };
    let set_up = keeper.spawn().map_err(|error| {
        ConnectError::new("local", format!("no thread for the main tunnel: {error}"))
    })?;
    main.set_up = Some(set_up.clone());
    Ok(Begun::Trying(set_up))
}

impl SetUp {
    /// One that broke off would else be waited for ever again.
    fn is_under_way(&self) -> bool {
        self.over.try_recv() == Err(TryRecvError::Empty)
    }
}

/// The connector info, and the main tunnel while that is the newest: an older one must not replace a newer tunnel.
fn current<'a>(
    core: &AppState,
    remote: &'a RemoteServer,
) -> Result<(Info, MutexGuard<'a, Main>), ConnectError> {
    loop {
        let saves = remote.saves();
        let info = info(core, remote)?;
        let main = remote.main.lock();
        if remote.saves() == saves {
            return Ok((info, main));
        }
    }
}

fn info(core: &AppState, remote: &RemoteServer) -> Result<Info, ConnectError> {
    let local = |error: String| ConnectError::new("local", error);
    let credentials = remote
        .credentials(&core.credentials, false)
        .map_err(|error| local(error.to_string()))?;
    let class = servers::class_of(remote.origin(), &credentials);
    let connector = class.and_then(|class| Connector::of(&credentials, class));
    let (Some(connector), Some(api_port)) = (connector, credentials.api_port) else {
        return Err(local(
            "the connector info is not complete: connect again".into(),
        ));
    };
    Ok(Info {
        connector,
        api_port,
    })
}

impl MainTunnel {
    fn lock(&self) -> MutexGuard<'_, Main> {
        self.main.lock()
    }

    fn starting(&self) -> MutexGuard<'_, ()> {
        self.starting.lock()
    }

    /// Ends the local API service.
    pub(crate) fn close(&self) {
        let door = std::mem::take(&mut self.lock().door);
        drop(door);
    }
}

impl Door {
    fn port(&self) -> Option<u16> {
        match self {
            Self::None => None,
            Self::Bound(_, _, port) | Self::Open { port, .. } => Some(*port),
        }
    }
}

/// One set-up.
struct MainTunnelTask {
    core: Arc<AppState>,
    remote: Arc<RemoteServer>,
    info: Info,
    generation: u64,
}

impl MainTunnelTask {
    /// The set-up's own thread, as several connections may wait for it; ends when the tunnel is ready, or replaced, or
    /// closed with the program.
    fn spawn(self) -> io::Result<SetUp> {
        let (starting, started) = crossbeam_channel::bounded(0);
        let (working, over) = crossbeam_channel::bounded(0);
        std::thread::Builder::new()
            .name("main-tunnel".into())
            .stack_size(STACK)
            .spawn(move || {
                self.run(starting);
                drop::<Sender<()>>(working);
            })?;
        Ok(SetUp { started, over })
    }

    fn run(&self, starting: Sender<()>) {
        let outcome = self.start().and_then(|tunnel| {
            drop(starting);
            match tunnel {
                Some(tunnel) if is_up(&tunnel) => self.make_ready(),
                _ => Ok(()),
            }
        });
        let mut main = self.remote.main.lock();
        if main.generation == self.generation {
            main.set_up = None;
            if let Err(error) = outcome {
                log::warn!("main tunnel to {}: {error}", self.remote.origin());
                main.error = Some(error);
            }
        }
    }

    /// Takes the place of an earlier tunnel; none where a later set-up has begun.
    fn start(&self) -> Result<Option<Arc<Tunnel>>, String> {
        let _starting = self.remote.main.starting();
        let Some(local_port) = self.take_port()? else {
            return Ok(None);
        };
        let forward = Remote {
            local_host: "0.0.0.0".into(),
            local_port: self.info.api_port,
            remote_host: "localhost".into(),
            remote_port: local_port,
        };
        let mut settings = self
            .info
            .connector
            .settings(self.remote.known(&self.core.known), forward)
            .map_err(|fault| fault.error)?;
        // Whoever has the same port of `::1` is somebody else.
        settings.localhost = Some(Ipv4Addr::LOCALHOST.into());
        settings.on_connected = Some(self.on_connected());
        let started = self.core.tunnels.start(key(&self.remote), settings);
        started
            .map(Some)
            .map_err(|error| format!("cannot start it: {error}"))
    }

    /// Whoever waits for the server is told each time that the tunnel is up.
    fn on_connected(&self) -> Box<dyn Fn() + Send + Sync> {
        let core = Arc::downgrade(&self.core);
        let origin = self.remote.origin().to_owned();
        Box::new(move || {
            if let Some(core) = core.upgrade() {
                core.connections.server_is_back(&origin);
            }
        })
    }

    /// The local port: that of before where it can be had, else the first free one.
    fn take_port(&self) -> Result<Option<u16>, String> {
        let saved = self.remote.credentials(&self.core.credentials, false);
        let saved = saved.map_err(|error| error.to_string())?.local_port;
        let mut main = self.remote.main.lock();
        if main.generation != self.generation {
            return Ok(None);
        }
        if let Some(port) = main.door.port() {
            return Ok(Some(port));
        }
        let bound = |port| {
            let address = (Ipv4Addr::LOCALHOST, port).into();
            let bound = self.core.listeners.bind(address, "the local API").ok();
            bound.map(|(listener, registered)| (listener, registered, port))
        };
        let (listener, registered, port) = saved
            .filter(|port| *port != 0)
            .into_iter()
            .chain(LOCAL_PORTS)
            .find_map(bound)
            .ok_or_else(|| {
                format!(
                    "all ports from {} to {} on 127.0.0.1 are in use",
                    LOCAL_PORTS.start(),
                    LOCAL_PORTS.end()
                )
            })?;
        main.door = Door::Bound(listener, registered, port);
        Ok(Some(port))
    }

    /// The signal has come: the port is saved, and the service behind it begins.
    fn make_ready(&self) -> Result<(), String> {
        self.keep_ports()?;
        let mut main = self.remote.main.lock();
        if main.generation != self.generation {
            return Ok(());
        }
        main.door = match std::mem::take(&mut main.door) {
            Door::Bound(listener, _registered, port) => {
                let api = LocalApi::start(&self.core, listener);
                let _api = api.map_err(|error| format!("cannot start the local API: {error}"))?;
                Door::Open {
                    _api,
                    _registered,
                    port,
                }
            }
            other => other,
        };
        main.is_ready = true;
        main.error = None;
        log::info!("main tunnel to {}: ready", self.remote.origin());
        Ok(())
    }

    fn keep_ports(&self) -> Result<(), String> {
        let port = {
            let main = self.remote.main.lock();
            main.door
                .port()
                .filter(|_| main.generation == self.generation)
        };
        let Some(port) = port else {
            return Ok(());
        };
        let tunnel_port = self.info.connector.tunnel_port;
        self.remote
            .keep_ports(&self.core.credentials, port, tunnel_port)
            .map_err(|error| format!("cannot save its ports: {error}"))
    }
}

/// Waits for the connected signal, for as long as the tunnel tries.
fn is_up(tunnel: &Tunnel) -> bool {
    loop {
        select! {
            recv(tunnel.connected()) -> _ => {}
            recv(tunnel.ended()) -> _ => return false,
        }
        match tunnel.snapshot().status {
            Status::Connected => return true,
            Status::Connecting => {}
            _ => return false,
        }
    }
}
