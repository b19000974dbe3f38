//! An application's site as its own gateway knows it: open to everybody, or, where the server asks for no code, to those
//! who bring it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::gateway::{Code, CookieKey, Down, Open, Site, SiteAuth, Sites};
use crate::sync::Mutex;

/// The site of one application. What it is told holds from the next request on.
pub(crate) struct Door {
    site: Mutex<Arc<Site>>,
    /// Sign-ins and attempts of its visitors.
    pub(super) auth: Arc<SiteAuth>,
}

impl Default for Door {
    fn default() -> Door {
        let nowhere: Open = Arc::new(|_| Err(Down::Tunnel));
        Door {
            site: Mutex::new(Arc::new(Site::new("", "", nowhere))),
            auth: Arc::new(SiteAuth::new(CookieKey::random())),
        }
    }
}

impl Sites for Door {
    fn find(&self, _: &str) -> Option<Arc<Site>> {
        Some(Arc::clone(&self.site.lock()))
    }
}

impl Door {
    /// Asks for this code from now on, of the application that its server calls `app_id`; `name` is what visitors read.
    /// Whoever was signed in under another code or `generation` is so no more.
    pub(crate) fn ask_for(&self, (name, app_id): (&str, &str), (code, generation): (Code, u64)) {
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
    pub(crate) fn open(&self) {
        let mut site = self.site.lock();
        if site.code.is_some() {
            let mut next = Site::new("", "", Arc::clone(&site.open));
            next.epoch = site.epoch + 1;
            replace(&mut site, next);
        }
    }

    /// Leads to the application by this way from now on; whoever was signed in still is.
    pub(super) fn leads_to(&self, open: Open) {
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
