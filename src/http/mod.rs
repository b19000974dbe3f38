//! The HTTP front: the fence and the one wrapper around tiny_http.
//!
//! ```text
//! TCP client ── fence (a thread a connection) ── Unix socket ── tiny_http ── worker ── Handler
//! ```
//!
//! [`fence`] owns the TCP listener, parses, checks and limits. What passes is one whole
//! request at a time, written afresh to a private Unix socket, where tiny_http hands it to
//! a worker. Answers come back the same way; the fence tells a finished answer from an
//! aborted one and tells the handler when its client has gone ([`ClientWatch`]).

pub mod assets;
pub mod fence;
pub(crate) mod link;

mod backend;
mod error;
mod request;
mod response;
mod router;
mod server;
mod stream;
mod watch;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::ApiError;
pub use fence::limits::Limits;
pub use fence::policy::{HostPolicy, InvalidHost};
pub use fence::source;
pub use request::{Method, Request};
pub use response::{Response, ResponseHead};
pub use router::Router;
pub use server::{Handler, Server, ServerConfig};
pub use stream::Stream;
pub use watch::{ClientWatch, GoneGuard};

/// Locks a mutex of this room. Nothing in it panics in the middle of a change, and callbacks
/// and handlers, which may, are contained: so a poisoned lock guards what is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
