//! The site of an application that speaks HTTP: the streams of its tunnel, and the way to the application.
//!
//! ```text
//! tunnel/mux ── streams ── gateway ── the application
//! ```
//!
//! [`crate::gateway`] serves the requests here as at a relay. [`site_gateway`] adds the parts that only this end knows:
//! the
//! application's own name, TLS to it, the log of its requests, and the code if the server does not ask for it. An
//! application without visitors has neither a thread nor a socket here. A long request runs on a thread of the tunnel's
//! pool; short requests on kept connections, and the waits between them, share the one thread of [`streams`].

mod site_gateway;
mod streams;

pub(crate) use site_gateway::{SiteAccess, SiteGateway, SiteNames};
pub(crate) use streams::serve;
