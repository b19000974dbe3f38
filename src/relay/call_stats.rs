//! Outcomes of connectors' calls: counters, and the refusals as HTTP answers.

use super::allocator::AllocError;
use super::connector_auth::AuthError;
use super::state::NotReadmitted;
use super::state_store;
use crate::http::metrics::{Counts, Tally};
use crate::http::{ApiError, Response};

/// Possible outcomes of a call.
const OUTCOMES: [&str; 10] = [
    "ok", "refused", QUOTA, NO_PORT, FULL, LIMITED, BUSY, STORE_AWAY, "failed", "invalid",
];

/// The connector has reached its limit of applications.
pub(super) const QUOTA: &str = "quota";
/// No public port is free.
pub(super) const NO_PORT: &str = "no_port";
/// The relay is full.
pub(super) const FULL: &str = "full";
/// The source makes too many calls.
pub(super) const LIMITED: &str = "limited";
/// Too many calls are being answered.
pub(super) const BUSY: &str = "busy";
/// The store that the relay shares with others is away.
pub(super) const STORE_AWAY: &str = "store_away";

/// Member of a refusal's envelope that names one of these, if its status does not.
const REASON: &str = "reason";

/// A refusal for one of these reasons.
pub(super) fn with_reason(error: ApiError, reason: &'static str) -> ApiError {
    error.with(REASON, reason)
}

/// Returns the outcome of a call.
pub(super) fn outcome(answer: &Result<Response, ApiError>) -> &'static str {
    let Err(error) = answer else { return "ok" };
    let reason = error.extra.get(REASON);
    let named = OUTCOMES
        .into_iter()
        .find(|name| reason == Some(&(*name).into()));
    named.unwrap_or(match error.status {
        401 | 403 => "refused",
        429 => LIMITED,
        503 => BUSY,
        500.. => "failed",
        _ => "invalid",
    })
}

/// Counters of connectors' calls by outcome.
#[derive(Debug, Default)]
pub(super) struct CallStats(Tally<{ OUTCOMES.len() }>);

impl CallStats {
    /// Counts a call.
    pub(super) fn note(&self, outcome: &str) {
        self.0
            .add(OUTCOMES.iter().position(|name| *name == outcome));
    }

    /// Returns the counts by outcome.
    pub(super) fn by_outcome(&self) -> Counts {
        self.0.read(OUTCOMES)
    }
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        let refused = Self::new(error.status(), error.message());
        if error == AuthError::Full {
            return with_reason(refused, FULL);
        }
        refused
    }
}

impl From<NotReadmitted> for ApiError {
    fn from(error: NotReadmitted) -> Self {
        match error {
            NotReadmitted::NotRevoked => Self::not_found("no revoked connector has this name"),
            NotReadmitted::Full => AuthError::Full.into(),
        }
    }
}

impl From<AllocError> for ApiError {
    fn from(error: AllocError) -> Self {
        // 403, not 429, if waiting does not help: connectors do not ask again by themselves, and show the message.
        let (reason, status, message) = match error {
            AllocError::TooMany => (
                QUOTA,
                429,
                "this connector has reached its limit of 100 applications: remove some first".into(),
            ),
            AllocError::OverQuota(most) => (
                QUOTA,
                403,
                format!(
                    "this relay's quota for one connector is {most} applications (--quota-sites), all in use: remove \
                     one, or ask the relay's operator"
                ),
            ),
            AllocError::NoPort => (
                NO_PORT,
                403,
                "no public port of this relay is free: all --ports are in use or reserved for recent users; its \
                 operator can add more"
                    .into(),
            ),
            AllocError::Exhausted(what) => (FULL, 429, format!("the relay is full: {what}")),
            AllocError::ReservedName => {
                let message = "site_name: this name is reserved because it looks like the operator's; choose another";
                return Self::new(400, message);
            }
            AllocError::NameTaken(name) => {
                return Self::new(409, format!("site_name: the name '{name}' is already taken"));
            }
            AllocError::Outdated => (FULL, 429, "the relay is full: try again".into()),
        };
        with_reason(Self::new(status, message), reason)
    }
}

impl From<state_store::Error> for ApiError {
    fn from(error: state_store::Error) -> Self {
        log::debug!("refused because the state is not saved: {error}"); // the store has said it once
        if let state_store::Error::Shared(_) = error {
            let message = "the relay's store is unavailable: existing connections continue, new ones are refused; \
                try again soon";
            return with_reason(Self::new(503, message), STORE_AWAY);
        }
        Self::internal("the relay cannot save its state: see its log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_count_once_by_what_came_of_them() {
        let calls = CallStats::default();
        calls.note(outcome(&Ok(Response::json(200, &json!({})))));
        for status in [400, 404, 401, 403, 429, 503, 500] {
            calls.note(outcome(&Err(ApiError::new(status, ""))));
        }
        for reason in [QUOTA, NO_PORT, FULL, STORE_AWAY] {
            let refused = with_reason(ApiError::forbidden(""), reason);
            calls.note(outcome(&Err(refused)));
        }
        let expected = [
            ("ok", 1),
            ("refused", 2),
            ("quota", 1),
            ("no_port", 1),
            ("full", 1),
            ("limited", 1),
            ("busy", 1),
            ("store_away", 1),
            ("failed", 1),
            ("invalid", 2),
        ];
        assert_eq!(calls.by_outcome(), expected);
    }
}
