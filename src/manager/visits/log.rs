//! The log of one application's connection.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::record::{Counted, RequestRecord, Visitors};
use crate::gateway::RequestStats;
use crate::http;
use crate::store::time::rfc3339;
use crate::sync::Mutex;

/// Requests that are kept. Default 500, some 100 KiB.
const MOST: usize = crate::limits::REQUEST_LOG;

/// Visitors that are remembered, so that each counts once. Default 1000, some 20 KiB: more are not counted.
const MOST_KNOWN: usize = 1000;

/// Where requests are written beside memory: files, where the user asked for them. Called on the thread that served the
/// visitor, with no lock held: it may wait for a disk, and must not fail loudly more than once.
pub(crate) trait RequestSink: Send + Sync {
    /// A request was answered, or broke off.
    fn request(&self, record: &RequestRecord);
}

/// The requests of one connection, and who is there now.
#[derive(Default)]
pub(crate) struct Visits {
    log: Mutex<Log>,
    sink: Mutex<Option<Arc<dyn RequestSink>>>,
    /// Counters since the connection was made.
    pub(crate) stats: Arc<RequestStats>,
}

#[derive(Default)]
struct Log {
    records: VecDeque<RequestRecord>,
    last: u64,
    last_at: Option<SystemTime>,
    /// Open connections by visitor: as many as there may be streams.
    present: HashMap<Option<IpAddr>, u64>,
    /// Visitors that were here.
    known: HashSet<IpAddr>,
    /// Connections of whom nobody that is believed says where they come from.
    unknown: u64,
}

impl Visits {
    /// Sends new entries to `sink` too, instead of an earlier one.
    pub(crate) fn write_to(&self, sink: Option<Arc<dyn RequestSink>>) {
        *self.sink.lock() = sink;
    }

    /// Notes a request.
    pub(crate) fn note(&self, mut record: RequestRecord) {
        let took = Duration::from_millis(record.ms.into());
        self.stats.note(record.status, took);
        let mut log = self.log.lock();
        log.last += 1;
        record.n = log.last;
        log.last_at = log.last_at.max(Some(record.time));
        if log.records.len() >= MOST {
            log.records.pop_front();
        }
        let sink = self.sink.lock().clone();
        let Some(sink) = sink else {
            return log.records.push_back(record);
        };
        log.records.push_back(record.clone());
        drop(log);
        sink.request(&record);
    }

    /// Somebody asks at this time; [`Visits::note`] follows when it is over.
    pub(crate) fn asks(&self, time: SystemTime) {
        let mut log = self.log.lock();
        log.last_at = log.last_at.max(Some(time));
    }

    /// The number of the last request, and those after number `after` that are kept. A number of an earlier connection
    /// stands for none.
    pub(crate) fn after(&self, after: u64) -> (u64, Vec<RequestRecord>) {
        let log = self.log.lock();
        let after = if after > log.last { 0 } else { after };
        let later = log.records.iter().filter(|record| record.n > after);
        (log.last, later.cloned().collect())
    }

    /// Current visitors.
    pub(crate) fn visitors(&self) -> Visitors {
        let log = self.log.lock();
        let unknown = log.present.get(&None).copied().unwrap_or(0);
        let count = |known: usize| u64::try_from(known).unwrap_or(u64::MAX);
        Visitors {
            counts: match log.unknown {
                0 => Counted::Visitors,
                _ => Counted::Connections,
            },
            now: unknown + count(log.present.keys().flatten().count()),
            total: log.unknown + count(log.known.len()),
            last_at: log.last_at.map(rfc3339),
            requests: log.last,
        }
    }

    fn come(&self, source: Option<IpAddr>) {
        let mut log = self.log.lock();
        *log.present.entry(source).or_default() += 1;
        match source {
            Some(source) if log.known.len() < MOST_KNOWN => {
                log.known.insert(source);
            }
            Some(_) => {}
            None => log.unknown += 1,
        }
    }

    fn go(&self, source: Option<IpAddr>) {
        let mut log = self.log.lock();
        if let Some(count) = log.present.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                log.present.remove(&source);
            }
        }
    }
}

/// A visitor's connection that is open; it counts until this is dropped.
pub(crate) struct Presence {
    visits: Arc<Visits>,
    source: Option<IpAddr>,
}

impl Presence {
    /// One of this visitor's, as far as that is known.
    /// A network that one host may use all of is one.
    pub(crate) fn new(visits: &Arc<Visits>, source: Option<IpAddr>) -> Presence {
        let source = source.map(http::source);
        visits.come(source);
        Presence {
            visits: Arc::clone(visits),
            source,
        }
    }

    /// It was this visitor's last request that came.
    pub(crate) fn is_of(&mut self, source: Option<IpAddr>) {
        if self.source != source.map(http::source) {
            *self = Presence::new(&self.visits, source);
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.visits.go(self.source);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn record(path: &str) -> RequestRecord {
        let times = (SystemTime::UNIX_EPOCH, Duration::ZERO);
        RequestRecord::new(("GET", path), None, times, (200, 0))
    }

    #[test]
    fn the_log_is_bounded_and_read_on_from_a_number() {
        let visits = Visits::default();
        for n in 1..=MOST + 10 {
            visits.note(record(&format!("/{n}")));
        }
        let (last, all) = visits.after(0);
        assert_eq!((last, all.len()), (510, MOST));
        assert_eq!((all[0].n, all[0].path()), (11, "/11"));
        let (last, later) = visits.after(508);
        assert_eq!((last, later.len()), (510, 2));
        assert_eq!(visits.after(510).1.len(), 0);
        assert_eq!(visits.after(9999).1.len(), MOST, "of an earlier connection");
        assert_eq!(visits.visitors().requests, 510);
        let classes = visits.stats.classes();
        assert_eq!((classes[2], classes[4]), (("2xx", 510), ("4xx", 0)));
    }

    #[test]
    fn visitors_are_counted_by_address() {
        let visits = Arc::new(Visits::default());
        let ip = |text: &str| Some(text.parse().unwrap());
        let now = || visits.visitors().now;
        let one = Presence::new(&visits, ip("192.0.2.1"));
        let mut two = Presence::new(&visits, ip("2001:db8::1"));
        two.is_of(ip("2001:db8::2"));
        assert_eq!((now(), visits.visitors().total), (2, 2));
        two.is_of(ip("192.0.2.1"));
        assert_eq!((now(), visits.visitors().total), (1, 2));
        assert_eq!(visits.visitors().counts, Counted::Visitors);
        let others = [None, None, ip("192.0.2.2")].map(|ip| Presence::new(&visits, ip));
        assert_eq!(now(), 4);
        drop((one, two));
        assert_eq!(now(), 3);
        drop(others);
        let nobody = visits.visitors();
        assert_eq!((nobody.now, nobody.total), (0, 5));
        assert_eq!(nobody.counts, Counted::Connections, "as far as is known");
        assert!(visits.log.lock().present.is_empty());
    }

    #[test]
    fn a_sink_gets_what_is_logged() {
        struct Kept(Mutex<Vec<u64>>);
        impl RequestSink for Kept {
            fn request(&self, record: &RequestRecord) {
                self.0.lock().push(record.n);
            }
        }
        let kept = Arc::new(Kept(Mutex::default()));
        let visits = Visits::default();
        let sink: Arc<dyn RequestSink> = kept.clone();
        visits.write_to(Some(sink));
        visits.note(record("/"));
        visits.note(record("/"));
        visits.write_to(None);
        visits.note(record("/"));
        assert_eq!(*kept.0.lock(), [1, 2]);
    }
}
