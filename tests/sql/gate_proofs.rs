//! Statements that read-only mode accepts only if the server proves that they are harmless: functions of `sys` and of
//! components, and names in another database.

use serde_json::{Value, json};
use support::database::{Database, Options, PASSWORD, READER, USER};
use support::http::Client;
use support::postern::Postern;

/// A server of one's own, with a database `app` and nothing taken.
fn server() -> Database {
    let db = Database::start(Options::default());
    db.exec("CREATE DATABASE app");
    db
}

fn web_client(db: &Database, user: &str) -> Postern {
    let flags = ["--db-user", user, "--db-pass", PASSWORD, "--readonly"];
    let target = db.target();
    let args: Vec<&str> = std::iter::once(target.as_str()).chain(flags).collect();
    Postern::start(&args, &[])
}

fn ask(client: &mut Client, db: Option<&str>, sql: &str) -> (u16, Value) {
    let answer = client.post("/api/query", &json!({"sql": sql, "db": db}));
    (answer.status(), answer.json())
}

#[track_caller]
fn passes(client: &mut Client, db: Option<&str>, sql: &str) -> Value {
    let (status, body) = ask(client, db, sql);
    assert_eq!(status, 200, "{sql}: {body}");
    body["data"]["rows"].clone()
}

/// Refused by the third layer, with that in the message.
#[track_caller]
fn is_refused(client: &mut Client, db: Option<&str>, sql: &str, reason: &str) {
    let (status, body) = ask(client, db, sql);
    let message = body["message"].as_str().unwrap_or_default();
    assert_eq!(
        (status, &body["layer"]),
        (403, &json!("connection")),
        "{sql}: {body}"
    );
    assert!(message.contains(reason), "{sql}: {message}");
}

/// Every function of `sys` that passes, with arguments.
const OF_SYS: [&str; 19] = [
    "extract_schema_from_file_name('/a/b/c.ibd')",
    "extract_table_from_file_name('/a/b/c.ibd')",
    "format_bytes(2048)",
    "format_path(@@datadir)",
    "format_statement('SELECT 1')",
    "format_time(1000)",
    "list_add('a,b', 'c')",
    "list_drop('a,b', 'b')",
    "ps_is_account_enabled('localhost', 'root')",
    "ps_is_consumer_enabled('events_statements_current')",
    "ps_is_instrument_default_enabled('wait/io/file/a')",
    "ps_is_instrument_default_timed('wait/io/file/a')",
    "ps_is_thread_instrumented(CONNECTION_ID())",
    "ps_thread_account(1)",
    "ps_thread_id(CONNECTION_ID())",
    "quote_identifier('a`b')",
    "version_major()",
    "version_minor()",
    "version_patch()",
];

/// The texts that the digests stand for are those of this server.
#[test]
fn the_functions_of_sys_are_the_known_ones() {
    let db = server();
    let postern = web_client(&db, USER);
    let mut client = postern.client();
    for call in OF_SYS {
        for database in [None, Some("app"), Some("sys")] {
            passes(&mut client, database, &format!("SELECT sys.{call} AS a"));
        }
    }
    let rows = passes(
        &mut client,
        Some("app"),
        "SELECT sys.quote_identifier(sys.list_add('a', 'b')) AS a, `sys`.VERSION_MAJOR () + 0 > 4 AS b",
    );
    assert_eq!(rows, json!([{"a": "`a,b`", "b": 1}]));
}

/// A function of `sys` that somebody could replace might do anything.
#[test]
fn a_replaced_function_of_sys_is_refused() {
    let db = server();
    let postern = web_client(&db, USER);
    let mut client = postern.client();
    let replace = |name: &str, rest: &str| {
        db.exec(&format!("DROP FUNCTION IF EXISTS sys.{name}"));
        db.exec(&format!("CREATE FUNCTION sys.{name}{rest}"));
    };
    let reason = "not known to be harmless";
    replace(
        "format_bytes",
        "(bytes TEXT) RETURNS TEXT NO SQL RETURN GET_LOCK('replaced', 0)",
    );
    replace(
        "version_major",
        "() RETURNS TINYINT UNSIGNED NO SQL RETURN GET_LOCK('replaced', 0)",
    );
    replace(
        "sys_get_config",
        "(a VARCHAR(128), b VARCHAR(128)) RETURNS VARCHAR(128) NO SQL RETURN GET_LOCK('replaced', 0)",
    );
    // The known text, with a further parameter.
    let text = "BEGIN\n    RETURN CONCAT('`', REPLACE(in_identifier, '`', '``'), '`');\nEND";
    replace(
        "quote_identifier",
        &format!("(in_identifier TEXT) RETURNS TEXT NO SQL {text}"),
    );
    passes(
        &mut client,
        Some("app"),
        "SELECT sys.quote_identifier('a') AS a",
    );
    replace(
        "quote_identifier",
        &format!("(in_identifier TEXT, more INT) RETURNS TEXT NO SQL {text}"),
    );
    for sql in [
        "SELECT sys.format_bytes(1)",
        "SELECT sys.format_time(1), sys.format_bytes(1)",
        "EXPLAIN SELECT sys.version_major()",
        "SHOW TABLES WHERE sys.format_bytes(1)",
        "SELECT sys.format_statement('a')",
        "SELECT sys.quote_identifier('a')",
    ] {
        is_refused(&mut client, Some("app"), sql, reason);
    }
    assert_eq!(db.value("SELECT IS_FREE_LOCK('replaced')"), "1");
    // A database of nearly that name proves nothing.
    db.exec("DROP FUNCTION sys.quote_identifier; CREATE DATABASE SYS");
    db.exec(&format!(
        "CREATE FUNCTION SYS.quote_identifier(in_identifier TEXT) RETURNS TEXT NO SQL {text}"
    ));
    let sql = "SELECT sys.quote_identifier('a')";
    is_refused(&mut client, Some("app"), sql, reason);
    passes(&mut client, Some("app"), "SELECT sys.format_time(1)");
    db.exec("DROP FUNCTION sys.format_time");
    is_refused(
        &mut client,
        Some("app"),
        "SELECT sys.format_time(1)",
        reason,
    );
}

/// Nothing proves what a text is that the account may not see.
/// A text proves nothing where the table that it reads is a view, which may call anything.
#[test]
fn a_view_in_place_of_the_table_of_sys_is_refused() {
    let db = server();
    let postern = web_client(&db, USER);
    let mut client = postern.client();
    let sql = "SELECT sys.format_statement('SELECT 1') AS a";
    passes(&mut client, Some("app"), sql);
    db.exec(
        "CREATE TABLE app.config AS SELECT * FROM sys.sys_config; DROP TABLE sys.sys_config; \
         CREATE VIEW sys.sys_config AS SELECT * FROM app.config",
    );
    is_refused(&mut client, Some("app"), sql, "not known to be harmless");
}

#[test]
fn a_function_of_sys_whose_text_is_hidden_is_refused() {
    let db = server();
    db.exec(&format!(
        "REVOKE ALL PRIVILEGES ON *.* FROM {READER}@'%'; GRANT SELECT ON app.* TO {READER}@'%'; \
         GRANT EXECUTE ON FUNCTION sys.format_bytes TO {READER}@'%'"
    ));
    let postern = web_client(&db, READER);
    let mut client = postern.client();
    let sql = "SELECT sys.format_bytes(1) AS a";
    let (status, body) = ask(&mut client, Some("app"), sql);
    // MariaDB shows the text to whoever may run it.
    if status != 200 {
        is_refused(&mut client, Some("app"), sql, "not visible to this account");
    } else {
        assert_eq!(body["data"]["count"], 1, "{body}");
    }
}

mod on_mariadb {
    use super::*;

    /// `sys.name` is the function of a package `sys` first (MariaDB 11.4).
    #[test]
    fn a_package_called_sys_takes_no_call() {
        let db = server();
        let is_old = db.version() < (11, 4, 0);
        let oracle = if is_old { "ORACLE" } else { "" };
        if is_old {
            db.exec("SET SESSION sql_mode = 'ORACLE'; CREATE PACKAGE app.sys AS FUNCTION format_bytes(a INT) RETURN INT; END");
        } else {
            db.exec("CREATE PACKAGE app.sys FUNCTION format_bytes(a INT) RETURNS INT; END");
            db.exec(
                "CREATE PACKAGE BODY app.sys FUNCTION format_bytes(a INT) RETURNS INT \
                 BEGIN RETURN GET_LOCK('package', 0); END; END",
            );
        }
        let sql = "SELECT sys.format_bytes(1) AS a";
        let postern = web_client(&db, USER);
        let mut client = postern.client();
        is_refused(&mut client, Some("app"), sql, "package");
        passes(&mut client, None, sql);
        passes(&mut client, Some("mysql"), sql);
        db.exec(&format!(
            "SET SESSION sql_mode = '{oracle}'; GRANT EXECUTE ON PACKAGE app.sys TO PUBLIC; REVOKE ALL PRIVILEGES ON *.* FROM {READER}@'%'; \
             GRANT SELECT ON app.* TO {READER}@'%'; GRANT EXECUTE ON FUNCTION sys.format_bytes TO {READER}@'%'"
        ));
        let postern = web_client(&db, READER);
        let mut client = postern.client();
        is_refused(&mut client, Some("app"), sql, "package");
        assert_eq!(db.value("SELECT IS_FREE_LOCK('package')"), "1");
    }

    /// A default runs where its argument is left out.
    #[test]
    fn a_parameter_with_a_default_is_refused() {
        let db = server();
        let text =
            "BEGIN\n    RETURN SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '-', 1), '.', 1);\nEND";
        let default = if db.version() < (11, 8, 0) {
            ""
        } else {
            " DEFAULT GET_LOCK('default', 0)"
        };
        db.exec("DROP FUNCTION sys.version_major");
        db.exec(&format!(
            "CREATE FUNCTION sys.version_major(a INT{default}) RETURNS TINYINT UNSIGNED NO SQL {text}"
        ));
        let postern = web_client(&db, USER);
        let mut client = postern.client();
        is_refused(
            &mut client,
            None,
            "SELECT sys.version_major()",
            "not known to be harmless",
        );
        assert_eq!(db.value("SELECT IS_FREE_LOCK('default')"), "1");
    }
}

mod on_mysql {
    use super::*;

    const COMPONENT: &str = "'file://component_classic_hashing'";

    /// MySQL 9.6 moved `MD5` and its kin into a component.
    #[test]
    fn what_a_component_supplies_passes_while_it_does() {
        let db = server();
        let postern = web_client(&db, USER);
        let mut client = postern.client();
        let calls = ["MD5('a')", "SHA1('a')", "SHA('a')", "COUNT(SHA ('a'))"];
        for database in [None, Some("app")] {
            for call in calls {
                is_refused(
                    &mut client,
                    database,
                    &format!("SELECT {call}"),
                    "INSTALL COMPONENT",
                );
            }
        }
        db.exec(&format!("INSTALL COMPONENT {COMPONENT}"));
        for database in [None, Some("app")] {
            for call in calls {
                passes(&mut client, database, &format!("SELECT {call} AS a"));
            }
        }
        let rows = passes(&mut client, None, "SELECT MD5('a') AS a");
        assert_eq!(rows[0]["a"], "0cc175b9c0f1b6a831c399e269772661");
        db.exec("SET GLOBAL log_bin_trust_function_creators = 1");
        db.exec("CREATE FUNCTION app.Md5(a TEXT) RETURNS INT RETURN GET_LOCK('taken', 0)");
        is_refused(
            &mut client,
            Some("app"),
            "SELECT MD5('a')",
            "somebody created",
        );
        passes(&mut client, Some("app"), "SELECT SHA1('a') AS a");
        passes(&mut client, Some("mysql"), "SELECT MD5('a') AS a");
        db.exec(&format!("UNINSTALL COMPONENT {COMPONENT}"));
        is_refused(
            &mut client,
            Some("app"),
            "SELECT MD5('a')",
            "somebody created",
        );
        is_refused(
            &mut client,
            Some("mysql"),
            "SELECT MD5('a')",
            "INSTALL COMPONENT",
        );
        assert_eq!(db.value("SELECT IS_FREE_LOCK('taken')"), "1");
    }

    /// Names are looked up in the database that the statement names.
    #[test]
    fn a_plan_for_another_database_asks_for_its_functions() {
        let db = server();
        db.exec("CREATE DATABASE `o'th\\er`");
        db.exec("SET GLOBAL log_bin_trust_function_creators = 1");
        db.exec("CREATE FUNCTION `o'th\\er`.abs(a INT) RETURNS INT RETURN GET_LOCK('other', 0)");
        let postern = web_client(&db, USER);
        let mut client = postern.client();
        let explain = "EXPLAIN FOR SCHEMA `o'th\\er` SELECT";
        for database in [None, Some("app")] {
            passes(&mut client, database, &format!("{explain} 1 AS a"));
            passes(&mut client, database, &format!("{explain} SIGN(1) AS a"));
            passes(
                &mut client,
                database,
                "EXPLAIN FOR DATABASE mysql SELECT ABS(1) AS a",
            );
            is_refused(
                &mut client,
                database,
                &format!("{explain} ABS(1)"),
                "somebody created",
            );
        }
        passes(
            &mut client,
            Some("o'th\\er"),
            "EXPLAIN FOR SCHEMA app SELECT ABS(1) AS a",
        );
        is_refused(
            &mut client,
            Some("o'th\\er"),
            "EXPLAIN SELECT ABS(1)",
            "somebody created",
        );
    }
}
