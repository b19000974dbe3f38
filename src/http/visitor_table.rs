//! The visitors of one application's connection, the current ones and their number in all; and the source by which they count.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::store::time::{deserialize_rfc3339, serialize_rfc3339};
use crate::sync::{Changes, Mutex};

/// Visitors that are remembered, so that each counts once. Default 1000, some 100 KiB; the one that left first is
/// forgotten first, and counts again.
const MOST: usize = 1000;

/// Unit in which visitors are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Visitors, by their address or sign-in.
    #[default]
    Visitors,
    /// Connections, of which a browser opens several, as no trusted source names the visitors.
    Connections,
}

/// Visitors of an application.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct VisitorCount {
    /// Unit of `now` and `total`.
    pub counts: Counted,
    /// Current ones: with an open connection, or for a database with a request in the last minute.
    pub now: u64,
    /// All since it was connected.
    pub total: u64,
    /// Time of the last request, RFC 3339.
    #[serde(
        serialize_with = "serialize_rfc3339",
        deserialize_with = "deserialize_rfc3339"
    )]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub last_at: Option<SystemTime>,
    /// Requests since it was connected; for protocols other than HTTP, connections.
    pub requests: u64,
}

/// Visitors by a key `K`.
pub struct VisitorTable<K> {
    state: Mutex<TableState<K>>,
    changes: Arc<Changes>,
}

struct TableState<K> {
    /// By key; those without one together.
    known: HashMap<Option<K>, VisitorEntry>,
    count: VisitorCount,
}

struct VisitorEntry {
    open: u64,
    last: Instant,
}

impl<K> Default for VisitorTable<K> {
    fn default() -> Self {
        Self::notifying(Arc::default())
    }
}

impl<K> VisitorTable<K> {
    /// Makes a table that reports each new visitor.
    pub(crate) fn notifying(changes: Arc<Changes>) -> Self {
        let state = TableState {
            known: HashMap::new(),
            count: VisitorCount::default(),
        };
        Self {
            state: Mutex::new(state),
            changes,
        }
    }
}

impl<K: Clone + Eq + Hash> VisitorTable<K> {
    /// Counts a request of this time.
    pub fn count_request(&self, time: SystemTime) {
        let count = &mut self.state.lock().count;
        count.requests += 1;
        count.last_at = count.last_at.max(Some(time));
    }

    /// Returns the counts. A visitor counts as current while one of their [`VisitorPresence`]s lives, and for `linger`
    /// after that.
    pub fn count(&self, linger: Duration) -> VisitorCount {
        let state = self.state.lock();
        let now = state.known.iter().map(|(visitor, seen)| match visitor {
            Some(_) => u64::from(seen.open > 0 || seen.last.elapsed() < linger),
            None => seen.open,
        });
        VisitorCount {
            now: now.sum(),
            ..state.count.clone()
        }
    }

    fn enter(&self, visitor: &Option<K>) {
        let mut state = self.state.lock();
        if visitor.is_none() {
            state.count.counts = Counted::Connections;
        }
        let is_new = visitor.is_none() || !state.known.contains_key(visitor);
        state.count.total += u64::from(is_new);
        let last = Instant::now();
        let seen = state.known.entry(visitor.clone());
        let seen = seen.or_insert(VisitorEntry { open: 0, last });
        (seen.open, seen.last) = (seen.open + 1, last);
        state.forget();
        drop(state);
        if is_new {
            self.changes.note();
        }
    }

    fn leave(&self, visitor: &Option<K>) {
        let mut state = self.state.lock();
        if let Some(seen) = state.known.get_mut(visitor) {
            (seen.open, seen.last) = (seen.open - 1, Instant::now());
        }
        state.forget();
    }
}

impl<K: Clone + Eq + Hash> TableState<K> {
    /// Forgets a visitor who has left, if there are too many. The current ones are as few as open connections.
    fn forget(&mut self) {
        if self.known.len() > MOST {
            let gone = self.known.iter().filter(|(_, seen)| seen.open == 0);
            let oldest = gone.min_by_key(|(_, seen)| seen.last);
            if let Some(oldest) = oldest.map(|(visitor, _)| visitor.clone()) {
                self.known.remove(&oldest);
            }
        }
    }
}

/// Open connection or request of a visitor; it counts until this is dropped.
pub struct VisitorPresence<K: Clone + Eq + Hash> {
    table: Arc<VisitorTable<K>>,
    visitor: Option<K>,
}

impl<K: Clone + Eq + Hash> VisitorPresence<K> {
    /// Counts a presence of `visitor`, if known.
    pub fn new(table: &Arc<VisitorTable<K>>, visitor: Option<K>) -> Self {
        table.enter(&visitor);
        Self {
            table: Arc::clone(table),
            visitor,
        }
    }

    /// Passes it to another visitor, whose request came last.
    pub fn set_visitor(&mut self, visitor: Option<K>) {
        if self.visitor != visitor {
            *self = Self::new(&self.table, visitor);
        }
    }
}

impl<K: Clone + Eq + Hash> Drop for VisitorPresence<K> {
    fn drop(&mut self) {
        self.table.leave(&self.visitor);
    }
}

/// Returns the source for counting connections or attempts: an IPv4 address,
/// or an IPv6 /64, of which one host may use every address.
pub fn source(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            let network = ip.to_bits() >> 64 << 64;
            Ipv6Addr::from_bits(network).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn visitors_are_counted_once_and_who_is_not_known_by_connection() {
        let table = Arc::new(VisitorTable::<IpAddr>::default());
        let ip = |text: &str| Some(text.parse().unwrap());
        let counted = || {
            let count = table.count(Duration::ZERO);
            (count.now, count.total)
        };
        let one = VisitorPresence::new(&table, ip("192.0.2.1"));
        let mut two = VisitorPresence::new(&table, ip("2001:db8::"));
        assert_eq!(counted(), (2, 2));
        two.set_visitor(ip("192.0.2.1"));
        assert_eq!(counted(), (1, 2));
        assert_eq!(table.count(MINUTE).counts, Counted::Visitors);
        let others = [None, None, ip("192.0.2.2")].map(|ip| VisitorPresence::new(&table, ip));
        assert_eq!(counted().0, 4);
        drop((one, two));
        assert_eq!(counted().0, 3);
        drop(others);
        assert_eq!(counted(), (0, 5));
        let count = table.count(MINUTE);
        assert_eq!((count.now, count.counts), (3, Counted::Connections));
    }

    #[test]
    fn who_asked_within_the_time_is_there() {
        let table = Arc::new(VisitorTable::default());
        assert_eq!(table.count(MINUTE), VisitorCount::default());
        let visit = |who| {
            table.count_request(SystemTime::now());
            VisitorPresence::new(&table, Some(who))
        };
        let (one, two) = (visit("a"), visit("b"));
        drop(visit("a"));
        let count = table.count(MINUTE);
        assert_eq!((count.now, count.total, count.requests), (2, 2, 3));
        assert!(count.last_at.is_some());
        drop((one, two));
        assert_eq!(table.count(MINUTE).now, 2);
        let long_ago = Instant::now().checked_sub(MINUTE).unwrap();
        table.state.lock().known.get_mut(&Some("a")).unwrap().last = long_ago;
        assert_eq!(table.count(MINUTE).now, 1);
    }

    #[test]
    fn no_more_visitors_are_remembered_than_the_most_and_who_is_gone_longest_goes() {
        let table = Arc::new(VisitorTable::default());
        let visit = |who: &str| VisitorPresence::new(&table, Some(who.to_owned()));
        (0..MOST).for_each(|n| drop(visit(&n.to_string())));
        let open = visit("0");
        (0..MOST - 1).for_each(|n| drop(visit(&format!("other {n}"))));
        let knows = |who: &str| table.state.lock().known.contains_key(&Some(who.to_owned()));
        assert_eq!(table.count(MINUTE).now, 1000);
        assert!(knows("0") && knows("other 0") && !knows("1") && !knows("999"));
        drop(visit("one more"));
        assert!(knows("0") && !knows("other 0"), "who is there stays");
        drop(open);
        assert_eq!(table.count(MINUTE).now, 1000);
    }

    #[test]
    fn who_is_there_is_remembered_though_many_are() {
        let table = Arc::new(VisitorTable::default());
        let visit = |n| VisitorPresence::new(&table, Some(n));
        let open: Vec<_> = (0..MOST + 10).map(visit).collect();
        assert_eq!(table.count(Duration::ZERO).now, 1010);
        drop(open);
        assert_eq!(table.count(Duration::ZERO).now, 0);
        assert_eq!(table.state.lock().known.len(), MOST);
    }
}
