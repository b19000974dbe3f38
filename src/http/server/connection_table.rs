//! The connections of a server, and the order in which they give way to a new one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection_handler::Reset;
use crate::http::source;
use crate::sync::{Condvar, Mutex};

/// Time that connections have to end once they were shut down at the stop.
const SHUT_TIME: Duration = Duration::from_millis(300);
/// Time after which a head or a body that does not come on is slow. Default 2 s: most are whole at once.
const SLOW_AFTER: Duration = crate::limits::SLOW_AFTER;

/// State of a connection's current request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its head is awaited or incomplete.
    Head,
    /// A further request is awaited.
    Idle,
    /// Its body is read.
    Body,
    /// The client does not take its answer.
    Stalled,
    /// Its request is under way.
    Busy,
    /// Its last answer is sent.
    Closing,
}

/// The order in which connections are given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EvictionRank {
    Closing,
    SlowHead,
    SlowBody,
    Idle,
    /// A head or a body that comes on.
    Coming,
    Stalled,
}

/// One connection.
pub(super) struct ConnectionEntry {
    pub(super) id: u64,
    carrier: Arc<dyn Reset>,
    pub(super) peer: SocketAddr,
    life: Mutex<PhaseState>,
    /// Visitor whose body it carries, if known: a proxy's connections are many visitors'.
    source: Mutex<Option<IpAddr>>,
}

/// Phase of a connection, and its progress in it.
struct PhaseState {
    phase: Phase,
    /// Time at which the phase began, or at which its body last made progress.
    since: Instant,
    /// Bytes of its body that came after that.
    came: usize,
}

impl PhaseState {
    fn new(phase: Phase) -> PhaseState {
        let (since, came) = (Instant::now(), 0);
        PhaseState { phase, since, came }
    }
}

impl ConnectionEntry {
    /// Sets its phase, which begins now.
    pub(super) fn set_phase(&self, phase: Phase) {
        *self.life.lock() = PhaseState::new(phase);
    }

    /// Sets the visitor whose body it carries from here on.
    pub(super) fn set_source(&self, visitor: Option<IpAddr>) {
        *self.source.lock() = visitor.map(source);
    }

    /// Counts bytes of its body: one that brings `enough` of them in time is not slow.
    pub(super) fn note_body(&self, bytes: usize, enough: usize) {
        let mut life = self.life.lock();
        life.came = life.came.saturating_add(bytes);
        if life.phase == Phase::Body && life.came >= enough {
            *life = PhaseState::new(Phase::Body);
        }
    }

    /// Called when its next request is read; does nothing if it is at work already.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "of kept connections, which Linux alone has")
    )]
    pub(super) fn mark_reading(&self) {
        let mut life = self.life.lock();
        if life.phase == Phase::Idle {
            *life = PhaseState::new(Phase::Body);
        }
    }

    /// Returns its place in the order in which connections are given up; `None` if it is at work. A slow sender need
    /// not have signed in; a new request is soon whole, and may be anybody's.
    fn rank(&self) -> Option<(EvictionRank, Instant)> {
        let life = self.life.lock();
        let is_slow = life.since.elapsed() >= SLOW_AFTER;
        let rank = match life.phase {
            Phase::Closing => EvictionRank::Closing,
            Phase::Head if is_slow => EvictionRank::SlowHead,
            Phase::Body if is_slow => EvictionRank::SlowBody,
            Phase::Idle => EvictionRank::Idle,
            Phase::Head | Phase::Body => EvictionRank::Coming,
            Phase::Stalled => EvictionRank::Stalled,
            Phase::Busy => return None,
        };
        Some((rank, life.since))
    }

    /// Returns the handle that ends it from elsewhere.
    pub(super) fn resetter(&self) -> Arc<dyn Reset> {
        Arc::clone(&self.carrier)
    }

    fn shut(&self) {
        self.carrier.shut();
    }
}

/// All connections of a server.
pub(super) struct ConnectionTable {
    pub(super) max: usize,
    per_source: usize,
    entries: Mutex<Entries>,
    changed: Condvar,
}

#[derive(Default)]
struct Entries {
    next: u64,
    by_id: HashMap<u64, Arc<ConnectionEntry>>,
}

impl ConnectionTable {
    pub(super) fn new(max: usize, per_source: usize) -> ConnectionTable {
        ConnectionTable {
            max,
            per_source,
            entries: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Admits a connection; `None` over a cap. At the cap of all, the oldest connection that does no work is given up
    /// for the new one.
    pub(super) fn admit(
        &self,
        carrier: Arc<dyn Reset>,
        peer: SocketAddr,
        is_counted: bool,
    ) -> Option<Arc<ConnectionEntry>> {
        let mut entries = self.entries.lock();
        let crowded = is_counted && entries.is_crowded(peer.ip(), self.per_source);
        if crowded || (entries.by_id.len() >= self.max && !entries.evict(self.share(), |_| true)) {
            return None;
        }
        entries.next += 1;
        let entry = Arc::new(ConnectionEntry {
            id: entries.next,
            carrier,
            peer,
            life: Mutex::new(PhaseState::new(Phase::Head)),
            source: Mutex::default(),
        });
        entries.by_id.insert(entry.id, Arc::clone(&entry));
        Some(entry)
    }

    pub(super) fn evict(&self) {
        self.entries.lock().evict(self.share(), |_| true);
    }

    /// Number of connections that one visitor may have.
    fn share(&self) -> usize {
        let (part, of) = crate::limits::OF_ONE_VISITOR;
        (self.max * part / of).max(1)
    }

    /// True if the visitor of this connection has more than a share of all.
    pub(super) fn is_over_share(&self, entry: &ConnectionEntry) -> bool {
        let visitor = *entry.source.lock();
        let count = |one: IpAddr| self.entries.lock().by_source().get(&one).copied();
        visitor.and_then(count) > Some(self.share())
    }

    /// Gives up a connection that has a stream and makes little use of it.
    pub(super) fn give_up_idle(&self) {
        let may = |rank| matches!(rank, EvictionRank::SlowBody | EvictionRank::Idle);
        self.entries.lock().evict(self.share(), may);
    }

    pub(super) fn remove(&self, id: u64) {
        drop(self.entries.lock().by_id.remove(&id));
        self.changed.notify_all();
    }

    pub(super) fn stop(&self, time: Duration) {
        self.each(|entry| {
            if entry.rank().is_some() {
                entry.shut();
            }
        });
        self.wait_empty(time);
        self.each(ConnectionEntry::shut);
        self.wait_empty(SHUT_TIME);
    }

    fn each(&self, f: impl Fn(&ConnectionEntry)) {
        self.entries.lock().by_id.values().for_each(|e| f(e));
    }

    fn wait_empty(&self, time: Duration) {
        let entries = self.entries.lock();
        let waited = self
            .changed
            .wait_timeout_while(entries, time, |entries| !entries.by_id.is_empty());
        drop(waited);
    }
}

impl Entries {
    /// Connections of each visitor who is known.
    fn by_source(&self) -> HashMap<IpAddr, usize> {
        let mut counts = HashMap::new();
        for visitor in self.by_id.values().filter_map(|entry| *entry.source.lock()) {
            *counts.entry(visitor).or_default() += 1;
        }
        counts
    }

    /// Gives up one connection; its thread notices and ends. Connections of a visitor with more than the `share` come
    /// first, then the rank decides, then the visitor with more connections, then the time.
    fn evict(&mut self, share: usize, may: impl Fn(EvictionRank) -> bool) -> bool {
        let counts = self.by_source();
        let ranked = self.by_id.values().filter_map(|entry| {
            let (rank, since) = entry.rank().filter(|(rank, _)| may(*rank))?;
            let visitor = *entry.source.lock();
            let count = visitor
                .and_then(|one| counts.get(&one))
                .copied()
                .unwrap_or(0);
            Some(((count <= share, rank, Reverse(count), since), entry.id))
        });
        let Some((_, id)) = ranked.min() else {
            return false;
        };
        if let Some(entry) = self.by_id.remove(&id) {
            entry.shut();
        }
        true
    }

    fn is_crowded(&self, peer: IpAddr, max: usize) -> bool {
        let one = source(peer);
        let same = |entry: &&Arc<ConnectionEntry>| source(entry.peer.ip()) == one;
        !one.is_loopback() && self.by_id.values().filter(same).count() >= max
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn socket() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    }

    fn admit(table: &ConnectionTable, peer: &str) -> Option<Arc<ConnectionEntry>> {
        table.admit(Arc::new(socket()), peer.parse().unwrap(), true)
    }

    fn holds(table: &ConnectionTable, entry: &ConnectionEntry) -> bool {
        table.entries.lock().by_id.contains_key(&entry.id)
    }

    #[test]
    fn a_source_has_its_share_and_loopback_has_all() {
        let table = ConnectionTable::new(6, 2);
        let first = admit(&table, "192.0.2.1:1").unwrap();
        assert!(admit(&table, "192.0.2.1:2").is_some());
        assert!(admit(&table, "192.0.2.1:3").is_none());
        assert!(admit(&table, "192.0.2.2:1").is_some());
        for port in 1..=3 {
            assert!(admit(&table, &format!("127.0.0.1:{port}")).is_some());
        }
        assert!(admit(&table, "192.0.2.1:4").is_none());
        assert!(
            holds(&table, &first),
            "a source over its share costs nobody else"
        );
        table.remove(first.id);
        assert!(admit(&table, "192.0.2.1:5").is_some());
    }

    /// Connections in the expected order of being given up; the last one is not.
    #[test]
    fn at_the_cap_the_slow_give_way_before_the_idle_and_work_stays() {
        let slow = SLOW_AFTER + Duration::from_secs(1);
        let lives = [
            (Phase::Closing, Duration::ZERO),
            (Phase::Head, 2 * slow),
            (Phase::Head, slow),
            (Phase::Body, 2 * slow),
            (Phase::Body, slow),
            (Phase::Idle, 2 * slow),
            (Phase::Idle, Duration::ZERO),
            (Phase::Body, SLOW_AFTER / 2),
            (Phase::Head, Duration::ZERO),
            (Phase::Stalled, 2 * slow),
            (Phase::Busy, 2 * slow),
        ];
        let table = ConnectionTable::new(lives.len(), lives.len());
        let enter = |(phase, age): (Phase, Duration)| {
            let entry = admit(&table, "127.0.0.1:1").unwrap();
            entry.set_phase(phase);
            entry.life.lock().since -= age;
            entry
        };
        let entries: Vec<_> = lives.into_iter().map(enter).collect();
        for given_up in 0..lives.len() {
            let left: Vec<_> = entries.iter().map(|e| holds(&table, e)).collect();
            assert!(
                left.iter()
                    .enumerate()
                    .all(|(at, held)| *held == (at >= given_up)),
                "{left:?}"
            );
            match admit(&table, "127.0.0.1:9") {
                Some(entry) => entry.set_phase(Phase::Busy),
                None => assert_eq!(given_up, lives.len() - 1),
            }
        }
    }

    #[test]
    fn a_body_that_comes_on_is_not_slow() {
        let table = ConnectionTable::new(2, 2);
        let [body, idle] = [Phase::Body, Phase::Idle].map(|phase| {
            let entry = admit(&table, "127.0.0.1:1").unwrap();
            entry.set_phase(phase);
            entry.life.lock().since -= SLOW_AFTER;
            entry
        });
        body.note_body(10, 16);
        assert_eq!(body.rank().unwrap().0, EvictionRank::SlowBody);
        body.note_body(6, 16);
        assert_eq!(body.rank().unwrap().0, EvictionRank::Coming);
        table.give_up_idle();
        assert!(holds(&table, &body) && !holds(&table, &idle));
        table.give_up_idle();
        assert!(holds(&table, &body), "it comes on");
    }

    /// A household or host has a /64 of IPv6 for itself.
    #[test]
    fn addresses_of_one_ipv6_network_are_one_source() {
        let table = ConnectionTable::new(9, 2);
        assert!(admit(&table, "[2001:db8::1]:1").is_some());
        assert!(admit(&table, "[2001:db8::2]:1").is_some());
        assert!(admit(&table, "[2001:db8::ffff:3]:1").is_none());
        assert!(admit(&table, "[2001:db8:0:1::1]:1").is_some());
        assert!(admit(&table, "[::ffff:192.0.2.1]:1").is_some());
        assert!(admit(&table, "192.0.2.1:2").is_some());
        assert!(admit(&table, "192.0.2.1:3").is_none());
    }
}
