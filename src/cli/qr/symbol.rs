//! The modules of a QR symbol (ISO/IEC 18004, sections 6 and 7.7 to 7.10).

use super::codewords;

/// The masks of section 7.8.2.
const MASKS: usize = 8;

/// One symbol, without a quiet zone.
#[derive(Clone)]
pub(super) struct Symbol {
    size: usize,
    dark: Vec<bool>,
    /// Which modules are no data.
    fixed: Vec<bool>,
}

impl Symbol {
    /// That of some bytes; none where they are too many.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let (version, words) = codewords::of(bytes)?;
        let mut plain = Self::new(version);
        plain.place_data(&words);
        (0..MASKS)
            .map(|mask| plain.masked(mask))
            .min_by_key(Self::penalty)
    }

    /// Modules a side.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Of one outside it is false.
    pub(super) fn is_dark(&self, x: usize, y: usize) -> bool {
        x < self.size && self.dark.get(y * self.size + x) == Some(&true)
    }

    /// One with all that is no data.
    fn new(version: usize) -> Self {
        let size = 17 + 4 * version;
        let mut symbol = Self {
            size,
            dark: vec![false; size * size],
            fixed: vec![false; size * size],
        };
        for i in 0..size {
            symbol.fix(6, i, i % 2 == 0);
            symbol.fix(i, 6, i % 2 == 0);
        }
        for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] {
            symbol.place_finder(x, y);
        }
        symbol.place_alignment(version);
        symbol.place_format(0);
        if version >= 7 {
            symbol.place_version(version);
        }
        symbol
    }

    fn set(&mut self, x: usize, y: usize, dark: bool) {
        if let Some(module) = self.dark.get_mut(y * self.size + x) {
            *module = dark;
        }
    }

    fn fix(&mut self, x: usize, y: usize, dark: bool) {
        self.set(x, y, dark);
        if let Some(module) = self.fixed.get_mut(y * self.size + x) {
            *module = true;
        }
    }

    fn is_fixed(&self, x: usize, y: usize) -> bool {
        self.fixed.get(y * self.size + x) == Some(&true)
    }

    /// A finder pattern with its separator, around a centre.
    fn place_finder(&mut self, centre_x: usize, centre_y: usize) {
        let last = self.size - 1;
        for y in centre_y.saturating_sub(4)..=(centre_y + 4).min(last) {
            for x in centre_x.saturating_sub(4)..=(centre_x + 4).min(last) {
                let ring = x.abs_diff(centre_x).max(y.abs_diff(centre_y));
                self.fix(x, y, ring != 2 && ring != 4);
            }
        }
    }

    /// Annex E.
    fn place_alignment(&mut self, version: usize) {
        if version == 1 {
            return;
        }
        let count = version / 7 + 2;
        let step = (self.size - 13).div_ceil(2 * count - 2) * 2;
        let others = (0..count - 1).rev().map(|back| self.size - 7 - back * step);
        let centres: Vec<usize> = [6].into_iter().chain(others).collect();
        let far = self.size - 7;
        for &y in &centres {
            for &x in &centres {
                if ![(6, 6), (far, 6), (6, far)].contains(&(x, y)) {
                    self.place_square(x, y);
                }
            }
        }
    }

    fn place_square(&mut self, centre_x: usize, centre_y: usize) {
        for y in centre_y - 2..=centre_y + 2 {
            for x in centre_x - 2..=centre_x + 2 {
                let ring = x.abs_diff(centre_x).max(y.abs_diff(centre_y));
                self.fix(x, y, ring != 1);
            }
        }
    }

    /// Level M, which is 0, and the mask, twice, each protected by a BCH code (section 7.9).
    fn place_format(&mut self, mask: usize) {
        let bits = with_remainder(mask, 10, 0x537) ^ 0x5412;
        let is_dark = |bit: usize| bits >> bit & 1 == 1;
        let size = self.size;
        for i in 0..6 {
            self.fix(8, i, is_dark(i));
        }
        self.fix(8, 7, is_dark(6));
        self.fix(8, 8, is_dark(7));
        self.fix(7, 8, is_dark(8));
        for i in 9..15 {
            self.fix(14 - i, 8, is_dark(i));
        }
        for i in 0..8 {
            self.fix(size - 1 - i, 8, is_dark(i));
        }
        for i in 8..15 {
            self.fix(8, size - 15 + i, is_dark(i));
        }
        self.fix(8, size - 8, true);
    }

    /// The version, twice (section 7.10).
    fn place_version(&mut self, version: usize) {
        let bits = with_remainder(version, 12, 0x1f25);
        for i in 0..18 {
            let (near, far) = (i / 3, self.size - 11 + i % 3);
            let dark = bits >> i & 1 == 1;
            self.fix(far, near, dark);
            self.fix(near, far, dark);
        }
    }

    /// Zigzag in columns of two from the right, around the vertical timing pattern.
    fn place_data(&mut self, words: &[u8]) {
        let bits = words
            .iter()
            .flat_map(|word| (0..8).rev().map(move |bit| word >> bit & 1 == 1));
        let mut bits = bits.fuse();
        let mut right = self.size - 1;
        while right >= 1 {
            if right == 6 {
                right = 5;
            }
            let is_upward = (right + 1) & 2 == 0;
            for step in 0..self.size {
                let y = if is_upward {
                    self.size - 1 - step
                } else {
                    step
                };
                for x in [right, right - 1] {
                    if !self.is_fixed(x, y)
                        && let Some(dark) = bits.next()
                    {
                        self.set(x, y, dark);
                    }
                }
            }
            right = right.saturating_sub(2);
        }
    }

    fn masked(&self, mask: usize) -> Self {
        let mut masked = self.clone();
        for y in 0..self.size {
            for x in 0..self.size {
                if !self.is_fixed(x, y) && inverts(mask, x, y) {
                    masked.set(x, y, !self.is_dark(x, y));
                }
            }
        }
        masked.place_format(mask);
        masked
    }

    /// The penalty score (section 7.8.3).
    fn penalty(&self) -> usize {
        let rows = (0..self.size).map(|y| self.line(|x| (x, y)));
        let columns = (0..self.size).map(|x| self.line(|y| (x, y)));
        let in_lines: usize = rows
            .chain(columns)
            .map(|line| runs(&line) + finders(&line))
            .sum();
        let dark = self.dark.iter().filter(|dark| **dark).count();
        let modules = self.dark.len();
        let unbalanced = (dark * 100).abs_diff(modules * 50) / (modules * 5);
        in_lines + self.squares() + unbalanced * 10
    }

    fn line(&self, place: impl Fn(usize) -> (usize, usize)) -> Vec<bool> {
        let places = (0..self.size).map(place);
        places.map(|(x, y)| self.is_dark(x, y)).collect()
    }

    /// Squares of two by two of one colour.
    fn squares(&self) -> usize {
        let same = |x: usize, y: usize| {
            let own = self.is_dark(x, y);
            [(x + 1, y), (x, y + 1), (x + 1, y + 1)]
                .iter()
                .all(|(x, y)| self.is_dark(*x, *y) == own)
        };
        let places = (0..self.size - 1).flat_map(|y| (0..self.size - 1).map(move |x| (x, y)));
        places.filter(|(x, y)| same(*x, *y)).count() * 3
    }
}

/// True if a mask inverts the module at a place.
fn inverts(mask: usize, x: usize, y: usize) -> bool {
    match mask {
        0 => (x + y).is_multiple_of(2),
        1 => y.is_multiple_of(2),
        2 => x.is_multiple_of(3),
        3 => (x + y).is_multiple_of(3),
        4 => (x / 3 + y / 2).is_multiple_of(2),
        5 => (x * y) % 2 + (x * y) % 3 == 0,
        6 => ((x * y) % 2 + (x * y) % 3).is_multiple_of(2),
        _ => ((x + y) % 2 + (x * y) % 3).is_multiple_of(2),
    }
}

/// `value` followed by the remainder of its division by a generator polynomial of that degree.
fn with_remainder(value: usize, degree: usize, polynomial: usize) -> usize {
    let rest = (0..degree).fold(value, |rest, _| {
        (rest << 1) ^ ((rest >> (degree - 1)) * polynomial)
    });
    (value << degree) | rest
}

/// Five or more of one colour in a row.
fn runs(line: &[bool]) -> usize {
    let runs = line.chunk_by(|one, other| one == other).map(<[bool]>::len);
    runs.filter(|length| *length >= 5)
        .map(|length| length - 2)
        .sum()
}

/// Sequences that look like a finder pattern: 1:1:3:1:1 with four light modules on a side.
fn finders(line: &[bool]) -> usize {
    const PATTERNS: [u16; 2] = [0b101_1101_0000, 0b000_0101_1101];
    let value = |window: &[bool]| {
        window
            .iter()
            .fold(0, |bits, dark| bits << 1 | u16::from(*dark))
    };
    let found = line
        .windows(11)
        .filter(|window| PATTERNS.contains(&value(window)));
    found.count() * 40
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<String> {
        let symbol = Symbol::of(text.as_bytes()).unwrap();
        let row = |y| {
            (0..symbol.size())
                .map(|x| if symbol.is_dark(x, y) { '#' } else { '.' })
                .collect()
        };
        (0..symbol.size()).map(row).collect()
    }

    /// As the page's own encoder draws it, which is tested with a decoder.
    #[test]
    fn a_known_symbol() {
        let expected = include_str!("../../../tests/data/qr.txt");
        let (text, expected) = expected.split_once('\n').unwrap();
        assert_eq!(rows(text), expected.lines().collect::<Vec<_>>());
    }
}
