//! Values as JSON (RFC 8259).

use crate::words;
use crate::{Kind, Span, in_valid_parts, push_binary};

/// Largest integer that every JSON reader keeps exactly: 2^53 - 1 (RFC 8259 section 6).
const MAX_EXACT: i128 = (1 << 53) - 1;

/// Digits that never exceed [`MAX_EXACT`].
const SAFE_DIGITS: usize = 15;

/// Appends a row as an object. Each of `keys` is the text before a cell: the brace or comma, the name and the colon.
/// `spans` are the cells in `packet`.
pub fn push_json_row(
    out: &mut Vec<u8>,
    keys: &[Vec<u8>],
    kinds: &[Kind],
    packet: &[u8],
    spans: &[Span],
) {
    for ((key, kind), span) in keys.iter().zip(kinds).zip(spans) {
        out.extend_from_slice(key);
        let cell = span.and_then(|(start, end)| packet.get(start..end));
        push_json(out, *kind, cell);
    }
    out.push(b'}');
}

/// Appends one value.
pub fn push_json(out: &mut Vec<u8>, kind: Kind, cell: Option<&[u8]>) {
    let Some(bytes) = cell else {
        return out.extend_from_slice(b"null");
    };
    let number = match kind {
        Kind::Integer => exact_integer(bytes),
        Kind::Float => json_number(bytes),
        Kind::Text => None,
        Kind::Hex | Kind::BitDigits(_) => {
            out.push(b'"');
            push_binary(out, kind, bytes);
            return out.push(b'"');
        }
    };
    match number {
        Some(digits) => out.extend_from_slice(digits),
        None => push_text(out, bytes),
    }
}

/// Appends a string; invalid UTF-8 becomes U+FFFD.
fn push_text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    // Most cells are short ASCII without anything to escape: one pass, one copy.
    if words::before(bytes, |word| escaped(word) | word) == bytes.len() {
        out.extend_from_slice(bytes);
    } else {
        in_valid_parts(out, bytes, push_json_escaped);
    }
    out.push(b'"');
}

/// Appends a piece of valid UTF-8, escaped for a string.
pub fn push_json_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(words::before(rest, escaped));
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else {
            return;
        };
        push_escape(out, *byte);
        rest = after;
    }
}

/// Marks the characters that a string must escape (RFC 8259 section 7).
fn escaped(word: u64) -> u64 {
    words::below(word, 0x20) | words::is(word, b'"') | words::is(word, b'\\')
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        other => {
            out.extend_from_slice(b"\\u00");
            crate::push_hex(out, &[other]);
        }
    }
}

/// Returns the digits of an integer without leading zeros, if every JSON reader keeps them exactly.
fn exact_integer(bytes: &[u8]) -> Option<&[u8]> {
    let digits = without_zerofill(bytes);
    if !is_integer(digits) {
        return None;
    }
    if digits.len() <= SAFE_DIGITS {
        return Some(digits);
    }
    let value: i128 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (value.abs() <= MAX_EXACT).then_some(digits)
}

fn is_integer(digits: &[u8]) -> bool {
    let rest = unsigned(digits).and_then(after_digits);
    rest.is_some_and(<[u8]>::is_empty)
}

/// Returns a number without its minus; `None` if a zero that JSON forbids follows it, which no server sends.
fn unsigned(number: &[u8]) -> Option<&[u8]> {
    match number.strip_prefix(b"-") {
        Some([b'0', b'0'..=b'9', ..]) => None,
        Some(unsigned) => Some(unsigned),
        None => Some(number),
    }
}

/// Returns a float's text without ZEROFILL's zeros, if that is a JSON number (RFC 8259 section 6).
fn json_number(bytes: &[u8]) -> Option<&[u8]> {
    let number = without_zerofill(bytes);
    let mut rest = after_digits(unsigned(number)?)?;
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
    let end = words::before(text, words::no_digit);
    (end > 0).then(|| text.split_at(end).1)
}

/// Removes the leading zeros of ZEROFILL columns, which JSON forbids.
fn without_zerofill(mut bytes: &[u8]) -> &[u8] {
    while let [b'0', rest @ ..] = bytes {
        if !rest.first().is_some_and(u8::is_ascii_digit) {
            break;
        }
        bytes = rest;
    }
    bytes
}
