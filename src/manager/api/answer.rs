//! Answers of the handlers of the management API.

use serde_json::{Map, Value};

use crate::http::{ApiError, Request, Response};
use crate::manager::apps::app_input::Invalid;
use crate::manager::list_error::Error;

pub(super) type Answer = Result<Response, ApiError>;

/// The `{id}` of the path.
pub(super) fn id(request: &Request) -> &str {
    request.param("id").expect("the route has an {id}")
}

/// The status that an error of a stored list has.
pub(super) fn failed(error: Error) -> ApiError {
    let text = error.to_string();
    match error {
        Error::Store(error) => ApiError::internal(text).with("hint", error.hint()),
        Error::Full(..) => ApiError::too_many(text),
        Error::NameTaken(_) => ApiError::conflict(text),
        Error::Unknown(_) => ApiError::not_found(text),
        Error::Value(..) => ApiError::bad_request(text),
        Error::InUse(names) => ApiError::conflict(text).with("applications", names),
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
