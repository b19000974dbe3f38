//! The relays of the fleet, a row each.

use mysql::prelude::Queryable;

use super::session::Session;
use super::write::write;

use crate::relay::store_error::StoreError;

/// One relay, as it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::relay) struct MemberRow {
    pub(in crate::relay::fleet) id: String,
    /// Another number than before: it lives.
    pub(in crate::relay::fleet) beat: u64,
    /// JSON.
    pub(in crate::relay::fleet) body: String,
}

/// One that was not seen for a day is forgotten; it comes back by itself.
const FORGET: &str = "DELETE FROM postern_relays WHERE seen < NOW() - INTERVAL 1 DAY";

impl Session {
    /// Says that a relay is there.
    pub(in crate::relay::fleet) fn beat(&mut self, row: &MemberRow) -> Result<(), StoreError> {
        let beat = "INSERT INTO postern_relays (id, beat, body) VALUES (?, ?, ?) \
            ON DUPLICATE KEY UPDATE beat = VALUES(beat), body = VALUES(body)";
        self.ask(|conn| Ok(write(conn, beat, (&row.id, row.beat, &row.body))?))
    }

    /// Says that it is there no more.
    pub(in crate::relay::fleet) fn leave(&mut self, id: &str) -> Result<(), StoreError> {
        let leave = "DELETE FROM postern_relays WHERE id = ?";
        self.ask(|conn| Ok(write(conn, leave, (id,))?))
    }

    /// All relays that were seen within a day.
    pub(in crate::relay::fleet) fn members(&mut self) -> Result<Vec<MemberRow>, StoreError> {
        let rows: Vec<(String, u64, String)> =
            self.ask(|conn| Ok(conn.query("SELECT id, beat, body FROM postern_relays")?))?;
        let row = |(id, beat, body)| MemberRow { id, beat, body };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Forgets those that were not.
    pub(in crate::relay::fleet) fn forget_members(&mut self) -> Result<(), StoreError> {
        self.ask(|conn| Ok(conn.query_drop(FORGET)?))
    }
}
