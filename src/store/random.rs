//! Random bytes from the system.

use ring::rand::{SecureRandom, SystemRandom};

/// `N` bytes for keys, nonces and passwords.
#[expect(
    clippy::expect_used,
    reason = "without random numbers nothing may go on, and no system here lacks them"
)]
pub(super) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the system gives random numbers");
    bytes
}
