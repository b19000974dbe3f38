//! Jobs of requests: one statement, or a dump.

use std::cell::Cell;

use crate::sqlweb::catalogue::{literal, text};
use crate::sqlweb::conn::{DbConn, StatementOwner, rows, run_silently};
use crate::sqlweb::error::{ApiError, DbError};
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

/// An offset from UTC for servers, `+02:00`; a name would need tables that a server may lack.
pub(crate) struct TimeZone(String);

impl TimeZone {
    /// The offset in a text, if MySQL accepts it; MariaDB's limit is `+13:00`, which it reports itself.
    pub(crate) fn offset(text: &str) -> Option<Self> {
        let [sign @ (b'+' | b'-'), digits @ ..] = text.as_bytes() else {
            return None;
        };
        let &[
            h1 @ b'0'..=b'1',
            h2 @ b'0'..=b'9',
            b':',
            m1 @ b'0'..=b'5',
            m2 @ b'0'..=b'9',
        ] = digits
        else {
            return None;
        };
        let most = if *sign == b'+' { *b"1400" } else { *b"1359" };
        ([h1, h2, m1, m2] <= most).then(|| Self(text.to_owned()))
    }

    /// Assignment that sets it, for a `SET`.
    pub(crate) fn assignment(&self) -> String {
        format!("time_zone = '{}'", self.0)
    }
}

/// Does `work` in the wanted time zone and restores the session's own, unless the connection was lost.
pub(crate) fn with_time_zone<T>(
    conn: &mut DbConn,
    wanted: Option<&TimeZone>,
    work: impl FnOnce(&mut DbConn) -> Result<T, DbError>,
) -> Result<T, DbError> {
    let Some(zone) = wanted else {
        return work(conn);
    };
    let asked = rows(&mut conn.driver, "SELECT @@session.time_zone")?;
    let own = asked
        .first()
        .and_then(|row| text(row, 0))
        .unwrap_or_default();
    run_silently(&mut conn.driver, &format!("SET {}", zone.assignment()))?;
    let outcome = work(conn);
    if outcome
        .as_ref()
        .err()
        .is_none_or(DbError::leaves_connection_usable)
    {
        let restored = format!("SET time_zone = {}", literal(&own));
        run_silently(&mut conn.driver, &restored)?;
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::TimeZone;

    #[test]
    fn a_time_zone_is_an_offset_and_nothing_else() {
        for good in ["+00:00", "-00:00", "+02:00", "-13:59", "+14:00", "+05:45"] {
            let zone = TimeZone::offset(good).map(|zone| zone.assignment());
            assert_eq!(zone, Some(format!("time_zone = '{good}'")));
        }
        for bad in [
            "",
            "+",
            "02:00",
            "+2:00",
            "+02:60",
            "+14:01",
            "-14:00",
            "+20:00",
            "SYSTEM",
            "+02:00'",
            "+02:0\u{660}",
            "Europe/Berlin",
            " +02:00",
            "+02-00",
        ] {
            assert!(TimeZone::offset(bad).is_none(), "{bad}");
        }
    }
}
