//! Search for bytes, eight at a time: in code built for size, a search byte by byte takes several times as long.
//!
//! A mark is the highest bit of a byte in a word whose lowest byte comes first. A function that marks a word marks the
//! first matching byte exactly, and may wrongly mark bytes after it.

const EACH: u64 = u64::from_ne_bytes([1; 8]);
const HIGHEST: u64 = EACH * 0x80;

/// Filler of the last word; no search looks for a digit.
const PADDING: u8 = b'0';

/// Number of bytes before the first that `marks` marks.
pub(crate) fn before(text: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    let first_of = |word: [u8; 8]| match marks(u64::from_le_bytes(word)) & HIGHEST {
        0 => None,
        found => usize::try_from(found.trailing_zeros() / 8).ok(),
    };
    let (words, rest) = text.as_chunks();
    for (word, at) in words.iter().zip((0..).step_by(8)) {
        if let Some(found) = first_of(*word) {
            return at + found;
        }
    }
    if rest.is_empty() {
        return text.len();
    }
    // The last word repeats some bytes without a match, or is padded with one that never matches.
    let (last, at) = match text.last_chunk() {
        Some(last) => (*last, text.len() - 8),
        None => (padded(rest), 0),
    };
    first_of(last).map_or(text.len(), |found| at + found)
}

fn padded(rest: &[u8]) -> [u8; 8] {
    let mut word = [PADDING; 8];
    let start = word.get_mut(..rest.len());
    start.expect("it is shorter").copy_from_slice(rest);
    word
}

/// Marks bytes below `limit`, which is at most 0x80. Subtracting `limit` from each byte sets its highest bit if that
/// borrows. Only a marked byte borrows from the next one.
pub(crate) fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(EACH * u64::from(limit)) & !word
}

/// Marks bytes equal to `byte`.
pub(crate) fn is(word: u64, byte: u8) -> u64 {
    below(word ^ (EACH * u64::from(byte)), 1)
}

/// Marks bytes other than ASCII digits. Adding sets the highest bit of bytes above `9`; only a non-ASCII byte carries.
pub(crate) fn no_digit(word: u64) -> u64 {
    below(word, b'0') | word.wrapping_add(EACH * u64::from(0x7f - b'9')) | word
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches byte by byte.
    fn slowly(text: &[u8], is_it: impl Fn(u8) -> bool) -> usize {
        text.iter().position(|b| is_it(*b)).unwrap_or(text.len())
    }

    #[test]
    fn every_byte_is_found_at_every_place() {
        for length in [1, 7, 8, 9, 16, 20] {
            for at in 0..length {
                for byte in 0..=255u8 {
                    let mut text = vec![b'7'; length];
                    text[at] = byte;
                    let digits = before(&text, no_digit);
                    assert_eq!(digits, slowly(&text, |b| !b.is_ascii_digit()), "{text:?}");
                    let low = before(&text, |word| below(word, 0x20) | is(word, b'"'));
                    assert_eq!(low, slowly(&text, |b| b < 0x20 || b == b'"'), "{text:?}");
                }
            }
        }
        assert_eq!(before(b"", no_digit), 0);
    }

    #[test]
    fn neighbours_do_not_disturb() {
        for pair in 0..=u16::MAX {
            let [one, other] = pair.to_be_bytes();
            let text = [b'0', one, other, b'9', b'5', one, b'0', other, other, one];
            let digits = before(&text, no_digit);
            assert_eq!(digits, slowly(&text, |b| !b.is_ascii_digit()), "{text:?}");
            let found = before(&text, |word| is(word, b',') | below(word, b' '));
            assert_eq!(found, slowly(&text, |b| b == b',' || b < b' '), "{text:?}");
        }
    }
}
