//! The relay that runs on a directory, asked through its API; and what both ways of asking have in common.

use serde_json::Value;

use super::state_dir::of_store;
use crate::api::{Client, Error};
use crate::cli::failure::{Failure, printable, quoted, warn};
use crate::http::Method;
use crate::relay::{self, Whereabouts};
use crate::store::{DataDir, Instance};

/// Nothing of that name or id is there; `see` says where they are shown.
pub(super) fn unknown(what: &str, name: &str, see: &'static str) -> Failure {
    Failure::operation(format!("{what} {}", quoted(name))).hint(see)
}

/// Refuses what cannot be the name or id of anything, and would be another path of the relay's API.
pub(super) fn check(what: &str, name: &str, see: &'static str) -> Result<(), Failure> {
    let is_odd = |part: char| part.is_control() || matches!(part, '/' | '\\');
    if matches!(name, "" | "." | "..") || name.chars().any(is_odd) {
        return Err(unknown(what, name, see));
    }
    Ok(())
}

fn no_state(data: &DataDir) -> Failure {
    Failure::operation(format!("no relay state in {}", data.dir().display()))
        .hint("give the relay's directory with --data")
}

/// The relay that runs on the directory, which has a relay's state.
pub(super) fn find(data: &DataDir) -> Result<Option<Whereabouts>, Failure> {
    let said = Instance::find(data).map_err(|error| of_store(&error))?;
    let Some(said) = said else {
        return if relay::has_state(data) {
            Ok(None)
        } else {
            Err(no_state(data))
        };
    };
    Whereabouts::read(&said).map(Some).ok_or_else(|| {
        Failure::operation(format!(
            "run/start.json in {} is damaged",
            data.dir().display()
        ))
        .hint("stop the relay and start it again")
    })
}

/// Warns after a change without a running relay: one on another directory goes on as before.
pub(super) fn warn_offline(data: &DataDir) {
    warn(&format!(
        "no relay is running on {}: the change takes effect at its next start (give --data for another relay)",
        data.dir().display()
    ));
}

/// Calls it: the `data` of its answer. `see` is the hint where it has no such thing.
pub(super) fn ask(
    running: &Whereabouts,
    (method, path): (Method, &str),
    body: Option<&Value>,
    see: &'static str,
) -> Result<Value, Failure> {
    let client = Client::at(running.address).with_token(&running.token);
    client
        .call(method, path, body)
        .map_err(|error| match error {
            Error::Silent(address, error) => {
                let message = format!("the relay at {address} does not answer: {error}");
                Failure::operation(message).hint("stop it and start it again")
            }
            Error::Foreign(_) => Failure::operation("the relay does not answer"),
            Error::Refused { code, message, .. } => {
                let hint = (code == 404).then_some(see);
                Failure::operation(printable(&message)).hint_if(hint)
            }
        })
}

/// The state of a relay that does not run cannot be read or changed.
pub(super) fn of_state(error: &relay::StateError) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}

/// The items of a member.
pub(super) fn items<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// A member, null where there is none.
pub(super) fn member(of: &Value, name: &str) -> Value {
    of.get(name).cloned().unwrap_or_default()
}

/// The text of a member, `-` where there is none.
pub(super) fn text(of: &Value, name: &str) -> String {
    match of.get(name).and_then(Value::as_str) {
        None | Some("") => "-".to_owned(),
        Some(text) => printable(text),
    }
}
