//! The state as it stands in the store.

use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};
use zeroize::Zeroizing;

use super::server_error::Trouble;
use super::session::Session;
use crate::relay::journal::Change;
use crate::relay::state::{Connector, RelayState};
use crate::relay::store_error::StoreError;

/// Bytes of changes that are read at once, at most. Default 4 MiB: what is more is had for less as the whole.
const MAX_NEWS: u64 = 4 << 20;

/// Changes since a number.
pub(in crate::relay::fleet) enum News {
    Nothing,
    /// In their order, the first of them made of the state with that number.
    Changes(Vec<Change>),
    /// All there is, where that is not known in changes.
    Whole(Box<RelayState>),
}

impl Session {
    /// The number of the last change.
    pub(in crate::relay::fleet) fn number(&mut self) -> Result<u64, StoreError> {
        let fleet = self.fleet.clone();
        self.ask(|conn| number(conn, fleet.as_deref()))
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

    /// Reads the changes since the state had this number.
    pub(in crate::relay::fleet) fn news(&mut self, known: u64) -> Result<News, StoreError> {
        let number = self.number()?;
        if number == known {
            return Ok(News::Nothing);
        }
        let size = "SELECT CAST(COALESCE(SUM(LENGTH(body)), 0) AS UNSIGNED) FROM postern_changes WHERE number > ?";
        let size: Option<u64> = self.ask(|conn| Ok(conn.exec_first(size, (known,))?))?;
        if size.is_none_or(|size| size > MAX_NEWS) {
            return Ok(News::Whole(Box::new(self.whole()?)));
        }
        let since = "SELECT body FROM postern_changes WHERE number > ? ORDER BY number";
        let bodies: Vec<String> = self.ask(|conn| Ok(conn.exec(since, (known,))?))?;
        let mut changes = Vec::with_capacity(bodies.len());
        let mut at = known;
        for body in bodies {
            let change: Change = read(&body, "postern_changes")?;
            if change.from != at {
                break;
            }
            at = change.to;
            changes.push(change);
        }
        if at < number || changes.is_empty() {
            // Behind by more than is kept, or the store is another one than it was.
            return Ok(News::Whole(Box::new(self.whole()?)));
        }
        Ok(News::Changes(changes))
    }

    /// All of it, as it is at one moment.
    pub(in crate::relay::fleet) fn whole(&mut self) -> Result<RelayState, StoreError> {
        let fleet = self.fleet.clone();
        let (number, rest, connectors) = self.ask(|conn| rows(conn, fleet.as_deref()))?;
        let mut state: RelayState = match rest {
            Some(rest) => read(&rest, "postern_rest")?,
            None => RelayState::default(),
        };
        state.number = number;
        for (name, body) in connectors {
            let connector: Connector = read(&body, "postern_connectors")?;
            state.connectors.insert(name, connector);
        }
        Ok(state)
    }
}

/// The number of the last change, of this fleet alone where it is known. A server without it may be none of the store's.
fn number(conn: &mut impl Queryable, fleet: Option<&str>) -> Result<u64, Trouble> {
    let row: Option<(u64, String)> =
        conn.query_first("SELECT number, SHA2(secret, 256) FROM postern_fleet WHERE id = 1")?;
    match row {
        Some((number, of)) if fleet.is_none_or(|fleet| fleet == of) => Ok(number),
        Some(_) => Err(Trouble::Elsewhere(
            "it contains another fleet's state".into(),
        )),
        None => Err(Trouble::Elsewhere("postern_fleet has no row".into())),
    }
}

type Rows = (u64, Option<String>, Vec<(String, String)>);

fn rows(conn: &mut Conn, fleet: Option<&str>) -> Result<Rows, Trouble> {
    let mut at_once =
        conn.start_transaction(TxOpts::default().set_with_consistent_snapshot(true))?;
    let number = number(&mut at_once, fleet)?;
    let rest = at_once.query_first("SELECT body FROM postern_rest WHERE id = 1")?;
    let connectors = at_once.query("SELECT name, body FROM postern_connectors")?;
    at_once.commit()?;
    Ok((number, rest, connectors))
}

/// Read as bytes, as a state on disk is: of a text, all that reads a state would be in the executable once more.
fn read<T: serde::de::DeserializeOwned>(body: &str, table: &str) -> Result<T, StoreError> {
    serde_json::from_slice(body.as_bytes()).map_err(|error| damaged(&format!("{table}: {error}")))
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.to_owned())
}
