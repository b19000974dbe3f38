//! Refusal of a malformed message.

use std::borrow::Cow;
use std::fmt;

/// Reason that a message was refused, with the status of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status of the answer.
    pub status: u16,
    /// Message: what happened and, if possible, what to try.
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
