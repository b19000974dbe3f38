//! Bodies that tell by themselves whether they are whole, and numbers that a seed decides.

/// Numbers of a seed (splitmix64, Steele, Lea and Flood 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another sequence for each user of a seed.
    pub(crate) fn of(seed: u64, user: u64) -> Self {
        Self(mixed(seed ^ mixed(user)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// One of `range`, which is not empty.
    pub(crate) fn within(&mut self, range: std::ops::Range<usize>) -> usize {
        range.start + (self.next() % (range.end - range.start) as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub(crate) fn of_list<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.within(0..list.len())]
    }
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Bytes `from..to` of the body of this key: each place of it can be told without those before.
pub(crate) fn content(key: u64, from: usize, to: usize) -> Vec<u8> {
    let first = from / 8;
    let words = (first..to.div_ceil(8)).map(|at| mixed(key ^ mixed(at as u64)).to_le_bytes());
    let mut bytes: Vec<u8> = words.flatten().collect();
    bytes.truncate(to - first * 8);
    bytes.drain(..from - first * 8);
    bytes
}

/// Summary of a body: its length and the beginning of its SHA-256.
pub(crate) fn told_of(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let words = digest.as_ref().iter().take(8);
    let hex: String = words.map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hex}", bytes.len())
}

#[test]
fn every_part_of_a_body_is_what_it_is_in_the_whole() {
    let whole = content(7, 0, 1000);
    assert_eq!(whole.len(), 1000);
    for (from, to) in [(0, 0), (0, 1), (5, 8), (7, 9), (8, 16), (995, 1000)] {
        assert_eq!(content(7, from, to), whole[from..to]);
    }
    assert_ne!(content(8, 0, 1000), whole);
    let numbers = |seed| {
        let mut random = Random::of(seed, 1);
        [random.next(), random.next()]
    };
    assert_eq!(numbers(3), numbers(3), "a seed decides");
    assert_ne!(numbers(3), numbers(4));
}
