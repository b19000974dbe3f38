//! The failure half of the JSON envelope.

use std::fmt;

use serde_json::{Map, Value};

use super::h1::Refusal;
use crate::net::in_words;

/// A failed request: becomes `{"code": status, "message": …}` plus `extra`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status, also the envelope's `code`.
    pub status: u16,
    /// Message: what happened and, if possible, what to try.
    pub message: String,
    /// Further members of the envelope, such as `error: {errno, sqlstate}`.
    pub extra: Map<String, Value>,
}

impl ApiError {
    /// An error with any status.
    pub fn new(status: u16, message: impl Into<String>) -> ApiError {
        ApiError {
            status,
            message: in_words(message.into()),
            extra: Map::new(),
        }
    }

    /// Adds one more member to the envelope.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> ApiError {
        self.extra.insert(key.to_owned(), value.into());
        self
    }

    /// 400: malformed JSON or a wrong parameter.
    pub fn bad_request(message: impl Into<String>) -> ApiError {
        ApiError::new(400, message)
    }

    /// 401: no session, or a wrong code.
    pub fn unauthorized(message: impl Into<String>) -> ApiError {
        ApiError::new(401, message)
    }

    /// 403: refused by mode or origin.
    pub fn forbidden(message: impl Into<String>) -> ApiError {
        ApiError::new(403, message)
    }

    /// 404: no such thing.
    pub fn not_found(message: impl Into<String>) -> ApiError {
        ApiError::new(404, message)
    }

    /// 409: a duplicate.
    pub fn conflict(message: impl Into<String>) -> ApiError {
        ApiError::new(409, message)
    }

    /// 413: over a size limit.
    pub fn too_large(message: impl Into<String>) -> ApiError {
        ApiError::new(413, message)
    }

    /// 415: not `application/json`.
    pub fn unsupported_media(message: impl Into<String>) -> ApiError {
        ApiError::new(415, message)
    }

    /// 429: over a limit of number or rate.
    pub fn too_many(message: impl Into<String>) -> ApiError {
        ApiError::new(429, message)
    }

    /// 500: our own fault.
    pub fn internal(message: impl Into<String>) -> ApiError {
        ApiError::new(500, message)
    }

    /// 502: the database (or another peer behind us) cannot be reached.
    pub fn bad_gateway(message: impl Into<String>) -> ApiError {
        ApiError::new(502, message)
    }

    /// 504: a wait ran out.
    pub fn timeout(message: impl Into<String>) -> ApiError {
        ApiError::new(504, message)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.status)
    }
}

impl std::error::Error for ApiError {}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        ApiError::new(refusal.status, refusal.message)
    }
}
