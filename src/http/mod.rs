//! HTTP: the server that every listener shares, and the one wrapper around tiny_http.
//!
//! ```text
//! TCP client ── server (a thread a connection) ── proxy ──┬── Unix socket ── tiny_http ── worker ── Handler
//!                                                        └── a gateway's stream to an application
//! ```
//!
//! [`h1`] is HTTP/1.1 without sockets. [`server`] owns the TCP listener, parses, checks and limits.
//! Requests are passed one at a time, whole, written afresh to a private Unix socket, where
//! tiny_http hands it to a worker. [`proxy`] moves both it and its answer, tells a finished answer
//! from an aborted one, and tells the handler when its client has gone ([`CancelToken`]).
//!
//! [`ActivityLog`] and [`VisitorTable`] hold what an application's visitors did and who of them is there, for sites as
//! for databases.

pub mod assets;
pub mod auth;
pub mod h1;
pub mod server;

mod activity_log;
mod cancel_token;
mod error;
pub(crate) mod metrics;
pub mod proxy;
mod request;
pub(crate) mod response;
mod router;
pub(crate) mod socket;
mod source;
mod upstream;
mod visitor_table;

pub use activity_log::{ActivityLog, Numbered, Record, Sink};
pub use cancel_token::{CancelToken, DisconnectGuard};
pub use error::{ApiError, Failed};
pub use request::Stream;
pub use request::{Method, Request};
pub use response::{Response, ResponseHead};
pub use router::Handler;
pub use router::Router;
pub use server::limits::Limits;
pub use server::policy::{HostPolicy, InvalidHost};
pub use source::source;
pub use upstream::{Server, ServerConfig};
pub use visitor_table::{Counted, VisitorCount, VisitorPresence, VisitorTable};
