//! State of versions 0.1.0: one JSON document of form 1 or 2, and beside a large one a journal with a line for each
//! later change. It is read once.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::counters::Kept;
use super::invites::{Invite, Invites};
use super::secret::SecretHash;
use super::state::{Connector, RelayState, Reservation, Revocation};
use super::store_error::Error;
use crate::api::relay::InvitedBy;
use crate::store::{self, DataDir, Locked};
use crate::sync::CopyOnWrite;

/// File of the document; from form 3 on it says that there is a log.
pub(super) const MARK: &str = "relay.json";
/// Bytes of a file. Default 128 MiB: every connector with all its applications, twice.
pub(super) const CAP: u64 = 128 * 1024 * 1024;
/// The journal, and the counters of traffic.
const JOURNAL: &str = "relay.journal";
const FIGURES: &str = "figures.json";
/// Part of the names of the files that are kept.
const WORD: &str = "earlier";

/// The document. An unknown name is damage, such as `revoked` with a flipped bit.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Earlier {
    version: u32,
    number: u64,
    invites: Invites,
    /// The only enrolment token of form 1, and its start time.
    enroll_token: Option<SecretHash>,
    enroll_token_since: String,
    connectors: BTreeMap<String, CopyOnWrite<Connector>>,
    revoked: Vec<String>,
    revocations: BTreeMap<String, Revocation>,
    forbidden_tokens: Vec<SecretHash>,
    reserved: Vec<Reservation>,
}

/// A line of the journal: its first and last number, the connectors that changed, and everything else if that changed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    from: u64,
    to: u64,
    connectors: BTreeMap<String, Option<Connector>>,
    #[serde(default)]
    rest: Option<Earlier>,
}

/// Reads the state, or says which of its files is damaged. `document` is the content of its main file.
pub(super) fn read(home: &DataDir, document: &[u8]) -> Result<RelayState, Error> {
    home.refuse_foreign(JOURNAL)?;
    let journal = home.read(JOURNAL, CAP)?.unwrap_or_default();
    let damaged = |file: &str, place: String| Error::Earlier(home.dir().join(file), place);
    let earlier: Earlier = object(document).map_err(|why| damaged(MARK, why))?;
    if earlier.version == 0 {
        return Err(damaged(MARK, "it has no version".into()));
    }
    let earlier = replayed(earlier, &journal).map_err(|place| damaged(JOURNAL, place))?;
    let mut state = earlier.into_state();
    state.traffic = traffic(home).unwrap_or_default().into();
    Ok(state)
}

/// Reads the remains without the main file: counters alone, or nothing. A journal needs the main file.
pub(super) fn remains(home: &DataDir) -> Result<Option<RelayState>, Error> {
    let journal = home.read(JOURNAL, CAP)?.unwrap_or_default();
    if !journal.is_empty() {
        let why = format!("its {MARK} is missing");
        return Err(Error::Earlier(home.dir().join(JOURNAL), why));
    }
    Ok(traffic(home).map(|traffic| RelayState {
        traffic: traffic.into(),
        ..RelayState::default()
    }))
}

/// Reads a JSON object; serde would accept a list for a structure.
fn object<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    match json.trim_ascii_start().first() {
        Some(b'{') => serde_json::from_slice(json).map_err(|error| error.to_string()),
        _ => Err("it is not a JSON object".to_owned()),
    }
}

/// Returns the state with the changes of a journal; an error names the damaged place.
fn replayed(mut earlier: Earlier, journal: &[u8]) -> Result<Earlier, String> {
    for (index, line) in journal.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let place = || format!("line {}", index + 1);
        let Some(line) = line.strip_suffix(b"\n") else {
            log::warn!(
                "skipped the last {} bytes of {JOURNAL}: the change is incomplete",
                line.len()
            );
            break;
        };
        let change: Change = object(line).map_err(|_| place())?;
        // Lines may be left that are in the document already.
        if change.to <= earlier.number {
            continue;
        }
        if change.from != earlier.number {
            return Err(place());
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
    Ok(earlier)
}

/// Reads the counters, which were in a file of their own. A file that others can write is not used.
fn traffic(home: &DataDir) -> Option<BTreeMap<String, Kept>> {
    let read = || {
        home.refuse_foreign(FIGURES)?;
        home.read(FIGURES, CAP)
    };
    let found = read().unwrap_or_else(|error| {
        log::warn!("counters start from zero: {error}");
        None
    })?;
    let counters = serde_json::from_slice(&found);
    let unread = |error| log::warn!("counters start from zero: {FIGURES} is damaged: {error}");
    counters.map_err(unread).ok()
}

/// Keeps a copy of the document, if there is one, before it is replaced.
pub(super) fn keep_copy(locked: &Locked, document: &[u8]) -> Result<(), store::Error> {
    if document.is_empty() {
        return Ok(());
    }
    locked.keep_copy(MARK, WORD, document).map(drop)
}

/// Moves the other files to other names after their content was moved.
pub(super) fn put_away(home: &DataDir, locked: &Locked) -> Result<(), store::Error> {
    for name in [JOURNAL, FIGURES] {
        if home.dir().join(name).try_exists().unwrap_or(true) {
            locked.set_aside(name, WORD)?;
        }
    }
    Ok(())
}

impl Earlier {
    /// Returns the state in today's form. The enrolment token of form 1 becomes the common one.
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
            // There is no other invite yet.
            let _ = state.invites.add(invite, "");
        }
        state
    }
}

#[cfg(test)]
#[path = "earlier_tests.rs"]
mod tests;
