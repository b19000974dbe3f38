//! Statements that change the store.

use mysql::prelude::Queryable;
use mysql::{Conn, Params};

/// Runs a statement with values. They are made one kind of thing first, so that the driver's part of it is in the
/// executable once.
pub(super) fn write(
    conn: &mut Conn,
    statement: &str,
    values: impl Into<Params>,
) -> Result<(), mysql::Error> {
    conn.exec_drop(statement, values.into())
}
