//! The sign-in of invisible sites: a code is exchanged for a cookie, which is good for one site.

use crate::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

use super::cookies;
use super::site::Site;
use crate::http;

/// Time that a visitor stays signed in. Default 12 h: a working day.
pub(super) const SIGNED_IN_FOR: Duration = Duration::from_secs(12 * 3600);
/// Visitors of one site who are signed in. Default 1,000, 80 KiB; the oldest gives way.
const MAX_VISITORS: usize = 1000;
/// Visitors of all sites together. Default 20,000, 2 MiB.
const MAX_ALL_VISITORS: usize = 20_000;
/// Wrong codes that a source may send in [`WINDOW`]. Default 5.
const WRONG_CODES: usize = 5;
/// The time that [`WRONG_CODES`] counts in. Default 60 s.
const WINDOW: Duration = Duration::from_secs(60);
/// Sources whose wrong codes are remembered. Default 10,000; while all of them are recent, a wrong
/// code of any other is one too many.
const MAX_SOURCES: usize = 10_000;
/// Time between two looks for sources that may be forgotten. Default 1 s.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Random bytes of a cookie. Default 20: 160 bits.
const TOKEN: usize = 20;

type Sum = [u8; digest::SHA256_OUTPUT_LEN];

/// The code of an invisible site; only its digest is kept.
pub struct Code(Sum);

impl Code {
    /// From the code that visitors send.
    pub fn new(code: &str) -> Code {
        Code(sum(&[code.as_bytes()]))
    }

    /// From the SHA-256 of that code.
    pub fn of_digest(digest: [u8; digest::SHA256_OUTPUT_LEN]) -> Code {
        Code(digest)
    }

    /// Compares keyed digests: neither the place of a difference nor the length shows in the time.
    fn is(&self, given: &str, random: &SystemRandom) -> bool {
        let mut secret = Sum::default();
        if random.fill(&mut secret).is_err() {
            return false;
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let expected = hmac::sign(&key, &self.0);
        hmac::verify(&key, &sum(&[given.as_bytes()]), expected.as_ref()).is_ok()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(***)")
    }
}

/// What became of a code.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    /// It was right; the value is for `Set-Cookie`.
    Open(String),
    Wrong,
    /// It was wrong, and so were too many before it: time until the next counts as a try again.
    TooMany(Duration),
    /// The system gives no random bytes.
    NoRandom,
}

/// Who is signed in where, and who tried too often.
pub(super) struct SiteAuth {
    random: SystemRandom,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the digest of the cookie: the site that it opens, and since when.
    visitors: HashMap<Sum, Visitor>,
    wrong: HashMap<IpAddr, Vec<Instant>>,
    swept: Option<Instant>,
}

impl State {
    /// Forgets sources whose wrong codes are old. Looks at all of them, so not for every try.
    fn sweep(&mut self) {
        if self.swept.is_none_or(|at| at.elapsed() > SWEEP_EVERY) {
            self.wrong
                .retain(|_, tries| tries.last().is_some_and(is_recent));
            self.swept = Some(Instant::now());
        }
    }
}

struct Visitor {
    site: Sum,
    since: Instant,
}

impl SiteAuth {
    pub(super) fn new() -> SiteAuth {
        SiteAuth {
            random: SystemRandom::new(),
            state: Mutex::default(),
        }
    }

    /// Whether this cookie opens this site.
    pub(super) fn knows(&self, cookie: &[u8], site: &Site) -> bool {
        let Some(lock) = lock_of(site) else {
            return true;
        };
        let cookie = sum(&[cookie]);
        let mut state = self.lock();
        let Some(visitor) = state.visitors.get(&cookie) else {
            return false;
        };
        if visitor.since.elapsed() > SIGNED_IN_FOR {
            state.visitors.remove(&cookie);
            return false;
        }
        visitor.site == lock
    }

    /// Tries a code. A right one always passes; wrong ones are counted by source. `is_secure` when
    /// the visitor comes by `https`.
    pub(super) fn enter(
        &self,
        site: &Site,
        app_id: Option<&str>,
        code: &str,
        source: IpAddr,
        is_secure: bool,
    ) -> Entrance {
        let Some((lock, expected)) = lock_of(site).zip(site.code.as_ref()) else {
            return Entrance::Wrong;
        };
        let is_right = expected.is(code, &self.random);
        if !is_right || app_id.is_some_and(|app_id| app_id != site.app_id) {
            return self.count_wrong(http::source(source));
        }
        let mut token = [0; TOKEN];
        if self.random.fill(&mut token).is_err() {
            return Entrance::NoRandom;
        }
        let value: String = token.iter().map(|b| format!("{b:02x}")).collect();
        self.admit(sum(&[value.as_bytes()]), lock);
        let secure = if is_secure { "; Secure" } else { "" };
        Entrance::Open(format!(
            "{}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={}{secure}",
            cookies::ours(is_secure),
            SIGNED_IN_FOR.as_secs()
        ))
    }

    fn admit(&self, cookie: Sum, site: Sum) {
        let mut state = self.lock();
        let visitors = &mut state.visitors;
        if visitors.len() >= MAX_ALL_VISITORS {
            visitors.retain(|_, visitor| visitor.since.elapsed() <= SIGNED_IN_FOR);
        }
        let of_site = visitors.values().filter(|visitor| visitor.site == site);
        let crowded = of_site.count() >= MAX_VISITORS;
        if crowded || visitors.len() >= MAX_ALL_VISITORS {
            let oldest = visitors
                .iter()
                .filter(|(_, visitor)| !crowded || visitor.site == site)
                .min_by_key(|(_, visitor)| visitor.since)
                .map(|(cookie, _)| *cookie);
            if let Some(oldest) = oldest {
                visitors.remove(&oldest);
            }
        }
        let since = Instant::now();
        visitors.insert(cookie, Visitor { site, since });
    }

    fn count_wrong(&self, source: IpAddr) -> Entrance {
        let mut state = self.lock();
        if state.wrong.len() >= MAX_SOURCES && !state.wrong.contains_key(&source) {
            state.sweep();
            if state.wrong.len() >= MAX_SOURCES {
                return Entrance::TooMany(WINDOW);
            }
        }
        let tries = state.wrong.entry(source).or_default();
        tries.retain(is_recent);
        if let Some(first) = tries.first().filter(|_| tries.len() >= WRONG_CODES) {
            return Entrance::TooMany(WINDOW.saturating_sub(first.elapsed()));
        }
        tries.push(Instant::now());
        Entrance::Wrong
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// What a cookie is bound to: a site that gets another code is another one.
fn lock_of(site: &Site) -> Option<Sum> {
    let code = site.code.as_ref()?;
    let length = u64::try_from(site.app_id.len()).unwrap_or_default();
    Some(sum(&[
        &length.to_be_bytes(),
        site.app_id.as_bytes(),
        site.name.as_bytes(),
        &code.0,
    ]))
}

fn is_recent(at: &Instant) -> bool {
    at.elapsed() < WINDOW
}

fn sum(parts: &[&[u8]]) -> Sum {
    let mut context = digest::Context::new(&digest::SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut sum = Sum::default();
    sum.copy_from_slice(context.finish().as_ref());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::gateway::Down;

    const SOURCE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn site(name: &str, code: &str) -> Site {
        let mut site = Site::new(name, format!("app-{name}"), Box::new(|| Err(Down::Tunnel)));
        site.code = Some(Code::new(code));
        site
    }

    fn value(entrance: Entrance) -> Vec<u8> {
        let Entrance::Open(cookie) = entrance else {
            panic!("the right code was refused: {entrance:?}");
        };
        let (pair, _) = cookie.split_once(';').unwrap();
        pair.split_once('=').unwrap().1.as_bytes().to_vec()
    }

    #[test]
    fn a_cookie_opens_its_site_alone_and_only_with_the_present_code() {
        let door = SiteAuth::new();
        let (one, other) = (site("one", "c1"), site("other", "c1"));
        let cookie = value(door.enter(&one, Some("app-one"), "c1", SOURCE, false));
        assert!(door.knows(&cookie, &one));
        assert!(!door.knows(&cookie, &other));
        assert!(!door.knows(b"", &one) && !door.knows(b"x", &one));
        assert!(!door.knows(&cookie, &site("one", "c2")));
        assert_eq!(
            door.enter(&one, Some("app-other"), "c1", SOURCE, false),
            Entrance::Wrong
        );
        value(door.enter(&one, None, "c1", SOURCE, false));
    }

    #[test]
    fn wrong_codes_are_limited_and_a_right_one_passes_all_the_same() {
        let (door, site) = (SiteAuth::new(), site("one", "c1"));
        for _ in 0..WRONG_CODES {
            assert_eq!(
                door.enter(&site, None, "no", SOURCE, false),
                Entrance::Wrong
            );
        }
        let Entrance::TooMany(wait) = door.enter(&site, None, "", SOURCE, false) else {
            panic!("a sixth try was let in");
        };
        assert!(wait > Duration::from_secs(50) && wait <= WINDOW);
        value(door.enter(&site, None, "c1", SOURCE, false));
        let other = "192.0.2.1".parse().unwrap();
        assert_eq!(door.enter(&site, None, "no", other, false), Entrance::Wrong);
    }

    #[test]
    fn visitors_and_sources_are_bounded() {
        let (door, one) = (SiteAuth::new(), site("one", "c1"));
        let first = value(door.enter(&one, None, "c1", SOURCE, false));
        let other = value(door.enter(&site("other", "c1"), None, "c1", SOURCE, false));
        for _ in 0..MAX_VISITORS {
            value(door.enter(&one, None, "c1", SOURCE, false));
        }
        assert_eq!(door.lock().visitors.len(), MAX_VISITORS + 1);
        assert!(!door.knows(&first, &one), "the oldest gave way");
        assert!(door.knows(&other, &site("other", "c1")));
        for number in 0..20_000_u32 {
            let source = IpAddr::from(number.to_be_bytes());
            door.enter(&one, None, "no", source, false);
        }
        assert!(door.lock().wrong.len() <= MAX_SOURCES);
    }

    #[test]
    fn nothing_shows_a_code() {
        assert_eq!(format!("{:?}", Code::new("secret")), "Code(***)");
        assert!(!format!("{:?}", site("one", "secret")).contains("secret"));
    }
}
