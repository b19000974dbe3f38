//! Entry of a relay into a fleet: the state in the store, the links to the other relays, and the watch for their
//! changes.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use serde_json::json;
use zeroize::Zeroizing;

use super::fleet::{
    self, LinkSettings, Links, Looks, Member, OpenedStore, StoreWatch, WatchError, WatchHooks,
    Watching,
};
use super::setup::{LOOK, Service};
use super::state_store::{Error, StateStore};
use super::urls::TunnelUrl;
use crate::gateway::{CookieKey, Unreachable};
use crate::net::authority::authority;
use crate::store::DataDir;
use crate::tunnel::ssh::ServerKey;

/// A relay that has joined a fleet, and serves nothing yet.
pub(super) struct JoinedRelay {
    looks: Looks,
    secret: Zeroizing<[u8; 32]>,
    watching: Watching,
}

impl JoinedRelay {
    /// Reads the state from the store.
    pub(super) fn join(
        home: &DataDir,
        options: &fleet::Options,
    ) -> Result<(StateStore, Self), Error> {
        let opened = OpenedStore::open(home, options)?;
        let looks = Looks::new(&opened);
        let store = StateStore::new(opened.state, Box::new(opened.rows));
        let (secret, watching) = (opened.secret, opened.watching);
        Ok((
            store,
            Self {
                looks,
                secret,
                watching,
            },
        ))
    }

    /// Returns the handle that asks for changes of other relays.
    pub(super) fn looks(&self) -> Looks {
        self.looks.clone()
    }

    /// Returns the key that signs sign-ins, so that each relay knows those of the others.
    pub(super) fn cookie_key(&self) -> CookieKey {
        CookieKey::derived(&self.secret)
    }

    /// Begins to follow changes of other relays, and to lead visitors to their tunnels. The tunnel server already runs.
    pub(super) fn begin(
        self,
        service: &Arc<Service>,
        listener: TcpListener,
        keys: Arc<[ServerKey]>,
    ) -> Result<StoreWatch, WatchError> {
        let links = self
            .link(service, listener, keys)
            .map_err(WatchError::Thread)?;
        let links = service.links.get_or_init(|| Arc::new(links));
        let of_sites = Arc::downgrade(links);
        service.sites.set_peers(Box::new(move |connector, port| {
            let links = of_sites.upgrade().ok_or(Unreachable::Tunnel)?;
            links.open(connector, port)
        }));
        self.watch(service, links)
    }

    fn link(
        &self,
        service: &Arc<Service>,
        listener: TcpListener,
        keys: Arc<[ServerKey]>,
    ) -> io::Result<Links> {
        let urls = &service.urls;
        let peer = listener.local_addr()?;
        // A relay that listens on every address is reached at the one of connectors.
        let host = match peer.ip() {
            ip if ip.is_unspecified() => urls.external_ip.clone(),
            ip => ip.to_string(),
        };
        let own = Member {
            external_ip: urls.external_ip.clone(),
            tunnel_port: urls.tunnel.port(),
            tunnel_url: urls.tunnel_url.as_ref().map(TunnelUrl::to_string),
            fingerprint: urls.fingerprint.clone(),
            peer: authority(&host, peer.port()),
            is_leaving: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            url: urls.url(),
            ports_at: urls.ports_host(),
        };
        let looks = self.looks.clone();
        let of_revoked = Arc::downgrade(service);
        let revoked = Arc::new(move |name: &str| {
            if let Some(service) = of_revoked.upgrade() {
                service.apply_revocation(name);
            }
        });
        Links::start(LinkSettings {
            id: self.watching.id.clone(),
            own,
            secret: self.secret.clone(),
            listener,
            keys,
            opener: service.opener.get().expect("tunnels are taken").clone(),
            look: Box::new(move || {
                looks.look_now(LOOK);
            }),
            revoked,
        })
    }

    fn watch(self, service: &Arc<Service>, links: &Arc<Links>) -> Result<StoreWatch, WatchError> {
        let (of_number, of_refresh) = (Arc::downgrade(service), Arc::downgrade(service));
        let (of_body, of_seen) = (Arc::downgrade(links), Arc::downgrade(links));
        let watched = WatchHooks {
            number: Box::new(move || {
                let service = of_number.upgrade();
                service.map_or(0, |service| service.store.number())
            }),
            refresh: Box::new(move || {
                let service = of_refresh.upgrade();
                service.map_or(Ok(()), |service| service.store.refresh())
            }),
            body: Box::new(move || {
                let links = of_body.upgrade();
                let own = links.map(|links| json!(links.own()).to_string());
                own.unwrap_or_default()
            }),
            seen: Box::new(move |rows| {
                if let Some(links) = of_seen.upgrade() {
                    links.see(rows);
                }
            }),
        };
        StoreWatch::start(&self.looks, self.watching, watched)
    }
}
