//! Settings of a gateway for its surroundings.

use std::hash::{BuildHasher, RandomState};

use super::limits::Limits;
use crate::http::auth::CookieKey;
use crate::net::Cidr;

/// Settings of a gateway for its surroundings.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The domain whose first label names a site; lower case, no dot at its ends.
    pub domain: String,
    /// Host names of the relay itself, also such as would be a site's. Lower case, no ports.
    pub own_names: Vec<String>,
    /// True if visitors come by `https`: what stands in front ends TLS.
    pub secure: bool,
    /// The port that visitors use, where a request does not say.
    pub port: u16,
    /// The port that it listens on, which a request may name too.
    pub listen_port: u16,
    /// Whose `X-Forwarded-*` are believed.
    pub trust_proxy: Vec<Cidr>,
    /// Header lines that these proxies may write for applications, such as the name of who has signed in there.
    pub pass_headers: Vec<String>,
    /// Name of this gateway in `CDN-Loop` (RFC 8586): a token that nobody else has.
    pub loop_id: String,
    /// Key that signs sign-ins.
    pub cookie_key: CookieKey,
    /// True if a request whose answer has not begun is passed on again where its tunnel is lost: another relay may have
    /// another.
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
