//! The read-only gate against a real server: statements made from a grammar are
//! judged, and those that pass are run as `root` without the other layers. None
//! may change anything. `POSTERN_SEED` repeats a run.

mod grammar;
mod watch;

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use mysql::Conn;
use mysql::prelude::Queryable;
use postern::sqlweb::gate::{self, Dialect};
use serde_json::{Value, json};
use support::Database;
use support::database::{Kind, Options};
use support::http::Client;
use support::postern::Postern;

use grammar::Grammar;
use watch::{Watch, controls, prepared};

/// Statements made, and in the long form; about one in six passes.
const STATEMENTS: usize = 2_000;
const WHOLE_STATEMENTS: usize = 30_000;

/// Passed statements between two looks at the state of the server.
const BATCH: usize = 10;

#[test]
fn nothing_that_passes_changes_the_server() {
    let server = Database::start(Options::default());
    let mut watch = Watch::new(&server);
    let mut conn = prepared(&server);
    let dialect = dialect_of(&mut conn);
    let seed = seed();
    println!("POSTERN_SEED={seed}");
    let mut grammar = Grammar::new(server.kind(), seed, watch.files());
    let statements = support::rounds(STATEMENTS, WHOLE_STATEMENTS);
    let mut tally = Tally::default();
    let mut batch = Vec::new();
    let mut before = watch.fingerprint();
    for _ in 0..statements {
        let sql = grammar.statement();
        let Ok(passed) = gate::check(&sql, &dialect) else {
            continue;
        };
        // Statements that need the third layer's proof have tests of their own.
        if crashes_the_server(&sql) || !passed.calls.supplied.is_empty() {
            continue;
        }
        let sql = passed.rebuilt.unwrap_or(sql);
        tally.passed += 1;
        tally.ran += usize::from(run(&mut conn, &sql));
        assert!(watch.is_alive(), "seed {seed}, the server died of: {sql}");
        batch.push(sql);
        if batch.len() == BATCH {
            let after = watch.fingerprint();
            assert_eq!(
                before,
                after,
                "seed {seed}, one of these changed state:\n{}",
                batch.join("\n")
            );
            before = after;
            batch.clear();
        }
    }
    assert_eq!(
        before,
        watch.fingerprint(),
        "seed {seed}:\n{}",
        batch.join("\n")
    );
    println!(
        "{statements} made, {} passed, {} of them ran",
        tally.passed, tally.ran
    );
    assert!(
        tally.ran > statements / 50,
        "only {} ran: the grammar proves nothing",
        tally.ran
    );
    controls_change_the_fingerprint(&mut conn, &mut watch, server.kind(), &dialect);
}

#[derive(Default)]
struct Tally {
    passed: usize,
    ran: usize,
}

/// Without this the test above could pass by seeing nothing.
fn controls_change_the_fingerprint(
    conn: &mut Conn,
    watch: &mut Watch,
    kind: Kind,
    dialect: &Dialect,
) {
    for control in controls(kind) {
        let sql = control.replace("DIR", watch.files());
        if dialect.mariadb && dialect.version >= (11, 8, 1) && sql.contains("format_bytes") {
            // Built in there.
            continue;
        }
        assert!(gate::check(&sql, dialect).is_err(), "{sql} passed");
        let before = watch.fingerprint();
        assert!(run(conn, &sql), "{sql} did not run");
        assert_ne!(before, watch.fingerprint(), "{sql} was not seen");
    }
    views_are_left_to_the_connection(conn, watch, dialect);
}

/// A text cannot show what a view calls; the read-only transaction refuses it.
fn views_are_left_to_the_connection(conn: &mut Conn, watch: &mut Watch, dialect: &Dialect) {
    assert!(gate::check("SELECT * FROM v", dialect).is_ok());
    let before = watch.fingerprint();
    conn.query_drop("SET SESSION TRANSACTION READ ONLY")
        .unwrap();
    assert!(!run(conn, "SELECT * FROM v"));
    assert_eq!(before, watch.fingerprint());
}

fn dialect_of(conn: &mut Conn) -> Dialect {
    let version: String = conn.query_first("SELECT VERSION()").unwrap().unwrap();
    Dialect::from_server_version(&version).unwrap()
}

/// MariaDB 10.11 dies of `SELECT x.y.z FROM t JOIN log USING (a)`, where no database `x` has such a table: a fault of the
/// server's own, that no text shows to the gate. MariaDB 10.11 and 11.8 die of
/// `SELECT MATCH (b) AGAINST ('x') FROM t WHERE (SELECT MATCH (b) AGAINST ('x'))`.
fn crashes_the_server(sql: &str) -> bool {
    if sql.contains("(SELECT MATCH ") && sql.matches("AGAINST").count() > 1 {
        return true;
    }
    let names = sql.split(|c: char| !c.is_ascii_alphanumeric() && !"._`".contains(c));
    let is_long = |name: &str| name.matches('.').count() >= 2;
    sql.contains("USING") && names.into_iter().any(is_long)
}

/// Runs a statement to its end; whether the server took it.
fn run(conn: &mut Conn, sql: &str) -> bool {
    conn.query_drop(sql).is_ok()
}

fn seed() -> u64 {
    let given = env::var("POSTERN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    given.unwrap_or(clock | 1)
}

/// Statements sent as scripts.
const SCRIPTED: usize = 3_000;

/// Statements of one script.
const SCRIPT: usize = 250;

/// Runs the statements through the route for scripts. A refused statement is refused at its place there too, and
/// nothing changes. The accounts of the tests may write.
#[test]
fn no_script_changes_the_server_in_read_only_mode() {
    let server = Database::start(Options::default());
    let mut watch = Watch::new(&server);
    let mut conn = prepared(&server);
    let dialect = dialect_of(&mut conn);
    let postern = Postern::on(&server, &["--readonly"]);
    let mut client = postern.client();
    let seed = seed();
    println!("POSTERN_SEED={seed}");
    let mut grammar = Grammar::new(server.kind(), seed, watch.files());
    let mut refused = 0;
    let mut sent = 0;
    while sent < SCRIPTED {
        let made = std::iter::repeat_with(|| grammar.statement());
        let statements: Vec<String> = made
            .filter(|sql| !sql.trim().is_empty() && !crashes_the_server(sql))
            .take(SCRIPT)
            .collect();
        sent += statements.len();
        let before = watch.fingerprint();
        let codes = run_script(&mut client, &statements);
        for (sql, code) in statements.iter().zip(&codes) {
            if gate::check(sql, &dialect).is_err() {
                refused += 1;
                assert_ne!(*code, 200, "seed {seed}, it ran: {sql}");
            }
        }
        let after = watch.fingerprint();
        assert_eq!(
            before,
            after,
            "seed {seed}, one of these changed state:\n{}",
            statements.join("\n")
        );
    }
    println!("{sent} sent, {refused} of them refused");
    assert!(refused > sent / 2 && refused < sent, "{refused} of {sent}");
}

/// Runs the statements and returns the error number of each.
fn run_script(client: &mut Client, statements: &[String]) -> Vec<u64> {
    let lines = statements.iter().map(|sql| json!(sql).to_string() + "\n");
    let body: String = lines.collect();
    let headers = [("Content-Type", "application/x-ndjson")];
    let path = "/api/script?db=g&on_error=continue";
    let answer = client.send("POST", path, &headers, body.as_bytes());
    let text = answer.text();
    let told = text.lines().map(|line| {
        let outcome: Value = serde_json::from_str(line).unwrap();
        outcome["code"].as_u64()
    });
    let codes: Vec<u64> = told.flatten().collect();
    assert_eq!(codes.len(), statements.len(), "{text:.2000}");
    codes
}
