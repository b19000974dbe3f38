//! Service for connectors: quick-setup, which assigns ports and sites, and releasing them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zeroize::Zeroizing;

use super::allocator::{self, AllocError, AllocationContext, FreePort, Quota};
use super::call_stats::{NO_PORT, with_reason};
use super::connector_auth::{self, Admission, AuthError, Enrolment};
use super::fleet::{Links, Looks};
use super::secret::{self, SecretHash};
use super::setup_request::SetupRequest;
use super::sites::SiteTable;
use super::state::{Application, CalledAt, Connector, RelayState, Volatile, cutoff};
use super::state_store::{self, Saving, StateStore};
use super::urls::PublicUrls;
use crate::api::relay::{Resource, Setup, SetupApplication, SetupConnector, SetupKey, TunnelRelay};
use crate::gateway::{Site, Sites};
use crate::http::ApiError;
use crate::http::auth::{Code, RateLimiter, WhenFull};
use crate::store::expiry::Clocks;
use crate::store::random;
use crate::store::time::rfc3339;
use crate::sync::{LogLimiter, Lookout, Mutex};
use crate::tunnel::server::Opener;

/// Quick-setup calls of one source a minute.
const CALLS: usize = crate::limits::SETUP_CALLS;
/// Searches for a public port, each of which lost it to another call. Default 5: a port is drawn from thousands.
const PORT_SEARCHES: usize = 5;

/// Time for a look at the store before a connector is refused. Default 2 s.
pub(super) const LOOK: Duration = Duration::from_secs(2);
/// Time for a look before a visitor is told that a site is unknown. Default 100 ms: guessing names waits for each.
const VISITOR_LOOK: Duration = Duration::from_millis(100);

/// Message of a relay that gives public ports only if its operator says so.
const NO_PORTS: &str = "this relay gives no public ports, only web sites. A port on the sites' address would receive \
    their visitors' cookies. The operator can add --port-listen IP, an address no site name points to, or accept \
    this with --shared-host-ports";

/// The relay's state and rules.
pub(super) struct Service {
    pub(super) store: StateStore,
    /// Store of its counters of traffic, if others share the state.
    own_counters: Option<StateStore>,
    pub(super) urls: PublicUrls,
    pub(super) sites: Arc<SiteTable>,
    /// True if unknown connectors need an enrolment token.
    pub(super) enrolment: Enrolment,
    /// Limits for each connector.
    pub(super) quota: Quota,
    calls: RateLimiter,
    refused: LogLimiter,
    pub(super) connects: Connects,
    /// Start time.
    since: Clocks,
    answered: LogLimiter,
    /// Set once the tunnel server runs, which needs this service first.
    pub(super) opener: OnceLock<Opener>,
    /// Number of connectors that enrolled since the relay started.
    pub(super) enrolments: AtomicU64,
    /// Asks for changes of other relays; none if the state is not shared.
    pub(super) looks: Option<Looks>,
    /// Links to other relays; set once they exist.
    pub(super) links: OnceLock<Arc<Links>>,
}

/// Sites whose tunnel connected or disconnected, until that is noted in the state: connector and port of each.
#[derive(Debug, Default)]
pub(super) struct Connects {
    pub(super) pending: Mutex<BTreeSet<(String, u16)>>,
    pub(super) lookout: Lookout,
}

/// Error of a call.
enum SetupError {
    /// The free port that was found is taken by now.
    Outdated,
    Refused(ApiError),
}

impl Sites for Service {
    fn find(&self, site: &str) -> Option<Arc<Site>> {
        let found = self.sites.find(site);
        if found.is_none() && self.look_now(VISITOR_LOOK) {
            return self.sites.find(site);
        }
        found
    }

    fn was_shared(&self, site: &str) -> bool {
        self.store.snapshot().keeps_site(site)
    }
}

impl Service {
    pub(super) fn new(
        store: StateStore,
        own_counters: Option<StateStore>,
        sites: SiteTable,
        urls: PublicUrls,
        enrolment: Enrolment,
        quota: Quota,
        looks: Option<Looks>,
    ) -> Self {
        Self {
            store,
            own_counters,
            urls,
            sites: Arc::new(sites),
            enrolment,
            quota,
            calls: RateLimiter::new(CALLS, WhenFull::Forget),
            refused: LogLimiter::default(),
            connects: Connects::default(),
            since: Clocks::now(),
            answered: LogLimiter::default(),
            opener: OnceLock::new(),
            enrolments: AtomicU64::new(0),
            looks,
            links: OnceLock::new(),
        }
    }

    /// Takes over changes of other relays; false if there are none to expect.
    pub(super) fn look_now(&self, within: Duration) -> bool {
        let looks = self.looks.as_ref();
        looks.is_some_and(|looks| looks.look_now(within))
    }

    /// Returns the time before which released names are free. The clock may have been set forward, and be wrong.
    pub(super) fn cutoff(&self) -> String {
        cutoff(Clocks::now().wall_as_passed(self.since))
    }

    /// Opens the sites, through this opener.
    pub(super) fn begin(&self, opener: Opener) {
        let opener = self.opener.get_or_init(|| opener);
        for (connector, application) in self.store.snapshot().applications() {
            self.sites.put(connector, application, opener);
        }
    }

    /// Answers a quick-setup call. A caller that the operator vouches for needs no enrolment token.
    pub(super) fn quick_setup(
        &self,
        body: &Value,
        source: IpAddr,
        is_vouched_for: bool,
    ) -> Result<Setup, ApiError> {
        let (request, admission) = self.let_in(body, source, is_vouched_for)?;
        // A connector that has made a code itself does not send it.
        let code = match request.code_sha256 {
            Some(_) => Zeroizing::default(),
            None => Zeroizing::new(random::token()),
        };
        let assigned = self.assign(&request, &admission, &code);
        let (api_port, assigned) = assigned.inspect_err(|error| {
            self.log_refused(source, &request.connector_name, error);
        })?;
        if !matches!(admission, Admission::Known) {
            self.enrolments.fetch_add(1, Ordering::Relaxed);
        }
        let url = self.urls.application_url(&assigned);
        let called = self.store.snapshot().called(&request.connector_name);
        let target = &assigned.target;
        self.log_answered(format_args!("{source}: {called} got {url} for {target}"));
        Ok(self.answer(&request, api_port, &assigned, &code))
    }

    /// Returns a call that may be answered, with the reason; changes nothing.
    pub(super) fn let_in(
        &self,
        body: &Value,
        source: IpAddr,
        is_vouched_for: bool,
    ) -> Result<(SetupRequest, Admission), ApiError> {
        let Some(fields) = body.as_object() else {
            return Err(ApiError::bad_request("the body must be a JSON object"));
        };
        let mut request = SetupRequest::read(fields).map_err(ApiError::bad_request)?;
        request.caller.source = source.to_string();
        if !request.is_web() && self.urls.ports_ip().is_none() {
            return Err(with_reason(ApiError::forbidden(NO_PORTS), NO_PORT));
        }
        let rule = if is_vouched_for {
            Enrolment::Open
        } else {
            self.enrolment
        };
        let name = &request.connector_name;
        let now = rfc3339(SystemTime::now());
        let admit = || connector_auth::admit(&self.store.snapshot(), &request, rule, &now);
        let admission = match admit() {
            // Another relay may have enrolled it a moment ago.
            Err(_) if self.look_now(LOOK) => admit(),
            admission => admission,
        };
        let admission = admission
            .map_err(ApiError::from)
            .inspect_err(|error| self.log_refused(source, name, error))?;
        Ok((request, admission))
    }

    /// True if this is the password of a known connector, without a slow comparison.
    pub(super) fn is_known(&self, connector: &str, password: &str) -> bool {
        let kept = self.password(connector);
        kept.is_some_and(|kept| !kept.is_slow() && kept.is(password))
    }

    /// True if a call with this name and password may take a slow comparison.
    pub(super) fn is_slow(&self, connector: &str, password: &str) -> bool {
        let state = self.store.snapshot();
        let known = state.connectors.get(connector);
        let is_slow = match known {
            Some(connector) => connector.password.is_slow(),
            None => state.invites.is_slow(),
        };
        is_slow || secret::is_slow(password)
    }

    /// Counts a call; fails with the time to wait if it is one too many.
    pub(super) fn count_call(&self, source: IpAddr) -> Result<(), Duration> {
        self.calls.count(source, Instant::now())
    }

    /// Logs a refusal, with a limit: refused callers can call any number of times, and must not fill the disk.
    fn log_refused(&self, source: IpAddr, name: &str, error: &ApiError) {
        let called = self.store.snapshot().called(name);
        let line = format_args!("{source}: {called} was refused: {error}");
        let others = "refused calls";
        self.refused.info(module_path!(), others, line);
    }

    /// Logs an answered call, with a limit: nobody counts the calls of known connectors.
    fn log_answered(&self, line: fmt::Arguments<'_>) {
        let others = "answered calls";
        self.answered.info(module_path!(), others, line);
    }

    /// Returns the connector's API port, and the assignment of the application.
    fn assign(
        &self,
        request: &SetupRequest,
        admission: &Admission,
        code: &str,
    ) -> Result<(u16, Application), ApiError> {
        // This is slow, so it comes before the change of the state.
        let password = match admission {
            Admission::Known => None,
            _ => Some(SecretHash::of(&request.password)),
        };
        let digest = || {
            let made = || *Code::new(code).digest();
            STANDARD.encode(request.code_sha256.unwrap_or_else(made))
        };
        let code = request.needs_sign_in().then(digest);
        for _ in 0..PORT_SEARCHES {
            let free_port = self.free_port(request)?;
            match self.assign_at(request, admission, password.as_ref(), &code, free_port) {
                Err(SetupError::Outdated) => {}
                Err(SetupError::Refused(error)) => return Err(error),
                Ok(assigned) => return Ok(assigned),
            }
        }
        Err(AllocError::NoPort.into())
    }

    /// Looks for a free public port. This may bind thousands of ports: no lock is held.
    fn free_port(&self, request: &SetupRequest) -> Result<FreePort, AllocError> {
        if request.is_web() {
            return Ok(FreePort::NotNeeded);
        }
        let mut state = RelayState::clone(&self.store.snapshot());
        state.sweep(&self.cutoff());
        allocator::check_room(&state, request, self.quota.sites)?;
        let range = self.urls.port_range.clone();
        let Some(candidates) = allocator::candidates(&state, request, range) else {
            return Ok(FreePort::NotNeeded);
        };
        let ip = self.urls.ports_ip();
        let is_free = |port: &u16| ip.is_some_and(|ip| TcpListener::bind((ip, *port)).is_ok());
        let found = candidates.into_iter().find(is_free);
        Ok(found.map_or(FreePort::NoneLeft, FreePort::Found))
    }

    fn assign_at(
        &self,
        request: &SetupRequest,
        admission: &Admission,
        password: Option<&SecretHash>,
        code: &Option<String>,
        free_port: FreePort,
    ) -> Result<(u16, Application), SetupError> {
        let now = rfc3339(SystemTime::now());
        let around = AllocationContext {
            public: self.urls.port_range.clone(),
            free_port,
            is_own_name: &|name| self.urls.is_own_name(name),
            quota: self.quota.sites,
            now: &now,
        };
        let assign = |state: &mut RelayState| -> Result<_, SetupError> {
            let api_port = enrolled(state, request, admission, password, &now)?;
            let before = allocator::before(state, request).cloned();
            let assigned = allocator::assign(state, request, code.clone(), &around)?;
            // A known application is served again even if nothing can be saved.
            let is_confirmed = before.is_some_and(|before| before.is_confirmed_by(&assigned));
            Ok(((api_port, assigned), is_confirmed))
        };
        let (assigned, _) = self.store.update_saving(|state| {
            // Expired names are only given away with a change that is saved, so that it is known after a restart.
            if allocator::before(state, request).is_some() {
                let mut as_it_is = state.clone();
                if let Ok((assigned, true)) = assign(&mut as_it_is) {
                    *state = as_it_is;
                    return Ok((assigned, self.store.at_once()));
                }
            }
            state.sweep(&self.cutoff());
            assign(state).map(|(assigned, _)| (assigned, Saving::First))
        })?;
        // The end that it asks for had passed by a clock that has been set back since.
        if let Some(opener) = self
            .opener
            .get()
            .filter(|_| self.sites.is_over(&assigned.1))
        {
            self.sites.put(&request.connector_name, &assigned.1, opener);
        }
        Ok(assigned)
    }

    fn answer(
        &self,
        request: &SetupRequest,
        api_port: u16,
        assigned: &Application,
        code: &str,
    ) -> Setup {
        let (nhp_server, code) = match &assigned.site {
            Some(site) => (self.urls.sign_in_url(&site.name), code),
            None => (self.urls.url(), ""),
        };
        let is_own_name = |name: &str| self.urls.is_own_name(name);
        let is_another =
            (assigned.site.as_ref()).is_some_and(|site| site.name != allocator::wish(request));
        let is_taken =
            is_another && allocator::is_taken(&self.store.snapshot(), request, &is_own_name);
        let mut connector = SetupConnector {
            relay: TunnelRelay {
                external_ip: self.urls.external_ip.clone(),
                tunnel_port: self.urls.tunnel.port(),
                tunnel_url: self.urls.tunnel_url.as_ref().map(ToString::to_string),
                fingerprint: self.urls.fingerprint.clone(),
            },
            api_port,
            username: request.connector_name.clone(),
            password: request.password.clone(),
            alternates: None,
            fleet: None,
        };
        if let Some(links) = self.links.get() {
            name_relays(&mut connector, links, request, assigned);
        }
        Setup {
            connector,
            app: SetupApplication {
                app_id: assigned.app_id.clone(),
                site_url: self.urls.application_url(assigned),
                resource: Resource {
                    ip: "127.0.0.1".to_owned(),
                    port: assigned.port,
                },
                in_force: request.in_force(),
                site_name_taken: is_taken,
            },
            api_key: SetupKey {
                nhp_server: nhp_server.trim_end_matches('/').to_owned(),
                code: code.to_owned(),
                app_id: assigned.app_id.clone(),
            },
        }
    }

    /// Releases an application of a connector. With `frees_name` anybody can have its site's name then; true if there
    /// was one.
    pub(super) fn release(
        &self,
        connector: &str,
        password: &str,
        key: &str,
        frees_name: bool,
    ) -> Result<bool, ApiError> {
        if self.store.snapshot().is_revoked(connector) {
            return Err(AuthError::Revoked.into());
        }
        let kept = self.password_now(connector);
        if !kept.is_some_and(|kept| kept.is(password)) {
            return Err(AuthError::WrongPassword.into());
        }
        let now = rfc3339(SystemTime::now());
        let released = self.store.update(|state| {
            let missing = || ApiError::not_found("this connector has no such application");
            let released = state.release(connector, key, &now).ok_or_else(missing)?;
            if let Some(site) = released.site.as_ref().filter(|_| frees_name) {
                state.free_site(&site.name, &now);
            }
            Ok::<_, ApiError>(released)
        })?;
        let url = self.urls.application_url(&released);
        let called = self.store.snapshot().called(connector);
        self.log_answered(format_args!("{called} released {url}"));
        Ok(frees_name && released.site.is_some())
    }

    /// Saves the counters of traffic for the next start.
    pub(super) fn save_counters(&self) {
        let traffic = self.sites.traffic(&self.store.snapshot());
        let store = self.own_counters.as_ref().unwrap_or(&self.store);
        let kept = store.update_saving(|state| {
            state.traffic = traffic.clone();
            Ok::<_, state_store::Error>(((), Saving::AtOnce))
        });
        if let Err(error) | Ok(((), Err(error))) = kept {
            log::debug!("counters are not saved: {error}");
        }
    }

    /// True if the connector's tunnel holds this port now.
    pub(super) fn is_connected(&self, connector: &str, port: u16) -> bool {
        let opener = self.opener.get();
        opener.is_some_and(|opener| opener.is_held(connector, port))
    }

    /// Returns the password; looks once more for a connector that another relay may have enrolled a moment ago.
    pub(super) fn password_now(&self, connector: &str) -> Option<SecretHash> {
        let kept = self.password(connector);
        if kept.is_none() && self.look_now(LOOK) {
            return self.password(connector);
        }
        kept
    }

    /// Returns the stored hash of a connector's password.
    pub(super) fn password(&self, connector: &str) -> Option<SecretHash> {
        let state = self.store.snapshot();
        Some(state.connectors.get(connector)?.password.clone())
    }
}

/// Names the relays that the connector should dial, in that order. The first one of a public port is this relay: its
/// address is named with the port.
fn name_relays(
    connector: &mut SetupConnector,
    links: &Links,
    request: &SetupRequest,
    assigned: &Application,
) {
    let name = &request.connector_name;
    let places = match assigned.site {
        Some(_) => links.places(name),
        None => links.places_from_here(name),
    };
    match links.vouch(&places) {
        Ok(keys) => connector.fleet = Some(keys),
        Err(error) => log::warn!("the fleet's keys are not vouched for: {error}"),
    }
    let mut places = places.into_iter().map(|member| TunnelRelay {
        external_ip: member.external_ip,
        tunnel_port: member.tunnel_port,
        tunnel_url: member.tunnel_url,
        fingerprint: member.fingerprint,
    });
    if let Some(first) = places.next() {
        connector.relay = first;
    }
    // Present even if there are none: some may come later.
    connector.alternates = Some(places.collect());
}

/// Returns the connector's API port; enrols a new connector, and notes that at its invite.
fn enrolled(
    state: &mut RelayState,
    request: &SetupRequest,
    admission: &Admission,
    password: Option<&SecretHash>,
    now: &str,
) -> Result<u16, SetupError> {
    let name = &request.connector_name;
    if let Some(connector) = state.connectors.get(name) {
        // A connector that was new a moment ago and is known now called twice at once, with one password or with two.
        if password.is_some() && !connector.password.is(&request.password) {
            return Err(AuthError::WrongPassword.into());
        }
        connector.called_at.note(&CalledAt::at(now));
        let api_port = connector.api_port;
        if *connector.caller != request.caller
            && let Some(connector) = state.connectors.get_mut(name)
        {
            connector.caller = Volatile(request.caller.clone());
        }
        return Ok(api_port);
    }
    // A connector that was known a moment ago and is unknown now was revoked.
    let password = password.ok_or(AuthError::Revoked)?;
    if state.is_revoked(name) {
        return Err(AuthError::Revoked.into());
    }
    if state.has_look_alike(name) {
        return Err(AuthError::LookAlike.into());
    }
    let api_port = allocator::api_port(state).ok_or(AllocError::Exhausted("no number is free"))?;
    // Another connector may have used it in between, or a revocation disabled it.
    let invite = match admission {
        Admission::Invited(id) => Some(
            state
                .invites
                .use_by(id, name, now)
                .map_err(AuthError::from)?,
        ),
        Admission::Known | Admission::Open => None,
    };
    let connector = Connector {
        password: password.clone(),
        api_port,
        enrolled_at: now.to_owned(),
        called_at: CalledAt::at(now),
        caller: Volatile(request.caller.clone()),
        invite,
        applications: Vec::new().into(),
    };
    state.connectors.insert(name.clone(), connector.into());
    Ok(api_port)
}

impl From<AuthError> for SetupError {
    fn from(error: AuthError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<state_store::Error> for SetupError {
    fn from(error: state_store::Error) -> Self {
        Self::Refused(error.into())
    }
}

impl From<AllocError> for SetupError {
    fn from(error: AllocError) -> Self {
        match error {
            AllocError::Outdated => Self::Outdated,
            error => Self::Refused(error.into()),
        }
    }
}
