//! The database or the program ends while the page is open.

use std::time::Duration;

use crate::sql::client::{Client, row};
use support::database::Options;
use support::{Browser, Database, Postern};

/// The page tries again by itself within five seconds; a server of ours takes a few more to start.
const RECOVERY: Duration = Duration::from_secs(90);

#[test]
fn a_restart_of_the_database_is_told_and_survived() {
    let mut first = Database::start(Options::default());
    let port = first.port();
    let postern = Postern::on(&first, &[]);
    let client = Client::of(Browser::shared(), postern, "", "");
    let page = &client.page;
    client.run("SELECT 1 AS before_it");
    page.expect_error("502");
    first.crash();
    client.run("SELECT 2 AS meanwhile");
    assert!(client.text("#progress-text").starts_with("Failed"));
    assert!(
        client.text(".editor-message").len() > 10,
        "the failure is explained"
    );
    assert!(
        page.eval("eyes.first('.editor-message .link') === null || eyes.first('.editor-message .link') === undefined")
            .as_bool()
            .unwrap_or(false),
        "it is no fault of the statement"
    );
    page.wait_for("eyes.first('.outage')?.innerText.includes('The database does not answer')");
    assert_eq!(
        client.editor(),
        "SELECT 2 AS meanwhile",
        "what was typed is kept"
    );
    let again = Options {
        args: vec![format!("--port={port}")],
        ..Options::default()
    };
    let _second = Database::start(again);
    page.wait_for_within(
        RECOVERY,
        "!eyes.first('.outage') && eyes.first('#health.connected')",
    );
    client.run("SELECT 3 AS after_it");
    assert_eq!(client.headers(), ["after_it"]);
}

#[test]
fn the_sidebar_comes_back_by_itself_after_an_outage() {
    let mut first = Database::start(Options::default());
    let port = first.port();
    let postern = Postern::on(&first, &[]);
    let client = Client::of(Browser::shared(), postern, "", "");
    let page = &client.page;
    page.wait_for("eyes.first('.row-main[data-name=mysql]')");
    page.expect_error("502");
    first.crash();
    page.click(&row("mysql"));
    page.wait_for("eyes.first('.sidebar-note .bad')");
    page.reload();
    page.wait_for("eyes.first('.outage')");
    let again = Options {
        args: vec![format!("--port={port}")],
        ..Options::default()
    };
    let _second = Database::start(again);
    page.wait_for_within(
        RECOVERY,
        "eyes.first('#health.connected') && !eyes.first('.sidebar-note .bad') && eyes.all('.row-main').length > 3",
    );
    page.wait_for("document.querySelector('#db').options.length > 3");
}

#[test]
fn a_schema_comes_back_by_itself_after_an_outage() {
    let mut first = Database::start(Options::default());
    let port = first.port();
    let postern = Postern::on(&first, &[]);
    let client = Client::of(Browser::shared(), postern, "", "");
    let page = &client.page;
    page.click(&row("mysql"));
    page.wait_for("eyes.first('.row-main[data-name=db]')");
    page.expect_error("502");
    first.crash();
    page.click(&row("db"));
    page.wait_for("eyes.first('.schema-note.bad')");
    let again = Options {
        args: vec![format!("--port={port}")],
        ..Options::default()
    };
    let _second = Database::start(again);
    page.wait_for_within(
        RECOVERY,
        "eyes.first('.schema-head') && !eyes.first('.schema-note.bad')",
    );
}

#[test]
fn the_end_of_the_program_is_told() {
    let mut client = Client::open("outage_program", "");
    client.page.expect_error("ERR_");
    client.run("SELECT 1 AS one");
    client.postern.stop();
    client.run("SELECT 2 AS two");
    let page = &client.page;
    page.wait_for("eyes.first('.outage')?.innerText.includes('not reachable')");
    assert!(client.text(".outage").contains("Your text is kept"));
    assert_eq!(client.editor(), "SELECT 2 AS two");
}
