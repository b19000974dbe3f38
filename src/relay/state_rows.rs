//! The state as rows, the form in which it is stored: a change is a list of rows, all of which count or none.
//!
//! ```text
//! connector  name                  connector with its applications
//! revoked    name                  facts about the revocation
//! reserved   connector site/port   name or port that it released
//! invite     id                    invite
//! forbidden  ""                    tokens of an earlier version that let nobody in
//! traffic    application's id      counters: statistics, the last minute of which a crash may lose
//! ```

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::invites::Invite;
use super::state::{RelayState, Revocation};
use super::store_error::{Error, StoreError};

/// Kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Connector,
    Revoked,
    Reserved,
    Invite,
    Forbidden,
    Traffic,
}

/// A row. It replaces the one of the same kind and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) key: String,
    /// JSON on one line; none if the row is removed.
    pub(super) value: Option<String>,
}

impl Kind {
    const ALL: [(Self, &str); 6] = [
        (Self::Connector, "connector"),
        (Self::Revoked, "revoked"),
        (Self::Reserved, "reserved"),
        (Self::Invite, "invite"),
        (Self::Forbidden, "forbidden"),
        (Self::Traffic, "traffic"),
    ];

    /// Returns its stored name.
    pub(super) fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(kind, _)| *kind == self);
        found.map_or("", |(_, name)| name)
    }

    /// Returns the kind of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(kind, _)| kind)
    }
}

/// Returns all rows of a state.
pub(super) fn all(state: &RelayState) -> Vec<Row> {
    between(&RelayState::default(), state)
}

/// Returns the rows that change one state into the other. Values that may be lost
/// ([`Volatile`](super::state::Volatile)) do not cause one.
pub(super) fn between(before: &RelayState, after: &RelayState) -> Vec<Row> {
    fn revoked(of: &RelayState) -> impl Iterator<Item = (&String, &Revocation)> {
        let names = of.revoked.iter();
        names.filter_map(|name| of.revocations.get_key_value(name))
    }
    fn invites(of: &RelayState) -> impl Iterator<Item = (&String, &Invite)> {
        of.invites.iter().map(|invite| (&invite.id, invite))
    }
    let mut rows = Vec::new();
    if !after.connectors.is_shared_with(&before.connectors) {
        let (before, after) = (before.connectors.iter(), after.connectors.iter());
        compare(&mut rows, Kind::Connector, before, after);
    }
    if !after.revocations.is_shared_with(&before.revocations) {
        compare(&mut rows, Kind::Revoked, revoked(before), revoked(after));
    }
    if !after.reserved.is_shared_with(&before.reserved) {
        let (before, after) = (before.reserved.iter(), after.reserved.iter());
        compare(&mut rows, Kind::Reserved, before, after);
    }
    if !after.invites.is_shared_with(&before.invites) {
        compare(&mut rows, Kind::Invite, invites(before), invites(after));
    }
    if !after.traffic.is_shared_with(&before.traffic) {
        compare(
            &mut rows,
            Kind::Traffic,
            before.traffic.iter(),
            after.traffic.iter(),
        );
    }
    if after.forbidden_tokens != before.forbidden_tokens {
        rows.push(row(Kind::Forbidden, "", Some(&after.forbidden_tokens)));
    }
    rows
}

/// Adds rows for the entries that differ: first the removed ones, then the others in the order of `after`.
fn compare<'a, K: Eq + Hash + AsRef<str>, V: PartialEq + Serialize + 'a>(
    rows: &mut Vec<Row>,
    kind: Kind,
    before: impl Iterator<Item = (K, &'a V)>,
    after: impl Iterator<Item = (K, &'a V)>,
) {
    let mut before: HashMap<K, &V> = before.collect();
    let mut others = Vec::new();
    for (key, value) in after {
        if before.remove(&key) != Some(value) {
            others.push(row(kind, key.as_ref(), Some(value)));
        }
    }
    let gone = before.keys().map(|key| row::<V>(kind, key.as_ref(), None));
    rows.extend(gone.chain(others));
}

fn row<V: Serialize>(kind: Kind, key: &str, value: Option<&V>) -> Row {
    let json = |value| serde_json::to_string(value).expect("a row has strings for its keys");
    Row {
        kind,
        key: key.to_owned(),
        value: value.map(json),
    }
}

/// Puts a row into a state; an error if it is not one of that kind.
pub(super) fn put(
    state: &mut RelayState,
    kind: Kind,
    key: &str,
    value: Option<&[u8]>,
) -> serde_json::Result<()> {
    match kind {
        Kind::Connector => put_in(&mut state.connectors, key, read(value)?),
        Kind::Revoked => {
            let facts: Option<Revocation> = read(value)?;
            match facts {
                Some(_) if state.is_revoked(key) => {}
                Some(_) => state.revoked.push(key.to_owned()),
                None => state.revoked.retain(|name| name != key),
            }
            put_in(&mut state.revocations, key, facts);
        }
        Kind::Reserved => put_in(&mut state.reserved, key, read(value)?),
        Kind::Invite => state.invites.put(key, read(value)?),
        Kind::Forbidden => state.forbidden_tokens = read(value)?.unwrap_or_default(),
        Kind::Traffic => put_in(&mut state.traffic, key, read(value)?),
    }
    Ok(())
}

fn put_in<V>(map: &mut BTreeMap<String, V>, key: &str, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value)),
        None => drop(map.remove(key)),
    }
}

fn read<V: DeserializeOwned>(value: Option<&[u8]>) -> serde_json::Result<Option<V>> {
    value.map(serde_json::from_slice).transpose()
}

/// Place of the stored rows: [`RowLog`](super::row_log::RowLog), or the store of a fleet.
pub(super) trait Rows: Send {
    /// Stores all of `rows`, for the next start, or none. They make `state` of the state that was stored before;
    /// [`Error::Outdated`] if others have changed that.
    fn apply(&mut self, rows: &[Row], state: &RelayState) -> Result<(), Error>;

    /// True if others change them too: then nothing is promised before it is stored.
    fn is_shared(&self) -> bool {
        false
    }

    /// Number of the last change that was stored or read.
    fn number(&self) -> u64;

    /// Returns `state`, which was stored or read last, with the changes of others; none if there are none.
    fn news(&mut self, _state: &RelayState) -> Result<Option<RelayState>, StoreError> {
        Ok(None)
    }

    /// Stores a whole state at the end, with the values that did not cause a row.
    fn end(&mut self, _state: &RelayState) -> Result<(), Error> {
        Ok(())
    }
}
