//! A result set as a file: CSV (RFC 4180) or JSON lines.

use std::io;

use mysql::Column;
use rows::Kind;

use super::buffer::OutputBuffer;
use super::cells::{self, Record};
use super::lazy_stream::LazyStream;
use super::row_sink::{Flow, RowSink};
use crate::http::{ApiError, ResponseHead};
use crate::sqlweb::results::{Done, TextRow};

/// How an export is written.
pub(crate) struct Layout {
    /// What it is written as.
    pub(crate) format: Format,
    /// Whether a CSV begins with the names of the columns.
    pub(crate) header: bool,
    /// Whether a CSV begins with a byte-order mark, for programs that need one to see UTF-8.
    pub(crate) bom: bool,
    /// What stands for NULL in a CSV.
    pub(crate) null: String,
}

/// What an export is written as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// A JSON object a line.
    Jsonl,
}

impl Layout {
    /// The head of the answer: a download that is named after the database.
    pub(crate) fn head(&self, database: Option<&str>) -> ResponseHead {
        let (kind, extension) = match self.format {
            Format::Csv => ("text/csv; charset=utf-8", "csv"),
            Format::Jsonl => ("application/x-ndjson", "jsonl"),
        };
        let name: String = database
            .unwrap_or("export")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(64)
            .collect();
        ResponseHead::new(200)
            .header("Content-Type", kind)
            .header(
                "Content-Disposition",
                format!("attachment; filename=\"{name}.{extension}\""),
            )
            .header("Cache-Control", "no-store")
    }
}

/// Writes the only result set as CSV or JSON lines.
pub(crate) struct ExportSink<'a> {
    out: OutputBuffer<'a>,
    layout: &'a Layout,
    record: Record,
    sets: usize,
}

impl<'a> ExportSink<'a> {
    /// Writes to `target`.
    pub(crate) fn new(target: &'a mut LazyStream, layout: &'a Layout) -> Self {
        Self {
            out: OutputBuffer::new(target),
            layout,
            record: Record::default(),
            sets: 0,
        }
    }

    /// Writes the rest; fails where nothing was returned that could be exported.
    pub(crate) fn finish(mut self) -> Result<(), ApiError> {
        if self.sets > 1 {
            return Err(ApiError::bad_request(format!(
                "the statement ran to its end and returned {} result sets, and an export takes one, so nothing was exported; run it in the editor and export the rows shown of each",
                self.sets
            )));
        }
        if self.sets == 0 {
            return Err(ApiError::bad_request(
                "the statement ran and returned no rows to export; export a statement that returns rows",
            ));
        }
        // An empty result without a header is an answer too, whose head must be sent.
        self.out
            .write_head()
            .and_then(|()| self.out.flush())
            .map_err(|error| {
                ApiError::internal(format!("the client could not be written to: {error}"))
            })
    }

    fn csv_header(&mut self) -> io::Result<()> {
        if self.layout.bom {
            self.out.push("\u{feff}".as_bytes());
        }
        if !self.layout.header {
            return Ok(());
        }
        for (i, name) in self.record.names.iter().enumerate() {
            if i > 0 {
                self.out.push(b",");
            }
            cells::csv(
                &mut self.out,
                Kind::Text,
                name.as_bytes(),
                &self.layout.null,
            )?;
        }
        self.out.push(b"\r\n");
        Ok(())
    }

    fn csv_row(&mut self, row: TextRow<'_>) -> io::Result<()> {
        for (i, kind) in self.record.kinds.iter().enumerate() {
            if i > 0 {
                self.out.push(b",");
            }
            match row.cell(i) {
                Some(bytes) => cells::csv(&mut self.out, *kind, bytes, &self.layout.null)?,
                None => self.out.push(self.layout.null.as_bytes()),
            }
        }
        self.out.push(b"\r\n");
        Ok(())
    }
}

impl RowSink for ExportSink<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.sets += 1;
        if self.sets > 1 {
            // One file cannot hold two tables: it fails at its end, to which a procedure must come.
            return Ok(());
        }
        self.record = Record::of(columns);
        match self.layout.format {
            Format::Csv => self.csv_header(),
            Format::Jsonl => Ok(()),
        }
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        if self.sets > 1 {
            return Ok(Flow::Enough);
        }
        match self.layout.format {
            Format::Csv => self.csv_row(row)?,
            Format::Jsonl => {
                self.record.json(&mut self.out, row)?;
                self.out.push(b"\n");
            }
        }
        self.out.flush_if_due()?;
        Ok(Flow::Continue)
    }

    fn end(&mut self, _truncated: bool) -> io::Result<()> {
        Ok(())
    }

    fn done(&mut self, _done: Done) {}
}
