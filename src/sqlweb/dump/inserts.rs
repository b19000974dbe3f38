//! Rows as `INSERT` statements of bounded size.

use std::io;

use mysql::Column;
use rows::{Kind, PIECE};

use super::columns::{Columns, DumpFormat, latin1};
use crate::sqlweb::output::{Flow, OutputBuffer, RowSink, sql};
use crate::sqlweb::results::{Done, TextRow};

/// Bytes of one statement from where on the next one begins: below the least that servers and their clients take, which
/// is 16 MiB today and was 1 MiB.
const MAX_BYTES: usize = 1_000_000;

/// Writes the rows of one table.
pub(super) struct InsertSink<'a, 'b> {
    out: &'a mut OutputBuffer<'b>,
    head: String,
    ways: &'a [DumpFormat],
    /// Bytes of the statement so far, at most.
    bytes: usize,
    /// Rows written.
    pub(super) rows: u64,
    /// Bytes of the longest row, at most.
    pub(super) longest: usize,
}

impl<'a, 'b> InsertSink<'a, 'b> {
    /// Writes to `out` what goes into the columns of `table`, a quoted name.
    pub(super) fn new(out: &'a mut OutputBuffer<'b>, table: &str, columns: &'a Columns) -> Self {
        Self {
            out,
            head: format!("INSERT INTO {table} ({}) VALUES\n(", columns.names),
            ways: &columns.ways,
            bytes: 0,
            rows: 0,
            longest: 0,
        }
    }

    fn cell(&mut self, way: DumpFormat, cell: Option<&[u8]>) -> io::Result<()> {
        let Some(bytes) = cell else {
            self.out.push(b"NULL");
            return Ok(());
        };
        if way == DumpFormat::Latin1 && !bytes.is_ascii() && bytes.len() <= PIECE {
            let text = latin1(bytes);
            return sql(self.out, Kind::Text, false, Some(text.as_bytes()));
        }
        let (kind, is_number) = way.kind(bytes);
        sql(self.out, kind, is_number, cell)?;
        if way == DumpFormat::Real && is_negative_zero(bytes) {
            self.out.push(b"e0");
        }
        Ok(())
    }
}

/// `-0` and `-0.00`, which are whole numbers or decimals to the server, and those have no negative zero.
fn is_negative_zero(digits: &[u8]) -> bool {
    digits.starts_with(b"-") && digits.iter().all(|b| matches!(b, b'-' | b'0' | b'.'))
}

impl RowSink for InsertSink<'_, '_> {
    fn begin(&mut self, _: &[Column]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        // A byte becomes two digits or an escape at most.
        let size = 2 * row.size() + 6 * self.ways.len();
        if self.bytes > 0 && self.bytes + size > MAX_BYTES {
            self.out.push(b";\n");
            self.bytes = 0;
        }
        if self.bytes == 0 {
            self.out.push(self.head.as_bytes());
        } else {
            self.out.push(b",\n(");
        }
        for (i, way) in self.ways.iter().enumerate() {
            if i > 0 {
                self.out.push(b",");
            }
            self.cell(*way, row.cell(i))?;
        }
        self.out.push(b")");
        self.bytes += size + 1;
        self.rows += 1;
        self.longest = self.longest.max(size);
        self.out.flush_if_due()?;
        Ok(Flow::Continue)
    }

    fn end(&mut self, _truncated: bool) -> io::Result<()> {
        if self.bytes > 0 {
            self.out.push(b";\n");
        }
        Ok(())
    }

    fn done(&mut self, _done: Done) {}
}
