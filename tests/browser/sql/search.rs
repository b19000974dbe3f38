//! The search over all databases: Ctrl+K, what it finds, and what a choice opens.

use serde_json::{Value, json};
use support::chromium::Page;
use support::{Browser, Database, Postern};

use crate::sql::client::{Client, make_database, see};

const SHOP: &str = "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), loyalty_points INT COMMENT 'collected at the till'); \
    INSERT INTO customers VALUES (1, 'Alice', 7), (2, 'Bob', 9); \
    CREATE TABLE points_history (at DATE, points INT); \
    CREATE VIEW best_points AS SELECT COUNT(*) AS best FROM customers; \
    CREATE FUNCTION points_of(x INT) RETURNS INT DETERMINISTIC RETURN x; \
    CREATE TRIGGER points_check BEFORE INSERT ON customers FOR EACH ROW SET NEW.loyalty_points = 0; \
    CREATE EVENT points_reset ON SCHEDULE EVERY 1 YEAR DISABLE DO SELECT 1";

/// Opens the search with a text, within the test's database, and waits for its matches.
fn search(client: &Client, text: &str) {
    let page = &client.page;
    page.press("Ctrl+k");
    page.wait_for("document.activeElement.matches('.search-field')");
    page.type_text(text);
    settled(page);
}

/// Waits until what is listed belongs to what is in the field.
fn settled(page: &Page) {
    page.wait_for(
        "document.querySelector('.search-status')?.textContent.match(/match/) && !document.querySelector('.search-list[aria-busy]')",
    );
}

fn names(page: &Page) -> Vec<String> {
    page.texts(".search-name")
}

fn selected(page: &Page) -> Value {
    page.eval("document.querySelector('.search-line[aria-selected=true] .search-name')?.textContent ?? null")
}

fn only_here(page: &Page) {
    page.eval("document.querySelector('.search input[type=checkbox]').click()");
    page.wait_for("document.querySelector('.search input[type=checkbox]').checked");
    settled(page);
}

#[test]
fn a_name_or_comment_is_found_and_opened_where_it_is() {
    let client = Client::open("search_open", SHOP);
    let page = &client.page;
    client.show_tables();
    client.write("SELECT 1");
    search(&client, "search_open points");
    // The whole name, then its start, a table first; then the start of a word in it.
    assert_eq!(
        names(page),
        [
            "points",
            "points_history",
            "points_of",
            "points_check",
            "points_reset",
            "best_points",
            "loyalty_points",
        ]
    );
    assert_eq!(client.text(".search-status"), "7 matches");
    assert_eq!(
        page.eval("[...document.querySelectorAll('.search-line:first-child mark')].map((m) => m.textContent)"),
        json!(["points", "search_open", "points"])
    );
    // The arrows lead through the list while the focus stays in the field.
    assert_eq!(selected(page), "points");
    for _ in 0..20 {
        page.press("ArrowDown");
    }
    assert_eq!(selected(page), "loyalty_points");
    assert_eq!(
        page.eval("document.activeElement.getAttribute('aria-activedescendant') === document.querySelector('[aria-selected=true].search-line').id"),
        true
    );
    page.press("Enter");
    page.wait_for("document.activeElement.matches('.schema tr.column-found')");
    assert!(
        client.text(".column-found").contains("loyalty_points"),
        "{}",
        client.text(".column-found")
    );
    assert_eq!(client.editor(), "SELECT 1", "the editor is left alone");
    // The form of the table goes to that column too.
    page.click(".schema-head text=Edit structure");
    page.wait_for("document.activeElement.getAttribute('aria-label') === 'Name of loyalty_points'");
    page.click(".results-tab.active .tab-close, .results-tab:has([aria-selected=true]) .tab-close");
    page.wait_for("!document.querySelector('.structure-form')");

    // The text is there again, to be replaced or used once more.
    page.press("Ctrl+k");
    page.wait_for("document.querySelector('.search-field')?.value === 'search_open points'");
    settled(page);
    assert_eq!(page.eval("getSelection().toString()"), "search_open points");
    page.type_text("search_open points_of");
    page.wait_for("document.querySelectorAll('.search-line').length === 1");
    settled(page);
    page.press("Enter");
    page.wait_for(
        "eyes.first('.results-tab [aria-selected=true]')?.innerText.includes('points_of')",
    );

    // By its comment, with Alt for the data, at the column.
    search(&client, "till");
    only_here(page);
    assert_eq!(names(page), ["loyalty_points"]);
    assert_eq!(client.text(".search-comment"), "collected at the till");
    page.press("Alt+Enter");
    page.wait_for("document.activeElement.matches('.grid-cell') && document.activeElement.textContent === '7'");

    // With Shift the first rows.
    search(&client, "customers");
    page.wait_for("document.querySelectorAll('.search-line').length === 1");
    client.until_ended(|| page.press("Shift+Enter"));
    assert!(
        client.editor().contains("customers") && client.editor().contains("LIMIT 100"),
        "{}",
        client.editor()
    );
    assert_eq!(client.column(1), ["Alice", "Bob"]);
}

/// Rows and panes that are opened get the focus, also from the editor.
#[test]
fn the_focus_goes_to_the_rows_of_a_table_and_the_pane_of_a_routine() {
    let client = Client::open("search_focus", SHOP);
    let page = &client.page;
    client.show_tables();
    page.eval("document.querySelector('.editor-area').focus()");
    search(&client, "customers");
    only_here(page);
    assert_eq!(selected(page), "customers");
    page.press("Alt+Enter");
    page.wait_for("document.activeElement.matches('.grid-cell')");
    page.eval("document.querySelector('.editor-area').focus()");
    search(&client, "points_of");
    assert_eq!(selected(page), "points_of");
    page.press("Enter");
    page.wait_for("document.activeElement.matches('.schema[role=region]') && document.activeElement.textContent.includes('points_of')");
    client.settle();
    assert_eq!(
        page.eval("document.activeElement.matches('.schema[role=region]')"),
        true
    );
}

#[test]
fn names_are_read_again_on_demand_and_after_a_refresh_of_the_sidebar() {
    let client = Client::open("search_again", SHOP);
    let page = &client.page;
    client.show_tables();
    search(&client, "made_elsewhere");
    page.wait_for_text("The names were read just now.");
    Database::shared().exec("CREATE TABLE search_again.made_elsewhere (id INT)");
    page.click(".search-note text=Read again");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'made_elsewhere'");
    assert_eq!(
        page.eval("document.activeElement.matches('.search-field')"),
        true
    );
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    Database::shared().exec("CREATE TABLE search_again.made_later (id INT)");
    page.click(".sidebar [aria-label='Refresh tables']");
    client.show_tables();
    search(&client, "made_later");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'made_later'");
    // A page that was loaded since reads them again by itself if nothing matches.
    Database::shared().exec("CREATE TABLE search_again.made_last (id INT)");
    page.reload();
    client.wait_until_ready();
    search(&client, "made_last");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'made_last'");
}

#[test]
fn kinds_narrow_it_and_nothing_found_says_so() {
    let client = Client::open("search_kinds", SHOP);
    let page = &client.page;
    client.show_tables();
    page.click("#search");
    page.wait_for("document.activeElement.matches('.search-field')");
    only_here(page);
    page.type_text("points");
    page.wait_for("document.querySelectorAll('.search-line').length === 7");
    let choose = |kind: &str| {
        page.click(&format!(".search-kind:has([value='{kind}'])"));
        page.wait_for(&format!(
            "document.querySelector(\".search [value='{kind}']\").checked"
        ));
        settled(page);
    };
    choose("trigger");
    page.wait_for("document.querySelectorAll('.search-line').length === 1");
    assert_eq!(names(page), ["points_check"]);
    let line = client.text(".search-line");
    for part in ["BEFORE INSERT", "trigger", "search_kinds.customers"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    choose("view");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'best_points'");
    page.eval("document.querySelector('.search-field').focus()");
    page.press("Ctrl+a");
    page.type_text("nothing like it");
    page.wait_for_text("Nothing of kind view in search_kinds matches “nothing like it”.");
    assert_eq!(client.text(".search-status"), "0 matches");
    // Enter chooses nothing then, and Escape closes it without emptying the field.
    page.press("Enter");
    page.press("Ctrl+k");
    assert_eq!(page.eval("getSelection().toString()"), "nothing like it");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    page.wait_for("document.activeElement.id === 'search'");
    page.click("#more");
    page.click(".menu text=Search all databases …");
    page.wait_for("document.activeElement.matches('.search-field')");
}

#[test]
fn what_the_page_changed_is_found_at_once_and_a_database_opens_its_tables() {
    let broken = "CREATE TABLE a (id INT); CREATE TABLE lost (a INT); CREATE VIEW broken AS SELECT a FROM lost; DROP TABLE lost";
    let client = Client::open("search_fresh", broken);
    let page = &client.page;
    client.show_tables();
    search(&client, "brand_new_table");
    assert_eq!(client.text(".search-status"), "0 matches");
    // No list looks whole that is not.
    page.click(".search-missing summary");
    page.wait_for_text("search_fresh.broken the server does not describe this view");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    client.run("CREATE TABLE brand_new_table (id INT)");
    page.press("Ctrl+k");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'brand_new_table'");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    // From the editor, and from a page of the server.
    page.eval("location.hash = 'server=status'");
    page.wait_for("eyes.first('.server-table tbody tr')");
    search(&client, "search_fresh");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'search_fresh'");
    page.press("Enter");
    page.wait_for("eyes.first('.sidebar-db')?.innerText === 'search_fresh' && document.activeElement.id === 'filter'");
    page.wait_for("!document.querySelector('#main').hidden");
}

/// Keystrokes are answered one after another: the newest counts, and what is shown stays until then.
#[test]
fn fast_typing_sends_one_request_at_a_time_and_ends_at_what_was_typed() {
    let client = Client::open("search_typing", SHOP);
    let page = &client.page;
    client.show_tables();
    page.eval(
        "(() => { const real = fetch; window.most = 0; let now = 0; \
           window.fetch = async (path, init) => { if (!String(path).startsWith('/api/search')) return real(path, init); \
             window.most = Math.max(window.most, now += 1); await new Promise((done) => setTimeout(done, 150)); \
             try { return await real(path, init); } finally { now -= 1; } }; })()",
    );
    search(&client, "search_typing loyalty_points");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'loyalty_points' && document.querySelectorAll('.search-line').length === 1");
    assert_eq!(page.eval("window.most"), 1);
    // Enter before the answer opens what it is about, not the line of the search before.
    page.press("Ctrl+a");
    page.type_text("search_typing best_points");
    page.press("Enter");
    page.wait_for("eyes.first('.schema h2')?.textContent.endsWith('best_points')");
    search(&client, "search_typing loyalty_points");
    page.wait_for("document.querySelector('.search-name')?.textContent === 'loyalty_points' && document.querySelectorAll('.search-line').length === 1");
    // A failure is said beside what was found before.
    page.expect_error("404");
    page.eval(
        "(() => { const real = fetch; window.fetch = (path, init) => real(String(path).replace('/api/search?', '/api/search?db=nowhere&'), init); })()",
    );
    page.type_text("x");
    page.wait_for_text("database 'nowhere' is unknown");
    assert_eq!(names(page), ["loyalty_points"]);
    assert_eq!(
        client.text(".search-status"),
        "Matches of an earlier search"
    );
}

#[test]
fn the_search_is_accessible_at_every_size() {
    // The part that is not searched is shown, and reached by a finger too.
    let broken =
        "CREATE TABLE lost (a INT); CREATE VIEW broken AS SELECT a FROM lost; DROP TABLE lost";
    make_database("search_looks", &format!("{SHOP}; {broken}"));
    let postern = Postern::on(support::Database::shared(), &["--readonly"]);
    let page = Browser::shared().page();
    see(&page);
    page.goto(&format!("{}/#db=search_looks", postern.url()));
    page.wait_for("eyes.editor() !== null && document.querySelector('#db').options.length > 1");
    for (dark, width, height) in [
        (false, 1440, 900),
        (true, 1024, 768),
        (true, 390, 800),
        (false, 390, 800),
    ] {
        page.prefer(dark, true);
        page.viewport(width, height);
        page.wait_for(&format!("innerWidth === {width}"));
        page.assert_accessible("before the search");
        page.click("#search");
        page.wait_for("document.activeElement.matches('.search-field')");
        page.press("Ctrl+a");
        page.type_text("points");
        page.wait_for("document.querySelectorAll('.search-line').length > 6");
        page.wait_for_text("Not searched:");
        settled(&page);
        let colour = if dark { "dark" } else { "light" };
        page.screenshot(&format!("search-{colour}-{width}"));
        page.assert_accessible(&format!("search, {colour}, {width}"));
        let wide = page.eval("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "{width}: {wide}");
        let outside = page.eval(
            "(() => { const box = document.querySelector('dialog').getBoundingClientRect(); return box.left < 0 || box.right > innerWidth || box.bottom > innerHeight; })()",
        );
        assert_eq!(outside, false, "{width}");
        // Everything is listed where nothing is typed.
        page.press("Ctrl+a");
        page.press("Delete");
        page.wait_for("document.querySelectorAll('.search-line').length === 50");
        page.wait_for_text("Show 500");
        page.assert_accessible("everything");
        page.press("Escape");
        page.wait_for("!document.querySelector('dialog')");
    }
}
