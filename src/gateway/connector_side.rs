//! The part of a gateway that only a connector has, in front of its application.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::forwarded::FORWARDED_FOR;
use super::naming::{Naming, ServerKind};
use super::site::{Served, path};
use crate::http::h1::head::Head;

/// Prefix of the program's own paths, which are never logged and reach no application.
const OWN_PATHS: &str = "/.postern/";

/// Names and events of a connector's gateway; one at a relay has none.
pub(crate) struct ConnectorSide {
    /// The name by which the application is asked.
    pub(crate) naming: Arc<Naming>,
    pub(crate) events: Arc<dyn RequestEvents>,
}

/// Receiver of the events of an application's requests.
pub(crate) trait RequestEvents: Send + Sync {
    /// Called at the end of a request.
    fn on_answered(&self, head: &Head, source: Option<IpAddr>, took: Duration, served: &Served);

    /// Called when the application is not reached, or does not answer.
    fn on_unreachable(&self);

    /// Called when an answer at this path could not be passed on.
    fn on_invalid_answer(&self, path: &str, why: &str);

    /// Called when the application has sent a visitor to its own address.
    fn on_named_itself(&self);
}

impl ConnectorSide {
    /// The visitor, as a relay of ours says: it writes the line afresh, the visitor first.
    pub(crate) fn source(&self, head: &Head) -> Option<IpAddr> {
        if self.naming.server == ServerKind::Foreign {
            return None;
        }
        let forwarded = head.headers.only(FORWARDED_FOR).ok()??;
        let first = forwarded.split(|b| *b == b',').next()?;
        std::str::from_utf8(first).ok()?.trim().parse().ok()
    }

    /// True if visitors come by `https`.
    pub(super) fn is_https(&self) -> bool {
        self.naming.site.starts_with("https:")
    }

    pub(super) fn record(&self, head: &Head, took: Duration, served: &Served) {
        if !is_own(head) {
            (self.events).on_answered(head, self.source(head), took, served);
        }
    }
}

/// True if a request is for one of the program's own paths.
pub(super) fn is_own(head: &Head) -> bool {
    path(head).starts_with(OWN_PATHS)
}

/// First part of a Host, for a page.
pub(super) fn shown_site(host: &[u8]) -> &str {
    let host = std::str::from_utf8(host).unwrap_or_default();
    host.split(['.', ':']).next().unwrap_or_default()
}
