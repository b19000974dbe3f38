//! A request for a site.

use super::forwarded::Origin;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler::After;

/// What a request brings along.
pub(super) struct SiteRequest<'r> {
    pub(super) head: &'r Head,
    /// The Host as the visitor sent it.
    pub(super) host: &'r [u8],
    pub(super) site: &'r str,
    pub(super) origin: &'r Origin,
}

/// What became of a request, for its line in the log.
pub(super) struct Served {
    pub(super) after: After,
    /// 0 when the visitor was told nothing.
    pub(super) status: u16,
    pub(super) bytes: usize,
}

/// The path as it was sent, without the query.
pub(super) fn path(head: &Head) -> &str {
    head.target
        .split_once('?')
        .map_or(&head.target, |(path, _)| path)
}
