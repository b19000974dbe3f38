//! Editing in the data of a table: collected, marked, reviewed as SQL and only then written.

use serde_json::{Value, json};

use super::client::{Client, make_database, row, strings};
use support::Database;

const ITEMS: &str = r"CREATE TABLE items (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(8,2) NULL DEFAULT 9.50,
      kind ENUM('small','large','') NOT NULL DEFAULT 'small', tags SET('a','b','c') NULL, live TINYINT(1) NOT NULL DEFAULT 0, bits BIT(6) NULL,
      at DATETIME(6) NULL, day DATE NULL, note TEXT NULL, twice DECIMAL(9,2) AS (price * 2) VIRTUAL);
    INSERT INTO items (name, price, kind, tags, live, bits, at, day, note) VALUES
      ('one', 1.00, 'small', 'a,b', 0, b'101', '2024-05-06 07:08:09.123456', '2024-05-06', 'short'),
      ('two', 2.00, 'large', NULL, 1, NULL, NULL, NULL, NULL), ('three', 3.00, 'small', '', 0, b'0', NULL, NULL, '');";

/// Opens the data of a table by the button beside it.
#[track_caller]
pub(crate) fn open_data(client: &Client, table: &str) {
    client.page.eval(&format!(
        "[...document.querySelectorAll('.row-data')].find((b) => b.dataset.rows === {}).click()",
        json!(table)
    ));
    until_loaded(client);
    client.page.wait_for(&format!(
        "eyes.first('.data-table')?.textContent.endsWith({})",
        json!(format!(".{table}"))
    ));
    client.settle();
}

#[track_caller]
fn until_loaded(client: &Client) {
    client.settle();
    client
        .page
        .wait_for("eyes.first('.data') && !eyes.first('.data[aria-busy]')");
    client.settle();
}

/// The page on the data of `table`.
#[track_caller]
fn on_data(db: &'static str, setup: &str, table: &str) -> Client {
    let client = Client::open(db, setup);
    client.show_tables();
    open_data(&client, table);
    client
}

/// Types into the cell at a place, which begins its edit, and ends that with a key.
#[track_caller]
fn type_into(client: &Client, row: usize, column: usize, text: &str, end: &str) {
    client.click_cell(row, column);
    client.page.type_text(text);
    client.page.press(end);
    client.settle();
}

/// Opens the review and gives the statements.
#[track_caller]
fn review(client: &Client) -> Vec<String> {
    client.page.click(".edit-bar text=Review SQL …");
    client.page.wait_for("eyes.first('.review-list code')");
    client.page.texts(".review-list code")
}

/// Applies what is reviewed and waits until it is done.
#[track_caller]
fn apply(client: &Client) {
    client.page.click("dialog text=Apply");
    client.page.wait_for("!document.querySelector('dialog[open]') && eyes.all('.toast').some((toast) => toast.innerText.includes('applied'))");
    client
        .page
        .eval("for (const toast of document.querySelectorAll('.toast')) toast.remove()");
    until_loaded(client);
}

/// What the bar says of the changes.
#[track_caller]
fn pending(client: &Client) -> String {
    client.text(".edit-count")
}

/// What a query gives, a row a line.
fn server(sql: &str) -> String {
    Database::shared().column(sql).join("\n")
}

/// The bodies of what was sent to be edited.
fn edits(client: &Client) -> Vec<Value> {
    let requests = client.page.requests();
    let sent = requests.iter().filter(|r| r.url.ends_with("/api/edit"));
    sent.map(|r| serde_json::from_str(&r.body).expect("JSON"))
        .collect()
}

#[test]
fn a_cell_is_edited_in_place_and_written_only_after_the_review() {
    let client = on_data("edit_cell", ITEMS, "items");
    let page = &client.page;
    type_into(&client, 0, 1, "uno", "Enter");
    assert_eq!(client.cells()[0][1], "uno");
    assert_eq!(page.eval("eyes.cell(0, 1).dataset.edit"), "changed");
    let told: String = strings(page.eval("eyes.cell(0, 1).getAttribute('aria-label')"));
    assert_eq!(told, "uno, changed, was one");
    assert_eq!(pending(&client), "1 change");
    // Enter moved down; F2, Enter and a double click begin an edit of what is there.
    page.press("ArrowDown");
    client.press_function_key(2, false);
    page.wait_for("eyes.first('.cell-input')?.value === 'three'");
    page.press("End");
    page.type_text("!");
    page.press("Tab");
    assert_eq!(client.cells()[2][1], "three!");
    page.press("Enter");
    page.wait_for("eyes.first('.cell-input')?.value === '3.00'");
    page.type_text("4.25");
    page.press("Shift+Tab");
    assert_eq!(client.cells()[2][2], "4.25");
    page.double_click(".grid-row[aria-rowindex=\"3\"] .grid-cell[aria-colindex=\"3\"]");
    page.wait_for("eyes.first('.cell-input')?.value === 'two'");
    page.type_text("lost");
    page.press("Escape");
    client.settle();
    assert_eq!(client.cells()[1][1], "two", "Esc leaves it");
    assert_eq!(pending(&client), "2 changes");
    assert!(edits(&client).is_empty());
    assert_eq!(
        server("SELECT name FROM edit_cell.items ORDER BY id"),
        "one\ntwo\nthree"
    );
    let statements = review(&client);
    assert_eq!(statements.len(), 2, "{statements:?}");
    assert!(
        statements[0].starts_with("UPDATE") && statements[0].contains("'uno'"),
        "{statements:?}"
    );
    page.assert_accessible("the review");
    page.click("dialog text=Cancel");
    assert!(edits(&client).iter().all(|edit| edit["review"] == true));
    assert_eq!(pending(&client), "2 changes", "they stay");
    review(&client);
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', name, price) FROM edit_cell.items ORDER BY id"),
        "uno 1.00\ntwo 2.00\nthree! 4.25"
    );
    assert_eq!(
        client.cells()[2][10],
        "8.50",
        "what the server computes is read again"
    );
    assert_eq!(pending(&client), "");
    assert_eq!(page.eval("eyes.all('[data-edit]').length"), json!(0));
    assert_eq!(page.eval("eyes.violations"), json!([]));
}
