//! Values as CSV fields (RFC 4180 section 2).

use crate::{Kind, in_valid_parts, push_binary, words};

/// Appends one value. A text is quoted if it contains a comma, a quote or a line end, and also if it is empty or could
/// be taken for NULL, which `null` represents.
pub fn push_csv(out: &mut Vec<u8>, kind: Kind, bytes: &[u8], null: &str) {
    if kind.is_binary() {
        return push_binary(out, kind, bytes);
    }
    // Most fields are short and plain: one pass, one copy.
    let is_plain = words::before(bytes, |word| quoted(word) | word) == bytes.len();
    if is_plain && !may_be_null(bytes, null) {
        return out.extend_from_slice(bytes);
    }
    let has_quotes = csv_needs_quotes(bytes, null);
    let quote: &[u8] = if has_quotes { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    in_valid_parts(out, bytes, push_csv_quoted);
    out.extend_from_slice(quote);
}

/// True if a text must be quoted; see [`push_csv`].
pub fn csv_needs_quotes(bytes: &[u8], null: &str) -> bool {
    may_be_null(bytes, null) || words::before(bytes, quoted) < bytes.len()
}

/// True if a reader may take a text for NULL: it is empty, `null`, or what other programs write for NULL.
fn may_be_null(bytes: &[u8], null: &str) -> bool {
    bytes.is_empty()
        || bytes == null.as_bytes()
        || bytes == b"\\N"
        || bytes.eq_ignore_ascii_case(b"null")
}

/// Appends a piece of valid UTF-8, with its quotes doubled.
pub fn push_csv_quoted(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let at = words::before(rest, |word| words::is(word, b'"'));
        let (plain, quote) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((_, after)) = quote.split_first() else {
            return;
        };
        out.extend_from_slice(b"\"\"");
        rest = after;
    }
}

/// Marks the characters for which a field must be quoted.
fn quoted(word: u64) -> u64 {
    words::is(word, b'"') | words::is(word, b',') | words::is(word, b'\r') | words::is(word, b'\n')
}
