//! Access to an application's site at its own gateway: open to everybody, or with a code if the server requires none.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::gateway::{Code, CookieKey, OpenStream, Site, SiteAuth, Sites, Unreachable};
use crate::sync::Mutex;

/// Access to the site of one application. Changes apply from the next request on.
pub(crate) struct SiteAccess {
    site: Mutex<Arc<Site>>,
    /// Sign-ins and attempts of its visitors.
    pub(super) auth: Arc<SiteAuth>,
}

impl Default for SiteAccess {
    fn default() -> SiteAccess {
        let nowhere: OpenStream = Arc::new(|_| Err(Unreachable::Tunnel));
        SiteAccess {
            site: Mutex::new(Arc::new(Site::new("", "", nowhere))),
            auth: Arc::new(SiteAuth::new(CookieKey::random())),
        }
    }
}

impl Sites for SiteAccess {
    fn find(&self, _: &str) -> Option<Arc<Site>> {
        Some(Arc::clone(&self.site.lock()))
    }
}

impl SiteAccess {
    /// Requires this code from now on. Its server calls the application `app_id`, visitors read `name`. Sign-ins with
    /// another code or `generation` end.
    pub(crate) fn require_code(&self, name: &str, app_id: &str, code: Code, generation: u64) {
        let mut site = self.site.lock();
        let digest = |code: &Code| *code.digest();
        let is_same = (&*site.name, &*site.app_id, site.generation) == (name, app_id, generation)
            && site.code.as_ref().map(digest) == Some(digest(&code));
        if !is_same {
            let mut next = Site::new(name, app_id, Arc::clone(&site.open));
            (next.code, next.generation) = (Some(code), generation);
            next.epoch = site.epoch + 1;
            replace(&mut site, next);
        }
    }

    /// Lets everybody in from now on.
    pub(crate) fn open_to_all(&self) {
        let mut site = self.site.lock();
        if site.code.is_some() {
            let mut next = Site::new("", "", Arc::clone(&site.open));
            next.epoch = site.epoch + 1;
            replace(&mut site, next);
        }
    }

    /// Sets the way to the application; sign-ins stay valid.
    pub(super) fn set_upstream(&self, open: OpenStream) {
        let mut site = self.site.lock();
        let mut next = Site::new(&*site.name, &*site.app_id, open);
        (next.generation, next.epoch) = (site.generation, site.epoch);
        next.code = (site.code.as_ref()).map(|code| Code::of_digest(*code.digest()));
        replace(&mut site, next);
    }
}

fn replace(site: &mut Arc<Site>, next: Site) {
    site.is_replaced.store(true, Ordering::SeqCst);
    *site = Arc::new(next);
}
