//! Errors of a connection's work.

use crate::api::ErrorClass;
use crate::net::in_words;

/// Reason that the connect sequence ended early.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The stop signal was given.
    Stopped,
    /// A step failed.
    Failed(ConnectError),
}

impl From<ConnectError> for Ended {
    fn from(error: ConnectError) -> Self {
        Self::Failed(error)
    }
}

/// Failure of a step.
#[derive(Debug, Default)]
pub(crate) struct ConnectError {
    /// Message, in the specification's words if it has any.
    pub(crate) error: String,
    /// Kind of failure, unless a tunnel tells it.
    pub(crate) class: Option<ErrorClass>,
    /// True if it came from waiting for a tunnel, which knows more.
    pub(crate) is_of_tunnel: bool,
    /// True if the same call would be refused again, whatever its kind: some databases lock an account that is tried
    /// too often.
    pub(crate) is_refusal: bool,
    /// Hint; empty if the kind implies it.
    pub(crate) hint: &'static str,
}

impl ConnectError {
    pub(crate) fn new(class: ErrorClass, error: impl Into<String>) -> Self {
        Self {
            error: in_words(error.into()),
            class: Some(class),
            ..Self::default()
        }
    }

    /// Returns a failure of this machine.
    pub(crate) fn local(error: impl Into<String>) -> Self {
        Self::new(ErrorClass::Local, error)
    }

    /// Marks it as coming from waiting for a tunnel.
    pub(crate) fn of_tunnel(self) -> Self {
        Self {
            is_of_tunnel: true,
            ..self
        }
    }

    /// Marks it as retried only after a change.
    pub(crate) fn refused(self, is_refusal: bool) -> Self {
        Self { is_refusal, ..self }
    }

    /// Adds a hint.
    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// Message and hint, for a log.
    pub(crate) fn in_one_line(&self) -> String {
        match self.hint {
            "" => self.error.clone(),
            hint => format!("{}; {hint}", self.error),
        }
    }
}
