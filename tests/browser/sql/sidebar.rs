//! The sidebar: databases, tables, filter, pages, and what a click on a table does.

use serde_json::json;

use crate::sql::client::{Client, make_database, row, strings};
use support::database::PASSWORD;
use support::{Browser, Database, Postern};

const SHOP: &str = "CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) NOT NULL DEFAULT 'nobody', note TEXT); \
    INSERT INTO customers (name) VALUES ('Alice'), ('Bob'), ('Carol'); \
    CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, placed DATE, KEY by_date (placed), \
      CONSTRAINT buyer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE); \
    CREATE VIEW totals AS SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer; \
    CREATE TABLE `order items` (`select` INT); INSERT INTO `order items` VALUES (5)";

#[test]
fn a_database_leads_to_its_tables_and_a_link_back() {
    let client = Client::open("sidebar_walk", SHOP);
    let page = &client.page;
    // The link that the page was opened with names the database.
    client.show_tables();
    let names = page.texts("#sidebar-list .row-name");
    assert_eq!(names, ["customers", "order items", "orders", "totals"]);
    assert_eq!(client.text("#sidebar-title"), "sidebar_walk");
    // Under the pointer the figures give way to a button, so the kind is looked for in either place.
    let totals = client.text(&row("totals"));
    assert!(totals.to_lowercase().contains("view"), "{totals}");
    page.click(".sidebar-head .back");
    page.wait_for("eyes.first('#sidebar-title').innerText === 'Databases'");
    assert!(page.texts(".row-name").contains(&"sidebar_walk".to_owned()));
    // The focus stands on the database one came from.
    page.wait_for("document.activeElement.dataset.name === 'sidebar_walk'");
    page.click(&row("sidebar_walk"));
    page.wait_for("eyes.first('.sidebar-db')?.innerText === 'sidebar_walk'");
    assert_eq!(page.texts("#sidebar-list .row-name"), names);
}

#[test]
fn sixty_tables_come_in_pages_and_a_filter_works_while_typing() {
    let tables: Vec<String> = (1..=60)
        .map(|n| format!("CREATE TABLE t_{n:02} (id INT)"))
        .collect();
    let client = Client::open("sidebar_pages", &tables.join(";"));
    let page = &client.page;
    client.show_tables();
    assert_eq!(page.texts(".row-name").len(), 50);
    assert_eq!(client.text(".pager-text"), "1–50 of 60");
    page.click("[aria-label='Next page']");
    assert_eq!(page.texts(".row-name").len(), 10);
    assert_eq!(client.text(".pager-text"), "51–60 of 60");
    assert_eq!(page.texts(".row-name").last().unwrap(), "t_60");
    page.click("#filter");
    page.type_text("T_5");
    let found: Vec<String> = (50..60).map(|n| format!("t_{n}")).collect();
    page.wait_for("eyes.all('.row-name').length === 10");
    assert_eq!(page.texts(".row-name"), found);
    assert_eq!(page.eval("eyes.first('.pager')"), json!(null));
    page.type_text("x");
    page.wait_for_text("Nothing matches “T_5x”.");
    page.press("Escape");
    page.wait_for("eyes.first('.pager-text')?.innerText === '1–50 of 60'");
}

#[test]
fn a_click_on_a_table_shows_its_schema_and_leaves_the_editor_alone() {
    let client = Client::open("sidebar_schema", SHOP);
    let page = &client.page;
    client.write("SELECT 'mine'");
    client.show_tables();
    page.click(&row("orders"));
    page.wait_for("eyes.first('.schema table')");
    let schema = client.text(".schema");
    for part in [
        "sidebar_schema.orders",
        "Columns (3)",
        "int",
        "by_date",
        "Foreign keys (1)",
        "CASCADE",
        "CREATE TABLE `orders`",
    ] {
        assert!(schema.contains(part), "no {part} in {schema}");
    }
    assert_eq!(client.editor(), "SELECT 'mine'");
    // The page asks for itself; nothing ran in the session of the tab.
    let asked = page.requests();
    assert!(!asked.iter().any(|r| r.body.contains("\"session\"")));
    // A foreign key leads on.
    page.click(".schema text=customers (id)");
    page.wait_for("eyes.first('.schema h2').innerText === 'sidebar_schema.customers'");
    assert!(client.text(".schema").contains("nobody"));
    assert_eq!(client.editor(), "SELECT 'mine'");
}

#[test]
fn a_double_click_fills_in_a_select_and_runs_it() {
    let client = Client::open("sidebar_run", SHOP);
    let page = &client.page;
    client.show_tables();
    client.until_ended(|| page.double_click(&row("customers")));
    assert_eq!(client.editor(), "SELECT * FROM customers LIMIT 100");
    assert_eq!(client.headers(), ["id", "name", "note"]);
    assert_eq!(client.column(1), ["Alice", "Bob", "Carol"]);
    // A generated statement makes room for the next; a typed one stays.
    client.until_ended(|| page.double_click(&row("order items")));
    assert_eq!(client.editor(), "SELECT * FROM `order items` LIMIT 100");
    assert_eq!(client.cells(), [["5"]]);
    assert_eq!(page.texts(".query-tab-name"), ["order items"]);
    client.write("SELECT 'mine'");
    client.until_ended(|| page.double_click(&row("totals")));
    assert_eq!(client.editor(), "SELECT * FROM totals LIMIT 100");
    assert_eq!(page.texts(".query-tab-name"), ["order items", "totals"]);
    page.click(".query-tab text=order items");
    assert_eq!(client.editor(), "SELECT 'mine'");
}

/// An account that may read some columns alone gets those, by their names.
#[test]
fn a_double_click_of_an_account_limited_to_columns_reads_those() {
    make_database("sidebar_limited", SHOP);
    let db = Database::shared();
    db.exec(&format!(
        "CREATE USER IF NOT EXISTS limited@'%' IDENTIFIED BY '{PASSWORD}'; \
         GRANT SELECT (id, name) ON sidebar_limited.customers TO limited@'%'"
    ));
    let target = db.target();
    let args = [
        target.as_str(),
        "--db-user",
        "limited",
        "--db-pass",
        PASSWORD,
        "--readonly",
    ];
    let postern = Postern::start(&args, &[]);
    let client = Client::of(
        Browser::shared(),
        postern,
        "sidebar_limited",
        "#db=sidebar_limited",
    );
    client.page.expect_error("40");
    client.show_tables();
    client.page.double_click(&row("customers"));
    client
        .page
        .wait_for("eyes.editor() === 'SELECT id, name FROM customers LIMIT 100'");
    client.page.wait_for("eyes.cells().length === 3");
    assert_eq!(client.column(1), ["Alice", "Bob", "Carol"]);
}

/// Opens the tables of another database in the sidebar.
fn look_at(client: &Client, db: &str) {
    client.page.click(".sidebar-head .back");
    client.page.click(&row(db));
    let there = format!("eyes.first('.sidebar-db')?.innerText === {}", json!(db));
    client.page.wait_for(&there);
}

fn runs_in(client: &Client) -> String {
    strings(client.page.eval("document.querySelector('#db').value"))
}

#[test]
fn looking_at_another_database_leaves_the_tab_where_it_runs() {
    make_database("sidebar_other", SHOP);
    let client = Client::open("sidebar_here", "CREATE TABLE emp (id INT)");
    let page = &client.page;
    client.show_tables();
    // An empty tab follows.
    look_at(&client, "sidebar_other");
    assert_eq!(runs_in(&client), "sidebar_other");
    assert_eq!(page.eval("eyes.first('.use-database')"), json!(null));
    look_at(&client, "sidebar_here");
    client.write("DELETE FROM emp WHERE id = 999");
    look_at(&client, "sidebar_other");
    assert_eq!(runs_in(&client), "sidebar_here");
    client.until_ended(|| page.click("#run"));
    let sent = page
        .requests()
        .into_iter()
        .rfind(|r| r.url.ends_with("/api/query"));
    assert!(sent.unwrap().body.contains(r#""db":"sidebar_here""#));
    // Looking at a schema, and opening one of its tables, leave it as well.
    page.click(&row("orders"));
    page.wait_for("eyes.first('.schema table')");
    client.until_ended(|| page.double_click(&row("customers")));
    assert_eq!(page.texts(".query-tab-name"), ["query 1", "customers"]);
    assert_eq!(runs_in(&client), "sidebar_other");
    assert_eq!(page.eval("eyes.first('.use-database')"), json!(null));
    page.click(".query-tab text=query 1");
    assert_eq!(runs_in(&client), "sidebar_here");
    page.assert_accessible("sidebar of another database");
    page.click("text=Use in this tab");
    assert_eq!(runs_in(&client), "sidebar_other");
    page.wait_for("!eyes.first('.use-database')");
    assert_eq!(client.editor(), "DELETE FROM emp WHERE id = 999");
}

#[test]
fn a_tab_with_an_open_transaction_does_not_follow() {
    make_database("sidebar_other_trx", SHOP);
    let client = Client::open("sidebar_trx", "CREATE TABLE emp (id INT)");
    let page = &client.page;
    client.show_tables();
    client.run("BEGIN");
    page.wait_for("eyes.first('.transaction')");
    client.write("");
    look_at(&client, "sidebar_other_trx");
    assert_eq!(runs_in(&client), "sidebar_trx");
    client.until_ended(|| page.double_click(&row("customers")));
    assert_eq!(page.texts(".query-tab-name"), ["query 1", "customers"]);
    page.eval("location.hash = '#db=sidebar_other_trx'");
    page.wait_for("location.hash === ''");
    page.click(".query-tab text=query 1");
    assert_eq!(runs_in(&client), "sidebar_trx");
}

#[test]
fn an_empty_database_says_so() {
    let client = Client::open("sidebar_empty", "");
    client.show_tables();
    let page = &client.page;
    page.wait_for_text("No tables visible to this account");
    page.click(".sidebar-note text=New view …");
    page.wait_for("eyes.editor()?.includes('CREATE VIEW sidebar_empty.new_view')");
    page.click(".sidebar-head [data-fresh=tables]");
    page.wait_for("eyes.all('.menu [role=menuitem]').map((one) => one.innerText.trim()).join() === 'New table …,New view …'");
    page.press("Escape");
    page.click(".sidebar-note text=New table …");
    page.wait_for("eyes.first('.structure-form .structure-name')");
}
