//! Sign-ins: cookies that were given for a right code.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::code::sha256;
use super::rate_limiter::{RateLimiter, WhenFull};
use crate::http;
use crate::store::random;
use crate::sync::Mutex;

/// Time that a cookie is good for. Default 12 h: a working day.
pub(crate) const SIGNED_IN_FOR: Duration = crate::limits::SIGNED_IN_FOR;
/// Cookies of one realm. Default 1,000, 120 KiB; the source that has most gives way, and of several the one that came
/// last.
const MAX_OF_REALM: usize = 1000;
/// Cookies of all realms together. Default 20,000, 3 MiB; the owner who has most gives way.
const MAX_COOKIES: usize = 20_000;
/// Wrong codes a minute that a source may send. Default 5.
const WRONG_CODES: usize = crate::limits::WRONG_CODES;

/// From when on the time of a cookie is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// From the sign-in, which the cookie's `Max-Age` says too.
    FromSignIn,
    /// From the last request; the browser keeps the cookie until it ends.
    FromLastUse,
}

/// Result of a code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was right; the value is for `Set-Cookie`.
    SignedIn(String),
    /// It was wrong.
    WrongCode,
    /// It was wrong, and so were too many before it: the time until another may be tried.
    TooMany(Duration),
}

/// Scope of a cookie.
pub(crate) trait Realm: PartialEq + Copy {
    /// Whose it is: who has many shares the places of one.
    fn owner(&self) -> u64 {
        0
    }
}

impl Realm for () {}

/// The cookies of one kind, each good for one realm: a site, or `()` where there is one alone.
pub(crate) struct SignIn<R = ()> {
    /// The cookie's name by `http`, and by `https`: there its prefix keeps every other server of this host name,
    /// whatever its port, from setting it, and its `Secure` from reading it (RFC 6265bis section 4.1.3.2).
    names: [String; 2],
    lifetime: Lifetime,
    /// By the SHA-256 of the cookie's value.
    sessions: Mutex<HashMap<Key, Session<R>>>,
    wrong: RateLimiter,
}

type Key = [u8; 32];

struct Session<R> {
    realm: R,
    /// Address that signed in.
    source: IpAddr,
    entered: Instant,
    /// The last request with it.
    used: Option<Instant>,
}

impl<R: Realm> SignIn<R> {
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

    /// True if a cookie of this value was given for the realm, and is good yet.
    pub(crate) fn knows(&self, value: &[u8], realm: R, now: Instant) -> bool {
        let key = sha256(&[value]);
        let mut sessions = self.sessions.lock();
        let Some(session) = sessions.get_mut(&key) else {
            return false;
        };
        if session.is_over(self.lifetime, now) {
            sessions.remove(&key);
            return false;
        }
        session.used = Some(now);
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
        self.enter_with(is_right, (source, is_secure), now, || {
            (self.give(realm, source, now), SIGNED_IN_FOR)
        })
    }

    /// Signs in with a cookie of a value that somebody else makes, and how long that is good.
    pub(crate) fn enter_with(
        &self,
        is_right: bool,
        (source, is_secure): (IpAddr, bool),
        now: Instant,
        make: impl FnOnce() -> (String, Duration),
    ) -> Outcome {
        if is_right {
            let (value, time) = make();
            return Outcome::SignedIn(self.set_cookie(&value, time, is_secure));
        }
        match self.wrong.count(source, now) {
            Ok(()) => Outcome::WrongCode,
            Err(wait) => Outcome::TooMany(wait),
        }
    }

    /// The value of a new cookie, which is noted.
    fn give(&self, realm: R, source: IpAddr, now: Instant) -> String {
        let value = random::token();
        let session = Session {
            realm,
            source: http::source(source),
            entered: now,
            used: None,
        };
        self.admit(sha256(&[value.as_bytes()]), session, now);
        value
    }

    fn set_cookie(&self, value: &str, time: Duration, is_secure: bool) -> String {
        let age = match self.lifetime {
            Lifetime::FromSignIn => format!("; Max-Age={}", time.as_secs()),
            Lifetime::FromLastUse => String::new(),
        };
        let secure = if is_secure { "; Secure" } else { "" };
        let name = self.cookie(is_secure);
        format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/{age}{secure}")
    }

    /// Where there is no place, whoever has most of them gives way: so a flood of sign-ins costs its own.
    fn admit(&self, key: Key, session: Session<R>, now: Instant) {
        let mut sessions = self.sessions.lock();
        let realm = session.realm;
        let of_realm = |session: &Session<R>| session.realm == realm;
        let is_crowded = sessions.values().filter(|s| of_realm(s)).count() >= MAX_OF_REALM;
        if is_crowded || sessions.len() >= MAX_COOKIES {
            sessions.retain(|_, session| !session.is_over(self.lifetime, now));
            let out = if is_crowded {
                idlest_of_most(&sessions, of_realm, |session| session.source)
            } else {
                let owner = |session: &Session<R>| session.realm.owner();
                let idlest = idlest_of_most(&sessions, |_| true, owner);
                let most = idlest.and_then(|key| sessions.get(&key)).map(owner);
                let of_most = |session: &Session<R>| Some(owner(session)) == most;
                idlest_of_most(&sessions, of_most, |session| session.source)
            };
            out.map(|out| sessions.remove(&out));
        }
        sessions.insert(key, session);
    }
}

/// Of the sessions that `counts`, of the `holder` who has most of them the one that was not used for longest. Where several
/// have as many, of one that was never used, and else of the one who came last: who was there before a flood stays.
fn idlest_of_most<R, H: Eq + Hash>(
    sessions: &HashMap<Key, Session<R>>,
    counts: impl Fn(&Session<R>) -> bool,
    holder: impl Fn(&Session<R>) -> H,
) -> Option<Key> {
    let mut held: HashMap<H, (usize, &Session<R>, Key)> = HashMap::new();
    for (key, session) in sessions.iter().filter(|(_, session)| counts(session)) {
        let of_holder = held.entry(holder(session)).or_insert((0, session, *key));
        let (count, idlest, of_idlest) = of_holder;
        *count += 1;
        if session.last_seen() < idlest.last_seen() {
            (*idlest, *of_idlest) = (session, *key);
        }
    }
    let most = held
        .into_values()
        .max_by_key(|(count, idlest, _)| (*count, idlest.used.is_none(), idlest.entered));
    most.map(|(_, _, key)| key)
}

impl<R> Session<R> {
    fn last_seen(&self) -> Instant {
        self.used.unwrap_or(self.entered)
    }

    fn is_over(&self, lifetime: Lifetime, now: Instant) -> bool {
        let since = match lifetime {
            Lifetime::FromSignIn => self.entered,
            Lifetime::FromLastUse => self.last_seen(),
        };
        now.saturating_duration_since(since) > SIGNED_IN_FOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Realm for i32 {}

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
        // From many networks at once there are no more tries than the limiter has room for.
        let source = |network| format!("2001:db8:1:{network:x}::1");
        let flood: Vec<_> = (0..=10_000)
            .map(|network| wrong(&source(network)))
            .collect();
        assert_eq!(flood.last(), Some(&Outcome::TooMany(minute)));
    }

    /// Two owners, each with any number of realms.
    #[derive(Clone, Copy, PartialEq)]
    struct Site(u64, usize);

    impl Realm for Site {
        fn owner(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn a_flood_from_everywhere_leaves_who_was_there() {
        for uses_each in [false, true] {
            let (start, sign_in) = (Instant::now(), SignIn::new("own", Lifetime::FromSignIn));
            let at = |seconds| start + Duration::from_secs(seconds);
            let enter = |source: String, now| {
                let from = (source.parse().unwrap(), false);
                cookie(sign_in.enter(true, (), from, now)).0
            };
            let knows = |cookie: &str, now| sign_in.knows(cookie.as_bytes(), (), now);
            let early = enter("192.0.2.1".into(), at(0));
            assert!(knows(&early, at(1)));
            for network in 0..2 * MAX_OF_REALM {
                let flood = enter(format!("2001:db8:0:{network:x}::1"), at(2));
                assert!(!uses_each || knows(&flood, at(3)));
            }
            let newcomer = enter("192.0.2.2".into(), at(4));
            assert!(
                knows(&early, at(5)) && knows(&newcomer, at(5)),
                "{uses_each}"
            );
        }
    }

    #[test]
    fn a_flood_of_sign_ins_costs_its_own() {
        let start = Instant::now();
        let sign_in = SignIn::new("own", Lifetime::FromSignIn);
        let enter = |site, source: &str, at: usize| {
            let now = start + Duration::from_millis(u64::try_from(at).unwrap());
            cookie(sign_in.enter(true, site, (source.parse().unwrap(), false), now)).0
        };
        let later = start + Duration::from_secs(60);
        let knows = |cookie: &str, site| sign_in.knows(cookie.as_bytes(), site, later);
        let (shop, other) = (Site(1, 0), Site(1, 1));
        let early = enter(shop, "192.0.2.1", 0);
        let first = enter(shop, "192.0.2.9", 1);
        for at in 0..2 * MAX_OF_REALM {
            enter(shop, "192.0.2.9", 2 + at);
        }
        assert_eq!(sign_in.sessions.lock().len(), MAX_OF_REALM);
        assert!(knows(&early, shop), "another source's stays");
        assert!(!knows(&first, shop), "the oldest of the flood gave way");
        let other_early = enter(other, "192.0.2.1", 3);
        for at in 0..MAX_COOKIES {
            let session = Session {
                realm: Site(2, at * 40 / MAX_COOKIES),
                source: "198.51.100.1".parse().unwrap(),
                entered: start + Duration::from_millis(10),
                used: None,
            };
            let key = sha256(&[&at.to_be_bytes()]);
            if at < MAX_COOKIES - MAX_OF_REALM - 1 {
                sign_in.sessions.lock().insert(key, session);
            } else if at % 50 == 0 {
                sign_in.admit(key, session, later);
            }
        }
        let held = sign_in.sessions.lock();
        let of_owner = held.values().filter(|session| session.realm.0 == 1).count();
        assert_eq!((held.len(), of_owner), (MAX_COOKIES, MAX_OF_REALM + 1));
        drop(held);
        assert!(knows(&early, shop) && knows(&other_early, other));
    }
}
