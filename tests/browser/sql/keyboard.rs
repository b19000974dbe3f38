//! Everything by keyboard: order, overview, dialogs, the grid.

use crate::sql::client::{Client, row};

const TABLES: &str = "CREATE TABLE a (id INT PRIMARY KEY, v INT); INSERT INTO a VALUES (1, 2), (3, 4); CREATE TABLE b (id INT)";

#[test]
fn tab_visits_everything_in_order_with_a_visible_focus() {
    let client = Client::open("keyboard_order", TABLES);
    client.show_tables();
    client.run("SELECT * FROM a");
    client.page.eval("document.querySelector('.skip').focus()");
    let stops = leave_editor_and_walk(&client);
    let place = |part: &str| {
        let at = stops.iter().position(|stop| stop.contains(part));
        at.unwrap_or_else(|| panic!("no stop at {part}: {stops:#?}"))
    };
    let order = [
        "#drawer",
        "#theme",
        "#help",
        "button \"Databases\"",
        "#filter",
        "#split-sidebar",
        "#db",
        "#run",
        "#explain",
        "#more",
        "textarea",
        "#split-editor",
        "-result-1 \"a 2\"",
        "Pin",
        "Find",
    ];
    let places: Vec<usize> = order.iter().map(|part| place(part)).collect();
    assert!(places.is_sorted(), "{places:?} in {stops:#?}");
    let hidden: Vec<_> = stops
        .iter()
        .filter(|s| s.contains("no visible focus") && !s.contains("textarea"))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    assert!(stops.len() < 40, "{stops:#?}");
}

/// Tab stays in the editor as two spaces; Escape before it leaves.
fn leave_editor_and_walk(client: &Client) -> Vec<String> {
    let mut stops = client.page.tab_stops(60);
    let editor = stops.iter().position(|stop| stop.starts_with("textarea"));
    stops.truncate(editor.expect("the editor is reached") + 1);
    client.page.press("Escape");
    client.page.press("Escape");
    stops.extend(client.page.tab_stops(30));
    stops
}

#[test]
fn the_overview_lists_the_keys_and_dialogs_give_the_focus_back() {
    let client = Client::open("keyboard_help", TABLES);
    let page = &client.page;
    page.click("textarea.editor-area");
    page.type_text("?");
    assert_eq!(client.editor(), "?", "in the editor it is a character");
    page.eval("document.querySelector('#more').focus()");
    page.press("?");
    page.wait_for("document.querySelector('dialog h2')?.innerText === 'Keyboard'");
    let overview = client.text("dialog");
    for part in [
        "Run the whole script",
        "Two spaces",
        "F3",
        "Select all",
        "Resize the column",
        "Delete",
        "Alt",
        "Copy the selection",
        "Structure of a table",
        "Filter the columns",
    ] {
        assert!(overview.contains(part), "no {part} in {overview}");
    }
    // The focus is trapped.
    for _ in 0..4 {
        page.press("Tab");
        assert_eq!(page.eval("document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"), true);
    }
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(page.eval("document.activeElement.id"), "more");
    page.press("Enter");
    page.wait_for("document.querySelector('.menu [role=menuitem]') === document.activeElement");
    page.press("Escape");
    assert_eq!(page.eval("document.activeElement.id"), "more");
    page.eval("document.querySelector('#help').focus()");
    page.press("Enter");
    page.wait_for("document.querySelector('dialog')");
    page.press("Escape");
    page.wait_for("document.activeElement.id === 'help'");
}

#[test]
fn a_query_can_be_made_without_a_mouse() {
    let client = Client::open("keyboard_walk", TABLES);
    let page = &client.page;
    // The sidebar: filter the databases, open one, open a table's schema, select from it.
    client.show_tables();
    page.eval("eyes.first('.row-main').focus()");
    page.press("Backspace");
    page.wait_for("eyes.first('#sidebar-title').innerText === 'Databases'");
    page.eval("document.activeElement.blur()");
    page.press("/");
    page.type_text("keyboard_walk");
    page.wait_for("eyes.all('.row-name').length === 1");
    page.press("Enter");
    page.wait_for("eyes.all('.sidebar-db').length === 1 && eyes.all('.row-name').length === 2");
    page.press("ArrowDown");
    page.wait_for("document.activeElement.dataset.name === 'a'");
    page.press("Enter");
    page.wait_for("eyes.first('.schema')");
    page.eval("document.querySelector('.row-main[data-name=a]').focus()");
    client.until_ended(|| page.press("Shift+Enter"));
    // The grid: move, sort by the header, select, leave.
    client.press_function_key(6, false);
    page.wait_for("document.activeElement.closest('.tab-results, .tab-editor') !== null");
    page.eval("eyes.first('.grid [tabindex=\"0\"]').focus()");
    page.press("Ctrl+Home");
    page.wait_for("document.activeElement.textContent === '1'");
    page.press("ArrowRight");
    page.press("ArrowDown");
    assert_eq!(page.eval("document.activeElement.textContent"), "4");
    page.press("Ctrl+a");
    assert_eq!(page.eval("eyes.all('.grid-cell.selected').length"), 4);
    page.press("Ctrl+Home");
    page.press("Shift+Space");
    assert_eq!(page.eval("eyes.all('.grid-cell.selected').length"), 2);
    page.press("Ctrl+Home");
    page.press("ArrowUp");
    assert_eq!(
        page.eval("document.activeElement.getAttribute('role')"),
        "columnheader"
    );
    page.press("Enter");
    page.press("Enter");
    page.wait_for("eyes.header('id').ariaSort === 'descending'");
    assert_eq!(client.column(0), ["3", "1"]);
    let width = || page.eval("eyes.header('id').offsetWidth").as_f64().unwrap();
    let before = width();
    page.press("Alt+ArrowRight");
    client.settle();
    assert!(width() > before);
    // Closable tabs of the results close with Delete.
    page.eval("document.querySelector('.results-tab [role=tab][id*=\"schema:\"]').focus()");
    page.press("Delete");
    page.wait_for("!document.querySelector('.results-tab [id*=\"schema:\"]')");
}

/// Short description of the focused element.
fn focused(client: &Client) -> String {
    let what = client.page.eval(
        "(() => { const { className, id } = document.activeElement; return `${id} ${className}`; })()",
    );
    what.as_str().expect("a text").to_owned()
}

#[test]
fn the_focus_goes_on_from_what_goes_out_of_sight() {
    let client = Client::open("keyboard_focus", TABLES);
    let page = &client.page;
    client.show_tables();
    client.run("SELECT 1 UNION SELECT 2");
    page.click(&row("a"));
    page.wait_for("eyes.first('.schema-head')");
    page.eval("[...document.querySelectorAll('.schema-head button')].find((b) => b.textContent === 'Data').focus()");
    page.press("Enter");
    page.wait_for("document.activeElement.matches('.data .grid-cell')");
    assert!(
        client
            .text(".results-status")
            .contains("last statement: 2 rows"),
        "the rows of the statement are not those of the table"
    );
    page.press("Alt+ArrowDown");
    page.wait_for("eyes.first('.filter-fields')");
    page.press("Escape");
    page.wait_for("document.activeElement.matches('.data .grid-cell')");
    page.eval("document.querySelector('textarea').focus()");
    client.press_function_key(6, false);
    assert!(
        focused(&client).contains("grid-cell"),
        "{}",
        focused(&client)
    );
    page.eval("location.hash = 'server=status'");
    page.wait_for("document.activeElement.matches('#server a')");
    page.press("Escape");
    assert!(
        focused(&client).contains("editor-area"),
        "{}",
        focused(&client)
    );
    // Another table's data: the list marks what is shown.
    page.eval(
        "[...document.querySelectorAll('.row-data')].find((b) => b.dataset.rows === 'b').click()",
    );
    page.wait_for("eyes.first('.row-main[aria-current]')?.dataset.name === 'b'");
}

#[test]
fn tab_pressed_again_and_again_tells_how_to_leave_the_editor() {
    let client = Client::open("keyboard_stuck", TABLES);
    let page = &client.page;
    page.click("textarea.editor-area");
    page.press("Tab");
    assert!(!client.text("#progress-text").contains("Esc"));
    page.press("Tab");
    assert!(client.text("#progress-text").contains("Esc, then Tab"));
    page.type_text("s");
    assert!(!client.text("#progress-text").contains("Esc"));
}

#[test]
fn a_tab_that_is_opened_again_has_a_name_of_its_own() {
    let client = Client::open("keyboard_reopen", TABLES);
    let page = &client.page;
    client.write("SELECT 1");
    page.press("Alt+w");
    page.wait_for("eyes.editor() === ''");
    page.press("Alt+z");
    page.wait_for("eyes.editor() === 'SELECT 1'");
    let names = page
        .eval("[...document.querySelectorAll('.query-tab-name')].map((e) => e.textContent).join()");
    assert_eq!(names.as_str(), Some("query 1"));
}

#[test]
fn a_cancelled_statement_has_not_found_nothing() {
    let client = Client::open("keyboard_cancelled", TABLES);
    let page = &client.page;
    client.write("SELECT SLEEP(30) FROM a");
    page.press("Ctrl+Enter");
    page.wait_for("!document.querySelector('#cancel').hidden");
    page.expect_error("/api/query");
    client.until_ended(|| page.click("#cancel"));
    assert!(!client.text(".results").contains("No rows returned"));
}

/// A modal dialog takes the selection of a field in Chromium: Ctrl+Enter would run another statement.
#[test]
fn the_cursor_is_where_it_was_after_every_dialog() {
    let client = Client::open("keyboard_cursor", "CREATE TABLE t (id INT)");
    let page = &client.page;
    client.write("INSERT INTO t VALUES (1);\n\nSELECT :x AS second;\n\nDELETE FROM t;");
    let cursor = || page.eval("document.activeElement.selectionStart").as_u64();
    let go_to = |at: u64| {
        page.eval(&format!("(() => {{ const area = document.querySelector('textarea'); area.focus(); area.setSelectionRange({at}, {at}); }})()"));
    };
    let gone = || {
        page.wait_for(
            "!document.querySelector('dialog') && document.activeElement.matches('.editor-area')",
        )
    };
    go_to(30);
    page.press("Control+k");
    page.wait_for("eyes.first('dialog[open]')");
    page.press("Escape");
    gone();
    assert_eq!(cursor(), Some(30), "search");
    page.press("Control+Enter");
    page.wait_for("eyes.first('dialog textarea')");
    page.fill("dialog textarea", "5");
    page.press("Enter");
    gone();
    assert_eq!(cursor(), Some(30), "parameters");
    client.settle();
    go_to(55);
    page.press("Control+Enter");
    page.wait_for("eyes.first('dialog[open]')");
    page.click("dialog .button.danger");
    gone();
    assert_eq!(cursor(), Some(55), "confirmation");
}
