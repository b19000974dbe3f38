//! The editor: what runs, what its keys do, what it says of errors, what it keeps.

use serde_json::json;

use crate::sql::client::{Client, make_database};
use support::{Browser, Database, Postern};

const PEOPLE: &str =
    "CREATE TABLE people (id INT, full_name VARCHAR(40)); INSERT INTO people VALUES (1, 'Ann')";

#[test]
fn ctrl_enter_runs_the_statement_at_the_cursor_or_the_selection() {
    let client = Client::open("editor_run", "");
    let page = &client.page;
    client.write("SELECT 1 AS one;\nSELECT 2 AS two;\nSELECT 3 AS three");
    page.press("Ctrl+Home");
    client.until_ended(|| page.press("Ctrl+Enter"));
    assert_eq!(client.headers(), ["one"]);
    page.press("ArrowDown");
    client.until_ended(|| page.press("Cmd+Enter"));
    assert_eq!(client.headers(), ["two"]);
    page.press("Ctrl+End");
    client.until_ended(|| page.click("#run"));
    assert_eq!(client.headers(), ["three"]);
    client.write("SELECT 1 AS one; SELECT 40 + 2 AS two");
    page.press("Ctrl+Home");
    for _ in 0.."SELECT 1 AS one;".len() {
        page.press("Shift+ArrowRight");
    }
    client.until_ended(|| page.press("Ctrl+Enter"));
    assert_eq!(client.headers(), ["one"]);
    assert_eq!(client.sent(), 4);
}

#[test]
fn tab_inserts_two_spaces_and_escape_lets_it_leave() {
    let client = Client::open("editor_tab", "");
    let page = &client.page;
    page.click("textarea.editor-area");
    // A digit: after a letter the list of completions may open, and Tab would take from it.
    page.type_text("1");
    page.press("Tab");
    page.type_text("b");
    assert_eq!(client.editor(), "1  b");
    page.press("Ctrl+z");
    page.press("Ctrl+z");
    assert_ne!(client.editor(), "1  b");
    page.press("Escape");
    page.press("Escape");
    page.press("Tab");
    assert_eq!(
        page.eval("document.activeElement.matches('textarea.editor-area')"),
        false
    );
}

#[test]
fn running_a_statement_closes_the_completions() {
    let client = Client::open("editor_too_late", PEOPLE);
    let page = &client.page;
    page.expect_error("400");
    page.click("textarea.editor-area");
    page.type_text("SELECT CONCA");
    page.wait_for("eyes.first('.completion')");
    client.until_ended(|| page.press("Ctrl+Enter"));
    assert_eq!(page.eval("eyes.first('.completion')"), json!(null));
    assert_eq!(client.editor(), "SELECT CONCA");
}

#[test]
fn an_error_stands_by_the_editor_with_its_place_marked() {
    let client = Client::open("editor_error", PEOPLE);
    let page = &client.page;
    page.expect_error("400");
    client.run("SELECT *\nFROM people\nWHERE no_such = 1");
    assert!(
        client
            .text(".editor-message")
            .contains("Unknown column 'no_such'")
    );
    assert!(client.text(".editor-message").contains("line 3, column 7"));
    page.wait_for("eyes.first('.mark-error')?.innerText === 'no_such'");
    page.wait_for("eyes.first('.editor-numbers .wrong')?.innerText === '3'");
    // It is told once, and what was shown before stays.
    assert!(
        client
            .text(".editor-message")
            .contains("(error 1054, SQLSTATE 42S22)")
    );
    assert_eq!(page.eval("eyes.first('.error-panel')"), json!(null));
    client.run("SELECT 1;\nSELECT 2 FORM people WHERE 1");
    page.wait_for("eyes.first('.mark-error')?.innerText === 'people'");
    assert!(client.text(".editor-message").contains("line 2, column 15"));
    // Typed text is kept, and the marks disappear with the next edit.
    page.click("textarea.editor-area");
    page.press("Ctrl+End");
    page.type_text(" ");
    page.wait_for("!eyes.first('.mark-error') && !eyes.first('.editor-message')");
    assert_eq!(client.editor(), "SELECT 1;\nSELECT 2 FORM people WHERE 1 ");
}

#[test]
fn tabs_and_their_texts_survive_a_reload() {
    let client = Client::open("editor_tabs", PEOPLE);
    let page = &client.page;
    client.write("SELECT 'first'");
    page.click("#new-tab");
    client.write("SELECT 'second'");
    client.press_function_key(2, false);
    page.wait_for("document.querySelector('dialog input')");
    page.fill("dialog input", "report");
    page.press("Enter");
    page.wait_for("!document.querySelector('dialog')");
    client.show_tables();
    page.reload();
    client.wait_until_ready();
    assert_eq!(page.texts(".query-tab-name"), ["query 1", "report"]);
    assert_eq!(client.editor(), "SELECT 'second'");
    page.wait_for("eyes.first('.sidebar-db')?.innerText === 'editor_tabs'");
    assert_eq!(
        page.eval("document.querySelector('#db').value"),
        "editor_tabs"
    );
    page.click(".query-tab text=query 1");
    assert_eq!(client.editor(), "SELECT 'first'");
    assert_eq!(client.sent(), 0);
    // Closing and opening again.
    page.click("[aria-label='Close query 1']");
    page.wait_for("eyes.all('.query-tab').length === 1");
    page.press("Alt+z");
    page.wait_for("eyes.all('.query-tab').length === 2");
    assert_eq!(client.editor(), "SELECT 'first'");
}

#[test]
fn a_deep_link_fills_in_and_never_runs() {
    make_database("editor_link", PEOPLE);
    let postern = Postern::on(Database::shared(), &[]);
    let link = "#db=editor_link&sql=DELETE%20FROM%20people";
    let client = Client::of(Browser::shared(), postern, "editor_link", link);
    let page = &client.page;
    assert_eq!(client.editor(), "DELETE FROM people");
    assert_eq!(
        page.eval("document.querySelector('#db').value"),
        "editor_link"
    );
    assert_eq!(page.eval("location.hash"), "");
    // A link with a database alone fills nothing in, and does not say so.
    page.eval(
        "globalThis.said = []; new MutationObserver((all) => said.push(...all.flatMap(({ addedNodes }) => [...addedNodes].map((node) => node.textContent)))).observe(document.body, { childList: true, subtree: true }); location.hash = '#db=editor_link'",
    );
    page.wait_for("location.hash === ''");
    assert_eq!(
        page.eval("said.filter((text) => text.includes('filled in')).length"),
        0
    );
    // Also one that is followed while the page is open; what is there stays.
    page.eval("location.hash = '#db=editor_link&sql=DROP%20TABLE%20people'");
    page.wait_for("eyes.editor() === 'DROP TABLE people'");
    page.wait_for("said.some((text) => text.includes('filled in'))");
    assert_eq!(page.texts(".query-tab-name"), ["query 1", "query 2"]);
    page.reload();
    client.wait_until_ready();
    assert_eq!(client.sent(), 0);
    let rows = Database::shared().value("SELECT COUNT(*) FROM editor_link.people");
    assert_eq!(rows, "1");
}

#[test]
fn the_history_is_searched_and_fills_in() {
    let client = Client::open("editor_history", PEOPLE);
    let page = &client.page;
    page.expect_error("400");
    client.run("SELECT 'needle' AS x");
    client.run("SELECT 'hay' AS x");
    client.run("SELECT broken");
    page.click("#new-tab");
    client.press_function_key(4, false);
    page.wait_for("eyes.all('.history-entry').length === 3");
    let entries = page.texts(".history-entry");
    assert!(
        entries[0].contains("SELECT broken") && entries[0].contains("failed: Unknown column"),
        "{entries:?}"
    );
    assert!(
        entries[2].contains("needle") && entries[2].contains("1 row"),
        "{entries:?}"
    );
    page.type_text("needl");
    page.wait_for("eyes.all('.history-entry').length === 1");
    let sent = client.sent();
    page.press("Enter");
    page.wait_for("eyes.editor() === \"SELECT 'needle' AS x\"");
    assert_eq!(client.sent(), sent);
    page.reload();
    client.wait_until_ready();
    client.press_function_key(4, false);
    page.wait_for("eyes.all('.history-entry').length === 3");
    // One Escape closes it, whatever is searched for.
    page.type_text("hay");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
}

#[test]
fn selected_text_can_be_read() {
    let client = Client::open("editor_selection", "");
    let page = &client.page;
    client.write("SELECT 1 AS readable");
    let plain = legible_pixels(&client);
    page.press("Ctrl+a");
    let selected = legible_pixels(&client);
    assert!(plain > 100, "{plain}");
    assert!(
        selected * 2 > plain,
        "{selected} of {plain} pixels stand out"
    );
}

/// Number of pixels of the editor's first line that differ clearly from their ground.
fn legible_pixels(client: &Client) -> u64 {
    client.settle();
    let line = client.page.eval("eyes.box('.editor-line')");
    let clip = json!({"x": line["x"], "y": line["y"], "width": 170, "height": 20, "scale": 1});
    let shot = client.page.call(
        "Page.captureScreenshot",
        json!({"format": "png", "clip": clip}),
    );
    let count = client.page.eval(&format!("({LEGIBLE})({})", shot["data"]));
    count.as_u64().unwrap()
}

/// Counts the pixels of a picture that have a contrast of 3 or more to its most frequent colour.
const LEGIBLE: &str = r"async (data) => {
  const image = new Image();
  image.src = `data:image/png;base64,${data}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas.drawImage(image, 0, 0);
  const { data: bytes } = canvas.getImageData(0, 0, image.width, image.height);
  const linear = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (at) => 0.2126 * linear(bytes[at]) + 0.7152 * linear(bytes[at + 1]) + 0.0722 * linear(bytes[at + 2]);
  const counts = new Map();
  const all = Array.from({ length: bytes.length / 4 }, (_, i) => light(4 * i));
  for (const l of all) counts.set(l, (counts.get(l) ?? 0) + 1);
  const ground = [...counts].sort((a, b) => b[1] - a[1])[0][0];
  return all.filter((l) => (Math.max(l, ground) + 0.05) / (Math.min(l, ground) + 0.05) >= 3).length;
}";

/// A stored text has no password in it. Running such a statement would create an account with a wrong password.
#[test]
fn a_statement_whose_password_was_left_out_does_not_run() {
    let client = Client::open("editor_left_out", "");
    let page = &client.page;
    client.write("CREATE USER left_out@localhost IDENTIFIED BY 'a secret'");
    page.reload();
    client.wait_until_ready();
    page.wait_for("eyes.first('textarea.editor-area').value.includes(\"'***'\")");
    page.press("Ctrl+Enter");
    page.wait_for("eyes.first('.editor-message')?.innerText.includes('text has no password')");
    let made = "SELECT COUNT(*) FROM mysql.user WHERE User = 'left_out'";
    assert_eq!(Database::shared().value(made), "0");
}

#[test]
fn an_ordinary_text_about_a_password_is_kept_and_written_as_it_is() {
    const TEXT: &str =
        "ticket 77: customer says password \"hunter2\" fails at https://bob:pw1@host";
    let client = Client::open(
        "editor_kept",
        "CREATE TABLE t (a VARCHAR(200), password VARCHAR(20))",
    );
    let page = &client.page;
    let sql = format!("INSERT INTO editor_kept.t (a, password) VALUES ('{TEXT}', 'x')");
    client.write(&sql);
    page.reload();
    client.wait_until_ready();
    page.wait_for("eyes.first('textarea.editor-area').value !== ''");
    assert_eq!(page.eval("eyes.first('textarea.editor-area').value"), sql);
    page.press("Ctrl+Enter");
    page.wait_for("/^Done/.test(document.querySelector('#progress-text').textContent)");
    assert_eq!(
        Database::shared().value("SELECT a FROM editor_kept.t"),
        TEXT
    );
}
