//! State behind the relay's own names and its metrics.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use zeroize::Zeroizing;

use super::call_stats::CallStats;
use super::setup::Service;
use crate::gateway::RequestStats;
use crate::http::Request;
use crate::http::auth::{Code, CookieKey, Lifetime, Scope, SignIn, SignInOutcome, sha256};
use crate::net::{Cidr, is_within};
use crate::store::expiry::Clocks;
use crate::store::{DataDir, random};

/// State that the routes work with.
pub(super) struct AppState {
    pub(super) service: Arc<Service>,
    pub(super) operator: Operator,
    /// Whose `X-Forwarded-For` is believed.
    pub(super) trust_proxy: Vec<Cidr>,
    /// The data directory.
    pub(super) data: DataDir,
    /// Since when the relay runs.
    pub(super) started: SystemTime,
    /// Counters of the gateway.
    pub(super) requests: Arc<RequestStats>,
    /// Set when the relay is stopping.
    pub(super) drain: Drain,
    /// Quick-setup calls.
    pub(super) calls: CallStats,
}

impl AppState {
    /// True if a request comes by `https`; in doubt it does.
    pub(super) fn is_secure(&self, request: &Request) -> bool {
        let is_trusted = is_within(request.peer(), &self.trust_proxy);
        let told = request.header("x-forwarded-proto") == Some("https");
        self.service.urls.is_secure || (told && is_trusted)
    }
}

/// Time in which whoever sends visitors here finds that it goes: a balancer that looks each second, twice. Default 3 s.
const NOTICED: Duration = Duration::from_secs(3);
/// Pause between two looks whether something runs.
const LOOK: Duration = Duration::from_millis(50);

/// Time in which connectors find another relay of the fleet. Default 15 s: three of their pauses.
const ELSEWHERE: Duration = Duration::from_secs(15);
/// Pause between two questions to the other relays whether they have. Default 500 ms.
const ELSEWHERE_LOOK: Duration = Duration::from_millis(500);

/// Set when a relay is stopping.
#[derive(Debug, Default)]
pub(super) struct Drain(AtomicBool);

impl Drain {
    /// Sets it.
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// True if it is set.
    pub(super) fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Counts connectors that have no other relay yet, which are waited for a while.
#[derive(Default)]
pub(super) struct UnplacedConnectors {
    began: Option<Instant>,
    last: Option<(Instant, usize)>,
}

impl UnplacedConnectors {
    /// Number of them, as `ask` found it lately; none when their time is over.
    pub(super) fn count(&mut self, ask: impl Fn() -> usize) -> usize {
        let began = *self.began.get_or_insert_with(Instant::now);
        if began.elapsed() >= ELSEWHERE {
            return 0;
        }
        match self.last {
            Some((at, count)) if at.elapsed() < ELSEWHERE_LOOK => count,
            _ => {
                let count = ask();
                self.last = Some((Instant::now(), count));
                count
            }
        }
    }
}

/// Waits until nothing runs, for `bound` at most, and for as long as others need to notice; how much runs then.
pub(super) fn wait(bound: Duration, mut running: impl FnMut() -> usize) -> usize {
    let began = Instant::now();
    loop {
        let (left, took) = (running(), began.elapsed());
        if took >= bound || (left == 0 && took >= NOTICED) {
            return left;
        }
        std::thread::sleep(LOOK.min(bound - took));
    }
}

// The operator's sign-in: the token that is printed at the start, or the code of a link that was made since, is exchanged
// for a cookie. In a fleet a balancer may lead to any relay: links and cookies are valid at all of them.

/// Time that a link signs in: it is opened at once, and what stays in a terminal is worth nothing.
const LINK_LIFE: Duration = crate::limits::LINK_LIFE;

/// Knows the operator of this relay.
pub(super) struct Operator {
    token: Zeroizing<String>,
    sign_in: SignIn,
}

impl Operator {
    /// With a new token. Cookies are shared by all ports of a host, so `port` is in the cookie's name.
    pub(super) fn new(port: u16, key: CookieKey) -> Self {
        let cookie = format!("postern-relay-{port}");
        Self {
            token: Zeroizing::new(random::token()),
            sign_in: SignIn::new(&cookie, Lifetime::FromSignIn, key),
        }
    }

    /// A new code for a link, good once and for [`LINK_LIFE`] from `now`; a secret. In a fleet it is good once at each
    /// relay.
    pub(super) fn link(&self, now: Clocks) -> Zeroizing<String> {
        Zeroizing::new(self.sign_in.give(&link(), now))
    }

    /// True if it is the code of a link that nobody has opened; now it is opened.
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

/// Purpose of a signed value; that of a site is never one of these.
fn realm(of: &[u8]) -> Scope {
    Scope::new(sha256(&[b"postern operator's ", of]), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::auth::of_form_1;
    use crate::store::time::unix_seconds;

    #[test]
    fn it_waits_for_what_runs_and_no_longer_than_it_may() {
        let bound = Duration::from_millis(120);
        for running in [0, 2] {
            let began = Instant::now();
            assert_eq!(wait(bound, || running), running);
            assert!(began.elapsed() >= bound, "others are to notice");
        }
        assert_eq!(wait(Duration::ZERO, || 1), 1);
    }

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
