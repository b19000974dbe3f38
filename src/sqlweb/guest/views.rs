//! The views that a guest reads in place of tables that it is lent some columns of.
//!
//! A server does not keep an account that may `SELECT` some columns of a table from the others: `NATURAL JOIN`, `USING`,
//! `PARTITION`, `EXPLAIN`, the order of rows and statistics tell of them. Such an account gets nothing of the table, but
//! a view of exactly these columns, by the same name, in a database that is made for it. The rows of that come in an
//! order which is of these columns too: that of the primary key where it is all lent, otherwise they are sorted.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use mysql::Conn;

use super::expand::{NoGuest, Readable};
use super::records::{Account, native_hash};
use crate::sqlweb::catalogue::{identifier, literal, text};
use crate::sqlweb::conn::rows;
use crate::sqlweb::error::DbError;
use crate::sqlweb::gate::Dialect;

/// The first MariaDB whose hints reach into views, so that none is bound to an index there.
const HINTS_REACH_VIEWS: (u16, u16, u16) = (12, 0, 0);

/// Kinds of values that have an order and are short. In that order equal values may differ, as `a` and `A` do: digests
/// tell those apart, and all others too.
#[rustfmt::skip]
const ORDERED: [&str; 22] = [
    "bigint", "binary", "bit", "char", "date", "datetime", "decimal", "double", "enum", "float", "inet4", "inet6", "int",
    "mediumint", "set", "smallint", "time", "timestamp", "tinyint", "varbinary", "varchar", "year",
];

/// All rows, said so that no server takes the order of a view for needless.
const ALL_ROWS: &str = "LIMIT 18446744073709551615";

/// The rows of a table with history that are there now, whatever a statement says of time: a moment that no clock has
/// reached, and that is one in every time zone.
const WITHOUT_HISTORY: &str = " FOR SYSTEM_TIME AS OF TIMESTAMP'2037-12-31 00:00:00'";

/// One of the views.
pub(super) struct View {
    /// Its name, which is that of the table.
    name: String,
    algorithm: &'static str,
    select: String,
}

/// A table, and what of it is lent.
struct ViewSource<'a> {
    database: &'a str,
    table: &'a str,
    columns: &'a BTreeSet<String>,
}

impl View {
    /// The statement that makes it in `database`. It is the view of the account that makes it.
    pub(super) fn create(&self, database: &str) -> String {
        format!(
            "CREATE ALGORITHM = {} SQL SECURITY DEFINER VIEW {}.{} AS {}",
            self.algorithm,
            identifier(database),
            identifier(&self.name),
            self.select
        )
    }

    /// One of all that a table or view has, whatever that is.
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

/// Tables that get a view: all that are lent in part; and, so that all names of those databases are in one place, those
/// that are lent whole beside them. Some servers take names for the same in capital and small letters: the first has it.
fn viewed(readable: &Readable) -> Vec<&(String, String)> {
    let is_beside = |(database, _): &&(String, String)| readable.has_parts_in(database);
    let wholes = readable.wholes().filter(is_beside);
    let mut taken = BTreeSet::new();
    let is_first = |(_, table): &&(String, String)| taken.insert(table.to_lowercase());
    readable.parts().chain(wholes).filter(is_first).collect()
}

/// The views that are needed.
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

/// Objects that the account may read: the views in `database` in place of what is lent in part.
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

    /// The lent columns in the order of the table, and the kind of each.
    fn lent(&self, conn: &mut Conn) -> Result<Vec<(String, String)>, DbError> {
        let sql = self.about("COLUMN_NAME, DATA_TYPE", "COLUMNS");
        let listed = rows(conn, &format!("{sql} ORDER BY ORDINAL_POSITION"))?;
        let column = |row: &mysql::Row| Some((text(row, 0)?, text(row, 1)?));
        let all = listed.iter().filter_map(column);
        Ok(all
            .filter(|(name, _)| self.columns.contains(name))
            .collect())
    }

    /// Tells whether all ways to read it without its other indexes go along a primary key that is lent.
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

/// An order in which rows stand alike only where nothing that is lent tells them apart.
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

const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// How the statement that makes an account says its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordForm {
    /// In clear. MySQL never writes that into its logs, where it puts `<secret>` or a hash.
    ByPassword,
    /// By its hash: the logs of MariaDB have every statement as it was sent.
    ByHash,
}

impl PasswordForm {
    /// The way that leaves no password in the server's logs.
    pub(super) fn unlogged(dialect: &Dialect) -> Self {
        if dialect.mariadb {
            Self::ByHash
        } else {
            Self::ByPassword
        }
    }

    /// The clause; the password has no quote in it.
    fn by(self, password: &str) -> String {
        match self {
            Self::ByPassword => format!("IDENTIFIED BY '{password}'"),
            Self::ByHash => format!("IDENTIFIED BY PASSWORD '{}'", native_hash(password)),
        }
    }
}

/// Makes the account with the password. Where the server knows it, the password ends after whole days of the account's
/// life: a belt, should nobody come back to drop it.
pub(super) fn create(
    account: &Account,
    password: &str,
    identified: PasswordForm,
    expires: SystemTime,
    dialect: &Dialect,
) -> String {
    let by = identified.by(password);
    let created = format!("CREATE USER {} {by}", account.quoted());
    let first_with_expiry = if dialect.mariadb {
        (10, 4, 3)
    } else {
        (5, 7, 6)
    };
    if dialect.version < first_with_expiry {
        return created;
    }
    format!("{created} {}", password_expiry(expires))
}

/// The clause by which the password ends after whole days, when the account has ended.
pub(super) fn password_expiry(expires: SystemTime) -> String {
    let left = expires
        .duration_since(SystemTime::now())
        .unwrap_or_default();
    let days = left.as_secs().div_ceil(A_DAY.as_secs()).clamp(1, 65_535);
    format!("PASSWORD EXPIRE INTERVAL {days} DAY")
}

/// Lets the account read all of each table, a statement a table. A database's name has no wildcards in those.
pub(super) fn grants<'a>(
    account: &'a Account,
    readable: &'a Readable,
) -> impl Iterator<Item = String> + 'a {
    readable.tables().map(|((database, table), _)| {
        format!(
            "GRANT SELECT ON {}.{} TO {}",
            identifier(database),
            identifier(table),
            account.quoted()
        )
    })
}

/// Makes the account's views, and lets it read them and all that is lent whole.
pub(super) fn lending(account: &Account, readable: &Readable, views: &[View]) -> Vec<String> {
    let Some(database) = &account.views else {
        return grants(account, readable).collect();
    };
    let made = format!("CREATE DATABASE {}", identifier(database));
    let lent = through(readable, database);
    std::iter::once(made)
        .chain(views.iter().map(|view| view.create(database)))
        .chain(grants(account, &lent))
        .collect()
}

/// The database of views in what an administrator may run.
pub(super) const FOR_VIEWS: &str = "guest_views";

/// Statements that an administrator may run instead, with a name and a password of his own.
pub(super) fn for_an_administrator(host: &str, readable: &Readable, views: &[View]) -> String {
    let account = Account {
        name: "guest".into(),
        host: host.to_owned(),
        views: (!views.is_empty()).then(|| FOR_VIEWS.to_owned()),
    };
    let created = format!("CREATE USER {} IDENTIFIED BY '…'", account.quoted());
    let all: Vec<String> = std::iter::once(created)
        .chain(lending(&account, readable, views))
        .collect();
    all.join("; ") + ";"
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

    fn account() -> Account {
        Account {
            name: "g".into(),
            host: "127.0.0.1".into(),
            views: None,
        }
    }

    #[test]
    fn names_cannot_leave_their_quotes_and_wildcards_mean_nothing() {
        let mut readable = Readable::default();
        readable.add("a_%", "t", None);
        readable.add("x`y", "t`; DROP TABLE u; -- ", None);
        let all: Vec<String> = grants(&account(), &readable).collect();
        assert_eq!(
            all,
            [
                "GRANT SELECT ON `a_%`.`t` TO 'g'@'127.0.0.1'",
                "GRANT SELECT ON `x``y`.`t``; DROP TABLE u; -- ` TO 'g'@'127.0.0.1'",
            ]
        );
        let told = for_an_administrator("%", &readable, &[]);
        assert!(told.starts_with("CREATE USER 'guest'@'%' IDENTIFIED BY '…'; GRANT SELECT ON"));
    }

    #[test]
    fn the_password_expires_where_the_server_knows_how() {
        let soon = SystemTime::now() + Duration::from_secs(60);
        let made = |dialect: &Dialect, expires| {
            let by = PasswordForm::ByPassword;
            create(&account(), "p", by, expires, dialect)
        };
        let modern = made(&Dialect::mysql((9, 7, 0)), soon);
        assert!(
            modern.ends_with(" PASSWORD EXPIRE INTERVAL 1 DAY"),
            "{modern}"
        );
        let later = made(&Dialect::mariadb((11, 8, 0)), soon + 2 * A_DAY);
        assert!(later.ends_with(" INTERVAL 3 DAY"), "{later}");
        let old = made(&Dialect::mariadb((10, 3, 0)), soon);
        assert_eq!(old, "CREATE USER 'g'@'127.0.0.1' IDENTIFIED BY 'p'");
    }
}
