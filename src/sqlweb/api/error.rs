//! Failures as the API tells them.

use serde_json::json;

use crate::http::ApiError;
use crate::sqlweb::conn::CheckoutError;
use crate::sqlweb::error::{DbError, INTERRUPTED};

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
    let told = ApiError::new(error.status(), message);
    let told = match error {
        DbError::ReadOnly(..) | DbError::Changed(_) | DbError::Shared(_) => {
            told.with("layer", "connection")
        }
        _ => told,
    };
    match (error, error.server_error()) {
        (_, Some(server)) => told.with(
            "error",
            json!({"errno": server.code, "sqlstate": server.state}),
        ),
        // Message of the server about a statement that was killed.
        (DbError::Stopped(_), None) => {
            told.with("error", json!({"errno": INTERRUPTED, "sqlstate": "70100"}))
        }
        _ => told,
    }
}
