//! Accounts: created, changed, granted and dropped; no password is seen or kept; never on a shared database.

use serde_json::json;

use crate::sql::client::{Client, strings};
use crate::sql::edit::server;
use crate::sql::looks::look_at;
use support::database::Kind;
use support::{Browser, Database, Postern};

const SECRET: &str = "s3cr3t'\\geheim";

/// Opens the page of accounts.
#[track_caller]
fn go(client: &Client) {
    client.page.eval("location.hash = 'server=accounts'");
    client.page.wait_for("eyes.first('.server-table tbody tr')");
    client.settle();
}

#[track_caller]
fn field(client: &Client, name: &str, value: &str) {
    client
        .page
        .wait_for(&format!("eyes.first('dialog [data-field={name}]')"));
    client.page.eval(&format!(
        "(() => {{ const field = document.querySelector('dialog [data-field={name}]'); field.value = {}; for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()",
        json!(value)
    ));
}

#[track_caller]
fn check(client: &Client, label: &str) {
    client.page.eval(&format!(
        "[...document.querySelectorAll('dialog label.check')].find((label) => label.innerText.trim() === {}).querySelector('input').click()",
        json!(label)
    ));
}

/// Goes on to the review; its text.
#[track_caller]
fn review(client: &Client) -> String {
    client.page.click("dialog text=Review SQL");
    shown(client)
}

#[track_caller]
fn shown(client: &Client) -> String {
    client
        .page
        .wait_for("eyes.first('.structure-review .structure-sql li')");
    client.text(".structure-sql")
}

#[track_caller]
fn run(client: &Client) {
    client
        .page
        .wait_for("!eyes.first('.structure-review .dialog-foot .button:last-child').disabled");
    client
        .page
        .click(".structure-review .dialog-foot .button:last-child");
    client
        .page
        .wait_for("!document.querySelector('dialog') && document.querySelector('.server-detail').ariaBusy !== 'true'");
    client.settle();
}

/// Chooses an account in the list.
#[track_caller]
fn choose(client: &Client, name: &str) {
    let button = format!(
        "[...document.querySelectorAll('.server-table [data-act=grants]')].find((one) => one.innerText === {})",
        json!(name)
    );
    client.page.wait_for(&button);
    client.page.eval(&format!("{button}.click()"));
    client.page.wait_for(&format!(
        "eyes.first('.server-detail h3')?.innerText === {} && eyes.first('.account-actions') && eyes.first('.account-grants li')",
        json!(name)
    ));
}

fn grants(name: &str) -> String {
    server(&format!("SHOW GRANTS FOR {name}"))
}

#[test]
fn an_account_is_made_changed_and_dropped_and_no_password_is_kept() {
    Database::shared().exec("DROP USER IF EXISTS accounts_ann, accounts_bob@localhost; DROP ROLE IF EXISTS accounts_readers; DROP USER IF EXISTS `accounts_\u{202e}x`@localhost; CREATE USER `accounts_\u{202e}x`@localhost IDENTIFIED BY 'long enough 1'");
    let client = Client::open(
        "accounts_db",
        "CREATE TABLE t (a INT, b INT); CREATE PROCEDURE p() SELECT 1",
    );
    let page = &client.page;
    page.expect_error("400");
    let mariadb = Database::shared().kind() == Kind::MariaDb;
    go(&client);
    // A character that turns the direction of a name is seen.
    page.wait_for("eyes.all('.turning').some((one) => one.dataset.code === '202E')");
    Database::shared().exec("DROP USER `accounts_\u{202e}x`@localhost");
    page.click(".server-tools text=New account …");
    field(&client, "user", "accounts_ann");
    field(&client, "password", SECRET);
    page.assert_accessible("form of an account");
    look_at(&client, "account-form", || {});
    let sql = review(&client);
    assert!(sql.contains("***") && !sql.contains("geheim"), "{sql}");
    look_at(&client, "account-review", || {});
    run(&client);
    // It signs in with that password.
    let sign_in = |user: &str, password: &str| {
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(Database::shared().port())
            .user(Some(user))
            .pass(Some(password))
            .prefer_socket(false);
        mysql::Conn::new(options).is_ok()
    };
    assert!(sign_in("accounts_ann", SECRET));
    // It is shown, and has the focus.
    let shows = "eyes.first('.server-detail h3')?.innerText === 'accounts_ann@%' && document.activeElement.closest('.server-detail') !== null";
    page.wait_for(shows);
    choose(&client, "accounts_ann@%");
    page.assert_accessible("an account");
    look_at(&client, "account", || {});
    // A generated password.
    page.click(".account-actions text=Password …");
    page.wait_for("eyes.first('dialog [data-field=password]')");
    page.click("dialog text=Generate");
    let made: String =
        strings(page.eval("document.querySelector('dialog [data-field=password]').value"));
    assert!(made.len() >= 20, "{made}");
    let sql = review(&client);
    assert!(!sql.contains(&made), "{sql}");
    run(&client);
    assert!(sign_in("accounts_ann", &made) && !sign_in("accounts_ann", SECRET));
    // Neither is in the history, in the storage or in a message.
    page.eval("dispatchEvent(new Event('pagehide'))");
    let kept: String = strings(page.eval(
        "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.body.innerText])",
    ));
    assert!(!kept.contains("geheim") && !kept.contains(&made), "{kept}");
    assert!(!client.postern.stderr().contains("geheim"));

    for (button, after, is) in [("Lock", "Unlock", false), ("Unlock", "Lock", true)] {
        page.click(&format!(".account-actions text={button}"));
        shown(&client);
        run(&client);
        page.wait_for(&format!("[...document.querySelectorAll('.account-actions button')].some((one) => one.innerText === '{after}')"));
        assert_eq!(sign_in("accounts_ann", &made), is, "{button}");
    }
    // Privileges at each level.
    for (level, more, privilege, expected) in [
        (
            "database",
            vec![("db", "accounts_db")],
            "SELECT",
            "GRANT SELECT ON `accounts\\_db`.* TO",
        ),
        (
            "table",
            vec![("db", "accounts_db"), ("name", "t")],
            "INSERT",
            "INSERT",
        ),
        (
            "column",
            vec![("db", "accounts_db"), ("name", "t"), ("columns", "a, b")],
            "UPDATE",
            "UPDATE (`a`, `b`)",
        ),
        (
            "procedure",
            vec![("db", "accounts_db"), ("name", "p")],
            "EXECUTE",
            "GRANT EXECUTE ON PROCEDURE `accounts_db`.`p`",
        ),
        ("server", vec![], "PROCESS", "GRANT PROCESS ON *.*"),
    ] {
        page.click(".account-actions text=Grant …");
        field(&client, "level", level);
        for (name, value) in more {
            field(&client, name, value);
        }
        check(&client, privilege);
        if level == "database" {
            look_at(&client, "account-grant", || {});
        }
        review(&client);
        run(&client);
        let told = grants("accounts_ann")
            .replace("UPDATE (b, a)", "UPDATE (`a`, `b`)")
            .replace("UPDATE (`b`, `a`)", "UPDATE (`a`, `b`)");
        assert!(told.contains(expected), "{expected} in {told}");
        page.wait_for("document.activeElement.innerText === 'Grant …'");
    }
    // A table that is not there leads back to its field.
    page.click(".account-actions text=Grant …");
    field(&client, "level", "table");
    field(&client, "db", "accounts_db");
    field(&client, "name", "nothing");
    page.click("dialog .asked-checks legend .button");
    assert_eq!(
        page.eval("[...document.querySelectorAll('dialog .asked-checks input:checked')].map((one) => one.parentElement.innerText.trim())"),
        json!(["SELECT", "SHOW VIEW"])
    );
    check(&client, "SHOW VIEW");
    page.wait_for(
        "[...document.querySelectorAll('dialog datalist option')].some((one) => one.value === 't')",
    );
    page.click("dialog text=Review SQL");
    page.wait_for(
        "eyes.first('.asked-said')?.innerText.includes('accounts_db has no table or view nothing')",
    );
    assert_eq!(
        page.eval("document.querySelector('.structure-review') === null"),
        true
    );
    page.wait_for("document.activeElement?.dataset.field === 'name' && document.activeElement.value === 'nothing'");
    field(&client, "level", "column");
    field(&client, "name", "t");
    field(&client, "columns", "a, ");
    page.wait_for("[...document.querySelectorAll('dialog datalist option')].some((one) => one.value === 'a, b')");
    field(&client, "columns", "a, zz");
    check(&client, "UPDATE");
    page.click("dialog text=Review SQL");
    page.wait_for("eyes.first('.asked-said')?.innerText.includes('t has no column zz')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    // Revoked by the line that grants.
    page.eval("[...document.querySelectorAll('.account-grants button')].find((one) => one.ariaLabel.includes('PROCESS')).click()");
    page.wait_for("eyes.first('dialog')");
    page.eval("(() => { const box = document.querySelector('dialog label.check input'); if (!box.checked) box.click(); })()");
    review(&client);
    run(&client);
    assert!(
        !grants("accounts_ann").contains("PROCESS"),
        "{}",
        grants("accounts_ann")
    );
    page.wait_for("document.activeElement.closest('.server-detail') !== null");
    // A role.
    page.click(".server-tools text=New role …");
    field(&client, "user", "accounts_readers");
    review(&client);
    run(&client);
    choose(&client, "accounts_ann@%");
    page.click(".account-actions text=Roles …");
    page.wait_for("eyes.first('dialog .asked-checks')");
    check(
        &client,
        if mariadb {
            "accounts_readers"
        } else {
            "accounts_readers@%"
        },
    );
    review(&client);
    run(&client);
    assert!(grants("accounts_ann").contains("accounts_readers"));
    page.click(".account-actions text=Rename …");
    field(&client, "user", "accounts_bob");
    field(&client, "host", "localhost");
    review(&client);
    run(&client);
    choose(&client, "accounts_bob@localhost");
    page.click(".account-actions text=Drop …");
    shown(&client);
    page.fill(".structure-review input", "accounts_bob@localhost");
    run(&client);
    page.wait_for("document.activeElement.closest('.server-detail') !== null");
    assert_eq!(
        server(
            "SELECT COUNT(*) FROM mysql.user WHERE User LIKE 'accounts\\_%' AND User <> 'accounts_readers'"
        ),
        "0"
    );
}

#[test]
fn the_own_and_the_last_account_are_warned_of() {
    let client = Client::open("accounts_own", "");
    let page = &client.page;
    go(&client);
    let own = "app@%".to_owned();
    choose(&client, &own);
    page.click(".account-actions text=Lock");
    shown(&client);
    assert!(
        client
            .text(".structure-losses")
            .contains("This page itself uses this account")
    );
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert!(
        !server(&format!(
            "SHOW CREATE USER {}",
            own.replace('@', "@'") + "'"
        ))
        .contains("ACCOUNT LOCK")
    );
}

#[test]
fn shared_and_read_only_clients_offer_nothing_of_it() {
    let db = Database::shared();
    let read_only = Postern::on(db, &["--readonly"]);
    let client = Client::of(Browser::shared(), read_only, "", "");
    go(&client);
    assert_eq!(client.page.eval("document.querySelectorAll('.server-tools .button:not(.quiet), .account-actions').length"), 0);
    let shared = Postern::on(db, &["--invisible"]);
    let page = Browser::shared().page();
    crate::sql::client::see(&page);
    page.goto(shared.auth_url().unwrap());
    let client = Client {
        page,
        postern: shared,
        db: "",
    };
    client.wait_until_ready();
    let page = &client.page;
    page.click("#server-menu");
    page.wait_for("eyes.first('[role=menu]')");
    let entries = page.texts("[role=menu] [role=menuitem]");
    assert!(entries.contains(&"Sizes".to_owned()));
    assert!(
        !entries.iter().any(|e| e.starts_with("Accounts")),
        "{entries:?}"
    );
    page.press("Escape");
    page.eval("location.hash = 'server=accounts'");
    client.settle();
    assert_eq!(page.eval("document.getElementById('server').hidden"), true);
}
