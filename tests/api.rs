//! The database web client's HTTP API, through the real binary on a real MariaDB.

#![allow(missing_docs)]

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::http::Client;
use support::mariadb::MariaDb;
use support::postern::Postern;
use support::wait_until;

const SOON: Duration = Duration::from_secs(5);

/// A database of one's own on the shared server.
fn database(name: &str) -> &'static MariaDb {
    let db = MariaDb::shared();
    db.exec(&format!(
        "CREATE DATABASE IF NOT EXISTS {name}; CREATE OR REPLACE TABLE {name}.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20)); \
         INSERT INTO {name}.t (v) VALUES ('one'), ('two'), ('three')"
    ));
    db
}

fn post(client: &mut Client, path: &str, body: Value) -> (u16, Value) {
    let answer = client.post(path, &body);
    (answer.status(), answer.json())
}

fn count(db: &MariaDb, sql: &str) -> u64 {
    db.value(sql).parse().expect("a count")
}

#[test]
fn an_answer_has_the_specified_members_and_code_comes_last() {
    let db = database("api_shape");
    let postern = Postern::on(db, &[]);
    let answer = postern.client().post(
        "/api/query",
        &json!({"sql": "SELECT id, v FROM t ORDER BY id", "db": "api_shape"}),
    );
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(
        answer.text().ends_with(r#","code":200}"#),
        "{}",
        answer.text()
    );
    let data = answer.data();
    assert_eq!(data["columns"], json!(["id", "v"]));
    assert_eq!(data["types"], json!(["INT", "VARCHAR"]));
    assert_eq!(data["rows"][1], json!({"id": 2, "v": "two"}));
    assert_eq!(data["count"], 3);
    assert_eq!(data["truncated"], false);
    let duration = data["duration"].as_str().unwrap();
    let number: f64 = duration.strip_suffix("ms").unwrap().parse().unwrap();
    assert!(number > 0.0, "{duration}");
}

#[test]
fn statements_without_rows_tell_what_they_did() {
    let db = database("api_norows");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let data = client.query_ok("api_norows", "INSERT INTO t (v) VALUES ('a'), ('b')");
    assert_eq!(data["affected_rows"], 2);
    assert_eq!(data["last_insert_id"], 4);
    assert_eq!(
        (&data["columns"], &data["rows"], &data["count"]),
        (&json!([]), &json!([]), &json!(0))
    );
    let empty = client.query_ok("api_norows", "SELECT v FROM t WHERE id < 0");
    assert_eq!(
        (&empty["columns"], &empty["rows"], &empty["count"]),
        (&json!(["v"]), &json!([]), &json!(0))
    );
    let warned = client.query_ok("api_norows", "SELECT 1/0 AS x");
    assert_eq!(warned["warnings"][0]["code"], 1365);
    assert_eq!(warned["warnings"][0]["level"], "Warning");
}

#[test]
fn a_limit_cuts_and_says_so() {
    let db = database("api_limit");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let ask = |client: &mut Client, limit: u64| {
        let body = json!({"sql": "SELECT seq FROM seq_1_to_5", "db": "api_limit", "limit": limit});
        client.post("/api/query", &body).data()
    };
    let cut = ask(&mut client, 2);
    assert_eq!(
        (&cut["count"], &cut["truncated"]),
        (&json!(2), &json!(true))
    );
    let exact = ask(&mut client, 5);
    assert_eq!(
        (&exact["count"], &exact["truncated"]),
        (&json!(5), &json!(false))
    );
    let none = ask(&mut client, 0);
    assert_eq!(
        (&none["count"], &none["truncated"]),
        (&json!(0), &json!(true))
    );
    let data = client
        .post("/api/query", &json!({"sql": "INSERT INTO t (v) SELECT seq FROM seq_1_to_50 RETURNING id", "db": "api_limit", "limit": 3}))
        .data();
    assert_eq!(
        (&data["count"], &data["truncated"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(
        count(db, "SELECT COUNT(*) FROM api_limit.t"),
        53,
        "a statement that writes is not cut short"
    );
}

#[test]
fn failures_carry_errno_and_sqlstate() {
    let db = database("api_errors");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let (status, body) = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT * FROM nowhere", "db": "api_errors"}),
    );
    assert_eq!(status, 400);
    assert_eq!(body["code"], 400);
    assert_eq!(body["error"], json!({"errno": 1146, "sqlstate": "42S02"}));
    assert_eq!(body["message"], "Table 'api_errors.nowhere' doesn't exist");
    let (status, body) = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT 1", "db": "no_such_db"}),
    );
    assert_eq!((status, &body["error"]["errno"]), (400, &json!(1049)));
    // The same connection goes on.
    assert_eq!(
        client.query_ok("api_errors", "SELECT 1 AS x")["rows"][0]["x"],
        1
    );
}

#[test]
fn a_failure_after_rows_ends_the_same_document() {
    let db = database("api_late");
    let postern = Postern::on(db, &[]);
    let sql = "SELECT seq, IF(seq < 50000, 1, (SELECT 1 UNION SELECT 2)) AS x FROM seq_1_to_100000";
    let answer = postern
        .client()
        .post("/api/query", &json!({"sql": sql, "db": "api_late"}));
    assert_eq!(answer.status(), 200);
    let body = answer.json();
    assert_eq!(body["code"], 400);
    assert_eq!(body["error"]["errno"], 1242);
    let rows = body["data"]["rows"].as_array().unwrap();
    assert_eq!(body["data"]["count"], rows.len());
    assert!(rows.len() > 1000 && rows.len() < 50_000, "{}", rows.len());
}

/// The server sends the columns of these before it evaluates anything.
#[test]
fn a_failure_before_the_first_row_has_a_status_of_its_own() {
    let db = database("api_early");
    db.exec(
        "CREATE OR REPLACE FUNCTION api_early.fails() RETURNS INT NO SQL BEGIN SIGNAL SQLSTATE '45000'; RETURN 1; END",
    );
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    for (sql, sqlstate) in [
        ("INSERT INTO t (id) VALUES (1) RETURNING id, v", "23000"),
        ("SELECT fails() AS x", "45000"),
        ("SELECT (SELECT id FROM t) AS x", "21000"),
    ] {
        let (status, body) = post(
            &mut client,
            "/api/query",
            json!({"sql": sql, "db": "api_early"}),
        );
        assert_eq!((status, &body["code"]), (400, &json!(400)), "{sql}: {body}");
        assert_eq!(body["error"]["sqlstate"], sqlstate, "{body}");
        assert!(body.get("data").is_none(), "{body}");
    }
}

#[test]
fn wrong_requests_name_every_wrong_field() {
    let db = database("api_wrong");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let (status, body) = post(
        &mut client,
        "/api/query",
        json!({"db": 7, "limit": -1, "query_id": "x".repeat(200)}),
    );
    assert_eq!(status, 400);
    let message = body["message"].as_str().unwrap();
    for field in ["'sql'", "'db'", "'limit'", "'query_id'"] {
        assert!(message.contains(field), "{message}");
    }
    for (sql, part) in [
        ("", "'sql'"),
        (" ; -- nothing\n", "no statement"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1;\0", "NUL"),
    ] {
        let (status, body) = post(&mut client, "/api/query", json!({"sql": sql}));
        assert_eq!(status, 400, "{sql:?}");
        assert!(body["message"].as_str().unwrap().contains(part), "{body}");
    }
    let raw = client.send(
        "POST",
        "/api/query",
        &[("Content-Type", "text/plain")],
        br#"{"sql":"SELECT 1"}"#,
    );
    assert_eq!(raw.status(), 415);
    let raw = client.send(
        "POST",
        "/api/query",
        &[("Content-Type", "application/json")],
        b"{\"sql\":",
    );
    assert_eq!(raw.status(), 400);
    assert_eq!(client.get("/api/query").status(), 405);
    assert_eq!(client.get("/api/query").header("allow"), Some("POST"));
    assert_eq!(client.get("/api/nothing").status(), 404);
    let missing = client.get("/api/schema?db=&x=1");
    assert_eq!(missing.status(), 400);
    let text = missing.json()["message"].to_string();
    assert!(text.contains("'db'") && text.contains("'table'"), "{text}");
}

#[test]
fn one_statement_is_counted_as_the_session_reads_it() {
    let db = database("api_modes");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        let body = json!({"sql": sql, "db": "api_modes", "session": "s"});
        post(&mut client, "/api/query", body).0
    };
    assert_eq!(run(r"SELECT 'a\'; SELECT 1 -- '"), 200);
    assert_eq!(run("SET sql_mode = 'NO_BACKSLASH_ESCAPES'"), 200);
    assert_eq!(
        run(r"SELECT 'a\'; SELECT 1 -- '"),
        400,
        "two statements for this session"
    );
    assert_eq!(run(r"SELECT 'a\' AS x, ';' AS y"), 200);
    assert_eq!(
        run("CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END"),
        200
    );
}

#[test]
fn a_session_keeps_its_connection_and_no_other_sees_it() {
    let db = database("api_session");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |session: &str, sql: &str| {
        let body = json!({"sql": sql, "db": "api_session", "session": session});
        post(&mut client, "/api/query", body)
    };
    assert_eq!(run("a", "CREATE TEMPORARY TABLE tmp (x INT)").0, 200);
    assert_eq!(run("a", "INSERT INTO tmp VALUES (7)").0, 200);
    assert_eq!(run("a", "SET @mine = 'yes'").0, 200);
    assert_eq!(
        run("a", "SELECT x, @mine AS m FROM tmp").1["data"]["rows"][0],
        json!({"x": 7, "m": "yes"})
    );
    assert_eq!(run("b", "SELECT x FROM tmp").1["error"]["errno"], 1146);
    assert_eq!(
        run("", "SELECT @mine AS m").1["data"]["rows"][0]["m"],
        Value::Null
    );
    // An unknown database is an error of one statement, not the end of the session.
    assert_eq!(
        post(
            &mut postern.client(),
            "/api/query",
            json!({"sql": "SELECT 1", "db": "nope", "session": "a"})
        )
        .0,
        400
    );
    assert_eq!(run("a", "SELECT x FROM tmp").0, 200);
}

#[test]
fn closing_a_session_rolls_back_and_stops_its_statement() {
    let db = database("api_close");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let in_session = |sql: &str| json!({"sql": sql, "db": "api_close", "session": "tab"});
    assert_eq!(post(&mut client, "/api/query", in_session("BEGIN")).0, 200);
    assert_eq!(
        post(&mut client, "/api/query", in_session("DELETE FROM t")).0,
        200
    );
    assert_eq!(count(db, "SELECT COUNT(*) FROM api_close.t"), 3);
    let mut other = postern.client();
    let waiting = std::thread::spawn(move || {
        let body =
            json!({"sql": "SELECT SLEEP(60) AS close_me", "db": "api_close", "session": "tab"});
        post(&mut other, "/api/query", body)
    });
    wait_until(SOON, "the statement runs", || db.running("close_me") == 1);
    assert_eq!(
        post(&mut client, "/api/session/close", json!({"session": "tab"})).0,
        200
    );
    let (status, body) = waiting.join().unwrap();
    assert_eq!(status, 400, "{body}");
    wait_until(SOON, "the transaction is rolled back", || {
        count(
            db,
            "SELECT COUNT(*) FROM information_schema.INNODB_TRX JOIN information_schema.PROCESSLIST ON ID = trx_mysql_thread_id WHERE DB = 'api_close'",
        ) == 0
    });
    assert_eq!(count(db, "SELECT COUNT(*) FROM api_close.t"), 3);
    assert_eq!(
        post(&mut client, "/api/query", in_session("SELECT 1")).0,
        200
    );
}

/// Statements outside a session have the empty id inside, which nobody may name.
#[test]
fn an_empty_session_or_query_id_names_nothing() {
    let db = database("api_empty_id");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let runs = std::thread::spawn({
        let mut client = postern.client();
        move || client.query_ok("api_empty_id", "SELECT SLEEP(1) AS outside_a_session")
    });
    wait_until(SOON, "the statement runs", || {
        db.running("outside_a_session") == 1
    });
    for (path, field) in [
        ("/api/session/close", "session"),
        ("/api/cancel", "query_id"),
    ] {
        let (status, body) = post(&mut client, path, json!({field: ""}));
        assert_eq!(status, 400, "{body}");
        assert_eq!(body["message"], format!("'{field}' must not be empty"));
    }
    let data = runs.join().unwrap();
    assert_eq!(data["rows"][0]["outside_a_session"], 0);
}

/// The connection goes on to serve others: what comes next must not run in a database that somebody else chose.
#[test]
fn a_use_outside_a_session_ends_with_its_request() {
    let postern = Postern::on(database("api_use"), &[]);
    let mut client = postern.client();
    let mut ask = |sql: &str| post(&mut client, "/api/query", json!({"sql": sql})).1;
    for _ in 0..4 {
        assert_eq!(ask("USE api_use")["code"], 200);
        let data = &ask("SELECT DATABASE() AS d")["data"];
        assert_eq!(data["rows"][0]["d"], Value::Null);
    }
}

/// Nothing of ours comes between two statements of a session in one database.
#[test]
fn a_session_sees_the_row_count_of_its_statement_before() {
    let postern = Postern::on(database("api_row_count"), &[]);
    let mut client = postern.client();
    let mut ask = |sql: &str, db: &str| {
        let body = json!({"sql": sql, "db": db, "session": "s"});
        let (status, body) = post(&mut client, "/api/query", body);
        assert_eq!(status, 200, "{sql}: {body}");
        body.pointer("/data/rows/0/x").cloned().unwrap_or_default()
    };
    ask("UPDATE t SET v = 'new'", "api_row_count");
    assert_eq!(ask("SELECT ROW_COUNT() AS x", "api_row_count"), 3);
    // The database that is asked for holds, whatever the session did itself.
    for moving in ["USE mysql", "PREPARE p FROM 'USE mysql'", "EXECUTE p"] {
        ask(moving, "api_row_count");
        let now = ask("SELECT DATABASE() AS x", "api_row_count");
        assert_eq!(now, "api_row_count", "after {moving}");
    }
    assert_eq!(ask("SELECT DATABASE() AS x", "mysql"), "mysql");
    assert_eq!(ask("SELECT COUNT(*) AS x FROM t", "api_row_count"), 3);
}

/// A role that is not the default one can be taken with `SET ROLE` at any time.
#[test]
fn can_write_counts_every_role_that_may_be_taken() {
    let db = database("api_roles");
    db.exec(
        "CREATE ROLE api_writer; GRANT INSERT ON api_roles.* TO api_writer; \
         CREATE ROLE api_middle; GRANT api_writer TO api_middle; \
         CREATE ROLE `api reader`; GRANT SELECT ON api_roles.* TO `api reader`; \
         CREATE USER api_r1@'%' IDENTIFIED BY 'pw'; GRANT api_writer TO api_r1@'%'; \
         CREATE USER api_r2@'%' IDENTIFIED BY 'pw'; GRANT api_middle TO api_r2@'%'; \
         CREATE USER api_r3@'%' IDENTIFIED BY 'pw'; GRANT `api reader` TO api_r3@'%'",
    );
    for (user, can_write) in [("api_r1", true), ("api_r2", true), ("api_r3", false)] {
        let account = [db.target(), "--db-user".into(), user.into()];
        let mut args: Vec<&str> = account.iter().map(String::as_str).collect();
        args.extend(["--db-pass", "pw", "--readonly"]);
        let postern = Postern::start(&args, &[]);
        let info = postern.client().get("/api/info").data();
        assert_eq!(info["can_write"], can_write, "{user}");
        // The look at the roles leaves nothing behind.
        let role = postern.client().query_ok("", "SELECT CURRENT_ROLE() AS x");
        assert_eq!(role["rows"][0]["x"], Value::Null, "{user}");
    }
}

#[test]
fn cancel_stops_the_statement_on_the_server() {
    let db = database("api_cancel");
    let postern = Postern::on(db, &[]);
    let mut other = postern.client();
    let started = Instant::now();
    let waiting = std::thread::spawn(move || {
        post(
            &mut other,
            "/api/query",
            json!({"sql": "SELECT SUM(SLEEP(60)) AS cancel_me FROM api_cancel.t", "query_id": "q1"}),
        )
    });
    wait_until(SOON, "the statement runs", || db.running("cancel_me") == 1);
    let mut client = postern.client();
    let (status, body) = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT 1", "query_id": "q1"}),
    );
    assert_eq!(status, 409, "{body}");
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "other"})).0,
        404
    );
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "q1"})).0,
        200
    );
    let (status, body) = waiting.join().unwrap();
    assert_eq!(status, 400);
    assert_eq!(body["error"], json!({"errno": 1317, "sqlstate": "70100"}));
    assert!(
        body["message"].as_str().unwrap().contains("cancelled"),
        "{body}"
    );
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(db.running("cancel_me"), 0);
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "q1"})).0,
        404
    );
}

#[test]
fn a_client_that_leaves_ends_its_statement() {
    let db = database("api_leave");
    let postern = Postern::on(db, &[]);
    // One that is silent, and one that is in the middle of its rows.
    let silent = json!({"sql": "SELECT SLEEP(60) AS leave_me"});
    let mut connection = support::http::Conn::open(postern.authority()).unwrap();
    let body = silent.to_string();
    let head = format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        postern.authority(),
        body.len()
    );
    connection.send_raw(head.as_bytes()).unwrap();
    wait_until(SOON, "the statement runs", || db.running("leave_me") == 1);
    drop(connection);
    wait_until(SOON, "the silent statement was stopped", || {
        db.running("leave_me") == 0
    });

    let sql =
        "SELECT REPEAT('x', 1000) AS leave_rows, a.seq FROM seq_1_to_100000 a, seq_1_to_1000 b";
    let stream = postern
        .client()
        .post_stream("/api/query", &json!({"sql": sql, "db": "api_leave"}));
    wait_until(SOON, "the rows flow", || db.running("leave_rows") == 1);
    stream.abandon();
    wait_until(SOON, "the flowing statement was stopped", || {
        db.running("leave_rows") == 0
    });
    assert!(
        postern.peak_rss_kib() < 40_000,
        "{} KiB",
        postern.peak_rss_kib()
    );
}

#[test]
fn the_time_limit_ends_a_statement() {
    let db = database("api_timeout");
    let postern = Postern::on(db, &["--query-timeout", "1"]);
    let (status, body) = post(
        &mut postern.client(),
        "/api/query",
        json!({"sql": "SELECT SLEEP(30) AS limit_me"}),
    );
    assert_eq!(status, 504, "{body}");
    assert!(
        body["message"]
            .as_str()
            .unwrap()
            .contains("--query-timeout"),
        "{body}"
    );
    assert_eq!(db.running("limit_me"), 0);
}

#[test]
fn connections_are_capped_and_light_requests_answered_at_once() {
    let db = MariaDb::start(support::mariadb::Options::default());
    let postern = Postern::on(&db, &[]);
    let sleepers: Vec<_> = (0..32)
        .map(|i| {
            let mut client = postern.client();
            std::thread::spawn(move || {
                let body = json!({"sql": "SELECT SLEEP(60) AS capped", "query_id": i.to_string()});
                post(&mut client, "/api/query", body).0
            })
        })
        .collect();
    wait_until(Duration::from_secs(20), "all run", || {
        db.running("capped") == 32
    });
    let mut client = postern.client();
    let (status, body) = post(&mut client, "/api/query", json!({"sql": "SELECT 1"}));
    assert_eq!(status, 429, "{body}");
    assert!(body["message"].as_str().unwrap().contains("32"), "{body}");
    let started = Instant::now();
    assert_eq!(client.get("/api/info").status(), 200);
    assert!(
        started.elapsed() < Duration::from_millis(500),
        "{:?}",
        started.elapsed()
    );
    for i in 0..32 {
        assert_eq!(
            post(
                &mut client,
                "/api/cancel",
                json!({"query_id": i.to_string()})
            )
            .0,
            200
        );
    }
    for sleeper in sleepers {
        assert_eq!(sleeper.join().unwrap(), 400);
    }
    assert_eq!(
        post(&mut client, "/api/query", json!({"sql": "SELECT 1"})).0,
        200
    );
}

#[test]
fn a_procedure_returns_all_its_results() {
    let db = database("api_call");
    db.exec("CREATE OR REPLACE PROCEDURE api_call.p() BEGIN SELECT id FROM api_call.t; SELECT 'b' AS x, 2 AS y; INSERT INTO api_call.t (v) VALUES ('p'); END");
    let postern = Postern::on(db, &[]);
    let data = postern.client().query_ok("api_call", "CALL p()");
    assert_eq!(data["columns"], json!(["id"]));
    assert_eq!(data["count"], 3);
    let results = data["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["rows"], data["rows"]);
    assert_eq!(results[1]["rows"], json!([{"x": "b", "y": 2}]));
    assert_eq!(results[1]["columns"], json!(["x", "y"]));
    assert_eq!(data["affected_rows"], 1);
    let one = postern.client().query_ok("api_call", "SELECT 1");
    assert!(one.get("results").is_none());
}

#[test]
fn a_lost_connection_is_made_again_and_no_statement_twice() {
    let db = database("api_lost");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut other = postern.client();
    let waiting = std::thread::spawn(move || {
        let body = json!({"sql": "SELECT SLEEP(60) AS lose_me", "session": "s"});
        post(&mut other, "/api/query", body)
    });
    wait_until(SOON, "the statement runs", || db.running("lose_me") == 1);
    let id = count(
        db,
        "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%lose_me%' AND INFO NOT LIKE '%PROCESSLIST%' AND COMMAND = 'Query'",
    );
    db.exec(&format!("KILL {id}"));
    let (status, body) = waiting.join().unwrap();
    assert_eq!(status, 502, "{body}");
    assert!(
        body["message"].as_str().unwrap().contains("not repeated"),
        "{body}"
    );
    let again = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT 1", "session": "s"}),
    );
    assert_eq!(again.0, 200, "{}", again.1);
}

#[test]
fn exports_are_whole_and_faithful() {
    let db = database("api_export");
    db.exec(
        "CREATE OR REPLACE TABLE api_export.x (a INT, b VARCHAR(50), c DECIMAL(10,3), d VARBINARY(4)); \
         INSERT INTO api_export.x VALUES (1, 'plain', 1.500, X'00ff'), (2, 'comma, \"quote\"', NULL, NULL), (NULL, '', 0, X''), (4, 'line\nend', -1, X'41')",
    );
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let ask = json!({"sql": "SELECT * FROM x", "db": "api_export"});
    let csv = client.post("/api/export", &ask);
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(
        csv.header("content-disposition"),
        Some("attachment; filename=\"api_export.csv\"")
    );
    assert_eq!(
        csv.text(),
        "a,b,c,d\r\n1,plain,1.500,0x00FF\r\n2,\"comma, \"\"quote\"\"\",,\r\n,\"\",0.000,0x\r\n4,\"line\nend\",-1.000,0x41\r\n"
    );
    let bare = client.post("/api/export", &json!({"sql": "SELECT a FROM x", "db": "api_export", "header": false, "bom": true, "null": "\\N"}));
    assert_eq!(bare.text(), "\u{feff}1\r\n2\r\n\\N\r\n4\r\n");
    let lines = client.post(
        "/api/export",
        &json!({"sql": "SELECT a, a, b FROM x LIMIT 2", "db": "api_export", "format": "jsonl"}),
    );
    assert_eq!(
        lines.text(),
        "{\"a\":1,\"a_2\":1,\"b\":\"plain\"}\n{\"a\":2,\"a_2\":2,\"b\":\"comma, \\\"quote\\\"\"}\n"
    );
    let none = client.post(
        "/api/export",
        &json!({"sql": "SELECT a FROM x WHERE 0", "db": "api_export", "header": false}),
    );
    assert_eq!((none.status(), none.text()), (200, ""));
    let (status, body) = post(
        &mut client,
        "/api/export",
        json!({"sql": "SELECT * FROM nowhere", "db": "api_export"}),
    );
    assert_eq!((status, &body["error"]["errno"]), (400, &json!(1146)));
    assert_eq!(
        post(
            &mut client,
            "/api/export",
            json!({"sql": "SELECT 1", "format": "xml", "bom": 1})
        )
        .0,
        400
    );
}

#[test]
fn an_export_that_fails_late_is_seen_to_fail() {
    let db = database("api_export_late");
    let postern = Postern::on(db, &[]);
    let sql = "SELECT seq, IF(seq < 90000, REPEAT('x', 50), (SELECT 1 UNION SELECT 2)) FROM seq_1_to_100000";
    let stream = postern
        .client()
        .post_stream("/api/export", &json!({"sql": sql, "db": "api_export_late"}));
    assert_eq!(stream.head.status, 200);
    let error = stream
        .finish()
        .err()
        .expect("the transfer must not end cleanly");
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{error}");
}

#[test]
fn a_ticket_is_good_for_one_download() {
    let db = database("api_ticket");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let body = json!({"sql": "SELECT id FROM t ORDER BY id", "db": "api_ticket", "ticket": true});
    let ticket = client.post("/api/export", &body).data()["ticket"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(ticket.len() >= 32);
    // A look at the link neither runs the statement nor uses the ticket up.
    let look = client.send("HEAD", &format!("/api/export/{ticket}"), &[], b"");
    assert_eq!((look.status(), look.header("allow")), (405, Some("GET")));
    let download = client.get(&format!("/api/export/{ticket}"));
    assert_eq!(download.text(), "id\r\n1\r\n2\r\n3\r\n");
    assert_eq!(client.get(&format!("/api/export/{ticket}")).status(), 404);
    assert_eq!(client.get("/api/export/0000").status(), 404);
}

#[test]
fn catalogue() {
    let db = database("api_cat");
    db.exec(
        "CREATE OR REPLACE TABLE api_cat.child (id INT PRIMARY KEY, t_id INT NOT NULL COMMENT 'the parent', note TEXT, \
         UNIQUE KEY u (t_id, note(10)), CONSTRAINT fk FOREIGN KEY (t_id) REFERENCES t (id) ON DELETE CASCADE) COMMENT='kids'; \
         CREATE OR REPLACE VIEW api_cat.v AS SELECT 1 AS x; CREATE OR REPLACE SEQUENCE api_cat.s; \
         CREATE OR REPLACE TABLE api_cat.`odd ``name'\"` (`a b` INT); CREATE DATABASE IF NOT EXISTS api_cat_empty",
    );
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let databases = client.get("/api/databases").data();
    assert!(databases.as_array().unwrap().contains(&json!("api_cat")));
    let names = client.get("/api/tables?db=api_cat").data();
    assert_eq!(names, json!(["child", "odd `name'\"", "s", "t", "v"]));
    assert_eq!(
        client.get("/api/tables?db=api_cat_empty&detail=1").data(),
        json!([])
    );
    let detail = client.get("/api/tables?db=api_cat&detail=1").data();
    let kinds: Vec<&str> = detail
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["table", "table", "sequence", "table", "view"]);
    assert_eq!(detail[0]["comment"], "kids");
    assert!(detail[0]["bytes"].as_u64().unwrap() > 0);
    let schema = client.get("/api/schema?db=api_cat&table=child").data();
    assert_eq!(schema["columns"][1]["comment"], "the parent");
    assert_eq!(schema["columns"][1]["nullable"], false);
    assert_eq!(schema["columns"][0]["key"], "PRI");
    let unique = schema["indexes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|i| i["name"] == "u")
        .unwrap();
    assert_eq!(unique["columns"], json!(["t_id", "note(10)"]));
    assert_eq!(unique["unique"], true);
    assert_eq!(
        schema["foreign_keys"],
        json!([{"name": "fk", "columns": ["t_id"], "ref_db": "api_cat", "ref_table": "t", "ref_columns": ["id"], "on_update": "RESTRICT", "on_delete": "CASCADE"}])
    );
    assert!(
        schema["create_statement"]
            .as_str()
            .unwrap()
            .starts_with("CREATE TABLE `child`")
    );
    let odd = client
        .get("/api/schema?db=api_cat&table=odd%20%60name%27%22")
        .data();
    assert_eq!(odd["columns"][0]["name"], "a b");
    assert!(
        client.get("/api/schema?db=api_cat&table=v").data()["create_statement"]
            .as_str()
            .unwrap()
            .contains("VIEW")
    );
    for path in [
        "/api/tables?db=nope",
        "/api/tables?db=nope&detail=1",
        "/api/schema?db=api_cat&table=nope",
        "/api/schema?db=nope&table=t",
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status(), 404, "{path}: {}", answer.text());
    }
    let info = client.get("/api/info").data();
    assert_eq!(
        (&info["host"], &info["user"]),
        (&json!("127.0.0.1"), &json!("app"))
    );
    assert_eq!(
        (&info["readonly"], &info["mode"], &info["can_write"]),
        (&json!(false), &json!("read-write"), &json!(true))
    );
}

#[test]
fn large_cells_arrive_whole_and_memory_stays_flat() {
    let db = database("api_large");
    db.exec("SET GLOBAL max_allowed_packet = 67108864");
    let postern = Postern::on(db, &[]);
    let data = postern.client().query_ok(
        "",
        "SELECT REPEAT('ä', 8388608) AS text16, REPEAT(X'FF', 16777216) AS blob16",
    );
    assert_eq!(
        data["rows"][0]["text16"].as_str().unwrap().len(),
        16_777_216
    );
    assert_eq!(
        data["rows"][0]["blob16"].as_str().unwrap().len(),
        2 * 16_777_216 + 2
    );
}

#[test]
fn a_clean_end_within_two_seconds() {
    let db = database("api_end");
    const STATEMENTS: usize = 32;
    let mut postern = Postern::on(db, &[]);
    for _ in 0..STATEMENTS {
        let mut client = postern.client();
        let _waiting = std::thread::spawn(move || {
            let _ = client.try_send(
                "POST",
                "/api/query",
                &[("Content-Type", "application/json")],
                br#"{"sql":"SELECT SLEEP(60) AS end_me"}"#,
            );
        });
    }
    wait_until(SOON, "the statements run", || {
        db.running("end_me") == STATEMENTS
    });
    let started = Instant::now();
    let status = postern.stop().expect("it ends by itself");
    assert_eq!(status.code(), Some(0));
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    wait_until(SOON, "nothing is left on the server", || {
        db.running("end_me") == 0
    });
}

#[test]
fn a_killed_statement_that_the_server_calls_a_success_is_told_apart() {
    let db = database("api_killed");
    let postern = Postern::on(db, &[]);
    let mut other = postern.client();
    let waiting = std::thread::spawn(move || {
        let sql = "SELECT BENCHMARK(2000000000, MD5('kill_bench')) AS b";
        post(
            &mut other,
            "/api/query",
            json!({"sql": sql, "query_id": "b"}),
        )
    });
    wait_until(SOON, "the statement runs", || db.running("kill_bench") == 1);
    let mut client = postern.client();
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "b"})).0,
        200
    );
    let (status, body) = waiting.join().unwrap();
    let noted = body["data"]["warnings"]
        .to_string()
        .contains("told to stop");
    assert!(status == 400 || noted, "{body}");
}
