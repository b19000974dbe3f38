//! An authorization code, as it is kept.

use std::fmt;

use ring::{digest, hmac};

/// Bytes of a SHA-256 digest.
const DIGEST: usize = digest::SHA256_OUTPUT_LEN;

/// A code that lets its holder in; only its SHA-256 digest is kept.
pub struct Code([u8; DIGEST]);

impl Code {
    /// From the code itself.
    pub fn new(code: &str) -> Self {
        Self(sha256(&[code.as_bytes()]))
    }

    /// From the SHA-256 digest of the code.
    pub fn of_digest(digest: [u8; DIGEST]) -> Self {
        Self(digest)
    }

    /// The SHA-256 digest of the code.
    pub(crate) fn digest(&self) -> &[u8; DIGEST] {
        &self.0
    }

    /// True if `given` is the code. Digests are compared in constant time: neither the place of a difference nor the
    /// length shows in it.
    pub(crate) fn is(&self, given: &str) -> bool {
        // An HMAC is what ring compares in constant time; its key does not matter.
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[]);
        let expected = hmac::sign(&key, &self.0);
        let given = sha256(&[given.as_bytes()]);
        hmac::verify(&key, &given, expected.as_ref()).is_ok()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(***)")
    }
}

/// SHA-256 over these parts, one after the other.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; DIGEST] {
    let mut context = digest::Context::new(&digest::SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut sum = [0; DIGEST];
    sum.copy_from_slice(context.finish().as_ref());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_itself_is_right_and_nothing_shows_it() {
        let code = Code::new("secret");
        assert!(code.is("secret") && Code::of_digest(*code.digest()).is("secret"));
        for wrong in ["", "secre", "secrets", "Secret", "\0"] {
            assert!(!code.is(wrong), "{wrong:?}");
        }
        assert_eq!(format!("{code:?}"), "Code(***)");
    }
}
