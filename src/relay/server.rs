//! Starts a relay: its state, its API, its gateway and its tunnel server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::allocator::Quota;
use super::app_state::{AppState, Drain, UnplacedConnectors};
use super::call_stats::CallStats;
use super::connector_auth::Enrolment;
use super::fleet::{self, StoreWatch, WatchError};
use super::follow::follow;
use super::invites::Invite;
use super::joined::JoinedRelay;
use super::metrics;
use super::operator::Operator;
use super::policy::TunnelPolicy;
use super::revocation;
use super::revocation::CreatedInvite;
use super::secret::SecretHash;
use super::setup::Service;
use super::sites::SiteTable;
use super::state_store::{self, Error as StateError, StateStore};
use super::urls::{PublicPorts, PublicUrl, PublicUrls, TUNNEL_PATH, TunnelUrl};
use super::{api, app_state};
use crate::gateway::{CookieKey, Gateway, GatewayConfig, TunnelIntake};
use crate::http::server::wanted_files;
use crate::http::{HostPolicy, Limits, Server, ServerConfig};
use crate::net::Cidr;
use crate::net::authority::authority;
use crate::store::time::rfc3339;
use crate::store::{self, DataDir, Instance, to_json};
use crate::sync::{Thread, spawn_scoped};
use crate::tunnel::server as tunnel;
use crate::tunnel::ssh::ServerKey;

/// Threads that answer light requests; answers of sites need none of them. Default 8: those that wait for the disk
/// share one save.
const WORKERS: usize = 8;
/// Connections to the metrics at once. Default 16: few programs collect them.
const METRICS_CONNECTIONS: usize = 16;
/// Advice to callers who use a name that is not the relay's own.
const ELSEWHERE: &str = "use the relay's own address (--public-url) or a site below its --domain";
/// Time for the store to learn that this relay is leaving. Default 2 s.
const LEAVE: Duration = Duration::from_secs(2);

/// Settings of a relay.
pub struct Options {
    /// The data directory, which no other relay uses.
    pub data: DataDir,
    /// Listener for visitors and quick-setup calls.
    pub listener: TcpListener,
    /// Listener for tunnels; none if they only use the visitors' one.
    pub tunnel_listener: Option<TcpListener>,
    /// True if tunnels use the visitors' listener too.
    pub tunnels_by_url: bool,
    /// URL of the tunnels there, if it is not below the relay's own address.
    pub tunnel_url: Option<TunnelUrl>,
    /// Listener for metrics, for programs of any user; none for no metrics.
    pub metrics_listener: Option<TcpListener>,
    /// Address of public ports.
    pub ports: PublicPorts,
    /// Range of public ports; 20000 to 29999 if none.
    pub port_range: Option<RangeInclusive<u16>>,
    /// The store that it shares with other relays; if none, the state is in files.
    pub fleet: Option<fleet::Options>,
    /// A directory of ours, mode 0700, for private sockets.
    pub run_dir: PathBuf,
    /// Sites are labels before it.
    pub domain: String,
    /// URL that visitors use, if it differs from where the relay listens.
    pub public_url: Option<PublicUrl>,
    /// Address that connectors dial.
    pub external_ip: String,
    /// True if unknown connectors need an enrolment token.
    pub enrolment: Enrolment,
    /// The common enrolment token, beside the invites; if there is none, the former one stays valid.
    pub enroll_token: Option<Zeroizing<String>>,
    /// True if the first start makes an invite, if a token is needed and there is none.
    pub makes_invite: bool,
    /// True if it starts with the readable part of a damaged state, instead of failing: for a relay without an operator
    /// at hand.
    pub begins_anew: bool,
    /// Limits for each connector.
    pub quota: Quota,
    /// Proxies whose `X-Forwarded-*` are believed.
    pub trust_proxy: Vec<Cidr>,
    /// Header lines that these proxies may write for applications.
    pub pass_headers: Vec<String>,
    /// Connections to the gateway at once; the default of [`Limits::connections`] if none.
    pub connections: Option<usize>,
    /// Time that an application may take to begin its answer; the default of
    /// [`gateway::Limits::answer_time`](crate::gateway::Limits::answer_time) if none.
    pub answer_time: Option<Duration>,
    /// True if connections of this machine's other users are refused on loopback.
    pub check_other_users: bool,
}

/// A running relay.
pub struct Running {
    service: Arc<Service>,
    app: Arc<AppState>,
    server: Server,
    /// Server of the metrics, if there is a listener for them.
    metrics: Option<Server>,
    tunnels: tunnel::Server,
    /// Number of visitors' requests that run.
    running: Box<dyn Fn() -> usize + Send + Sync>,
    /// Watch for changes of other relays, if there are any.
    watch: Option<StoreWatch>,
    /// The shared store, if there is one.
    pub store: Option<fleet::StoreUrl>,
    /// The invite that was made at this start: its token, a secret that is shown only now, and its end, RFC 3339.
    pub new_invite: Option<(Zeroizing<String>, String)>,
    /// Time at which the given enrolment token was disabled, RFC 3339, if it is; empty if an earlier version disabled
    /// it.
    pub forbidden_token: Option<String>,
    /// Files that could not be read and were set aside.
    pub set_aside: Vec<PathBuf>,
}

/// Facts about a running relay for other processes of its user, in the data directory.
#[derive(Serialize, Deserialize)]
pub struct RelayInstance {
    /// Its own address, as `http://localhost:8180/`.
    pub url: String,
    /// Address of its API on this machine.
    pub address: SocketAddr,
    /// Token that signs its operator in. A secret, in a file that only its user reads.
    pub token: Zeroizing<String>,
    /// Its process.
    pub pid: u32,
    /// True if it is embedded in a command that has other work, and ends with it.
    #[serde(default)]
    pub embedded: bool,
}

impl fmt::Debug for RelayInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelayInstance({} {})", self.url, self.pid)
    }
}

impl RelayInstance {
    /// Reads the text that [`Instance::find`] found.
    pub fn read(said: &[u8]) -> Option<Self> {
        serde_json::from_slice(said).ok()
    }
}

/// Reason that a relay cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The data directory cannot be used.
    State(StateError),
    /// The system refused a thread or a socket.
    System(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(error) => error.fmt(f),
            Self::System(error) => write!(f, "cannot start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<StateError> for StartError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Starts the gateway, the quick-setup API and the tunnel server.
pub fn start(options: Options) -> Result<Running, StartError> {
    let mut set_aside = Vec::new();
    let (store, fleet) = match &options.fleet {
        Some(fleet) => {
            let (store, joined) = JoinedRelay::join(&options.data, fleet)?;
            (store, Some(joined))
        }
        None if options.begins_anew => (StateStore::open(&options.data, &mut set_aside)?, None),
        None => (StateStore::open_whole(&options.data)?, None),
    };
    let keys = state_store::host_keys(&options.data, &mut set_aside)?;
    let token = match options.enrolment {
        Enrolment::WithToken => {
            invites_at_start(&store, options.enroll_token.as_ref(), options.makes_invite)?
        }
        Enrolment::Open => InvitesAtStart::default(),
    };
    let listen = options.listener.local_addr()?;
    let mut urls = PublicUrls::new(&options.domain, listen, options.public_url);
    urls.external_ip = options.external_ip;
    urls.tunnel = match &options.tunnel_listener {
        Some(listener) => listener.local_addr()?,
        None => (listen.ip(), 0).into(),
    };
    if options.tunnels_by_url {
        // A fleet's common address leads to any of its relays.
        let own = || fleet.is_none().then(|| urls.own_tunnel_url());
        urls.tunnel_url = options.tunnel_url.or_else(own);
    }
    urls.ports = options.ports;
    urls.port_range = options.port_range.unwrap_or(urls.port_range);
    let key = keys.first().expect("a key of each kind was read or made");
    urls.fingerprint = key.public().fingerprint();
    let cookie_key = fleet.as_ref().map(JoinedRelay::cookie_key);
    let cookie_key = cookie_key.unwrap_or_else(CookieKey::random);
    let operator = Operator::new(urls.port, cookie_key.clone());
    let (hosts, mut gateway) = (
        hosts(&urls, listen),
        gateway_config(&urls, &options.trust_proxy),
    );
    let mut limits = Limits::default();
    limits.connections = options.connections.unwrap_or(limits.connections);
    let answer_time = options.answer_time;
    gateway.limits.answer_time = answer_time.unwrap_or(gateway.limits.answer_time);
    let own_counters = fleet
        .is_some()
        .then(|| StateStore::open_for_traffic(&options.data, &mut set_aside))
        .transpose()?;
    let traffic = own_counters.as_ref().unwrap_or(&store).snapshot();
    let sites = SiteTable::new(&options.data, traffic.traffic.clone(), fleet.is_some());
    gateway.passes_on_again = fleet.is_some();
    gateway.pass_headers = options.pass_headers;
    gateway.cookie_key = cookie_key;
    let looks = fleet.as_ref().map(JoinedRelay::looks);
    let tunnel_paths = tunnel_paths(&urls);
    let service = Arc::new(Service::new(
        store,
        own_counters,
        sites,
        urls,
        options.enrolment,
        options.quota,
        looks,
    ));
    let tunnels = take_tunnels(
        options.tunnel_listener,
        Arc::clone(&keys),
        &service,
        &limits,
    )?;
    let (store, watch) = match fleet.zip(options.fleet) {
        Some((joined, fleet)) => {
            let watch = joined.begin(&service, fleet.peer_listener, keys);
            let watch = watch.map_err(|error| match error {
                WatchError::Store(error) => StartError::State(error.into()),
                WatchError::Thread(error) => StartError::System(error),
            })?;
            (Some(fleet.store), Some(watch))
        }
        None => (None, None),
    };
    let by_url = options.tunnels_by_url.then(|| TunnelIntake {
        paths: tunnel_paths,
        intake: tunnels.intake(),
    });
    let gateway = Gateway::new(gateway, service.clone()).with_tunnels(by_url);
    let app = Arc::new(AppState {
        service: Arc::clone(&service),
        operator,
        trust_proxy: options.trust_proxy,
        data: options.data,
        started: SystemTime::now(),
        requests: gateway.stats(),
        drain: Drain::default(),
        calls: CallStats::default(),
    });
    let metrics = options.metrics_listener.map(|listener| {
        let config = metrics_config(listener, &options.run_dir);
        Server::start(config, Arc::new(metrics::routes(&app)))
    });
    let config = ServerConfig {
        listener: options.listener,
        hosts,
        check_other_users: options.check_other_users,
        run_dir: options.run_dir,
        workers: WORKERS,
        limits,
    };
    let running = Box::new(gateway.running());
    let server =
        Server::start_with_gateway(Arc::new(gateway), config, Arc::new(api::routes(&app)))?;
    Ok(Running {
        service,
        app,
        server,
        metrics: metrics.transpose()?,
        tunnels,
        running,
        watch,
        store,
        new_invite: token.made,
        forbidden_token: token.forbidden,
        set_aside,
    })
}

/// Settings of the metrics server. It answers everybody who reaches its address: the metrics name nobody, and their
/// collector is another user. On loopback a web page could reach it through a name of its own; that is refused.
fn metrics_config(listener: TcpListener, run_dir: &Path) -> ServerConfig {
    let address = listener.local_addr();
    let is_private = address.is_ok_and(|address| address.ip().is_loopback());
    let limits = Limits {
        connections: METRICS_CONNECTIONS,
        ..Limits::default()
    };
    ServerConfig {
        listener,
        hosts: if is_private {
            HostPolicy::loopback().advising("use 127.0.0.1 or localhost for the metrics")
        } else {
            HostPolicy::any()
        },
        check_other_users: false,
        run_dir: run_dir.to_owned(),
        workers: 1,
        limits,
    }
}

/// Starts the tunnel server; sites lead to their applications from then on. It leaves the gateway the files that it
/// needs at its busiest.
fn take_tunnels(
    listener: Option<TcpListener>,
    keys: Arc<[ServerKey]>,
    service: &Arc<Service>,
    gateway: &Limits,
) -> io::Result<tunnel::Server> {
    let mut settings = tunnel::Settings::new(listener, keys);
    settings.policy = Box::new(TunnelPolicy::new(Arc::clone(service)));
    settings.reserved_files = wanted_files(gateway);
    let tunnels = tunnel::Server::start(settings)?;
    let of_follow = Arc::downgrade(service);
    service.store.follow_with(Box::new(move |before, after| {
        if let Some(service) = of_follow.upgrade() {
            follow(&service, before, after);
        }
    }));
    service.begin(tunnels.opener());
    Ok(tunnels)
}

impl Running {
    /// Address of the gateway.
    pub fn address(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Address of the tunnel server; port 0 if it does not listen.
    pub fn tunnel_address(&self) -> SocketAddr {
        self.service.urls.tunnel
    }

    /// Notice for the operator of a relay that does not listen for tunnels.
    pub fn port_notice(&self) -> Option<String> {
        self.service.urls.port_notice()
    }

    /// URL that connectors may dial instead of its address.
    pub fn tunnel_url(&self) -> Option<&TunnelUrl> {
        self.service.urls.tunnel_url.as_ref()
    }

    /// Address of the metrics.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(Server::addr)
    }

    /// The relay's own address, as visitors use it.
    pub fn url(&self) -> String {
        self.service.urls.url()
    }

    /// Returns the form of the sites' addresses, with `name` for the name of a site.
    pub fn site_url(&self, name: &str) -> String {
        self.service.urls.site_url(name)
    }

    /// Address that the other relays of its fleet dial, and the one that it listens on.
    pub fn peer_address(&self) -> Option<(&str, SocketAddr)> {
        self.service.links.get().map(|links| links.address())
    }

    /// The fingerprint that connectors and chisel clients check.
    pub fn fingerprint(&self) -> &str {
        &self.service.urls.fingerprint
    }

    /// Returns the code that signs the operator in on the page, valid for a while if it is of a fleet; a secret.
    pub fn operator_code(&self) -> Zeroizing<String> {
        self.app.operator.first_code()
    }

    /// Returns the token that signs the operator in; a secret.
    pub fn operator_token(&self) -> &Zeroizing<String> {
        self.app.operator.token()
    }

    /// Tells the other processes of this user its address.
    pub fn announce(&self, instance: &Instance, embedded: bool) -> Result<(), store::Error> {
        let whereabouts = RelayInstance {
            url: self.url(),
            address: reachable(self.address()),
            token: self.operator_token().clone(),
            pid: std::process::id(),
            embedded,
        };
        let said = to_json(&whereabouts).expect("strings and numbers have JSON for them");
        instance.announce(&said)
    }

    /// Announces that it stops, accepts no more tunnels, and waits until no request runs and no visitor of a public
    /// port is connected, for `bound` at most; returns how many still run. New visitors are served meanwhile.
    pub fn drain(&mut self, bound: Duration) -> usize {
        self.app.drain.begin();
        let links = self.service.links.get();
        if let Some(links) = links {
            links.leave();
            // Written at once, so that no visitor is sent here any more.
            self.service.look_now(LEAVE);
        }
        self.tunnels.stop_accepting();
        self.server.drain();
        let running = || {
            let of_ports = usize::try_from(self.service.sites.port_visitors());
            let of_others = links.map_or(0, |links| links.served());
            (self.running)() + of_ports.unwrap_or(usize::MAX) + of_others
        };
        let (mut awaited, state) = (UnplacedConnectors::default(), self.service.store.snapshot());
        let dials_two = |name: &str| {
            let connector = state.connectors.get(name);
            connector.is_some_and(|known| !known.caller.version.is_empty())
        };
        let only_here = || links.map_or(0, |links| links.only_here(dials_two));
        app_state::wait_until_idle(bound, || running() + awaited.count(only_here));
        running()
    }

    /// Stops accepting, ends tunnels and connections, and returns when that is done: within 2 s.
    pub fn stop(self) {
        let Self {
            service,
            server,
            metrics,
            tunnels,
            watch,
            ..
        } = self;
        drop(watch);
        if let Some(links) = service.links.get() {
            links.stop();
        }
        // Both at the same time, as they share two seconds. The thread ends with the visitors' connections; without a
        // thread, the server stops as it is dropped.
        std::thread::scope(|scope| {
            let stopping = spawn_scoped(Thread::RelayStop, scope, move || {
                drop(metrics);
                server.stop();
            });
            if let Err(error) = stopping {
                log::debug!("no thread to stop the gateway: {error}");
            }
            tunnels.stop();
        });
        service.save_counters();
        service.store.end();
    }

    /// Saves the counters of traffic for the next start; to be called each [`EVERY`](super::counters::EVERY).
    pub fn save_counters(&self) {
        self.service.save_counters();
    }
}

/// Returns the address by which this machine reaches it: loopback for a wildcard.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    (ip, address.port()).into()
}

/// State of the invites at the start.
#[derive(Default)]
struct InvitesAtStart {
    /// Invite that was made now, and is to be shown: its token, and its end.
    made: Option<(Zeroizing<String>, String)>,
    /// Time at which the given token was disabled, if it is.
    forbidden: Option<String>,
}

/// Keeps the given token as the common one, or makes the first invite. A disabled one is not kept, so that an old
/// command line enrols nobody.
fn invites_at_start(
    store: &StateStore,
    given: Option<&Zeroizing<String>>,
    makes_invite: bool,
) -> Result<InvitesAtStart, StateError> {
    let state = store.snapshot();
    let mut at_start = InvitesAtStart::default();
    let Some(given) = given else {
        if makes_invite && state.invites.is_empty() {
            at_start.made = Some(first_invite(store)?);
        }
        return Ok(at_start);
    };
    let known = state.invites.of_token(given);
    at_start.forbidden = match known.and_then(|invite| invite.forbidden_at.clone()) {
        None if state.forbidden_tokens.iter().any(|kept| kept.is(given)) => Some(String::new()),
        forbidden => forbidden,
    };
    let is_as_before = known.is_some_and(|invite| state.invites.is_shared(&invite.id));
    if at_start.forbidden.is_some() || is_as_before {
        return Ok(at_start);
    }
    let now = rfc3339(SystemTime::now());
    let new = known.is_none().then(|| SecretHash::of(given));
    let known = known.map(|invite| invite.id.clone());
    store.update(|state| {
        let id = match (&new, &known) {
            (Some(token), _) => {
                let invite = Invite::common(token.clone(), &now);
                let id = invite.id.clone();
                let added = state.invites.add(invite, &now);
                added.map_err(|_| StateError::Invites)?;
                id
            }
            (None, known) => known.clone().expect("it is new, or known"),
        };
        state.invites.share(&id);
        Ok::<_, StateError>(())
    })?;
    Ok(at_start)
}

fn first_invite(store: &StateStore) -> Result<(Zeroizing<String>, String), StateError> {
    let CreatedInvite { token, invite } = store.update(|state| {
        let made = revocation::create_first_invite(state);
        made.map_err(|_| StateError::Invites)
    })?;
    Ok((token, invite.expires.unwrap_or_default()))
}

/// Returns the relay's own names, with the port of each: beside loopback, the address that it listens on, and the names
/// that visitors use. If they come by `https`, a page by `http` is not ours, even under the same name: anybody on the
/// way can have written it.
fn hosts(urls: &PublicUrls, listen: SocketAddr) -> HostPolicy {
    let hosts = HostPolicy::loopback().advising(ELSEWHERE);
    let own = [
        listen.to_string(),
        authority(&urls.external_ip, listen.port()),
        format!("{}:{}", urls.domain, urls.port),
        format!("{}:{}", urls.host, urls.port),
    ];
    let of_tunnels = urls.tunnel_url.as_ref().map(TunnelUrl::authority);
    for name in own.into_iter().chain(of_tunnels) {
        let allowed = if urls.is_secure {
            hosts.allow_https(&name)
        } else {
            hosts.allow(&name)
        };
        if let Err(error) = allowed {
            log::warn!("invalid host name of the relay: {error}");
        }
    }
    hosts
}

fn tunnel_paths(urls: &PublicUrls) -> Vec<String> {
    let own = urls.tunnel_url.as_ref().map(TunnelUrl::path);
    let own = own.filter(|own| *own != TUNNEL_PATH);
    [TUNNEL_PATH]
        .into_iter()
        .chain(own)
        .map(str::to_owned)
        .collect()
}

fn gateway_config(urls: &PublicUrls, trust_proxy: &[Cidr]) -> GatewayConfig {
    let mut config = GatewayConfig::new(&urls.domain, urls.port);
    config.own_names = urls.own_names().into();
    config.secure = urls.is_secure;
    config.listen_port = urls.listen_port;
    config.trust_proxy = trust_proxy.to_vec();
    config
}
