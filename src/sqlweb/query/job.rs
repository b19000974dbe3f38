//! One statement as a request asks for it.

use std::cell::Cell;

use super::time_zone::TimeZone;
use crate::sqlweb::conn::StatementOwner;
use crate::sqlweb::error::ApiError;
use crate::sqlweb::results::Warning;
use crate::sqlweb::visitors::Use;

/// One statement as a request has it.
pub(crate) struct Job {
    /// The text.
    pub(crate) sql: String,
    /// The bytes that are sent, where they are no UTF-8; the text is what can be shown of them then.
    pub(crate) raw: Option<Vec<u8>>,
    /// The database to run in.
    pub(crate) db: Option<String>,
    /// The offset that `TIMESTAMP` is read and shown with, such as `+02:00`; the session's own where there is none.
    pub(crate) time_zone: Option<TimeZone>,
    /// Where the text comes from.
    pub(crate) origin: TextOrigin,
    /// True if the text may hold several statements, which the server finds, as a script may have them before a delimiter.
    pub(crate) is_delimited: bool,
    /// The id by which it can be cancelled.
    pub(crate) query_id: Option<String>,
    /// To whom it belongs.
    pub(crate) owner: StatementOwner,
    /// The visitor as a log names them.
    pub(crate) visitor: String,
    /// Reader of its rows: the visitor, or else where the request came from.
    pub(crate) reader: String,
    /// Counters of the visitor, if any.
    pub(crate) uses: Option<Use>,
    /// Set once a statement of it was refused before it was sent: of a script there may be more.
    pub(crate) was_refused: Cell<bool>,
}

/// Where a text of SQL comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextOrigin {
    /// A request of its own.
    Request,
    /// A script of several statements, taken apart by the page.
    Script,
    /// A file, which may set the character set that it is read in.
    File,
}

impl Job {
    /// True if the text may set the character set that it is read in.
    pub(super) fn is_of_file(&self) -> bool {
        self.origin == TextOrigin::File
    }

    /// Tells whether a statement failed before it was sent, and not as the first of the job.
    pub(super) fn is_refused_again(&self, error: &ApiError) -> bool {
        let is_unsent = (400..500).contains(&error.status) && error.extra.error.is_none();
        is_unsent && self.was_refused.replace(true)
    }
}

impl Job {
    /// Takes the next statement of a script.
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

    /// Bytes of the statement as it is sent.
    pub(crate) fn size(&self) -> usize {
        self.raw.as_ref().map_or(self.sql.len(), Vec::len)
    }
}

/// Result of a statement that succeeded, beside its rows.
pub(crate) struct Completed {
    /// The server's warnings.
    pub(crate) warnings: Vec<Warning>,
    /// True if the session is in a transaction now.
    pub(crate) in_transaction: bool,
    /// True if it was told to stop, so that its result may be cut short.
    pub(super) was_stopped: bool,
}

/// Contents and source of a dump.
pub(crate) struct DumpJob {
    /// To whom it belongs; its database is the one that is dumped, its text what a log says of it.
    pub(crate) job: Job,
    /// Tables, views and sequences; all of the database where there are none.
    pub(crate) tables: Vec<String>,
    /// The statements that make them.
    pub(crate) structure: bool,
    /// Their rows.
    pub(crate) data: bool,
    /// Procedures, functions and packages.
    pub(crate) routines: bool,
    /// The tables' triggers.
    pub(crate) triggers: bool,
    /// Events.
    pub(crate) events: bool,
    /// True if what is there already is dropped before it is made.
    pub(crate) drop: bool,
    /// True if views and programs keep who they run as.
    pub(crate) definers: bool,
    /// True if the database is made and entered.
    pub(crate) create_database: bool,
}

impl DumpJob {
    /// The database.
    pub(crate) fn db(&self) -> &str {
        self.job.db.as_deref().unwrap_or_default()
    }

    /// Bytes that it holds while it waits for its download.
    pub(super) fn size(&self) -> usize {
        let names: usize = self.tables.iter().map(|name| name.len() + 24).sum();
        self.db().len() + self.job.sql.len() + names
    }
}
