//! The third layer of the read-only mode: the connection itself.
//!
//! Before each statement the connection is reset, what the gate's lexer assumed is set, the session is made read-only,
//! a read-only transaction begins in it, and the server is asked whether all that is so, and whether somebody has made
//! a function of a name that the statement calls ([`stored_functions`]). Then the server prepares the statement, which
//! refuses a second one in the same text, and only then it runs, in the text protocol, with what makes the session
//! read-only once more before it in the same packet ([`guard`]): whatever is in between leads both to the same server.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::db_conn::DbConn;
use super::driver::rows;
use super::proxy;
use super::server_info::{ServerInfo, dialect_of};
use super::stored_functions;
use super::write_state::{self, WriteState};
use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::error::DbError;
use crate::sqlweb::gate::CalledFunctions;

/// `ER_UNSUPPORTED_PS`: the server cannot prepare this kind of statement.
const UNSUPPORTED_PS: u16 = 1295;

/// Columns of what is always asked; what is asked of calls comes after them.
const OWN_COLUMNS: usize = 9;

/// Resets the connection, makes its session read-only and begins a read-only transaction, which the next reset ends;
/// outside one, a stored function behind a view could make the session writable for the rest of its statement (MariaDB).
/// Fails unless the server confirms every part of it, is still the one that was met on this connection, and has no
/// function of somebody's under a name that the statement `calls`. [`DbError::Changed`] asks for new info. Answers
/// whether the server takes writes at all, where it says so.
pub(crate) fn make_read_only(
    conn: &mut DbConn,
    calls: &CalledFunctions,
) -> Result<Option<WriteState>, DbError> {
    conn.reset()?;
    conn.take_several(true)?;
    let info = &*conn.info();
    let setting = setting(conn, info, calls);
    let answer = match rows(&mut conn.driver, &setting) {
        // A variable or a mode that this server does not know, a table that the account may not read any more.
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
    if !proxy::is_same(conn, text(3).as_deref(), text(7).as_deref()) {
        return Err(proxy::named(conn));
    }
    let asked = if calls.is_empty() {
        0
    } else {
        stored_functions::COLUMNS
    };
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
        .or_else(|| stored_functions::granted(granted, calls, database.as_deref(), info))
    {
        None => proven(
            calls,
            &text(OWN_COLUMNS + 2).unwrap_or_default(),
            &text(OWN_COLUMNS + 3).unwrap_or_default(),
        )
        .map(|()| write_state::in_column(row, 8)),
        Some(name) if name.eq_ignore_ascii_case("sys") => Err(refused("of sys", PACKAGE)),
        Some(name) => Err(taken(&name)),
    }
}

const PACKAGE: &str =
    "the database has a package of that name, which the server would use; choose another database";

/// Checks if the server has named every function that passes only where it does; each list has commas between.
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
    let mut of_sys = stored_functions::of_sys(calls).into_iter();
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

/// One round trip: what is set, what the server says of it, and who else has a function of a called name.
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
    set + &stored_functions::questions(info, calls)
}

/// Statements that make a session read-only, before the statement in the same packet, so that both come to the same
/// server whatever is in between. It is [`GUARDS`] statements. In a transaction that is SERIALIZABLE each `SELECT` would
/// lock what it reads. `and_sets` is what else is set, such as `, time_zone = '+02:00'`.
pub(crate) fn guard(info: &ServerInfo, and_sets: &str) -> String {
    format!(
        "SET NAMES utf8mb4, sql_mode = '{}', autocommit = 1{and_sets}; \
         SET SESSION TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE READ; START TRANSACTION READ ONLY; ",
        info.pinned_mode
    )
}

/// See [`guard`].
pub(crate) const GUARDS: usize = 3;

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

/// The server lists modes in an order of its own.
fn same_modes(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut modes: Vec<String> = text.split(',').map(str::to_ascii_uppercase).collect();
        modes.sort();
        modes
    };
    sorted(a) == sorted(b)
}

/// `ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION`.
const READ_ONLY_TRANSACTION: u16 = 1792;

/// True if the server refused to write in a read-only session.
pub(crate) fn would_write(error: &DbError) -> bool {
    matches!(error, DbError::Statement(error) if error.code == READ_ONLY_TRANSACTION)
}

/// Kinds of statement that open a view without reading it.
const LOOKS: [&str; 3] = ["DESCRIBE", "EXPLAIN", "SHOW"];

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
/// counts columns in 16 bits, so the driver takes too few of them, and the next packet is not what it expects. A text
/// that cannot have so many columns fails for another reason.
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
            // The driver takes `:name` for a parameter and would have another text prepared than the one that runs.
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

/// Makes the check through SQL, letter for letter. The escaping fits the pinned mode.
fn prepare_as_text(conn: &mut Conn, sql: &str) -> Result<(), DbError> {
    let escaped = sql
        .replace('\\', "\\\\")
        .replace('\'', "\\'")
        .replace('\0', "\\0");
    rows(conn, &format!("PREPARE postern_check FROM '{escaped}'"))?;
    rows(conn, "DEALLOCATE PREPARE postern_check")?;
    Ok(())
}
