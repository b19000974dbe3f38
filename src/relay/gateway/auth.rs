//! The sign-in of invisible sites: a code is exchanged for a cookie, which is good for one site.

use std::net::IpAddr;
use std::time::Instant;

use super::cookies;
use super::site::Site;
use crate::http::auth::{Lifetime, Outcome, Realm, SignIn, sha256};
use crate::http::h1::head::Head;
use crate::http::h1::target::form_fields;

/// Where the code of an invisible site is sent: a path that applications have no use for.
pub(super) const AUTH: &str = "/.postern/auth";
/// Where it was once: such links are still about. Without the site's `app_id` it is the application's.
const OLD_AUTH: &str = "/auth";

/// Who is signed in where, and who tried too often.
pub(super) struct SiteAuth(SignIn<SiteRealm>);

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
    pub(super) fn new() -> SiteAuth {
        let [plain, _] = cookies::OURS;
        SiteAuth(SignIn::new(plain, Lifetime::FromSignIn))
    }

    /// The name of the cookie.
    pub(super) fn cookie(&self, is_secure: bool) -> &str {
        self.0.cookie(is_secure)
    }

    /// Whether this cookie opens this site.
    pub(super) fn knows(&self, cookie: &[u8], site: &Site) -> bool {
        realm_of(site).is_none_or(|realm| self.0.knows(cookie, realm, Instant::now()))
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
        // A site without a code is in no realm, and no code is right there.
        let realm = realm_of(site).unwrap_or_default();
        self.0
            .enter(is_right, realm, (source, is_secure), Instant::now())
    }
}

/// Whether a request is for the site's sign-in.
pub(crate) fn is_sign_in(head: &Head, site: &Site) -> bool {
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

/// What a cookie is bound to: a site that gets another code is another one, and so is one that everybody was signed
/// out of.
fn realm_of(site: &Site) -> Option<SiteRealm> {
    let code = site.code.as_ref()?;
    let length = u64::try_from(site.app_id.len()).expect("a length has at most 64 bits");
    let digest = sha256(&[
        &length.to_be_bytes(),
        site.app_id.as_bytes(),
        site.name.as_bytes(),
        &site.epoch.to_be_bytes(),
        code.digest(),
    ]);
    let owner = site.owner;
    Some(SiteRealm { digest, owner })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::auth::Code;
    use crate::relay::gateway::Down;

    const FROM: (IpAddr, bool) = (IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), false);

    fn site(name: &str, code: &str) -> Site {
        let mut site = Site::new(name, format!("app-{name}"), Box::new(|| Err(Down::Tunnel)));
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
        let auth = SiteAuth::new();
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

    #[test]
    fn the_cookie_is_one_that_applications_never_see() {
        let auth = SiteAuth::new();
        let names = [false, true].map(|is_secure| auth.cookie(is_secure));
        assert_eq!(names, cookies::OURS);
    }

    #[test]
    fn nothing_shows_a_code() {
        assert!(!format!("{:?}", site("one", "secret")).contains("secret"));
    }
}
