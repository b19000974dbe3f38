//! The state as versions 0.1.0 kept it: one JSON document of form 1 or 2, and beside a large one a journal, a line for each
//! later change. It is read once.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::figures::Kept;
use super::invites::{Invite, Invites};
use super::row_log::{CAP, MARK};
use super::secret::SecretHash;
use super::state::{Connector, RelayState, Reservation, Revocation};
use super::state_store::Error;
use crate::api::relay::InvitedBy;
use crate::store::{self, DataDir, Locked};
use crate::sync::CopyOnWrite;

/// The journal, and the counters of traffic.
const JOURNAL: &str = "relay.journal";
const FIGURES: &str = "figures.json";

/// All of it. A name that nobody knows is damage, as `revoked` with a bit that fell over.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Earlier {
    version: u32,
    number: u64,
    invites: Invites,
    /// The one enrolment token of form 1, and since when it held.
    enroll_token: Option<SecretHash>,
    enroll_token_since: String,
    connectors: BTreeMap<String, CopyOnWrite<Connector>>,
    revoked: Vec<String>,
    revocations: BTreeMap<String, Revocation>,
    forbidden_tokens: Vec<SecretHash>,
    reserved: Vec<Reservation>,
}

/// A line of the journal: from one number to another, the connectors that are others, and all else where that is another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    from: u64,
    to: u64,
    connectors: BTreeMap<String, Option<Connector>>,
    #[serde(default)]
    rest: Option<Earlier>,
}

/// Reads it; none where it is damaged. `document` is the content of its main file.
pub(super) fn read(home: &DataDir, document: &[u8]) -> Result<Option<RelayState>, Error> {
    home.refuse_foreign(JOURNAL)?;
    let journal = home.read(JOURNAL, CAP)?.unwrap_or_default();
    let Some(earlier) = replayed(document, &journal) else {
        return Ok(None);
    };
    let mut state = earlier.into_state();
    state.traffic = traffic(home).unwrap_or_default().into();
    Ok(Some(state))
}

/// The counters, which were in a file of their own. What others may have written is not counted on.
pub(super) fn traffic(home: &DataDir) -> Option<BTreeMap<String, Kept>> {
    home.refuse_foreign(FIGURES).ok()?;
    let figures = home.read(FIGURES, CAP).ok()??;
    serde_json::from_slice(&figures).ok()
}

fn replayed(document: &[u8], journal: &[u8]) -> Option<Earlier> {
    let mut earlier: Earlier = serde_json::from_slice(document).ok()?;
    for line in journal.split_inclusive(|byte| *byte == b'\n') {
        // One without its end was never answered.
        let Some(line) = line.strip_suffix(b"\n") else {
            break;
        };
        let change: Change = serde_json::from_slice(line).ok()?;
        // Lines that are in the document already may have been left.
        if change.to <= earlier.number {
            continue;
        }
        if change.from != earlier.number {
            return None;
        }
        if let Some(rest) = change.rest {
            let connectors = std::mem::take(&mut earlier.connectors);
            earlier = Earlier { connectors, ..rest };
        }
        for (name, connector) in change.connectors {
            match connector {
                Some(connector) => drop(earlier.connectors.insert(name, connector.into())),
                None => drop(earlier.connectors.remove(&name)),
            }
        }
        earlier.number = change.to;
    }
    Some(earlier)
}

/// Part of the names of what is kept of it.
const WORD: &str = "earlier";

/// Keeps a copy of its document, if there is one: it is replaced.
pub(super) fn keep_copy(locked: &Locked, document: &[u8]) -> Result<(), store::Error> {
    if document.is_empty() {
        return Ok(());
    }
    locked.keep_copy(MARK, WORD, document).map(drop)
}

/// Keeps the other files under other names, now that all is elsewhere.
pub(super) fn put_away(home: &DataDir, locked: &Locked) -> Result<(), store::Error> {
    for name in [JOURNAL, FIGURES] {
        if home.dir().join(name).try_exists().unwrap_or(true) {
            locked.set_aside(name, WORD)?;
        }
    }
    Ok(())
}

impl Earlier {
    /// The state in today's form. The enrolment token of form 1 becomes the one that all share.
    pub(super) fn into_state(self) -> RelayState {
        let mut state = RelayState {
            connectors: self.connectors.into(),
            invites: self.invites,
            forbidden_tokens: self.forbidden_tokens.into(),
            ..RelayState::default()
        };
        let mut revocations = self.revocations;
        let mut facts = |name: &String| revocations.remove(name).unwrap_or_default();
        let revocations = self.revoked.iter().map(|name| (name.clone(), facts(name)));
        state.revocations = revocations.collect::<BTreeMap<_, _>>().into();
        state.revoked = self.revoked.into();
        for kept in self.reserved {
            state.keep(kept);
        }
        if let Some(token) = self.enroll_token {
            let invite = Invite::earlier(token, &self.enroll_token_since);
            for connector in state.connectors.values_mut() {
                let (id, label) = (invite.id.clone(), String::new());
                connector.invite.get_or_insert(InvitedBy { id, label });
            }
            // There is none so far.
            let _ = state.invites.add(invite, "");
        }
        state
    }
}

#[cfg(test)]
#[path = "earlier_tests.rs"]
mod tests;
