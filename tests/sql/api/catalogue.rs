//! Databases, tables, schemas, and what the account may do.

use serde_json::{Value, json};

use super::database;
use support::database::Kind;
use support::postern::Postern;

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
        let none = match db.kind() {
            Kind::MariaDb => Value::Null,
            Kind::MySql => json!("NONE"),
        };
        assert_eq!(role["rows"][0]["x"], none, "{user}");
    }
}

#[test]
fn catalogue() {
    let db = database("api_cat");
    db.exec(
        "CREATE TABLE api_cat.child (id INT PRIMARY KEY, t_id INT NOT NULL COMMENT 'the parent', note TEXT, \
         UNIQUE KEY u (t_id, note(10)), CONSTRAINT fk FOREIGN KEY (t_id) REFERENCES t (id) ON DELETE CASCADE) COMMENT='kids'; \
         CREATE VIEW api_cat.v AS SELECT 1 AS x; \
         CREATE TABLE api_cat.`odd ``name'\"` (`a b` INT); CREATE DATABASE IF NOT EXISTS api_cat_empty",
    );
    let has_sequences = db.kind() == Kind::MariaDb;
    if has_sequences {
        db.exec("CREATE SEQUENCE api_cat.s");
    }
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let databases = client.get("/api/databases").data();
    assert!(databases.as_array().unwrap().contains(&json!("api_cat")));
    let names = client.get("/api/tables?db=api_cat").data();
    let with = |mut all: Vec<&'static str>, sequence| {
        all.retain(|&word| has_sequences || word != sequence);
        all
    };
    let expected = with(vec!["child", "odd `name'\"", "s", "t", "v"], "s");
    assert_eq!(names, json!(expected));
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
    let expected = with(
        vec!["table", "table", "sequence", "table", "view"],
        "sequence",
    );
    assert_eq!(kinds, expected);
    assert_eq!(detail[0]["comment"], "kids");
    assert!(detail[0]["bytes"].as_u64().unwrap() > 0);
    let schema = client.get("/api/schema?db=api_cat&table=child").data();
    let facts = &schema["table"];
    assert_eq!(
        (&facts["kind"], &facts["engine"], &facts["comment"]),
        (&json!("table"), &json!("InnoDB"), &json!("kids"))
    );
    let bytes = |key: &str| facts[key].as_u64().unwrap();
    assert_eq!(bytes("bytes"), bytes("data_bytes") + bytes("index_bytes"));
    assert!(facts["collation"].as_str().unwrap().starts_with("utf8mb4"));
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
    let on_update = match db.kind() {
        Kind::MariaDb => "RESTRICT",
        Kind::MySql => "NO ACTION",
    };
    assert_eq!(
        schema["foreign_keys"],
        json!([{"name": "fk", "columns": ["t_id"], "ref_db": "api_cat", "ref_table": "t", "ref_columns": ["id"], "on_update": on_update, "on_delete": "CASCADE"}])
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
    let view = client.get("/api/schema?db=api_cat&table=v").data();
    assert_eq!(view["table"]["kind"], "view");
    assert!(view["create_statement"].as_str().unwrap().contains("VIEW"));
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
fn a_view_that_is_broken_in_any_way_has_a_schema() {
    let db = database("api_broken");
    db.exec(
        "DROP DATABASE IF EXISTS api_broken_too; CREATE DATABASE api_broken_too; USE api_broken; \
         CREATE TABLE api_broken_too.x (a INT); CREATE TABLE lost (a INT, z INT); \
         CREATE FUNCTION gone(x INT) RETURNS INT DETERMINISTIC RETURN x; \
         CREATE VIEW no_database AS SELECT a FROM api_broken_too.x; CREATE VIEW no_column AS SELECT z FROM lost; \
         CREATE VIEW no_function AS SELECT gone(1) AS g; CREATE VIEW no_view AS SELECT z FROM no_column; \
         CREATE DEFINER=nobody@nowhere VIEW no_definer AS SELECT id FROM t; \
         DROP DATABASE api_broken_too; ALTER TABLE lost DROP COLUMN z; DROP FUNCTION gone",
    );
    for args in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, args);
        let mut client = postern.client();
        for view in [
            "no_database",
            "no_column",
            "no_function",
            "no_view",
            "no_definer",
        ] {
            let told = client
                .get(&format!("/api/schema?db=api_broken&table={view}"))
                .json();
            assert_eq!(told["code"], 200, "{view}: {told}");
            let create = told["data"]["create_statement"]
                .as_str()
                .unwrap_or_default();
            assert!(
                create.to_lowercase().contains(" as select"),
                "{view}: {told}"
            );
            let known = told["data"]["columns"].as_array().unwrap();
            assert!(
                told["data"]["note"].is_string() || known.len() == 1,
                "{view}: {told}"
            );
        }
        let told = client.get("/api/schema?db=api_broken&table=nothing").json();
        assert_eq!(told["code"], 404, "{told}");
    }
}
