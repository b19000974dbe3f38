//! Cookies that say themselves what they are good for, signed with a key that several relays have: whoever was signed in
//! by one is signed in at all of them, and none keeps a note of it.
//!
//! ```text
//! 1.{end, seconds since 1970}.{96 random bits}.{HMAC-SHA256 of these and of the site's realm}     base64url (RFC 4648 section 5)
//! ```

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::http::auth::SIGNED_IN_FOR;
use crate::store::random;

const FORM: &str = "1";
/// Purpose of the derived key.
const PURPOSE: &[u8] = b"postern visitors' cookies";
/// Seconds that the clocks of relays may be apart.
const CLOCKS: u64 = 300;
/// Bytes of a cookie's value, at most.
const CAP: usize = 128;

/// The key of cookies.
#[derive(Clone)]
pub struct CookieKey(hmac::Key);

impl CookieKey {
    /// From a secret that all relays have and nobody else.
    pub fn derived(secret: &[u8; 32]) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let key = hmac::sign(&secret, PURPOSE);
        Self(hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()))
    }

    /// The value of a cookie for a realm, which ends at `end`, seconds since 1970.
    pub(crate) fn give(&self, realm: &[u8; 32], end: u64) -> String {
        let nonce = URL_SAFE_NO_PAD.encode(random::bytes::<12>());
        let said = format!("{FORM}.{end}.{nonce}");
        let tag = hmac::sign(&self.0, &signed(&said, realm));
        format!("{said}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// True if a cookie of this value was given for the realm, and is good at `now`, since 1970.
    pub(crate) fn knows(&self, value: &[u8], realm: &[u8; 32], now: Duration) -> bool {
        let text = std::str::from_utf8(value).ok();
        let Some((said, tag)) = text
            .filter(|text| text.len() <= CAP)
            .and_then(|text| text.rsplit_once('.'))
        else {
            return false;
        };
        let mut parts = said.split('.');
        let is_known_form = parts.next() == Some(FORM);
        let end = parts.next().and_then(|end| end.parse::<u64>().ok());
        // None is given for longer, whoever signs it.
        let latest = now.saturating_add(SIGNED_IN_FOR).as_secs() + CLOCKS;
        let is_good = end.is_some_and(|end| now.as_secs() < end && end <= latest);
        let Ok(tag) = URL_SAFE_NO_PAD.decode(tag) else {
            return false;
        };
        is_known_form && is_good && hmac::verify(&self.0, &signed(said, realm), &tag).is_ok()
    }
}

/// The time of this machine's clock since 1970, which relays of a fleet have alike.
pub(crate) fn since_1970() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default()
}

fn signed(said: &str, realm: &[u8; 32]) -> Vec<u8> {
    [realm, said.as_bytes()].concat()
}

impl std::fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REALM: [u8; 32] = [7; 32];

    #[test]
    fn one_is_good_for_its_realm_until_its_end_at_all_who_have_the_key() {
        let (one, other) = (CookieKey::derived(&[1; 32]), CookieKey::derived(&[1; 32]));
        let (value, at) = (one.give(&REALM, 100), Duration::from_secs);
        assert!(other.knows(value.as_bytes(), &REALM, at(99)));
        assert!(!other.knows(value.as_bytes(), &REALM, at(100)));
        assert!(!other.knows(value.as_bytes(), &[8; 32], at(99)));
        let stranger = CookieKey::derived(&[2; 32]);
        assert!(!stranger.knows(value.as_bytes(), &REALM, at(99)));
        assert_ne!(value, one.give(&REALM, 100));
        let long = one.give(&REALM, 10 * 365 * 86_400);
        assert!(
            !other.knows(long.as_bytes(), &REALM, at(99)),
            "nobody is signed in for years"
        );
        assert!(value.len() <= CAP);
    }

    #[test]
    fn nothing_else_is_one() {
        let key = CookieKey::derived(&[1; 32]);
        let value = key.give(&REALM, 100);
        let knows = |value: &str| key.knows(value.as_bytes(), &REALM, Duration::ZERO);
        assert!(knows(&value));
        for at in 0..value.len() {
            let mut other = value.clone().into_bytes();
            other[at] = if other[at] == b'1' { b'2' } else { b'1' };
            assert!(!key.knows(&other, &REALM, Duration::ZERO), "byte {at}");
        }
        let later = value.replace(".100.", ".900.");
        let (said, _) = value.rsplit_once('.').unwrap();
        for other in ["", ".", "1.100..", &later, said, &format!("{said}.")] {
            assert!(!knows(other), "{other}");
        }
        assert!(!key.knows(&[b'1'; 4096], &REALM, Duration::ZERO));
        assert!(!key.knows(b"1.100.\xff.\xff", &REALM, Duration::ZERO));
    }
}
