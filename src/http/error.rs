//! The failure half of the JSON envelope.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::h1::Refusal;
use crate::net::in_words;

/// A failed request: becomes `{"code": status, "message": …}` plus the members of `extra`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Failed<M> {
    /// The HTTP status, also the envelope's `code`.
    pub status: u16,
    /// Message: what happened and, if possible, what to try.
    pub message: String,
    /// Further members of the envelope.
    pub extra: Box<M>,
}

/// A failed request whose further members are named one by one.
pub type ApiError = Failed<Map<String, Value>>;

impl ApiError {
    /// Adds one more member to the envelope.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> ApiError {
        self.extra.insert(key.to_owned(), value.into());
        self
    }
}

impl<M: Serialize> Failed<M> {
    /// All members of the envelope.
    pub(crate) fn members(&self) -> Map<String, Value> {
        let mut members = match serde_json::to_value(&self.extra) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        };
        members.insert("code".into(), json!(self.status));
        members.insert("message".into(), json!(self.message));
        members
    }
}

impl<M> Failed<M> {
    /// The failure with other further members.
    pub(crate) fn map<N>(self, members: impl FnOnce(M) -> N) -> Failed<N> {
        Failed {
            status: self.status,
            message: self.message,
            extra: Box::new(members(*self.extra)),
        }
    }
}

impl<M: Default> Failed<M> {
    /// An error with any status.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Failed {
            status,
            message: in_words(message.into()),
            extra: Box::default(),
        }
    }

    /// 400: malformed JSON or a wrong parameter.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// 401: no session, or a wrong code.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(401, message)
    }

    /// 403: refused by mode or origin.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, message)
    }

    /// 404: no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, message)
    }

    /// 409: a duplicate.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, message)
    }

    /// 413: over a size limit.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, message)
    }

    /// 415: not `application/json`.
    pub fn unsupported_media(message: impl Into<String>) -> Self {
        Self::new(415, message)
    }

    /// 429: over a limit of number or rate.
    pub fn too_many(message: impl Into<String>) -> Self {
        Self::new(429, message)
    }

    /// 500: our own fault.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, message)
    }

    /// 502: the database (or another peer behind us) cannot be reached.
    pub fn bad_gateway(message: impl Into<String>) -> Self {
        Self::new(502, message)
    }

    /// 504: a wait ran out.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(504, message)
    }
}

impl<M> fmt::Display for Failed<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.status)
    }
}

impl<M: fmt::Debug> std::error::Error for Failed<M> {}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        ApiError::new(refusal.status, refusal.message)
    }
}
