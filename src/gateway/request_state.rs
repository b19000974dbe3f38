//! State of a request while it runs, and of a visitor's connection between two requests.

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::forwarded::{ForwardedOrigin, Host};
use super::permits::BusyPermit;
use super::site::{ActiveVisit, Served, Site};
use crate::http::h1::head::Head;
use crate::http::proxy::{ByteStream, Outcome, Transfer};
use crate::http::server::ExchangeSlot;
use crate::http::server::connection_handler::After;

/// Counters, permit and times of a request while it runs.
pub(super) struct RequestContext {
    pub(super) present: ActiveVisit,
    pub(super) permit: BusyPermit,
    /// Time of its arrival.
    pub(super) began: Instant,
    /// True if the visitor has a byte of its answer.
    pub(super) has_begun: Cell<bool>,
}

/// A stream that leads to the application, and its place among all.
pub(super) struct Upstream {
    pub(super) stream: Box<dyn ByteStream>,
    pub(super) _slot: ExchangeSlot,
    /// True if a second request came by it; a proxy that mixes visitors hardly reuses one.
    pub(super) is_reused: bool,
}

/// A stream that the visitor's next request may use.
pub(super) struct KeptStream {
    pub(super) site: Arc<Site>,
    pub(super) upstream: Upstream,
    /// The visitor, and the proxies on the way here.
    pub(super) chain: Vec<IpAddr>,
    /// Number that distinguishes that visitor from others of one address.
    pub(super) identity: u64,
    pub(super) since: Instant,
}

/// A request that waits for its answer without a thread.
pub(super) struct ParkedRequest {
    pub(super) head: Head,
    /// Names the site; none at a connector, whose application has one.
    pub(super) host: Option<Host>,
    pub(super) origin: ForwardedOrigin,
    pub(super) context: RequestContext,
    pub(super) upstream: Upstream,
    pub(super) transfer: Transfer,
    /// Outcome that is still to be handled.
    pub(super) outcome: Option<Outcome>,
    /// Steps so far.
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
