//! Which server a new connection came to, and what is known of it: each server behind the address is asked once, and
//! whether it takes writes again and again.

use std::sync::Arc;

use super::connector::Connector;
use super::db_conn::DbConn;
use super::driver::{rows, run_silently};
use super::identity::CLEAN;
use super::server_info::ServerInfo;
use super::write_state::{self, WriteState};
use super::{proxy, readonly};
use crate::sqlweb::error::DbError;
use crate::sqlweb::gate::CalledFunctions;
use crate::sqlweb::limits::MAX_CONNECTIONS;

/// Connections that are made, one after the other, until one is on a server that is known: each server behind a balancer
/// is met once.
const ACQUAINTANCES: usize = 8;

impl Connector {
    /// A new counted connection that speaks UTF-8, with what is known of its server. Fails with [`DbError::Busy`] at the
    /// cap, and in read-only mode with [`DbError::Shared`] where something in between spreads a session's statements.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<DbConn, DbError> {
        self.connect_within(MAX_CONNECTIONS)
    }

    /// Connects like [`Self::connect`], unless `most` connections are there already.
    pub(super) fn connect_within(self: &Arc<Self>, most: usize) -> Result<DbConn, DbError> {
        for _ in 0..ACQUAINTANCES {
            let mut conn = self.counted(most)?;
            if self.options.readonly {
                proxy::refuse_spreading(&mut conn)?;
            }
            if self.introduce(&mut conn)? {
                return Ok(conn);
            }
        }
        Err(self.unreachable("each connection reached another server"))
    }

    /// Gives the connection what is known of its server, which is asked where it is a new one. False where the connection
    /// cannot be used after that.
    fn introduce(&self, conn: &mut DbConn) -> Result<bool, DbError> {
        let is_clean = if let Some(info) = self.servers.meet(&conn.server) {
            conn.info = Some(info);
            true
        } else {
            !self.ask_info(conn)?
        };
        // In read-only mode each statement asks that.
        if is_clean && !self.options.readonly {
            self.make_clean(conn)?;
        }
        Ok(is_clean)
    }

    /// Asks the connection's server what it is; true where the connection was left in another role.
    pub(super) fn ask_info(&self, conn: &mut DbConn) -> Result<bool, DbError> {
        let (info, in_a_role) = ServerInfo::ask(&mut conn.driver)?;
        log::debug!("connected to a server of version {}", info.version);
        conn.info = Some(self.servers.learn(conn.server.clone(), info));
        Ok(in_a_role)
    }

    /// Makes the session of `conn` read-only for a statement that `calls` these names. Where the server turns out to be
    /// another one than was met on the connection, it is asked anew for the statement after this.
    pub(crate) fn make_read_only(
        &self,
        conn: &mut DbConn,
        calls: &CalledFunctions,
    ) -> Result<(), DbError> {
        let was = conn.info();
        match readonly::make_read_only(conn, calls) {
            Ok(write_state) => {
                self.note_write_state(write_state);
                Ok(())
            }
            Err(error) => {
                if let DbError::Changed(_) = error {
                    self.ask_info(conn)?;
                    let now = conn.info();
                    log::warn!("the server is now {}; it was {}", now.version, was.version);
                }
                Err(error)
            }
        }
    }

    /// Returns the facts of the server that was met last.
    pub(crate) fn info(&self) -> Arc<ServerInfo> {
        let last = self.servers.last();
        last.expect("a web client starts once it has met a server")
    }

    /// Returns whether the server that was asked last takes writes.
    pub(crate) fn write_state(&self) -> WriteState {
        self.servers.write_state()
    }

    /// Notes what a server said of that, see [`write_state`].
    pub(crate) fn note_write_state(&self, write_state: Option<WriteState>) {
        self.servers.note(write_state);
    }

    /// Sets the connection to UTF-8 and, in the same round trip, asks whether its server takes writes.
    pub(super) fn make_clean(&self, conn: &mut DbConn) -> Result<(), DbError> {
        let question = conn.info.as_ref().and_then(|info| info.write_state);
        let text =
            question.map_or_else(|| CLEAN.into(), |asked| format!("{CLEAN}; SELECT {asked}"));
        conn.take_several(true)?;
        match rows(&mut conn.driver, &text) {
            // MySQL Router takes no two statements at once where it shares connections.
            Err(error) if error.leaves_connection_usable() => {
                run_silently(&mut conn.driver, CLEAN)?;
                self.note_write_state(None);
            }
            answer => self.note_write_state(write_state::in_column(answer?.first(), 0)),
        }
        Ok(())
    }
}
