//! The third layer of the read-only mode: the connection itself.
//!
//! Before each statement the connection is reset, the modes that the gate's lexer assumes are set, the session is made
//! read-only, and a read-only transaction begins. The server must confirm all that, and that nobody has created a
//! function under a name that the statement calls ([`questions`]). Then the server prepares the statement, which
//! refuses a second one in the same text. Only then it runs, in the text protocol, after the same read-only settings in
//! the same packet ([`guard`]), so that no proxy can lead the two to different servers.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::db_conn::DbConn;
use super::driver::rows;
use super::server_info::{ServerInfo, WriteState, dialect_of};
use super::{identity, server_info};
use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::error::DbError;
use crate::sqlweb::gate::{self, CalledFunctions};

/// `ER_UNSUPPORTED_PS`: the server cannot prepare this kind of statement.
const UNSUPPORTED_PS: u16 = 1295;

/// Number of columns that are always asked; those of [`questions`] follow.
const OWN_COLUMNS: usize = 9;

const PACKAGE: &str =
    "the database has a package of that name, which the server would use; choose another database";

/// Number of statements of [`guard`].
pub(crate) const GUARDS: usize = 3;

/// `ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION`.
const READ_ONLY_TRANSACTION: u16 = 1792;

/// Kinds of statement that open a view without reading it.
const LOOKS: [&str; 3] = ["DESCRIBE", "EXPLAIN", "SHOW"];

/// First MariaDB in which a called function may be in another database than the current one, with some margin.
const PATHS: (u16, u16, u16) = (12, 0, 0);

/// Number of columns that [`questions`] adds.
pub(crate) const COLUMNS: usize = 5;

/// Resets the connection, makes its session read-only and begins a read-only transaction, which the next reset ends;
/// outside one, a stored function behind a view could make the session writable for the rest of its statement
/// (MariaDB). Fails unless the server confirms every part, is still the same one, and has no user's function under a
/// name that the statement `calls`. [`DbError::Changed`] asks for new facts of the server. Returns whether the server
/// accepts writes, if it tells.
pub(crate) fn make_read_only(
    conn: &mut DbConn,
    calls: &CalledFunctions,
) -> Result<Option<WriteState>, DbError> {
    conn.reset()?;
    conn.take_several(true)?;
    let info = &*conn.info();
    let setting = setting(conn, info, calls);
    let answer = match rows(&mut conn.driver, &setting) {
        // This server does not know a variable or mode, or the account may no longer read a table.
        Err(DbError::Statement(error)) => {
            return Err(changed(&format!(
                "the server rejects the read-only settings: {}",
                error.message
            )));
        }
        answer => answer?,
    };
    let mut answer = answer.iter();
    let row = answer.next();
    let text = |i: usize| row?.get_opt::<String, _>(i)?.ok();
    if let Some(version) = text(5).filter(|version| dialect_of(version) != info.dialect) {
        return Err(changed(&format!(
            "the server has changed: it was {} and is {version}",
            info.version
        )));
    }
    if !identity::is_same(conn, text(3).as_deref(), text(7).as_deref()) {
        return Err(identity::named(conn));
    }
    let asked = if calls.is_empty() { 0 } else { COLUMNS };
    let confirmed = row.is_some_and(|row| row.len() == OWN_COLUMNS + asked)
        && text(0).as_deref() == Some("1")
        && text(1).is_some_and(|modes| same_modes(&modes, &info.pinned_mode))
        && text(2).as_deref() == Some("utf8mb4")
        && text(4).as_deref() == Some("1");
    if !confirmed {
        return Err(DbError::ReadOnly(
            "the server did not confirm that the connection is read-only, so nothing was sent (layer: connection)".into(),
            None,
        ));
    }
    let granted = answer.filter_map(|row| row.get_opt::<String, _>(0)?.ok());
    let database = text(6);
    if text(OWN_COLUMNS + 4).is_some() {
        return Err(refused("of sys", PACKAGE));
    }
    match text(OWN_COLUMNS)
        .or_else(|| text(OWN_COLUMNS + 1))
        .or_else(|| granted_calls(granted, calls, database.as_deref(), info))
    {
        None => proven(
            calls,
            &text(OWN_COLUMNS + 2).unwrap_or_default(),
            &text(OWN_COLUMNS + 3).unwrap_or_default(),
        )
        .map(|()| server_info::in_column(row, 8)),
        Some(name) if name.eq_ignore_ascii_case("sys") => Err(refused("of sys", PACKAGE)),
        Some(name) => Err(taken(&name)),
    }
}

/// Checks that the server has proved every function that needs a proof; each list is separated by commas.
fn proven(calls: &CalledFunctions, supplied: &str, sys: &str) -> Result<(), DbError> {
    let missing = |proven: &str, name: &str| !proven.split(',').any(|proven| proven == name);
    if let Some(name) = calls.supplied.iter().find(|name| missing(supplied, name)) {
        return Err(refused(
            name,
            "MySQL 9.6 removed it, and no component provides it here, or this account may not read \
             performance_schema.user_defined_functions; try SHA2(…, 256), or have an administrator run INSTALL \
             COMPONENT 'file://component_classic_hashing'",
        ));
    }
    let mut of_sys = of_sys(calls).into_iter();
    match of_sys.find(|name| missing(sys, name)) {
        None => Ok(()),
        Some(name) => Err(refused(
            &format!("sys.{name}"),
            "it is a stored function whose code is not known to be harmless, or not visible to this account; try a \
             built-in function, or an account that may read routines",
        )),
    }
}

fn refused(name: &str, why: &str) -> DbError {
    DbError::ReadOnly(
        format!(
            "function {} was refused: {why} (layer: connection)",
            name.to_lowercase()
        ),
        None,
    )
}

/// Text of one round trip: the settings, the queries that confirm them, and those of [`questions`].
fn setting(conn: &DbConn, info: &ServerInfo, calls: &CalledFunctions) -> String {
    let (variable, guard) = (info.read_only_variable(), guard(info, ""));
    let name = conn.name.as_ref().map_or("NULL", |name| name.asked);
    let write_state = info.write_state.unwrap_or("NULL");
    let in_transaction = if info.dialect.mariadb {
        " AND @@in_transaction"
    } else {
        ""
    };
    let set = format!(
        "{guard}SELECT @@session.{variable}, @@session.sql_mode, @@session.character_set_client, CONNECTION_ID(), \
         @@session.autocommit{in_transaction}, VERSION(), DATABASE(), {name}, {write_state}"
    );
    if calls.is_empty() {
        return set;
    }
    set + &questions(info, calls)
}

/// The [`GUARDS`] statements that make a session read-only. They are sent before a statement in the same packet, so
/// that no proxy can lead the two to different servers. In a SERIALIZABLE transaction each `SELECT` would lock the rows
/// it reads. `and_sets` is a further setting, such as `, time_zone = '+02:00'`.
pub(crate) fn guard(info: &ServerInfo, and_sets: &str) -> String {
    format!(
        "SET NAMES utf8mb4, sql_mode = '{}', autocommit = 1{and_sets}; \
         SET SESSION TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE READ; START TRANSACTION READ ONLY; ",
        info.pinned_mode
    )
}

fn changed(how: &str) -> DbError {
    DbError::Changed(format!(
        "{how}; nothing was sent, so run the statement again (layer: connection)"
    ))
}

fn taken(name: &str) -> DbError {
    refused(
        name,
        "somebody created a function of that name on this server, which may write; choose a database without it",
    )
}

/// True if both texts list the same modes; the server has its own order.
fn same_modes(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut modes: Vec<String> = text.split(',').map(str::to_ascii_uppercase).collect();
        modes.sort();
        modes
    };
    sorted(a) == sorted(b)
}

/// True if the server refused to write in a read-only session.
pub(crate) fn would_write(error: &DbError) -> bool {
    matches!(error, DbError::Statement(error) if error.code == READ_ONLY_TRANSACTION)
}

/// Makes the server's refusal to write in a read-only session an error that says so.
pub(crate) fn explain<T>(outcome: Result<T, DbError>, statement: &str) -> Result<T, DbError> {
    match outcome {
        Err(DbError::Statement(error)) if error.code == READ_ONLY_TRANSACTION => {
            let why = if LOOKS.contains(&statement) {
                "the view calls a function that writes, and describing the view opens what that needs; the \
                 definition is in information_schema.VIEWS"
            } else {
                "it would write, perhaps through a function that a view calls"
            };
            let text = format!(
                "{statement} was refused: {why}: {} (layer: connection)",
                error.message
            );
            Err(DbError::ReadOnly(text, Some(error)))
        }
        other => other,
    }
}

/// Makes the failure over a result of more than 65,535 columns an error that says so. The answer to COM_STMT_PREPARE
/// counts columns in 16 bits, so the driver reads too few, and the next packet is unexpected. A text that cannot have
/// so many columns fails for another reason.
pub(crate) fn not_too_wide<T>(outcome: Result<T, DbError>, sql: &str) -> Result<T, DbError> {
    let can_be_wide = || sql.contains('*') || sql.matches(',').count() >= usize::from(u16::MAX);
    match outcome {
        Err(DbError::Lost(why)) if why.contains("out of sync") && can_be_wide() => {
            Err(DbError::TooWide)
        }
        other => other,
    }
}

/// Has the server prepare `sql`, and drops the result: it refuses more than one statement in the text.
pub(crate) fn prepare(conn: &mut Conn, sql: &str) -> Result<(), DbError> {
    let outcome = catch_panic(|| {
        let prepared = match conn.prep(sql) {
            // The driver takes `:name` for a parameter, and would prepare another text than the one that runs.
            Ok(statement) if statement.num_params() > 0 => {
                conn.close(statement)?;
                None
            }
            Ok(statement) => Some(statement),
            Err(mysql::Error::DriverError(mysql::DriverError::MixedParams)) => None,
            Err(error) => return Err(error.into()),
        };
        match prepared {
            Some(statement) => Ok(conn.close(statement)?),
            None => prepare_as_text(conn, sql),
        }
    });
    match outcome {
        Err(DbError::Statement(error)) if error.code == UNSUPPORTED_PS => {
            let text = format!(
                "this server cannot check the statement before it runs: {}; remove @@warning_count and \
                 @@error_count, which refer to a previous statement (layer: connection)",
                error.message
            );
            Err(DbError::ReadOnly(text, Some(error)))
        }
        other => other,
    }
}

/// Prepares the exact text through SQL; the escaping fits the pinned mode.
fn prepare_as_text(conn: &mut Conn, sql: &str) -> Result<(), DbError> {
    let escaped = sql
        .replace('\\', "\\\\")
        .replace('\'', "\\'")
        .replace('\0', "\\0");
    rows(conn, &format!("PREPARE postern_check FROM '{escaped}'"))?;
    rows(conn, "DEALLOCATE PREPARE postern_check")?;
    Ok(())
}

/// Queries for functions that users have created under a called name. The gate passes only built-in functions that it
/// knows, but a server may lack one: MySQL 9.6 removed `MD5`, so that a stored function of that name runs there.
///
/// A name can mean a loadable function, which belongs to no database, or a stored one of the current database, on
/// MariaDB 12.3 also one of every database on `@@path` (MySQL, "Function Name Parsing and Resolution"; MariaDB, "Stored
/// Function Limitations", "SET PATH"). `information_schema.ROUTINES` does not show functions that the account may run
/// only by a grant on one function to `PUBLIC` (MariaDB) or to a role (MySQL); `SHOW GRANTS` does.
///
/// Two kinds pass only if the server proves them: functions that a component supplies (MySQL 9.6: `MD5`), which are
/// loadable, have no library file and precede stored ones; and functions of `sys` with a text of a known digest and
/// only the known parameters. MariaDB also takes `sys.name` for a function of a package `sys` in the current database.
///
/// The text continues a `SELECT` with [`COLUMNS`] columns, each with names or NULL, and ends with the statement that
/// lists grants. The columns are: a stored function under a called name, a loadable one, the called functions that a
/// component supplies, those of `sys` that are the server's own, and a package `sys`. The names are the gate's, so they
/// need no escaping.
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
    // No names become the empty name, which no function has.
    if quoted.is_empty() {
        "''".into()
    } else {
        quoted.join(", ")
    }
}

/// Column for a loadable function that a user has created; one that a component supplies has no library.
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

/// Functions of `sys` that the statement calls, and the ones they use.
pub(crate) fn of_sys(calls: &CalledFunctions) -> Vec<&'static str> {
    let known = calls.sys.iter().filter_map(|name| gate::sys_function(name));
    known
        .flat_map(|function| std::iter::once(&function.name).chain(function.uses))
        .copied()
        .collect()
}

/// Column for called functions of `sys` that are the server's own. The name is compared by its bytes, since a user's
/// database may be called `SYS`. `sys_get_config` also needs its table, since a view in place of it could call
/// anything.
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

/// Condition for the database of a called function; with case-insensitive file names it is compared in lower case.
fn place(info: &ServerInfo, database: Option<&str>) -> String {
    let database = database.map_or_else(|| "DATABASE()".into(), literal);
    if searches_paths(info) {
        format!("(ROUTINE_SCHEMA = {database} OR ROUTINE_SCHEMA <> 'sys')")
    } else {
        format!("ROUTINE_SCHEMA = IF(@@lower_case_table_names = 0, {database}, LOWER({database}))")
    }
}

/// Writes a text in single quotes; the escaping fits the pinned mode.
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

/// The called name in a grant on one function, or on a package `sys`, in a database where a call would find it.
pub(crate) fn granted_calls(
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

/// Database and name behind `words` in a grant; `words` end with a backquote.
fn object(grant: &str, words: &str) -> Option<(String, String)> {
    let (_, object) = grant.split_once(words)?;
    let (db, rest) = quoted(object)?;
    let (name, _) = quoted(rest.strip_prefix(".`")?)?;
    Some((db, name))
}

/// Reads a name up to its closing backquote, with doubled ones made single; returns the rest, too.
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

/// True if a server may take both for the same name. Its rules for letters beyond ASCII are its own, so such a letter
/// equals any other.
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
            instance: String::new(),
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
            granted_calls([grant.to_owned()].into_iter(), &calls, database, info)
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
            granted_calls([package.to_owned()].into_iter(), &calls, database, &old)
        };
        assert_eq!(find(Some("shop")).as_deref(), Some("Sys"));
        assert_eq!(find(Some("other")), None);
    }
}
