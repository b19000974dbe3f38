//! The gateway: one pipeline between visitors and sites, for both ends of a tunnel.
//!
//! ```text
//! visitor ── server ──┬── own names ──> workers: quick-setup, status page
//!                     └── {site}.{domain} ── auth ── http::proxy ── stream ── tunnel ── application
//! ```
//!
//! This is a relay's end. At the other end the pipeline serves a stream of the tunnel and leads to the application;
//! [`ConnectorSide`] contains the part that only this end has.
//!
//! The HTTP server accepts the connection and parses the head; this room decides the rest, one request at a time
//! ([`visitor_connection`]): [`forwarded`] names the site, [`auth`] opens an invisible one, [`request_head`] writes the
//! head for the application and [`site_rules`] the one for the visitor; [`http::proxy`](crate::http::proxy) moves both.
//! A stream is kept for one visitor and never shared, even if a proxy sends many visitors' requests on one connection:
//! so nothing of one visitor can reach another.
//!
//! | modules | contents |
//! |---|---|
//! | `service` | the gateway as the HTTP server knows it; tunnels that use the visitors' listener |
//! | `visitor_connection`, `handler`, `request_state` | one visitor's connection, with a thread or without |
//! | `forwarded`, `request_head`, `site_rules`, `cookies` | heads in, heads out |
//! | `naming`, `connector_side` | the application's own name and the way back from it; the rest of a connector's part |
//! | `site` | a site and its terms |
//! | `auth`, `signin` | codes and sign-ins; their pages and forms |
//! | `pages`, `replies` | messages of the gateway itself |
//! | `gateway_state`, `permits` | shared state and settings; limits of requests that run at once |
//! | `request_stats` | counters and the access log |
//! | `stream` | the stream to an application, with TLS if it speaks that; resends |

mod auth;
mod connector_side;
mod cookies;
pub(crate) mod forwarded;
mod gateway_state;
mod handler;
mod naming;
mod pages;
mod replies;
mod request_head;
mod request_state;
mod request_stats;
mod service;
mod signin;
mod site;
mod site_rules;
mod stream;
mod visitor_connection;

pub use crate::http::auth::{Code, CookieKey};
pub use crate::http::proxy::ByteStream;
pub use gateway_state::{GatewayConfig, Limits};
pub use naming::{TARGETS_HOST, VISITORS_HOST};
pub use service::Gateway;
pub use site::{OpenStream, OpenVisits, Site, Sites, StreamRequest, Unreachable, through};

pub(crate) use auth::SiteAuth;
pub(crate) use connector_side::{ConnectorSide, RequestEvents};
pub(crate) use gateway_state::{FORGOTTEN, GatewayState};
pub(crate) use naming::{Naming, ServerKind, head_of_visitor};
pub(crate) use replies::REFUSED;
pub(crate) use request_head::is_never_kept;
pub(crate) use request_stats::{RequestStats, shown};
pub(crate) use service::TunnelIntake;
pub(crate) use site::{NotifyOwner, RefusedVisit, Served, path};
pub(crate) use stream::TlsStream;
pub(crate) use visitor_connection::VisitorConnection;
