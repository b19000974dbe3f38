//! Health of an application: whether it answers.

use std::time::SystemTime;

use serde::Serialize;

use crate::store::time::rfc3339;

/// Health of an application.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HealthState {
    /// It has not answered yet.
    #[default]
    Unknown,
    /// It answered when it was asked last.
    Ok,
    /// It did not.
    Failing,
}

/// Health for the API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Health {
    pub(crate) state: HealthState,
    /// Why it fails, in words for the user.
    pub(crate) error: Option<String>,
    /// Hint; none if `error` contains it.
    pub(crate) hint: Option<&'static str>,
    /// Since when it is as it is: RFC 3339.
    pub(crate) since: Option<String>,
}

/// Why an application is of no use to visitors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failing {
    /// Error.
    pub(super) error: String,
    /// Hint; none if the error contains it.
    pub(super) hint: Option<&'static str>,
}

impl From<String> for Failing {
    fn from(error: String) -> Self {
        Self { error, hint: None }
    }
}

/// Result of a health check.
pub(super) type Answer = Result<(), Failing>;

impl Health {
    /// Takes an answer; true where the state is another now.
    pub(super) fn take(&mut self, answer: Answer) -> bool {
        let state = match answer {
            Ok(()) => HealthState::Ok,
            Err(_) => HealthState::Failing,
        };
        let is_new = state != self.state;
        if is_new {
            self.since = Some(rfc3339(SystemTime::now()));
        }
        let failing = answer.err();
        self.hint = failing.as_ref().and_then(|failing| failing.hint);
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
