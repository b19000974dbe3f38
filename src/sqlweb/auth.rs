//! Invisible mode: an authorization code is exchanged for a session cookie.

use std::net::IpAddr;
use std::time::Instant;

use zeroize::Zeroizing;

use crate::http::auth::{Code, Lifetime, Outcome, Realm, SignIn};
use crate::http::{HostPolicy, Request};
use crate::store::random;
use crate::sync::{LogLimiter, Mutex};

/// The sign-in of one web client.
pub(crate) struct Auth {
    code: Zeroizing<String>,
    /// A second code, for visitors who come through a tunnel.
    guest: Mutex<GuestCode>,
    hosts: HostPolicy,
    /// Each for the owner, or for those who came by a guests' code.
    sign_in: SignIn<u64>,
    refused: LogLimiter,
}

impl Realm for u64 {}

/// Number of the owner's own sign-in.
const OWNER: u64 = 0;

#[derive(Default)]
struct GuestCode {
    code: Option<Code>,
    /// How often one was set: who came in by an earlier one is signed in no more.
    number: u64,
}

impl Auth {
    /// A sign-in with a new code of 160 random bits. Cookies are shared by all ports of a host, so `port` is in the
    /// cookie's name. `hosts` knows which names are used with `https`.
    pub(crate) fn new(port: u16, hosts: HostPolicy) -> Self {
        Self {
            code: Zeroizing::new(random::token()),
            guest: Mutex::default(),
            hosts,
            sign_in: SignIn::new(&format!("postern_{port}"), Lifetime::FromLastUse),
            refused: LogLimiter::default(),
        }
    }

    /// The authorization code, to be shown once at the start.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Also lets visitors in who have this code, and none any more who has an earlier one, or came in by it.
    pub(crate) fn set_guest_code(&self, code: &str) {
        let mut guest = self.guest.lock();
        guest.code = Some(code).filter(|code| !code.is_empty()).map(Code::new);
        guest.number += 1;
    }

    /// The session cookie of a request, where it belongs to somebody who has signed in.
    pub(crate) fn visitor(&self, request: &Request) -> Option<String> {
        let mut cookies = request.cookies(self.sign_in.cookie(self.is_secure(request)));
        let now = Instant::now();
        let guests = self.guest.lock().number;
        let knows = |cookie: &[u8], who| self.sign_in.knows(cookie, who, now);
        let known = cookies.find(|cookie| {
            let cookie = cookie.as_bytes();
            knows(cookie, OWNER) || (guests != OWNER && knows(cookie, guests))
        });
        known.map(str::to_owned)
    }

    /// True if a visitor comes by `https`: the site's name says so, or what stands in front on this machine, as the
    /// tunnel with what the gateway wrote. Who lies about it gets the stricter cookie and nothing else.
    pub(crate) fn is_secure(&self, request: &Request) -> bool {
        let told = request.header("x-forwarded-proto") == Some("https");
        self.hosts.is_https(request.host()) || (told && request.peer().is_loopback())
    }

    /// Tries a code. `is_secure` as [`is_secure`](Self::is_secure) says it.
    pub(crate) fn enter(&self, code: &str, source: IpAddr, is_secure: bool) -> Outcome {
        let guests = {
            let guest = self.guest.lock();
            let is_right = guest.code.as_ref().is_some_and(|guests| guests.is(code));
            is_right.then_some(guest.number)
        };
        let is_owner = Code::new(&self.code).is(code);
        let who = if is_owner { Some(OWNER) } else { guests };
        let from = (source, is_secure);
        let is_right = who.is_some();
        let outcome = self
            .sign_in
            .enter(is_right, who.unwrap_or(OWNER), from, Instant::now());
        if !is_right {
            self.refused
                .refused(format_args!("{source} was refused: a wrong code"));
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(auth: &Auth, code: &str) -> Outcome {
        auth.enter(code, std::net::Ipv4Addr::LOCALHOST.into(), false)
    }

    #[test]
    fn the_right_code_gets_a_cookie_that_the_browser_keeps_until_it_ends() {
        let auth = Auth::new(8306, HostPolicy::loopback());
        let Outcome::SignedIn(cookie) = enter(&auth, auth.code()) else {
            panic!("the right code was refused");
        };
        let (value, attributes) = cookie.split_once(';').unwrap();
        assert!(value.starts_with("postern_8306="));
        assert_eq!(attributes, " HttpOnly; SameSite=Lax; Path=/");
        assert_eq!(enter(&auth, ""), Outcome::WrongCode);
    }

    #[test]
    fn a_guest_comes_in_with_the_code_set_last_and_no_other() {
        let auth = Auth::new(1, HostPolicy::loopback());
        let is_right = |code: &str| matches!(enter(&auth, code), Outcome::SignedIn(_));
        assert!(!is_right(""));
        auth.set_guest_code("first");
        assert!(is_right("first") && !is_right("second"));
        auth.set_guest_code("second");
        assert!(is_right("second") && !is_right("first"));
        auth.set_guest_code("");
        assert!(!is_right("second") && !is_right(""));
        assert!(is_right(auth.code()), "the owner's own stays");
    }
}
