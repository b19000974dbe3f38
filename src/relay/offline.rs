//! Work on a relay's directory while no relay runs on it; some of it also beside a running one.

use std::path::PathBuf;
use std::time::SystemTime;

use super::counters::Passed;
use super::handover;
use super::handover::HandoverError;
use super::invites::{InviteTerms, TooManyInvites};
use super::revocation;
use super::revocation::{RevokedConnector, turn_out};
use super::state::{Application, NotReadmitted, cutoff};
use super::state_store;
use super::state_store::{Error as StateError, StateStore};
use super::status;
use crate::api::relay as api;
use crate::api::relay::{Allowed, Invite, NameTaken, NewInvite, Revocation, Status};
use crate::store::DataDir;
use crate::store::time::rfc3339;

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
    /// Numbers after the repair: connectors, revoked ones, and invites.
    pub kept: [usize; 3],
}

/// Repairs a damaged state, keeping what can be read, while no relay runs on the directory.
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

/// Revokes a connector while no relay runs on the directory; `None` if there is none of that name.
pub fn revoke(data: &DataDir, name: &str) -> Result<Option<Revocation>, StateError> {
    let store = StateStore::open_whole(data)?;
    let revoked = store
        .update(|state| Ok::<_, StateError>(turn_out(state, name, &cutoff(SystemTime::now()))))?;
    Ok(revoked.map(|revoked: RevokedConnector| revoked.into_answer(name)))
}

/// Creates an invite while no relay runs on the directory. Its token is a secret that is shown only now; a relay that
/// does not run has no address.
pub fn invite(data: &DataDir, terms: InviteTerms) -> Result<NewInvite, StateError> {
    let store = StateStore::open_whole(data)?;
    let made = store.update(|state| {
        revocation::create_invite(state, terms.clone())
            .map_err(|TooManyInvites| StateError::Invites)
    })?;
    Ok(NewInvite {
        invite: made.shown(),
        token: made.token,
        ..NewInvite::default()
    })
}

/// Cancels an invite while no relay runs on the directory; false if there is none of that id.
pub fn uninvite(data: &DataDir, id: &str) -> Result<bool, StateError> {
    let store = StateStore::open_whole(data)?;
    let now = rfc3339(SystemTime::now());
    store.update(|state| Ok(state.invites.take_back(id, &now)))
}

/// Reads the invites from the directory, whether or not a relay runs on it.
pub fn invites(data: &DataDir) -> Result<Vec<Invite>, StateError> {
    let state = state_store::peek(data)?.unwrap_or_default();
    Ok(revocation::shown_invites(&state))
}

/// Undoes a revocation while no relay runs on the directory; `None` if there is none of that name.
pub fn allow(data: &DataDir, name: &str) -> Result<Option<Allowed>, StateError> {
    let store = StateStore::open_whole(data)?;
    store.update(|state| {
        state.sweep(&cutoff(SystemTime::now()));
        match state.allow(name) {
            Ok(allowed) => Ok(Some(revocation::allowed(name, &allowed))),
            Err(NotReadmitted::NotRevoked) => Ok(None),
            Err(NotReadmitted::Full) => Err(StateError::Full),
        }
    })
}

/// Takes a site's name from its owner while no relay runs on the directory: for the connector of this label or name,
/// else for everybody.
pub fn take_name(
    data: &DataDir,
    site: &str,
    to: Option<&str>,
) -> Result<Result<NameTaken, HandoverError>, StateError> {
    let store = StateStore::open_whole(data)?;
    let taken = store.update(|state| {
        state.sweep(&cutoff(SystemTime::now()));
        let taken = handover::take(state, site, to, false, &|_, _| false, &|_| false);
        Ok::<_, StateError>(taken.map(|taken| taken.by))
    })?;
    Ok(taken.map(|connector| NameTaken {
        site: site.to_owned(),
        connector,
        ended: false,
    }))
}

/// Reads the enrolled and the revoked connectors from the directory, whether or not a relay runs on it. The `url` of an
/// application is the name of its site alone, as the state contains no domain.
pub fn stored_status(data: &DataDir) -> Result<Status, StateError> {
    let state = state_store::peek(data)?.unwrap_or_default();
    let application = |of: &Application| api::Application {
        url: match &of.site {
            Some(site) => site.name.clone(),
            None => format!("tcp:{}", of.port),
        },
        ..status::stored_application(
            of,
            state
                .traffic
                .get(&of.app_id)
                .map(|kept| Passed::from_kept(*kept)),
        )
    };
    let connectors = state.connectors.iter();
    let connectors = connectors.map(|(name, connector)| api::Connector {
        applications: connector.applications.iter().map(application).collect(),
        ..status::stored(name, connector)
    });
    Ok(Status {
        connectors: connectors.collect(),
        revoked: status::revoked(&state),
        ..Status::default()
    })
}
