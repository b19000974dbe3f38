//! Signed values that say what they open, so no list of them is kept. Pure.
//!
//! ```text
//! 2.{end, seconds since 1970}.{visitor}.{link}.{generation}.{HMAC-SHA256 of the realm and of these}
//! 1.{end, seconds since 1970}.{visitor}.{HMAC-SHA256 of the realm and of these}
//! ```
//!
//! The visitor is 96 random bits; these and the HMAC are base64url (RFC 4648 section 5). The link is empty for the common
//! code. Form 1 is accepted, not made: relays of an earlier version in a fleet make it, with an end at most 12 h ahead.
//! They do not know form 2, so their visitors sign in again until all relays are upgraded.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::store::expiry::Clocks;
use crate::store::random;
use crate::store::time::since_epoch;

/// Lifetime of a sign-in. Default 12 h: a working day.
pub(crate) const SIGNED_IN_FOR: Duration = crate::limits::SIGNED_IN_FOR;
/// Purpose of the derived key.
const PURPOSE: &[u8] = b"postern visitors' cookies";
/// Seconds that the clocks of relays may be apart.
const CLOCKS: u64 = 300;
/// Bytes of a value, at most.
const CAP: usize = 128;

/// Signs sign-ins. Its `Debug` shows nothing of the key.
#[derive(Debug, Clone)]
pub struct CookieKey {
    key: hmac::Key,
    /// Clocks at its creation; none if several relays have it.
    pub(super) made: Option<Clocks>,
}

/// Scope of values, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Digest of the facts that must be the same as when the value was given.
    realm: [u8; 32],
    /// Another one ends all sign-ins.
    generation: u64,
    /// Time that a new value is good for.
    pub(super) life: Duration,
}

/// Holder of a valid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visitor {
    /// Stays the same when the value is renewed.
    pub(crate) id: String,
    /// End of the value, in seconds since 1970.
    pub(super) end: u64,
    /// Scope that it opens.
    pub(super) scope: Scope,
}

impl CookieKey {
    /// A new key of this process. Its values end with the process, and setting the clock changes none of them.
    pub fn random() -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &random::bytes::<32>()),
            made: Some(Clocks::now()),
        }
    }

    /// Derives the key from a secret that only the relays of a fleet have.
    pub fn derived(secret: &[u8; 32]) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let key = hmac::sign(&secret, PURPOSE);
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()),
            made: None,
        }
    }

    /// Seconds since 1970: by the wall clock if other relays read it too, otherwise by the clock that cannot be set.
    pub(super) fn seconds(&self, now: Clocks) -> u64 {
        let time = self.made.map_or(now.wall, |made| now.wall_unset(made));
        since_epoch(time).as_secs()
    }

    /// A new value for a visitor.
    pub(super) fn give(&self, id: &str, scope: &Scope, now: Clocks) -> String {
        let end = self.seconds(now).saturating_add(scope.life.as_secs());
        let said = format!("2.{end}.{id}..{}", scope.generation);
        let tag = hmac::sign(&self.key, &scope.signed(&said));
        format!("{said}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// Returns the visitor that a value was given to, if it opens this.
    pub(super) fn visitor(&self, value: &[u8], scope: &Scope, now: Clocks) -> Option<Visitor> {
        let text = std::str::from_utf8(value).ok()?;
        let (said, tag) = text.rsplit_once('.').filter(|_| text.len() <= CAP)?;
        let parts: Vec<&str> = said.split('.').collect();
        let (end, id) = match *parts {
            ["1", end, id] => (end, id),
            ["2", end, id, link, generation] if scope.admits(link, generation) => (end, id),
            _ => return None,
        };
        let (end, now) = (end.parse().ok()?, self.seconds(now));
        // No relay gives a value for longer.
        let is_current = now < end && end - now <= SIGNED_IN_FOR.as_secs() + CLOCKS;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok().filter(|_| is_current)?;
        hmac::verify(&self.key, &scope.signed(said), &tag).ok()?;
        let (id, scope) = (id.to_owned(), *scope);
        Some(Visitor { id, end, scope })
    }
}

/// An id that nobody has: 96 random bits.
pub(super) fn new_id() -> String {
    URL_SAFE_NO_PAD.encode(random::bytes::<12>())
}

impl Scope {
    pub(crate) fn new(realm: [u8; 32], generation: u64) -> Self {
        Self {
            realm,
            generation,
            life: SIGNED_IN_FOR,
        }
    }

    /// Limits the time that a new value is good for.
    #[must_use]
    pub(crate) fn within(self, life: Duration) -> Self {
        let life = self.life.min(life);
        Self { life, ..self }
    }

    /// True if a visitor who signed in by this link, at this generation, is still signed in. The common code is the
    /// only link.
    fn admits(&self, link: &str, generation: &str) -> bool {
        link.is_empty() && generation.parse() == Ok(self.generation)
    }

    fn signed(&self, said: &str) -> Vec<u8> {
        [&self.realm, said.as_bytes()].concat()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn scope() -> Scope {
        Scope::new([7; 32], 3)
    }

    /// Returns a later moment, by both clocks.
    fn later(now: Clocks, passed: Duration) -> Clocks {
        Clocks {
            wall: now.wall + passed,
            monotonic: now.monotonic + passed,
        }
    }

    /// A value as an earlier version makes it.
    pub(crate) fn of_form_1(key: &CookieKey, scope: &Scope, id: &str, end: u64) -> String {
        let said = format!("1.{end}.{id}");
        let tag = hmac::sign(&key.key, &scope.signed(&said));
        format!("{said}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    #[test]
    fn one_opens_its_scope_until_its_end_at_all_who_have_the_key() {
        let derived = |secret: u8| CookieKey::derived(&[secret; 32]);
        let (one, other, now) = (derived(1), derived(1), Clocks::now());
        let value = one.give(&new_id(), &scope(), now);
        let knows = |scope: &Scope, now| other.visitor(value.as_bytes(), scope, now).is_some();
        assert!(knows(&scope(), now) && knows(&scope(), later(now, 11 * HOUR)));
        assert!(!knows(&scope(), later(now, 12 * HOUR)));
        assert!(
            !knows(&Scope::new([8; 32], 3), now),
            "another realm is opened"
        );
        for generation in [0, 2, 4, u64::MAX] {
            assert!(!knows(&Scope::new([7; 32], generation), now));
        }
        for stranger in [derived(2), CookieKey::random()] {
            assert_eq!(stranger.visitor(value.as_bytes(), &scope(), now), None);
        }
        assert_ne!(value, one.give(&new_id(), &scope(), now));
        let years = Scope {
            life: 90_000 * HOUR,
            ..scope()
        };
        let long = one.give(&new_id(), &years, now);
        assert_eq!(
            other.visitor(long.as_bytes(), &scope(), now),
            None,
            "nobody is signed in for years"
        );
        let longest = one.give(&new_id(), &Scope::new([7; 32], u64::MAX), now);
        assert!(longest.len() <= CAP);
    }

    #[test]
    fn nothing_else_is_one() {
        let (key, now) = (CookieKey::derived(&[1; 32]), Clocks::now());
        let value = key.give(&new_id(), &scope(), now);
        let knows = |value: &[u8]| key.visitor(value, &scope(), now).is_some();
        assert!(knows(value.as_bytes()));
        for at in 0..value.len() {
            for byte in [b'1', b'2', b'A', b'.', 0, 0xff] {
                let mut other = value.clone().into_bytes();
                let is_same = std::mem::replace(&mut other[at], byte) == byte;
                assert_eq!(knows(&other), is_same, "byte {at}: {byte}");
            }
            assert!(!knows(&value.as_bytes()[..at]), "the first {at} bytes");
        }
        let (said, tag) = value.rsplit_once('.').unwrap();
        let link = said.replace("..", ".link.");
        for other in [
            "",
            ".",
            "......",
            "1.100..",
            "2.99999999999999999999...3.",
            "2.-1.x..3.AAAA",
            said,
            &format!("{said}."),
            &format!("{value}."),
            &format!(".{value}"),
            &format!("{value}="),
            &format!("{link}.{tag}"),
        ] {
            assert!(!knows(other.as_bytes()), "{other}");
        }
        assert!(!knows(&[b'1'; 4096]) && !knows(&[b'.'; 4096]));
        assert!(!knows(b"1.100.\xff.\xff"));
    }

    #[test]
    fn one_of_an_earlier_version_opens_its_realm_until_its_end() {
        let (key, now) = (CookieKey::derived(&[1; 32]), Clocks::now());
        let end = key.seconds(now) + 12 * 3600;
        let value = of_form_1(&key, &scope(), "someone", end);
        let visitor = |scope: &Scope, now| key.visitor(value.as_bytes(), scope, now);
        let found = visitor(&scope(), now).map(|visitor| (visitor.id, visitor.end));
        assert_eq!(found, Some(("someone".to_owned(), end)));
        assert_eq!(visitor(&scope(), later(now, 12 * HOUR)), None);
        assert_eq!(visitor(&Scope::new([8; 32], 3), now), None);
        let forged = value.replacen('1', "2", 1);
        assert_eq!(key.visitor(forged.as_bytes(), &scope(), now), None);
        let own = CookieKey::random();
        assert_eq!(own.visitor(value.as_bytes(), &scope(), now), None);
    }

    #[test]
    fn a_clock_that_is_set_changes_nothing_for_a_key_of_one_process() {
        let key = CookieKey::random();
        let made = key.made.unwrap();
        let value = key.give(&new_id(), &scope(), made);
        for wall in [
            std::time::UNIX_EPOCH,
            made.wall - 13 * HOUR,
            made.wall,
            made.wall + 90_000 * HOUR,
        ] {
            let knows = |passed: Duration| {
                let monotonic = made.monotonic + passed;
                let now = Clocks { wall, monotonic };
                key.visitor(value.as_bytes(), &scope(), now).is_some()
            };
            assert!(knows(11 * HOUR) && !knows(12 * HOUR), "{wall:?}");
        }
    }

    #[test]
    fn nothing_shows_a_key() {
        let shown = [1, 2].map(|secret| format!("{:?}", CookieKey::derived(&[secret; 32])));
        assert_eq!(shown[0], shown[1]);
    }
}
