//! How many requests run at once: at all sites, at those of one connector, and of one source.
//!
//! Whatever visitors and applications do, a part of what the gateway can carry is left for others,
//! and a part for the relay's own names.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use crate::http;

/// The part of all requests that sites may have together. Default 7/8: the rest is for the relay's
/// own names, by which connectors come back.
const ALL: (usize, usize) = crate::limits::OF_ALL_SITES;
/// The part that the sites of one connector may have. Default 1/2.
const CONNECTOR: (usize, usize) = crate::limits::OF_ONE_CONNECTOR;
/// The part that one source may have. Default 1/4.
const SOURCE: (usize, usize) = crate::limits::OF_ONE_VISITOR;
/// Counters in a row of [`Sources`]. Default 2,048: sources that share both of theirs with another are
/// one in millions.
const COUNTERS: usize = 2048;

/// Which share is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// That of all sites.
    Sites,
    /// That of the connector whose site it is.
    Connector,
    /// That of the visitor.
    Source,
    /// Limit of the member's own program.
    Application,
}

/// The requests that run now.
#[derive(Debug, Default)]
pub(super) struct Permits {
    all: AtomicUsize,
    /// Made for the first that is counted: beside an application none is.
    sources: LazyLock<Sources>,
}

impl Permits {
    /// How many run.
    pub(super) fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }
}

/// Requests by source, without a lock: each source has a counter in either row, and as many requests
/// as the smaller one says, or fewer. The hashes are random, so nobody can aim at another's counters.
#[derive(Debug)]
struct Sources {
    keys: [RandomState; 2],
    rows: [Vec<AtomicUsize>; 2],
}

impl Default for Sources {
    fn default() -> Sources {
        let row = || (0..COUNTERS).map(|_| AtomicUsize::new(0)).collect();
        Sources {
            keys: [RandomState::new(), RandomState::new()],
            rows: [row(), row()],
        }
    }
}

impl Sources {
    /// Which counters are a source's.
    fn places_of(&self, source: IpAddr) -> [usize; 2] {
        let source = http::source(source);
        let counters = u64::try_from(COUNTERS).expect("a small number");
        let place = |key: &RandomState| usize::try_from(key.hash_one(source) % counters);
        self.keys
            .each_ref()
            .map(|key| place(key).expect("below a small number"))
    }

    fn counters(&self, [first, second]: [usize; 2]) -> [Option<&AtomicUsize>; 2] {
        let [row, other] = &self.rows;
        [row.get(first), other.get(second)]
    }
}

/// One request's permit to run; it counts until this is dropped.
pub(super) struct BusyPermit {
    permits: Arc<Permits>,
    connector: Arc<AtomicUsize>,
    /// Its counters; none where the source is not counted.
    source: Option<[usize; 2]>,
    /// Requests that could run in all.
    capacity: usize,
    /// How many of its shares are taken.
    taken: Cell<usize>,
}

impl BusyPermit {
    /// Not taken yet. `connector` counts those of the one who shares the site; a `source` that is
    /// `None` is not counted.
    pub(super) fn new(
        permits: &Arc<Permits>,
        connector: &Arc<AtomicUsize>,
        source: Option<IpAddr>,
        capacity: usize,
    ) -> BusyPermit {
        BusyPermit {
            permits: Arc::clone(permits),
            connector: Arc::clone(connector),
            source: source.map(|source| permits.sources.places_of(source)),
            capacity,
            taken: Cell::new(0),
        }
    }

    /// Takes it, as far as it is not taken already.
    pub(super) fn take(&self) -> Result<(), Full> {
        self.take_first(self.shares().len())
    }

    /// Takes the visitor's own share, for a body that is still to come; the others only need to have room now. So
    /// slow bodies use up nobody else's.
    pub(super) fn begin(&self) -> Result<(), Full> {
        self.take_first(1)?;
        let now = |counter: Option<&AtomicUsize>| counter.map(|c| c.load(Ordering::Relaxed));
        let shares = self.shares();
        let mut others = shares.iter().skip(1);
        let full = others.find(|share| is_full(share.0.map(now), share.1));
        full.map_or(Ok(()), |share| Err(share.2))
    }

    /// Takes the first shares one by one: a request that is refused at one counter never shows in the next.
    fn take_first(&self, wanted: usize) -> Result<(), Full> {
        let (shares, had) = (self.shares(), self.taken.get());
        for (counters, most, full) in shares.iter().take(wanted).skip(had) {
            let of_others =
                counters.map(|counter| counter.map(|c| c.fetch_add(1, Ordering::Relaxed)));
            self.taken.set(self.taken.get() + 1);
            if is_full(of_others, *most) {
                self.keep_first(had);
                return Err(*full);
            }
        }
        Ok(())
    }

    /// The counters of each share, the most that it may hold, and what to say where it does.
    fn shares(&self) -> [([Option<&AtomicUsize>; 2], usize, Full); 3] {
        let most = |(part, of): (usize, usize)| (self.capacity * part / of).max(1);
        let counters = |places| self.permits.sources.counters(places);
        let source = self.source.map_or([None; 2], counters);
        [
            (source, most(SOURCE), Full::Source),
            (
                [Some(&self.connector), None],
                most(CONNECTOR),
                Full::Connector,
            ),
            ([Some(&self.permits.all), None], most(ALL), Full::Sites),
        ]
    }

    /// Gives the other shares back.
    fn keep_first(&self, kept: usize) {
        let (all, taken) = (self.shares(), self.taken.replace(kept));
        let back = all.iter().take(taken).skip(kept);
        for counter in back.flat_map(|share| share.0).flatten() {
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The smaller counter is the better guess; where there is none, nothing is counted.
fn is_full(counts: [Option<usize>; 2], most: usize) -> bool {
    counts.into_iter().flatten().min() >= Some(most)
}

impl Drop for BusyPermit {
    fn drop(&mut self) {
        self.keep_first(0);
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
        let (permits, one, two) = <(Arc<Permits>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let ask = |connector, source| {
            let permit = BusyPermit::new(&permits, connector, source, 16);
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
        assert_eq!(one.load(Ordering::Relaxed), 0);
        assert_eq!(permits.all.load(Ordering::Relaxed), 0);
        let mut counters = permits.sources.rows.iter().flatten();
        assert!(counters.all(|counter| counter.load(Ordering::Relaxed) == 0));
    }

    /// As elsewhere: a household has a /64.
    #[test]
    fn a_network_of_ipv6_is_one_source_and_a_second_try_takes_nothing() {
        let (permits, busy) = <(Arc<Permits>, Arc<AtomicUsize>)>::default();
        let permit = |source| BusyPermit::new(&permits, &busy, ip(source), 4);
        let first = permit("2001:db8::1");
        assert_eq!(
            (first.begin(), first.take(), first.take()),
            (Ok(()), Ok(()), Ok(()))
        );
        assert_eq!(permit("2001:db8::2").begin(), Err(Full::Source));
        assert_eq!(permit("2001:db8:1::2").take(), Ok(()));
        assert_eq!(busy.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_body_that_is_sent_counts_for_its_visitor_alone() {
        let (permits, busy) = <(Arc<Permits>, Arc<AtomicUsize>)>::default();
        let permit = |last: u8| {
            let source = Some(IpAddr::from([192, 0, 2, last]));
            BusyPermit::new(&permits, &busy, source, 4)
        };
        let bodies: Vec<_> = (1..=8).map(permit).collect();
        assert!(bodies.iter().all(|body| body.begin() == Ok(())));
        assert_eq!(permit(1).begin(), Err(Full::Source));
        assert_eq!((busy.load(Ordering::Relaxed), permits.count()), (0, 0));
        assert_eq!(permit(9).take(), Ok(()), "there is room for whole requests");
        let whole = [0, 1, 2].map(|at| bodies[at].take());
        assert_eq!(whole, [Ok(()), Ok(()), Err(Full::Connector)]);
        assert_eq!(permit(10).begin(), Err(Full::Connector));
        drop(bodies);
        let mut counters = permits.sources.rows.iter().flatten();
        assert!(counters.all(|counter| counter.load(Ordering::Relaxed) == 0));
        assert_eq!((busy.load(Ordering::Relaxed), permits.count()), (0, 0));
    }
}
