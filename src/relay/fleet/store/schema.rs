//! The tables, their upgrade from form 1, and writing rows. All statements can be repeated; columns and tables are only
//! ever added.

use std::io;

use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Error, MySqlError, Params, Value};

use crate::net::in_words;
use crate::relay::earlier::Earlier;
use crate::relay::state::{Connector, RelayState};
use crate::relay::state_rows;
use crate::relay::state_rows::Row;
use crate::relay::store_error::StoreError;
use crate::sqlweb::catch_panic::Panicked;
use crate::store::random;

/// Form of the tables and of their content. A relay that only knows an earlier one does not touch them.
pub(super) const FORM: u32 = 2;

/// Tables. The row of `postern_fleet` decides which change is first: each raises its number from the one that it was
/// based on. Names are bytes, as collations take some different names for equal.
const TABLES: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS postern_fleet (
        id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
        form INT UNSIGNED NOT NULL,
        number BIGINT UNSIGNED NOT NULL,
        secret VARBINARY(32) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_rows (
        kind VARBINARY(16) NOT NULL,
        name VARBINARY(1200) NOT NULL,
        number BIGINT UNSIGNED NOT NULL,
        body LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
        PRIMARY KEY (kind, name),
        KEY (number)) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_commits (
        number BIGINT UNSIGNED NOT NULL PRIMARY KEY,
        id VARBINARY(40) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_forms (
        id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
        lowest INT UNSIGNED NOT NULL,
        highest INT UNSIGNED NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_relays (
        id VARBINARY(64) NOT NULL PRIMARY KEY,
        beat BIGINT UNSIGNED NOT NULL,
        body LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP) ENGINE=InnoDB",
];
/// Content in place of the state for relays of form 1: they find it damaged, go on with their copy, and accept nothing
/// new. The former content stays in row 2, and in the table of the connectors.
const MOVED: &str = "moved to the tables of a newer version";
/// Rows of one statement, and their bytes, at most. Default 1 MiB: a server takes 16 MiB by default.
const AT_ONCE: usize = 200;
const AT_ONCE_BYTES: usize = 1 << 20;

/// Creates missing tables and upgrades an earlier form, if `makes` is true. The inner error is one of the store itself,
/// which no other server can help with.
pub(super) fn ensure(
    conn: &mut Conn,
    makes: bool,
) -> Result<Result<(), StoreError>, ServerTrouble> {
    let found = match form(conn) {
        Ok(found) => found,
        Err(error) if is_no_table(&error) => None,
        Err(error) => return Err(error.into()),
    };
    match found {
        Some(form) if form > FORM => return Ok(Err(StoreError::Newer(form))),
        Some(form) if form == FORM && !makes => return Ok(Ok(())),
        Some(form) if !makes => return Ok(Err(StoreError::Older(form))),
        None if !makes => {
            let why = "there is no relay state in this database";
            return Ok(Err(StoreError::Absent(why.into())));
        }
        _ => {}
    }
    for table in TABLES {
        conn.query_drop(table)?;
    }
    // Of relays that start at once, the first one's row stays, and all use its secret.
    write(
        conn,
        "INSERT IGNORE INTO postern_fleet (id, form, number, secret) VALUES (1, ?, 0, ?)",
        (FORM, random::bytes::<32>().to_vec()),
    )?;
    write(
        conn,
        "INSERT IGNORE INTO postern_commits (number, id) SELECT number, '' FROM postern_fleet WHERE number = 0 AND form = ?",
        (FORM,),
    )?;
    if found.is_some_and(|form| form < FORM)
        && let Err(error) = upgrade(conn, FORM)?
    {
        return Ok(Err(error));
    }
    note_form(conn)?;
    Ok(match form(conn)? {
        Some(form) if form > FORM => Err(StoreError::Newer(form)),
        Some(_) => Ok(()),
        None => Err(StoreError::Damaged("postern_fleet has no row".into())),
    })
}

/// Returns the form of the tables; none if their creation is incomplete.
fn form(conn: &mut Conn) -> Result<Option<u32>, mysql::Error> {
    conn.query_first("SELECT form FROM postern_fleet WHERE id = 1")
}

/// Notes the lowest form that a relay must know to take part, and the highest that a member knows.
fn note_form(conn: &mut Conn) -> Result<(), mysql::Error> {
    let note = "INSERT INTO postern_forms (id, lowest, highest) VALUES (1, ?, ?) \
        ON DUPLICATE KEY UPDATE highest = GREATEST(highest, VALUES(highest))";
    write(conn, note, (FORM, FORM))?;
    let highest: Option<u32> =
        conn.query_first("SELECT highest FROM postern_forms WHERE id = 1")?;
    if highest.is_some_and(|highest| highest > FORM) {
        log::warn!("a relay of a newer version takes part in this fleet: upgrade this one too");
    }
    Ok(())
}

/// Moves the state to the tables of `form`, in one transaction.
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

/// Runs a statement with values. They are converted to one type first, so that the driver's code for it is in the
/// executable once.
pub(super) fn write(
    conn: &mut Conn,
    statement: &str,
    values: impl Into<Params>,
) -> Result<(), mysql::Error> {
    conn.exec_drop(statement, values.into())
}

/// Writes rows of one change.
pub(super) fn insert(conn: &mut Conn, number: u64, mut rows: &[Row]) -> Result<(), mysql::Error> {
    while !rows.is_empty() {
        let mut bytes = 0;
        let fit = rows.iter().take(AT_ONCE).take_while(|row| {
            let is_first = bytes == 0;
            bytes += 1 + row.key.len() + row.value.as_ref().map_or(0, String::len);
            is_first || bytes <= AT_ONCE_BYTES
        });
        let (now, later) = rows.split_at(fit.count());
        let places = vec!["(?, ?, ?, ?)"; now.len()].join(", ");
        let statement = format!(
            "INSERT INTO postern_rows (kind, name, number, body) VALUES {places} \
             ON DUPLICATE KEY UPDATE number = VALUES(number), body = VALUES(body)"
        );
        let values = now.iter().flat_map(|row| {
            let (kind, key) = (row.kind.name(), row.key.as_str());
            [
                kind.into(),
                key.into(),
                number.into(),
                Value::from(row.value.as_deref()),
            ]
        });
        let values: Vec<Value> = values.collect();
        write(conn, &statement, values)?;
        rows = later;
    }
    Ok(())
}

/// Meaning of an error for the caller.
#[derive(Debug)]
pub(super) enum ServerTrouble {
    /// Another transaction was first; the same query may be repeated here.
    Again(String),
    /// A unique key is another's.
    Taken,
    /// This server does not serve now, or is not reached; another one may.
    Unready(String),
    /// The account has no permission, here or on other servers.
    Denied(String),
}

/// Deadlock, or a certification that another node's transaction won; lock wait timeout; record changed since it was read
/// (MariaDB).
const AGAIN: [u16; 3] = [1213, 1205, 1020];
/// Duplicate key.
const TAKEN: u16 = 1062;
/// No rights (database, sign-in, statement, table, column, privilege), no such database, sign-in refused without a
/// password, host not allowed.
const DENIED: [u16; 9] = [1044, 1045, 1142, 1143, 1227, 1049, 1698, 1130, 1370];
/// Unknown variable.
const UNKNOWN_VARIABLE: u16 = 1193;
/// No such table.
const NO_TABLE: u16 = 1146;

impl From<Error> for ServerTrouble {
    /// Unknown codes are treated like those of a server that is not ready (1047), read-only (1290, 1792, 1836), full
    /// (1040, 1203), stopping (1053), or that has ended the statement (1317, 1927, 1180): another server may do it.
    fn from(error: Error) -> Self {
        match error {
            Error::MySqlError(error) if AGAIN.contains(&error.code) => Self::Again(text(&error)),
            Error::MySqlError(error) if error.code == TAKEN => Self::Taken,
            Error::MySqlError(error) if DENIED.contains(&error.code) => Self::Denied(text(&error)),
            Error::MySqlError(error) => Self::Unready(text(&error)),
            Error::DriverError(
                error @ (DriverError::UnknownAuthPlugin(_)
                | DriverError::OldMysqlPasswordDisabled
                | DriverError::CleartextPluginDisabled
                | DriverError::TlsNotSupported),
            ) => Self::Denied(in_words(error)),
            // Without the driver's own types around the message.
            Error::DriverError(error) => Self::Unready(error.to_string()),
            Error::IoError(error) => of_transport(&error),
            error => match transport(&error) {
                Some(error) => of_transport(error),
                None => Self::Unready(error.to_string()),
            },
        }
    }
}

/// The driver panics at a value that it does not expect. Its connection is thrown away.
impl From<Panicked> for ServerTrouble {
    fn from(_: Panicked) -> Self {
        Self::Unready("unexpected answer".into())
    }
}

/// Returns the transport error that the driver has wrapped.
fn transport(error: &Error) -> Option<&io::Error> {
    use std::error::Error as _;
    let Error::CodecError(codec) = error else {
        return None;
    };
    codec.source()?.downcast_ref()
}

/// rustls returns its errors with the kind "invalid data".
fn of_transport(error: &io::Error) -> ServerTrouble {
    match error.kind() {
        io::ErrorKind::InvalidData => ServerTrouble::Denied(format!("TLS: {error}")),
        io::ErrorKind::WouldBlock => ServerTrouble::Unready("no answer in time".into()),
        _ => ServerTrouble::Unready(error.to_string()),
    }
}

fn text(error: &MySqlError) -> String {
    format!("{} ({})", error.message.trim(), error.code)
}

fn has_code(error: &Error, code: u16) -> bool {
    matches!(error, Error::MySqlError(error) if error.code == code)
}

/// True if a server does not know a variable: it is no node of a Galera cluster.
pub(super) fn is_unknown_variable(error: &Error) -> bool {
    has_code(error, UNKNOWN_VARIABLE)
}

/// True if the tables do not exist.
pub(super) fn is_no_table(error: &Error) -> bool {
    has_code(error, NO_TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: u16) -> ServerTrouble {
        let (state, message) = ("HY000".to_owned(), "m".to_owned());
        Error::MySqlError(MySqlError {
            state,
            message,
            code,
        })
        .into()
    }

    #[test]
    fn each_kind_has_its_codes_and_what_is_not_known_is_tried_elsewhere() {
        for code in [1213, 1205, 1020] {
            assert!(matches!(of(code), ServerTrouble::Again(_)), "{code}");
        }
        assert!(matches!(of(1062), ServerTrouble::Taken));
        for code in [1045, 1044, 1142, 1049] {
            assert!(matches!(of(code), ServerTrouble::Denied(_)), "{code}");
        }
        for code in [
            1047, 1290, 1836, 1792, 1040, 1203, 1053, 1317, 1927, 1180, 9999,
        ] {
            assert!(matches!(of(code), ServerTrouble::Unready(_)), "{code}");
        }
        let of_kind = |kind: io::ErrorKind| ServerTrouble::from(Error::from(io::Error::from(kind)));
        let lost = of_kind(io::ErrorKind::ConnectionReset);
        assert!(matches!(lost, ServerTrouble::Unready(_)));
        let refused = of_kind(io::ErrorKind::InvalidData);
        assert!(matches!(refused, ServerTrouble::Denied(why) if why.starts_with("TLS: ")));
    }
}
