//! Answers of the handlers of the management API.

use serde_json::{Map, Value};

use crate::http::{ApiError, Request, Response};
use crate::manager::apps::app_input::Invalid;
use crate::manager::apps::app_store;

pub(super) type Answer = Result<Response, ApiError>;

/// The `{id}` of the path.
pub(super) fn id(request: &Request) -> &str {
    request.param("id").expect("the route has an {id}")
}

/// The status that an error of the stored list has.
pub(super) fn failed(error: app_store::Error) -> ApiError {
    let status = match &error {
        app_store::Error::Unknown(_) => 404,
        app_store::Error::Full => 429,
        app_store::Error::NameTaken(_) => 409,
        _ => 500,
    };
    let answer = ApiError::new(status, error.to_string());
    match &error {
        app_store::Error::Store(error) => answer.with("hint", error.hint()),
        _ => answer,
    }
}

/// All wrong fields, in the message and by name.
pub(super) fn wrong(invalid: &Invalid) -> ApiError {
    let fields: Map<String, Value> = invalid
        .fields()
        .map(|(name, why)| (name.to_owned(), Value::from(why)))
        .collect();
    ApiError::bad_request(invalid.to_string()).with("fields", fields)
}
