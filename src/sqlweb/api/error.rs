//! Failures as the API tells them.

use crate::sqlweb::conn::CheckoutError;
use crate::sqlweb::error::{ApiError, DbError, INTERRUPTED, ServerError};

/// No connection could be had.
pub(crate) fn checkout_error(error: CheckoutError) -> ApiError {
    match error {
        CheckoutError::SessionBusy => ApiError::conflict(
            "another statement of this session is still running; wait for it or cancel it",
        ),
        CheckoutError::Db(error) => api_error(&error),
    }
}

/// A database failure as the API tells it.
pub(crate) fn api_error(error: &DbError) -> ApiError {
    let message = match error.hint() {
        Some(hint) => format!("{error}\n{hint}"),
        None => error.to_string(),
    };
    let mut told = ApiError::new(error.status(), message);
    if let DbError::ReadOnly(..) | DbError::Changed(_) | DbError::Shared(_) = error {
        told.extra.layer = Some("connection");
    }
    told.extra.error = match (error, error.server_error()) {
        (_, Some(server)) => Some(ServerError {
            errno: server.code,
            sqlstate: server.state.clone(),
        }),
        // Message of the server about a statement that was killed.
        (DbError::Stopped(_), None) => Some(ServerError {
            errno: INTERRUPTED,
            sqlstate: "70100".into(),
        }),
        _ => None,
    };
    told
}
