//! The operator's calls: to the relay that runs on a directory, or on its stored state if none runs.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::state_dir::{claim, of_state, of_store, operators_data};
use crate::api::relay::{
    Allowed, Invite, InviteTerms, Invites, NameTaken, NameTransfer, NewInvite, OperatorLink,
    Revocation, Status, Uninvited,
};
use crate::api::{Client, Error};
use crate::cli::args::command::Parsed;
use crate::cli::failure::{Failure, printable, quoted, warn};
use crate::http::Method;
use crate::net::percent::encode;
use crate::relay::{self, RelayInstance};
use crate::store::{DataDir, Instance};

/// Hint of an unknown connector or site.
const SEE_NAMES: &str = "'postern relay list' shows their names";
/// No body.
const NOTHING: Option<&()> = None;
/// Hint of an unknown invite.
const SEE_IDS: &str = "'postern relay invites' shows their ids";

/// The operator of the relay on a directory.
pub(super) struct OperatorClient {
    pub(super) data: DataDir,
    running: Option<RelayInstance>,
}

impl OperatorClient {
    /// Opens the directory of the command line, which must have a relay's state.
    pub(super) fn of(parsed: &Parsed) -> Result<Self, Failure> {
        let data = operators_data(parsed)?;
        let said = Instance::find(&data).map_err(|error| of_store(&error))?;
        let dir = data.dir().display();
        let running = match said {
            Some(said) => Some(RelayInstance::read(&said).ok_or_else(|| {
                Failure::operation(format!("run/start.json in {dir} is damaged"))
                    .hint("stop the relay and start it again")
            })?),
            None if relay::has_state(&data) => None,
            None => {
                return Err(Failure::operation(format!("no relay state in {dir}"))
                    .hint("give the relay's directory with --data"));
            }
        };
        Ok(Self { data, running })
    }

    /// True if a relay runs on the directory.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Fails if no relay runs on the directory.
    pub(super) fn must_run(&self, hint: &'static str) -> Result<(), Failure> {
        if self.is_running() {
            return Ok(());
        }
        let dir = self.data.dir().display();
        let failure = Failure::operation(format!("no relay is running on {dir}"));
        Err(failure.hint(hint).code(503))
    }

    /// Warns after a change without a running relay: it does not affect a relay on another directory.
    pub(super) fn warn_offline(&self) {
        if !self.is_running() {
            let dir = self.data.dir().display();
            warn(&format!(
                "no relay is running on {dir}: the change takes effect at its next start (give --data for another relay)"
            ));
        }
    }

    pub(super) fn status(&self) -> Result<Status, Failure> {
        match &self.running {
            Some(running) => call(running, Method::Get, "/api/status", NOTHING, SEE_NAMES),
            None => relay::stored_status(&self.data).map_err(of_state),
        }
    }

    pub(super) fn revoke(&self, name: &str) -> Result<Revocation, Failure> {
        let missing = "there is no connector";
        self.change("/api/connectors", name, missing, relay::revoke)
    }

    pub(super) fn allow(&self, name: &str) -> Result<Allowed, Failure> {
        let missing = "no revoked connector is called";
        self.change("/api/revoked", name, missing, relay::allow)
    }

    /// Deletes the item with this name at the relay, or in the stored state if no relay runs.
    fn change<T: DeserializeOwned>(
        &self,
        path: &str,
        name: &str,
        missing: &str,
        stored: fn(&DataDir, &str) -> Result<Option<T>, relay::StateError>,
    ) -> Result<T, Failure> {
        check(missing, name, SEE_NAMES)?;
        match &self.running {
            Some(running) => {
                let path = format!("{path}/{}", encode(name));
                call(running, Method::Delete, &path, NOTHING, SEE_NAMES)
            }
            None => {
                let done = self.stored(|data| stored(data, name))?;
                known(done, missing, name, SEE_NAMES)
            }
        }
    }

    /// Releases a site's name, or transfers it to a connector.
    pub(super) fn take_name(
        &self,
        site: &str,
        to: Option<&str>,
        force: bool,
    ) -> Result<NameTaken, Failure> {
        check("no site has the name", site, SEE_NAMES)?;
        let Some(running) = &self.running else {
            let taken = self.stored(|data| relay::take_name(data, site, to))?;
            return taken.map_err(|why| Failure::operation(why.to_string()).hint(SEE_NAMES));
        };
        let path = format!("/api/sites/{}", encode(site));
        match to {
            Some(to) => {
                let body = NameTransfer {
                    connector: to.to_owned(),
                    force: Some(force),
                };
                call(running, Method::Put, &path, Some(&body), SEE_NAMES)
            }
            None => {
                let path = format!("{path}?force={force}");
                call(running, Method::Delete, &path, NOTHING, SEE_NAMES)
            }
        }
    }

    pub(super) fn invite(&self, terms: relay::InviteTerms) -> Result<NewInvite, Failure> {
        let Some(running) = &self.running else {
            return self.stored(|data| relay::invite(data, terms.clone()));
        };
        let body = InviteTerms {
            label: Some(terms.label),
            uses: Some(terms.uses),
            expires_in: Some(terms.life.as_secs()),
        };
        call(running, Method::Post, "/api/invites", Some(&body), SEE_IDS)
    }

    pub(super) fn invites(&self) -> Result<Vec<Invite>, Failure> {
        match &self.running {
            Some(running) => {
                let all: Invites = call(running, Method::Get, "/api/invites", NOTHING, SEE_IDS)?;
                Ok(all.invites)
            }
            None => relay::invites(&self.data).map_err(of_state),
        }
    }

    pub(super) fn uninvite(&self, id: &str) -> Result<(), Failure> {
        let what = "there is no invite";
        check(what, id, SEE_IDS)?;
        match &self.running {
            Some(running) => {
                let path = format!("/api/invites/{}", encode(id));
                call::<Uninvited>(running, Method::Delete, &path, NOTHING, SEE_IDS).map(drop)
            }
            None => {
                let is_there = self.stored(|data| relay::uninvite(data, id))?;
                known(is_there.then_some(()), what, id, SEE_IDS)
            }
        }
    }

    /// A new link that signs the operator in; a secret.
    pub(super) fn link(&self) -> Result<OperatorLink, Failure> {
        self.must_run("run 'postern relay', or 'postern start' without --server")?;
        let running = self.running.as_ref().expect("it was just found running");
        call(running, Method::Post, "/api/links", NOTHING, SEE_NAMES)
    }

    /// Changes the stored state, while no relay can start on it.
    fn stored<T>(
        &self,
        change: impl FnOnce(&DataDir) -> Result<T, relay::StateError>,
    ) -> Result<T, Failure> {
        let _instance = claim(&self.data)?;
        change(&self.data).map_err(of_state)
    }
}

/// Calls a running relay; `see` is the hint if it has no such thing.
fn call<T: DeserializeOwned>(
    running: &RelayInstance,
    method: Method,
    path: &str,
    body: Option<&impl Serialize>,
    see: &'static str,
) -> Result<T, Failure> {
    let client = Client::at(running.address).with_token(&running.token);
    let silent = |why: &dyn std::fmt::Display| {
        Failure::operation(format!(
            "the relay at {} does not answer: {why}",
            running.address
        ))
        .hint("stop it and start it again")
    };
    client
        .call(method, path, body)
        .map_err(|error| match error {
            Error::Silent(_, error) => silent(&error),
            Error::Foreign(_) => silent(&"something else is there"),
            Error::Refused { code, message, .. } => {
                let hint = (code == 404).then_some(see);
                let failure = Failure::operation(printable(&message)).hint_if(hint);
                failure.code(u16::try_from(code).unwrap_or(500))
            }
        })
}

/// Refuses a text that cannot be a name or id, and would lead to another path of the relay's API.
fn check(what: &str, name: &str, see: &'static str) -> Result<(), Failure> {
    let is_odd = |part: char| part.is_control() || matches!(part, '/' | '\\');
    let is_usable = !matches!(name, "" | "." | "..") && !name.chars().any(is_odd);
    known(is_usable.then_some(()), what, name, see)
}

/// Fails if nothing of that name or id was found.
fn known<T>(found: Option<T>, what: &str, name: &str, see: &'static str) -> Result<T, Failure> {
    found.ok_or_else(|| {
        let failure = Failure::operation(format!("{what} {}", quoted(name)));
        failure.hint(see).code(404)
    })
}
