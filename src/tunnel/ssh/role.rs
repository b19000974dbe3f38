//! The two ends of a connection.

use super::names;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

impl Role {
    /// The other end.
    pub(super) fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// The identification that this end sends (RFC 4253 §4.2).
    pub(super) fn ident(self) -> &'static str {
        match self {
            Self::Client => names::CLIENT_IDENT,
            Self::Server => names::SERVER_IDENT,
        }
    }

    /// The name with which this end offers strict key exchange.
    pub(super) fn strict_kex(self) -> &'static str {
        match self {
            Self::Client => names::STRICT_CLIENT,
            Self::Server => names::STRICT_SERVER,
        }
    }
}
