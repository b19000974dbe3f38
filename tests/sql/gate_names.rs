//! Every server at hand is asked whether it has built in what the gate lets through: a name that it would look for among
//! the stored functions could be one of anybody's.
//!
//! The installed MariaDB is always asked; `POSTERN_TEST_SERVERS` names others, as `mysql://root@127.0.0.1:3307`, with
//! spaces between. They need an account that may create and drop the database `postern_names`.

use mysql::prelude::Queryable;
use mysql::{Conn, Opts};
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
    "SHOW TABLES WHERE #",
    "VALUES (#)",
];

/// `ER_SP_DOES_NOT_EXIST`, `ER_FUNC_INEXISTENT_NAME_COLLISION`, `ER_SP_WRONG_NO_OF_ARGS`.
const NOT_BUILT_IN: [u16; 3] = [1305, 1630, 1318];

#[test]
fn what_passes_is_built_in() {
    for mut conn in servers() {
        let version: String = conn.query_first("SELECT VERSION()").unwrap().unwrap();
        let dialect = Dialect::from_server_version(&version).unwrap();
        let (mut asked, mut missing) = (0, Vec::new());
        for name in gate::names_passed(&dialect) {
            for sql in statements(name) {
                if gate::check(&sql, &dialect).is_err() {
                    continue;
                }
                asked += 1;
                if let Some(code) =
                    errno(&mut conn, &sql).filter(|code| NOT_BUILT_IN.contains(code))
                {
                    missing.push(format!("{sql}: {code}"));
                }
            }
        }
        println!("{version}: {asked} statements");
        assert!(asked > 5_000, "{version}: only {asked} statements");
        assert!(missing.is_empty(), "{version}:\n{}", missing.join("\n"));
    }
}

/// Layer 3 does not ask for functions of these names, since no unquoted name can be one of them.
#[test]
fn reserved_words_are_reserved() {
    for mut conn in servers() {
        for word in gate::names_reserved() {
            // `ER_PARSE_ERROR`
            let code = errno(&mut conn, &format!("SELECT 1 AS {word}"));
            assert_eq!(code, Some(1064), "{word}");
        }
    }
}

fn servers() -> Vec<Conn> {
    let own = Database::shared().conn();
    let named = std::env::var("POSTERN_TEST_SERVERS").unwrap_or_default();
    let others = named.split_whitespace().map(|url| {
        let opts = Opts::from_url(url).expect("POSTERN_TEST_SERVERS holds URLs");
        Conn::new(opts).expect("a server of POSTERN_TEST_SERVERS answers")
    });
    let mut all: Vec<Conn> = std::iter::once(own).chain(others).collect();
    for conn in &mut all {
        for sql in [
            "CREATE DATABASE IF NOT EXISTS postern_names",
            "USE postern_names",
            "CREATE TABLE IF NOT EXISTS t (a INT)",
            "SET sql_mode = ''",
        ] {
            conn.query_drop(sql).unwrap();
        }
    }
    all
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

/// What the server says of it when it is prepared, which looks every function up and runs none.
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
