//! Calls into the driver with its panics contained, and statements of ours.

use std::mem::ManuallyDrop;

use mysql::prelude::Queryable;
use mysql::{Conn, QueryResult, Row, Text};

use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::error::DbError;
use crate::sqlweb::results::TextRow;

/// Largest answer to a statement of ours, in bytes of memory: more than a server needs to list 100,000 tables.
const MOST: usize = 128 << 20;

/// Approximate overhead in bytes of a cell, and of a row or result set.
const CELL: usize = 32;
const SET: usize = 64;

/// Calls into the driver. After [`DbError::Lost`] the connection cannot be used any more.
pub(crate) fn call_driver<T>(call: impl FnOnce() -> mysql::Result<T>) -> Result<T, DbError> {
    catch_panic(|| Ok(call()?))
}

/// Runs a statement of ours whose rows do not matter.
pub(crate) fn run_silently(conn: &mut Conn, sql: &str) -> Result<(), DbError> {
    rows(conn, sql).map(drop)
}

fn endless() -> DbError {
    DbError::Lost("the server's answer to an internal query has no end".into())
}

/// Runs a statement of ours and returns the rows of all its result sets; for small results only.
pub(crate) fn rows(conn: &mut Conn, sql: &str) -> Result<Vec<Row>, DbError> {
    let mut rows = Vec::new();
    take_rows(conn, sql, |row| rows.push(row))?;
    Ok(rows)
}

/// Runs a statement of ours and shows each of its rows, none of which is kept.
pub(crate) fn each_row(
    conn: &mut Conn,
    sql: &str,
    mut show: impl FnMut(&Row),
) -> Result<(), DbError> {
    take_rows(conn, sql, |row| show(&row))
}

fn take_rows(conn: &mut Conn, sql: &str, mut take: impl FnMut(Row)) -> Result<(), DbError> {
    catch_panic(|| {
        let mut result = ManuallyDrop::new(conn.query_iter(sql)?);
        let mut room = MOST;
        while has_set(&mut result) {
            room = room.checked_sub(SET).ok_or_else(endless)?;
            for row in result.by_ref() {
                let row = row?;
                let size = SET + CELL * row.len() + TextRow::Driver(&row).size();
                room = room.checked_sub(size).ok_or_else(endless)?;
                take(row);
            }
        }
        drop(ManuallyDrop::into_inner(result));
        Ok(())
    })
}

/// True if another set follows. The driver's handle on a set is not dropped, since it would read the set to its end.
pub(crate) fn has_set(result: &mut QueryResult<'_, '_, '_, Text>) -> bool {
    ManuallyDrop::new(result.iter()).is_some()
}
