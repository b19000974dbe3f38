//! Connector data for a tunnel to a remote server.

use crate::api::ErrorClass;
use crate::net::authority::authority;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::manager::connection::ConnectError;
use crate::manager::quick_setup;
use crate::manager::server_url::ServerUrl;
use crate::net::AddressClass;
use crate::store::Credentials;
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
    /// How far inside the network whoever named that was reached.
    pub(crate) server_class: AddressClass,
    /// 0 if `tunnel_url` is the only way.
    pub(crate) tunnel_port: u16,
    pub(crate) tunnel_url: Option<Endpoint>,
    pub(crate) user: String,
    pub(crate) password: Zeroizing<String>,
    /// Other relays that tunnels may be held at too, the best first; none where the server's last answer named no fleet.
    pub(crate) others: Option<Vec<quick_setup::Alternate>>,
}

impl Connector {
    /// That of complete connector info, from the server with this origin.
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

    /// The tunnel server: `ws://{ExternalIP}:{TunnelPort}`, or its URL where it has no port. Its host key is known by this
    /// address, whichever way leads there.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, ConnectError> {
        endpoint(
            &self.external_ip,
            self.tunnel_port,
            self.tunnel_url.as_ref(),
        )
    }

    /// Where a tunnel beside that of [`Connector::settings`] may be; none where the server is of no fleet.
    pub(crate) fn others(&self, known: &Arc<KnownServers>) -> Option<Vec<Alternate>> {
        let others = self.others.as_ref()?.iter();
        let others = others.map(|other| place(other.endpoint(), &other.tunnel_url, known));
        Some(others.flatten().collect())
    }

    /// All relays that a tunnel may be held at, the best first.
    pub(crate) fn places(&self, known: &Arc<KnownServers>) -> Vec<Alternate> {
        let first = place(self.endpoint(), &self.tunnel_url, known);
        let others = self.others(known).into_iter().flatten();
        first.into_iter().chain(others).collect()
    }

    /// True if a main tunnel made with the other leads to the same: in a fleet all relays do, and nothing that runs ends
    /// since another one is named first.
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
    /// Its tunnel server.
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

/// How far inside the network a server was when it named the address for tunnels. Where an earlier version did not keep
/// that, its URL may tell; none where only the next call does.
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

#[cfg(test)]
mod tests {
    use super::*;
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
}
