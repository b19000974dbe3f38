//! Values as CSV fields (RFC 4180 section 2).

use crate::{Kind, in_valid_parts, push_binary, words};

/// Signs of a CSV.
#[derive(Clone, Copy)]
pub struct CsvSigns<'a> {
    /// Between two fields; no digit, quote or line end.
    pub delimiter: u8,
    /// Text for NULL.
    pub null: &'a str,
}

/// Appends one value. A text is quoted if it contains the delimiter, a quote or a line end, and also if it is empty or
/// could be taken for NULL.
pub fn push_csv(out: &mut Vec<u8>, kind: Kind, bytes: &[u8], signs: CsvSigns<'_>) {
    if kind.is_binary() {
        return push_binary(out, kind, bytes);
    }
    // Most fields are short and plain: one pass, one copy.
    let plain = words::before(bytes, |word| quoted(word, signs.delimiter) | word);
    if plain == bytes.len() && !may_be_null(bytes, signs.null) {
        return out.extend_from_slice(bytes);
    }
    let has_quotes = csv_needs_quotes(bytes, signs);
    let quote: &[u8] = if has_quotes { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    in_valid_parts(out, bytes, push_csv_quoted);
    out.extend_from_slice(quote);
}

/// Appends a number with a comma for its point, which is not the delimiter.
pub fn push_csv_with_comma(out: &mut Vec<u8>, number: &[u8], null: &str) {
    let start = out.len();
    let comma_for_point = |byte: &u8| if *byte == b'.' { b',' } else { *byte };
    out.extend(number.iter().map(comma_for_point));
    if out
        .get(start..)
        .is_some_and(|field| may_be_null(field, null))
    {
        out.insert(start, b'"');
        out.push(b'"');
    }
}

/// True if a text must be quoted; see [`push_csv`].
pub fn csv_needs_quotes(bytes: &[u8], signs: CsvSigns<'_>) -> bool {
    let plain = words::before(bytes, |word| quoted(word, signs.delimiter));
    plain < bytes.len() || may_be_null(bytes, signs.null)
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
fn quoted(word: u64, delimiter: u8) -> u64 {
    words::is(word, b'"')
        | words::is(word, delimiter)
        | words::is(word, b'\r')
        | words::is(word, b'\n')
}
