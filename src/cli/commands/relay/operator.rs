//! The operator's calls: to the relay that runs on a directory, or on the state of one that does not run.

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::state_dir::{claim, of_store};
use crate::api::relay::{
    Allowed, Invite, InviteTerms, Invites, NameTaken, NameTransfer, NewInvite, OperatorLink,
    Revocation, Status, Uninvited,
};
use crate::cli::api_client::{self, Answer, Call};
use crate::cli::failure::{Failure, printable, quoted, warn};
use crate::net::percent::encode;
use crate::relay::{self, Whereabouts};
use crate::store::{DataDir, Instance};

/// Hint of an unknown connector or site.
const SEE_NAMES: &str = "'postern relay list' shows their names";
/// Hint of an unknown invite.
const SEE_IDS: &str = "'postern relay invites' shows their ids";

/// The operator of the relay on a directory.
pub(super) struct Operator<'a> {
    data: &'a DataDir,
    running: Option<Whereabouts>,
}

impl<'a> Operator<'a> {
    /// The directory must have a relay's state.
    pub(super) fn of(data: &'a DataDir) -> Result<Self, Failure> {
        let said = Instance::find(data).map_err(|error| of_store(&error))?;
        let dir = data.dir().display();
        let running = match said {
            Some(said) => Some(Whereabouts::read(&said).ok_or_else(|| {
                Failure::operation(format!("run/start.json in {dir} is damaged"))
                    .hint("stop the relay and start it again")
            })?),
            None if relay::has_state(data) => None,
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
        Err(Failure::operation(format!("no relay is running on {dir}")).hint(hint))
    }

    /// Warns after a change without a running relay: one on another directory goes on as before.
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
            Some(running) => call(running, "GET", "/api/status", None, SEE_NAMES),
            None => relay::stored_status(self.data).map_err(of_state),
        }
    }

    pub(super) fn revoke(&self, name: &str) -> Result<Revocation, Failure> {
        let what = "there is no connector";
        check(what, name, SEE_NAMES)?;
        match &self.running {
            Some(running) => {
                let path = format!("/api/connectors/{}", encode(name));
                call(running, "DELETE", &path, None, SEE_NAMES)
            }
            None => known(
                self.stored(|data| relay::revoke(data, name))?,
                what,
                name,
                SEE_NAMES,
            ),
        }
    }

    pub(super) fn allow(&self, name: &str) -> Result<Allowed, Failure> {
        let what = "no revoked connector is called";
        check(what, name, SEE_NAMES)?;
        match &self.running {
            Some(running) => {
                let path = format!("/api/revoked/{}", encode(name));
                call(running, "DELETE", &path, None, SEE_NAMES)
            }
            None => known(
                self.stored(|data| relay::allow(data, name))?,
                what,
                name,
                SEE_NAMES,
            ),
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
                let body = body(&NameTransfer {
                    connector: to.to_owned(),
                    force: Some(force),
                });
                call(running, "PUT", &path, Some(&body), SEE_NAMES)
            }
            None => {
                let path = format!("{path}?force={force}");
                call(running, "DELETE", &path, None, SEE_NAMES)
            }
        }
    }

    pub(super) fn invite(&self, terms: relay::InviteTerms) -> Result<NewInvite, Failure> {
        let Some(running) = &self.running else {
            return self.stored(|data| relay::invite(data, terms.clone()));
        };
        let body = body(&InviteTerms {
            label: Some(terms.label),
            uses: Some(terms.uses),
            expires_in: Some(terms.life.as_secs()),
        });
        call(running, "POST", "/api/invites", Some(&body), SEE_IDS)
    }

    pub(super) fn invites(&self) -> Result<Vec<Invite>, Failure> {
        match &self.running {
            Some(running) => {
                let all: Invites = call(running, "GET", "/api/invites", None, SEE_IDS)?;
                Ok(all.invites)
            }
            None => relay::invites(self.data).map_err(of_state),
        }
    }

    pub(super) fn uninvite(&self, id: &str) -> Result<(), Failure> {
        let what = "there is no invite";
        check(what, id, SEE_IDS)?;
        match &self.running {
            Some(running) => {
                let path = format!("/api/invites/{}", encode(id));
                call::<Uninvited>(running, "DELETE", &path, None, SEE_IDS).map(drop)
            }
            None => {
                let is_there = self.stored(|data| relay::uninvite(data, id))?;
                known(is_there.then_some(()), what, id, SEE_IDS)
            }
        }
    }

    /// A fresh address that signs the operator in; a secret.
    pub(super) fn link(&self) -> Result<OperatorLink, Failure> {
        self.must_run("run 'postern relay', or 'postern start' without --server")?;
        let running = self.running.as_ref().expect("it was just found running");
        call(running, "POST", "/api/links", None, SEE_NAMES)
    }

    /// Changes the state of a relay that does not run, and that nothing starts meanwhile.
    fn stored<T>(
        &self,
        change: impl FnOnce(&DataDir) -> Result<T, relay::StateError>,
    ) -> Result<T, Failure> {
        let _instance = claim(self.data)?;
        change(self.data).map_err(of_state)
    }
}

/// Calls a running relay; `see` is the hint if it has no such thing.
fn call<T: DeserializeOwned>(
    running: &Whereabouts,
    method: &str,
    path: &str,
    body: Option<&serde_json::Value>,
    see: &'static str,
) -> Result<T, Failure> {
    let authorization = Zeroizing::new(format!("Bearer {}", *running.token));
    let call = Call {
        method,
        path,
        authorization: Some(&authorization),
        body,
    };
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::operation(format!(
            "the relay at {} does not answer: {why}",
            running.address
        ))
        .hint("stop it and start it again")
    };
    let Answer {
        code,
        message,
        data,
        ..
    } = api_client::call(running.address, &call).map_err(|error| unusable(&error))?;
    if code == Some(200) {
        return serde_json::from_value(data).map_err(|error| unusable(&error));
    }
    let message = message.unwrap_or_else(|| "the relay does not answer".to_owned());
    let hint = (code == Some(404)).then_some(see);
    Err(Failure::operation(printable(&message)).hint_if(hint))
}

fn body(of: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(of).expect("it has string keys")
}

/// Refuses what cannot be the name or id of anything, and would be another path of the relay's API.
fn check(what: &str, name: &str, see: &'static str) -> Result<(), Failure> {
    let is_odd = |part: char| part.is_control() || matches!(part, '/' | '\\');
    let is_usable = !matches!(name, "" | "." | "..") && !name.chars().any(is_odd);
    known(is_usable.then_some(()), what, name, see)
}

/// Fails if nothing of that name or id was found.
fn known<T>(found: Option<T>, what: &str, name: &str, see: &'static str) -> Result<T, Failure> {
    found.ok_or_else(|| Failure::operation(format!("{what} {}", quoted(name))).hint(see))
}

/// The state of a relay that does not run cannot be read or changed.
pub(super) fn of_state(error: relay::StateError) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}
