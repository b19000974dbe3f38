//! The cells of a row where they lie in its packet (MySQL protocol documentation, "Text Resultset Row" and
//! "Length-Encoded Integer").

/// Where in its packet a cell begins and ends; `None` is NULL.
pub type Span = Option<(usize, usize)>;

/// NULL in the place of a cell's length.
const NULL: u8 = 0xfb;

/// Finds the cells of a row; false where it does not have exactly so many.
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

/// Takes a length-encoded integer off; NULL is none.
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
