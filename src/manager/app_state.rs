//! What all parts of the manager share.

use std::path::PathBuf;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::apps::app::AppConfig;
use super::apps::app_store::AppStore;
use super::connection::{Connections, PortReservations};
use super::own_listeners::OwnListeners;
use super::remote::Servers;
use super::server_url::ServerUrl;
use crate::plugin::{self, WebClients};
use crate::store::{CredentialStore, DataDir};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::registry::Registry;

/// The state of one `postern start`.
pub(crate) struct AppState {
    pub(crate) home: DataDir,
    /// For the private sockets of HTTP services.
    pub(crate) run_dir: PathBuf,
    pub(crate) apps: AppStore,
    pub(crate) credentials: CredentialStore,
    /// Host keys; each remote server has its own part of them.
    pub(crate) known: KnownServers,
    pub(crate) tunnels: Arc<Registry>,
    pub(crate) servers: Servers,
    pub(crate) connections: Arc<Connections>,
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
    /// Whether the main tunnels are this process's to keep.
    pub(crate) keeps_main_tunnels: bool,
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

    /// Ends the main tunnels of servers that no application is connected through, or is to be.
    pub(crate) fn retire_unused_main_tunnels(&self) {
        for remote in self.servers.all() {
            if remote.snapshot().main.is_some() && !self.is_in_use(remote.origin()) {
                remote.retire_main_tunnel();
            }
        }
    }
}
