//! Proxies in between that spread the statements of one session over several connections of their own,
//! or over several servers: ProxySQL by its multiplexing, MaxScale and MySQL Router by splitting reads from writes. What
//! makes a session read-only may then come to another server than the statement it was made for.
//!
//! A balancer that leads a connection somewhere once and for all is none of these.

use super::db_conn::DbConn;
use super::driver::rows;
use super::identity::is_greeted_as;
use crate::sqlweb::error::DbError;

/// ProxySQL answers this text itself, as long as it is letter for letter what the `mysql` client asks first.
const COMMENT: &str = "select @@version_comment limit 1";

/// MaxScale answers this one itself; servers do not know the variable.
const MAXSCALE: &str = "SELECT @@maxscale_version";

/// MySQL Router's error for two statements at once, while it shares connections (`connection_sharing`).
const NO_TWO_AT_ONCE: u16 = 4501;

/// Fails with [`DbError::Shared`] where two statements of this new connection come to different connections or servers,
/// or where something says of itself that it shares connections.
pub(super) fn refuse_spreading(conn: &mut DbConn) -> Result<(), DbError> {
    let comment = answer(conn, COMMENT)?;
    if comment.is_some_and(|comment| comment.contains("ProxySQL")) {
        return Err(DbError::Shared("ProxySQL"));
    }
    if conn.name.is_none()
        && let Err(DbError::Statement(error)) = rows(&mut conn.driver, "DO 0; DO 0")
        && error.code == NO_TWO_AT_ONCE
    {
        return Err(DbError::Shared("MySQL Router"));
    }
    // One after the other, and of the kind that is sent to a reader.
    if conn.is_shared || !is_where_it_was(conn)? || !is_where_it_was(conn)? {
        return Err(named(conn));
    }
    Ok(())
}

/// True if the next statement comes to the connection that the greeting was for, and to the same server.
fn is_where_it_was(conn: &mut DbConn) -> Result<bool, DbError> {
    let Some(name) = &conn.name else {
        return Ok(true);
    };
    let question = format!("SELECT CONNECTION_ID(), {}", name.asked);
    let answer = rows(&mut conn.driver, &question)?;
    let text = |i: usize| answer.first()?.get_opt::<String, _>(i)?.ok();
    Ok(is_same(conn, text(0).as_deref(), text(1).as_deref()))
}

/// True if a connection that answers this number and this name of its server is the one that it was.
pub(super) fn is_same(conn: &DbConn, id: Option<&str>, name: Option<&str>) -> bool {
    let id = id.and_then(|id| id.parse().ok());
    let is_id = id.is_some_and(|id: u64| match &conn.name {
        Some(_) => id == conn.id,
        None => is_greeted_as(id, &conn.driver),
    });
    is_id && conn.name.as_ref().map(|known| known.answered.as_str()) == name
}

/// The error, with the name of what is there, where it tells it.
pub(super) fn named(conn: &mut DbConn) -> DbError {
    let answers = |conn: &mut DbConn, asked| matches!(answer(conn, asked), Ok(Some(_)));
    DbError::Shared(if answers(conn, MAXSCALE) {
        "MaxScale"
    } else {
        "a proxy"
    })
}

/// The first text that is answered; none where the server does not know the question.
fn answer(conn: &mut DbConn, asked: &str) -> Result<Option<String>, DbError> {
    match rows(&mut conn.driver, asked) {
        Err(DbError::Statement(_)) => Ok(None),
        answer => Ok(answer?
            .first()
            .and_then(|row| row.get_opt::<String, _>(0)?.ok())),
    }
}
