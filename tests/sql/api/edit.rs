//! `POST /api/edit`: rows of one table, changed, made and deleted in one transaction.

use serde_json::{Value, json};

use super::{count, post};
use support::database::Database;
use support::postern::Postern;

/// A database of one's own with what `sql` makes in it.
fn made(name: &str, sql: &str) -> &'static Database {
    let db = Database::shared();
    db.exec(&format!(
        "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}; {sql}"
    ));
    db
}

fn edit(postern: &Postern, db: &str, table: &str, changes: Value) -> (u16, Value) {
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
