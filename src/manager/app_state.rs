//! What all parts of the manager share.

use crate::sync::Mutex;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use zeroize::Zeroizing;

use super::app::AppConfig;
use super::app_store::AppStore;
use super::connection::Connections;
use super::connection::connect::Ended;
use super::connection::record::ConnectError;
use super::own_listeners::OwnListeners;
use super::server_url::ServerUrl;
use super::servers::Servers;
use crate::plugin::{self, WebClients};
use crate::store::{CredentialStore, DataDir};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::registry::{Key, Registry};

/// Time for another application's connection to leave a remote port. Default 2 s: closing a tunnel takes one at most.
const PORT_WAIT: Duration = Duration::from_secs(2);
/// Pause between two looks whether a port was left.
const PORT_POLL: Duration = Duration::from_millis(20);

/// The state of one `postern start`.
pub(crate) struct AppState {
    pub(crate) home: DataDir,
    /// For the private sockets of HTTP services.
    pub(crate) run_dir: PathBuf,
    pub(crate) apps: AppStore,
    pub(crate) credentials: CredentialStore,
    /// Host keys; each remote server has its own part of them.
    pub(crate) known: KnownServers,
    pub(crate) tunnels: Registry,
    pub(crate) servers: Servers,
    pub(crate) connections: Connections,
    pub(crate) ports: PortReservations,
    pub(crate) plugins: plugin::Registry,
    pub(crate) web_clients: &'static dyn WebClients,
    /// The remote server of applications that name none.
    pub(crate) server: Option<ServerUrl>,
    /// Whether that is a part of this program.
    pub(crate) embedded: bool,
    /// Where this program listens.
    pub(crate) listeners: OwnListeners,
    pub(crate) enroll_token: Option<Zeroizing<String>>,
    /// Whether remote servers may be reached without TLS.
    pub(crate) insecure: bool,
    pub(crate) check_other_users: bool,
    pub(crate) notices: Vec<String>,
}

impl AppState {
    /// The remote server that an application is connected through.
    pub(crate) fn server_of(&self, app: &AppConfig) -> Result<ServerUrl, String> {
        match (&app.server, &self.server) {
            (Some(own), _) => ServerUrl::parse(own, self.insecure),
            (None, Some(server)) => Ok(server.clone()),
            (None, None) => Err(
                "no server is named: start with --server URL, or give the application one".into(),
            ),
        }
    }

    /// Whether applications are connected through the server with this origin, or are to be. True where that cannot be
    /// told.
    pub(crate) fn is_in_use(&self, origin: &str) -> bool {
        let leads_there = |server: &ServerUrl| server.origin() == origin;
        self.server.as_ref().is_some_and(leads_there)
            || !self.connections.through(origin).is_empty()
            || self.apps.list().map_or(true, |apps| {
                let mut servers = apps.iter().map(|app| self.server_of(app));
                servers.any(|server| server.is_ok_and(|server| leads_there(&server)))
            })
    }
}

/// Remote ports in use: a server that gives one port to two applications does not make one take the other's place.
#[derive(Clone, Default)]
pub(crate) struct PortReservations(Arc<Mutex<HashSet<Key>>>);

/// A remote port of one connection; left when this is dropped.
pub(crate) struct PortReservation {
    ports: PortReservations,
    key: Key,
}

impl PortReservations {
    /// Claims a port, waiting for one that is just being left.
    pub(crate) fn claim(
        &self,
        key: &Key,
        stopped: &Receiver<()>,
    ) -> Result<PortReservation, Ended> {
        let deadline = Instant::now() + PORT_WAIT;
        while !self.0.lock().insert(key.clone()) {
            if stopped.recv_timeout(PORT_POLL) != Err(RecvTimeoutError::Timeout) {
                return Err(Ended::Stopped);
            }
            if Instant::now() >= deadline {
                let taken = "the remote server assigned a port that another application uses";
                return Err(ConnectError::new("quick-setup", taken).into());
            }
        }
        Ok(PortReservation {
            ports: self.clone(),
            key: key.clone(),
        })
    }
}

impl Drop for PortReservation {
    fn drop(&mut self) {
        self.ports.0.lock().remove(&self.key);
    }
}
