//! Read-only and read-write, invisible mode.

use serde_json::json;

use crate::sql::client::{Client, row, see};
use support::{Browser, Database, Postern};

const TABLE: &str =
    "CREATE TABLE t (a INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO t VALUES (1, 'x')";

/// The statements that the specification names.
const BLOCKED: [(&str, &str); 11] = [
    ("INSERT", "INSERT INTO t VALUES (2, 'y')"),
    ("UPDATE", "UPDATE t SET v = 'y'"),
    ("DELETE", "DELETE FROM t WHERE 1"),
    ("DROP", "DROP TABLE t"),
    ("ALTER", "ALTER TABLE t ADD b INT"),
    ("CREATE", "CREATE TABLE u (a INT)"),
    ("TRUNCATE", "TRUNCATE TABLE t"),
    ("RENAME", "RENAME TABLE t TO u"),
    ("REPLACE", "REPLACE INTO t VALUES (1, 'y')"),
    ("GRANT", "GRANT SELECT ON *.* TO nobody"),
    ("REVOKE", "REVOKE SELECT ON *.* FROM nobody"),
];

#[test]
fn a_badge_says_the_mode_in_words_and_colour() {
    let client = Client::open("mode_write", TABLE);
    assert_badge(&client, "Read-Write", "rgb(64, 192, 87)");
    client.run("INSERT INTO t VALUES (2, 'y')");
    assert_eq!(
        Database::shared().value("SELECT COUNT(*) FROM mode_write.t"),
        "2"
    );
    let client = Client::with("mode_read", TABLE, &["--readonly"]);
    assert_badge(&client, "Read-Only", "rgb(245, 159, 0)");
    client.page.click("#could-write");
    client.page.wait_for("document.querySelector('dialog')");
    assert!(
        client
            .page
            .text("dialog")
            .contains("This account can write")
    );
}

#[track_caller]
fn assert_badge(client: &Client, words: &str, colour: &str) {
    let page = &client.page;
    assert_eq!(client.text("#mode"), words);
    assert_eq!(page.eval("eyes.style('#mode', 'backgroundColor')"), colour);
    let place = page.eval("eyes.box('#mode')");
    assert!(
        place["left"].as_f64().unwrap() > 1280.0 * 0.75,
        "at the right: {place}"
    );
    assert!(
        place["bottom"].as_f64().unwrap() < 48.0,
        "at the top: {place}"
    );
    assert_eq!(page.eval("eyes.all('#mode .icon').length"), 1);
}

#[test]
fn the_page_refuses_all_eleven_statements_and_sends_nothing() {
    let client = Client::with("mode_refuse", TABLE, &["--readonly"]);
    let page = &client.page;
    let server = Database::shared();
    server.exec("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
    for (name, sql) in BLOCKED {
        for sql in [
            sql.to_owned(),
            format!("/* mode_refuse */ {}", sql.to_lowercase()),
        ] {
            client.write(&sql);
            page.press("Ctrl+Enter");
            page.wait_for("eyes.first('.editor-message')");
            let told = client.text(".editor-message");
            assert!(
                told.starts_with(&format!("read-only mode: {name} refused by the page")),
                "{sql}: {told}"
            );
        }
    }
    // In a script, at its place; what comes before is run.
    client.run_script("SELECT 'mode_refuse' AS a; DELETE FROM t; SELECT 2");
    assert!(
        client
            .text(".error-panel")
            .contains("read-only mode: DELETE")
    );
    assert_eq!(client.sent(), 1);
    server.exec("SET GLOBAL general_log = OFF");
    let logged = server.column(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE command_type IN ('Query', 'Prepare', 'Execute') AND argument LIKE '%mode_refuse%' AND argument NOT LIKE '%general_log%'",
    );
    assert!(logged.iter().all(|sql| !sql.contains("/*")), "{logged:?}");
    assert!(
        logged.iter().any(|sql| sql == "SELECT 'mode_refuse' AS a"),
        "{logged:?}"
    );
    assert_eq!(
        server.value("SELECT GROUP_CONCAT(a, v) FROM mode_refuse.t"),
        "1x"
    );
}

/// A function in the middle of a statement is the reason, and is where the place is shown.
#[test]
fn a_refusal_shows_the_place_of_its_reason() {
    let client = Client::with("mode_place", TABLE, &["--readonly"]);
    let page = &client.page;
    page.expect_error("403");
    client.run("SELECT 'žluť' AS a,\n  f_add(1, 2) AS b");
    assert!(client.text(".editor-message").contains("line 2, column 3"));
    page.wait_for("eyes.first('.mark-error')?.innerText === 'f_add'");
    assert!(client.text(".results-status-main").starts_with("Failed"));
    client.write("SELECT f_add(1, 2)");
    client.until_ended(|| page.click("#explain"));
    page.wait_for("eyes.first('.mark-error')?.innerText === 'f_add'");
    client.write("selct 1");
    page.press("Ctrl+Enter");
    page.wait_for("eyes.first('.editor-message')?.innerText.includes('did you mean SELECT?')");
}

/// The page looks at the first word alone.
#[test]
fn what_passes_the_page_is_refused_by_the_server_in_its_own_words() {
    let client = Client::with("mode_server", TABLE, &["--readonly"]);
    client.page.expect_error("403");
    client.run("SELECT v FROM t FOR UPDATE");
    let told = client.text(".editor-message");
    assert!(
        told.contains("read-only mode: SELECT … FOR UPDATE was refused: it locks rows")
            && told.contains("server gate"),
        "{told}"
    );
    assert_eq!(client.sent(), 1);
}

#[test]
fn the_server_refuses_when_the_page_is_gone_around() {
    let client = Client::with("mode_bypass", TABLE, &["--readonly"]);
    client.page.expect_error("403");
    for (name, sql) in BLOCKED {
        let body = json!({"sql": sql, "db": "mode_bypass"}).to_string();
        let answer = client.page.eval(&format!(
            "fetch('/api/query', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }}, body: {} }}).then(async (r) => [r.status, (await r.json()).message])",
            json!(body)
        ));
        assert_eq!(answer[0], 403, "{sql}");
        let message = answer[1].as_str().unwrap();
        assert!(
            message.starts_with("read-only mode:") && message.contains(name),
            "{message}"
        );
    }
    assert_eq!(
        Database::shared().value("SELECT GROUP_CONCAT(a, v) FROM mode_bypass.t"),
        "1x"
    );
}

#[test]
fn reading_works_in_read_only_mode() {
    let client = Client::with("mode_allowed", TABLE, &["--readonly"]);
    client.run("SELECT 'DELETE FROM t' AS a, REPLACE(v, 'x', 'b') AS `drop`, INSERT(v, 1, 1, 'z') AS c FROM t");
    assert_eq!(client.cells(), [["DELETE FROM t", "b", "z"]]);
    client.show_tables();
    client.until_ended(|| client.page.double_click(&row("t")));
    assert_eq!(client.cells(), [["1", "x"]]);
    client.until_ended(|| client.page.click("#explain"));
    client.run("SHOW CREATE TABLE t");
    assert_eq!(client.headers(), ["Table", "Create Table"]);
    super::data::open_data(&client, "t");
    assert_eq!(
        client
            .page
            .eval("eyes.all('[aria-label^=\"Import\"], [title^=\"Import\"]').length"),
        0
    );
}

#[test]
fn invisible_mode_asks_for_the_code() {
    let postern = Postern::on(Database::shared(), &["--invisible"]);
    let code = postern
        .auth_url()
        .unwrap()
        .split("code=")
        .nth(1)
        .unwrap()
        .to_owned();
    let page = Browser::shared().page();
    see(&page);
    page.expect_error("401");
    page.expect_error("403");
    page.goto(&format!("{}/", postern.url()));
    page.wait_for("document.querySelector('#code')");
    assert_eq!(page.eval("document.activeElement.id"), "code");
    page.assert_accessible("sign-in");
    page.screenshot("signin");
    assert_eq!(page.eval("fetch('/api/info').then((r) => r.status)"), 401);
    page.type_text("wrong");
    page.press("Enter");
    page.wait_for("document.querySelector('#error').innerText.includes('Wrong code')");
    page.screenshot("signin-wrong");
    page.fill("#code", &code);
    page.click("#submit");
    page.wait_for("eyes.editor() !== null");
    assert!(
        !page.eval("document.cookie").as_str().unwrap().contains('='),
        "the cookie is out of scripts' reach"
    );
    // The query of a link survives the sign-in.
    let linked = Browser::shared().page();
    see(&linked);
    linked.expect_error("401");
    linked.goto(&format!("{}/#sql=SELECT%20777", postern.url()));
    linked.wait_for("document.querySelector('#code')");
    linked.fill("#code", &code);
    linked.click("#submit");
    linked.wait_for("globalThis.eyes?.editor() === 'SELECT 777'");
    // The printed address leads in as well, and leaves no code behind.
    let other = Browser::shared().page();
    see(&other);
    other.goto(postern.auth_url().unwrap());
    other.wait_for("eyes.editor() !== null");
    assert!(
        !other
            .eval("location.href")
            .as_str()
            .unwrap()
            .contains("code=")
    );
    assert!(!postern.stderr().contains(&code));
}
