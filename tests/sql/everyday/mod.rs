//! Everyday statements: what the server takes directly it takes through the web client, in both modes, with the same
//! answer; and what read-only mode refuses by decision it refuses with its reason.
//!
//! The statements are in `tests/data/everyday`, see [`corpus`] for their form.

pub(crate) mod answer;
mod corpus;

use std::collections::{BTreeMap, HashSet};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use postern::sqlweb::gate::{self, Dialect};
use serde_json::{Value, json};
use support::database::{Database, Kind, Options, PASSWORD, USER};
use support::http::Client;
use support::postern::Postern;

use answer::{Direct, difference, direct};
use corpus::{Entry, parse};

/// The database of the set-up.
const DB: &str = "everyday";

/// Names that the lists hold and that cannot stand before a parenthesis in a query that the server takes.
const NOT_BEFORE_PARENTHESES: &[&str] =
    &["DIV", "FIXED", "NVARCHAR", "OFFSET", "SCHEMAS", "SIGNED"];

/// Fewest statements for one server.
const ENOUGH: usize = 400;

#[test]
fn everyday_statements_run_in_both_modes_as_they_run_directly() {
    let db = database();
    let mut entries = entries(&db, "");
    entries.extend(corpus::generated());
    let mut conn = account(&db);
    let (normal, read_only) = (Postern::on(&db, &[]), Postern::on(&db, &["--readonly"]));
    let mut clients = [normal.client(), read_only.client()];
    let mut faults = Vec::new();
    for entry in &entries {
        let found = check(entry, &mut conn, &mut clients);
        faults
            .extend(found.map(|fault| format!("{}: {:.300}\n    {fault}", entry.place, entry.sql)));
    }
    tell(&db, &entries);
    let found = faults.join("\n");
    assert!(faults.is_empty(), "{} faults\n{found}", faults.len());
    assert!(entries.len() >= ENOUGH, "only {} statements", entries.len());
}

/// Covers the functions that the server lists as built in, and those that the gate takes for harmless and built in.
#[test]
fn every_function_is_called_in_some_statement() {
    let db = Database::shared();
    let mut called = HashSet::new();
    for entry in entries(db, "") {
        called.extend(names_before_parentheses(&entry.sql));
    }
    let dialect = Dialect::from_server_version(&db.value("SELECT VERSION()")).expect("it is known");
    let mut names: Vec<String> = gate::names_passed(&dialect)
        .into_iter()
        .map(str::to_owned)
        .collect();
    names.retain(|name| !gate::names_reserved().contains(&name.as_str()));
    names.extend(db.column(match db.kind() {
        Kind::MariaDb => "SELECT FUNCTION FROM information_schema.SQL_FUNCTIONS",
        Kind::MySql => {
            "SELECT t.name FROM mysql.help_topic t JOIN mysql.help_category c USING (help_category_id) \
             WHERE c.name LIKE '%Function%' AND c.name NOT REGEXP '^(Internal|Enterprise)' \
             AND t.name REGEXP '^[A-Z][A-Z0-9_]+( FUNCTION)?$'"
        }
    }));
    names.retain(|name| {
        let name = name.trim_end_matches(" FUNCTION");
        !called.contains(name) && !NOT_BEFORE_PARENTHESES.contains(&name)
    });
    names.sort();
    names.dedup();
    assert!(names.is_empty(), "in no statement: {}", names.join(" "));
}

/// Each name that an opening parenthesis follows, in upper case.
fn names_before_parentheses(sql: &str) -> Vec<String> {
    let is_outside = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let before = sql
        .split('(')
        .map(|text| text.trim_end().rsplit(is_outside));
    let names = before.filter_map(|mut words| words.next());
    names.map(str::to_ascii_uppercase).collect()
}

/// Prints the number of statements of each kind.
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

/// Fault of one statement, if any.
fn check(entry: &Entry, conn: &mut Conn, clients: &mut [Client; 2]) -> Option<String> {
    let [normal, read_only] = clients;
    let own = direct(conn, DB, &entry.sql);
    match &own {
        Direct::Failed(error) if entry.fails != Some(error.code) => {
            return Some(format!("fails directly: {error}"));
        }
        Direct::Done(..) if entry.fails.is_some() => return Some("does not fail".to_owned()),
        _ => {}
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
    let switched_on = ["--log-bin=bin", "--server-id=7", "--performance-schema=ON"];
    let db = Database::start(Options {
        args: switched_on.map(str::to_owned).to_vec(),
        ..Options::default()
    });
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
