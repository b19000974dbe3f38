//! The operator's sign-in: the token that is printed at the start, or the code of a link that was made since, is exchanged
//! for a cookie. In a fleet a balancer may lead to any relay: links and cookies are signed, and good at all of them.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use crate::gateway::{CookieKey, since_1970};
use crate::http::Request;
use crate::http::auth::{Code, Lifetime, Outcome, SIGNED_IN_FOR, SignIn, sha256};
use crate::store::random;
use crate::sync::Mutex;

/// How long a link signs in: it is opened at once, and what stays in a terminal is worth nothing.
const LINK_LIFE: Duration = crate::limits::LINK_LIFE;
/// Links at once; the oldest goes. Default 16: one is used at a time.
const LINKS: usize = 16;
/// Links of a fleet that are known to be opened, as long as they would be good. Default 1,024.
const OPENED: usize = 1024;

/// Knows the operator of this relay.
pub(super) struct Operator {
    token: Zeroizing<String>,
    sign_in: SignIn,
    /// The codes of links, and until when each is good; in a fleet of those that were opened here.
    links: Mutex<VecDeque<(Code, Instant)>>,
    /// Key that all relays of a fleet sign with.
    key: Option<CookieKey>,
}

impl Operator {
    /// With a new token. Cookies are shared by all ports of a host, so `port` is in the cookie's name.
    pub(super) fn new(port: u16, key: Option<CookieKey>) -> Self {
        Self {
            key,
            token: Zeroizing::new(random::token()),
            sign_in: SignIn::new(&format!("postern-relay-{port}"), Lifetime::FromSignIn),
            links: Mutex::default(),
        }
    }

    /// A new code for a link, good once and for [`LINK_LIFE`] from `now`; a secret. In a fleet it is good once at each
    /// relay.
    pub(super) fn link(&self, now: Instant) -> Zeroizing<String> {
        if let Some(key) = &self.key {
            let end = since_1970() + LINK_LIFE;
            return Zeroizing::new(key.give(&realm(b"link"), end.as_secs()));
        }
        let code = Zeroizing::new(random::token());
        let mut links = self.links.lock();
        links.truncate(LINKS - 1);
        links.push_front((Code::new(&code), now + LINK_LIFE));
        code
    }

    /// True if it is the code of a link that nobody has opened; now it is opened.
    fn opens_link(&self, code: &str, now: Instant) -> bool {
        let mut links = self.links.lock();
        if let Some(key) = &self.key {
            let is_good = key.knows(code.as_bytes(), &realm(b"link"), since_1970());
            let was_opened = links.iter().any(|(link, _)| link.is(code));
            if is_good && !was_opened {
                links.truncate(OPENED - 1);
                links.push_front((Code::new(code), now + LINK_LIFE));
            }
            return is_good && !was_opened;
        }
        let is_it = |(link, end): &(Code, Instant)| now < *end && link.is(code);
        let found = links.iter().position(is_it);
        found.and_then(|at| links.remove(at)).is_some()
    }

    /// Returns the secret that opens the page, as printed at the start: the token, or in a fleet the code of a link.
    pub(super) fn first_code(&self) -> Zeroizing<String> {
        match &self.key {
            Some(_) => self.link(Instant::now()),
            None => self.token.clone(),
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
        let now = Instant::now();
        let mut cookies = request.cookies(self.sign_in.cookie(is_secure));
        let knows = |value: &str| match &self.key {
            Some(key) => key.knows(value.as_bytes(), &realm(b"cookie"), since_1970()),
            None => self.sign_in.knows(value.as_bytes(), (), now),
        };
        cookies.any(knows) || bearer.is_some_and(|value| self.has(value))
    }

    /// Tries a token or the code of a link. A right one always passes; wrong ones are counted by source.
    pub(super) fn enter(&self, token: &str, source: IpAddr, is_secure: bool) -> Outcome {
        let now = Instant::now();
        let (is_right, from) = (
            self.has(token) || self.opens_link(token, now),
            (source, is_secure),
        );
        let Some(key) = &self.key else {
            return self.sign_in.enter(is_right, (), from, now);
        };
        self.sign_in.enter_with(is_right, from, now, || {
            let end = since_1970() + SIGNED_IN_FOR;
            (key.give(&realm(b"cookie"), end.as_secs()), SIGNED_IN_FOR)
        })
    }
}

/// Purpose of a signed value; that of a site is never one of these.
fn realm(of: &[u8]) -> [u8; 32] {
    sha256(&[b"postern operator's ", of])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_the_relays_own_and_not_the_token() {
        let operator = Operator::new(8180, None);
        let source = std::net::Ipv4Addr::LOCALHOST.into();
        assert_eq!(operator.enter("wrong", source, true), Outcome::WrongCode);
        let Outcome::SignedIn(cookie) = operator.enter(operator.token(), source, true) else {
            panic!("the token was refused");
        };
        assert!(cookie.starts_with("__Host-postern-relay-8180=") && cookie.ends_with("; Secure"));
        assert!(cookie.contains("; Max-Age=43200") && !cookie.contains(operator.token().as_str()));
    }

    #[test]
    fn a_link_is_good_for_a_while_and_the_newest_stay() {
        let (operator, now) = (Operator::new(8180, None), Instant::now());
        let first = operator.link(now);
        let source = std::net::Ipv4Addr::LOCALHOST.into();
        let entered = operator.enter(&first, source, false);
        assert!(matches!(entered, Outcome::SignedIn(_)));
        assert!(!operator.has(&first), "no other call takes it");
        let again = operator.enter(&first, source, false);
        assert_eq!(again, Outcome::WrongCode, "it is opened once");
        assert!(!operator.opens_link(&operator.link(now), now + LINK_LIFE));
        let first = operator.link(now);
        let later: Vec<_> = (0..LINKS).map(|_| operator.link(now)).collect();
        assert!(later.iter().all(|code| operator.opens_link(code, now)));
        assert!(!operator.opens_link(&first, now));
    }

    #[test]
    fn in_a_fleet_links_and_cookies_are_good_at_each_relay_and_a_sites_are_not() {
        let key = CookieKey::derived(&[5; 32]);
        let relay = || Operator::new(8180, Some(key.clone()));
        let (here, there, now) = (relay(), relay(), Instant::now());
        let source = std::net::Ipv4Addr::LOCALHOST.into();
        let code = here.link(now);
        assert!(there.opens_link(&code, now) && !there.opens_link(&code, now));
        let Outcome::SignedIn(cookie) = here.enter(&code, source, false) else {
            panic!("the link was refused");
        };
        let (pair, _) = cookie.split_once(';').unwrap();
        let value = pair.split_once('=').unwrap().1;
        let is_operators =
            |value: &str| key.knows(value.as_bytes(), &realm(b"cookie"), since_1970());
        assert!(is_operators(value) && !is_operators(&code));
        assert!(!there.opens_link(value, now), "a cookie is no link");
        let of_site = key.give(&[7; 32], since_1970().as_secs() + 60);
        assert!(!is_operators(&of_site) && !there.opens_link(&of_site, now));
        assert!(!Operator::new(8180, None).opens_link(&here.link(now), now));
        assert!(!there.has(here.token()), "tokens are a relay's own");
    }
}
