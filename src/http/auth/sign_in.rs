//! Who is signed in: cookies that were given for a right code.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::code::sha256;
use super::rate_limiter::{RateLimiter, WhenFull};
use crate::store::random;
use crate::sync::Mutex;

/// Time that a cookie is good for. Default 12 h: a working day.
const SIGNED_IN_FOR: Duration = Duration::from_secs(12 * 3600);
/// Cookies of one realm. Default 1,000, 80 KiB; the oldest gives way.
const MAX_OF_REALM: usize = 1000;
/// Cookies of all realms together. Default 20,000, 2 MiB.
const MAX_COOKIES: usize = 20_000;
/// Wrong codes a minute that a source may send. Default 5.
const WRONG_CODES: usize = 5;

/// From when on the time of a cookie is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// From the sign-in, which the cookie's `Max-Age` says too.
    FromSignIn,
    /// From the last request; the browser keeps the cookie until it ends.
    FromLastUse,
}

/// What became of a code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was right; the value is for `Set-Cookie`.
    SignedIn(String),
    /// It was wrong.
    WrongCode,
    /// It was wrong, and so were too many before it: the time until another may be tried.
    TooMany(Duration),
}

/// The cookies of one kind, each good for one realm: a site, or `()` where there is one alone.
pub(crate) struct SignIn<R = ()> {
    /// The cookie's name by `http`, and by `https`: there its prefix keeps every other server of this host name,
    /// whatever its port, from setting it, and its `Secure` from reading it (RFC 6265bis section 4.1.3.2).
    names: [String; 2],
    lifetime: Lifetime,
    /// By the SHA-256 of the cookie's value.
    sessions: Mutex<HashMap<[u8; 32], Session<R>>>,
    wrong: RateLimiter,
}

struct Session<R> {
    realm: R,
    since: Instant,
}

impl<R: PartialEq + Copy> SignIn<R> {
    /// Nobody is signed in. Cookies are shared by all ports of a host: `cookie` names the server.
    pub(crate) fn new(cookie: &str, lifetime: Lifetime) -> Self {
        Self {
            names: ["", "__Host-"].map(|prefix| format!("{prefix}{cookie}")),
            lifetime,
            sessions: Mutex::default(),
            wrong: RateLimiter::new(WRONG_CODES, WhenFull::Refuse),
        }
    }

    /// The cookie's name. Of who comes by `https` no other is to be looked at: any server of this host name can set
    /// the plain one.
    pub(crate) fn cookie(&self, is_secure: bool) -> &str {
        let [plain, prefixed] = &self.names;
        if is_secure { prefixed } else { plain }
    }

    /// Whether a cookie of this value was given for the realm, and is good yet.
    pub(crate) fn knows(&self, value: &[u8], realm: R, now: Instant) -> bool {
        let key = sha256(&[value]);
        let mut sessions = self.sessions.lock();
        let Some(session) = sessions.get_mut(&key) else {
            return false;
        };
        if session.is_over(now) {
            sessions.remove(&key);
            return false;
        }
        if self.lifetime == Lifetime::FromLastUse {
            session.since = now;
        }
        session.realm == realm
    }

    /// Lets in who sent a right code; a wrong one is counted by its source.
    pub(crate) fn enter(
        &self,
        is_right: bool,
        realm: R,
        (source, is_secure): (IpAddr, bool),
        now: Instant,
    ) -> Outcome {
        if is_right {
            return Outcome::SignedIn(self.set_cookie(realm, is_secure, now));
        }
        match self.wrong.count(source, now) {
            Ok(()) => Outcome::WrongCode,
            Err(wait) => Outcome::TooMany(wait),
        }
    }

    fn set_cookie(&self, realm: R, is_secure: bool, now: Instant) -> String {
        let value = random::token();
        self.admit(sha256(&[value.as_bytes()]), realm, now);
        let age = match self.lifetime {
            Lifetime::FromSignIn => format!("; Max-Age={}", SIGNED_IN_FOR.as_secs()),
            Lifetime::FromLastUse => String::new(),
        };
        let secure = if is_secure { "; Secure" } else { "" };
        let name = self.cookie(is_secure);
        format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/{age}{secure}")
    }

    fn admit(&self, key: [u8; 32], realm: R, now: Instant) {
        let mut sessions = self.sessions.lock();
        if sessions.len() >= MAX_COOKIES {
            sessions.retain(|_, session| !session.is_over(now));
        }
        let of_realm = sessions.values().filter(|session| session.realm == realm);
        let is_crowded = of_realm.count() >= MAX_OF_REALM;
        if is_crowded || sessions.len() >= MAX_COOKIES {
            let oldest = sessions
                .iter()
                .filter(|(_, session)| !is_crowded || session.realm == realm)
                .min_by_key(|(_, session)| session.since)
                .map(|(key, _)| *key);
            if let Some(oldest) = oldest {
                sessions.remove(&oldest);
            }
        }
        sessions.insert(key, Session { realm, since: now });
    }
}

impl<R> Session<R> {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) > SIGNED_IN_FOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: (IpAddr, bool) = (IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), false);

    /// The cookie's value, and what is set with it.
    fn cookie(outcome: Outcome) -> (String, String) {
        let Outcome::SignedIn(cookie) = outcome else {
            panic!("the right code was refused: {outcome:?}");
        };
        let (pair, attributes) = cookie.split_once(';').unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        (value.to_owned(), format!("{name};{attributes}"))
    }

    #[test]
    fn a_cookie_is_for_one_realm_and_says_how_long_it_lasts() {
        let now = Instant::now();
        let sites = SignIn::new("own", Lifetime::FromSignIn);
        let (value, set) = cookie(sites.enter(true, 1, FROM, now));
        assert_eq!(set, "own; HttpOnly; SameSite=Lax; Path=/; Max-Age=43200");
        assert!(sites.knows(value.as_bytes(), 1, now));
        assert!(!sites.knows(value.as_bytes(), 2, now) && !sites.knows(b"", 1, now));
        let client = SignIn::new("own", Lifetime::FromLastUse);
        let (_, set) = cookie(client.enter(true, (), (FROM.0, true), now));
        assert_eq!(set, "__Host-own; HttpOnly; SameSite=Lax; Path=/; Secure");
    }

    #[test]
    fn a_cookie_ends_after_the_sign_in_or_after_the_last_use() {
        let start = Instant::now();
        let at = |hours: u64| start + Duration::from_secs(hours * 3600);
        for (lifetime, later, known) in [
            (Lifetime::FromSignIn, 13, false),
            (Lifetime::FromLastUse, 13, true),
            (Lifetime::FromLastUse, 24, false),
        ] {
            let sign_in = SignIn::new("own", lifetime);
            let (value, _) = cookie(sign_in.enter(true, (), FROM, start));
            assert!(sign_in.knows(value.as_bytes(), (), at(11)));
            let found = sign_in.knows(value.as_bytes(), (), at(later));
            assert_eq!(found, known, "{lifetime:?} {later}");
        }
    }

    #[test]
    fn wrong_codes_are_limited_and_a_right_one_passes_all_the_same() {
        let (sign_in, now) = (SignIn::new("own", Lifetime::FromSignIn), Instant::now());
        let wrong = |source: &str| {
            let from = (source.parse().unwrap(), false);
            sign_in.enter(false, (), from, now)
        };
        for _ in 0..WRONG_CODES {
            assert_eq!(wrong("192.0.2.1"), Outcome::WrongCode);
        }
        let minute = Duration::from_secs(60);
        assert_eq!(wrong("192.0.2.1"), Outcome::TooMany(minute));
        cookie(sign_in.enter(true, (), ("192.0.2.1".parse().unwrap(), false), now));
        assert_eq!(wrong("192.0.2.2"), Outcome::WrongCode);
        let tries: Vec<_> = (1..=6).map(|i| wrong(&format!("2001:db8::{i}"))).collect();
        assert_eq!(tries.last(), Some(&Outcome::TooMany(minute)), "one network");
    }

    #[test]
    fn cookies_are_bounded() {
        let start = Instant::now();
        let sign_in = SignIn::new("own", Lifetime::FromSignIn);
        let enter = |realm, at: u64| {
            cookie(sign_in.enter(true, realm, FROM, start + Duration::from_millis(at))).0
        };
        let (first, other) = (enter(1, 0), enter(2, 1));
        for at in 0..MAX_OF_REALM {
            enter(1, 2 + u64::try_from(at).unwrap());
        }
        assert_eq!(sign_in.sessions.lock().len(), MAX_OF_REALM + 1);
        let later = start + Duration::from_secs(60);
        assert!(
            !sign_in.knows(first.as_bytes(), 1, later),
            "the oldest gave way"
        );
        assert!(sign_in.knows(other.as_bytes(), 2, later));
    }
}
