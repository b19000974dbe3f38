//! An application from its first entry to its disconnect, through the relay that `postern start` has within it.

use std::sync::Arc;

use serde_json::json;

use crate::relay::page::{add, assert_quiet, card, connect, disconnect, look_at_sql, open, url};
use crate::relay::site::{GREETING, SmallSite};
use support::chromium::Page;
use support::manager::Manager;
use support::{Database, Home, TIMEOUT, wait_until};

/// An account whose password no file name holds by chance.
const USER: &str = "teller";
const PASSWORD: &str = "tellers-Pa55word";

#[test]
fn a_site_added_in_the_page_opens_through_relay_and_tunnel_until_its_disconnect() {
    let site = SmallSite::start();
    let manager = Manager::start(&[]);
    let page = open(&manager);
    assert!(
        page.text("#notices").contains(".localhost"),
        "the page says that the relay is within"
    );
    let port = site.port().to_string();
    let id = add(&page, "http", &[("name", "My site"), ("port", &port)]);
    let tab = connect(&page, &id);
    tab.wait_for_text(GREETING);
    let address = tab.eval("location.href");
    let address = address.as_str().unwrap();
    assert!(
        address.starts_with("http://my-site.localhost:") && address.ends_with('/'),
        "{address}"
    );
    assert_eq!(url(&page, &id, "site"), address);
    assert_eq!(tab.eval("echo('through it all')"), "echo: through it all");
    assert_eq!(tab.errors(), Vec::<String>::new());

    disconnect(&page, &id);
    tab.expect_error("502");
    tab.reload();
    tab.wait_for_text("502");
    assert!(tab.try_eval("echo('again')").is_err());

    // It gets its old address, without a new entry.
    let again = connect_again(&page, &id);
    assert_eq!(again, address);
    tab.reload();
    tab.wait_for_text(GREETING);
    assert_quiet(&page);
}

/// Connects while the first tab is still there, and answers the site's address.
#[track_caller]
fn connect_again(page: &Page, id: &str) -> String {
    page.click(&format!("{} [data-act]", card(id)));
    page.wait_for(&format!("eyes.status('{id}') === 'connected'"));
    url(page, id, "site")
}

#[test]
fn an_invisible_site_asks_for_its_code_and_its_link_opens_it() {
    let site = SmallSite::start();
    let manager = Manager::start(&[]);
    let page = open(&manager);
    let port = site.port().to_string();
    page.click("#add");
    page.wait_for("document.querySelector('#app-form')");
    page.fill("#field-name", "hidden");
    page.fill("#field-port", &port);
    page.click("#field-invisible");
    page.click("dialog text=Save");
    page.wait_for("eyes.all('.card').length === 1");
    let id = page.eval("eyes.first('.card').dataset.id");
    let id = id.as_str().unwrap();
    // The owner, who has the code on his card, is not asked for it.
    let tab = connect(&page, id);
    tab.wait_for_text(GREETING);
    assert_eq!(tab.eval("location.pathname + location.search"), "/");
    assert_eq!(tab.eval("document.cookie"), "", "scripts cannot read it");
    assert_eq!(tab.eval("echo('behind the door')"), "echo: behind the door");
    // A context of its own is a stranger.
    let stranger = support::Browser::shared().page();
    stranger.expect_error("401");
    stranger.goto(&url(&page, id, "site"));
    stranger.wait_for_text("Paste the link or code");
    enter(&stranger, "a-wrong-code");
    stranger.wait_for_text("Wrong code");
    assert!(!stranger.text("body").contains(GREETING));
    // The visitor gets the requested path, and the sign-in page accepts the whole link as well as the code.
    stranger.expect_error("401");
    stranger.goto(&format!("{}deep/page?x=%2F1", url(&page, id, "site")));
    stranger.wait_for_text("Paste the link or code");
    enter(&stranger, &url(&page, id, "auth"));
    stranger.wait_for_text(GREETING);
    let path = stranger.eval("location.pathname + location.search");
    assert_eq!(path, "/deep/page?x=%2F1");
    assert_quiet(&page);
}

#[test]
fn a_new_code_shuts_the_old_link_and_an_end_shuts_the_site() {
    let site = SmallSite::start();
    let manager = Manager::start(&[]);
    let port = site.port();
    let app = json!({"protocol": "http", "name": "lent", "port": port, "invisible": true});
    let id = manager.add(&app);
    manager.connected(&id);
    let page = open(&manager);
    let old = url(&page, &id, "auth");
    let visitor = support::Browser::shared().page();
    visitor.goto(&old);
    visitor.wait_for_text(GREETING);

    page.click("[data-more]");
    page.click(".menu text=New code …");
    page.click("dialog .danger");
    page.wait_for(&format!(
        "document.querySelector('[data-open]').href !== {}",
        json!(old)
    ));
    visitor.expect_error("401");
    wait_until_shut(&visitor);
    let new = url(&page, &id, "auth");
    visitor.goto(&new);
    visitor.wait_for_text(GREETING);

    page.click("[data-more]");
    page.click(".menu text=Sign out all visitors …");
    page.click("dialog .danger");
    page.wait_for("document.querySelector('.toasts')?.innerText.includes('signed out')");
    wait_until_shut(&visitor);
    assert_eq!(url(&page, &id, "auth"), new, "the code stays");

    page.click("[data-more]");
    page.click(".menu text=Set end time …");
    page.click("dialog text=1 hour");
    page.wait_for("/Ends in (59 min|1 h)/.test(eyes.first('.card-end').innerText)");
    assert!(
        !page.text(".card").contains("not active"),
        "it applies at once"
    );
    // Ending a share is confirmed once, with the number of visitors; Escape ends nothing.
    page.click("[data-part=over]");
    page.wait_for("/No visitors are connected|visitors? will be disconnected/.test(document.querySelector('dialog')?.innerText)");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_ne!(page.text(".card-status"), "expired");
    page.click("[data-part=over]");
    page.click("dialog .danger");
    page.wait_for("eyes.first('.card-status').innerText === 'expired'");
    // 503 is what is told in the moment in which a site ends.
    for code in ["404", "410", "502", "503"] {
        visitor.expect_error(code);
    }
    wait_until_shut(&visitor);
    page.wait_for("eyes.first('[data-act]').innerText === 'Extend …'");
    assert_quiet(&page);
}

/// Loads a site until it shows itself no more: the relay is told a moment after the page.
#[track_caller]
fn wait_until_shut(visitor: &Page) {
    wait_until(TIMEOUT, "the site is shut", || {
        visitor.reload();
        visitor.wait_for("document.body?.innerText");
        !visitor.text("body").contains(GREETING)
    });
}

#[test]
fn an_invisible_database_opens_by_its_link_alone_and_takes_no_writing() {
    let db = Database::shared();
    db.exec("CREATE DATABASE story; CREATE TABLE story.t (a INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO story.t VALUES (1, 'x'), (2, 'y')");
    db.exec(&format!(
        "CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON story.* TO {USER}@'%'"
    ));
    let manager = Manager::start_in(&Arc::new(Home::with_plugin()), &[]);
    let page = open(&manager);
    let port = db.port().to_string();
    let fields = [
        ("name", "Ledger"),
        ("port", port.as_str()),
        ("db_user", USER),
        ("db_pass", PASSWORD),
    ];
    let id = add(&page, "mysql", &fields);
    assert_eq!(
        page.texts(".badge"),
        ["Will be invisible", "Will be read-only"]
    );
    let tab = connect(&page, &id);
    assert_eq!(page.texts(".badge"), ["Invisible", "Read-Only"]);
    let site = url(&page, &id, "site");
    assert!(site.starts_with("http://ledger.localhost:"), "{site}");
    let stranger = support::Browser::shared().page();
    stranger.expect_error("401");
    stranger.goto(&site);
    stranger.wait_for_text("Paste the link or code");
    enter(&stranger, "a-wrong-code");
    stranger.wait_for_text("Wrong code");
    let refused = stranger.eval("fetch('/api/info').then(({ status }) => status)");
    assert_eq!(refused, 401);

    // The owner's own tab came in by the link with the code.
    look_at_sql(&tab);
    tab.goto(&site);
    tab.wait_for("eyes.editor() !== null && document.querySelector('#health.connected')");
    assert_eq!(
        tab.eval("location.search"),
        "",
        "the code is not kept in the address"
    );
    tab.wait_for_text("story");
    run(&tab, "SELECT a, v FROM story.t ORDER BY a");
    tab.wait_for("JSON.stringify(eyes.cells()) === JSON.stringify([['1', 'x'], ['2', 'y']])");
    run(&tab, "UPDATE story.t SET v = 'z'");
    tab.wait_for_text("read-only mode: UPDATE refused");
    // The page's own refusal is a courtesy: the server's is the guard.
    tab.expect_error("403");
    let refused = tab.eval(
        "fetch('/api/query', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ sql: \"UPDATE story.t SET v = 'z'\", db: 'story' }) }).then(({ status }) => status)",
    );
    assert_eq!(refused, 403);
    assert_eq!(db.value("SELECT COUNT(*) FROM story.t WHERE v = 'z'"), "0");

    disconnect(&page, &id);
    tab.expect_error("502");
    // The open page says so with the next thing that it asks, and shows no green light beside it.
    run(&tab, "SELECT 1");
    tab.wait_for("document.querySelector('#health.away') && eyes.first('.outage')?.innerText.includes('the person who shares it is not connected')");
    tab.reload();
    tab.wait_for_text("502");
    assert_quiet(&page);
    assert!(!manager.stderr().contains(PASSWORD));
}

/// Types a code into a door's page and sends it.
#[track_caller]
fn enter(tab: &Page, code: &str) {
    tab.fill("#code", code);
    tab.click("#code");
    tab.press("Enter");
}

#[track_caller]
fn run(tab: &Page, sql: &str) {
    tab.fill("textarea.editor-area", sql);
    tab.press("Ctrl+Enter");
}
