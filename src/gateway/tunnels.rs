//! Tunnels that come in where visitors do: at a path of the relay's own names.

use std::net::{IpAddr, SocketAddr, TcpStream};

use super::forwarded::{FORWARDED_FOR, source};
use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::net::Cidr;
use crate::tunnel::server::Intake;
use crate::tunnel::ws::UpgradeRequest;

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
