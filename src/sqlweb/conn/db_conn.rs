//! One connection to the database, with its known state.

use std::fmt;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use mysql::consts::StatusFlags;
use mysql::{Conn, MySqlError};

use super::driver::{call_driver, run_silently};
use super::server_info::ServerInfo;
use super::socket_handle::{Peeked, SocketHandle};
use super::wire::{Answer, LONGEST_TEXT, LastStatus};
use crate::sqlweb::error::{DbError, may_end_connection};
use crate::sqlweb::held::HeldState;
use crate::sync::Permit;

/// Longest silence of the server in answer to a statement of ours. A person's statement has no limit.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest silence of the server in answer to a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// One database connection with its place under the cap.
pub(crate) struct DbConn {
    /// The driver's connection.
    pub(crate) driver: Conn,
    /// True if its current database may differ from its first one, which only a new connection restores.
    pub(crate) moved: bool,
    /// The connection's socket, for operations that the driver lacks.
    pub(crate) socket: SocketHandle,
    /// User who has signed in.
    pub(super) user: Arc<str>,
    /// The server's number of this connection, as `KILL QUERY` takes it.
    pub(crate) id: u64,
    /// Identity of its server; `None` if it cannot be known, and then `id` may be meaningless there.
    pub(crate) server: Option<Arc<str>>,
    /// The server's name for itself, to be asked again.
    pub(super) name: Option<ServerName>,
    /// True if the server's id of the connection differs from the greeting's, so that a proxy is in between.
    pub(super) is_shared: bool,
    /// Facts of the server; a control connection has none.
    pub(super) info: Option<Arc<ServerInfo>>,
    /// True if `server` includes the server's start, at which ids begin again.
    pub(crate) is_dated: bool,
    /// True if anything but plain reads ran on it, so that the session may have state.
    pub(crate) has_state: bool,
    /// Known parts of that state.
    pub(crate) held: HeldState,
    /// True if a statement may have changed the character set unnoticed.
    pub(crate) charset_unsure: bool,
    /// True if a statement may have changed the current database unnoticed.
    pub(crate) database_unsure: bool,
    /// Rows that the previous statement changed, if a query of ours has made the server forget the number.
    pub(crate) row_count: Option<u64>,
    /// Longest packet taken from the server, in bytes.
    pub(super) max_packet: usize,
    /// True if it is encrypted, so that only the driver can read it.
    pub(super) has_tls: bool,
    /// Place of the server's last status of the session: the driver after a reset. Other uses of the driver change
    /// nothing that is read here.
    pub(super) status: LastStatus,
    /// True if the server accepts several statements in one text; `None` if unknown.
    pub(super) takes_several: Option<bool>,
    /// Its permit under `MAX_CONNECTIONS`; a control connection has none.
    pub(super) permit: Option<Permit>,
    /// Its permit among those of its visitor.
    pub(super) of_visitor: Option<Permit>,
}

/// A server's name for itself.
pub(crate) struct ServerName {
    /// Expression for the name.
    pub(super) asked: &'static str,
    /// Value of the expression.
    pub(super) answered: String,
}

impl DbConn {
    /// Returns the server's own name, also after a restart; `None` if it cannot be known.
    pub(crate) fn own_name(&self) -> Option<&str> {
        self.name.as_ref().map(|name| name.answered.as_str())
    }

    /// Known parts of its state; `None` if it has none.
    pub(crate) fn held(&self) -> Option<HeldState> {
        self.has_state.then_some(self.held)
    }

    /// Forgets the state, after a reset.
    pub(super) fn forget_state(&mut self) {
        (self.has_state, self.held) = (false, HeldState::default());
        (self.charset_unsure, self.database_unsure) = (false, false);
        self.row_count = None;
    }

    /// Returns the facts of the server that this connection is on.
    pub(crate) fn info(&self) -> Arc<ServerInfo> {
        let info = self.info.clone();
        info.expect("a connection that is handed out knows its server")
    }

    /// Runs `work` with another read timeout than [`READ_TIMEOUT`]; `None` waits without limit.
    pub(crate) fn with_read_timeout<T>(
        &mut self,
        timeout: Option<Duration>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.socket.set_read_timeout(timeout);
        let outcome = work(self);
        self.socket.set_read_timeout(Some(READ_TIMEOUT));
        outcome
    }

    /// Pings the server; true if it answers within [`PING_TIMEOUT`].
    pub(crate) fn ping(&mut self) -> bool {
        let ping = |conn: &mut Self| call_driver(|| conn.driver.ping()).is_ok();
        self.with_read_timeout(Some(PING_TIMEOUT), ping)
    }

    /// True if the server has ended the connection with that error; if that is possible, the server is asked.
    pub(crate) fn ended_with(&mut self, error: &MySqlError) -> bool {
        matches!(self.socket.peek(), Peeked::Closed)
            || may_end_connection(error.code) && !self.ping()
    }

    /// Sends a person's statement, after `guards` statements of ours in the same text; a guarded one returns rows. The
    /// answer is read without the driver if possible, which halves the cost of a million rows.
    pub(crate) fn ask(&mut self, sql: &[u8], guards: usize) -> Result<Answer<'_>, DbError> {
        if !self.takes_bytes(sql.len()) {
            self.status = LastStatus::ByDriver;
            let sql = std::str::from_utf8(sql);
            let sql = sql.map_err(|_| DbError::Request("the statement is not UTF-8".into()))?;
            return Answer::by_driver(&mut self.driver, sql, guards, &self.socket);
        }
        Answer::direct(&self.socket, sql, self.max_packet, &mut self.status)
    }

    /// Makes the server accept several statements in one text, or refuse them. Returns false if it could not be told:
    /// with TLS only the driver can send, and it has no command for this.
    pub(crate) fn take_several(&mut self, several: bool) -> Result<bool, DbError> {
        if self.takes_several == Some(several) {
            return Ok(true);
        }
        if self.has_tls || !self.socket.is_some() {
            return Ok(false);
        }
        let is_told = Answer::set_several(&self.socket, several, self.max_packet)?;
        self.takes_several = is_told.then_some(several);
        Ok(is_told)
    }

    /// Resets the session. Some servers then accept several statements again.
    pub(super) fn reset(&mut self) -> Result<(), DbError> {
        call_driver(|| self.driver.reset())?;
        self.status = LastStatus::ByDriver;
        self.takes_several = self.takes_several.filter(|several| *several);
        Ok(())
    }

    /// True if a statement of `count` bytes can be sent as bytes; the driver takes only text.
    pub(crate) fn takes_bytes(&self, count: usize) -> bool {
        !self.has_tls && self.socket.is_some() && count <= LONGEST_TEXT
    }

    /// Number of the server's warnings after a successful statement.
    pub(crate) fn warnings(&self) -> u16 {
        match self.status {
            LastStatus::Here(status) => status.warnings,
            LastStatus::ByDriver => self.driver.warnings(),
            LastStatus::Nothing => 0,
        }
    }

    /// True if a backslash in a text is an ordinary character (`SERVER_STATUS_NO_BACKSLASH_ESCAPES`).
    pub(crate) fn has_no_backslash_escapes(&self) -> bool {
        match self.status {
            LastStatus::Here(status) => status
                .flags
                .contains(StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES),
            LastStatus::ByDriver | LastStatus::Nothing => self.driver.no_backslash_escape(),
        }
    }
}

/// Longest list of flags that is read, in bytes; the names of all sixteen have 500.
const MAX_FLAGS: usize = 1024;

/// Maximum number of queries for the flags, since a late `KILL QUERY` may hit the first one.
const QUESTIONS: usize = 2;

/// True if `conn` is in a transaction (`SERVER_STATUS_IN_TRANS`), also one that `autocommit=0` began. An ERR packet has
/// no flags, so after one the server is asked, by a statement that keeps its warnings. False if the connection is lost,
/// and the transaction with it.
pub(crate) fn in_transaction(conn: &mut DbConn) -> bool {
    for _ in 0..QUESTIONS {
        let status = match conn.status {
            LastStatus::Here(status) => {
                Some(status.flags.contains(StatusFlags::SERVER_STATUS_IN_TRANS))
            }
            LastStatus::ByDriver => last_flag(&conn.driver),
            LastStatus::Nothing => None,
        };
        if let Some(flag) = status {
            return flag;
        }
        conn.status = LastStatus::ByDriver;
        if let Err(error) = run_silently(&mut conn.driver, "SHOW WARNINGS LIMIT 0") {
            log::debug!("cannot read the state of a session: {error}");
        }
    }
    last_flag(&conn.driver).unwrap_or(false)
}

/// The flag in the last packet; `None` if that had no flags. The driver (mysql 28) shows the flags only in its
/// debugging text, so they are read while that is written. The text also has the password, so nothing else of it is
/// kept.
fn last_flag(conn: &Conn) -> Option<bool> {
    call_driver(|| {
        let mut seeker = Seeker::default();
        // The seeker takes everything, so this does not fail.
        let _ = write!(seeker, "{conn:?}");
        Ok(seeker.flags)
    })
    .ok()
    .filter(|flags| flags.contains("SERVER_"))
    .map(|flags| flags.split(" | ").any(|f| f == "SERVER_STATUS_IN_TRANS"))
}

/// Text before the flags, which end with a closing bracket. The last packet's flags come before those of the
/// connection.
const FLAGS: &[u8] = b" status_flags: StatusFlags(";

/// Finds the last flags in a text that is written to it.
#[derive(Default)]
struct Seeker {
    /// Number of characters of [`FLAGS`] that have just been seen.
    seen: usize,
    flags: String,
}

impl Seeker {
    fn take(&mut self, c: char) {
        let Some(wanted) = FLAGS.get(self.seen) else {
            return self.keep(c);
        };
        // Two occurrences of FLAGS can only overlap in the first character.
        self.seen = match c {
            _ if c == char::from(*wanted) => self.seen + 1,
            ' ' => 1,
            _ => 0,
        };
        if self.seen == FLAGS.len() {
            self.flags.clear();
        }
    }

    fn keep(&mut self, c: char) {
        if c == ')' || self.flags.len() >= MAX_FLAGS {
            self.seen = 0;
        } else {
            self.flags.push(c);
        }
    }
}

impl Write for Seeker {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().for_each(|c| self.take(c));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_flags_are_found_however_the_text_comes() {
        let text = "Conn { ok: Ok { n: 0, status_flags: StatusFlags(A | B), w: 0 }, pass: \"  status_flags: \", \
            status_flags: StatusFlags(SERVER_STATUS_IN_TRANS | C), x: Y(1) }";
        for size in [1, 3, text.len()] {
            let mut seeker = Seeker::default();
            for part in text.as_bytes().chunks(size) {
                seeker
                    .write_str(std::str::from_utf8(part).unwrap())
                    .unwrap();
            }
            assert_eq!(seeker.flags, "SERVER_STATUS_IN_TRANS | C");
        }
        let mut seeker = Seeker::default();
        write!(seeker, "nothing of the kind").unwrap();
        assert_eq!(seeker.flags, "");
    }
}
