//! Errors that end a connection, and mistakes of a caller.

use std::fmt;

use super::names::ChannelId;

/// A failure of the protocol, of the peer, or of a call.
///
/// Errors of [`Reader::next`](super::Reader::next) are final: a DISCONNECT is queued if the peer should be told; write
/// out what waits, then close.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The first line is no identification: the other end does not speak SSH.
    NotSsh,
    /// The two sides share no algorithm of this kind.
    NoCommonAlgorithm(&'static str),
    /// The peer broke a rule of the protocol.
    Protocol(&'static str),
    /// A packet was changed on its way, or the keys differ.
    Corrupt,
    /// The server could not prove that it owns its host key.
    BadSignature,
    /// The server showed another host key at a re-key.
    HostKeyChanged,
    /// The server does not offer authentication by password, or wants the password changed.
    NoPasswordAuth,
    /// The peer asked for a service other than logging in and channels.
    UnknownService,
    /// The peer of a server failed to log in too often.
    TooManyAuthTries,
    /// The peer goes on asking without reading the answers.
    Flooded,
    /// The peer ended the connection (RFC 4253 §11.1).
    Disconnected {
        /// The reason code of RFC 4253 §11.1.
        code: u32,
        /// The peer's text, without control characters.
        text: String,
    },
    /// The connection ended earlier, by a failure that was already reported or on demand.
    Closed,
    /// The system gave no random bytes.
    NoRandom,
    /// The key is damaged or of a kind that is not supported.
    BadKey,
    /// A call: this channel does not exist, or not any more.
    NoChannel(ChannelId),
    /// A call: as many channels or requests are open as may be, or no window is left.
    Exhausted(&'static str),
    /// A call: not at this time, or not with these arguments.
    Misuse(&'static str),
}

impl Error {
    /// The reason code of RFC 4253 §11.1 that the peer is told, where it is told at all.
    pub(super) fn reason(&self) -> Option<DisconnectReason> {
        match self {
            Self::NoCommonAlgorithm(_) | Self::NoRandom | Self::BadKey => {
                Some(DisconnectReason::KeyExchangeFailed)
            }
            Self::Protocol(_) | Self::Flooded => Some(DisconnectReason::ProtocolError),
            Self::Corrupt => Some(DisconnectReason::MacError),
            Self::UnknownService => Some(DisconnectReason::ServiceNotAvailable),
            Self::BadSignature | Self::HostKeyChanged => {
                Some(DisconnectReason::HostKeyNotVerifiable)
            }
            Self::NoPasswordAuth | Self::TooManyAuthTries => {
                Some(DisconnectReason::NoMoreAuthMethods)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSsh => write!(f, "the other end does not speak SSH"),
            Self::NoCommonAlgorithm(kind) => write!(f, "no {kind} in common with the other end"),
            Self::Protocol(what) => write!(f, "protocol error: {what}"),
            Self::Corrupt => write!(f, "a packet was damaged in transit"),
            Self::BadSignature => write!(f, "the server's host key signature is wrong"),
            Self::HostKeyChanged => write!(f, "the server changed its host key while connected"),
            Self::NoPasswordAuth => write!(f, "the server accepts no passwords"),
            Self::UnknownService => write!(f, "the other end asks for an unknown service"),
            Self::TooManyAuthTries => write!(f, "too many failed attempts to log in"),
            Self::Flooded => write!(f, "the other end sends without reading the answers"),
            Self::Disconnected { code, text } => {
                write!(f, "the other end disconnected ({code}): {text}")
            }
            Self::Closed => write!(f, "the connection has ended"),
            Self::NoRandom => write!(f, "the system provides no random bytes"),
            Self::BadKey => write!(f, "the key is damaged or of an unknown kind"),
            Self::NoChannel(channel) => write!(f, "{channel} is closed"),
            Self::Exhausted(what) => write!(f, "too many {what}"),
            Self::Misuse(what) => write!(f, "{what}"),
        }
    }
}

impl std::error::Error for Error {}

/// Reason for ending a connection, a code of RFC 4253 §11.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// 2: the peer broke a rule.
    ProtocolError,
    /// 3: no algorithm in common.
    KeyExchangeFailed,
    /// 5: a packet's tag is wrong.
    MacError,
    /// 7: a service that is not offered.
    ServiceNotAvailable,
    /// 9: the host key is not the expected one.
    HostKeyNotVerifiable,
    /// 11: this side has done what it wanted, or is shutting down.
    ByApplication,
    /// 14: too many attempts to log in.
    NoMoreAuthMethods,
}

impl DisconnectReason {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::ProtocolError => 2,
            Self::KeyExchangeFailed => 3,
            Self::MacError => 5,
            Self::ServiceNotAvailable => 7,
            Self::HostKeyNotVerifiable => 9,
            Self::ByApplication => 11,
            Self::NoMoreAuthMethods => 14,
        }
    }
}

/// Reason for not opening a channel, a code of RFC 4254 §5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelOpenFailure {
    /// 1: the target or type is not allowed.
    AdministrativelyProhibited,
    /// 2: the target does not answer.
    ConnectFailed,
    /// 3: the channel type is not known.
    UnknownChannelType,
    /// 4: too many channels.
    ResourceShortage,
}

impl ChannelOpenFailure {
    pub(in crate::tunnel) fn code(self) -> u32 {
        match self {
            Self::AdministrativelyProhibited => 1,
            Self::ConnectFailed => 2,
            Self::UnknownChannelType => 3,
            Self::ResourceShortage => 4,
        }
    }
}
