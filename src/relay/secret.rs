//! Secrets as the relay keeps them: never the secret itself.

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
/// Characters from which a secret counts as generated: 32 random bytes take 43, 20 in hexadecimal
/// digits 40. Nobody finds one of these by trying, however fast a try is.
const GENERATED: usize = 40;
/// Rounds for a secret that a person may have chosen: about 50 ms a try.
const ROUNDS: NonZeroU32 = NonZeroU32::new(200_000).expect("not 0");

/// A password or token as salt and PBKDF2-HMAC-SHA-256 digest.
///
/// Secrets that connectors generate are 256 random bits, for which one round is as good as a million; it
/// keeps the hundred logins after a restart cheap. What is shorter gets [`ROUNDS`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SecretHash {
    rounds: NonZeroU32,
    salt: String,
    hash: String,
}

impl SecretHash {
    /// Makes what is kept of `secret`.
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

    /// True if this is the secret; the time tells nothing but the number of rounds.
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

    /// True if a try costs so much that tries are to be counted.
    pub(super) fn is_slow(&self) -> bool {
        self.rounds.get() > 1
    }
}

/// Slow ones are done one at a time: whoever has many of them done takes one processor and no more.
fn turn(rounds: NonZeroU32) -> Option<MutexGuard<'static, ()>> {
    static SLOW: Mutex<()> = Mutex::new(());
    (rounds.get() > 1).then(|| SLOW.lock())
}

/// True if keeping a secret takes that long.
pub(super) fn is_slow(secret: &str) -> bool {
    secret.len() < GENERATED
}

static ALGORITHM: pbkdf2::Algorithm = pbkdf2::PBKDF2_HMAC_SHA256;

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(***)")
    }
}

/// 16 hexadecimal digits: a name that nobody chose.
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
