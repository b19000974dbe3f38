//! A request that is under way: all that is kept of it while no thread waits for its answer.

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::forwarded::Origin;
use super::host::Host;
use super::permits::BusyPermit;
use super::site::{PresentVisitor, Site};
use super::site_request::Served;
use crate::http::h1::head::Head;
use crate::http::proxy::{ByteStream, Outcome, Transfer};
use crate::http::server::ExchangeSlot;
use crate::http::server::connection_handler::After;

/// Terms that count as long as a request runs.
pub(super) struct Terms {
    pub(super) present: PresentVisitor,
    pub(super) permit: BusyPermit,
    /// When it came.
    pub(super) began: Instant,
    /// True if the visitor has a byte of its answer.
    pub(super) has_begun: Cell<bool>,
}

/// A stream that leads to the application, and its place among all.
pub(super) struct Upstream {
    pub(super) stream: Box<dyn ByteStream>,
    pub(super) _slot: ExchangeSlot,
    /// True if a second request came by it: where a proxy mixes visitors, hardly any does.
    pub(super) is_reused: bool,
}

/// A stream that the visitor's next request may use.
pub(super) struct KeptStream {
    pub(super) site: Arc<Site>,
    pub(super) upstream: Upstream,
    /// Whose it is, and the proxies on the way here.
    pub(super) chain: Vec<IpAddr>,
    /// Number that tells that visitor from others of one address.
    pub(super) identity: u64,
    pub(super) since: Instant,
}

/// A request whose answer is awaited.
pub(super) struct UnderWay {
    pub(super) head: Head,
    /// Names the site; none beside an application, which has one.
    pub(super) host: Option<Host>,
    pub(super) origin: Origin,
    pub(super) terms: Terms,
    pub(super) upstream: Upstream,
    pub(super) transfer: Transfer,
    /// How it ended, where that is still to be dealt with.
    pub(super) outcome: Option<Outcome>,
    /// How often it has gone on.
    pub(super) steps: usize,
}

/// Returns the result of an exchange for the log.
pub(super) fn served(outcome: &Outcome, transfer: &Transfer) -> Served {
    Served {
        after: After::from(outcome),
        status: transfer.status().unwrap_or(0),
        bytes: transfer.sent(),
    }
}
