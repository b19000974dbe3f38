//! The gateway as the HTTP server knows it, and the tunnels that come in through the visitors' listener.

use std::fmt;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

use super::forwarded::{FORWARDED_FOR, source};
use super::gateway_state::{GatewayConfig, GatewayState};
use super::request_stats::RequestStats;
use super::site::Sites;
use super::visitor_connection::VisitorConnection;
use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::http::server::connection_handler;
use crate::http::server::connection_handler::ConnectionHandler;
use crate::net::{Cidr, is_within};
use crate::tunnel::server::Intake;
use crate::tunnel::ws::UpgradeRequest;

/// The gateway; to be given to [`Server::start_with_gateway`](crate::http::Server::start_with_gateway).
pub struct Gateway {
    state: Arc<GatewayState>,
    tunnels: Option<TunnelIntake>,
}

impl Gateway {
    /// A gateway to these sites.
    pub fn new(config: GatewayConfig, sites: Arc<dyn Sites>) -> Gateway {
        Gateway {
            state: Arc::new(GatewayState::new(config, sites)),
            tunnels: None,
        }
    }

    /// Takes tunnels too.
    #[must_use]
    pub(crate) fn with_tunnels(self, tunnels: Option<TunnelIntake>) -> Gateway {
        Gateway { tunnels, ..self }
    }

    /// Returns a function that counts the running requests; it works also after the gateway was given away.
    pub(crate) fn running(&self) -> impl Fn() -> usize + Send + Sync + use<> {
        let permits = self.state.permits.all.clone();
        move || permits.out()
    }

    /// Returns the counters of the requests; they go on with the gateway.
    pub(crate) fn stats(&self) -> Arc<RequestStats> {
        Arc::clone(self.state.stats())
    }
}

impl connection_handler::Gateway for Gateway {
    fn visit(&self, peer: SocketAddr) -> Box<dyn ConnectionHandler> {
        let peer = peer.ip().to_canonical();
        Box::new(VisitorConnection::new(&self.state, peer))
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        is_within(peer, &self.state.config.trust_proxy)
    }

    fn count_refused(&self, status: u16) {
        self.state.stats().refuse_early(status);
    }

    fn is_tunnel(&self, target: &str) -> bool {
        let tunnels = self.tunnels.as_ref();
        tunnels.is_some_and(|tunnels| tunnels.is_at(target))
    }

    fn take_tunnel(&self, head: &Head, socket: TcpStream, peer: SocketAddr) -> Result<(), Refusal> {
        let none = || Refusal::new(404, "this relay takes no tunnels here");
        let tunnels = self.tunnels.as_ref().ok_or_else(none)?;
        tunnels.take(head, socket, peer, &self.state.config.trust_proxy)
    }

    fn is_https(&self) -> bool {
        self.state.config.secure
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("config", &self.state.config)
            .finish_non_exhaustive()
    }
}

/// Takes tunnels from the visitors' listener.
pub(crate) struct TunnelIntake {
    /// Paths at which a tunnel may begin.
    pub(crate) paths: Vec<String>,
    pub(crate) intake: Intake,
}

impl TunnelIntake {
    /// True if a request with this target is for a tunnel.
    pub(super) fn is_at(&self, target: &str) -> bool {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        self.paths.iter().any(|known| known == path)
    }

    /// Takes a connection over. Browsers send an `Origin` with each upgrade, and no page is to open a tunnel.
    pub(super) fn take(
        &self,
        head: &Head,
        socket: TcpStream,
        peer: SocketAddr,
        trusted: &[Cidr],
    ) -> Result<(), Refusal> {
        if head.headers.all("origin").next().is_some() {
            let why = "web pages cannot open a tunnel: send no Origin header";
            return Err(Refusal::new(403, why));
        }
        let request = UpgradeRequest::of(head)?;
        let ip: IpAddr = peer.ip().to_canonical();
        let ip = source(head.headers.all(FORWARDED_FOR), ip, trusted);
        self.intake.take(socket, (ip, peer.port()).into(), request)
    }
}
