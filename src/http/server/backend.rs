//! The upstream of a server, as the server knows it.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;

use crate::http::CancelToken;
use crate::http::h1::head::Head;

/// The upstream of a server.
pub(in crate::http) trait Backend: Send + Sync {
    /// True if the body of such a request goes on as it comes, however long it is.
    fn streams(&self, method: &str, path: &str) -> bool;

    /// Connects, for one checked request; `None` is a body that is written behind the head, framed as the client frames it.
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
    /// Where the request is written to and the answer comes from; non-blocking.
    pub(in crate::http) socket: UnixStream,
    /// The request as the backend wants it, to be written there.
    pub(in crate::http) request: Vec<u8>,
    /// Kept while the request is under way.
    pub(in crate::http) pending: Box<dyn PendingResponse>,
}

/// Says whether a request has reached its handler; dropping it ends the request's entry.
pub(in crate::http) trait PendingResponse {
    /// True if a handler has taken the request.
    fn is_taken(&self) -> bool;
}
