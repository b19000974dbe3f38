//! State of a request while it runs, and of a visitor's connection between two requests.

use std::cell::{Cell, OnceCell};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::forwarded::{ForwardedOrigin, Host};
use super::site::{ActiveVisit, Served, Site};
use crate::http;
use crate::http::h1::head::Head;
use crate::http::proxy::{ByteStream, Outcome, Transfer};
use crate::http::server::ExchangeSlot;
use crate::http::server::connection_handler::After;
use crate::sync::{KeyedPermits, Permit, Permits};

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

// Permits for requests that run at once: at all sites, at those of one connector, and of one source.
//
// A part of the gateway's capacity is always left for other visitors and applications, and a part for the relay's own
// names.

/// The part of all requests that sites may have together. Default 7/8: the rest is for the relay's
/// own names, by which connectors come back.
const ALL: (usize, usize) = crate::limits::OF_ALL_SITES;
/// The part that the sites of one connector may have. Default 1/2.
const CONNECTOR: (usize, usize) = crate::limits::OF_ONE_CONNECTOR;
/// The part that one source may have. Default 1/4.
const SOURCE: (usize, usize) = crate::limits::OF_ONE_VISITOR;

/// Share that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// Share of all sites.
    Sites,
    /// Share of the connector of the site.
    Connector,
    /// Share of the visitor.
    Source,
    /// Limit of the member's own program.
    Application,
}

/// The requests that run now.
#[derive(Debug, Default)]
pub(super) struct BusyPermits {
    pub(super) all: Permits,
    sources: KeyedPermits<IpAddr>,
}

/// Permit of one request to run; it counts until this is dropped.
pub(super) struct BusyPermit {
    /// The visitor's own share; none where the source is not counted.
    _own: Option<Permit>,
    /// Shares of the connector and of all sites: the permits, the limit, and the result if it is reached.
    others: [(Permits, usize, Full); 2],
    taken: OnceCell<[Permit; 2]>,
}

impl BusyPermit {
    /// Takes the visitor's own share, for a body that is still to come; the others only need to have room now. So
    /// slow bodies use up nobody else's. `connector` counts the requests of the one who shares the site, of the
    /// `capacity` that there is for all; a `source` that is `None` is not counted.
    pub(super) fn begin(
        permits: &BusyPermits,
        connector: &Permits,
        source: Option<IpAddr>,
        capacity: usize,
    ) -> Result<BusyPermit, Full> {
        let most = |(part, of): (usize, usize)| (capacity * part / of).max(1);
        let own = source.map(|source| permits.sources.of(http::source(source)).take(most(SOURCE)));
        if matches!(own, Some(None)) {
            return Err(Full::Source);
        }
        let others = [
            (connector.clone(), most(CONNECTOR), Full::Connector),
            (permits.all.clone(), most(ALL), Full::Sites),
        ];
        match others.iter().find(|(share, most, _)| share.out() >= *most) {
            Some((.., full)) => Err(*full),
            None => Ok(BusyPermit {
                _own: own.flatten(),
                others,
                taken: OnceCell::new(),
            }),
        }
    }

    /// Takes the others, unless they are taken already. A request that is refused at one never shows in the next.
    pub(super) fn take(&self) -> Result<(), Full> {
        if self.taken.get().is_none() {
            let [connector, all] = &self.others;
            let take =
                |(share, most, full): &(Permits, usize, Full)| share.take(*most).ok_or(*full);
            let taken = [take(connector)?, take(all)?];
            self.taken.set(taken).expect("they were not taken");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn each_share_holds_and_what_was_taken_is_given_back() {
        let (permits, one, two) = <(BusyPermits, Permits, Permits)>::default();
        let ask = |connector, source| {
            let permit = BusyPermit::begin(&permits, connector, source, 16)?;
            permit.take().map(|()| permit)
        };
        let refused = |connector, source| ask(connector, source).err();
        let held: Vec<_> = (0..4).map(|_| ask(&one, ip("192.0.2.1")).ok()).collect();
        assert_eq!(refused(&one, ip("192.0.2.1")), Some(Full::Source));
        assert_eq!(refused(&two, ip("192.0.2.1")), Some(Full::Source));
        let more: Vec<_> = (0..4).map(|_| ask(&one, None).ok()).collect();
        assert_eq!(refused(&one, ip("192.0.2.2")), Some(Full::Connector));
        let rest: Vec<_> = (0..6).map(|_| ask(&two, None).ok()).collect();
        assert_eq!(refused(&two, None), Some(Full::Sites));
        let all = held.iter().chain(&more).chain(&rest);
        assert_eq!(all.filter(|permit| permit.is_some()).count(), 14);
        drop((held, more, rest));
        let of_source = permits.sources.of(ip("192.0.2.1").unwrap());
        assert_eq!((one.out(), permits.all.out(), of_source.out()), (0, 0, 0));
    }

    /// A household has a /64, as elsewhere.
    #[test]
    fn a_network_of_ipv6_is_one_source_and_a_second_try_takes_nothing() {
        let (permits, busy) = <(BusyPermits, Permits)>::default();
        let begin = |source| BusyPermit::begin(&permits, &busy, ip(source), 4);
        let first = begin("2001:db8::1").ok().unwrap();
        assert_eq!((first.take(), first.take()), (Ok(()), Ok(())));
        assert_eq!(begin("2001:db8::2").err(), Some(Full::Source));
        assert_eq!(begin("2001:db8:1::2").ok().unwrap().take(), Ok(()));
        assert_eq!(busy.out(), 1);
    }

    #[test]
    fn a_body_that_is_sent_counts_for_its_visitor_alone() {
        let (permits, busy) = <(BusyPermits, Permits)>::default();
        let source = |last: u8| IpAddr::from([192, 0, 2, last]);
        let begin = |last| BusyPermit::begin(&permits, &busy, Some(source(last)), 4);
        let bodies: Vec<_> = (1..=8).map(|last| begin(last).ok().unwrap()).collect();
        assert_eq!(begin(1).err(), Some(Full::Source));
        assert_eq!((busy.out(), permits.all.out()), (0, 0));
        let whole = begin(9).ok().unwrap().take();
        assert_eq!(whole, Ok(()), "there is room for whole requests");
        let whole = [0, 1, 2].map(|at| bodies[at].take());
        assert_eq!(whole, [Ok(()), Ok(()), Err(Full::Connector)]);
        assert_eq!(begin(10).err(), Some(Full::Connector));
        drop(bodies);
        assert!((1..=10).all(|last| permits.sources.of(source(last)).out() == 0));
        assert_eq!((busy.out(), permits.all.out()), (0, 0));
    }
}
