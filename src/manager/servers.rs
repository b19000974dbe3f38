//! Remote servers, each by its origin: what one is told, no other sees.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zeroize::Zeroizing;

use super::app::address;
use super::connection::active::Fault;
use super::main_tunnel::MainTunnel;
use super::quick_setup::Setup;
use crate::tunnel::client::{HostKeyCheck, Settings};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::link::Endpoint;
use crate::tunnel::remote::Remote;
use crate::vault::{self, CredentialStore, Credentials};

/// The tunnel server's port where nothing names one. 62888 by the specification.
pub const DEFAULT_TUNNEL_PORT: u16 = 62888;

/// The least pause after the loss of a tunnel. Default 300 ms: long enough for the loss to be shown.
const PAUSE_AFTER_LOSS: Duration = Duration::from_millis(300);

/// The remote servers that this process has to do with.
#[derive(Default)]
pub(crate) struct Servers(Mutex<BTreeMap<String, Arc<RemoteServer>>>);

/// One remote server.
pub(crate) struct RemoteServer {
    origin: String,
    /// What is held in memory; a reload takes it from disk.
    credentials: Mutex<Option<Credentials>>,
    /// Its main tunnel.
    pub(crate) main: MainTunnel,
}

/// What a tunnel to a server needs: complete connector info but for the API port.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Connector {
    pub(crate) external_ip: String,
    pub(crate) tunnel_port: u16,
    pub(crate) user: String,
    pub(crate) password: Zeroizing<String>,
}

impl Servers {
    /// The server with this origin.
    pub(crate) fn of(&self, origin: &str) -> Arc<RemoteServer> {
        let mut servers = self.servers();
        let server = servers.entry(origin.to_owned()).or_insert_with(|| {
            Arc::new(RemoteServer {
                origin: origin.to_owned(),
                credentials: Mutex::new(None),
                main: MainTunnel::default(),
            })
        });
        Arc::clone(server)
    }

    /// All of them, by origin.
    pub(crate) fn all(&self) -> Vec<Arc<RemoteServer>> {
        self.servers().values().cloned().collect()
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<RemoteServer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RemoteServer {
    /// Its origin.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The credentials for it: those in memory, or from disk.
    pub(crate) fn credentials(
        &self,
        store: &CredentialStore,
        reload: bool,
    ) -> Result<Credentials, vault::Error> {
        let mut held = self.held();
        if let Some(known) = &*held
            && !reload
        {
            return Ok(known.clone());
        }
        let read = store.load(&self.origin)?;
        *held = Some(read.clone());
        Ok(read)
    }

    /// Saves what an answer says and puts it in the place of what is in memory. `own_port` is the application's.
    pub(crate) fn accept(
        &self,
        store: &CredentialStore,
        setup: &Setup,
        own_port: Option<u16>,
    ) -> Result<Connector, vault::Error> {
        let given = &setup.connector;
        // Held over the write, so that memory never falls behind the disk.
        let mut held = self.held();
        let changed = store.change(&self.origin, |saved| {
            let port = own_port.or(given.tunnel_port).or(saved.tunnel_port);
            saved.connector_name.clone_from(&given.username);
            saved.password = given.password.clone();
            saved.conn_username = Some(given.username.clone());
            saved.conn_password = Some(given.password.clone());
            saved.external_ip = Some(given.external_ip.clone());
            saved.api_port = Some(given.api_port);
            saved.tunnel_port = Some(port.unwrap_or(DEFAULT_TUNNEL_PORT));
            saved.accepted = true;
            saved.clone()
        })?;
        let tunnel_port = changed.tunnel_port.unwrap_or(DEFAULT_TUNNEL_PORT);
        *held = Some(changed);
        Ok(Connector {
            external_ip: given.external_ip.clone(),
            tunnel_port,
            user: given.username.clone(),
            password: given.password.clone(),
        })
    }

    /// Persists the local port of the main tunnel.
    pub(crate) fn keep_local_port(
        &self,
        store: &CredentialStore,
        port: u16,
    ) -> Result<(), vault::Error> {
        let mut held = self.held();
        let changed = store.change(&self.origin, |saved| {
            saved.local_port = Some(port);
            saved.clone()
        })?;
        *held = Some(changed);
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Option<Credentials>> {
        self.credentials
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connector {
    /// That of complete connector info.
    pub(crate) fn of(credentials: &Credentials) -> Option<Self> {
        if !credentials.has_connector_info() {
            return None;
        }
        Some(Self {
            external_ip: credentials.external_ip.clone()?,
            tunnel_port: credentials.tunnel_port?,
            user: credentials.conn_username.clone()?,
            password: credentials.conn_password.clone()?,
        })
    }

    /// The tunnel server: `ws://{ExternalIP}:{TunnelPort}`.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, Fault> {
        let url = format!("ws://{}", address(&self.external_ip, self.tunnel_port));
        Endpoint::parse(&url).map_err(|error| {
            Fault::new(
                "quick-setup",
                format!("the remote server named a tunnel server that cannot be used: {error}"),
            )
        })
    }

    /// The settings of a tunnel that forwards `remote`.
    pub(crate) fn settings(
        &self,
        known: &Arc<KnownServers>,
        remote: Remote,
    ) -> Result<Settings, Fault> {
        let mut settings = Settings::new(self.endpoint()?, vec![remote]);
        settings.user.clone_from(&self.user);
        settings.password = self.password.clone();
        settings.retries.after_loss = PAUSE_AFTER_LOSS;
        settings.host_key = HostKeyCheck::Pinned(Arc::clone(known));
        Ok(settings)
    }
}
