//! A map whose keys come from a counter of this program.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Map without a keyed hash: nobody can choose its keys so that they collide, and each request hashes several.
pub(crate) type CountedMap<T> = HashMap<u64, T, BuildHasherDefault<CountedHasher>>;

/// Multiplies by 2^64 over the golden ratio: the map looks at both ends of a hash.
#[derive(Default)]
pub(crate) struct CountedHasher(u64);

impl Hasher for CountedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 << 8 | u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
