//! The site of an application that speaks HTTP: the streams of its tunnel, and the way to the application.
//!
//! ```text
//! tunnel/mux ── streams ── stream_connection ── gateway ── the application
//! ```
//!
//! The gateway serves their requests as a relay's ([`crate::gateway`]), by what only this end knows: the application's
//! own name, TLS to it and who hears of its requests ([`site_gateway`]), and, where the server asks for no code, the
//! code ([`site_access`]). An application that nobody visits has neither a thread nor a socket here. A stream has a
//! thread of the tunnel's pool while a request takes long; short requests on kept connections, and the waits between
//! them, are the one thread's of [`streams`].

mod site_gateway;
mod streams;

pub(crate) use site_gateway::SiteAccess;
pub(crate) use site_gateway::{SiteGateway, SiteNames};
pub(crate) use streams::serve;
