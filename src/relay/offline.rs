//! Work on a relay's directory while no relay runs on it, or beside one that does.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::figures;
use super::handover::{self, NotTaken};
use super::invites::{InviteTerms, TooMany};
use super::inviting;
use super::revocation::{AllowedAgain, TurnedOut, turn_out};
use super::state::{Application, NotAllowed, cutoff};
use super::state_store::{self, Error as StateError, StateStore};
use super::status;
use crate::store::DataDir;
use crate::store::time::rfc3339;

/// Result of a revocation. Shows no secret.
pub struct Revoked {
    /// Invite that it used, which is disabled now, as `id`, `label` and `common` of [`invites`]; null if there is none.
    pub invite: Value,
    /// Made in the place of the one token that all shared. A secret that is shown this once.
    pub enroll_token: Option<Zeroizing<String>>,
}

impl fmt::Debug for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Revoked(***)")
    }
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

/// Turns a connector out while no relay runs on the directory; `None` where there is none of that name.
pub fn revoke(data: &DataDir, name: &str) -> Result<Option<Revoked>, StateError> {
    let store = StateStore::open_whole(data, &mut Vec::new())?;
    let turned_out = store
        .writer()
        .update(|state| Ok::<_, StateError>(turn_out(state, name, &cutoff(SystemTime::now()))))?;
    Ok(turned_out.map(|turned_out: TurnedOut| Revoked {
        invite: turned_out.invite(),
        enroll_token: turned_out.enroll_token,
    }))
}

/// Makes an invite while no relay runs on the directory: its token, a secret that is shown this once, and the rest
/// as [`invites`] shows it.
pub fn invite(
    data: &DataDir,
    terms: InviteTerms,
) -> Result<(Zeroizing<String>, Value), StateError> {
    let store = StateStore::open_whole(data, &mut Vec::new())?;
    let made = store.writer().update(|state| {
        inviting::make(state, terms.clone()).map_err(|TooMany| StateError::Invites)
    });
    made.map(|made| (made.token.clone(), made.shown()))
}

/// Takes one back while no relay runs on the directory; false where there is none of that id.
pub fn uninvite(data: &DataDir, id: &str) -> Result<bool, StateError> {
    let store = StateStore::open_whole(data, &mut Vec::new())?;
    let now = rfc3339(SystemTime::now());
    store
        .writer()
        .update(|state| Ok(state.invites.take_back(id, &now)))
}

/// The invites, read from the directory whether or not a relay runs on it: JSON as the relay's API describes it.
pub fn invites(data: &DataDir) -> Result<Vec<Value>, StateError> {
    let state = state_store::peek(data)?.unwrap_or_default();
    Ok(inviting::shown(&state))
}

/// Undoes a revocation while no relay runs on the directory; `None` where there is none of that name.
pub fn allow(data: &DataDir, name: &str) -> Result<Option<AllowedAgain>, StateError> {
    let store = StateStore::open_whole(data, &mut Vec::new())?;
    store.writer().update(|state| {
        state.sweep(&cutoff(SystemTime::now()));
        match state.allow(name) {
            Ok(allowed) => Ok(Some(AllowedAgain::from(&allowed))),
            Err(NotAllowed::NotRevoked) => Ok(None),
            Err(NotAllowed::Full) => Err(StateError::Full),
        }
    })
}

/// Takes a site's name from whoever has it while no relay runs on the directory: for the connector of this label or name,
/// else for anybody. Answers the connector's name.
pub fn take_name(
    data: &DataDir,
    site: &str,
    to: Option<&str>,
) -> Result<Result<Option<String>, NotTaken>, StateError> {
    let store = StateStore::open_whole(data, &mut Vec::new())?;
    let taken = store.writer().update(|state| {
        state.sweep(&cutoff(SystemTime::now()));
        let taken = handover::take(state, (site, to), (false, &|_, _| false), &|_| false);
        Ok::<_, StateError>(taken.map(|taken| taken.by))
    })?;
    Ok(taken)
}

/// One connector, as it stands in the state.
#[derive(Debug, Clone)]
pub struct Enrolled {
    /// Its name.
    pub name: String,
    /// RFC 3339.
    pub enrolled_at: String,
    /// The name of its machine, as it says.
    pub label: String,
    /// The version of its program, as it says.
    pub version: String,
    /// Where it called from last.
    pub source: String,
    /// `id` and `label` of the invite that let it in; null where none was needed.
    pub invite: Value,
    /// True if it was turned out.
    pub is_revoked: bool,
    /// Its applications: `url` for the name of each, `target`, `last_visit` and `figures`, as the relay's API describes them.
    pub applications: Vec<Value>,
    /// Names of sites that are reserved for a revoked one.
    pub sites: Vec<String>,
}

/// Reads the enrolled and the revoked connectors from the directory, whether or not a relay runs on it.
pub fn enrolled(data: &DataDir) -> Result<Vec<Enrolled>, StateError> {
    let state = state_store::peek(data)?.unwrap_or_default();
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
    let enrolled = state.connectors.iter().map(|(name, connector)| Enrolled {
        name: name.clone(),
        enrolled_at: connector.enrolled_at.clone(),
        label: connector.caller.label.clone(),
        version: connector.caller.version.clone(),
        source: connector.caller.source.clone(),
        invite: json!(connector.invite),
        is_revoked: false,
        applications: connector.applications.iter().map(of).collect(),
        sites: Vec::new(),
    });
    let revoked = status::revoked(&state).into_iter().map(|revoked| Enrolled {
        name: revoked.name,
        enrolled_at: revoked.enrolled_at,
        label: revoked.label,
        version: String::new(),
        source: String::new(),
        invite: json!(revoked.invite),
        is_revoked: true,
        applications: Vec::new(),
        sites: revoked.sites,
    });
    Ok(enrolled.chain(revoked).collect())
}
