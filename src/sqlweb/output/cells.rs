//! Values as text: the cells of a column in JSON, CSV and SQL, and the names of columns and types.
//!
//! The server sends every value of the text protocol as bytes; the column's type, flags and character set decide their
//! meaning (MySQL protocol documentation, "Column Definition" and "Text Resultset Row").

use mysql::Column;
use mysql::consts::{ColumnFlags, ColumnType};

use rows::{CsvSigns, Kind, PIECE};

use super::buffer::OutputBuffer;
use crate::sqlweb::results::TextRow;

/// Character set number of `binary`.
const BINARY: u16 = 63;

/// The kind of `column`'s cells.
fn kind_of(column: &Column) -> Kind {
    use ColumnType as T;
    match column.column_type() {
        // Text keeps the leading zeros, which a JSON number cannot have.
        _ if is_zerofill(column) => Kind::Text,
        T::MYSQL_TYPE_TINY
        | T::MYSQL_TYPE_SHORT
        | T::MYSQL_TYPE_INT24
        | T::MYSQL_TYPE_LONG
        | T::MYSQL_TYPE_LONGLONG => Kind::Integer,
        T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => Kind::Float,
        T::MYSQL_TYPE_BIT if comes_in_digits(column) => Kind::BitDigits(bit_bytes(column)),
        T::MYSQL_TYPE_BIT | T::MYSQL_TYPE_GEOMETRY => Kind::Hex,
        other if is_string(other) && column.character_set() == BINARY => Kind::Hex,
        _ => Kind::Text,
    }
}

/// True if the server pads `column`'s numbers. A TIMESTAMP has the flag too.
fn is_zerofill(column: &Column) -> bool {
    column.flags().contains(ColumnFlags::ZEROFILL_FLAG) && column.column_type().is_numeric_type()
}

/// True if a BIT arrives in decimal digits. MariaDB sends bytes for a column, but digits for an expression such as
/// `MAX(b)`, which has the binary flag and no column's name.
fn comes_in_digits(column: &Column) -> bool {
    column.flags().contains(ColumnFlags::BINARY_FLAG) && column.org_name_ref().is_empty()
}

/// Number of bytes for the declared number of bits, 1 to 64.
fn bit_bytes(column: &Column) -> usize {
    usize::try_from(column.column_length().div_ceil(8)).map_or(8, |bytes| bytes.clamp(1, 8))
}

fn is_string(kind: ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        kind,
        T::MYSQL_TYPE_VARCHAR
            | T::MYSQL_TYPE_VAR_STRING
            | T::MYSQL_TYPE_STRING
            | T::MYSQL_TYPE_TINY_BLOB
            | T::MYSQL_TYPE_MEDIUM_BLOB
            | T::MYSQL_TYPE_LONG_BLOB
            | T::MYSQL_TYPE_BLOB
            | T::MYSQL_TYPE_VECTOR
    )
}

/// The name of `column`'s type, for example `BIGINT UNSIGNED`, `VARCHAR`, `LONGTEXT`.
pub(crate) fn type_name(column: &Column) -> String {
    use ColumnType as T;
    let binary = column.character_set() == BINARY;
    // A YEAR and a TIMESTAMP have the flags too.
    let number = |name: &str| match column.flags() {
        flags if flags.contains(ColumnFlags::ZEROFILL_FLAG) => format!("{name} UNSIGNED ZEROFILL"),
        flags if flags.contains(ColumnFlags::UNSIGNED_FLAG) => format!("{name} UNSIGNED"),
        _ => name.to_owned(),
    };
    let name = match column.column_type() {
        T::MYSQL_TYPE_TINY => return number("TINYINT"),
        T::MYSQL_TYPE_SHORT => return number("SMALLINT"),
        T::MYSQL_TYPE_INT24 => return number("MEDIUMINT"),
        T::MYSQL_TYPE_LONG => return number("INT"),
        T::MYSQL_TYPE_LONGLONG => return number("BIGINT"),
        T::MYSQL_TYPE_FLOAT => return number("FLOAT"),
        T::MYSQL_TYPE_DOUBLE => return number("DOUBLE"),
        T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => return number("DECIMAL"),
        T::MYSQL_TYPE_YEAR => "YEAR",
        T::MYSQL_TYPE_DATE | T::MYSQL_TYPE_NEWDATE => "DATE",
        T::MYSQL_TYPE_TIME | T::MYSQL_TYPE_TIME2 => "TIME",
        T::MYSQL_TYPE_DATETIME | T::MYSQL_TYPE_DATETIME2 => "DATETIME",
        T::MYSQL_TYPE_TIMESTAMP | T::MYSQL_TYPE_TIMESTAMP2 => "TIMESTAMP",
        T::MYSQL_TYPE_BIT => "BIT",
        T::MYSQL_TYPE_JSON => "JSON",
        T::MYSQL_TYPE_GEOMETRY => "GEOMETRY",
        T::MYSQL_TYPE_VECTOR => "VECTOR",
        T::MYSQL_TYPE_NULL => "NULL",
        T::MYSQL_TYPE_ENUM => "ENUM",
        T::MYSQL_TYPE_SET => "SET",
        other if is_string(other) => string_type(column, binary),
        _ => "UNKNOWN",
    };
    name.to_owned()
}

fn string_type(column: &Column, binary: bool) -> &'static str {
    use ColumnType as T;
    let flags = column.flags();
    if flags.contains(ColumnFlags::ENUM_FLAG) {
        return "ENUM";
    }
    if flags.contains(ColumnFlags::SET_FLAG) {
        return "SET";
    }
    match (column.column_type(), binary) {
        (T::MYSQL_TYPE_STRING, false) => "CHAR",
        (T::MYSQL_TYPE_STRING, true) => "BINARY",
        (T::MYSQL_TYPE_VARCHAR | T::MYSQL_TYPE_VAR_STRING, false) => "VARCHAR",
        (T::MYSQL_TYPE_VARCHAR | T::MYSQL_TYPE_VAR_STRING, true) => "VARBINARY",
        (_, true) => blob_type(column.column_length()),
        (_, false) => text_type(column.column_length()),
    }
}

/// Name of a BLOB's type; its four sizes have one wire type, and differ in the declared length in bytes.
fn blob_type(length: u32) -> &'static str {
    match length {
        0..=0xff => "TINYBLOB",
        0x100..=0xffff => "BLOB",
        0x1_0000..=0xff_ffff => "MEDIUMBLOB",
        _ => "LONGBLOB",
    }
}

/// Name of a TEXT's type, as [`blob_type`], but the server multiplies the length by the bytes of a character (up to 4).
fn text_type(length: u32) -> &'static str {
    match length {
        0..=0x3fc => "TINYTEXT",
        0x3fd..=0x3_fffc => "TEXT",
        0x3_fffd..=0x3ff_fffc => "MEDIUMTEXT",
        _ => "LONGTEXT",
    }
}

/// Kinds of the columns' cells.
pub(crate) fn kinds(columns: &[Column]) -> Vec<Kind> {
    columns.iter().map(kind_of).collect()
}

/// Columns of one result set, prepared for writing its rows.
#[derive(Default)]
pub(crate) struct RowWriter {
    /// The unique names.
    pub(crate) names: Vec<String>,
    /// Kind of each column's cells.
    pub(crate) kinds: Vec<Kind>,
    /// Prefix of each cell: the brace or comma, the name and the colon.
    keys: Vec<Vec<u8>>,
}

impl RowWriter {
    /// A writer of rows with these columns.
    pub(crate) fn of(columns: &[Column]) -> Self {
        let names = unique_names(columns);
        let key = |(i, name): (usize, &String)| {
            let before = if i == 0 { '{' } else { ',' };
            format!("{before}{}:", serde_json::json!(name)).into_bytes()
        };
        Self {
            keys: names.iter().enumerate().map(key).collect(),
            kinds: kinds(columns),
            names,
        }
    }

    /// Writes one row as a JSON object keyed by column name.
    pub(crate) fn json(&self, out: &mut OutputBuffer<'_>, row: TextRow<'_>) -> std::io::Result<()> {
        if let TextRow::Packet(packet, spans) = row
            && packet.len() <= PIECE
        {
            rows::push_json_row(out.bytes(), &self.keys, &self.kinds, packet, spans);
            return Ok(());
        }
        for (i, (key, kind)) in self.keys.iter().zip(&self.kinds).enumerate() {
            out.push(key);
            json(out, *kind, row.cell(i))?;
        }
        out.push(b"}");
        Ok(())
    }

    /// Writes the row as a JSON object; valid JSON in `nested` columns is nested.
    pub(crate) fn json_nested(
        &self,
        out: &mut OutputBuffer<'_>,
        row: TextRow<'_>,
        nested: &[bool],
    ) -> std::io::Result<()> {
        let columns = self.keys.iter().zip(&self.kinds).zip(nested);
        for (i, ((key, kind), nested)) in columns.enumerate() {
            out.push(key);
            match row.cell(i).filter(|_| *nested).and_then(json_document) {
                Some(document) => nest(out, document)?,
                None => json(out, *kind, row.cell(i))?,
            }
        }
        out.push(b"}");
        Ok(())
    }
}

/// The text of a cell, if it is JSON.
fn json_document(cell: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(cell).ok()?;
    let is_valid = serde_json::from_slice::<serde::de::IgnoredAny>(text.as_bytes()).is_ok();
    is_valid.then_some(text)
}

/// Writes a document in one line; its line ends are never within a text.
fn nest(out: &mut OutputBuffer<'_>, document: &str) -> std::io::Result<()> {
    for line in document.trim().lines() {
        pieces(out, line.as_bytes(), |out, piece| {
            out.extend_from_slice(piece);
        })?;
    }
    Ok(())
}

/// True if `column` is a JSON column of MySQL; MariaDB's are texts.
pub(crate) fn is_json(column: &Column) -> bool {
    column.column_type() == ColumnType::MYSQL_TYPE_JSON
}

/// True if `column`'s values are numbers that need no quotes in a statement.
pub(crate) fn is_number(column: &Column) -> bool {
    use ColumnType as T;
    let is_decimal = matches!(
        column.column_type(),
        T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL
    );
    is_decimal || matches!(kind_of(column), Kind::Integer | Kind::Float)
}

/// Writes one value as JSON.
fn json(out: &mut OutputBuffer<'_>, kind: Kind, cell: Option<&[u8]>) -> std::io::Result<()> {
    match cell {
        Some(bytes) if bytes.len() > PIECE => {
            out.push(b"\"");
            in_pieces(out, kind, bytes, rows::push_json_escaped)?;
            out.push(b"\"");
        }
        cell => rows::push_json(out.bytes(), kind, cell),
    }
    out.flush_if_full()
}

/// True if `column`'s values may have a decimal point.
pub(crate) fn has_decimals(column: &Column) -> bool {
    use ColumnType as T;
    matches!(
        column.column_type(),
        T::MYSQL_TYPE_DECIMAL
            | T::MYSQL_TYPE_NEWDECIMAL
            | T::MYSQL_TYPE_FLOAT
            | T::MYSQL_TYPE_DOUBLE
    )
}

/// Writes a number as a CSV field with a decimal comma, which is not the delimiter.
pub(crate) fn csv_with_comma(
    out: &mut OutputBuffer<'_>,
    number: &[u8],
    signs: CsvSigns<'_>,
) -> std::io::Result<()> {
    if !is_digits(number) {
        return csv(out, Kind::Text, number, signs);
    }
    rows::push_csv_with_comma(out.bytes(), number, signs.null);
    out.flush_if_full()
}

/// Writes one value that is not NULL as a CSV field.
pub(crate) fn csv(
    out: &mut OutputBuffer<'_>,
    kind: Kind,
    bytes: &[u8],
    signs: CsvSigns<'_>,
) -> std::io::Result<()> {
    if bytes.len() > PIECE {
        let has_quotes = !kind.is_binary() && rows::csv_needs_quotes(bytes, signs);
        let quote: &[u8] = if has_quotes { b"\"" } else { b"" };
        out.push(quote);
        in_pieces(out, kind, bytes, rows::push_csv_quoted)?;
        out.push(quote);
    } else {
        rows::push_csv(out.bytes(), kind, bytes, signs);
    }
    out.flush_if_full()
}

/// Writes one value as an SQL literal, for a mode in which backslashes escape.
pub(crate) fn sql(
    out: &mut OutputBuffer<'_>,
    kind: Kind,
    is_number: bool,
    cell: Option<&[u8]>,
) -> std::io::Result<()> {
    match cell {
        None => out.push(b"NULL"),
        Some(b"") => out.push(b"''"),
        Some(digits) if is_number && is_digits(digits) => out.push(digits),
        Some(bytes) if kind.is_binary() && bytes.len() <= PIECE => {
            rows::push_binary(out.bytes(), kind, bytes);
        }
        Some(bytes) if kind.is_binary() => in_pieces(out, kind, bytes, rows::push_sql_escaped)?,
        Some(text) => {
            out.push(b"'");
            in_pieces(out, kind, text, rows::push_sql_escaped)?;
            out.push(b"'");
        }
    }
    out.flush_if_full()
}

/// True for a number as servers write it; any other text needs quotes.
fn is_digits(cell: &[u8]) -> bool {
    let is_of_number =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    cell.len() <= PIECE && !cell.starts_with(b"--") && cell.iter().all(is_of_number)
}

/// Writes a long value, a text with `push`; invalid UTF-8 becomes U+FFFD.
fn in_pieces(
    out: &mut OutputBuffer<'_>,
    kind: Kind,
    bytes: &[u8],
    push: fn(&mut Vec<u8>, &[u8]),
) -> std::io::Result<()> {
    if kind.is_binary() {
        out.push(b"0x");
        return pieces(out, bytes, rows::push_hex);
    }
    if std::str::from_utf8(bytes).is_ok() {
        return pieces(out, bytes, push);
    }
    for chunk in bytes.utf8_chunks() {
        pieces(out, chunk.valid().as_bytes(), push)?;
        if !chunk.invalid().is_empty() {
            out.push("\u{fffd}".as_bytes());
        }
    }
    Ok(())
}

fn pieces(
    out: &mut OutputBuffer<'_>,
    bytes: &[u8],
    push: fn(&mut Vec<u8>, &[u8]),
) -> std::io::Result<()> {
    for piece in bytes.chunks(PIECE) {
        push(out.bytes(), piece);
        out.flush_if_full()?;
    }
    Ok(())
}

/// Makes column names unique: a repeated name gets `_2`, `_3`, … that collides with no other.
fn unique_names(columns: &[Column]) -> Vec<String> {
    let names: Vec<String> = columns.iter().map(|c| c.name_str().into_owned()).collect();
    let mut taken: std::collections::HashSet<String> = names.iter().cloned().collect();
    let mut seen = std::collections::HashSet::new();
    let mut next: std::collections::HashMap<&str, u32> = std::collections::HashMap::new();
    names
        .iter()
        .map(|name| {
            if seen.insert(name.as_str()) {
                return name.clone();
            }
            let number = next.entry(name).or_insert(2);
            loop {
                let candidate = format!("{name}_{number}");
                *number += 1;
                if taken.insert(candidate.clone()) {
                    return candidate;
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_json(kind: Kind, bytes: &[u8]) -> String {
        let mut target = Vec::new();
        let mut out = OutputBuffer::new(&mut target);
        json(&mut out, kind, Some(bytes)).unwrap();
        out.flush().unwrap();
        drop(out);
        String::from_utf8(target).unwrap()
    }

    fn as_csv(bytes: &[u8]) -> String {
        let mut target = Vec::new();
        let mut out = OutputBuffer::new(&mut target);
        let signs = CsvSigns {
            delimiter: b',',
            null: "\\N",
        };
        csv(&mut out, Kind::Text, bytes, signs).unwrap();
        out.flush().unwrap();
        drop(out);
        String::from_utf8(target).unwrap()
    }

    #[test]
    fn integers_stay_exact() {
        for (bytes, expected) in [
            ("0", "0"),
            ("-7", "-7"),
            ("00042", "42"),
            ("0000", "0"),
            ("9007199254740991", "9007199254740991"),
            ("-9007199254740991", "-9007199254740991"),
            ("9007199254740992", "\"9007199254740992\""),
            ("18446744073709551615", "\"18446744073709551615\""),
            ("-9223372036854775808", "\"-9223372036854775808\""),
            ("", "\"\""),
            ("12x", "\"12x\""),
        ] {
            assert_eq!(
                as_json(Kind::Integer, bytes.as_bytes()),
                expected,
                "{bytes}"
            );
        }
    }

    #[test]
    fn floats_are_json_numbers_or_strings() {
        for (bytes, expected) in [
            ("1.5", "1.5"),
            ("-0", "-0"),
            ("1e100", "1e100"),
            ("1.7976931348623157e308", "1.7976931348623157e308"),
            ("2.5e-7", "2.5e-7"),
            ("0001.5", "1.5"),
            ("1.", "\"1.\""),
            (".5", "\".5\""),
            ("nan", "\"nan\""),
            ("1e", "\"1e\""),
        ] {
            assert_eq!(as_json(Kind::Float, bytes.as_bytes()), expected, "{bytes}");
        }
    }

    #[test]
    fn text_is_escaped_and_valid() {
        assert_eq!(
            as_json(Kind::Text, b"a\"b\\c\n\x00\x1f\x7f\xc3\xa9"),
            "\"a\\\"b\\\\c\\n\\u0000\\u001F\u{7f}é\""
        );
        assert_eq!(as_json(Kind::Text, b"a\xffb"), "\"a\u{fffd}b\"");
    }

    #[test]
    fn long_values_are_whole() {
        let long = vec![b'"'; 3 * PIECE + 7];
        assert_eq!(as_json(Kind::Text, &long).len(), 2 * long.len() + 2);
        assert_eq!(as_json(Kind::Hex, &long).len(), 2 * long.len() + 4);
        let long = "é,".repeat(PIECE);
        assert_eq!(as_json(Kind::Text, long.as_bytes()), format!("\"{long}\""));
        assert_eq!(as_csv(long.as_bytes()), format!("\"{long}\""));
        let long = [long.as_bytes(), b"\xff\"x"].concat();
        assert!(as_json(Kind::Text, &long).ends_with(",\u{fffd}\\\"x\""));
        assert!(as_csv(&long).ends_with(",\u{fffd}\"\"x\""));
    }

    #[test]
    fn csv_fields() {
        for (bytes, expected) in [
            (&b"plain"[..], "plain"),
            (b"", "\"\""),
            (b"a,b", "\"a,b\""),
            (b"a\"b", "\"a\"\"b\""),
            (b"\"", "\"\"\"\""),
            (b"line\nend", "\"line\nend\""),
            (b" x ", " x "),
            (b"\\N", "\"\\N\""),
        ] {
            assert_eq!(as_csv(bytes), expected);
        }
    }

    #[test]
    fn duplicate_names_collide_with_nothing() {
        let column =
            |name: &str| Column::new(ColumnType::MYSQL_TYPE_LONG).with_name(name.as_bytes());
        let names =
            |list: &[&str]| unique_names(&list.iter().map(|n| column(n)).collect::<Vec<_>>());
        assert_eq!(names(&["id", "id", "id"]), ["id", "id_2", "id_3"]);
        assert_eq!(names(&["id", "id", "id_2"]), ["id", "id_3", "id_2"]);
        assert_eq!(
            names(&["id_2", "id", "id", "id_2"]),
            ["id_2", "id", "id_3", "id_2_2"]
        );
        assert_eq!(names(&["", ""]), ["", "_2"]);
    }
}
