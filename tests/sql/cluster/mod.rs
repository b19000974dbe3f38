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
use support::{TIMEOUT, wait_until};

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

/// A statement that runs on one of `servers` is cancelled, and runs on none of them any more.
#[track_caller]
fn cancels(postern: &Postern, servers: &[Database]) {
    let mut asking = postern.client();
    let sql = "SELECT SUM(SLEEP(50)) FROM (SELECT 1 UNION SELECT 2) two";
    let body = json!({"sql": sql, "query_id": "aim"});
    let asked = std::thread::spawn(move || asking.post("/api/query", &body).json());
    let running = || -> usize { servers.iter().map(|db| db.running("SLEEP(50)")).sum() };
    wait_until(TIMEOUT, "it runs", || running() == 1);
    let cancel = json!({"query_id": "aim"});
    assert_eq!(postern.client().post("/api/cancel", &cancel).status(), 200);
    let told = asked.join().unwrap();
    assert_eq!(told["error"]["errno"], 1317, "{told}");
    assert_eq!(running(), 0);
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
