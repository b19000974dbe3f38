//! Statements that may or may not do harm, made at random.

use support::database::Kind;

/// Makes statements: some harmless, some not, many with games in comments and quotes.
pub(super) struct Grammar {
    wraps: Vec<&'static str>,
    others: Vec<&'static str>,
    dangers: Vec<&'static str>,
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

/// Wraps that only MySQL understands.
#[rustfmt::skip]
const WRAPS_OF_MYSQL: &[&str] = &[
    "EXPLAIN ANALYZE #", "EXPLAIN FORMAT=TREE #", "EXPLAIN INTO @x #", "VALUES ROW((#))",
    "TABLE t UNION #", "SELECT * FROM t, LATERAL (#) AS q", "# INTERSECT #", "(#) EXCEPT #", "/*!80000 # */",
    "/*!090700 # */", "/*!999999 x */ #", "/*+ SET_VAR(max_connect_errors = 7) */ #",
    "SELECT /*+ SET_VAR(sql_safe_updates = 1) */ (#)", "SELECT * FROM JSON_TABLE((#), '$' COLUMNS (x INT PATH '$')) AS j",
    "SELECT $$#$$", "CREATE TEMPORARY TABLE n AS #", "WITH RECURSIVE c (x) AS (# UNION ALL SELECT x FROM c) SELECT x FROM c",
];
#[rustfmt::skip]
const OTHERS_OF_MYSQL: &[&str] = &[
    "TABLE t", "TABLE t INTO OUTFILE 'FILE'", "VALUES ROW(1), ROW(2)", "VALUES ROW(pay(1))", "SET PERSIST max_connect_errors = 5",
    "RESET PERSIST", "EXPLAIN ANALYZE SELECT pay(1)", "EXPLAIN ANALYZE DELETE FROM t", "RESTART", "CLONE LOCAL DATA DIRECTORY 'FILE'",
    "SHOW CREATE USER root@localhost", "SHOW BINARY LOGS", "ANALYZE TABLE t UPDATE HISTOGRAM ON a", "IMPORT TABLE FROM 'FILE'",
    "INSTALL COMPONENT 'file://component_validate_password'", "ALTER INSTANCE ROTATE INNODB MASTER KEY", "SET ROLE NONE",
];
#[rustfmt::skip]
const DANGERS_OF_MYSQL: &[&str] = &[
    "IF(pay(1), 1, 2)", "JSON_VALUE((SELECT pay(1)), '$')", "MEMBER(pay(1))", "ST_AsText(pay(1))", "UUID_TO_BIN(pay(1))",
    "/*!80000 pay(1) */", "/*!90000 + pay(1) */", "GROUPING(pay(1))", "@@GLOBAL.max_connect_errors := 3", "md5(1)", "sha(1)",
    "@@PERSIST.max_connect_errors", "ANY_VALUE(pay(1))", "vector_dim(pay(1))", "x.count (1)", "$count(1)",
];

impl Grammar {
    /// `files` is a directory that the server may write to.
    pub(super) fn new(kind: Kind, seed: u64, files: &str) -> Grammar {
        let with = |common: &[&'static str], own: &[&'static str]| match kind {
            Kind::MariaDb => common.to_vec(),
            Kind::MySql => [common, own].concat(),
        };
        Grammar {
            wraps: with(WRAPS, WRAPS_OF_MYSQL),
            others: with(OTHERS, OTHERS_OF_MYSQL),
            dangers: with(DANGERS, DANGERS_OF_MYSQL),
            random: seed,
            files: files.to_owned(),
            number: 0,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % limit
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    fn one_of(&mut self, list: fn(&Grammar) -> &Vec<&'static str>) -> &'static str {
        let at = self.below(list(self).len());
        list(self)[at]
    }

    pub(super) fn statement(&mut self) -> String {
        let mut sql = self.one_of(|g| &g.wraps).to_owned();
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
            0 => self.one_of(|g| &g.others).to_owned(),
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
            0 => self.one_of(|g| &g.dangers).to_owned(),
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
