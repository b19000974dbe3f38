//! The review of a change of structure: what is told of statements that wait, fail, are cancelled or lost.

use mysql::prelude::Queryable;
use serde_json::json;

use crate::sql::client::Client;
use crate::sql::looks::look;
use crate::sql::structure::{
    create_of, field, focused, on_form, open_form, put, refer, review, run, sent_alters, tick,
};
use support::database::{Kind, Options};
use support::{Browser, Database, Postern, TIMEOUT, wait_until};

#[test]
fn an_error_of_the_server_leads_to_its_field() {
    let client = on_form("structure_fault", "customers");
    let page = &client.page;
    page.expect_error("400");
    // The page cannot know this: two rows have the same value.
    Database::shared().exec("UPDATE structure_fault.customers SET city = 'Oslo'");
    tick(&client, &["city"]);
    page.click(".structure-tools text=Unique");
    client.settle();
    fails_with(&client, "Duplicate entry");
    assert_eq!(focused(&client), "Columns of city");
    assert_eq!(
        page.eval("document.activeElement.closest('section').getAttribute('aria-label')"),
        "Indexes"
    );
    // The mark goes as soon as something is typed.
    assert_eq!(
        page.eval("document.activeElement.getAttribute('aria-invalid')"),
        "true"
    );
    page.click(".structure-bar text=Discard");
    put(&client, "Type of born", "varchr(9)");
    fails_with(&client, "varchr");
    assert_eq!(focused(&client), "Type of born");
    page.click(".structure-bar text=Discard");
    put(&client, "Default of born", "'never'");
    fails_with(&client, "default value for 'born'");
    assert_eq!(focused(&client), "Default of born");
    look(&client, "structure-fault");
    page.click(".structure-bar text=Discard");
    page.click(&field("More about score"));
    page.fill(
        ".structure-details [data-field=generated] input",
        "LENGTH(name",
    );
    page.press("Tab");
    fails_with(&client, "syntax");
    assert_eq!(
        page.eval("document.activeElement.closest('[data-field]')?.dataset.field"),
        "generated"
    );
    page.click(".structure-bar text=Discard");
    Database::shared().exec("UPDATE structure_fault.customers SET city = NULL");
    page.click(&field("NULL allowed in city"));
    review(&client);
    page.click(".structure-review .dialog-foot .button:last-child");
    // MariaDB cannot do it without a copy, which is confirmed first.
    if Database::shared().kind() == Kind::MariaDb {
        page.wait_for("eyes.first('dialog .structure-told.warn')");
        page.click(".structure-review .dialog-foot .button:last-child");
    }
    page.wait_for("/Data truncated|Invalid use of NULL/.test(eyes.first('dialog .structure-told.bad')?.innerText)");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog') && eyes.first('.structure-strip.bad')");
    assert_eq!(focused(&client), "NULL allowed in city");
    page.click(".structure-bar text=Discard");
    put(&client, "Name of the table", "orders");
    fails_with(&client, "already exists");
    assert_eq!(focused(&client), "Name of the table");
}

/// Runs the changes, which the server refuses, and closes the review.
#[track_caller]
fn fails_with(client: &Client, text: &str) {
    let page = &client.page;
    review(client);
    page.click(".structure-review .dialog-foot .button:last-child");
    page.wait_for(&format!(
        "eyes.first('dialog .structure-told.bad')?.innerText.includes({})",
        json!(text)
    ));
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog') && eyes.first('.structure-strip.bad')");
    client.settle();
}

#[test]
fn a_change_by_somebody_else_is_told_before_anything_runs() {
    let client = on_form("structure_other", "customers");
    let page = &client.page;
    let server = Database::shared();
    put(&client, "Comment of city", "mine");
    // Rows alone move only the next number.
    server.exec("INSERT INTO structure_other.customers (name) VALUES ('Dora')");
    review(&client);
    page.click("dialog text=Cancel");
    server.exec(
        "ALTER TABLE structure_other.customers ADD COLUMN theirs INT AFTER id, DROP COLUMN born",
    );
    let sent = sent_alters(&client);
    page.click(".structure-bar text=Review SQL …");
    page.wait_for("document.querySelector('dialog')?.innerText.includes('changed meanwhile')");
    look(&client, "structure-conflict");
    assert!(client.text("dialog").contains("theirs"));
    page.click("dialog text=Keep mine");
    page.wait_for(&format!("eyes.first({})", json!(field("Name of theirs"))));
    assert_eq!(client.text(".structure-count"), "1 change");
    // Also between the review and the press of Run.
    review(&client);
    server.exec("ALTER TABLE structure_other.customers ADD COLUMN later INT");
    page.click(".structure-review .dialog-foot .button:last-child");
    page.wait_for("eyes.first('dialog .structure-told')?.innerText.includes('Nothing was run')");
    page.press("Escape");
    assert_eq!(sent_alters(&client), sent);
    page.click(".structure-bar text=Review SQL …");
    page.wait_for("document.querySelector('dialog')?.innerText.includes('changed meanwhile')");
    page.click("dialog text=Keep mine");
    page.wait_for(&format!("eyes.first({})", json!(field("Name of later"))));
    review(&client);
    run(&client);
    // Nothing is left of the same change.
    put(&client, "Comment of name", "the same");
    server.exec("ALTER TABLE structure_other.customers MODIFY name VARCHAR(40) NOT NULL DEFAULT 'nobody' COMMENT 'the same'");
    page.click(".structure-bar text=Review SQL …");
    page.wait_for("document.querySelector('dialog')?.innerText.includes('changed meanwhile')");
    page.click("dialog text=Keep mine");
    page.wait_for(
        "/Nothing is left of your changes/.test(eyes.first('.structure-strip')?.innerText)",
    );
    let create = create_of("structure_other", "customers");
    for part in ["`theirs`", "`later`", "COMMENT 'mine'"] {
        assert!(create.contains(part), "{create}");
    }
    assert!(!create.contains("`born`"), "{create}");
}

#[test]
fn a_statement_that_waits_names_who_blocks_it_and_is_cancelled() {
    let client = on_form("structure_wait", "customers");
    let page = &client.page;
    let server = Database::shared();
    let mut holder = server.conn();
    holder
        .query_drop("BEGIN; SELECT * FROM structure_wait.customers")
        .unwrap();
    let id: u64 = holder
        .query_first("SELECT CONNECTION_ID()")
        .unwrap()
        .unwrap();
    put(&client, "Comment of city", "waits");
    review(&client);
    page.click(".structure-review .dialog-foot .button:last-child");
    wait_until(TIMEOUT, "it waits", || {
        server.running("ALTER TABLE `structure_wait`") > 0
    });
    page.wait_for(&format!(
        "eyes.first('.structure-sight')?.innerText.includes('onnection {id}')"
    ));
    // Another one waits behind it.
    let waiter = std::thread::spawn(|| {
        let mut conn = Database::shared().conn();
        conn.query_drop("SELECT COUNT(*) FROM structure_wait.customers /* behind */")
    });
    page.wait_for("eyes.first('.structure-sight')?.innerText.includes('/* behind */')");
    look(&client, "structure-running");
    assert_eq!(focused(&client), "Cancel");
    // Esc asks; the cross and Cancel alone do not lose it.
    page.press("Escape");
    page.wait_for("eyes.all('dialog').length === 2");
    assert_eq!(focused(&client), "Keep running");
    page.press("Escape");
    page.expect_error("400");
    page.click(".structure-review .dialog-foot text=Cancel");
    wait_until(TIMEOUT, "it ends", || {
        server.running("ALTER TABLE `structure_wait`") == 0
    });
    waiter.join().unwrap().unwrap();
    page.wait_for("eyes.first('dialog .structure-told')?.innerText.includes('Cancelled')");
    holder.query_drop("ROLLBACK").unwrap();
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(client.text(".structure-count"), "1 change");
    review(&client);
    run(&client);
    assert!(create_of("structure_wait", "customers").contains("COMMENT 'waits'"));
}

#[test]
fn a_cancelled_statement_can_be_run_again() {
    let client = on_form("structure_again", "customers");
    let page = &client.page;
    let server = Database::shared();
    let mut holder = server.conn();
    holder
        .query_drop("BEGIN; SELECT * FROM structure_again.customers")
        .unwrap();
    page.click(&field("Remove born"));
    review(&client);
    page.expect_error("400");
    for _ in 0..2 {
        page.click(".structure-review .dialog-foot .button:last-child");
        wait_until(TIMEOUT, "it waits", || {
            server.running("ALTER TABLE `structure_again`") > 0
        });
        page.wait_for("eyes.first('.structure-sight')?.innerText.includes('onnection')");
        page.click(".structure-review .dialog-foot text=Cancel");
        page.wait_for("eyes.first('dialog .structure-told')?.innerText.includes('Cancelled')");
        assert_eq!(focused(&client), "Cancel");
        assert_eq!(
            page.eval("[document.activeElement.disabled, eyes.first('.structure-status')?.innerText ?? '']"),
            json!([false, ""])
        );
    }
    holder.query_drop("ROLLBACK").unwrap();
    run(&client);
    assert!(!create_of("structure_again", "customers").contains("`born`"));
}

/// Without its connection nobody knows whether the statement was done: it is not run again by a press.
#[test]
fn a_lost_connection_is_told_and_nothing_runs_twice() {
    let client = on_form("structure_lost", "customers");
    let page = &client.page;
    let server = Database::shared();
    let mut holder = server.conn();
    holder
        .query_drop("BEGIN; SELECT * FROM structure_lost.customers")
        .unwrap();
    put(&client, "Comment of city", "lost");
    review(&client);
    page.click(".structure-review .dialog-foot .button:last-child");
    wait_until(TIMEOUT, "it waits", || {
        server.running("ALTER TABLE `structure_lost`") > 0
    });
    let sent = sent_alters(&client);
    page.expect_error("502");
    let id = server.value("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE `structure_lost`%'");
    server.exec(&format!("KILL {id}"));
    page.wait_for("eyes.first('dialog .structure-told.bad')?.innerText.includes('unknown whether it was done')");
    holder.query_drop("ROLLBACK").unwrap();
    assert!(
        page.eval("eyes.all('.structure-review .dialog-foot .button').at(-1).innerText") == "Close"
    );
    page.click("dialog text=Close");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(sent_alters(&client), sent);
    assert_eq!(client.text(".structure-count"), "1 change");
}

/// A copy of many rows: writers wait, which is said, and Cancel leaves the table as it was.
#[test]
fn a_large_table_is_copied_in_sight_and_cancelled() {
    let client = Client::open(
        "structure_large",
        "CREATE TABLE big (id INT PRIMARY KEY, filler CHAR(200) NOT NULL); INSERT INTO big SELECT seq, REPEAT('x', 190) FROM seq_1_to_300000; ANALYZE TABLE big",
    );
    let page = &client.page;
    let server = Database::shared();
    client.show_tables();
    open_form(&client, "big");
    put(&client, "Type of filler", "varchar(300)");
    let sql = review(&client);
    assert!(
        sql[0].contains("ALGORITHM=COPY") && sql[0].contains("LOCK="),
        "{sql:?}"
    );
    page.wait_for("eyes.first('dialog .structure-notes')?.innerText.includes('MiB')");
    page.eval("(() => { const select = [...document.querySelectorAll('.structure-locking select')].at(0); select.value = String(select.options.length - 2); select.dispatchEvent(new Event('change', { bubbles: true })); })()");
    assert!(
        client
            .text(".structure-locking")
            .contains("Others can only read")
    );
    page.click(".structure-review .dialog-foot .button:last-child");
    wait_until(TIMEOUT, "it runs", || {
        server.running("ALTER TABLE `structure_large`") > 0
    });
    // A reader may come in, and the end of the copy waits for it.
    let mut reader = server.conn();
    reader
        .query_drop("BEGIN; SELECT * FROM structure_large.big LIMIT 1")
        .unwrap();
    wait_until(TIMEOUT, "it copies", || {
        server.value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE `structure_large`%' AND (STATE LIKE 'copy%' OR STATE LIKE 'Waiting%')") != "0"
    });
    let writer = std::thread::spawn(|| {
        let mut conn = Database::shared().conn();
        conn.query_drop("UPDATE structure_large.big SET filler = 'y' WHERE id = 7")
    });
    page.wait_for(
        "eyes.first('.structure-sight')?.innerText.includes('UPDATE structure_large.big')",
    );
    page.expect_error("400");
    page.click(".structure-review .dialog-foot text=Cancel");
    page.wait_for("eyes.first('dialog .structure-told')?.innerText.includes('Cancelled')");
    writer.join().unwrap().unwrap();
    reader.query_drop("ROLLBACK").unwrap();
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(client.text(".structure-count"), "1 change");
    assert!(create_of("structure_large", "big").contains("char(200)"));
    assert_eq!(
        server.value("SELECT filler FROM structure_large.big WHERE id = 7"),
        "y"
    );
    server.exec("DROP TABLE structure_large.big");
}

/// Behaviour of MariaDB alone.
mod on_mariadb {
    use super::*;

    #[test]
    fn the_reason_why_a_foreign_key_is_refused_is_told_at_its_field() {
        let client = on_form("structure_150", "orders");
        let page = &client.page;
        tick(&client, &["total"]);
        page.click(".structure-tools text=Foreign key");
        page.wait_for("eyes.all('[aria-label^=\"Referenced table of\"]')[0]");
        refer(&client, "customers", "score");
        review(&client);
        page.expect_error("400");
        page.click(".structure-review .dialog-foot .button:last-child");
        page.wait_for("eyes.first('dialog .structure-told.bad')?.innerText.includes('There is no index in the referenced table')");
        page.press("Escape");
        page.wait_for("!document.querySelector('dialog') && eyes.first('.structure-strip.bad')");
        assert!(focused(&client).starts_with("Columns of"));
    }

    #[test]
    fn a_refused_algorithm_offers_the_one_that_the_server_names_and_warnings_are_shown() {
        let db = Database::start(Options {
            args: vec![
                "--sql-mode=".into(),
                "--innodb-instant-alter-column-allowed=never".into(),
            ],
            ..Options::default()
        });
        db.exec("CREATE DATABASE structure_weaker; CREATE TABLE structure_weaker.t (id INT PRIMARY KEY, a VARCHAR(9) NULL); INSERT INTO structure_weaker.t VALUES (1, NULL)");
        let postern = Postern::on(&db, &[]);
        let client = Client::of(
            Browser::shared(),
            postern,
            "structure_weaker",
            "#db=structure_weaker",
        );
        let page = &client.page;
        client.show_tables();
        open_form(&client, "t");
        page.click(&field("Name of a"));
        page.press("Insert");
        page.type_text("more");
        let sql = review(&client);
        assert!(sql[0].contains("ALGORITHM=INSTANT"), "{sql:?}");
        look(&client, "structure-locking");
        page.expect_error("400");
        // It is refused as long as it would be instant. The server names what it takes, and each next try is confirmed.
        let sent = sent_alters(&client);
        page.click(".structure-review .dialog-foot .button:last-child");
        page.wait_for(
            "eyes.first('dialog .structure-told.warn')?.innerText.includes('ALGORITHM=INPLACE')",
        );
        client.settle();
        assert_eq!(sent_alters(&client), sent + 1, "it waits for another press");
        let sql = page.texts("dialog .structure-sql code");
        assert!(sql[0].contains("ALGORITHM=INPLACE"), "{sql:?}");
        look(&client, "structure-weaker");
        run(&client);
        assert_eq!(
            db.value("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'structure_weaker'"),
            "3"
        );
        // A server that is not strict converts values, and warns.
        page.wait_for("!eyes.first('.structure-count')");
        page.click(&field("NULL allowed in a"));
        review(&client);
        page.click(".structure-review .dialog-foot .button:last-child");
        page.wait_for("eyes.first('dialog .structure-told')?.innerText.includes('The server warns: Data truncated')");
        look(&client, "structure-warned");
        page.click("dialog text=Close");
        page.wait_for("!document.querySelector('dialog')");
        assert_eq!(db.value("SELECT a FROM structure_weaker.t"), "");
        page.wait_for("!eyes.first('.structure-count')");
    }
}
