//! Jobs of requests: one statement, or a dump.

use std::cell::Cell;

use super::time_zone::TimeZone;
use crate::sqlweb::conn::StatementOwner;
use crate::sqlweb::error::ApiError;
use crate::sqlweb::results::Warning;
use crate::sqlweb::visitors::Use;

/// One statement of a request.
pub(crate) struct Job {
    /// The text.
    pub(crate) sql: String,
    /// The bytes to send if they are not UTF-8; the text then only shows them.
    pub(crate) raw: Option<Vec<u8>>,
    /// The database to run in.
    pub(crate) db: Option<String>,
    /// The offset for `TIMESTAMP`, such as `+02:00`; by default the session's own.
    pub(crate) time_zone: Option<TimeZone>,
    /// Origin of the text.
    pub(crate) origin: TextOrigin,
    /// True if the text may contain several statements, which the server finds, as before a delimiter of a script.
    pub(crate) is_delimited: bool,
    /// Id to cancel it.
    pub(crate) query_id: Option<String>,
    /// Its visitor and session.
    pub(crate) owner: StatementOwner,
    /// The visitor's name in a log.
    pub(crate) visitor: String,
    /// Reader of its rows: the visitor, or the address of the request.
    pub(crate) reader: String,
    /// Counters of the visitor, if any.
    pub(crate) uses: Option<Use>,
    /// True once a statement of it was refused before it was sent; a script may have several.
    pub(crate) was_refused: Cell<bool>,
}

/// Origin of a text of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextOrigin {
    /// A request of its own.
    Request,
    /// A script of several statements, split by the page.
    Script,
    /// A file, which may set its own character set.
    File,
}

impl Job {
    /// True if the text may set its own character set.
    pub(super) fn is_of_file(&self) -> bool {
        self.origin == TextOrigin::File
    }

    /// True if a statement failed before it was sent, and is not the first such one of the job.
    pub(super) fn is_refused_again(&self, error: &ApiError) -> bool {
        let is_unsent = (400..500).contains(&error.status) && error.extra.error.is_none();
        is_unsent && self.was_refused.replace(true)
    }

    /// Sets the next statement of a script.
    pub(crate) fn set_statement(&mut self, bytes: Vec<u8>) {
        match String::from_utf8(bytes) {
            Ok(sql) => (self.sql, self.raw) = (sql, None),
            Err(error) => {
                let bytes = error.into_bytes();
                self.sql = String::from_utf8_lossy(&bytes).into_owned();
                self.raw = Some(bytes);
            }
        }
    }

    /// Number of bytes of the statement as it is sent.
    pub(crate) fn size(&self) -> usize {
        self.raw.as_ref().map_or(self.sql.len(), Vec::len)
    }
}

/// Result of a successful statement, without its rows.
pub(crate) struct Completed {
    /// The server's warnings.
    pub(crate) warnings: Vec<Warning>,
    /// True if the session is in a transaction now.
    pub(crate) in_transaction: bool,
    /// True if it was told to stop, so that its result may be incomplete.
    pub(super) was_stopped: bool,
}

/// Contents and source of a dump.
pub(crate) struct DumpJob {
    /// Its visitor, the dumped database, and as its text the line of the log.
    pub(crate) job: Job,
    /// Tables, views and sequences; empty for the whole database.
    pub(crate) tables: Vec<String>,
    /// True for the statements that create them.
    pub(crate) structure: bool,
    /// True for their rows.
    pub(crate) data: bool,
    /// True for procedures, functions and packages.
    pub(crate) routines: bool,
    /// True for the tables' triggers.
    pub(crate) triggers: bool,
    /// True for events.
    pub(crate) events: bool,
    /// True if existing objects are dropped first.
    pub(crate) drop: bool,
    /// True if views and programs keep their definers.
    pub(crate) definers: bool,
    /// True if the database is created and used.
    pub(crate) create_database: bool,
}

impl DumpJob {
    /// The database.
    pub(crate) fn db(&self) -> &str {
        self.job.db.as_deref().unwrap_or_default()
    }

    /// Approximate bytes of memory while it waits for its download.
    pub(super) fn size(&self) -> usize {
        let names: usize = self.tables.iter().map(|name| name.len() + 24).sum();
        self.db().len() + self.job.sql.len() + names
    }
}
