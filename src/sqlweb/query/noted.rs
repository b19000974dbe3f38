//! Notes statements in the log of their application.

use std::io;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use mysql::Column;

use super::job::{Completed, Job};
use crate::plugin::{StatementLog, StatementRecord, Verdict};
use crate::sqlweb::error::{ApiError, INTERRUPTED};
use crate::sqlweb::output::{Flow, RowSink};
use crate::sqlweb::record_sql;
use crate::sqlweb::results::{Done, TextRow};

/// Runs `job` by `run`, counts its rows before `sink`, and notes its result.
pub(super) fn noted(
    statements: &Arc<StatementLog>,
    job: &Job,
    sink: &mut dyn RowSink,
    run: impl FnOnce(&mut dyn RowSink) -> Result<Completed, ApiError>,
) -> Result<Completed, ApiError> {
    let since = (SystemTime::now(), Instant::now());
    let mut counted = CountedRows { sink, rows: 0 };
    let outcome = run(&mut counted);
    let rows = counted.rows;
    let verdict = match &outcome {
        Ok(completed) if completed.was_stopped => Verdict::Cancelled,
        Ok(_) => Verdict::Ok,
        Err(error) => verdict(error),
    };
    let record = record(statements, &job.visitor, &job.sql, since, verdict, rows);
    if outcome
        .as_ref()
        .is_err_and(|error| job.is_refused_again(error))
    {
        statements.count(record);
    } else {
        statements.note(record);
    }
    outcome
}

/// Notes an ended statement of `visitor`, which began at `since` and sent `rows`.
pub(crate) fn note(
    statements: &StatementLog,
    visitor: &str,
    sql: &str,
    since: (SystemTime, Instant),
    verdict: Verdict,
    rows: u64,
) {
    statements.note(record(statements, visitor, sql, since, verdict, rows));
}

fn record(
    statements: &StatementLog,
    visitor: &str,
    sql: &str,
    since: (SystemTime, Instant),
    verdict: Verdict,
    rows: u64,
) -> StatementRecord {
    let (time, started) = since;
    StatementRecord {
        time,
        visitor: visitor.to_owned(),
        kind: record_sql::kind(sql),
        verdict,
        rows,
        ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        sql: statements.keeps_sql().then(|| record_sql::text(sql)),
        more: 0,
    }
}

/// Errors of a server for missing privileges (MySQL and MariaDB, "Server error message reference").
const DENIED: [u16; 8] = [1044, 1045, 1142, 1143, 1227, 1345, 1370, 1792];

/// Verdict on a statement that failed with this error.
pub(crate) fn verdict(error: &ApiError) -> Verdict {
    match (error.status, error.errno()) {
        (_, Some(INTERRUPTED)) | (504, _) => Verdict::Cancelled,
        (403 | 429, _) => Verdict::Refused,
        (_, Some(number)) if DENIED.contains(&number) => Verdict::Refused,
        _ => Verdict::Failed,
    }
}

/// Counts the rows that it passes on.
struct CountedRows<'a> {
    sink: &'a mut dyn RowSink,
    rows: u64,
}

impl RowSink for CountedRows<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.sink.begin(columns)
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        let flow = self.sink.row(row)?;
        if flow == Flow::Continue {
            self.rows += 1;
        }
        Ok(flow)
    }

    fn end(&mut self, truncated: bool) -> io::Result<()> {
        self.sink.end(truncated)
    }

    fn done(&mut self, done: Done) {
        self.sink.done(done);
    }
}
