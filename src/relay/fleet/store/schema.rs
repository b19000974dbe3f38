//! The tables. All statements may be given again; columns and tables are only ever added.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::earlier;
use super::server_error::{ServerTrouble, is_no_table};
use super::write::write;
use crate::relay::store_error::StoreError;
use crate::store::random;

/// The form of the tables and of what is in them. A relay that knows an earlier one does not touch them.
pub(super) const FORM: u32 = 2;

/// One row decides who is first: each change raises its number from the one that it was made of. Names are bytes, as
/// collations take some that differ for the same.
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

/// Makes what is missing and brings an earlier form to today's, where `makes` says so. An error within is of the store
/// itself, and no other server helps.
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
    // Of relays that start at once the first one's row stays, and all go by its secret.
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
        && let Err(error) = earlier::upgrade(conn, FORM)?
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

/// The form of the tables; none where they are not made to their end.
fn form(conn: &mut Conn) -> Result<Option<u32>, mysql::Error> {
    conn.query_first("SELECT form FROM postern_fleet WHERE id = 1")
}

/// Notes the lowest form that a relay must know to take part, and the highest that one which takes part knows.
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
