//! Statements that change the store.

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Value};

use crate::relay::state_rows::Row;

/// Rows of one statement, at most, and bytes of them. Default 1 MiB: a server takes 16 MiB by default.
const AT_ONCE: usize = 200;
const AT_ONCE_BYTES: usize = 1 << 20;

/// Runs a statement with values. They are made one kind of thing first, so that the driver's part of it is in the
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
