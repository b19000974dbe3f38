//! A gateway beside its application: what it has that one at a relay has not.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::forwarded::FORWARDED_FOR;
use super::naming::{Naming, Server};
use super::site_request::{Served, path};
use crate::http::h1::head::Head;

/// Prefix of the program's own paths, which are never logged and reach no application.
const OWN_PATHS: &str = "/.postern/";

/// Names and events of a gateway beside its application; one at a relay has none.
pub(crate) struct Beside {
    /// The name by which the application is asked.
    pub(crate) naming: Arc<Naming>,
    pub(crate) events: Arc<dyn Events>,
}

/// Receiver of what happens to an application's requests.
pub(crate) trait Events: Send + Sync {
    /// A request has come to its end.
    fn answered(&self, head: &Head, source: Option<IpAddr>, took: Duration, served: &Served);

    /// Nobody was found at the target, or nobody that answers.
    fn missed(&self);

    /// An answer at this path could not be passed on.
    fn refused_answer(&self, path: &str, why: &str);

    /// The application has sent a visitor to its own address.
    fn named_itself(&self);
}

impl Beside {
    /// The visitor, as a relay of ours says: it writes the line afresh, the visitor first.
    pub(crate) fn source(&self, head: &Head) -> Option<IpAddr> {
        if self.naming.server == Server::Foreign {
            return None;
        }
        let told = head.headers.only(FORWARDED_FOR).ok()??;
        let first = told.split(|b| *b == b',').next()?;
        std::str::from_utf8(first).ok()?.trim().parse().ok()
    }

    /// True if visitors come by `https`.
    pub(super) fn is_https(&self) -> bool {
        self.naming.site.starts_with("https:")
    }

    pub(super) fn record(&self, head: &Head, took: Duration, served: &Served) {
        if !is_own(head) {
            (self.events).answered(head, self.source(head), took, served);
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
