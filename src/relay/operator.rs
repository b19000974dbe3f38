//! The operator's sign-in: the token that is printed at the start, or the code of a link that was made since, is exchanged
//! for a cookie.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use crate::http::Request;
use crate::http::auth::{Code, Lifetime, Outcome, SignIn};
use crate::store::random;
use crate::sync::Mutex;

/// How long a link signs in: it is opened at once, and what stays in a terminal is worth nothing.
const LINK_LIFE: Duration = Duration::from_secs(600);
/// Links at once; the oldest goes. Default 16: one is used at a time.
const LINKS: usize = 16;

/// Knows the operator of this relay.
pub(super) struct Operator {
    token: Zeroizing<String>,
    sign_in: SignIn,
    /// The codes of links, and until when each is good.
    links: Mutex<VecDeque<(Code, Instant)>>,
}

impl Operator {
    /// With a new token. Cookies are shared by all ports of a host, so `port` is in the cookie's name.
    pub(super) fn new(port: u16) -> Self {
        Self {
            token: Zeroizing::new(random::token()),
            sign_in: SignIn::new(&format!("postern-relay-{port}"), Lifetime::FromSignIn),
            links: Mutex::default(),
        }
    }

    /// A new code for a link, good once and for [`LINK_LIFE`] from `now`; a secret.
    pub(super) fn link(&self, now: Instant) -> Zeroizing<String> {
        let code = Zeroizing::new(random::token());
        let mut links = self.links.lock();
        links.truncate(LINKS - 1);
        links.push_front((Code::new(&code), now + LINK_LIFE));
        code
    }

    /// Whether it is the code of a link that nobody has opened; now it is opened.
    fn opens_link(&self, code: &str, now: Instant) -> bool {
        let mut links = self.links.lock();
        let is_it = |(link, end): &(Code, Instant)| now < *end && link.is(code);
        let found = links.iter().position(is_it);
        found.and_then(|at| links.remove(at)).is_some()
    }

    /// The token; a secret.
    pub(super) fn token(&self) -> &Zeroizing<String> {
        &self.token
    }

    /// Whether this is the token.
    pub(super) fn has(&self, token: &str) -> bool {
        Code::new(&self.token).is(token)
    }

    /// Whether a request is the operator's: by its cookie, or by `Authorization: Bearer TOKEN`.
    pub(super) fn sent(&self, request: &Request, is_secure: bool) -> bool {
        let bearer = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        let now = Instant::now();
        let mut cookies = request.cookies(self.sign_in.cookie(is_secure));
        cookies.any(|value| self.sign_in.knows(value.as_bytes(), (), now))
            || bearer.is_some_and(|value| self.has(value))
    }

    /// Tries a token or the code of a link. A right one always passes; wrong ones are counted by source.
    pub(super) fn enter(&self, token: &str, source: IpAddr, is_secure: bool) -> Outcome {
        let now = Instant::now();
        let is_right = self.has(token) || self.opens_link(token, now);
        self.sign_in.enter(is_right, (), (source, is_secure), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_the_relays_own_and_not_the_token() {
        let operator = Operator::new(8180);
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
        let (operator, now) = (Operator::new(8180), Instant::now());
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
}
