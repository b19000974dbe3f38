//! The statements of one database application's visitors, and its current visitors.
//!
//! The log is in memory and bounded. Texts are kept only if the owner asked for that, and then without passwords.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use crate::http::metrics::{Durations, Histogram, Tally};
use crate::http::{
    self, ActivityLog, Numbered, Record, Sink, VisitorCount, VisitorPresence, VisitorTable,
};
use crate::store::time::serialize_rfc3339;
use crate::sync::{Changes, Mutex};

/// Time that a visitor counts as present after a request.
const PRESENT: Duration = Duration::from_secs(60);

/// Maximum number of visitors that are counted separately; all others are counted together.
const MOST_MINUTES: usize = 1000;

/// Maximum number of lines per minute for one visitor's statements that change nothing; further ones are counted in one
/// line. Default 120: more than a person types, and few enough that other visitors' lines stay visible.
const LINES_A_MINUTE: u64 = crate::limits::STATEMENT_LINES;

/// Verbs of statements that change nothing, for a client that is not read-only.
#[rustfmt::skip]
const READING: [&str; 9] = ["DESC", "DESCRIBE", "EXPLAIN", "HELP", "SELECT", "SHOW", "TABLE", "USE", "VALUES"];

/// Number of rows from which a statement counts as large. Default 1000: nobody can hide a copy behind small statements.
const MANY_ROWS: u64 = 1000;

/// Kind of a line that counts statements of several kinds.
const SEVERAL: &str = "OTHER";

/// Time within which lines are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// Groups of statements, each of which has lines of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum StatementGroup {
    Small,
    /// With many rows, and whole dumps.
    Large,
    Failed,
}

/// Result of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It succeeded.
    Ok,
    /// Read-only mode refused it, or the server because a privilege is missing.
    Refused,
    /// It failed.
    Failed,
    /// Its visitor, the time limit or the end of its connection stopped it.
    Cancelled,
}

/// All verdicts with their names.
const VERDICTS: [(Verdict, &str); 4] = [
    (Verdict::Ok, "ok"),
    (Verdict::Refused, "refused"),
    (Verdict::Failed, "failed"),
    (Verdict::Cancelled, "cancelled"),
];

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Statement"))]
pub struct StatementRecord {
    /// Its begin, RFC 3339.
    #[serde(serialize_with = "serialize_rfc3339")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub time: SystemTime,
    /// A short tag of the visitor's sign-in and the address, as far as known; `here` for this machine.
    pub visitor: String,
    /// The first verb; `OTHER` if unknown.
    pub kind: &'static str,
    /// Its result.
    pub verdict: Verdict,
    /// Rows sent.
    pub rows: u64,
    /// Duration in whole milliseconds.
    pub ms: u64,
    /// Its text without passwords if `record_sql` is on, else null; a shortened one says so.
    pub sql: Option<String>,
    /// 0, or the number of the visitor's statements that this line counts, with their total rows and times and the
    /// verdict of the last: statements that changed nothing beyond 120 a minute, and those of a script except the first
    /// that is refused before it is sent.
    pub more: u64,
}

impl Record for StatementRecord {
    const NAME: &'static str = "statement";
    /// Default 500, some 100 KiB without texts.
    const MOST: usize = crate::limits::STATEMENT_LOG;
    const MOST_BYTES: usize = 1024 * 1024;

    /// Bytes of its text.
    fn bytes(&self) -> usize {
        self.sql.as_ref().map_or(0, String::len)
    }
}

/// The log of one application's connection.
#[derive(Default)]
pub struct StatementLog {
    keeps_sql: AtomicBool,
    is_read_only: AtomicBool,
    lines: ActivityLog<StatementRecord>,
    visitors: Arc<VisitorTable<String>>,
    verdicts: Tally<{ VERDICTS.len() }>,
    took: Histogram,
    minutes: Mutex<Minutes>,
}

/// Visitors who had lines within the last minute, by group.
#[derive(Default)]
struct Minutes(HashMap<(String, StatementGroup), Minute>);

/// Lines of one visitor since a minute began.
struct Minute {
    began: Instant,
    lines: u64,
    /// Sum of the statements without a line: their number, rows and time, the worst verdict, and kind and visitor if
    /// all have the same.
    more: Option<StatementRecord>,
}

impl StatementLog {
    /// Creates a log that signals `changes` for each visitor and statement; lines are numbered after `before`.
    pub(crate) fn notifying(changes: &Arc<Changes>, before: u64) -> Self {
        Self {
            lines: ActivityLog::notifying(Arc::clone(changes), before),
            visitors: Arc::new(VisitorTable::notifying(Arc::clone(changes))),
            keeps_sql: AtomicBool::default(),
            is_read_only: AtomicBool::default(),
            verdicts: Tally::default(),
            took: Histogram::default(),
            minutes: Mutex::default(),
        }
    }

    /// Sets whether texts are kept from now on; initially they are not.
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

    /// Sends new lines to `sink` too, instead of an earlier one.
    pub fn set_sink(&self, sink: Option<Arc<impl Sink<StatementRecord> + 'static>>) {
        self.lines.set_sink(sink);
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
        let verdict = |(verdict, _): &(Verdict, _)| *verdict == record.verdict;
        self.verdicts.add(VERDICTS.iter().position(verdict));
        self.took.note(Duration::from_millis(record.ms));
        let reads = self.is_read_only.load(Ordering::SeqCst) || READING.contains(&record.kind);
        let mut minutes = self.minutes.lock();
        let mut lines = minutes.end_minutes(false);
        lines.extend(minutes.line(record, reads, is_more));
        drop(minutes);
        lines.into_iter().for_each(|line| self.lines.add(line));
    }

    /// Adds a line for the counted statements of every minute that is over, or of all.
    fn settle(&self, all: bool) {
        let lines = self.minutes.lock().end_minutes(all);
        lines.into_iter().for_each(|line| self.lines.add(line));
    }

    /// Returns the number of the last line.
    pub(crate) fn last(&self) -> u64 {
        self.lines.last()
    }

    /// Returns the lines after number `after`, as [`ActivityLog::after`] does.
    pub fn after(&self, after: u64) -> (u64, Vec<Numbered<StatementRecord>>) {
        self.settle(false);
        self.lines.after(after)
    }

    /// Returns the number of statements by verdict since the connection was made, and their durations.
    pub(crate) fn answers(&self) -> (Vec<(&'static str, u64)>, Durations) {
        let names = VERDICTS.map(|(_, name)| name);
        (self.verdicts.read(names), self.took.read())
    }

    /// Counts a request of `visitor`, who is present while the returned value lives.
    pub fn visit(&self, visitor: &str) -> VisitorPresence<String> {
        self.visitors.count_request(SystemTime::now());
        VisitorPresence::new(&self.visitors, Some(visitor.to_owned()))
    }

    /// Returns the current visitors.
    pub fn visitors(&self) -> VisitorCount {
        self.visitors.count(PRESENT)
    }
}

/// Adds a line for each visitor whose last statements were only counted.
impl Drop for StatementLog {
    fn drop(&mut self) {
        self.settle(true);
    }
}

impl Minutes {
    /// Returns the record, or counts it and returns `None` if its visitor has used up this minute's lines. A statement
    /// that may have changed something always has a line, so nobody can hide it behind others. Refused and failed ones
    /// are counted separately from those that ran.
    fn line(
        &mut self,
        record: StatementRecord,
        reads: bool,
        is_more: bool,
    ) -> Option<StatementRecord> {
        let group = match record.verdict {
            Verdict::Refused | Verdict::Failed => StatementGroup::Failed,
            _ if !reads => return Some(record),
            _ if record.kind == "DUMP" || record.rows >= MANY_ROWS => StatementGroup::Large,
            _ => StatementGroup::Small,
        };
        let is_full = self.0.len() >= MOST_MINUTES;
        let network = counted(&record.visitor);
        let who = Some((network.clone(), group));
        let who = who.filter(|who| !is_full || self.0.contains_key(who));
        let minute = self.0.entry(who.unwrap_or((String::new(), group)));
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

    /// Ends minutes that are over, or all; returns lines for the counted statements in them.
    fn end_minutes(&mut self, all: bool) -> Vec<StatementRecord> {
        let is_over = |_: &(String, StatementGroup), minute: &mut Minute| {
            all || minute.began.elapsed() >= MINUTE
        };
        let over = self.0.extract_if(is_over);
        over.filter_map(|(_, minute)| minute.more).collect()
    }
}

/// Key for counting a visitor's lines: the network of their address, since one person can sign in often. All visitors
/// without a known address share one key.
fn counted(visitor: &str) -> String {
    let address = visitor.rsplit(' ').next().unwrap_or_default();
    match address.parse::<IpAddr>() {
        Ok(address) => http::source(address).to_string(),
        Err(_) if address == "here" => address.to_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sql: Option<String>) -> StatementRecord {
        StatementRecord {
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

    #[test]
    fn texts_are_bounded_together() {
        let log = StatementLog::default();
        for _ in 0..3 {
            log.note(record(Some("x".repeat(StatementRecord::MOST_BYTES / 2))));
        }
        let (last, kept) = log.after(0);
        assert_eq!((last, kept.len()), (3, 2));
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
            let mut minutes = log.minutes.lock();
            minutes.0.values_mut().for_each(|of| of.began = long_ago);
        };
        age();
        let (last, all) = log.after(0);
        let Numbered { n, record: line } = all.last().unwrap();
        assert_eq!((*n, line.more, line.rows), (last, 11, 11));
        assert!(line.visitor.contains("192.0.2.1"));
        log.note(of("192.0.2.1"));
        assert_eq!(log.after(last).1[0].record.more, 0, "a minute that is new");
        age();
        log.note(of("192.0.2.1"));
        assert_eq!(log.after(last).1.len(), 2);
        for other in 0..20 {
            log.note(of(&format!("tag{other}")));
        }
        assert_eq!(log.minutes.lock().0.len(), 2, "all that is not known");
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
        let mut lines = all.iter().map(|line| &line.record);
        let line = lines.find(|line| line.more > 0).unwrap();
        assert_eq!(
            (line.more, line.kind, line.verdict),
            (6, SEVERAL, Verdict::Ok)
        );
        assert_eq!(line.visitor, counted("192.0.2.1"));
    }
}
