//! Statements that MySQL has or answers in its own way, in both modes.

use serde_json::{Value, json};

use crate::on_mysql::database;
use support::{Database, Postern};

fn shop() -> &'static Database {
    static SHOP: std::sync::OnceLock<&Database> = std::sync::OnceLock::new();
    SHOP.get_or_init(|| {
        database(
            "my_shop",
            "CREATE TABLE t (id INT PRIMARY KEY, kind VARCHAR(10), n INT, KEY (kind)); \
             INSERT INTO t VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 30)",
        )
    })
}

#[test]
fn what_only_reads_is_answered_in_both_modes() {
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(shop(), mode);
        let mut client = postern.client();
        for (sql, rows) in [
            (
                "TABLE t ORDER BY id LIMIT 1",
                json!([{"id": 1, "kind": "a", "n": 10}]),
            ),
            (
                "VALUES ROW(1, 'x'), ROW(2, NULL)",
                json!([{"column_0": 1, "column_1": "x"}, {"column_0": 2, "column_1": null}]),
            ),
            ("SELECT id FROM t INTERSECT SELECT 2", json!([{"id": 2}])),
            (
                "SELECT id FROM t EXCEPT (SELECT 1 UNION SELECT 2)",
                json!([{"id": 3}]),
            ),
            (
                "SELECT kind, SUM(n) AS s, GROUPING(kind) AS g FROM t GROUP BY kind WITH ROLLUP",
                json!([{"kind": "a", "s": "30", "g": 0}, {"kind": "b", "s": "30", "g": 0}, {"kind": null, "s": "60", "g": 1}]),
            ),
            (
                "SELECT t.id, l.m FROM t, LATERAL (SELECT t.n * 2 AS m) AS l WHERE t.id = 3",
                json!([{"id": 3, "m": 60}]),
            ),
            (
                "SELECT * FROM JSON_TABLE('[{\"a\":1},{\"a\":2}]', '$[*]' COLUMNS (i FOR ORDINALITY, a INT PATH '$.a')) AS j",
                json!([{"i": 1, "a": 1}, {"i": 2, "a": 2}]),
            ),
            (
                "WITH RECURSIVE c AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM c WHERE i < 3) SELECT i, LAG(i) OVER w AS l FROM c WINDOW w AS (ORDER BY i)",
                json!([{"i": 1, "l": null}, {"i": 2, "l": 1}, {"i": 3, "l": 2}]),
            ),
            ("SELECT 1 MEMBER OF('[1,2]') AS m", json!([{"m": 1}])),
        ] {
            let answer = client.query("my_shop", sql);
            assert_eq!(answer["data"]["rows"], rows, "{mode:?} {sql}: {answer}");
        }
    }
}

#[test]
fn what_mariadb_cannot_show_is_shown() {
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(shop(), mode);
        let mut client = postern.client();
        for sql in [
            "SHOW EXTENDED COLUMNS FROM t",
            "SHOW EXTENDED INDEX FROM t",
            "SHOW CREATE USER app",
            "SHOW REPLICAS",
            "SHOW REPLICA STATUS",
            "SHOW PRIVILEGES",
            "SHOW CHARACTER SET",
            "SHOW ENGINE INNODB STATUS",
        ] {
            let answer = client.query("my_shop", sql);
            assert_eq!(answer["code"], 200, "{mode:?} {sql}: {answer}");
            assert_ne!(answer["data"]["columns"], json!([]), "{sql}");
        }
    }
    let postern = Postern::on(shop(), &[]);
    let libraries = postern.client().query_ok("", "SHOW LIBRARY STATUS");
    assert_eq!(libraries["columns"][1], "Name");
}

#[test]
fn plans_come_in_every_form_of_mysql() {
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(shop(), mode);
        let mut client = postern.client();
        let mut plan = |sql: &str| -> String {
            let mut answer = client.query("my_shop", sql);
            assert_eq!(answer["code"], 200, "{mode:?} {sql}: {answer}");
            assert_eq!(answer["data"]["columns"], json!(["EXPLAIN"]), "{sql}");
            match answer["data"]["rows"][0]["EXPLAIN"].take() {
                Value::String(text) => text,
                other => panic!("{other}"),
            }
        };
        let tree =
            plan("EXPLAIN FORMAT=TREE SELECT kind, COUNT(*) FROM t GROUP BY kind ORDER BY 2");
        assert!(tree.starts_with("-> Sort: "), "{tree}");
        assert!(tree.contains("\n    -> "), "{tree}");
        let second = plan("EXPLAIN FORMAT=JSON SELECT * FROM t");
        let second: Value = serde_json::from_str(&second).unwrap();
        assert_eq!(second["query_plan"]["operation"], "Table scan on t");
        // The tabular one has columns.
        let rows = client.query_ok("my_shop", "EXPLAIN FORMAT=TRADITIONAL SELECT * FROM t");
        assert_eq!(rows["columns"].as_array().unwrap().len(), 12);
        assert_eq!(rows["rows"][0]["table"], "t");
    }
    let postern = Postern::on(shop(), &[]);
    let mut client = postern.client();
    let mut in_session = |sql: &str| {
        let body = json!({"sql": sql, "db": "my_shop", "session": "plans"});
        client.post("/api/query", &body).data()
    };
    in_session("SET explain_json_format_version = 1");
    let first = in_session("EXPLAIN FORMAT=JSON SELECT * FROM t");
    let first: Value = serde_json::from_str(first["rows"][0]["EXPLAIN"].as_str().unwrap()).unwrap();
    assert_eq!(first["query_block"]["table"]["table_name"], "t");
}

#[test]
fn a_plan_that_is_run_is_judged_as_what_it_runs() {
    let sql = "EXPLAIN ANALYZE SELECT * FROM t";
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(shop(), mode);
        let told = postern.client().query_ok("my_shop", sql);
        let text = told["rows"][0]["EXPLAIN"].as_str().unwrap();
        assert!(text.contains("(actual time="), "{text}");
    }
    let kept = Postern::on(shop(), &["--readonly"]);
    for sql in [
        "EXPLAIN ANALYZE DELETE FROM t",
        "EXPLAIN ANALYZE FORMAT=JSON INTO @a SELECT 1",
        "EXPLAIN ANALYZE SELECT * FROM t FOR UPDATE",
    ] {
        assert_eq!(kept.client().query("my_shop", sql)["code"], 403, "{sql}");
    }
}

#[test]
fn the_servers_modes_and_errors_are_its_own() {
    let postern = Postern::on(shop(), &[]);
    let mut client = postern.client();
    let mode = client.query_ok("", "SELECT @@sql_mode AS m");
    assert!(
        mode["rows"][0]["m"]
            .as_str()
            .unwrap()
            .contains("ONLY_FULL_GROUP_BY")
    );
    for (sql, errno, sqlstate, part) in [
        (
            "SELECT id, kind FROM t GROUP BY kind",
            1055,
            "42000",
            "only_full_group_by",
        ),
        (
            "INSERT INTO t VALUES ('x', 'a', 1)",
            1366,
            "HY000",
            "Incorrect integer value",
        ),
        (
            "INSERT INTO t VALUES (1, 'a', 1)",
            1062,
            "23000",
            "'t.PRIMARY'",
        ),
        ("SELECT nope FROM t", 1054, "42S22", "Unknown column 'nope'"),
        (
            "SELECT * FROM nowhere",
            1146,
            "42S02",
            "'my_shop.nowhere' doesn't exist",
        ),
        (
            "SELECT nofunction(1)",
            1305,
            "42000",
            "FUNCTION my_shop.nofunction does not exist",
        ),
        ("SELEC 1", 1064, "42000", "near 'SELEC 1' at line 1"),
        (
            "SELECT JSON_EXTRACT('{', '$')",
            3141,
            "22032",
            "Invalid JSON text",
        ),
        (
            "INSERT INTO t VALUES (9, 'much too long', 1)",
            1406,
            "22001",
            "Data too long",
        ),
    ] {
        let told = client.query("my_shop", sql);
        assert_eq!(told["code"], 400, "{sql}: {told}");
        assert_eq!(
            told["error"],
            json!({"errno": errno, "sqlstate": sqlstate}),
            "{sql}: {told}"
        );
        assert!(
            told["message"].as_str().unwrap().contains(part),
            "{sql}: {told}"
        );
    }
    let warned = client.query_ok("", "SELECT CAST('x' AS UNSIGNED) AS a, 1/0 AS b");
    let codes: Vec<_> = warned["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["code"].as_u64().unwrap())
        .collect();
    assert!(codes.contains(&1292) && codes.contains(&1365), "{warned}");
}
