//! Errors, in kinds that differ in what a user can try.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tungstenite::protocol::frame::coding::CloseCode;

use crate::net::{AddressClass, in_words};

/// Stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectStage {
    /// Finding the addresses of a host.
    Resolve,
    /// Opening a TCP connection.
    Connect,
    /// Waiting for a proxy to connect.
    Proxy,
    /// The TLS handshake.
    Tls,
    /// The HTTP upgrade to a WebSocket.
    Upgrade,
    /// Waiting for the first message of the tunnel server.
    Greeting,
}

impl fmt::Display for ConnectStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "name resolution",
            Self::Connect => "TCP connect",
            Self::Proxy => "proxy CONNECT",
            Self::Tls => "TLS handshake",
            Self::Upgrade => "WebSocket upgrade",
            Self::Greeting => "SSH identification",
        })
    }
}

/// Reason that [`dial`](super::dial()) made no WebSocket.
#[derive(Debug)]
#[non_exhaustive]
pub enum DialError {
    /// [`Cancel`](super::Cancel) was given.
    Cancelled,
    /// An option cannot be used; nothing was sent.
    Settings(String),
    /// This machine is short of something: descriptors, threads, memory.
    Resources(io::Error),
    /// The host has no address.
    Resolve {
        /// The host, or the proxy's.
        host: String,
        /// The resolver's words.
        reason: String,
        /// True if it is the proxy's.
        is_proxy: bool,
    },
    /// Every address of the host is further inside the network than the server that named it may lead.
    TooFarInside {
        /// The host.
        host: String,
        /// One of its addresses.
        address: IpAddr,
        /// Innermost class that was allowed.
        innermost: AddressClass,
    },
    /// No address took the connection.
    Connect {
        /// Host and port.
        to: String,
        /// Every address that was tried, with its error.
        tried: Vec<(SocketAddr, io::Error)>,
        /// True if that is the proxy.
        is_proxy: bool,
    },
    /// Nothing, or not enough, came in time.
    TimedOut {
        /// Stage that timed out.
        stage: ConnectStage,
        /// The limit.
        after: Duration,
    },
    /// The connection broke.
    Broken {
        /// Stage that broke.
        stage: ConnectStage,
        /// Its cause.
        error: io::Error,
    },
    /// The proxy wants other credentials.
    ProxyCredentials {
        /// Scheme of its address.
        scheme: &'static str,
        /// The proxy's host and port.
        proxy: String,
    },
    /// The proxy does not let the connection through.
    ProxyRefused {
        /// The proxy's host and port.
        proxy: String,
        /// Its HTTP status with the phrase beside it, or the meaning of its SOCKS reply.
        reason: String,
    },
    /// The proxy does not speak its protocol.
    ProxyMalformed {
        /// Name of the protocol, with its article.
        protocol: &'static str,
        /// The proxy's host and port.
        proxy: String,
        /// Its fault.
        reason: String,
    },
    /// The server's certificate is not trusted.
    Certificate {
        /// The server's host.
        host: String,
        /// Its fault.
        problem: CertificateProblem,
    },
    /// TLS failed in another way; often the server speaks none on this port.
    Tls(String),
    /// An HTTP answer other than 101.
    NotATunnelServer {
        /// Its status.
        status: u16,
        /// The phrase beside it.
        reason: String,
        /// Target of its redirect.
        location: Option<String>,
    },
    /// The answer is no HTTP, or a 101 that does not fit the request.
    BadUpgrade(String),
}

/// Fault of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateProblem {
    /// No trusted authority signed it.
    UnknownIssuer,
    /// It is no longer valid.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// It is for other names.
    WrongName,
    /// It was revoked.
    Revoked,
    /// It is an authority's own, which may only sign others.
    Authority,
    /// Something else, in the library's words.
    Other(String),
}

impl fmt::Display for CertificateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownIssuer => f.write_str(
                "no trusted authority signed it (name your own authority's certificate in SSL_CERT_FILE)",
            ),
            Self::Expired => f.write_str("it has expired (or this machine's clock is wrong)"),
            Self::NotYetValid => f.write_str("it is not valid yet (is this machine's clock right?)"),
            Self::WrongName => f.write_str("it was issued for another name"),
            Self::Revoked => f.write_str("it was revoked"),
            Self::Authority => f.write_str(
                "it is an authority's certificate, not a server's (have it issued without CA:TRUE)",
            ),
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl DialError {
    /// Advice for a cause that has one of its own; none where the server or the network in general may be the cause.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Settings(_) => "correct this setting",
            Self::Resources(_) => "close other programs, or raise this machine's limits",
            Self::Resolve { is_proxy: true, .. } => "check the proxy's name in HTTPS_PROXY",
            Self::Resolve { .. } => NO_NAME,
            Self::Connect { is_proxy: true, .. } => {
                "check the proxy's address and port in HTTPS_PROXY, and that the proxy runs"
            }
            Self::TimedOut { stage, .. } | Self::Broken { stage, .. }
                if *stage == ConnectStage::Proxy =>
            {
                "check the proxy's address and port in HTTPS_PROXY, or ask the administrator of this network"
            }
            Self::ProxyCredentials { .. } => {
                "give the proxy's user name and password in HTTPS_PROXY; the administrator of this network knows them"
            }
            Self::ProxyRefused { reason, .. } if reason.starts_with('5') => {
                "the proxy does not reach the relay: check the relay's URL and that the relay runs, or ask the \
                 administrator of this network"
            }
            Self::ProxyRefused { .. } => {
                "ask the administrator of this network to allow this address at the proxy"
            }
            Self::ProxyMalformed { .. } => {
                "check HTTPS_PROXY: http://HOST:PORT is for an HTTP proxy, socks5h://HOST:PORT for a SOCKS5 proxy"
            }
            Self::Certificate { problem, .. } => match problem {
                CertificateProblem::Expired | CertificateProblem::NotYetValid => {
                    "check this machine's clock, or ask the relay's operator to renew the certificate"
                }
                CertificateProblem::UnknownIssuer => {
                    "set SSL_CERT_FILE to the certificate of the authority: your own, or the one of a proxy that \
                     inspects TLS"
                }
                _ => "check the relay's URL, or ask the relay's operator for a correct certificate",
            },
            Self::Tls(_) => "check the scheme and the port of the URL",
            Self::NotATunnelServer { status: 426, .. } => {
                "let the web server or proxy in front of the relay pass WebSockets, or ask the administrator of this \
                 network to allow them"
            }
            Self::NotATunnelServer { status: 403, .. } => {
                "ask the administrator of this network, or the relay's operator, to allow this address"
            }
            _ => return None,
        })
    }
}

/// Advice for a name without an address.
pub(crate) const NO_NAME: &str =
    "check the name and this machine's network; if this network uses a proxy, set HTTPS_PROXY";

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Settings(reason) => f.write_str(reason),
            Self::Resources(error) => {
                write!(f, "this machine is short of resources: {}", in_words(error))
            }
            Self::Resolve {
                host,
                reason,
                is_proxy,
            } => {
                let of = if *is_proxy { " of the proxy" } else { "" };
                write!(f, "cannot find the host {host}{of}: {reason}")
            }
            Self::TooFarInside {
                host,
                address,
                innermost,
            } => too_far_inside(f, host, *address, *innermost),
            Self::Connect {
                to,
                tried,
                is_proxy: false,
            } => connect(f, to, tried),
            Self::Connect { to, tried, .. } => connect(f, &format!("the proxy {to}"), tried),
            Self::TimedOut { stage, after } => {
                write!(f, "{stage} timed out after {} s", after.as_secs_f32())
            }
            Self::Broken { stage, error } => {
                write!(f, "the connection broke during {stage}: {}", plain(error))
            }
            Self::ProxyCredentials { scheme, proxy } => {
                write!(
                    f,
                    "the proxy {proxy} needs valid credentials: give them as {scheme}://USER:PASS@{proxy}"
                )
            }
            Self::ProxyRefused { proxy, reason } => {
                write!(f, "the proxy {proxy} refused the connection: {reason}")
            }
            Self::ProxyMalformed {
                protocol,
                proxy,
                reason,
            } => {
                write!(f, "{proxy} does not answer like {protocol} proxy: {reason}")
            }
            Self::Certificate { host, problem } => {
                write!(f, "the certificate of {host} is not trusted: {problem}")
            }
            Self::Tls(reason) => write!(f, "TLS failed: {reason}"),
            Self::NotATunnelServer {
                status,
                reason,
                location,
            } => {
                f.write_str(match status {
                    403 => "a proxy or web server blocks it: it answered ",
                    426 => {
                        "a proxy or web server in between removes the Upgrade header: it answered "
                    }
                    _ => "not a tunnel server: it answered ",
                })?;
                write!(f, "{status}")?;
                if !reason.is_empty() {
                    write!(f, " {reason}")?;
                }
                match location {
                    None => Ok(()),
                    Some(location) => write!(f, " and redirects to {location}"),
                }
            }
            Self::BadUpgrade(reason) => write!(f, "not a tunnel server: {reason}"),
        }
    }
}

fn too_far_inside(
    f: &mut fmt::Formatter<'_>,
    host: &str,
    address: IpAddr,
    innermost: AddressClass,
) -> fmt::Result {
    write!(f, "the server names {host}")?;
    if host.parse() != Ok(address) {
        write!(f, " ({address})")?;
    }
    match AddressClass::of(address) {
        None => write!(
            f,
            " for tunnels, which cannot be a server's address: not dialled"
        ),
        Some(_) => write!(
            f,
            " for tunnels, which is less public than the server itself ({innermost}): not dialled"
        ),
    }
}

fn connect(f: &mut fmt::Formatter<'_>, to: &str, tried: &[(SocketAddr, io::Error)]) -> fmt::Result {
    write!(f, "cannot connect to {to}")?;
    for (index, (address, error)) in tried.iter().enumerate() {
        let before = if index == 0 { ": " } else { ", " };
        match tried.len() {
            1 => write!(f, "{before}{}", plain(error))?,
            _ => write!(f, "{before}{address} {}", plain(error))?,
        }
    }
    Ok(())
}

fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::TimedOut => "timed out".to_owned(),
        _ => in_words(error),
    }
}

impl std::error::Error for DialError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Resources(error) | Self::Broken { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Reason that [`accept`](super::accept()) gave up on a connection, for the log.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// [`Cancel`](super::Cancel) was given.
    Cancelled,
    /// The handshake took longer than allowed.
    TimedOut(ConnectStage),
    /// The connection broke, or this machine is short of descriptors.
    Io(io::Error),
    /// The TLS handshake failed.
    Tls(String),
    /// Not HTTP; it was answered with this status.
    Malformed {
        /// The status.
        status: u16,
        /// Its fault.
        reason: String,
    },
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::TimedOut(stage) => write!(f, "the client did not finish the {stage} in time"),
            Self::Io(error) => write!(f, "the connection broke: {error}"),
            Self::Tls(reason) => write!(f, "TLS failed: {reason}"),
            Self::Malformed { status, reason } => write!(f, "refused with {status}: {reason}"),
        }
    }
}

impl std::error::Error for AcceptError {}

/// A broken rule of RFC 6455; it comes inside an [`io::Error`] of kind `InvalidData`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// §5.2: a reserved bit without an extension that gives it a meaning.
    ReservedBit,
    /// §5.2: an opcode without a meaning.
    Opcode,
    /// §5.2: a length not in the shortest form.
    Length,
    /// A payload over [`MAX_FRAME`](super::MAX_FRAME).
    TooLong,
    /// §5.1: a client's frame without a mask.
    Unmasked,
    /// §5.1: a server's frame with a mask.
    Masked,
    /// §5.5: a control frame in fragments or over 125 bytes.
    Control,
    /// §5.4: a continuation of nothing.
    Continuation,
    /// §5.4: a new message inside another.
    Interleaved,
    /// A text message: the tunnel's are binary.
    Text,
    /// §5.5.1, §7.4: a close frame of one byte, or with a code that none may send.
    Close,
}

impl FrameError {
    /// The status code of the close frame that answers it (§7.4.1).
    pub(super) fn code(self) -> CloseCode {
        match self {
            Self::Text => CloseCode::Unsupported,
            Self::TooLong => CloseCode::Size,
            _ => CloseCode::Protocol,
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::ReservedBit => "a frame with a reserved bit",
            Self::Opcode => "a frame of unknown kind",
            Self::Length => "a frame whose length is not in the shortest form",
            Self::TooLong => "a frame over 64 MiB",
            Self::Unmasked => "a client's frame without a mask",
            Self::Masked => "a server's frame with a mask",
            Self::Control => "a control frame in fragments or over 125 bytes",
            Self::Continuation => "a continuation of no message",
            Self::Interleaved => "a message inside another",
            Self::Text => "a text message",
            Self::Close => "a malformed close frame",
        };
        write!(f, "the peer broke the WebSocket protocol: {what}")
    }
}

impl std::error::Error for FrameError {}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
