//! Parts of a statement's results in the text protocol, and the trait of their readers.

use std::io;

use mysql::{Column, Row, Value};
use rows::Span;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Longest line of an OK packet, in bytes; its length is in one byte.
const MAX_INFO: usize = 250;

/// A row's cells, each the bytes that the server sent, or NULL.
#[derive(Clone, Copy)]
pub(crate) enum TextRow<'a> {
    /// In its packet.
    Packet(&'a [u8], &'a [Span]),
    /// Copied by the driver.
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

    /// Approximate bytes of all its cells.
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
    /// The server's line, such as `Rows matched: 3  Changed: 2  Warnings: 0`.
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
    /// A note or warning of this program.
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
/// NULL is null; integers within ±(2^53-1) and floats are numbers; larger integers, DECIMAL, ZEROFILL, dates and times
/// are strings in the server's own form; BIT, BINARY, BLOB, VECTOR and GEOMETRY are `0x…`.
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

/// Returns the line at the end of an OK packet; servers write its length before it.
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
    /// Begins a result set with these columns.
    fn begin(&mut self, columns: &[Column]) -> io::Result<()>;
    /// Takes one row of the current set.
    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow>;
    /// Ends the set, which is `truncated` if the sink did not get all its rows.
    fn end(&mut self, truncated: bool) -> io::Result<()>;
    /// Takes the result of a statement, or of a part of one, without rows.
    fn done(&mut self, done: Done);
}

/// A sink's answer to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It wants more rows.
    Continue,
    /// It wants no more of this set, and did not take this row.
    Enough,
}
