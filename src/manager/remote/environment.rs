//! Environment that owners share with the manager.

use std::path::PathBuf;
use std::sync::Arc;

use crate::manager::connection::Connections;
use crate::manager::own_listeners::OwnListeners;
use crate::store::CredentialStore;
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::registry::Registry;

/// Environment of all owners of a process.
pub(crate) struct Environment {
    pub(crate) credentials: CredentialStore,
    /// Host keys; each remote server has its own part of them.
    pub(crate) known: KnownServers,
    pub(crate) tunnels: Arc<Registry>,
    /// Listening addresses of this program.
    pub(crate) listeners: OwnListeners,
    /// Told when a main tunnel is up; the local API service counts them.
    pub(crate) connections: Arc<Connections>,
    /// Directory for the private sockets of HTTP services.
    pub(crate) run_dir: PathBuf,
    pub(crate) check_other_users: bool,
}
