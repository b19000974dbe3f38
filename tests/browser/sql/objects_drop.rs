//! Destructive actions, which need the object's name typed.

use mysql::prelude::Queryable;

use crate::sql::client::Client;
use crate::sql::looks::look;
use crate::sql::objects::{SHOP, choose, menu, open_group, open_menu};
use support::{Database, TIMEOUT, wait_until};

#[test]
fn a_table_is_dropped_only_when_its_name_was_typed() {
    let client = Client::open("objects_drop", SHOP);
    let page = &client.page;
    let tables = || Database::shared().column("SHOW TABLES FROM objects_drop");
    client.show_tables();
    open_menu(&client, "customers");
    choose(&client, "Drop …");
    page.wait_for("eyes.first('dialog .structure-notes li')");
    let told = client.text("dialog");
    for part in [
        "DROP TABLE objects_drop.customers",
        "orders (foreign key buyer)",
        "type customers",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    let disabled = "document.querySelector('dialog .button.danger').disabled";
    assert_eq!(page.eval(disabled), true);
    page.fill("dialog .structure-typed + input", "customer");
    assert_eq!(page.eval(disabled), true);
    look(&client, "drop");
    // The server's refusal stands in the dialog, and nothing is lost.
    page.expect_error("400");
    page.fill("dialog .structure-typed + input", "customers");
    page.click("dialog .button.danger");
    page.wait_for("/foreign key/i.test(eyes.first('dialog .structure-told.bad')?.innerText)");
    assert!(tables().contains(&"customers".to_owned()));
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");

    // Objects that would fail without the table.
    open_menu(&client, "orders");
    choose(&client, "Drop …");
    page.wait_for(
        "/Views that use it will fail: totals/.test(eyes.first('dialog .structure-notes')?.innerText)",
    );
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    open_menu(&client, "notes");
    choose(&client, "Drop …");
    page.wait_for("/events nightly/.test(eyes.first('dialog .structure-notes')?.innerText)");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");

    Database::shared().exec("ALTER TABLE objects_drop.notes AUTO_INCREMENT = 77");
    page.click(".row-main[data-name=notes]");
    page.wait_for("eyes.first('.schema')?.innerText.includes('=77')");
    open_menu(&client, "notes");
    choose(&client, "Truncate …");
    page.wait_for("eyes.first('dialog .structure-typed + input')");
    page.fill("dialog .structure-typed + input", "notes");
    page.press("Enter");
    page.wait_for_text("notes is now empty");
    page.wait_for("eyes.first('.schema') && !eyes.first('.schema').innerText.includes('=77')");
    assert_eq!(
        Database::shared().value("SELECT COUNT(*) FROM objects_drop.notes"),
        "0"
    );
    open_menu(&client, "notes");
    choose(&client, "Drop …");
    page.wait_for("eyes.first('dialog .structure-typed + input')");
    page.fill("dialog .structure-typed + input", "notes");
    page.press("Enter");
    page.wait_for("!document.querySelector('.row-main[data-name=notes]')");
    assert!(!tables().contains(&"notes".to_owned()));
}

/// The focus goes on beside what was dropped: in the list, or in the tabs.
#[test]
fn the_focus_is_not_lost_with_what_is_dropped() {
    let client = Client::open(
        "objects_focus",
        "CREATE TABLE t (id INT PRIMARY KEY); CREATE VIEW first_view AS SELECT 1 AS a; CREATE VIEW second_view AS SELECT 2 AS a",
    );
    let page = &client.page;
    client.show_tables();
    let drop = |name: &str| {
        choose(&client, "Drop …");
        page.wait_for("eyes.first('dialog .structure-typed + input')");
        page.fill("dialog .structure-typed + input", name);
        page.press("Enter");
        page.wait_for(&format!(
            "!document.querySelector('.row-main[data-name={name}]') && !document.querySelector('dialog')"
        ));
        client.settle();
    };
    page.eval("(() => { const button = document.querySelector('[data-more=first_view]'); button.focus(); button.click(); })()");
    drop("first_view");
    assert_eq!(page.eval("document.activeElement.closest('#sidebar') ? '' : document.activeElement.outerHTML.slice(0, 300)"), "");
    page.click(".row-main[data-name=second_view]");
    page.click(".schema-head [aria-haspopup=menu]");
    drop("second_view");
    assert_eq!(page.eval("document.activeElement !== document.body"), true);
}

#[test]
fn a_drop_that_waits_for_a_lock_ends_with_its_dialog() {
    let client = Client::open("objects_lock", "CREATE TABLE held (id INT PRIMARY KEY)");
    let page = &client.page;
    let server = Database::shared();
    let mut holder = server.conn();
    holder
        .query_drop("BEGIN; SELECT * FROM objects_lock.held")
        .unwrap();
    client.show_tables();
    open_menu(&client, "held");
    choose(&client, "Drop …");
    page.wait_for("eyes.first('dialog .structure-typed + input')");
    page.fill("dialog .structure-typed + input", "held");
    page.press("Enter");
    wait_until(TIMEOUT, "it waits", || {
        server.running("DROP TABLE objects_lock") > 0
    });
    page.click("dialog text=Cancel");
    wait_until(TIMEOUT, "it ends", || {
        server.running("DROP TABLE objects_lock") == 0
    });
    holder.query_drop("ROLLBACK").unwrap();
    assert_eq!(server.column("SHOW TABLES FROM objects_lock"), ["held"]);
    page.wait_for("eyes.first('dialog .structure-told')?.innerText.includes('Cancelled. Nothing was changed')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    page.expect_error("400");
}

#[test]
fn every_kind_of_object_can_be_dropped() {
    let client = Client::open("objects_drop_all", SHOP);
    let page = &client.page;
    client.show_tables();
    for group in ["routines", "triggers", "events"] {
        open_group(&client, group);
    }
    for name in ["raise_prices", "vat", "fill_total", "nightly", "totals"] {
        open_menu(&client, name);
        choose(&client, "Drop …");
        page.wait_for("eyes.first('dialog .structure-typed + input')");
        page.fill("dialog .structure-typed + input", name);
        page.press("Enter");
        page.wait_for(&format!("!document.querySelector('dialog') && !document.querySelector('.row-main[data-name={name}]')"));
    }
    page.click(".sidebar-head .back");
    page.wait_for("eyes.first('.row-main[data-name=objects_drop_all]')");
    open_menu(&client, "objects_drop_all");
    choose(&client, "Drop …");
    page.wait_for("eyes.first('dialog .structure-notes li')");
    assert!(
        client
            .text("dialog")
            .contains("4 tables, 0 views and 0 routines"),
        "{}",
        client.text("dialog")
    );
    page.fill("dialog .structure-typed + input", "objects_drop_all");
    page.press("Enter");
    page.wait_for("!document.querySelector('.row-main[data-name=objects_drop_all]')");
    // The server's own databases offer nothing of the kind.
    open_menu(&client, "mysql");
    assert_eq!(menu(&client), ["Open", "Use in this tab", "Copy name"]);
}
