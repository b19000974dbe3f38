//! What is known of the server and the account, asked once at the start.

use mysql::{Conn, Row};

use super::error::{DbError, NOT_MYSQL};
use super::gate::Dialect;
use super::readonly::pinned_mode;
use super::statement::rows;

/// A server whose version has no number is trusted with what every MySQL has.
const UNKNOWN_SERVER: Dialect = Dialect::mysql((5, 7, 0));

/// The server's and the account's facts.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// `VERSION()`, for example `10.11.14-MariaDB`.
    pub(crate) version: String,
    /// Brand and version as the gate knows them.
    pub(crate) dialect: Dialect,
    /// `@@session.time_zone`, with the system's where that is what it says.
    pub(crate) time_zone: String,
    /// `@@global.sql_mode` without what changes lexing.
    pub(crate) pinned_mode: String,
    /// Whether the account's grants allow anything that writes; true when they cannot be read.
    pub(crate) can_write: bool,
}

impl Facts {
    /// Asks the server.
    pub(crate) fn ask(conn: &mut Conn) -> Result<Self, DbError> {
        let answer = rows(
            conn,
            "SELECT VERSION(), @@session.time_zone, @@global.sql_mode, @@system_time_zone",
        )?;
        let text = |i: usize| {
            let row = answer.first()?;
            row.get_opt::<String, _>(i)?.ok()
        };
        let version = text(0).ok_or_else(|| DbError::Lost(NOT_MYSQL.into()))?;
        let zone = match text(1).unwrap_or_default() {
            zone if zone == "SYSTEM" => text(3).unwrap_or(zone),
            zone => zone,
        };
        Ok(Self {
            dialect: Dialect::from_server_version(&version).unwrap_or(UNKNOWN_SERVER),
            version,
            time_zone: zone,
            pinned_mode: pinned_mode(&text(2).unwrap_or_default()),
            can_write: can_write(&grants(conn)?),
        })
    }

    /// The session variable that says whether transactions are read-only: MySQL renamed it in 5.7.20.
    pub(crate) fn read_only_variable(&self) -> &'static str {
        if self.dialect.mariadb || self.dialect.version < (5, 7, 20) {
            "tx_read_only"
        } else {
            "transaction_read_only"
        }
    }
}

/// The account's grants, one text a line; empty when the server refuses to tell them.
fn grants(conn: &mut Conn) -> Result<Vec<String>, DbError> {
    let answer = match rows(conn, "SHOW GRANTS") {
        Err(error) if error.leaves_connection_usable() => Vec::new(),
        answer => answer?,
    };
    let first = |row: &Row| row.get_opt::<String, _>(0).and_then(Result::ok);
    Ok(answer.iter().filter_map(first).collect())
}

/// Privileges that change nothing in the server (MariaDB and MySQL, "GRANT").
const READING: [&str; 9] = [
    "USAGE",
    "SELECT",
    "SHOW DATABASES",
    "SHOW VIEW",
    "SHOW CREATE ROUTINE",
    "PROCESS",
    "BINLOG MONITOR",
    "REPLICATION CLIENT",
    "SLAVE MONITOR",
];

/// Whether any grant goes beyond reading. What is not understood counts as writing.
fn can_write(grants: &[String]) -> bool {
    grants.is_empty() || grants.iter().any(|grant| grant_writes(grant))
}

fn grant_writes(grant: &str) -> bool {
    let Some(rest) = grant.strip_prefix("GRANT ") else {
        return !grant.starts_with("SET DEFAULT ROLE");
    };
    let Some((privileges, _)) = rest.split_once(" ON ") else {
        // A role, whose own grants follow in the list when it is active.
        return false;
    };
    if privileges.starts_with("PROXY") || grant.contains(" WITH GRANT OPTION") {
        return true;
    }
    without_columns(privileges)
        .split(',')
        .any(|privilege| !READING.contains(&privilege.trim()))
}

/// `SELECT (a, b), INSERT (c)` without the column lists.
fn without_columns(privileges: &str) -> String {
    let mut depth = 0usize;
    privileges
        .chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_that_write() {
        let one = |grant: &str| can_write(&[grant.to_owned()]);
        assert!(!one(
            "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*00'"
        ));
        assert!(!one("GRANT SELECT, SHOW VIEW ON `shop`.* TO `u`@`%`"));
        assert!(!one("GRANT SELECT (`insert`, b) ON `shop`.`t` TO `u`@`%`"));
        assert!(one(
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"
        ));
        assert!(one("GRANT SELECT, INSERT (a) ON `shop`.`t` TO `u`@`%`"));
        assert!(one("GRANT SELECT ON `shop`.* TO `u`@`%` WITH GRANT OPTION"));
        assert!(one("GRANT EXECUTE ON *.* TO `u`@`%`"));
        assert!(!one("GRANT `reader`@`%` TO `u`@`%`"));
        assert!(can_write(&[]));
    }
}
