//! The operator's sign-in: the token that is printed at the start, or the code of a link, is exchanged for a cookie. In
//! a fleet a balancer may lead to any relay: links and cookies are valid at all of them.

use std::net::IpAddr;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::http::Request;
use crate::http::auth::{Code, CookieKey, Lifetime, Scope, SignIn, SignInOutcome, sha256};
use crate::store::expiry::Clocks;
use crate::store::random;

/// Time that a link signs in: it is opened at once, and one that stays in a terminal is worth nothing.
const LINK_LIFE: Duration = crate::limits::LINK_LIFE;

/// Sign-in of the operator of this relay.
pub(super) struct Operator {
    token: Zeroizing<String>,
    sign_in: SignIn,
}

impl Operator {
    /// Makes a new token. Cookies are shared by all ports of a host, so `port` is in the cookie's name.
    pub(super) fn new(port: u16, key: CookieKey) -> Self {
        let cookie = format!("postern-relay-{port}");
        Self {
            token: Zeroizing::new(random::token()),
            sign_in: SignIn::new(&cookie, Lifetime::FromSignIn, key),
        }
    }

    /// Returns a new code for a link, valid once and for [`LINK_LIFE`] from `now`; a secret. In a fleet it is valid
    /// once at each relay.
    pub(super) fn link(&self, now: Clocks) -> Zeroizing<String> {
        Zeroizing::new(self.sign_in.give(&link(), now))
    }

    /// Opens a link; true if this is its code, and nobody has opened it before.
    fn opens_link(&self, code: &str, now: Clocks) -> bool {
        let unopened = self.sign_in.visitor(code.as_bytes(), &link(), now);
        unopened.is_some_and(|link| self.sign_in.end(&link, now))
    }

    /// Returns the secret that opens the page, as printed at the start: the token, or in a fleet the code of a link.
    pub(super) fn first_code(&self) -> Zeroizing<String> {
        if self.sign_in.is_shared() {
            self.link(Clocks::now())
        } else {
            self.token.clone()
        }
    }

    /// The token; a secret.
    pub(super) fn token(&self) -> &Zeroizing<String> {
        &self.token
    }

    /// True if this is the token.
    pub(super) fn has(&self, token: &str) -> bool {
        Code::new(&self.token).is(token)
    }

    /// True if a request is the operator's: by its cookie, or by `Authorization: Bearer TOKEN`.
    pub(super) fn sent(&self, request: &Request, is_secure: bool) -> bool {
        let bearer = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        let (scope, now) = (scope(), Clocks::now());
        let mut cookies = request.cookies(self.sign_in.cookie(is_secure));
        let knows = |value: &str| self.sign_in.visitor(value.as_bytes(), &scope, now);
        cookies.any(|value| knows(value).is_some()) || bearer.is_some_and(|value| self.has(value))
    }

    /// Tries a token or the code of a link. A right one always passes; wrong ones are counted by source.
    pub(super) fn enter(&self, token: &str, source: IpAddr, is_secure: bool) -> SignInOutcome {
        let now = Clocks::now();
        let is_right = self.has(token) || self.opens_link(token, now);
        let opened = is_right.then(scope);
        self.sign_in.enter(opened, source, is_secure, now)
    }
}

/// Scope of cookies.
fn scope() -> Scope {
    realm(b"cookie")
}

/// Scope of links.
fn link() -> Scope {
    realm(b"link").within(LINK_LIFE)
}

/// Returns the scope of a purpose, which is never that of a site.
fn realm(of: &[u8]) -> Scope {
    Scope::new(sha256(&[b"postern operator's ", of]), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::auth::of_form_1;
    use crate::store::time::unix_seconds;

    fn entered(operator: &Operator, code: &str) -> String {
        let source = std::net::Ipv4Addr::LOCALHOST.into();
        match operator.enter(code, source, true) {
            SignInOutcome::SignedIn(cookie) => cookie,
            other => panic!("the code was refused: {other:?}"),
        }
    }

    #[test]
    fn the_cookie_is_the_relays_own_and_not_the_token() {
        let operator = Operator::new(8180, CookieKey::random());
        let source = std::net::Ipv4Addr::LOCALHOST.into();
        assert_eq!(
            operator.enter("wrong", source, true),
            SignInOutcome::WrongCode
        );
        let cookie = entered(&operator, operator.token());
        assert!(cookie.starts_with("__Host-postern-relay-8180=") && cookie.ends_with("; Secure"));
        assert!(cookie.contains("; Max-Age=43200") && !cookie.contains(operator.token().as_str()));
    }

    #[test]
    fn a_link_is_good_once_and_for_a_while() {
        let (operator, now) = (Operator::new(8180, CookieKey::random()), Clocks::now());
        let first = operator.link(now);
        assert!(!operator.has(&first), "no other call takes it");
        entered(&operator, &first);
        assert!(!operator.opens_link(&first, now), "it is opened once");
        let after = |passed| Clocks {
            wall: now.wall + passed,
            monotonic: now.monotonic + passed,
        };
        assert!(operator.opens_link(&operator.link(now), after(LINK_LIFE / 2)));
        assert!(!operator.opens_link(&operator.link(now), after(LINK_LIFE)));
        assert!(!Operator::new(8180, CookieKey::random()).opens_link(&operator.link(now), now));
    }

    #[test]
    fn in_a_fleet_links_and_cookies_are_good_at_each_relay_and_a_sites_are_not() {
        let key = CookieKey::derived(&[5; 32]);
        let relay = || Operator::new(8180, key.clone());
        let (here, there, now) = (relay(), relay(), Clocks::now());
        let code = here.link(now);
        assert!(there.opens_link(&code, now) && !there.opens_link(&code, now));
        let cookie = entered(&here, &code);
        let (pair, _) = cookie.split_once(';').unwrap();
        let value = pair.split_once('=').unwrap().1;
        let is_operators = |value: &str| {
            let visitor = there.sign_in.visitor(value.as_bytes(), &scope(), now);
            visitor.is_some()
        };
        assert!(is_operators(value) && !is_operators(&here.link(now)));
        assert!(!there.opens_link(value, now), "a cookie is no link");
        let of_site = SignIn::new("site", Lifetime::FromSignIn, key.clone());
        let of_site = of_site.give(&Scope::new([7; 32], 0), now);
        assert!(!is_operators(&of_site) && !there.opens_link(&of_site, now));
        assert!(!there.has(here.token()), "tokens are a relay's own");
        let earlier = of_form_1(&key, &link(), "someone", unix_seconds() + 60);
        assert!(there.opens_link(&earlier, now) && !there.opens_link(&earlier, now));
    }
}
