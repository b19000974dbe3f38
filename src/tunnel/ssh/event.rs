//! What the reader tells its caller.

use std::fmt;
use std::time::Duration;

use super::hostkey::HostKey;
use super::ids::{ChannelId, RequestId};

/// One thing that happened. What it borrows lies in the reader's buffer.
#[derive(PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The protocol dealt with a packet itself; there may be more, and output may wait.
    Quiet,
    /// Client: the server has proved that it owns this key. Compare it with what is known; then either
    /// [`Session::login`](super::Session::login), which means trust, or
    /// [`Session::disconnect`](super::Session::disconnect).
    HostKey(HostKey),
    /// Client: the server has refused user name or password. It may be tried again with
    /// [`Session::login`](super::Session::login).
    LoginRefused,
    /// Server: somebody wants to log in. Answer with [`Session::verdict`](super::Session::verdict);
    /// [`Reader::next`](super::Reader::next) stands still until then.
    Password {
        /// The user name, as sent.
        user: &'a str,
        /// The password, as sent. Wiped from the buffer afterwards.
        password: &'a str,
    },
    /// Client: logged in; requests and channels may be opened from now on.
    LoggedIn,
    /// New keys are in use in both directions.
    Rekeyed,
    /// The peer's global request (RFC 4254 §4).
    Request {
        /// For [`Session::reply`](super::Session::reply); absent when no reply is wanted.
        id: Option<RequestId>,
        /// Its name.
        name: &'a str,
        /// Its data, raw.
        data: &'a [u8],
    },
    /// The answer to this side's global request.
    Reply {
        /// Which one.
        id: RequestId,
        /// Success or failure.
        success: bool,
        /// Its data, raw.
        data: &'a [u8],
        /// From the request to its answer.
        round_trip: Duration,
    },
    /// The peer wants to open a channel: answer with [`Session::accept`](super::Session::accept) or
    /// [`Session::refuse`](super::Session::refuse).
    Open {
        /// This side's number for it.
        channel: ChannelId,
        /// Its type.
        kind: &'a str,
        /// What follows the standard fields, raw.
        extra: &'a [u8],
    },
    /// The peer has confirmed this side's channel.
    Opened {
        /// Which one.
        channel: ChannelId,
    },
    /// The peer has refused this side's channel, which exists no more.
    OpenRefused {
        /// Which one.
        channel: ChannelId,
        /// The reason code of RFC 4254 §5.1.
        code: u32,
        /// The peer's text, raw.
        text: &'a [u8],
    },
    /// Data for a channel, at most 32 KiB. Tell [`Session::consumed`](super::Session::consumed) when it has
    /// been used. May still come for a channel that was closed here: drop it then.
    Data {
        /// Which one.
        channel: ChannelId,
        /// The bytes, in the reader's buffer.
        data: &'a [u8],
    },
    /// The peer sends no more data on this channel (RFC 4254 §5.3).
    Eof {
        /// Which one.
        channel: ChannelId,
    },
    /// The peer has closed the channel; nothing can be sent on it any more. Call
    /// [`Session::close`](super::Session::close) when its received data has been dealt with.
    Closed {
        /// Which one.
        channel: ChannelId,
    },
    /// A channel whose last write was cut short may be written to again.
    Writable {
        /// Which one.
        channel: ChannelId,
    },
}

impl fmt::Debug for Event<'_> {
    /// Sizes in place of contents: data and passwords stay out of every log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quiet => write!(f, "Quiet"),
            Self::HostKey(key) => write!(f, "HostKey({})", key.fingerprint()),
            Self::LoginRefused => write!(f, "LoginRefused"),
            Self::Password { .. } => write!(f, "Password(***)"),
            Self::LoggedIn => write!(f, "LoggedIn"),
            Self::Rekeyed => write!(f, "Rekeyed"),
            Self::Request { name, data, .. } => write!(f, "Request({name}, {} B)", data.len()),
            Self::Reply { success, data, .. } => write!(f, "Reply({success}, {} B)", data.len()),
            Self::Open { channel, kind, .. } => write!(f, "Open({channel}, {kind})"),
            Self::Opened { channel } => write!(f, "Opened({channel})"),
            Self::OpenRefused { channel, code, .. } => write!(f, "OpenRefused({channel}, {code})"),
            Self::Data { channel, data } => write!(f, "Data({channel}, {} B)", data.len()),
            Self::Eof { channel } => write!(f, "Eof({channel})"),
            Self::Closed { channel } => write!(f, "Closed({channel})"),
            Self::Writable { channel } => write!(f, "Writable({channel})"),
        }
    }
}
