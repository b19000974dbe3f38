//! Identity of a connection's server. Behind a balancer two connections to one address may be on two servers, where the
//! same connection id is somebody else's; a proxy may even spread the statements of one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mysql::{Conn, Row};

use super::db_conn::{DbConn, ServerName};
use super::driver::{rows, run_silently};
use crate::sqlweb::error::DbError;

/// Sets the character set of all texts that are sent and received.
pub(crate) const CLEAN: &str = "SET NAMES utf8mb4";

/// Expression in place of an unknown start.
const UNKNOWN: &str = "NULL";

/// First query of the `mysql` client, which ProxySQL answers itself if it is exactly this text.
const COMMENT: &str = "select @@version_comment limit 1";

/// Query that MaxScale answers itself; servers do not know the variable.
const MAXSCALE: &str = "SELECT @@maxscale_version";

/// MySQL Router's error for two statements at once, while it shares connections (`connection_sharing`).
const NO_TWO_AT_ONCE: u16 = 4501;

/// Expressions that identify a server.
struct IdentityProbe {
    /// Text that no other server has.
    name: &'static str,
    /// Start of the server, in whole seconds of its clock.
    start: &'static str,
}

/// Probes in the order they are tried. Connection ids are unique since a server's start, so the start belongs to the
/// identity if the server tells it; MySQL's id of the server outlives a restart. Both servers take a statement's time
/// and their uptime from the same reading of the clock, so that the difference is constant.
const WAYS: [IdentityProbe; 4] = [
    IdentityProbe {
        name: "CONCAT_WS('/', @@server_uuid, @@hostname, @@port, @@server_id)",
        start: "UNIX_TIMESTAMP() - (SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                WHERE VARIABLE_NAME = 'Uptime')",
    },
    IdentityProbe {
        name: "CONCAT_WS('/', @@hostname, @@port, @@server_id, @@datadir)",
        start: "UNIX_TIMESTAMP() - (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
                WHERE VARIABLE_NAME = 'UPTIME')",
    },
    IdentityProbe {
        name: "CONCAT_WS('/', @@server_uuid, @@hostname, @@port, @@server_id)",
        start: UNKNOWN,
    },
    IdentityProbe {
        name: "CONCAT_WS('/', @@hostname, @@port, @@server_id)",
        start: UNKNOWN,
    },
];

/// Query for the identity of the servers at one address; remembers the probe with a start that worked last.
#[derive(Default)]
pub(crate) struct IdentityQuery {
    way: AtomicUsize,
}

impl IdentityQuery {
    /// Sets the connection to UTF-8 and, in the same round trip, notes its server. A server that does not answer stays
    /// unknown, which is not an error.
    pub(crate) fn ask(&self, conn: &mut DbConn) -> Result<(), DbError> {
        let known = self.way.load(Ordering::SeqCst);
        // Always in this order, so that servers of two kinds behind one address each always answer the same probe.
        let rest = WAYS.iter().enumerate().filter(|(at, _)| *at != known);
        for (at, way) in WAYS.iter().enumerate().skip(known).take(1).chain(rest) {
            let question = format!(
                "{CLEAN}; SELECT {}, CONNECTION_ID(), {}",
                way.name, way.start
            );
            match rows(&mut conn.driver, &question) {
                Err(DbError::Statement(_)) => {}
                answer => {
                    if way.start != UNKNOWN {
                        self.way.store(at, Ordering::SeqCst);
                    }
                    note(conn, way, answer?.first());
                    return Ok(());
                }
            }
        }
        run_silently(&mut conn.driver, CLEAN)
    }
}

fn note(conn: &mut DbConn, way: &IdentityProbe, answer: Option<&Row>) {
    let text = |i: usize| answer?.get_opt::<String, _>(i)?.ok();
    let id = text(1).and_then(|id| id.parse::<u64>().ok());
    let (Some(server), Some(id)) = (text(0), id) else {
        return;
    };
    // Another id shows a proxy that shares its connections; there the server's id would mean nothing.
    conn.is_shared = !is_greeted_as(id, &conn.driver);
    if conn.is_shared {
        return;
    }
    let start = text(2);
    conn.id = id;
    conn.is_dated = start.is_some();
    conn.server = Some(match start {
        Some(start) => format!("{server}/{start}").into(),
        None => Arc::from(server.as_str()),
    });
    conn.name = Some(ServerName {
        asked: way.name,
        answered: server,
    });
}

/// True if the greeting, which has the lower 32 bits of an id, had this one.
pub(super) fn is_greeted_as(id: u64, conn: &Conn) -> bool {
    id & u64::from(u32::MAX) == u64::from(conn.connection_id())
}

/// Fails with [`DbError::Shared`] if a proxy spreads the statements of this new connection over several connections or
/// servers: ProxySQL by its multiplexing, MaxScale and MySQL Router by splitting reads from writes. The statements that
/// make a session read-only could then reach another server than the one they guard. A balancer that assigns a whole
/// connection to one server passes.
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
    // Two queries one after the other, of the kind that a proxy sends to a reader.
    if conn.is_shared || !is_where_it_was(conn)? || !is_where_it_was(conn)? {
        return Err(named(conn));
    }
    Ok(())
}

/// True if the next statement reaches the greeted connection and the same server.
fn is_where_it_was(conn: &mut DbConn) -> Result<bool, DbError> {
    let Some(name) = &conn.name else {
        return Ok(true);
    };
    let question = format!("SELECT CONNECTION_ID(), {}", name.asked);
    let answer = rows(&mut conn.driver, &question)?;
    let text = |i: usize| answer.first()?.get_opt::<String, _>(i)?.ok();
    Ok(is_same(conn, text(0).as_deref(), text(1).as_deref()))
}

/// True if this id of a connection and this name of its server are still those of `conn`.
pub(super) fn is_same(conn: &DbConn, id: Option<&str>, name: Option<&str>) -> bool {
    let id = id.and_then(|id| id.parse().ok());
    let is_id = id.is_some_and(|id: u64| match &conn.name {
        Some(_) => id == conn.id,
        None => is_greeted_as(id, &conn.driver),
    });
    is_id && conn.name.as_ref().map(|known| known.answered.as_str()) == name
}

/// Error with the name of the proxy, if it is known.
pub(super) fn named(conn: &mut DbConn) -> DbError {
    let answers = |conn: &mut DbConn, asked| matches!(answer(conn, asked), Ok(Some(_)));
    DbError::Shared(if answers(conn, MAXSCALE) {
        "MaxScale"
    } else {
        "a proxy"
    })
}

/// First text of the answer; `None` if the server rejects the query.
fn answer(conn: &mut DbConn, asked: &str) -> Result<Option<String>, DbError> {
    match rows(&mut conn.driver, asked) {
        Err(DbError::Statement(_)) => Ok(None),
        answer => Ok(answer?
            .first()
            .and_then(|row| row.get_opt::<String, _>(0)?.ok())),
    }
}
