//! Which server a connection is on. Behind a balancer two connections to one address may be on two servers, where the
//! same connection id is somebody else's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mysql::{Conn, Row};

use super::db_conn::{DbConn, ServerName};
use super::driver::{rows, run_silently};
use crate::sqlweb::error::DbError;

/// Character set of what is sent and received, whatever the server's default is.
pub(crate) const CLEAN: &str = "SET NAMES utf8mb4";

/// A way to ask which server it is.
struct IdentityProbe {
    /// Answers one text that no other server has.
    name: &'static str,
    /// When the server was started, in whole seconds of its clock.
    start: &'static str,
}

/// In the order they are tried. No two connections since a server's start have the same id, so the start belongs to the
/// identity where the server says it; MySQL has an id of the server besides, which outlives a restart. Both servers
/// count a statement's time and their own from the same clock's reading, so that the difference is always the same.
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

/// In place of a start.
const UNKNOWN: &str = "NULL";

/// How the servers at one address are asked; remembers which of the ways that tell the start was answered.
#[derive(Default)]
pub(crate) struct IdentityQuery {
    way: AtomicUsize,
}

impl IdentityQuery {
    /// Sets the connection to UTF-8 and, in the same round trip, learns which server it is on. A server that does not
    /// say is no failure: it is unknown then.
    pub(crate) fn ask(&self, conn: &mut DbConn) -> Result<(), DbError> {
        let known = self.way.load(Ordering::SeqCst);
        // Always in this order, so that servers of two kinds behind one address are each asked the same every time.
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
    // Another number is that of something in between, such as a proxy that shares its connections: an id of the
    // server's would mean nothing there.
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

/// True if the greeting had this number of the connection, of which it has the lower 32 bits.
pub(super) fn is_greeted_as(id: u64, conn: &Conn) -> bool {
    id & u64::from(u32::MAX) == u64::from(conn.connection_id())
}

// Proxies in between that spread the statements of one session over several connections of their own,
// or over several servers: ProxySQL by its multiplexing, MaxScale and MySQL Router by splitting reads from writes. What
// makes a session read-only may then come to another server than the statement it was made for.
//
// A balancer that leads a connection somewhere once and for all is none of these.

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
