//! Edits of every type: what `/api/query` shows of a cell is taken as its old value, as its new one, and as a key.

use serde_json::{Value, json};

use super::edit::{edit, made};
use super::post;
use support::database::{Database, Kind};
use support::postern::Postern;

/// Declarations with two literals each.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("TINYINT", "-128", "0"),
    ("BIGINT", "-9223372036854775808", "9007199254740993"),
    ("BIGINT UNSIGNED", "18446744073709551615", "0"),
    ("INT(8) ZEROFILL", "42", "0"),
    (
        "DECIMAL(65,30)",
        "12345678901234567890123456789012345.12345678901234567890",
        "-0.5",
    ),
    ("DECIMAL(6,2) ZEROFILL", "1.5", "0"),
    ("DOUBLE", "-1.7976931348623157e308", "0.30000000000000004"),
    ("DOUBLE", "1e21", "1e-7"),
    ("FLOAT", "1.1", "1000000"),
    ("FLOAT(7,2)", "1.1", "0"),
    ("BIT(1)", "b'1'", "b'0'"),
    ("BIT(9)", "b'100000001'", "b'0'"),
    ("BIT(64)", "~0", "1"),
    ("YEAR", "2155", "0"),
    ("DATE", "'9999-12-31'", "'1000-01-01'"),
    ("TIME(6)", "'-838:59:59'", "'00:00:00.000001'"),
    (
        "DATETIME(6)",
        "'9999-12-31 23:59:59.999999'",
        "'2024-02-29 00:00:00'",
    ),
    (
        "TIMESTAMP(3) NULL",
        "'2038-01-19 03:14:07.999'",
        "'2024-03-31 02:30:00'",
    ),
    ("CHAR(20)", "'a\\'b\"c\\\\d'", "''"),
    ("VARCHAR(20)", "'ends in spaces  '", "'  '"),
    ("TEXT", "'two\\nlines,\\r\\n\\t\\0 and \\Z'", "'NULL'"),
    ("TEXT", "'\u{1f600} \u{65e5}\u{672c} \u{e9}'", "'\\\\N\\\\'"),
    (
        "LONGTEXT",
        "REPEAT('\u{1f600}x', 9000)",
        "REPEAT('\\'', 70000)",
    ),
    ("VARCHAR(20) CHARACTER SET latin1", "'\u{e9}\u{20ac}'", "''"),
    ("VARCHAR(20) CHARACTER SET utf16", "'\u{1f600}'", "''"),
    ("VARCHAR(20) CHARACTER SET sjis", "'\u{ff71}\u{8868}'", "''"),
    ("BINARY(4)", "X'00ff'", "''"),
    ("VARBINARY(9)", "X'0001ff27'", "''"),
    ("LONGBLOB", "X'5c0d0a22'", "REPEAT(X'00', 5000)"),
    ("ENUM('a','b''c','\u{fc}','1')", "'b\\'c'", "'1'"),
    ("ENUM('a','b') CHARACTER SET binary", "'a'", "'b'"),
    ("SET('x','y','z')", "'x,z'", "''"),
    ("JSON", "'{\"a\": [1, \"\u{fc}\\\\n\"]}'", "'null'"),
    (
        "GEOMETRY",
        "ST_GeomFromText('LINESTRING(0 0,1 1)')",
        "ST_GeomFromText('POINT(1 1)')",
    ),
    (
        "POINT",
        "ST_GeomFromText('POINT(0 0)')",
        "ST_GeomFromText('POINT(1 1)')",
    ),
];

const OF_MYSQL: &[(&str, &str, &str)] = &[
    (
        "VECTOR(3)",
        "TO_VECTOR('[1,2.5,-3e-8]')",
        "TO_VECTOR('[0,0,0]')",
    ),
    (
        "POINT SRID 4326",
        "ST_GeomFromText('POINT(1 2)', 4326)",
        "ST_GeomFromText('POINT(0 0)', 4326)",
    ),
];

const OF_MARIADB: &[(&str, &str, &str)] = &[
    (
        "UUID",
        "'123e4567-e89b-12d3-a456-426655440000'",
        "'00000000-0000-0000-0000-000000000000'",
    ),
    ("INET4", "'255.255.255.255'", "'0.0.0.0'"),
    ("INET6", "'2001:db8::1'", "'::'"),
];

/// MariaDB has it since 11.7.
const OF_MARIADB_11: &[(&str, &str, &str)] = &[(
    "VECTOR(3)",
    "VEC_FromText('[1,2.5,-3e-8]')",
    "VEC_FromText('[0,0,0]')",
)];

fn columns() -> Vec<(&'static str, &'static str, &'static str)> {
    let db = Database::shared();
    let more: &[&[_]] = match (db.kind(), db.version()) {
        (Kind::MySql, _) => &[OF_MYSQL],
        (Kind::MariaDb, (11.., ..)) => &[OF_MARIADB, OF_MARIADB_11],
        (Kind::MariaDb, _) => &[OF_MARIADB],
    };
    let all = more.iter().flat_map(|list| list.iter());
    COLUMNS.iter().chain(all).copied().collect()
}

/// The rows of a table as a page has them.
fn shown(postern: &Postern, sql: &str) -> Vec<Value> {
    let body = json!({"sql": sql, "time_zone": "+00:00"});
    let (status, answer) = post(&mut postern.client(), "/api/query", body);
    assert_eq!(status, 200, "{answer}");
    answer["data"]["rows"].as_array().unwrap().clone()
}

fn at_utc(postern: &Postern, db: &str, table: &str, changes: Value) -> (u16, Value) {
    let body = json!({"db": db, "table": table, "changes": changes, "time_zone": "+00:00"});
    post(&mut postern.client(), "/api/edit", body)
}

/// The row with another number.
fn as_row(id: u8, row: &Value) -> Value {
    let mut row = row.clone();
    row["id"] = json!(id);
    row
}

/// With numbers by their value: `0.00` is told as `0`.
fn numbers(row: &Value) -> Value {
    let cells = row.as_object().unwrap().iter();
    let by_value = |value: &Value| value.as_f64().map_or_else(|| value.clone(), Value::from);
    cells
        .map(|(name, value)| (name.clone(), by_value(value)))
        .collect()
}

/// Without cells that an answer leaves out for their length.
fn without_long(row: &Value) -> Value {
    let mut row = row.clone();
    row.as_object_mut()
        .unwrap()
        .retain(|_, cell| cell.as_str().is_none_or(|text| text.len() <= 64 << 10));
    row
}

#[test]
fn what_is_shown_of_every_type_is_taken_as_old_and_as_new() {
    let name = "edit_types";
    let columns = columns();
    let declared: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(n, c)| format!("c{n} {}", c.0))
        .collect();
    let row = |pick: fn(&(&'static str, &'static str, &'static str)) -> &'static str| {
        columns.iter().map(pick).collect::<Vec<_>>().join(", ")
    };
    let db = made(
        name,
        &format!(
            "SET time_zone = '+00:00'; CREATE TABLE t (id INT PRIMARY KEY, {}); INSERT INTO t VALUES (1, {}), (2, {}), (3, {})",
            declared.join(", "),
            row(|c| c.1),
            row(|c| c.2),
            row(|_| "NULL")
        ),
    );
    let postern = Postern::on(db, &[]);
    let rows = shown(&postern, &format!("SELECT * FROM {name}.t ORDER BY id"));
    for (old, new) in [(2, 0), (0, 1), (1, 2)] {
        let (old, new) = (as_row(3, &rows[old]), as_row(3, &rows[new]));
        let change = json!([{"op": "update", "key": {"id": 3}, "old": old, "new": new}]);
        let (status, answer) = at_utc(&postern, name, "t", change);
        assert_eq!(status, 200, "{answer}");
        let told = &answer["data"]["rows"][0];
        assert_eq!(numbers(told), numbers(&without_long(&new)));
        let now = shown(&postern, &format!("SELECT * FROM {name}.t WHERE id = 3"));
        assert_eq!(now[0], new);
    }
    let stored = |id: u8| {
        let cells: Vec<String> = (0..columns.len())
            .map(|n| format!("COALESCE(HEX(c{n}), '')"))
            .collect();
        db.value(&format!(
            "SELECT SHA2(CONCAT_WS(',', {}), 256) FROM {name}.t WHERE id = {id}",
            cells.join(", ")
        ))
    };
    let copy = |id: u8, row: &Value| json!({"op": "insert", "new": as_row(id, row)});
    let (status, answer) = at_utc(
        &postern,
        name,
        "t",
        json!([copy(11, &rows[0]), copy(12, &rows[1])]),
    );
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        numbers(&answer["data"]["rows"][1]),
        numbers(&without_long(&as_row(12, &rows[1])))
    );
    assert_eq!(
        [stored(11), stored(12)],
        [stored(1), stored(2)],
        "duplicates are the same to the last byte"
    );
    for (n, (kind, ..)) in columns.iter().enumerate() {
        let column = format!("c{n}");
        for (row, other) in [(0, 1), (1, 0), (0, 2), (2, 0)] {
            let (shown, wrong) = (&rows[row], &rows[other][&column]);
            let id = [11, 12, 3][row];
            let change = json!([{"op": "delete", "key": {"id": id}, "old": {&column: wrong}}]);
            let (status, answer) = at_utc(&postern, name, "t", change);
            assert_eq!(
                (status, &answer["error"]["kind"]),
                (409, &json!("changed")),
                "{kind}: {answer}"
            );
            assert_eq!(answer["error"]["columns"], json!([column]), "{kind}");
            assert_eq!(
                numbers(&answer["error"]["row"]),
                numbers(&without_long(&as_row(id, shown))),
                "{kind}"
            );
        }
    }
    let all = json!([
        {"op": "delete", "key": {"id": 11}, "old": as_row(11, &rows[0])},
        {"op": "delete", "key": {"id": 12}, "old": as_row(12, &rows[1])},
        {"op": "delete", "key": {"id": 3}, "old": as_row(3, &rows[2])},
    ]);
    let (status, answer) = at_utc(&postern, name, "t", all);
    assert_eq!(
        (status, &answer["data"]["applied"]),
        (200, &json!(3)),
        "{answer}"
    );
}

#[test]
fn what_is_shown_of_a_key_finds_its_row() {
    let name = "edit_keys";
    let db = made(name, "SELECT 1");
    let postern = Postern::on(db, &[]);
    for (kind, one, two) in columns() {
        let is_key = ["TEXT", "BLOB", "JSON", "GEOM", "POINT", "VECTOR"]
            .iter()
            .all(|no| !kind.contains(no));
        if !is_key {
            continue;
        }
        let kind = kind.trim_end_matches(" NULL");
        db.exec(&format!(
            "SET time_zone = '+00:00'; DROP TABLE IF EXISTS {name}.k; CREATE TABLE {name}.k (k {kind} PRIMARY KEY, v INT); \
             INSERT INTO {name}.k VALUES ({one}, 1), ({two}, 2)"
        ));
        let rows = shown(&postern, &format!("SELECT * FROM {name}.k ORDER BY v"));
        let changes = json!([
            {"op": "update", "key": {"k": rows[0]["k"]}, "old": rows[0], "new": {"v": 3}},
            {"op": "delete", "key": {"k": rows[1]["k"]}, "old": rows[1]},
            {"op": "update", "key": {"k": rows[0]["k"]}, "old": {"v": 3}, "new": {"k": rows[1]["k"]}},
        ]);
        let (status, answer) = at_utc(&postern, name, "k", changes);
        if kind.starts_with("FLOAT") {
            assert_eq!(status, 400, "{kind}: {answer}");
            assert!(
                answer["message"].as_str().unwrap().contains("FLOAT"),
                "{answer}"
            );
            continue;
        }
        assert_eq!(status, 200, "{kind}: {answer}");
        let now = json!({"k": rows[1]["k"], "v": 3});
        assert_eq!(answer["data"]["rows"][2], now, "{kind}");
        assert_eq!(
            shown(&postern, &format!("SELECT * FROM {name}.k")),
            [now],
            "{kind}"
        );
    }
}

#[test]
fn a_file_goes_into_a_blob_and_into_a_text() {
    let name = "edit_files";
    let db = made(
        name,
        "CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB, s LONGTEXT, n INT); INSERT INTO t (id) VALUES (1)",
    );
    let postern = Postern::on(db, &[]);
    let change = |new: Value| json!([{"op": "update", "key": {"id": 1}, "new": new}]);
    let small = json!({"b": {"base64": "AP8nXA=="}, "s": {"base64": "ZMOpasOg"}});
    let (status, answer) = edit(&postern, name, "t", change(small));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["data"]["rows"][0],
        json!({"id": 1, "b": "0x00FF275C", "s": "d\u{e9}j\u{e0}", "n": null})
    );
    for (new, why) in [
        (json!({"b": {"base64": "?"}}), "base64"),
        (json!({"s": {"base64": "/w=="}}), "not UTF-8"),
        (json!({"n": {"base64": "AA=="}}), "accepts no file"),
        (json!({"b": "text"}), "0x"),
        (json!({"b": "0x0"}), "0x"),
        (json!({"b": 1}), "0x"),
        (json!({"n": true}), "null, a string or a number"),
        (json!({"n": {"default": false}}), "as objects"),
    ] {
        let (status, answer) = edit(&postern, name, "t", change(new));
        assert_eq!(
            (status, &answer["error"]["change"]),
            (400, &json!(0)),
            "{answer}"
        );
        assert!(
            answer["message"].as_str().unwrap().contains(why),
            "{why}: {answer}"
        );
    }
    // 12 MiB: base64 of zeros is the letter A.
    let large = "A".repeat(16 << 20);
    let before = postern.peak_rss_kib();
    let (status, answer) = edit(&postern, name, "t", change(json!({"b": {"base64": large}})));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["data"]["rows"][0]["b"],
        Value::Null,
        "it is left out"
    );
    assert_eq!(
        db.value(&format!("SELECT LENGTH(b) FROM {name}.t")),
        (12 << 20).to_string()
    );
    let more = postern.peak_rss_kib() - before;
    println!("a file of 12 MiB took {} MiB", more >> 10);
    assert!(more < 200 << 10, "{more} KiB");
    let too_large = "A".repeat(33 << 20);
    let (status, answer) = edit(
        &postern,
        name,
        "t",
        change(json!({"b": {"base64": too_large}})),
    );
    assert_eq!(status, 413, "{}", answer["message"]);
}
