//! Remote servers, each by its origin: what one is told, no other sees.

use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zeroize::Zeroizing;

use super::connection::record::ConnectError;
use super::main_tunnel::MainTunnel;
use super::quick_setup::{self, Setup};
use super::server_url::ServerUrl;
use crate::net::AddressClass;
use crate::net::authority::authority;
use crate::store::{self, CredentialStore, Credentials};
use crate::tunnel::client::{HostKeyCheck, Settings};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::remote::Remote;
use crate::tunnel::ws::Endpoint;

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
    held: Mutex<Held>,
    /// Quick-setup calls that have begun.
    calls: AtomicU64,
    /// Answers that were saved, and times that all was forgotten.
    saves: AtomicU64,
    /// Changes of the name or password by which the server knows this connector.
    identity: AtomicU64,
    /// Its main tunnel.
    pub(crate) main: MainTunnel,
}

#[derive(Default)]
struct Held {
    /// What is in memory; a reload takes it from disk.
    credentials: Option<Credentials>,
    /// The youngest call whose answer was saved.
    answered: u64,
    /// The call after which the credentials were forgotten: an answer to it, or to an earlier one, is for those.
    forgotten: u64,
}

/// Whose answer it is.
#[derive(Clone, Copy)]
pub(crate) struct Answered {
    /// The call, as [`RemoteServer::next_call`] counts them.
    pub(crate) call: u64,
    /// Whether somebody still waits for it.
    pub(crate) is_awaited: bool,
}

/// What a tunnel to a server needs: complete connector info but for the API port.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Connector {
    pub(crate) external_ip: String,
    /// How far inside the network whoever named that was reached.
    pub(crate) server_class: AddressClass,
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
                held: Mutex::default(),
                calls: AtomicU64::new(0),
                saves: AtomicU64::new(0),
                identity: AtomicU64::new(0),
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
        self.0.lock()
    }
}

impl RemoteServer {
    /// The host keys of the tunnel servers that it names.
    pub(crate) fn known(&self, known: &KnownServers) -> KnownServers {
        known.told_by(&self.origin)
    }

    /// Its origin.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The credentials for it: those in memory, or from disk.
    pub(crate) fn credentials(
        &self,
        store: &CredentialStore,
        reload: bool,
    ) -> Result<Credentials, store::Error> {
        let mut held = self.held();
        if let Some(known) = &held.credentials
            && !reload
        {
            return Ok(known.clone());
        }
        let read = store.load(&self.origin)?;
        held.credentials = Some(read.clone());
        Ok(read)
    }

    /// How often answers were saved, or all was forgotten: while that does not change, the connector info does not.
    pub(crate) fn saves(&self) -> u64 {
        self.saves.load(Ordering::SeqCst)
    }

    /// Counts the changes of the name and password by which the server knows this connector.
    pub(crate) fn identity(&self) -> u64 {
        self.identity.load(Ordering::SeqCst)
    }

    /// Counts a call that begins.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Saves what an answer says and puts it in the place of what is in memory. `own_port` is the application's.
    ///
    /// None where the credentials were forgotten since the call, or where nobody waits for the answer any more and
    /// that of a later call was saved: the server may have assigned anew since.
    pub(crate) fn accept(
        &self,
        store: &CredentialStore,
        setup: &Setup,
        own_port: Option<u16>,
        answered: Answered,
    ) -> Result<Option<Connector>, store::Error> {
        let given = &setup.connector;
        // Held over the write, so that memory never falls behind the disk.
        let mut held = self.held();
        let is_overtaken = !answered.is_awaited && answered.call < held.answered;
        if is_overtaken || answered.call <= held.forgotten {
            return Ok(None);
        }
        let (is_same, tunnel_port, changed) = store.change(&self.origin, |saved| {
            let is_same =
                saved.connector_name == given.username && saved.password == given.password;
            let port = take(saved, given, own_port);
            saved.server_class = Some(setup.server_class.name().to_owned());
            (is_same, port, saved.clone())
        })?;
        if !is_same {
            self.identity.fetch_add(1, Ordering::SeqCst);
        }
        held.credentials = Some(changed);
        held.answered = held.answered.max(answered.call);
        self.saves.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Connector {
            external_ip: given.external_ip.clone(),
            server_class: setup.server_class,
            tunnel_port,
            user: given.username.clone(),
            password: given.password.clone(),
        }))
    }

    /// Forgets the credentials, in memory and on disk; false where there are none on disk.
    pub(crate) fn forget(&self, store: &CredentialStore) -> Result<bool, store::Error> {
        // Held over the write: who asks for credentials meanwhile gets new ones.
        let mut held = self.held();
        held.forgotten = self.next_call();
        let was_known = store.forget(&self.origin)?;
        held.credentials = None;
        self.identity.fetch_add(1, Ordering::SeqCst);
        self.saves.fetch_add(1, Ordering::SeqCst);
        Ok(was_known)
    }

    /// Persists the local port of the main tunnel, which is connected, and the tunnel server's port that it proves.
    pub(crate) fn keep_ports(
        &self,
        store: &CredentialStore,
        local_port: u16,
        tunnel_port: u16,
    ) -> Result<(), store::Error> {
        let mut held = self.held();
        let changed = store.change(&self.origin, |saved| {
            saved.local_port = Some(local_port);
            saved.proven_tunnel_port = Some(tunnel_port);
            saved.clone()
        })?;
        held.credentials = Some(changed);
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }
}

/// Step 2 of the connect sequence; answers the tunnel server's port for the application.
///
/// All others use what is saved, also for the main tunnel: a port that the server names, and that was connected to,
/// gives way to none that one application names, perhaps by mistake.
fn take(saved: &mut Credentials, given: &quick_setup::Connector, own_port: Option<u16>) -> u16 {
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
    saved.accepted = true;
    port
}

/// How far inside the network a server was when it named the address for tunnels. Where an earlier version did not keep
/// that, its URL may tell; none where only the next call does.
pub(crate) fn class_of(origin: &str, credentials: &Credentials) -> Option<AddressClass> {
    let kept = credentials.server_class.as_deref();
    kept.and_then(AddressClass::named).or_else(|| {
        // What is kept was allowed once, whatever is allowed now.
        let url = ServerUrl::parse(origin, true).ok()?;
        match url.is_loopback() {
            true => Some(AddressClass::Loopback),
            false => AddressClass::of(url.host().parse().ok()?),
        }
    })
}

impl Connector {
    /// That of complete connector info, from a server of this class.
    pub(crate) fn of(credentials: &Credentials, server_class: AddressClass) -> Option<Self> {
        if !credentials.has_connector_info() {
            return None;
        }
        Some(Self {
            external_ip: credentials.external_ip.clone()?,
            server_class,
            tunnel_port: credentials.tunnel_port?,
            user: credentials.conn_username.clone()?,
            password: credentials.conn_password.clone()?,
        })
    }

    /// The tunnel server: `ws://{ExternalIP}:{TunnelPort}`.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, ConnectError> {
        let url = format!("ws://{}", authority(&self.external_ip, self.tunnel_port));
        Endpoint::parse(&url).map_err(|error| {
            ConnectError::new(
                "quick-setup",
                format!("the remote server named a tunnel server that cannot be used: {error}"),
            )
        })
    }

    /// The settings of a tunnel that forwards `remote`.
    pub(crate) fn settings(
        &self,
        known: KnownServers,
        remote: Remote,
    ) -> Result<Settings, ConnectError> {
        let mut settings = Settings::new(self.endpoint()?, vec![remote]);
        settings.user.clone_from(&self.user);
        settings.password = self.password.clone();
        settings.dial.innermost = Some(self.server_class);
        settings.retries.after_loss = PAUSE_AFTER_LOSS;
        settings.host_key = HostKeyCheck::Pinned(Arc::new(known));
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::quick_setup::{ApiKey, App, Connector as Given, Resource};
    use crate::store::DataDir;

    fn setup(username: &str) -> Setup {
        Setup {
            connector: Given {
                external_ip: "127.0.0.1".into(),
                api_port: 1,
                username: username.into(),
                password: Zeroizing::new("secret".into()),
                tunnel_port: None,
                fingerprint: None,
            },
            app: App {
                app_id: String::new(),
                site_url: String::new(),
                resource: Resource {
                    ip: String::new(),
                    port: 2,
                },
            },
            api_key: ApiKey::default(),
            server_class: AddressClass::Loopback,
        }
    }

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

    #[test]
    fn an_answer_that_nobody_awaits_does_not_replace_that_of_a_later_call() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path().join("home")));
        let remote = Servers::default().of("https://a.example:443");
        let name = || store.load(remote.origin()).unwrap().connector_name;
        let accept = |username: &str, call: u64, is_awaited: bool| {
            let answered = Answered { call, is_awaited };
            let saved = remote.accept(&store, &setup(username), None, answered);
            saved.unwrap().is_some()
        };
        let [first, second, third] = std::array::from_fn(|_| remote.next_call());
        assert!(accept("late", second, false), "nothing newer is there");
        assert_eq!(name(), "late");
        assert!(accept("new", third, true));
        assert!(!accept("late", second, false));
        let held = remote.credentials(&store, false).unwrap();
        assert_eq!(
            (held.connector_name.as_str(), name().as_str()),
            ("new", "new")
        );
        assert!(
            accept("slow", first, true),
            "its connection goes on with it"
        );
        assert_eq!((name().as_str(), remote.saves()), ("slow", 3));
    }

    #[test]
    fn an_answer_to_forgotten_credentials_does_not_bring_them_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path().join("home")));
        let remote = Servers::default().of("https://a.example:443");
        let accept = |call: u64| {
            let is_awaited = true;
            let answered = Answered { call, is_awaited };
            let saved = remote.accept(&store, &setup("server's"), None, answered);
            saved.unwrap().is_some()
        };
        assert!(!remote.forget(&store).unwrap(), "there are none");
        let [first, late] = std::array::from_fn(|_| remote.next_call());
        assert!(accept(first));
        let saves = remote.saves();
        assert!(remote.forget(&store).unwrap());
        assert_ne!(remote.saves(), saves);
        assert!(!accept(late) && !store.knows(remote.origin()).unwrap());
        let fresh = remote.credentials(&store, false).unwrap();
        assert!(fresh.connector_name != "server's" && !fresh.accepted);
        assert!(accept(remote.next_call()));
    }

    /// A port that one application named by mistake does not stay with all of them.
    #[test]
    fn the_tunnel_port_that_is_kept_is_one_that_was_connected_to() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path().join("home")));
        let remote = Servers::default().of("https://a.example:443");
        let port = |own: Option<u16>, given: Option<u16>| {
            let mut setup = setup("user");
            setup.connector.tunnel_port = given;
            let answered = Answered {
                call: remote.next_call(),
                is_awaited: true,
            };
            let saved = remote.accept(&store, &setup, own, answered).unwrap();
            saved.unwrap().tunnel_port
        };
        assert_eq!(port(None, None), DEFAULT_TUNNEL_PORT);
        assert_eq!((port(Some(9), Some(8)), port(None, Some(8))), (9, 8));
        assert_eq!(
            (port(Some(9), None), port(None, None)),
            (9, DEFAULT_TUNNEL_PORT)
        );
        remote.keep_ports(&store, 4000, 7).unwrap();
        assert_eq!((port(Some(9), None), port(None, None)), (9, 7));
        let saved = || store.load(remote.origin()).unwrap().tunnel_port;
        assert_eq!((port(Some(9), Some(7)), saved()), (9, Some(7)));
        assert_eq!((port(Some(9), Some(8)), saved()), (9, Some(9)));
    }
}
