//! Failures as the API tells them.

use serde_json::json;

use crate::http::ApiError;
use crate::sqlweb::conn::session_pool::CheckoutError;
use crate::sqlweb::error::{DbError, INTERRUPTED};

/// No connection could be had.
pub(crate) fn refused(error: CheckoutError) -> ApiError {
    match error {
        CheckoutError::SessionBusy => ApiError::conflict(
            "another statement of this session is still running; wait for it or cancel it",
        ),
        CheckoutError::Db(error) => api_error(&error),
    }
}

/// A database failure as the API tells it.
pub(crate) fn api_error(error: &DbError) -> ApiError {
    let told = ApiError::new(error.status(), error.to_string());
    let told = match error {
        DbError::ReadOnly(..) | DbError::Changed(_) => told.with("layer", "connection"),
        _ => told,
    };
    match (error, error.server_error()) {
        (_, Some(server)) => told.with(
            "error",
            json!({"errno": server.code, "sqlstate": server.state}),
        ),
        // What the server says of a statement that was killed.
        (DbError::Stopped(_), None) => {
            told.with("error", json!({"errno": INTERRUPTED, "sqlstate": "70100"}))
        }
        _ => told,
    }
}
