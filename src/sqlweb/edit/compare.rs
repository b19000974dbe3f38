//! Whether a cell is still what was shown of it.

use rows::Kind;
use serde_json::{Number, Value};

/// Whether `shown` is what the API tells of `cell`.
pub(super) fn is_same(kind: Kind, cell: Option<&[u8]>, shown: &Value) -> bool {
    match (cell, shown) {
        (None, Value::Null) => true,
        (Some(bytes), Value::String(text)) => is_same_text(kind, bytes, text),
        (Some(bytes), Value::Number(number)) => is_same_number(kind, bytes, number),
        _ => false,
    }
}

fn is_same_text(kind: Kind, bytes: &[u8], text: &str) -> bool {
    if !kind.is_binary() {
        // As the answer's text has it: what is not UTF-8 is U+FFFD there.
        return bytes == text.as_bytes() || String::from_utf8_lossy(bytes) == text;
    }
    let mut told = Vec::new();
    rows::push_binary(&mut told, kind, bytes);
    told.eq_ignore_ascii_case(text.as_bytes())
}

/// A script may write a number in another way than the server (`1e+21`), so these are compared by value.
fn is_same_number(kind: Kind, bytes: &[u8], number: &Number) -> bool {
    let mut told = Vec::new();
    rows::push_json(&mut told, kind, Some(bytes));
    let Ok(told) = std::str::from_utf8(&told) else {
        return false;
    };
    match kind {
        Kind::Integer => told
            .parse()
            .is_ok_and(|told: i64| number.as_i64() == Some(told)),
        Kind::Float => told
            .parse()
            .is_ok_and(|told: f64| number.as_f64() == Some(told)),
        Kind::Text => bytes == number.to_string().as_bytes(),
        Kind::Hex | Kind::BitDigits(_) => false,
    }
}
