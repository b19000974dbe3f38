//! A relay that has joined a fleet: the state in the store, and what other relays change.

use std::io;
use std::sync::Arc;

use super::fleet::{self, Looks, Opened, Watch, Watched};
use super::follow::follow;
use super::setup::Service;
use super::state_store::{Error, StateStore};
use crate::store::DataDir;

/// A relay that has joined a fleet, and serves nothing yet.
pub(super) struct Joined {
    looks: Looks,
    watching: fleet::Watching,
}

impl Joined {
    /// Reads the state from the store.
    pub(super) fn join(
        home: &DataDir,
        options: &fleet::Options,
    ) -> Result<(StateStore, Self), Error> {
        let opened = Opened::open(home, options)?;
        let looks = Looks::new(&opened);
        let store = StateStore::new(opened.state, Box::new(opened.keep));
        let watching = opened.watching;
        Ok((store, Self { looks, watching }))
    }

    /// To ask what other relays have changed.
    pub(super) fn looks(&self) -> Looks {
        self.looks.clone()
    }

    /// From here on what other relays change comes here.
    pub(super) fn watch(self, service: &Arc<Service>) -> io::Result<Watch> {
        let of_follow = Arc::downgrade(service);
        service.store.follow_with(Box::new(move |before, after| {
            if let Some(service) = of_follow.upgrade() {
                follow(&service, before, after);
            }
        }));
        let (of_number, of_refresh) = (Arc::downgrade(service), Arc::downgrade(service));
        let watched = Watched {
            number: Box::new(move || {
                let service = of_number.upgrade();
                service.map_or(0, |service| service.store.snapshot().number)
            }),
            refresh: Box::new(move || {
                let service = of_refresh.upgrade();
                service.map_or(Ok(()), |service| service.store.refresh())
            }),
            body: Box::new(|| "{}".to_owned()),
            seen: Box::new(drop),
        };
        Watch::start(&self.looks, self.watching, watched)
    }
}
