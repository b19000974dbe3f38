//! Policy of the tunnel server: logins (that of a revoked connector fails), and the ports of each connector.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use super::certificates::note_connection;
use super::setup::{LOOK, Service};
use super::state::RelayState;
use crate::gateway::RefusedVisit;
use crate::http::auth::{RateLimiter, WhenFull};
use crate::sync::Mutex;
use crate::tunnel::remote::Remote;
use crate::tunnel::server::{Grant, Policy, PortAccess, TokenBucket};

/// Wrong logins a minute after which a source's guesses at a weak password are not compared.
const WRONG_LOGINS: usize = crate::limits::WRONG_LOGINS;
/// Listening addresses that a remote of an assigned port may name: the relay decides on which address it is bound.
const LOCAL_HOSTS: [&str; 5] = ["127.0.0.1", "0.0.0.0", "localhost", "::1", "::"];

/// Rules of tunnels, from the relay's state.
pub(super) struct TunnelPolicy {
    service: Arc<Service>,
    wrong_logins: RateLimiter,
    rates: Rates,
}

/// Rate of each connector over all its tunnels, if there is a limit.
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

    /// Returns the bandwidth that a connector's tunnels share. Reconnecting does not help: an unused bucket is
    /// forgotten only when it is full again.
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
        // The next login finds that it was one too many.
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
                note_connection(&self.service, holder, remote.local_port);
                Grant::Held
            }
            Some(application) if self.service.sites.is_over(application) => Grant::Denied,
            // The port is from before the operator named others: the connector has to ask again.
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
        note_connection(&self.service, holder, port);
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
        // Buckets that nobody uses any more are as full as new ones.
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
