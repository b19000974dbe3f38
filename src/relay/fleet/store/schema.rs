//! The tables. All statements may be given again; columns and tables are only ever added.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::server_error::{Trouble, is_no_table};
use super::write::write;
use crate::relay::store_error::StoreError;
use crate::store::random;

/// The form of the tables and of what is in them. A relay that knows an earlier one does not touch them.
pub(super) const FORM: u32 = 1;

/// One row decides who is first: each change raises its number from the one that it was made of. Names are bytes, as
/// collations take some that differ for the same.
const TABLES: [&str; 7] = [
    "CREATE TABLE IF NOT EXISTS postern_fleet (
        id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
        form INT UNSIGNED NOT NULL,
        number BIGINT UNSIGNED NOT NULL,
        secret VARBINARY(32) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_connectors (
        name VARBINARY(1024) NOT NULL PRIMARY KEY,
        body LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_rest (
        id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
        body LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_changes (
        number BIGINT UNSIGNED NOT NULL PRIMARY KEY,
        id VARBINARY(40) NOT NULL,
        body LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_sites (
        name VARBINARY(255) NOT NULL PRIMARY KEY,
        connector VARBINARY(1024) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_ports (
        port SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
        connector VARBINARY(1024) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS postern_relays (
        id VARBINARY(64) NOT NULL PRIMARY KEY,
        beat BIGINT UNSIGNED NOT NULL,
        body LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP) ENGINE=InnoDB",
];

/// Makes what is missing, where `makes` says so. An error within is of the store itself, and no other server helps.
pub(super) fn ensure(conn: &mut Conn, makes: bool) -> Result<Result<(), StoreError>, Trouble> {
    match check(conn) {
        Ok(Some(found)) => return Ok(found),
        Err(error) if !is_no_table(&error) => return Err(error.into()),
        Ok(None) | Err(_) if !makes => {
            let why = "there is no relay state in this database";
            return Ok(Err(StoreError::Absent(why.into())));
        }
        Ok(None) | Err(_) => {}
    }
    for table in TABLES {
        conn.query_drop(table)?;
    }
    // Of relays that start at once the first one's row stays, and all go by its secret.
    write(
        conn,
        "INSERT IGNORE INTO postern_fleet (id, form, number, secret) VALUES (1, ?, 0, ?)",
        (FORM, random::bytes::<32>().to_vec()),
    )?;
    let missing = || Err(StoreError::Damaged("postern_fleet has no row".into()));
    Ok(check(conn)?.unwrap_or_else(missing))
}

/// Checks if the tables have a known format; none where they are not made to their end.
fn check(conn: &mut Conn) -> Result<Option<Result<(), StoreError>>, mysql::Error> {
    let form: Option<u32> = conn.query_first("SELECT form FROM postern_fleet WHERE id = 1")?;
    Ok(form.map(|form| match form {
        form if form > FORM => Err(StoreError::Newer(form)),
        _ => Ok(()),
    }))
}
