//! Schemas and the catalogue: what MySQL's tables can have, and its own databases.

use serde_json::{Value, json};

use crate::on_mysql::database;
use support::Postern;

#[test]
fn a_schema_shows_what_mysql_has() {
    let db = database(
        "my_schema",
        "CREATE TABLE parent (id INT PRIMARY KEY); \
         CREATE TABLE t (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL DEFAULT (1 + 2) COMMENT 'by expression', \
         hidden VARCHAR(20) INVISIBLE DEFAULT 'x', twice INT AS (a * 2) VIRTUAL, \
         text_of VARCHAR(60) AS (CONCAT(hidden, 'it''s \\\\ \"x\"')) STORED, j JSON DEFAULT (JSON_ARRAY()), \
         at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, g POINT NOT NULL SRID 4326, v VECTOR(4), \
         CHECK (a > 0), KEY by_expression ((a + twice)), KEY by_text ((LOWER(hidden))), \
         KEY many ((CAST(j->'$[*]' AS UNSIGNED ARRAY))), KEY down (a DESC, hidden(5)), \
         KEY unseen (hidden) INVISIBLE COMMENT 'not yet', SPATIAL KEY place (g), FULLTEXT KEY words (hidden), \
         CONSTRAINT fk FOREIGN KEY (a) REFERENCES parent (id)) COMMENT = 'all of it'",
    );
    let postern = Postern::on(db, &[]);
    let schema = postern
        .client()
        .get("/api/schema?db=my_schema&table=t")
        .data();
    let column = |name: &str| -> &Value {
        let columns = schema["columns"].as_array().unwrap();
        columns.iter().find(|c| c["name"] == name).unwrap()
    };
    assert_eq!(column("id")["extra"], "auto_increment");
    assert_eq!(
        (&column("a")["default"], &column("a")["comment"]),
        (&json!("(1 + 2)"), &json!("by expression"))
    );
    assert_eq!(column("hidden")["extra"], "INVISIBLE");
    assert_eq!(column("twice")["generated"], "(`a` * 2)");
    assert_eq!(
        column("text_of")["generated"],
        "concat(`hidden`,_utf8mb4'it\\'s \\\\ \"x\"')"
    );
    assert_eq!(column("a")["generated"], Value::Null);
    assert_eq!(column("j")["type"], "json");
    assert_eq!(column("v")["type"], "vector(4)");
    assert_eq!(
        column("at")["extra"],
        "DEFAULT_GENERATED on update CURRENT_TIMESTAMP"
    );
    let index = |name: &str| -> &Value {
        let indexes = schema["indexes"].as_array().unwrap();
        indexes.iter().find(|i| i["name"] == name).unwrap()
    };
    for (name, columns) in [
        ("PRIMARY", json!(["id"])),
        ("by_expression", json!(["(`a` + `twice`)"])),
        ("by_text", json!(["(lower(`hidden`))"])),
        (
            "many",
            json!(["(cast(json_extract(`j`,_utf8mb4'$[*]') as unsigned array))"]),
        ),
        ("down", json!(["a DESC", "hidden(5)"])),
        ("place", json!(["g"])),
        ("words", json!(["hidden"])),
    ] {
        assert_eq!(index(name)["columns"], columns, "{name}");
        assert_eq!(index(name)["visible"], true, "{name}");
    }
    assert_eq!(
        (&index("unseen")["visible"], &index("unseen")["comment"]),
        (&json!(false), &json!("not yet"))
    );
    assert_eq!(schema["foreign_keys"][0]["ref_table"], "parent");
    let create = schema["create_statement"].as_str().unwrap();
    assert!(create.contains("CHECK ((`a` > 0))"), "{create}");
}

#[test]
fn mysqls_own_databases_are_browsed_without_errors() {
    let postern = Postern::on(database("my_own", "CREATE TABLE t (id INT)"), &[]);
    let mut client = postern.client();
    for db in ["mysql", "sys", "performance_schema", "information_schema"] {
        let tables = client.get(&format!("/api/tables?db={db}&detail=1")).data();
        let tables = tables.as_array().unwrap();
        assert!(tables.len() > 30, "{db}: {}", tables.len());
        for table in tables {
            let name = table["name"].as_str().unwrap();
            let schema = client.get(&format!("/api/schema?db={db}&table={name}"));
            assert_eq!(schema.status(), 200, "{db}.{name}: {}", schema.text());
            assert_ne!(schema.data()["columns"], json!([]), "{db}.{name}");
        }
    }
}

/// MySQL keeps figures of tables for a day, in a table of its own that a look would write to.
#[test]
fn the_figures_of_tables_are_those_of_now() {
    let db = database(
        "my_figures",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200)); SET cte_max_recursion_depth = 20000; \
         INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
         SELECT i, REPEAT('x', 200) FROM n; ANALYZE TABLE t",
    );
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, mode);
        let mut client = postern.client();
        let mut rows = || {
            let tables = client.get("/api/tables?db=my_figures&detail=1").data();
            tables[0]["rows_estimate"].as_u64().unwrap()
        };
        db.exec("USE my_figures; TRUNCATE t; ANALYZE TABLE t");
        assert_eq!(rows(), 0);
        db.exec(
            "USE my_figures; SET cte_max_recursion_depth = 20000; \
             INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
             SELECT i, REPEAT('x', 200) FROM n; ANALYZE TABLE t",
        );
        assert!(rows() > 5000, "{}", rows());
        let schema = postern.client().get("/api/schema?db=my_figures&table=t");
        let of_schema = schema.data()["table"]["rows_estimate"].as_u64();
        assert!(of_schema.unwrap() > 5000, "{of_schema:?}");
    }
}

#[test]
fn a_broken_view_shows_what_made_it() {
    let db = database(
        "my_broken",
        "CREATE TABLE t (id INT); CREATE VIEW v AS SELECT id, 'x' AS s FROM t; RENAME TABLE t TO u",
    );
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, mode);
        let schema = postern
            .client()
            .get("/api/schema?db=my_broken&table=v")
            .data();
        let create = schema["create_statement"].as_str().unwrap();
        assert!(
            create.contains("VIEW `my_broken`.`v` AS select"),
            "{create}"
        );
        let note = schema["note"].as_str().unwrap();
        assert!(note.contains("references invalid table(s)"), "{note}");
    }
}
