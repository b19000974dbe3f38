//! State that all connections of a server share.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::connection_handler::Gateway;
use super::connection_table::ConnectionTable;
use super::limits::{Exchanges, Limits};
use super::policy::HostPolicy;
use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::http::response::HSTS;
use crate::http::{CancelToken, Response};
use crate::sync::Permits;

/// State that all connections of a server share.
pub(super) struct ServerState {
    pub(super) port: u16,
    pub(super) hosts: HostPolicy,
    pub(super) check_other_users: bool,
    pub(super) limits: Limits,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) gateway: Option<Arc<dyn Gateway>>,
    /// Bytes of request bodies that are held at once, except for the first ones of each.
    pub(super) bodies: Permits,
    pub(super) exchanges: Exchanges,
    pub(super) table: ConnectionTable,
    pub(super) stopping: AtomicBool,
    /// True if each answer is a connection's last.
    pub(super) draining: AtomicBool,
}

impl ServerState {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// True if connections end with their next answer.
    pub(super) fn is_ending(&self) -> bool {
        self.is_stopping() || self.draining.load(Ordering::Relaxed)
    }

    /// Number of requests that can run at once.
    pub(super) fn capacity(&self) -> usize {
        self.table.max.min(self.exchanges.for_sites())
    }

    pub(super) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.gateway.as_ref().is_some_and(|g| g.is_proxy(peer))
    }

    pub(super) fn is_https(&self) -> bool {
        self.gateway.as_ref().is_some_and(|g| g.is_https())
    }

    /// Counts a refusal at the gateway, which does not see the request.
    pub(super) fn note_refused(&self, refusal: &Refusal) {
        if let Some(gateway) = &self.gateway {
            gateway.count_refused(refusal.status);
        }
    }

    /// Adds the header that every answer has.
    pub(super) fn stamped(&self, response: Response) -> Response {
        if self.is_https() {
            response.header("Strict-Transport-Security", HSTS)
        } else {
            response
        }
    }
}

/// The upstream of a server.
pub(in crate::http) trait Backend: Send + Sync {
    /// True if the body of such a request is passed on as it comes, however long it is.
    fn streams(&self, method: &str, path: &str) -> bool;

    /// Connects, for one checked request; without a `body`, the client's body is written behind the head, framed as the
    /// client frames it.
    fn open(
        &self,
        head: &Head,
        body: Option<&[u8]>,
        peer: SocketAddr,
        client: &CancelToken,
    ) -> io::Result<UpstreamConnection>;
}

/// A connection to the upstream, for one request.
pub(in crate::http) struct UpstreamConnection {
    /// Socket for the request and its answer; non-blocking.
    pub(in crate::http) socket: UnixStream,
    /// The request in the backend's form, to be written there.
    pub(in crate::http) request: Vec<u8>,
    /// Guard that is kept while the request runs.
    pub(in crate::http) pending: Box<dyn PendingResponse>,
}

/// Tells if a request has reached its handler; dropping it ends the request's entry.
pub(in crate::http) trait PendingResponse {
    /// True if a handler has taken the request.
    fn is_taken(&self) -> bool;
}
