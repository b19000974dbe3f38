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

use super::server_info::ServerInfo;

/// The first MariaDB where another database than the current one may hold the function, with room to spare.
const PATHS: (u16, u16, u16) = (12, 0, 0);

/// What stands behind a `SELECT` of other columns: two columns with the name of a function that is there, or NULL, and
/// then the statement that lists grants. The names are the gate's own, so they need no escaping.
pub(crate) fn questions(info: &ServerInfo, calls: &[&str]) -> String {
    let names = calls.join("', '");
    let loadable = info.loadable.map_or_else(
        || "NULL".into(),
        |(table, column)| {
            format!("(SELECT MIN({column}) FROM {table} WHERE UPPER({column}) IN ('{names}'))")
        },
    );
    let place = place(info);
    let grants = grants(info);
    format!(
        ", (SELECT MIN(ROUTINE_NAME) FROM information_schema.ROUTINES WHERE {place} AND ROUTINE_TYPE = 'FUNCTION' \
         AND ROUTINE_NAME IN ('{names}')), {loadable}{grants}"
    )
}

/// On systems whose file names have no case, databases are compared in lower case.
fn place(info: &ServerInfo) -> &'static str {
    if searches_paths(info) {
        "(ROUTINE_SCHEMA = DATABASE() OR ROUTINE_SCHEMA <> 'sys')"
    } else {
        "ROUTINE_SCHEMA = IF(@@lower_case_table_names = 0, DATABASE(), LOWER(DATABASE()))"
    }
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

/// The called name that a grant on one function names, in a database where a call finds it.
pub(crate) fn granted(
    grants: impl Iterator<Item = String>,
    calls: &[&str],
    database: Option<&str>,
    info: &ServerInfo,
) -> Option<String> {
    let found = |grant: String| {
        let (_, object) = grant.split_once(" ON FUNCTION `")?;
        let (db, rest) = quoted(object)?;
        let (name, _) = quoted(rest.strip_prefix(".`")?)?;
        let in_reach = searches_paths(info) || database.is_some_and(|own| reads_as(&db, own));
        let is_called = calls.iter().any(|called| reads_as(&name, called));
        (in_reach && is_called).then_some(name)
    };
    let mut names = grants.filter_map(found);
    names.next()
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

/// Whether a server may hold both for one name. It compares letters beyond ASCII by rules of its own, so such a letter
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
        let find = |grant: &str, database: Option<&str>, info: &ServerInfo| {
            granted(
                [grant.to_owned()].into_iter(),
                &["MD5", "SHA1"],
                database,
                info,
            )
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
    }
}
