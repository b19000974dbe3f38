//! The tables of form 1, as versions 0.1.0 made them: the state is moved out of them once.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::server_error::ServerTrouble;
use super::write::{insert, write};
use crate::relay::earlier::Earlier;
use crate::relay::state::{Connector, RelayState};
use crate::relay::state_rows;
use crate::relay::store_error::StoreError;
use crate::store::random;

/// Takes the place of the state for relays of those versions: they find it damaged, go on with what they know, and accept
/// nothing new. What was there stays in the row 2, and in the table of the connectors.
const MOVED: &str = "moved to the tables of a newer version";

/// Moves it to the tables of `form`, in one transaction.
pub(super) fn upgrade(conn: &mut Conn, form: u32) -> Result<Result<(), StoreError>, ServerTrouble> {
    conn.query_drop("START TRANSACTION")?;
    let fleet = "SELECT form, number FROM postern_fleet WHERE id = 1 FOR UPDATE";
    let number = match conn.query_first(fleet)? {
        Some((found, number)) if u32::lt(&found, &form) => u64::saturating_add(number, 1),
        // Another relay was first.
        _ => return Ok(Ok(conn.query_drop("ROLLBACK")?)),
    };
    let rest: Option<String> = conn.query_first("SELECT body FROM postern_rest WHERE id = 1")?;
    let connectors = conn.query("SELECT name, body FROM postern_connectors")?;
    let state = match read(rest, connectors) {
        Ok(state) => state,
        Err(error) => {
            conn.query_drop("ROLLBACK")?;
            return Ok(Err(error));
        }
    };
    insert(conn, number, &state_rows::all(&state))?;
    let note = "INSERT INTO postern_commits (number, id) VALUES (?, ?)";
    write(conn, note, (number, random::token()))?;
    conn.query_drop(
        "REPLACE INTO postern_rest (id, body) SELECT 2, body FROM postern_rest WHERE id = 1",
    )?;
    let moved = "REPLACE INTO postern_rest (id, body) VALUES (1, ?)";
    write(conn, moved, (MOVED,))?;
    let raise = "UPDATE postern_fleet SET form = ?, number = ? WHERE id = 1";
    write(conn, raise, (form, number))?;
    conn.query_drop("COMMIT")?;
    log::info!(
        "the store is upgraded from format 1 to {form}: relays of earlier versions accept nothing new"
    );
    Ok(Ok(()))
}

fn read(rest: Option<String>, connectors: Vec<(String, String)>) -> Result<RelayState, StoreError> {
    let damaged =
        |table: &str, error: &serde_json::Error| StoreError::Damaged(format!("{table}: {error}"));
    let rest = rest.map(|rest| serde_json::from_slice::<Earlier>(rest.as_bytes()));
    let rest = rest
        .transpose()
        .map_err(|error| damaged("postern_rest", &error))?;
    let mut state = rest.unwrap_or_default().into_state();
    for (name, body) in connectors {
        let connector: Connector = serde_json::from_slice(body.as_bytes())
            .map_err(|error| damaged("postern_connectors", &error))?;
        state.connectors.insert(name, connector.into());
    }
    Ok(state)
}
