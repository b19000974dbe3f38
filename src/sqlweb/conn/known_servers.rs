//! Facts of each server behind the address: a balancer leads every connection to another one, and a failover all
//! of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::server_info::ServerInfo;
use super::write_state::WriteState;
use crate::sync::Mutex;

/// Servers that are remembered, at most: each start of a server counts as one.
const MOST: usize = 64;

/// The servers that were met so far, by identity; those that do not say who they are count as one.
#[derive(Default)]
pub(crate) struct KnownServers(Mutex<KnownIdentity>);

#[derive(Default)]
struct KnownIdentity {
    all: HashMap<Identity, Arc<ServerInfo>>,
    /// The one that a connection came to last.
    last: Option<Arc<ServerInfo>>,
    write_state: WriteState,
}

type Identity = Option<Arc<str>>;

impl KnownServers {
    /// Returns the facts of that server; from now on it is the last one met.
    pub(super) fn meet(&self, server: &Identity) -> Option<Arc<ServerInfo>> {
        let mut known = self.0.lock();
        let info = known.all.get(server).cloned()?;
        known.last = Some(info.clone());
        Some(info)
    }

    /// Notes the facts of a server that was just asked.
    pub(super) fn learn(&self, server: Identity, info: ServerInfo) -> Arc<ServerInfo> {
        let info = Arc::new(info);
        let mut known = self.0.lock();
        if known.all.len() >= MOST {
            known.all.clear();
        }
        known.all.insert(server, info.clone());
        known.last = Some(info.clone());
        info
    }

    /// The server that was met last.
    pub(super) fn last(&self) -> Option<Arc<ServerInfo>> {
        self.0.lock().last.clone()
    }

    /// Notes whether the server that was met last takes writes.
    pub(super) fn note(&self, write_state: Option<WriteState>) {
        self.0.lock().write_state = write_state.unwrap_or_default();
    }

    /// Returns the last noted state.
    pub(super) fn write_state(&self) -> WriteState {
        self.0.lock().write_state
    }
}
