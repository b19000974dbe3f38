//! Tables and their changes on a real server, by the modules that the page uses: a table that is read from SHOW CREATE
//! TABLE and written again is the same, and the ALGORITHM and LOCK that are proposed are those that the server takes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::sql::modules::serve_sources_with;
use support::{Browser, Database, Postern};

/// Longest time for the tables of a suite, which `make nightly PARTS=suites` takes through.
const PATIENCE: Duration = Duration::from_secs(1500);

/// Fewest tables of a suite.
const ENOUGH: u64 = 300;

/// Most changes for which the server may refuse the first choice.
const REFUSED_FIRST: usize = 3;

/// Calls a function of tests/js/structure/page.mjs on the shared database server.
#[track_caller]
fn run(call: &str) -> Value {
    let postern = Postern::on(Database::shared(), &[]);
    let authority = postern.authority().to_owned();
    let origin = serve_sources_with(move |body| {
        let mut client = support::http::Client::new(&authority);
        client.post("/api/query", body).json()
    });
    let page = Browser::shared().open(&format!("{origin}/blank.html"));
    page.eval(&format!(
        "void import('/tests/js/structure/page.mjs').then((module) => module.{call}).then((outcome) => {{ window.outcome = outcome; }}, (error) => {{ window.outcome = {{ error: String(error.stack) }}; }})"
    ));
    page.wait_for_within(PATIENCE, "window.outcome !== undefined");
    let outcome = page.eval("window.outcome");
    assert_eq!(outcome["error"], json!(null), "{call}");
    outcome
}

/// Fails with the first faults, of which there must be none.
#[track_caller]
fn no_faults(outcome: &Value) -> &Value {
    let faults = outcome["faults"].as_array().unwrap();
    assert!(
        faults.is_empty(),
        "{} faults: {:#?}",
        faults.len(),
        &faults[..faults.len().min(3)]
    );
    &outcome["counts"]
}

#[test]
fn hard_tables_are_read_and_written_unchanged() {
    for mode in ["", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"] {
        let outcome = run(&format!("ownTables('{mode}')"));
        let counts = no_faults(&outcome);
        println!("{mode}: {counts}");
        assert!(counts["unchanged"].as_u64() > Some(45), "{counts}");
    }
}

/// Takes minutes: it runs where `make nightly PARTS=suites` asks for it, which fails where a suite is missing.
#[test]
fn tables_of_the_servers_own_suites_are_read_and_written_unchanged() {
    if std::env::var_os("POSTERN_TEST_SUITES").is_none() {
        return;
    }
    let outcome = run("suiteTables(15)");
    let counts = no_faults(&outcome);
    println!("tables of the suites: {counts}");
    assert!(counts["unchanged"].as_u64() > Some(ENOUGH), "{counts}");
}

#[test]
fn what_is_proposed_for_a_change_is_what_the_server_takes() {
    let whole = std::env::var_os("POSTERN_TEST_WHOLE").is_some();
    let outcome = run(&format!("locks({whole})"));
    println!("{}", no_faults(&outcome));
    let later = outcome["later"].as_array().unwrap();
    assert!(later.len() <= REFUSED_FIRST, "{later:#?}");
}
