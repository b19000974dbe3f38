//! Stops statements on the server: `KILL QUERY` over a second connection, which first proves that it is on the
//! statement's server and that the connection there runs the statement; and `KILL` for connections that were given up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mysql::Row;

use super::connector::Connector;
use super::db_conn::DbConn;
use super::driver::{rows, run_silently};
use super::socket_handle::SocketHandle;
use crate::sqlweb::error::DbError;
use crate::sync::{Thread, spawn};

/// Time for the second connection, and for each of its answers; somebody waits for them.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of second connections to try, one after the other, to reach the right server.
const CONNECTIONS: usize = 8;

/// Number of looks at the process list for a statement that may not be listed yet.
pub(super) const LOOKS: u32 = 12;

/// Number of looks for a statement that has sent rows: it is listed at once, or it has ended.
pub(super) const LOOKS_AFTER_ROWS: u32 = 1;

/// Pause after the first look; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// See [`FIRST_PAUSE`].
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Number of compared characters of a statement; of a long one every server shows at least [`LEAST_SHOWN`].
const COMPARED: usize = 2_000;

/// See [`COMPARED`].
const LEAST_SHOWN: usize = 90;

/// Seconds by which a server's time of a statement may be ahead of ours.
const TIME_AHEAD: u64 = 2;

/// `ER_NO_SUCH_THREAD` and MariaDB's `ER_NO_SUCH_QUERY`.
const ENDED: [u16; 2] = [1094, 1957];

/// A statement as it was sent, for stopping it.
#[derive(Clone)]
pub(crate) struct SentStatement {
    /// The server's number of the connection.
    pub(crate) connection: u64,
    /// See [`DbConn::server`].
    pub(crate) server: Option<Arc<str>>,
    /// See [`DbConn::is_dated`].
    is_dated: bool,
    /// The connection's socket.
    pub(crate) socket: SocketHandle,
    /// Compared part of its text; `None` while queries of ours run.
    text: Option<String>,
    /// Its current database, if known.
    database: Option<String>,
    /// True if the server may list another text: that of a called routine, or one without passwords.
    may_differ: bool,
    since: Instant,
}

impl SentStatement {
    /// Describes a statement that is about to be sent on `conn`; `harmless` if it is known to call nothing.
    pub(crate) fn on(conn: &DbConn, sql: Option<&str>, harmless: bool) -> Self {
        Self {
            connection: conn.id,
            server: conn.server.clone(),
            is_dated: conn.is_dated,
            socket: conn.socket.clone(),
            text: sql.map(compared),
            database: None,
            may_differ: !harmless,
            since: Instant::now(),
        }
    }

    /// Sets its database.
    pub(crate) fn within(self, database: Option<&str>) -> Self {
        let database = database.map(str::to_owned);
        Self { database, ..self }
    }

    /// True if a process list that shows this database may mean the statement; some servers fold the case of names.
    fn may_be_in(&self, shown: Option<&str>) -> bool {
        match (&self.database, shown) {
            (Some(own), Some(shown)) if own.is_ascii() => own.eq_ignore_ascii_case(shown),
            _ => true,
        }
    }

    #[cfg(test)]
    pub(crate) fn somewhere(connection: u64, socket: SocketHandle) -> Self {
        Self {
            connection,
            server: None,
            is_dated: false,
            socket,
            text: None,
            database: None,
            may_differ: false,
            since: Instant::now(),
        }
    }
}

/// Result of a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillOutcome {
    /// The server was told, or the statement had ended.
    Done,
    /// No second connection could prove that it would hit the statement, so nothing was sent.
    Unproven,
}

/// Entry of a connection in the process list.
enum ListedAs {
    /// It runs the statement; with MariaDB's number of the statement, if that is certain to have this text.
    Statement(Option<u64>),
    /// It runs something else, or nothing yet.
    Other,
    /// It was already told to stop.
    Killed,
    /// It is not listed.
    Gone,
}

impl Connector {
    /// A second connection to the statement's server, for [`kill_over`]; `None` if none can be made.
    pub(super) fn connect_to_kill(
        self: &Arc<Self>,
        sent: &SentStatement,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Option<DbConn>, DbError> {
        if sent.server.is_none() {
            return Ok(None);
        }
        let deadline = Instant::now() + KILL_TIMEOUT;
        for _ in 0..CONNECTIONS {
            let control = self.control_connection(KILL_TIMEOUT)?;
            if control.server == sent.server {
                return Ok(Some(control));
            }
            if Instant::now() > deadline || !is_wanted() {
                break;
            }
        }
        Ok(None)
    }
}

/// Stops the statement once one of at most `looks` looks shows that its connection runs it, while that `is_wanted`.
pub(super) fn kill_over(
    control: &mut DbConn,
    sent: &SentStatement,
    looks: u32,
    is_wanted: &dyn Fn() -> bool,
) -> Result<KillOutcome, DbError> {
    let mut pause = FIRST_PAUSE;
    for looked in 1..=looks {
        match look(control, sent)? {
            ListedAs::Gone | ListedAs::Killed => return Ok(KillOutcome::Done),
            ListedAs::Statement(query) => {
                let hit = kill(control, sent.connection, query)?;
                if hit || query.is_none() {
                    return Ok(KillOutcome::Done);
                }
            }
            ListedAs::Other => {}
        }
        if !is_wanted() {
            return Ok(KillOutcome::Done);
        }
        if looked == looks {
            break;
        }
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
    }
    Ok(KillOutcome::Unproven)
}

/// Sends the kill; returns false if the statement had already ended.
fn kill(control: &mut DbConn, connection: u64, query: Option<u64>) -> Result<bool, DbError> {
    let kill = match query {
        // Never hits what the connection runs next.
        Some(query) => format!("KILL QUERY ID {query}"),
        None => format!("KILL QUERY {connection}"),
    };
    match run_silently(&mut control.driver, &kill) {
        Ok(()) => Ok(true),
        Err(DbError::Statement(error)) if ENDED.contains(&error.code) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The process list's row of a connection, if any, with `IS_OURS`, which is 1 for our account; while a routine runs
/// with its definer's rights, the row is the definer's.
pub(super) fn listed(control: &mut DbConn, connection: u64) -> Result<Vec<Row>, DbError> {
    let ask = |table: &str| {
        format!(
            "SELECT *, USER = (SELECT USER FROM {table} AS own WHERE own.ID = CONNECTION_ID()) AS IS_OURS \
             FROM {table} WHERE ID = {connection}"
        )
    };
    match rows(&mut control.driver, &ask("information_schema.PROCESSLIST")) {
        // MySQL deprecates information_schema.PROCESSLIST.
        Err(DbError::Statement(_)) => {
            rows(&mut control.driver, &ask("performance_schema.processlist"))
        }
        listed => listed,
    }
}

/// A column as text; `None` if the server lacks it. The case of its name may differ.
pub(super) fn field(row: &Row, name: &str) -> Option<String> {
    let is_it = |column: &mysql::Column| column.name_str().eq_ignore_ascii_case(name);
    let at = row.columns_ref().iter().position(is_it)?;
    match row.as_ref(at)? {
        mysql::Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

fn look(control: &mut DbConn, sent: &SentStatement) -> Result<ListedAs, DbError> {
    let listed = listed(control, sent.connection)?;
    let Some(row) = listed.first() else {
        // It is hidden from an account without PROCESS while it has the rights of a definer; the id is our
        // connection's.
        return Ok(match (sent.may_differ, sent.is_dated) {
            (false, _) => ListedAs::Gone,
            (true, true) => ListedAs::Statement(None),
            (true, false) => ListedAs::Other,
        });
    };
    let is_ours = is_ours(row) && sent.may_be_in(field(row, "DB").as_deref());
    // After an unnoticed restart of the server the id may be a stranger's.
    if !(is_ours || sent.may_differ && sent.is_dated) {
        return Ok(ListedAs::Other);
    }
    let shown = field(row, "INFO").map(|text| compared(&text));
    Ok(match field(row, "COMMAND").as_deref() {
        Some("Killed") => ListedAs::Killed,
        Some("Query" | "Execute" | "Prepare") => {
            let time = field(row, "TIME").and_then(|time| time.parse::<i64>().ok());
            judge(sent, shown.as_deref(), time, number(row))
        }
        _ => ListedAs::Other,
    })
}

/// See [`listed`].
pub(super) fn is_ours(row: &Row) -> bool {
    field(row, "IS_OURS").as_deref() == Some("1")
}

fn number(row: &Row) -> Option<u64> {
    field(row, "QUERY_ID")?.parse().ok()
}

/// Decides if the connection runs the statement, by its text, or by its running time if the text may differ.
fn judge(
    sent: &SentStatement,
    shown: Option<&str>,
    time: Option<i64>,
    query: Option<u64>,
) -> ListedAs {
    let in_time = || {
        let most = sent.since.elapsed().as_secs() + TIME_AHEAD;
        time.is_some_and(|time| i64::try_from(most).is_ok_and(|most| time <= most))
    };
    match (&sent.text, shown) {
        (Some(text), Some(shown)) if is_shown(text, shown) => ListedAs::Statement(query),
        (Some(_), Some(_)) if !sent.may_differ => ListedAs::Other,
        _ if in_time() => ListedAs::Statement(None),
        _ => ListedAs::Other,
    }
}

/// True if the list shows this text, which may be cut if it is long.
fn is_shown(text: &str, shown: &str) -> bool {
    text == shown || (shown.len() >= LEAST_SHOWN && text.starts_with(shown))
}

/// Compared part of a text: its beginning, without the blanks and semicolons around it that servers remove, and without
/// characters that depend on the session's character set in their lists.
fn compared(sql: &str) -> String {
    let trimmed = sql
        .trim_start_matches(|c: char| c.is_ascii_whitespace())
        .trim_end_matches(|c: char| c.is_ascii_whitespace() || c == ';' || c == '\0');
    let beginning = trimmed.chars().take(COMPARED);
    beginning.filter(|c| c.is_ascii() && *c != '?').collect()
}

impl Connector {
    /// Looks for connections that were given up, on a thread of its own; one look at a time.
    pub(crate) fn reap_abandoned(self: &Arc<Self>) {
        if !self.abandoned.due() || self.abandoned.looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let looking = ReapInProgress(self.clone());
        spawn(Thread::DbReap, move || {
            if let Err(error) = look_for_killed(&looking.0) {
                log::debug!("cannot read the process list: {error}");
            }
            looking.0.abandoned.postpone();
        })
        .unwrap_or_else(|error| log::warn!("no thread to look for abandoned connections: {error}"));
    }
}

struct ReapInProgress(Arc<Connector>);

impl Drop for ReapInProgress {
    fn drop(&mut self) {
        self.0.abandoned.looking.store(false, Ordering::SeqCst);
    }
}

fn look_for_killed(connector: &Arc<Connector>) -> Result<(), DbError> {
    let mut control = connector.control_connection(KILL_TIMEOUT)?;
    let server = control.server.clone();
    for id in connector.abandoned.on(server.as_ref()) {
        let is_listed = is_listed(&mut control, id)?;
        connector.abandoned.note(server.as_ref(), id, is_listed);
    }
    Ok(())
}

/// True if the server still lists a connection that was given up. The server is told to end it, unless a restart may
/// have given the id to somebody else.
fn is_listed(control: &mut DbConn, id: u64) -> Result<bool, DbError> {
    let listed = listed(control, id)?;
    let Some(row) = listed.first() else {
        return Ok(false);
    };
    if control.is_dated && is_ours(row) && field(row, "COMMAND").as_deref() != Some("Killed") {
        match run_silently(&mut control.driver, &format!("KILL {id}")) {
            Err(error) if !error.leaves_connection_usable() => return Err(error),
            Err(error) => log::debug!("cannot end abandoned connection {id}: {error}"),
            Ok(()) => {}
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: Option<&str>, may_differ: bool) -> SentStatement {
        SentStatement {
            connection: 7,
            server: None,
            is_dated: true,
            socket: SocketHandle::default(),
            text: text.map(compared),
            database: None,
            may_differ,
            since: Instant::now(),
        }
    }

    fn is_ours(sent: &SentStatement, shown: Option<&str>, time: i64) -> bool {
        let shown = shown.map(compared);
        matches!(
            judge(sent, shown.as_deref(), Some(time), None),
            ListedAs::Statement(_)
        )
    }

    #[test]
    fn a_statement_is_known_by_its_text_in_every_form_that_lists_show() {
        let select = sent(Some("\n SELECT 'né 😀?', SLEEP(9) ;; "), false);
        assert!(is_ours(&select, Some("SELECT 'né ??', SLEEP(9)"), 1));
        assert!(is_ours(&select, Some("SELECT 'nÃ© ????', SLEEP(9)"), -1));
        assert!(!is_ours(&select, Some("SELECT 'ne 😀?', SLEEP(8)"), 0));
        assert!(!is_ours(&select, Some("SELECT"), 0));
        let long = format!("SELECT '{}'", "x".repeat(100_000));
        let long = sent(Some(&long), false);
        let cut = format!("SELECT '{}", "x".repeat(1000));
        assert!(is_ours(&long, Some(&cut), 0));
    }

    #[test]
    fn where_the_text_may_be_another_the_time_must_be_ours() {
        let call = sent(Some("CALL p()"), true);
        assert!(is_ours(&call, Some("SELECT SLEEP(9)"), 1));
        assert!(!is_ours(&call, Some("SELECT SLEEP(9)"), 60));
        assert!(is_ours(&call, None, 0));
        // Not to be seen yet, or no text at all: PREPARE.
        let select = sent(Some("SELECT 1"), false);
        assert!(is_ours(&select, None, 1) && !is_ours(&select, None, 60));
        assert!(is_ours(&sent(None, false), Some("SHOW TABLES"), 0));
    }

    #[test]
    fn another_database_is_another_statement() {
        let shop = sent(None, false).within(Some("Shop"));
        assert!(shop.may_be_in(Some("Shop")) && shop.may_be_in(Some("shop")));
        assert!(!shop.may_be_in(Some("shop2")) && shop.may_be_in(None));
        assert!(sent(None, false).may_be_in(Some("shop")));
        assert!(sent(None, false).within(Some("ä")).may_be_in(Some("?")));
    }
}
