//! Values as SQL literals, for a session in which backslashes escape.
//!
//! In another mode a text would keep its doubled backslashes and still end at the same quote, so that no value can
//! leave its quotes in any mode.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::table::{ColumnFormat, TableColumn};

/// A checked value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    /// The column's default.
    Default,
    /// Digits.
    Number(String),
    Text(String),
    /// A TIMESTAMP's text, and its seconds since 1970.
    Moment(String, String),
    /// Hexadecimal digits, two a byte.
    Hex(String),
    Bytes(Vec<u8>),
}

/// Longest value that a review shows whole, in bytes; of a longer one it shows the beginning and the size.
const SHOWN: usize = 4 << 10;

/// Characters of that beginning.
const BEGINNING: usize = 64;

/// Longest number without quotes, in bytes.
const MAX_NUMBER: usize = 400;

/// Longest BIT, in hexadecimal digits.
const MAX_BITS: usize = 16;

/// The literal of `value` in `column`; the error says what is wrong with it.
pub(super) fn literal_of(column: &TableColumn, value: &Value) -> Result<Literal, String> {
    match value {
        Value::Null => Ok(Literal::Null),
        Value::String(text) => text_literal(column, text),
        Value::Number(number)
            if matches!(column.form, ColumnFormat::Text | ColumnFormat::Timestamp) =>
        {
            Ok(Literal::Text(number.to_string()))
        }
        Value::Number(_) if column.is_binary() => Err(not_hex(column)),
        Value::Number(number) => Ok(Literal::Number(number.to_string())),
        Value::Object(members) => {
            let only = members.iter().next().filter(|_| members.len() == 1);
            match only {
                Some((name, Value::Bool(true))) if name == "default" => Ok(Literal::Default),
                Some((name, Value::String(text))) if name == "base64" => file(column, text),
                _ => Err(column_error(
                    column,
                    "accepts only {\"default\": true} and {\"base64\": …} as objects",
                )),
            }
        }
        Value::Bool(_) | Value::Array(_) => {
            Err(column_error(column, "accepts null, a string or a number"))
        }
    }
}

fn column_error(column: &TableColumn, what: &str) -> String {
    format!("column '{}' {what}", column.name)
}

fn not_hex(column: &TableColumn) -> String {
    column_error(
        column,
        "is binary and needs 0x and two hexadecimal digits per byte, or {\"base64\": …}",
    )
}

fn text_literal(column: &TableColumn, text: &str) -> Result<Literal, String> {
    match column.form {
        ColumnFormat::Number | ColumnFormat::Rounded if is_number(text) => {
            Ok(Literal::Number(text.to_owned()))
        }
        ColumnFormat::Bits if is_number(text) && !text.starts_with("0x") => {
            Ok(Literal::Number(text.to_owned()))
        }
        ColumnFormat::Bits => {
            let digits = hex_digits(text).filter(|digits| digits.len() <= MAX_BITS);
            let number = match digits {
                Some("") => Some(0),
                digits => digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()),
            };
            let number = number.ok_or_else(|| not_hex(column))?;
            Ok(Literal::Number(number.to_string()))
        }
        ColumnFormat::Binary => {
            let digits = hex_digits(text).ok_or_else(|| not_hex(column))?;
            Ok(Literal::Hex(digits.to_owned()))
        }
        // Hexadecimal digits would be a member's number (MySQL).
        ColumnFormat::BinaryName => {
            let digits = hex_digits(text).ok_or_else(|| not_hex(column))?;
            let name = bytes_of(digits).and_then(|bytes| String::from_utf8(bytes).ok());
            Ok(name.map_or_else(|| Literal::Hex(digits.to_owned()), Literal::Text))
        }
        // The server reports an invalid number.
        ColumnFormat::Number
        | ColumnFormat::Rounded
        | ColumnFormat::Timestamp
        | ColumnFormat::Text => Ok(Literal::Text(text.to_owned())),
    }
}

fn hex_digits(text: &str) -> Option<&str> {
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    let are_pairs = digits.len() % 2 == 0 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    are_pairs.then_some(digits)
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(pair).collect()
}

fn file(column: &TableColumn, text: &str) -> Result<Literal, String> {
    let bytes = BASE64
        .decode(text)
        .map_err(|error| column_error(column, &format!("has invalid base64: {error}")))?;
    match column.form {
        ColumnFormat::Binary => Ok(Literal::Bytes(bytes)),
        ColumnFormat::Text | ColumnFormat::Timestamp => {
            let text = String::from_utf8(bytes);
            let not_text = |_| column_error(column, "contains text, but the file is not UTF-8");
            text.map(Literal::Text).map_err(not_text)
        }
        _ => Err(column_error(column, "is a number and accepts no file")),
    }
}

/// True if `text` is a number in every SQL mode: `-12`, `0.50`, `1e-7`.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    text.len() <= MAX_NUMBER
        && digits(whole)
        && fraction.is_none_or(digits)
        && exponent
            .is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

impl Literal {
    /// Appends it; shortens a long one if the text `is_shown` and not run.
    pub(super) fn push(&self, out: &mut String, is_shown: bool) {
        match self {
            Self::Null => out.push_str("NULL"),
            Self::Default => out.push_str("DEFAULT"),
            Self::Number(digits) => out.push_str(digits),
            Self::Text(text) if is_shown && text.len() > SHOWN => {
                push_text(out, &beginning(text));
                push_size(out, text.len());
            }
            Self::Text(text) | Self::Moment(text, _) => push_text(out, text),
            Self::Hex(digits) if is_shown && digits.len() > 2 * SHOWN => {
                let (beginning, _) = digits.split_at(BEGINNING);
                push_hex_literal(out, |out| out.push_str(beginning));
                push_size(out, digits.len() / 2);
            }
            Self::Hex(digits) => push_hex_literal(out, |out| out.push_str(digits)),
            Self::Bytes(bytes) if is_shown && bytes.len() > SHOWN => {
                let (beginning, _) = bytes.split_at(BEGINNING / 2);
                push_hex_literal(out, |out| push_hex(out, beginning));
                push_size(out, bytes.len());
            }
            Self::Bytes(bytes) => push_hex_literal(out, |out| push_hex(out, bytes)),
        }
    }
}

fn beginning(text: &str) -> String {
    let mut beginning: String = text.chars().take(BEGINNING).collect();
    beginning.push('…');
    beginning
}

fn push_size(out: &mut String, bytes: usize) {
    out.push_str(&format!(" /* {bytes} bytes */"));
}

fn push_hex_literal(out: &mut String, digits: impl FnOnce(&mut String)) {
    out.push_str("X'");
    digits(out);
    out.push('\'');
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    out.reserve(2 * bytes.len());
    let digit = |n: u8| char::from_digit(n.into(), 16).expect("half a byte is a digit");
    for byte in bytes {
        out.push(digit(byte >> 4).to_ascii_uppercase());
        out.push(digit(byte & 15).to_ascii_uppercase());
    }
}

/// Appends a text in quotes, or by its bytes if it has invisible characters.
fn push_text(out: &mut String, text: &str) {
    let is_hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.chars().any(is_hidden) {
        out.push_str("_utf8mb4 ");
        return push_hex_literal(out, |out| push_hex(out, text.as_bytes()));
    }
    out.reserve(text.len() + 2);
    out.push('\'');
    for part in text.split_inclusive(['\'', '\\']) {
        out.push_str(part);
        if let Some(special) = part
            .chars()
            .next_back()
            .filter(|c| matches!(c, '\'' | '\\'))
        {
            out.push(special);
        }
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(form: ColumnFormat, value: &Value) -> Result<String, String> {
        let column = TableColumn {
            name: "c".into(),
            form,
            is_long: false,
            is_generated: false,
            is_invisible: false,
            is_auto_increment: false,
            is_readable: true,
        };
        literal_of(&column, value).map(|literal| {
            let mut out = String::new();
            literal.push(&mut out, false);
            out
        })
    }

    #[test]
    fn values_are_literals_of_their_columns_form() {
        for (form, value, literal) in [
            (ColumnFormat::Number, json!("-12.50"), "-12.50"),
            (ColumnFormat::Number, json!("1e-7"), "1e-7"),
            (ColumnFormat::Number, json!(1e21), "1e+21"),
            (
                ColumnFormat::Number,
                json!(0.300_000_000_000_000_04),
                "0.30000000000000004",
            ),
            (ColumnFormat::Number, json!("00042"), "00042"),
            (ColumnFormat::Number, json!("1 OR 1"), "'1 OR 1'"),
            (ColumnFormat::Number, json!("1e"), "'1e'"),
            (ColumnFormat::Number, json!("--1"), "'--1'"),
            (ColumnFormat::Number, json!("0x41"), "'0x41'"),
            (ColumnFormat::Number, json!(""), "''"),
            (ColumnFormat::Text, json!(7), "'7'"),
            (ColumnFormat::Text, json!("it's \\"), r"'it''s \\'"),
            (ColumnFormat::Text, json!("a\0"), "_utf8mb4 X'6100'"),
            (ColumnFormat::Text, json!(null), "NULL"),
            (ColumnFormat::Text, json!({"default": true}), "DEFAULT"),
            (ColumnFormat::Text, json!({"base64": "ZMOp"}), "'d\u{e9}'"),
            (ColumnFormat::Bits, json!("0x0101"), "257"),
            (ColumnFormat::Bits, json!("0x"), "0"),
            (ColumnFormat::Bits, json!(1), "1"),
            (ColumnFormat::Binary, json!("0x"), "X''"),
            (ColumnFormat::Binary, json!("0xfF"), "X'fF'"),
            (ColumnFormat::Binary, json!({"base64": "/w=="}), "X'FF'"),
            (ColumnFormat::BinaryName, json!("0x61"), "'a'"),
            (ColumnFormat::BinaryName, json!("0xFF"), "X'FF'"),
        ] {
            assert_eq!(written(form, &value).as_deref(), Ok(literal), "{value}");
        }
        for (form, value) in [
            (ColumnFormat::Binary, json!("0x1")),
            (ColumnFormat::Binary, json!("0x4G")),
            (ColumnFormat::Binary, json!("0x\u{e9}")),
            (ColumnFormat::Binary, json!(1)),
            (ColumnFormat::Bits, json!("0x010101010101010101")),
            (ColumnFormat::Bits, json!("1'")),
            (ColumnFormat::Number, json!(true)),
            (ColumnFormat::Text, json!({"default": true, "base64": ""})),
            (ColumnFormat::Text, json!({})),
        ] {
            assert!(written(form, &value).is_err(), "{value}");
        }
    }

    #[test]
    fn of_a_long_value_a_review_shows_the_beginning_and_the_size() {
        let shown = |literal: Literal| {
            let mut out = String::new();
            literal.push(&mut out, true);
            out
        };
        let shown_text = shown(Literal::Text(format!("'*/ DROP{}", "x".repeat(SHOWN))));
        assert!(shown_text.starts_with("'''*/ DROPxx"), "{shown_text}");
        assert!(
            shown_text.ends_with("\u{2026}' /* 4104 bytes */"),
            "{shown_text}"
        );
        let shown_text = shown(Literal::Bytes(vec![0xab; SHOWN + 1]));
        assert_eq!(
            shown_text,
            format!("X'{}' /* 4097 bytes */", "AB".repeat(32))
        );
        assert_eq!(shown_text, shown(Literal::Hex("AB".repeat(SHOWN + 1))));
    }
}
