//! The connection of a dump, which is in one read-only snapshot from the first query to the last row.

use std::sync::Arc;

use mysql::Row;

use crate::http::CancelToken;
use crate::sqlweb::catalogue::{create_view, identifier, literal};
use crate::sqlweb::conn::{
    CheckoutRequest, DbConn, RunningEntry, StatementOwner, readonly, rows, stoppable,
    stopped_when_gone,
};
use crate::sqlweb::error::{ApiError, DbError, INTERRUPTED};
use crate::sqlweb::gate::CalledFunctions;
use crate::sqlweb::output::RowSink;
use crate::sqlweb::query::{DumpJob, RunContext, enter, run};
use crate::sqlweb::service::Service;

/// A connection in its snapshot.
pub(super) struct Reader<'a> {
    service: &'a Arc<Service>,
    /// Contents of the dump.
    pub(super) dump: &'a DumpJob,
    entry: &'a RunningEntry<'a>,
    conn: &'a mut DbConn,
}

/// Settings in addition to [`readonly::guard`]: times are in UTC, names are quoted, no result is cut short, and a
/// paused download is not given up.
const SETTINGS: &str = "SET SESSION sql_mode = '', time_zone = '+00:00', sql_quote_show_create = 1, \
    sql_select_limit = 18446744073709551615, net_write_timeout = 3600; \
    START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY; SAVEPOINT postern_dump";

/// Does `work` on a connection in a snapshot of its own, until `client` leaves.
pub(super) fn with_reader<T>(
    service: &Arc<Service>,
    dump: &DumpJob,
    client: &CancelToken,
    work: impl FnOnce(&mut Reader<'_>) -> Result<T, DbError>,
) -> Result<T, ApiError> {
    let entry = enter(service, &dump.job)?;
    let _leaving = stopped_when_gone(client, &entry.running, &service.connector);
    let nobody = StatementOwner::default();
    let wanted = CheckoutRequest {
        owner: &nobody,
        database: Some(dump.db()),
        enters: None,
        running: &entry.running,
        uses: dump.job.uses.as_ref(),
    };
    let mut lease = service.sessions.check_out(&wanted)?;
    let mut reader = Reader {
        service,
        dump,
        entry: &entry,
        conn: lease.conn(),
    };
    let outcome = reader.begin().and_then(|()| work(&mut reader));
    let outcome = readonly::explain(outcome, "this dump");
    lease.give_back(&outcome, &entry.running);
    Ok(outcome?)
}

impl Reader<'_> {
    fn begin(&mut self) -> Result<(), DbError> {
        // It is reset before its next use.
        self.conn.has_state = true;
        let service = self.service;
        let guard = readonly::guard(&self.conn.info(), "");
        stoppable(&self.entry.running, self.conn, |conn| {
            if service.options.readonly {
                service
                    .connector
                    .make_read_only(conn, &CalledFunctions::default())?;
            }
            rows(&mut conn.driver, &format!("{guard}{SETTINGS}")).map(drop)
        })
    }

    /// True if the server is a MariaDB of that version or a later one.
    pub(super) fn is_mariadb(&self, since: (u16, u16, u16)) -> bool {
        let dialect = &self.conn.info().dialect;
        dialect.mariadb && dialect.version >= since
    }

    /// The server's version in its own words.
    pub(super) fn version(&self) -> String {
        self.conn.info().version.clone()
    }

    /// Returns the rows of a query with few rows.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Vec<Row>, DbError> {
        stoppable(&self.entry.running, self.conn, |conn| {
            rows(&mut conn.driver, sql)
        })
    }

    /// Asks, and returns the server's message if it refuses.
    pub(super) fn try_ask(&mut self, sql: &str) -> Result<Result<Vec<Row>, String>, DbError> {
        match self.ask(sql) {
            Ok(answer) => Ok(Ok(answer)),
            Err(DbError::Statement(error)) if error.code != INTERRUPTED => Ok(Err(error.message)),
            Err(error) => Err(error),
        }
    }

    /// True if a view fails here only because its functions write, which this connection may not do.
    pub(super) fn only_writes(&mut self, view: &str) -> Result<bool, DbError> {
        match self.ask(&format!("SELECT 1 FROM {} LIMIT 0", identifier(view))) {
            Err(error) if readonly::would_write(&error) => Ok(true),
            Err(error @ DbError::Statement(_)) if error.leaves_connection_usable() => Ok(false),
            other => other.map(|_| false),
        }
    }

    /// A view's row of `SHOW CREATE`, composed from the catalogue; `None` if that does not show it.
    pub(super) fn view_in_parts(&mut self, view: &str) -> Result<Option<Vec<Row>>, DbError> {
        let db = self.dump.db().to_owned();
        let made = stoppable(&self.entry.running, self.conn, |conn| {
            create_view(&mut conn.driver, &db, view)
        })?;
        let Some(create) = made else {
            return Ok(None);
        };
        // Names without the database, so that it can be restored into another one.
        let create = literal(&create.replace(&format!("{}.`", identifier(&db)), "`"));
        let asked = format!(
            "SELECT {create} AS `Create View`, CHARACTER_SET_CLIENT AS character_set_client, \
             COLLATION_CONNECTION AS collation_connection \
             FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            literal(&db),
            literal(view)
        );
        self.ask(&asked).map(Some)
    }

    /// Releases the locks that keep others from altering tables that were read; keeps the snapshot.
    pub(super) fn release(&mut self) -> Result<(), DbError> {
        self.ask("ROLLBACK TO SAVEPOINT postern_dump").map(drop)
    }

    /// From now on texts come as the bytes in their columns.
    pub(super) fn as_stored(&mut self) -> Result<(), DbError> {
        self.ask("SET character_set_results = NULL").map(drop)
    }

    /// Streams the rows of a table to `sink`.
    pub(super) fn stream(
        &mut self,
        columns: &str,
        table: &str,
        sink: &mut dyn RowSink,
    ) -> Result<(), DbError> {
        let sql = format!("SELECT {columns} FROM {}", identifier(table));
        let context = RunContext {
            guard: None,
            database: Some(self.dump.db()),
            connector: &self.service.connector,
            running: &self.entry.running,
            harmless: true,
            rows: &self.service.rows,
            reader: &self.dump.job.reader,
        };
        let ended = run(self.conn, &sql, sink, &context)?;
        match ended.stopped {
            // It may have ended before its last row.
            Some(cause) => Err(DbError::Stopped(cause)),
            None => Ok(()),
        }
    }
}
