//! The relay that `postern start` runs in its own process if no server is named: on loopback, for its own user.
//! Everything works with it except visitors from elsewhere.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::allocator::Quota;
use super::connector_auth::Enrolment;
use super::server::{self, Options, RelayInstance, Running, StartError};
use super::state_store::set_aside_notice;
use super::urls::PublicPorts;
use crate::store::{self, ClaimError, CredentialStore, DataDir, Instance, JsonFile};

/// The ports that are tried first: gateway and tunnel server. 62888 by the specification.
const FIRST_PORTS: Ports = Ports {
    gateway: 8180,
    tunnel: 62888,
};
/// File with its last ports, so that addresses stay the same if another program uses the first ones.
const PORTS: &str = "embedded.json";
/// Bytes of that file. Default 256: it is two numbers.
const PORTS_CAP: u64 = 256;
/// The directory within the per-user one.
const DATA_DIR: &str = "relay";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Ports {
    gateway: u16,
    tunnel: u16,
}

/// The running relay.
pub struct EmbeddedRelay {
    running: Running,
    /// Token of its operator, with which the manager of this process enrols, whatever enrolment token a revocation
    /// disabled. A secret.
    pub token: Zeroizing<String>,
    _instance: Instance,
}

/// Reason that it does not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotEmbedded {
    /// Another relay uses the directory; with its address, if it announced one.
    AlreadyRunning(Option<RelayInstance>),
    /// The directory cannot be used.
    Store(store::Error),
    /// The relay did not start.
    Start(StartError),
}

impl fmt::Display for NotEmbedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyRunning(Some(relay)) => {
                write!(f, "a relay already runs on this machine, at {}", relay.url)
            }
            Self::AlreadyRunning(None) => f.write_str("another relay uses this directory"),
            Self::Store(error) => error.fmt(f),
            Self::Start(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotEmbedded {}

impl From<store::Error> for NotEmbedded {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for NotEmbedded {
    fn from(error: io::Error) -> Self {
        Self::Start(error.into())
    }
}

/// Starts it in `relay/` of the per-user directory.
pub fn start(
    home: &DataDir,
    run_dir: &Path,
    check_other_users: bool,
) -> Result<EmbeddedRelay, NotEmbedded> {
    start_near(home, run_dir, check_other_users, None)
}

/// Finds the running relay of this user, in any process.
pub fn find(home: &DataDir) -> Result<Option<RelayInstance>, store::Error> {
    let said = Instance::find(&data_dir(home))?;
    Ok(said.as_deref().and_then(RelayInstance::read))
}

/// Starts it in place of one that has ended, at its port `gateway` if that is free.
pub fn succeed(
    home: &DataDir,
    run_dir: &Path,
    check_other_users: bool,
    gateway: u16,
) -> Result<EmbeddedRelay, NotEmbedded> {
    start_near(home, run_dir, check_other_users, Some(gateway))
}

fn data_dir(home: &DataDir) -> DataDir {
    DataDir::at(home.dir().join(DATA_DIR))
}

fn start_near(
    home: &DataDir,
    run_dir: &Path,
    check_other_users: bool,
    gateway: Option<u16>,
) -> Result<EmbeddedRelay, NotEmbedded> {
    let data = data_dir(home);
    let file = JsonFile::<Ports>::new(data.clone(), PORTS, PORTS_CAP);
    // A file that cannot be read is written anew: at worst the addresses change.
    let before = file.look().ok().flatten();
    let was_at = before.map(|before| before.gateway);
    let instance = Instance::claim(&data).map_err(|claimed| match claimed {
        ClaimError::Failed(error) => NotEmbedded::Store(error),
        ClaimError::Held(said) => {
            let relay = said.as_deref().and_then(RelayInstance::read);
            if let Some(relay) = &relay {
                follow(home, was_at, relay.address);
            }
            NotEmbedded::AlreadyRunning(relay)
        }
    })?;
    let (listener, tunnel_listener) = listeners(&file, before, gateway)?;
    follow(home, was_at, listener.local_addr()?);
    let running = server::start(Options {
        data,
        listener,
        tunnel_listener: Some(tunnel_listener),
        tunnels_by_url: false,
        tunnel_url: None,
        metrics_listener: None,
        ports: PublicPorts::Shared,
        port_range: None,
        fleet: None,
        run_dir: PathBuf::from(run_dir),
        domain: "localhost".to_owned(),
        public_url: None,
        external_ip: Ipv4Addr::LOCALHOST.to_string(),
        enrolment: Enrolment::WithToken,
        enroll_token: None,
        makes_invite: false,
        // A revoked connector knows no token of this relay, and no other is valid.
        begins_anew: true,
        quota: Quota::default(),
        trust_proxy: Vec::new(),
        pass_headers: Vec::new(),
        connections: None,
        answer_time: None,
        check_other_users,
    })
    .map_err(NotEmbedded::Start)?;
    for path in &running.set_aside {
        log::warn!("{}", set_aside_notice(path));
    }
    running.announce(&instance, true)?;
    let token = running.operator_token().clone();
    Ok(EmbeddedRelay {
        running,
        token,
        _instance: instance,
    })
}

impl EmbeddedRelay {
    /// Returns the server URL for the manager, by address: `localhost` may be IPv6 first.
    pub fn server(&self) -> String {
        format!("http://{}", self.running.address())
    }

    /// Returns its first port if another program uses it.
    pub fn port_taken(&self) -> Option<u16> {
        let is_first = self.running.address().port() == FIRST_PORTS.gateway;
        (!is_first).then_some(FIRST_PORTS.gateway)
    }

    /// Address of its gateway.
    pub fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// Addresses that it listens on, with their names.
    pub fn listeners(&self) -> [(SocketAddr, &'static str); 2] {
        [
            (self.running.address(), "the relay"),
            (self.running.tunnel_address(), "the relay's tunnel server"),
        ]
    }

    /// Returns the form of the sites' addresses, with `name` for the name of a site.
    pub fn site_url(&self, name: &str) -> String {
        self.running.site_url(name)
    }

    /// Files that could not be read and were set aside.
    pub fn set_aside(&self) -> &[PathBuf] {
        &self.running.set_aside
    }

    /// Saves the counters; see [`Running::save_counters`].
    pub fn save_counters(&self) {
        self.running.save_counters();
    }

    /// Stops it; see [`Running::stop`].
    pub fn stop(self) {
        self.running.stop();
    }
}

/// Keeps the connector's credentials for the new address of the gateway: the relay is the same one, and applications
/// keep their names.
fn follow(home: &DataDir, was_at: Option<u16>, now: SocketAddr) {
    let origin = |address: SocketAddr| format!("http://{address}");
    let Some(before) = was_at.map(|port| origin((Ipv4Addr::LOCALHOST, port).into())) else {
        return;
    };
    let followed = CredentialStore::new(home.clone()).follow(&before, &origin(now));
    if let Err(error) = followed {
        log::warn!("applications get new names: {error}");
    }
}

/// Binds the first ports, else those from before, else free ones, and saves them. In place of a relay that was at
/// `gateway`, that port and the former tunnel port come first.
fn listeners(
    file: &JsonFile<Ports>,
    before: Option<Ports>,
    gateway: Option<u16>,
) -> Result<(TcpListener, TcpListener), NotEmbedded> {
    let known = before.unwrap_or(FIRST_PORTS);
    let first = match gateway {
        Some(gateway) => Ports { gateway, ..known },
        None => FIRST_PORTS,
    };
    let gateway = first_free([first.gateway, known.gateway])?;
    let tunnel = first_free([first.tunnel, known.tunnel])?;
    let ports = Ports {
        gateway: gateway.local_addr()?.port(),
        tunnel: tunnel.local_addr()?.port(),
    };
    if before != Some(ports) {
        file.write(&ports)?;
    }
    Ok((gateway, tunnel))
}

fn first_free(ports: [u16; 2]) -> io::Result<TcpListener> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let found = ports.into_iter().find_map(|port| bind(port).ok());
    found.map_or_else(|| bind(0), Ok)
}
