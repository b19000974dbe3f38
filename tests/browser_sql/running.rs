//! Statements under way: what is shown, how they are cancelled, what ends with a tab.

use crate::client::Client;
use crate::support::{MariaDb, PATIENCE, wait_until};

fn running(marker: &str) -> usize {
    MariaDb::shared().running(marker)
}

fn until_running(marker: &str) {
    wait_until(PATIENCE, "the statement runs", || running(marker) == 1);
}

fn until_gone(marker: &str) {
    wait_until(PATIENCE, "the statement has ended on the server", || {
        running(marker) == 0
    });
}

#[test]
fn cancel_kills_the_statement_on_the_server() {
    let client = Client::open("running_cancel", "");
    let page = &client.page;
    page.expect_error("400");
    client.write("SELECT /* cancel me */ SLEEP(60)");
    page.press("Ctrl+Enter");
    until_running("/* cancel me */");
    page.wait_for("/Running · .*s/.test(eyes.first('#progress-text').innerText)");
    page.wait_for("document.title.startsWith('▶')");
    assert_eq!(page.eval("eyes.first('#run')"), serde_json::Value::Null);
    client.until_ended(|| page.click("#cancel"));
    until_gone("/* cancel me */");
    page.wait_for_text("Cancelled");
    assert!(client.text("#progress-text").starts_with("Cancelled"));
    // The tab is good for the next statement, on the same session.
    client.run("SELECT 5 AS five");
    assert_eq!(client.column(0), ["5"]);
}

#[test]
fn what_had_arrived_stays_when_a_result_is_cancelled() {
    let client = Client::open("running_partial", "");
    let page = &client.page;
    page.expect_error("400");
    client.run("SELECT 'old' AS a");
    client.write("SELECT seq, SLEEP(seq > 3) * 60 /* partly */ FROM seq_1_to_100");
    page.press("Ctrl+Enter");
    until_running("/* partly */");
    // What was there is still seen, dimmed.
    assert_eq!(client.headers(), ["a"]);
    page.press("Ctrl+.");
    page.wait_for("eyes.first('#progress-text').innerText.startsWith('Cancelled')");
    until_gone("/* partly */");
}

#[test]
fn closing_the_window_ends_what_it_ran() {
    let client = Client::open("running_close", "");
    client.write("SELECT /* closed window */ SLEEP(60)");
    client.page.press("Ctrl+Enter");
    until_running("/* closed window */");
    let Client { page, postern, .. } = client;
    page.close();
    until_gone("/* closed window */");
    // Sessions end with it: nothing of ours is left but what the server keeps for itself.
    wait_until(PATIENCE, "the session is closed", || {
        let left = MariaDb::shared().value(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'running_close'",
        );
        left == "0"
    });
    drop(postern);
}

#[test]
fn reloading_ends_what_ran_and_closing_a_tab_asks_first() {
    let client = Client::open("running_tab", "");
    let page = &client.page;
    client.write("SELECT /* reloaded */ SLEEP(60)");
    page.press("Ctrl+Enter");
    until_running("/* reloaded */");
    page.reload();
    until_gone("/* reloaded */");
    client.wait_until_ready();
    client.write("SELECT /* closed tab */ SLEEP(60)");
    page.press("Ctrl+Enter");
    until_running("/* closed tab */");
    page.press("Alt+w");
    page.wait_for("document.querySelector('dialog')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(running("/* closed tab */"), 1);
    page.press("Alt+w");
    page.click("dialog text=Cancel and close");
    until_gone("/* closed tab */");
}

#[test]
fn statements_of_a_tab_share_a_session_and_those_that_lose_data_ask() {
    let client = Client::open(
        "running_session",
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)",
    );
    let page = &client.page;
    client.run("CREATE TEMPORARY TABLE mine AS SELECT 7 AS n");
    client.run("SELECT n FROM mine");
    assert_eq!(client.column(0), ["7"]);
    client.write("DELETE FROM t");
    page.press("Ctrl+Enter");
    page.wait_for("document.querySelector('dialog')");
    assert!(client.text("dialog").contains("DELETE without WHERE"));
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(client.sent(), 2);
    page.press("Ctrl+Enter");
    client.until_ended(|| page.click("dialog .dialog-foot .danger"));
    assert_eq!(
        MariaDb::shared().value("SELECT COUNT(*) FROM running_session.t"),
        "0"
    );
}
