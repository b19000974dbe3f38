//! Values as CSV fields (RFC 4180 section 2).

use crate::{Kind, in_valid_parts, push_binary, words};

/// Appends one value: a text is quoted where it holds a comma, a quote or a line end. An empty one is quoted too, so that
/// it stays apart from NULL.
pub fn push_csv(out: &mut Vec<u8>, kind: Kind, bytes: &[u8]) {
    if kind.is_binary() {
        return push_binary(out, kind, bytes);
    }
    // Most fields are short and plain: one pass, one copy.
    if !bytes.is_empty() && words::before(bytes, |word| quoted(word) | word) == bytes.len() {
        return out.extend_from_slice(bytes);
    }
    let quote: &[u8] = if csv_needs_quotes(bytes) { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    in_valid_parts(out, bytes, push_csv_quoted);
    out.extend_from_slice(quote);
}

/// Whether a text stands in quotes.
pub fn csv_needs_quotes(bytes: &[u8]) -> bool {
    bytes.is_empty() || words::before(bytes, quoted) < bytes.len()
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
