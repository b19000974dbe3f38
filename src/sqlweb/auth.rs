//! Invisible mode: an authorization code is exchanged for a session cookie.

use std::net::IpAddr;

use zeroize::Zeroizing;

use crate::http::auth::{Code, CookieKey, Lifetime, Scope, SignIn, SignInOutcome, Visitor};
use crate::http::{HostPolicy, Request};
use crate::store::expiry::Clocks;
use crate::store::random;
use crate::sync::{LogLimiter, Mutex};

/// Number of the owner's own sign-in.
const OWNER: u64 = 0;

/// The sign-in of one web client.
pub(crate) struct Auth {
    code: Zeroizing<String>,
    /// A second code, for visitors who come through a tunnel.
    guest: Mutex<GuestCode>,
    hosts: HostPolicy,
    /// Cookies, whose generation is [`OWNER`] or the number of a guests' code.
    sign_in: SignIn,
    refused: LogLimiter,
}

#[derive(Default)]
struct GuestCode {
    code: Option<Code>,
    /// Number of codes set so far; sign-ins by an earlier one are no longer valid.
    number: u64,
}

impl GuestCode {
    fn opened_by(&self, code: &str) -> Option<u64> {
        let right = self.code.as_ref().filter(|right| right.is(code));
        right.map(|_| self.number)
    }
}

impl Auth {
    /// A sign-in with a new code of 160 random bits. All ports of a host share cookies, so `port` is in the cookie's
    /// name. `hosts` contains the names that are used with `https`.
    pub(crate) fn new(port: u16, hosts: HostPolicy) -> Self {
        let (cookie, key) = (format!("postern_{port}"), CookieKey::random());
        Self {
            code: Zeroizing::new(random::token()),
            guest: Mutex::default(),
            hosts,
            sign_in: SignIn::new(&cookie, Lifetime::FromLastUse, key),
            refused: LogLimiter::default(),
        }
    }

    /// The authorization code, to be shown once at the start.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Sets the guests' code; an earlier one, and sign-ins by it, become invalid.
    pub(crate) fn set_guest_code(&self, code: &str) {
        let mut guest = self.guest.lock();
        guest.code = Some(code).filter(|code| !code.is_empty()).map(Code::new);
        guest.number += 1;
    }

    /// Returns the sender of a request, if they have signed in. Their id stays the same when their cookie is renewed.
    pub(crate) fn visitor(&self, request: &Request) -> Option<Visitor> {
        let now = Clocks::now();
        let scopes = [OWNER, self.guest.lock().number].map(scope);
        let mut cookies = request.cookies(self.sign_in.cookie(self.is_secure(request)));
        let known = |cookie: &str, scope| self.sign_in.visitor(cookie.as_bytes(), scope, now);
        cookies.find_map(|cookie| scopes.iter().find_map(|scope| known(cookie, scope)))
    }

    /// The value for `Set-Cookie` that keeps the sender of this request signed in.
    pub(crate) fn renewed(&self, request: &Request) -> Option<String> {
        let (visitor, is_secure) = (self.visitor(request)?, self.is_secure(request));
        self.sign_in.renewed(&visitor, is_secure, Clocks::now())
    }

    /// True if a visitor uses `https`, according to the site's name or to a proxy on this machine, such as the tunnel
    /// with the gateway's header. A false header only gets its sender the stricter cookie.
    pub(crate) fn is_secure(&self, request: &Request) -> bool {
        let is_forwarded = request.header("x-forwarded-proto") == Some("https");
        self.hosts.is_https(request.host()) || (is_forwarded && request.peer().is_loopback())
    }

    /// Tries a code; `is_secure` is the answer of [`is_secure`](Self::is_secure).
    pub(crate) fn enter(&self, code: &str, source: IpAddr, is_secure: bool) -> SignInOutcome {
        let is_owner = Code::new(&self.code).is(code);
        let owner = is_owner.then_some(OWNER);
        let opened = owner.or_else(|| self.guest.lock().opened_by(code));
        let scope = opened.map(scope);
        let outcome = (self.sign_in).enter(scope, source, is_secure, Clocks::now());
        if opened.is_none() {
            self.refused
                .refused(format_args!("{source} was refused: a wrong code"));
        }
        outcome
    }
}

/// Scope of a generation; the key signs nothing else, so the realm is empty.
fn scope(generation: u64) -> Scope {
    Scope::new([0; 32], generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(auth: &Auth, code: &str) -> SignInOutcome {
        auth.enter(code, std::net::Ipv4Addr::LOCALHOST.into(), false)
    }

    #[test]
    fn the_right_code_gets_a_cookie_that_the_browser_keeps_until_it_ends() {
        let auth = Auth::new(8306, HostPolicy::loopback());
        let SignInOutcome::SignedIn(cookie) = enter(&auth, auth.code()) else {
            panic!("the right code was refused");
        };
        let (value, attributes) = cookie.split_once(';').unwrap();
        assert!(value.starts_with("postern_8306="));
        assert_eq!(attributes, " HttpOnly; SameSite=Lax; Path=/");
        assert_eq!(enter(&auth, ""), SignInOutcome::WrongCode);
    }

    #[test]
    fn a_guest_comes_in_with_the_code_set_last_and_no_other() {
        let auth = Auth::new(1, HostPolicy::loopback());
        let is_right = |code: &str| matches!(enter(&auth, code), SignInOutcome::SignedIn(_));
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
