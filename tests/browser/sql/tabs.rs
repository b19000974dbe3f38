//! The names of tabs, results that stay, and many tabs.

use crate::sql::client::{Client, row};
use crate::sql::data::open_data;
use crate::sql::looks::look;

const SHOP: &str =
    "CREATE TABLE customers (id INT, name VARCHAR(40)); INSERT INTO customers VALUES (1, 'Alice')";

#[test]
fn results_are_called_after_their_table_and_one_can_stay() {
    let client = Client::open("tabs_results", SHOP);
    let page = &client.page;
    client.run("SELECT * FROM `customers` WHERE id = 1");
    assert_eq!(client.result_tabs()[0], "customers 1");
    assert_eq!(
        page.eval("eyes.first('.results-tab [role=tab]').title"),
        "SELECT * FROM `customers` WHERE id = 1"
    );
    page.click("[data-tool=pin]");
    client.run("SELECT 2 AS two -- a remark");
    assert_eq!(client.headers(), ["two"]);
    let tabs = client.result_tabs();
    assert!(
        tabs[0].ends_with("customers 1") && tabs[1] == "SELECT 2 AS two 1",
        "{tabs:?}"
    );
    page.click(".results-tab text=customers");
    client.settle();
    assert_eq!(client.column(1), ["Alice"]);
    // Let go, it goes with the next run.
    page.click("[data-tool=pin]");
    client.run("SELECT 3 AS three");
    assert_eq!(client.result_tabs()[0], "SELECT 3 AS three 1");
    assert!(
        !client
            .result_tabs()
            .iter()
            .any(|tab| tab.contains("customers"))
    );
}

#[test]
fn a_pinned_result_stands_beside_the_next_ones() {
    let client = Client::open("tabs_beside", SHOP);
    let page = &client.page;
    client.run("SELECT 1 AS one");
    assert_eq!(
        page.eval("eyes.first('[data-tool=columns]') === null"),
        true
    );
    page.click("[data-tool=pin]");
    client.run("SELECT 2 AS two");
    page.click("[data-tool=columns]");
    let shown = "eyes.all('.results-panel .grid-header').map((one) => one.dataset.name ?? one.innerText.trim().split(/\\s/)[0]).join(' ')";
    page.wait_for(&format!("{shown} === 'one two'"));
    let apart = "((panels) => panels.length === 2 && panels[0].getBoundingClientRect().right <= panels[1].getBoundingClientRect().left + 1 && panels.every((one) => one.offsetWidth > 200))(eyes.all('.results-panel'))";
    page.wait_for(apart);
    look(&client, "side-by-side");
    // The next run takes the place of what is not pinned, whichever has the focus.
    page.click(".results-panel .grid-cell");
    page.wait_for("eyes.first('.results-tab [aria-selected=true]').innerText.includes('one')");
    client.run("SELECT 3 AS three");
    page.wait_for(&format!("{shown} === 'one three'"));
    page.click("[data-tool=columns]");
    page.wait_for(&format!("{shown} === 'three'"));
    assert_eq!(client.headers(), ["three"]);
}

#[test]
fn of_a_script_the_first_result_is_in_front_and_a_chart_follows_its_statement() {
    let client = Client::open("tabs_front", SHOP);
    let page = &client.page;
    client.run("SELECT id, 2 AS two FROM customers");
    page.click(".results-tab text=Chart");
    client.run("SELECT id, 3 AS three FROM customers");
    page.wait_for("eyes.first('.results-tab [aria-selected=true]').innerText === 'Chart'");
    client.run_script("SELECT 4 AS four; EXPLAIN SELECT * FROM customers; SELECT 5 AS five");
    client.page.wait_for("eyes.first('.grid')");
    assert_eq!(client.headers(), ["four"]);
    assert!(client.result_tabs().iter().any(|tab| tab == "Plan"));
}

#[test]
fn a_table_tab_does_not_go_unasked_with_its_query_tab() {
    let client = Client::open("tabs_close", SHOP);
    client.show_tables();
    let page = &client.page;
    open_data(&client, "customers");
    // Without a statement it can be opened again.
    page.press("Alt+w");
    page.wait_for_text("shows the data of customers");
    page.assert_accessible("the question before a tab with tables is closed");
    page.click("dialog text=Close all");
    page.wait_for("!eyes.first('.data')");
    page.press("Alt+z");
    page.wait_for(
        "eyes.all('.results-tab').some((tab) => tab.innerText.includes('customers data'))",
    );
    page.click(".results-tab text=customers data");
    page.wait_for("eyes.first('.data-table')");
    // Its tables go to the tab beside it.
    page.press("Alt+n");
    page.press("Alt+PageUp");
    page.wait_for("eyes.first('.data-table')");
    page.press("Alt+w");
    page.click("dialog text=Keep the tables");
    page.wait_for("document.querySelectorAll('.query-tab').length === 1 && eyes.all('.results-tab').some((tab) => tab.innerText.includes('customers data'))");
    page.click(".results-tab text=customers data");
    page.wait_for("eyes.first('.data-table')");
    page.press("Alt+w");
    page.wait_for_text("shows the data of customers");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog') && eyes.first('.data-table')");
}

#[test]
fn a_double_click_names_the_tab_after_the_table_until_a_person_does() {
    let client = Client::open("tabs_names", SHOP);
    let page = &client.page;
    client.show_tables();
    client.until_ended(|| page.double_click(&row("customers")));
    assert_eq!(page.texts(".query-tab-name"), ["customers"]);
    assert_eq!(page.texts(".query-tab-db"), ["tabs_names"]);
    client.press_function_key(2, false);
    page.wait_for("document.querySelector('dialog input')");
    page.fill("dialog input", "mine");
    page.press("Enter");
    page.wait_for("!document.querySelector('dialog')");
    client.until_ended(|| page.double_click(&row("customers")));
    assert_eq!(page.texts(".query-tab-name"), ["mine"]);
}

#[test]
fn f3_finds_in_the_results_from_the_editor() {
    let client = Client::open("tabs_find", SHOP);
    let page = &client.page;
    client.run("SELECT * FROM customers");
    page.click(".results-tab text=Messages");
    page.click("textarea.editor-area");
    client.press_function_key(3, false);
    page.wait_for("document.activeElement.matches('.find input')");
    page.type_text("Ali");
    page.wait_for("eyes.first('.find .find-count')?.innerText === '1 of 1'");
}

#[test]
fn the_active_one_of_many_tabs_is_whole_in_sight_and_all_are_listed() {
    let client = Client::open("tabs_many", "");
    let page = &client.page;
    for _ in 1..16 {
        page.press("Alt+n");
    }
    page.wait_for("document.querySelectorAll('.query-tab').length === 16");
    client.settle();
    let inside = "(() => { const tab = document.querySelector('.query-tab.active').getBoundingClientRect(); const strip = document.querySelector('#tabs').getBoundingClientRect(); return tab.left >= strip.left - 1 && tab.right <= strip.right + 1; })()";
    assert_eq!(page.eval(inside), true);
    page.click("#tab-list");
    page.wait_for("eyes.all('.menu [role=menuitem]').length === 16");
    page.press("Home");
    page.press("Enter");
    page.wait_for(
        "document.querySelector('.query-tab.active .query-tab-name').textContent === 'query 1'",
    );
    assert_eq!(page.eval(inside), true);
    page.assert_accessible("many tabs");
}
