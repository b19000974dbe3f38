//! The pages about the server: processes, status, variables, accounts, sizes.

use std::sync::Arc;
use std::thread;

use mysql::prelude::Queryable;
use serde_json::json;

use crate::sql::client::{Client, strings};
use crate::sql::looks::look;
use support::database::PASSWORD;
use support::{Browser, Database, Postern, TIMEOUT, wait_until};

/// Goes to a page by its address and waits for its rows.
#[track_caller]
fn go(client: &Client, page: &str) {
    client
        .page
        .eval(&format!("location.hash = 'server={page}'"));
    client.page.wait_for(&format!(
        "eyes.first('.server-head a[aria-current]')?.dataset.page === '{page}' && (eyes.first('.server-table tbody tr') || eyes.first('.server-note'))"
    ));
    client.settle();
}

/// The row of the table that holds a text.
#[track_caller]
fn row_with(client: &Client, text: &str) -> String {
    let row = format!(
        "eyes.all('.server-table tbody tr').find((row) => row.innerText.includes({}))?.innerText ?? ''",
        json!(text)
    );
    client.page.wait_for(&row);
    strings(client.page.eval(&row))
}

#[track_caller]
fn rows(client: &Client) -> usize {
    strings(
        client
            .page
            .eval("eyes.all('.server-table tbody tr').length"),
    )
}

/// A client of an account that may next to nothing.
#[track_caller]
fn as_nobody(user: &str) -> Client {
    let server = Database::shared();
    server.exec(&format!(
        "DROP USER IF EXISTS {user}@'%'; CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'"
    ));
    let target = server.target();
    let args = [
        "--readonly",
        "--db-user",
        user,
        "--db-pass",
        PASSWORD,
        &target,
    ];
    Client::of(Browser::shared(), Postern::start(&args, &[]), "", "")
}

#[test]
fn a_menu_leads_to_the_pages_and_a_key_back() {
    let client = Client::open("server_menu", "");
    let page = &client.page;
    let loaded = |part: &str| {
        let urls = page.requests();
        urls.iter().any(|request| request.url.contains(part))
    };
    assert!(!loaded("server/page"), "loaded when it is wanted");
    client.write("SELECT 'mine'");
    page.click("#server-menu");
    page.wait_for("eyes.first('.menu')");
    page.click(".menu text=Variables");
    page.wait_for("location.hash === '#server=variables' && eyes.first('.server-table tbody tr')");
    assert!(loaded("server/page"));
    assert_eq!(page.eval("eyes.first('#main')"), json!(null));
    // A statement that is out of sight is not run.
    page.press("Ctrl+Enter");
    client.settle();
    assert!(
        !page
            .requests()
            .iter()
            .any(|r| r.body.contains("\"session\""))
    );
    // The page is found again after a reload, and by the way back.
    page.reload();
    page.wait_for("eyes.first('.server-table tbody tr')");
    page.press("Escape");
    page.wait_for("eyes.first('#main') && !eyes.first('#server') && location.hash === ''");
    assert_eq!(client.editor(), "SELECT 'mine'");
    page.eval("history.back()");
    page.wait_for("eyes.first('#server')");
}

#[test]
fn a_query_that_runs_is_seen_and_killed() {
    let client = Client::open("server_kill", "");
    let page = &client.page;
    let sleeper = Arc::new(Database::shared());
    let mut conn = sleeper.conn();
    let id: u64 = conn.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
    let ended = thread::spawn(move || {
        let told = conn.query_drop("SELECT /* to be killed */ SLEEP(600)");
        (told, conn)
    });
    go(&client, "processes");
    let row = row_with(&client, "to be killed");
    assert!(row.contains(&id.to_string()), "{row}");
    assert!(row_with(&client, "this page").contains("CONNECTION_ID"));
    // The whole text is one press away.
    page.click(&format!(
        ".server-table button[data-act=query][data-row=\"{id}\"]"
    ));
    page.wait_for("eyes.first('dialog')?.innerText.includes('SLEEP(600)')");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    page.click(&format!("[data-act=kill-query][data-row=\"{id}\"]"));
    page.wait_for("eyes.first('dialog')");
    assert!(client.text("dialog").contains(&format!("KILL QUERY {id}")));
    page.click("dialog .button.danger");
    page.wait_for_text("was killed");
    let (_, mut conn) = ended.join().unwrap();
    assert_eq!(
        conn.query_first::<u8, _>("SELECT 1").unwrap(),
        Some(1),
        "the connection lives"
    );
    // Then the connection.
    page.wait_for(&format!("!eyes.first('[data-act=kill-query][data-row=\"{id}\"]') && eyes.first('[data-act=kill][data-row=\"{id}\"]')"));
    page.click(&format!("[data-act=kill][data-row=\"{id}\"]"));
    page.wait_for("eyes.first('dialog')");
    page.click("dialog .button.danger");
    page.wait_for(&format!(
        "!eyes.first('[data-act=kill][data-row=\"{id}\"]')"
    ));
    wait_until(TIMEOUT, "the connection is closed", || {
        conn.query_drop("SELECT 1").is_err()
    });
}

#[test]
fn who_waits_for_whom_is_told_also_of_a_blocker_that_runs_something() {
    let client = Client::open(
        "server_waits",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 0)",
    );
    let page = &client.page;
    let mut holder = Database::shared().conn();
    let mut waiter = Database::shared().conn();
    let id = |conn: &mut mysql::Conn| -> u64 {
        conn.query_first("SELECT CONNECTION_ID()").unwrap().unwrap()
    };
    let (held_by, waits) = (id(&mut holder), id(&mut waiter));
    holder.query_drop("BEGIN").unwrap();
    holder
        .query_drop("UPDATE server_waits.t SET v = 1 WHERE id = 1")
        .unwrap();
    let busy = thread::spawn(move || {
        let _ = holder.query_drop("SELECT /* the blocker */ SLEEP(600)");
        holder
    });
    let waiting = thread::spawn(move || {
        let _ = waiter.query_drop("UPDATE /* the waiter */ server_waits.t SET v = 2 WHERE id = 1");
    });
    go(&client, "processes");
    page.eval("(() => { const pause = document.querySelector('.server-pause select'); pause.value = '2'; pause.dispatchEvent(new Event('change')); })()");
    page.wait_for(&format!(
        "eyes.all('.server-table tbody tr').some((row) => row.innerText.includes('/* the waiter */') && row.innerText.includes('waits for {held_by}'))"
    ));
    let row = row_with(&client, "/* the blocker */");
    assert!(row.contains(&format!("blocks {waits}")), "{row}");
    page.wait_for(&format!("eyes.first('.server-notes').innerText.includes(', which runs a statement, blocks 1 connection') && eyes.first('.server-notes').innerText.includes('{held_by} of ')"));
    look(&client, "server-waits");
    Database::shared().exec(&format!("KILL QUERY {held_by}"));
    let mut holder = busy.join().unwrap();
    holder.query_drop("ROLLBACK").unwrap();
    waiting.join().unwrap();
    let free = "!/blocks|waits for/.test(eyes.first('.server-table').innerText)";
    page.wait_for(free);
    // Metadata locks, where the server records them.
    if Database::shared().value("SELECT @@performance_schema") != "1" {
        return;
    }
    holder.query_drop("BEGIN").unwrap();
    let _: Vec<u64> = holder.query("SELECT id FROM server_waits.t").unwrap();
    let waiting = thread::spawn(|| {
        let mut waiter = Database::shared().conn();
        let _ = waiter.query_drop("ALTER TABLE /* the waiter */ server_waits.t ADD c INT");
    });
    page.wait_for(&format!(
        "eyes.all('.server-table tbody tr').some((row) => row.innerText.includes('/* the waiter */') && row.innerText.includes('waits for {held_by}'))"
    ));
    holder.query_drop("ROLLBACK").unwrap();
    waiting.join().unwrap();
    page.wait_for(free);
}

#[test]
fn processes_are_looked_at_again_until_that_is_paused() {
    let client = Client::open("server_again", "");
    let page = &client.page;
    go(&client, "processes");
    page.eval("(() => { const pause = document.querySelector('.server-pause select'); pause.value = '2'; pause.dispatchEvent(new Event('change')); })()");
    let before = client.sent();
    page.wait_for("new Promise((done) => setTimeout(() => done(true), 2600))");
    assert!(client.sent() > before);
    page.eval("(() => { const pause = document.querySelector('.server-pause select'); pause.value = '0'; pause.dispatchEvent(new Event('change')); })()");
    page.wait_for("new Promise((done) => setTimeout(() => done(true), 500))");
    let before = client.sent();
    page.wait_for("new Promise((done) => setTimeout(() => done(true), 2600))");
    assert_eq!(client.sent(), before);
    // Nobody asks for a page that is left.
    page.press("Escape");
    page.wait_for("eyes.first('#main')");
}

#[test]
fn read_only_mode_kills_nothing_and_says_what_the_account_may_not_see() {
    let client = as_nobody("server_nobody");
    let page = &client.page;
    go(&client, "processes");
    page.wait_for("/PROCESS privilege/.test(eyes.first('.server-notes')?.innerText)");
    assert!(
        client
            .text(".server-notes")
            .contains("nothing can be killed")
    );
    assert_eq!(
        page.eval("eyes.all('[data-act=kill], [data-act=kill-query]').length"),
        0
    );
    assert!(rows(&client) >= 1);
    go(&client, "status");
    page.wait_for("eyes.all('.server-table tbody tr').length > 100");
    go(&client, "variables");
    page.wait_for("eyes.all('.server-table tbody tr').length > 100");
    page.expect_error("400");
    go(&client, "accounts");
    page.wait_for("eyes.first('.server-detail pre')");
    assert!(
        client
            .text(".server-notes")
            .contains("SELECT on the tables of mysql")
    );
    assert!(
        client
            .text(".server-detail")
            .contains("GRANT USAGE ON *.* TO")
    );
    go(&client, "sizes");
    page.wait_for("eyes.all('.server-table tbody tr').length >= 1");
    look(&client, "server-nobody-sizes");
}

#[test]
fn counters_tell_how_fast_they_count() {
    let client = Client::open("server_status", "");
    let page = &client.page;
    go(&client, "status");
    page.wait_for("eyes.all('.server-table tbody tr').length > 100");
    page.click(".server-tools [aria-label=Refresh]");
    page.wait_for("eyes.first('.server-table td.changed')");
    page.click(".server-check input");
    page.wait_for("eyes.all('.server-table tbody tr').length < 100");
    let questions = row_with(&client, "Questions");
    assert!(questions.contains('+'), "{questions}");
    page.fill(".server-search", "questions");
    page.wait_for("eyes.all('.server-table tbody tr').length === 1");
    look(&client, "server-status");
}

#[test]
fn variables_say_which_are_not_the_default_and_which_changed() {
    let client = Client::open("server_variables", "");
    let page = &client.page;
    let server = Database::shared();
    server.exec("SET GLOBAL max_connect_errors = 100");
    go(&client, "variables");
    page.fill(".server-search", "innodb_buffer_pool_size");
    let pool = row_with(&client, "innodb_buffer_pool_size");
    assert!(pool.contains("not the default"), "{pool}");
    page.fill(".server-search", "max_connect_errors");
    server.exec("SET GLOBAL max_connect_errors = 4321");
    page.click(".server-tools [aria-label=Refresh]");
    page.wait_for("/4321/.test(eyes.first('.server-table td.changed')?.innerText)");
    assert!(row_with(&client, "4321").contains("was 100 when this page was opened"));
    page.fill(".server-search", "");
    page.click(".server-check input");
    page.wait_for("eyes.first('.server-count').innerText.includes(' of ')");
    look(&client, "server-variables");
    server.exec("SET GLOBAL max_connect_errors = 100");
}

#[test]
fn accounts_are_listed_with_what_each_may_do_and_no_password() {
    Database::shared().exec(
        "DROP USER IF EXISTS server_locked@'%'; DROP ROLE IF EXISTS server_role; CREATE ROLE server_role; GRANT SELECT ON mysql.* TO server_role; \
         CREATE USER server_locked@'%' IDENTIFIED BY 'pw' ACCOUNT LOCK; GRANT server_role TO server_locked@'%'; GRANT SELECT ON mysql.db TO server_locked@'%'",
    );
    let client = Client::open("server_accounts", "");
    let page = &client.page;
    go(&client, "accounts");
    let locked = row_with(&client, "server_locked@%");
    assert!(locked.contains("locked"), "{locked}");
    assert!(row_with(&client, "server_role").contains("role"));
    page.click(".server-table text=server_locked@%");
    page.wait_for("eyes.first('.account-grants li')");
    let told = client.text(".server-detail");
    assert!(
        told.contains("SELECT ON `mysql`.`db`") && told.contains("server_role"),
        "{told}"
    );
    let hash = page.eval(r"/\*[0-9A-F]{40}|\$A\$/.test(document.body.innerText)");
    assert_eq!(hash, false, "{told}");
    look(&client, "server-accounts");
}

#[test]
fn databases_and_tables_are_listed_by_size() {
    let client = Client::open(
        "server_sizes",
        "CREATE TABLE large (id INT PRIMARY KEY, t VARCHAR(200)); INSERT INTO large SELECT seq, REPEAT('x', 200) FROM seq_1_to_5000; \
         CREATE TABLE small (id INT PRIMARY KEY)",
    );
    let page = &client.page;
    // A list that is not whole yet says so, and compares nothing.
    page.eval("(() => { const real = fetch; const gate = new Promise((go) => { window.letGo = go; }); window.fetch = async (url, ...rest) => { if (/tables.*db=server_sizes&/.test(url)) await gate; return real(url, ...rest); }; })()");
    go(&client, "sizes");
    page.wait_for("/^(\\d+) of (?!\\1 )\\d+ databases so far$/.test(eyes.first('.server-count').innerText) && eyes.all('.server-table tbody tr').length > 0");
    page.wait_for("eyes.all('.server-table .share').every((share) => share.innerText === '')");
    page.eval("letGo()");
    row_with(&client, "server_sizes");
    page.wait_for("/^\\d+ databases$/.test(eyes.first('.server-count').innerText)");
    let off = "Math.max(...eyes.all('.share').map((share) => Math.abs(parseFloat(share.innerText) - 100 * share.querySelector('.share-bar span').offsetWidth / share.querySelector('.share-bar').offsetWidth)))";
    page.wait_for(&format!("{off} < 3"));
    page.click(".server-table text=server_sizes");
    page.wait_for("eyes.first('.server-tools h3')?.innerText === 'server_sizes' && eyes.all('.server-table tbody tr').length === 2");
    let names: Vec<String> =
        strings(page.eval("eyes.all('.server-table tbody .link').map((link) => link.textContent)"));
    assert_eq!(names, ["large", "small"]);
    assert!(row_with(&client, "large").contains("≈"));
    page.click(".server-table th button[data-sort=name]");
    page.click(".server-table th button[data-sort=name]");
    let names: Vec<String> =
        strings(page.eval("eyes.all('.server-table tbody .link').map((link) => link.textContent)"));
    assert_eq!(names, ["small", "large"]);
    look(&client, "server-sizes");
    // A table leads to its schema.
    page.click(".server-table text=large");
    page.wait_for("eyes.first('.schema h2')?.innerText.endsWith('large')");
}

#[test]
fn the_list_of_processes_looks_well() {
    let client = Client::open("server_looks", "");
    go(&client, "processes");
    client.page.eval("(() => { const pause = document.querySelector('.server-pause select'); pause.value = '0'; pause.dispatchEvent(new Event('change')); })()");
    look(&client, "server-processes");
}

/// True if every found element lies within the window and would receive a click there.
const IN_SIGHT: &str = r"((found) => found.length > 0 && found.every((one) => {
  const box = one.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  return box.left >= 0 && box.right <= innerWidth + 1 && document.elementFromPoint(x, y)?.closest('td, th') === one.closest('td, th');
}))";

/// A window of a size.
fn size(client: &Client, (width, height): (u32, u32)) {
    client.page.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}),
    );
}

#[test]
fn whom_one_kills_and_the_button_are_in_sight_together() {
    for window in [(1440, 900), (1024, 768), (720, 450), (360, 740)] {
        let client = Client::open("server_sight", "");
        let page = &client.page;
        size(&client, window);
        go(&client, "processes");
        row_with(&client, "CONNECTION_ID");
        for scrolled in [0, 10_000] {
            let row = "eyes.all('.server-table tbody tr').find((row) => row.innerText.includes('SELECT ID'))";
            // Other tests' connections may stand above it.
            page.eval(&format!(
                "(() => {{ {row}.scrollIntoView({{ block: 'center' }}); document.querySelector('.server-table').scrollLeft = {scrolled}; }})()"
            ));
            for part in ["[data-act=kill]", ".stays-start > span"] {
                let seen = page.eval(&format!("{IN_SIGHT}([{row}.querySelector('{part}')])"));
                assert_eq!(seen, json!(true), "{part} of {window:?} at {scrolled}");
            }
        }
        page.eval("document.querySelector('.server-table').scrollLeft = 0");
        let query: Vec<f64> = strings(page.eval(
            "(() => { const box = eyes.first('[data-act=query]').closest('td').getBoundingClientRect(); return [box.left, box.width, box.height, innerWidth]; })()",
        ));
        assert!(query[0] + 100.0 < query[3], "the query of {window:?}");
        assert!(query[2] < 60.0, "one line of {window:?}");
        page.assert_accessible("the processes in a window of another size");
    }
}

#[test]
fn a_transaction_that_waits_is_marked() {
    let server = Database::shared();
    let client = Client::open(
        "server_open",
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)",
    );
    let mut conn = server.conn();
    conn.query_drop("START TRANSACTION").unwrap();
    conn.query_drop("UPDATE server_open.t SET id = 2").unwrap();
    let id: u64 = conn.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
    go(&client, "processes");
    let row = format!(
        "eyes.all('.server-table tbody tr').find((row) => row.querySelector('[data-row=\"{id}\"]'))?.innerText ?? ''"
    );
    client
        .page
        .wait_for(&format!("({row}).includes('transaction open')"));
    conn.query_drop("ROLLBACK").unwrap();
    client.page.click("[aria-label=Refresh]");
    client
        .page
        .wait_for(&format!("!({row}).includes('transaction open')"));
}

#[test]
fn a_name_and_its_value_are_seen_together_in_a_narrow_window() {
    let client = Client::open("server_narrow", "");
    let page = &client.page;
    for window in [(720, 450), (360, 740)] {
        size(&client, window);
        for name in ["status", "variables"] {
            go(&client, name);
            let cells = "[...document.querySelector('.server-table tbody tr').cells].slice(0, 2)";
            let seen = page.eval(&format!("{IN_SIGHT}({cells})"));
            assert_eq!(seen, json!(true), "{name} of {window:?}");
            page.eval("document.querySelector('.server-table').scrollLeft = 10000");
            let seen = page.eval(&format!("{IN_SIGHT}({cells}.slice(0, 1))"));
            assert_eq!(
                seen,
                json!(true),
                "the name of {name} of {window:?}, scrolled"
            );
        }
    }
}
