//! Objects that a guest's account could read, to choose from.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::answer::{Answer, failed, wrong};
use crate::http::{ApiError, Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::app_input::{AppInput, Invalid};
use crate::manager::web_client;

/// Characters of a name: MySQL and MariaDB take 64.
const NAME_CAP: usize = 64;

/// Asks the database of an application, or of a draft of one, for names.
pub(super) fn objects(core: &Arc<AppState>, request: &Request) -> Answer {
    let mut body: Map<String, Value> = request.json()?;
    let within = within(&mut body)?;
    let app = application(core, body)?;
    if !app.protocol.is_database() {
        return Err(ApiError::bad_request("the application is not a database"));
    }
    let names = web_client::objects(core, &app, &within);
    let names = names.map_err(|error| ApiError::new(502, error))?;
    Ok(Response::ok(names))
}

/// The database, and the table of it, whose names are asked for.
fn within(body: &mut Map<String, Value>) -> Result<Vec<String>, ApiError> {
    let mut within = Vec::new();
    for field in ["database", "table"] {
        match body.remove(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) if (1..=NAME_CAP).contains(&name.chars().count()) => {
                within.push(name);
            }
            Some(_) => {
                let why = format!("'{field}' must be a string of 1 to {NAME_CAP} characters");
                return Err(ApiError::bad_request(why));
            }
        }
    }
    Ok(within)
}

/// The stored one, changed by what else is there; its password is not sent elsewhere.
fn application(core: &AppState, mut body: Map<String, Value>) -> Result<AppConfig, ApiError> {
    let id = body.remove("id");
    let stored = match id.as_ref().map(Value::as_str) {
        None => None,
        Some(Some(id)) => Some(core.apps.find(id).map_err(failed)?),
        Some(None) => return Err(ApiError::bad_request("'id' must be a string")),
    };
    match stored {
        Some(stored) if body.is_empty() => Ok(stored),
        stored => {
            let input = AppInput::parse(&Value::Object(body), core.choice.insecure);
            let input = input.map_err(|invalid| wrong(&invalid))?;
            match stored {
                Some(stored) if input.sends_elsewhere(&stored) => Err(elsewhere(&stored)),
                Some(stored) => Ok(input.replacing(&stored)),
                None => Ok(input.into_new()),
            }
        }
    }
}

/// A look at what is there sends no stored password to whoever listens elsewhere.
fn elsewhere(stored: &AppConfig) -> ApiError {
    let why = format!(
        "is saved for {}: enter it again for another address, or save the application first",
        stored.address()
    );
    wrong(&Invalid::of("db_pass", why))
}
