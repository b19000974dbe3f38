//! The loops over every byte of a result: rows found in their packets, and values written as JSON and CSV.
//!
//! The rest of the program is built for size; this is built for speed (`[profile.release.package.rows]`). Bytes in, bytes
//! out: nothing here knows of connections, of columns' types or of who reads.

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

/// Longest value that is written in one go, in bytes; the pieces of a longer one are cut by the caller, who writes them
/// out between two.
pub const PIECE: usize = 16 << 10;

/// How the cells of one column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// True if cells are bytes and no text.
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

/// Appends two digits a byte, upper case as the server's own `HEX()` has them.
pub fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes.iter().flat_map(|byte| hex_pair(*byte)));
}

fn hex_pair(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |n: u8| *DIGITS.get(usize::from(n)).expect("half a byte is below 16");
    [digit(byte >> 4), digit(byte & 15)]
}

/// Writes what is UTF-8 with `push`, in one piece where all of it is, and U+FFFD for the rest.
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
