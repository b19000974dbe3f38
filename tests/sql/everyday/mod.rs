//! Everyday statements: what the server takes directly it takes through the web client, in both modes, with the same
//! answer; and what read-only mode refuses by decision it refuses with its reason.
//!
//! The statements are in `tests/data/everyday`, see [`corpus`] for their form.

mod answer;
mod corpus;

use std::collections::BTreeMap;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use serde_json::{Value, json};
use support::http::Client;
use support::mariadb::{PASSWORD, USER};
use support::postern::Postern;

use answer::{Direct, difference, direct};
use corpus::{Entry, Version, parse, version_of};

/// The database of the set-up.
const DB: &str = "everyday";

/// Fewest statements for one server.
const ENOUGH: usize = 400;

struct Server {
    conn: Conn,
    target: String,
    version: Version,
    mariadb: bool,
}

#[test]
fn everyday_statements_run_in_both_modes_as_they_run_directly() {
    let mut server = server();
    set_up(&mut server);
    let entries = entries(&mut server);
    let arguments = [
        server.target.as_str(),
        "--db-user",
        USER,
        "--db-pass",
        PASSWORD,
    ];
    let normal = Postern::start(&arguments, &[]);
    let read_only = Postern::start(&[&arguments[..], &["--readonly"]].concat(), &[]);
    let mut clients = [normal.client(), read_only.client()];
    let (mut faults, mut counts) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for entry in &entries {
        *counts.entry(&entry.kind).or_default() += 1;
        if entry.refused.is_some() {
            *counts.entry("(refused in read-only mode)").or_default() += 1;
        }
        let found = check(entry, &mut server.conn, &mut clients);
        faults.extend(found.map(|fault| format!("{}: {}\n    {fault}", entry.place, entry.sql)));
    }
    println!("{}: {} statements", server.target, entries.len());
    for (kind, count) in counts {
        println!("{count:6} {kind}");
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(entries.len() >= ENOUGH, "only {} statements", entries.len());
}

/// What is wrong with one statement.
fn check(entry: &Entry, conn: &mut Conn, clients: &mut [Client; 2]) -> Option<String> {
    let [normal, read_only] = clients;
    let own = direct(conn, DB, &entry.sql);
    let code = match &own {
        Direct::Failed(code, _) => Some(*code),
        Direct::Rows(..) => None,
    };
    if code != entry.fails {
        let Direct::Failed(code, message) = own else {
            return Some("does not fail".to_owned());
        };
        return Some(format!("fails directly: {code} {message}"));
    }
    let answer = ask(normal, &entry.sql);
    if let Some(fault) = difference(&own, &answer, entry.volatile) {
        return Some(format!("normal mode: {fault}"));
    }
    let answer = ask(read_only, &entry.sql);
    let fault = match &entry.refused {
        None => difference(&own, &answer, entry.volatile),
        Some(reason) => {
            let message = answer["message"].as_str().unwrap_or_default();
            let as_said = message.starts_with("read-only mode:") && message.contains(reason);
            (!as_said).then(|| format!("not refused for {reason:?}: {answer:.300}"))
        }
    };
    fault.map(|fault| format!("read-only mode: {fault}"))
}

fn ask(client: &mut Client, sql: &str) -> Value {
    client
        .post("/api/query", &json!({"sql": sql, "db": DB}))
        .json()
}

fn server() -> Server {
    let target = std::env::var("POSTERN_EVERYDAY").expect("by hand for now");
    let (host, port) = target.split_once(':').unwrap();
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(port.parse().unwrap())
        .prefer_socket(false)
        .user(Some(USER))
        .pass(Some(PASSWORD));
    let mut conn = Conn::new(options).unwrap();
    let version: String = conn.query_first("SELECT VERSION()").unwrap().unwrap();
    Server {
        conn,
        target,
        version: version_of(&version),
        mariadb: version.contains("MariaDB"),
    }
}

fn read(name: &str) -> String {
    let path = format!("{}/tests/data/everyday/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Files of that name for this server: what all have, and what only its kind has.
fn files(server: &Server, suffix: &str) -> [String; 2] {
    let kind = if server.mariadb { "mariadb" } else { "mysql" };
    [format!("common{suffix}.sql"), format!("{kind}{suffix}.sql")]
}

fn set_up(server: &mut Server) {
    server
        .conn
        .query_drop(format!("DROP DATABASE IF EXISTS {DB}"))
        .unwrap();
    for file in files(server, "-setup") {
        for entry in parse(&file, &read(&file)) {
            if entry.is_for(server.version) {
                let outcome = server.conn.query_drop(&entry.sql);
                outcome.unwrap_or_else(|e| panic!("{}: {e}", entry.place));
            }
        }
    }
}

fn entries(server: &mut Server) -> Vec<Entry> {
    let databases: Vec<String> = server.conn.query("SHOW DATABASES").unwrap();
    let fits = |entry: &Entry| {
        let missing = entry.needs.as_ref().filter(|db| !databases.contains(db));
        entry.is_for(server.version) && missing.is_none()
    };
    let all = files(server, "");
    let all = all.iter().flat_map(|file| parse(file, &read(file)));
    all.filter(fits).collect()
}
