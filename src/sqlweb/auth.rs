//! Invisible mode: an authorization code is exchanged for a session cookie.

use crate::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::http::{self, HostPolicy, Request};

/// Wrong codes that one source may send in [`WINDOW`].
const WRONG_CODES: usize = 5;

/// The time that [`WRONG_CODES`] counts in.
const WINDOW: Duration = Duration::from_secs(60);

/// Visitors signed in at once; the one unused for longest gives way.
const MAX_VISITORS: usize = 1000;

/// A visitor who asks for nothing this long has to sign in again.
const VISITOR_IDLE: Duration = Duration::from_secs(12 * 3600);

/// Sources whose wrong codes are remembered; while all of them are recent, a wrong code of any other counts as one too
/// many.
const MAX_SOURCES: usize = 10_000;

/// The door of one web client.
pub(crate) struct Auth {
    code: String,
    /// A second code, for visitors who come through a tunnel.
    guest_code: Mutex<Option<Zeroizing<String>>>,
    /// Its name for visitors who come by `http`, and by `https`: there its prefix keeps every other server of this
    /// host name from setting or reading it, whatever its port (RFC 6265bis section 4.1.3.2).
    cookies: [String; 2],
    hosts: HostPolicy,
    random: SystemRandom,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    visitors: HashMap<String, Instant>,
    wrong: HashMap<IpAddr, Vec<Instant>>,
}

/// What became of a code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entrance {
    /// It was right; the value is for `Set-Cookie`.
    Open(String),
    /// It was wrong.
    Wrong,
    /// It was wrong, and so were too many before it.
    TooMany,
}

/// The system gives no random bytes.
#[derive(Debug)]
pub(crate) struct NoRandom;

impl Auth {
    /// A door with a new code of 160 random bits. Cookies are shared by all ports of a host, so `port` is in its name.
    /// `hosts` knows which names are used with `https`.
    pub(crate) fn new(port: u16, hosts: HostPolicy) -> Result<Self, NoRandom> {
        let random = SystemRandom::new();
        Ok(Self {
            code: token(&random)?,
            guest_code: Mutex::new(None),
            cookies: ["", "__Host-"].map(|prefix| format!("{prefix}postern_{port}")),
            hosts,
            random,
            state: Mutex::default(),
        })
    }

    /// The authorization code, to be shown once at the start.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Also lets visitors in who have this code, and none any more who has an earlier one.
    pub(crate) fn set_guest_code(&self, code: &str) {
        *self.guest_code() = Some(Zeroizing::new(code.to_owned())).filter(|code| !code.is_empty());
    }

    /// The session cookie of a request, where it belongs to somebody who has signed in. Of a visitor who comes by
    /// `https` one by the plain name is not looked at: any server of this host name can set it.
    pub(crate) fn visitor(&self, request: &Request) -> Option<String> {
        let [plain, prefixed] = &self.cookies;
        let name = if self.is_secure(request) {
            prefixed
        } else {
            plain
        };
        let known = request.cookies(name).find(|cookie| self.knows(cookie));
        known.map(str::to_owned)
    }

    /// Whether a visitor comes by `https`: the site's name says so, or who stands in front on this machine, as the
    /// tunnel with what the gateway wrote. Who lies about it gets the stricter cookie and nothing else.
    pub(crate) fn is_secure(&self, request: &Request) -> bool {
        let told = request.header("x-forwarded-proto") == Some("https");
        self.hosts.is_https(request.host()) || (told && request.peer().is_loopback())
    }

    fn knows(&self, cookie: &str) -> bool {
        let mut state = self.lock();
        let Some(seen) = state.visitors.get_mut(cookie) else {
            return false;
        };
        if seen.elapsed() > VISITOR_IDLE {
            state.visitors.remove(cookie);
            return false;
        }
        *seen = Instant::now();
        true
    }

    /// Tries a code. A right one always passes; wrong ones are counted by source. `is_secure` as
    /// [`is_secure`](Self::is_secure) says it.
    pub(crate) fn enter(
        &self,
        code: &str,
        source: IpAddr,
        is_secure: bool,
    ) -> Result<Entrance, NoRandom> {
        let is_guest = match &*self.guest_code() {
            Some(expected) => self.is_same(code, expected),
            None => false,
        };
        if self.is_same(code, &self.code) || is_guest {
            let visitor = token(&self.random)?;
            let [plain, prefixed] = &self.cookies;
            let (name, secure) = match is_secure {
                true => (prefixed, "; Secure"),
                false => (plain, ""),
            };
            let value = format!("{name}={visitor}; HttpOnly; SameSite=Lax; Path=/{secure}");
            self.admit(visitor);
            return Ok(Entrance::Open(value));
        }
        Ok(self.count_wrong(http::source(source)))
    }

    /// Compares digests, so that neither the place of a difference nor the length shows in the time.
    fn is_same(&self, code: &str, expected: &str) -> bool {
        use ring::{digest, hmac};
        let Ok(secret) = token(&self.random) else {
            return false;
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let expected = digest::digest(&digest::SHA256, expected.as_bytes());
        let given = digest::digest(&digest::SHA256, code.as_bytes());
        let tag = hmac::sign(&key, expected.as_ref());
        hmac::verify(&key, given.as_ref(), tag.as_ref()).is_ok()
    }

    fn admit(&self, visitor: String) {
        let mut state = self.lock();
        if state.visitors.len() >= MAX_VISITORS
            && let Some(oldest) = oldest(&state.visitors)
        {
            state.visitors.remove(&oldest);
        }
        state.visitors.insert(visitor, Instant::now());
    }

    fn count_wrong(&self, source: IpAddr) -> Entrance {
        let mut state = self.lock();
        if state.wrong.len() >= MAX_SOURCES && !state.wrong.contains_key(&source) {
            state.wrong.retain(|_, tries| is_recent(tries.last()));
            if state.wrong.len() >= MAX_SOURCES {
                return Entrance::TooMany;
            }
        }
        let tries = state.wrong.entry(source).or_default();
        tries.retain(|at| is_recent(Some(at)));
        if tries.len() >= WRONG_CODES {
            return Entrance::TooMany;
        }
        tries.push(Instant::now());
        Entrance::Wrong
    }

    fn guest_code(&self) -> MutexGuard<'_, Option<Zeroizing<String>>> {
        self.guest_code.lock()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

fn is_recent(at: Option<&Instant>) -> bool {
    at.is_some_and(|at| at.elapsed() < WINDOW)
}

fn oldest(visitors: &HashMap<String, Instant>) -> Option<String> {
    let (visitor, _) = visitors.iter().min_by_key(|(_, seen)| **seen)?;
    Some(visitor.clone())
}

/// 160 random bits in hexadecimal digits.
pub(crate) fn token(random: &SystemRandom) -> Result<String, NoRandom> {
    let mut bytes = [0u8; 20];
    random.fill(&mut bytes).map_err(|_| NoRandom)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn door(port: u16) -> Auth {
        Auth::new(port, HostPolicy::loopback()).unwrap()
    }

    #[test]
    fn the_right_code_opens_and_its_cookie_is_known() {
        let access = door(8306);
        let Entrance::Open(cookie) = access.enter(access.code(), SOURCE, false).unwrap() else {
            panic!("the right code was refused");
        };
        let value = cookie.strip_prefix("postern_8306=").unwrap();
        let (value, attributes) = value.split_once(';').unwrap();
        assert!(access.knows(value));
        assert!(!access.knows("other"));
        assert_eq!(attributes, " HttpOnly; SameSite=Lax; Path=/");
        let Entrance::Open(cookie) = access.enter(access.code(), SOURCE, true).unwrap() else {
            panic!("the right code was refused");
        };
        assert!(cookie.starts_with("__Host-postern_8306=") && cookie.ends_with("; Path=/; Secure"));
    }

    #[test]
    fn wrong_codes_are_limited_and_a_right_one_passes_all_the_same() {
        let access = door(1);
        for _ in 0..5 {
            assert_eq!(
                access.enter("wrong", SOURCE, false).unwrap(),
                Entrance::Wrong
            );
        }
        assert_eq!(
            access.enter("wrong", SOURCE, false).unwrap(),
            Entrance::TooMany
        );
        assert_eq!(access.enter("", SOURCE, false).unwrap(), Entrance::TooMany);
        let right = access.code().to_owned();
        assert!(matches!(
            access.enter(&right, SOURCE, false).unwrap(),
            Entrance::Open(_)
        ));
        let other: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(
            access.enter("wrong", other, false).unwrap(),
            Entrance::Wrong
        );
        let tries = (1..=6).map(|i| {
            let source = format!("2001:db8::{i}").parse().unwrap();
            access.enter("wrong", source, false).unwrap()
        });
        assert_eq!(tries.last(), Some(Entrance::TooMany), "one network");
    }

    #[test]
    fn a_guest_comes_in_with_the_code_set_last_and_no_other() {
        let access = door(1);
        let enter = |code: &str| matches!(access.enter(code, SOURCE, false), Ok(Entrance::Open(_)));
        assert!(!enter(""));
        access.set_guest_code("first");
        assert!(enter("first") && !enter("second"));
        access.set_guest_code("second");
        assert!(enter("second") && !enter("first"));
        access.set_guest_code("");
        assert!(!enter("second") && !enter(""));
        assert!(enter(access.code()), "the owner's own stays");
    }

    #[test]
    fn visitors_are_bounded() {
        let access = door(1);
        for i in 0..=MAX_VISITORS {
            access.admit(i.to_string());
        }
        assert_eq!(access.lock().visitors.len(), MAX_VISITORS);
        assert!(access.knows(&MAX_VISITORS.to_string()));
    }
}
