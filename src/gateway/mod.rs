//! The gateway: what stands between the internet and the sites behind tunnels.
//!
//! ```text
//! visitor ── server ──┬── own names ──> workers: quick-setup, status page
//!                     └── {site}.{domain} ── auth ── http::proxy ── stream ── tunnel ── application
//! ```
//!
//! The HTTP server has accepted the connection and parsed the head; what happens with it is decided
//! here, a request at a time ([`visitor_connection`]): [`host`] says which site, [`auth`] whether an
//! invisible one opens, [`request_head`] what the application gets to see and [`site_rules`] what of
//! its answer the visitor gets; [`http::proxy`](crate::http::proxy) moves both. A stream is kept for
//! one visitor and never shared, also where a proxy sends many visitors' requests on one connection:
//! so nothing of one can reach another.
//!
//! | module | is |
//! |---|---|
//! | `host`, `forwarded`, `request_head`, `site_rules`, `caching`, `cookies` | heads in, heads out |
//! | `auth`, `signin` | codes, who has shown one, and how they are asked for |
//! | `pages`, `replies` | what the gateway itself says |
//! | `protocol` | what speaks no HTTP |
//! | `access_log`, `request_stats` | a line a request, and how many there were of which kind |
//! | `visitor_connection`, `under_way`, `handler` | one visitor's connection: with a thread, or without |
//! | `permits` | how many requests run at once, and whose they are |
//! | `stream` | what leads to an application, with TLS where it wants that |

mod access_log;
mod auth;
pub(crate) mod caching;
mod config;
pub(crate) mod cookies;
mod earlier_owner;
pub(crate) mod forwarded;
mod gateway_state;
mod handler;
mod host;
mod limits;
mod pages;
mod permits;
mod protocol;
mod refused_visit;
mod replies;
mod request_head;
mod request_stats;
mod service;
mod signin;
mod site;
mod site_request;
mod site_rules;
mod stream;
mod tries;
mod under_way;
mod visitor_connection;

pub use crate::http::auth::{Code, CookieKey};
pub use crate::http::proxy::ByteStream;
pub use config::GatewayConfig;
pub use limits::Limits;
pub use service::Gateway;
pub(crate) use site::Tell;
pub use site::{Down, Open, OpenVisits, Site, Sites, Stats, through};

// For the gateway at a connector, which passes requests on as this one does.
pub(crate) use auth::is_sign_in;
pub(crate) use forwarded::{FORWARDED_FOR, ForwardDefaults, Origin};
pub(crate) use gateway_state::GatewayState;
pub(crate) use pages::{Message, Pages};
pub(crate) use protocol::name_protocol;
pub(crate) use refused_visit::RefusedVisit;
pub(crate) use replies::{REFUSED, answer, message, other_protocol, target_is_down, tell};
pub(crate) use request_head::{
    end as end_head, head_of_local_visitor, is as is_line, is_never_kept, is_ours, is_repeatable,
};
pub(crate) use request_stats::{Cause, RequestStats};
pub(crate) use site_request::{Served, SiteRequest, path};
pub(crate) use site_rules::is_order_to_proxy;
pub(crate) use stream::TlsStream;
pub(crate) use under_way::served;
