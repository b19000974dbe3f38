//! The loops over every byte of a result: finding cells in packets, and writing values as JSON, CSV and SQL.
//!
//! The rest of the program is built for size; this crate is built for speed (`[profile.release.package.rows]`). It
//! turns bytes into bytes and knows nothing of connections, column types or readers.

#![forbid(unsafe_code)]

mod csv;
mod json;
mod packet;
mod sql;
mod words;

pub use csv::{CsvSigns, csv_needs_quotes, push_csv, push_csv_quoted, push_csv_with_comma};
pub use json::{push_json, push_json_escaped, push_json_row};
pub use packet::{Span, find_cells, number};
pub use sql::push_sql_escaped;

/// Longest value to append in one call, in bytes; the caller cuts a longer one into pieces and writes them out in
/// between.
pub const PIECE: usize = 16 << 10;

/// Format of the cells of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number in JSON if it is exact there, else a string.
    Integer,
    /// A number in JSON.
    Float,
    /// Text, quoted in JSON.
    Text,
    /// Bytes, written as `0x` and hexadecimal digits.
    Hex,
    /// A BIT that arrives in decimal digits, written as `0x` and this number of bytes (1 to 8) in hexadecimal digits.
    BitDigits(usize),
}

impl Kind {
    /// True if cells are bytes, not text.
    pub fn is_binary(self) -> bool {
        matches!(self, Kind::Hex | Kind::BitDigits(_))
    }
}

/// Appends a value of a binary kind.
pub fn push_binary(out: &mut Vec<u8>, kind: Kind, bytes: &[u8]) {
    let number = match kind {
        Kind::BitDigits(width) => number_of(bytes).map(|number| (number.to_be_bytes(), width)),
        _ => None,
    };
    out.extend_from_slice(b"0x");
    match &number {
        Some((wide, width)) => push_hex(out, wide.split_at(wide.len() - width).1),
        None => push_hex(out, bytes),
    }
}

fn number_of(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Appends two digits per byte, in upper case as the server's `HEX()` does.
pub fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes.iter().flat_map(|byte| hex_pair(*byte)));
}

fn hex_pair(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |n: u8| *DIGITS.get(usize::from(n)).expect("half a byte is below 16");
    [digit(byte >> 4), digit(byte & 15)]
}

/// Appends the valid parts of `bytes` with `push`, and U+FFFD for each invalid one.
fn in_valid_parts(out: &mut Vec<u8>, bytes: &[u8], push: impl Fn(&mut Vec<u8>, &[u8])) {
    if std::str::from_utf8(bytes).is_ok() {
        return push(out, bytes);
    }
    for chunk in bytes.utf8_chunks() {
        push(out, chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
