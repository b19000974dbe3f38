//! A request for a site.

use super::forwarded::ForwardedOrigin;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler::After;

/// Request for a site.
pub(crate) struct SiteRequest<'r> {
    pub(crate) head: &'r Head,
    /// The Host as the visitor sent it.
    pub(crate) host: &'r [u8],
    pub(crate) site: &'r str,
    pub(crate) origin: &'r ForwardedOrigin,
}

/// Result of a request, for its line in the log.
pub(crate) struct Served {
    pub(crate) after: After,
    /// 0 when the visitor was told nothing.
    pub(crate) status: u16,
    pub(crate) bytes: u64,
}

/// The path as it was sent, without the query.
pub(crate) fn path(head: &Head) -> &str {
    head.target
        .split_once('?')
        .map_or(&head.target, |(path, _)| path)
}
