//! The answer to a statement about one row, and its comparison with the values that a person saw.

use std::io;

use mysql::Column;
use rows::Kind;
use serde_json::{Number, Value};

use crate::sqlweb::output::{Flow, RowSink, kinds};
use crate::sqlweb::results::{Done, TextRow};

/// Keeps the first row, the number of rows, and the result of a statement without rows.
#[derive(Default)]
pub(super) struct OneRow {
    pub(super) kinds: Vec<Kind>,
    pub(super) cells: Vec<Option<Vec<u8>>>,
    /// Number of rows.
    pub(super) count: u64,
    pub(super) done: Done,
}

impl RowSink for OneRow {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.kinds = kinds(columns);
        Ok(())
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        if self.count == 0 {
            let cell = |i| row.cell(i).map(<[u8]>::to_vec);
            self.cells = (0..self.kinds.len()).map(cell).collect();
        }
        self.count += 1;
        Ok(Flow::Continue)
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn done(&mut self, done: Done) {
        self.done = done;
    }
}

impl OneRow {
    /// Cells with their kinds.
    pub(super) fn cells(&self) -> impl Iterator<Item = (Kind, Option<&[u8]>)> {
        let cells = self.cells.iter().map(|cell| cell.as_deref());
        self.kinds.iter().copied().zip(cells)
    }

    /// Number of rows that an UPDATE found, even unchanged; for other statements, of rows written. It is the first
    /// number of the server's line in every language: `Rows matched: 1  Changed: 0`.
    pub(super) fn found(&self) -> u64 {
        let line = self.done.info.as_deref().unwrap_or_default();
        let digits = line.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let number = digits.get(..end.unwrap_or(digits.len()));
        number
            .and_then(|n| n.parse().ok())
            .unwrap_or(self.done.affected_rows)
    }
}

/// True if `shown` is the API's form of `cell`.
pub(super) fn is_same(kind: Kind, cell: Option<&[u8]>, shown: &Value) -> bool {
    match (cell, shown) {
        (None, Value::Null) => true,
        (Some(bytes), Value::String(text)) => is_same_text(kind, bytes, text),
        (Some(bytes), Value::Number(number)) => is_same_number(kind, bytes, number),
        _ => false,
    }
}

/// True if a FLOAT is the same; the server shows six of its digits, and `shown` may have six or all.
pub(super) fn is_same_float(cell: Option<&[u8]>, shown: &Value) -> bool {
    let number = |text: &str| text.parse::<f32>().ok();
    let cell = cell.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let shown = number(&shown.to_string());
    let (Some(cell), Some(shown)) = (cell.and_then(number), shown) else {
        return false;
    };
    cell == shown || number(&format!("{shown:.5e}")) == Some(cell)
}

/// The fewest digits that identify the FLOAT in `cell`, which has all its digits.
pub(super) fn shortest_float(cell: Option<&[u8]>) -> Option<Vec<u8>> {
    let number: f32 = std::str::from_utf8(cell?).ok()?.parse().ok()?;
    Some(number.to_string().into_bytes())
}

fn is_same_text(kind: Kind, bytes: &[u8], text: &str) -> bool {
    if !kind.is_binary() {
        // In answers invalid UTF-8 is U+FFFD.
        return bytes == text.as_bytes() || String::from_utf8_lossy(bytes) == text;
    }
    let mut written = Vec::new();
    rows::push_binary(&mut written, kind, bytes);
    written.eq_ignore_ascii_case(text.as_bytes())
}

/// Compares numbers by value, since a script may write them in another form than the server (`1e+21`).
fn is_same_number(kind: Kind, bytes: &[u8], number: &Number) -> bool {
    let mut written = Vec::new();
    rows::push_json(&mut written, kind, Some(bytes));
    let Ok(written) = std::str::from_utf8(&written) else {
        return false;
    };
    match kind {
        Kind::Integer => written
            .parse()
            .is_ok_and(|written: i64| number.as_i64() == Some(written)),
        Kind::Float => written
            .parse()
            .is_ok_and(|written: f64| number.as_f64() == Some(written)),
        Kind::Text => bytes == number.to_string().as_bytes(),
        Kind::Hex | Kind::BitDigits(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn found_rows_are_the_first_number_in_any_language() {
        for (info, affected_rows, found) in [
            ("Rows matched: 1  Changed: 0  Warnings: 2", 0, 1),
            (
                "Datens\u{e4}tze gefunden: 3  Ge\u{e4}ndert: 1  Warnungen: 0",
                1,
                3,
            ),
            ("", 1, 1),
            ("no number", 0, 0),
        ] {
            let done = Done {
                affected_rows,
                info: Some(info.into()),
                ..Done::default()
            };
            let answer = OneRow {
                done,
                ..OneRow::default()
            };
            assert_eq!(answer.found(), found, "{info}");
        }
    }

    #[test]
    fn a_cell_is_the_same_by_its_bytes_and_a_number_by_its_value() {
        for (kind, cell, shown, is) in [
            (Kind::Text, Some(&b"a"[..]), json!("a"), true),
            (Kind::Text, Some(b"a"), json!("A"), false),
            (Kind::Text, Some(b"a"), json!("a "), false),
            (Kind::Text, Some(b"a\xff"), json!("a\u{fffd}"), true),
            (Kind::Text, Some(b""), json!(null), false),
            (Kind::Text, None, json!(""), false),
            (Kind::Text, None, json!(null), true),
            (Kind::Text, Some(b"1.50"), json!("1.5"), false),
            (Kind::Integer, Some(b"7"), json!(7), true),
            (Kind::Integer, Some(b"7"), json!("7"), true),
            (Kind::Integer, Some(b"7"), json!(8), false),
            (
                Kind::Integer,
                Some(b"9007199254740993"),
                json!("9007199254740993"),
                true,
            ),
            (
                Kind::Integer,
                Some(b"9007199254740993"),
                json!(9_007_199_254_740_992_u64),
                false,
            ),
            (Kind::Float, Some(b"1e21"), json!(1e21), true),
            (Kind::Float, Some(b"100"), json!(100), true),
            (Kind::Float, Some(b"0.30000000000000004"), json!(0.3), false),
            (Kind::Hex, Some(b"\xab"), json!("0xAB"), true),
            (Kind::Hex, Some(b"\xab"), json!("0xab"), true),
            (Kind::Hex, Some(b"\xab"), json!("AB"), false),
            (Kind::Hex, Some(b""), json!("0x"), true),
            (Kind::BitDigits(2), Some(b"257"), json!("0x0101"), true),
        ] {
            assert_eq!(is_same(kind, cell, &shown), is, "{kind:?} {cell:?} {shown}");
        }
    }

    #[test]
    fn a_float_is_the_same_by_all_its_digits_or_those_that_the_server_shows() {
        for (cell, shown, is) in [
            (Some(&b"1234570"[..]), json!(1_234_567.9), true),
            (Some(b"1234570"), json!(1_234_570), true),
            (Some(b"1234570"), json!(1_234_577.9), false),
            (Some(b"123456"), json!(123_456.5), true),
            (Some(b"1234567.88"), json!(1_234_567.9), true),
            (Some(b"0.1"), json!(0.100_000_001_490_116_12), true),
            (Some(b"0.1"), json!(0.100_001), false),
            (Some(b"0.1"), json!(null), false),
            (None, json!(0.1), false),
        ] {
            assert_eq!(is_same_float(cell, &shown), is, "{cell:?} {shown}");
        }
    }
}
