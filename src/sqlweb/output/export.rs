//! Writes a result set as a file: CSV (RFC 4180), JSON or INSERT statements.

use std::io;

use mysql::Column;
use rows::{CsvSigns, Kind};

use super::buffer::OutputBuffer;
use super::cells::{self, RowWriter};
use super::lazy_stream::LazyStream;
use crate::http::ResponseHead;
use crate::net::percent::encode;
use crate::sqlweb::catalogue::identifier;
use crate::sqlweb::error::ApiError;
use crate::sqlweb::results::{Done, Flow, RowSink, TextRow};

/// Longest name of a file, in characters; file systems accept 255 bytes.
const MAX_NAME: usize = 80;

/// Maximum number of rows of one statement.
const MAX_ROWS: usize = 500;

/// Bytes of values after which the next statement begins: well below the smallest servers' limit of 1 MiB.
const MAX_BYTES: usize = 256 << 10;

/// Name of the table if it is unknown.
const NO_TABLE: &str = "table_name";

/// Statements before the rows, so that values mean the same in any session, a 0 does not mean a new number, and a value
/// that does not fit is an error.
const BEFORE: &str = "SET NAMES utf8mb4;\n\
    SET @postern_sql_mode = @@sql_mode, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES,ALLOW_INVALID_DATES';\n";

/// Statement behind the rows.
const AFTER: &str = "SET sql_mode = @postern_sql_mode;\n";

/// Layout of an export.
pub(crate) struct Layout {
    /// Format.
    pub(crate) format: Format,
    /// Name of the file, without the ending of its format.
    pub(crate) name: String,
    /// True if a CSV begins with the names of the columns.
    pub(crate) header: bool,
    /// True if a CSV begins with a byte-order mark, for programs that need one to see UTF-8.
    pub(crate) bom: bool,
    /// Text for NULL in a CSV.
    pub(crate) null: String,
    /// Delimiter of a CSV.
    pub(crate) delimiter: u8,
    /// True if numbers in a CSV have a decimal comma; the delimiter is another sign then.
    pub(crate) has_decimal_comma: bool,
    /// Table for INSERT statements; by default that of the columns.
    pub(crate) table: Option<String>,
    /// Columns that INSERT statements leave out, such as generated ones.
    pub(crate) leave_out: Vec<String>,
    /// Text columns whose JSON is nested in a JSON export, like that of JSON columns.
    pub(crate) nested: Vec<String>,
}

/// Format of an export.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline, rename_all = "lowercase"))]
pub(crate) enum Format {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// A JSON object a line.
    Jsonl,
    /// One JSON array of objects.
    Json,
    /// INSERT statements.
    #[cfg_attr(test, schemars(rename = "insert"))]
    Sql,
}

impl Format {
    /// The format of that name in the API.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "jsonl" => Some(Self::Jsonl),
            "json" => Some(Self::Json),
            "insert" => Some(Self::Sql),
            _ => None,
        }
    }

    /// The media type and the extension of a file's name.
    fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Csv => ("text/csv; charset=utf-8", "csv"),
            Self::Jsonl => ("application/x-ndjson", "jsonl"),
            Self::Json => ("application/json", "json"),
            Self::Sql => ("application/sql", "sql"),
        }
    }

    /// The head of a download; `name` is that of the file without its extension.
    pub(crate) fn head(self, name: &str) -> ResponseHead {
        let (kind, extension) = self.kind();
        ResponseHead::new(200)
            .header("Content-Type", kind)
            .header(
                "Content-Disposition",
                attachment(&format!("{name}.{extension}")),
            )
            .header("Cache-Control", "no-store")
    }
}

impl Layout {
    /// The head of the answer.
    pub(crate) fn head(&self) -> ResponseHead {
        self.format.head(&self.name)
    }

    fn signs(&self) -> CsvSigns<'_> {
        CsvSigns {
            delimiter: self.delimiter,
            null: &self.null,
        }
    }
}

/// A name for any file system: separators, characters that some refuse and those that turn the direction of a text, which
/// would show another extension, become underscores.
pub(crate) fn file_name(title: &str) -> String {
    let plain = |c: char| {
        if c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || "\"*/:<>?\\|".contains(c)
        {
            '_'
        } else {
            c
        }
    };
    let title = title.trim().trim_matches('.');
    let name: String = title.chars().map(plain).take(MAX_NAME).collect();
    if name.is_empty() {
        return "export".to_owned();
    }
    name
}

/// The value of `Content-Disposition` (RFC 6266 section 4): a name that is not ASCII is also given in the form of RFC
/// 8187.
fn attachment(name: &str) -> String {
    let plain = |c: char| match c {
        ' '..='~' if c != '%' => c,
        _ => '_',
    };
    let ascii: String = name.chars().map(plain).collect();
    if ascii == name {
        return format!("attachment; filename=\"{name}\"");
    }
    format!(
        "attachment; filename=\"{ascii}\"; filename*=UTF-8''{}",
        encode(name)
    )
}

/// Writes the only result set as a file.
pub(crate) struct ExportSink<'a> {
    out: OutputBuffer<'a>,
    layout: &'a Layout,
    /// Statement that set the session's time zone, if any.
    zone: Option<String>,
    record: RowWriter,
    /// True for each column whose JSON is nested.
    nested: Vec<bool>,
    /// True for each column whose numbers get a decimal comma.
    with_comma: Vec<bool>,
    inserts: Inserts,
    sets: usize,
    rows: u64,
}

impl<'a> ExportSink<'a> {
    /// Writes to `target`; `zone` is the assignment that sets the session's time zone, if any.
    pub(crate) fn new(
        target: &'a mut LazyStream,
        layout: &'a Layout,
        zone: Option<String>,
    ) -> Self {
        Self {
            out: OutputBuffer::new(target),
            layout,
            zone,
            record: RowWriter::default(),
            nested: Vec::new(),
            with_comma: Vec::new(),
            inserts: Inserts::default(),
            sets: 0,
            rows: 0,
        }
    }

    /// Writes the rest; fails unless the statement returned one result set.
    pub(crate) fn finish(mut self) -> Result<(), ApiError> {
        if self.sets > 1 {
            return Err(ApiError::bad_request(format!(
                "the statement ran and returned {} result sets instead of one, so nothing was exported; run it in the editor and export each result there",
                self.sets
            )));
        }
        if self.sets == 0 {
            return Err(ApiError::bad_request(
                "the statement ran and returned no rows to export; export a statement that returns rows",
            ));
        }
        match self.layout.format {
            Format::Csv | Format::Jsonl => {}
            Format::Json if self.rows == 0 => self.out.push(b"[]\n"),
            Format::Json => self.out.push(b"\n]\n"),
            Format::Sql => self.inserts.finish(&mut self.out),
        }
        // For an empty result without a header the head must still be sent.
        self.out
            .write_head()
            .and_then(|()| self.out.flush())
            .map_err(|error| ApiError::internal(format!("cannot write to the client: {error}")))
    }

    /// True for each column whose JSON is nested.
    fn nested(&self, columns: &[Column]) -> Vec<bool> {
        let names = self.record.names.iter().zip(columns);
        let is_nested = |(name, column): (&String, &Column)| {
            cells::is_json(column) || self.layout.nested.contains(name)
        };
        names.map(is_nested).collect()
    }

    fn begin_inserts(&mut self, columns: &[Column]) -> Inserts {
        let Layout {
            table, leave_out, ..
        } = self.layout;
        let zone = self.zone.take();
        let table = table.as_deref();
        Inserts::begin(&mut self.out, columns, &self.record, table, leave_out, zone)
    }

    fn json_row(&mut self, row: TextRow<'_>) -> io::Result<()> {
        if self.nested.contains(&true) {
            self.record.json_nested(&mut self.out, row, &self.nested)
        } else {
            self.record.json(&mut self.out, row)
        }
    }

    fn csv_header(&mut self) -> io::Result<()> {
        if self.layout.bom {
            self.out.push("\u{feff}".as_bytes());
        }
        if !self.layout.header {
            return Ok(());
        }
        let signs = self.layout.signs();
        for (i, name) in self.record.names.iter().enumerate() {
            if i > 0 {
                self.out.push(&[signs.delimiter]);
            }
            cells::csv(&mut self.out, Kind::Text, name.as_bytes(), signs)?;
        }
        self.out.push(b"\r\n");
        Ok(())
    }

    fn csv_row(&mut self, row: TextRow<'_>) -> io::Result<()> {
        let signs = self.layout.signs();
        let columns = self.record.kinds.iter().zip(&self.with_comma);
        for (i, (kind, with_comma)) in columns.enumerate() {
            if i > 0 {
                self.out.push(&[signs.delimiter]);
            }
            match row.cell(i) {
                Some(bytes) if *with_comma => cells::csv_with_comma(&mut self.out, bytes, signs)?,
                Some(bytes) => cells::csv(&mut self.out, *kind, bytes, signs)?,
                None => self.out.push(signs.null.as_bytes()),
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
            // One file cannot contain two tables; it fails at its end, since a procedure must run to its end.
            return Ok(());
        }
        self.record = RowWriter::of(columns);
        match self.layout.format {
            Format::Csv => {
                let comma = self.layout.has_decimal_comma;
                let with_comma = |column: &Column| comma && cells::has_decimals(column);
                self.with_comma = columns.iter().map(with_comma).collect();
                return self.csv_header();
            }
            Format::Jsonl | Format::Json => self.nested = self.nested(columns),
            Format::Sql => self.inserts = self.begin_inserts(columns),
        }
        Ok(())
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        if self.sets > 1 {
            return Ok(Flow::Enough);
        }
        match self.layout.format {
            Format::Csv => self.csv_row(row)?,
            Format::Jsonl => {
                self.json_row(row)?;
                self.out.push(b"\n");
            }
            Format::Json => {
                self.out.push(if self.rows == 0 { b"[\n" } else { b",\n" });
                self.json_row(row)?;
            }
            Format::Sql => self.inserts.row(&mut self.out, row)?,
        }
        self.rows += 1;
        self.out.flush_if_due()?;
        Ok(Flow::Continue)
    }

    fn end(&mut self, _truncated: bool) -> io::Result<()> {
        Ok(())
    }

    fn done(&mut self, _done: Done) {}
}

/// The statements of one result set.
#[derive(Default)]
pub(super) struct Inserts {
    /// Beginning of each statement.
    head: Vec<u8>,
    /// Written columns: position, kind, and true for numbers.
    columns: Vec<(usize, Kind, bool)>,
    rows: usize,
    bytes: usize,
    /// Text behind the last statement.
    after: String,
}

impl Inserts {
    /// Begins a file of rows for `table`, by default that of the columns. Columns named in `left_out`, by their name in
    /// the table or here, are not written. `zone` is the assignment that set the session's time zone, if any.
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

/// The table of all columns, or [`NO_TABLE`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_as_any_system_takes_it() {
        for (title, expected) in [
            ("rich.orders", "rich.orders"),
            ("a/b\\c:d\"e\r\nf", "a_b_c_d_e__f"),
            ("..", "export"),
            (" .hidden. ", "hidden"),
            ("größe", "größe"),
            ("a\u{202e}gpj", "a_gpj"),
        ] {
            assert_eq!(file_name(title), expected);
        }
        assert_eq!(file_name(&"ä".repeat(300)).chars().count(), MAX_NAME);
    }

    #[test]
    fn a_name_that_is_not_ascii_is_told_twice() {
        assert_eq!(
            attachment("rich.orders.csv"),
            "attachment; filename=\"rich.orders.csv\""
        );
        assert_eq!(
            attachment("größe 5%.csv"),
            "attachment; filename=\"gr__e 5_.csv\"; filename*=UTF-8''gr%C3%B6%C3%9Fe%205%25.csv"
        );
    }
}
