//! The form of an answer around its values: columns, counts, warnings, limits, several results, failures.

use serde_json::{Value, json};

use super::{cell, prepare, query, web};
use support::Database;

#[test]
fn columns_of_one_name_are_kept_apart() {
    for (sql, expected) in [
        (
            "SELECT 1 AS id, 2 AS id, 3 AS id",
            json!(["id", "id_2", "id_3"]),
        ),
        (
            "SELECT 1 AS id, 2 AS id_2, 3 AS id",
            json!(["id", "id_2", "id_3"]),
        ),
        ("SELECT 1 AS ID, 2 AS id", json!(["ID", "id"])),
        (
            "SELECT 1 AS ``, 2 AS `a\"b`, 3 AS `é</td>`, 4 AS `__proto__`",
            json!(["", "a\"b", "é</td>", "__proto__"]),
        ),
    ] {
        let data = query(sql);
        let columns: Vec<_> = data["columns"].as_array().unwrap().clone();
        let keys: Vec<_> = data["rows"][0]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        let mut sorted: Vec<_> = columns
            .iter()
            .map(|c| c.as_str().unwrap().to_owned())
            .collect();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), columns.len(), "{sql}: {columns:?}");
        let mut keys_sorted = keys;
        keys_sorted.sort();
        assert_eq!(
            keys_sorted, sorted,
            "{sql}: the keys of the rows agree with the columns"
        );
        assert_eq!(data["columns"], expected, "{sql}");
    }
    // The values stay with their columns, whatever the names became.
    let data = query("SELECT 1 AS id, 2 AS id_2, 3 AS id, 4 AS id_2");
    let columns = data["columns"].as_array().unwrap();
    let values: Vec<_> = columns
        .iter()
        .map(|c| data["rows"][0][c.as_str().unwrap()].clone())
        .collect();
    assert_eq!(values, [1, 2, 3, 4].map(Value::from));
}

#[test]
fn an_empty_result_keeps_its_columns_and_a_change_has_none() {
    prepare(&["CREATE TABLE changes (id INT AUTO_INCREMENT PRIMARY KEY, v TINYINT)".to_owned()]);
    let empty = query("SELECT id, v FROM changes");
    assert_eq!(
        (&empty["columns"], &empty["rows"], &empty["count"]),
        (&json!(["id", "v"]), &json!([]), &json!(0))
    );
    let changed = query("INSERT INTO changes (v) VALUES (1), (2)");
    assert_eq!(
        (&changed["columns"], &changed["rows"], &changed["count"]),
        (&json!([]), &json!([]), &json!(0))
    );
    assert_eq!(
        (&changed["affected_rows"], &changed["last_insert_id"]),
        (&json!(2), &json!(1))
    );
    let duration = changed["duration"].as_str().unwrap();
    assert!(
        duration
            .strip_suffix("ms")
            .is_some_and(|n| n.parse::<f64>().is_ok()),
        "{duration}"
    );
}

#[test]
fn warnings_and_errors_carry_the_servers_numbers() {
    let warned = query("SELECT 1 / 0, CAST('x' AS SIGNED)");
    let codes: Vec<_> = warned["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| &w["code"])
        .collect();
    assert!(codes.contains(&&json!(1292)), "{warned}");
    for (sql, errno, state) in [
        ("SELEC 1", 1064, "42000"),
        ("SELECT * FROM absent", 1146, "42S02"),
        ("SELECT absent", 1054, "42S22"),
        ("SELECT 1 FROM (SELECT 1 AS a, 2 AS a) t", 1060, "42S21"),
    ] {
        let answer = web().client().query("vals", sql);
        assert_eq!(answer["code"], 400, "{answer}");
        assert_eq!(
            answer["error"],
            json!({"errno": errno, "sqlstate": state}),
            "{sql}"
        );
        assert!(!answer["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_limit_cuts_and_says_so() {
    let sql = format!("SELECT seq FROM {}", Database::shared().numbers(10));
    let body = json!({"sql": sql, "db": "vals", "limit": 4});
    let data = web().client().post("/api/query", &body).data();
    assert_eq!(
        (&data["count"], &data["truncated"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(data["rows"].as_array().unwrap().len(), 4);
    let body = json!({"sql": sql, "db": "vals", "limit": 10});
    let data = web().client().post("/api/query", &body).data();
    assert_eq!(
        (&data["count"], &data["truncated"]),
        (&json!(10), &json!(false))
    );
}

#[test]
fn a_call_answers_every_result_set() {
    prepare(&["CREATE PROCEDURE three() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c; SELECT 4 AS d WHERE FALSE; END".to_owned()]);
    let data = query("CALL three()");
    assert_eq!(
        (&data["columns"], &data["rows"]),
        (&json!(["a"]), &json!([{"a": 1}]))
    );
    let results = data["results"].as_array().unwrap();
    let columns: Vec<_> = results
        .iter()
        .take(3)
        .map(|r| r["columns"].clone())
        .collect();
    assert_eq!(columns, [json!(["a"]), json!(["b", "c"]), json!(["d"])]);
    assert_eq!(results[1]["rows"], json!([{"b": 2, "c": 3}]));
}

#[test]
fn a_cell_of_16_mib_arrives_whole() {
    const SIZE: usize = 16 * 1024 * 1024;
    let text = cell(&format!("REPEAT('é', {})", SIZE / 2));
    let text = text.as_str().unwrap();
    assert!(text.len() == SIZE && text.chars().all(|c| c == 'é'));
    let hex = cell(&format!("REPEAT(X'00ff', {})", SIZE / 2));
    let hex = hex.as_str().unwrap().strip_prefix("0x").unwrap();
    assert!(hex.len() == 2 * SIZE && hex.as_bytes().chunks(4).all(|c| c == b"00FF"));
}

#[test]
fn a_failure_after_rows_ends_the_same_document_with_its_own_code() {
    // The first rows are on their way when a later one fails.
    prepare(&[
        "CREATE FUNCTION fails_late(n BIGINT) RETURNS BIGINT NO SQL BEGIN IF n = 100000 THEN SIGNAL SQLSTATE '45000' \
         SET MESSAGE_TEXT = 'late failure'; END IF; RETURN n; END"
            .to_owned(),
    ]);
    let rows = Database::shared().numbers(150_000);
    let body = json!({"sql": format!("SELECT fails_late(seq) AS v FROM {rows}"), "db": "vals"});
    let answer = web().client().post("/api/query", &body);
    assert_eq!(answer.status(), 200, "rows were sent before the failure");
    let answer = answer.json();
    assert_eq!(answer["code"], 400);
    assert_eq!(answer["error"]["sqlstate"], "45000");
    assert!(answer["message"].as_str().unwrap().contains("late failure"));
    assert!(!answer["data"]["rows"].as_array().unwrap().is_empty());
}
