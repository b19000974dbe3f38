//! Dumps that the server's own client restores, compared with what was dumped.

mod limits;
pub(crate) mod nasty;
mod restore;
mod rights;

use std::fs::File;
use std::process::Stdio;

use mysql::prelude::Queryable;
use serde_json::{Value, json};
use support::database::{Database, Kind, Server};
use support::http::Client;

/// The whole dump, which must have gone well.
fn dump(client: &mut Client, body: &Value) -> Vec<u8> {
    let answer = client.post("/api/dump", body);
    assert_eq!(
        answer.status(),
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    let whole = answer.body.ends_with(b"\n-- Dump completed\n");
    assert!(whole, "a whole dump ends with its mark");
    answer.body
}

/// Restores `file` with the server's own client into a new database `into`, made with `options`.
fn restore(db: &Database, file: &[u8], into: &str, options: &str) {
    db.exec(&format!(
        "DROP DATABASE IF EXISTS `{into}`; CREATE DATABASE `{into}` {options}"
    ));
    let outcome = client(db, into, file);
    assert_eq!(outcome, Ok(()), "the client must restore the dump");
}

/// Output of the server's own client for `file`, as people run it: without `--binary-mode` or a character set.
fn client(db: &Database, into: &str, file: &[u8]) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("dump.sql");
    std::fs::write(&path, file).unwrap();
    let program = match db.kind() {
        Kind::MariaDb => "mariadb",
        Kind::MySql => "mysql",
    };
    let done = Server::chosen()
        .tool(program)
        .args(["--no-defaults", "--user=root"])
        .arg(format!("--socket={}", db.socket().display()))
        .arg(into)
        .stdin(Stdio::from(File::open(&path).unwrap()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() && told.is_empty() {
        Ok(())
    } else {
        Err(format!("{told}\n{}", String::from_utf8_lossy(&done.stdout)))
    }
}

/// Everything there is in a database, in words: what makes each object, what the catalogue says, and every value by its
/// bytes. The database's own name does not count.
pub(crate) fn everything(db: &Database, name: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut conn = db.conn();
    conn.query_drop("SET NAMES utf8mb4").unwrap();
    conn.query_drop("SET time_zone = '+00:00', sql_mode = ''")
        .unwrap();
    conn.select_db(name).unwrap();
    let mut ask = |sql: &str| -> Vec<Vec<String>> {
        let rows: Vec<mysql::Row> = conn
            .query(sql)
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
        let cell = |value: mysql::Value| match value {
            mysql::Value::NULL => "NULL".to_owned(),
            mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => format!("{other:?}"),
        };
        rows.into_iter()
            .map(|row| row.unwrap().into_iter().map(cell).collect())
            .collect()
    };
    let is_mariadb = db.kind() == Kind::MariaDb;
    for sql in [
        "SELECT TABLE_NAME, TABLE_TYPE, ENGINE, ROW_FORMAT, AUTO_INCREMENT, TABLE_COLLATION, CREATE_OPTIONS, TABLE_COMMENT \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME",
        "SELECT TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, COLUMN_TYPE, COLLATION_NAME, EXTRA, \
         COLUMN_COMMENT, GENERATION_EXPRESSION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
         ORDER BY TABLE_NAME, ORDINAL_POSITION",
        "SELECT TRIGGER_NAME, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, ACTION_ORDER, ACTION_TIMING, SQL_MODE, DEFINER, \
         CHARACTER_SET_CLIENT, COLLATION_CONNECTION, DATABASE_COLLATION FROM information_schema.TRIGGERS \
         WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY TRIGGER_NAME, EVENT_MANIPULATION",
        "SELECT ROUTINE_NAME, ROUTINE_TYPE, DTD_IDENTIFIER, IS_DETERMINISTIC, SQL_DATA_ACCESS, SECURITY_TYPE, SQL_MODE, \
         ROUTINE_COMMENT, DEFINER, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, DATABASE_COLLATION \
         FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY ROUTINE_TYPE, ROUTINE_NAME",
        "SELECT EVENT_NAME, DEFINER, TIME_ZONE, EXECUTE_AT, INTERVAL_VALUE, INTERVAL_FIELD, SQL_MODE, STARTS, ENDS, STATUS, \
         ON_COMPLETION, EVENT_COMMENT, CHARACTER_SET_CLIENT, DATABASE_COLLATION FROM information_schema.EVENTS \
         WHERE EVENT_SCHEMA = DATABASE() ORDER BY EVENT_NAME",
        "SELECT TABLE_NAME, CHECK_OPTION, IS_UPDATABLE, DEFINER, SECURITY_TYPE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION \
         FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME",
        "SELECT CONSTRAINT_NAME, TABLE_NAME, REFERENCED_TABLE_NAME, UPDATE_RULE, DELETE_RULE \
         FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() ORDER BY 1, 2",
        "SELECT TABLE_NAME, PARTITION_NAME, PARTITION_EXPRESSION, PARTITION_DESCRIPTION, TABLE_ROWS IS NULL, PARTITION_COMMENT \
         FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND PARTITION_NAME IS NOT NULL ORDER BY 1, 2",
    ] {
        all.extend(ask(sql).into_iter().map(|row| row.join(" | ")));
    }
    let mut objects: Vec<(String, String)> = Vec::new();
    for (sql, kind) in [
        (
            "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
            "",
        ),
        (
            "SELECT TRIGGER_NAME, 'TRIGGER' FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() ORDER BY 1",
            "TRIGGER",
        ),
        (
            "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY 2, 1",
            "ROUTINE",
        ),
        (
            "SELECT EVENT_NAME, 'EVENT' FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE() ORDER BY 1",
            "EVENT",
        ),
    ] {
        for row in ask(sql) {
            let kind = match row[1].as_str() {
                _ if kind.is_empty() => "TABLE".to_owned(),
                other => other.to_owned(),
            };
            objects.push((row[0].clone(), kind));
        }
    }
    for (object, kind) in &objects {
        let quoted = format!("`{}`", object.replace('`', "``"));
        // A dump does not keep the time at which a trigger was made.
        let shown = ask(&format!("SHOW CREATE {kind} {quoted}"));
        let mut shown = shown.into_iter().next().unwrap();
        if kind == "TRIGGER" {
            shown.truncate(6);
        }
        all.push(shown.join(" | "));
    }
    let tables = ask(
        "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
    );
    for table in tables {
        let quoted = format!("`{}`", table[0].replace('`', "``"));
        let text = table[0].replace('\'', "''").replace('\\', "\\\\");
        let columns = ask(&format!(
            "SELECT COLUMN_NAME, DATA_TYPE, GENERATION_EXPRESSION FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{text}' ORDER BY ORDINAL_POSITION"
        ));
        let value = |column: &Vec<String>| {
            let name = format!("`{}`", column[0].replace('`', "``"));
            match column[1].as_str() {
                // Ignores the time at which the row was written.
                _ if column[2].starts_with("ROW ") => "NULL".to_owned(),
                "float" => format!("{name} * 1e0"),
                "bit" | "vector" | "geometry" | "point" | "polygon" | "linestring" => {
                    format!("HEX({name})")
                }
                "enum" | "set" => {
                    format!("CONCAT(CAST({name} AS UNSIGNED), ' ', HEX(CAST({name} AS BINARY)))")
                }
                _ => format!("HEX(CAST({name} AS BINARY))"),
            }
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        let mut rows: Vec<String> = ask(&format!("SELECT {} FROM {quoted}", values.join(", ")))
            .into_iter()
            .map(|row| format!("{quoted}: {}", row.join(" | ")))
            .collect();
        rows.sort();
        all.extend(rows);
        let is_plain = table[1] == "BASE TABLE";
        if is_plain && is_mariadb {
            let sum = ask(&format!("CHECKSUM TABLE {quoted} EXTENDED"));
            all.push(format!("checksum of {quoted}: {}", sum[0][1]));
        }
    }
    // MariaDB keeps a trigger's name, and shows a sequence's, with the database; what is restored may be in another.
    all.iter()
        .map(|line| line.replace(&format!("`{name}`."), ""))
        .map(|line| line.replace(&format!("`{name}`"), "`DB`"))
        // MySQL says so of a column whose collation was given, as its own statement gives it.
        .map(|line| line.replace(" CHARACTER SET utf8mb4 COLLATE", " COLLATE"))
        // And of a routine it keeps the semicolon behind it where it came with other statements.
        .map(|line| line.replace("; | ", " | "))
        .collect()
}

/// Fails at the first line that differs.
#[track_caller]
fn assert_same(before: &[String], after: &[String]) {
    for (one, other) in before.iter().zip(after) {
        assert_eq!(one, other);
    }
    assert_eq!(before.len(), after.len());
}

fn whole(db: &str) -> Value {
    json!({"db": db})
}
