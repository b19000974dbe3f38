//! Answers to a query: members, limits, failures, several results.

use serde_json::json;

use super::{count, database, post};
use support::database::Kind;
use support::http::Client;
use support::postern::Postern;

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
    let five = db.numbers(5);
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let ask = |client: &mut Client, limit: u64| {
        let body =
            json!({"sql": format!("SELECT seq FROM {five}"), "db": "api_limit", "limit": limit});
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
}

#[test]
fn a_statement_that_writes_is_not_cut_short() {
    let db = database("api_uncut");
    let fifty = db.numbers(50);
    db.exec(&format!(
        "CREATE PROCEDURE api_uncut.p() BEGIN SELECT seq FROM {fifty}; INSERT INTO t (v) SELECT seq FROM {fifty}; END"
    ));
    let mut statements = vec!["CALL p()".to_owned()];
    if db.kind() == Kind::MariaDb {
        statements.push(format!(
            "INSERT INTO t (v) SELECT seq FROM {fifty} RETURNING id"
        ));
    }
    let postern = Postern::on(db, &[]);
    for (n, sql) in statements.iter().enumerate() {
        let body = json!({"sql": sql, "db": "api_uncut", "limit": 3});
        let data = postern.client().post("/api/query", &body).data();
        let told = (&data["count"], &data["truncated"]);
        assert_eq!(told, (&json!(3), &json!(true)), "{sql}");
        let rows = u64::try_from(n).unwrap() * 50 + 53;
        assert_eq!(count(db, "SELECT COUNT(*) FROM api_uncut.t"), rows, "{sql}");
    }
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
    // The connection still works.
    assert_eq!(
        client.query_ok("api_errors", "SELECT 1 AS x")["rows"][0]["x"],
        1
    );
}

#[test]
fn a_failure_after_rows_ends_the_same_document() {
    let db = database("api_late");
    let postern = Postern::on(db, &[]);
    let rows = db.numbers(100_000);
    let sql = format!("SELECT seq, IF(seq < 50000, 1, (SELECT 1 UNION SELECT 2)) AS x FROM {rows}");
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
        "CREATE FUNCTION api_early.fails() RETURNS INT NO SQL BEGIN SIGNAL SQLSTATE '45000'; RETURN 1; END",
    );
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut cases = vec![
        ("SELECT fails() AS x", "45000"),
        ("SELECT (SELECT id FROM t) AS x", "21000"),
    ];
    if db.kind() == Kind::MariaDb {
        cases.push(("INSERT INTO t (id) VALUES (1) RETURNING id, v", "23000"));
    }
    for (sql, sqlstate) in cases {
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
fn a_procedure_returns_all_its_results() {
    let db = database("api_call");
    db.exec("CREATE PROCEDURE api_call.p() BEGIN SELECT id FROM api_call.t; SELECT 'b' AS x, 2 AS y; INSERT INTO api_call.t (v) VALUES ('p'); END");
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
fn large_cells_arrive_whole() {
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
