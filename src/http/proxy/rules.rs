//! Rules of an exchange for its two sides, and its outcome.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use super::byte_stream::ClientStream;
use crate::http::h1::Refusal;
use crate::http::h1::answer::AnswerHead;
use crate::http::h1::head::Head;

/// The client's side of an exchange.
pub trait Client {
    /// The connection.
    fn stream(&mut self) -> &mut dyn ClientStream;

    /// Returns the bytes that have arrived and are not yet used. The bytes that belong to the request are to be taken
    /// out.
    fn inbox(&mut self) -> &mut Vec<u8>;

    /// Reads up to `most` bytes more into the inbox; 0 at the end.
    fn receive(&mut self, most: usize) -> io::Result<usize>;

    /// True if this is the last request that is served.
    fn is_stopping(&self) -> bool;

    /// Called when the request is whole and at work: the connection is not given up for another.
    fn mark_busy(&self);

    /// Called when the client does not take its answer: the connection is given up if there is no room for others.
    fn mark_stalled(&self);
}

/// Differences between an answer of our own worker and one of an application.
pub(crate) trait Rules {
    /// Writes the header lines of an answer, interim ones included: the lines that pass, and others that are written
    /// afresh. The status line, the framing and `Connection` are written around them.
    fn write_lines(&self, answer: &AnswerHead, out: &mut Vec<u8>);

    /// The protocol that the upstream was asked to change to.
    fn upgrade(&self) -> Option<&'static str> {
        None
    }

    /// True if a trailer of this name goes to a client that takes trailers.
    fn passes_trailer(&self, _name: &str) -> bool {
        true
    }

    /// True if interim answers (RFC 9110 section 15.2) go to the client.
    fn passes_interim(&self) -> bool {
        true
    }

    /// Names the protocol of an upstream whose answer begins with `input`, and not as HTTP does.
    fn name_protocol(&self, _input: &[u8]) -> &'static str {
        "it is not HTTP"
    }

    /// Time in which the answer must begin, from the last byte that moved, while no body is awaited from the client;
    /// `None` for no limit. Asked at each wait.
    fn answer_time(&self) -> Option<Duration>;

    /// Called when the upstream has the whole request. True if the client's connection is busy from here on.
    fn on_sent(&self) -> bool {
        true
    }

    /// True if a client that does not take its answer is given up when there is no room for others.
    fn gives_way(&self) -> bool {
        false
    }

    /// Called when the client sends nothing more, and has perhaps gone.
    fn on_client_left(&self) {}

    /// Bytes that the upstream took.
    fn count_up(&self, _bytes: usize) {}

    /// Bytes that the client took.
    fn count_down(&self, _bytes: usize) {}
}

/// Time limits of an exchange, beside [`Rules::answer_time`].
#[derive(Debug, Clone)]
pub(crate) struct Timeouts {
    /// For a client that takes nothing of its answer.
    pub(crate) write_stall: Duration,
    /// For a client that sends nothing of its body.
    pub(crate) body_stall: Duration,
    /// For the end of an answer whose client sends nothing more; `None` for no limit.
    pub(crate) gone_grace: Option<Duration>,
    /// For an upstream that is silent within its answer; `None` for no limit.
    pub(crate) silence: Option<Duration>,
}

/// Time for the end of an answer whose client sends nothing more. A browser never closes one way alone, so it has left.
/// All other clients may be waiting, however late the answer is; a client that has left does not answer the kernel's
/// probes.
pub(crate) fn gone_grace(head: &Head, grace: Duration) -> Option<Duration> {
    let mut of_browser = head.headers.all("sec-fetch-mode");
    of_browser.next().map(|_| grace)
}

/// End of an exchange.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The whole answer has been sent.
    Done {
        /// True if the client's connection may be used again.
        keeps_client: bool,
        /// True if the upstream may.
        keeps_upstream: bool,
    },
    /// The protocol was changed: bytes go both ways from here on.
    Upgraded,
    /// Not a byte came, and the upstream was closed or failed.
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
