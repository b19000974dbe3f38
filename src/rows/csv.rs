//! Values as CSV fields (RFC 4180 section 2).

use crate::{Kind, in_valid_parts, push_binary, words};

/// Appends one value: a text is quoted where it holds a comma, a quote or a line end. An empty one is quoted too, and one
/// that says `null`, which stands for NULL, or what does so elsewhere, so that they stay apart from it.
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

/// True if a text stands in quotes; see [`push_csv`].
pub fn csv_needs_quotes(bytes: &[u8], null: &str) -> bool {
    may_be_null(bytes, null) || words::before(bytes, quoted) < bytes.len()
}

/// True if a reader may take a text for NULL: nothing, `null`, or what programs write for it.
fn may_be_null(bytes: &[u8], null: &str) -> bool {
    bytes.is_empty()
        || bytes == null.as_bytes()
        || bytes == b"\\N"
        || bytes.eq_ignore_ascii_case(b"null")
}

/// Appends a piece of a text that is UTF-8, with its quotes doubled; one that needs none has none.
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

/// Marks what makes a field need quotes.
fn quoted(word: u64) -> u64 {
    words::is(word, b'"') | words::is(word, b',') | words::is(word, b'\r') | words::is(word, b'\n')
}
