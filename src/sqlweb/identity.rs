//! Which server a connection is on. Behind a balancer two connections to one address may be on two servers, where the
//! same connection id is somebody else's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mysql::{Conn, Row};

use super::connect::Link;
use super::error::DbError;
use super::statement::{rows, run_silently};

/// What text is sent and received in, whatever the server's default is.
pub(crate) const CLEAN: &str = "SET NAMES utf8mb4";

/// The ways to ask, in the order they are tried: each answers one text that no other server has, and the connection's id.
/// MySQL has an id of the server; MariaDB has none, but says when it was started.
const WAYS: [&str; 3] = [
    "SELECT CONCAT_WS('/', @@server_uuid, @@hostname, @@port, @@server_id), CONNECTION_ID()",
    "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id, @@datadir, UNIX_TIMESTAMP() - VARIABLE_VALUE), CONNECTION_ID() \
     FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'",
    "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id), CONNECTION_ID()",
];

/// How the servers at one address are asked; remembers which way was answered.
#[derive(Default)]
pub(crate) struct Question {
    way: AtomicUsize,
}

impl Question {
    /// Sets the connection to UTF-8 and, in the same round trip, learns which server it is on. A server that does not
    /// say is no failure: it is unknown then.
    pub(crate) fn ask(&self, link: &mut Link) -> Result<(), DbError> {
        let known = self.way.load(Ordering::SeqCst);
        let all = WAYS.iter().enumerate();
        for (way, question) in all.clone().skip(known).chain(all.take(known)) {
            match rows(&mut link.conn, &format!("{CLEAN}; {question}")) {
                Err(DbError::Statement(_)) => {}
                answer => {
                    self.way.store(way, Ordering::SeqCst);
                    note(link, answer?.first());
                    return Ok(());
                }
            }
        }
        run_silently(&mut link.conn, CLEAN)
    }
}

fn note(link: &mut Link, answer: Option<&Row>) {
    let text = |i: usize| answer?.get_opt::<String, _>(i)?.ok();
    let id = text(1).and_then(|id| id.parse::<u64>().ok());
    // The greeting has the lower 32 bits. Another number is that of something in between, such as a proxy that shares
    // its connections: an id of the server's would mean nothing there.
    if let (Some(server), Some(id)) = (text(0), id)
        && is_same(id, &link.conn)
    {
        link.id = id;
        link.server = Some(Arc::from(server));
    }
}

fn is_same(id: u64, conn: &Conn) -> bool {
    id & u64::from(u32::MAX) == u64::from(conn.connection_id())
}
