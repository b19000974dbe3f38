//! The connection to the application.

use std::io;
use std::time::Duration;

use super::site_gateway::SiteGateway;
use crate::gateway::TlsStream;
use crate::http::proxy::ByteStream;
use crate::net::keep_alive;
use crate::tunnel::target;

/// Time to connect, all addresses of a name together: the same as for a stream that is not HTTP.
const CONNECT_WITHIN: Duration = crate::limits::CONNECT_WITHIN;
/// Silence after which the kernel asks whether the application's machine is still there, and between its questions.
const PROBE_AFTER: Duration = Duration::from_secs(60);
const PROBE_EVERY: Duration = Duration::from_secs(15);

/// Connects, and begins TLS where the application speaks it: under the name that was set, or the host
/// that it is asked by. Given up when `unwanted` becomes true.
pub(super) fn open(
    gateway: &SiteGateway,
    asked_host: &str,
    unwanted: impl Fn() -> bool,
) -> io::Result<Box<dyn ByteStream>> {
    let (host, port) = &gateway.target;
    let may_dial = gateway.may_dial.as_ref();
    let socket = target::connect(host, *port, CONNECT_WITHIN, may_dial, unwanted)?;
    socket.set_nodelay(true)?;
    keep_alive(&socket, PROBE_AFTER, PROBE_EVERY, None)?;
    let Some(tls) = &gateway.tls else {
        return Ok(Box::new(socket));
    };
    let name = gateway
        .names
        .naming
        .tls_name
        .as_deref()
        .unwrap_or(asked_host);
    // A visitor may send any text for a name.
    let named = tls.connection(name).or_else(|_| tls.connection(host));
    let tls = named.map_err(io::Error::other)?;
    Ok(Box::new(TlsStream::new(tls, Box::new(socket))))
}
