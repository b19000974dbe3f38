//! Why there is no guest's account.

use std::fmt;

/// Why there is no guest's account.
#[derive(Debug)]
pub(crate) struct NoGuest {
    /// Message.
    pub(crate) message: String,
    /// Advice.
    pub(crate) hint: String,
}

impl NoGuest {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for NoGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no guest account: {}", self.message)
    }
}
