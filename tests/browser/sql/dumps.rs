//! A database or a table as an SQL file: what is offered, what is said before, and what comes.

use serde_json::json;

use crate::sql::client::{Client, row};
use crate::sql::looks::look;
use support::chromium::Page;

const SHOP: &str = "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(40)); INSERT INTO orders SELECT seq, CONCAT('it''s ', seq) FROM seq_1_to_300; \
    CREATE TABLE notes (id INT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO notes VALUES (1); CREATE VIEW totals AS SELECT COUNT(*) AS n FROM orders; \
    CREATE PROCEDURE again() SELECT 1";

/// Opens the dialog and waits until the page says what there is.
#[track_caller]
fn offered(page: &Page, button: &str) -> String {
    page.click(button);
    known(page)
}

#[track_caller]
fn known(page: &Page) -> String {
    page.wait_for("document.querySelector('.dump-found p')?.innerText.startsWith('In the file')");
    page.eval("document.querySelector('.dump-found').innerText")
        .as_str()
        .unwrap()
        .to_owned()
}

const DATABASE: &str = "[aria-label^='Dump ']";

#[test]
fn a_database_is_dumped_after_the_page_has_said_what_is_in_it() {
    let client = Client::open("dump_page", SHOP);
    let page = &client.page;
    client.show_tables();
    let said = offered(page, DATABASE);
    assert!(said.contains("2 tables, 1 view, 1 routine."), "{said}");
    assert!(said.contains("`notes` (MyISAM)"), "{said}");
    look(&client, "dump");
    page.click("dialog [data-action=download]");
    let file = page.wait_for_download(0);
    assert!(file.completed, "{file:?}");
    assert_eq!(file.name, "dump_page.sql");
    let sql = std::fs::read_to_string(&file.path).unwrap();
    assert!(sql.ends_with("\n-- Dump completed\n"));
    assert!(sql.contains("(300,'it''s 300')") && sql.contains("VIEW `totals`"));
    page.wait_for("!document.querySelector('dialog')");
}

#[test]
fn a_table_is_dumped_from_its_schema_with_what_is_chosen() {
    let client = Client::open("dump_table", SHOP);
    let page = &client.page;
    client.show_tables();
    page.click(&row("orders"));
    page.wait_for("eyes.first('.schema table')");
    let said = offered(page, ".schema-head text=Dump …");
    assert!(said.starts_with("In the file: 1 table."), "{said}");
    page.wait_for("document.querySelector('.dump-tables input[value=orders]').checked");
    assert_eq!(
        page.eval("document.querySelector('.dump-tables [value=totals]').checked"),
        json!(false)
    );
    page.click("dialog input[name=data]");
    page.click(".dump-tables [value=totals]");
    page.wait_for("document.querySelector('.dump-found').innerText.includes('1 view')");
    page.click(".dump-tables [value=totals]");
    page.wait_for("!document.querySelector('.dump-found').innerText.includes('1 view')");
    known(page);
    page.click("dialog [data-action=download]");
    let file = page.wait_for_download(0);
    assert_eq!(file.name, "dump_table.orders.sql");
    let sql = std::fs::read_to_string(&file.path).unwrap();
    assert!(sql.contains("CREATE TABLE `orders`") && !sql.contains("INSERT"));
    // Without a choice there is nothing to take.
    page.wait_for("!document.querySelector('dialog')");
    offered(page, ".schema-head text=Dump …");
    page.click(".dump-tables [value=orders]");
    page.wait_for("document.querySelector('.dump-found').innerText === 'Choose a table.'");
    page.wait_for("document.querySelector('dialog [data-action=download]').disabled");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
}

/// A file that the page writes, as the browser's own picker would give it.
const PICKER: &str = "(() => { globalThis.file = { name: '', parts: [], state: 'open' }; \
    globalThis.showSaveFilePicker = async ({ suggestedName }) => { file.name = suggestedName; return { createWritable: async () => ({ \
      write: async (part) => { file.parts.push(new TextDecoder().decode(part)); while (globalThis.slow) await new Promise((go) => setTimeout(go, 20)); }, \
      close: async () => { file.state = 'closed'; }, abort: async () => { file.state = 'left'; } }) }; }; })()";

#[test]
fn a_dump_goes_into_a_picked_file_and_can_be_cancelled() {
    // More than the lines between would hold.
    let large = "CREATE TABLE large (id INT PRIMARY KEY, v TEXT); INSERT INTO large SELECT seq, REPEAT('x', 2000) FROM seq_1_to_15000";
    let client = Client::open("dump_pick", large);
    let page = &client.page;
    page.eval(PICKER);
    client.show_tables();
    offered(page, DATABASE);
    page.click("dialog [data-action=save-file]");
    page.wait_for("file.state === 'closed' && !document.querySelector('dialog')");
    assert_eq!(page.eval("file.name"), json!("dump_pick.sql"));
    page.wait_for("file.parts.join('').endsWith('-- Dump completed\\n')");
    page.eval(PICKER);
    page.eval("void (globalThis.slow = true)");
    offered(page, DATABASE);
    page.click("dialog [data-action=save-file]");
    page.wait_for("file.parts.length > 0");
    page.click("dialog [data-action=cancel]");
    page.eval("void (globalThis.slow = false)");
    page.wait_for("document.querySelector('.export-progress').innerText.startsWith('Cancelled')");
    assert_eq!(page.eval("file.state"), json!("left"));
}

#[test]
fn in_read_only_mode_a_dump_is_offered_too() {
    let client = Client::with("dump_ro", SHOP, &["--readonly"]);
    client.show_tables();
    let said = offered(&client.page, DATABASE);
    assert!(said.contains("2 tables"), "{said}");
}
