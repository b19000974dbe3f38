//! How an exchange ended.

use std::borrow::Cow;
use std::io;

use crate::http::h1::Refusal;

/// How an exchange ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The whole answer has been sent.
    Done {
        /// True if the client's connection may be used again.
        keeps_client: bool,
        /// True if the upstream may.
        keeps_upstream: bool,
    },
    /// From here on bytes go both ways.
    Upgraded,
    /// Not a byte came, and the upstream was closed, or broke.
    Unanswered(Option<io::Error>),
    /// The bytes are no answer; the client is still to be told.
    NotHttp(Cow<'static, str>),
    /// The upstream took too long; the client is still to be told.
    TooSlow {
        /// True if it had the whole request.
        has_request: bool,
    },
    /// The request's body cannot be passed on; the client is still to be told.
    Refused(Refusal),
    /// The answer broke off after a part of it had been sent.
    BrokenOff {
        /// True if the client can tell that from its framing.
        shows: bool,
    },
    /// The client has gone, or takes nothing.
    Gone,
}

impl Outcome {
    /// True if the upstream may be used again.
    pub(crate) fn keeps_upstream(&self) -> bool {
        matches!(self, Self::Done { keeps_upstream, .. } if *keeps_upstream)
    }
}
