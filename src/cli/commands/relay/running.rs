//! The relay of a directory, asked through its operator's API: the one that runs, else the same on its state.

use serde_json::Value;

use super::state_dir::{claim, of_store};
use crate::api::{Client, Error};
use crate::cli::failure::{Failure, printable, quoted, warn};
use crate::http::Method;
use crate::relay::{self, Whereabouts};
use crate::store::{DataDir, Instance};

/// Nothing of that name or id is there; `see` says where they are shown.
fn unknown(what: &str, name: &str, see: &'static str) -> Failure {
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

/// A relay: its operator's API, of the one that runs on the directory, else of its state.
pub(super) struct Relay {
    client: Client,
    data: DataDir,
    /// The one that runs.
    address: Option<Whereabouts>,
    /// Held over a change, so that none starts meanwhile and writes what it has read.
    _instance: Option<Instance>,
}

impl Relay {
    /// To look at it only.
    pub(super) fn look(data: &DataDir) -> Result<Self, Failure> {
        let address = find(data)?;
        let client = match &address {
            Some(running) => Client::at(running.address).with_token(&running.token),
            None => relay::open(data),
        };
        Ok(Self {
            client,
            data: data.clone(),
            address,
            _instance: None,
        })
    }

    /// To change it.
    pub(super) fn open(data: &DataDir) -> Result<Self, Failure> {
        let found = Self::look(data)?;
        let held = match found.is_running() {
            true => None,
            false => Some(claim(data)?),
        };
        Ok(Self {
            _instance: held,
            ..found
        })
    }

    pub(super) fn is_running(&self) -> bool {
        self.address.is_some()
    }

    /// Calls it: the `data` of its answer. `see` is the hint where it has no such thing.
    pub(super) fn ask(
        &self,
        (method, path): (Method, &str),
        body: Option<&Value>,
        see: &'static str,
    ) -> Result<Value, Failure> {
        let answer = self.client.call(method, path, body);
        answer.map_err(|error| match error {
            Error::Silent(address, error) => {
                let message = format!("the relay at {address} does not answer: {error}");
                Failure::operation(message).hint("stop it and start it again")
            }
            Error::Foreign(_) => Failure::operation("the relay does not answer"),
            Error::Refused {
                code,
                message,
                hint,
            } => {
                let see = (code == 404).then(|| see.to_owned());
                Failure::operation(printable(&message)).hint_if(see.or(hint))
            }
        })
    }

    /// Warns after a change without a running relay: one on another directory goes on as before.
    pub(super) fn warn_if_stopped(&self) {
        if !self.is_running() {
            warn(&format!(
                "no relay is running on {}: the change takes effect at its next start (give --data for another relay)",
                self.data.dir().display()
            ));
        }
    }
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
