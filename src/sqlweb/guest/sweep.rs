//! Drops guests' accounts, and the databases of their views, that nobody uses any more: by the records of killed
//! processes, and long expired ones by name, whoever created them.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use mysql::Conn;

use super::account::{self, Account, PREFIX};
use super::proof;
use super::records::{GRACE, Records};
use crate::sqlweb::catalogue::{identifier, literal, text};
use crate::sqlweb::conn::{DbConn, masked, rows, run_silently};
use crate::sqlweb::error::DbError;

/// `ER_NO_SUCH_THREAD`.
const NO_SUCH_THREAD: u16 = 1094;

/// `ER_DB_DROP_EXISTS`: there is no such database.
const NO_SUCH_DATABASE: u16 = 1008;

/// `ER_CANNOT_USER`: there is no such account.
const CANNOT_USER: u16 = 1396;

/// Query for databases with names like ours, only views, and no grants. The grants matter, since the name of a database
/// does not change when its account is extended.
const VIEWS_OF_NOBODY: &str = "SELECT SCHEMA_NAME, UNIX_TIMESTAMP() FROM information_schema.SCHEMATA s \
    WHERE LEFT(SCHEMA_NAME, 8) = 'postern_' \
    AND NOT EXISTS (SELECT 1 FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = s.SCHEMA_NAME AND t.TABLE_TYPE <> 'VIEW') \
    AND NOT EXISTS (SELECT 1 FROM information_schema.ROUTINES r WHERE r.ROUTINE_SCHEMA = s.SCHEMA_NAME) \
    AND NOT EXISTS (SELECT 1 FROM information_schema.EVENTS e WHERE e.EVENT_SCHEMA = s.SCHEMA_NAME) \
    AND NOT EXISTS (SELECT 1 FROM mysql.tables_priv p WHERE BINARY p.Db = BINARY s.SCHEMA_NAME)";

/// Locks the account, ends its connections, and drops it and its views; returns false if nothing of it existed.
pub(super) fn end(conn: &mut Conn, account: &Account) -> Result<bool, DbError> {
    let quoted = account.quoted();
    // Old servers cannot lock, and the account may never have been made.
    tolerated(run_silently(
        conn,
        &format!("ALTER USER {quoted} ACCOUNT LOCK"),
    ))?;
    end_connections(conn, &account.name)?;
    let had_account = dropped(conn, &format!("DROP USER {quoted}"), CANNOT_USER)?;
    let had_views = match &account.views {
        Some(views) => drop_views(conn, views)?,
        None => false,
    };
    Ok(had_account || had_views)
}

/// Drops the database of an account's views; returns false if it did not exist. Without the right to drop it, this
/// fails even then.
pub(super) fn drop_views(conn: &mut Conn, database: &str) -> Result<bool, DbError> {
    let drop = format!("DROP DATABASE {}", identifier(database));
    dropped(conn, &drop, NO_SUCH_DATABASE)
}

fn dropped(conn: &mut Conn, drop: &str, not_there: u16) -> Result<bool, DbError> {
    match run_silently(conn, drop) {
        Err(DbError::Statement(error)) if error.code == not_there => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// Ends the account's connections that the owner may see and end; statements on others end by themselves.
fn end_connections(conn: &mut Conn, name: &str) -> Result<(), DbError> {
    let ask = |table: &str| format!("SELECT ID FROM {table} WHERE USER = {}", literal(name));
    let listed = match rows(conn, &ask("information_schema.PROCESSLIST")) {
        Err(DbError::Statement(_)) => rows(conn, &ask("performance_schema.processlist")),
        listed => listed,
    };
    let listed = match listed {
        Err(DbError::Statement(_)) => Vec::new(),
        listed => listed?,
    };
    for id in listed.iter().filter_map(|row| text(row, 0)) {
        if id.bytes().all(|byte| byte.is_ascii_digit()) {
            match run_silently(conn, &format!("KILL {id}")) {
                Err(DbError::Statement(error)) if error.code != NO_SUCH_THREAD => {
                    log::debug!("a guest's connection was not ended: {}", error.message);
                }
                killed => tolerated(killed)?,
            }
        }
    }
    Ok(())
}

/// Ignores the server's refusal.
pub(super) fn tolerated(outcome: Result<(), DbError>) -> Result<(), DbError> {
    match outcome {
        Err(DbError::Statement(_)) => Ok(()),
        outcome => outcome,
    }
}

/// Drops every account that was left on `server`. One that cannot be dropped, or that may be on another server behind
/// the same address, is tried again at the next start.
pub(super) fn sweep_recorded(
    conn: &mut DbConn,
    server: &str,
    records: &Records,
) -> Result<(), DbError> {
    let left = match records.left_on(server) {
        Ok(left) => left,
        Err(error) => {
            log::warn!("cannot look for leftover guest accounts: {error}");
            return Ok(());
        }
    };
    for account in left {
        match end(&mut conn.driver, &account) {
            Ok(true) => {
                log::info!("dropped the leftover guest account {}", account.name);
                forget(records, &account);
            }
            Ok(false) if records.is_gone(&account, conn.own_name()) => forget(records, &account),
            Ok(false) => log::debug!(
                "{} is searched again: another server may answer now",
                account.name
            ),
            Err(DbError::Statement(error)) => log::warn!(
                "the leftover guest account {} on {server} cannot be dropped: {}",
                account.name,
                error.message
            ),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn forget(records: &Records, account: &Account) {
    if let Err(error) = records.forget(account) {
        log::warn!(
            "the record of the guest account {} remains: {error}",
            account.name
        );
    }
}

/// Drops accounts that have expired by their names and may only read, and then views that no account may read, if the
/// owner may see the lists.
pub(super) fn sweep_by_name(conn: &mut Conn, records: &Records) -> Result<(), DbError> {
    let used = records.in_use().unwrap_or_default();
    sweep_accounts(conn, &used)?;
    sweep_views(conn, &used)
}

fn sweep_accounts(conn: &mut Conn, used: &HashSet<String>) -> Result<(), DbError> {
    let listed = format!(
        "SELECT User, Host, UNIX_TIMESTAMP() FROM mysql.user WHERE LEFT(User, {}) = '{PREFIX}'",
        PREFIX.len()
    );
    let listed = match rows(conn, &listed) {
        Err(error) if error.leaves_connection_usable() => return Ok(()),
        listed => listed?,
    };
    for row in listed {
        let of = |at| text(&row, at).unwrap_or_default();
        let (account, now) = (
            Account {
                name: of(0),
                host: of(1),
                views: None,
            },
            of(2).parse().unwrap_or(0),
        );
        let is_over = account::expiry(&account.name).is_some_and(|at| has_ended(at, now));
        let may_be_ours = is_over && account::is_plain_host(&account.host);
        if may_be_ours && !used.contains(&account.name) && only_reads(conn, &account)? {
            let ended = end(conn, &account).map(|_| {
                log::info!("dropped the expired guest account {}", account.name);
            });
            tolerated(ended)?;
        }
    }
    Ok(())
}

fn sweep_views(conn: &mut Conn, used: &HashSet<String>) -> Result<(), DbError> {
    let listed = match rows(conn, VIEWS_OF_NOBODY) {
        Err(error) if error.leaves_connection_usable() => return Ok(()),
        listed => listed?,
    };
    for row in listed {
        let name = text(&row, 0).unwrap_or_default();
        let now = text(&row, 1).and_then(|now| now.parse().ok()).unwrap_or(0);
        let is_over = account::expiry(&name).is_some_and(|at| has_ended(at, now));
        if is_over && !used.contains(&name) {
            let ended = drop_views(conn, &name).map(|_| {
                log::info!("dropped {name}, the database of an expired guest's views");
            });
            tolerated(ended)?;
        }
    }
    Ok(())
}

/// True if an account's end is over by the server's clock, in seconds since 1970, and by ours.
fn has_ended(at: SystemTime, server_now: u64) -> bool {
    let server_now = SystemTime::UNIX_EPOCH + Duration::from_secs(server_now);
    [server_now, SystemTime::now()]
        .iter()
        .all(|now| *now > at + GRACE)
}

/// True if the account has no more rights than those that are created here.
fn only_reads(conn: &mut Conn, account: &Account) -> Result<bool, DbError> {
    let shown = match rows(conn, &format!("SHOW GRANTS FOR {}", account.quoted())) {
        Err(error) if error.leaves_connection_usable() => return Ok(false),
        shown => shown?,
    };
    // Our accounts have no roles, whose rights these lines do not show.
    let is_reading = |grant: String| masked(&grant).contains(" ON ") && proof::only_reads(&grant);
    let mut shown = shown.iter().filter_map(|row| text(row, 0));
    Ok(shown.all(is_reading))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::time::since_epoch;

    #[test]
    fn an_end_counts_by_both_clocks_and_after_a_while() {
        let now = SystemTime::now();
        let seconds = |time: SystemTime| since_epoch(time).as_secs();
        let hour = Duration::from_secs(3600);
        assert!(has_ended(now - hour, seconds(now)));
        assert!(
            !has_ended(now - hour, seconds(now - hour)),
            "the server's clock"
        );
        assert!(!has_ended(now - Duration::from_secs(60), seconds(now)));
        assert!(!has_ended(now + hour, seconds(now + 2 * hour)), "ours");
    }
}
