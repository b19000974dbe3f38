//! A result that goes on: its first rows are there at once, and a cancel ends it at once.

use crate::sql::client::Client;
use std::time::{Duration, Instant};
use support::{Database, TIMEOUT, wait_until};

/// Rows that the tab of the result counts.
const COUNTED: &str =
    "Number((eyes.first('.results-tab .tab-count')?.innerText ?? '0').replaceAll(',', ''))";

/// A server holds small rows back until it has some 16 KB of them, so these are large.
#[test]
fn rows_are_shown_while_the_statement_goes_on() {
    let client = Client::open("first_rows", "");
    let page = &client.page;
    client.write(
        "SELECT seq, SLEEP(0.3) AS s, REPEAT('w', 20000) AS w /* slowly */ FROM seq_1_to_60",
    );
    page.press("Ctrl+Enter");
    page.wait_for("eyes.cells().length > 1 && eyes.cells().length < 30");
    assert_eq!(Database::shared().running("/* slowly */"), 1);
    let before = client.cells().len();
    page.wait_for(&format!("eyes.cells().length > {before}"));
    assert!(client.text("#progress-text").starts_with("Running"));
    page.expect_error("400");
    client.until_ended(|| page.press("Ctrl+."));
    assert!(client.text("#progress-text").starts_with("Cancelled"));
    // Received rows are kept, and nothing claims that they are all.
    assert!(client.cells().len() > before);
    assert!(
        client
            .text(".results-status-main")
            .contains("cancelled after")
    );
}

#[test]
fn the_rows_that_came_last_are_there_at_the_end_sorted_with_the_others() {
    let client = Client::open("first_sorted", "");
    let page = &client.page;
    client.write("SELECT 100 - seq AS n, REPEAT('w', 20000) AS w, SLEEP(0.2) FROM seq_1_to_20");
    page.press("Ctrl+Enter");
    page.wait_for("eyes.cells().length > 2");
    page.click(".grid-header text=n");
    page.wait_for("eyes.first('#progress-text').innerText.startsWith('Done')");
    page.wait_for("eyes.cells()[0][0] === '80'");
    assert_eq!(
        page.eval("eyes.first('[role=grid]').getAttribute('aria-label')"),
        "seq_1_to_20: 20 rows, 3 columns"
    );
}

#[test]
fn cancel_of_a_result_that_streams_ends_within_300_ms_and_says_how_much_came() {
    let client = Client::open(
        "first_cancel",
        "CREATE TABLE big (id INT PRIMARY KEY, name VARCHAR(40)); \
         INSERT INTO big SELECT seq, CONCAT('name of ', seq) FROM seq_1_to_5000",
    );
    let page = &client.page;
    page.expect_error("400");
    page.eval("(() => { const s = document.querySelector('#limit'); s.value = s.options[s.options.length - 1].value; s.dispatchEvent(new Event('change', { bubbles: true })); })()");
    page.click("dialog text=No limit");
    page.wait_for("!document.querySelector('dialog')");
    client.write("SELECT /* stream */ a.id, b.name, b.id AS other FROM big a, big b");
    page.press("Ctrl+Enter");
    wait_until(TIMEOUT, "many rows have come", || {
        page.eval(COUNTED).as_f64().is_some_and(|n| n > 300_000.0)
    });
    let before = page.eval(COUNTED).as_f64().unwrap_or_default();
    let took = page.eval(
        "new Promise((done) => { const from = performance.now(); document.querySelector('#cancel').click(); \
         const look = () => document.querySelector('#progress-text').textContent.startsWith('Cancelled') ? done(performance.now() - from) : setTimeout(look, 5); look(); })",
    );
    let took = Duration::from_secs_f64(took.as_f64().unwrap_or(f64::MAX) / 1000.0);
    let after = page.eval(COUNTED).as_f64().unwrap_or_default();
    eprintln!("cancel of a stream took {took:?}, with {before} rows before and {after} after");
    assert!(
        took < support::allowed(Duration::from_millis(300)),
        "{took:?}"
    );
    page.click(".results-tab text=Messages");
    let said = client.text(".messages-list .message:last-child");
    assert!(said.contains("Cancelled after"), "{said}");
    assert_eq!(
        page.eval("document.querySelectorAll('.messages-list .message.good').length"),
        0
    );
    let begun = Instant::now();
    client.run("SELECT 7 AS seven");
    assert_eq!(client.column(0), ["7"]);
    assert!(begun.elapsed() < TIMEOUT);
}
