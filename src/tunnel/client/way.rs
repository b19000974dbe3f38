//! How a tunnel reaches its server.

use std::collections::BTreeMap;

use crate::sync::Mutex;

/// How a tunnel reaches its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// The server's port for tunnels.
    Port,
    /// The URL of its web server.
    Url,
}

impl Way {
    /// As the API has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Port => "port",
            Self::Url => "url",
        }
    }
}

/// The way that worked last to each server of several tunnels, by its address.
#[derive(Default)]
pub(crate) struct LastWays(Mutex<BTreeMap<String, Way>>);

impl LastWays {
    pub(super) fn of(&self, server: &str) -> Option<Way> {
        self.0.lock().get(server).copied()
    }

    /// Remembers the way that has worked.
    pub(super) fn note(&self, server: String, way: Way) {
        self.0.lock().insert(server, way);
    }
}
