//! Policy of the tunnel server: who may log in, and which ports are whose.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::setup::{LOOK, Service};
use super::state::{Application, RelayState, cutoff};
use super::state_store::Error;
use crate::gateway::RefusedVisit;
use crate::http::auth::{RateLimiter, WhenFull};
use crate::store::time::rfc3339;
use crate::sync::{Mutex, Thread};
use crate::tunnel::remote::Remote;
use crate::tunnel::server::{Grant, Policy, PortAccess, TokenBucket};

/// Wrong logins a minute after which a source's guesses at a weak password are not even looked at.
const WRONG_LOGINS: usize = crate::limits::WRONG_LOGINS;
/// Where a remote of an assigned port may say that it listens: wherever it is bound, if at all, is
/// the relay's decision.
const LOCAL_HOSTS: [&str; 5] = ["127.0.0.1", "0.0.0.0", "localhost", "::1", "::"];

/// The rules of tunnels, which follow from the relay's state.
pub(super) struct TunnelPolicy {
    service: Arc<Service>,
    wrong_logins: RateLimiter,
    rates: Rates,
}

/// The rate of each connector, where there is one, over all its tunnels.
struct Rates {
    bytes_per_second: Option<NonZeroU64>,
    /// By the connector's name.
    buckets: Mutex<HashMap<String, Arc<TokenBucket>>>,
}

impl TunnelPolicy {
    pub(super) fn new(service: Arc<Service>) -> Self {
        let rates = Rates::new(service.quota.bytes_per_second());
        Self {
            service,
            wrong_logins: RateLimiter::new(WRONG_LOGINS, WhenFull::Forget),
            rates,
        }
    }
}

impl Rates {
    fn new(bytes_per_second: Option<u64>) -> Self {
        Self {
            bytes_per_second: bytes_per_second.and_then(NonZeroU64::new),
            buckets: Mutex::default(),
        }
    }

    /// Bandwidth that a connector's tunnels share. Coming back does not help: an unused one is forgotten only when it
    /// is as a new one.
    fn of(&self, connector: &str, now: Instant) -> Option<Arc<TokenBucket>> {
        let rate = self.bytes_per_second?;
        let mut buckets = self.buckets.lock();
        if let Some(bucket) = buckets.get(connector) {
            return Some(Arc::clone(bucket));
        }
        buckets.retain(|_, bucket| Arc::strong_count(bucket) > 1 || !bucket.is_full(now));
        let bucket = Arc::new(TokenBucket::new(rate, now));
        buckets.insert(connector.to_owned(), Arc::clone(&bucket));
        Some(bucket)
    }
}

impl Policy for TunnelPolicy {
    fn login(&self, user: &str, password: &str, peer: SocketAddr) -> Option<String> {
        let now = Instant::now();
        let kept = self.service.password_now(user)?;
        if kept.is_slow() && self.wrong_logins.is_exhausted(peer.ip(), now) {
            return None;
        }
        if kept.is(password) {
            return Some(user.to_owned());
        }
        // Being one too many shows at the next look.
        let _ = self.wrong_logins.count(peer.ip(), now);
        None
    }

    fn grant(&self, holder: &str, remote: &Remote) -> Grant {
        if !LOCAL_HOSTS.contains(&remote.local_host.as_str()) {
            return Grant::Denied;
        }
        let urls = &self.service.urls;
        let mut state = self.service.store.snapshot();
        let is_known = |state: &RelayState| {
            let connector = state.connectors.get(holder);
            connector.is_some_and(|connector| connector.has_port(remote.local_port))
        };
        // Another relay may have assigned it a moment ago.
        if !is_known(&state) && self.service.look_now(LOOK) {
            state = self.service.store.snapshot();
        }
        let Some(connector) = state.connectors.get(holder) else {
            return Grant::Denied;
        };
        match connector.at_port(remote.local_port) {
            Some(application) if application.site.is_some() => {
                note(&self.service, holder, remote.local_port);
                Grant::Held
            }
            Some(application) if self.service.sites.is_over(application) => Grant::Denied,
            // It has one of before the operator named others: it is to ask anew.
            Some(application) if !urls.port_range.contains(&application.port) => Grant::Denied,
            Some(_) => urls.ports_ip().map_or(Grant::Denied, |ip| {
                Grant::ListenAt((ip, remote.local_port).into())
            }),
            None if connector.api_port == remote.local_port => Grant::Held,
            None => Grant::Denied,
        }
    }

    fn rate(&self, holder: &str) -> Option<Arc<TokenBucket>> {
        self.rates.of(holder, Instant::now())
    }

    fn port_access(&self, holder: &str, remote: &Remote) -> PortAccess {
        let state = self.service.store.snapshot();
        let connector = state.connectors.get(holder);
        let application = connector.and_then(|connector| connector.at_port(remote.local_port));
        let stats = application.and_then(|application| self.service.sites.visits(application));
        let app_id = application.map(|application| application.app_id.clone());
        let service = Arc::clone(&self.service);
        PortAccess {
            may_come: Box::new(move |address| {
                let app_id = app_id.as_ref();
                app_id.is_some_and(|app_id| service.sites.may_visit(app_id, address))
            }),
            refusal: |address| RefusedVisit::at_port(address).encode(),
            stats: stats.unwrap_or_default(),
        }
    }

    fn on_left(&self, holder: &str, port: u16) {
        note(&self.service, holder, port);
    }
}

// For which names a web server in front may get a certificate: those that lead somewhere. And since when sites were
// connected, which that depends on.

/// Age at which a note is made anew. Default 1 day: of the 30 that count, and the state is saved as seldom.
const NOTED_FOR: Duration = Duration::from_secs(24 * 3600);
/// Time in which what is to be noted gathers, so that many connectors that come at once are one save. Default 1 s.
const GATHERED_FOR: Duration = Duration::from_secs(1);

/// True if there may be a certificate for a host name: the domain, a name of the relay, or a site that is connected or
/// was within 30 days. In any case of letters; a dot may end it.
pub(super) fn is_allowed(service: &Service, domain: &str) -> bool {
    let name = domain.strip_suffix('.').unwrap_or(domain);
    let (name, urls) = (name.to_ascii_lowercase(), &service.urls);
    if name.parse::<IpAddr>().is_ok() {
        return false;
    }
    if name == urls.domain || urls.own_names().contains(&name) {
        return true;
    }
    let label = name.strip_suffix(&urls.domain);
    let label = label.and_then(|rest| rest.strip_suffix('.'));
    label.is_some_and(|site| leads_somewhere(service, site))
}

fn leads_somewhere(service: &Service, site: &str) -> bool {
    let (state, now) = (service.store.snapshot(), SystemTime::now());
    let mut known = state.applications();
    let holder = known.find(|(_, known)| is_site(known, site));
    was_connected(&state, site, &cutoff(now), &rfc3339(now))
        || holder.is_some_and(|(connector, known)| service.is_connected(connector, known.port))
}

/// True if a site of this name, whoever has it or had it last, is known to have been connected between two times, RFC 3339.
fn was_connected(state: &RelayState, site: &str, since: &str, now: &str) -> bool {
    let turned_out = state.turned_out();
    let of_turned_out = turned_out.flat_map(|(_, connector)| connector.applications.iter());
    let known = state.applications().map(|(_, known)| known);
    let had = known
        .chain(of_turned_out)
        .filter(|known| is_site(known, site));
    let kept = state.reserved.values();
    let kept = kept.filter(|kept| kept.site.as_deref() == Some(site));
    had.map(|known| &known.connected_at)
        .chain(kept.map(|kept| &kept.connected_at))
        .any(|at| is_between(at.as_deref(), since, now))
}

fn is_site(application: &Application, name: &str) -> bool {
    let site = application.site.as_ref();
    site.is_some_and(|site| site.name == name)
}

/// One that is yet to come was noted while the clock was wrong.
fn is_between(at: Option<&str>, since: &str, now: &str) -> bool {
    at.is_some_and(|at| since <= at && at <= now)
}

/// A connector's tunnel for this site has come, or has gone. Waits for nothing.
pub(super) fn note(service: &Arc<Service>, connector: &str, port: u16) {
    let now = SystemTime::now();
    let since = now.checked_sub(NOTED_FOR).unwrap_or(now);
    let state = service.store.snapshot();
    let known = state.connectors.get(connector);
    let known = known.and_then(|known| known.at_port(port));
    let is_due = known.is_some_and(|known| {
        let noted = known.connected_at.as_deref();
        known.site.is_some() && !is_between(noted, &rfc3339(since), &rfc3339(now))
    });
    if !is_due {
        return;
    }
    let of_thread = Arc::downgrade(service);
    let connects = &service.connects;
    let pending = (connector.to_owned(), port);
    connects.pending.lock().insert(pending);
    let note = move || keep(&*of_thread.upgrade()?);
    connects.lookout.begin(Thread::RelayConnects, note);
}

/// Notes what is pending in the state; none when nothing is.
fn keep(service: &Service) -> Option<Duration> {
    let pending = std::mem::take(&mut *service.connects.pending.lock());
    if pending.is_empty() {
        return None;
    }
    let now = rfc3339(SystemTime::now());
    let kept = service.store.update_saving(|state| {
        for (connector, port) in &pending {
            set_connected(state, connector, *port, &now);
        }
        Ok::<_, Error>(((), service.store.at_once()))
    });
    if let Err(error) | Ok(((), Err(error))) = kept {
        log::debug!("connection times of sites are not saved: {error}"); // the store has said it once
    }
    Some(GATHERED_FOR)
}

fn set_connected(state: &mut RelayState, connector: &str, port: u16, now: &str) {
    let known = state.connectors.get_mut(connector);
    let mut known = known
        .into_iter()
        .flat_map(|known| known.applications.iter_mut());
    if let Some(site) = known.find(|known| known.port == port) {
        site.connected_at = Some(now.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tunnels_of_a_connector_share_one_rate_and_no_other_has_it() {
        let (rates, now) = (Rates::new(Some(1)), Instant::now());
        let of = |connector: &str| rates.of(connector, now).unwrap();
        let one = of("one");
        assert!(Arc::ptr_eq(&one, &of("one")) && !Arc::ptr_eq(&one, &of("two")));
        of("three");
        // Those that nobody uses any more are as new ones.
        assert_eq!(rates.buckets.lock().len(), 2);
        assert!(Rates::new(None).of("one", now).is_none());
    }

    #[test]
    fn who_comes_back_has_no_new_bucket_before_the_old_one_is_full() {
        let (rates, now) = (Rates::new(Some(1)), Instant::now());
        // A new bucket is full from that moment on.
        let soon = now + std::time::Duration::from_secs(1);
        drop(rates.of("one", soon));
        drop(rates.of("two", now));
        assert!(rates.buckets.lock().contains_key("one"));
        drop(rates.of("three", soon));
        assert!(!rates.buckets.lock().contains_key("one"));
    }
}
