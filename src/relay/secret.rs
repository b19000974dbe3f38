//! Secrets as the relay keeps them: never the secret itself.

use crate::sync::{Mutex, MutexGuard};
use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, pbkdf2};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Bytes of a salt and of a digest.
const SALT: usize = 16;
const HASH: usize = 32;
/// Characters from which a secret counts as generated: 32 random bytes take 43, 20 in hexadecimal
/// digits 40. Nobody finds one of these by trying, however fast a try is.
const GENERATED: usize = 40;
/// Rounds for a secret that a person may have chosen: about 50 ms a try.
const ROUNDS: u32 = 200_000;

/// The system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRandom;

impl fmt::Display for NoRandom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system gives no random bytes")
    }
}

/// A password or token as salt and PBKDF2-HMAC-SHA-256 digest.
///
/// What connectors generate is 256 random bits, for which one round is as good as a million; it
/// keeps the hundred logins after a restart cheap. What is shorter gets [`ROUNDS`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SecretHash {
    rounds: NonZeroU32,
    salt: String,
    hash: String,
}

impl SecretHash {
    /// Makes what is kept of `secret`.
    pub(super) fn of(secret: &str) -> Result<Self, NoRandom> {
        let rounds = match secret.len() {
            GENERATED.. => 1,
            _ => ROUNDS,
        };
        let rounds = NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN);
        let salt: [u8; SALT] = random()?;
        let mut hash = [0; HASH];
        let _turn = turn(rounds);
        pbkdf2::derive(ALGORITHM, rounds, &salt, secret.as_bytes(), &mut hash);
        Ok(Self {
            rounds,
            salt: URL_SAFE_NO_PAD.encode(salt),
            hash: URL_SAFE_NO_PAD.encode(hash),
        })
    }

    /// Whether this is the secret; the time tells nothing but the number of rounds.
    pub(super) fn is(&self, secret: &str) -> bool {
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        match (decoded(&self.salt), decoded(&self.hash)) {
            (Some(salt), Some(hash)) if hash.len() == HASH && self.rounds.get() <= ROUNDS => {
                let _turn = turn(self.rounds);
                pbkdf2::verify(ALGORITHM, self.rounds, &salt, secret.as_bytes(), &hash).is_ok()
            }
            _ => false,
        }
    }

    /// Whether a try costs so much that tries are to be counted.
    pub(super) fn is_slow(&self) -> bool {
        self.rounds.get() > 1
    }
}

/// Slow ones are done one at a time: whoever has many of them done takes one processor and no more.
fn turn(rounds: NonZeroU32) -> Option<MutexGuard<'static, ()>> {
    static SLOW: Mutex<()> = Mutex::new(());
    (rounds.get() > 1).then(|| SLOW.lock())
}

/// Whether keeping a secret takes that long.
pub(super) fn is_slow(secret: &str) -> bool {
    secret.len() < GENERATED
}

static ALGORITHM: pbkdf2::Algorithm = pbkdf2::PBKDF2_HMAC_SHA256;

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(***)")
    }
}

/// 160 random bits in hexadecimal digits.
pub(super) fn token() -> Result<Zeroizing<String>, NoRandom> {
    let bytes: [u8; 20] = random()?;
    Ok(Zeroizing::new(hex(&bytes)))
}

/// 16 hexadecimal digits: a name that nobody chose.
pub(super) fn identifier() -> Result<String, NoRandom> {
    let bytes: [u8; 8] = random()?;
    Ok(hex(&bytes))
}

/// A random number below `count`, which is not 0: all but equally likely.
pub(super) fn below(count: usize) -> Result<usize, NoRandom> {
    let drawn = u64::from_be_bytes(random()?);
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    Ok(usize::try_from(drawn.checked_rem(count).unwrap_or(0)).unwrap_or(0))
}

/// SHA-256 of a secret that was generated.
pub(super) fn sha256(secret: &str) -> [u8; HASH] {
    let mut sum = [0; HASH];
    sum.copy_from_slice(digest::digest(&digest::SHA256, secret.as_bytes()).as_ref());
    sum
}

/// Whether two generated secrets are the same: their digests are compared, of which a time
/// difference would tell nothing.
pub(super) fn same(left: &str, right: &str) -> bool {
    sha256(left) == sha256(right)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn random<const N: usize>() -> Result<[u8; N], NoRandom> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| NoRandom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_itself_is_recognised() {
        for secret in ["short", "0123456789012345678901234567890123456789"] {
            let kept = SecretHash::of(secret).unwrap();
            assert!(kept.is(secret));
            assert!(!kept.is("") && !kept.is(&secret[1..]) && !kept.is(&format!("{secret}x")));
            assert_ne!(kept, SecretHash::of(secret).unwrap(), "the salt");
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
    fn tokens_differ() {
        assert_ne!(token().unwrap(), token().unwrap());
        assert_eq!(token().unwrap().len(), 40);
        assert_eq!(identifier().unwrap().len(), 16);
        assert!(same("a", "a") && !same("a", "b"));
    }
}
