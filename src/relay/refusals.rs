//! Answers to callers who get nothing: the status, the message, and where the status does not say it, the reason.

use super::allocator::AllocError;
use super::call_stats::{FULL, NO_PORT, QUOTA, STORE_AWAY, with_reason};
use super::connector_auth::AuthError;
use super::state::NotReadmitted;
use super::state_store;
use crate::http::ApiError;

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
        // 403, not 429, where waiting helps nobody: connectors do not ask again by themselves, and show what was said.
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
