//! State that all visitors' connections of a gateway share: its settings, its limits, and its counters.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use super::auth::SiteAuth;
use super::connector_side::{ConnectorSide, shown_site};
use super::forwarded::{ForwardedOrigin, Host};
use super::pages::Pages;
use super::request_state::BusyPermits;
use super::request_stats::{AccessLog, RequestStats};
use super::site::{RefusedVisit, Site, SiteRequest, Sites};
use crate::http::auth::CookieKey;
use crate::http::h1::head::Head;
use crate::limits;
use crate::net::Cidr;
use crate::sync::LogLimiter;
use crate::tunnel::ws::Tls;

/// Pages of all gateways. Loaded on first use: most applications need none.
static PAGES: LazyLock<Pages> = LazyLock::new(Pages::load);
/// Time after which a forgotten stream ends at a connector. The server, which is nearer to the visitor, has closer
/// limits, of 24 h at most, and closes the stream.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(25 * 3600);

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

/// Settings of a gateway for its surroundings.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The domain whose first label names a site; lower case, no dot at its ends.
    pub domain: String,
    /// Host names of the relay itself, including those that would be a site's. Lower case, no ports.
    pub own_names: Vec<String>,
    /// True if visitors come by `https`: the web server in front terminates TLS.
    pub secure: bool,
    /// The port that visitors use, where a request does not say.
    pub port: u16,
    /// The port that it listens on, which a request may name too.
    pub listen_port: u16,
    /// Proxies whose `X-Forwarded-*` are believed.
    pub trust_proxy: Vec<Cidr>,
    /// Header lines that these proxies may write for applications, such as the name of who has signed in there.
    pub pass_headers: Vec<String>,
    /// Name of this gateway in `CDN-Loop` (RFC 8586): a token that no other gateway has.
    pub loop_id: String,
    /// Key that signs sign-ins.
    pub cookie_key: CookieKey,
    /// True if a request whose answer has not begun is passed on again when its tunnel is lost: another relay may have
    /// a tunnel.
    pub passes_on_again: bool,
    /// Caps and timeouts.
    pub limits: Limits,
}

impl GatewayConfig {
    /// For sites below `domain`, reached by plain `http` on `port`.
    pub fn new(domain: &str, port: u16) -> GatewayConfig {
        GatewayConfig {
            domain: domain.trim_matches('.').to_ascii_lowercase(),
            own_names: Vec::new(),
            secure: false,
            port,
            listen_port: port,
            trust_proxy: Vec::new(),
            pass_headers: Vec::new(),
            loop_id: loop_id(),
            cookie_key: CookieKey::random(),
            passes_on_again: false,
            limits: Limits::default(),
        }
    }
}

/// 64 random bits: a name that no other gateway has. It is no secret: applications see it.
fn loop_id() -> String {
    format!("postern-{:016x}", RandomState::new().hash_one(()))
}

/// Caps and timeouts. `Limits::default()` is what the program uses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Time that a request may stand still before its answer begins: its visitor sends nothing more of it, or the
    /// application takes nothing, or says nothing. Default 300 s: reports, long polls and uploads are slow.
    pub answer_time: Duration,
    /// Time that an answer under way, or an upgraded connection, may be silent. Default 1 h:
    /// event streams and WebSockets may have nothing to say.
    pub silence: Duration,
    /// Time that an upgraded connection with one end closed may be silent. Default 60 s: the
    /// other end closes soon or has forgotten to.
    pub half_closed: Duration,
    /// Time after which a kept stream is not used for a request that must not be sent twice.
    /// Default 1 s: servers close idle connections after 2 s at the earliest.
    pub sure_for: Duration,
    /// Time after which a kept stream is not used at all. Default 30 s.
    pub kept_for: Duration,
}

impl Limits {
    /// Limits at a connector: the server, which knows the visitor, limits the time of a request.
    pub(crate) fn for_connector() -> Limits {
        Limits {
            answer_time: FORGOTTEN,
            silence: FORGOTTEN,
            ..Limits::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            answer_time: limits::ANSWER_TIME,
            silence: limits::SILENCE,
            half_closed: limits::HALF_CLOSED,
            sure_for: Duration::from_secs(1),
            kept_for: Duration::from_secs(30),
        }
    }
}
