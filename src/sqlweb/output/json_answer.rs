//! The streamed JSON answer of `POST /api/query`.
//!
//! The document is written while rows come; `code` is its last member, so that it stays valid even if the statement
//! fails after rows were sent:
//!
//! ```text
//! {"data":{"columns":…,"types":…,"rows":[…],"count":N,"truncated":…,"results":[…],"duration":…,…},"code":200}
//! ```

use std::io;
use std::path::Path;
use std::time::Instant;

use mysql::Column;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::buffer::OutputBuffer;
use super::cells::{self, RowWriter};
use crate::sqlweb::results::{Done, Flow, RowSink, TextRow, Warning};

/// Position in the document.
enum JsonPosition {
    /// Nothing is written yet.
    Start,
    /// In the rows of set number `n`, counted from 1.
    Rows(usize),
    /// After set number `n`.
    Between(usize),
}

/// Members of `data` after the rows.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct AnswerEnd<'a> {
    /// Rows that the statement changed.
    affected_rows: u64,
    /// Time since the request, such as `1.234ms`.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9.]+ms$")))]
    duration: String,
    /// True if the session has an open transaction now, also one that `autocommit=0` began; false without a session and
    /// in read-only mode. If the statement failed, it is beside `code` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_transaction: Option<bool>,
    /// The server's sentence, such as `Rows matched: 3  Changed: 2  Warnings: 0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<&'a str>,
    /// The first generated key, or 0.
    last_insert_id: u64,
    /// The server's warnings, and notes of this program.
    warnings: &'a [Warning],
}

/// Result of the statement: its warnings, and true if the session is in a transaction now; or the members of a failure,
/// which follow `data`.
pub(crate) type Ended<'a> = Result<(&'a [Warning], bool), Map<String, Value>>;

/// Writes the answer.
pub(crate) struct JsonAnswer<'a> {
    out: OutputBuffer<'a>,
    position: JsonPosition,
    limit: Option<u64>,
    /// Directory for the copy of the first set, if the statement can return several.
    several: Option<&'a Path>,
    started: Instant,
    record: RowWriter,
    /// Beginning of the current set.
    head: String,
    count: u64,
    done: Done,
}

impl<'a> JsonAnswer<'a> {
    /// An answer written to `target`, with at most `limit` rows of each set.
    pub(crate) fn new(
        target: &'a mut dyn io::Write,
        limit: Option<u64>,
        several: Option<&'a Path>,
        started: Instant,
    ) -> Self {
        Self {
            out: OutputBuffer::new(target),
            position: JsonPosition::Start,
            limit,
            several,
            started,
            record: RowWriter::default(),
            head: String::new(),
            count: 0,
            done: Done::default(),
        }
    }

    /// True if nothing was sent yet, so that a failure can have a status of its own.
    pub(crate) fn is_untouched(&self) -> bool {
        self.out.is_untouched()
    }

    /// Completes the document and writes it out.
    pub(crate) fn finish(mut self, ended: Ended<'_>) -> io::Result<()> {
        match self.position {
            JsonPosition::Start => self
                .out
                .push(br#"{"data":{"columns":[],"types":[],"rows":[],"count":0,"truncated":false"#),
            JsonPosition::Rows(number) => self.end_set(number, false)?,
            JsonPosition::Between(_) => {}
        }
        if let JsonPosition::Between(2..) = self.position {
            self.out.push(b"]");
        }
        self.push_end(ended);
        self.out.flush()
    }

    fn push_end(&mut self, ended: Ended<'_>) {
        let (warnings, in_transaction) = ended.as_ref().copied().unwrap_or_default();
        let end = json!(AnswerEnd {
            affected_rows: self.done.affected_rows,
            duration: duration(self.started),
            in_transaction: ended.is_ok().then_some(in_transaction),
            info: self.done.info.as_deref(),
            last_insert_id: self.done.last_insert_id,
            warnings,
        });
        self.out.push(b",");
        self.push_members(&end);
        self.out.push(b"},");
        match ended {
            Ok(_) => self.out.push(br#""code":200"#),
            Err(members) => self.push_members(&members.into()),
        }
        self.out.push(b"}");
    }

    /// Writes the members of an object without its braces.
    fn push_members(&mut self, object: &Value) {
        let text = object.to_string();
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let inner = inner.expect("an object stands in braces");
        self.out.push(inner.as_bytes());
    }

    fn push_columns(&mut self, columns: &[Column]) {
        let types: Vec<String> = columns.iter().map(cells::type_name).collect();
        self.record = RowWriter::of(columns);
        let names = json!(self.record.names);
        self.head = format!(r#""columns":{names},"types":{},"rows":["#, json!(types));
        self.out.push(self.head.as_bytes());
    }

    /// Begins `results` with the first set as it was sent, or without its rows if no copy could be kept.
    fn repeat_first_set(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let copy = self.out.end_copy();
        self.out.push(br#","results":[{"#);
        match copy {
            Some(copy) => self.out.replay(copy)?,
            None => {
                let head = std::mem::take(&mut self.head);
                self.out.push(head.as_bytes());
                self.out.push(br#"],"count":0,"truncated":true"#);
            }
        }
        self.out.push(b"},{");
        Ok(())
    }

    fn end_set(&mut self, number: usize, truncated: bool) -> io::Result<()> {
        let tail = format!(r#"],"count":{},"truncated":{}"#, self.count, truncated);
        self.out.push(tail.as_bytes());
        if number > 1 {
            self.out.push(b"}");
        }
        self.position = JsonPosition::Between(number);
        self.out.flush_if_full()
    }
}

impl RowSink for JsonAnswer<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.count = 0;
        match self.position {
            JsonPosition::Start => {
                self.out.push(br#"{"data":{"#);
                if let Some(dir) = self.several {
                    self.out.start_copy(dir);
                }
                self.position = JsonPosition::Rows(1);
            }
            JsonPosition::Between(1) | JsonPosition::Rows(1) => {
                self.repeat_first_set()?;
                self.position = JsonPosition::Rows(2);
            }
            JsonPosition::Between(n) | JsonPosition::Rows(n) => {
                self.out.push(b",{");
                self.position = JsonPosition::Rows(n + 1);
            }
        }
        // Not written before a row, so that a failure until then has a status of its own.
        self.push_columns(columns);
        Ok(())
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        if self.limit.is_some_and(|limit| self.count >= limit) {
            return Ok(Flow::Enough);
        }
        if self.count > 0 {
            self.out.push(b",");
        }
        self.record.json(&mut self.out, row)?;
        self.count += 1;
        if self.count == 1 {
            self.out.flush()?;
        } else {
            self.out.flush_if_due()?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, truncated: bool) -> io::Result<()> {
        let JsonPosition::Rows(number) = self.position else {
            unreachable!("a set ends after it has begun");
        };
        self.end_set(number, truncated)
    }

    fn done(&mut self, done: Done) {
        self.done = done;
    }
}

/// Elapsed time in the specified form: a number and `ms`.
pub(crate) fn duration(since: Instant) -> String {
    format!("{:.3}ms", since.elapsed().as_secs_f64() * 1000.0)
}
