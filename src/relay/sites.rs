//! The sites as the gateway looks them up: from memory, once a request; and the ports beside them.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::gateway::{Code, Site, Sites, Stats, through};
use super::state::Application;
use crate::sync::RwLock;
use crate::tunnel::server::{Opener, PortStats};

/// The sites by their names, and what passes through the ports of the other applications.
#[derive(Debug, Default)]
pub(super) struct SiteTable(RwLock<Table>);

#[derive(Debug, Default)]
struct Table {
    sites: HashMap<String, Arc<Site>>,
    /// The name of each application's site, by the application's id.
    names: HashMap<String, String>,
    /// Requests under way, by the connector's name; where there is none, nothing is kept.
    busy: HashMap<String, Weak<AtomicUsize>>,
    /// What passes through public ports, by the application's id.
    visits: HashMap<String, Arc<PortStats>>,
}

impl SiteTable {
    /// Puts an application in, in the place of the site that it had; its figures go on.
    pub(super) fn put(&self, connector: &str, application: &Application, opener: &Opener) {
        let mut table = self.0.write();
        let before = table.take_out(&application.app_id);
        let Some(site) = &application.site else {
            table.visits.entry(application.app_id.clone()).or_default();
            return;
        };
        table.visits.remove(&application.app_id);
        let open = through(opener.clone(), connector, application.port);
        let mut made = Site::new(&*site.name, &*application.app_id, open);
        made.tls = site.tls;
        made.code = site.code.as_deref().map(code);
        made.busy = table.busy(connector);
        if let Some(before) = before {
            made.figures = Arc::clone(&before.figures);
        }
        table.put_in(made);
    }

    /// Takes an application out.
    pub(super) fn remove(&self, application: &Application) {
        let mut table = self.0.write();
        table.take_out(&application.app_id);
        table.visits.remove(&application.app_id);
    }

    /// Where the visitors of an application's public port count.
    pub(super) fn visits(&self, application: &Application) -> Option<Arc<PortStats>> {
        self.0.read().visits.get(&application.app_id).cloned()
    }

    /// What has passed through an application's site.
    pub(super) fn figures(&self, application: &Application) -> Option<Arc<Stats>> {
        let name = &application.site.as_ref()?.name;
        let table = self.0.read();
        Some(Arc::clone(&table.sites.get(name)?.figures))
    }
}

impl Sites for SiteTable {
    fn find(&self, site: &str) -> Option<Arc<Site>> {
        self.0.read().sites.get(site).cloned()
    }
}

impl Table {
    fn put_in(&mut self, site: Site) {
        self.names.insert(site.app_id.clone(), site.name.clone());
        self.sites.insert(site.name.clone(), Arc::new(site));
    }

    fn busy(&mut self, connector: &str) -> Arc<AtomicUsize> {
        if let Some(busy) = self.busy.get(connector).and_then(Weak::upgrade) {
            return busy;
        }
        self.busy.retain(|_, busy| busy.strong_count() > 0);
        let busy = Arc::default();
        self.busy
            .insert(connector.to_owned(), Arc::downgrade(&busy));
        busy
    }

    fn take_out(&mut self, app_id: &str) -> Option<Arc<Site>> {
        let name = self.names.remove(app_id)?;
        let is_its_own = self.sites.get(&name)?.app_id == app_id;
        is_its_own.then(|| self.sites.remove(&name)).flatten()
    }
}

/// The code whose digest is kept. One that cannot be read admits nobody.
fn code(kept: &str) -> Code {
    let digest = STANDARD.decode(kept).ok();
    let digest = digest.and_then(|digest| <[u8; 32]>::try_from(digest).ok());
    Code::of_digest(digest.unwrap_or_default())
}
