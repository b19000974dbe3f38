//! The statements of one database application's visitors, and who of them is there.
//!
//! In memory and bounded. A text is kept only where its owner asked for that, and then without passwords.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::{Serialize, Serializer};

use crate::http;
use crate::http::metrics::{Durations, Histogram};
use crate::store::time::rfc3339;
use crate::sync::Mutex;

/// Statements that are kept. Default 500, some 100 KiB without texts.
const MOST: usize = crate::limits::STATEMENT_LOG;

/// Bytes of all texts that are kept; the oldest go first.
const MOST_TEXT: usize = 1024 * 1024;

/// How long a visitor counts as present after a request.
const PRESENT: Duration = Duration::from_secs(60);

/// Visitors that are remembered for that; whoever asked longest ago is forgotten first.
const MOST_VISITORS: usize = 1000;

/// Lines of one visitor a minute of what changed nothing; what comes beyond is counted, and one line says how much. Default
/// 120: somebody at a keyboard has fewer, and those of others stay in sight.
const LINES_A_MINUTE: u64 = crate::limits::STATEMENT_LINES;

/// Verbs of what changes nothing, where the client may change something.
#[rustfmt::skip]
const READING: [&str; 9] = ["DESC", "DESCRIBE", "EXPLAIN", "HELP", "SELECT", "SHOW", "TABLE", "USE", "VALUES"];

/// Rows from which on a statement is counted apart. Default 1000: nobody hides what was copied behind small statements.
const MANY_ROWS: u64 = 1000;

/// The kind of a line that stands for statements of several kinds.
const SEVERAL: &str = "OTHER";

/// Statements that are counted apart: none of one group takes another's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Group {
    Small,
    /// With many rows, and whole dumps.
    Large,
    Failed,
}

/// Time within which they are counted.
const MINUTE: Duration = Duration::from_secs(60);

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
    /// Counts the lines since the connection was made, from 1; given by the log.
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
    /// Statements of the visitor that have no lines of their own, and that this line stands for; 0 where it is of one.
    pub more: u64,
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
            more: u64,
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
            more: self.more,
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

/// Current visitors.
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
    is_read_only: AtomicBool,
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
    /// Visitors by the number of their last request.
    by_request: BTreeMap<u64, String>,
    /// Those who have had lines within the last minute: of what ran, and of what was refused or failed.
    minutes: HashMap<(String, Group), Minute>,
}

/// Lines of one visitor since a minute began.
struct Minute {
    began: Instant,
    lines: u64,
    /// All that has no line: their number, rows and time, the worst end, and kind and visitor where they are one's.
    more: Option<StatementRecord>,
}

struct Seen {
    /// The number of the last request.
    request: u64,
    last: Instant,
    open: u64,
}

impl StatementLog {
    /// Sets whether texts are kept from now on; at first they are not.
    pub fn keep_sql(&self, keeps: bool) {
        self.keeps_sql.store(keeps, Ordering::SeqCst);
    }

    /// Sets whether the client of the statements is read-only, so that no statement changes anything.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.is_read_only.store(is_read_only, Ordering::SeqCst);
    }

    /// True if texts are kept.
    pub fn keeps_sql(&self) -> bool {
        self.keeps_sql.load(Ordering::SeqCst)
    }

    /// Sends new entries to `sink` too, instead of an earlier one.
    pub fn write_to(&self, sink: Option<Arc<dyn StatementSink>>) {
        *self.sink.lock() = sink;
    }

    /// Notes a statement that has ended.
    pub fn note(&self, record: StatementRecord) {
        self.take(record, false);
    }

    /// Counts a statement that needs no line of its own.
    pub fn count(&self, record: StatementRecord) {
        self.take(record, true);
    }

    fn take(&self, record: StatementRecord, is_more: bool) {
        let mut log = self.log.lock();
        log.answered(&record);
        let mut lines = log.over(false);
        let reads = self.is_read_only.load(Ordering::SeqCst) || READING.contains(&record.kind);
        if let Some(record) = log.within_minute(record, reads, is_more) {
            lines.push(log.keep(record));
        }
        drop(log);
        self.write(&lines);
    }

    /// Lines for what has none, of minutes that are over, or of all.
    fn settle(&self, all: bool) {
        let lines = self.log.lock().over(all);
        self.write(&lines);
    }

    fn write(&self, lines: &[StatementRecord]) {
        let sink = self.sink.lock().clone();
        if let Some(sink) = sink {
            lines.iter().for_each(|line| sink.statement(line));
        }
    }

    /// The number of the last statement, and those after number `after` that are kept. A number of an earlier connection
    /// stands for none.
    pub fn after(&self, after: u64) -> (u64, Vec<StatementRecord>) {
        self.settle(false);
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

    /// Current visitors.
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

/// Ends with a line for each visitor of whom statements were only counted.
impl Drop for StatementLog {
    fn drop(&mut self) {
        self.settle(true);
    }
}

impl Log {
    fn answered(&mut self, record: &StatementRecord) {
        let verdicts = self.verdicts.iter_mut().zip(VERDICTS);
        for (count, _) in verdicts.filter(|(_, (verdict, _))| *verdict == record.verdict) {
            *count += 1;
        }
        self.took.note(Duration::from_millis(record.ms));
    }

    /// The record again, unless its visitor has had their lines of this minute. What may have changed something always has
    /// its own: nobody can hide it behind others. Nor is what was refused or failed hidden behind what ran.
    fn within_minute(
        &mut self,
        record: StatementRecord,
        reads: bool,
        is_more: bool,
    ) -> Option<StatementRecord> {
        let group = match record.verdict {
            Verdict::Refused | Verdict::Failed => Group::Failed,
            _ if !reads => return Some(record),
            _ if record.kind == "DUMP" || record.rows >= MANY_ROWS => Group::Large,
            _ => Group::Small,
        };
        let is_full = self.minutes.len() >= MOST_VISITORS;
        let network = counted(&record.visitor);
        let who = Some((network.clone(), group));
        let who = who.filter(|who| !is_full || self.minutes.contains_key(who));
        let minute = self.minutes.entry(who.unwrap_or((String::new(), group)));
        let minute = minute.or_insert_with(|| Minute {
            began: Instant::now(),
            lines: 0,
            more: None,
        });
        if !is_more && minute.lines < LINES_A_MINUTE {
            minute.lines += 1;
            return Some(record);
        }
        let so_far = minute.more.take();
        let mut line = StatementRecord {
            sql: None,
            more: 1,
            ..record
        };
        if let Some(so_far) = so_far {
            line.more += so_far.more;
            line.rows = line.rows.saturating_add(so_far.rows);
            line.ms = line.ms.saturating_add(so_far.ms);
            if line.kind != so_far.kind {
                line.kind = SEVERAL;
            }
            if line.visitor != so_far.visitor {
                line.visitor = network;
            }
            if so_far.verdict != Verdict::Ok && line.verdict != Verdict::Refused {
                line.verdict = so_far.verdict;
            }
        }
        minute.more = Some(line);
        None
    }

    /// Ends minutes that are over, or all; answers lines for what had none in them.
    fn over(&mut self, all: bool) -> Vec<StatementRecord> {
        let is_over =
            |_: &(String, Group), minute: &mut Minute| all || minute.began.elapsed() >= MINUTE;
        let over: Vec<Minute> = self.minutes.extract_if(is_over).map(|(_, of)| of).collect();
        let more = over.into_iter().filter_map(|minute| minute.more);
        more.map(|record| self.keep(record)).collect()
    }

    /// Keeps a line; answers it with its number.
    fn keep(&mut self, mut record: StatementRecord) -> StatementRecord {
        self.last += 1;
        record.n = self.last;
        self.text += text(&record);
        while self.records.len() >= MOST || self.text > MOST_TEXT && !self.records.is_empty() {
            let oldest = self.records.pop_front();
            self.text -= oldest.as_ref().map_or(0, text);
        }
        self.records.push_back(record.clone());
        record
    }

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

/// Key by which a visitor's lines are counted: the network of their address, since one person can sign in often; one for
/// all whose address is not known.
fn counted(visitor: &str) -> String {
    let address = visitor.rsplit(' ').next().unwrap_or_default();
    match address.parse::<IpAddr>() {
        Ok(address) => http::source(address).to_string(),
        Err(_) if address == "here" => address.to_owned(),
        Err(_) => String::new(),
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
            more: 0,
        }
    }

    /// One of a visitor that has asked for nothing else.
    fn alone(number: usize, sql: Option<String>) -> StatementRecord {
        StatementRecord {
            visitor: format!("192.0.2.{}", number % 250),
            ..record(sql)
        }
    }

    #[test]
    fn the_log_is_bounded_by_number_and_text_and_read_on_from_a_number() {
        let log = StatementLog::default();
        for number in 0..MOST + 10 {
            log.note(alone(number, None));
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
    fn lines_of_one_visitor_a_minute_are_limited_with_a_count() {
        let log = StatementLog::default();
        let of = |visitor: &str| StatementRecord {
            visitor: visitor.into(),
            ..record(None)
        };
        log.count(of("aa 192.0.2.1"));
        for tag in 0..LINES_A_MINUTE + 10 {
            // Another sign-in is no other visitor.
            log.note(of(&format!("{tag} 192.0.2.1")));
        }
        let written = StatementRecord {
            kind: "UPDATE",
            ..of("192.0.2.1")
        };
        log.note(written);
        let (dump, many) = (of("192.0.2.1"), of("192.0.2.1"));
        log.note(StatementRecord {
            kind: "DUMP",
            ..dump
        });
        log.note(StatementRecord {
            rows: MANY_ROWS,
            ..many
        });
        log.note(of("bb 192.0.2.2"));
        let all = log.after(0).1;
        let lines = u64::try_from(all.len()).unwrap();
        assert_eq!(
            lines,
            LINES_A_MINUTE + 4,
            "the write too, and what is large"
        );
        assert_eq!(log.answers().0[0].1, LINES_A_MINUTE + 15);
        let long_ago = Instant::now().checked_sub(MINUTE).unwrap();
        let age = || {
            let mut log = log.log.lock();
            log.minutes.values_mut().for_each(|of| of.began = long_ago);
        };
        age();
        let (last, all) = log.after(0);
        let line = all.last().unwrap();
        assert_eq!((line.n, line.more, line.rows), (last, 11, 11));
        assert!(line.visitor.contains("192.0.2.1"));
        log.note(of("192.0.2.1"));
        assert_eq!(log.after(last).1[0].more, 0, "a minute that is new");
        age();
        log.note(of("192.0.2.1"));
        assert_eq!(log.after(last).1.len(), 2);
        for other in 0..20 {
            log.note(of(&format!("tag{other}")));
        }
        assert_eq!(log.log.lock().minutes.len(), 2, "all that is not known");
    }

    #[test]
    fn what_failed_is_not_hidden_behind_what_ran_nor_told_as_anothers() {
        let log = StatementLog::default();
        log.set_read_only(true);
        let of = |visitor: &str, kind, verdict| StatementRecord {
            visitor: visitor.into(),
            kind,
            verdict,
            ..record(None)
        };
        for _ in 0..LINES_A_MINUTE + 5 {
            log.note(of("aa 192.0.2.1", "WITH", Verdict::Ok));
        }
        let lines = |log: &StatementLog| u64::try_from(log.after(0).1.len()).unwrap();
        assert_eq!(lines(&log), LINES_A_MINUTE);
        log.note(of("bb 192.0.2.1", "DROP", Verdict::Refused));
        assert_eq!(lines(&log), LINES_A_MINUTE + 1);
        log.note(of("bb 192.0.2.1", "SELECT", Verdict::Ok));
        log.settle(true);
        let all = log.after(0).1;
        let line = all.iter().find(|line| line.more > 0).unwrap();
        assert_eq!(
            (line.more, line.kind, line.verdict),
            (6, SEVERAL, Verdict::Ok)
        );
        assert_eq!(line.visitor, counted("192.0.2.1"));
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
