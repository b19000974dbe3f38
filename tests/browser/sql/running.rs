//! Statements under way: what is shown, how they are cancelled, what ends with a tab.

use crate::sql::client::{Client, make_database};
use support::{Browser, Database, Postern, TIMEOUT, wait_until};

fn running(marker: &str) -> usize {
    Database::shared().running(marker)
}

fn until_running(marker: &str) {
    wait_until(TIMEOUT, "the statement runs", || running(marker) == 1);
}

fn until_gone(marker: &str) {
    wait_until(TIMEOUT, "the statement has ended on the server", || {
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
    // The old result stays visible, dimmed.
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
    wait_until(TIMEOUT, "the session is closed", || {
        let left = Database::shared().value(
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
        Database::shared().value("SELECT COUNT(*) FROM running_session.t"),
        "0"
    );
}

/// A page whose server does not obey a cancel: the procedure runs as an account that ours must not kill.
fn disobedient(name: &'static str) -> Client {
    make_database(
        name,
        "CREATE TABLE stock (id INT, n INT); INSERT INTO stock VALUES (1, 10); \
         CREATE PROCEDURE p() BEGIN DECLARE i INT DEFAULT 0; WHILE i < 600 DO DO SLEEP(0.1); SET i = i + 1; END WHILE; END",
    );
    Database::shared().exec(&format!(
        "CREATE USER {name}@'%' IDENTIFIED BY 'ordinary'; GRANT ALL ON {name}.* TO {name}@'%'"
    ));
    let target = Database::shared().target();
    let args = [target.as_str(), "--db-user", name, "--db-pass", "ordinary"];
    let postern = Postern::start(&args, &[]);
    Client::of(Browser::shared(), postern, name, &format!("#db={name}"))
}

/// In a transaction that has changed something, calls the procedure and cancels it.
fn cancel_in_transaction(client: &Client) {
    let page = &client.page;
    client.run_script("BEGIN; UPDATE stock SET n = 9 WHERE id = 1");
    page.wait_for("eyes.first('.transaction')");
    client.write("CALL p()");
    page.press("Ctrl+Enter");
    wait_until(TIMEOUT, "the procedure runs", || called(client.db) == 1);
    page.press("Ctrl+.");
    page.wait_for(
        "eyes.first('#progress-text').innerText.startsWith('Cancel sent; waiting for the server')",
    );
}

fn called(db: &str) -> usize {
    let runs = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{db}' AND COMMAND = 'Query'"
    );
    Database::shared().column(&runs).len()
}

fn end_all_of(db: &str) {
    let open = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{db}'");
    for id in Database::shared().column(&open) {
        Database::shared().exec(&format!("KILL {id}"));
    }
}

#[test]
fn a_cancel_that_is_not_obeyed_is_waited_for_and_tells_what_was_lost() {
    let client = disobedient("running_disobeyed");
    let page = &client.page;
    page.expect_error("502");
    client.until_ended(|| cancel_in_transaction(&client));
    assert!(
        client
            .text("#progress-text")
            .starts_with("Cancelled; the connection was closed")
    );
    let told = client.text(".editor-message");
    assert!(
        told.contains("could not be stopped") && told.contains("may still run"),
        "{told}"
    );
    page.wait_for("!eyes.first('.transaction')");
    end_all_of(client.db);
}

#[test]
fn giving_a_cancel_up_closes_the_session_and_the_next_statement_is_told() {
    let client = disobedient("running_given_up");
    let page = &client.page;
    client.until_ended(|| {
        cancel_in_transaction(&client);
        page.wait_for("eyes.first('#cancel')?.innerText.includes('Stop waiting') && !eyes.first('#cancel').disabled");
        page.click("#cancel");
    });
    assert!(
        client
            .text(".editor-message")
            .contains("transaction, variables and temporary tables are lost")
    );
    page.wait_for("!eyes.first('.transaction')");
    assert!(
        client
            .text(".results-status")
            .contains("session was closed")
    );
    let sent = client.sent();
    client.write("UPDATE stock SET n = 5 WHERE id = 1");
    page.press("Ctrl+Enter");
    page.wait_for("eyes.first('.editor-message')?.innerText.includes('Nothing was run')");
    assert_eq!(client.sent(), sent);
    end_all_of(client.db);
    client.run("UPDATE stock SET n = n + 1 WHERE id = 1");
    let n = format!("SELECT n FROM {}.stock", client.db);
    assert_eq!(
        Database::shared().value(&n),
        "11",
        "the transaction was rolled back"
    );
}

#[test]
fn a_cancelled_statement_does_not_show_the_figures_of_the_one_before() {
    let client = Client::open("running_former", "");
    let page = &client.page;
    page.expect_error("400");
    client.run("SELECT 'old' AS a");
    assert!(client.text(".results-status").contains("1 row"));
    client.write("SELECT /* former */ SUM(SLEEP(60)) FROM (SELECT 1 UNION SELECT 2) two");
    page.press("Ctrl+Enter");
    until_running("/* former */");
    client.until_ended(|| page.click("#cancel"));
    let status = client.text(".results-status");
    assert!(
        status.contains("Cancelled") && status.contains("previous result"),
        "{status}"
    );
    assert!(!status.contains("1 row"), "{status}");
    page.wait_for("document.querySelector('.results.former')");
    client.run("SELECT 'new' AS b");
    assert!(!client.text(".results-status").contains("previous result"));
    page.wait_for("!document.querySelector('.results.former')");
}
