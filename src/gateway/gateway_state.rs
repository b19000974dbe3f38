//! State that all visitors' connections of a gateway share.

use std::hash::RandomState;
use std::sync::Arc;

use super::access_log::AccessLog;
use super::auth::SiteAuth;
use super::config::GatewayConfig;
use super::pages::Pages;
use super::permits::Permits;
use super::refused_visit::RefusedVisit;
use super::request_stats::RequestStats;
use super::site::{Site, Sites};
use super::site_request::SiteRequest;
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

    /// Tells whoever shares the site that a visitor did not get in; if nobody can be told, the log warns.
    pub(super) fn tell_refused(&self, site: &Site, request: &SiteRequest<'_>, status: u16) {
        let visit = RefusedVisit::new(request, status);
        let line = format!("'{}': {visit}", site.name);
        if (site.tell)(&visit.encode()) {
            let others = "refused visitors";
            self.refused
                .info("postern::relay", others, format_args!("{line}"));
        } else {
            self.refused.refused(format_args!("{line}"));
        }
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
