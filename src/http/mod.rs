//! HTTP: the server that every listener shares, and the one wrapper around tiny_http.
//!
//! ```text
//! TCP client ── server (a thread a connection) ── proxy ──┬── Unix socket ── tiny_http ── worker ── Handler
//!                                                        └── a gateway's stream to an application
//! ```
//!
//! [`Server`] starts both halves. [`h1`] is HTTP/1.1 without sockets. [`server`] owns the TCP listener, parses, checks
//! and limits. It writes each request afresh, whole, to a private Unix socket, where tiny_http hands it to a worker.
//! [`proxy`] moves the request and its answer, tells a finished answer from an aborted one, and tells the handler when
//! its client has gone ([`CancelToken`]).
//!
//! [`ActivityLog`] and [`VisitorTable`] record the visits of an application, a site or a database.

pub mod assets;
pub mod auth;
pub mod h1;
pub mod server;

mod activity_log;
mod cancel_token;
mod error;
mod http_server;
pub(crate) mod metrics;
pub mod proxy;
mod request;
pub(crate) mod response;
mod router;
mod upstream;
mod visitor_table;

pub use activity_log::{ActivityLog, Numbered, Record, Sink};
pub use cancel_token::{CancelToken, DisconnectGuard};
pub use error::{ApiError, Failed};
pub use http_server::{Server, ServerConfig};
pub use request::{Method, Request};
pub use response::{Response, ResponseHead, Stream};
pub use router::{Handler, Router};
pub use server::limits::Limits;
pub use server::policy::{HostPolicy, InvalidHost};
pub use visitor_table::{Counted, VisitorCount, VisitorPresence, VisitorTable, source};
