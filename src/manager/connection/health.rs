//! Health of an application: whether it answers.

use std::time::SystemTime;

use crate::api::Word;
pub(super) use crate::api::{Health, HealthState};
use crate::store::time::rfc3339;

/// Failure of a health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HealthFailure {
    /// Error.
    pub(super) error: String,
    /// Hint; none if the error contains it.
    pub(super) hint: Option<&'static str>,
}

impl From<String> for HealthFailure {
    fn from(error: String) -> Self {
        Self { error, hint: None }
    }
}

/// Result of a health check.
pub(super) type HealthResult = Result<(), HealthFailure>;

impl Health {
    /// Applies a result; true if the state has changed.
    pub(super) fn take(&mut self, answer: HealthResult) -> bool {
        let state = match answer {
            Ok(()) => HealthState::Ok,
            Err(_) => HealthState::Failing,
        };
        let is_new = state != self.state;
        if is_new {
            self.since = Some(rfc3339(SystemTime::now()));
        }
        let failing = answer.err();
        self.hint = failing
            .as_ref()
            .and_then(|failing| failing.hint.map(Word::from));
        (self.state, self.error) = (state, failing.map(|failing| failing.error));
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_the_time_of_its_beginning() {
        let mut health = Health::default();
        assert!(health.take(Err("a".to_owned().into())));
        let since = health.since.clone();
        assert!(since.is_some() && !health.take(Err("b".to_owned().into())));
        assert_eq!(
            (health.error.as_deref(), &health.since),
            (Some("b"), &since)
        );
        assert!(health.take(Ok(())));
        assert_eq!((health.state, health.error), (HealthState::Ok, None));
    }
}
