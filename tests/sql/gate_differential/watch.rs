//! Possible changes of a server by a statement, and their detection.

use std::fs;
use std::path::Path;

use mysql::Conn;
use mysql::prelude::Queryable;
use support::Database;
use support::database::Kind;
use tempfile::TempDir;

const SETUP: &[&str] = &[
    "CREATE DATABASE g",
    "USE g",
    "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), `into` INT, FULLTEXT (b)) ENGINE=InnoDB",
    "CREATE TABLE log (a INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB",
    "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)",
    "CREATE FUNCTION pay(a INT) RETURNS INT BEGIN INSERT INTO log VALUES (); RETURN a; END",
    "CREATE FUNCTION count (a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION point(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION linestring() RETURNS INT RETURN pay(1)",
    "CREATE FUNCTION nvl(a INT, b INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION format_bytes(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION `lateral`(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION `sets`(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION `cube`(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION `system`(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION `bernoulli`(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION `qualify`(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION `against`(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION etag(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION sys(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION sys.pay(a INT) RETURNS INT RETURN g.pay(a)",
    "CREATE FUNCTION _utf8x(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION abs(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION md5(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION sha(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION tune() RETURNS INT BEGIN SET GLOBAL max_connect_errors = 77; RETURN 1; END",
    "CREATE PROCEDURE p() INSERT INTO log VALUES ()",
    "CREATE VIEW v AS SELECT pay(1) AS a",
];

const SETUP_OF_MARIADB: &[&str] = &[
    "SET max_statement_time = 5",
    "CREATE SEQUENCE s NOCACHE",
    "CREATE TABLE d (a INT DEFAULT NEXTVAL(s))",
    "INSERT INTO d VALUES (1)",
];

const SETUP_OF_MYSQL: &[&str] = &[
    "SET max_execution_time = 5000",
    "CREATE TABLE s (next_not_cached_value INT)",
    "CREATE TABLE d (a INT DEFAULT (UUID_SHORT() % 2))",
    "INSERT INTO d VALUES (1)",
];

/// Each changes what the fingerprint sees; `DIR` is a directory for files.
const CONTROLS: &[&str] = &[
    "SELECT pay(1)",
    "SELECT count (1)",
    "SELECT g.abs(1)",
    "SELECT sys.pay(1)",
    "SELECT tune()",
    "SELECT GET_LOCK('a', 0)",
    "SELECT 1 INTO OUTFILE 'DIR/control'",
    "CREATE USER u",
    "DELETE FROM t WHERE a = 2",
    "/*!50000 DELETE*/ FROM t",
    "CREATE TABLE n (a INT)",
    "CREATE FUNCTION n() RETURNS INT RETURN 1",
    "CREATE EVENT n ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1",
];

const CONTROLS_OF_MARIADB: &[&str] = &[
    "SELECT point(1)",
    "SELECT linestring()",
    "SELECT cube(1)",
    "SELECT format_bytes(1)",
    "SELECT NEXT VALUE FOR s",
    "SELECT DEFAULT(a) FROM d",
    "SET STATEMENT max_statement_time = 1 FOR INSERT INTO log VALUES ()",
];

const CONTROLS_OF_MYSQL: &[&str] = &[
    "SELECT nvl(1, 2)",
    "SELECT _utf8x (1)",
    "EXPLAIN ANALYZE SELECT pay(1)",
    "VALUES ROW(pay(1))",
    "TABLE t INTO OUTFILE 'DIR/control of table'",
    "SET PERSIST max_connect_errors = 78",
    "SET PERSIST_ONLY back_log = 77",
    "CREATE ROLE r",
    "GRANT r TO root@localhost",
    "GRANT SHOW_ROUTINE ON *.* TO u",
];

/// Statements that the fingerprint must see.
pub(super) fn controls(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::MariaDb => [CONTROLS, CONTROLS_OF_MARIADB].concat(),
        Kind::MySql => [CONTROLS, CONTROLS_OF_MYSQL].concat(),
    }
}

/// A connection to a database with everything that a statement could change.
pub(super) fn prepared(server: &Database) -> Conn {
    let own = match server.kind() {
        Kind::MariaDb => SETUP_OF_MARIADB,
        Kind::MySql => SETUP_OF_MYSQL,
    };
    let mut conn = server.conn();
    conn.query_drop("SET sql_mode = ''").unwrap();
    for statement in SETUP.iter().chain(own) {
        conn.query_drop(statement)
            .unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
    conn
}

/// Looks at what a statement could have changed, over a connection of its own.
pub(super) struct Watch {
    conn: Conn,
    kind: Kind,
    files: String,
    _directory: TempDir,
}

/// A text of all rows; what changes by itself, or by being looked at, is left out.
const LOOKS: &[&str] = &[
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'g' ORDER BY 1",
    "SELECT CONCAT(routine_schema, '.', routine_name, routine_type) FROM information_schema.routines \
     ORDER BY 1",
    "SELECT CONCAT(event_schema, '.', event_name) FROM information_schema.events ORDER BY 1",
    "SELECT CONCAT(trigger_schema, '.', trigger_name) FROM information_schema.triggers WHERE trigger_schema <> 'sys' ORDER BY 1",
    "SELECT schema_name FROM information_schema.schemata ORDER BY 1",
    "SELECT plugin_name FROM information_schema.plugins WHERE plugin_status = 'ACTIVE' ORDER BY 1",
    "SELECT IS_FREE_LOCK('a')",
];

const LOOKS_OF_MARIADB: &[&str] = &[
    "SELECT next_not_cached_value FROM g.s",
    "SELECT CONCAT(variable_name, '=', variable_value) FROM information_schema.global_variables \
     WHERE variable_name NOT LIKE 'GTID%' AND variable_name NOT LIKE '%TIMESTAMP%' ORDER BY 1",
];

const LOOKS_OF_MYSQL: &[&str] = &[
    "SELECT CONCAT(variable_name, '=', variable_value) FROM performance_schema.global_variables \
     WHERE variable_name NOT LIKE 'gtid%' AND variable_name NOT LIKE '%timestamp%' ORDER BY 1",
    "SELECT CONCAT(variable_name, '=', variable_value) FROM performance_schema.persisted_variables ORDER BY 1",
    "SELECT component_urn FROM mysql.component ORDER BY 1",
];

impl Watch {
    pub(super) fn new(server: &Database) -> Self {
        let mut conn = server.conn();
        conn.query_drop("SET lock_wait_timeout = 5").unwrap();
        if server.kind() == Kind::MySql {
            // The tables' figures would be as old as a day.
            conn.query_drop("SET information_schema_stats_expiry = 0")
                .unwrap();
        }
        let directory = tempfile::tempdir().unwrap();
        Self {
            conn,
            kind: server.kind(),
            files: directory.path().display().to_string(),
            _directory: directory,
        }
    }

    /// A directory the server may write to.
    pub(super) fn files(&self) -> &str {
        &self.files
    }

    pub(super) fn is_alive(&mut self) -> bool {
        self.conn.ping().is_ok()
    }

    pub(super) fn fingerprint(&mut self) -> Vec<String> {
        let mut state = Vec::new();
        let (own, system) = match self.kind {
            Kind::MariaDb => (LOOKS_OF_MARIADB, "global_priv db proc event func"),
            Kind::MySql => (
                LOOKS_OF_MYSQL,
                "user db tables_priv procs_priv func global_grants default_roles role_edges plugin servers",
            ),
        };
        for look in LOOKS.iter().chain(own) {
            let rows: Vec<Option<String>> = self.conn.query(look).unwrap();
            state.push(format!("{rows:?}"));
        }
        let system: Vec<String> = system.split(' ').map(|t| format!(", mysql.{t}")).collect();
        let tables = format!("CHECKSUM TABLE g.t, g.log, g.d{}", system.concat());
        let sums: Vec<(String, Option<u64>)> = self.conn.query(tables).unwrap();
        state.extend(sums.iter().map(|sum| format!("{sum:?}")));
        state.push(listing(Path::new(&self.files)));
        state
    }
}

fn listing(directory: &Path) -> String {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    format!("{names:?}")
}
