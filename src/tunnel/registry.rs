//! The tunnels of a process, each by its server and what it is for.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::client::{Settings, Snapshot, Tunnel};

/// Names a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The server's origin.
    pub server: String,
    /// Which of its tunnels.
    pub tunnel: Which,
}

/// A tunnel of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// The main tunnel.
    Main,
    /// An application's, by its remote port.
    Port(u16),
}

/// All tunnels. One closed is also gone from here.
#[derive(Default)]
pub struct Registry(Mutex<BTreeMap<Key, Arc<Tunnel>>>);

impl Registry {
    /// Starts a tunnel; one with the same key that is at work is stopped first.
    pub fn start(&self, key: Key, settings: Settings) -> io::Result<Arc<Tunnel>> {
        self.close(&key);
        let tunnel = Arc::new(Tunnel::start(settings)?);
        let before = self.tunnels().insert(key, Arc::clone(&tunnel));
        if let Some(before) = before {
            before.stop();
        }
        Ok(tunnel)
    }

    /// The tunnel with this key.
    pub fn find(&self, key: &Key) -> Option<Arc<Tunnel>> {
        self.tunnels().get(key).cloned()
    }

    /// Waits for a tunnel's connected signal; false when none came, or there is no such tunnel.
    pub fn wait(&self, key: &Key, time: Duration) -> bool {
        self.find(key).is_some_and(|tunnel| tunnel.wait(time))
    }

    /// Every tunnel as it is now.
    pub fn list(&self) -> Vec<(Key, Snapshot)> {
        let tunnels = self.tunnels();
        tunnels
            .iter()
            .map(|(key, tunnel)| (key.clone(), tunnel.snapshot()))
            .collect()
    }

    /// Stops one; false when there is no such tunnel.
    pub fn close(&self, key: &Key) -> bool {
        let found = self.tunnels().remove(key);
        if let Some(tunnel) = &found {
            tunnel.stop();
        }
        found.is_some()
    }

    /// Stops all, at the same time.
    pub fn close_all(&self) {
        let tunnels = std::mem::take(&mut *self.tunnels());
        for tunnel in tunnels.values() {
            tunnel.begin_stop();
        }
        for tunnel in tunnels.values() {
            tunnel.finish_stop();
        }
    }

    fn tunnels(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Tunnel>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
