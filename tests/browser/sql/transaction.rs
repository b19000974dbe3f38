//! Open transactions: they are seen, and nothing ends them without a word.

use serde_json::json;

use crate::sql::client::{Client, make_database};
use support::{Browser, Database, Postern, TIMEOUT, wait_until};

const STOCK: &str = "CREATE TABLE stock (id INT, n INT); INSERT INTO stock VALUES (1, 10)";

/// Value as another connection sees it.
fn stock(client: &Client) -> String {
    Database::shared().value(&format!("SELECT SUM(n) FROM {}.stock", client.db))
}

/// Opens a transaction in the active tab and changes something in it.
fn change(client: &Client) {
    client.run_script("BEGIN; UPDATE stock SET n = 9 WHERE id = 1");
    client.page.wait_for("eyes.first('.transaction')");
}

/// Number of statements that run or wait in a transaction of the test's database.
fn open_on_server(client: &Client) -> String {
    Database::shared().value(&format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_TRX JOIN information_schema.PROCESSLIST \
         ON ID = trx_mysql_thread_id WHERE DB = '{}'",
        client.db
    ))
}

#[test]
fn a_transaction_is_marked_on_the_tab_and_ended_beside_the_editor() {
    let client = Client::open("transaction_mark", STOCK);
    let page = &client.page;
    page.expect_error("400");
    client.run("SELECT 1");
    assert_eq!(page.eval("eyes.first('.transaction')"), json!(null));
    change(&client);
    assert!(client.text(".transaction").contains("Transaction open"));
    assert!(client.text(".query-tab").contains("transaction open"));
    page.assert_accessible("open transaction");
    // A statement that fails leaves it open.
    client.run("SELECT nonsense");
    page.wait_for("eyes.first('.transaction')");
    client.until_ended(|| page.click(".transaction text=Rollback"));
    page.wait_for("!eyes.first('.transaction')");
    assert!(!client.text(".query-tab").contains("transaction open"));
    assert_eq!(stock(&client), "10");
    change(&client);
    client.until_ended(|| page.click(".transaction text=Commit"));
    page.wait_for("!eyes.first('.transaction')");
    assert_eq!(stock(&client), "9");
    assert_eq!(
        page.eval("document.activeElement.matches('textarea')"),
        true
    );
    // Without autocommit every statement begins one.
    client.run_script("SET autocommit = 0; SELECT * FROM stock");
    page.wait_for("eyes.first('.transaction')");
}

#[test]
fn closing_a_tab_with_an_open_transaction_asks() {
    let client = Client::open("transaction_close", STOCK);
    let page = &client.page;
    change(&client);
    page.press("Alt+w");
    page.wait_for("document.querySelector('dialog')");
    assert!(client.text("dialog").contains("open transaction"));
    page.assert_accessible("question before a transaction is lost");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(open_on_server(&client), "1");
    page.click(".query-tab-close");
    page.click("dialog text=Commit and close");
    page.wait_for("!document.querySelector('dialog') && !eyes.first('.transaction')");
    wait_until(TIMEOUT, "it is committed", || stock(&client) == "9");
    page.wait_for("eyes.editor() === ''");
    client.run_script("BEGIN; UPDATE stock SET n = 8 WHERE id = 1");
    page.wait_for("eyes.first('.transaction')");
    page.press("Alt+w");
    page.click("dialog text=Roll back and close");
    wait_until(TIMEOUT, "it is rolled back", || {
        open_on_server(&client) == "0"
    });
    assert_eq!(stock(&client), "9");
    // Nothing is asked where nothing is open.
    page.wait_for("eyes.editor() === ''");
    client.run("SELECT 1");
    page.press("Alt+w");
    page.wait_for("eyes.editor() === ''");
}

#[test]
fn leaving_the_page_asks_for_a_transaction_and_a_statement_that_writes() {
    let client = Client::open("transaction_leave", STOCK);
    let page = &client.page;
    client.run("SELECT 1");
    page.reload();
    client.wait_until_ready();
    assert_eq!(page.dialogs(), [""; 0]);
    change(&client);
    page.reload();
    client.wait_until_ready();
    assert_eq!(page.dialogs().len(), 1);
    page.wait_for("eyes.first('.transaction')");
    client.until_ended(|| page.click(".transaction text=Rollback"));
    // A running statement that only reads may go.
    client.write("SELECT /* only reads */ SLEEP(60)");
    page.press("Ctrl+Enter");
    wait_until(TIMEOUT, "it runs", || {
        Database::shared().running("/* only reads */") == 1
    });
    page.reload();
    client.wait_until_ready();
    assert_eq!(page.dialogs().len(), 1);
    client.write("UPDATE /* it writes */ stock SET n = SLEEP(60) WHERE id = 1");
    page.press("Ctrl+Enter");
    wait_until(TIMEOUT, "it runs", || {
        Database::shared().running("/* it writes */") == 1
    });
    page.reload();
    client.wait_until_ready();
    let asked = page.dialogs();
    assert_eq!(asked.len(), 2);
    assert!(
        asked.iter().all(|a| a.starts_with("beforeunload")),
        "{asked:?}"
    );
}

#[test]
fn a_reload_finds_the_same_session_again() {
    let client = Client::open("transaction_reload", STOCK);
    let page = &client.page;
    client.run_script("CREATE TEMPORARY TABLE mine AS SELECT 7 AS n; SET @x = 'kept'");
    change(&client);
    page.reload();
    client.wait_until_ready();
    page.wait_for("eyes.first('.transaction')");
    assert_eq!(open_on_server(&client), "1");
    client.run("SELECT n, @x, (SELECT n FROM stock) FROM mine");
    assert_eq!(client.cells(), [["7", "kept", "9"]]);
    client.until_ended(|| page.click(".transaction text=Commit"));
    assert_eq!(stock(&client), "9");
    // Nobody comes back: the session ends after a grace.
    change(&client);
    let Client { page, postern, .. } = client;
    page.close();
    let trx = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'transaction_reload'";
    wait_until(TIMEOUT, "the session has ended", || {
        Database::shared().value(trx) == "0"
    });
    drop(postern);
}

#[test]
fn a_reload_tells_what_was_lost_with_its_session() {
    let client = Client::open("transaction_lost", STOCK);
    let page = &client.page;
    change(&client);
    let kept = page.eval("document.querySelector('.transaction') !== null");
    assert_eq!(kept, json!(true));
    // The server forgets it while the page is away.
    page.eval("addEventListener('pagehide', () => { for (const key of Object.keys(sessionStorage)) if (key.endsWith('.sessions')) sessionStorage.setItem(key, sessionStorage.getItem(key).replace(/[0-9a-f]{24}/g, 'a'.repeat(24))); })");
    page.reload();
    client.wait_until_ready();
    page.wait_for(
        "eyes.first('.editor-message')?.innerText.includes('its transaction was rolled back')",
    );
    assert_eq!(page.eval("eyes.first('.transaction')"), json!(null));
    client.run("SELECT 1");
}

#[test]
fn a_transaction_whose_connection_has_ended_is_not_shown_as_open() {
    let client = Client::open("transaction_ended", STOCK);
    let page = &client.page;
    client.run_script("BEGIN; UPDATE stock SET n = 9 WHERE id = 1; SELECT CONNECTION_ID() AS id");
    page.wait_for("eyes.first('.transaction')");
    let id = client.column(0).remove(0);
    Database::shared().exec(&format!("KILL {id}"));
    page.wait_for(
        "eyes.first('.editor-message')?.innerText.includes('nothing of the transaction is saved')",
    );
    assert_eq!(page.eval("eyes.first('.transaction')"), json!(null));
    assert_eq!(stock(&client), "10");
}

#[test]
fn read_only_nothing_is_asked() {
    make_database("transaction_read_only", STOCK);
    let postern = Postern::on(Database::shared(), &["--readonly"]);
    let client = Client::of(
        Browser::shared(),
        postern,
        "transaction_read_only",
        "#db=transaction_read_only",
    );
    let page = &client.page;
    client.run("SELECT * FROM stock");
    assert_eq!(page.eval("eyes.first('.transaction')"), json!(null));
    page.reload();
    client.wait_until_ready();
    assert_eq!(page.dialogs(), [""; 0]);
    page.press("Alt+w");
    page.wait_for("eyes.editor() === ''");
}
