//! The server is asked whether it has built in what the gate lets through: a name that it would look for among the stored
//! functions could be one of anybody's. The other way round, every function that the server documents is on a list.

use std::collections::HashSet;

use mysql::Conn;
use mysql::prelude::Queryable;
use postern::sqlweb::gate::{self, Dialect};
use support::database::Database;

/// Arguments that choose between the forms of a function; none makes one wait.
const ARGUMENTS: &[&str] = &[
    "",
    "0",
    "'a'",
    "a",
    "*",
    "0, 0",
    "'a', 'b'",
    "a, a",
    "0, 0, 0",
    "'a', 'b', 'c'",
    "0, 0, 0, 0",
    "DISTINCT a",
    "SELECT 1",
    "NULL",
];

/// Places where a call, or a keyword that is none, may stand.
const PLACES: &[&str] = &[
    "SELECT #",
    "SELECT 1 + #",
    "SELECT 1, #",
    "SELECT (1) #",
    "SELECT 'a' #",
    "SELECT t.a # FROM t",
    "SELECT 1 AS #",
    "SELECT COUNT(DISTINCT #) FROM t",
    "SELECT DISTINCT #",
    "SELECT a FROM t WHERE #",
    "SELECT a FROM t WHERE a LIKE 'a' #",
    "SELECT a FROM t GROUP BY #",
    "SELECT a FROM t GROUP BY a WITH #",
    "SELECT a FROM t ORDER BY a, #",
    "SELECT * FROM # AS x",
    "SELECT * FROM t TABLESAMPLE #",
    "SELECT a FROM t GROUP BY GROUPING #",
    "SELECT a, RANK() OVER () AS r FROM t #",
    "SELECT CAST(1 AS INTERVAL #)",
    "EXPLAIN SELECT #",
    "SHOW TABLES WHERE #",
    "VALUES (#)",
];

/// `ER_SP_DOES_NOT_EXIST`, `ER_FUNC_INEXISTENT_NAME_COLLISION`, `ER_SP_WRONG_NO_OF_ARGS`.
const NOT_BUILT_IN: [u16; 3] = [1305, 1630, 1318];

/// `ER_NO_DB_ERROR`: the server looks for a stored function, and there is no database to look in.
const NO_DATABASE: u16 = 1046;

#[test]
fn what_passes_is_built_in() {
    let mut conn = connected();
    let mut homeless = Database::shared().conn();
    homeless.query_drop("SET sql_mode = ''").unwrap();
    let dialect = dialect_of(&mut conn);
    let (mut asked, mut missing) = (0, Vec::new());
    for name in gate::names_passed(&dialect) {
        for sql in statements(name) {
            if gate::check(&sql, &dialect).is_err() {
                continue;
            }
            asked += 1;
            let mut code = errno(&mut conn, &sql).filter(|code| NOT_BUILT_IN.contains(code));
            if !reads_a_table(&sql) {
                code = code.or(errno(&mut homeless, &sql).filter(|code| *code == NO_DATABASE));
            }
            missing.extend(code.map(|code| format!("{sql}: {code}")));
        }
    }
    println!("{dialect:?}: {asked} statements");
    assert!(asked > 5_000, "{dialect:?}: only {asked} statements");
    assert!(missing.is_empty(), "{dialect:?}:\n{}", missing.join("\n"));
}

/// Without a database, the server says the same of these.
fn reads_a_table(sql: &str) -> bool {
    sql.contains(" FROM") || sql.starts_with("SHOW") || sql.contains("TABLE")
}

/// Layer 3 does not ask for functions of these names, since no unquoted name can be one of them.
#[test]
fn reserved_words_are_reserved() {
    let mut conn = connected();
    for word in gate::names_reserved() {
        // `ER_PARSE_ERROR`
        let code = errno(&mut conn, &format!("SELECT 1 AS {word}"));
        assert_eq!(code, Some(1064), "{word}");
    }
}

/// The server's own documentation must not know a function that the lists do not.
#[test]
fn every_documented_function_is_classified() {
    let mut conn = connected();
    let dialect = dialect_of(&mut conn);
    let mut documented: Vec<String> = conn.query(HELP).unwrap();
    let others = if dialect.mariadb {
        "SELECT UPPER(function) FROM information_schema.sql_functions"
    } else {
        "SELECT UPPER(UDF_NAME) FROM performance_schema.user_defined_functions"
    };
    documented.extend(conn.query::<String, _>(others).unwrap());
    documented.extend(NATIVE.split_whitespace().map(str::to_owned));
    assert!(documented.len() > 300, "{} functions", documented.len());
    let refused: HashSet<&str> = gate::names_refused().into_iter().collect();
    documented.retain(|name| !gate::is_known_harmless(name) && !refused.contains(name.as_str()));
    documented.retain(|name| !NO_FUNCTIONS.contains(&name.as_str()));
    // `ER_NO_ACCESS_TO_NATIVE_FCT`: the server's own views alone may call it.
    documented.retain(|name| errno(&mut conn, &format!("SELECT {name}()")) != Some(3566));
    assert!(
        documented.is_empty(),
        "neither passed nor refused: {documented:?}"
    );
}

/// Functions of the help tables: their text shows `NAME(`.
const HELP: &str = r"
    SELECT DISTINCT UPPER(n) FROM (
        SELECT REPLACE(name, '\\', '') AS n, REPLACE(description, '\\', '') AS text FROM mysql.help_topic) AS h
    WHERE n REGEXP '^[A-Za-z_0-9]+$' AND INSTR(text, CONCAT(n, '('))";

/// The functions that MySQL 9.7 has built in, found by asking it for every word of its program.
const NATIVE: &str = include_str!("../data/functions-mysql.txt");

/// Data types and keywords whose help text shows a parenthesis.
#[rustfmt::skip]
const NO_FUNCTIONS: &[&str] = &[
    "ENUM", "ITERATE", "SCHEMAS", "VARCHAR2", "VARCHARACTER", "VECTOR", "WHILE", "XMLTYPE",
];

fn dialect_of(conn: &mut Conn) -> Dialect {
    let version: String = conn.query_first("SELECT VERSION()").unwrap().unwrap();
    Dialect::from_server_version(&version).unwrap()
}

/// A connection in a database without functions.
fn connected() -> Conn {
    let mut conn = Database::shared().conn();
    for sql in [
        "CREATE DATABASE IF NOT EXISTS postern_names",
        "USE postern_names",
        "CREATE TABLE IF NOT EXISTS t (a INT)",
        "SET sql_mode = ''",
    ] {
        conn.query_drop(sql).unwrap();
    }
    conn
}

/// All arguments in one place, and a few in all places, each also with a space before the parenthesis.
fn statements(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for space in ["", " "] {
        let call = |arguments: &&str| format!("{name}{space}({arguments})");
        all.extend(ARGUMENTS.iter().map(|a| format!("SELECT {}", call(a))));
        for place in PLACES {
            let few = ["0", "a, a"];
            all.extend(few.iter().map(|a| place.replace('#', &call(a))));
        }
    }
    all
}

/// Error number of the server when the statement is prepared, which looks up every function and runs none.
fn errno(conn: &mut Conn, sql: &str) -> Option<u16> {
    match conn.prep(sql) {
        Ok(statement) => {
            conn.close(statement).unwrap();
            None
        }
        Err(mysql::Error::MySqlError(error)) => Some(error.code),
        Err(error) => panic!("{sql}: {error}"),
    }
}
