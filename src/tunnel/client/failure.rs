//! Failures of tunnels, by what a user can do about it.

use std::fmt;

use crate::tunnel::mux::End;
use crate::tunnel::ssh;
use crate::tunnel::ws::DialError;

/// Characters of a server's own reason. Default 4 Ki: more than any that is one.
const REASON_CAP: usize = 4096;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The server cannot be reached, or the connection broke.
    Network,
    /// The server's name has no address.
    Dns,
    /// The server's address is none that may be dialled.
    AddressRefused,
    /// The proxy does not let the connection through.
    Proxy,
    /// The proxy wants other credentials.
    ProxyCredentials,
    /// TLS, or the certificate.
    Tls,
    /// The answer is not a tunnel server's.
    NotATunnelServer,
    /// The user name or the password is wrong.
    WrongPassword,
    /// The host key is not the known one.
    HostKeyChanged,
    /// The server does not allow a remote to this user.
    PermissionDenied,
    /// The server's port is in use, often by this tunnel's own dead connection.
    PortHeld,
    /// The server refuses for another reason.
    Refused,
    /// One side broke the protocol.
    Protocol,
    /// This machine is short of something, or a file cannot be used.
    Local,
}

impl Class {
    /// True if trying again soon would be hammering.
    pub(super) fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::WrongPassword | Self::HostKeyChanged | Self::AddressRefused
        )
    }

    /// True if the server does not know this user any more, or what was assigned to it.
    pub(crate) fn is_disowned(self) -> bool {
        matches!(self, Self::WrongPassword | Self::PermissionDenied)
    }
}

/// A failure: its kind, and what happened in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// Its kind.
    pub class: Class,
    /// Message: what happened, and if possible what to try.
    pub message: String,
    /// The two keys, where the host key is not the known one.
    pub host_key: Option<HostKeyChange>,
}

/// A host key that is not the known one. Fingerprints are base64 of SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostKeyChange {
    /// The server, `host:port`, as it is pinned.
    pub server: String,
    /// The key that is expected.
    pub known: String,
    /// The key that it showed.
    pub offered: String,
}

impl Failure {
    pub(super) fn new(class: Class, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            host_key: None,
        }
    }

    /// The host key is not the known one; `at` names another way than the port, `advice` is for a user who
    /// knows why it has changed.
    pub(super) fn of_host_key(
        server: String,
        at: &str,
        known: &str,
        offered: String,
        advice: &str,
    ) -> Self {
        let message = format!(
            "the server's host key{at} does not match: known {known}, now {offered}; no password was sent; if the server \
             was set up again, {advice}"
        );
        Self {
            host_key: Some(HostKeyChange {
                server,
                known: known.to_owned(),
                offered,
            }),
            ..Self::new(Class::HostKeyChanged, message)
        }
    }

    /// The text with which a server refuses the configuration.
    pub(super) fn of_config(text: &[u8]) -> Self {
        let whole = String::from_utf8_lossy(text);
        let mut text: String = whole
            .chars()
            .take(REASON_CAP)
            .filter(|c| !c.is_control())
            .collect();
        if whole.chars().nth(REASON_CAP).is_some() {
            text.push_str("… (cut)");
        }
        let class = match text.as_str() {
            text if text.contains("denied") => Class::PermissionDenied,
            text if text.contains("cannot listen") => Class::PortHeld,
            _ => Class::Refused,
        };
        if text.is_empty() {
            text.push_str("the server refused the remotes without a reason");
        }
        Self::new(class, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<DialError> for Failure {
    fn from(error: DialError) -> Self {
        let class = match &error {
            DialError::Resolve { .. } => Class::Dns,
            DialError::TooFarInside { .. } => Class::AddressRefused,
            DialError::ProxyCredentials { .. } => Class::ProxyCredentials,
            DialError::ProxyRefused { .. } | DialError::ProxyMalformed { .. } => Class::Proxy,
            DialError::Certificate { .. } | DialError::Tls(_) => Class::Tls,
            DialError::NotATunnelServer { .. } | DialError::BadUpgrade(_) => {
                Class::NotATunnelServer
            }
            DialError::Settings(_) | DialError::Resources(_) => Class::Local,
            _ => Class::Network,
        };
        Self::new(class, error.to_string())
    }
}

impl From<End> for Failure {
    fn from(end: End) -> Self {
        match end {
            End::Stopped | End::Handler => Self::new(Class::Network, "the connection has ended"),
            End::Link(reason) => {
                Self::new(Class::Network, format!("the connection broke: {reason}"))
            }
            End::Silent(time) => Self::new(
                Class::Network,
                format!("the server has not answered for {} s", time.as_secs()),
            ),
            End::NotReady(time) => Self::new(
                Class::Network,
                format!(
                    "the server did not finish the handshake within {} s",
                    time.as_secs()
                ),
            ),
            End::Resources(reason) => Self::new(
                Class::Local,
                format!("this machine is short of resources: {reason}"),
            ),
            End::Protocol(error) => Self::new(of_protocol(&error), error.to_string()),
        }
    }
}

fn of_protocol(error: &ssh::Error) -> Class {
    match error {
        ssh::Error::NotSsh => Class::NotATunnelServer,
        ssh::Error::NoPasswordAuth => Class::WrongPassword,
        ssh::Error::HostKeyChanged | ssh::Error::BadSignature => Class::HostKeyChanged,
        ssh::Error::Disconnected { .. } => Class::Network,
        _ => Class::Protocol,
    }
}
