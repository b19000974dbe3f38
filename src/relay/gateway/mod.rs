//! The gateway: what stands between the internet and the sites behind tunnels.
//!
//! ```text
//! visitor ── server ──┬── own names ──> workers: quick-setup, status page
//!                    └── {site}.{domain} ── auth ── proxy ── stream ── tunnel ── application
//! ```
//!
//! The HTTP server has accepted the connection and parsed the head; what happens with it is decided
//! here, a request at a time ([`visit`]): [`host`] says which site, [`auth`] whether an invisible
//! one opens, [`request`] what the application gets to see, [`exchange`] moves the bodies and
//! [`answer`] says what the visitor gets. A stream is kept for one visitor and never shared, also
//! where a proxy sends many visitors' requests on one connection: so nothing of one can reach another.
//!
//! | module | is | knows sockets |
//! |---|---|---|
//! | `host`, `forwarded`, `request`, `answer`, `caching`, `cookies` | heads in, heads out | no |
//! | `auth` | codes, and who has shown one | no |
//! | `protocol` | what speaks no HTTP | no |
//! | `access_log` | a line a request | no |
//! | `permits` | how many requests run at once, and whose they are | no |
//! | `pages`, `signin` | what the gateway itself says, and asks | no |
//! | `exchange` (of `sending` and `passing`), `raw` | the loops of a request, and of an upgraded connection | yes |
//! | `stream` | what leads to an application, with TLS where it wants that | yes |

mod access_log;
mod auth;
mod caching;
mod cookies;
pub(super) mod forwarded;
mod host;
mod limits;
mod pages;
mod permits;
mod protocol;
mod proxy;
mod raw;
mod request_body;
mod request_head;
mod response_body;
mod response_head;
mod signin;
mod site;
mod stream;
mod visitor_connection;

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::http::server::connection_handler::{ConnectionHandler, Gateway as Front};
use crate::net::{Cidr, is_within};
use crate::tunnel::ws::Tls;
use access_log::AccessLog;
use auth::SiteAuth;
use pages::Pages;
use permits::Permits;

pub use crate::http::auth::Code;
pub use limits::Limits;
pub use site::{Down, Open, Site, Sites, Stats, through};
pub use stream::ByteStream;

/// What a gateway is told about the place where it stands.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The domain whose first label names a site; lower case, no dot at its ends.
    pub domain: String,
    /// Host names of the relay itself, also such as would be a site's. Lower case, no ports.
    pub own_names: Vec<String>,
    /// Whether visitors come by `https`: what stands in front ends TLS.
    pub secure: bool,
    /// The port that visitors use, where a request does not say.
    pub port: u16,
    /// The port that it listens on, which a request may name too.
    pub listen_port: u16,
    /// Whose `X-Forwarded-*` are believed.
    pub trust_proxy: Vec<Cidr>,
    /// What names this gateway to itself in `CDN-Loop` (RFC 8586): a token that nobody else has.
    pub loop_id: String,
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
            loop_id: loop_id(),
            limits: Limits::default(),
        }
    }
}

/// The gateway; to be given to [`Server::start_with_gateway`](crate::http::Server::start_with_gateway).
pub struct Gateway {
    config: GatewayConfig,
    sites: Arc<dyn Sites>,
    auth: SiteAuth,
    pages: Pages,
    permits: Permits,
    log: AccessLog,
    tls: Tls,
}

impl Gateway {
    /// A gateway to these sites.
    pub fn new(config: GatewayConfig, sites: Arc<dyn Sites>) -> Gateway {
        Gateway {
            auth: SiteAuth::new(),
            pages: Pages::load(),
            permits: Permits::default(),
            log: AccessLog::default(),
            // Whose certificate it is, nobody can say: the tunnel's other end is trusted for that.
            tls: Tls::unverified(),
            config,
            sites,
        }
    }
}

/// 64 random bits: a name that no other gateway has. It is no secret: applications see it.
fn loop_id() -> String {
    format!("postern-{:016x}", RandomState::new().hash_one(()))
}

impl Front for Gateway {
    fn visit(&self, peer: SocketAddr) -> Box<dyn ConnectionHandler + '_> {
        Box::new(visitor_connection::VisitorConnection::new(
            self,
            peer.ip().to_canonical(),
        ))
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        is_within(peer, &self.config.trust_proxy)
    }

    fn is_https(&self) -> bool {
        self.config.secure
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
