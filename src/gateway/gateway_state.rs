//! State that all visitors' connections of a gateway share.

use std::hash::RandomState;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use super::access_log::AccessLog;
use super::auth::SiteAuth;
use super::config::GatewayConfig;
use super::connector_side::{ConnectorSide, shown_site};
use super::forwarded::ForwardedOrigin;
use super::host::Host;
use super::limits::Limits;
use super::pages::Pages;
use super::permits::BusyPermits;
use super::refused_visit::RefusedVisit;
use super::request_stats::RequestStats;
use super::site::{Site, Sites};
use super::site_request::SiteRequest;
use crate::http::h1::head::Head;
use crate::sync::LogLimiter;
use crate::tunnel::ws::Tls;

/// Pages of all gateways. Loaded on first use: most applications need none.
static PAGES: LazyLock<Pages> = LazyLock::new(Pages::load);

/// State that all visitors' connections of a gateway share.
pub(crate) struct GatewayState {
    pub(super) config: GatewayConfig,
    pub(super) sites: Arc<dyn Sites>,
    pub(super) auth: Arc<SiteAuth>,
    pub(super) permits: BusyPermits,
    pub(super) log: AccessLog,
    pub(super) stats: Arc<RequestStats>,
    refused: LogLimiter,
    /// Verifies no certificate: the tunnel's other end is trusted for that.
    pub(super) tls: LazyLock<Tls>,
    /// The key of what tells visitors behind a proxy apart.
    pub(super) identity_key: RandomState,
    /// Set at a connector; none at a relay.
    pub(super) connector_side: Option<ConnectorSide>,
}

impl GatewayState {
    /// Makes the state of a gateway to these sites.
    pub(super) fn new(config: GatewayConfig, sites: Arc<dyn Sites>) -> GatewayState {
        GatewayState {
            auth: Arc::new(SiteAuth::new(config.cookie_key.clone())),
            permits: BusyPermits::default(),
            log: AccessLog::default(),
            stats: Arc::default(),
            refused: LogLimiter::default(),
            tls: LazyLock::new(Tls::unverified),
            identity_key: RandomState::new(),
            config,
            sites,
            connector_side: None,
        }
    }

    /// State of a connector's gateway, which counts its requests in `stats`.
    pub(crate) fn for_connector(
        connector_side: ConnectorSide,
        sites: Arc<dyn Sites>,
        auth: Arc<SiteAuth>,
        stats: Arc<RequestStats>,
    ) -> GatewayState {
        let mut config = GatewayConfig::new("", 0);
        config.limits = Limits::for_connector();
        let state = GatewayState::new(config, sites);
        GatewayState {
            connector_side: Some(connector_side),
            auth,
            stats,
            ..state
        }
    }

    /// The visitor whose request this is, as far as the one who sent it is believed.
    pub(crate) fn source(&self, head: &Head) -> Option<IpAddr> {
        self.connector_side
            .as_ref()
            .and_then(|connector_side| connector_side.source(head))
    }

    pub(super) fn pages(&self) -> &'static Pages {
        &PAGES
    }

    /// A claimed request with what the gateway knows of it; `host` is set where it says which site.
    pub(super) fn request<'r>(
        &self,
        head: &'r Head,
        host: Option<&'r Host>,
        origin: &'r ForwardedOrigin,
    ) -> SiteRequest<'r> {
        let sent = head.headers.all("host").next().unwrap_or_default();
        let site = match host {
            Some(host) => host.site(&self.config.domain, &self.config.own_names),
            None => Some(shown_site(sent)),
        };
        SiteRequest {
            head,
            host: sent,
            site: site.expect("a request for no site is not claimed"),
            origin,
        }
    }

    /// Returns the counters of the requests.
    pub(crate) fn stats(&self) -> &Arc<RequestStats> {
        &self.stats
    }

    /// Reports a refused visitor to the owner of the site; if that is not possible, the log warns.
    pub(super) fn report_refused(&self, site: &Site, request: &SiteRequest<'_>, status: u16) {
        let visit = RefusedVisit::new(request, status);
        let line = format!("'{}': {visit}", site.name);
        if (site.notify_owner)(&visit.encode()) {
            let others = "refused visitors";
            self.refused
                .info("postern::relay", others, format_args!("{line}"));
        } else {
            self.refused.refused(format_args!("{line}"));
        }
    }
}
