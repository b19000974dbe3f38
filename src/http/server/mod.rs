//! The strict HTTP/1.1 front that every listener shares.
//!
//! Pure parts, bytes in and verdicts out, without sockets or clocks: [`head`] (request and
//! response heads), [`body`] (framing), [`target`] (paths and queries), [`policy`] (Host,
//! Origin, Sec-Fetch), [`forward`] (how an answer is passed on), the parser of [`peer`].
//! Around them the parts that own sockets: `accept` (listener and connection table, within the
//! `budget`), `conn` (the loop of one connection) and `exchange` (one request and its answer).
//!
//! ```text
//!          head complete        checks pass, body read       answer ended, keep-alive
//! Waiting ───────────────▶ Body ──────────────────────▶ Exchange ──────────────▶ Waiting
//!    │ time, cap, syntax    │ time, cap, framing           │ client gone, aborted
//!    ▼                      ▼                              ▼
//!  refusal, lingering close                              close or reset
//! ```
//!
//! Nothing here knows tiny_http: what is behind the server is a `Backend`, and beside it, where
//! there is one, a [`connection_handler::Gateway`] that serves requests for other names itself.

pub mod connection_handler;
pub mod forward;
pub mod limits;
pub mod peer;
pub mod policy;

mod budget;
mod connection;
mod date;
mod exchange;
mod listener;
#[cfg(target_os = "linux")]
mod sock_diag;
mod socket;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixStream;

pub use budget::ExchangeSlot;
pub(crate) use budget::{raise_open_files, wanted_files};
pub(super) use listener::{Listener, ListenerConfig};
pub(crate) use socket::{BROKEN, READ_CLOSED, would_block};

use super::h1::head::Head;
use super::{ApiError, CancelToken};

/// What `Strict-Transport-Security` says (RFC 6797): for a year, this host name alone, on every port.
pub(crate) const HSTS: &str = "max-age=31536000";

/// Why something that came in was refused, with the status that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status of the answer.
    pub status: u16,
    /// What happened, and where it helps, what to try.
    pub message: Cow<'static, str>,
}

impl Refusal {
    /// A refusal with `status`.
    pub fn new(status: u16, message: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal {
            status,
            message: message.into(),
        }
    }

    /// 400: what came in is not HTTP/1.1 as we read it.
    pub(crate) fn malformed(message: &'static str) -> Refusal {
        Refusal::new(400, message)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.status)
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        ApiError::new(refusal.status, refusal.message)
    }
}

/// Who counts as one where connections or attempts are counted by source: an IPv4 address,
/// or an IPv6 /64, of which one host may use every address.
pub fn source(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            let network = ip.to_bits() >> 64 << 64;
            Ipv6Addr::from_bits(network).into()
        }
        other => other,
    }
}

/// What stands behind the server.
pub(super) trait Backend: Send + Sync {
    /// Opens the way for one checked request.
    fn open(
        &self,
        head: &Head,
        body: &[u8],
        peer: SocketAddr,
        client: &CancelToken,
    ) -> io::Result<Opened>;
}

/// The way to whoever answers one request.
pub(super) struct Opened {
    /// Where the request is written to and the answer comes from.
    pub(super) socket: UnixStream,
    /// The request as the backend wants it, to be written there.
    pub(super) request: Vec<u8>,
    /// Kept while the request is under way.
    pub(super) ticket: Box<dyn PendingResponse>,
}

/// Says whether a request has reached its handler; dropping it ends the request's entry.
pub(super) trait PendingResponse {
    /// Whether a handler has taken the request.
    fn is_taken(&self) -> bool;
}
