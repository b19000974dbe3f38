//! The places of a row's cells in its packet (MySQL protocol documentation, "Text Resultset Row" and "Length-Encoded
//! Integer").

/// Start and end of a cell in its packet; `None` is NULL.
pub type Span = Option<(usize, usize)>;

/// Mark of NULL, in place of a cell's length.
const NULL: u8 = 0xfb;

/// Finds the cells of a row; returns false unless it has exactly `count`.
pub fn find_cells(packet: &[u8], count: usize, spans: &mut Vec<Span>) -> bool {
    spans.clear();
    let mut rest = packet;
    for _ in 0..count {
        let Some((cell, after)) = first_cell(rest) else {
            return false;
        };
        let end = packet.len() - after.len();
        spans.push(cell.map(|cell| (end - cell.len(), end)));
        rest = after;
    }
    rest.is_empty()
}

fn first_cell(packet: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (first, after) = packet.split_first()?;
    if *first == NULL {
        return Some((None, after));
    }
    let mut rest = packet;
    let length = usize::try_from(number(&mut rest)?).ok()?;
    let (cell, after) = rest.split_at_checked(length)?;
    Some((Some(cell), after))
}

/// Takes a length-encoded integer off the packet; `None` for NULL and for an invalid one.
pub fn number(packet: &mut &[u8]) -> Option<u64> {
    let (first, rest) = packet.split_first()?;
    let bytes = match *first {
        0..NULL => 0,
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        NULL | 0xff => return None,
    };
    if bytes == 0 {
        *packet = rest;
        return Some((*first).into());
    }
    let (taken, rest) = rest.split_at_checked(bytes)?;
    let mut wide = [0; 8];
    wide.get_mut(..bytes)?.copy_from_slice(taken);
    *packet = rest;
    Some(u64::from_le_bytes(wide))
}
