//! Read-only mode through the real binary: what is refused, by which layer, and that nothing changes.

use serde_json::{Value, json};
use support::database::{Database, Kind};
use support::http::Client;
use support::postern::Postern;

/// A database with everything that a statement could change.
fn database(name: &str) -> &'static Database {
    let db = Database::shared();
    db.exec(&format!(
        "CREATE DATABASE IF NOT EXISTS {name}; CREATE TABLE {name}.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20)); \
         INSERT INTO {name}.t (v) VALUES ('one'), ('two'); \
         CREATE FUNCTION {name}.writes() RETURNS INT BEGIN INSERT INTO {name}.t (v) VALUES ('written'); RETURN 1; END"
    ));
    if db.kind() == Kind::MariaDb {
        db.exec(&format!("CREATE SEQUENCE {name}.s"));
    }
    db.exec(&format!(
        "CREATE OR REPLACE VIEW {name}.v AS SELECT {name}.writes() AS x"
    ));
    db.exec(&format!(
        "CREATE PROCEDURE {name}.p() INSERT INTO {name}.t (v) VALUES ('called')"
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

/// A read-only web client of `user`.
fn at(target: &str, user: &str) -> Postern {
    let password = support::database::PASSWORD;
    Postern::start(
        &[
            target,
            "--db-user",
            user,
            "--db-pass",
            password,
            "--readonly",
        ],
        &[],
    )
}

fn fingerprint(db: &Database, name: &str) -> Vec<String> {
    let own = match db.kind() {
        Kind::MariaDb => format!(
            "SELECT next_not_cached_value FROM {name}.s UNION ALL SELECT COUNT(*) FROM mysql.global_priv"
        ),
        Kind::MySql => "SELECT COUNT(*) FROM mysql.user".to_owned(),
    };
    db.column(&format!(
        "SELECT CONCAT(id, v) FROM {name}.t UNION ALL {own} UNION ALL SELECT @@global.max_connections"
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
    // MySQL takes it for a comment.
    let of_mariadb = "/*M! DELETE FROM t */".to_owned();
    let hidden = (db.kind() == Kind::MariaDb).then_some(of_mariadb);
    for sql in hidden.into_iter().chain([
        "/*!50000 DELETE FROM t */".to_owned(),
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
    ]) {
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
        match db.kind() {
            Kind::MariaDb => "VALUES (1,2)",
            Kind::MySql => "VALUES ROW(1,2)",
        },
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
            &format!(
                "SELECT @@session.{} AS r, @x AS x, @@autocommit AS a",
                read_only_variable(db)
            ),
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
    let db = Database::start(support::database::Options {
        args: vec!["--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES".into()],
        ..support::database::Options::default()
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

/// Remains of a statement must not stay on the server until the session's next one.
#[test]
fn nothing_stays_between_two_statements() {
    let db = Database::start(support::database::Options {
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

/// MariaDB runs a deterministic function with constant arguments while it resolves a view.
#[test]
fn a_look_at_a_view_writes_nothing() {
    let db = database("ro_look");
    db.exec(
        "CREATE TABLE ro_look.log (a INT) ENGINE=MyISAM; \
         CREATE FUNCTION ro_look.dm(a INT) RETURNS INT DETERMINISTIC BEGIN \
         INSERT INTO ro_look.log VALUES (1); RETURN a; END",
    );
    if db.kind() == Kind::MariaDb {
        db.exec(
            "DROP FUNCTION ro_look.dm; CREATE FUNCTION ro_look.dm(a INT) RETURNS INT DETERMINISTIC BEGIN \
             INSERT INTO ro_look.log VALUES (NEXTVAL(ro_look.s)); RETURN a; END",
        );
    }
    // Made where it runs, so the log is emptied after it.
    db.exec(
        "CREATE OR REPLACE VIEW ro_look.zdm AS SELECT REPEAT('x', ro_look.dm(1)) a, ROUND(1.2, ro_look.dm(1)) b",
    );
    db.exec("TRUNCATE ro_look.log");
    let state = || {
        (
            db.value("SELECT COUNT(*) FROM ro_look.log"),
            fingerprint(db, "ro_look"),
        )
    };
    let before = state();
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let mut answers = Vec::new();
    // On a connection that nothing ran on yet, and on one that a statement has used just before.
    for _ in 0..2 {
        let schema = client.get("/api/schema?db=ro_look&table=zdm");
        assert_eq!(schema.status(), 200, "{}", schema.text());
        answers.push(schema.data());
        let tables = client.get("/api/tables?db=ro_look&detail=1").data();
        let kinds = tables.as_array().unwrap().iter();
        let view = kinds.filter(|t| t["name"] == "zdm" && t["kind"] == "view");
        assert_eq!(view.count(), 1, "{tables}");
        for path in ["/api/tables?db=ro_look", "/api/databases"] {
            assert_eq!(client.get(path).status(), 200);
        }
        assert_eq!(state(), before);
        let one = client.post("/api/query", &json!({"sql": "SELECT 1"}));
        assert_eq!(one.status(), 200);
    }
    assert_eq!(answers[0], answers[1]);
    let create = answers[0]["create_statement"].as_str().unwrap();
    assert!(
        create.starts_with("CREATE ") && create.contains("VIEW `ro_look`.`zdm` AS select repeat("),
        "{create}"
    );
    let note = answers[0]["note"].as_str().unwrap();
    assert!(note.contains("would write"), "{note}");
    let table = client.get("/api/schema?db=ro_look&table=t").data();
    assert_eq!(
        (&table["note"], table["columns"].as_array().unwrap().len()),
        (&Value::Null, 2)
    );
    assert_eq!(state(), before);
}

/// MySQL ends a database's name at a NUL, so the look for functions in it would go by another name.
#[test]
fn no_name_may_hold_a_nul() {
    let db = database("ro_nul");
    for mode in [&["--readonly"][..], &[]] {
        let postern = Postern::on(db, mode);
        let mut client = postern.client();
        for (field, other) in [("db", "session"), ("session", "db"), ("query_id", "db")] {
            let answer = client.post(
                "/api/query",
                &json!({"sql": "SELECT 1", field: "ro_nul\0", other: "ro_nul"}),
            );
            assert_eq!(answer.status(), 400, "{field}: {}", answer.text());
            assert!(answer.text().contains("NUL character"), "{}", answer.text());
        }
        for path in [
            "/api/tables?db=ro_nul%00",
            "/api/tables?db=ro_nul%00&detail=1",
            "/api/schema?db=ro_nul%00&table=t",
            "/api/schema?db=ro_nul&table=t%00",
        ] {
            let answer = client.get(path);
            assert_eq!(answer.status(), 400, "{path}: {}", answer.text());
        }
    }
}

/// MySQL took the older name out.
fn read_only_variable(db: &Database) -> &'static str {
    match db.kind() {
        Kind::MariaDb => "tx_read_only",
        Kind::MySql => "transaction_read_only",
    }
}

/// A view's function that makes the session writable must not do so for the view that the same statement opens next.
#[test]
fn a_function_cannot_make_the_session_writable() {
    let db = database("ro_unlock");
    db.exec(&format!(
        "USE ro_unlock; CREATE TABLE log (m VARCHAR(80)); \
         CREATE FUNCTION unlock_(i INT) RETURNS INT DETERMINISTIC BEGIN SET SESSION {} = 0; RETURN 1; END; \
         CREATE FUNCTION put(i INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO log VALUES ('x'); RETURN 2; END",
        read_only_variable(db)
    ));
    db.exec("USE ro_unlock; CREATE OR REPLACE VIEW vset AS SELECT ROUND(1.2345, unlock_(1)) AS a");
    db.exec("USE ro_unlock; CREATE OR REPLACE VIEW vset2 AS SELECT ROUND(1.2345, unlock_(1)) AS a");
    db.exec("USE ro_unlock; CREATE OR REPLACE VIEW vsput AS SELECT ROUND(1.2345, put(1)) AS a");
    // Made where they run, so the log is emptied after it.
    db.exec("TRUNCATE ro_unlock.log");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    for sql in [
        "SELECT * FROM vset, vsput",
        "SELECT * FROM vset UNION ALL SELECT * FROM vsput",
        "EXPLAIN SELECT * FROM vset, vsput",
        "SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'ro_unlock'",
        "SHOW TABLE STATUS",
    ] {
        let (status, body) = ask(&mut client, "ro_unlock", sql);
        assert!(matches!(status, 200 | 403), "{sql}: {body}");
        assert_eq!(
            db.value("SELECT COUNT(*) FROM ro_unlock.log"),
            "0",
            "{sql}: {body}"
        );
    }
    for path in [
        "/api/tables?db=ro_unlock&detail=1",
        "/api/schema?db=ro_unlock&table=vset",
        "/api/schema?db=ro_unlock&table=vsput",
        "/api/tables?db=ro_unlock&detail=1",
    ] {
        assert_eq!(client.get(path).status(), 200, "{path}");
        assert_eq!(
            db.value("SELECT COUNT(*) FROM ro_unlock.log"),
            "0",
            "{path}"
        );
    }
}

/// The read-only transaction around a statement ends with it: nothing waits for the connection that goes idle.
#[test]
fn no_transaction_stays_after_an_answer() {
    let db = database("ro_idle");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    for sql in ["SELECT * FROM t", "SELECT * FROM t, nowhere", "DESC t"] {
        ask(&mut client, "ro_idle", sql);
        for path in [
            "/api/tables?db=ro_idle&detail=1",
            "/api/schema?db=ro_idle&table=t",
        ] {
            assert_eq!(client.get(path).status(), 200, "{path}");
        }
        // Fails with "lock wait timeout" where a metadata lock is left.
        db.exec("SET lock_wait_timeout = 5; ALTER TABLE ro_idle.t COMMENT 'new'");
    }
}

/// A later server may take a name out that is built in today, as MySQL 9.6 did with `MD5`.
#[test]
fn a_called_name_that_somebody_has_made_a_function_of_is_refused() {
    let db = database("ro_taken");
    db.exec(
        "CREATE FUNCTION ro_taken.`Crc32`(a INT) RETURNS INT RETURN 1; \
         CREATE FUNCTION ro_taken.`granted_to_public`(a INT) RETURNS INT RETURN 1",
    );
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    for sql in [
        "SELECT CRC32('a')",
        "SELECT 1 FROM t WHERE v = crc32 ('a')",
        "EXPLAIN SELECT CRC32(1)",
        "SHOW TABLES WHERE CRC32('a')",
    ] {
        let (status, body) = ask(&mut client, "ro_taken", sql);
        let message = body["message"].as_str().unwrap_or_default();
        assert_eq!(status, 403, "{sql}: {body}");
        assert!(
            message.starts_with("read-only mode: function crc32")
                && message.contains("layer: connection"),
            "{message}"
        );
        assert_eq!(body["layer"], "connection");
    }
    // Elsewhere the name means the built-in one, and what calls nothing is not looked at.
    for (name, sql) in [
        ("ro_taken", "SELECT 'CRC32(1)', HEX('a'), 1 IN (1)"),
        ("mysql", "SELECT CRC32('a')"),
    ] {
        let (status, body) = ask(&mut client, name, sql);
        assert_eq!(status, 200, "{sql}: {body}");
    }
    let nowhere = client.post("/api/query", &json!({"sql": "SELECT CRC32('a')"}));
    assert_eq!(nowhere.status(), 200);
    // The database that USE chose counts, not the one that the session began in.
    let there = |client: &mut Client, sql: &str| {
        client
            .post("/api/query", &json!({"sql": sql, "session": "moving"}))
            .status()
    };
    assert_eq!(there(&mut client, "SELECT CRC32('a')"), 200);
    assert_eq!(there(&mut client, "USE ro_taken"), 200);
    assert_eq!(there(&mut client, "SELECT CRC32('a')"), 403);
}

#[test]
fn a_session_commits_each_statement_by_itself() {
    let db = Database::start(support::database::Options {
        args: vec!["--autocommit=0".into()],
        ..support::database::Options::default()
    });
    let postern = Postern::on(&db, &["--readonly"]);
    let mut client = postern.client();
    let (status, body) = ask(&mut client, "mysql", "SELECT @@session.autocommit AS a");
    assert_eq!((status, &body["data"]["rows"][0]["a"]), (200, &json!(1)));
}

/// Constructs that end MariaDB 10.11 and 11.8 from 3,600 levels on.
#[test]
fn no_expression_is_deep_enough_to_end_the_server() {
    // One of its own, since its end would end the other tests.
    let db = &Database::start(support::database::Options::default());
    db.exec("CREATE DATABASE ro_deep; CREATE TABLE ro_deep.t (id INT); INSERT INTO ro_deep.t VALUES (1)");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let alive = |db: &Database| db.value("SELECT 1") == "1";
    for depth in [240, 990, 6_000, 100_000] {
        for sql in [
            format!("SELECT {}1{}", "(".repeat(depth), ",1)".repeat(depth)),
            format!("SELECT id FROM t ORDER BY id{}", "+id".repeat(depth)),
            format!("SELECT id FROM t ORDER BY {}id", "- ".repeat(depth)),
            format!(
                "SELECT {}1{}",
                "SUM(".repeat(depth),
                ") OVER ()".repeat(depth)
            ),
            format!("SELECT EXTRACTVALUE('<a/>', '{}1')", "-".repeat(depth)),
            format!("SELECT EXTRACTVALUE('<a/>', CONCAT(REPEAT('-', {depth}), '1'))"),
        ] {
            let (status, body) = ask(&mut client, "ro_deep", &sql);
            let shown: String = sql.chars().take(60).collect();
            assert!(matches!(status, 200 | 400 | 403), "{shown} {depth}: {body}");
            assert!(alive(db), "{shown} {depth} ended the server");
            // MySQL looks at its stack itself: what it may be asked, it refuses.
            if depth > 1_000 && db.kind() == Kind::MariaDb {
                assert_eq!((status, &body["layer"]), (403, &json!("gate")), "{shown}");
            }
        }
    }
}

/// Collections within each other that a statement makes from 9 bytes each: 5,000 end MariaDB 10.11 and 11.8.
#[test]
fn no_geometry_is_deep_enough_to_end_the_server() {
    // One of its own, since its end would end the other tests.
    let db = &Database::start(support::database::Options::default());
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let point = "0101000000000000000000f03f000000000000f03f";
    let made = format!("CONCAT(X'00000000', REPEAT(X'010700000001000000', 20000), X'{point}')");
    let literal = format!("X'00000000{}{point}'", "010700000001000000".repeat(20_000));
    let collections =
        |g: &str| format!("{}{g}{}", "GEOMETRYCOLLECTION(".repeat(99), ")".repeat(99));
    let chain: Vec<String> = (1..80)
        .map(|n| format!("c{n} AS (SELECT {} g FROM c{})", collections("g"), n - 1))
        .collect();
    for (sql, status) in [
        (format!("SELECT ST_DIMENSION({made})"), 403),
        (format!("SELECT ST_ASTEXT({literal})"), 403),
        (format!("SELECT ST_AREA(g) FROM (SELECT {made} g) d"), 403),
        (format!("SELECT {made} g HAVING ST_AREA(g) > 0"), 403),
        (format!("SELECT {made} g ORDER BY ST_AREA(g)"), 403),
        (format!("SELECT @a := {made}, ST_AREA(@a)"), 403),
        (
            format!(
                "WITH c0 AS (SELECT POINT(1,1) g), {} SELECT ST_ASTEXT(g) FROM c79",
                chain.join(", ")
            ),
            403,
        ),
        (
            format!(
                "WITH RECURSIVE c AS (SELECT POINT(1,1) g, 1 n UNION ALL SELECT {}, n + 1 FROM c WHERE n < 200) SELECT ST_AREA(g) FROM c",
                collections("g")
            ),
            403,
        ),
        (format!("SELECT ST_ASTEXT({})", collections("POINT(1,1)")), 200),
        (
            "SELECT ST_GEOMFROMTEXT(CONCAT(REPEAT('GEOMETRYCOLLECTION(', 200000), 'POINT(1 1)', REPEAT(')', 200000)))"
                .into(),
            400,
        ),
        ("SELECT ST_X(ST_GEOMFROMTEXT(CONCAT('POINT(', 1, ' ', 2, ')')))".into(), 200),
    ] {
        let (got, body) = ask(&mut client, "mysql", &sql);
        let shown: String = sql.chars().take(60).collect();
        assert_eq!(db.value("SELECT 1"), "1", "{shown} ended the server");
        // MySQL looks at its stack itself and may be asked.
        if status != 403 || db.kind() == Kind::MariaDb {
            assert_eq!(got, status, "{shown}: {body}");
        }
    }
}

#[test]
fn too_many_columns_are_told_as_that() {
    let postern = Postern::on(Database::shared(), &["--readonly"]);
    let mut client = postern.client();
    for more in [0, 1, 300] {
        let sql = format!("SELECT 1{}", ",1".repeat(65_535 + more));
        let (status, body) = ask(&mut client, "mysql", &sql);
        assert_eq!(status, 403, "{body}");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains("4,096 at most"), "{message}");
        let (status, _) = ask(&mut client, "mysql", "SELECT 1");
        assert_eq!(status, 200);
    }
}

mod on_mariadb {
    use super::*;

    /// The list of routines shows an account what it may run, but not by a grant on one function to everybody.
    #[test]
    fn a_function_granted_to_everybody_is_found_by_an_account_that_cannot_list_it() {
        let db = Database::start(support::database::Options::default());
        db.exec("CREATE DATABASE pub");
        db.exec("CREATE FUNCTION pub.md5(a INT) RETURNS INT RETURN 1");
        db.exec("GRANT EXECUTE ON FUNCTION pub.md5 TO PUBLIC");
        let reader = support::database::READER;
        db.exec(&format!(
            "REVOKE ALL ON *.* FROM {reader}@'%'; GRANT SELECT ON pub.* TO {reader}@'%'"
        ));
        let postern = at(&db.target(), reader);
        let mut client = postern.client();
        let (status, body) = ask(&mut client, "pub", "SELECT MD5('a')");
        assert_eq!(status, 403, "{body}");
        let (status, body) = ask(&mut client, "pub", "SELECT SHA1('a')");
        assert_eq!(status, 200, "{body}");
    }
}
