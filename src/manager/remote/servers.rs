//! The remote servers that have an owner.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};

use super::environment::Environment;
use super::owner::ServerOwner;
use super::server::RemoteServer;
use crate::manager::connection::{ConnectError, Ended};
use crate::sync::{Mutex, Thread, spawn};

/// Remote servers that this process uses.
pub(crate) struct Servers {
    environment: Arc<Environment>,
    owners: Mutex<ServerOwners>,
}

struct ServerOwners {
    /// Mailboxes by origin; a dead one has no owner any more.
    by_origin: BTreeMap<String, Weak<RemoteServer>>,
    /// Dropped to end all owners; none if no other may begin.
    closing: Option<Sender<()>>,
    closed: Receiver<()>,
}

impl Servers {
    pub(crate) fn new(environment: Arc<Environment>) -> Self {
        let (closing, closed) = crossbeam_channel::bounded(0);
        Self {
            environment,
            owners: Mutex::new(ServerOwners {
                by_origin: BTreeMap::new(),
                closing: Some(closing),
                closed,
            }),
        }
    }

    /// Returns the server with this origin. Starts its owner's thread if there is none.
    pub(crate) fn of(&self, origin: &str) -> Result<Arc<RemoteServer>, Ended> {
        let mut owners = self.owners.lock();
        let known = owners.by_origin.get(origin).and_then(Weak::upgrade);
        // An owner that broke off has ended, even if its mailbox is still held.
        if let Some(known) = known.filter(|known| !known.has_ended()) {
            return Ok(known);
        }
        if owners.closing.is_none() {
            return Err(Ended::Stopped);
        }
        let environment = Arc::clone(&self.environment);
        let (owner, server) = ServerOwner::new(origin, environment, owners.closed.clone());
        // The owner's own thread: it ends when nobody needs it, or with the program (`begin_close`).
        let spawned = spawn(Thread::RemoteServer, move || owner.run());
        spawned.map_err(|error| {
            ConnectError::local(format!("no thread for the remote server: {error}"))
        })?;
        owners
            .by_origin
            .retain(|_, server| server.strong_count() > 0);
        let entry = Arc::downgrade(&server);
        owners.by_origin.insert(origin.to_owned(), entry);
        Ok(server)
    }

    /// All that have an owner, by origin.
    pub(crate) fn all(&self) -> Vec<Arc<RemoteServer>> {
        let owners = self.owners.lock();
        let all = owners.by_origin.values().filter_map(Weak::upgrade);
        all.collect()
    }

    /// Tells all owners to end, and lets none begin. Does not wait.
    pub(crate) fn begin_close(&self) {
        self.owners.lock().closing = None;
    }

    /// Waits until all owners have ended; false if they have not by `deadline`.
    pub(crate) fn finish_close(&self, deadline: Instant) -> bool {
        let all = self.all();
        all.iter().all(|server| server.wait_for_end(deadline))
    }
}
