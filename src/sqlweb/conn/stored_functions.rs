//! Functions that somebody has made on the server: stored ones and loadable ones.
//!
//! The gate passes only calls of built-in functions that it knows. Whether a name is built in is the server's to say,
//! though: MySQL 9.6 took `MD5` out, and a stored function of that name runs there. So each statement that calls
//! anything has the server asked for the called names first.
//!
//! Which functions a name can stand for (MySQL, "Function Name Parsing and Resolution"; MariaDB, "Stored Function
//! Limitations", "SET PATH"): the loadable ones, which belong to no database, and the stored ones of the current
//! database; on MariaDB 12.3 also those of every database on `@@path`.
//!
//! `information_schema.ROUTINES` shows what the account may run, but not what it may run by a grant on that one
//! function to `PUBLIC` (MariaDB) or to a role (MySQL). Those stand in `SHOW GRANTS`.
//!
//! Two kinds pass only where the server proves them:
//! - what a component supplies (MySQL 9.6: `MD5`): a loadable function of no library file. It goes before a stored one.
//! - a function of `sys`: its text has a known digest, and it has no parameter beyond the known ones. MariaDB also takes
//!   `sys.name` for the function of a package `sys` in the current database.

use super::server_info::ServerInfo;
use crate::sqlweb::gate::{self, CalledFunctions};

/// The first MariaDB where another database than the current one may hold the function, with room to spare.
const PATHS: (u16, u16, u16) = (12, 0, 0);

/// Number of columns that [`questions`] adds.
pub(crate) const COLUMNS: usize = 5;

/// Text behind a `SELECT` of other columns: five columns, each a name or names or NULL, and then the statement
/// that lists grants. Two tell who has taken a called name, as a stored or a loadable function; the third which called
/// functions a component supplies, the fourth which of `sys` are the server's own; the fifth is a package `sys`.
/// The names are the gate's own, so they need no escaping.
pub(crate) fn questions(info: &ServerInfo, calls: &CalledFunctions) -> String {
    let place = place(info, calls.database.as_deref());
    let stored = listed(calls.unqualified());
    let (loadable, supplied) = (loadable(info, calls), supplied(info, calls));
    let (sys, package) = (sys(info, calls), package(calls, &place));
    let grants = grants(info);
    format!(
        ", (SELECT MIN(ROUTINE_NAME) FROM information_schema.ROUTINES WHERE {place} AND ROUTINE_TYPE = 'FUNCTION' \
         AND ROUTINE_NAME IN ({stored})), {loadable}, {supplied}, {sys}, {package}{grants}"
    )
}

fn listed(names: impl Iterator<Item = &'static str>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    // Where there is none, the empty name, which no function has.
    if quoted.is_empty() {
        "''".into()
    } else {
        quoted.join(", ")
    }
}

/// A component's function has no library; with one, somebody has made it.
fn loadable(info: &ServerInfo, calls: &CalledFunctions) -> String {
    let Some((table, column)) = info.loadable else {
        return "NULL".into();
    };
    let (all, supplied) = (
        listed(calls.unqualified()),
        listed(calls.supplied.iter().copied()),
    );
    let made = if calls.supplied.is_empty() {
        String::new()
    } else {
        format!(" AND NOT (UDF_LIBRARY IS NULL AND UPPER({column}) IN ({supplied}))")
    };
    format!("(SELECT MIN({column}) FROM {table} WHERE UPPER({column}) IN ({all}){made})")
}

fn supplied(info: &ServerInfo, calls: &CalledFunctions) -> String {
    match info.loadable {
        Some((table, column)) if !calls.supplied.is_empty() => {
            let names = listed(calls.supplied.iter().copied());
            format!(
                "(SELECT GROUP_CONCAT(UPPER({column})) FROM {table} WHERE UDF_LIBRARY IS NULL AND UPPER({column}) IN ({names}))"
            )
        }
        _ => "NULL".into(),
    }
}

/// Functions of `sys` that the statement calls, with those that these use.
pub(crate) fn of_sys(calls: &CalledFunctions) -> Vec<&'static str> {
    let known = calls.sys.iter().filter_map(|name| gate::sys_function(name));
    known
        .flat_map(|function| std::iter::once(&function.name).chain(function.uses))
        .copied()
        .collect()
}

/// Comparison would also take a database `SYS` for it, whose functions prove nothing. Where a view stands in place of the
/// table that `sys_get_config` reads, its text proves nothing either.
fn sys(info: &ServerInfo, calls: &CalledFunctions) -> String {
    let proofs: Vec<String> = of_sys(calls)
        .into_iter()
        .filter_map(gate::sys_function)
        .map(|function| {
            format!(
                "ROUTINE_NAME = '{}' AND SHA2(ROUTINE_DEFINITION, 256) IN ({}) AND {} = \
                 (SELECT COUNT(*) FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = 'sys' \
                 AND SPECIFIC_NAME = '{}' AND ROUTINE_TYPE = 'FUNCTION' AND ORDINAL_POSITION > 0)",
                function.name,
                listed(function.digests(&info.dialect)),
                function.parameters,
                function.name,
            )
        })
        .collect();
    if proofs.is_empty() {
        return "NULL".into();
    }
    format!(
        "(SELECT GROUP_CONCAT(LOWER(ROUTINE_NAME)) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'sys' \
         AND HEX(ROUTINE_SCHEMA) = '737973' AND ROUTINE_TYPE = 'FUNCTION' AND ({}) \
         AND (ROUTINE_NAME <> 'sys_get_config' OR EXISTS (SELECT 1 FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = 'sys' AND TABLE_NAME = 'sys_config' AND TABLE_TYPE = 'BASE TABLE')))",
        proofs.join(" OR ")
    )
}

fn package(calls: &CalledFunctions, place: &str) -> String {
    if calls.sys.is_empty() {
        return "NULL".into();
    }
    format!(
        "(SELECT MIN(ROUTINE_NAME) FROM information_schema.ROUTINES WHERE {place} AND ROUTINE_TYPE LIKE 'PACKAGE%' \
         AND ROUTINE_NAME = 'sys')"
    )
}

/// On systems whose file names have no case, databases are compared in lower case.
fn place(info: &ServerInfo, database: Option<&str>) -> String {
    let database = database.map_or_else(|| "DATABASE()".into(), literal);
    if searches_paths(info) {
        format!("(ROUTINE_SCHEMA = {database} OR ROUTINE_SCHEMA <> 'sys')")
    } else {
        format!("ROUTINE_SCHEMA = IF(@@lower_case_table_names = 0, {database}, LOWER({database}))")
    }
}

/// The escaping fits the pinned mode.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn searches_paths(info: &ServerInfo) -> bool {
    info.dialect.mariadb && info.dialect.version >= PATHS
}

fn grants(info: &ServerInfo) -> &'static str {
    let version = info.dialect.version;
    match info.dialect.mariadb {
        true if version >= (10, 11, 0) => "; SHOW GRANTS FOR PUBLIC",
        false if version >= (8, 0, 0) => "; SHOW GRANTS",
        _ => "",
    }
}

/// The called name that a grant on one function, or on a package `sys`, names, in a database where a call finds it.
pub(crate) fn granted(
    grants: impl Iterator<Item = String>,
    calls: &CalledFunctions,
    database: Option<&str>,
    info: &ServerInfo,
) -> Option<String> {
    let database = calls.database.as_deref().or(database);
    let in_reach = |db: &str| searches_paths(info) || database.is_some_and(|own| reads_as(db, own));
    let found = |grant: String| {
        if let Some((db, name)) = object(&grant, " ON FUNCTION `") {
            let is_called = calls.unqualified().any(|called| reads_as(&name, called));
            return (in_reach(&db) && is_called).then_some(name);
        }
        let package =
            object(&grant, " ON PACKAGE `").or_else(|| object(&grant, " ON PACKAGE BODY `"));
        let (db, name) = package?;
        (in_reach(&db) && !calls.sys.is_empty() && reads_as(&name, "sys")).then_some(name)
    };
    let mut names = grants.filter_map(found);
    names.next()
}

/// The database and the name that stand in a grant behind `words`, which end with a backquote.
fn object(grant: &str, words: &str) -> Option<(String, String)> {
    let (_, object) = grant.split_once(words)?;
    let (db, rest) = quoted(object)?;
    let (name, _) = quoted(rest.strip_prefix(".`")?)?;
    Some((db, name))
}

/// Takes a name up to its closing backquote, with doubled ones made single, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, behind) = rest.split_once('`')?;
        name.push_str(part);
        match behind.strip_prefix('`') {
            None => return Some((name, behind)),
            Some(more) => {
                name.push('`');
                rest = more;
            }
        }
    }
}

/// True if a server may hold both for one name. It compares letters beyond ASCII by rules of its own, so such a letter
/// counts as any.
fn reads_as(a: &str, b: &str) -> bool {
    let same = |(a, b): (char, char)| !a.is_ascii() || !b.is_ascii() || a.eq_ignore_ascii_case(&b);
    a.chars().count() == b.chars().count() && a.chars().zip(b.chars()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlweb::gate::Dialect;

    fn info(dialect: Dialect) -> ServerInfo {
        ServerInfo {
            version: String::new(),
            dialect,
            time_zone: String::new(),
            pinned_mode: String::new(),
            can_write: false,
            loadable: None,
            write_state: None,
        }
    }

    #[test]
    fn grants_on_one_function_are_found() {
        let (old, new) = (
            info(Dialect::mysql((9, 7, 4))),
            info(Dialect::mariadb((12, 3, 0))),
        );
        let mut calls = CalledFunctions::default();
        calls.built_in.extend(["MD5", "SHA1"]);
        let find = |grant: &str, database: Option<&str>, info: &ServerInfo| {
            granted([grant.to_owned()].into_iter(), &calls, database, info)
        };
        let grant = "GRANT EXECUTE, ALTER ROUTINE ON FUNCTION `s``h`.`md5` TO PUBLIC";
        assert_eq!(find(grant, Some("s`h"), &old).as_deref(), Some("md5"));
        assert_eq!(find(grant, Some("other"), &old), None);
        assert_eq!(find(grant, None, &old), None);
        assert_eq!(find(grant, None, &new).as_deref(), Some("md5"));
        let other = "GRANT EXECUTE ON FUNCTION `shop`.`md55` TO `r`@`%`";
        assert_eq!(find(other, Some("shop"), &old), None);
        let long = "GRANT EXECUTE ON FUNCTION `shop`.`\u{17f}ha1` TO `r`@`%`";
        assert!(find(long, Some("shop"), &old).is_some());
        let procedure = "GRANT EXECUTE ON PROCEDURE `shop`.`md5` TO `r`@`%`";
        assert_eq!(find(procedure, Some("shop"), &old), None);
        let package = "GRANT EXECUTE ON PACKAGE BODY `shop`.`Sys` TO PUBLIC";
        assert_eq!(find(package, Some("shop"), &old), None);
        calls.sys.insert("format_bytes");
        let find = |database: Option<&str>| {
            granted([package.to_owned()].into_iter(), &calls, database, &old)
        };
        assert_eq!(find(Some("shop")).as_deref(), Some("Sys"));
        assert_eq!(find(Some("other")), None);
    }
}
