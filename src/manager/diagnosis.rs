//! Network checks of `postern doctor` and `postern server trust`, which change nothing.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Checks whether an application answers: by one connection, and with HTTP by `HEAD /`. It does not sign in to a
/// database.
pub(crate) use super::connection::answers as look_at_application;
use super::quick_setup;
pub use super::quick_setup::{ConnectorStanding, NoAnswer, SetupEndpoint};
use super::remote::Connector;
use super::server_url::ServerUrl;
use crate::net::authority::resolve;
use crate::net::in_words;
use crate::store::{Credentials, DataDir};
use crate::tunnel::client::{
    Failure, GREETING, HostKeyChange, HostKeyCheck, READY_WITHIN, Settings, Tunnel, Way,
};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::ws::{Cancel, DialError, DialOptions, Endpoint, dial, environment_proxy};

/// Time for the answer to one call.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Findings about a remote server. Checks after a failure are skipped.
pub struct ServerReport {
    /// The addresses of its name; none behind a proxy, which resolves it.
    pub addresses: Option<Result<Vec<IpAddr>, String>>,
    /// The connection to it, including TLS.
    pub connection: Option<Result<(), ConnectionProblem>>,
    /// Answer at the address of quick-setup calls.
    pub quick_setup: Option<Result<SetupEndpoint, NoAnswer>>,
}

/// Reason that there is no connection.
pub enum ConnectionProblem {
    /// The network, or the server is down.
    Network(NoAnswer),
    /// TLS, or its certificate.
    Tls(NoAnswer),
}

impl From<DialError> for NoAnswer {
    fn from(error: DialError) -> Self {
        Self {
            advice: error.advice(),
            ..Self::from(in_words(error))
        }
    }
}

/// The tunnel server that a remote server has assigned.
pub struct TunnelReport {
    /// Name by which its host key is known.
    pub address: String,
    /// The ways to it, the port's first.
    pub ways: Vec<WayReport>,
    /// Host key of the server, with the known one; none if nothing answers.
    pub host_key: Option<Result<HostKeyChange, String>>,
}

/// Result of one way to a tunnel server.
pub struct WayReport {
    /// The way.
    pub way: Way,
    /// `host:port`, or the URL.
    pub address: String,
    /// Answer of the tunnel server there.
    pub answer: Result<(), NoAnswer>,
}

/// Looks at a server. It waits for the network.
pub fn look_at_server(server: &ServerUrl) -> ServerReport {
    let mut look = ServerReport {
        addresses: None,
        connection: None,
        quick_setup: None,
    };
    let endpoint = server.endpoint();
    if matches!(environment_proxy(endpoint), Ok(None)) {
        let found = resolve(&endpoint.host, endpoint.port);
        let found = found.map_err(in_words);
        let found = found.map(|all| all.iter().map(std::net::SocketAddr::ip).collect());
        let is_known = Result::is_ok(&found);
        look.addresses = Some(found);
        if !is_known {
            return look;
        }
    }
    let connection = connect(endpoint);
    let is_connected = connection.is_ok();
    look.connection = Some(connection);
    if is_connected {
        look.quick_setup = Some(quick_setup::look(server, ANSWER_WITHIN));
    }
    look
}

/// Asks a relay of ours for the standing of this connector; none if it never enrolled, or the server cannot be asked.
/// It waits for the network. The password is sent as for a sign-in: not off this machine without TLS.
pub fn look_at_standing(
    server: &ServerUrl,
    credentials: &Credentials,
) -> Option<ConnectorStanding> {
    let is_safe = ServerUrl::parse(&server.to_string(), false).is_ok();
    if !is_safe || !credentials.accepted {
        return None;
    }
    quick_setup::standing(server, credentials)
}

/// Connects to a server; one that refuses the upgrade was reached.
fn connect(endpoint: &Endpoint) -> Result<(), ConnectionProblem> {
    match dial(endpoint, &DialOptions::default(), &Cancel::new()) {
        Ok(_) | Err(DialError::NotATunnelServer { .. } | DialError::BadUpgrade(_)) => Ok(()),
        Err(error @ (DialError::Certificate { .. } | DialError::Tls(_))) => {
            Err(ConnectionProblem::Tls(error.into()))
        }
        Err(error) => Err(ConnectionProblem::Network(error.into())),
    }
}

/// Reason that a new server may be of no use.
pub enum ServerProblem {
    /// Nothing answers there.
    Unreachable(NoAnswer),
    /// It rejects this connector.
    Refused(String),
    /// It gets too many calls, or has reached its limit of connectors.
    OverLimit(String),
}

/// Checks that a server exists and would accept the connector of the credentials with the token; nothing is set up.
/// The token goes to servers alone that are reached by TLS or are on this machine. It waits for the network.
pub fn look_at_new_server(
    server: &ServerUrl,
    enrolling: Option<(&Credentials, &str)>,
) -> Result<(), ServerProblem> {
    quick_setup::look(server, ANSWER_WITHIN).map_err(ServerProblem::Unreachable)?;
    let is_private = server.endpoint().secure || server.is_loopback();
    let Some((credentials, token)) = enrolling.filter(|_| is_private) else {
        return Ok(());
    };
    match quick_setup::would_enrol(server, credentials, token, ANSWER_WITHIN) {
        Ok(_) => Ok(()),
        Err(quick_setup::Failure::Status { status: 429, said }) => {
            Err(ServerProblem::OverLimit(said))
        }
        Err(
            quick_setup::Failure::Unauthorized { said } | quick_setup::Failure::Status { said, .. },
        ) => Err(ServerProblem::Refused(said)),
        Err(other) => Err(ServerProblem::Unreachable(NoAnswer {
            advice: Some(other.hint()),
            ..NoAnswer::from(other.to_string())
        })),
    }
}

/// Looks at the tunnel server that `server` has assigned; none if it has assigned none yet. No password is sent.
pub fn look_at_tunnel(
    home: &DataDir,
    server: &ServerUrl,
    credentials: &Credentials,
) -> Option<TunnelReport> {
    let connector = Connector::of(server.origin(), credentials)?;
    let endpoint = connector.endpoint().ok()?;
    let options = DialOptions {
        innermost: Some(connector.server_class),
        greeting: Some(GREETING),
        ..DialOptions::default()
    };
    let url = connector.tunnel_url.as_ref();
    let port = Some(&endpoint).filter(|port| Some(*port) != url);
    let look = |way, to: &Endpoint, address| WayReport {
        way,
        address,
        answer: dial(to, &options, &Cancel::new())
            .map(drop)
            .map_err(NoAnswer::from),
    };
    let port = port.map(|port| look(Way::Port, port, port.authority()));
    let url = url.map(|url| look(Way::Url, url, url.to_string()));
    let ways: Vec<WayReport> = port.into_iter().chain(url).collect();
    let is_there = ways.iter().any(|way| way.answer.is_ok());
    Some(TunnelReport {
        address: endpoint.server(),
        host_key: is_there
            .then(|| look_at_host_key(home, server, credentials))
            .flatten(),
        ways,
    })
}

/// Returns the host key of the tunnel server that `server` has assigned, with the known key, which may be empty; none
/// if it has assigned none yet. No password is sent.
pub fn look_at_host_key(
    home: &DataDir,
    server: &ServerUrl,
    credentials: &Credentials,
) -> Option<Result<HostKeyChange, String>> {
    let connector = Connector::of(server.origin(), credentials)?;
    let known = KnownServers::new(home.clone()).named_by(server.origin());
    let mut settings = Settings::new(connector.endpoint().ok()?, Vec::new());
    settings.url.clone_from(&connector.tunnel_url);
    settings.dial.innermost = Some(connector.server_class);
    settings.host_key = HostKeyCheck::Shown(Arc::new(known));
    let (told, failures) = crossbeam_channel::bounded(1);
    settings.on_failed = Some(Box::new(move |failure, _| {
        // One message is enough.
        let _ = told.try_send(failure.clone());
    }));
    let tunnel = match Tunnel::start(settings) {
        Ok(tunnel) => tunnel,
        Err(error) => return Some(Err(error.to_string())),
    };
    let failure = failures.recv_timeout(READY_WITHIN);
    tunnel.stop();
    Some(match failure {
        Ok(Failure {
            host_key: Some(change),
            ..
        }) => Ok(change),
        Ok(failure) => Err(failure.message),
        Err(_) => Err("it does not answer".to_owned()),
    })
}

/// Trusts the offered key from now on, whichever server named that tunnel server.
pub fn trust_host_key(home: &DataDir, change: &HostKeyChange) -> Result<(), String> {
    KnownServers::new(home.clone())
        .trust_change(&change.server, &change.known, &change.offered)
        .map_err(in_words)
}
