//! The sign-in of invisible sites: a code is exchanged for a cookie, which is good for one site.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::cookies;
use super::signed_cookies::{CookieKey, since_1970};
use super::site::Site;
use crate::http::auth::{Code, Lifetime, Outcome, Realm, SIGNED_IN_FOR, SignIn, sha256};
use crate::http::h1::head::Head;
use crate::http::h1::target::form_fields;
use crate::store::expiry::Clocks;

/// Where the code of an invisible site is sent: a path that applications have no use for.
pub(super) const AUTH: &str = "/.postern/auth";
/// Where it was once: such links are still about. Without the site's `app_id` it is the application's.
const OLD_AUTH: &str = "/auth";

/// Sign-ins by site, and attempts by source.
pub(super) struct SiteAuth {
    sign_in: SignIn<SiteRealm>,
    /// Where other relays are to know who is signed in here.
    key: Option<CookieKey>,
}

/// One site, as long as nobody is signed out of it; whoever shares it has the places of one, however many are his.
#[derive(Clone, Copy, Default)]
struct SiteRealm {
    digest: [u8; 32],
    owner: u64,
}

impl PartialEq for SiteRealm {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Realm for SiteRealm {
    fn owner(&self) -> u64 {
        self.owner
    }
}

impl SiteAuth {
    pub(super) fn new(key: Option<CookieKey>) -> SiteAuth {
        let [plain, _] = cookies::OURS;
        SiteAuth {
            sign_in: SignIn::new(plain, Lifetime::FromSignIn),
            key,
        }
    }

    /// The name of the cookie.
    pub(super) fn cookie(&self, is_secure: bool) -> &str {
        self.sign_in.cookie(is_secure)
    }

    /// True if this cookie opens this site.
    pub(super) fn knows(&self, cookie: &[u8], site: &Site) -> bool {
        let Some(code) = &site.code else {
            return true;
        };
        match &self.key {
            Some(key) => key.knows(cookie, &shared_realm(site, code), since_1970()),
            None => (self.sign_in).knows(cookie, realm_of(site, code), Instant::now()),
        }
    }

    /// Tries a code. A right one always passes; wrong ones are counted by source. `is_secure` when
    /// the visitor comes by `https`.
    pub(super) fn enter(
        &self,
        site: &Site,
        app_id: Option<&str>,
        code: &str,
        (source, is_secure): (IpAddr, bool),
    ) -> Outcome {
        let names_site = app_id.is_none_or(|app_id| app_id == site.app_id);
        let is_right = site.code.as_ref().is_some_and(|right| right.is(code)) && names_site;
        let (from, now) = ((source, is_secure), Instant::now());
        // A site without a code is in no realm, and no code is right there.
        let realm = site.code.as_ref().map(|code| realm_of(site, code));
        let Some((key, code)) = self.key.as_ref().zip(site.code.as_ref()) else {
            return (self.sign_in).enter(is_right, realm.unwrap_or_default(), from, now);
        };
        self.sign_in.enter_with(is_right, from, now, || {
            let time = signed_in_for(site);
            let end = (since_1970() + time).as_secs();
            (key.give(&shared_realm(site, code), end), time)
        })
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

/// Realm of a cookie: a site that gets another code is another one, and so is one that everybody was signed
/// out of.
fn realm_of(site: &Site, code: &Code) -> SiteRealm {
    let length = u64::try_from(site.app_id.len()).expect("a length has at most 64 bits");
    let digest = sha256(&[
        &length.to_be_bytes(),
        site.app_id.as_bytes(),
        site.name.as_bytes(),
        &site.epoch.to_be_bytes(),
        code.digest(),
    ]);
    let owner = site.owner;
    SiteRealm { digest, owner }
}

/// Realm as every relay knows it, from what is stored alone. A new list of networks signs out those that it excludes.
fn shared_realm(site: &Site, code: &Code) -> [u8; 32] {
    let length = |bytes: usize| u64::try_from(bytes).expect("a length has at most 64 bits");
    let allow: Vec<String> = site.allow.iter().map(ToString::to_string).collect();
    sha256(&[
        &length(site.app_id.len()).to_be_bytes(),
        site.app_id.as_bytes(),
        &length(site.name.len()).to_be_bytes(),
        site.name.as_bytes(),
        &site.generation.to_be_bytes(),
        code.digest(),
        allow.join(",").as_bytes(),
    ])
}

/// Nobody is signed in for longer than the site is there: one that is shared anew asks anew.
fn signed_in_for(site: &Site) -> Duration {
    let left = site.expiry.map(|expiry| expiry.left(Clocks::now()));
    left.map_or(SIGNED_IN_FOR, |left| left.min(SIGNED_IN_FOR))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gateway::Down;
    use crate::store::expiry::Expiry;

    const FROM: (IpAddr, bool) = (IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), false);

    fn site(name: &str, code: &str) -> Site {
        let mut site = Site::new(name, format!("app-{name}"), Arc::new(|_| Err(Down::Tunnel)));
        site.code = Some(Code::new(code));
        site
    }

    fn value(outcome: Outcome) -> Vec<u8> {
        let Outcome::SignedIn(cookie) = outcome else {
            panic!("the right code was refused: {outcome:?}");
        };
        let (pair, _) = cookie.split_once(';').unwrap();
        pair.split_once('=').unwrap().1.as_bytes().to_vec()
    }

    #[test]
    fn a_cookie_opens_its_site_alone_and_only_with_the_present_code() {
        let auth = SiteAuth::new(None);
        let (one, other) = (site("one", "c1"), site("other", "c1"));
        let cookie = value(auth.enter(&one, Some("app-one"), "c1", FROM));
        assert!(auth.knows(&cookie, &one));
        assert!(!auth.knows(&cookie, &other));
        assert!(!auth.knows(b"", &one) && !auth.knows(b"x", &one));
        assert!(!auth.knows(&cookie, &site("one", "c2")));
        let mut later = site("one", "c1");
        later.epoch = 1;
        assert!(!auth.knows(&cookie, &later));
        assert_eq!(
            auth.enter(&one, Some("app-other"), "c1", FROM),
            Outcome::WrongCode
        );
        value(auth.enter(&one, None, "c1", FROM));
    }

    /// Two relays with one key, of which one is started later and has ended no visits.
    #[test]
    fn a_signed_cookie_opens_its_site_at_every_relay_that_has_the_key() {
        let relay = || SiteAuth::new(Some(CookieKey::derived(&[3; 32])));
        let (here, there) = (relay(), relay());
        let one = site("one", "c1");
        let cookie = value(here.enter(&one, None, "c1", FROM));
        let mut later = site("one", "c1");
        later.epoch = 1;
        assert!(there.knows(&cookie, &one) && there.knows(&cookie, &later));
        let mut others = [
            site("one", "c2"),
            site("other", "c1"),
            site("one", "c1"),
            site("one", "c1"),
        ];
        others[1].app_id.clone_from(&one.app_id);
        others[2].generation = 1;
        others[3].allow = vec!["192.0.2.0/24".parse().unwrap()];
        for (at, other) in others.iter().enumerate() {
            assert!(!there.knows(&cookie, other), "{at}");
        }
        assert!(!there.knows(b"", &one));
        assert!(!SiteAuth::new(None).knows(&cookie, &one));
        assert_eq!(here.enter(&one, None, "c2", FROM), Outcome::WrongCode);
        // Visitors who are not asked for a code need no cookie.
        let open = Site::new("open", "app-open", Arc::new(|_| Err(Down::Tunnel)));
        assert!(there.knows(b"", &open));
    }

    #[test]
    fn nobody_is_signed_in_for_longer_than_the_site_is_there() {
        let key = CookieKey::derived(&[3; 32]);
        let auth = SiteAuth::new(Some(key.clone()));
        let mut site = site("one", "c1");
        for (minutes, last) in [(1, 1), (13 * 60, 12 * 60)] {
            let left = Duration::from_secs(minutes * 60);
            site.expiry = Some(Expiry::after(left, Clocks::now()));
            let cookie = value(auth.enter(&site, None, "c1", FROM));
            let realm = shared_realm(&site, site.code.as_ref().unwrap());
            let after = |minutes: u64| since_1970() + Duration::from_secs(minutes * 60);
            assert!(key.knows(&cookie, &realm, after(0)));
            assert!(!key.knows(&cookie, &realm, after(last)), "{minutes}");
        }
    }

    #[test]
    fn the_cookie_is_one_that_applications_never_see() {
        let auth = SiteAuth::new(None);
        let names = [false, true].map(|is_secure| auth.cookie(is_secure));
        assert_eq!(names, cookies::OURS);
    }

    #[test]
    fn nothing_shows_a_code() {
        assert!(!format!("{:?}", site("one", "secret")).contains("secret"));
    }
}
