//! A server that takes no writes is shown as such, also when that changes.

use serde_json::{Value, json};
use support::balancer::Balancer;
use support::database::{Database, Kind, Options, PASSWORD};
use support::http::Client;
use support::postern::Postern;
use support::{TIMEOUT, holds_within};

use super::{ask, cell, message, two_servers, web_client};

/// An account without the privileges that go around `read_only`.
const WRITER: &str = "writer";

fn with_writer(db: &Database) {
    db.exec(&format!(
        "CREATE USER {WRITER}@'%' IDENTIFIED BY '{PASSWORD}'; GRANT SELECT, INSERT ON *.* TO {WRITER}@'%'"
    ));
}

fn as_writer(target: &str, more: &[&str]) -> Postern {
    let account = [target, "--db-user", WRITER, "--db-pass", PASSWORD];
    Postern::start(&[&account, more].concat(), &[])
}

#[track_caller]
fn shows(client: &mut Client, name: &str, wanted: &Value) {
    let mut info = Value::Null;
    let shown = holds_within(TIMEOUT, || {
        info = client.get("/api/info").data();
        info[name] == *wanted
    });
    assert!(shown, "{name} becomes {wanted}: {info}");
}

#[test]
fn a_replica_says_so_and_a_refused_write_says_where_to_go() {
    let db = Database::start(Options {
        args: vec!["--read-only=1".into()],
        ..Options::default()
    });
    db.exec("CREATE DATABASE shop");
    db.exec("CREATE TABLE shop.t (a INT PRIMARY KEY)");
    with_writer(&db);
    let postern = as_writer(&db.target(), &[]);
    let mut client = postern.client();
    let info = client.get("/api/info").data();
    assert_eq!(info["read_only"], true, "{info}");
    assert_eq!(info["innodb_read_only"], false, "{info}");
    let is_mysql = db.kind() == Kind::MySql;
    assert_eq!(
        info["super_read_only"],
        if is_mysql { json!(false) } else { Value::Null }
    );
    let (status, body) = ask(&mut client, "INSERT INTO shop.t VALUES (1)");
    assert_eq!(
        (status, &body["error"]["errno"]),
        (400, &json!(1290)),
        "{body}"
    );
    let mut lines = message(&body).lines();
    assert!(lines.next().unwrap().contains("read-only"), "{body}");
    assert!(
        lines
            .next()
            .unwrap()
            .contains("connect to the primary server"),
        "{body}"
    );
    // It is promoted, and its connections stay.
    db.exec("SET GLOBAL read_only = 0");
    assert_eq!(ask(&mut client, "INSERT INTO shop.t VALUES (1)").0, 200);
    shows(&mut client, "read_only", &json!(false));
    // And demoted.
    db.exec("SET GLOBAL read_only = 1");
    assert_eq!(ask(&mut client, "INSERT INTO shop.t VALUES (2)").0, 400);
    shows(&mut client, "read_only", &json!(true));
}

#[test]
fn in_read_only_mode_each_statement_shows_it() {
    let db = Database::start(Options::default());
    let postern = web_client(&db.target(), &["--readonly"]);
    let mut client = postern.client();
    assert_eq!(client.get("/api/info").data()["read_only"], false);
    for now in [true, false] {
        db.exec(&format!("SET GLOBAL read_only = {}", u8::from(now)));
        assert_eq!(cell(&mut client, "SELECT 1"), "1");
        assert_eq!(client.get("/api/info").data()["read_only"], now);
    }
}

#[test]
fn a_failover_to_a_replica_is_shown() {
    let servers = two_servers();
    servers[1].exec("SET GLOBAL read_only = 1");
    let address = Balancer::before(&[servers[0].port(), servers[1].port()]);
    let postern = web_client(&address.target(), &[]);
    let mut client = postern.client();
    assert_eq!(client.get("/api/info").data()["read_only"], false);
    address.fail_over_to(1);
    assert_eq!(cell(&mut client, "SELECT @@server_id"), "2");
    assert_eq!(client.get("/api/info").data()["read_only"], true);
}
