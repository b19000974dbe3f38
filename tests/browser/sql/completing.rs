//! Completion: what the list offers after a word, and what taking from it writes.

use serde_json::json;

use crate::sql::client::Client;
use crate::sql::data::open_data;

const SHOP: &str = "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), vip ENUM('yes', 'no')); \
    CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT, status ENUM('open', 'paid'), FOREIGN KEY (customer_id) REFERENCES customers (id)); \
    CREATE TABLE zones (id INT); CREATE PROCEDURE close_month () SELECT 1";

/// Types, waits for the list whose first entry shows `first`, and gives the entries.
#[track_caller]
fn offered(client: &Client, text: &str, first: &str) -> Vec<String> {
    let page = &client.page;
    client.write("");
    page.click("textarea.editor-area");
    page.type_text(text);
    page.wait_for(&format!(
        "eyes.first('.completion .completion-name')?.innerText === {}",
        json!(first)
    ));
    page.texts(".completion .completion-name")
}

#[test]
fn a_join_offers_what_the_foreign_keys_say() {
    let client = Client::open("completing_join", SHOP);
    let page = &client.page;
    let whole = "orders ON orders.customer_id = c.id";
    let all = offered(&client, "SELECT * FROM customers c JOIN ", whole);
    assert!(all.contains(&"zones".to_owned()), "{all:?}");
    // A list that opened by itself where no word is begun takes nothing, and Enter is a new line.
    page.press("Enter");
    assert_eq!(client.editor(), "SELECT * FROM customers c JOIN \n");
    offered(&client, "SELECT * FROM customers c JOIN or", whole);
    page.press("Tab");
    assert_eq!(
        client.editor(),
        format!("SELECT * FROM customers c JOIN {whole}")
    );
    offered(
        &client,
        "SELECT * FROM orders o JOIN customers c ON ",
        "o.customer_id = c.id",
    );
    page.press("ArrowDown");
    page.press("Tab");
    assert_eq!(
        client.editor(),
        "SELECT * FROM orders o JOIN customers c ON o.customer_id = c.id"
    );
    // The keys of a database are asked for once.
    assert_eq!(client.sent(), 1);
}

#[test]
fn a_with_offers_its_columns_and_an_enum_its_values() {
    let client = Client::open("completing_values", SHOP);
    let page = &client.page;
    let all = offered(
        &client,
        "WITH x AS (SELECT id, name FROM customers) SELECT 1 FROM x WHERE x.",
        "id",
    );
    assert_eq!(all, ["id", "name"]);
    let all = offered(&client, "SELECT * FROM orders WHERE status = ", "open");
    assert_eq!(all[..2], ["open", "paid"]);
    page.press("ArrowDown");
    page.press("ArrowDown");
    page.press("Enter");
    assert_eq!(
        client.editor(),
        "SELECT * FROM orders WHERE status = 'paid'"
    );
    offered(&client, "SELECT * FROM orders WHERE status IN ('o", "open");
    page.press("Tab");
    assert_eq!(
        client.editor(),
        "SELECT * FROM orders WHERE status IN ('open'"
    );
    assert!(client.sent() <= 1, "its functions are asked for once");
}

#[test]
fn functions_of_the_database_are_offered() {
    let client = Client::open(
        "completing_functions",
        "CREATE FUNCTION full_price(n INT) RETURNS INT DETERMINISTIC RETURN n * 2",
    );
    offered(&client, "SELECT full_", "full_price()");
    client.page.press("Tab");
    assert_eq!(client.editor(), "SELECT full_price");
}

#[test]
fn call_offers_routines_and_show_its_own_words() {
    let client = Client::open("completing_call", SHOP);
    let page = &client.page;
    offered(&client, "CALL cl", "close_month");
    page.press("Tab");
    assert_eq!(client.editor(), "CALL close_month");
    let all = offered(&client, "SHOW CREATE T", "TABLE");
    assert_eq!(all[..2], ["TABLE", "TRIGGER"]);
    assert_eq!(
        page.eval("eyes.first('.completion .icon').getBoundingClientRect().width > 10"),
        json!(true)
    );
}

#[test]
fn the_condition_of_a_tables_data_is_completed_too() {
    let client = Client::open(
        "completing_where",
        "CREATE TABLE people (id INT PRIMARY KEY, surname VARCHAR(20), kind ENUM('big','small')); INSERT INTO people VALUES (1, 'Alice', 'big'), (2, 'Bob', 'small')",
    );
    client.show_tables();
    open_data(&client, "people");
    let page = &client.page;
    page.click(".data-condition input");
    page.type_text("sur");
    page.wait_for("eyes.first('.data-condition .completion [aria-selected=true]')?.innerText.includes('surname')");
    page.assert_accessible("completion of a condition");
    page.screenshot("completing-where");
    page.press("Tab");
    page.wait_for("eyes.first('.data-condition input').value === 'surname'");
    page.type_text(" = UPP");
    page.wait_for("eyes.first('.data-condition .completion')?.innerText.includes('UPPER()')");
    page.press("Escape");
    page.wait_for("!eyes.first('.data-condition .completion')");
    page.fill(".data-condition input", "");
    page.type_text("kind = ");
    page.wait_for("eyes.first('.data-condition .completion')?.innerText.includes('small')");
    page.type_text("'small'");
    // Enter filters, unless an entry was chosen.
    page.press("Enter");
    page.wait_for("eyes.rows().length === 1");
    assert_eq!(client.column(1), ["Bob"]);
}
