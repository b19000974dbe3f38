//! Connector data for tunnels to a remote server, and the credentials that it is read from.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::api::ErrorClass;
use crate::manager::connection::ConnectError;
use crate::manager::quick_setup::{self, Setup};
use crate::manager::server_url::ServerUrl;
use crate::net::AddressClass;
use crate::net::authority::authority;
use crate::store::{self, CredentialStore, Credentials};
use crate::tunnel::client::{HostKeyCheck, Settings};
use crate::tunnel::group::Alternate;
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::remote::Remote;
use crate::tunnel::ws::Endpoint;

/// The least pause after the loss of a tunnel: long enough for the loss to be shown.
const PAUSE_AFTER_LOSS: Duration = Duration::from_millis(300);

/// Complete connector info.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Connector {
    pub(crate) external_ip: String,
    /// The remote port of the main tunnel.
    pub(crate) api_port: u16,
    /// Class of the address at which the server was reached that named the tunnel server.
    pub(crate) server_class: AddressClass,
    /// 0 if `tunnel_url` is the only way.
    pub(crate) tunnel_port: u16,
    pub(crate) tunnel_url: Option<Endpoint>,
    pub(crate) user: String,
    pub(crate) password: Zeroizing<String>,
    /// Other relays that may hold tunnels too, the best first; none if the server's last answer named no fleet.
    pub(crate) others: Option<Vec<quick_setup::Alternate>>,
}

impl Connector {
    /// Returns the connector of complete connector info from the server with this origin.
    pub(crate) fn of(origin: &str, credentials: &Credentials) -> Option<Self> {
        if !credentials.has_connector_info() {
            return None;
        }
        Some(Self {
            external_ip: credentials.external_ip.clone()?,
            api_port: credentials.api_port?,
            server_class: class_of(origin, credentials)?,
            tunnel_port: credentials.tunnel_port?,
            tunnel_url: credentials
                .tunnel_url
                .as_deref()
                .and_then(|url| Endpoint::parse(url).ok()),
            user: credentials.conn_username.clone()?,
            password: credentials.conn_password.clone()?,
            others: None,
        })
    }

    /// The tunnel server: `ws://{ExternalIP}:{TunnelPort}`, or its URL if it has no port. Its host key is known by this
    /// address, also if the URL is used.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, ConnectError> {
        endpoint(
            &self.external_ip,
            self.tunnel_port,
            self.tunnel_url.as_ref(),
        )
    }

    /// Further relays for a tunnel besides that of [`Connector::settings`]; none without a fleet.
    pub(crate) fn others(&self, known: &Arc<KnownServers>) -> Option<Vec<Alternate>> {
        let others = self.others.as_ref()?.iter();
        let others = others.map(|other| place(other.endpoint(), &other.tunnel_url, known));
        Some(others.flatten().collect())
    }

    /// All relays that may hold a tunnel, the best first.
    pub(crate) fn places(&self, known: &Arc<KnownServers>) -> Vec<Alternate> {
        let first = place(self.endpoint(), &self.tunnel_url, known);
        let others = self.others(known).into_iter().flatten();
        first.into_iter().chain(others).collect()
    }

    /// True if a main tunnel made with the other leads to the same server. All relays of a fleet are the same, so a
    /// tunnel does not end because another relay is named first.
    pub(super) fn leads_as(&self, other: &Self) -> bool {
        let is_of_fleet = self.others.is_some() && other.others.is_some();
        let anywhere = |connector: &Self| {
            let mut place = connector.clone();
            place.others = None;
            if is_of_fleet {
                (place.external_ip, place.tunnel_port, place.tunnel_url) = Default::default();
            }
            place
        };
        anywhere(self) == anywhere(other)
    }

    /// The settings of a tunnel that forwards `remote`.
    pub(crate) fn settings(
        &self,
        known: Arc<KnownServers>,
        remote: Remote,
    ) -> Result<Settings, ConnectError> {
        let mut settings = Settings::new(self.endpoint()?, vec![remote]);
        settings.url.clone_from(&self.tunnel_url);
        settings.user.clone_from(&self.user);
        settings.password = self.password.clone();
        settings.dial.innermost = Some(self.server_class);
        settings.retries.after_loss = PAUSE_AFTER_LOSS;
        settings.host_key = HostKeyCheck::Pinned(known);
        Ok(settings)
    }
}

impl quick_setup::Alternate {
    /// Returns its tunnel server.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, ConnectError> {
        endpoint(
            &self.external_ip,
            self.tunnel_port,
            self.tunnel_url.as_ref(),
        )
    }
}

fn place(
    endpoint: Result<Endpoint, ConnectError>,
    url: &Option<Endpoint>,
    known: &Arc<KnownServers>,
) -> Option<Alternate> {
    Some(Alternate {
        endpoint: endpoint.ok()?,
        url: url.clone(),
        host_key: HostKeyCheck::Pinned(Arc::clone(known)),
    })
}

fn endpoint(host: &str, port: u16, url: Option<&Endpoint>) -> Result<Endpoint, ConnectError> {
    if let Some(url) = url.filter(|_| port == 0) {
        return Ok(url.clone());
    }
    let url = format!("ws://{}", authority(host, port));
    Endpoint::parse(&url).map_err(|error| {
        ConnectError::new(
            ErrorClass::QuickSetup,
            format!("the relay sent an unusable tunnel address: {error}"),
        )
    })
}

/// Class of a server's address when it named the tunnel server. If an earlier version did not save it, the server's URL
/// may tell; none if only the next call can.
pub(crate) fn class_of(origin: &str, credentials: &Credentials) -> Option<AddressClass> {
    let kept = credentials.server_class.as_deref();
    kept.and_then(AddressClass::named).or_else(|| {
        // A saved URL was allowed once, whatever is allowed now.
        let url = ServerUrl::parse(origin, true).ok()?;
        if url.is_loopback() {
            Some(AddressClass::Loopback)
        } else {
            AddressClass::of(url.host().parse().ok()?)
        }
    })
}

/// The tunnel server's default port. 62888 by the specification.
pub const DEFAULT_TUNNEL_PORT: u16 = 62888;

/// Credentials for one server. The copy in memory is never older than the disk.
pub(crate) struct ServerCredentials {
    store: CredentialStore,
    origin: String,
    in_memory: Option<Credentials>,
}

/// Saved part of an answer.
pub(crate) struct Accepted {
    /// Connector data for the application's tunnel.
    pub(crate) connector: Connector,
    /// True if the server now knows this connector by another name or password.
    pub(crate) is_new_identity: bool,
}

impl ServerCredentials {
    /// Credentials for the server with this origin; nothing is read yet.
    pub(crate) fn new(store: CredentialStore, origin: &str) -> Self {
        Self {
            store,
            origin: origin.to_owned(),
            in_memory: None,
        }
    }

    /// Returns the credentials: from memory, else or with `reload` from disk. Creates them if there are none.
    pub(crate) fn get(&mut self, reload: bool) -> Result<Credentials, store::Error> {
        if let Some(known) = &self.in_memory
            && !reload
        {
            return Ok(known.clone());
        }
        let read = self.store.load(&self.origin)?;
        self.in_memory = Some(read.clone());
        Ok(read)
    }

    /// Saves the connector info of an answer, and keeps it in memory. `own_port` is the application's.
    pub(crate) fn accept(
        &mut self,
        setup: &Setup,
        own_port: Option<u16>,
    ) -> Result<Accepted, store::Error> {
        let given = &setup.connector;
        let (is_same, tunnel_port, changed) = self.store.change(&self.origin, |saved| {
            let is_same =
                saved.connector_name == given.username && saved.password == given.password;
            let port = update(saved, given, own_port);
            saved.server_class = Some(setup.server_class.name().to_owned());
            saved.is_relay |= setup.is_of_relay();
            (is_same, port, saved.clone())
        })?;
        self.in_memory = Some(changed);
        Ok(Accepted {
            connector: Connector {
                external_ip: given.external_ip.clone(),
                api_port: given.api_port,
                server_class: setup.server_class,
                tunnel_port,
                tunnel_url: given.tunnel_url.clone().filter(|_| own_port.is_none()),
                user: given.username.clone(),
                password: given.password.clone(),
                // A given port means one server.
                others: given.alternates.clone().filter(|_| own_port.is_none()),
            },
            is_new_identity: !is_same,
        })
    }

    /// Forgets the credentials, in memory and on disk; false if there are none on disk.
    pub(super) fn forget(&mut self) -> Result<bool, store::Error> {
        let was_known = self.store.forget(&self.origin)?;
        self.in_memory = None;
        Ok(was_known)
    }

    /// Saves the local port of the main tunnel, which is connected, and the tunnel server's port if that proves it.
    pub(super) fn keep_ports(
        &mut self,
        local_port: u16,
        tunnel_port: Option<u16>,
    ) -> Result<(), store::Error> {
        let changed = self.store.change(&self.origin, |saved| {
            saved.local_port = Some(local_port);
            saved.proven_tunnel_port = tunnel_port.or(saved.proven_tunnel_port);
            saved.clone()
        })?;
        self.in_memory = Some(changed);
        Ok(())
    }
}

/// Step 2 of the connect sequence; returns the tunnel server's port for the application.
///
/// The saved port is for all others, also the main tunnel: an application's own port, which may be a mistake, does not
/// replace a port that the server names and that was connected to.
fn update(saved: &mut Credentials, given: &quick_setup::Connector, own_port: Option<u16>) -> u16 {
    let named = given.tunnel_port;
    let port = own_port.or(named).or(saved.proven_tunnel_port);
    let port = port.unwrap_or(DEFAULT_TUNNEL_PORT);
    let proven = named.filter(|_| named == saved.proven_tunnel_port);
    saved.connector_name.clone_from(&given.username);
    saved.password = given.password.clone();
    saved.conn_username = Some(given.username.clone());
    saved.conn_password = Some(given.password.clone());
    saved.external_ip = Some(given.external_ip.clone());
    saved.api_port = Some(given.api_port);
    saved.tunnel_port = Some(proven.unwrap_or(port));
    saved.tunnel_url = given.tunnel_url.as_ref().map(ToString::to_string);
    saved.accepted = true;
    port
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::remote::tests::setup;
    use crate::store::{CredentialStore, DataDir};

    #[test]
    fn what_an_earlier_version_did_not_keep_is_told_by_the_url_or_not_known() {
        use AddressClass::{Loopback, Private, Public};
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path().join("home")));
        let mut credentials = store.load("https://a.example:443").unwrap();
        for (origin, class) in [
            ("http://127.0.0.1:8180", Some(Loopback)),
            ("http://localhost:8180", Some(Loopback)),
            ("https://relay.localhost:443", Some(Loopback)),
            ("http://[::1]:8180", Some(Loopback)),
            ("http://192.168.0.2:8180", Some(Private)),
            ("https://[fd00::1]:443", Some(Private)),
            ("https://8.8.8.8:443", Some(Public)),
            ("https://169.254.169.254:443", None),
            ("https://relay.example:443", None),
        ] {
            assert_eq!(class_of(origin, &credentials), class, "{origin}");
        }
        credentials.server_class = Some("private".into());
        for origin in ["https://relay.example:443", "http://127.0.0.1:8180"] {
            assert_eq!(class_of(origin, &credentials), Some(Private), "it was seen");
        }
    }

    /// A port that one application named by mistake does not stay with all of them.
    #[test]
    fn the_tunnel_port_that_is_kept_is_one_that_was_connected_to() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path().join("home")));
        let origin = "https://a.example:443";
        let mut credentials = ServerCredentials::new(store.clone(), origin);
        let accept = |credentials: &mut ServerCredentials, own: Option<u16>, given: Option<u16>| {
            let mut setup = setup("user");
            setup.connector.tunnel_port = given;
            let accepted = credentials.accept(&setup, own).unwrap();
            accepted.connector.tunnel_port
        };
        let mut port = |own, given| accept(&mut credentials, own, given);
        assert_eq!(port(None, None), DEFAULT_TUNNEL_PORT);
        assert_eq!((port(Some(9), Some(8)), port(None, Some(8))), (9, 8));
        assert_eq!(
            (port(Some(9), None), port(None, None)),
            (9, DEFAULT_TUNNEL_PORT)
        );
        credentials.keep_ports(4000, Some(7)).unwrap();
        let mut port = |own, given| accept(&mut credentials, own, given);
        assert_eq!((port(Some(9), None), port(None, None)), (9, 7));
        let saved = || store.load(origin).unwrap().tunnel_port;
        assert_eq!((port(Some(9), Some(7)), saved()), (9, Some(7)));
        assert_eq!((port(Some(9), Some(8)), saved()), (9, Some(9)));
    }
}
