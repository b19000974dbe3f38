//! The operator's door: the token that is printed at the start, and the cookie that it is exchanged for.

use std::net::IpAddr;
use std::time::Duration;

use zeroize::Zeroizing;

use super::rate::Rate;
use super::secret::{NoRandom, same, token};
use crate::http::Request;

/// Wrong tokens a minute a source; a right one always passes.
const WRONG_TOKENS: usize = 5;
/// Time that a browser keeps the cookie, in seconds. Default 12 h: a working day.
const SIGNED_IN_FOR: u32 = 12 * 3600;

/// Knows the operator of this relay.
pub(super) struct Operator {
    token: Zeroizing<String>,
    /// What the token is exchanged for; both end with the process.
    session: Zeroizing<String>,
    cookie: String,
    attributes: &'static str,
    wrong: Rate,
}

impl Operator {
    /// With a new token. Cookies are shared by all ports of a host, so `port` is in its name.
    pub(super) fn new(port: u16, is_secure: bool) -> Result<Self, NoRandom> {
        Ok(Self {
            token: token()?,
            session: token()?,
            cookie: format!("postern-relay-{port}"),
            attributes: match is_secure {
                true => "; Secure",
                false => "",
            },
            wrong: Rate::new(WRONG_TOKENS),
        })
    }

    /// The token; a secret.
    pub(super) fn token(&self) -> &Zeroizing<String> {
        &self.token
    }

    /// Whether this is the token.
    pub(super) fn has(&self, token: &str) -> bool {
        same(token, &self.token)
    }

    /// Whether a request is the operator's: by its cookie, or by `Authorization: Bearer TOKEN`.
    pub(super) fn sent(&self, request: &Request) -> bool {
        let bearer = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        let by_cookie = request
            .cookies(&self.cookie)
            .any(|value| same(value, &self.session));
        by_cookie || bearer.is_some_and(|value| same(value, &self.token))
    }

    /// Exchanges the token for the value of `Set-Cookie`; else the time to wait where there were too
    /// many wrong ones.
    pub(super) fn enter(&self, token: &str, source: IpAddr) -> Result<String, Option<Duration>> {
        if !same(token, &self.token) {
            return Err(self.wrong.count(source).err());
        }
        Ok(format!(
            "{}={}; HttpOnly; SameSite=Lax; Path=/; Max-Age={SIGNED_IN_FOR}{}",
            self.cookie, *self.session, self.attributes
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_right_token_always_passes_and_wrong_ones_are_limited() {
        let operator = Operator::new(8180, true).unwrap();
        let source = Ipv4Addr::LOCALHOST.into();
        for _ in 0..WRONG_TOKENS {
            assert_eq!(operator.enter("wrong", source), Err(None));
        }
        assert!(matches!(operator.enter("wrong", source), Err(Some(_))));
        let cookie = operator.enter(operator.token(), source).unwrap();
        assert!(cookie.starts_with("postern-relay-8180=") && cookie.ends_with("; Secure"));
        assert!(!cookie.contains(operator.token().as_str()));
    }
}
