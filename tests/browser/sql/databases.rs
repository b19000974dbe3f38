//! Databases: created, changed, renamed and copied.

use serde_json::json;

use crate::sql::client::{Client, row};
use crate::sql::edit::server;
use crate::sql::looks::look_at;
use crate::sql::objects::{choose, menu, open_menu};
use support::Database;
use support::database::Kind;

fn forget(names: &[&str]) {
    for name in names {
        Database::shared().exec(&format!("DROP DATABASE IF EXISTS `{name}`"));
    }
}

/// Opens the list of databases.
#[track_caller]
fn list(client: &Client) {
    client.show_tables();
    client.page.click(".sidebar-head .back");
    client.page.wait_for("eyes.first('.row-main[data-kind=database]') && eyes.first('#sidebar-title').innerText === 'Databases'");
}

#[track_caller]
fn field(client: &Client, name: &str, value: &str) {
    client.page.eval(&format!(
        "(() => {{ const field = document.querySelector('dialog [data-field={name}]'); field.value = {}; for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()",
        json!(value)
    ));
}

/// Goes on to the review, and runs it.
#[track_caller]
fn agree(client: &Client) {
    review(client);
    client
        .page
        .click(".structure-review .dialog-foot .button:last-child");
}

#[track_caller]
fn review(client: &Client) {
    client.page.click("dialog text=Review SQL");
    client
        .page
        .wait_for("eyes.first('.structure-review .structure-sql li')");
}

/// A select that is built again after each key would begin the search for its value again.
#[test]
fn a_character_set_is_chosen_by_typing_its_name() {
    let client = Client::open("databases_typed", "");
    let page = &client.page;
    list(&client);
    page.click(".sidebar-head [aria-label='New database']");
    page.wait_for("eyes.first('dialog [data-field=name]')");
    page.press("Tab");
    let value = |name: &str| {
        page.eval(&format!(
            "document.querySelector('dialog [data-field={name}]').value"
        ))
    };
    page.type_text("latin7");
    assert_eq!(value("charset"), "latin7");
    assert_eq!(page.eval("document.activeElement.dataset.field"), "charset");
    assert_eq!(value("collation"), "latin7_general_ci");
    page.press("Tab");
    page.type_text("latin7_b");
    assert_eq!(value("collation"), "latin7_bin");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    open_menu(&client, "databases_typed");
    choose(&client, "Properties …");
    page.wait_for("eyes.first('dialog [data-field=charset]')");
    page.eval("document.querySelector('dialog [data-field=charset]').focus()");
    page.type_text("utf8mb3");
    let typed = value("charset");
    assert!(typed == "utf8mb3" || typed == "utf8", "{typed}");
}

#[test]
fn a_database_is_created_and_changed() {
    forget(&["databases_made"]);
    let client = Client::open("databases_first", "");
    let page = &client.page;
    page.expect_error("400");
    list(&client);
    page.click(".sidebar-head [aria-label='New database']");
    page.wait_for("eyes.first('dialog [data-field=name]')");
    page.assert_accessible("form of a database");
    look_at(&client, "database-form", || {});
    // The name is taken: the error stands in the form, and what was entered stays.
    field(&client, "name", "databases_first");
    field(&client, "charset", "latin1");
    page.wait_for(
        "document.querySelector('dialog [data-field=collation]').value === 'latin1_swedish_ci'",
    );
    agree(&client);
    page.wait_for("/exists/.test(eyes.first('.structure-told')?.innerText)");
    page.click(".structure-review .dialog-foot .button:nth-last-child(2)");
    page.wait_for("/exists/.test(eyes.first('.asked-said')?.innerText) && document.activeElement.dataset.field === 'name'");
    assert_eq!(
        page.eval("document.querySelector('dialog [data-field=charset]').value"),
        "latin1"
    );
    field(&client, "name", "databases_made");
    agree(&client);
    page.wait_for("!document.querySelector('dialog') && eyes.first('.sidebar-db')?.innerText === 'databases_made'");
    page.wait_for("document.activeElement.closest('#sidebar, .sidebar, aside') !== null");
    let is = "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'databases_made'";
    assert_eq!(server(is), "latin1_swedish_ci");
    list_again(&client);
    open_menu(&client, "databases_made");
    choose(&client, "Properties …");
    page.wait_for("eyes.first('dialog [data-field=collation]')");
    field(&client, "charset", "utf8mb4");
    field(&client, "collation", "utf8mb4_bin");
    let comments = page.eval("document.querySelector('dialog [data-field=comment]') !== null");
    assert_eq!(comments, Database::shared().kind() == Kind::MariaDb);
    if comments == true {
        field(&client, "comment", "it's \\ mine");
    }
    agree(&client);
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(server(is), "utf8mb4_bin");
    if comments == true {
        assert_eq!(
            server(
                "SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'databases_made'"
            ),
            "it's \\ mine"
        );
        // Breaks within a comment stay when something else of it is changed.
        Database::shared().exec("ALTER DATABASE databases_made COMMENT 'one\ntwo'");
        open_menu(&client, "databases_made");
        choose(&client, "Properties …");
        page.wait_for("eyes.first('dialog [data-field=comment]')");
        page.click("dialog [data-field=comment]");
        page.press("End");
        page.type_text(" more");
        agree(&client);
        page.wait_for("!document.querySelector('dialog')");
        assert_eq!(
            server(
                "SELECT HEX(SCHEMA_COMMENT) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'databases_made'"
            ),
            "6F6E650A74776F206D6F7265"
        );
    }
    forget(&["databases_made"]);
}

#[track_caller]
fn list_again(client: &Client) {
    client.page.click(".sidebar-head .back");
    client
        .page
        .wait_for("eyes.first('.row-main[data-kind=database]')");
}

#[test]
fn a_database_is_renamed_only_where_nothing_is_lost() {
    forget(&["databases_new"]);
    let client = Client::open(
        "databases_old",
        "CREATE TABLE parents (id INT PRIMARY KEY); CREATE TABLE children (id INT PRIMARY KEY, parent INT, CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES parents (id)); \
         INSERT INTO parents VALUES (1); INSERT INTO children VALUES (1, 1); CREATE VIEW all_of_them AS SELECT * FROM parents",
    );
    let page = &client.page;
    page.expect_error("400");
    list(&client);
    open_menu(&client, "databases_old");
    choose(&client, "Rename …");
    page.wait_for_text("cannot be renamed without loss");
    assert!(client.text(".toast").contains("1 view"));
    Database::shared().exec("DROP VIEW databases_old.all_of_them; DROP USER IF EXISTS databases_user; CREATE USER databases_user IDENTIFIED BY 'x'; GRANT SELECT ON databases_old.parents TO databases_user");
    page.click(".toast [aria-label=Dismiss]");
    open_menu(&client, "databases_old");
    choose(&client, "Rename …");
    page.wait_for_text("1 grant");
    Database::shared().exec("DROP USER databases_user");
    page.click(".toast [aria-label=Dismiss]");
    open_menu(&client, "databases_old");
    choose(&client, "Rename …");
    page.wait_for("eyes.first('dialog [data-field=name]')");
    field(&client, "name", "databases_new");
    // The second statement fails: the new database goes again.
    page.eval("(() => { const real = fetch; window.fetch = (url, init) => { const spoilt = !window.done && String(init?.body).includes('RENAME TABLE'); if (spoilt) window.done = true; return real(url, spoilt ? { ...init, body: init.body.replace('RENAME TABLE', 'RENAME TABEL') } : init); }; })()");
    agree(&client);
    page.wait_for("/Nothing was moved/.test(eyes.first('.structure-said')?.innerText)");
    assert_eq!(
        server(
            "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'databases_new'"
        ),
        "0"
    );
    page.click(".structure-review .dialog-foot .button:nth-last-child(2)");
    page.wait_for("!document.querySelector('.structure-review')");
    if page.eval("document.querySelector('dialog') === null") == true {
        open_menu(&client, "databases_old");
        choose(&client, "Rename …");
        page.wait_for("eyes.first('dialog [data-field=name]')");
        field(&client, "name", "databases_new");
    }
    agree(&client);
    page.wait_for("/Drop the empty database/.test(eyes.first('dialog h2')?.innerText)");
    page.click(".structure-review .dialog-foot .button:last-child");
    page.wait_for("!document.querySelector('dialog') && eyes.first('.sidebar-db')?.innerText === 'databases_new'");
    assert_eq!(server("SELECT COUNT(*) FROM databases_new.children"), "1");
    assert_eq!(
        server(
            "SELECT CONCAT(UNIQUE_CONSTRAINT_SCHEMA, '.', REFERENCED_TABLE_NAME) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'databases_new'"
        ),
        "databases_new.parents"
    );
    assert_eq!(
        server(
            "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'databases_old'"
        ),
        "0"
    );
    forget(&["databases_new"]);
}

#[test]
fn a_copy_has_everything_in_an_order_that_works() {
    forget(&["databases_twin"]);
    let client = Client::open(
        "databases_source",
        "CREATE TABLE z_parents (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), upper_name VARCHAR(20) AS (UPPER(name)) STORED); \
         CREATE TABLE a_children (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES z_parents (id)); \
         INSERT INTO z_parents (name) VALUES ('one'), ('two'); INSERT INTO a_children VALUES (1, 2); \
         CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2; \
         CREATE VIEW z_base AS SELECT id, twice(id) AS doubled FROM databases_source.z_parents; CREATE VIEW a_upper AS SELECT * FROM z_base; \
         CREATE TRIGGER counted BEFORE INSERT ON z_parents FOR EACH ROW SET NEW.name = CONCAT(NEW.name, '!'); \
         CREATE PROCEDURE clean() DELETE FROM databases_source.a_children; \
         CREATE EVENT hourly ON SCHEDULE EVERY 1 HOUR DO DELETE FROM a_children",
    );
    let page = &client.page;
    let mariadb = Database::shared().kind() == Kind::MariaDb;
    if mariadb {
        Database::shared().exec("CREATE SEQUENCE databases_source.numbers START WITH 5; SELECT NEXTVAL(databases_source.numbers); CREATE TABLE databases_source.numbered (id INT DEFAULT NEXTVAL(databases_source.numbers)); CREATE TABLE databases_source.priced (id INT PRIMARY KEY, price INT) WITH SYSTEM VERSIONING; INSERT INTO databases_source.priced VALUES (1, 10); UPDATE databases_source.priced SET price = 20");
    }
    list(&client);
    open_menu(&client, "databases_source");
    assert!(menu(&client).contains(&"Copy …".to_owned()));
    choose(&client, "Copy …");
    page.wait_for("eyes.first('dialog [data-field=name]')");
    field(&client, "name", "databases_twin");
    review(&client);
    let notes = client.text(".structure-notes");
    assert!(notes.contains("procedure clean"), "{notes}");
    let losses = "eyes.first('.structure-review .structure-losses')?.innerText ?? ''";
    let losses = page.eval(losses).to_string();
    assert_eq!(
        losses.contains("history") && losses.contains("priced"),
        mariadb,
        "{losses}"
    );
    look_at(&client, "database-copy", || {});
    page.click(".structure-review .dialog-foot .button:last-child");
    // The server may warn, as of its event scheduler.
    page.wait_for("!document.querySelector('dialog') || eyes.first('.structure-told')");
    if page.eval("document.querySelector('dialog') !== null") == true {
        assert!(
            client.text(".structure-told").starts_with("Done."),
            "{}",
            client.text(".structure-said")
        );
        page.click(".structure-review .dialog-foot .button:nth-last-child(2)");
    }
    page.wait_for("!document.querySelector('dialog') && eyes.first('.sidebar-db')?.innerText === 'databases_twin'");
    assert_eq!(
        server("SELECT GROUP_CONCAT(name, upper_name ORDER BY id) FROM databases_twin.z_parents"),
        "oneONE,twoTWO"
    );
    assert_eq!(
        server("SELECT GROUP_CONCAT(doubled ORDER BY id) FROM databases_twin.a_upper"),
        "2,4"
    );
    assert_eq!(
        server(
            "SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'databases_twin' AND UNIQUE_CONSTRAINT_SCHEMA = 'databases_twin'"
        ),
        "1"
    );
    assert_eq!(
        server(
            "SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'databases_twin'"
        ),
        "DISABLED"
    );
    assert_eq!(
        server(
            "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'databases_twin' AND EVENT_OBJECT_SCHEMA = 'databases_twin'"
        ),
        "1"
    );
    assert!(!server("SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'databases_twin'").contains("databases_source"));
    if mariadb {
        assert!(server("SELECT COLUMN_DEFAULT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'databases_twin' AND TABLE_NAME = 'numbered'").contains("databases_twin"));
        let next = |db: &str| server(&format!("SELECT next_not_cached_value FROM {db}.numbers"));
        assert_eq!(next("databases_twin"), next("databases_source"));
    }
    let entry = row("a_children");
    page.wait_for(&format!("document.querySelector('{entry}')"));
    forget(&["databases_twin"]);
}
