//! Values as text: what a column's cells look like in JSON and CSV, and what its type is called.
//!
//! The server sends every value of the text protocol as bytes; the column's type, flags and character set decide what
//! they mean (MySQL protocol documentation, "Column Definition" and "Text Resultset Row").

use mysql::consts::{ColumnFlags, ColumnType};
use mysql::{Column, Row, Value};

use super::buffer::{OutputBuffer, PIECE};

/// Character set number of `binary`.
const BINARY: u16 = 63;

/// Largest integer that every JSON reader keeps exactly: 2^53 - 1 (RFC 8259 section 6).
const MAX_EXACT: i128 = (1 << 53) - 1;

/// Digits that never exceed [`MAX_EXACT`].
const SAFE_DIGITS: usize = 15;

/// How the cells of one column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number in JSON while it is exact there, else a string.
    Integer,
    /// A number in JSON.
    Float,
    /// Text, quoted in JSON.
    Text,
    /// Bytes, as `0x` and hexadecimal digits.
    Hex,
    /// A BIT that arrives in decimal digits, as so many bytes, 1 to 8, in hexadecimal digits.
    BitDigits(usize),
}

impl Kind {
    /// The kind of `column`'s cells.
    pub(crate) fn of(column: &Column) -> Self {
        use ColumnType as T;
        match column.column_type() {
            // As the server shows it: the zeros in front are the point of such a column, and no JSON number has them.
            _ if is_zerofill(column) => Self::Text,
            T::MYSQL_TYPE_TINY
            | T::MYSQL_TYPE_SHORT
            | T::MYSQL_TYPE_INT24
            | T::MYSQL_TYPE_LONG
            | T::MYSQL_TYPE_LONGLONG => Self::Integer,
            T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => Self::Float,
            T::MYSQL_TYPE_BIT if comes_in_digits(column) => Self::BitDigits(bit_bytes(column)),
            T::MYSQL_TYPE_BIT | T::MYSQL_TYPE_GEOMETRY => Self::Hex,
            other if is_string(other) && column.character_set() == BINARY => Self::Hex,
            _ => Self::Text,
        }
    }
}

/// Whether the server pads `column`'s numbers. A TIMESTAMP has the flag too.
fn is_zerofill(column: &Column) -> bool {
    column.flags().contains(ColumnFlags::ZEROFILL_FLAG) && column.column_type().is_numeric_type()
}

/// MariaDB sends a BIT's bytes from a column, but decimal digits from an expression such as `MAX(b)`, which has the
/// binary flag and no column's name.
fn comes_in_digits(column: &Column) -> bool {
    column.flags().contains(ColumnFlags::BINARY_FLAG) && column.org_name_ref().is_empty()
}

/// The bytes that hold the declared number of bits, 1 to 64.
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

/// The four sizes arrive as one wire type; the declared length in bytes tells them apart.
fn blob_type(length: u32) -> &'static str {
    match length {
        0..=0xff => "TINYBLOB",
        0x100..=0xffff => "BLOB",
        0x1_0000..=0xff_ffff => "MEDIUMBLOB",
        _ => "LONGBLOB",
    }
}

/// As [`blob_type`], but the server multiplies the length by the bytes a character can take (up to 4).
fn text_type(length: u32) -> &'static str {
    match length {
        0..=0x3fc => "TINYTEXT",
        0x3fd..=0x3_fffc => "TEXT",
        0x3_fffd..=0x3ff_fffc => "MEDIUMTEXT",
        _ => "LONGTEXT",
    }
}

/// The columns of one result set, made ready to write its rows.
#[derive(Default)]
pub(crate) struct Record {
    /// The unique names.
    pub(crate) names: Vec<String>,
    /// How each column's cells are written.
    pub(crate) kinds: Vec<Kind>,
    /// What stands before each cell: the brace or comma, the name and the colon.
    keys: Vec<Vec<u8>>,
}

impl Record {
    /// The record of rows with these columns.
    pub(crate) fn of(columns: &[Column]) -> Self {
        let names = unique_names(columns);
        let key = |(i, name): (usize, &String)| {
            let before = if i == 0 { '{' } else { ',' };
            format!("{before}{}:", serde_json::json!(name)).into_bytes()
        };
        Self {
            keys: names.iter().enumerate().map(key).collect(),
            kinds: columns.iter().map(Kind::of).collect(),
            names,
        }
    }

    /// Writes one row as a JSON object keyed by column name.
    pub(crate) fn json(&self, out: &mut OutputBuffer<'_>, row: &Row) -> std::io::Result<()> {
        for (i, (key, kind)) in self.keys.iter().zip(&self.kinds).enumerate() {
            out.push(key);
            match row.as_ref(i) {
                Some(Value::Bytes(bytes)) => json(out, *kind, bytes)?,
                _ => out.push(b"null"),
            }
        }
        out.push(b"}");
        Ok(())
    }
}

/// Writes one value that is not NULL as JSON.
fn json(out: &mut OutputBuffer<'_>, kind: Kind, bytes: &[u8]) -> std::io::Result<()> {
    match kind {
        Kind::Integer => match exact_integer(bytes) {
            Some(digits) => out.push(digits),
            None => json_text(out, bytes)?,
        },
        Kind::Float => match json_number(bytes) {
            Some(digits) => out.push(digits),
            None => json_text(out, bytes)?,
        },
        Kind::Text => json_text(out, bytes)?,
        Kind::Hex | Kind::BitDigits(_) => {
            out.push(b"\"");
            binary(out, kind, bytes)?;
            out.push(b"\"");
        }
    }
    Ok(())
}

/// The digits of an integer as JSON has them (no leading zeros), where a JSON reader keeps them exactly.
fn exact_integer(bytes: &[u8]) -> Option<&[u8]> {
    let digits = without_zerofill(bytes);
    if digits.len() <= SAFE_DIGITS {
        return is_integer(digits).then_some(digits);
    }
    let value: i128 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (value.abs() <= MAX_EXACT).then_some(digits)
}

fn is_integer(digits: &[u8]) -> bool {
    let unsigned = digits.strip_prefix(b"-").unwrap_or(digits);
    !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit)
}

/// A float's text where it is a JSON number (RFC 8259 section 6), which it is but for zeros in front.
fn json_number(bytes: &[u8]) -> Option<&[u8]> {
    let number = without_zerofill(bytes);
    let mut rest = number.strip_prefix(b"-").unwrap_or(number);
    rest = after_digits(rest)?;
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = after_digits(fraction)?;
    }
    if let Some((b'e' | b'E', exponent)) = rest.split_first() {
        let unsigned = match exponent.split_first() {
            Some((b'+' | b'-', unsigned)) => unsigned,
            _ => exponent,
        };
        rest = after_digits(unsigned)?;
    }
    rest.is_empty().then_some(number)
}

fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (end > 0).then(|| text.split_at(end).1)
}

/// JSON forbids leading zeros (RFC 8259 section 6).
fn without_zerofill(mut bytes: &[u8]) -> &[u8] {
    while let [b'0', rest @ ..] = bytes {
        if !rest.first().is_some_and(u8::is_ascii_digit) {
            break;
        }
        bytes = rest;
    }
    bytes
}

/// Writes bytes as a JSON string; what is not UTF-8 becomes U+FFFD.
fn json_text(out: &mut OutputBuffer<'_>, bytes: &[u8]) -> std::io::Result<()> {
    // Most cells are short ASCII without anything to escape: one pass, one copy.
    if bytes.len() <= PIECE && is_plain(bytes) {
        out.push_quoted(bytes);
        return Ok(());
    }
    out.push(b"\"");
    in_valid_parts(out, bytes, escaped)?;
    out.push(b"\"");
    Ok(())
}

/// Writes what is UTF-8 with `write`, in one piece where all of it is, and U+FFFD for the rest.
fn in_valid_parts(
    out: &mut OutputBuffer<'_>,
    bytes: &[u8],
    write: impl Fn(&mut OutputBuffer<'_>, &[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    if std::str::from_utf8(bytes).is_ok() {
        return write(out, bytes);
    }
    for chunk in bytes.utf8_chunks() {
        write(out, chunk.valid().as_bytes())?;
        if !chunk.invalid().is_empty() {
            out.push("\u{fffd}".as_bytes());
        }
    }
    Ok(())
}

/// Whether a text is ASCII without anything to escape; looked at eight bytes at a time.
fn is_plain(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    words.iter().all(|word| is_plain_word(*word))
        && rest
            .iter()
            .all(|byte| byte.is_ascii() && !needs_escape(byte))
}

/// The same of eight bytes. Subtracting from each byte sets its highest bit where that borrows; a borrow from the byte
/// beside it can only come from one that is found itself.
fn is_plain_word(bytes: [u8; 8]) -> bool {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHEST: u64 = EACH * 0x80;
    let word = u64::from_ne_bytes(bytes);
    let below = |word: u64, limit: u64| word.wrapping_sub(EACH * limit) & !word;
    let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (word | below(word, 0x20) | is(b'"') | is(b'\\')) & HIGHEST == 0
}

/// Whether a byte cannot stand in a JSON string as it is (RFC 8259 section 7).
fn needs_escape(byte: &u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\')
}

fn escaped(out: &mut OutputBuffer<'_>, text: &[u8]) -> std::io::Result<()> {
    for piece in text.chunks(PIECE) {
        let mut rest = piece;
        while let Some(at) = rest.iter().position(needs_escape) {
            let (plain, special) = rest.split_at(at);
            out.push(plain);
            if let Some((byte, after)) = special.split_first() {
                escape(out, *byte);
                rest = after;
            }
        }
        out.push(rest);
        out.flush_if_full()?;
    }
    Ok(())
}

fn escape(out: &mut OutputBuffer<'_>, byte: u8) {
    match byte {
        b'"' => out.push(b"\\\""),
        b'\\' => out.push(b"\\\\"),
        b'\n' => out.push(b"\\n"),
        b'\r' => out.push(b"\\r"),
        b'\t' => out.push(b"\\t"),
        other => {
            out.push(b"\\u00");
            out.push(&hex_pair(other));
        }
    }
}

/// Writes a value of a binary kind.
pub(crate) fn binary(out: &mut OutputBuffer<'_>, kind: Kind, bytes: &[u8]) -> std::io::Result<()> {
    let number = match kind {
        Kind::BitDigits(width) => number(bytes).map(|number| (number.to_be_bytes(), width)),
        _ => None,
    };
    match &number {
        Some((wide, width)) => hex(out, wide.split_at(wide.len() - width).1),
        None => hex(out, bytes),
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Writes `0x` and two digits a byte, upper case as the server's own `HEX()` has them.
fn hex(out: &mut OutputBuffer<'_>, bytes: &[u8]) -> std::io::Result<()> {
    out.push(b"0x");
    for piece in bytes.chunks(PIECE / 2) {
        for byte in piece {
            out.push(&hex_pair(*byte));
        }
        out.flush_if_full()?;
    }
    Ok(())
}

fn hex_pair(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |n: u8| *DIGITS.get(usize::from(n)).expect("half a byte is below 16");
    [digit(byte >> 4), digit(byte & 15)]
}

/// Writes text as one CSV field (RFC 4180 section 2): quoted where it holds a comma, a quote or a line end. An empty text
/// is quoted too, and one that says what stands for NULL, so that they stay apart from it.
pub(crate) fn csv_text(
    out: &mut OutputBuffer<'_>,
    bytes: &[u8],
    null: &str,
) -> std::io::Result<()> {
    let plain = !bytes.is_empty()
        && bytes != null.as_bytes()
        && !bytes
            .iter()
            .any(|b| matches!(b, b'"' | b',' | b'\r' | b'\n'));
    if plain {
        return in_valid_parts(out, bytes, |out, text| csv_pieces(out, text, false));
    }
    out.push(b"\"");
    in_valid_parts(out, bytes, |out, text| csv_pieces(out, text, true))?;
    out.push(b"\"");
    Ok(())
}

fn csv_pieces(out: &mut OutputBuffer<'_>, text: &[u8], doubled: bool) -> std::io::Result<()> {
    // Most fields are short and plain: one copy, also where the loop below is built for size.
    if !doubled && text.len() <= PIECE {
        out.push(text);
        return out.flush_if_full();
    }
    for piece in text.chunks(PIECE) {
        if doubled {
            for (i, part) in piece.split(|b| *b == b'"').enumerate() {
                if i > 0 {
                    out.push(b"\"\"");
                }
                out.push(part);
            }
        } else {
            out.push(piece);
        }
        out.flush_if_full()?;
    }
    Ok(())
}

/// Column names made unique: a name that stood before gets `_2`, `_3`, … that collides with no other.
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
        json(&mut out, kind, bytes).unwrap();
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
    fn plain_text_is_told_byte_by_byte() {
        for length in [1, 7, 8, 9, 16, 20] {
            for at in 0..length {
                for byte in 0..=255u8 {
                    let mut text = vec![b'~'; length];
                    text[at] = byte;
                    let expected = byte.is_ascii() && !needs_escape(&byte);
                    assert_eq!(is_plain(&text), expected, "{byte:#x} at {at} of {length}");
                }
            }
        }
        for pair in 0..=u16::MAX {
            let [one, other] = pair.to_be_bytes();
            let text = [b' ', one, other, b'!', 0x7f, b'[', b']', b'#'];
            let expected = text.iter().all(|b| b.is_ascii() && !needs_escape(b));
            assert_eq!(is_plain(&text), expected, "{text:?}");
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
            let mut target = Vec::new();
            let mut out = OutputBuffer::new(&mut target);
            csv_text(&mut out, bytes, "\\N").unwrap();
            out.flush().unwrap();
            drop(out);
            assert_eq!(String::from_utf8(target).unwrap(), expected);
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
