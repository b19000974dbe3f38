//! Editing in the data of a table: collected, marked, reviewed as SQL and only then written.

use serde_json::{Value, json};

use super::client::{Client, strings};
use super::data::{open_data, until_loaded};
use support::Database;

const ITEMS: &str = r"CREATE TABLE items (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(8,2) NULL DEFAULT 9.50,
      kind ENUM('small','large','') NOT NULL DEFAULT 'small', tags SET('a','b','c') NULL, live TINYINT(1) NOT NULL DEFAULT 0, bits BIT(6) NULL,
      at DATETIME(6) NULL, day DATE NULL, note TEXT NULL, twice DECIMAL(9,2) AS (price * 2) VIRTUAL);
    INSERT INTO items (name, price, kind, tags, live, bits, at, day, note) VALUES
      ('one', 1.00, 'small', 'a,b', 0, b'101', '2024-05-06 07:08:09.123456', '2024-05-06', 'short'),
      ('two', 2.00, 'large', NULL, 1, NULL, NULL, NULL, NULL), ('three', 3.00, 'small', '', 0, b'0', NULL, NULL, '');";

/// True if the browser asks before the page is left.
const ASKS_BEFORE_LEAVING: &str = "(() => { const event = new Event('beforeunload', { cancelable: true }); dispatchEvent(event); return event.defaultPrevented; })()";

/// Entries of the browser's storage that hold changes of rows.
const KEPT: &str = "Object.keys(localStorage).filter((name) => name.includes('.pending.')).length";

/// The page on the data of `table`.
#[track_caller]
pub(crate) fn on_data(db: &'static str, setup: &str, table: &str) -> Client {
    let client = Client::open(db, setup);
    client.show_tables();
    open_data(&client, table);
    client
}

/// Types into the cell at a place, which begins its edit, and ends that with a key.
#[track_caller]
pub(crate) fn type_into(client: &Client, row: usize, column: usize, text: &str, end: &str) {
    client.click_cell(row, column);
    client.page.type_text(text);
    client.page.press(end);
    client.settle();
}

/// Opens the review and gives the statements.
#[track_caller]
pub(crate) fn review(client: &Client) -> Vec<String> {
    client.page.click(".edit-bar text=Review SQL …");
    client.page.wait_for("eyes.first('.review-list code')");
    client.page.texts(".review-list code")
}

/// Applies what is reviewed and waits until it is done.
#[track_caller]
pub(crate) fn apply(client: &Client) {
    client.page.click("dialog text=Apply");
    client.page.wait_for("!document.querySelector('dialog[open]') && eyes.all('.toast').some((toast) => toast.innerText.includes('applied'))");
    client
        .page
        .eval("for (const toast of document.querySelectorAll('.toast')) toast.remove()");
    until_loaded(client);
}

/// Text of the bar for the pending changes.
#[track_caller]
pub(crate) fn pending(client: &Client) -> String {
    client.text(".edit-count")
}

/// Result of a query, one row a line.
pub(crate) fn server(sql: &str) -> String {
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

/// Opens the menu of a cell and chooses an entry.
#[track_caller]
fn choose(client: &Client, row: usize, column: usize, entry: &str) {
    client.click_cell(row, column);
    client.page.press("Shift+F10");
    client.page.click(&format!("[role=menuitem] text={entry}"));
    client.settle();
}

#[test]
fn null_default_and_values_that_are_chosen_are_set_by_keys_lists_and_the_menu() {
    let client = on_data("edit_choices", ITEMS, "items");
    let page = &client.page;
    client.click_cell(0, 2);
    page.press("Ctrl+0");
    assert_eq!(client.cells()[0][2], "NULL");
    client.click_cell(1, 2);
    page.press("Ctrl+Backspace");
    assert_eq!(client.cells()[1][2], "DEFAULT");
    client.click_cell(0, 1);
    page.press("Ctrl+0");
    page.wait_for_text("name is NOT NULL");
    assert_eq!(client.cells()[0][1], "one");
    // An ENUM: Enter opens the list, letters find, Tab takes and goes on.
    client.click_cell(0, 3);
    page.press("Enter");
    page.wait_for("eyes.first('[role=listbox]')");
    assert_eq!(
        page.texts("[role=option] span:first-child"),
        ["small", "large", "‹empty›", "DEFAULT"]
    );
    page.assert_accessible("a list of values");
    page.press("l");
    page.press("Enter");
    client.settle();
    assert_eq!(client.cells()[0][3], "large");
    client.click_cell(1, 3);
    page.type_text("s");
    page.press("Tab");
    client.settle();
    assert_eq!(client.cells()[1][3], "small");
    assert_eq!(
        page.eval("document.activeElement.getAttribute('aria-colindex')"),
        "6"
    );
    // A SET: boxes.
    page.press("Enter");
    page.wait_for("eyes.first('.choices input[type=checkbox]')");
    page.click(".choices .check text=c");
    page.click(".choices .check text=a");
    page.assert_accessible("the values of a SET");
    page.press("Escape");
    assert_eq!(client.cells()[1][4], "a,c");
    // Booleans: Space toggles one, Enter lists the values.
    client.click_cell(0, 5);
    page.press(" ");
    assert_eq!(client.cells()[0][5], "1");
    client.click_cell(1, 5);
    page.press("Enter");
    page.wait_for("eyes.first('[role=listbox]')");
    page.press("0");
    page.press("Enter");
    assert_eq!(client.cells()[1][5], "0");
    // Bits as digits of any kind.
    client.click_cell(0, 6);
    page.press("Enter");
    page.wait_for("eyes.first('.cell-input')?.value === `b'101'`");
    page.type_text("33");
    page.press("Enter");
    assert_eq!(client.cells()[0][6], "0x21");
    choose(&client, 1, 9, "Set empty text");
    choose(&client, 2, 9, "Set NULL");
    assert_eq!(pending(&client), "3 changes");
    review(&client);
    apply(&client);
    assert_eq!(
        server(
            "SELECT CONCAT_WS(' ', COALESCE(price, 'NULL'), kind, COALESCE(tags, 'NULL'), live, COALESCE(bits + 0, 'NULL'), COALESCE(CONCAT('«', note, '»'), 'NULL')) FROM edit_choices.items ORDER BY id"
        ),
        "NULL large a,b 1 33 «short»\n9.50 small a,c 0 NULL «»\n3.00 small  0 0 NULL"
    );
}

#[test]
fn ctrl_enter_fills_the_selected_cells_and_runs_nothing_outside_of_the_editor() {
    let client = Client::open(
        "edit_fill",
        "CREATE TABLE p (id INT PRIMARY KEY, name VARCHAR(9)); INSERT INTO p VALUES (1, 'ann'), (2, 'bob');
         CREATE TABLE f (id INT PRIMARY KEY, kind ENUM('new','late pay','paid') NULL, tags SET('new','late pay','paid') NULL, p INT NULL, t VARCHAR(9), live TINYINT(1), FOREIGN KEY (p) REFERENCES p (id));
         INSERT INTO f VALUES (1, 'new', 'new', 1, 'a', 0), (2, 'new', 'new', 1, 'b', 0), (3, 'new', 'new', 1, 'c', 0);",
    );
    let page = &client.page;
    client.write("DELETE FROM edit_fill.f");
    client.show_tables();
    open_data(&client, "f");
    // Types into two cells, presses keys, and fills both.
    let fill = |column: usize, typed: &str, keys: &str, text: &str| {
        client.click_cell(0, column);
        page.press("Shift+ArrowDown");
        page.type_text(typed);
        for key in keys.split_whitespace() {
            page.press(&key.replace("Blank", " "));
        }
        page.press("Ctrl+Enter");
        page.wait_for(&format!("eyes.cell(1, {column}).textContent === '{text}'"));
        let shown = client.column(column);
        assert!(shown[0] == text && shown[2] != text, "{shown:?}");
    };
    // Without anything typed: nothing.
    client.click_cell(0, 1);
    page.press("Ctrl+Enter");
    page.press("Ctrl+Shift+Enter");
    // The list of an ENUM: a blank is a part of what is looked for, and what no value begins with is none.
    fill(1, "", "Enter ArrowDown ArrowDown", "paid");
    fill(1, "late pay", "", "late pay");
    fill(1, "nx", "Enter Escape", "late pay");
    // A SET: boxes, in which letters and blanks find, and a typed list.
    fill(2, "", "Enter l a t e Blank ArrowDown Blank", "new,paid");
    fill(2, "late pay", "", "late pay");
    fill(2, "paid, NEW", "", "new,paid");
    type_into(&client, 2, 2, "late", "Enter");
    assert_eq!(page.eval("eyes.cell(2, 2).dataset.edit"), "bad");
    // A foreign key, and a boolean.
    fill(3, "bob", "", "2");
    fill(5, "", "Enter 1", "1");
    // The form of a row, and the panel of a filter.
    client.press_function_key(8, false);
    page.wait_for("eyes.first('.row-form .form-line')");
    for _ in 0..12 {
        page.press("Tab");
        page.press("Ctrl+Enter");
    }
    client.press_function_key(8, false);
    page.eval("eyes.header('t').querySelector('.grid-filter').click()");
    page.wait_for("eyes.first('.panel select, .panel input')");
    page.press("Ctrl+Enter");
    page.press("Escape");
    let sent = page.requests();
    assert!(sent.iter().all(|request| !request.body.contains("DELETE")));
    // From the tools of the editor it runs, and with no focus.
    client.write("SELECT 7 AS seven");
    page.eval("document.querySelector('#limit').focus()");
    client.until_ended(|| page.press("Ctrl+Enter"));
    page.eval("document.activeElement.blur()");
    client.until_ended(|| page.press("Ctrl+Enter"));
    assert_eq!(client.headers(), ["seven"]);
}

#[test]
fn a_date_is_chosen_or_typed_and_keeps_its_microseconds() {
    let client = on_data("edit_dates", ITEMS, "items");
    let page = &client.page;
    client.click_cell(0, 7);
    page.press("Enter");
    page.wait_for("eyes.first('.cell-calendar')");
    page.eval("(() => { const picker = document.querySelector('.cell-date'); picker.value = '2025-12-31'; picker.dispatchEvent(new Event('change')); })()");
    page.press("Enter");
    client.settle();
    assert_eq!(client.cells()[0][7], "2025-12-31 07:08:09.123456");
    type_into(&client, 1, 7, "2024-02-29 01:02:03.000004", "Enter");
    type_into(&client, 0, 8, "2020-01-02", "Enter");
    // An invalid date is kept and marked, and prevents a review.
    type_into(&client, 1, 8, "tomorrow", "Enter");
    assert_eq!(client.cells()[1][8], "tomorrow");
    assert_eq!(page.eval("eyes.cell(1, 8).dataset.edit"), "bad");
    page.click(".edit-bar text=Review SQL …");
    page.wait_for("eyes.first('.data-error')?.innerText.includes('day holds dates such as')");
    assert!(edits(&client).is_empty());
    page.assert_accessible("a value that cannot be");
    type_into(&client, 1, 8, "2024-02-29", "Enter");
    review(&client);
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', at, day) FROM edit_dates.items WHERE id < 3 ORDER BY id"),
        "2025-12-31 07:08:09.123456 2020-01-02\n2024-02-29 01:02:03.000004 2024-02-29"
    );
}

#[test]
fn rows_are_added_duplicated_and_deleted_and_stay_in_sight() {
    let client = on_data("edit_rows", ITEMS, "items");
    let page = &client.page;
    client.click_cell(1, 1);
    page.press("Insert");
    client.settle();
    assert_eq!(client.cells().len(), 4);
    let fresh = client.cells()[0].clone();
    assert_eq!(
        fresh[..6],
        [
            "auto", "required", "DEFAULT", "DEFAULT", "DEFAULT", "DEFAULT"
        ]
    );
    page.type_text("new");
    page.press("Enter");
    page.wait_for("eyes.cell(0, 1).textContent === 'new'");
    assert_eq!(
        page.eval("eyes.rows()[0].querySelector('.grid-number').getAttribute('aria-label')"),
        "new"
    );
    // The row of two, below the new one, is duplicated; that of three deleted.
    client.click_cell(2, 1);
    page.press("Ctrl+d");
    client.settle();
    assert_eq!(client.cells()[1][1], "two");
    assert_eq!(client.cells()[1][0], "auto");
    client.click_cell(4, 1);
    page.press("Ctrl+Delete");
    client.settle();
    assert_eq!(page.eval("eyes.cell(4, 1).dataset.edit"), "deleted");
    page.assert_accessible("new and deleted rows");
    assert_eq!(pending(&client), "3 changes");
    let statements = review(&client);
    assert!(statements[0].starts_with("DELETE"), "{statements:?}");
    assert!(
        statements[1].starts_with("INSERT") && statements[2].starts_with("INSERT"),
        "{statements:?}"
    );
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', id, name, price, kind) FROM edit_rows.items ORDER BY id"),
        "1 one 1.00 small\n2 two 2.00 large\n4 new 9.50 small\n5 two 2.00 large"
    );
    assert_eq!(
        client.column(0),
        ["4", "5", "1", "2"],
        "as read again, the new ones where they were"
    );
    type_into(&client, 0, 1, "newer", "Enter");
    review(&client);
    apply(&client);
    assert_eq!(client.cells()[0][1], "newer");
    page.click("[aria-label='Reload the rows']");
    until_loaded(&client);
    assert_eq!(client.column(0), ["1", "2", "4", "5"]);
    assert_eq!(client.column(1), ["one", "two", "newer", "two"]);
}

#[test]
fn a_float_keeps_all_its_digits_when_its_row_is_edited_or_duplicated() {
    let client = on_data(
        "edit_float",
        "CREATE TABLE floats (id INT AUTO_INCREMENT PRIMARY KEY, f FLOAT, n INT); INSERT INTO floats (f) VALUES (1234567.875), (0.1), (NULL)",
        "floats",
    );
    assert_eq!(client.column(1)[..2], ["1234567.9", "0.1"]);
    client.click_cell(0, 1);
    client.page.press("Ctrl+d");
    client.settle();
    for n in ["5", "6"] {
        // Once as it was read, once as the edit told it.
        type_into(&client, 1, 2, n, "Enter");
        review(&client);
        apply(&client);
    }
    assert_eq!(
        server(
            "SELECT CONCAT_WS(' ', id, f = 1234567.875, n) FROM edit_float.floats WHERE id IN (1, 4) ORDER BY id"
        ),
        "1 1 6\n4 1"
    );
    assert_eq!(client.column(1)[..2], ["1234567.9", "1234567.9"]);
}

#[test]
fn steps_are_undone_one_by_one_a_row_at_a_time_or_all_at_once() {
    let client = on_data("edit_undo", ITEMS, "items");
    let page = &client.page;
    type_into(&client, 0, 1, "a", "Enter");
    type_into(&client, 0, 2, "7", "Enter");
    type_into(&client, 1, 1, "b", "Enter");
    page.press("Ctrl+Delete");
    assert_eq!(pending(&client), "3 changes");
    page.press("Ctrl+z");
    page.press("Ctrl+z");
    client.settle();
    assert_eq!(client.column(1), ["a", "two", "three"]);
    type_into(&client, 2, 1, "c", "Enter");
    choose(&client, 0, 0, "Undo the changes of the row");
    assert_eq!(client.column(1), ["one", "two", "c"]);
    type_into(&client, 1, 1, "b", "Enter");
    // A value that is restored is no change.
    type_into(&client, 2, 1, "three", "Enter");
    assert_eq!(pending(&client), "1 change");
    type_into(&client, 2, 1, "c", "Enter");
    page.click(".edit-bar text=Discard");
    page.click("dialog text=Discard");
    page.wait_for("!eyes.first('.edit-count')");
    assert_eq!(client.column(1), ["one", "two", "three"]);
    page.click("[aria-label='Undo the last step (Ctrl+Z)']");
    client.settle();
    assert_eq!(client.column(1), ["one", "b", "c"], "also that is undone");
    assert!(edits(&client).is_empty());
}

#[test]
fn a_row_that_changed_meanwhile_is_shown_with_both_values_and_a_choice() {
    let client = on_data("edit_conflict", ITEMS, "items");
    let page = &client.page;
    page.expect_error("409");
    type_into(&client, 0, 1, "mine", "Enter");
    type_into(&client, 1, 1, "also mine", "Enter");
    Database::shared()
        .exec("UPDATE edit_conflict.items SET name = 'theirs', price = 5 WHERE id = 1");
    review(&client);
    page.click("dialog text=Apply");
    page.wait_for("eyes.first('.conflict')");
    let shown = client.text(".conflict");
    for part in [
        "one",
        "mine",
        "theirs",
        "1.00",
        "5.00",
        "not changed by you",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(
        client
            .text("dialog")
            .contains("Keep mine writes only name = mine")
    );
    page.assert_accessible("a row that changed meanwhile");
    page.screenshot("edit-conflict");
    // Left: all stays as it was, the row marked.
    page.click("dialog text=Decide later");
    page.wait_for("eyes.first('.data-error')");
    assert_eq!(page.eval("eyes.rows()[0].dataset.edit"), "failed");
    assert_eq!(pending(&client), "2 changes");
    assert_eq!(
        server("SELECT name FROM edit_conflict.items WHERE id < 3 ORDER BY id"),
        "theirs\ntwo"
    );
    // Mine is kept against what is there now, and reviewed again before it is written.
    review(&client);
    page.click("dialog text=Apply");
    page.click("dialog text=Keep mine");
    page.wait_for("eyes.first('.review-list code')");
    assert_eq!(
        server("SELECT name FROM edit_conflict.items WHERE id = 1"),
        "theirs"
    );
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', name, price) FROM edit_conflict.items ORDER BY id"),
        "mine 5.00\nalso mine 2.00\nthree 3.00"
    );
    assert_eq!(client.cells()[0][2], "5.00");
    // Theirs is taken: nothing is left to write.
    type_into(&client, 0, 1, "mine again", "Enter");
    Database::shared().exec("UPDATE edit_conflict.items SET name = 'theirs again' WHERE id = 1");
    review(&client);
    page.click("dialog text=Apply");
    page.click("dialog text=Take theirs");
    page.wait_for("!document.querySelector('dialog[open]')");
    client.settle();
    assert_eq!(client.cells()[0][1], "theirs again");
    assert_eq!(pending(&client), "");
    // A row that is gone can be added again.
    type_into(&client, 2, 1, "third", "Enter");
    Database::shared().exec("DELETE FROM edit_conflict.items WHERE id = 3");
    review(&client);
    page.click("dialog text=Apply");
    page.wait_for_text("The row was deleted meanwhile");
    page.click("dialog text=Add mine as a new row");
    page.wait_for("eyes.first('.review-list code')?.textContent.startsWith('INSERT')");
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', id, name) FROM edit_conflict.items WHERE id = 3"),
        "3 third"
    );
}

#[test]
fn what_the_server_refuses_marks_the_row_and_keeps_all_changes() {
    let setup = format!("{ITEMS} ALTER TABLE items ADD UNIQUE (name);");
    let client = on_data("edit_refused", &setup, "items");
    let page = &client.page;
    page.expect_error("400");
    type_into(&client, 0, 2, "8", "Enter");
    type_into(&client, 2, 1, "two", "Enter");
    review(&client);
    page.click("dialog text=Apply");
    page.wait_for("eyes.first('.data-error')?.innerText.includes('Duplicate entry')");
    client.settle();
    assert_eq!(page.eval("eyes.rows()[2].dataset.edit"), "failed");
    assert_eq!(pending(&client), "2 changes");
    assert_eq!(client.cells()[2][1], "two");
    assert_eq!(
        server("SELECT price FROM edit_refused.items WHERE id = 1"),
        "1.00"
    );
    page.assert_accessible("a refused row");
    type_into(&client, 2, 1, "drei", "Enter");
    review(&client);
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', name, price) FROM edit_refused.items ORDER BY id"),
        "one 8.00\ntwo 2.00\ndrei 3.00"
    );
}

#[test]
fn changes_survive_sorting_filtering_links_tabs_and_scrolling() {
    let setup = "CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR(10)); INSERT INTO kinds VALUES (1, 'x'), (2, 'y');
        CREATE TABLE many (id INT PRIMARY KEY, name VARCHAR(20), kind INT, FOREIGN KEY (kind) REFERENCES kinds (id));
        INSERT INTO many SELECT seq, CONCAT('n', seq), seq % 2 + 1 FROM seq_1_to_3000;";
    let client = on_data("edit_kept", setup, "many");
    let page = &client.page;
    type_into(&client, 0, 1, "changed", "Enter");
    page.press("Insert");
    page.type_text("90000");
    page.press("Enter");
    assert_eq!(pending(&client), "2 changes");
    // Text in a cell is kept when the user goes elsewhere.
    client.click_cell(2, 1);
    page.type_text("typed");
    page.click(".grid-header[aria-colindex=\"2\"] .grid-name");
    until_loaded(&client);
    assert_eq!(pending(&client), "3 changes");
    page.click(".grid-header[aria-colindex=\"2\"] .grid-name");
    until_loaded(&client);
    assert_eq!(client.column(0)[..2], ["90000", "3000"]);
    page.fill(".data-where", "id < 5");
    page.press("Enter");
    until_loaded(&client);
    assert_eq!(client.column(1)[1..], ["n4", "n3", "typed", "changed"]);
    page.fill(".data-where", "");
    page.press("Enter");
    until_loaded(&client);
    page.eval("eyes.grid().scrollTop = eyes.grid().scrollHeight");
    client.settle();
    page.eval("eyes.grid().scrollTop = 0");
    client.settle();
    // Along a foreign key and back.
    page.eval("eyes.all('.grid-link')[0].click()");
    page.wait_for("eyes.first('.data-table')?.textContent.endsWith('.kinds')");
    until_loaded(&client);
    page.wait_for("eyes.first('.edit-elsewhere')?.textContent === 'Also 3 changes in many'");
    type_into(&client, 0, 1, "z", "Enter");
    page.press("Alt+ArrowLeft");
    page.wait_for("eyes.first('.data-table')?.textContent.endsWith('.many')");
    until_loaded(&client);
    assert_eq!(pending(&client), "3 changes");
    // Another tab of the result area, another query tab, the same table once more.
    page.click(".results-tab text=Messages");
    page.press("Alt+n");
    page.press("Alt+PageUp");
    page.eval("[...document.querySelectorAll('.row-data')].find((b) => b.dataset.rows === 'many').click()");
    client.settle();
    page.wait_for("eyes.first('.edit-count')?.innerText === '3 changes'");
    // The × asks, and so does that of the query tab.
    page.click("[title^='Close many data •']");
    page.wait_for_text("3 changes in many, 1 change in kinds");
    page.click("dialog [aria-label=Close]");
    page.eval("document.querySelector('.grid').focus()");
    page.press("Alt+w");
    page.wait_for_text("Closing the tab discards them");
    page.assert_accessible("the question before a tab is closed");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog[open]')");
    assert_eq!(pending(&client), "3 changes");
    assert!(edits(&client).is_empty());
    page.click("[title^='Close many data •']");
    page.click("dialog text=Close and discard");
    page.wait_for("!eyes.first('.data')");
}

#[test]
fn leaving_the_page_asks_while_changes_would_be_lost() {
    let client = on_data("edit_leave", ITEMS, "items");
    let page = &client.page;
    let asks = ASKS_BEFORE_LEAVING;
    assert_eq!(page.eval(asks), json!(false));
    client.click_cell(0, 1);
    page.type_text("half");
    assert_eq!(
        page.eval(asks),
        json!(true),
        "also while something is typed"
    );
    page.press("Enter");
    assert_eq!(page.eval(asks), json!(false), "the change is kept");
    // A file is not kept, and that is said.
    client.click_cell(0, 9);
    page.eval("(() => { const data = new DataTransfer(); data.items.add(new File(['a file'], 'note.txt')); document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })()");
    page.wait_for("eyes.cell(0, 9).textContent.includes('note.txt')");
    page.wait_for_text("too large to survive a reload, or are files");
    assert_eq!(page.eval(asks), json!(true));
    page.press("Ctrl+z");
    assert_eq!(page.eval(asks), json!(false));
    page.press("Ctrl+z");
    assert_eq!(page.eval(asks), json!(false));
    assert_eq!(
        page.eval(KEPT),
        json!(0),
        "nothing is kept of what was undone"
    );
}

#[test]
fn a_lost_connection_keeps_the_changes() {
    let mut client = on_data("edit_lost", ITEMS, "items");
    client.page.expect_error("ERR_CONNECTION");
    type_into(&client, 0, 1, "kept", "Enter");
    client.postern.stop();
    client.page.click(".edit-bar text=Review SQL …");
    client
        .page
        .wait_for("eyes.first('.data-error')?.innerText.includes('not reachable')");
    assert_eq!(client.cells()[0][1], "kept");
    assert_eq!(pending(&client), "1 change");
}

#[test]
fn what_cannot_be_edited_says_why_in_one_line() {
    let setup = "CREATE TABLE keyless (a INT, b INT); INSERT INTO keyless VALUES (1, 2);
        CREATE TABLE keyed (id INT PRIMARY KEY); INSERT INTO keyed VALUES (1); CREATE VIEW seen AS SELECT * FROM keyed;
        CREATE TABLE floats (f FLOAT PRIMARY KEY); INSERT INTO floats VALUES (0.1);";
    let client = on_data("edit_why", setup, "keyless");
    for (table, why) in [
        ("keyless", "no PRIMARY or UNIQUE NOT NULL key"),
        ("seen", "a view"),
        ("floats", "a FLOAT in its key"),
    ] {
        open_data(&client, table);
        assert!(client.text(".data-fixed").contains(why), "{table}");
        assert_eq!(client.text(".edit-bar"), "");
        client.click_cell(0, 0);
        client.page.type_text("5");
        client.page.press("Enter");
        client.page.wait_for("eyes.first('.viewer')");
        assert_eq!(client.cells().len(), 1);
        client.page.press("Escape");
    }
    client.run("SELECT * FROM keyed JOIN keyless");
    client.click_cell(0, 0);
    client.page.press("Enter");
    client
        .page
        .wait_for("eyes.first('.viewer-why')?.innerText.includes('result of a statement')");
    let client = Client::with("edit_why", setup, &["--readonly"]);
    client.show_tables();
    open_data(&client, "keyed");
    assert_eq!(
        client.text(".data-fixed"),
        "Read-only mode: nothing can be changed"
    );
    assert_eq!(client.text(".edit-bar"), "");
    client.click_cell(0, 0);
    client.page.type_text("5");
    client.page.press("Ctrl+Delete");
    assert_eq!(client.cells(), [["1"]]);
    client.page.assert_accessible("data that cannot be edited");
}

/// Pastes a text, or a file, where the focus is.
#[track_caller]
pub(super) fn paste(client: &Client, text: &str) {
    client.page.eval(&format!(
        "(() => {{ const data = new DataTransfer(); data.setData('text/plain', {}); document.activeElement.dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true, cancelable: true }})); }})()",
        json!(text)
    ));
    client.settle();
}

#[test]
fn a_cell_and_several_are_pasted_and_keep_what_they_were() {
    let client = on_data("edit_paste", ITEMS, "items");
    let page = &client.page;
    client.click_cell(0, 1);
    paste(&client, "pasted\n");
    assert_eq!(client.cells()[0][1], "pasted");
    client.click_cell(0, 9);
    paste(&client, "two\nlines");
    assert_eq!(client.cells()[0][9], "two⏎lines");
    client.click_cell(1, 1);
    paste(&client, "x\t7.25\ny\t8\nz\t9");
    assert_eq!(client.cells()[1][1..3], ["x", "7.25"]);
    assert_eq!(client.cells()[2][1..3], ["y", "8"]);
    page.wait_for_text("4 of 6 cells were pasted");
    // NULL that was copied is NULL, not a word.
    client.click_cell(1, 9);
    let copied: String = strings(page.eval("(() => { const data = new DataTransfer(); document.activeElement.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true })); return data.getData('text/plain'); })()"));
    assert_eq!(copied, "NULL");
    client.click_cell(2, 9);
    paste(&client, &copied);
    // One value goes into all cells that are selected.
    client.click_cell(0, 2);
    page.press("Shift+ArrowDown");
    paste(&client, "1.5");
    review(&client);
    apply(&client);
    assert_eq!(
        server(
            "SELECT CONCAT_WS(' ', name, price, COALESCE(note, 'NULL')) FROM edit_paste.items ORDER BY id"
        ),
        "pasted 1.50 two\nlines\nx 1.50 NULL\ny 8.00 NULL"
    );
}

#[test]
fn notices_never_lie_over_what_is_to_be_applied() {
    let client = on_data("edit_notices", ITEMS, "items");
    let page = &client.page;
    let apart = "((bar) => eyes.all('.toast').every((toast) => toast.getBoundingClientRect().bottom <= bar.top && toast.getBoundingClientRect().top >= 0))(eyes.first('.edit-bar.pending').getBoundingClientRect())";
    for (width, height) in [(1440, 900), (390, 740), (900, 420)] {
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}),
        );
        client.settle();
        // A notice from before the changes, and several after them.
        page.eval("eyes.first('.grid-cell').focus()");
        paste(&client, "1\tx\r\n2\ty\r\n3\tz\r\n4\tw\r\n");
        for _ in 0..3 {
            page.eval("document.activeElement.dispatchEvent(new ClipboardEvent('copy', { clipboardData: new DataTransfer(), bubbles: true, cancelable: true }))");
        }
        page.wait_for("eyes.all('.toast').length >= 3 && eyes.first('.edit-bar.pending')");
        page.wait_for(apart);
        page.wait_for("eyes.all('.edit-state button').every((button) => button.getBoundingClientRect().right <= innerWidth)");
        page.screenshot(&format!("edit-notices-{width}"));
        page.eval("for (const toast of document.querySelectorAll('.toast')) toast.remove()");
        page.eval("[...document.querySelectorAll('.edit-state button')].find((one) => one.title.startsWith('Discard all')).click()");
        page.wait_for("eyes.first('dialog .danger, dialog .primary')");
        page.eval("eyes.first('dialog .danger').click()");
        page.wait_for("!eyes.first('.edit-bar.pending')");
    }
}

#[test]
fn a_column_of_a_spreadsheet_goes_down_and_rows_become_new_ones() {
    let client = on_data("edit_paste_rows", ITEMS, "items");
    let page = &client.page;
    client.click_cell(0, 1);
    paste(&client, "a\r\nb\r\nc\r\nd\r\n");
    assert_eq!(client.column(1), ["a", "b", "c"]);
    page.wait_for_text("3 of 4 cells were pasted");
    page.assert_accessible("an offer of new rows");
    page.click(".toast text=Add 1 new row");
    page.wait_for("eyes.cells().length === 4");
    assert_eq!(client.column(1), ["d", "a", "b", "c"]);
    // A block that begins in a new row goes on in new ones.
    page.press("Insert");
    page.wait_for("eyes.cells().length === 5");
    client.click_cell(1, 1);
    paste(&client, "e\t1\r\nf\t2\r\n");
    assert_eq!(client.column(1), ["d", "e", "f", "a", "b", "c"]);
    page.press("Ctrl+z");
    assert_eq!(client.cells().len(), 5);
    page.press("Ctrl+z");
    assert_eq!(client.column(1), ["d", "a", "b", "c"]);
    // The menu and its key paste all of it as new rows.
    client.click_cell(2, 1);
    page.press("Ctrl+Shift+V");
    paste(&client, "g\r\nh\r\n");
    assert_eq!(client.column(1), ["d", "g", "h", "a", "b", "c"]);
    review(&client);
    apply(&client);
    assert_eq!(
        server("SELECT GROUP_CONCAT(name ORDER BY id) FROM edit_paste_rows.items"),
        "a,b,c,d,g,h"
    );
}

#[test]
fn long_texts_json_and_bytes_are_edited_in_a_panel_and_come_from_files() {
    let setup = "CREATE TABLE long_values (id INT PRIMARY KEY, words TEXT, doc JSON, raw BLOB, few VARBINARY(4));
        INSERT INTO long_values VALUES (1, CONCAT('first', CHAR(13), CHAR(10), 'second'), '{\"a\": 1.50, \"a\": 12345678901234567890}', X'00FF10', X'0102'), (2, NULL, NULL, NULL, NULL);";
    let client = on_data("edit_long", setup, "long_values");
    let page = &client.page;
    let open = |row: usize, column: usize| {
        client.click_cell(row, column);
        page.press("Escape");
        page.press("Enter");
        page.wait_for("eyes.first('.value-area')");
    };
    // \r\n stays what it was.
    open(0, 1);
    assert_eq!(
        page.eval("eyes.first('.value-area').value"),
        "first\nsecond"
    );
    page.eval("(() => { const area = eyes.first('.value-area'); area.setSelectionRange(area.value.length, area.value.length); })()");
    page.type_text("\nthird");
    page.press("Ctrl+Enter");
    page.wait_for("!document.querySelector('dialog[open]')");
    open(0, 2);
    page.fill(".value-area", "{\"b\": [1,");
    page.click("dialog text=Set the value");
    page.wait_for("eyes.first('.value-problem')?.innerText.includes('doc holds JSON')");
    page.assert_accessible("the panel of a value");
    page.fill(
        ".value-area",
        "{\"b\": [1, 2.0], \"c\": 12345678901234567890}",
    );
    page.click("dialog text=Format");
    assert_eq!(
        page.eval("eyes.first('.value-area').value"),
        "{\n  \"b\": [\n    1,\n    2.0\n  ],\n  \"c\": 12345678901234567890\n}"
    );
    page.screenshot("edit-json");
    // Esc asks before what was typed is lost.
    page.press("Escape");
    page.wait_for_text("The text you typed here is lost");
    page.press("Escape");
    page.click("dialog text=Set the value");
    page.wait_for("!document.querySelector('dialog[open]')");
    open(0, 4);
    page.fill(".value-area", "0x0102030405");
    page.click("dialog text=Set the value");
    page.wait_for("eyes.first('.value-problem')?.innerText.includes('at most 4 bytes')");
    page.fill(".value-area", "0xDEADBEEF");
    page.click("dialog text=Set the value");
    page.wait_for("!document.querySelector('dialog[open]')");
    // A file into a blob; the chooser is the browser's.
    page.eval("HTMLInputElement.prototype.click = function () { const data = new DataTransfer(); data.items.add(new File([new Uint8Array([1, 0, 255, 254, 39, 92])], 'six.bin')); this.files = data.files; this.dispatchEvent(new Event('change')); }");
    open(1, 3);
    page.click("dialog text=From a file …");
    page.wait_for("!document.querySelector('dialog[open]')");
    client.settle();
    assert_eq!(client.cells()[1][3], "six.bin, 6 B");
    // The panel and the viewer have the file's bytes from then on.
    open(1, 3);
    assert_eq!(
        page.eval("eyes.first('.value-area').value"),
        "0x0100FFFE275C"
    );
    page.wait_for("eyes.first('.value-facts')?.innerText.includes('six.bin, 6 B now · 6 B')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog[open]')");
    client.click_cell(1, 3);
    page.press("Shift+Enter");
    page.wait_for("/01 00 ff fe 27 5c/i.test(eyes.first('.viewer-body')?.innerText)");
    page.press("Ctrl+0");
    page.wait_for("eyes.first('.viewer-body')?.innerText.startsWith('NULL')");
    page.press("Ctrl+z");
    page.wait_for("/01 00 ff fe 27 5c/i.test(eyes.first('.viewer-body')?.innerText)");
    page.press("Escape");
    // One line that becomes two on the way.
    client.click_cell(1, 1);
    page.type_text("up");
    page.press("Alt+Enter");
    page.wait_for("eyes.first('.value-area')?.value === 'up\\n'");
    page.type_text("down");
    page.press("Ctrl+Enter");
    page.wait_for("!document.querySelector('dialog[open]')");
    review(&client);
    page.screenshot("edit-review-long");
    apply(&client);
    assert_eq!(
        server(
            "SELECT CONCAT_WS(' ', HEX(words), JSON_EXTRACT(doc, '$.c'), HEX(raw), HEX(few)) FROM edit_long.long_values ORDER BY id"
        ),
        "66697273740D0A7365636F6E640D0A7468697264 12345678901234567890 00FF10 DEADBEEF\n75700A646F776E 0100FFFE275C"
    );
    assert_eq!(client.cells()[1][3], "0x0100FFFE275C6 B");
    // And out again.
    open(1, 3);
    page.click("dialog text=Save to a file");
    let download = page.wait_for_download(0);
    assert_eq!(
        std::fs::read(&download.path).expect("the file"),
        [1, 0, 255, 254, 39, 92]
    );
}

#[test]
fn an_engine_without_rollback_says_so_and_keeps_what_was_not_made() {
    let setup = "CREATE TABLE plain (id INT PRIMARY KEY, u INT UNIQUE) ENGINE=MyISAM; INSERT INTO plain VALUES (1, 1), (2, 2), (3, 3);";
    let client = on_data("edit_myisam", setup, "plain");
    let page = &client.page;
    page.expect_error("400");
    type_into(&client, 0, 1, "10", "Enter");
    type_into(&client, 1, 1, "3", "Enter");
    type_into(&client, 2, 1, "30", "Enter");
    review(&client);
    assert!(
        client.text("dialog").contains("cannot roll back"),
        "{}",
        client.text("dialog")
    );
    page.assert_accessible("a review without a transaction");
    page.click("dialog text=Apply");
    page.wait_for("eyes.first('.data-error')?.innerText.includes('changes made before it: 1')");
    until_loaded(&client);
    assert_eq!(pending(&client), "2 changes");
    assert_eq!(client.column(1), ["10", "3", "30"]);
    assert_eq!(
        server("SELECT u FROM edit_myisam.plain ORDER BY id"),
        "10\n2\n3"
    );
}

#[test]
fn a_narrow_window_edits_by_touch() {
    let client = Client::open("edit_narrow", ITEMS);
    let page = &client.page;
    page.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true}),
    );
    client.settle();
    page.eval("document.querySelector('#drawer').click()");
    client.show_tables();
    open_data(&client, "items");
    page.eval("document.querySelector('.grid').scrollLeft = 40");
    client.settle();
    page.double_click(".grid-row[aria-rowindex=\"2\"] .grid-cell[aria-colindex=\"3\"]");
    page.wait_for("eyes.first('.cell-input')");
    page.type_text("thumb");
    page.press("Enter");
    assert_eq!(client.cells()[0][1], "thumb");
    assert_eq!(
        page.eval("document.documentElement.scrollWidth"),
        json!(360)
    );
    let small = page.eval("eyes.all('.edit-bar button').filter((b) => b.offsetHeight < 40).length");
    assert_eq!(small, json!(0));
    page.assert_accessible("editing at 360 px");
    page.screenshot("edit-360");
    page.click(".edit-bar text=Review SQL …");
    page.wait_for("eyes.first('.review-list code')");
    page.screenshot("edit-360-review");
    page.assert_accessible("the review at 360 px");
    apply(&client);
}

#[test]
fn a_row_that_another_transaction_holds_can_be_waited_for_or_cancelled() {
    let client = on_data("edit_locked", ITEMS, "items");
    let page = &client.page;
    page.expect_error("400");
    page.expect_error("409");
    client.run_script("BEGIN; UPDATE items SET price = 77 WHERE id = 1");
    page.click(".results-tab text=items data");
    type_into(&client, 0, 1, "waits", "Enter");
    review(&client);
    let told = client.text("dialog");
    assert!(
        told.contains("This tab (query 1) has an open transaction"),
        "{told}"
    );
    page.click("dialog text=Apply");
    page.wait_for("eyes.first('.edit-state')?.innerText.includes('Applying')");
    page.click(".edit-bar text=Cancel");
    page.wait_for("eyes.first('.data-error')");
    assert_eq!(pending(&client), "1 change");
    assert_eq!(
        server("SELECT name FROM edit_locked.items WHERE id = 1"),
        "one"
    );
    page.click("text=Commit");
    page.wait_for("!eyes.first('.transaction')");
    page.click(".results-tab text=items data");
    review(&client);
    page.click("dialog text=Apply");
    page.wait_for("eyes.first('.conflict')?.innerText.includes('77.00')");
    page.click("dialog text=Keep mine");
    page.wait_for("eyes.first('.review-list code')");
    apply(&client);
    assert_eq!(
        server("SELECT CONCAT_WS(' ', name, price) FROM edit_locked.items WHERE id = 1"),
        "waits 77.00"
    );
}

#[test]
fn an_empty_table_gets_its_first_row_by_keyboard() {
    let client = on_data(
        "edit_empty",
        "CREATE TABLE bare (id INT PRIMARY KEY, word VARCHAR(9) DEFAULT 'hm')",
        "bare",
    );
    let page = &client.page;
    page.eval("[...document.querySelectorAll('.edit-bar button')].find((b) => b.innerText.includes('New row')).focus()");
    page.press("Enter");
    client.settle();
    page.type_text("7");
    page.press("Tab");
    assert_eq!(client.cells(), [["7", "DEFAULT"]]);
    // Tab goes round to the next row, where there is one.
    page.press("Ctrl+s");
    page.wait_for("eyes.first('.review-list code')");
    page.press("Enter");
    page.wait_for_text("1 change applied");
    until_loaded(&client);
    assert_eq!(client.cells(), [["7", "hm"]]);
    // From the middle of a word as well.
    client.click_cell(0, 1);
    page.type_text("well");
    page.press("Ctrl+s");
    page.wait_for("eyes.first('.review-list code')?.textContent.includes('well')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog[open]')");
    client.click_cell(0, 1);
    page.press("Enter");
    page.wait_for("eyes.first('.cell-input')");
    page.press("Ctrl+0");
    client.settle();
    assert_eq!(client.cells(), [["7", "NULL"]]);
}
