//! Events of the reader for its caller.

use std::fmt;
use std::time::Duration;

use super::hostkey::HostKey;
use super::names::{ChannelId, RequestId};

/// One thing that happened. Borrowed data lies in the reader's buffer.
#[derive(PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The protocol dealt with a packet itself; there may be more, and output may wait.
    Handled,
    /// Client: the server has proved that it owns this key. Compare it with what is known; then either
    /// [`Session::authenticate`](super::Session::authenticate), which means trust, or
    /// [`Session::disconnect`](super::Session::disconnect).
    HostKey(HostKey),
    /// Client: the server has refused user name or password. It may be tried again with
    /// [`Session::authenticate`](super::Session::authenticate).
    AuthFailure,
    /// Server: somebody wants to log in. Answer with [`Session::answer_auth`](super::Session::answer_auth);
    /// [`Reader::next`](super::Reader::next) stands still until then.
    PasswordAuth {
        /// The user name, as sent.
        user: &'a str,
        /// The password, as sent. Wiped from the buffer afterwards.
        password: &'a str,
    },
    /// Client: logged in; requests and channels may be opened from now on.
    AuthSuccess,
    /// New keys are in use in both directions.
    Rekeyed,
    /// The peer's global request (RFC 4254 §4).
    GlobalRequest {
        /// For [`Session::reply`](super::Session::reply); absent when no reply is wanted.
        id: Option<RequestId>,
        /// Its name.
        name: &'a str,
        /// Its data, raw.
        data: &'a [u8],
    },
    /// The answer to this side's global request.
    RequestReply {
        /// Its number.
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
    ChannelOpen {
        /// This side's number for it.
        channel: ChannelId,
        /// Its type.
        kind: &'a str,
        /// Bytes behind the standard fields, raw.
        extra: &'a [u8],
    },
    /// The peer has confirmed this side's channel.
    ChannelOpenConfirmation {
        /// This side's number for it.
        channel: ChannelId,
    },
    /// The peer has refused this side's channel, which exists no more.
    ChannelOpenFailure {
        /// This side's number for it.
        channel: ChannelId,
        /// The reason code of RFC 4254 §5.1.
        code: u32,
        /// The peer's text, raw.
        text: &'a [u8],
    },
    /// Data for a channel, at most 32 KiB. Call [`Session::consume`](super::Session::consume) when it has
    /// been used. May still come for a channel that was closed here: drop it then.
    Data {
        /// This side's number for it.
        channel: ChannelId,
        /// The bytes, in the reader's buffer.
        data: &'a [u8],
    },
    /// The peer sends no more data on this channel (RFC 4254 §5.3).
    Eof {
        /// This side's number for it.
        channel: ChannelId,
    },
    /// The peer has closed the channel; nothing can be sent on it any more. Call
    /// [`Session::close`](super::Session::close) when its received data has been dealt with.
    Closed {
        /// This side's number for it.
        channel: ChannelId,
    },
    /// A channel whose last write was cut short may be written to again.
    Writable {
        /// This side's number for it.
        channel: ChannelId,
    },
}

impl fmt::Debug for Event<'_> {
    /// Sizes in place of contents: data and passwords stay out of every log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handled => write!(f, "Handled"),
            Self::HostKey(key) => write!(f, "HostKey({})", key.fingerprint()),
            Self::AuthFailure => write!(f, "AuthFailure"),
            Self::PasswordAuth { .. } => write!(f, "PasswordAuth(***)"),
            Self::AuthSuccess => write!(f, "AuthSuccess"),
            Self::Rekeyed => write!(f, "Rekeyed"),
            Self::GlobalRequest { name, data, .. } => {
                write!(f, "GlobalRequest({name}, {} B)", data.len())
            }
            Self::RequestReply { success, data, .. } => {
                write!(f, "RequestReply({success}, {} B)", data.len())
            }
            Self::ChannelOpen { channel, kind, .. } => write!(f, "ChannelOpen({channel}, {kind})"),
            Self::ChannelOpenConfirmation { channel } => {
                write!(f, "ChannelOpenConfirmation({channel})")
            }
            Self::ChannelOpenFailure { channel, code, .. } => {
                write!(f, "ChannelOpenFailure({channel}, {code})")
            }
            Self::Data { channel, data } => write!(f, "Data({channel}, {} B)", data.len()),
            Self::Eof { channel } => write!(f, "Eof({channel})"),
            Self::Closed { channel } => write!(f, "Closed({channel})"),
            Self::Writable { channel } => write!(f, "Writable({channel})"),
        }
    }
}
