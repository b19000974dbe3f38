//! The gateway: one pipeline between visitors and sites, for both ends of a tunnel.
//!
//! ```text
//! visitor ── server ──┬── own names ──> workers: quick-setup, status page
//!                     └── {site}.{domain} ── auth ── http::proxy ── stream ── tunnel ── application
//! ```
//!
//! That is a relay's end. At the other end the pipeline serves a stream of the tunnel and leads to the application: what
//! is known and done there alone is a value, [`ConnectorSide`].
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
//! | `naming`, `connector_side` | the application's own name and the way back from it; what else only a connector has |
//! | `auth`, `signin` | codes, who has shown one, and how they are asked for |
//! | `pages`, `replies` | what the gateway itself says |
//! | `protocol` | what speaks no HTTP |
//! | `access_log`, `request_stats` | a line a request, and how many there were of which kind |
//! | `visitor_connection`, `under_way`, `handler` | one visitor's connection: with a thread, or without |
//! | `permits` | how many requests run at once, and whose they are |
//! | `tunnels` | tunnels that come in where visitors do |
//! | `stream` | what leads to an application, with TLS where it wants that |

mod auth;
mod connector_side;
mod cookies;
pub(crate) mod forwarded;
mod gateway_state;
mod handler;
mod naming;
mod pages;
mod permits;
mod replies;
mod request_head;
mod request_stats;
mod service;
mod signin;
mod site;
mod site_rules;
mod stream;
mod visitor_connection;

pub use crate::http::auth::{Code, CookieKey};
pub use crate::http::proxy::ByteStream;
pub use gateway_state::GatewayConfig;
pub use gateway_state::Limits;
pub use naming::{TARGETS_HOST, VISITORS_HOST};
pub use service::Gateway;
pub use site::{OpenStream, OpenVisits, Site, Sites, StreamRequest, Unreachable, through};

pub(crate) use auth::SiteAuth;
pub(crate) use connector_side::{ConnectorSide, RequestEvents};
pub(crate) use gateway_state::FORGOTTEN;
pub(crate) use gateway_state::GatewayState;
pub(crate) use naming::{Naming, ServerKind, head_of_visitor};
pub(crate) use replies::REFUSED;
pub(crate) use request_head::is_never_kept;
pub(crate) use request_stats::RequestStats;
pub(crate) use request_stats::shown;
pub(crate) use service::TunnelIntake;
pub(crate) use site::NotifyOwner;
pub(crate) use site::RefusedVisit;
pub(crate) use site::{Served, path};
pub(crate) use stream::TlsStream;
pub(crate) use visitor_connection::VisitorConnection;
