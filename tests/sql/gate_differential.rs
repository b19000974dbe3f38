//! The read-only gate against a real server: statements made from a grammar are
//! judged, and those that pass are run as `root` without the other layers. None
//! may change anything. `POSTERN_SEED` repeats a run.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs};

use mysql::Conn;
use mysql::prelude::Queryable;
use postern::sqlweb::gate::{self, Dialect};

use support::database::{Database, Kind, Options};

/// Statements made; about one in six passes.
const STATEMENTS: usize = 30_000;

/// Passed statements between two looks at the state of the server.
const BATCH: usize = 10;

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
    "CREATE FUNCTION _utf8x(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION abs(a INT) RETURNS INT RETURN pay(a)",
    "CREATE FUNCTION sys.pay(a INT) RETURNS INT RETURN g.pay(a)",
    "CREATE FUNCTION tune() RETURNS INT BEGIN SET GLOBAL max_connect_errors = 77; RETURN 1; END",
    "CREATE PROCEDURE p() INSERT INTO log VALUES ()",
    "CREATE VIEW v AS SELECT pay(1) AS a",
];

/// MariaDB's own.
const SETUP_MARIADB: &[&str] = &[
    "CREATE SEQUENCE s NOCACHE",
    "CREATE TABLE d (a INT DEFAULT NEXTVAL(s))",
    "INSERT INTO d VALUES (1)",
];

/// What statements name elsewhere.
const SETUP_MYSQL: &[&str] = &[
    "CREATE TABLE s (next_not_cached_value INT)",
    "CREATE TABLE d (a INT DEFAULT (UUID_SHORT() % 2))",
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
];

/// MariaDB's own.
const CONTROLS_MARIADB: &[&str] = &[
    "SELECT point(1)",
    "SELECT linestring()",
    "SELECT cube(1)",
    "SELECT format_bytes(1)",
    "SELECT NEXT VALUE FOR s",
    "SELECT DEFAULT(a) FROM d",
    "SET STATEMENT max_statement_time = 1 FOR INSERT INTO log VALUES ()",
];

/// MySQL's own.
const CONTROLS_MYSQL: &[&str] = &["SELECT nvl(1, 2)", "SELECT _utf8x (1)"];

#[test]
fn nothing_that_passes_changes_the_server() {
    let server = Database::start(Options::default());
    let files = files(&server);
    let mut conn = prepared(&server);
    let mut watch = Watch::new(&server);
    let dialect = dialect_of(&mut conn);
    let seed = seed();
    println!("POSTERN_SEED={seed}");
    let mut grammar = Grammar {
        random: seed,
        files: files.clone(),
        number: 0,
    };
    let mut tally = Tally::default();
    let mut batch = Vec::new();
    let mut before = watch.fingerprint();
    for _ in 0..STATEMENTS {
        let sql = grammar.statement();
        let Ok(passed) = gate::check(&sql, &dialect) else {
            continue;
        };
        // What needs the third layer's proof is left to its tests.
        if crashes_the_server(&sql) || !passed.calls.supplied.is_empty() {
            continue;
        }
        let sql = passed.rebuilt.unwrap_or(sql);
        tally.passed += 1;
        tally.ran += usize::from(run(&mut conn, &sql));
        assert!(watch.is_alive(), "seed {seed}, the server died of: {sql}");
        batch.push(sql);
        if batch.len() == BATCH {
            let after = watch.fingerprint();
            assert_eq!(
                before,
                after,
                "seed {seed}, one of these changed state:\n{}",
                batch.join("\n")
            );
            before = after;
            batch.clear();
        }
    }
    assert_eq!(
        before,
        watch.fingerprint(),
        "seed {seed}:\n{}",
        batch.join("\n")
    );
    println!(
        "{STATEMENTS} made, {} passed, {} of them ran",
        tally.passed, tally.ran
    );
    assert!(
        tally.ran > STATEMENTS / 50,
        "only {} ran: the grammar proves nothing",
        tally.ran
    );
    controls_change_the_fingerprint(&mut conn, &mut watch, &files, &dialect);
}

#[derive(Default)]
struct Tally {
    passed: usize,
    ran: usize,
}

/// Without this the test above could pass by seeing nothing.
fn controls_change_the_fingerprint(
    conn: &mut Conn,
    watch: &mut Watch,
    files: &str,
    dialect: &Dialect,
) {
    let own = if dialect.mariadb {
        CONTROLS_MARIADB
    } else {
        CONTROLS_MYSQL
    };
    for control in own.iter().chain(CONTROLS) {
        let sql = control.replace("DIR", files);
        if dialect.mariadb && dialect.version >= (11, 8, 1) && sql.contains("format_bytes") {
            // Built in there.
            continue;
        }
        assert!(gate::check(&sql, dialect).is_err(), "{sql} passed");
        let before = watch.fingerprint();
        assert!(run(conn, &sql), "{sql} did not run");
        assert_ne!(before, watch.fingerprint(), "{sql} was not seen");
    }
    views_are_left_to_the_connection(conn, watch, dialect);
}

/// A text cannot show what a view calls; the read-only transaction refuses it.
fn views_are_left_to_the_connection(conn: &mut Conn, watch: &mut Watch, dialect: &Dialect) {
    assert!(gate::check("SELECT * FROM v", dialect).is_ok());
    let before = watch.fingerprint();
    conn.query_drop("SET SESSION TRANSACTION READ ONLY")
        .unwrap();
    assert!(!run(conn, "SELECT * FROM v"));
    assert_eq!(before, watch.fingerprint());
}

fn dialect_of(conn: &mut Conn) -> Dialect {
    let version: String = conn.query_first("SELECT VERSION()").unwrap().unwrap();
    Dialect::from_server_version(&version).unwrap()
}

fn prepared(server: &Database) -> Conn {
    let mut conn = server.conn();
    let (limit, own) = match server.kind() {
        Kind::MariaDb => ("SET sql_mode = '', max_statement_time = 5", SETUP_MARIADB),
        Kind::MySql => ("SET sql_mode = '', max_execution_time = 5000", SETUP_MYSQL),
    };
    conn.query_drop(limit).unwrap();
    for statement in SETUP.iter().chain(own) {
        conn.query_drop(statement)
            .unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
    conn
}

/// A directory that the server may write to.
fn files(server: &Database) -> String {
    let dir = server.data_dir().with_file_name("files");
    fs::create_dir(&dir).unwrap();
    dir.display().to_string()
}

/// Runs a statement to its end; whether the server took it.
/// MariaDB 10.11 dies of `SELECT x.y.z FROM t JOIN log USING (a)`, where no database `x` has such a table: a fault of the
/// server's own, that no text shows to the gate.
fn crashes_the_server(sql: &str) -> bool {
    let names = sql.split(|c: char| !c.is_ascii_alphanumeric() && !"._`".contains(c));
    let is_long = |name: &str| name.matches('.').count() >= 2;
    sql.contains("USING") && names.into_iter().any(is_long)
}

fn run(conn: &mut Conn, sql: &str) -> bool {
    conn.query_drop(sql).is_ok()
}

fn seed() -> u64 {
    let given = env::var("POSTERN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    given.unwrap_or(clock | 1)
}

/// Looks at what a statement could have changed, over a connection of its own.
struct Watch {
    conn: Conn,
    files: String,
    kind: Kind,
}

/// What changes by itself, or by being looked at, is left out.
const VARIABLES: &str = "
    SELECT SHA2(GROUP_CONCAT(variable_name, '=', variable_value ORDER BY variable_name), 256)
    FROM SCHEMA.global_variables WHERE variable_name NOT LIKE 'GTID%' AND variable_name NOT LIKE '%TIMESTAMP%'";

impl Watch {
    fn new(server: &Database) -> Self {
        let mut conn = server.conn();
        conn.query_drop("SET group_concat_max_len = 10000000, lock_wait_timeout = 5")
            .unwrap();
        Self {
            conn,
            files: server
                .data_dir()
                .with_file_name("files")
                .display()
                .to_string(),
            kind: server.kind(),
        }
    }

    fn is_alive(&mut self) -> bool {
        self.conn.ping().is_ok()
    }

    fn fingerprint(&mut self) -> Vec<String> {
        let mut state = Vec::new();
        let (schema, accounts) = match self.kind {
            Kind::MariaDb => (
                "information_schema",
                "mysql.global_priv, mysql.proc, mysql.event",
            ),
            Kind::MySql => ("performance_schema", "mysql.user"),
        };
        let queries = [
            "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'g'",
            "SELECT COUNT(*) FROM information_schema.routines",
            "SELECT MAX(next_not_cached_value) FROM g.s",
            "SELECT IS_FREE_LOCK('a')",
            &VARIABLES.replace("SCHEMA", schema),
        ];
        for query in queries {
            let value: Option<Option<String>> = self.conn.query_first(query).unwrap();
            state.push(format!("{value:?}"));
        }
        let tables = format!("CHECKSUM TABLE g.t, g.log, g.d, mysql.db, mysql.func, {accounts}");
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

/// Makes statements: some harmless, some not, many with games in comments and quotes.
struct Grammar {
    random: u64,
    files: String,
    number: usize,
}

#[rustfmt::skip]
const VALUES: &[&str] = &[
    "1", "'x'", "NULL", "a", "t.a", "t.`into`", "t.into", "'it''s'", "'\\''", "\"\\\"\"", "-1.5e1", "0x41", "@a",
    "@@version", "NOW()", "COUNT(*)", "'/*'", "'*/'", "'-- '", "1.", ".5", "1e1", "USER()", "UUID()",
    "JSON_OBJECT('a', 1)", "ST_AsText(POINT(1, 2))", "`b`", "N'x'", "x'41'", "(1)", "ROW_NUMBER() OVER ()",
    "sys.format_bytes(a)", "sys.list_add('a', 'b')", "`sys`.version_major()", "POINT(a + 1, ABS(a))",
    "GEOMCOLLECTION(POINT(1, 2))", "ETAG(a)", "MATCH b AGAINST ('x')", "MATCH (b) AGAINST ('x')",
    "CAST('1 1' AS INTERVAL DAY_SECOND(3))", "/*+ INDEX(t `PRIMARY`) */ 1", "UNIQUE (a)",
];
#[rustfmt::skip]
const DANGERS: &[&str] = &[
    "pay(1)", "pay (1)", "pay/**/(1)", "`pay`(1)", "g.pay(1)", "g . `pay` (1)", "count (1)", "count/* */(1)",
    "point(1)", "linestring()", "nvl (1, 2)", "format_bytes(1)", "lateral (1)", "_utf8x (1)", "g.abs(1)", "`abs`(1)",
    "tune()", "NEXTVAL(s)", "NEXT VALUE FOR s", "NEXT/**/VALUE FOR s", "SETVAL(s, 1000)", "DEFAULT(a)",
    "GET_LOCK('a', 0)", "LOAD_FILE('/etc/hostname')", "(SELECT pay(1))", "@a := pay(1)",
    "(WITH c (x) AS (SELECT pay(1)) SELECT x FROM c)", "/*! pay(1) */", "/*!99999 1 */", "/*M! pay(1) */",
    "{d pay(1)}", "(SELECT DEFAULT(a) FROM d LIMIT 1)", "pay(a) AS (x)", "1 AS pay(a)", "(1) pay(a)",
    "sys.pay(1)", "sys . `pay` (1)", "g.sys(1)", "g.sys.pay(1)", "sys.format_bytes(pay(1))", "sys (1)",
    "POINT(pay(1), 2)", "POINT((1, 2))", "`point`(1)", "cube(1)", "sets(1)", "system(1)", "bernoulli (1)", "qualify(1)",
    "etag(1)", "against(1)", "against (pay(1))", "MATCH b, against(1)", "/*+ QB_NAME(`a*/ pay(1), `) */ 1",
    "/*+ QB_NAME(`a) */ pay(1) /* `*/", "UNIQUE pay(1)", "day_second(1)",
];
#[rustfmt::skip]
const TAILS: &[&str] = &[
    "", "", "", "", "LIMIT 1", "ORDER BY 1", "WHERE 1", "GROUP BY a", "FOR UPDATE", "LOCK IN SHARE MODE",
    "PROCEDURE ANALYSE()", "INTO OUTFILE 'FILE'", "INTO/**/OUTFILE 'FILE'", "INTO DUMPFILE 'FILE'", "INTO @a",
    "/*! INTO OUTFILE 'FILE' */", "/*!50000INTO OUTFILE 'FILE'*/", "UNION SELECT 1",
    "UNION SELECT 1 INTO OUTFILE 'FILE'", "LIMIT 1 INTO OUTFILE 'FILE'", "; DELETE FROM t", ";", "; -- x",
    "FOR SYSTEM_TIME ALL", "WHERE EXISTS (SELECT 1)", "GROUP BY CUBE(a)", "GROUP BY GROUPING SETS ((a), ())",
    "GROUP BY a, CUBE (1)", "TABLESAMPLE SYSTEM (10)", "TABLESAMPLE system(pay(1))", "QUALIFY (1)", "QUALIFY (pay(1))",
    "GROUP BY sets(1)", "GROUP BY ROLLUP (a)",
];
#[rustfmt::skip]
const WRAPS: &[&str] = &[
    "#", "#", "#", "#", "(#)", "((#))", "EXPLAIN #", "EXPLAIN FORMAT=JSON #", "DESC #", "ANALYZE #",
    "ANALYZE FORMAT=JSON #", "SET STATEMENT max_statement_time = 1 FOR #", "EXECUTE IMMEDIATE '#'",
    "BEGIN NOT ATOMIC #; END", "/*!50000 # */", "/*M!100000 # */", "/*!099999 x */ #", "/**/#", "-- x\n#", "#x",
    "#\n", "WITH c AS (#) SELECT * FROM c", "WITH c (x) AS (#) SELECT x FROM c", "SELECT * FROM (#) AS q",
    "SELECT (#)", "VALUES ((#))", "EXPLAIN FOR SCHEMA g #",
    "EXPLAIN FORMAT=JSON FOR DATABASE `sys` #", "SHOW ANALYZE FORMAT=JSON FOR #", "EXPLAIN FOR CONNECTION #", "HELP '#'",
    "SHOW TABLES WHERE (#)", "SHOW STATUS WHERE 1 = (#)", "DO (#)", "x: #",
    "CREATE TABLE n AS #", "INSERT INTO log #", "(#) UNION (#)", "# UNION ALL #", "SELECT '#", "SELECT 1 -- # \n",
    "SELECT \"#\"", "SELECT 1 /* # */", "#; #",
];
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "DELETE FROM t", "UPDATE t SET b = 'z'", "INSERT INTO log VALUES ()", "REPLACE INTO t VALUES (3, 'z', 3)",
    "DROP TABLE t", "TRUNCATE t", "CREATE TABLE n (a INT)", "ALTER TABLE t ADD z INT", "RENAME TABLE t TO z",
    "CREATE USER u", "GRANT ALL ON *.* TO u", "SET GLOBAL max_connect_errors = 5", "CALL p()", "DO pay(1)",
    "LOCK TABLES t WRITE", "HANDLER t OPEN", "ANALYZE DELETE FROM t", "EXPLAIN DELETE FROM t", "SHOW TABLES",
    "SHOW CREATE TABLE t", "SHOW FULL COLUMNS FROM t", "DESC t", "DESC t a", "USE g", "HELP 'SELECT'",
    "VALUES (1), (2)", "SHOW STATUS LIKE 'Up%'", "SHOW GRANTS", "SHOW CREATE SEQUENCE s", "FLUSH STATUS",
    "EXPLAIN t", "SELECT * FROM s", "KILL 0", "XA START 'a'", "SHOW WARNINGS", "SHOW ERRORS LIMIT 1",
    "SHOW COUNT(*) WARNINGS", "EXPLAIN FOR CONNECTION 1", "SHOW ANALYZE FOR 1", "SHOW CHAR SET", "SHOW LIBRARY STATUS",
    "HELP 'a'; DELETE FROM t", "SHOW WARNINGS; DELETE FROM t", "CALL sys.diagnostics(1, 1, 'current')",
];
#[rustfmt::skip]
const GAMES: &[&str] = &[
    "/**/", "/*", "*/", "/*!", "/*!50000 ", "/*M!", "-- ", "--", "\n", "#", "'", "\"", "`", "\\", ";", "(", ")", ".",
    "@", " ", "\t", "\u{a0}", "1", "e", ":=", "N", "x", ",", " AS ", "\r",
];

impl Grammar {
    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % limit
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    fn statement(&mut self) -> String {
        let mut sql = self.pick(WRAPS).to_owned();
        while let Some(at) = sql.find('#').filter(|_| sql.len() < 2000) {
            let query = self.query();
            // A `#` of the query itself would be filled again.
            sql.replace_range(at..=at, &query.replace('#', "\u{1}"));
        }
        let mut sql = sql.replace('\u{1}', "#");
        for _ in 0..self.below(3) {
            self.play(&mut sql);
        }
        self.number += 1;
        sql.replace("FILE", &format!("{}/{}", self.files, self.number))
    }

    fn query(&mut self) -> String {
        match self.below(8) {
            0 => self.pick(OTHERS).to_owned(),
            1 => format!("SELECT {} {}", self.value(0), self.pick(TAILS)),
            2 => format!(
                "SELECT {}, {} FROM t JOIN log USING (a) {}",
                self.value(0),
                self.value(0),
                self.pick(TAILS)
            ),
            3 => format!(
                "SELECT {} FROM t WHERE {} {}",
                self.value(0),
                self.value(0),
                self.pick(TAILS)
            ),
            4 => format!(
                "SELECT a FROM t GROUP BY a HAVING {} ORDER BY {} {}",
                self.value(0),
                self.value(0),
                self.pick(TAILS)
            ),
            _ => format!("SELECT {} FROM t {}", self.value(0), self.pick(TAILS)),
        }
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth < 3 { 12 } else { 6 }) {
            0 => self.pick(DANGERS).to_owned(),
            1..=5 => self.pick(VALUES).to_owned(),
            6 => format!(
                "IF({}, {}, {})",
                self.value(depth + 1),
                self.value(depth + 1),
                self.value(depth + 1)
            ),
            7 => format!(
                "CONCAT({}, {})",
                self.value(depth + 1),
                self.value(depth + 1)
            ),
            8 => format!("({} + {})", self.value(depth + 1), self.value(depth + 1)),
            9 => format!("(SELECT {})", self.value(depth + 1)),
            10 => format!(
                "CASE WHEN {} THEN {} END",
                self.value(depth + 1),
                self.value(depth + 1)
            ),
            _ => format!(
                "COALESCE({}, {})",
                self.value(depth + 1),
                self.value(depth + 1)
            ),
        }
    }

    /// Puts something odd somewhere, or takes a character away.
    fn play(&mut self, sql: &mut String) {
        let places: Vec<usize> = sql.char_indices().map(|(at, _)| at).collect();
        if places.is_empty() {
            return;
        }
        let at = places[self.below(places.len())];
        if self.below(4) == 0 {
            sql.remove(at);
        } else {
            sql.insert_str(at, self.pick(GAMES));
        }
    }
}
