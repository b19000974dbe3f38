//! Values as the text of an SQL literal, for a mode in which backslashes escape.

use crate::words;

/// Appends a piece of valid UTF-8, escaped for a literal in single quotes.
pub fn push_sql_escaped(out: &mut Vec<u8>, text: &[u8]) {
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

/// Marks control characters, quotes and backslashes.
fn escaped(word: u64) -> u64 {
    words::below(word, 0x20) | words::is(word, b'\'') | words::is(word, b'\\')
}

/// Appends an escape, also for control characters that a console, an editor or another system would change.
fn push_escape(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'\'' => out.extend_from_slice(b"''"),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0 => out.extend_from_slice(b"\\0"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        0x1a => out.extend_from_slice(b"\\Z"),
        other => out.push(other),
    }
}
