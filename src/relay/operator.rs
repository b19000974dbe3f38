//! The operator's sign-in: the token that is printed at the start is exchanged for a cookie.

use std::net::IpAddr;
use std::time::Instant;

use zeroize::Zeroizing;

use crate::http::Request;
use crate::http::auth::{Code, Lifetime, Outcome, SignIn};
use crate::store::random;

/// Knows the operator of this relay.
pub(super) struct Operator {
    token: Zeroizing<String>,
    sign_in: SignIn,
}

impl Operator {
    /// With a new token. Cookies are shared by all ports of a host, so `port` is in the cookie's name.
    pub(super) fn new(port: u16) -> Self {
        Self {
            token: Zeroizing::new(random::token()),
            sign_in: SignIn::new(&format!("postern-relay-{port}"), Lifetime::FromSignIn),
        }
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

    /// Tries a token. A right one always passes; wrong ones are counted by source.
    pub(super) fn enter(&self, token: &str, source: IpAddr, is_secure: bool) -> Outcome {
        self.sign_in
            .enter(self.has(token), (), (source, is_secure), Instant::now())
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
}
