//! Read-only mode through the real binary: what is refused, by which layer, and that nothing changes.

#![allow(missing_docs)]

mod support;

use serde_json::{Value, json};
use support::http::Client;
use support::mariadb::MariaDb;
use support::postern::Postern;

/// A database with everything that a statement could change.
fn database(name: &str) -> &'static MariaDb {
    let db = MariaDb::shared();
    db.exec(&format!(
        "CREATE DATABASE IF NOT EXISTS {name}; CREATE OR REPLACE TABLE {name}.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20)); \
         INSERT INTO {name}.t (v) VALUES ('one'), ('two'); CREATE OR REPLACE SEQUENCE {name}.s; \
         CREATE OR REPLACE FUNCTION {name}.writes() RETURNS INT BEGIN INSERT INTO {name}.t (v) VALUES ('written'); RETURN 1; END"
    ));
    db.exec(&format!(
        "CREATE OR REPLACE VIEW {name}.v AS SELECT {name}.writes() AS x"
    ));
    db.exec(&format!(
        "CREATE OR REPLACE PROCEDURE {name}.p() INSERT INTO {name}.t (v) VALUES ('called')"
    ));
    db
}

fn ask(client: &mut Client, db: &str, sql: &str) -> (u16, Value) {
    let answer = client.post(
        "/api/query",
        &json!({"sql": sql, "db": db, "session": "one"}),
    );
    (answer.status(), answer.json())
}

fn fingerprint(db: &MariaDb, name: &str) -> Vec<String> {
    db.column(&format!(
        "SELECT CONCAT(id, v) FROM {name}.t UNION ALL SELECT next_not_cached_value FROM {name}.s \
         UNION ALL SELECT COUNT(*) FROM mysql.global_priv UNION ALL SELECT @@global.max_connections"
    ))
}

#[test]
fn the_eleven_statements_are_refused_before_the_database_is_reached() {
    let db = database("ro_eleven");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let before = fingerprint(db, "ro_eleven");
    db.exec("SET GLOBAL general_log = 1, log_output = 'TABLE'; TRUNCATE mysql.general_log");
    for (word, sql) in [
        ("INSERT", "INSERT INTO t (v) VALUES ('x')"),
        ("UPDATE", "UPDATE t SET v = 'x'"),
        ("DELETE", "/* c */ DELETE FROM t"),
        ("DROP", "-- c\nDROP TABLE t"),
        ("ALTER", "ALTER TABLE t ADD x INT"),
        ("CREATE", "CREATE TABLE ro_eleven_new (x INT)"),
        ("TRUNCATE", "truncate t"),
        ("RENAME", "RENAME TABLE t TO t2"),
        ("REPLACE", "REPLACE INTO t VALUES (1, 'x')"),
        ("GRANT", "GRANT ALL ON *.* TO someone"),
        ("REVOKE", "REVOKE ALL ON *.* FROM app"),
    ] {
        let (status, body) = ask(&mut client, "ro_eleven", sql);
        assert_eq!(status, 403, "{sql}: {body}");
        let message = body["message"].as_str().unwrap();
        assert!(message.starts_with("read-only mode:"), "{message}");
        assert!(message.contains(word), "{message}");
        assert!(message.contains("layer: server gate"), "{message}");
    }
    // Each would have entered the database first. Other tests use the same server, so only what names it counts.
    let reached = db.value("SELECT COUNT(*) FROM mysql.general_log WHERE user_host LIKE '%app%' AND argument LIKE '%ro_eleven%'");
    db.exec("SET GLOBAL general_log = 0");
    assert_eq!(reached, "0", "nothing of them reached the database");
    assert_eq!(fingerprint(db, "ro_eleven"), before);
}

#[test]
fn what_hides_a_write_is_refused_and_changes_nothing() {
    let db = database("ro_hidden");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let before = fingerprint(db, "ro_hidden");
    let file = db.data_dir().join("ro_hidden.out");
    let file = file.to_string_lossy();
    for sql in [
        "/*!50000 DELETE FROM t */".to_owned(),
        "/*M! DELETE FROM t */".to_owned(),
        "/*!099999 x */ DELETE FROM t".to_owned(),
        format!("SELECT 1 INTO/**/OUTFILE '{file}'"),
        format!("SELECT 1 /*!INTO OUTFILE '{file}'*/"),
        format!("(SELECT 1) UNION (SELECT 2 INTO OUTFILE '{file}')"),
        format!("VALUES (1) INTO OUTFILE '{file}'"),
        format!("ANALYZE SELECT 1 INTO OUTFILE '{file}'"),
        "ANALYZE DELETE FROM t".to_owned(),
        "EXPLAIN ANALYZE DELETE FROM t".to_owned(),
        "SELECT writes()".to_owned(),
        "SELECT `writes`()".to_owned(),
        "SELECT ro_hidden . writes ()".to_owned(),
        "SHOW TABLES WHERE writes()".to_owned(),
        "CALL p()".to_owned(),
        "DO writes()".to_owned(),
        "SET STATEMENT max_statement_time = 1 FOR DELETE FROM t".to_owned(),
        "EXECUTE IMMEDIATE 'DELETE FROM t'".to_owned(),
        "BEGIN NOT ATOMIC DELETE FROM t; END".to_owned(),
        "SET GLOBAL max_connections = 7".to_owned(),
        "SET SESSION TRANSACTION READ WRITE".to_owned(),
        "LOCK TABLES t WRITE".to_owned(),
        "HANDLER t OPEN".to_owned(),
        format!("LOAD DATA INFILE '{file}' INTO TABLE t"),
        "WITH x AS (SELECT 1) DELETE FROM t".to_owned(),
        "SELECT NEXT VALUE FOR s".to_owned(),
        "SELECT NEXTVAL(s)".to_owned(),
        "SELECT GET_LOCK('x', 1)".to_owned(),
        "SELECT * FROM t FOR UPDATE".to_owned(),
        "SELECT v INTO @x FROM t LIMIT 1".to_owned(),
        "SELECT 'unterminated".to_owned(),
        "SELECT 1 /* unterminated".to_owned(),
    ] {
        let (status, body) = ask(&mut client, "ro_hidden", &sql);
        assert_eq!(status, 403, "{sql}: {body}");
        assert!(
            body["message"]
                .as_str()
                .unwrap()
                .starts_with("read-only mode:"),
            "{sql}: {body}"
        );
    }
    // The gate cannot see into a view; the connection does.
    let (status, body) = ask(&mut client, "ro_hidden", "SELECT * FROM v");
    assert_eq!(status, 403, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(
        message.starts_with("read-only mode: SELECT") && message.contains("layer: connection"),
        "{message}"
    );
    assert_eq!(body["error"]["errno"], 1792);
    let (status, body) = ask(&mut client, "ro_hidden", "SELECT 1; DELETE FROM t");
    assert!(matches!(status, 400 | 403), "{body}");
    assert_eq!(fingerprint(db, "ro_hidden"), before);
    assert!(!std::path::Path::new(&*file).exists());
}

#[test]
fn reading_stays_allowed() {
    let db = database("ro_allowed");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    for sql in [
        "SELECT 'DELETE FROM t'",
        "SELECT 1 AS `drop`",
        "SELECT REPLACE(v,'a','b'), INSERT(v,1,1,'x') FROM t",
        "SHOW CREATE TABLE t",
        "((SELECT 1) UNION (SELECT 2))",
        "VALUES (1,2)",
        "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT * FROM n",
        "SELECT(1)",
        "SELECT-1",
        "SELECT@@version",
        "SELECT 10/'x:y'",
        "SHOW TABLES LIKE 't%'",
        "DESC t",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN FORMAT=JSON SELECT * FROM t",
        "HELP 'SELECT'",
        "SELECT v, COUNT(*), ROW_NUMBER() OVER (ORDER BY v) FROM t GROUP BY v",
        "SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()",
        "SELECT JSON_VALUE('{\"a\":1}', '$.a'), DATE_FORMAT(NOW(), '%Y'), CAST(1 AS CHAR(3))",
        "/* hello */ SELECT 1 -- bye",
        "SELECT 1;",
    ] {
        let (status, body) = ask(&mut client, "ro_allowed", sql);
        assert_eq!(status, 200, "{sql}: {body}");
        assert_eq!(body["code"], 200, "{sql}: {body}");
    }
    assert_eq!(
        client.get("/api/schema?db=ro_allowed&table=t").status(),
        200
    );
    let info = client.get("/api/info").data();
    assert_eq!(
        (&info["mode"], &info["readonly"], &info["can_write"]),
        (&json!("read-only"), &json!(true), &json!(true))
    );
}

#[test]
fn every_statement_meets_a_clean_read_only_session() {
    let db = database("ro_clean");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    for _ in 0..2 {
        let (_, body) = ask(
            &mut client,
            "ro_clean",
            "SELECT @@session.tx_read_only AS r, @x AS x, @@autocommit AS a",
        );
        assert_eq!(body["data"]["rows"][0], json!({"r": 1, "x": null, "a": 1}));
        let (status, body) = ask(&mut client, "ro_clean", "SELECT @x := 5 AS x");
        assert_eq!((status, &body["data"]["rows"][0]["x"]), (200, &json!(5)));
    }
    assert_eq!(
        ask(&mut client, "ro_clean", "USE information_schema").0,
        200
    );
    let body = client
        .post(
            "/api/query",
            &json!({"sql": "SELECT DATABASE() AS d", "session": "one"}),
        )
        .json();
    assert_eq!(body["data"]["rows"][0]["d"], "information_schema");
}

#[test]
fn a_server_default_that_changes_quoting_does_not_matter() {
    let db = MariaDb::start(support::mariadb::Options {
        args: vec!["--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES".into()],
        ..support::mariadb::Options::default()
    });
    let postern = Postern::on(&db, &["--readonly"]);
    let mut client = postern.client();
    let (status, body) = ask(
        &mut client,
        "mysql",
        r#"SELECT "a\"; text" AS x, 'b\'; c' AS y"#,
    );
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        body["data"]["rows"][0],
        json!({"x": "a\"; text", "y": "b'; c"})
    );
    let (_, body) = ask(&mut client, "mysql", "SELECT @@sql_mode AS m");
    assert_eq!(body["data"]["rows"][0]["m"], "STRICT_TRANS_TABLES");
}

#[test]
fn exports_obey_the_mode() {
    let db = database("ro_export");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let delete = client.post(
        "/api/export",
        &json!({"sql": "DELETE FROM t RETURNING id", "db": "ro_export"}),
    );
    assert_eq!(delete.status(), 403);
    let fine = client.post(
        "/api/export",
        &json!({"sql": "SELECT id FROM t ORDER BY id", "db": "ro_export"}),
    );
    assert_eq!(fine.text(), "id\r\n1\r\n2\r\n");
    let ticket = client
        .post(
            "/api/export",
            &json!({"sql": "DELETE FROM t", "db": "ro_export", "ticket": true}),
        )
        .data()["ticket"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(client.get(&format!("/api/export/{ticket}")).status(), 403);
    assert_eq!(db.value("SELECT COUNT(*) FROM ro_export.t"), "2");
}

/// What a statement leaves must not wait on the server for the session's next one.
#[test]
fn nothing_stays_between_two_statements() {
    let db = MariaDb::start(support::mariadb::Options {
        args: vec!["--autocommit=0".into()],
        ..Default::default()
    });
    db.exec(
        "CREATE DATABASE gap; CREATE TABLE gap.t (id INT) ENGINE=InnoDB; INSERT INTO gap.t VALUES (1); COMMIT; \
         CREATE FUNCTION gap.f() RETURNS INT NO SQL RETURN GET_LOCK('gap', 0); \
         CREATE VIEW gap.v AS SELECT gap.f() AS taken",
    );
    let postern = Postern::on(&db, &["--readonly"]);
    let mut client = postern.client();
    for sql in ["SELECT * FROM v", "SELECT @@autocommit AS taken FROM t"] {
        let body = json!({"sql": sql, "db": "gap", "session": "s"});
        let answer = client.post("/api/query", &body);
        assert_eq!(answer.data()["rows"][0]["taken"], 1, "{sql}");
        assert_eq!(db.value("SELECT IS_FREE_LOCK('gap')"), "1", "{sql}");
        let open = "SELECT COUNT(*) FROM information_schema.INNODB_TRX JOIN information_schema.PROCESSLIST \
                    ON ID = trx_mysql_thread_id WHERE USER = 'app'";
        assert_eq!(db.value(open), "0", "{sql}");
    }
}
