//! The operator's door: the token that is printed at the start, and the cookie that it is exchanged for.

use std::net::IpAddr;
use std::time::Duration;

use zeroize::Zeroizing;

use super::rate_limiter::RateLimiter;
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
    /// Its name by `http`, and by `https`: there its prefix keeps every other server of this host
    /// name, whatever its port, from setting it (RFC 6265bis section 4.1.3.2).
    cookies: [String; 2],
    wrong: RateLimiter,
}

impl Operator {
    /// With a new token. Cookies are shared by all ports of a host, so `port` is in its name.
    pub(super) fn new(port: u16) -> Result<Self, NoRandom> {
        Ok(Self {
            token: token()?,
            session: token()?,
            cookies: ["", "__Host-"].map(|prefix| format!("{prefix}postern-relay-{port}")),
            wrong: RateLimiter::new(WRONG_TOKENS),
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

    /// Whether a request is the operator's: by its cookie, or by `Authorization: Bearer TOKEN`. By
    /// `https` a cookie of the plain name is not looked at.
    pub(super) fn sent(&self, request: &Request, is_secure: bool) -> bool {
        let bearer = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        let by_cookie = request
            .cookies(self.cookie(is_secure))
            .any(|value| same(value, &self.session));
        by_cookie || bearer.is_some_and(|value| same(value, &self.token))
    }

    fn cookie(&self, is_secure: bool) -> &str {
        let [plain, prefixed] = &self.cookies;
        if is_secure { prefixed } else { plain }
    }

    /// Exchanges the token for the value of `Set-Cookie`; else the time to wait where there were too
    /// many wrong ones.
    pub(super) fn enter(
        &self,
        token: &str,
        source: IpAddr,
        is_secure: bool,
    ) -> Result<String, Option<Duration>> {
        if !same(token, &self.token) {
            return Err(self.wrong.count(source).err());
        }
        Ok(format!(
            "{}={}; HttpOnly; SameSite=Lax; Path=/; Max-Age={SIGNED_IN_FOR}{}",
            self.cookie(is_secure),
            *self.session,
            if is_secure { "; Secure" } else { "" }
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_right_token_always_passes_and_wrong_ones_are_limited() {
        let operator = Operator::new(8180).unwrap();
        let source = Ipv4Addr::LOCALHOST.into();
        for _ in 0..WRONG_TOKENS {
            assert_eq!(operator.enter("wrong", source, true), Err(None));
        }
        assert!(matches!(
            operator.enter("wrong", source, true),
            Err(Some(_))
        ));
        let cookie = operator.enter(operator.token(), source, true).unwrap();
        assert!(cookie.starts_with("__Host-postern-relay-8180=") && cookie.ends_with("; Secure"));
        assert!(!cookie.contains(operator.token().as_str()));
    }
}
