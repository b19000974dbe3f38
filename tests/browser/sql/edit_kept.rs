//! Changes of rows that are not applied outlive a reload of the page, and are never applied by themselves.

use mysql::prelude::Queryable as _;
use serde_json::json;

use super::client::Client;
use super::data::{open_data, until_loaded};
use super::edit::{apply, on_data, pending, review, server, type_into};
use support::Database;

const ITEMS: &str = "CREATE TABLE items (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(8,2) NULL DEFAULT 9.50, at TIMESTAMP(3) NULL);
    INSERT INTO items (name, price, at) VALUES ('one', 1, '2024-05-06 07:08:09.123'), ('two', 2, NULL), ('three', 3, NULL), ('four', 4, NULL);
    CREATE TABLE other (id INT PRIMARY KEY, note VARCHAR(9)); INSERT INTO other VALUES (1, 'x');";

/// Loads the page again: the tab of the data that was in front is loaded at once.
#[track_caller]
fn reload(client: &Client) {
    client.page.reload();
    client.wait_until_ready();
    until_loaded(client);
}

#[test]
fn changed_new_and_deleted_rows_are_there_after_a_reload_and_are_applied_as_before() {
    let client = on_data("kept_all", ITEMS, "items");
    let page = &client.page;
    type_into(&client, 0, 1, "uno", "Enter");
    client.click_cell(1, 2);
    page.press("Ctrl+0");
    client.click_cell(2, 2);
    page.press("Ctrl+Backspace");
    client.click_cell(3, 1);
    page.press("Ctrl+Delete");
    page.press("Insert");
    client.settle();
    page.type_text("five");
    page.press("Enter");
    client.settle();
    assert_eq!(pending(&client), "5 changes");
    let before = client.cells();
    open_data(&client, "other");
    type_into(&client, 0, 1, "y", "Enter");
    reload(&client);
    // Both tabs have their changes; nothing is sent before a person applies.
    assert_eq!(
        client
            .result_tabs()
            .iter()
            .filter(|tab| tab.contains('•'))
            .count(),
        2
    );
    page.click(".results-tab text=items data");
    until_loaded(&client);
    assert_eq!(client.cells(), before);
    assert_eq!(pending(&client), "5 changes");
    assert_eq!(page.eval("eyes.cell(1, 1).dataset.edit"), "changed");
    assert_eq!(page.eval("eyes.cell(4, 1).dataset.edit"), "deleted");
    assert!(
        page.requests()
            .iter()
            .all(|r| !r.url.ends_with("/api/edit"))
    );
    page.assert_accessible("changes after a reload");
    page.screenshot("edit-kept");
    review(&client);
    apply(&client);
    assert_eq!(
        server(
            "SELECT CONCAT_WS(' ', id, name, COALESCE(price, 'NULL'), at) FROM kept_all.items ORDER BY id"
        ),
        "1 uno 1.00 2024-05-06 07:08:09.123\n2 two NULL\n3 three 9.50\n5 five 9.50"
    );
    assert_eq!(server("SELECT note FROM kept_all.other"), "x");
    // Changes of the other table are kept, applied ones are not.
    page.reload();
    client.wait_until_ready();
    page.wait_for_text("not applied: 1 change in other");
}

#[test]
fn a_row_that_changed_meanwhile_is_a_conflict_after_a_reload() {
    let client = on_data("kept_conflict", ITEMS, "items");
    type_into(&client, 0, 1, "mine", "Enter");
    Database::shared().exec("UPDATE kept_conflict.items SET name = 'theirs' WHERE id = 1");
    reload(&client);
    assert_eq!(client.cells()[0][1], "mine");
    client.page.expect_error("409");
    review(&client);
    client.page.click("dialog text=Apply");
    client
        .page
        .wait_for("eyes.first('.conflict')?.innerText.includes('theirs')");
    assert_eq!(
        server("SELECT name FROM kept_conflict.items WHERE id = 1"),
        "theirs"
    );
}

#[test]
fn what_is_discarded_or_closed_does_not_come_back() {
    let client = on_data("kept_not", ITEMS, "items");
    let page = &client.page;
    let kept = "Object.keys(localStorage).filter((name) => name.includes('.pending.')).length";
    type_into(&client, 0, 1, "a", "Enter");
    page.wait_for(&format!("{kept} === 1"));
    page.click(".edit-bar [title='Discard all changes']");
    page.wait_for(&format!("{kept} === 0"));
    client.click_cell(1, 1);
    page.press("Ctrl+z");
    page.wait_for(&format!("{kept} === 1"));
    page.click("[title^='Close items data •']");
    page.click("dialog text=Close and discard");
    page.wait_for(&format!("{kept} === 0"));
    page.reload();
    client.wait_until_ready();
    client.settle();
    assert_eq!(page.eval("eyes.all('.toast').length"), json!(0));
}

#[test]
fn a_table_that_is_another_one_takes_the_changes_or_says_why_not() {
    let client = on_data("kept_altered", ITEMS, "items");
    type_into(&client, 0, 1, "uno", "Enter");
    Database::shared().exec("ALTER TABLE kept_altered.items ADD COLUMN extra INT NULL FIRST");
    reload(&client);
    assert_eq!(client.cells()[0][2], "uno");
    assert_eq!(pending(&client), "1 change");
    Database::shared().exec("ALTER TABLE kept_altered.items MODIFY id INT, DROP PRIMARY KEY, ADD COLUMN ref INT AUTO_INCREMENT PRIMARY KEY");
    reload(&client);
    client
        .page
        .wait_for_text("1 change in items cannot be applied: the key of the table has changed");
    assert_eq!(client.cells()[0][2], "one");
    // They are kept until the tab is closed.
    Database::shared().exec("ALTER TABLE kept_altered.items DROP PRIMARY KEY, MODIFY ref INT");
    reload(&client);
    client
        .page
        .wait_for_text("1 change in items cannot be applied");
    client
        .page
        .assert_accessible("changes that cannot be applied");
    client.page.click("[title^='Close items data •']");
    client.page.wait_for_text("1 change in items: not applied");
}

#[test]
fn changes_that_were_being_applied_at_a_reload_are_marked_as_uncertain() {
    let client = on_data("kept_sent", ITEMS, "items");
    let page = &client.page;
    type_into(&client, 0, 1, "sent", "Enter");
    let mut lock = Database::shared().conn();
    lock.query_drop("BEGIN").expect("a transaction");
    lock.query_drop("UPDATE kept_sent.items SET price = 7 WHERE id = 1")
        .expect("a lock");
    review(&client);
    page.click("dialog text=Apply");
    page.wait_for("eyes.first('.edit-bar')?.innerText.includes('Applying')");
    assert_eq!(page.eval("(() => { const event = new Event('beforeunload', { cancelable: true }); dispatchEvent(event); return event.defaultPrevented; })()"), json!(true));
    reload(&client);
    page.wait_for("eyes.first('.edit-uncertain')");
    review(&client);
    page.wait_for_text("they may have been applied");
    page.assert_accessible("a review of changes that were sent before");
    drop(lock);
}

#[test]
fn changes_for_another_server_behind_the_address_say_so_before_they_are_applied() {
    let client = on_data("kept_elsewhere", ITEMS, "items");
    let page = &client.page;
    type_into(&client, 0, 1, "u\u{202e}no", "Enter");
    reload(&client);
    review(&client);
    page.wait_for("eyes.first('dialog .review-list')");
    assert_eq!(page.eval("eyes.all('dialog [role=alert]').length"), 0);
    // A character that turns the direction of a text is seen, and turns nothing.
    assert_eq!(
        page.eval("[eyes.first('dialog .turning').dataset.code, getComputedStyle(eyes.first('dialog .turning')).unicodeBidi].join()"),
        "202E,isolate"
    );
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    // As if they had been kept while another server answered.
    page.eval("addEventListener('pagehide', () => { for (const [name, value] of Object.entries(localStorage)) if (name.includes('.pending.')) localStorage.setItem(name, value.replace(/\"server\":\"[0-9a-f]{16}\"/, '\"server\":\"0123456789abcdef\"')); })");
    reload(&client);
    review(&client);
    page.wait_for("eyes.first('dialog [role=alert]')?.innerText.startsWith('Another server answers at this address')");
    page.assert_accessible("changes for another server");
}
