//! Parts of a statement's results, in the text protocol.

use std::io;

use mysql::{Column, Row, Value};
use rows::Span;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// A row's cells, each the bytes that the server sent, or NULL.
#[derive(Clone, Copy)]
pub(crate) enum TextRow<'a> {
    /// As it lies in its packet.
    Packet(&'a [u8], &'a [Span]),
    /// As the driver has copied it.
    Driver(&'a Row),
}

impl<'a> TextRow<'a> {
    /// A cell's bytes; `None` is NULL.
    pub(crate) fn cell(&self, i: usize) -> Option<&'a [u8]> {
        match *self {
            Self::Packet(packet, spans) => {
                let (start, end) = (*spans.get(i)?)?;
                packet.get(start..end)
            }
            Self::Driver(row) => match row.as_ref(i)? {
                Value::Bytes(bytes) => Some(bytes),
                _ => None,
            },
        }
    }

    /// Bytes of all its cells, about.
    pub(crate) fn size(&self) -> usize {
        match *self {
            Self::Packet(packet, _) => packet.len(),
            Self::Driver(row) => (0..row.len())
                .filter_map(|i| self.cell(i))
                .map(<[u8]>::len)
                .sum(),
        }
    }
}

/// Server's report on a statement without rows (OK packet).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Rows changed.
    pub(crate) affected_rows: u64,
    /// The first generated key, or 0.
    pub(crate) last_insert_id: u64,
    /// `Rows matched: 3  Changed: 2  Warnings: 0` and the like.
    pub(crate) info: Option<Box<str>>,
}

/// A warning of a statement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Warning {
    /// The server's number; null for a note of this program.
    pub(crate) code: Option<u64>,
    /// `Note`, `Warning` or `Error`.
    pub(crate) level: Option<String>,
    /// The warning.
    pub(crate) message: Option<String>,
}

impl Warning {
    /// One of this program.
    pub(crate) fn ours(level: &str, message: impl Into<String>) -> Self {
        Self {
            code: None,
            level: Some(level.to_owned()),
            message: Some(message.into()),
        }
    }
}

/// A cell of a row in JSON.
///
/// NULL is null; integers within ±(2^53-1) and floats are numbers; larger integers, DECIMAL, ZEROFILL, dates and times are
/// strings in the server's own form; BIT, BINARY, BLOB, VECTOR and GEOMETRY are `0x…`.
#[cfg(test)]
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema is what is used")]
#[schemars(rename = "Cell")]
#[serde(untagged)]
pub(crate) enum JsonCell {
    Text(String),
    Number(f64),
    Null,
}

/// A row in JSON, by column name.
#[cfg(test)]
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema is what is used")]
#[schemars(rename = "Row")]
pub(crate) struct JsonRow(std::collections::BTreeMap<String, JsonCell>);

/// A row, or null if it was deleted.
#[cfg(test)]
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema is what is used")]
#[schemars(rename = "RowOrNull")]
#[serde(untagged)]
pub(crate) enum JsonRowOrNull {
    Row(JsonRow),
    Null,
}

/// Longest line of that kind, in bytes: its length is told in one byte.
const MAX_INFO: usize = 250;

/// Returns the end of an OK packet, as a line. Servers write its length before it.
pub(crate) fn info_line(rest: &[u8]) -> Option<Box<str>> {
    let (&length, line) = rest.split_first()?;
    let line = if usize::from(length) == line.len() {
        line
    } else {
        rest
    };
    let line = std::str::from_utf8(line).ok()?.trim();
    let is_plain = line.len() <= MAX_INFO && !line.chars().any(char::is_control);
    (is_plain && !line.is_empty()).then(|| line.into())
}

/// Takes the result sets of one statement, row by row.
pub(crate) trait RowSink {
    /// A result set with these columns begins.
    fn begin(&mut self, columns: &[Column]) -> io::Result<()>;
    /// One row of the set that began last.
    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow>;
    /// The set has ended; `truncated` when the sink had enough before the server did.
    fn end(&mut self, truncated: bool) -> io::Result<()>;
    /// A statement, or a part of one, that returned no rows.
    fn done(&mut self, done: Done);
}

/// Answer of a sink: more rows of this set, or no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next row, please.
    Continue,
    /// No more of this set; this row was not taken.
    Enough,
}
