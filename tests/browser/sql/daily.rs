//! A day's work with the data of tables: notices, the focus, what a reload keeps.

use mysql::prelude::Queryable as _;
use serde_json::json;

use super::client::{Client, strings};
use super::data::{open_data, until_loaded};
use super::edit::{on_data, paste, pending, server, type_into};
use support::Database;

/// A row of many columns, with comments and types that have parameters.
const WIDE: &str = "CREATE TABLE wide (id INT PRIMARY KEY, price DECIMAL(10,2) NULL COMMENT 'net of tax', a1 INT, a2 INT, a3 INT, a4 INT, a5 INT, a6 INT, a7 INT, a8 INT, a9 INT);
    INSERT INTO wide (id, price) VALUES (1, 1.5), (2, 2.5), (3, 3.5);";

const CUSTOMERS: &str = "CREATE TABLE country (id INT PRIMARY KEY, name VARCHAR(20)); INSERT INTO country VALUES (1, 'Chile'), (2, 'Peru');
    CREATE TABLE customer (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NULL, credit DECIMAL(10,2) NULL, country INT NULL, FOREIGN KEY (country) REFERENCES country (id));
    INSERT INTO customer (name, credit, country) VALUES ('Ada', 1.5, 1), ('Bob', 2.25, 2), ('Cyd', NULL, 1), ('Dan', 4, 2);
    CREATE TABLE nothing (id INT PRIMARY KEY, note VARCHAR(20) NULL);";

/// True if the focus is in the grid.
const IN_GRID: &str = "document.activeElement.closest('.grid') !== null";

/// Loads the page again.
#[track_caller]
fn reload(client: &Client) {
    client.settle();
    client.page.reload();
    client.wait_until_ready();
    client.settle();
}

/// Filters by a condition.
#[track_caller]
fn filter(client: &Client, condition: &str) {
    client.page.fill(".data-where", condition);
    client.page.press("Enter");
    until_loaded(client);
}

/// Text of the element with the focus.
#[track_caller]
fn focused(client: &Client) -> String {
    strings(client.page.eval(
        "(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent).trim()",
    ))
}

#[test]
fn the_notice_about_kept_changes_goes_when_the_table_is_opened_and_covers_no_button() {
    let client = on_data("daily_kept", CUSTOMERS, "customer");
    let page = &client.page;
    type_into(&client, 0, 1, "Eve", "Enter");
    page.click(".results-tab text=Messages");
    reload(&client);
    page.wait_for_text("Kept from before, and not applied: 1 change in customer");
    // In a dialog it is above the buttons, not over them.
    page.press("Ctrl+Shift+h");
    page.press("Escape");
    page.eval("document.querySelector('#more').click()");
    page.click(".menu text=Import CSV …");
    page.wait_for("eyes.first('dialog[open] .toast')");
    for (width, height) in [(1440, 900), (390, 844), (1024, 420)] {
        page.viewport(width, height);
        client.settle();
        let covered = page.eval(
            "eyes.all('dialog[open] button:not(.toast *)').filter((one) => { const { left, top, width, height } = one.getBoundingClientRect();
               return document.elementFromPoint(left + width / 2, top + height / 2)?.closest('.toasts'); }).length",
        );
        assert_eq!(covered, json!(0), "{width} x {height}");
        assert_eq!(
            page.eval("(({ top, bottom, height }) => top >= 0 && bottom <= innerHeight && height > 20)(eyes.box('dialog[open] .toast'))"),
            json!(true),
            "{width} x {height}"
        );
    }
    page.screenshot("daily-notice-390");
    page.viewport(1440, 900);
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog[open]') && eyes.first('.toast')");
    // It goes with the tab that is opened.
    page.click(".results-tab text=customer data");
    until_loaded(&client);
    assert_eq!(page.eval("eyes.all('.toast').length"), json!(0));
    assert_eq!(pending(&client), "1 change");
}

#[test]
fn show_in_the_notice_leads_into_the_grid() {
    let client = on_data("daily_show", CUSTOMERS, "customer");
    let page = &client.page;
    type_into(&client, 0, 1, "Eve", "Enter");
    page.click(".results-tab text=Messages");
    reload(&client);
    page.wait_for_text("Kept from before");
    page.click(".toast text=Show");
    until_loaded(&client);
    page.wait_for(IN_GRID);
    assert_eq!(client.cells()[0][1], "Eve");
}

#[test]
fn after_a_reload_the_table_that_was_in_front_is_in_front() {
    let client = on_data("daily_front", CUSTOMERS, "customer");
    let page = &client.page;
    let height = page.eval("Math.round(eyes.box('#editors').height)");
    open_data(&client, "country");
    page.click(".results-tab text=customer data");
    reload(&client);
    until_loaded(&client);
    assert_eq!(client.text(".data-table"), "daily_front.customer");
    assert_eq!(client.cells().len(), 4);
    assert_eq!(
        page.eval("Math.round(eyes.box('#editors').height)"),
        height,
        "the editor stays as low as it was"
    );
    // The other one is loaded when it is looked at.
    assert!(
        !page
            .requests()
            .iter()
            .any(|r| r.url.ends_with("/api/query") && r.body.contains("`country` ORDER"))
    );
    page.click(".results-tab text=Messages");
    reload(&client);
    assert_eq!(page.eval("eyes.first('.data')"), json!(null));
}

#[test]
fn rows_of_a_table_get_all_of_the_height_and_keep_it_after_a_reload() {
    let client = on_data("daily_bare", CUSTOMERS, "customer");
    let page = &client.page;
    let heights = "JSON.stringify([Math.round(eyes.box('#editors').height), document.querySelector('#progress').checkVisibility()])";
    client.click_cell(0, 0);
    page.press("Alt+m");
    client.settle();
    assert_eq!(page.eval(heights), "[0,false]");
    reload(&client);
    until_loaded(&client);
    page.wait_for(IN_GRID);
    assert_eq!(page.eval(heights), "[0,false]");
    page.screenshot("daily-bare");
    // The editor comes with the focus, and for results of statements.
    page.eval("document.querySelector('textarea.editor-area').focus()");
    client.settle();
    assert_ne!(page.eval(heights), "[0,false]");
    client.click_cell(0, 0);
    client.settle();
    page.click(".results-tab text=Messages");
    client.settle();
    assert_ne!(page.eval(heights), "[0,false]");
    page.click(".results-tab text=customer data");
    client.click_cell(0, 0);
    page.press("Alt+m");
    client.settle();
    assert_ne!(page.eval(heights), "[0,false]");
}

#[test]
fn the_focus_stays_in_the_grid_when_a_filter_leaves_no_row() {
    let client = on_data("daily_focus", CUSTOMERS, "customer");
    let page = &client.page;
    client.click_cell(3, 1);
    // The value list is of other columns: Bob is hidden, and the active row with him.
    page.press("Alt+ArrowDown");
    page.wait_for("eyes.first('[role=dialog]')");
    page.fill(
        "[role=dialog] input:not([type=checkbox], [type=search])",
        "Ada",
    );
    page.press("Enter");
    until_loaded(&client);
    assert_eq!(client.column(1), ["Ada"]);
    page.wait_for(IN_GRID);
    assert_eq!(focused(&client), "Ada");
    page.press("Alt+ArrowDown");
    page.wait_for("eyes.first('[role=dialog]')");
    page.fill(
        "[role=dialog] input:not([type=checkbox], [type=search])",
        "nobody",
    );
    page.press("Enter");
    page.wait_for("eyes.first('.grid-empty')");
    until_loaded(&client);
    assert_eq!(page.eval(IN_GRID), json!(true));
    page.press("ArrowRight");
    assert_eq!(
        page.eval("document.activeElement.querySelector('.grid-name').textContent"),
        "credit"
    );
    page.press("Alt+ArrowDown");
    page.wait_for("eyes.first('[role=dialog]')");
    page.press("Escape");
    client.press_function_key(8, false);
    page.wait_for_text("There is no row to show");
    page.press("Ctrl+g");
    page.wait_for("eyes.first('.column-list')");
    page.press("Escape");
    // Columns are listed from a chip of a filter, too.
    page.eval("eyes.first('.data-chip input').focus()");
    page.press("Ctrl+g");
    page.wait_for("eyes.first('.column-list')");
    page.press("Escape");
}

#[test]
fn the_way_back_from_a_link_leads_to_the_cell_of_the_link() {
    let client = on_data("daily_link", CUSTOMERS, "customer");
    let page = &client.page;
    client.click_cell(0, 1);
    page.click(".grid-row[aria-rowindex=\"4\"] .grid-link");
    page.wait_for("eyes.first('.data-table')?.textContent.endsWith('.country')");
    until_loaded(&client);
    page.press("Alt+ArrowLeft");
    page.wait_for("eyes.first('.data-table')?.textContent.endsWith('.customer')");
    until_loaded(&client);
    assert_eq!(
        page.eval("document.activeElement === eyes.cell(2, 3)"),
        json!(true)
    );
}

#[test]
fn an_empty_table_takes_a_new_row_and_a_paste() {
    let client = on_data("daily_empty", CUSTOMERS, "nothing");
    let page = &client.page;
    page.click(".grid-empty");
    assert_eq!(page.eval(IN_GRID), json!(true));
    page.press("Insert");
    client.settle();
    assert_eq!(pending(&client).lines().next(), Some("1 change"));
    page.press("Ctrl+z");
    client.settle();
    assert_eq!(page.eval(IN_GRID), json!(true));
    page.click(".grid-empty");
    page.eval("(() => { const data = new DataTransfer(); data.setData('text/plain', '7\\tseven'); document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })()");
    client.settle();
    assert_eq!(client.cells(), [["7", "seven"]]);
    assert_eq!(server("SELECT COUNT(*) FROM daily_empty.nothing"), "0");
}

#[test]
fn the_active_one_of_many_tables_is_whole_in_sight_and_all_are_listed() {
    let tables = [
        "customer_addresses",
        "order_positions",
        "shipments_of_orders",
        "invoices_of_customers",
        "payments_of_invoices",
    ];
    let setup: String = tables
        .map(|name| format!("CREATE TABLE {name} (id INT PRIMARY KEY);"))
        .concat();
    let client = Client::open("daily_tabs", &setup);
    client.show_tables();
    let page = &client.page;
    assert_eq!(
        page.eval("eyes.first('[aria-label=\"All results\"]')"),
        json!(null)
    );
    let inside = "(() => { const tab = eyes.first('.results-tab:has([aria-selected=true])').getBoundingClientRect(); const list = eyes.box('.results-tabs'); return tab.left >= list.left - 1 && tab.right <= list.right + 1; })()";
    for table in tables {
        open_data(&client, table);
        page.wait_for(inside);
    }
    page.screenshot("daily-tabs");
    page.click("[aria-label=\"All results\"]");
    page.wait_for("eyes.all('.menu [role=menuitem]').length === 8");
    page.click(".menu text=customer_addresses data");
    page.wait_for("eyes.first('.data-table')?.textContent.endsWith('.customer_addresses')");
    page.wait_for(inside);
    page.assert_accessible("many tables");
    page.viewport(1024, 768);
    page.wait_for(inside);
}

#[test]
fn steps_that_were_undone_are_done_again() {
    let client = on_data("daily_redo", CUSTOMERS, "customer");
    let page = &client.page;
    type_into(&client, 0, 1, "Eve", "Enter");
    type_into(&client, 1, 1, "Fay", "Enter");
    page.press("Ctrl+z");
    page.press("Ctrl+z");
    client.settle();
    assert_eq!(client.column(1)[..2], ["Ada", "Bob"]);
    page.press("Ctrl+y");
    client.settle();
    assert_eq!(client.column(1)[..2], ["Eve", "Bob"]);
    page.press("Ctrl+Shift+z");
    client.settle();
    assert_eq!(client.column(1)[..2], ["Eve", "Fay"]);
    page.press("Ctrl+z");
    type_into(&client, 2, 1, "Gus", "Enter");
    // Another step ends what could be done again.
    page.press("Ctrl+y");
    client.settle();
    assert_eq!(client.column(1), ["Eve", "Bob", "Gus", "Dan"]);
}

#[test]
fn what_is_typed_fills_all_selected_cells_and_decimal_commas_are_read() {
    let client = on_data("daily_fill", CUSTOMERS, "customer");
    let page = &client.page;
    client.click_cell(0, 1);
    page.press("Shift+ArrowDown");
    page.press("Shift+ArrowDown");
    page.type_text("same");
    page.press("Ctrl+Enter");
    client.settle();
    assert_eq!(client.column(1), ["same", "same", "same", "Dan"]);
    assert_eq!(pending(&client), "3 changes");
    page.press("Ctrl+z");
    client.settle();
    assert_eq!(client.column(1), ["Ada", "Bob", "Cyd", "Dan"]);
    client.click_cell(0, 1);
    paste(&client, "1,5\t1,5\n2,25\t-2,25");
    assert_eq!(client.cells()[0][1..3], ["1,5", "1.5"]);
    assert_eq!(client.cells()[1][1..3], ["2,25", "-2.25"]);
    assert_eq!(
        client.text(".edit-remark"),
        "Decimal commas were read as points"
    );
    page.press("Ctrl+z");
    client.settle();
    assert_eq!(client.text(".edit-remark"), "");
    // Thousands or decimals: nobody can tell.
    client.click_cell(0, 2);
    paste(&client, "1,000\n1,000,000\n2,5");
    let shown = [0, 1, 2].map(|row| client.cells()[row][2].clone());
    assert_eq!(shown, ["1,000", "1,000,000", "2.5"]);
    page.click(".edit-bar text=Review SQL …");
    page.wait_for("eyes.first('.data-error')?.innerText.includes('“1,000” can be 1000 or 1.000. Type it without the comma')");
    page.press("Ctrl+z");
    client.settle();
    assert_eq!(client.column(1), ["Ada", "Bob", "Cyd", "Dan"]);
}

#[test]
fn inserted_rows_are_counted() {
    let client = on_data("daily_count", CUSTOMERS, "customer");
    client.click_cell(0, 0);
    for _ in 0..3 {
        client.page.press("Insert");
        client.settle();
    }
    assert_eq!(client.text(".data-figures"), "4 rows");
    super::edit::review(&client);
    super::edit::apply(&client);
    assert_eq!(client.text(".data-figures"), "7 rows");
}

#[test]
fn a_form_has_columns_of_fields_whole_types_and_all_of_the_width() {
    let client = on_data("daily_form", WIDE, "wide");
    let page = &client.page;
    assert_eq!(
        page.eval("eyes.header('price').title"),
        "price\ndecimal(10,2)\nnet of tax"
    );
    client.click_cell(1, 1);
    client.press_function_key(8, false);
    page.wait_for("eyes.first('.row-form .form-line')");
    assert_eq!(client.text(".row-form .viewer-title"), "Row 2 of 3");
    assert_eq!(
        client.text(".form-line[data-column='1'] .form-name"),
        "price\ndecimal(10,2)\nnet of tax"
    );
    let tops = "new Set(eyes.all('.form-line').map((line) => Math.round(line.getBoundingClientRect().left))).size";
    assert_eq!(page.eval(tops), json!(1));
    page.click("[aria-label^='Whole width']");
    client.settle();
    assert!(page.eval(tops).as_u64() >= Some(3));
    assert_eq!(
        page.eval("eyes.box('.row-form').width > eyes.box('.result').width - 24"),
        json!(true)
    );
    page.screenshot("daily-form-whole");
    page.assert_accessible("a form over the whole width");
    page.press("Alt+ArrowDown");
    client.settle();
    assert_eq!(client.text(".row-form .viewer-title"), "Row 3 of 3");
    page.double_click(".result-splitter");
    client.settle();
    assert_eq!(page.eval(tops), json!(1));
    // On a phone it has the height of the editor, and what is typed into stays in sight.
    page.viewport(390, 844);
    client.settle();
    page.eval("eyes.first('.form-line[data-column=\"10\"] input').focus()");
    client.settle();
    assert_eq!(
        page.eval("Math.round(eyes.box('#editors').height)"),
        json!(0)
    );
    page.viewport(390, 500);
    page.wait_for("(({ top, bottom }) => top >= 0 && bottom <= eyes.box('.form-lines').bottom + 1)(document.activeElement.getBoundingClientRect())");
    assert_eq!(
        page.eval("document.activeElement.closest('.form-line')?.dataset.column"),
        "10"
    );
    page.screenshot("daily-form-390");
    page.press("Escape");
    client.settle();
    page.viewport(390, 844);
    client.settle();
    assert_ne!(
        page.eval("Math.round(eyes.box('#editors').height)"),
        json!(0)
    );
}

#[test]
fn columns_are_found_by_their_comments_too() {
    let client = on_data("daily_columns", WIDE, "wide");
    let page = &client.page;
    client.click_cell(0, 0);
    page.press("Ctrl+g");
    page.wait_for("eyes.first('.column-list')");
    assert_eq!(client.text(".panel > p"), "11 columns");
    page.type_text("of tax");
    page.wait_for("eyes.all('.column-list li').length === 1");
    assert_eq!(client.text(".panel > p"), "1 of 11 columns");
    assert_eq!(client.text(".column-name"), "price\ndecimal(10,2)");
    page.press("Enter");
    assert_eq!(
        page.eval("document.activeElement === eyes.cell(0, 1)"),
        json!(true)
    );
}

#[test]
fn the_notice_says_which_changes_may_be_applied_already() {
    let client = on_data("daily_sent", CUSTOMERS, "customer");
    let page = &client.page;
    type_into(&client, 0, 1, "Eve", "Enter");
    let mut lock = Database::shared().conn();
    lock.query_drop("BEGIN").expect("a transaction");
    lock.query_drop("UPDATE daily_sent.customer SET credit = 7 WHERE id = 1")
        .expect("a lock");
    super::edit::review(&client);
    page.click("dialog text=Apply");
    page.wait_for("eyes.first('.edit-bar')?.innerText.includes('Applying')");
    page.click(".results-tab text=Messages");
    reload(&client);
    page.wait_for("eyes.first('.toast')");
    assert_eq!(
        client.text(".toast p"),
        "Kept from before, may be applied already: 1 change in customer. Show"
    );
    drop(lock);
}

#[test]
fn filtered_rows_are_exported_as_those_that_match_and_copied_as_updates() {
    let client = on_data("daily_copy", CUSTOMERS, "customer");
    let page = &client.page;
    page.grant_clipboard(client.postern.url());
    filter(&client, "id < 3");
    page.click(".results-tools text=Export");
    page.wait_for("eyes.first('dialog .export')?.innerText.includes('All rows that match')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog[open]')");
    let copied = |format: &str, expected: &str| {
        page.click(".results-tools text=Copy");
        page.click(&format!(".panel [data-format={format}]"));
        page.wait_for(&format!(
            "navigator.clipboard.readText().then((text) => text === {})",
            json!(expected)
        ));
    };
    copied(
        "update",
        "UPDATE `daily_copy`.`customer` SET `name` = 'Ada', `credit` = 1.50, `country` = 1 WHERE `id` = 1;\nUPDATE `daily_copy`.`customer` SET `name` = 'Bob', `credit` = 2.25, `country` = 2 WHERE `id` = 2;\n",
    );
    page.click(".results-tools text=Copy");
    page.click(".panel text=Decimal comma (TSV, CSV)");
    page.click(".panel [data-format=tsv]");
    page.wait_for("navigator.clipboard.readText().then((text) => text.includes('Ada\\t1,50\\t1'))");
    client.click_cell(0, 1);
    page.press("Shift+ArrowDown");
    page.click(".results-tools text=Copy");
    page.assert_accessible("the copy panel");
    page.click(".panel [data-format=list]");
    page.wait_for("navigator.clipboard.readText().then((text) => text === \"('Ada', 'Bob')\")");
    // Without its key a row is not found again.
    page.click(".results-tools text=Copy");
    page.click(".panel [data-format=update]");
    page.wait_for_text("Not copied: SQL UPDATE needs the key: select id too");
    // A list has no NULL.
    client.run("SELECT 1 AS v UNION ALL SELECT NULL UNION ALL SELECT 3");
    client.click_cell(0, 0);
    page.press("Ctrl+a");
    page.click(".results-tools text=Copy");
    page.click(".panel [data-format=list]");
    page.wait_for_text(
        "Copied 2 rows × 1 column as IN list, 6 characters. 1 row with NULL was skipped",
    );
}
