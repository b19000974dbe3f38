//! Random bytes from the system.

use ring::rand::{SecureRandom, SystemRandom};

/// `N` bytes for keys, nonces and passwords. Panics without random numbers, which every supported system has.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the system gives random numbers");
    bytes
}

/// 160 random bits in lower-case hexadecimal digits: a code, a cookie, a token.
pub(crate) fn token() -> String {
    hex(&bytes::<20>())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
