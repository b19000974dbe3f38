//! Facts of a server and the account, asked once of each server behind the address; and whether it accepts writes,
//! asked again and again.

use mysql::{Conn, Row};
use sha2::{Digest, Sha256};

use super::driver::rows;
use crate::sqlweb::error::{DbError, NOT_MYSQL};
use crate::sqlweb::gate::Dialect;

/// Dialect of a server whose version has no number: the features that every MySQL has.
const UNKNOWN_SERVER: Dialect = Dialect::mysql((5, 7, 0));

/// Maximum number of roles to check; an account with more counts as one that can write.
const MAX_ROLES: usize = 32;

/// Privileges that change nothing in the server (MariaDB and MySQL, "GRANT").
#[rustfmt::skip]
const READING: [&str; 11] = [
    "USAGE", "SELECT", "SHOW DATABASES", "SHOW VIEW", "SHOW CREATE ROUTINE", "SHOW_ROUTINE", "PROCESS", "BINLOG MONITOR",
    "REPLICATION CLIENT", "SLAVE MONITOR", "SENSITIVE_VARIABLES_OBSERVER",
];

/// Modes that change lexing (MariaDB and MySQL, "SQL modes"), without mere combinations.
#[rustfmt::skip]
const CHANGE_LEXING: [&str; 11] = [
    "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL",
    "MYSQL323", "MYSQL40",
];

/// Expressions for the three values in one text, for servers with fewer and fewer of them.
const QUESTIONS: [&str; 3] = [
    "CONCAT(@@global.read_only, '/', @@global.super_read_only, '/', @@global.innodb_read_only)",
    "CONCAT(@@global.read_only, '//', @@global.innodb_read_only)",
    "CONCAT(@@global.read_only, '//')",
];

/// The server's and the account's info.
#[derive(Clone, Debug)]
pub(crate) struct ServerInfo {
    /// `VERSION()`, for example `10.11.14-MariaDB`.
    pub(crate) version: String,
    /// Brand and version as the gate knows them.
    pub(crate) dialect: Dialect,
    /// Tells this server from another one behind the same address: eight bytes of a hash, in hex.
    pub(crate) instance: String,
    /// `@@session.time_zone`, or the system's if that is `SYSTEM`.
    pub(crate) time_zone: String,
    /// `@@global.sql_mode` without the modes that change lexing.
    pub(crate) pinned_mode: String,
    /// True if the account's grants allow writing, or cannot be read.
    pub(crate) can_write: bool,
    /// The table of loadable functions and its column of names, if the account may read it.
    pub(crate) loadable: Option<(&'static str, &'static str)>,
    /// Expression for its [`WriteState`], if it has one.
    pub(super) write_state: Option<&'static str>,
}

impl ServerInfo {
    /// Asks the server; returns true beside the facts if the connection was left in another role and must not be used.
    pub(crate) fn ask(conn: &mut Conn) -> Result<(Self, bool), DbError> {
        let answer = rows(
            conn,
            "SELECT VERSION(), @@session.time_zone, @@global.sql_mode, @@system_time_zone, \
             CONCAT_WS('/', @@hostname, @@port, @@datadir)",
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
        let dialect = dialect_of(&version);
        // Before the grants, which end in a role.
        let loadable = loadable(conn, &dialect)?;
        let write_state = question(conn, &dialect)?;
        let (grants, in_a_role) = grants(conn, dialect.mariadb)?;
        let info = Self {
            loadable,
            write_state,
            version,
            instance: instance(&text(4).unwrap_or_default()),
            time_zone: zone,
            pinned_mode: pinned_mode(&text(2).unwrap_or_default()),
            can_write: can_write(&grants),
            dialect,
        };
        Ok((info, in_a_role))
    }

    /// The session variable for read-only transactions, which MySQL renamed in 5.7.20.
    pub(crate) fn read_only_variable(&self) -> &'static str {
        if self.dialect.mariadb || self.dialect.version < (5, 7, 20) {
            "tx_read_only"
        } else {
            "transaction_read_only"
        }
    }
}

/// Hash of what a server is known by, which visitors need not read.
fn instance(known_by: &str) -> String {
    let hash = Sha256::digest(known_by);
    hash.iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Returns the dialect of a server of that version.
pub(crate) fn dialect_of(version: &str) -> Dialect {
    Dialect::from_server_version(version).unwrap_or(UNKNOWN_SERVER)
}

/// Table and column of loadable functions: `mysql.func`, or on MySQL 8 the table that also lists functions of
/// components.
fn loadable(
    conn: &mut Conn,
    dialect: &Dialect,
) -> Result<Option<(&'static str, &'static str)>, DbError> {
    let table = if !dialect.mariadb && dialect.version >= (8, 0, 0) {
        ("performance_schema.user_defined_functions", "UDF_NAME")
    } else {
        ("mysql.func", "name")
    };
    match rows(
        conn,
        &format!("SELECT {} FROM {} LIMIT 0", table.1, table.0),
    ) {
        Err(error) if error.leaves_connection_usable() => Ok(None),
        answer => answer.map(|_| Some(table)),
    }
}

/// The account's grants and those of every role that it may take, one text per line; empty if the server refuses to
/// show them. Returns true beside them if the connection was left in a role.
pub(crate) fn grants(conn: &mut Conn, is_mariadb: bool) -> Result<(Vec<String>, bool), DbError> {
    let mut all = show_grants(conn)?;
    let roles: Vec<String> = all.iter().filter_map(|g| granted_role(g)).collect();
    if roles.is_empty() {
        return Ok((all, false));
    }
    if roles.len() > MAX_ROLES {
        return Ok((Vec::new(), false));
    }
    // MySQL takes all roles at once and shows their sum; MariaDB takes one, and shows it with the roles inside it.
    let taking = if is_mariadb {
        let take = |role: &String| format!("SET ROLE {role}");
        roles.iter().map(take).collect()
    } else {
        vec!["SET ROLE ALL".to_owned()]
    };
    for take in taking {
        match rows(conn, &take) {
            // The role's permissions stay unknown.
            Err(error) if error.leaves_connection_usable() => return Ok((Vec::new(), true)),
            taken => drop(taken?),
        }
        all.extend(show_grants(conn)?);
    }
    Ok((all, true))
}

/// Returns the current `SHOW GRANTS`.
fn show_grants(conn: &mut Conn) -> Result<Vec<String>, DbError> {
    let answer = match rows(conn, "SHOW GRANTS") {
        Err(error) if error.leaves_connection_usable() => Vec::new(),
        answer => answer?,
    };
    let first = |row: &Row| row.get_opt::<String, _>(0).and_then(Result::ok);
    Ok(answer.iter().filter_map(first).collect())
}

/// The role in a line such as ``GRANT `reader` TO `me`@`%` ``, quoted as by the server.
fn granted_role(grant: &str) -> Option<String> {
    let rest = grant.strip_prefix("GRANT ")?;
    let bare = masked(rest);
    if bare.contains(" ON ") {
        return None;
    }
    rest.get(..bare.find(" TO ")?).map(str::to_owned)
}

/// True if any grant allows more than reading; an unknown one counts as writing.
fn can_write(grants: &[String]) -> bool {
    grants.is_empty() || grants.iter().any(|grant| grant_writes(grant))
}

fn grant_writes(grant: &str) -> bool {
    let grant = masked(grant);
    let Some(rest) = grant.strip_prefix("GRANT ") else {
        // A revocation (MySQL, partial revokes) allows nothing.
        return !grant.starts_with("SET DEFAULT ROLE") && !grant.starts_with("REVOKE ");
    };
    let Some((privileges, _)) = rest.split_once(" ON ") else {
        // A role, whose own grants follow in the list. With ADMIN OPTION the account may let others write.
        return grant.contains(" WITH ADMIN OPTION");
    };
    if privileges.starts_with("PROXY") || grant.contains(" WITH GRANT OPTION") {
        return true;
    }
    privileges
        .split(',')
        .any(|privilege| !READING.contains(&privilege.trim()))
}

/// Replaces names in backquotes, and column lists such as that of `SELECT (a, b)`, by spaces byte by byte, so that no
/// name is taken for a keyword.
pub(crate) fn masked(grant: &str) -> String {
    let (mut quoted, mut depth) = (false, 0usize);
    let mut mask = |byte: u8| {
        match byte {
            b'`' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => {
                depth = depth.saturating_sub(1);
                return ' ';
            }
            _ => {}
        }
        let shown = !quoted && byte != b'`' && depth == 0 && byte.is_ascii();
        if shown { char::from(byte) } else { ' ' }
    };
    grant.bytes().map(&mut mask).collect()
}

/// The server's mode without the modes that change lexing.
pub(crate) fn pinned_mode(global: &str) -> String {
    let kept: Vec<&str> = global
        .split(',')
        .filter(|mode| !CHANGE_LEXING.contains(mode))
        .filter(|mode| mode.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        .collect();
    kept.join(",")
}

/// Variables that decide if a server accepts writes; `None` for a variable that the server lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteState {
    /// `@@read_only`: only accounts with a special privilege may write.
    pub(crate) read_only: Option<bool>,
    /// `@@super_read_only` (MySQL): nobody may write.
    pub(crate) super_read_only: Option<bool>,
    /// `@@innodb_read_only`: nobody can write, as on a reader of a cloud's cluster.
    pub(crate) innodb_read_only: Option<bool>,
}

impl WriteState {
    /// True if the server refuses writes of ordinary accounts.
    pub(crate) fn is_replica(self) -> bool {
        [self.read_only, self.super_read_only, self.innodb_read_only].contains(&Some(true))
    }

    /// Reads the answer to a [`question`].
    pub(super) fn read(answer: &str) -> Self {
        let mut values = answer.split('/').map(|value| match value {
            "" => None,
            "0" | "OFF" => Some(false),
            // Newer servers have more values than ON.
            _ => Some(true),
        });
        let mut next = || values.next().flatten();
        Self {
            read_only: next(),
            super_read_only: next(),
            innodb_read_only: next(),
        }
    }
}

/// The expression that works on this server, for a `SELECT`.
pub(super) fn question(
    conn: &mut Conn,
    dialect: &Dialect,
) -> Result<Option<&'static str>, DbError> {
    let skipped = usize::from(dialect.mariadb);
    for question in QUESTIONS.into_iter().skip(skipped) {
        match rows(conn, &format!("SELECT {question}")) {
            Err(error) if error.leaves_connection_usable() => {}
            answer => return answer.map(|_| Some(question)),
        }
    }
    Ok(None)
}

/// Reads the answer to a [`question`] in that column of a row.
pub(super) fn in_column(row: Option<&Row>, column: usize) -> Option<WriteState> {
    let answer = row?.get_opt::<String, _>(column)?.ok()?;
    Some(WriteState::read(&answer))
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
        assert!(one("GRANT `reader` TO `u`@`%` WITH ADMIN OPTION"));
        assert!(one(
            "GRANT SELECT (`a ON b`, `)`), INSERT (`c`) ON `t`.`x` TO `u`@`%`"
        ));
        assert!(!one("GRANT SELECT ON ` WITH GRANT OPTION`.* TO `u`@`%`"));
        assert!(one("GRANT BACKUP_ADMIN,ROLE_ADMIN ON *.* TO `u`@`%`"));
        assert!(!one("REVOKE SELECT ON `mysql`.* FROM `u`@`%`"));
        assert!(!one(
            "GRANT SENSITIVE_VARIABLES_OBSERVER,SHOW_ROUTINE ON *.* TO `u`@`%`"
        ));
        assert!(can_write(&[]));
    }

    #[test]
    fn roles_are_named_as_the_server_quotes_them() {
        let role = |grant: &str| granted_role(grant);
        assert_eq!(role("GRANT `a` TO `u`@`%`").as_deref(), Some("`a`"));
        assert_eq!(
            role("GRANT `a`` TO é` TO `u`@`%` WITH ADMIN OPTION").as_deref(),
            Some("`a`` TO é`")
        );
        assert_eq!(role("GRANT SELECT ON `t`.* TO `u`@`%`"), None);
        assert_eq!(role("SET DEFAULT ROLE `a` FOR `u`@`%`"), None);
    }

    #[test]
    fn modes_that_change_lexing_are_dropped() {
        assert_eq!(
            pinned_mode("REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI"),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT"
        );
        assert_eq!(pinned_mode(""), "");
        assert_eq!(
            pinned_mode("STRICT_TRANS_TABLES,x';DROP"),
            "STRICT_TRANS_TABLES"
        );
    }

    #[test]
    fn what_servers_say_is_read() {
        let read = WriteState::read;
        assert!(!read("0/0/0").is_replica());
        assert!(!read("0//0").is_replica() && !read("OFF//").is_replica());
        assert!(read("1/0/0").is_replica() && read("0/0/1").is_replica());
        assert!(read("NO_LOCK//0").is_replica());
        let mariadb = read("1//0");
        assert_eq!(
            (
                mariadb.read_only,
                mariadb.super_read_only,
                mariadb.innodb_read_only
            ),
            (Some(true), None, Some(false))
        );
    }
}
