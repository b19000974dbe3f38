//! The state's rows and the members' rows in the store. Each change of the state is one transaction.

use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};
use zeroize::Zeroizing;

use super::schema::ServerTrouble;
use super::schema::{insert, write};
use super::session::Session;
use crate::relay::state::RelayState;
use crate::relay::state_rows;
use crate::relay::state_rows::{Kind, Row};
use crate::relay::store_error::StoreError;
use crate::store::random;

/// Number of changes after which a relay that lags behind reads everything. Default 500.
const REMEMBERED: u64 = 500;
/// Number of changes between two removals of old ones.
const SWEPT_EACH: u64 = 16;
/// Forgets relays that were not seen for a day; such a relay comes back by itself.
const FORGET: &str = "DELETE FROM postern_relays WHERE seen < NOW() - INTERVAL 1 DAY";

/// Name of a state in the store: two states may have the same number if one comes from a backup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::relay::fleet) struct Version {
    pub(in crate::relay::fleet) number: u64,
    id: String,
}

impl Session {
    /// Returns the number of the last change.
    pub(in crate::relay::fleet) fn number(&mut self) -> Result<u64, StoreError> {
        let fleet = self.fleet.clone();
        self.ask(|conn| Ok(version(conn, fleet.as_deref())?.number))
    }

    /// The secret that the relays of the fleet share.
    pub(in crate::relay::fleet) fn secret(&mut self) -> Result<Zeroizing<[u8; 32]>, StoreError> {
        let secret: Option<Vec<u8>> = self
            .ask(|conn| Ok(conn.query_first("SELECT secret FROM postern_fleet WHERE id = 1")?))?;
        let secret = Zeroizing::new(secret.unwrap_or_default());
        let secret = <[u8; 32]>::try_from(&**secret).ok();
        let secret =
            secret.ok_or_else(|| damaged("the secret in postern_fleet is not 32 bytes long"))?;
        Ok(Zeroizing::new(secret))
    }

    /// Reads the whole state at one moment.
    pub(in crate::relay::fleet) fn whole(&mut self) -> Result<(RelayState, Version), StoreError> {
        let fleet = self.fleet.clone();
        let (rows, version) = self.ask(|conn| {
            let mut at_once = snapshot(conn)?;
            let version = version(&mut at_once, fleet.as_deref())?;
            let all = "SELECT kind, name, body FROM postern_rows ORDER BY number, kind, name";
            let rows = at_once.query(all)?;
            at_once.commit()?;
            Ok((rows, version))
        })?;
        let mut state = RelayState::default();
        put(&mut state, rows)?;
        Ok((state, version))
    }

    /// Returns the state with the changes of others, and its version; none if there are none.
    pub(in crate::relay::fleet) fn news(
        &mut self,
        state: &RelayState,
        known: &Version,
    ) -> Result<Option<(RelayState, Version)>, StoreError> {
        let fleet = self.fleet.clone();
        let found = self.ask(|conn| {
            let mut at_once = snapshot(conn)?;
            let version = version(&mut at_once, fleet.as_deref())?;
            let is_known = "SELECT 1 FROM postern_commits WHERE number = ? AND id = ?";
            let since = "SELECT kind, name, body FROM postern_rows WHERE number > ? ORDER BY number, kind, name";
            let rows = if version == *known {
                Some(Vec::new())
            } else if let Some(1_u8) = at_once.exec_first(is_known, (known.number, &known.id))? {
                Some(at_once.exec(since, (known.number,))?)
            } else {
                // This relay lags behind by more than is remembered, or the store is another one.
                None
            };
            at_once.commit()?;
            Ok((rows, version))
        })?;
        match found {
            (Some(_), version) if version == *known => Ok(None),
            (Some(rows), version) => {
                let mut state = state.clone();
                put(&mut state, rows)?;
                Ok(Some((state, version)))
            }
            (None, _) => self.whole().map(Some),
        }
    }

    /// Changes the state of this version; returns the new version, or none if the store has another one. After an error
    /// the change may have been made or not.
    pub(in crate::relay::fleet) fn change(
        &mut self,
        known: &Version,
        rows: &[Row],
    ) -> Result<Option<Version>, StoreError> {
        let made = Version {
            number: known.number + 1,
            id: random::token(),
        };
        let is_made = self.ask(|conn| {
            let outcome = attempt(conn, known, &made, rows);
            if let Err(ServerTrouble::Again(_) | ServerTrouble::Taken) = outcome {
                conn.query_drop("ROLLBACK")?;
            }
            match outcome {
                Err(ServerTrouble::Taken) => Ok(false),
                outcome => outcome,
            }
        })?;
        if is_made && made.number.is_multiple_of(SWEPT_EACH) {
            self.sweep(made.number.saturating_sub(REMEMBERED));
        }
        Ok(is_made.then_some(made))
    }

    /// Removes old changes, and equally old rows without a body. Best effort: the next call does it too.
    fn sweep(&mut self, before: u64) {
        let swept = self.ask(|conn| {
            let changes = "DELETE FROM postern_commits WHERE number < ? LIMIT 1000";
            write(conn, changes, (before,))?;
            let gone = "DELETE FROM postern_rows WHERE body IS NULL AND number < ? LIMIT 1000";
            Ok(write(conn, gone, (before,))?)
        });
        if let Err(error) = swept {
            log::debug!("old changes remain in the store: {error}");
        }
    }
}

fn snapshot(conn: &mut Conn) -> Result<mysql::Transaction<'_>, mysql::Error> {
    conn.start_transaction(TxOpts::default().set_with_consistent_snapshot(true))
}

/// Reads the version, of this fleet only if it is known. A server without it may belong to another store.
fn version(conn: &mut impl Queryable, fleet: Option<&str>) -> Result<Version, ServerTrouble> {
    let row: Option<(u64, String, String)> = conn.query_first(
        "SELECT f.number, COALESCE(c.id, ''), SHA2(f.secret, 256) FROM postern_fleet f \
         LEFT JOIN postern_commits c ON c.number = f.number WHERE f.id = 1",
    )?;
    match row {
        Some((number, id, of)) if fleet.is_none_or(|fleet| fleet == of) => {
            Ok(Version { number, id })
        }
        Some(_) => Err(ServerTrouble::Unready(
            "it contains another fleet's state".into(),
        )),
        None => Err(ServerTrouble::Unready("postern_fleet has no row".into())),
    }
}

type Stored = (String, String, Option<String>);

fn put(state: &mut RelayState, rows: Vec<Stored>) -> Result<(), StoreError> {
    for (kind, key, body) in rows {
        let damaged = || damaged(&format!("postern_rows: {kind} '{key}'"));
        let kind = Kind::named(&kind).ok_or_else(damaged)?;
        let body = body.as_deref().map(str::as_bytes);
        state_rows::put(state, kind, &key, body).map_err(|_| damaged())?;
    }
    Ok(())
}

/// True if the change was made; false if the store has another state than `known`.
fn attempt(
    conn: &mut Conn,
    known: &Version,
    made: &Version,
    rows: &[Row],
) -> Result<bool, ServerTrouble> {
    conn.query_drop("START TRANSACTION")?;
    let raise = "UPDATE postern_fleet SET number = ? WHERE id = 1 AND number = ? \
        AND COALESCE((SELECT id FROM postern_commits WHERE number = ?), '') = ?";
    let values = (made.number, known.number, known.number, &known.id);
    write(conn, raise, values)?;
    if conn.affected_rows() == 0 {
        conn.query_drop("ROLLBACK")?;
        // It may have been made before, and only its answer was lost.
        let read_back = "SELECT 1 FROM postern_commits WHERE number = ? AND id = ?";
        let found: Option<u8> = conn.exec_first(read_back, (made.number, &made.id))?;
        return Ok(found.is_some());
    }
    let note = "INSERT INTO postern_commits (number, id) VALUES (?, ?)";
    write(conn, note, (made.number, &made.id))?;
    insert(conn, made.number, rows)?;
    conn.query_drop("COMMIT")?;
    Ok(true)
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.to_owned())
}

/// Entry of a relay for the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::relay) struct MemberRow {
    pub(in crate::relay::fleet) id: String,
    /// Number that changes while the relay lives.
    pub(in crate::relay::fleet) beat: u64,
    /// Entry as JSON.
    pub(in crate::relay::fleet) body: String,
}

impl Session {
    /// Writes the heartbeat of a relay.
    pub(in crate::relay::fleet) fn beat(&mut self, row: &MemberRow) -> Result<(), StoreError> {
        let beat = "INSERT INTO postern_relays (id, beat, body) VALUES (?, ?, ?) \
            ON DUPLICATE KEY UPDATE beat = VALUES(beat), body = VALUES(body)";
        self.ask(|conn| Ok(write(conn, beat, (&row.id, row.beat, &row.body))?))
    }

    /// Removes a relay that stops.
    pub(in crate::relay::fleet) fn leave(&mut self, id: &str) -> Result<(), StoreError> {
        let leave = "DELETE FROM postern_relays WHERE id = ?";
        self.ask(|conn| Ok(write(conn, leave, (id,))?))
    }

    /// Returns all relays that were seen within a day.
    pub(in crate::relay::fleet) fn members(&mut self) -> Result<Vec<MemberRow>, StoreError> {
        let rows: Vec<(String, u64, String)> =
            self.ask(|conn| Ok(conn.query("SELECT id, beat, body FROM postern_relays")?))?;
        let row = |(id, beat, body)| MemberRow { id, beat, body };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Forgets relays that were not seen for a day.
    pub(in crate::relay::fleet) fn forget_members(&mut self) -> Result<(), StoreError> {
        self.ask(|conn| Ok(conn.query_drop(FORGET)?))
    }
}
