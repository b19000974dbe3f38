//! The operator's API of a relay that does not run, on its directory; and the repair of a damaged state.

use std::path::PathBuf;
use std::time::SystemTime;

use crossbeam_channel::{Receiver, never};
use serde_json::{Value, json};

use super::api::terms;
use super::figures;
use super::handover;
use super::inviting;
use super::revocation::{AllowedAgain, turn_out};
use super::state::{Application, NotAllowed, RelayState, cutoff};
use super::state_store::{self, Error as StateError, StateStore};
use super::status;
use crate::api::{Client, Service};
use crate::http::{ApiError, Handler, Method, Request, Response, Router};
use crate::store::DataDir;
use crate::store::time::rfc3339;

type Answer = Result<Response, ApiError>;

/// The operator's calls that need no running relay, as [`api`](super::api) answers them; a change is made when the relay
/// starts.
struct Stopped(Router);

/// The API of a relay that does not run; who changes something holds its directory meanwhile.
pub(crate) fn open(data: &DataDir) -> Client {
    let on = |answer: fn(&DataDir, &Request) -> Answer| {
        let data = data.clone();
        move |request: Request| {
            let answered = answer(&data, &request);
            request.respond(answered.unwrap_or_else(|error| Response::error(&error)));
        }
    };
    let router = Router::new()
        .on(Method::Get, "/api/status", on(show))
        .on(Method::Delete, "/api/connectors/{name}", on(revoke))
        .on(Method::Delete, "/api/revoked/{name}", on(allow))
        .on(Method::Delete, "/api/sites/{name}", on(take_name))
        .on(Method::Put, "/api/sites/{name}", on(take_name))
        .on(Method::Get, "/api/invites", on(invites))
        .on(Method::Post, "/api/invites", on(invite))
        .on(Method::Delete, "/api/invites/{id}", on(uninvite));
    Client::here(std::sync::Arc::new(Stopped(router)))
}

impl Handler for Stopped {
    fn handle(&self, request: Request) {
        self.0.handle(request);
    }
}

impl Service for Stopped {
    fn next_change(&self, _: &str) -> Receiver<()> {
        never()
    }
}

/// The state cannot be read or changed.
fn failed(error: StateError) -> ApiError {
    ApiError::internal(error.to_string()).with("hint", error.hint())
}

impl From<StateError> for Unchanged {
    fn from(error: StateError) -> Self {
        Self(failed(error))
    }
}

/// Why nothing was changed.
struct Unchanged(ApiError);

fn change<T>(
    data: &DataDir,
    change: impl Fn(&mut RelayState) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let store = StateStore::open_whole(data, &mut Vec::new()).map_err(failed)?;
    let changed = store
        .writer()
        .update(|state| change(state).map_err(Unchanged));
    changed.map_err(|Unchanged(error)| error)
}

fn peek(data: &DataDir) -> Result<RelayState, ApiError> {
    let state = state_store::peek(data).map_err(failed)?;
    Ok(state.unwrap_or_default())
}

/// True if the directory has a relay's state; nothing is created.
pub fn has_state(data: &DataDir) -> bool {
    state_store::exists(data)
}

/// Result of recovering a damaged state.
#[derive(Debug)]
pub struct Recovered {
    /// Files that were set aside, as they were.
    pub aside: Vec<PathBuf>,
    /// Parts that could not be read, in a few words each.
    pub lost: Vec<String>,
    /// How many of each are there now: connectors, revoked ones, and invites.
    pub kept: [usize; 3],
}

/// Goes on with what can be read of a damaged state, while no relay runs on the directory.
pub fn recover(data: &DataDir) -> Result<Recovered, StateError> {
    let mut aside = Vec::new();
    let store = StateStore::open(data, &mut aside)?;
    let state = store.snapshot();
    Ok(Recovered {
        aside,
        lost: store.lost().to_vec(),
        kept: [
            state.connectors.len(),
            state.revoked.len(),
            state.invites.len(),
        ],
    })
}

fn revoke(data: &DataDir, request: &Request) -> Answer {
    let name = request.param("name").unwrap_or_default();
    let now = cutoff(SystemTime::now());
    let missing = || ApiError::not_found(format!("there is no connector '{name}'"));
    let done = change(data, |state| {
        turn_out(state, name, &now).ok_or_else(missing)
    })?;
    let token = done.enroll_token.as_deref();
    Ok(Response::ok(
        json!({"revoked": name, "invite": done.invite(), "enroll_token": token, "saved": true, "untold": []}),
    ))
}

fn allow(data: &DataDir, request: &Request) -> Answer {
    let name = request.param("name").unwrap_or_default();
    let done = change(data, |state| {
        state.sweep(&cutoff(SystemTime::now()));
        match state.allow(name) {
            Ok(allowed) => Ok(AllowedAgain::from(&allowed)),
            Err(NotAllowed::NotRevoked) => Err(ApiError::not_found(format!(
                "no revoked connector is called '{name}'"
            ))),
            Err(NotAllowed::Full) => Err(failed(StateError::Full)),
        }
    })?;
    Ok(Response::ok(
        json!({"allowed": name, "restored": done.is_back, "invite_good": done.is_invite_good}),
    ))
}

/// Takes a site's name from whoever has it: for the connector of this label or name, else for anybody.
fn take_name(data: &DataDir, request: &Request) -> Answer {
    let site = request.param("name").unwrap_or_default();
    let to = match request.method() {
        Method::Put => request.json::<Value>()?,
        _ => Value::Null,
    };
    let to = to.get("connector").and_then(Value::as_str);
    let taken = change(data, |state| {
        state.sweep(&cutoff(SystemTime::now()));
        let taken = handover::take(state, (site, to), (false, &|_, _| false), &|_| false);
        taken.map_err(|why| ApiError::not_found(why.to_string()))
    })?;
    Ok(Response::ok(
        json!({"site": site, "connector": taken.by, "ended": false}),
    ))
}

/// An invite; the token is a secret that is shown this once.
fn invite(data: &DataDir, request: &Request) -> Answer {
    let terms = terms(&request.json::<Value>()?)?;
    let made = change(data, |state| {
        let made = inviting::make(state, terms.clone());
        made.map_err(|_| failed(StateError::Invites))
    })?;
    Ok(Response::ok(
        json!({"token": *made.token, "invite": made.shown(), "url": "URL", "notices": []}),
    ))
}

fn uninvite(data: &DataDir, request: &Request) -> Answer {
    let id = request.param("id").unwrap_or_default();
    let now = rfc3339(SystemTime::now());
    change(data, |state| {
        let missing = || ApiError::not_found(format!("there is no invite '{id}'"));
        let is_there = state.invites.take_back(id, &now);
        is_there.then_some(()).ok_or_else(missing)
    })?;
    Ok(Response::ok(json!({"uninvited": id})))
}

fn invites(data: &DataDir, _: &Request) -> Answer {
    Ok(Response::ok(
        json!({"invites": inviting::shown(&peek(data)?)}),
    ))
}

/// The connectors. What their applications are called at is not in the state: the name of the site stands for it.
fn show(data: &DataDir, _: &Request) -> Answer {
    let state = peek(data)?;
    let passed = figures::peek(data);
    let of = |application: &Application| {
        let name = match &application.site {
            Some(site) => site.name.clone(),
            None => format!("tcp:{}", application.port),
        };
        let passed = passed(&application.app_id);
        json!({
            "url": name,
            "target": application.target,
            "last_visit": passed.and_then(|passed| status::time_of(passed.last_visit)),
            "figures": passed.map(status::figures),
        })
    };
    let enrolled = state.connectors.iter().map(|(name, connector)| {
        let caller = &connector.caller;
        json!({"name": name, "enrolled_at": connector.enrolled_at, "label": caller.label,
            "source": caller.source, "version": caller.version, "invite": connector.invite,
            "applications": connector.applications.iter().map(of).collect::<Vec<_>>()})
    });
    Ok(Response::ok(json!({
        "connectors": enrolled.collect::<Vec<_>>(),
        "revoked": status::revoked(&state),
    })))
}
