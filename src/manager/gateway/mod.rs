//! The gateway at home: what stands between a tunnel's streams and an application that speaks HTTP.
//!
//! ```text
//! tunnel/mux ── streams ── stream_connection ── http::proxy ── target ── the application
//! ```
//!
//! So what only this end can know or do is done here, once, whatever server the tunnel leads to: the application's own
//! name and the way back from it ([`host_header`], [`forwarded`], [`links`]), TLS to it ([`target`]), a log of requests, and, where the server asks
//! for no code, the code ([`door`]). An application that nobody visits has neither a thread nor a socket here. A stream
//! has a thread of the tunnel's pool while a request takes long; short requests on kept connections, and the waits between
//! them, are the one thread's of [`streams`].

mod app_request;
mod door;
mod forwarded;
mod host_header;
mod links;
mod origin;
mod rules;
mod site_gateway;
mod stream_client;
mod stream_connection;
mod streams;
mod target;

pub(crate) use app_request::head_of_visitor;
pub(crate) use door::Door;
pub(crate) use host_header::{Naming, Server};
pub(crate) use site_gateway::{SiteGateway, SiteNames};
pub(crate) use streams::serve;
