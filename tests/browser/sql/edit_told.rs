//! Hints before rows are written: changes that follow in other tables, missing values, possible values.

use super::client::Client;
use super::data::open_data;
use super::edit::{apply, on_data, pending, review, server, type_into};

const FAMILY: &str = "CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(20));
    CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY goes (parent) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE friend (id INT PRIMARY KEY, parent INT, FOREIGN KEY stays (parent) REFERENCES parent (id) ON DELETE SET NULL);
    INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, 'c');
    INSERT INTO child VALUES (1, 1), (2, 1), (3, 2); INSERT INTO friend VALUES (1, 1);";

#[test]
fn a_review_tells_what_foreign_keys_do_to_rows_of_other_tables() {
    let client = on_data("edit_family", FAMILY, "parent");
    let page = &client.page;
    type_into(&client, 0, 1, "alone", "Enter");
    review(&client);
    assert_eq!(client.text(".review-follows"), "", "no key is changed");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog[open]')");
    client.click_cell(0, 0);
    page.press("Ctrl+Delete");
    type_into(&client, 1, 0, "20", "Enter");
    review(&client);
    let told = page.texts(".review-follows li");
    assert_eq!(told.len(), 3, "{told:?}");
    for part in [
        "Also deletes 2 rows of child",
        "Also changes parent in 1 row of child",
        "Sets parent to NULL in 1 row of friend",
    ] {
        assert!(told.iter().any(|text| text.contains(part)), "{told:?}");
    }
    page.assert_accessible("a review with foreign keys");
    page.screenshot("edit-follows");
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', id, parent) FROM edit_family.child"),
        "3 20"
    );
}

#[test]
fn a_new_row_without_a_value_that_it_must_have_is_not_reviewed() {
    let client = on_data(
        "edit_required",
        "CREATE TABLE strict (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9) NOT NULL)",
        "strict",
    );
    let page = &client.page;
    page.click(".edit-bar text=New row");
    client.settle();
    page.press("Escape");
    assert!(
        pending(&client).contains("1 to fix"),
        "{}",
        pending(&client)
    );
    page.click(".edit-bar text=Review SQL …");
    page.wait_for("eyes.first('.data-error')?.innerText.includes('name needs a value')");
    type_into(&client, 0, 1, "x", "Enter");
    assert_eq!(pending(&client), "1 change");
}

#[test]
fn the_filter_of_an_enum_offers_its_values() {
    let client = on_data(
        "edit_values",
        "CREATE TABLE kinds (id INT PRIMARY KEY, kind ENUM('small','it''s','','none')); INSERT INTO kinds VALUES (1, 'small'), (2, 'it''s'), (3, '')",
        "kinds",
    );
    let page = &client.page;
    page.eval("eyes.first('.grid-filter[data-column=\"1\"]').click()");
    page.wait_for("eyes.first('.value-note')?.innerText === '4 values'");
    assert_eq!(
        page.eval("eyes.all('.value-list label').map((e) => e.textContent)"),
        serde_json::json!(["‹empty›1", "it's1", "small1", "none0"])
    );
    page.assert_accessible("the filter of an ENUM");
    page.screenshot("filter-values");
    page.click(".value-list text=it's");
    page.click(".panel-buttons text=Filter");
    page.wait_for("eyes.rows().length === 1");
    assert_eq!(client.column(0), ["2"]);
}

#[test]
fn keys_that_come_later_are_shown_whole() {
    let client = Client::open(
        "edit_widths",
        "CREATE TABLE many (id BIGINT PRIMARY KEY, v INT);
        INSERT INTO many WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 90) SELECT (a.n - 1) * 90 + b.n, 1 FROM s a, s b; INSERT INTO many VALUES (9007199254740993, 123456789)",
    );
    client.show_tables();
    open_data(&client, "many");
    let page = &client.page;
    page.click(".data-foot text=Last row");
    page.wait_for("eyes.all('.grid-cell').some((cell) => cell.textContent === '9007199254740993')");
    let cut = "eyes.all('.grid-cell').filter((cell) => cell.scrollWidth > cell.clientWidth).length";
    page.wait_for(&format!("{cut} === 0"));
    // A filter shows other rows in columns that were fitted to the first ones.
    open_data(&client, "many");
    page.fill(".data-where", "id > 10000");
    page.press("Enter");
    page.wait_for("eyes.rows().length === 1");
    page.wait_for(&format!("{cut} === 0"));
}

#[test]
fn a_begin_that_commits_says_so() {
    let client = Client::open("edit_begin", "CREATE TABLE t (id INT PRIMARY KEY)");
    client.run("BEGIN");
    client.run_script("INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)");
    client.page.wait_for("eyes.first('.editor-message.warn')?.innerText.includes('BEGIN committed the open transaction')");
    assert_eq!(server("SELECT id FROM edit_begin.t"), "1");
    client.run("CREATE TABLE u (id INT)");
    client.page.wait_for("eyes.first('.editor-message.warn')?.innerText.includes('CREATE committed the open transaction')");
    client.run("COMMIT");
    client.page.wait_for("!eyes.first('.editor-message.warn')");
}

#[test]
fn the_data_that_was_looked_at_is_there_after_a_reload() {
    let client = on_data(
        "edit_reload",
        "CREATE TABLE kept (id INT PRIMARY KEY, v INT); INSERT INTO kept VALUES (1, 5), (2, 6), (3, 7)",
        "kept",
    );
    let page = &client.page;
    page.fill(".data-where", "v > 5");
    page.press("Enter");
    page.wait_for("eyes.rows().length === 2");
    client.settle();
    client.sort_by("id");
    client.sort_by("id");
    page.wait_for("eyes.cell(0, 0)?.textContent === '3'");
    page.reload();
    client.wait_until_ready();
    page.wait_for("eyes.all('.results-tab').some((tab) => tab.innerText.includes('kept data'))");
    assert!(eyes_no_rows(&client), "loaded when it is looked at");
    page.click(".results-tab text=kept data");
    page.wait_for("eyes.rows().length === 2 && eyes.cell(0, 0)?.textContent === '3'");
    assert_eq!(page.eval("eyes.first('.data-where').value"), "v > 5");
}

fn eyes_no_rows(client: &Client) -> bool {
    client.page.eval("eyes.all('.data .grid-cell').length") == 0
}

#[test]
fn what_is_typed_over_a_json_value_takes_its_place() {
    let client = on_data(
        "edit_json_typed",
        "CREATE TABLE kept (id INT PRIMARY KEY, v JSON); INSERT INTO kept VALUES (1, '12')",
        "kept",
    );
    let page = &client.page;
    client.click_cell(0, 1);
    page.type_text("3");
    page.wait_for("eyes.first('.value-area')");
    page.type_text("4");
    page.wait_for("eyes.first('.value-area').value === '34'");
}
