//! Objects of a database other than tables: the groups of the sidebar, panes, menus.

use serde_json::json;

use crate::sql::client::{Client, make_database, row, strings};
use crate::sql::edit::server;
use crate::sql::looks::look;
use support::database::{Kind, Options, PASSWORD};
use support::{Browser, Database, Postern};

pub(super) const SHOP: &str = "CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) NOT NULL DEFAULT 'nobody', \
      upper_name VARCHAR(40) AS (UPPER(name)) STORED, CONSTRAINT named CHECK (name <> ''), KEY latest (id DESC)) COMMENT 'People who buy'; \
    INSERT INTO customers (name) VALUES ('Alice'), ('Bob'), ('Carol'); \
    CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, total DECIMAL(9,2), \
      CONSTRAINT buyer FOREIGN KEY (customer) REFERENCES customers (id)); \
    CREATE TABLE visits (id INT, y INT) PARTITION BY RANGE (y) (PARTITION old VALUES LESS THAN (2000), PARTITION young VALUES LESS THAN MAXVALUE); \
    CREATE TABLE notes (id INT) ENGINE=MyISAM; INSERT INTO notes VALUES (1); \
    CREATE VIEW totals AS SELECT customer, SUM(total) AS total FROM orders GROUP BY customer; \
    CREATE TRIGGER fill_total BEFORE INSERT ON orders FOR EACH ROW SET NEW.total = COALESCE(NEW.total, 0); \
    CREATE PROCEDURE raise_prices(IN percent INT, OUT n INT) COMMENT 'More money' BEGIN SELECT percent * 2 INTO n; SELECT 'raised' AS said; END; \
    CREATE FUNCTION vat(amount DECIMAL(9,2)) RETURNS DECIMAL(9,2) DETERMINISTIC RETURN amount * 0.2; \
    CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM notes WHERE id < 0";

/// Opens a group of the sidebar and waits for its entries.
#[track_caller]
pub(super) fn open_group(client: &Client, group: &str) {
    client
        .page
        .click(&format!(".group-head[data-group={group}]"));
    client.page.wait_for(&format!(
        "document.querySelector('.group-head[data-group={group}]').closest('.group').querySelector('.row-main, .group-note:not(:empty)') && !eyes.first('.sidebar-groups').innerText.includes('Loading')"
    ));
}

/// Opens the menu of an entry by the right button of the mouse.
#[track_caller]
pub(super) fn open_menu(client: &Client, name: &str) {
    client.page.right_click(&row(name));
    client.page.wait_for("eyes.first('.menu')");
}

#[track_caller]
pub(super) fn choose(client: &Client, label: &str) {
    client.page.click(&format!(".menu text={label}"));
}

#[track_caller]
pub(super) fn menu(client: &Client) -> Vec<String> {
    strings(client.page.eval(
        "eyes.all('.menu [role=menuitem]').map((item) => item.querySelector('span').textContent)",
    ))
}

#[track_caller]
fn pane(client: &Client, name: &str) -> String {
    client.page.wait_for(&format!(
        "eyes.first('.schema h2')?.innerText.endsWith({}) && eyes.first('.create-statement')",
        json!(name)
    ));
    client.settle();
    client.text(".schema")
}

/// A client of an account that has what `grants` say, in read-only mode where `more` says so.
#[track_caller]
pub(crate) fn as_account(db: &'static str, user: &str, grants: &str, more: &[&str]) -> Client {
    let server = Database::shared();
    server.exec(&format!(
        "DROP USER IF EXISTS {user}@'%'; CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'; {grants}"
    ));
    let target = server.target();
    let mut args = vec!["--db-user", user, "--db-pass", PASSWORD];
    args.extend(more);
    args.push(&target);
    let postern = Postern::start(&args, &[]);
    Client::of(Browser::shared(), postern, db, &format!("#db={db}"))
}

#[test]
fn own_databases_come_before_those_of_the_server() {
    make_database("zz_objects_last", "");
    let client = Client::open("objects_first", "");
    let page = &client.page;
    client.show_tables();
    page.click(".sidebar-head .back");
    page.wait_for("eyes.first('.row.below-line')");
    let names = page.texts(".row-name");
    let last_own = names.iter().position(|n| n == "zz_objects_last");
    let first_system = names.iter().position(|n| n == "information_schema");
    assert_eq!(last_own.unwrap() + 1, first_system.unwrap(), "{names:?}");
    assert_eq!(
        page.eval(
            "eyes.all('.row.below-line').map((row) => row.querySelector('.row-main').dataset.name)"
        ),
        json!(["information_schema"])
    );
    let dimmed = page.eval("(() => { const of = (name) => getComputedStyle(document.querySelector(`[data-name=${name}]`)).color; return of('mysql') !== of('zz_objects_last'); })()");
    assert_eq!(dimmed, true);
    // So does the selector of a tab's database.
    let offered: Vec<String> =
        strings(page.eval("[...document.querySelector('#db').options].map(({ value }) => value)"));
    assert!(
        offered.iter().position(|n| n == "zz_objects_last")
            < offered.iter().position(|n| n == "information_schema"),
        "{offered:?}"
    );
}

#[test]
fn the_only_own_database_is_open_at_once() {
    let server = Database::start(Options::default());
    server.exec("DROP DATABASE IF EXISTS test; CREATE DATABASE only_one; CREATE TABLE only_one.alone (id INT)");
    let client = Client::of(Browser::shared(), Postern::on(&server, &[]), "only_one", "");
    client.show_tables();
    assert_eq!(client.page.texts("#sidebar-list .row-name"), ["alone"]);
    let runs_in = client.page.eval("document.querySelector('#db').value");
    assert_eq!(runs_in, "only_one");
}

#[test]
fn the_database_of_the_command_line_is_open_at_once() {
    make_database("objects_named", "CREATE TABLE here (id INT)");
    let postern = Postern::on(Database::shared(), &["--db-name", "objects_named"]);
    let client = Client::of(Browser::shared(), postern, "objects_named", "");
    client.show_tables();
    assert_eq!(client.page.texts("#sidebar-list .row-name"), ["here"]);
    // A reload keeps the list of databases after going back to it.
    client.page.click(".sidebar-head .back");
    client
        .page
        .wait_for("eyes.first('#sidebar-title').innerText === 'Databases'");
    client.page.reload();
    client.wait_until_ready();
    client
        .page
        .wait_for("eyes.first('.row-main[data-kind=database]')");
}

#[test]
fn a_link_followed_later_leads_to_its_database() {
    make_database("objects_later", "CREATE TABLE later (id INT)");
    let client = Client::open("objects_before", "");
    client.page.eval("location.hash = '#db=objects_later'");
    client
        .page
        .wait_for("eyes.first('.row-main[data-name=later]')");
}

#[test]
fn routines_triggers_events_and_sequences_are_listed_and_shown() {
    let client = Client::open("objects_groups", SHOP);
    let page = &client.page;
    client.show_tables();
    let asked = client.sent();
    assert_eq!(page.eval("eyes.all('.sidebar-groups .row-main').length"), 0);
    for group in ["routines", "triggers", "events"] {
        open_group(&client, group);
    }
    assert!(client.sent() > asked, "asked for when they are opened");
    let listed = page.texts(".sidebar-groups .row-name");
    assert_eq!(listed, ["raise_prices", "vat", "fill_total", "nightly"]);
    page.assert_accessible("groups of the sidebar");
    // The filter finds them too.
    page.fill("#filter", "fill");
    page.wait_for("eyes.all('.sidebar-groups .row-main').length === 1");
    page.fill("#filter", "");

    page.click(&row("raise_prices"));
    let routine = pane(&client, "raise_prices");
    for part in [
        "procedure",
        "Parameters (2)",
        "percent",
        "out",
        "definer",
        "More money",
        "PROCEDURE",
    ] {
        assert!(routine.contains(part), "no {part} in {routine}");
    }
    look(&client, "routine");
    page.click(&row("fill_total"));
    let trigger = pane(&client, "fill_total");
    for part in ["orders", "before insert for each row", "COALESCE"] {
        assert!(trigger.contains(part), "no {part} in {trigger}");
    }
    page.click(&row("nightly"));
    let event = pane(&client, "nightly");
    for part in ["every 1 day", "enabled", "DELETE FROM"] {
        assert!(event.contains(part), "no {part} in {event}");
    }
    // The trigger's table is one click away.
    page.click(".results-tab text=fill_total");
    page.click(".schema .facts text=orders");
    assert!(pane(&client, "orders").contains("Foreign keys (1)"));
}

#[test]
fn a_group_is_walked_by_keyboard() {
    let client = Client::open("objects_keys", SHOP);
    let page = &client.page;
    client.show_tables();
    page.click("#filter");
    for _ in 0..6 {
        page.press("ArrowDown");
    }
    page.wait_for("document.activeElement.dataset.group === 'routines'");
    page.press("ArrowRight");
    page.wait_for("eyes.first('.row-main[data-name=vat]') && document.activeElement.dataset.group === 'routines'");
    page.press("ArrowDown");
    page.wait_for("document.activeElement.dataset.name === 'raise_prices'");
    client.press_function_key(10, true);
    page.wait_for("eyes.first('.menu')");
    assert_eq!(menu(&client)[..2], ["Open", "Run …"]);
    page.press("Escape");
    page.wait_for("!eyes.first('.menu') && document.activeElement.dataset.name === 'raise_prices'");
    page.press("ArrowLeft");
    page.wait_for("document.activeElement.dataset.group === 'routines'");
    page.press("ArrowLeft");
    page.wait_for("!eyes.first('.row-main[data-name=vat]')");
    page.press("ArrowUp");
    page.wait_for("document.activeElement.dataset.name === 'visits'");
}

#[test]
fn a_menu_copies_names_counts_and_fills_templates_into_a_new_tab() {
    let client = Client::open("objects_menu", SHOP);
    let page = &client.page;
    page.grant_clipboard(client.postern.url());
    client.show_tables();
    client.write("SELECT 'mine'");
    open_menu(&client, "customers");
    let labels = menu(&client);
    for label in [
        "Open data",
        "Schema",
        "Count rows",
        "Show CREATE",
        "Copy name",
        "INSERT template",
        "Truncate …",
        "Drop …",
    ] {
        assert!(
            labels.iter().any(|one| one == label),
            "no {label} in {labels:?}"
        );
    }
    page.assert_accessible("menu of a table");
    choose(&client, "Copy qualified name");
    page.wait_for_text("Qualified name copied");
    assert_eq!(page.clipboard(), "objects_menu.customers");
    open_menu(&client, "customers");
    client.until_ended(|| choose(&client, "Count rows"));
    assert_eq!(client.editor(), "SELECT COUNT(*) FROM customers");
    assert_eq!(client.cells(), [["3"]]);
    open_menu(&client, "customers");
    choose(&client, "INSERT template");
    page.wait_for("eyes.editor().startsWith('INSERT')");
    assert_eq!(
        client.editor(),
        "INSERT INTO objects_menu.customers (name)\nVALUES (:name)"
    );
    open_menu(&client, "customers");
    choose(&client, "DELETE template");
    page.wait_for("eyes.editor().startsWith('DELETE')");
    assert!(client.editor().ends_with("WHERE id = :id"));
    open_menu(&client, "customers");
    choose(&client, "Show CREATE");
    page.wait_for("eyes.first('dialog .create-statement')");
    assert!(client.text("dialog").contains("CREATE TABLE `customers`"));
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    // Typed text stays in its tab, and no menu offers to empty a view as a table.
    page.click(".query-tab text=query 1");
    assert_eq!(client.editor(), "SELECT 'mine'");
    open_menu(&client, "totals");
    let labels = menu(&client);
    assert!(
        !labels.iter().any(|label| label.starts_with("Truncate")),
        "{labels:?}"
    );
}

#[test]
fn a_routine_is_called_with_what_it_asks_for() {
    let client = Client::open("objects_call", SHOP);
    let page = &client.page;
    client.show_tables();
    open_group(&client, "routines");
    open_menu(&client, "raise_prices");
    choose(&client, "CALL template");
    page.wait_for("eyes.editor().startsWith('CALL')");
    assert_eq!(
        client.editor(),
        "CALL objects_call.raise_prices(:percent, @n);\nSELECT @n"
    );
    open_menu(&client, "vat");
    choose(&client, "Run …");
    page.wait_for("eyes.first('dialog .parameter textarea')");
    page.fill("dialog .parameter textarea", "10");
    client.until_ended(|| page.click("dialog .button.primary"));
    assert_eq!(client.cells(), [["2.00"]]);
}

/// Runs what is in the editor; agrees where it is asked whether that replaces something.
#[track_caller]
fn run_and_replace(client: &Client) {
    let page = &client.page;
    page.eval("document.querySelector('#progress-text').textContent = ''");
    page.press("Ctrl+Enter");
    page.wait_for(
        "document.querySelector('dialog') || /^Done/.test(document.querySelector('#progress-text').textContent)",
    );
    if page.eval("document.querySelector('dialog') !== null") == true {
        page.wait_for("eyes.first('.structure-review .structure-sql li')");
        let shown = client.text(".structure-sql");
        assert!(
            shown.contains("DROP ") || shown.contains("CREATE OR REPLACE "),
            "{shown}"
        );
        page.assert_accessible("the review before a routine is replaced");
        page.click(".structure-review .dialog-foot .button:last-child");
        page.wait_for(
            "!document.querySelector('dialog') || eyes.all('.structure-told').length >= 2",
        );
        if page.eval("document.querySelector('dialog') !== null") == true {
            assert!(
                client.text(".structure-said").contains("unchanged")
                    || client
                        .text(".structure-said")
                        .contains("restored as it was"),
                "{}",
                client.text(".structure-said")
            );
            page.click(".structure-review .dialog-foot .button:nth-last-child(2)");
            page.wait_for("!document.querySelector('dialog')");
        }
    }
}

#[test]
fn what_is_opened_can_be_run_and_is_not_lost_when_that_fails() {
    let setup = format!(
        "{SHOP}; CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2; \
         CREATE TRIGGER looked BEFORE INSERT ON customers FOR EACH ROW SET @looked = 1"
    );
    let client = Client::open("objects_change", &setup);
    let page = &client.page;
    page.expect_error("400");
    Database::shared().exec(
        "CREATE USER IF NOT EXISTS objects_caller; GRANT EXECUTE ON FUNCTION objects_change.twice TO objects_caller",
    );
    client.show_tables();
    open_group(&client, "routines");
    page.click(&row("twice"));
    pane(&client, "twice");
    page.click(".schema text=Edit");
    page.wait_for("eyes.editor()?.includes('n * 2')");
    client.write(&client.editor().replace("n * 2", "n * 3"));
    run_and_replace(&client);
    client.run("SELECT twice(2) AS a");
    assert_eq!(client.cells(), [["6"]]);
    assert_eq!(
        server(
            "SELECT User FROM mysql.procs_priv WHERE Db = 'objects_change' AND Routine_name = 'twice' AND User = 'objects_caller'"
        ),
        "objects_caller"
    );
    // A view is changed likewise.
    open_menu(&client, "totals");
    choose(&client, "Show CREATE");
    page.click("dialog text=Open in a new tab");
    page.wait_for("eyes.editor()?.startsWith('CREATE ')");
    run_and_replace(&client);
    // A trigger written by hand, which the server refuses after the old one is dropped.
    page.eval("(() => { const real = fetch; window.fetch = async (url, init) => { const body = init?.body instanceof Blob ? await init.body.text() : String(init?.body ?? ''); const spoilt = /DROP TRIGGER|OR REPLACE/.test(body) && body.includes('@looked = 2'); return real(url, spoilt ? { ...init, body: body.replace('SET @looked = 2', 'SET') } : init); }; })()");
    client.write("CREATE TRIGGER looked BEFORE INSERT ON customers FOR EACH ROW SET @looked = 2");
    run_and_replace(&client);
    page.wait_for("/SQL syntax/.test(eyes.first('.editor-message')?.innerText)");
    assert_eq!(
        server(
            "SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'objects_change' AND TRIGGER_NAME = 'looked'"
        ),
        "SET @looked = 1"
    );
    client.write("CREATE TRIGGER looked BEFORE INSERT ON customers FOR EACH ROW SET @looked = 3");
    run_and_replace(&client);
    assert_eq!(
        server(
            "SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'objects_change' AND TRIGGER_NAME = 'looked'"
        ),
        "SET @looked = 3"
    );
}

#[test]
fn read_only_menus_offer_nothing_that_writes() {
    let client = Client::with("objects_reader", SHOP, &["--readonly"]);
    client.show_tables();
    open_menu(&client, "customers");
    let labels = menu(&client);
    let writes = ["INSERT", "UPDATE", "DELETE", "Truncate", "Drop", "Import"];
    assert!(labels.contains(&"SELECT template".to_owned()));
    for word in writes {
        assert!(
            !labels.iter().any(|label| label.starts_with(word)),
            "{labels:?}"
        );
    }
    client.page.press("Escape");
    open_group(&client, "routines");
    client.page.click(&row("raise_prices"));
    assert!(pane(&client, "raise_prices").contains("Parameters (2)"));
}

#[test]
fn a_schema_begins_with_facts_and_ends_with_what_belongs_to_the_table() {
    // The number of rows is the server's estimate, which may be an old one.
    let setup = format!("{SHOP}; ANALYZE TABLE customers");
    let client = Client::open("objects_schema", &setup);
    let page = &client.page;
    client.show_tables();
    assert!(page.text(&row("customers")).contains('≈') || page.text(".row-figures").contains('≈'));
    page.click(&row("customers"));
    page.wait_for("eyes.first('.schema-more section')");
    let schema = pane(&client, "customers");
    for part in [
        "Engine",
        "InnoDB",
        "utf8mb4",
        "≈ 3",
        "Next AUTO_INCREMENT",
        "People who buy",
        "primary",
        "computed, stored",
        "Referenced by",
        "orders (customer)",
        "CHECK constraints (1)",
        "named",
    ] {
        assert!(schema.contains(part), "no {part} in {schema}");
    }
    for jargon in ["MUL", "STORED GENERATED", "DEFAULT_GENERATED"] {
        assert!(
            !client.text(".schema [aria-label=Columns]").contains(jargon),
            "{jargon} in {schema}"
        );
    }
    look(&client, "schema-facts");
    page.click(&row("orders"));
    page.wait_for("eyes.first('.schema [aria-label=Triggers]')");
    assert!(
        client
            .text(".schema [aria-label=Triggers]")
            .contains("before insert")
    );
    page.click(&row("visits"));
    page.wait_for("eyes.first('.schema [aria-label=Partitions]')");
    assert!(
        client
            .text(".schema [aria-label=Partitions]")
            .contains("young")
    );
    // An engine that counts its rows is believed; a view has neither rows nor indexes to be missed.
    page.click(&row("notes"));
    assert!(!pane(&client, "notes").contains('≈'));
    page.click(&row("totals"));
    assert!(!pane(&client, "totals").contains("Indexes"));
}

#[test]
fn what_a_missing_privilege_hides_is_said() {
    make_database("objects_denied", SHOP);
    let client = as_account(
        "objects_denied",
        "objects_denied",
        "GRANT SELECT ON objects_denied.* TO objects_denied@'%'",
        &["--readonly"],
    );
    client.show_tables();
    client.page.click(".group-head[data-group=triggers]");
    client
        .page
        .wait_for("/no TRIGGER privilege/.test(eyes.first('.group-note')?.innerText)");
    client.page.click(&row("orders"));
    client
        .page
        .wait_for("/TRIGGER privilege/.test(eyes.first('.schema-more')?.innerText)");
    let server = Database::shared();
    server.exec("GRANT EXECUTE ON objects_denied.* TO objects_denied@'%'");
    open_group(&client, "routines");
    client.page.expect_error("400");
    client.page.click(&row("vat"));
    client
        .page
        .wait_for("/its text only|denied/.test(eyes.first('.schema[aria-label*=vat]')?.innerText)");
}

#[test]
fn a_sequence_has_a_group_and_a_pane() {
    if Database::shared().kind() == Kind::MySql {
        return;
    }
    let client = Client::open(
        "objects_sequence",
        "CREATE SEQUENCE invoice_no START 100; CREATE TABLE t (id INT)",
    );
    client.show_tables();
    assert_eq!(client.page.texts("#sidebar-list .row-name"), ["t"]);
    open_group(&client, "sequences");
    client.page.click(&row("invoice_no"));
    let shown = pane(&client, "invoice_no");
    assert!(shown.contains("100") && shown.contains("Step"), "{shown}");
    open_menu(&client, "invoice_no");
    choose(&client, "Drop …");
    client.page.wait_for("eyes.first('dialog input')");
    client.page.fill("dialog input", "invoice_no");
    client.page.press("Enter");
    client
        .page
        .wait_for("!document.querySelector('.row-main[data-name=invoice_no]')");
}
