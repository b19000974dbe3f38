//! What is done with a relay's directory while no relay runs on it, or beside one that does.

use std::fmt;
use std::time::SystemTime;

use zeroize::Zeroizing;

use super::revocation::turn_out;
use super::state::{Application, NotAllowed, cutoff};
use super::state_store::{self, Error as StateError, StateStore};
use super::status;
use crate::store::DataDir;

/// What became of a connector that was turned out. Shows no secret.
pub struct Revoked {
    /// The enrol token that holds from now on, where one is needed. A secret that is shown this once.
    pub enroll_token: Option<Zeroizing<String>>,
}

impl fmt::Debug for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Revoked(***)")
    }
}

/// Whether the directory has a relay's state; nothing is created.
pub fn has_state(data: &DataDir) -> bool {
    state_store::exists(data)
}

/// Turns a connector out while no relay runs on the directory; `None` where there is none of that name.
pub fn revoke(data: &DataDir, name: &str) -> Result<Option<Revoked>, StateError> {
    let store = StateStore::open(data, &mut Vec::new())?;
    let turned_out = store
        .writer()
        .update(|state| Ok::<_, StateError>(turn_out(state, name, &cutoff(SystemTime::now()))))?;
    Ok(turned_out.map(|(_, enroll_token)| Revoked { enroll_token }))
}

/// Undoes a revocation while no relay runs on the directory; `None` where there is none of that name. True when
/// the connector is back with what it had, false when it is to enrol again.
pub fn allow(data: &DataDir, name: &str) -> Result<Option<bool>, StateError> {
    let store = StateStore::open(data, &mut Vec::new())?;
    store.writer().update(|state| {
        state.sweep(&cutoff(SystemTime::now()));
        match state.allow(name) {
            Ok(back) => Ok(Some(back.is_some())),
            Err(NotAllowed::NotRevoked) => Ok(None),
            Err(NotAllowed::Full) => Err(StateError::Full),
        }
    })
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
    /// Whether it was turned out.
    pub is_revoked: bool,
    /// Its applications: the name of each, and where it leads to.
    pub applications: Vec<(String, String)>,
}

/// Who is enrolled, and who was turned out, read from the directory whether or not a relay runs on it.
pub fn enrolled(data: &DataDir) -> Result<Vec<Enrolled>, StateError> {
    let state = state_store::peek(data)?.unwrap_or_default();
    let of = |application: &Application| {
        let name = match &application.site {
            Some(site) => site.name.clone(),
            None => format!("tcp:{}", application.port),
        };
        (name, application.target.clone())
    };
    let enrolled = state.connectors.iter().map(|(name, connector)| Enrolled {
        name: name.clone(),
        enrolled_at: connector.enrolled_at.clone(),
        label: connector.caller.label.clone(),
        version: connector.caller.version.clone(),
        source: connector.caller.source.clone(),
        is_revoked: false,
        applications: connector.applications.iter().map(of).collect(),
    });
    let revoked = status::revoked(&state).into_iter().map(|revoked| Enrolled {
        name: revoked.name,
        enrolled_at: revoked.enrolled_at,
        label: revoked.label,
        version: String::new(),
        source: String::new(),
        is_revoked: true,
        applications: Vec::new(),
    });
    Ok(enrolled.chain(revoked).collect())
}
