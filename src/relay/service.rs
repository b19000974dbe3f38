//! What the relay does for connectors: quick-setup, logins of their tunnels, ports and sites.

use crate::sync::{Mutex, MutexGuard};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::allocator::{self, Outside, Refused};
use super::connector_auth::{self, Enrolment, Standing, Turned};
use super::lines::Lines;
use super::secret::{self, SecretHash};
use super::setup_request::SetupRequest;
use super::sites::SiteTable;
use super::state::{Application, Connector, NotAllowed, RESERVED_FOR, RelayState};
use super::state_store::{self, Saving, Store};
use super::urls::PublicUrls;
use crate::http::ApiError;
use crate::http::auth::{Code, RateLimiter, WhenFull};
use crate::store::random;
use crate::store::time::rfc3339;
use crate::tunnel::remote::Remote;
use crate::tunnel::server::{Grant, Opener, Policy, PortStats};

/// Quick-setup calls of one source a minute.
const CALLS: usize = 30;
/// Wrong logins a minute after which a source's guesses at a weak password are not even looked at.
const WRONG_LOGINS: usize = 30;
/// Where a remote of an assigned port may say that it listens: wherever it is bound, if at all, is
/// the relay's decision.
const LOCAL_HOSTS: [&str; 5] = ["127.0.0.1", "0.0.0.0", "localhost", "::1", "::"];

/// Why a relay that others reach gives no public port unless its operator says so.
const NO_PORTS: &str = "this relay gives no public ports, only web sites: a port on the sites' address would be a \
    server under every site's name, and get their visitors' cookies; its operator starts it with --port-listen IP, an \
    address that no site's name leads to, or accepts that with --shared-host-ports";

/// The relay's state and rules.
pub(super) struct Service {
    pub(super) store: Store,
    pub(super) place: PublicUrls,
    pub(super) sites: Arc<SiteTable>,
    enrolment: Enrolment,
    calls: RateLimiter,
    wrong_logins: RateLimiter,
    turned_away: Lines,
    /// Set once the tunnel server stands, which needs this service first.
    opener: OnceLock<Opener>,
    /// Held while the state changes and while what follows from that is done: in another order, a
    /// site that was given back could come into the place of the next one of its name.
    following: Mutex<()>,
}

impl Service {
    pub(super) fn new(store: Store, place: PublicUrls, enrolment: Enrolment) -> Self {
        Self {
            store,
            place,
            sites: Arc::default(),
            enrolment,
            calls: RateLimiter::new(CALLS, WhenFull::Forget),
            wrong_logins: RateLimiter::new(WRONG_LOGINS, WhenFull::Forget),
            turned_away: Lines::default(),
            opener: OnceLock::new(),
            following: Mutex::new(()),
        }
    }

    /// From here on sites lead somewhere.
    pub(super) fn begin(&self, opener: Opener) {
        let opener = self.opener.get_or_init(|| opener);
        self.store.read(|book| {
            for (connector, application) in book.applications() {
                self.sites.put(connector, application, opener);
            }
        });
    }

    /// Answers a quick-setup call. Whom the operator vouches for needs no enrol token.
    pub(super) fn quick_setup(
        &self,
        body: &Value,
        source: IpAddr,
        is_vouched_for: bool,
    ) -> Result<Value, ApiError> {
        let Some(fields) = body.as_object() else {
            return Err(ApiError::bad_request("the body must be a JSON object"));
        };
        let wanted = SetupRequest::read(fields).map_err(ApiError::bad_request)?;
        if !wanted.is_web() && self.place.ports_ip().is_none() {
            return Err(ApiError::forbidden(NO_PORTS));
        }
        let rule = match is_vouched_for {
            true => Enrolment::Open,
            false => self.enrolment,
        };
        let name = &wanted.connector_name;
        let standing = self
            .admit(&wanted, rule)
            .inspect_err(|error| self.tell_turned_away(source, name, error))?;
        let code = Zeroizing::new(random::token());
        let (api_port, assigned) = self.assign(&wanted, &standing, &code)?;
        let url = self.place.application_url(&assigned);
        log::info!(
            "{source}: '{}' has {url} for {}",
            wanted.connector_name,
            assigned.target
        );
        Ok(self.answer(&wanted, api_port, &assigned, &code))
    }

    /// Whether this is the password of a connector that is known, found out at no cost.
    pub(super) fn is_known(&self, connector: &str, password: &str) -> bool {
        let kept = self.password(connector);
        kept.is_some_and(|kept| !kept.is_slow() && kept.is(password))
    }

    /// Whether a call with this name and password may take a slow comparison.
    pub(super) fn is_slow(&self, connector: &str, password: &str) -> bool {
        let by_book = self
            .store
            .read(|book| match book.connectors.get(connector) {
                Some(connector) => Some(connector.password.is_slow()),
                None => book.enroll_token.as_ref().map(SecretHash::is_slow),
            });
        by_book.unwrap_or(false) || secret::is_slow(password)
    }

    /// Counts a call; 429 with the time to wait where it is one too many.
    pub(super) fn count_call(&self, source: IpAddr) -> Result<(), Duration> {
        self.calls.count(source, Instant::now())
    }

    /// Whoever is not let in can come as often as he likes, and does not get to fill the disk.
    fn tell_turned_away(&self, source: IpAddr, name: &str, error: &ApiError) {
        let (may, more) = self.turned_away.count(Instant::now());
        if let Some(more) = more {
            log::info!("{more} more calls were turned away and are not shown");
        }
        if may {
            log::info!("{source}: '{name}' is turned away: {error}");
        }
    }

    /// What lets the call in, which has been proved.
    fn admit(&self, wanted: &SetupRequest, rule: Enrolment) -> Result<Standing, ApiError> {
        let standing = self
            .store
            .read(|book| connector_auth::standing(book, wanted, rule));
        let standing = standing.map_err(turned)?;
        connector_auth::prove(&standing, wanted).map_err(turned)?;
        Ok(standing)
    }

    fn assign(
        &self,
        wanted: &SetupRequest,
        standing: &Standing,
        code: &Zeroizing<String>,
    ) -> Result<(u16, Application), ApiError> {
        // Costly, so not under the lock.
        let password = match standing {
            Standing::Known(_) => None,
            _ => Some(SecretHash::of(&wanted.password)),
        };
        let code = wanted
            .has_door()
            .then(|| STANDARD.encode(Code::new(code).digest()));
        let now = rfc3339(SystemTime::now());
        let _following = self.following();
        let (api_port, before, assigned) = self.store.update_saving(|book| {
            book.sweep(&cutoff());
            // A revocation may have come in between, and then the token lets nobody in any more.
            if let Standing::NewWithToken(proved) = standing
                && book.enroll_token.as_ref() != Some(proved)
            {
                return Err(turned(Turned::WrongToken));
            }
            let api_port = enrolled(book, wanted, password, &now)?;
            let before = allocator::before(book, wanted).cloned();
            let assigned = allocator::assign(book, wanted, code, &self.outside(&now));
            let assigned = assigned.map_err(refused)?;
            // A known application is served again though nothing can be saved.
            let saving = match before
                .as_ref()
                .is_some_and(|b| b.is_confirmed_by(&assigned))
            {
                true => Saving::Should,
                false => Saving::Must,
            };
            let before = before.map(|before| before.port);
            Ok::<_, ApiError>(((api_port, before, assigned), saving))
        })?;
        if let Some(opener) = self.opener.get() {
            // Nobody knows any more that the connector's tunnel still listens there.
            if let Some(before) = before.filter(|before| *before != assigned.port) {
                opener.free(&wanted.connector_name, before);
            }
            self.sites.put(&wanted.connector_name, &assigned, opener);
        }
        Ok((api_port, assigned))
    }

    fn outside<'a>(&'a self, now: &'a str) -> Outside<'a> {
        Outside {
            public: allocator::PUBLIC_PORTS,
            is_free: Box::new(|port| {
                let ip = self.place.ports_ip();
                ip.is_some_and(|ip| TcpListener::bind((ip, port)).is_ok())
            }),
            is_own_name: Box::new(|name| self.place.is_own_name(name)),
            now,
        }
    }

    fn answer(
        &self,
        wanted: &SetupRequest,
        api_port: u16,
        assigned: &Application,
        code: &str,
    ) -> Value {
        let (nhp_server, code) = match &assigned.site {
            Some(site) => (self.place.door_url(&site.name), code),
            None => (self.place.url(), ""),
        };
        json!({
            "connector": {
                "external_ip": self.place.external_ip,
                "api_port": api_port,
                "username": wanted.connector_name,
                "password": *wanted.password,
                "tunnel_port": self.place.tunnel.port(),
                "fingerprint": self.place.fingerprint,
            },
            "app": {
                "app_id": assigned.app_id,
                "site_url": self.place.application_url(assigned),
                "resource": {"ip": "127.0.0.1", "port": assigned.port},
            },
            "api_key": {
                "nhp_server": nhp_server.trim_end_matches('/'),
                "code": code,
                "app_id": assigned.app_id,
            },
        })
    }

    /// Gives back what an application of a connector has.
    pub(super) fn release(
        &self,
        connector: &str,
        password: &str,
        key: &str,
    ) -> Result<(), ApiError> {
        let kept = self
            .store
            .read(|book| Some(book.connectors.get(connector)?.password.clone()));
        if !kept.is_some_and(|kept| kept.is(password)) {
            return Err(turned(Turned::WrongPassword));
        }
        let _following = self.following();
        let now = rfc3339(SystemTime::now());
        let released = self.store.update(|book| {
            let missing = || ApiError::not_found("this connector has no such application");
            book.release(connector, key, &now).ok_or_else(missing)
        })?;
        self.forget(connector, &released);
        log::info!(
            "'{connector}' has given back {}",
            self.place.application_url(&released)
        );
        Ok(())
    }

    /// Turns a connector out: at once, whatever the disk says, and until it is allowed again. The enrol
    /// token, which it knows, lets nobody in any more; the one in its place, where one is needed, is to
    /// be shown.
    pub(super) fn revoke(&self, name: &str) -> Result<TurnedOut, ApiError> {
        let fresh = FreshToken::new();
        let _following = self.following();
        let ((connector, enroll_token), saved) = self.store.change_at_once(|book| {
            let missing = || ApiError::not_found("there is no connector of this name");
            turn_out(book, name, fresh).ok_or_else(missing)
        })?;
        if let Some(opener) = self.opener.get() {
            opener.disconnect(name);
        }
        for application in &connector.applications {
            self.forget(name, application);
        }
        match &saved {
            Ok(()) => log::info!("'{name}' is revoked"),
            Err(error) => log::error!(
                "'{name}' is revoked, and that is not saved: it lasts until the relay restarts: {error}"
            ),
        }
        Ok(TurnedOut {
            enroll_token,
            is_saved: saved.is_ok(),
        })
    }

    /// Undoes a revocation. True when the connector is back with what it had, false when it is to
    /// enrol again.
    pub(super) fn allow(&self, name: &str) -> Result<bool, ApiError> {
        let _following = self.following();
        let back = self.store.update(|book| {
            book.sweep(&cutoff());
            book.allow(name).map_err(not_allowed)
        })?;
        let applications = back.iter().flat_map(|connector| &connector.applications);
        if let Some(opener) = self.opener.get() {
            for application in applications {
                self.sites.put(name, application, opener);
            }
        }
        log::info!("'{name}' is allowed again");
        Ok(back.is_some())
    }

    fn forget(&self, connector: &str, application: &Application) {
        self.sites.remove(application);
        if let Some(opener) = self.opener.get() {
            opener.free(connector, application.port);
        }
    }

    /// Whether the connector's tunnel holds this port now.
    pub(super) fn is_connected(&self, connector: &str, port: u16) -> bool {
        self.opener
            .get()
            .is_some_and(|opener| opener.is_held(connector, port))
    }

    fn following(&self) -> MutexGuard<'_, ()> {
        self.following.lock()
    }

    fn password(&self, connector: &str) -> Option<SecretHash> {
        self.store
            .read(|book| Some(book.connectors.get(connector)?.password.clone()))
    }
}

/// What came of a revocation.
pub(super) struct TurnedOut {
    /// The enrol token that holds from now on, where one is needed; a secret.
    pub(super) enroll_token: Option<Zeroizing<String>>,
    /// Whether it outlasts the relay.
    pub(super) is_saved: bool,
}

/// An enrol token that may come to hold.
pub(super) struct FreshToken {
    token: Zeroizing<String>,
    kept: SecretHash,
}

impl FreshToken {
    pub(super) fn new() -> Self {
        let token = Zeroizing::new(random::token());
        let kept = SecretHash::of(&token);
        Self { token, kept }
    }
}

/// Revokes a connector, and the enrol token with it where there is one: what the connector was, and
/// the token that holds now. `None` where there is no such connector.
pub(super) fn turn_out(
    book: &mut RelayState,
    name: &str,
    fresh: FreshToken,
) -> Option<(Connector, Option<Zeroizing<String>>)> {
    let now = rfc3339(SystemTime::now());
    book.sweep(&cutoff());
    let connector = book.revoke(name, &now)?;
    if book.enroll_token.is_none() {
        return Some((connector, None));
    }
    book.renew_token(fresh.kept, &now);
    Some((connector, Some(fresh.token)))
}

/// What was given up before this is anybody's.
pub(super) fn cutoff() -> String {
    let now = SystemTime::now();
    rfc3339(
        now.checked_sub(RESERVED_FOR)
            .unwrap_or(SystemTime::UNIX_EPOCH),
    )
}

/// The connector's API port; enrols it where it is new.
fn enrolled(
    book: &mut RelayState,
    wanted: &SetupRequest,
    password: Option<SecretHash>,
    now: &str,
) -> Result<u16, ApiError> {
    let name = &wanted.connector_name;
    if let Some(connector) = book.connectors.get_mut(name) {
        // Who was new a moment ago and is known now came twice at once: with one password, or not.
        if password.is_some() && !connector.password.is(&wanted.password) {
            return Err(turned(Turned::WrongPassword));
        }
        now.clone_into(&mut connector.called_at);
        return Ok(connector.api_port);
    }
    // Who was known a moment ago and is not any more was revoked.
    let password = password.ok_or_else(|| turned(Turned::Revoked))?;
    if book.is_revoked(name) {
        return Err(turned(Turned::Revoked));
    }
    let none_left = || refused(Refused::Exhausted("no number is left"));
    let api_port = allocator::api_port(book).ok_or_else(none_left)?;
    let connector = Connector {
        password,
        api_port,
        enrolled_at: now.to_owned(),
        called_at: now.to_owned(),
        applications: Vec::new(),
    };
    book.connectors.insert(name.clone(), connector);
    Ok(api_port)
}

fn turned(why: Turned) -> ApiError {
    ApiError::new(why.status(), why.message())
}

fn not_allowed(why: NotAllowed) -> ApiError {
    match why {
        NotAllowed::NotRevoked => ApiError::not_found("no connector of this name was revoked"),
        NotAllowed::Full => turned(Turned::Full),
    }
}

fn refused(why: Refused) -> ApiError {
    match why {
        Refused::TooMany => ApiError::too_many(
            "this connector has as many applications as it may (100): give some back first",
        ),
        Refused::Exhausted(what) => ApiError::too_many(format!("the relay is full: {what}")),
    }
}

impl From<state_store::Error> for ApiError {
    fn from(error: state_store::Error) -> Self {
        log::debug!("refused, as the state is not saved: {error}"); // the store has said it once
        Self::internal("the relay cannot save its state: its log says why")
    }
}

/// What the tunnel server asks.
pub(super) struct TunnelPolicy(pub(super) Arc<Service>);

impl Policy for TunnelPolicy {
    fn login(&self, user: &str, password: &str, peer: SocketAddr) -> Option<String> {
        let wrong = &self.0.wrong_logins;
        let kept = self.0.password(user)?;
        if kept.is_slow() && wrong.is_exhausted(peer.ip(), Instant::now()) {
            return None;
        }
        if kept.is(password) {
            return Some(user.to_owned());
        }
        // Being one too many shows at the next look.
        let _ = wrong.count(peer.ip(), Instant::now());
        None
    }

    fn grant(&self, holder: &str, remote: &Remote) -> Grant {
        if !LOCAL_HOSTS.contains(&remote.local_host.as_str()) {
            return Grant::Denied;
        }
        let public_ip = self.0.place.ports_ip();
        self.0.store.read(|book| {
            let Some(connector) = book.connectors.get(holder) else {
                return Grant::Denied;
            };
            match connector.at_port(remote.local_port) {
                Some(application) if application.site.is_some() => Grant::Held,
                Some(_) => public_ip.map_or(Grant::Denied, |ip| {
                    Grant::ListenAt((ip, remote.local_port).into())
                }),
                None if connector.api_port == remote.local_port => Grant::Held,
                None => Grant::Denied,
            }
        })
    }

    fn visits(&self, holder: &str, remote: &Remote) -> Arc<PortStats> {
        let service = &self.0;
        let visits = service.store.read(|book| {
            let application = book.connectors.get(holder)?.at_port(remote.local_port)?;
            service.sites.visits(application)
        });
        visits.unwrap_or_default()
    }
}
