//! State that all visitors' connections of a gateway share.

use std::hash::RandomState;
use std::net::IpAddr;
use std::sync::Arc;

use super::access_log::AccessLog;
use super::auth::SiteAuth;
use super::config::GatewayConfig;
use super::pages::Pages;
use super::permits::Permits;
use super::request_stats::RequestStats;
use super::site::{Site, Sites};
use crate::sync::LogLimiter;
use crate::tunnel::ws::Tls;

/// State that all visitors' connections of a gateway share.
pub(crate) struct GatewayState {
    pub(super) config: GatewayConfig,
    pub(super) sites: Arc<dyn Sites>,
    pub(super) auth: SiteAuth,
    pub(super) pages: Pages,
    pub(super) permits: Arc<Permits>,
    pub(super) log: AccessLog,
    pub(super) stats: Arc<RequestStats>,
    refused: LogLimiter,
    pub(super) tls: Tls,
    /// The key of what tells visitors behind a proxy apart.
    pub(super) identity_key: RandomState,
}

impl GatewayState {
    /// Makes the state of a gateway to these sites.
    pub(super) fn new(config: GatewayConfig, sites: Arc<dyn Sites>) -> GatewayState {
        GatewayState {
            auth: SiteAuth::new(config.cookie_key.clone()),
            pages: Pages::load(),
            permits: Arc::default(),
            log: AccessLog::default(),
            stats: Arc::default(),
            refused: LogLimiter::default(),
            // Whose certificate it is, nobody can say: the tunnel's other end is trusted for that.
            tls: Tls::unverified(),
            identity_key: RandomState::new(),
            config,
            sites,
        }
    }

    /// For one that knows its site otherwise, and only asks for codes, which counts there.
    pub(crate) fn without_sites(config: GatewayConfig, stats: Arc<RequestStats>) -> GatewayState {
        let state = GatewayState::new(config, Arc::new(NoSites));
        GatewayState { stats, ..state }
    }

    /// Returns the counters of the requests.
    pub(crate) fn stats(&self) -> &Arc<RequestStats> {
        &self.stats
    }

    /// Says that a visitor did not get in: a warning, so that it is also seen where one who shares has a relay of their own.
    pub(super) fn tell_refused(&self, site: &Site, source: IpAddr, why: &str) {
        let line = format_args!("'{}': {source} was refused: {why}", site.name);
        self.refused
            .warn("postern::refused", "refused visitors", line);
    }

    /// True if visitors come by `https`.
    pub(crate) fn is_https(&self) -> bool {
        self.config.secure
    }
}

struct NoSites;

impl Sites for NoSites {
    fn find(&self, _: &str) -> Option<Arc<Site>> {
        None
    }
}
