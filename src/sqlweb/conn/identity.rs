//! Which server a connection is on. Behind a balancer two connections to one address may be on two servers, where the
//! same connection id is somebody else's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mysql::{Conn, Row};

use super::db_conn::DbConn;
use super::driver::{rows, run_silently};
use crate::sqlweb::error::DbError;

/// What text is sent and received in, whatever the server's default is.
pub(crate) const CLEAN: &str = "SET NAMES utf8mb4";

/// The ways to ask, in the order they are tried: each answers one text that no other server has, the connection's id, and
/// when the server was started, where it says that; from then on no two connections have the same id. MySQL has an id of
/// the server besides, which outlives a restart. Both servers count a statement's time and their own from the same
/// clock's reading, so that the difference is always the same.
const WAYS: [&str; 4] = [
    "SELECT CONCAT_WS('/', @@server_uuid, @@hostname, @@port, @@server_id), CONNECTION_ID(), UNIX_TIMESTAMP() - \
     (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime')",
    "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id, @@datadir), CONNECTION_ID(), UNIX_TIMESTAMP() - \
     (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME')",
    "SELECT CONCAT_WS('/', @@server_uuid, @@hostname, @@port, @@server_id), CONNECTION_ID(), NULL",
    "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id), CONNECTION_ID(), NULL",
];

/// How the servers at one address are asked; remembers which way was answered.
#[derive(Default)]
pub(crate) struct IdentityQuery {
    way: AtomicUsize,
}

impl IdentityQuery {
    /// Sets the connection to UTF-8 and, in the same round trip, learns which server it is on. A server that does not
    /// say is no failure: it is unknown then.
    pub(crate) fn ask(&self, conn: &mut DbConn) -> Result<(), DbError> {
        let known = self.way.load(Ordering::SeqCst);
        let all = WAYS.iter().enumerate();
        for (way, question) in all.clone().skip(known).chain(all.take(known)) {
            match rows(&mut conn.driver, &format!("{CLEAN}; {question}")) {
                Err(DbError::Statement(_)) => {}
                answer => {
                    self.way.store(way, Ordering::SeqCst);
                    note(conn, answer?.first());
                    return Ok(());
                }
            }
        }
        run_silently(&mut conn.driver, CLEAN)
    }
}

fn note(conn: &mut DbConn, answer: Option<&Row>) {
    let text = |i: usize| answer?.get_opt::<String, _>(i)?.ok();
    let id = text(1).and_then(|id| id.parse::<u64>().ok());
    // The greeting has the lower 32 bits. Another number is that of something in between, such as a proxy that shares
    // its connections: an id of the server's would mean nothing there.
    if let (Some(server), Some(id)) = (text(0), id)
        && is_same(id, &conn.driver)
    {
        let start = text(2);
        conn.id = id;
        conn.is_dated = start.is_some();
        conn.server = Some(match start {
            Some(start) => format!("{server}/{start}").into(),
            None => Arc::from(server),
        });
    }
}

fn is_same(id: u64, conn: &Conn) -> bool {
    id & u64::from(u32::MAX) == u64::from(conn.connection_id())
}
