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
use support::database::{Database, Kind, Options, PASSWORD, USER};
use support::http::Client;
use support::postern::Postern;

use answer::{Direct, difference, direct};
use corpus::{Entry, parse};

/// The database of the set-up.
const DB: &str = "everyday";

/// Fewest statements for one server.
const ENOUGH: usize = 400;

#[test]
fn everyday_statements_run_in_both_modes_as_they_run_directly() {
    let db = database();
    let entries = entries(&db, "");
    let mut conn = account(&db);
    let (normal, read_only) = (Postern::on(&db, &[]), Postern::on(&db, &["--readonly"]));
    let mut clients = [normal.client(), read_only.client()];
    let mut faults = Vec::new();
    for entry in &entries {
        let found = check(entry, &mut conn, &mut clients);
        faults.extend(found.map(|fault| format!("{}: {}\n    {fault}", entry.place, entry.sql)));
    }
    tell(&db, &entries);
    let found = faults.join("\n");
    assert!(faults.is_empty(), "{} faults\n{found}", faults.len());
    assert!(entries.len() >= ENOUGH, "only {} statements", entries.len());
}

/// How many statements there are of each kind.
fn tell(db: &Database, entries: &[Entry]) {
    let mut counts = BTreeMap::<&str, usize>::new();
    for entry in entries {
        *counts.entry(&entry.kind).or_default() += 1;
    }
    let refused = entries.iter().filter(|e| e.refused.is_some()).count();
    println!(
        "{:?} {:?}: {} statements",
        db.kind(),
        db.version(),
        entries.len()
    );
    println!("{refused:6} of them refused in read-only mode");
    for (kind, count) in counts {
        println!("{count:6} {kind}");
    }
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

/// A server with what many have switched on, and with the database of the set-up.
fn database() -> Database {
    let mut args = vec!["--log-bin=bin", "--server-id=7", "--performance-schema=ON"];
    let init = "SET GLOBAL time_zone = '+00:00';\n".to_owned();
    let options = Options {
        args: args.drain(..).map(str::to_owned).collect(),
        init,
        ..Options::default()
    };
    let db = Database::start(options);
    let mut conn = account(&db);
    for entry in entries(&db, "-setup") {
        let outcome = conn.query_drop(&entry.sql);
        outcome.unwrap_or_else(|e| panic!("{}: {e}", entry.place));
    }
    db
}

/// A connection of the account that the web client has, too.
fn account(db: &Database) -> Conn {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(db.port())
        .prefer_socket(false)
        .user(Some(USER))
        .pass(Some(PASSWORD));
    Conn::new(options).expect("the account may come in")
}

/// The statements of the files with that suffix that are for this server: what all have, and what only its kind has.
fn entries(db: &Database, suffix: &str) -> Vec<Entry> {
    let kind = match db.kind() {
        Kind::MySql => "mysql",
        Kind::MariaDb => "mariadb",
    };
    let (major, minor, _) = db.version();
    let read = |name: &str| {
        let name = format!("{name}{suffix}.sql");
        let path = format!("{}/tests/data/everyday/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        parse(&name, &text)
    };
    let mut all = read("common");
    all.extend(read(kind));
    all.retain(|entry| entry.is_for((major, minor)));
    all
}
