//! Expands a list of grants to existing tables and columns, with the server's names; and lists objects for choosing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mysql::Conn;

use crate::plugin::Grant;
use crate::sqlweb::catalogue::{literal, text};
use crate::sqlweb::conn::rows;
use crate::sqlweb::error::DbError;

/// Maximum number of tables and views for one guest's account; each is a statement at the start.
const MOST_TABLES: usize = crate::limits::GUEST_TABLES;

/// Columns that a guest may read, by database and table or view; `None` for all columns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    tables: BTreeMap<(String, String), Option<BTreeSet<String>>>,
    /// Tables that are views.
    views: BTreeSet<(String, String)>,
}

/// A table or a view, with the server's names.
struct GrantedTable {
    database: String,
    name: String,
    is_view: bool,
}

impl Readable {
    pub(super) fn add(&mut self, database: &str, table: &str, columns: Option<Vec<String>>) {
        let key = (database.to_owned(), table.to_owned());
        let Some(columns) = columns else {
            self.tables.insert(key, None);
            return;
        };
        // A table that may be read whole stays so.
        if let Some(known) = self
            .tables
            .entry(key)
            .or_insert_with(|| Some(BTreeSet::new()))
        {
            known.extend(columns);
        }
    }

    pub(super) fn tables(
        &self,
    ) -> impl Iterator<Item = (&(String, String), Option<&BTreeSet<String>>)> {
        let each = self.tables.iter();
        each.map(|(key, columns)| (key, columns.as_ref()))
    }

    /// Numbers of tables and of views.
    pub(super) fn counts(&self) -> (u64, u64) {
        let is_view = |key: &(String, String)| self.views.contains(key);
        self.tables
            .keys()
            .fold((0, 0), |(tables, views), key| match is_view(key) {
                true => (tables, views + 1),
                false => (tables + 1, views),
            })
    }

    pub(super) fn has_database(&self, database: &str) -> bool {
        self.tables.keys().any(|(known, _)| known == database)
    }

    /// True if a table in the database is shared only in part.
    pub(super) fn has_parts_in(&self, database: &str) -> bool {
        self.parts().any(|(known, _)| known == database)
    }

    /// Tables that are shared only in part.
    pub(super) fn parts(&self) -> impl Iterator<Item = &(String, String)> {
        self.tables()
            .filter_map(|(key, columns)| columns.map(|_| key))
    }

    /// Tables and views that are shared whole.
    pub(super) fn wholes(&self) -> impl Iterator<Item = &(String, String)> {
        self.tables()
            .filter_map(|(key, columns)| columns.is_none().then_some(key))
    }

    /// The shared columns of a table; `None` if it is shared whole.
    pub(super) fn columns(&self, database: &str, table: &str) -> Option<&BTreeSet<String>> {
        let key = (database.to_owned(), table.to_owned());
        self.tables.get(&key)?.as_ref()
    }

    /// The database, if there is only one.
    pub(super) fn only_database(&self) -> Option<&str> {
        let (first, _) = self.tables.keys().next()?;
        let is_first = |(database, _): &(String, String)| database == first;
        self.tables.keys().all(is_first).then_some(first)
    }

    pub(super) fn has_column(&self, database: &str, table: &str, column: &str) -> bool {
        let key = (database.to_owned(), table.to_owned());
        self.tables.get(&key).is_some_and(|columns| {
            columns
                .as_ref()
                .is_none_or(|columns| columns.contains(column))
        })
    }
}

/// Looks up every grant; the inner error names the first one whose object does not exist.
pub(super) fn expand(
    conn: &mut Conn,
    grants: &[Grant],
) -> Result<Result<Readable, NoGuest>, DbError> {
    let folds = folds_names(conn)?;
    let mut readable = Readable::default();
    for grant in grants {
        let is_meant = |table: &GrantedTable| {
            let named = grant.table.as_ref();
            named.is_none_or(|named| is(named, &table.name, folds))
        };
        let mut tables = tables(conn, &grant.database, folds)?;
        tables.retain(is_meant);
        if tables.is_empty() {
            return Ok(Err(not_there(&grant.to_string())));
        }
        for table in tables {
            let columns = match columns_of(conn, grant, &table)? {
                Ok(columns) => columns,
                Err(missing) => return Ok(Err(missing)),
            };
            readable.add(&table.database, &table.name, columns);
            if table.is_view {
                readable.views.insert((table.database, table.name));
            }
        }
    }
    if readable.tables.len() > MOST_TABLES {
        return Ok(Err(NoGuest::new(
            format!(
                "the list has {} tables, the limit is {MOST_TABLES}",
                readable.tables.len()
            ),
            "list fewer databases, or name the tables",
        )));
    }
    Ok(Ok(readable))
}

fn not_there(what: &str) -> NoGuest {
    NoGuest::new(
        format!("'{what}' does not exist, or the account may not see it"),
        "check the names, including upper and lower case; a database without tables cannot be shared",
    )
}

/// The grant's columns with the server's names, which are compared without case.
fn columns_of(
    conn: &mut Conn,
    grant: &Grant,
    table: &GrantedTable,
) -> Result<Result<Option<Vec<String>>, NoGuest>, DbError> {
    if grant.columns.is_empty() {
        return Ok(Ok(None));
    }
    let there = columns(conn, &table.database, &table.name)?;
    let found = |named: &String| {
        let same = |there: &&String| there.to_lowercase() == named.to_lowercase();
        there.iter().find(same).cloned().ok_or_else(|| {
            let only = Grant {
                columns: vec![named.clone()],
                ..grant.clone()
            };
            not_there(&only.to_string())
        })
    };
    let all: Result<Vec<String>, NoGuest> = grant.columns.iter().map(found).collect();
    Ok(all.map(Some))
}

/// True if the server compares names of tables without case.
fn folds_names(conn: &mut Conn) -> Result<bool, DbError> {
    let answer = rows(conn, "SELECT @@lower_case_table_names <> 0")?;
    Ok(answer.first().and_then(|row| text(row, 0)).as_deref() == Some("1"))
}

fn is(named: &str, there: &str, folds: bool) -> bool {
    named == there || folds && named.to_lowercase() == there.to_lowercase()
}

/// Tables and views of the database, with its own name, without sequences.
fn tables(conn: &mut Conn, database: &str, folds: bool) -> Result<Vec<GrantedTable>, DbError> {
    let listed = rows(
        conn,
        &format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} \
             AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY TABLE_NAME",
            literal(database)
        ),
    )?;
    let table = |row: &mysql::Row| {
        Some(GrantedTable {
            database: text(row, 0)?,
            name: text(row, 1)?,
            is_view: text(row, 2)? == "VIEW",
        })
    };
    let all = listed.iter().filter_map(table);
    Ok(all
        .filter(|table| is(database, &table.database, folds))
        .collect())
}

fn columns(conn: &mut Conn, database: &str, table: &str) -> Result<Vec<String>, DbError> {
    let listed = rows(
        conn,
        &format!(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
             ORDER BY ORDINAL_POSITION",
            literal(database),
            literal(table)
        ),
    )?;
    Ok(listed.iter().filter_map(|row| text(row, 0)).collect())
}

/// Names to choose from: the databases that can be shared, the tables of one, or the columns of a table.
pub(crate) fn objects(conn: &mut Conn, within: &[String]) -> Result<Vec<String>, DbError> {
    match within {
        [database, table, ..] => columns(conn, database, table),
        [database] => {
            let folds = folds_names(conn)?;
            let all = tables(conn, database, folds)?;
            Ok(all.into_iter().map(|table| table.name).collect())
        }
        [] => {
            let listed = rows(conn, "SHOW DATABASES")?;
            let names = listed.iter().filter_map(|row| text(row, 0));
            Ok(names.filter(|name| Grant::can_be_lent(name)).collect())
        }
    }
}

/// Reason that there is no guest's account.
#[derive(Debug)]
pub(crate) struct NoGuest {
    /// Message.
    pub(crate) message: String,
    /// Advice.
    pub(crate) hint: String,
}

impl NoGuest {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for NoGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no guest account: {}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_read_whole_stays_so_and_columns_add_up() {
        let mut readable = Readable::default();
        readable.add("d", "t", Some(vec!["a".into()]));
        readable.add("d", "t", Some(vec!["b".into()]));
        assert!(readable.has_column("d", "t", "a") && readable.has_column("d", "t", "b"));
        assert!(!readable.has_column("d", "t", "c") && !readable.has_column("d", "u", "a"));
        readable.add("d", "t", None);
        readable.add("d", "t", Some(vec!["a".into()]));
        assert!(readable.has_column("d", "t", "c"));
        assert_eq!(readable.only_database(), Some("d"));
        readable.add("e", "t", None);
        assert_eq!(readable.only_database(), None);
        assert!(readable.has_database("e") && !readable.has_database("f"));
    }
}
