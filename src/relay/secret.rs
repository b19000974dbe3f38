//! Secrets in the form in which the relay stores them: never the secret itself.

use crate::sync::{Mutex, MutexGuard};
use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::pbkdf2;
use serde::{Deserialize, Serialize};

use crate::store::random;

/// Bytes of a salt and of a digest.
const SALT: usize = 16;
const HASH: usize = 32;
/// Characters from which a secret counts as generated: 32 random bytes take 43, 20 in hexadecimal digits 40. Nobody can
/// guess such a secret, however fast a try is.
const GENERATED: usize = 40;
/// Rounds for a secret that a person may have chosen: about 50 ms a try.
const ROUNDS: NonZeroU32 = NonZeroU32::new(200_000).expect("not 0");
static ALGORITHM: pbkdf2::Algorithm = pbkdf2::PBKDF2_HMAC_SHA256;

/// A password or token as salt and PBKDF2-HMAC-SHA-256 digest.
///
/// Secrets that connectors generate are 256 random bits, for which one round is as good as a million; this keeps the
/// hundred logins after a restart cheap. A shorter secret gets [`ROUNDS`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SecretHash {
    rounds: NonZeroU32,
    salt: String,
    hash: String,
}

impl SecretHash {
    /// Returns the stored form of `secret`.
    pub(super) fn of(secret: &str) -> Self {
        let rounds = if is_slow(secret) {
            ROUNDS
        } else {
            NonZeroU32::MIN
        };
        let salt = random::bytes::<SALT>();
        let mut hash = [0; HASH];
        let _turn = turn(rounds);
        pbkdf2::derive(ALGORITHM, rounds, &salt, secret.as_bytes(), &mut hash);
        Self {
            rounds,
            salt: URL_SAFE_NO_PAD.encode(salt),
            hash: URL_SAFE_NO_PAD.encode(hash),
        }
    }

    /// True if this is the secret; the time shows nothing but the number of rounds.
    pub(super) fn is(&self, secret: &str) -> bool {
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        match (decoded(&self.salt), decoded(&self.hash)) {
            (Some(salt), Some(hash)) if hash.len() == HASH && self.rounds <= ROUNDS => {
                let _turn = turn(self.rounds);
                pbkdf2::verify(ALGORITHM, self.rounds, &salt, secret.as_bytes(), &hash).is_ok()
            }
            _ => false,
        }
    }

    /// True if a try costs so much that tries must be counted.
    pub(super) fn is_slow(&self) -> bool {
        self.rounds.get() > 1
    }
}

/// Waits for a turn if the comparison is slow: slow ones run one at a time, so that nobody takes more than one
/// processor.
fn turn(rounds: NonZeroU32) -> Option<MutexGuard<'static, ()>> {
    static SLOW: Mutex<()> = Mutex::new(());
    (rounds.get() > 1).then(|| SLOW.lock())
}

/// True if storing a secret takes that long.
pub(super) fn is_slow(secret: &str) -> bool {
    secret.len() < GENERATED
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(***)")
    }
}

/// Returns 16 random hexadecimal digits.
pub(super) fn identifier() -> String {
    random::hex(&random::bytes::<8>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_itself_is_recognised() {
        for secret in ["short", "0123456789012345678901234567890123456789"] {
            let kept = SecretHash::of(secret);
            assert!(kept.is(secret));
            assert!(!kept.is("") && !kept.is(&secret[1..]) && !kept.is(&format!("{secret}x")));
            assert_ne!(kept, SecretHash::of(secret), "the salt");
            assert!(!format!("{kept:?}").contains(secret));
            assert_eq!(kept.is_slow(), secret.len() < GENERATED);
        }
    }

    #[test]
    fn what_is_no_digest_admits_nobody() {
        let kept = |rounds, salt: &str, hash: &str| SecretHash {
            rounds: NonZeroU32::new(rounds).unwrap(),
            salt: salt.into(),
            hash: hash.into(),
        };
        assert!(!kept(1, "", "").is(""));
        assert!(!kept(1, "AAAA", "!").is(""));
        assert!(!kept(u32::MAX, "AAAA", &"A".repeat(43)).is(""), "at once");
    }

    #[test]
    fn identifiers_differ() {
        assert_ne!(identifier(), identifier());
        assert_eq!(identifier().len(), 16);
    }
}
