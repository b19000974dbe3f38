//! The connections of a server: which there are, and which gives way to a new one.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection_handler::Reset;
use crate::http::source;
use crate::net::reset_when_closed;
use crate::sync::{Condvar, Mutex};

/// Time that connections have to end once they were shut down at the stop.
const SHUT_TIME: Duration = Duration::from_millis(300);

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its head is awaited or incomplete.
    Head,
    /// It waits for a further request.
    Idle,
    /// Its body is read.
    Body,
    /// It does not take its answer.
    Stalled,
    /// Its request is under way.
    Busy,
    /// Its last answer is sent.
    Closing,
}

/// One connection.
pub(super) struct ConnectionEntry {
    pub(super) id: u64,
    pub(super) socket: TcpStream,
    pub(super) peer: SocketAddr,
    /// Where it is in its life, and since when.
    phase: Mutex<(Phase, Instant)>,
}

impl ConnectionEntry {
    pub(super) fn enter(&self, phase: Phase) {
        *self.phase.lock() = (phase, Instant::now());
    }

    /// Its request is read, unless it is at work already.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "of kept connections, which Linux alone has")
    )]
    pub(super) fn leave_idle(&self) {
        let mut phase = self.phase.lock();
        if phase.0 == Phase::Idle {
            *phase = (Phase::Body, Instant::now());
        }
    }

    fn phase(&self) -> Phase {
        self.phase.lock().0
    }

    /// The order in which connections are given up; `None` for one that is at work. A body
    /// may come slowly for long, and whoever sends it need not have signed in.
    fn rank(&self) -> Option<(u8, Instant)> {
        let (phase, since) = *self.phase.lock();
        match phase {
            Phase::Head => Some((0, since)),
            Phase::Closing => Some((1, since)),
            Phase::Idle => Some((2, since)),
            Phase::Body => Some((3, since)),
            Phase::Stalled => Some((4, since)),
            Phase::Busy => None,
        }
    }

    fn shut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Reset for ConnectionEntry {
    /// Its thread is woken, and closes it.
    fn reset(&self) {
        reset_when_closed(&self.socket);
        self.shut();
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

    /// Gives the socket back over a cap. At the cap of all, the oldest connection that does
    /// no work is given up for the new one.
    pub(super) fn admit(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        is_counted: bool,
    ) -> Result<Arc<ConnectionEntry>, TcpStream> {
        let mut entries = self.entries.lock();
        let crowded = is_counted && entries.is_crowded(peer.ip(), self.per_source);
        if crowded || (entries.by_id.len() >= self.max && !entries.evict()) {
            return Err(socket);
        }
        entries.next += 1;
        let entry = Arc::new(ConnectionEntry {
            id: entries.next,
            socket,
            peer,
            phase: Mutex::new((Phase::Head, Instant::now())),
        });
        entries.by_id.insert(entry.id, Arc::clone(&entry));
        Ok(entry)
    }

    pub(super) fn evict(&self) {
        self.entries.lock().evict();
    }

    pub(super) fn give_up_idle(&self) {
        self.entries.lock().evict_of(|phase| phase == Phase::Idle);
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
    /// Gives up one connection; its thread notices and ends.
    fn evict(&mut self) -> bool {
        self.evict_of(|_| true)
    }

    fn evict_of(&mut self, may: impl Fn(Phase) -> bool) -> bool {
        let ranked = self
            .by_id
            .values()
            .filter(|entry| may(entry.phase()))
            .filter_map(|e| Some((e.rank()?, e.id)));
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
    use std::net::TcpListener;

    use super::*;

    fn socket() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    }

    fn admit(table: &ConnectionTable, peer: &str) -> Option<Arc<ConnectionEntry>> {
        table.admit(socket(), peer.parse().unwrap(), true).ok()
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

    #[test]
    fn at_the_cap_the_oldest_incomplete_head_goes_and_work_stays() {
        let table = ConnectionTable::new(4, 4);
        let entries: Vec<_> = (1..=4)
            .map(|port| admit(&table, &format!("127.0.0.1:{port}")).unwrap())
            .collect();
        entries[0].enter(Phase::Busy);
        entries[1].enter(Phase::Idle);
        let left = || entries.iter().map(|e| holds(&table, e)).collect::<Vec<_>>();
        let mut late = Vec::new();
        for wanted in [[true, true, false, true], [true, true, false, false]] {
            late.push(admit(&table, "127.0.0.1:9").unwrap());
            assert_eq!(left(), wanted);
        }
        late.iter().for_each(|entry| entry.enter(Phase::Busy));
        late.push(admit(&table, "127.0.0.1:9").unwrap());
        assert_eq!(left(), [true, false, false, false]);
        late.iter().for_each(|entry| entry.enter(Phase::Busy));
        assert!(admit(&table, "127.0.0.1:9").is_none());
    }

    #[test]
    fn a_body_that_is_read_gives_way_last() {
        let table = ConnectionTable::new(3, 3);
        let entries: Vec<_> = [Phase::Busy, Phase::Body, Phase::Idle]
            .into_iter()
            .map(|phase| {
                let entry = admit(&table, "127.0.0.1:1").unwrap();
                entry.enter(phase);
                entry
            })
            .collect();
        let left = || entries.iter().map(|e| holds(&table, e)).collect::<Vec<_>>();
        for wanted in [[true, true, false], [true, false, false]] {
            admit(&table, "127.0.0.1:9").unwrap().enter(Phase::Busy);
            assert_eq!(left(), wanted);
        }
    }

    /// One household or host has a /64 of IPv6 for itself.
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
