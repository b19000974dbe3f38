//! Proof that a guest's account can read only what was listed: it signs in and looks around.
//!
//! A server may give every account more than was granted: by mandatory roles (MySQL), by `PUBLIC` (MariaDB), or by rows
//! of the anonymous user. None of that can be revoked from a single account, so such a guest is refused.

use mysql::Conn;

use super::account::Account;
use super::expand::Readable;
use crate::sqlweb::catalogue::{identifier, text};
use crate::sqlweb::conn::{grants, masked, rows};
use crate::sqlweb::error::DbError;

/// Databases that every account sees; their contents are the account's own, or public.
const FOR_EVERYBODY: [&str; 2] = ["information_schema", "performance_schema"];

/// Databases that installations open to everybody.
const OFTEN_OPEN: [&str; 2] = ["test", "test_postern"];

/// Advice if no helpful statement is known.
const TAKE_AWAY: &str = "have an administrator revoke it (mandatory_roles of MySQL, grants to PUBLIC of MariaDB, the \
    anonymous user's rows in mysql.db)";

/// `ER_DBACCESS_DENIED_ERROR`, the answer even for a database that does not exist.
const DENIED: u16 = 1044;

/// A right of the account beyond the list.
pub(super) struct ExcessRight {
    pub(super) what: String,
    /// Advice.
    pub(super) cure: String,
}

impl ExcessRight {
    pub(super) fn new(what: impl Into<String>, cure: impl Into<String>) -> Self {
        let (what, cure) = (what.into(), cure.into());
        Self { what, cure }
    }

    /// A database that the anonymous user's rows open to every account.
    pub(super) fn open_to_all(database: &str) -> Self {
        Self::new(
            format!("the database {database} is open to every account"),
            "have an administrator run: DELETE FROM mysql.db WHERE User = ''; FLUSH PRIVILEGES",
        )
    }

    /// Rights that the server gives every account.
    fn granted(grants: &[&String]) -> Self {
        let revoke = |grant: &&String| {
            let (_, object) = grant.strip_suffix(" TO PUBLIC")?.split_once(" ON ")?;
            Some(format!("REVOKE ALL PRIVILEGES ON {object} FROM PUBLIC"))
        };
        let revoked: Option<Vec<String>> = grants.iter().map(revoke).collect();
        let cure = match revoked {
            Some(statements) => format!("have an administrator run: {}", statements.join("; ")),
            None => TAKE_AWAY.to_owned(),
        };
        let first = grants.first().map_or("", |grant| grant.as_str());
        Self::new(
            format!("the server grants this to every account: {first}"),
            cure,
        )
    }
}

/// Finds a right of the account beyond the list. The connection cannot be used after that, since it may be in other
/// roles.
pub(super) fn more_than_listed(
    conn: &mut Conn,
    account: &Account,
    readable: &Readable,
    is_mariadb: bool,
) -> Result<Option<ExcessRight>, DbError> {
    let signed_in = first(conn, "SELECT CURRENT_USER()")?.unwrap_or_default();
    // Servers keep the host of an account in lower case.
    if !signed_in.eq_ignore_ascii_case(&format!("{}@{}", account.name, account.host)) {
        return Ok(Some(ExcessRight::new(
            format!("the server treats it as the account '{signed_in}'"),
            "have an administrator check which account this machine's connections get",
        )));
    }
    let (all, in_a_role) = grants(conn, is_mariadb)?;
    if all.is_empty() || in_a_role && is_mariadb {
        return Ok(Some(ExcessRight::new(
            "the server does not show its privileges, or gave it a role",
            TAKE_AWAY,
        )));
    }
    let more: Vec<&String> = all.iter().filter(|grant| !only_reads(grant)).collect();
    if !more.is_empty() {
        return Ok(Some(ExcessRight::granted(&more)));
    }
    if let Some(seen) = seen(conn, readable)? {
        let cure = format!("{TAKE_AWAY}, or list it too");
        return Ok(Some(ExcessRight::new(format!("it also sees {seen}"), cure)));
    }
    for name in OFTEN_OPEN {
        if !readable.has_database(name) && is_open(conn, name)? {
            return Ok(Some(ExcessRight::open_to_all(name)));
        }
    }
    Ok(None)
}

/// True if a line of `SHOW GRANTS` allows at most `SELECT` on single tables. A role is allowed, since its rights are in
/// lines of their own.
pub(super) fn only_reads(grant: &str) -> bool {
    let grant = masked(grant);
    let Some((privileges, object)) = grant
        .strip_prefix("GRANT ")
        .and_then(|rest| rest.split_once(" ON "))
    else {
        return !grant.contains(" WITH ADMIN OPTION");
    };
    let object = object.split(" TO ").next().unwrap_or_default();
    let is_of_a_table = !object.contains('*');
    let mut privileges = privileges.split(',').map(str::trim);
    let allowed = |privilege: &str| privilege == "USAGE" || privilege == "SELECT" && is_of_a_table;
    privileges.all(allowed) && !grant.contains(" WITH GRANT OPTION")
}

/// First database, column or routine that the account sees beyond the list.
fn seen(conn: &mut Conn, readable: &Readable) -> Result<Option<String>, DbError> {
    let own = |name: &str| {
        FOR_EVERYBODY
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    };
    for row in rows(conn, "SHOW DATABASES")? {
        let name = text(&row, 0).unwrap_or_default();
        if !own(&name) && !readable.has_database(&name) {
            return Ok(Some(format!("the database {name}")));
        }
    }
    let columns = "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS \
                   WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema')";
    for row in rows(conn, columns)? {
        let of = |at| text(&row, at).unwrap_or_default();
        let (database, table, column) = (of(0), of(1), of(2));
        if !own(&database) && !readable.has_column(&database, &table, &column) {
            return Ok(Some(format!("the column {database}.{table}.{column}")));
        }
    }
    // MySQL shows the names of its own routines to everybody.
    let routines = "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES \
                    WHERE ROUTINE_SCHEMA NOT IN ('sys', 'mysql')";
    let found = rows(conn, routines)?;
    Ok(found.first().map(|row| {
        let of = |at| text(row, at).unwrap_or_default();
        format!("the routine {}.{}", of(0), of(1))
    }))
}

/// Finds anything that the account can see of tables behind its views, beyond these views.
pub(super) fn more_than_views(
    conn: &mut Conn,
    readable: &Readable,
    views: &str,
) -> Result<Option<String>, DbError> {
    let views = identifier(views);
    for (database, table) in readable.parts() {
        let name = identifier(table);
        let of_table = format!(
            "{}.{name} NATURAL JOIN (SELECT 1) AS one",
            identifier(database)
        );
        let history = format!("{views}.{name} FOR SYSTEM_TIME ALL");
        for (leak, what) in [(of_table, "other columns"), (history, "earlier rows")] {
            if reads(conn, &leak)? {
                return Ok(Some(format!("{what} of {database}.{table}")));
            }
        }
        rows(conn, &format!("SELECT * FROM {views}.{name} LIMIT 0"))?;
    }
    Ok(None)
}

/// True if the server lets the account read `from`.
fn reads(conn: &mut Conn, from: &str) -> Result<bool, DbError> {
    match rows(conn, &format!("SELECT 1 FROM {from} LIMIT 0")) {
        Err(DbError::Statement(_)) => Ok(false),
        answer => answer.map(|_| true),
    }
}

/// True if the account may use the database, even one that does not exist yet.
fn is_open(conn: &mut Conn, database: &str) -> Result<bool, DbError> {
    match rows(conn, &format!("USE {}", identifier(database))) {
        Err(DbError::Statement(error)) => Ok(error.code != DENIED),
        answer => answer.map(|_| true),
    }
}

/// A database that rows of the anonymous user open to every account; `None` if the owner may not read these rows.
pub(super) fn open_to_all(conn: &mut Conn) -> Result<Option<String>, DbError> {
    match first(conn, "SELECT Db FROM mysql.db WHERE User = '' LIMIT 1") {
        Err(error) if error.leaves_connection_usable() => Ok(None),
        found => found,
    }
}

pub(super) fn first(conn: &mut Conn, sql: &str) -> Result<Option<String>, DbError> {
    Ok(rows(conn, sql)?.first().and_then(|row| text(row, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_select_on_tables_is_no_more_than_listed() {
        for grant in [
            "GRANT USAGE ON *.* TO `g`@`h`",
            "GRANT USAGE ON *.* TO `g`@`h` IDENTIFIED BY PASSWORD '*00'",
            "GRANT SELECT ON `a.*`.`b ON *.*` TO `g`@`h`",
            "GRANT SELECT (`id`, `INSERT`) ON `shop`.`c` TO `g`@`h`",
            "GRANT `role`@`%` TO `g`@`h`",
        ] {
            assert!(only_reads(grant), "{grant}");
        }
        for grant in [
            "GRANT SELECT ON *.* TO `g`@`h`",
            "GRANT SELECT ON `shop`.* TO PUBLIC",
            "GRANT SELECT, SHOW VIEW ON `shop`.`v` TO `g`@`h`",
            "GRANT SELECT, UPDATE (`a`) ON `shop`.`v` TO `g`@`h`",
            "GRANT EXECUTE ON FUNCTION `shop`.`f` TO PUBLIC",
            "GRANT SELECT ON `shop`.`v` TO `g`@`h` WITH GRANT OPTION",
            "GRANT PROXY ON ''@'' TO 'g'@'h'",
            "GRANT `role` TO `g`@`h` WITH ADMIN OPTION",
            "GRANT SHOW DATABASES ON *.* TO `g`@`h`",
            "GRANT AUDIT_ABORT_EXEMPT ON *.* TO `g`@`h`",
        ] {
            assert!(!only_reads(grant), "{grant}");
        }
    }
}
