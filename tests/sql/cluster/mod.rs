//! Several servers behind one address: balancers, proxies that spread statements, failovers, replicas and clusters.

mod failover;
mod on_mariadb;
mod on_mysql;
mod replica;
mod spreading;

use serde_json::{Value, json};
use support::database::{Database, Options, PASSWORD, USER};
use support::http::Client;
use support::postern::Postern;

/// A web client of that address.
fn web_client(target: &str, more: &[&str]) -> Postern {
    let account = [target, "--db-user", USER, "--db-pass", PASSWORD];
    Postern::start(&[&account, more].concat(), &[])
}

fn ask(client: &mut Client, sql: &str) -> (u16, Value) {
    let body = json!({"sql": sql, "session": "one"});
    let answer = client.post("/api/query", &body);
    (answer.status(), answer.json())
}

/// The first column of the first row.
#[track_caller]
fn cell(client: &mut Client, sql: &str) -> String {
    let (status, body) = ask(client, sql);
    assert_eq!(status, 200, "{sql}: {body}");
    match first(&body) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The first value of an answer.
fn first(body: &Value) -> &Value {
    let column = body["data"]["columns"][0].as_str().unwrap_or_default();
    &body["data"]["rows"][0][column]
}

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

/// Two servers of the kind under test, each of which knows its number.
fn two_servers() -> [Database; 2] {
    [1, 2].map(|number| {
        let db = Database::start(Options {
            args: vec![format!("--server-id={number}")],
            ..Options::default()
        });
        db.exec("CREATE DATABASE shop");
        db.exec("CREATE TABLE shop.t (a INT PRIMARY KEY)");
        db
    })
}

fn rows_on(db: &Database) -> String {
    db.value("SELECT COUNT(*) FROM shop.t")
}
