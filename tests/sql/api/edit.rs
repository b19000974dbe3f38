//! `POST /api/edit`: rows of one table, changed, made and deleted in one transaction.

use serde_json::{Value, json};

use super::{count, post};
use support::database::Database;
use support::database::{Kind, Options, PASSWORD, READER, USER};
use support::postern::Postern;

/// A database of one's own with what `sql` makes in it.
pub(super) fn made(name: &str, sql: &str) -> &'static Database {
    let db = Database::shared();
    db.exec(&format!(
        "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}; {sql}"
    ));
    db
}

pub(super) fn edit(postern: &Postern, db: &str, table: &str, changes: Value) -> (u16, Value) {
    let body = json!({"db": db, "table": table, "changes": changes});
    post(&mut postern.client(), "/api/edit", body)
}

fn review(postern: &Postern, db: &str, table: &str, changes: Value) -> (u16, Value) {
    let body = json!({"db": db, "table": table, "changes": changes, "review": true});
    post(&mut postern.client(), "/api/edit", body)
}

#[test]
fn rows_are_changed_made_and_deleted_together() {
    let db = made(
        "edit_all",
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20) DEFAULT 'x', n DECIMAL(6,2)); \
         INSERT INTO t (v, n) VALUES ('one', 1), ('two', 2), ('three', 3)",
    );
    let postern = Postern::on(db, &[]);
    let changes = json!([
        {"op": "update", "key": {"id": 1}, "old": {"id": 1, "v": "one", "n": "1.00"}, "new": {"v": "it's \\ new", "n": "1.5"}},
        {"op": "delete", "key": {"id": 2}, "old": {"v": "two"}},
        {"op": "insert", "new": {"n": {"default": true}}},
        {"op": "insert", "new": {}},
    ]);
    let (status, answer) = review(&postern, "edit_all", "t", changes.clone());
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["data"],
        json!({"transaction": true, "note": null, "statements": [
            "UPDATE `edit_all`.`t` SET `v` = 'it''s \\\\ new', `n` = 1.5 WHERE `id` = 1",
            "DELETE FROM `edit_all`.`t` WHERE `id` = 2",
            "INSERT INTO `edit_all`.`t` (`n`) VALUES (DEFAULT)",
            "INSERT INTO `edit_all`.`t` () VALUES ()",
        ]})
    );
    assert_eq!(
        count(
            db,
            "SELECT COUNT(*) FROM edit_all.t WHERE v IN ('one', 'two')"
        ),
        2
    );
    let (status, answer) = edit(&postern, "edit_all", "t", changes);
    assert_eq!(status, 200, "{answer}");
    let data = &answer["data"];
    assert_eq!(
        (&data["applied"], &data["transaction"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(
        data["rows"],
        json!([
            {"id": 1, "v": "it's \\ new", "n": "1.50"},
            null,
            {"id": 4, "v": "x", "n": null},
            {"id": 5, "v": "x", "n": null},
        ])
    );
    assert_eq!(count(db, "SELECT COUNT(*) FROM edit_all.t"), 4);
}

/// Error of an edit of one change: status, kind, message.
fn failed(postern: &Postern, db: &str, table: &str, change: Value) -> (u16, String, String) {
    let (status, answer) = edit(postern, db, table, json!([change]));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert_eq!(answer["applied"].as_u64().unwrap_or(0), 0, "{answer}");
    (
        status,
        text(&answer["error"]["kind"]),
        text(&answer["message"]),
    )
}

#[test]
fn nothing_is_written_where_one_row_was_changed_meanwhile() {
    let db = made(
        "edit_changed",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w LONGTEXT, at TIMESTAMP(6) NULL); \
         INSERT INTO t VALUES (1, 'one', 'w', NULL), (2, 'two', 'w', NULL)",
    );
    let postern = Postern::on(db, &[]);
    let changes = |old: Value| {
        json!([
            {"op": "insert", "new": {"id": 9, "v": "nine"}},
            {"op": "update", "key": {"id": 1}, "old": {"v": "one"}, "new": {"v": "new"}},
            {"op": "update", "key": {"id": 2}, "old": old, "new": {"v": "new"}},
        ])
    };
    for old in [
        json!({"id": 2, "v": "two ", "w": "w", "at": null}),
        json!({"id": 2, "v": "TWO", "w": "w", "at": null}),
        json!({"id": 2, "v": null, "w": "w", "at": null}),
        json!({"id": 2, "v": "tw\u{f3}", "w": "w", "at": null}),
    ] {
        let (status, answer) = edit(&postern, "edit_changed", "t", changes(old));
        assert_eq!(status, 409, "{answer}");
        let row = json!({"id": 2, "v": "two", "w": "w", "at": null});
        assert_eq!(
            answer["error"],
            json!({"kind": "changed", "change": 2, "row": row, "columns": ["v"]})
        );
        let message = answer["message"].as_str().unwrap();
        assert!(
            message.contains("id = 2") && message.contains("nothing was written"),
            "{message}"
        );
    }
    let longer = json!({"v": "two", "w": "", "at": "2024-01-01 00:00:00.000000"});
    let (status, answer) = edit(&postern, "edit_changed", "t", changes(longer));
    assert_eq!(
        (status, &answer["error"]["columns"]),
        (409, &json!(["at", "w"]))
    );
    db.exec("DELETE FROM edit_changed.t WHERE id = 2");
    let (status, answer) = edit(&postern, "edit_changed", "t", changes(json!({"v": "two"})));
    assert_eq!((status, &answer["error"]["row"]), (409, &Value::Null));
    assert!(
        answer["message"].as_str().unwrap().contains("deleted"),
        "{answer}"
    );
    assert_eq!(
        count(
            db,
            "SELECT COUNT(*) FROM edit_changed.t WHERE v = 'one' AND id = 1"
        ),
        1
    );
    assert_eq!(count(db, "SELECT COUNT(*) FROM edit_changed.t"), 1);
}

/// The server takes texts for the same key that are not the same.
#[test]
fn a_key_is_the_one_that_was_shown_to_the_last_byte() {
    let db = made(
        "edit_collation",
        "CREATE TABLE t (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci PRIMARY KEY, v INT); \
         INSERT INTO t VALUES ('A', 1), ('b ', 2), ('e', 3), ('\u{e4}x', 4)",
    );
    let postern = Postern::on(db, &[]);
    for key in ["a", "b", "b  ", "\u{e9}", "\u{c4}X", "ax"] {
        let change = json!({"op": "delete", "key": {"k": key}, "old": {}});
        let (status, kind, _) = failed(&postern, "edit_collation", "t", change);
        assert_eq!((status, kind.as_str()), (409, "changed"), "{key}");
    }
    assert_eq!(count(db, "SELECT COUNT(*) FROM edit_collation.t"), 4);
    let changes = json!([
        {"op": "update", "key": {"k": "A"}, "old": {"v": 1}, "new": {"k": "a"}},
        {"op": "delete", "key": {"k": "b "}, "old": {"v": 2}},
    ]);
    let (status, answer) = edit(&postern, "edit_collation", "t", changes);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["data"]["rows"], json!([{"k": "a", "v": 1}, null]));
}

#[test]
fn what_the_server_refuses_names_its_change_and_takes_all_back() {
    let db = made(
        "edit_refused",
        "CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1), (2); \
         CREATE TABLE t (id INT PRIMARY KEY, p INT, u VARCHAR(3) UNIQUE, FOREIGN KEY (p) REFERENCES parent (id)); \
         INSERT INTO t VALUES (1, 1, 'a'), (2, NULL, 'b')",
    );
    let postern = Postern::on(db, &[]);
    let first = json!({"op": "update", "key": {"id": 1}, "old": {"u": "a"}, "new": {"u": "z"}});
    for (second, errno) in [
        (
            json!({"op": "update", "key": {"id": 2}, "new": {"u": "Z"}}),
            1062,
        ),
        (json!({"op": "insert", "new": {"id": 1}}), 1062),
        (
            json!({"op": "update", "key": {"id": 2}, "new": {"p": 7}}),
            1452,
        ),
        (
            json!({"op": "update", "key": {"id": 2}, "new": {"u": "long"}}),
            1406,
        ),
        (
            json!({"op": "update", "key": {"id": 2}, "new": {"p": "2x"}}),
            1265,
        ),
        (
            json!({"op": "update", "key": {"id": 2}, "new": {"id": null}}),
            1048,
        ),
        (
            json!({"op": "update", "key": {"id": 2}, "new": {"id": 99_999_999_999_u64}}),
            1264,
        ),
    ] {
        let (status, answer) = edit(&postern, "edit_refused", "t", json!([first, second]));
        assert_eq!(status, 400, "{answer}");
        let error = &answer["error"];
        assert_eq!(
            (&error["kind"], &error["change"]),
            (&json!("server"), &json!(1)),
            "{answer}"
        );
        let other = if errno == 1265 { 1366 } else { errno };
        assert!(
            [errno, other].contains(&error["errno"].as_u64().unwrap()),
            "{answer}"
        );
        assert!(
            answer["message"]
                .as_str()
                .unwrap()
                .ends_with("nothing was written"),
            "{answer}"
        );
        assert_eq!(
            count(
                db,
                "SELECT COUNT(*) FROM edit_refused.t WHERE u IN ('a', 'b')"
            ),
            2
        );
    }
    let change = json!({"op": "delete", "key": {"id": 1}, "old": {"id": 1}});
    let (status, answer) = edit(&postern, "edit_refused", "parent", json!([change]));
    assert_eq!(
        (status, &answer["error"]["errno"]),
        (400, &json!(1451)),
        "{answer}"
    );
}

#[test]
fn what_cannot_be_edited_says_why_and_what_to_do() {
    let db = made(
        "edit_unfit",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, g INT AS (v + 1), f FLOAT, UNIQUE (f)); CREATE VIEW v AS SELECT * FROM t; \
         CREATE TABLE bare (id INT, u INT UNIQUE, s VARCHAR(20) NOT NULL, UNIQUE (s(3)), KEY (id)); \
         CREATE TABLE two (a INT, b INT, c INT NOT NULL UNIQUE, PRIMARY KEY (a, b)); INSERT INTO t (id, v) VALUES (1, 1)",
    );
    let postern = Postern::on(db, &[]);
    let change = || json!({"op": "update", "key": {"id": 1}, "new": {"v": 2}});
    for (table, change, status, why) in [
        ("v", change(), 400, "is a view"),
        ("bare", change(), 400, "PRIMARY KEY"),
        ("none", change(), 404, "none"),
        (
            "t",
            json!({"op": "update", "key": {"v": 1}, "new": {"v": 2}}),
            400,
            "key",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": 1, "v": 1}, "new": {"v": 2}}),
            400,
            "key",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": null}, "new": {"v": 2}}),
            400,
            "as it was shown",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": {"default": true}}, "new": {"v": 2}}),
            400,
            "as it was shown",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": 1}, "new": {"g": 2}}),
            400,
            "generated",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": 1}, "new": {"x`y": 2}}),
            400,
            "no column",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": 1}, "new": {"v": 1, "V": 2}}),
            400,
            "twice",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": 1}, "old": {"v": [1]}, "new": {"v": 2}}),
            400,
            "null, a string or a number",
        ),
        (
            "t",
            json!({"op": "update", "key": {"id": 1}, "new": {}}),
            400,
            "'new'",
        ),
        ("t", json!({"op": "update", "new": {"v": 1}}), 400, "'key'"),
        (
            "t",
            json!({"op": "delete", "key": {"id": 1}, "new": {"v": 1}}),
            400,
            "'new'",
        ),
        (
            "t",
            json!({"op": "insert", "key": {"id": 1}, "new": {"v": 1}}),
            400,
            "'key'",
        ),
        ("t", json!({"op": "replace", "new": {"v": 1}}), 400, "'op'"),
        (
            "t",
            json!({"op": "insert", "new": {"v": 1}, "more": 1}),
            400,
            "'more'",
        ),
        ("t", json!(7), 400, "object"),
        (
            "two",
            json!({"op": "delete", "key": {"a": 1}}),
            400,
            "a + b, or c",
        ),
    ] {
        let (told, _, message) = failed(&postern, "edit_unfit", table, change.clone());
        assert_eq!(told, status, "{change}: {message}");
        assert!(message.contains(why), "{change}: {message}");
    }
    let mut client = postern.client();
    for (body, why) in [
        (json!({"db": "edit_unfit", "table": "t"}), "'changes'"),
        (
            json!({"db": "edit_unfit", "table": "t", "changes": []}),
            "empty",
        ),
        (
            json!({"db": "", "table": "t\u{0}", "changes": [change()], "time_zone": "CET", "review": 1}),
            "'db' must not be empty",
        ),
        (
            json!({"db": "edit_unfit", "table": "t", "changes": vec![change(); 5001]}),
            "5000",
        ),
    ] {
        let (status, answer) = post(&mut client, "/api/edit", body);
        assert_eq!(status, 400, "{answer}");
        assert!(
            answer["message"].as_str().unwrap().contains(why),
            "{answer}"
        );
    }
    let plain = client.send(
        "POST",
        "/api/edit",
        &[("Content-Type", "text/plain")],
        b"{}",
    );
    assert_eq!(plain.status(), 415);
    let foreign = [
        ("Content-Type", "application/json"),
        ("Origin", "http://elsewhere.example"),
    ];
    assert_eq!(
        client.send("POST", "/api/edit", &foreign, b"{}").status(),
        403
    );
    assert_eq!(
        client
            .send(
                "POST",
                "/api/edit",
                &[("Content-Type", "application/json")],
                b"["
            )
            .status(),
        400
    );
    assert_eq!(count(db, "SELECT v FROM edit_unfit.t"), 1);
}

/// Triggers, columns that the server writes, and those that `SELECT *` is without.
#[test]
fn a_row_is_told_as_the_server_has_made_it() {
    let db = made(
        "edit_made",
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20), t VARCHAR(20), n INT DEFAULT 3, g INT AS (n * 2), \
         at DATETIME DEFAULT '2000-01-01' ON UPDATE CURRENT_TIMESTAMP, h INT INVISIBLE DEFAULT 5); \
         INSERT INTO t (v) VALUES ('one')",
    );
    db.exec("CREATE TRIGGER edit_made.bi BEFORE INSERT ON edit_made.t FOR EACH ROW SET NEW.t = UPPER(NEW.v)");
    db.exec("CREATE TRIGGER edit_made.bu BEFORE UPDATE ON edit_made.t FOR EACH ROW SET NEW.t = CONCAT(NEW.v, '!')");
    let postern = Postern::on(db, &[]);
    let changes = json!([
        {"op": "insert", "new": {"v": "two", "n": {"default": true}}},
        {"op": "insert", "new": {"v": "zero", "id": 0}},
        {"op": "insert", "new": {"v": "three", "id": null, "h": 6}},
        {"op": "update", "key": {"id": 1}, "old": {"v": "one", "g": 6, "h": 5}, "new": {"v": "more", "n": 4}},
    ]);
    let (status, answer) = edit(&postern, "edit_made", "t", changes);
    assert_eq!(status, 200, "{answer}");
    let rows = &answer["data"]["rows"];
    let at = "2000-01-01 00:00:00";
    assert_eq!(
        rows[0],
        json!({"id": 2, "v": "two", "t": "TWO", "n": 3, "g": 6, "at": at})
    );
    assert_eq!(rows[1]["id"], 0, "a 0 that was typed is a 0");
    assert_eq!((&rows[2]["id"], &rows[2]["h"]), (&json!(3), &json!(6)));
    assert_eq!(
        (&rows[3]["t"], &rows[3]["g"], &rows[3]["h"]),
        (&json!("more!"), &json!(8), &json!(5))
    );
    assert_ne!(rows[3]["at"], at);
    db.exec("CREATE TABLE edit_made.k (k VARCHAR(40) PRIMARY KEY DEFAULT 'given', v INT)");
    let change = json!([{"op": "insert", "new": {"v": 1}}]);
    let (status, answer) = edit(&postern, "edit_made", "k", change);
    assert_eq!(
        (status, &answer["data"]["rows"]),
        (200, &json!([{}])),
        "its key is the server's"
    );
}

#[test]
fn an_engine_that_cannot_roll_back_is_said_and_goes_row_by_row() {
    let db = made(
        "edit_myisam",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE = MyISAM; \
         INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')",
    );
    let postern = Postern::on(db, &[]);
    let change = |id: u8, old: &str| json!({"op": "update", "key": {"id": id}, "old": {"v": old}, "new": {"v": "new"}});
    let changes = json!([change(1, "one"), change(2, "other"), change(3, "three")]);
    let (status, answer) = review(&postern, "edit_myisam", "t", changes.clone());
    assert_eq!(
        (status, &answer["data"]["transaction"]),
        (200, &json!(false))
    );
    assert!(
        answer["data"]["note"]
            .as_str()
            .unwrap()
            .contains("MyISAM cannot roll back"),
        "{answer}"
    );
    let (status, answer) = edit(&postern, "edit_myisam", "t", changes);
    assert_eq!(status, 409, "{answer}");
    assert_eq!(
        (&answer["applied"], &answer["error"]["change"]),
        (&json!(1), &json!(1))
    );
    assert!(
        answer["message"].as_str().unwrap().contains("written (1)"),
        "{answer}"
    );
    assert_eq!(
        db.column("SELECT v FROM edit_myisam.t ORDER BY id"),
        ["new", "two", "three"]
    );
    let (status, answer) = edit(
        &postern,
        "edit_myisam",
        "t",
        json!([change(2, "two"), change(3, "three")]),
    );
    assert_eq!(
        (status, &answer["data"]["transaction"]),
        (200, &json!(false)),
        "{answer}"
    );
    db.exec("INSERT INTO edit_myisam.t VALUES (4, 'unlocked')");
}

#[test]
fn a_thousand_changes_take_a_moment() {
    let db = made(
        "edit_many",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w TEXT)",
    );
    let postern = Postern::on(db, &[]);
    let all = |make: &dyn Fn(usize) -> Value| Value::Array((0..1000).map(make).collect());
    let old = |id: usize| json!({"id": id, "v": format!("v{id}"), "w": "w"});
    let insert = all(&|id| json!({"op": "insert", "new": old(id)}));
    let update =
        all(&|id| json!({"op": "update", "key": {"id": id}, "old": old(id), "new": {"w": "new"}}));
    let delete =
        all(&|id| json!({"op": "delete", "key": {"id": id}, "old": {"id": id, "w": "new"}}));
    for changes in [insert, update, delete] {
        let started = std::time::Instant::now();
        let (status, answer) = edit(&postern, "edit_many", "t", changes);
        assert_eq!(
            (status, &answer["data"]["applied"]),
            (200, &json!(1000)),
            "{}",
            answer["message"]
        );
        println!("a thousand changes took {:?}", started.elapsed());
        support::assert_within(started, std::time::Duration::from_secs(10));
    }
    assert_eq!(count(db, "SELECT COUNT(*) FROM edit_many.t"), 0);
}

#[test]
fn read_only_mode_and_an_account_that_may_only_read_write_nothing() {
    let db = made(
        "edit_readonly",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1)",
    );
    let change = || json!({"op": "update", "key": {"id": 1}, "old": {"v": 1}, "new": {"v": 2}});
    let postern = Postern::on(db, &["--readonly"]);
    let (status, answer) = edit(&postern, "edit_readonly", "t", json!([change()]));
    assert_eq!(
        (status, &answer["layer"]),
        (403, &json!("gate")),
        "{answer}"
    );
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("read-only mode"),
        "{answer}"
    );
    assert_eq!(
        review(&postern, "edit_readonly", "t", json!([change()])).0,
        403
    );
    let target = db.target();
    let reader = Postern::start(&[&target, "--db-user", READER, "--db-pass", PASSWORD], &[]);
    let (status, answer) = edit(&reader, "edit_readonly", "t", json!([change()]));
    assert_eq!(
        (status, &answer["error"]["errno"]),
        (403, &json!(1142)),
        "{answer}"
    );
    assert_eq!(count(db, "SELECT v FROM edit_readonly.t"), 1);
    let user = Postern::start(&[&target, "--db-user", USER, "--db-pass", PASSWORD], &[]);
    assert_eq!(edit(&user, "edit_readonly", "t", json!([change()])).0, 200);
}

/// Names and values that would end where they stand, in every mode that changes what ends them.
#[test]
fn nothing_leaves_its_quotes_in_any_mode() {
    let modes: &[&str] = match Database::shared().kind() {
        Kind::MySql => &[
            "",
            "ANSI",
            "NO_BACKSLASH_ESCAPES",
            "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH",
        ],
        Kind::MariaDb => &[
            "",
            "ORACLE",
            "MSSQL,NO_BACKSLASH_ESCAPES",
            "ANSI_QUOTES,EMPTY_STRING_IS_NULL,PAD_CHAR_TO_FULL_LENGTH",
        ],
    };
    let db = Database::start(Options::default());
    db.exec(
        "CREATE DATABASE `d``b'\"\u{2603}`; CREATE TABLE `d``b'\"\u{2603}`.`t``; DROP TABLE x -- '\"` \
         (`k``'\"\\` VARCHAR(190) COLLATE utf8mb4_bin PRIMARY KEY, `v``, ``k` LONGTEXT, `c\u{2603}` CHAR(5), b BLOB)",
    );
    let (name, table) = ("d`b'\"\u{2603}", "t`; DROP TABLE x -- '\"");
    let (key, value) = ("k`'\"\\", "v`, `k");
    let evil = [
        "",
        "'",
        "\\",
        "\\'",
        "''",
        "\\\\",
        "' OR 1=1 -- ",
        "\\' OR 1=1 -- ",
        "x\\",
        "\"",
        "\\\"",
        "`",
        "/*",
        "*/",
        "\u{0}",
        "\u{1}'",
        "%_",
        "\n",
        "\r\n\t",
        "\u{1a}",
        "\u{bf}'",
        "\u{bf}\\",
        "NULL",
        "DEFAULT",
        "0x00",
        "\u{1f600}'",
        "#",
        "--",
        ";",
        "{\"a\": \"\\\\\"}",
        "\u{202e}evil",
        "\u{a5}'",
        "\u{8868}'",
        "?",
        ":a",
        "@@version",
    ];
    for mode in modes {
        db.exec(&format!("SET GLOBAL sql_mode = '{mode}'; DELETE FROM `d``b'\"\u{2603}`.`t``; DROP TABLE x -- '\"`"));
        let postern = Postern::on(&db, &[]);
        let insert = |text: &&str| json!({"op": "insert", "new": {key: text, value: text, "C\u{2603}": "c"}});
        let all = Value::Array(evil.iter().map(insert).collect());
        let (status, answer) = edit(&postern, name, table, all);
        assert_eq!(status, 200, "{mode}: {answer}");
        let rows = answer["data"]["rows"].as_array().unwrap().clone();
        for (text, row) in evil.iter().zip(&rows) {
            assert_eq!(
                (&row[key], &row[value]),
                (&json!(text), &json!(text)),
                "{mode}"
            );
        }
        let long = json!({"op": "insert", "new": {key: "long", "c\u{2603}": "too long"}});
        let (_, _, message) = failed(&postern, name, table, long);
        assert!(
            message.contains("too long"),
            "{mode}: nothing is cut to fit: {message}"
        );
        let update = |row: &Value| {
            let twice = row[key].as_str().unwrap().repeat(2);
            json!({"op": "update", "key": {key: row[key]}, "old": row, "new": {value: twice, "b": "0x2700"}})
        };
        let all = Value::Array(rows.iter().map(update).collect());
        let (status, answer) = edit(&postern, name, table, all);
        assert_eq!(status, 200, "{mode}: {answer}");
        let shown = "SELECT * FROM `d``b'\"\u{2603}`.`t``; DROP TABLE x -- '\"`";
        let rows = postern.client().query_ok("", shown)["rows"].clone();
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), evil.len(), "{mode}");
        let delete = |row: &Value| json!({"op": "delete", "key": {key: row[key]}, "old": row});
        let all = Value::Array(rows.iter().map(delete).collect());
        let (status, answer) = edit(&postern, name, table, all);
        assert_eq!(status, 200, "{mode}: {answer}");
    }
}

#[test]
fn what_is_larger_than_the_server_takes_is_not_sent() {
    let db = Database::start(Options {
        args: vec!["--max-allowed-packet=1M".into()],
        ..Options::default()
    });
    db.exec("CREATE DATABASE packet; CREATE TABLE packet.t (id INT PRIMARY KEY, b LONGBLOB); INSERT INTO packet.t VALUES (1, NULL)");
    let postern = Postern::on(&db, &[]);
    let file = |size: usize| json!({"op": "update", "key": {"id": 1}, "old": {"b": null}, "new": {"b": {"base64": "A".repeat(size)}}});
    let insert = json!({"op": "insert", "new": {"id": 2}});
    let (status, answer) = edit(&postern, "packet", "t", json!([insert, file(800 << 10)]));
    assert_eq!(
        (status, &answer["error"]["change"]),
        (413, &json!(1)),
        "{answer}"
    );
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("max_allowed_packet"),
        "{answer}"
    );
    assert_eq!(count(&db, "SELECT COUNT(*) FROM packet.t"), 1);
    let (status, answer) = edit(&postern, "packet", "t", json!([insert, file(600 << 10)]));
    assert_eq!(status, 200, "{}", answer["message"]);
    assert_eq!(
        count(&db, "SELECT LENGTH(b) FROM packet.t WHERE id = 1"),
        450 << 10
    );
}

/// The driver reads the answers then, and sends the statements.
#[test]
fn rows_are_edited_by_tls_too() {
    let db = Database::start(Options {
        tls: true,
        ..Options::default()
    });
    db.exec("CREATE DATABASE tls; CREATE TABLE tls.t (id INT PRIMARY KEY, v LONGTEXT); INSERT INTO tls.t VALUES (1, 'one')");
    let postern = Postern::on(&db, &["--tls", "require"]);
    let large = "\u{e9}'".repeat(6 << 20);
    let change = |old: &str, new: &str| json!([{"op": "update", "key": {"id": 1}, "old": {"v": old}, "new": {"v": new}}]);
    for (old, new) in [("one", "one"), ("one", large.as_str())] {
        let (status, answer) = edit(&postern, "tls", "t", change(old, new));
        assert_eq!(
            (status, &answer["data"]["applied"]),
            (200, &json!(1)),
            "{}",
            answer["message"]
        );
    }
    let (status, answer) = edit(&postern, "tls", "t", change("one", "two"));
    assert_eq!(
        (status, &answer["error"]["row"]),
        (409, &json!({"id": 1})),
        "a long cell is left out"
    );
    let delete = json!([{"op": "delete", "key": {"id": 1}, "old": {"v": large}}]);
    let (status, answer) = edit(&postern, "tls", "t", delete);
    assert_eq!(status, 200, "{}", answer["message"]);
}

#[test]
fn an_account_with_rights_to_some_columns_edits_those() {
    let db = made(
        "edit_grants",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, hidden INT, fixed INT); INSERT INTO t VALUES (1, 1, 1, 1); \
         CREATE USER edit_some@'%' IDENTIFIED BY 'secret'; \
         GRANT SELECT (id, v, fixed), UPDATE (v, hidden) ON t TO edit_some@'%'",
    );
    let postern = Postern::start(
        &[
            &db.target(),
            "--db-user",
            "edit_some",
            "--db-pass",
            PASSWORD,
        ],
        &[],
    );
    let change = |new: Value| json!({"op": "update", "key": {"id": 1}, "old": {"v": 1, "fixed": 1}, "new": new});
    let (status, kind, message) = failed(&postern, "edit_grants", "t", change(json!({"fixed": 2})));
    assert_eq!((status, kind.as_str()), (403, "server"), "{message}");
    let (status, answer) = edit(
        &postern,
        "edit_grants",
        "t",
        json!([change(json!({"v": 2, "hidden": 2}))]),
    );
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["data"]["rows"],
        json!([{"id": 1, "v": 2, "fixed": 1}])
    );
    db.exec("DROP USER edit_some@'%'");
}

mod on_mariadb {
    use super::*;

    #[test]
    fn rows_of_a_table_that_keeps_its_history_are_edited() {
        let db = made(
            "edit_versioned",
            "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING; INSERT INTO t VALUES (1, 1), (2, 2); \
             CREATE TABLE s (id INT, v INT, a TIMESTAMP(6) GENERATED ALWAYS AS ROW START, b TIMESTAMP(6) GENERATED ALWAYS AS ROW END, \
             PERIOD FOR SYSTEM_TIME (a, b), PRIMARY KEY (id)) WITH SYSTEM VERSIONING; INSERT INTO s (id, v) VALUES (1, 1), (2, 2)",
        );
        let postern = Postern::on(db, &[]);
        for table in ["t", "s"] {
            let changes = json!([
                {"op": "update", "key": {"id": 1}, "old": {"v": 1}, "new": {"v": 2}},
                {"op": "update", "key": {"id": 1}, "old": {"v": 2}, "new": {"v": 3}},
                {"op": "delete", "key": {"id": 2}, "old": {"v": 2}},
                {"op": "insert", "new": {"id": 2, "v": 9}},
            ]);
            let (status, answer) = edit(&postern, "edit_versioned", table, changes);
            assert_eq!(status, 200, "{table}: {answer}");
            assert_eq!(answer["data"]["rows"][1]["v"], 3);
            assert_eq!(answer["data"]["rows"][3]["v"], 9);
        }
        let now = postern
            .client()
            .query_ok("edit_versioned", "SELECT * FROM s WHERE id = 1")["rows"][0]
            .clone();
        let change =
            json!([{"op": "update", "key": {"id": 1, "b": now["b"]}, "old": now, "new": {"v": 4}}]);
        let (status, answer) = edit(&postern, "edit_versioned", "s", change);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(
            count(
                db,
                "SELECT COUNT(*) FROM edit_versioned.s FOR SYSTEM_TIME ALL WHERE id = 1"
            ),
            4
        );
    }
}
