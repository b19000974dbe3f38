//! The database web client's HTTP API, through the real binary on a real MariaDB.

mod answers;
mod balancer;
mod catalogue;
mod consoles;
mod edit;
mod edit_races;
mod edit_types;
mod exports;
mod limits;
mod scripts;
mod search;
mod sessions;
mod stops;
mod time_zone;

use std::time::Duration;

use serde_json::Value;
use support::database::Database;
use support::http::Client;

const SOON: Duration = Duration::from_secs(60);

/// A database of one's own on the shared server.
fn database(name: &str) -> &'static Database {
    let db = Database::shared();
    db.exec(&format!(
        "CREATE DATABASE IF NOT EXISTS {name}; CREATE TABLE {name}.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20)); \
         INSERT INTO {name}.t (v) VALUES ('one'), ('two'), ('three')"
    ));
    db
}

fn post(client: &mut Client, path: &str, body: Value) -> (u16, Value) {
    let answer = client.post(path, &body);
    (answer.status(), answer.json())
}

fn count(db: &Database, sql: &str) -> u64 {
    db.value(sql).parse().expect("a count")
}
