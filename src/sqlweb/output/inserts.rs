//! Rows as INSERT statements that any server's console runs.

use std::io;

use mysql::Column;
use rows::Kind;

use super::buffer::OutputBuffer;
use super::cells::{self, RowWriter};
use crate::sqlweb::catalogue::identifier;
use crate::sqlweb::results::TextRow;

/// Rows of one statement at most.
const MAX_ROWS: usize = 500;

/// Bytes of one statement's values from where on the next one begins: well below what the smallest servers take, 1 MiB.
const MAX_BYTES: usize = 256 << 10;

/// Where nothing says which table the rows are of.
const NO_TABLE: &str = "table_name";

/// Statements before the rows: values mean the same whatever session reads them, 0 is no wish for a new number, and
/// what does not fit is an error.
const BEFORE: &str = "SET NAMES utf8mb4;\n\
    SET @postern_sql_mode = @@sql_mode, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES,ALLOW_INVALID_DATES';\n";

/// Statement behind the rows.
const AFTER: &str = "SET sql_mode = @postern_sql_mode;\n";

/// The statements of one result set.
#[derive(Default)]
pub(super) struct Inserts {
    /// Beginning of each statement.
    head: Vec<u8>,
    /// The columns that are written: where, how, and whether as digits.
    columns: Vec<(usize, Kind, bool)>,
    rows: usize,
    bytes: usize,
    /// Text behind the last statement.
    after: String,
}

impl Inserts {
    /// Begins a file of rows for `table`, or the one that the columns are of. Columns that are called as one of `left_out`,
    /// in the table or here, are not written. `zone` is what set the session's time zone, where anything did.
    pub(super) fn begin(
        out: &mut OutputBuffer<'_>,
        columns: &[Column],
        record: &RowWriter,
        table: Option<&str>,
        left_out: &[String],
        zone: Option<String>,
    ) -> Self {
        let mut inserts = Self::default();
        let mut names = Vec::new();
        let described = columns.iter().zip(&record.names).zip(&record.kinds);
        for (i, ((column, name), kind)) in described.enumerate() {
            let origin = column.org_name_str();
            if left_out.iter().any(|one| one == name || *one == origin) {
                continue;
            }
            let kept = (i, *kind, cells::is_number(column));
            inserts.columns.push(kept);
            names.push(identifier(name));
        }
        let table = table.map_or_else(|| source(columns), str::to_owned);
        let head = format!(
            "INSERT INTO {} ({}) VALUES\n(",
            identifier(&table),
            names.join(", ")
        );
        inserts.head = head.into_bytes();
        out.push(BEFORE.as_bytes());
        inserts.after = AFTER.to_owned();
        if let Some(zone) = zone {
            out.push(format!("SET @postern_time_zone = @@time_zone, {zone};\n").as_bytes());
            inserts.after += "SET time_zone = @postern_time_zone;\n";
        }
        inserts
    }

    /// Writes one row.
    pub(super) fn row(&mut self, out: &mut OutputBuffer<'_>, row: TextRow<'_>) -> io::Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        if self.rows == MAX_ROWS || self.bytes > MAX_BYTES {
            out.push(b";\n");
            self.rows = 0;
            self.bytes = 0;
        }
        out.push(if self.rows == 0 { &self.head } else { b",\n(" });
        for (at, (i, kind, is_number)) in self.columns.iter().enumerate() {
            if at > 0 {
                out.push(b", ");
            }
            cells::sql(out, *kind, *is_number, row.cell(*i))?;
        }
        out.push(b")");
        self.rows += 1;
        self.bytes += row.size();
        Ok(())
    }

    /// Ends the last statement and the file.
    pub(super) fn finish(&self, out: &mut OutputBuffer<'_>) {
        if self.rows > 0 {
            out.push(b";\n");
        }
        out.push(self.after.as_bytes());
    }
}

/// The one table that all columns are of.
fn source(columns: &[Column]) -> String {
    let first = columns.first().map(Column::org_table_str);
    let table = first.unwrap_or_default();
    let is_one = columns.iter().all(|column| column.org_table_str() == table);
    if is_one && !table.is_empty() {
        table.into_owned()
    } else {
        NO_TABLE.to_owned()
    }
}
