//! The sites as the gateway looks them up: from memory, once a request.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::book::Application;
use super::gateway::{Code, Figures, Site, Sites, through};
use crate::tunnel::server::Opener;

/// The sites by their names.
#[derive(Debug, Default)]
pub(super) struct SiteTable(RwLock<HashMap<String, Arc<Site>>>);

impl SiteTable {
    /// Puts an application's site in, in the place of the one that it had; its figures go on.
    pub(super) fn put(&self, connector: &str, application: &Application, opener: &Opener) {
        let mut sites = self.write();
        let figures = taken_out(&mut sites, &application.app_id);
        let Some(site) = &application.site else {
            return;
        };
        let open = through(opener.clone(), connector, application.port);
        let mut made = Site::new(&*site.name, &*application.app_id, open);
        made.tls = site.tls;
        made.code = site.code.as_deref().map(code);
        if let Some(figures) = figures {
            made.figures = figures;
        }
        sites.insert(site.name.clone(), Arc::new(made));
    }

    /// Takes an application's site out.
    pub(super) fn remove(&self, application: &Application) {
        taken_out(&mut self.write(), &application.app_id);
    }

    /// What has passed through an application's site.
    pub(super) fn figures(&self, application: &Application) -> Option<Arc<Figures>> {
        let name = &application.site.as_ref()?.name;
        let sites = self.read();
        Some(Arc::clone(&sites.get(name)?.figures))
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Arc<Site>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<Site>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sites for SiteTable {
    fn find(&self, site: &str) -> Option<Arc<Site>> {
        self.read().get(site).cloned()
    }
}

fn taken_out(sites: &mut HashMap<String, Arc<Site>>, app_id: &str) -> Option<Arc<Figures>> {
    let (name, figures) = sites
        .iter()
        .find(|(_, site)| site.app_id == app_id)
        .map(|(name, site)| (name.clone(), Arc::clone(&site.figures)))?;
    sites.remove(&name);
    Some(figures)
}

/// The code whose digest is kept. One that cannot be read admits nobody.
fn code(kept: &str) -> Code {
    let digest = STANDARD.decode(kept).ok();
    let digest = digest.and_then(|digest| <[u8; 32]>::try_from(digest).ok());
    Code::of_digest(digest.unwrap_or_default())
}
