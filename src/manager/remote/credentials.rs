//! Identity of this connector at one remote server, in memory and on disk.

use super::connector::Connector;
use crate::manager::quick_setup::{self, Setup};
use crate::store::{self, CredentialStore, Credentials};

/// The tunnel server's port where nothing names one. 62888 by the specification.
pub const DEFAULT_TUNNEL_PORT: u16 = 62888;

/// The credentials for one server. Memory never falls behind the disk.
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
    /// Those for the server with this origin; nothing is read yet.
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

    /// Saves what an answer says, in the place of what is in memory. `own_port` is the application's.
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

    /// Forgets them, in memory and on disk; false where there are none on disk.
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

/// Step 2 of the connect sequence; answers the tunnel server's port for the application.
///
/// All others use what is saved, also for the main tunnel: a port that the server names, and that was connected to,
/// gives way to none that one application names, perhaps by mistake.
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
    use crate::store::DataDir;

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
