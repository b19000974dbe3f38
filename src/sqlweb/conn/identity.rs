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
