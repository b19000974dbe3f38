//! Views that a guest reads in place of tables that are shared only in part.
//!
//! A server does not protect the other columns from an account that may `SELECT` some: `NATURAL JOIN`, `USING`,
//! `PARTITION`, `EXPLAIN`, the order of rows and statistics reveal them. So the account gets no right to the table, but
//! a view of exactly these columns, with the same name, in a database of its own. Even the order of its rows depends
//! only on these columns: it is that of the primary key if that is shared, else the rows are sorted.

use std::collections::BTreeSet;

use mysql::Conn;

use super::expand::{NoGuest, Readable};
use crate::sqlweb::catalogue::{identifier, literal, text};
use crate::sqlweb::conn::rows;
use crate::sqlweb::error::DbError;
use crate::sqlweb::gate::Dialect;

/// First MariaDB whose hints reach into views, so that no view is bound to an index there.
const HINTS_REACH_VIEWS: (u16, u16, u16) = (12, 0, 0);

/// Types whose values are short and have an order. Values that are equal in it may differ, as `a` and `A` do; digests
/// distinguish them, and all others.
#[rustfmt::skip]
const ORDERED: [&str; 22] = [
    "bigint", "binary", "bit", "char", "date", "datetime", "decimal", "double", "enum", "float", "inet4", "inet6", "int",
    "mediumint", "set", "smallint", "time", "timestamp", "tinyint", "varbinary", "varchar", "year",
];

/// Limit of all rows, with which no server drops the order of a view.
const ALL_ROWS: &str = "LIMIT 18446744073709551615";

/// Only the current rows of a table with history, whatever time a statement names: a moment in the future that exists
/// in every time zone.
const WITHOUT_HISTORY: &str = " FOR SYSTEM_TIME AS OF TIMESTAMP'2037-12-31 00:00:00'";

/// A view for a guest.
pub(super) struct View {
    /// Its name, which is that of the table.
    name: String,
    algorithm: &'static str,
    select: String,
}

/// A table and its shared columns.
struct ViewSource<'a> {
    database: &'a str,
    table: &'a str,
    columns: &'a BTreeSet<String>,
}

impl View {
    /// The statement that creates it in `database`, with the owner as its definer.
    pub(super) fn create(&self, database: &str) -> String {
        format!(
            "CREATE ALGORITHM = {} SQL SECURITY DEFINER VIEW {}.{} AS {}",
            self.algorithm,
            identifier(database),
            identifier(&self.name),
            self.select
        )
    }

    /// A view of all columns of a table or view.
    fn whole(database: &str, table: &str) -> Self {
        Self {
            name: table.to_owned(),
            algorithm: "UNDEFINED",
            select: format!(
                "SELECT * FROM {}.{}",
                identifier(database),
                identifier(table)
            ),
        }
    }
}

/// Tables that get a view: those that are shared in part, and those shared whole in the same databases, so that all
/// names are in one place. Of names that differ only in case, the first gets the view, since some servers ignore case.
fn viewed(readable: &Readable) -> Vec<&(String, String)> {
    let is_beside = |(database, _): &&(String, String)| readable.has_parts_in(database);
    let wholes = readable.wholes().filter(is_beside);
    let mut taken = BTreeSet::new();
    let is_first = |(_, table): &&(String, String)| taken.insert(table.to_lowercase());
    readable.parts().chain(wholes).filter(is_first).collect()
}

/// The needed views.
pub(super) fn views_for(
    conn: &mut Conn,
    readable: &Readable,
    dialect: &Dialect,
) -> Result<Result<Vec<View>, NoGuest>, DbError> {
    let viewed = viewed(readable);
    if let Some((_, table)) = readable.parts().find(|part| !viewed.contains(part)) {
        return Ok(Err(two_of_one_name(table)));
    }
    let mut views = Vec::new();
    for (database, table) in viewed {
        views.push(match readable.columns(database, table) {
            None => View::whole(database, table),
            Some(columns) => {
                let source = ViewSource {
                    database,
                    table,
                    columns,
                };
                source.view(conn, dialect)?
            }
        });
    }
    Ok(Ok(views))
}

fn two_of_one_name(table: &str) -> NoGuest {
    NoGuest::new(
        format!("columns of two tables called {table} cannot be shared with one guest"),
        "share one of them whole, or share the databases one by one",
    )
}

/// Objects that the account may read: the views in `database` in place of tables that are shared in part.
pub(super) fn through(readable: &Readable, database: &str) -> Readable {
    let mut lent = Readable::default();
    for (of, table) in readable.wholes() {
        lent.add(of, table, None);
    }
    for (_, table) in viewed(readable) {
        lent.add(database, table, None);
    }
    lent
}

impl ViewSource<'_> {
    fn view(&self, conn: &mut Conn, dialect: &Dialect) -> Result<View, DbError> {
        let columns = self.lent(conn)?;
        let names: Vec<String> = columns.iter().map(|(name, _)| identifier(name)).collect();
        let (database, table) = (identifier(self.database), identifier(self.table));
        let listed = format!("SELECT {} FROM {database}.{table}", names.join(", "));
        let (algorithm, select) = if self.is_in_order_of_lent(conn, dialect)? {
            ("MERGE", format!("{listed} USE INDEX (PRIMARY)"))
        } else {
            let history = self.history(conn)?;
            let order = order(&columns);
            (
                "TEMPTABLE",
                format!("{listed}{history} ORDER BY {order} {ALL_ROWS}"),
            )
        };
        Ok(View {
            name: self.table.to_owned(),
            algorithm,
            select,
        })
    }

    /// The shared columns in the order of the table, with their types.
    fn lent(&self, conn: &mut Conn) -> Result<Vec<(String, String)>, DbError> {
        let sql = self.about("COLUMN_NAME, DATA_TYPE", "COLUMNS");
        let listed = rows(conn, &format!("{sql} ORDER BY ORDINAL_POSITION"))?;
        let column = |row: &mysql::Row| Some((text(row, 0)?, text(row, 1)?));
        let all = listed.iter().filter_map(column);
        Ok(all
            .filter(|(name, _)| self.columns.contains(name))
            .collect())
    }

    /// True if every read of the table without its other indexes follows a primary key that is shared.
    fn is_in_order_of_lent(&self, conn: &mut Conn, dialect: &Dialect) -> Result<bool, DbError> {
        if dialect.mariadb && dialect.version >= HINTS_REACH_VIEWS {
            return Ok(false);
        }
        let plain = format!(
            "{} AND TABLE_TYPE = 'BASE TABLE' AND ENGINE = 'InnoDB' AND LOCATE('partitioned', CREATE_OPTIONS) = 0",
            self.about("TABLE_NAME", "TABLES")
        );
        if rows(conn, &plain)?.is_empty() {
            return Ok(false);
        }
        let sql = self.about("COLUMN_NAME", "STATISTICS");
        let key = rows(conn, &format!("{sql} AND INDEX_NAME = 'PRIMARY'"))?;
        let is_lent =
            |row: &mysql::Row| text(row, 0).is_some_and(|name| self.columns.contains(&name));
        Ok(!key.is_empty() && key.iter().all(is_lent))
    }

    fn history(&self, conn: &mut Conn) -> Result<&'static str, DbError> {
        let sql = self.about("TABLE_NAME", "TABLES");
        let versioned = rows(conn, &format!("{sql} AND TABLE_TYPE = 'SYSTEM VERSIONED'"))?;
        Ok(if versioned.is_empty() {
            ""
        } else {
            WITHOUT_HISTORY
        })
    }

    fn about(&self, facts: &str, of: &str) -> String {
        format!(
            "SELECT {facts} FROM information_schema.{of} WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            literal(self.database),
            literal(self.table)
        )
    }
}

/// An order in which rows are equal only if all their shared values are.
fn order(columns: &[(String, String)]) -> String {
    let ordered = columns
        .iter()
        .filter(|(_, kind)| ORDERED.contains(&kind.to_lowercase().as_str()));
    let plain = ordered.map(|(name, _)| identifier(name));
    let digests = columns
        .iter()
        .map(|(name, _)| format!("UNHEX(SHA2({}, 256))", identifier(name)));
    plain.chain(digests).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_quotes() {
        let odd = View::whole("x`y", "t`; DROP TABLE u; -- ");
        assert_eq!(
            odd.create("v`"),
            "CREATE ALGORITHM = UNDEFINED SQL SECURITY DEFINER VIEW `v```.`t``; DROP TABLE u; -- ` \
             AS SELECT * FROM `x``y`.`t``; DROP TABLE u; -- `"
        );
        let columns = [
            ("c`)".to_owned(), "int".to_owned()),
            ("d".to_owned(), "longtext".to_owned()),
        ];
        assert_eq!(
            order(&columns),
            "`c``)`, UNHEX(SHA2(`c``)`, 256)), UNHEX(SHA2(`d`, 256))"
        );
    }

    #[test]
    fn what_is_lent_in_part_is_read_through_a_view_alone() {
        let mut readable = Readable::default();
        readable.add("shop", "orders", None);
        readable.add("shop", "customers", Some(vec!["id".into()]));
        readable.add("other", "Orders", None);
        let lent = through(&readable, "v");
        assert!(lent.has_column("shop", "orders", "x") && lent.has_column("v", "customers", "id"));
        assert!(!lent.has_column("shop", "customers", "id"));
        assert!(lent.has_column("v", "orders", "x") && !lent.has_column("v", "Orders", "x"));
    }
}
