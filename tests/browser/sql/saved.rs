//! Saved queries and the parameters of statements.

use serde_json::json;

use crate::sql::client::Client;
use crate::sql::looks::look;

#[test]
fn a_query_is_saved_in_a_folder_and_found_again() {
    let client = Client::open("saved_queries", "");
    let page = &client.page;
    client.write("SELECT 'needle' AS x");
    page.click("#more");
    page.click("text=Save query …");
    page.wait_for("document.querySelector('dialog #saved-name')");
    page.fill("#saved-name", "The needle");
    page.fill("#saved-folder", "Reports");
    page.press("Enter");
    page.wait_for("!document.querySelector('dialog')");
    page.reload();
    client.wait_until_ready();
    page.press("Alt+s");
    page.wait_for("eyes.first('.saved-list h3')?.innerText === 'Reports'");
    page.assert_accessible("the saved queries");
    page.type_text("needl");
    page.press("Enter");
    page.wait_for("!document.querySelector('dialog')");
    // The editor's text is kept: the query opens in a tab of its own, and does not run.
    assert_eq!(page.texts(".query-tab-name"), ["query 1", "The needle"]);
    assert_eq!(client.editor(), "SELECT 'needle' AS x");
    assert_eq!(client.sent(), 0);
    page.press("Alt+s");
    page.click("[aria-label='Delete The needle']");
    page.click("dialog .danger");
    page.wait_for("!eyes.first('.saved-entry')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
}

#[test]
fn parameters_are_asked_for_and_remembered() {
    let client = Client::open("saved_parameters", "");
    let page = &client.page;
    client.write(
        "SELECT :name AS a, 10 + :n AS b, 2 IN (:list) AS c, ':name 12:30' AS d, :none AS e",
    );
    page.press("Ctrl+Enter");
    page.wait_for("eyes.all('dialog .parameter').length === 4");
    page.assert_accessible("the parameters");
    assert_eq!(
        page.texts(".parameter label"),
        [":name", ":n", ":list", ":none"]
    );
    page.fill("#parameter-name", "it's \\ :n");
    choose(&client, "n", "number");
    page.fill("#parameter-n", "1 OR 1");
    choose(&client, "list", "list");
    page.fill("#parameter-list", "1, 2");
    choose(&client, "none", "null");
    page.click("dialog .primary");
    page.wait_for("eyes.first('#parameter-n-wrong').innerText === 'not a number'");
    assert_eq!(client.sent(), 0);
    page.fill("#parameter-n", "-3");
    client.until_ended(|| page.click("dialog .primary"));
    assert_eq!(
        client.cells(),
        [["it's \\ :n", "7", "1", ":name 12:30", "NULL"]]
    );
    // The text stays as it was written, and the values are offered again.
    assert!(client.editor().starts_with("SELECT :name AS a"));
    page.press("Ctrl+Enter");
    page.wait_for("eyes.first('#parameter-n')?.value === '-3'");
    look(&client, "parameters");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(client.sent(), 1);
}

#[test]
fn enter_runs_with_the_parameters_and_a_press_beside_them_loses_none() {
    let client = Client::open("saved_enter", "");
    let page = &client.page;
    client.write("SELECT :a AS a, :b AS b");
    page.press("Ctrl+Enter");
    page.wait_for("eyes.all('dialog .parameter').length === 2");
    page.type_text("5");
    page.press("Enter");
    page.wait_for("document.activeElement.id === 'parameter-b'");
    page.type_text("x");
    page.press("Shift+Enter");
    page.type_text("y");
    // A click next to the dialog does not discard entered values.
    page.eval("for (const type of ['pointerdown', 'click']) document.querySelector('dialog').dispatchEvent(new PointerEvent(type, {bubbles: true}))");
    client.settle();
    assert_eq!(page.eval("eyes.first('#parameter-a')?.value"), "5");
    client.until_ended(|| page.press("Enter"));
    assert_eq!(client.cells(), [["5", "x⏎y"]]);
    // As long as nothing was entered, it closes.
    page.press("Ctrl+Enter");
    page.wait_for("eyes.first('#parameter-a')?.value === '5'");
    page.eval("for (const type of ['pointerdown', 'click']) document.querySelector('dialog').dispatchEvent(new PointerEvent(type, {bubbles: true}))");
    page.wait_for("!document.querySelector('dialog')");
    // Tab goes from value to value, then to the types, where a digit belongs to the value.
    page.press("Ctrl+Enter");
    page.wait_for("document.activeElement.id === 'parameter-a'");
    page.press("Tab");
    page.wait_for("document.activeElement.id === 'parameter-b'");
    page.press("Shift+Tab");
    page.wait_for("document.activeElement.id === 'parameter-a'");
    page.press("Tab");
    page.press("Tab");
    page.wait_for("document.activeElement.ariaLabel === 'Type of a'");
    page.type_text("76");
    page.wait_for("eyes.first('#parameter-a').value === '576'");
    client.until_ended(|| page.press("Ctrl+Enter"));
    assert_eq!(client.cells(), [["576", "x⏎y"]]);
}

fn choose(client: &Client, name: &str, kind: &str) {
    client.page.eval(&format!(
        "(() => {{ const type = eyes.first({}); type.value = {}; type.dispatchEvent(new Event('change')); }})()",
        json!(format!("[aria-label='Type of {name}']")),
        json!(kind)
    ));
}
