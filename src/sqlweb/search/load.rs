//! The catalogue as the server tells it, database by database, so that one that cannot be read spoils no other.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use mysql::{Conn, Row};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::index::{Index, Kind, is_of_server};
use crate::sqlweb::catalogue::{literal, text};
use crate::sqlweb::conn::{ServerInfo, each_row, readonly};
use crate::sqlweb::error::{ApiError, DbError};

/// Time after which no further database is read.
const TIME: Duration = Duration::from_secs(300);
/// Databases in a row whose connection failed, after which the server counts as lost.
const LOST_AFTER: usize = 3;
/// Reasons that are kept.
const MAX_MISSING: usize = 500;

/// Reason that a database is not searched in full.
const TOO_LARGE: &str = "the catalogue is too large for the search";

/// Reason that the columns of a view are not searched.
const UNREADABLE: &str =
    "the server does not describe this view: it is broken, or it calls a function that would write";

/// Only MariaDB knows comments of databases.
const DATABASES: &str =
    "SELECT SCHEMA_NAME, '' /*M!100502 , SCHEMA_COMMENT */ FROM information_schema.SCHEMATA";

/// Questions about one database beside those for its tables: the kind, the name in messages, and the table, name, type and
/// comment of each.
const OTHERS: [(Kind, &str, &str); 3] = [
    (
        Kind::Routine,
        "routines",
        "SELECT NULL, ROUTINE_NAME, ROUTINE_TYPE, ROUTINE_COMMENT FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ",
    ),
    (
        Kind::Trigger,
        "triggers",
        "SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME, CONCAT(ACTION_TIMING, ' ', EVENT_MANIPULATION), NULL \
         FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ",
    ),
    (
        Kind::Event,
        "events",
        "SELECT NULL, EVENT_NAME, EVENT_TYPE, EVENT_COMMENT FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ",
    ),
];

/// Work on a connection.
pub(crate) type Work<'a> = dyn FnMut(&mut Conn) -> Result<(), DbError> + 'a;

/// The account whose catalogue it is.
pub(crate) trait Account: Send + Sync + 'static {
    /// Its name now: that of a guest changes.
    fn user(&self) -> Arc<str>;
    /// The server that a connection came to last.
    fn server(&self) -> Arc<ServerInfo>;
    /// Works on a connection that holds no session.
    fn on_connection(&self, work: &mut Work<'_>) -> Result<(), ApiError>;
    /// True if nothing more is to be read.
    fn is_ended(&self) -> bool;
}

/// Names and comments of everything that the account sees.
pub(crate) struct Catalogue {
    pub(crate) index: Index,
    /// Parts that could not be read, or had no room.
    pub(crate) missing: Vec<Missing>,
    pub(crate) loaded_at: SystemTime,
    /// End of the load.
    pub(super) since: Instant,
    pub(super) user: Arc<str>,
    pub(super) server: Arc<ServerInfo>,
}

/// Something that the search does not cover.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "NotSearched"))]
pub(crate) struct Missing {
    /// The database.
    pub(crate) db: String,
    /// The table or view whose columns are missing; null if more of the database is.
    pub(crate) table: Option<String>,
    /// The cause.
    pub(crate) reason: String,
}

/// Failure of a search whose catalogue is not read any further.
pub(super) fn ended() -> ApiError {
    ApiError::new(503, "the search was ended; try again")
}

/// Reads everything that the account sees.
pub(super) fn load(account: &impl Account) -> Result<Catalogue, ApiError> {
    let (began, loaded_at, user) = (Instant::now(), SystemTime::now(), account.user());
    let mut databases: Vec<(String, String)> = Vec::new();
    account.on_connection(&mut |conn| {
        databases.clear();
        each_row(conn, DATABASES, |row| {
            let comment = if row.len() > 2 {
                cell(row, 2)
            } else {
                String::new()
            };
            databases.push((cell(row, 0), comment));
        })
    })?;
    databases.sort_by_cached_key(|(name, _)| (is_of_server(name), name.to_lowercase()));
    let mut loading = Loading::default();
    let (mut failures, mut failure) = (0, None);
    for (name, comment) in &databases {
        if account.is_ended() {
            return Err(ended());
        }
        if began.elapsed() > TIME {
            let reason = format!(
                "reading the catalogue took longer than {} s",
                TIME.as_secs()
            );
            loading.misses(name, None, reason);
            continue;
        }
        let texts = [name.as_str(), "", comment];
        if loading.index.is_full() || loading.index.add(Kind::Database, None, texts).is_none() {
            loading.misses(name, None, TOO_LARGE.into());
            continue;
        }
        let mark = loading.index.mark();
        let read = account.on_connection(&mut |conn| {
            loading.index.go_back(mark);
            loading.database(conn, name)
        });
        if loading.index.is_full() {
            loading.misses(name, None, TOO_LARGE.into());
        }
        match read {
            Ok(()) => (failures, failure) = (0, None),
            Err(error) => {
                loading.misses(name, None, error.message.clone());
                let is_of_connection = matches!(error.status, 429 | 502);
                failures = if is_of_connection { failures + 1 } else { 0 };
                failure = is_of_connection.then_some(error);
            }
        }
        if failures >= LOST_AFTER {
            break;
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => {
            loading.index.finish();
            Ok(Catalogue {
                index: loading.index,
                missing: loading.missing,
                loaded_at,
                since: Instant::now(),
                user,
                server: account.server(),
            })
        }
    }
}

/// A catalogue that is being read.
#[derive(Default)]
struct Loading {
    index: Index,
    missing: Vec<Missing>,
}

impl Loading {
    fn misses(&mut self, db: &str, table: Option<&str>, reason: String) {
        if self.missing.len() < MAX_MISSING {
            self.missing.push(Missing {
                db: db.to_owned(),
                table: table.map(str::to_owned),
                reason,
            });
        }
    }

    /// An error that leaves the connection usable is noted.
    fn unless_lost(
        &mut self,
        read: Result<(), DbError>,
        db: &str,
        table: Option<&str>,
        part: &str,
    ) -> Result<(), DbError> {
        match read {
            Err(error @ (DbError::Statement(_) | DbError::ReadOnly(..))) => {
                let why = if readonly::would_write(&error) {
                    "describing it calls a function that would write".to_owned()
                } else {
                    error.to_string()
                };
                self.misses(db, table, format!("{part}: {why}"));
                Ok(())
            }
            other => other,
        }
    }

    fn database(&mut self, conn: &mut Conn, db: &str) -> Result<(), DbError> {
        let mut tables = HashMap::new();
        let read = self.tables(conn, db, &mut tables);
        self.unless_lost(read, db, None, "tables")?;
        self.columns(conn, db, &tables)?;
        for (kind, part, question) in OTHERS {
            let sql = format!("{question}{}", literal(db));
            let read = each_row(conn, &sql, |row| {
                let table = text(row, 0).and_then(|table| tables.get(&table).copied());
                let (name, type_name, comment) = (cell(row, 1), cell(row, 2), cell(row, 3));
                self.index.add(kind, table, [&name, &type_name, &comment]);
            });
            self.unless_lost(read, db, None, part)?;
        }
        Ok(())
    }

    fn tables(
        &mut self,
        conn: &mut Conn,
        db: &str,
        tables: &mut HashMap<String, u32>,
    ) -> Result<(), DbError> {
        let sql = format!(
            "SELECT TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} \
             ORDER BY TABLE_NAME",
            literal(db)
        );
        each_row(conn, &sql, |row| {
            let (name, type_name) = (cell(row, 0), cell(row, 1));
            let (kind, comment) = match type_name.as_str() {
                // Its comment is the word VIEW, or the error of a broken one.
                "VIEW" | "SYSTEM VIEW" => (Kind::View, String::new()),
                _ => (Kind::Table, cell(row, 2)),
            };
            let number = self.index.add(kind, None, [&name, &type_name, &comment]);
            tables.extend(number.map(|number| (name, number)));
        })
    }

    /// The columns of all tables at once; where one of them fails, of one table after the other.
    fn columns(
        &mut self,
        conn: &mut Conn,
        db: &str,
        tables: &HashMap<String, u32>,
    ) -> Result<(), DbError> {
        let mark = self.index.mark();
        match self.columns_of(conn, db, None, tables) {
            Err(DbError::Statement(_) | DbError::ReadOnly(..)) => self.index.go_back(mark),
            Ok(()) => {
                self.note_empty_views(db, tables);
                return Ok(());
            }
            other => return other,
        }
        let mut names: Vec<&String> = tables.keys().collect();
        names.sort();
        for name in names {
            let read = self.columns_of(conn, db, Some(name), tables);
            self.unless_lost(read, db, Some(name), "columns")?;
        }
        Ok(())
    }

    /// MariaDB leaves out the columns of views that it cannot open, without an error. Many of the server's own are such to
    /// most accounts.
    fn note_empty_views(&mut self, db: &str, tables: &HashMap<String, u32>) {
        if is_of_server(db) || self.index.is_full() {
            return;
        }
        let empty = self.index.views_without_columns(tables.values().copied());
        let mut names: Vec<&String> = tables
            .iter()
            .filter_map(|(name, number)| empty.contains(number).then_some(name))
            .collect();
        names.sort();
        for name in names {
            self.misses(db, Some(name), UNREADABLE.into());
        }
    }

    fn columns_of(
        &mut self,
        conn: &mut Conn,
        db: &str,
        table: Option<&str>,
        tables: &HashMap<String, u32>,
    ) -> Result<(), DbError> {
        let of_table = table.map_or(String::new(), |table| {
            format!(" AND TABLE_NAME = {}", literal(table))
        });
        let sql = format!(
            "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_COMMENT FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = {}{of_table} ORDER BY TABLE_NAME, ORDINAL_POSITION",
            literal(db)
        );
        each_row(conn, &sql, |row| {
            // A table that was made since the list was read is found after the next load.
            if let Some(table) = tables.get(&cell(row, 0)) {
                let (name, type_name, comment) = (cell(row, 1), cell(row, 2), cell(row, 3));
                let texts = [name.as_str(), &type_name, &comment];
                self.index.add(Kind::Column, Some(*table), texts);
            }
        })
    }
}

fn cell(row: &Row, i: usize) -> String {
    text(row, i).unwrap_or_default()
}
