//! Accessibility in every state of the page: light and dark, on a wide and a narrow screen, and enlarged.

use serde_json::json;

use crate::sql::client::{Client, row};

const SHOP: &str = "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), vip BOOL, note TEXT); \
    INSERT INTO customers SELECT seq, CONCAT('Customer ', seq), seq % 2, IF(seq % 3, NULL, 'a note') FROM seq_1_to_300; \
    CREATE TABLE orders (id INT PRIMARY KEY, customer INT, total DECIMAL(12,2), FOREIGN KEY (customer) REFERENCES customers (id)); \
    INSERT INTO orders SELECT seq, seq, seq * 1.75 FROM seq_1_to_60";

/// A state, and how it is reached from the one before.
type State = (&'static str, fn(&Client));

/// Each state in turn. What a window of another size closes comes last of its kind.
const STATES: [State; 18] = [
    ("empty", |_| {}),
    ("result", |client| client.run("SELECT * FROM customers")),
    ("find", |client| {
        client.press_function_key(3, false);
        client.page.wait_for("eyes.first('.find')");
    }),
    ("viewer", |client| {
        client.page.press("Escape");
        client.click_cell(2, 3);
        client.page.press("Enter");
        client.page.wait_for("eyes.first('.viewer')");
    }),
    ("chart", |client| {
        client.page.press("Escape");
        client.page.click(".results-tab text=Chart");
        client.page.wait_for("eyes.first('.chart-plot svg')");
    }),
    ("plan", |client| {
        client.write("SELECT * FROM customers WHERE note = 'x'");
        client.until_ended(|| client.page.click("#explain"));
        client.page.wait_for("eyes.first('.plan-tree')");
    }),
    ("messages", |client| {
        client.run("SELECT CAST('abc' AS UNSIGNED) AS n");
        client.page.click(".results-tab text=Messages");
    }),
    ("error", |client| {
        client.page.expect_error("400");
        client.run_script("SELECT 1; SELECT nonsense");
    }),
    ("transaction", |client| {
        client.run("BEGIN");
        client.run("UPDATE customers SET note = 'y' WHERE id = 1");
        client.page.wait_for("eyes.first('.transaction')");
    }),
    ("find and replace", |client| {
        client.run("ROLLBACK");
        client.page.click("textarea.editor-area");
        client.page.press("Ctrl+h");
        client.page.wait_for("eyes.first('.editor-find')");
    }),
    ("schema", |client| {
        client.page.press("Escape");
        open_from_list(client, ".row-main[data-name=orders]");
        client.page.wait_for("eyes.first('.schema table')");
    }),
    ("data", |client| {
        open_from_list(client, ".row-data[data-rows=orders]");
        client
            .page
            .wait_for("eyes.first('.data-table') && !eyes.first('.data[aria-busy]')");
    }),
    ("filtered data", |client| {
        client.page.click(".data-condition input");
        client.page.type_text("total > 10");
        client.page.press("Enter");
        client
            .page
            .wait_for("eyes.first('.data-figures')?.innerText.startsWith('55')");
    }),
    ("row form", |client| {
        client.page.click("[data-tool=cards]");
        client.page.wait_for("eyes.first('.row-form .form-line')");
    }),
    ("history", |client| {
        client.press_function_key(4, false);
        client.page.wait_for("document.querySelector('dialog')");
    }),
    ("saved queries", |client| {
        client.page.press("Escape");
        client.page.press("Alt+s");
        client.page.wait_for("document.querySelector('dialog')");
    }),
    ("settings", |client| {
        client.page.press("Escape");
        client.page.click("#more");
        client.page.click(".menu text=Settings …");
        client.page.wait_for("document.querySelector('dialog')");
    }),
    ("the question before data is lost", |client| {
        client.page.press("Escape");
        client.write("DELETE FROM orders");
        client.page.press("Ctrl+Enter");
        client.page.wait_for("document.querySelector('dialog')");
    }),
];

/// Presses an entry of the sidebar, which may be a drawer.
fn open_from_list(client: &Client, selector: &str) {
    let page = &client.page;
    if page.eval("eyes.first('#sidebar') === null") == true {
        page.click("#drawer");
        page.wait_for("eyes.first('#sidebar')");
    }
    page.eval(&format!(
        "document.querySelector({}).click()",
        json!(selector)
    ));
}

/// Walks through all states of a page that looks so.
fn walk(db: &'static str, dark: bool, (width, height, scale): (u32, u32, u32)) {
    let client = Client::open(db, SHOP);
    client.show_tables();
    let page = &client.page;
    page.prefer(dark, true);
    page.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": false}),
    );
    page.wait_for(&format!("innerWidth === {width}"));
    client.settle();
    let mut faults = Vec::new();
    for (name, reach) in STATES {
        reach(&client);
        client.settle();
        page.screenshot(&format!("{db}-{}", name.replace(' ', "-")));
        faults.extend(
            page.a11y()
                .iter()
                .map(|fault| format!("{name} at {width}: {fault}")),
        );
        let wide = page.eval("document.documentElement.scrollWidth - innerWidth");
        if wide.as_i64().unwrap() > 0 {
            faults.push(format!("{name} at {width}: scrolls sideways by {wide}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_state_is_accessible_in_light() {
    walk("states_light", false, (1280, 800, 1));
}

#[test]
fn every_state_is_accessible_in_the_dark() {
    walk("states_dark", true, (1024, 768, 1));
}

#[test]
fn every_state_is_accessible_on_a_phone() {
    walk("states_phone", true, (360, 740, 1));
}

/// As a window of 1440 pixels is that is enlarged to 200 %.
#[test]
fn every_state_is_accessible_at_twice_the_size() {
    walk("states_large", false, (720, 450, 2));
}

#[test]
fn menus_lists_and_the_sidebar_are_accessible() {
    let client = Client::open("states_menus", SHOP);
    let page = &client.page;
    page.assert_accessible("databases");
    client.show_tables();
    page.assert_accessible("tables");
    page.click("#more");
    page.wait_for("eyes.first('.menu')");
    page.assert_accessible("menu");
    page.press("Escape");
    client.run("SELECT * FROM customers");
    client.click_cell(0, 1);
    page.press("Shift+F10");
    page.wait_for("eyes.first('.menu')");
    page.assert_accessible("menu of a cell");
    page.press("Escape");
    page.click("[data-tool=copy]");
    page.wait_for("eyes.first('.panel')");
    page.assert_accessible("copy");
    page.press("Escape");
    client.write("");
    page.type_text("SELECT * FROM cus");
    page.wait_for("eyes.first('.completion')");
    page.assert_accessible("completion");
    page.press("Escape");
    page.click(&row("customers"));
    page.wait_for("eyes.first('.schema table')");
    page.press("Alt+w");
    page.assert_accessible("a closed tab");
}

#[test]
fn pages_of_the_server_and_dialogs_of_objects_are_accessible() {
    let client = Client::open("states_server", SHOP);
    let page = &client.page;
    client.show_tables();
    page.click("[aria-label^='Dump ']");
    page.wait_for("document.querySelector('dialog .dump-found p')");
    page.assert_accessible("dump");
    page.press("Escape");
    for name in ["processes", "status", "variables", "accounts", "sizes"] {
        page.eval(&format!("location.hash = 'server={name}'"));
        page.wait_for(&format!(
            "eyes.first('.server-head a[aria-current]')?.dataset.page === '{name}' && (eyes.first('.server-table tbody tr') || eyes.first('.server-note'))"
        ));
        client.settle();
        page.assert_accessible(name);
    }
}

#[test]
fn nothing_moves_for_those_who_want_less_motion() {
    let client = Client::open("states_motion", "");
    let page = &client.page;
    page.prefer(false, true);
    client.write("SELECT SLEEP(1)");
    page.press("Ctrl+Enter");
    page.wait_for("eyes.first('.results-busy')");
    let moving = "document.getAnimations().filter((a) => a.playState === 'running' && (a.effect.getComputedTiming().activeDuration ?? 0) > 1 && a.effect.getComputedTiming().duration > 1).map((a) => a.animationName ?? a.transitionProperty)";
    assert_eq!(page.eval(moving), json!([]));
    page.wait_for("eyes.first('#progress-text').textContent === 'Done'");
}
