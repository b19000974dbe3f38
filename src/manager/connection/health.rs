//! What is known of an application: whether it answers.

use std::time::SystemTime;

use serde::Serialize;

use crate::store::time::rfc3339;

/// What is known of an application.
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

/// The same for the API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Health {
    pub(crate) state: HealthState,
    /// Why it fails, in words for the user.
    pub(crate) error: Option<String>,
    /// Since when it is as it is: RFC 3339.
    pub(crate) since: Option<String>,
}

impl Health {
    /// Takes an answer; true where the state is another now.
    pub(super) fn take(&mut self, answer: Result<(), String>) -> bool {
        let state = match answer {
            Ok(()) => HealthState::Ok,
            Err(_) => HealthState::Failing,
        };
        let is_new = state != self.state;
        if is_new {
            self.since = Some(rfc3339(SystemTime::now()));
        }
        (self.state, self.error) = (state, answer.err());
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_the_time_of_its_beginning() {
        let mut health = Health::default();
        assert!(health.take(Err("a".into())));
        let since = health.since.clone();
        assert!(since.is_some() && !health.take(Err("b".into())));
        assert_eq!(
            (health.error.as_deref(), &health.since),
            (Some("b"), &since)
        );
        assert!(health.take(Ok(())));
        assert_eq!((health.state, health.error), (HealthState::Ok, None));
    }
}
