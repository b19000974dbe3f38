//! Exports and their tickets.

use serde_json::json;

use super::{database, post};
use support::postern::Postern;

#[test]
fn exports_are_whole_and_faithful() {
    let db = database("api_export");
    db.exec(
        "CREATE TABLE api_export.x (a INT, b VARCHAR(50), c DECIMAL(10,3), d VARBINARY(4)); \
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
fn a_csv_has_the_signs_that_are_chosen() {
    let db = database("api_export_signs");
    db.exec(
        "CREATE TABLE api_export_signs.x (id INT, `a;b` VARCHAR(40), d DECIMAL(10,3), z DOUBLE(8,2) ZEROFILL, f FLOAT, t LONGTEXT, day DATETIME(2)); \
         INSERT INTO api_export_signs.x VALUES (1, '1,5', -1234.500, 1.5, 2.5e30, '10.11.6', '2024-02-29 01:02:03.45'), \
         (2, 'x;y', NULL, NULL, 0.5, NULL, NULL), (3, 'a\tb', 0.001, 2, NULL, CONCAT(REPEAT('1.5', 20000), ';'), NULL)",
    );
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut export = |asked: serde_json::Value| {
        let mut body = json!({"sql": "SELECT * FROM x ORDER BY id", "db": "api_export_signs"});
        let members = body.as_object_mut().unwrap();
        members.extend(asked.as_object().unwrap().clone());
        let answer = client.post("/api/export", &body);
        (answer.status(), answer.text().to_owned())
    };
    let long = "1.5".repeat(20000);
    assert_eq!(
        export(json!({"delimiter": ";", "decimal": ","})),
        (
            200,
            format!(
                "id;\"a;b\";d;z;f;t;day\r\n1;1,5;-1234,500;00001,50;2,5e30;10.11.6;2024-02-29 01:02:03.45\r\n\
             2;\"x;y\";;;0,5;;\r\n3;a\tb;0,001;00002,00;;\"{long};\";\r\n"
            )
        )
    );
    assert_eq!(
        export(json!({"delimiter": "tab", "decimal": ",", "header": false, "null": "0,5"})),
        (
            200,
            format!(
                "1\t1,5\t-1234,500\t00001,50\t2,5e30\t10.11.6\t2024-02-29 01:02:03.45\r\n\
             2\tx;y\t0,5\t0,5\t\"0,5\"\t0,5\t0,5\r\n3\t\"a\tb\"\t0,001\t00002,00\t0,5\t{long};\t0,5\r\n"
            )
        )
    );
    let one = json!({"sql": "SELECT d FROM x WHERE id = 3", "header": false, "delimiter": ";"});
    assert_eq!(export(one), (200, "0.001\r\n".to_owned()));
    for (asked, told) in [
        (
            json!({"decimal": ","}),
            "'delimiter' and 'decimal' cannot both be ','",
        ),
        (
            json!({"delimiter": ",", "decimal": ",", "format": "json"}),
            "'delimiter' and 'decimal' cannot both be ','",
        ),
        (
            json!({"delimiter": "|"}),
            "'delimiter' must be ',', ';' or 'tab'",
        ),
        (json!({"delimiter": "\t"}), "'delimiter' must be"),
        (
            json!({"decimal": "", "delimiter": ";"}),
            "'decimal' must be '.' or ','",
        ),
        (json!({"decimal": 1}), "'decimal' must be a string"),
        (
            json!({"delimiter": ";", "null": "a;b"}),
            "'null' must not contain the delimiter",
        ),
        (
            json!({"null": "\""}),
            "'null' must not contain the delimiter",
        ),
        (
            json!({"seperator": ";", "bom": true}),
            "'seperator' is not a known field",
        ),
        (
            json!({"ticket": true, "limit": 5}),
            "'limit' is not a known field",
        ),
    ] {
        let (status, body) = export(asked);
        assert_eq!(status, 400, "{body}");
        assert!(body.contains(told), "{told}: {body}");
    }
}

#[test]
fn json_of_all_rows_keeps_every_digit_and_nests_what_is_json() {
    let db = database("api_export_json");
    db.exec(
        "CREATE TABLE api_export_json.x (a BIGINT UNSIGNED, b DECIMAL(30,2), c DOUBLE, d JSON, e TEXT, f VARBINARY(4)); \
         INSERT INTO api_export_json.x VALUES (7, 1.50, 1.5, '{\"k\": [1.0, \"x\"]}', '{\\n  \"n\": 12345678901234567890.0\\n}', X'00ff'), \
         (18446744073709551615, NULL, NULL, NULL, '{broken', NULL)",
    );
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut export = |ask: serde_json::Value| {
        let mut body = json!({"sql": "SELECT * FROM x", "db": "api_export_json", "nested": ["d", "e"], "table": "x"});
        let members = body.as_object_mut().unwrap();
        members.extend(ask.as_object().unwrap().clone());
        client.post("/api/export", &body)
    };
    let lines = export(json!({"format": "jsonl"}));
    let first = r#"{"a":7,"b":"1.50","c":1.5,"d":{"k": [1.0, "x"]},"e":{  "n": 12345678901234567890.0},"f":"0x00FF"}"#;
    let second =
        r#"{"a":"18446744073709551615","b":null,"c":null,"d":null,"e":"{broken","f":null}"#;
    assert_eq!(lines.text(), format!("{first}\n{second}\n"));
    assert_eq!(
        lines.header("content-disposition"),
        Some("attachment; filename=\"api_export_json.x.jsonl\"")
    );
    let whole = export(json!({"format": "json"}));
    assert_eq!(whole.header("content-type"), Some("application/json"));
    assert_eq!(whole.text(), format!("[\n{first},\n{second}\n]\n"));
    let none = export(json!({"format": "json", "sql": "SELECT a FROM x WHERE 0"}));
    assert_eq!(none.text(), "[]\n");
    let wrong = export(json!({"nested": "d", "leave_out": [1]}));
    assert_eq!(wrong.status(), 400);
    assert!(
        wrong
            .text()
            .contains("'leave_out' must be a list of strings; 'nested' must"),
        "{}",
        wrong.text()
    );
}

#[test]
fn inserts_are_cut_so_that_any_server_takes_them() {
    let db = database("api_export_many");
    let postern = Postern::on(db, &[]);
    let rows = db.numbers(1200);
    let ask = json!({"sql": format!("SELECT seq FROM {rows}"), "format": "insert", "db": "api_export_many"});
    let sql = postern.client().post("/api/export", &ask).text().to_owned();
    assert_eq!(sql.matches("INSERT INTO ").count(), 3);
    let wide = json!({"sql": format!("SELECT REPEAT('\\'', 100000) AS w, seq FROM {rows} LIMIT 7"), "format": "insert", "table": "a`b", "db": "api_export_many"});
    let sql = postern
        .client()
        .post("/api/export", &wide)
        .text()
        .to_owned();
    assert_eq!(
        sql.matches("INSERT INTO `a``b` (`w`, `seq`) VALUES\n")
            .count(),
        3
    );
    assert!(sql.ends_with(";\nSET sql_mode = @postern_sql_mode;\n"));
}

#[test]
fn an_export_that_fails_late_is_seen_to_fail() {
    let db = database("api_export_late");
    let postern = Postern::on(db, &[]);
    let rows = db.numbers(100_000);
    let sql = format!(
        "SELECT seq, IF(seq < 90000, REPEAT('x', 50), (SELECT 1 UNION SELECT 2)) FROM {rows}"
    );
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
fn a_procedure_is_exported_where_it_returns_one_result_set() {
    let db = database("api_export_call");
    for body in [
        "one() SELECT id, v FROM t ORDER BY id LIMIT 2",
        "two() BEGIN SELECT id FROM t; SELECT v FROM t; INSERT INTO t (v) VALUES ('ran'); END",
        "late() BEGIN SELECT id FROM t; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'too late'; END",
    ] {
        db.exec(&format!("USE api_export_call; CREATE PROCEDURE {body}"));
    }
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut export = |sql: &str| {
        let ask = json!({"sql": sql, "db": "api_export_call"});
        let answer = client.post("/api/export", &ask);
        (answer.status(), answer.text().to_owned())
    };
    let one = export("CALL one()");
    assert_eq!(one, (200, "id,v\r\n1,one\r\n2,two\r\n".to_owned()));
    // Nothing was written when the second came; the procedure ran to its end all the same.
    let (status, body) = export("CALL two()");
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("ran and returned 2 result sets"), "{body}");
    let ran = db.value("SELECT COUNT(*) FROM api_export_call.t WHERE v = 'ran'");
    assert_eq!(ran, "1");
    let (status, body) = export("CALL late()");
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("too late"), "{body}");
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
