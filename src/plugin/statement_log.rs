//! The statements of one database application's visitors, and who of them is there.
//!
//! In memory and bounded. A text is kept only where its owner asked for that, and then without passwords.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::{Serialize, Serializer};

use crate::http::metrics::{Durations, Histogram};
use crate::store::time::rfc3339;
use crate::sync::Mutex;

/// Statements that are kept. Default 500, some 100 KiB without texts.
const MOST: usize = 500;

/// Bytes of all texts that are kept; the oldest go first.
const MOST_TEXT: usize = 1024 * 1024;

/// How long a visitor counts as present after a request.
const PRESENT: Duration = Duration::from_secs(60);

/// Visitors that are remembered for that; whoever asked longest ago is forgotten first.
const MOST_VISITORS: usize = 1000;

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It did what it was to do.
    Ok,
    /// The read-only mode refused it, or the server did for want of a right.
    Refused,
    /// It failed.
    Failed,
    /// It was stopped: by its visitor, by the time limit, or since nobody waited any more.
    Cancelled,
}

/// All of them, by name.
const VERDICTS: [(Verdict, &str); 4] = [
    (Verdict::Ok, "ok"),
    (Verdict::Refused, "refused"),
    (Verdict::Failed, "failed"),
    (Verdict::Cancelled, "cancelled"),
];

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRecord {
    /// Counts the statements since the connection was made, from 1; given by the log.
    pub n: u64,
    /// When it was asked for.
    pub time: SystemTime,
    /// A short tag of the visitor's sign-in and their address, as far as there are such.
    pub visitor: String,
    /// Its first verb; `OTHER` where that is none that is known.
    pub kind: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// Rows that were sent.
    pub rows: u64,
    /// How long it took, in whole milliseconds.
    pub ms: u64,
    /// Its text without passwords, where that is kept.
    pub sql: Option<String>,
}

/// As the API shows it.
impl Serialize for StatementRecord {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            n: u64,
            time: String,
            visitor: &'a str,
            kind: &'static str,
            verdict: Verdict,
            rows: u64,
            ms: u64,
            sql: Option<&'a str>,
        }
        let shown = Shown {
            n: self.n,
            time: rfc3339(self.time),
            visitor: &self.visitor,
            kind: self.kind,
            verdict: self.verdict,
            rows: self.rows,
            ms: self.ms,
            sql: self.sql.as_deref(),
        };
        shown.serialize(to)
    }
}

/// Where statements are written beside memory. Called on the statement's own thread, with no lock held: it may wait for
/// a disk.
pub trait StatementSink: Send + Sync {
    /// A statement has ended.
    fn statement(&self, record: &StatementRecord);
}

/// Who is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Present {
    /// Visitors with a request under way or within the last minute.
    pub now: u64,
    /// Visitors since the connection was made; one that was forgotten meanwhile counts again.
    pub total: u64,
    /// When something was last asked for.
    pub last_at: Option<SystemTime>,
    /// Requests since the connection was made.
    pub requests: u64,
}

/// The log of one application's connection.
#[derive(Default)]
pub struct StatementLog {
    keeps_sql: AtomicBool,
    log: Mutex<Log>,
    sink: Mutex<Option<Arc<dyn StatementSink>>>,
}

#[derive(Default)]
struct Log {
    records: VecDeque<StatementRecord>,
    text: usize,
    last: u64,
    last_at: Option<SystemTime>,
    requests: u64,
    total: u64,
    /// By verdict, in their order.
    verdicts: [u64; 4],
    took: Histogram,
    visitors: HashMap<String, Seen>,
    /// The same visitors by the number of their last request.
    by_request: BTreeMap<u64, String>,
}

struct Seen {
    /// The number of the last request.
    request: u64,
    last: Instant,
    open: u64,
}

impl StatementLog {
    /// Whether texts are kept from now on; at first they are not.
    pub fn keep_sql(&self, keeps: bool) {
        self.keeps_sql.store(keeps, Ordering::SeqCst);
    }

    /// Whether they are.
    pub fn keeps_sql(&self) -> bool {
        self.keeps_sql.load(Ordering::SeqCst)
    }

    /// What is noted from now on goes to `sink` too, and to none that was there before.
    pub fn write_to(&self, sink: Option<Arc<dyn StatementSink>>) {
        *self.sink.lock() = sink;
    }

    /// Notes a statement that has ended.
    pub fn note(&self, mut record: StatementRecord) {
        let mut log = self.log.lock();
        log.last += 1;
        record.n = log.last;
        let verdicts = log.verdicts.iter_mut().zip(VERDICTS);
        for (count, _) in verdicts.filter(|(_, (verdict, _))| *verdict == record.verdict) {
            *count += 1;
        }
        log.took.note(Duration::from_millis(record.ms));
        log.text += text(&record);
        while log.records.len() >= MOST || log.text > MOST_TEXT && !log.records.is_empty() {
            let oldest = log.records.pop_front();
            log.text -= oldest.as_ref().map_or(0, text);
        }
        log.records.push_back(record.clone());
        drop(log);
        let sink = self.sink.lock().clone();
        if let Some(sink) = sink {
            sink.statement(&record);
        }
    }

    /// The number of the last statement, and those after number `after` that are kept. A number of an earlier connection
    /// stands for none.
    pub fn after(&self, after: u64) -> (u64, Vec<StatementRecord>) {
        let log = self.log.lock();
        let after = if after > log.last { 0 } else { after };
        let later = log.records.iter().filter(|record| record.n > after);
        (log.last, later.cloned().collect())
    }

    /// How many ended how since the connection was made, and how long they took.
    pub(crate) fn answers(&self) -> (Vec<(&'static str, u64)>, Durations) {
        let log = self.log.lock();
        let counts = VERDICTS.iter().zip(log.verdicts);
        let counts = counts.map(|((_, name), count)| (*name, count));
        (counts.collect(), log.took.read())
    }

    /// A visitor asks for something; they are there for as long as the answer lives. `visitor` is who counts as one.
    pub fn visit(self: &Arc<Self>, visitor: &str) -> Visit {
        self.log.lock().asks(visitor);
        Visit {
            log: self.clone(),
            visitor: visitor.to_owned(),
        }
    }

    /// Who is there.
    pub fn present(&self) -> Present {
        let log = self.log.lock();
        let now = log.visitors.values().filter(|seen| seen.is_present());
        Present {
            now: u64::try_from(now.count()).unwrap_or(u64::MAX),
            total: log.total,
            last_at: log.last_at,
            requests: log.requests,
        }
    }
}

impl Log {
    fn asks(&mut self, visitor: &str) {
        self.requests += 1;
        self.last_at = Some(SystemTime::now());
        let request = self.requests;
        let now = Instant::now();
        if let Some(seen) = self.visitors.get_mut(visitor) {
            self.by_request.remove(&seen.request);
            (seen.request, seen.last, seen.open) = (request, now, seen.open + 1);
        } else {
            if self.visitors.len() >= MOST_VISITORS
                && let Some((_, oldest)) = self.by_request.pop_first()
            {
                self.visitors.remove(&oldest);
            }
            let seen = Seen {
                request,
                last: now,
                open: 1,
            };
            self.visitors.insert(visitor.to_owned(), seen);
            self.total += 1;
        }
        self.by_request.insert(request, visitor.to_owned());
    }
}

fn text(record: &StatementRecord) -> usize {
    record.sql.as_ref().map_or(0, String::len)
}

impl Seen {
    fn is_present(&self) -> bool {
        self.open > 0 || self.last.elapsed() < PRESENT
    }
}

/// A request of a visitor's that is under way.
pub struct Visit {
    log: Arc<StatementLog>,
    visitor: String,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut log = self.log.log.lock();
        if let Some(seen) = log.visitors.get_mut(&self.visitor) {
            seen.open = seen.open.saturating_sub(1);
            seen.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sql: Option<String>) -> StatementRecord {
        StatementRecord {
            n: 0,
            time: SystemTime::UNIX_EPOCH,
            visitor: "v".into(),
            kind: "SELECT",
            verdict: Verdict::Ok,
            rows: 1,
            ms: 2,
            sql,
        }
    }

    #[test]
    fn the_log_is_bounded_by_number_and_text_and_read_on_from_a_number() {
        let log = StatementLog::default();
        for _ in 0..MOST + 10 {
            log.note(record(None));
        }
        let (last, all) = log.after(0);
        assert_eq!((last, all.len(), all[0].n), (510, MOST, 11));
        assert_eq!(log.after(508).1.len(), 2);
        assert_eq!(log.after(511).1.len(), MOST, "of an earlier connection");
        for _ in 0..3 {
            log.note(record(Some("x".repeat(MOST_TEXT / 2))));
        }
        let kept = log.after(510).1;
        assert_eq!(kept.len(), 2);
        assert!(log.log.lock().text <= MOST_TEXT);
        log.note(record(Some("x".repeat(2 * MOST_TEXT))));
        assert_eq!(log.after(0).1.len(), 1, "one alone is always kept");
    }

    #[test]
    fn whoever_asks_is_there() {
        let log = Arc::<StatementLog>::default();
        assert_eq!(log.present(), Present::default());
        let (one, two) = (log.visit("a"), log.visit("b"));
        drop(log.visit("a"));
        let present = log.present();
        assert_eq!((present.now, present.total, present.requests), (2, 2, 3));
        assert!(present.last_at.is_some());
        drop((one, two));
        assert_eq!(log.present().now, 2, "for a minute");
        let long_ago = Instant::now().checked_sub(PRESENT).unwrap();
        log.log.lock().visitors.get_mut("a").unwrap().last = long_ago;
        assert_eq!(log.present().now, 1);
    }

    #[test]
    fn no_more_visitors_are_remembered_than_the_most_and_the_oldest_goes() {
        let log = Arc::<StatementLog>::default();
        for n in 0..MOST_VISITORS {
            drop(log.visit(&n.to_string()));
        }
        // Asked again: others are older now.
        let open = log.visit("0");
        for n in 0..MOST_VISITORS - 1 {
            drop(log.visit(&format!("other {n}")));
        }
        let knows = |visitor: &str| log.log.lock().visitors.contains_key(visitor);
        assert_eq!(log.present().now, 1000);
        assert_eq!(log.log.lock().by_request.len(), MOST_VISITORS);
        assert!(knows("0") && knows("other 0") && !knows("1") && !knows("999"));
        drop(log.visit("one more"));
        assert!(!knows("0") && knows("other 0"));
        drop(open);
        assert_eq!(log.present().now, 1000);
    }

    #[test]
    fn what_is_noted_goes_to_the_sink_of_now() {
        struct Kept(Mutex<u64>);
        impl StatementSink for Kept {
            fn statement(&self, record: &StatementRecord) {
                *self.0.lock() = record.n;
            }
        }
        let (log, kept) = (StatementLog::default(), Arc::new(Kept(Mutex::default())));
        log.write_to(Some(kept.clone()));
        log.note(record(None));
        log.write_to(None);
        log.note(record(None));
        assert_eq!(*kept.0.lock(), 1);
    }
}
