//! The sign-in of invisible sites: a code is exchanged for a cookie, which is good for one site.

use std::net::IpAddr;
use std::time::Duration;

use super::cookies;
use super::site::Site;
use crate::http::auth::{Code, CookieKey, Lifetime, Scope, SignIn, SignInOutcome, sha256};
use crate::http::h1::head::{Head, form_fields};
use crate::store::expiry::Clocks;

/// Path that takes the code of an invisible site; applications have no use for it.
pub(super) const AUTH: &str = "/.postern/auth";
/// Former path of the sign-in, which old links still name. Without the site's `app_id` it is the application's own.
const OLD_AUTH: &str = "/auth";

/// Sign-ins by site, and attempts by source.
pub(crate) struct SiteAuth(SignIn);

impl SiteAuth {
    pub(crate) fn new(key: CookieKey) -> SiteAuth {
        let [plain, _] = cookies::OURS;
        SiteAuth(SignIn::new(plain, Lifetime::FromSignIn, key))
    }

    /// The name of the cookie.
    pub(super) fn cookie(&self, is_secure: bool) -> &str {
        self.0.cookie(is_secure)
    }

    /// True if this cookie opens this site.
    pub(super) fn knows(&self, cookie: &[u8], site: &Site) -> bool {
        let opens = |code| self.0.visitor(cookie, &scope(site, code), Clocks::now());
        site.code.as_ref().is_none_or(|code| opens(code).is_some())
    }

    /// Tries a code. A right one always passes; wrong ones are counted by source. `is_secure` when
    /// the visitor comes by `https`.
    pub(super) fn enter(
        &self,
        site: &Site,
        app_id: Option<&str>,
        code: &str,
        source: IpAddr,
        is_secure: bool,
    ) -> SignInOutcome {
        let now = Clocks::now();
        let names_site = app_id.is_none_or(|app_id| app_id == site.app_id);
        let right = site.code.as_ref();
        let right = right.filter(|right| right.is(code) && names_site);
        // In a fleet another relay may not know that the site had ended, and began again.
        let expiry = site.expiry.filter(|_| self.0.is_shared());
        let left = expiry.map_or(Duration::MAX, |expiry| expiry.left(now));
        let opened = right.map(|code| scope(site, code).within(left));
        self.0.enter(opened, source, is_secure, now)
    }
}

/// True if a request is for the site's sign-in.
pub(super) fn is_sign_in(head: &Head, site: &Site) -> bool {
    let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
    let names_site = |query: &str| {
        let fields = form_fields(query).unwrap_or_default();
        let mut ids = fields.iter().filter(|(key, _)| key == "app_id");
        ids.any(|(_, id)| *id == site.app_id)
    };
    match path {
        AUTH => true,
        OLD_AUTH => names_site(query),
        _ => false,
    }
}

/// Scope of a site's cookies, from what is stored alone where several relays must know it. A new list of networks signs
/// out those that it excludes.
fn scope(site: &Site, code: &Code) -> Scope {
    let length = |bytes: usize| u64::try_from(bytes).expect("a length has at most 64 bits");
    let allow: Vec<String> = site.allow.iter().map(ToString::to_string).collect();
    let realm = sha256(&[
        &length(site.app_id.len()).to_be_bytes(),
        site.app_id.as_bytes(),
        &length(site.name.len()).to_be_bytes(),
        site.name.as_bytes(),
        &site.generation.to_be_bytes(),
        code.digest(),
        allow.join(",").as_bytes(),
    ]);
    Scope::new(realm, site.epoch)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gateway::Unreachable;
    use crate::http::auth::of_form_1;
    use crate::store::expiry::Expiry;
    use crate::store::time::unix_seconds;

    const SOURCE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn site(name: &str, code: &str) -> Site {
        let mut site = Site::new(
            name,
            format!("app-{name}"),
            Arc::new(|_| Err(Unreachable::Tunnel)),
        );
        site.code = Some(Code::new(code));
        site
    }

    fn value(outcome: SignInOutcome) -> Vec<u8> {
        let SignInOutcome::SignedIn(cookie) = outcome else {
            panic!("the right code was refused: {outcome:?}");
        };
        let (pair, _) = cookie.split_once(';').unwrap();
        pair.split_once('=').unwrap().1.as_bytes().to_vec()
    }

    #[test]
    fn a_cookie_opens_its_site_alone_and_only_with_the_present_code() {
        let auth = SiteAuth::new(CookieKey::random());
        let one = site("one", "c1");
        let cookie = value(auth.enter(&one, Some("app-one"), "c1", SOURCE, false));
        assert!(auth.knows(&cookie, &one));
        assert!(!auth.knows(b"", &one) && !auth.knows(b"x", &one));
        for (at, other) in others(&one).iter().enumerate() {
            assert!(!auth.knows(&cookie, other), "{at}");
        }
        assert_eq!(
            auth.enter(&one, Some("app-other"), "c1", SOURCE, false),
            SignInOutcome::WrongCode
        );
        value(auth.enter(&one, None, "c1", SOURCE, false));
        let restarted = SiteAuth::new(CookieKey::random());
        assert!(!restarted.knows(&cookie, &one));
    }

    /// Sites that its cookies must not open.
    fn others(one: &Site) -> [Site; 6] {
        let mut others = [(); 6].map(|()| site("one", "c1"));
        others[0].code = Some(Code::new("c2"));
        others[1].app_id = "app-other".to_owned();
        others[2] = site("other", "c1");
        others[2].app_id.clone_from(&one.app_id);
        others[3].generation = 1;
        others[4].epoch = 1;
        others[5].allow = vec!["192.0.2.0/24".parse().unwrap()];
        others
    }

    #[test]
    fn a_cookie_opens_its_site_at_every_relay_that_has_the_key() {
        let key = CookieKey::derived(&[3; 32]);
        let (here, there) = (SiteAuth::new(key.clone()), SiteAuth::new(key.clone()));
        let one = site("one", "c1");
        let cookie = value(here.enter(&one, None, "c1", SOURCE, false));
        // A cookie from a relay of an earlier version.
        let scope = scope(&one, one.code.as_ref().unwrap());
        let earlier = of_form_1(&key, &scope, "someone", unix_seconds() + 60);
        for cookie in [&cookie[..], earlier.as_bytes()] {
            assert!(there.knows(cookie, &one));
            for (at, other) in others(&one).iter().enumerate() {
                // The earlier version has the generation in the realm alone.
                let is_known = cookie == earlier.as_bytes() && at == 4;
                assert_eq!(there.knows(cookie, other), is_known, "{at}");
            }
        }
        assert_eq!(
            here.enter(&one, None, "c2", SOURCE, false),
            SignInOutcome::WrongCode
        );
        // Visitors who are not asked for a code need no cookie.
        let open = Site::new("open", "app-open", Arc::new(|_| Err(Unreachable::Tunnel)));
        assert!(there.knows(b"", &open));
        assert_eq!(
            here.enter(&open, None, "", SOURCE, false),
            SignInOutcome::WrongCode
        );
    }

    #[test]
    fn nobody_is_signed_in_at_a_fleet_for_longer_than_the_site_is_there() {
        let (key, mut site) = (CookieKey::derived(&[3; 32]), site("one", "c1"));
        let now = Clocks::now();
        for (key, minutes, last) in [
            (&key, 1, 1),
            (&key, 13 * 60, 12 * 60),
            (&CookieKey::random(), 1, 12 * 60),
        ] {
            let auth = SiteAuth::new(key.clone());
            let time = |minutes: u64| Duration::from_secs(minutes * 60);
            site.expiry = Some(Expiry::after(time(minutes), now));
            let cookie = value(auth.enter(&site, None, "c1", SOURCE, false));
            let scope = scope(&site, site.code.as_ref().unwrap());
            let knows = |passed: Duration| {
                let at = Clocks {
                    wall: now.wall + passed,
                    monotonic: now.monotonic + passed,
                };
                auth.0.visitor(&cookie, &scope, at).is_some()
            };
            assert!(knows(time(last) - Duration::from_secs(10)), "{minutes}");
            assert!(!knows(time(last) + Duration::from_secs(10)), "{minutes}");
        }
    }

    #[test]
    fn the_cookie_is_one_that_applications_never_see() {
        let auth = SiteAuth::new(CookieKey::random());
        let names = [false, true].map(|is_secure| auth.cookie(is_secure));
        assert_eq!(names, cookies::OURS);
    }

    #[test]
    fn nothing_shows_a_code() {
        assert!(!format!("{:?}", site("one", "secret")).contains("secret"));
    }
}
