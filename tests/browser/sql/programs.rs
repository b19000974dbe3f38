//! Views, routines, triggers and events: created, edited, renamed; and after a failure they are as they were.

use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use serde_json::json;

use crate::sql::client::{Client, make_database, row};
use crate::sql::edit::server;
use crate::sql::looks::look_at;
use crate::sql::objects::{choose, menu, open_group, open_menu};
use support::database::{Kind, PASSWORD};
use support::{Browser, Database, Postern};

const SETUP: &str = "CREATE TABLE people (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40)); \
    CREATE VIEW names AS SELECT name FROM people; \
    CREATE TRIGGER first_one BEFORE INSERT ON people FOR EACH ROW SET @order = CONCAT(COALESCE(@order, ''), '1'); \
    CREATE TRIGGER second_one BEFORE INSERT ON people FOR EACH ROW SET @order = CONCAT(COALESCE(@order, ''), '2'); \
    CREATE TRIGGER third_one BEFORE INSERT ON people FOR EACH ROW SET @order = CONCAT(COALESCE(@order, ''), '3'); \
    CREATE PROCEDURE greet(IN who VARCHAR(40)) COMMENT 'says \\hello' SELECT CONCAT('hello ', who) AS said; \
    CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2031-02-03 04:05:06' ON COMPLETION PRESERVE DISABLE COMMENT 'at \\night' DO DELETE FROM people WHERE id < 0";

/// Fills a database whose objects were made in another SQL mode, and with another collation, by somebody else.
fn setup(db: &'static str) {
    make_database(
        db,
        &format!(
            "DROP USER IF EXISTS {db}_maker; CREATE USER {db}_maker IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON {db}.* TO {db}_maker; \
             DROP USER IF EXISTS {db}_caller; CREATE USER {db}_caller IDENTIFIED BY '{PASSWORD}'"
        ),
    );
    let server = Database::shared();
    let mut conn = server.conn();
    let sets = "SET SESSION sql_mode = 'ANSI_QUOTES,ONLY_FULL_GROUP_BY,NO_BACKSLASH_ESCAPES', SESSION collation_connection = 'utf8mb4_bin'";
    conn.query_drop(format!("USE {db}")).unwrap();
    conn.query_drop(sets).unwrap();
    for one in SETUP.split("; CREATE ") {
        let definer = |kind: &str| {
            format!(
                "CREATE DEFINER=`{db}_maker`@`%` {kind}{}",
                one.trim_start_matches("CREATE ").trim_start_matches(kind)
            )
        };
        let kind = one.trim_start_matches("CREATE ").split(' ').next().unwrap();
        let sql = match kind {
            "TABLE" => format!("CREATE {}", one.trim_start_matches("CREATE ")),
            kind => definer(kind),
        };
        conn.query_drop(sql).unwrap();
    }
    server.exec(&format!(
        "GRANT EXECUTE ON PROCEDURE {db}.greet TO {db}_caller WITH GRANT OPTION; GRANT SELECT (name) ON {db}.names TO {db}_caller"
    ));
}

/// All that is to be kept of the programs of a database.
fn state(db: &str) -> Vec<String> {
    let database = Database::shared();
    let schema = format!("'{db}'");
    let mut all = database.column(&format!("SELECT CONCAT_WS('|', TRIGGER_NAME, ACTION_ORDER, ACTION_STATEMENT, DEFINER, SQL_MODE, COLLATION_CONNECTION) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {schema} ORDER BY ACTION_ORDER"));
    all.extend(database.column(&format!("SELECT CONCAT_WS('|', ROUTINE_NAME, ROUTINE_DEFINITION, ROUTINE_COMMENT, DEFINER, SQL_MODE, COLLATION_CONNECTION) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {schema} ORDER BY ROUTINE_NAME")));
    all.extend(database.column(&format!("SELECT CONCAT_WS('|', EVENT_NAME, EVENT_DEFINITION, STATUS, STARTS, INTERVAL_VALUE, ON_COMPLETION, DEFINER, SQL_MODE, EVENT_COMMENT, TIME_ZONE) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {schema} ORDER BY EVENT_NAME")));
    all.extend(database.column(&format!("SELECT CONCAT_WS('|', TABLE_NAME, VIEW_DEFINITION, DEFINER, COLLATION_CONNECTION) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {schema} ORDER BY TABLE_NAME")));
    all.extend(database.column(&format!("SELECT CONCAT_WS('|', User, Host, Routine_name, Routine_type, Proc_priv) FROM mysql.procs_priv WHERE Db = {schema} ORDER BY User, Routine_name")));
    all.extend(database.column(&format!("SELECT CONCAT_WS('|', User, Table_name, Column_name, Column_priv) FROM mysql.columns_priv WHERE Db = {schema}")));
    all
}

#[track_caller]
fn open(db: &'static str) -> Client {
    setup(db);
    let postern = Postern::on(Database::shared(), &[]);
    let client = Client::of(Browser::shared(), postern, db, &format!("#db={db}"));
    client.page.expect_error("400");
    client.show_tables();
    for group in ["routines", "triggers", "events"] {
        open_group(&client, group);
    }
    client
}

/// Opens the text of an object and changes it.
#[track_caller]
fn edit(client: &Client, name: &str, from: &str, to: &str) {
    // The text goes into the tab that is there.
    client.write("");
    open_menu(client, name);
    choose(client, "Edit");
    client
        .page
        .wait_for(&format!("eyes.editor()?.includes({})", json!(from)));
    client.write(&client.editor().replacen(from, to, 1));
}

/// Runs the text, and waits for the review.
#[track_caller]
fn review(client: &Client) {
    client.page.press("Ctrl+Enter");
    client.page.wait_for("eyes.first('.structure-review .structure-sql li') && !eyes.first('.structure-review .dialog-foot .button:last-child').disabled");
}

#[track_caller]
fn press(client: &Client) {
    client
        .page
        .click(".structure-review .dialog-foot .button:last-child");
}

#[track_caller]
fn replaced(client: &Client, name: &str) {
    press(client);
    client.page.wait_for(&format!(
        "!document.querySelector('dialog') && eyes.first('.editor-message')?.innerText.includes({})",
        json!(format!("{name} was replaced"))
    ));
}

#[track_caller]
fn close(client: &Client) {
    client
        .page
        .click(".structure-review .dialog-foot .button:nth-last-child(2)");
    client.page.wait_for("!document.querySelector('dialog')");
}

/// Changes one text in those that are sent, where another one is in it, so that the server refuses it or ends the session.
fn spoil(client: &Client, part: &str, sql: &str) {
    client.page.eval(&format!(
        "(() => {{ const real = window.realFetch ??= fetch; window.spoilt = 0; window.fetch = (url, init) => {{ \
         if (!String(url).endsWith('/api/query') || window.spoilt) return real(url, init); const body = JSON.parse(init.body); \
         if (!body.session || !body.sql.includes({})) return real(url, init); window.spoilt += 1; \
         return real(url, {{ ...init, body: JSON.stringify({{ ...body, sql: {} }}) }}); }}; }})()",
        json!(part),
        json!(sql)
    ));
}

#[test]
fn each_kind_is_edited_and_all_that_belongs_to_it_stays() {
    let client = open("programs_edit");
    let before = state("programs_edit");
    for (name, from, to) in [
        ("greet", "hello ", "good day "),
        ("second_one", "'2'", "'two'"),
        ("nightly", "id < 0", "id < -1"),
        ("names", "`name` AS `name`", "`name` AS `name`, 1 AS `one`"),
    ] {
        edit(&client, name, from, to);
        review(&client);
        replaced(&client, name);
    }
    let after = state("programs_edit");
    let expected: Vec<String> = before
        .iter()
        .map(|line| {
            line.replace("hello ", "good day ")
                .replace("'2'", "'two'")
                .replace("id < 0", "id < -1")
        })
        .collect();
    let views = |list: &[String]| -> Vec<String> {
        list.iter()
            .filter(|line| !line.starts_with("names|"))
            .cloned()
            .collect()
    };
    assert_eq!(views(&after), views(&expected));
    let view = after
        .iter()
        .find(|line| line.starts_with("names|"))
        .unwrap();
    assert!(
        view.contains("`one`")
            && view.contains("programs_edit_maker")
            && view.contains("utf8mb4_bin"),
        "{view}"
    );
    server("INSERT INTO programs_edit.people (name) VALUES ('a')");
}

#[test]
fn what_fails_leaves_the_old_object() {
    let client = open("programs_fail");
    let page = &client.page;
    let before = state("programs_fail");
    let mysql = Database::shared().kind() == Kind::MySql;
    page.expect_error("50");
    // A syntax error leads to its line; then each step fails in turn, by a refusal and by the end of the session.
    edit(&client, "greet", "SELECT CONCAT", "\nSELEKT CONCAT");
    let typed = client.editor();
    review(&client);
    press(&client);
    page.wait_for("/at line 4/.test(eyes.first('.structure-said')?.innerText) && /unchanged/.test(eyes.first('.structure-said').innerText)");
    close(&client);
    page.wait_for("/at line 4/.test(eyes.first('.editor-message')?.innerText) && /line 4/.test(eyes.first('.editor-message .link').innerText)");
    assert_eq!(client.editor(), typed, "the text stays");
    assert_eq!(state("programs_fail"), before);
    let steps: &[(&str, &str, &str, &[&str])] = if mysql {
        &[
            (
                "greet",
                "hello ",
                "bye ",
                &[
                    "SET @postern",
                    "PROCEDURE `programs_fail`.`postern_trial",
                    "DROP PROCEDURE programs_fail.postern_trial",
                    "DROP PROCEDURE programs_fail.greet",
                    "PROCEDURE \"greet\"",
                    "GRANT EXECUTE",
                ],
            ),
            (
                "second_one",
                "'2'",
                "'two'",
                &[
                    "SET @postern",
                    "LOCK TABLES",
                    "TRIGGER `programs_fail`.`postern_trial",
                    "DROP TRIGGER programs_fail.postern_trial",
                    "DROP TRIGGER programs_fail.second_one",
                    "TRIGGER `second_one`",
                    "UNLOCK",
                ],
            ),
            ("nightly", "id < 0", "id < -1", &["SET @postern", "ALTER"]),
            (
                "names",
                "`name` AS `name`",
                "`name` AS `name`, 1 AS `one`",
                &["SET @postern", "OR REPLACE"],
            ),
        ]
    } else {
        &[
            ("greet", "hello ", "bye ", &["SET @postern", "OR REPLACE"]),
            (
                "second_one",
                "'2'",
                "'two'",
                &["SET @postern", "OR REPLACE"],
            ),
            ("nightly", "id < 0", "id < -1", &["SET @postern", "ALTER"]),
            (
                "names",
                "`name` AS `name`",
                "`name` AS `name`, 1 AS `one`",
                &["SET @postern", "OR REPLACE"],
            ),
        ]
    };
    for (name, from, to, parts) in steps {
        for part in *parts {
            for fault in ["SELEKT", "KILL CONNECTION_ID()"] {
                edit(&client, name, from, to);
                review(&client);
                spoil(&client, part, fault);
                press(&client);
                page.wait_for("window.spoilt === 1 && eyes.first('.structure-told')");
                page.wait_for("!eyes.first('.structure-review .dialog-foot .button:nth-last-child(2)')?.disabled");
                page.wait_for("eyes.all('.structure-told').length >= 2");
                let told = client.text(".structure-said");
                if *part != "UNLOCK" {
                    assert_eq!(
                        state("programs_fail"),
                        before,
                        "{name} {part} {fault}: {told}"
                    );
                }
                close(&client);
            }
        }
    }
    assert_eq!(state("programs_fail"), before);
    assert_eq!(page.eval("JSON.stringify(Object.keys(localStorage).filter((key) => key.endsWith('.replacing')).map((key) => localStorage[key]).filter((text) => text !== 'null'))"), "[]");
}

#[test]
fn objects_get_other_names_with_all_that_belongs_to_them() {
    let client = open("programs_name");
    let page = &client.page;
    let before = state("programs_name");
    for (name, to) in [
        ("greet", "salute"),
        ("second_one", "zweiter"),
        ("nightly", "daily"),
        ("names", "labels"),
    ] {
        open_menu(&client, name);
        choose(&client, "Rename …");
        page.wait_for("eyes.first('dialog input')");
        page.fill("dialog input", to);
        page.press("Enter");
        page.wait_for("eyes.first('.structure-review .structure-sql li')");
        press(&client);
        page.wait_for(&format!(
            "!document.querySelector('dialog') && document.querySelector('{}')",
            row(to)
        ));
    }
    let renamed: Vec<String> = before
        .iter()
        .map(|line| {
            line.replace("greet", "salute")
                .replace("second_one", "zweiter")
                .replace("nightly", "daily")
                .replace("names", "labels")
        })
        .collect();
    let mut after = state("programs_name");
    let mut renamed = renamed;
    after.sort();
    renamed.sort();
    assert_eq!(after, renamed);
}

#[test]
fn new_objects_run_as_the_template_says() {
    let client = open("programs_new");
    let page = &client.page;
    for (group, kinds) in [
        ("routines", &["procedure", "function"][..]),
        ("triggers", &["trigger"]),
        ("events", &["event"]),
    ] {
        for kind in kinds {
            page.click(&format!(".group-new[data-fresh={group}]"));
            // A single kind is begun at once.
            if kinds.len() > 1 {
                page.wait_for("eyes.first('.menu')");
                choose(&client, &format!("New {kind} …"));
            }
            page.wait_for(&format!("eyes.editor()?.includes('new_{kind}')"));
            client.until_ended(|| page.press("Ctrl+Enter"));
            assert_eq!(
                client.text("#progress-text").split(' ').next(),
                Some("Done"),
                "{kind}"
            );
            // The lists are drawn afresh.
            let made = row(&format!("new_{kind}"));
            page.wait_for(&format!("document.querySelector('{made}')"));
        }
    }
    open_menu(&client, "people");
    assert!(menu(&client).contains(&"New trigger …".to_owned()));
    page.press("t");
    assert_eq!(
        page.eval("document.activeElement.textContent"),
        "Truncate …"
    );
    page.press("Escape");
    page.click(".sidebar-head .back");
    page.wait_for("eyes.first('.row-main[data-kind=database]')");
    open_menu(&client, "programs_new");
    choose(&client, "New view …");
    page.wait_for("eyes.editor()?.includes('new_view')");
    client.until_ended(|| page.press("Ctrl+Enter"));
    let made = Database::shared().column("SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'programs_new' AND TRIGGER_NAME LIKE 'new%' UNION ALL SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'programs_new' AND ROUTINE_NAME LIKE 'new%' UNION ALL SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'programs_new' AND EVENT_NAME LIKE 'new%' UNION ALL SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'programs_new' AND TABLE_NAME LIKE 'new%'");
    assert_eq!(made.len(), 5, "{made:?}");
}

/// An account that may not read the text or the privileges replaces nothing.
#[test]
fn who_cannot_read_all_of_it_replaces_nothing() {
    let db = "programs_blind";
    setup(db);
    let server = Database::shared();
    server.exec("DROP USER IF EXISTS programs_blind; CREATE USER programs_blind IDENTIFIED BY 'pw'; GRANT ALTER ROUTINE, CREATE ROUTINE, EXECUTE, TRIGGER, SELECT ON programs_blind.* TO programs_blind");
    let target = server.target();
    let postern = Postern::start(&["--db-user", db, "--db-pass", "pw", &target], &[]);
    let client = Client::of(Browser::shared(), postern, db, &format!("#db={db}"));
    client.page.expect_error("400");
    client.page.expect_error("403");
    let before = state(db);
    client.show_tables();
    client.write("CREATE PROCEDURE greet() SELECT 2");
    client.page.press("Ctrl+Enter");
    client
        .page
        .wait_for("eyes.first('.editor-message')?.innerText.includes('was not replaced')");
    let told = client.text(".editor-message");
    assert!(told.contains("cannot read"), "{told}");
    assert_eq!(state(db), before);
    // A definer that it may not set; the LOCK TABLES privilege that it does not have.
    let definer = format!(
        "CREATE DEFINER=`{db}_maker`@`%` TRIGGER second_one BEFORE INSERT ON people FOR EACH ROW SET @order = 'x'"
    );
    client.write(&definer);
    client.page.press("Ctrl+Enter");
    client
        .page
        .wait_for("eyes.first('.structure-review .structure-sql li, .editor-message')");
    if client
        .page
        .eval("document.querySelector('.structure-review') !== null")
        == true
    {
        press(&client);
        client.page.wait_for("eyes.first('.structure-told')");
        close(&client);
    }
    assert_eq!(state(db), before);
}

/// The page is gone after the DROP: the next one offers the old text.
#[test]
fn a_page_that_goes_in_between_leaves_the_old_text() {
    if Database::shared().kind() != Kind::MySql {
        return; // MariaDB replaces in one statement.
    }
    let client = open("programs_gone");
    let page = &client.page;
    let before = state("programs_gone");
    edit(&client, "greet", "hello ", "bye ");
    review(&client);
    page.eval("(() => { const real = fetch; window.fetch = (url, init) => { if (String(init?.body).includes('PROCEDURE \\\\\"greet') && String(init.body).includes('bye')) { window.stuck = true; return new Promise(() => {}); } return real(url, init); }; })()");
    press(&client);
    page.wait_for("window.stuck");
    assert_ne!(state("programs_gone"), before);
    page.reload();
    client.wait_until_ready();
    page.wait_for("eyes.first('.toast')?.innerText.includes('greet is missing')");
    // Of two that were interrupted, the other one is offered once the first is restored.
    page.eval("(() => { const [name, text] = Object.entries(localStorage).find(([one]) => one.endsWith('.replacing')); const [one] = JSON.parse(text); localStorage.setItem(name, JSON.stringify([one, JSON.parse(JSON.stringify({ ...one, id: 'another' }).replaceAll('greet', 'greet_again'))])); })()");
    page.reload();
    client.wait_until_ready();
    for name in ["greet_again", "greet"] {
        page.wait_for(&format!(
            "eyes.first('.toast')?.innerText.includes('{name} is missing')"
        ));
        page.click(".toast text=Restore");
        page.wait_for("eyes.first('.structure-review .structure-sql li')");
        press(&client);
        page.wait_for("!document.querySelector('dialog')");
    }
    Database::shared().exec("DROP PROCEDURE programs_gone.greet_again");
    assert_eq!(state("programs_gone"), before);
    page.reload();
    client.wait_until_ready();
    client.settle();
    assert_eq!(page.eval("document.querySelectorAll('.toast').length"), 0);
}

/// Another session replaces what is being edited: nothing of it is lost without a word, also after a reload.
#[test]
fn what_somebody_else_changed_is_not_overwritten_without_a_word() {
    let client = open("programs_theirs");
    let page = &client.page;
    let database = Database::shared();
    edit(&client, "greet", "hello ", "bye ");
    database.exec("SET SESSION sql_mode = 'ANSI_QUOTES,ONLY_FULL_GROUP_BY,NO_BACKSLASH_ESCAPES'; USE programs_theirs; DROP PROCEDURE greet; CREATE PROCEDURE greet(IN who VARCHAR(40)) SELECT CONCAT('theirs ', who) AS said");
    let theirs = state("programs_theirs");
    page.reload();
    client.wait_until_ready();
    page.wait_for("eyes.editor()?.includes('bye ')");
    page.press("Ctrl+Enter");
    page.wait_for(
        "eyes.all('.text-changes .good').some((one) => one.innerText.includes('theirs '))",
    );
    assert_eq!(
        page.eval("eyes.all('.text-changes .bad').some((one) => one.innerText.includes('hello '))"),
        true
    );
    assert_eq!(
        page.eval("document.querySelector('.structure-review') === null"),
        true
    );
    page.click("dialog .dialog-foot text=Cancel");
    page.wait_for("!document.querySelector('dialog') && eyes.first('.editor-message')?.innerText.includes('changed since you opened it')");
    assert_eq!(state("programs_theirs"), theirs);
    page.press("Ctrl+Enter");
    page.wait_for("eyes.first('.text-changes')");
    page.click("dialog .dialog-foot text=Overwrite it …");
    page.wait_for("eyes.first('.structure-review .structure-losses')?.innerText.includes('changed since you opened it')");
    assert_eq!(page.eval("document.querySelector('.structure-review details pre').textContent.includes('theirs ')"), true);
    assert!(
        client
            .text(".structure-notes")
            .contains("definer changes from")
    );
    replaced(&client, "greet");
    assert_eq!(
        page.eval("document.querySelector('.editor-message .link') === null"),
        true,
        "a success leads nowhere"
    );
    // The next change begins with the new text.
    client.write(&client.editor().replace("bye ", "so long "));
    review(&client);
    replaced(&client, "greet");
    assert!(server("SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'programs_theirs'").contains("so long "));
}

/// Another session creates the procedure between DROP and CREATE: theirs stays, and the old text is kept.
#[test]
fn what_somebody_else_created_in_between_stays() {
    if Database::shared().kind() != Kind::MySql {
        return; // MariaDB replaces in one statement.
    }
    let client = open("programs_between");
    let page = &client.page;
    page.expect_error("400");
    page.expect_error("50");
    edit(&client, "greet", "hello ", "bye ");
    review(&client);
    page.eval("(() => { const real = fetch; window.fetch = (url, init) => { if (String(init?.body).includes('PROCEDURE \\\\\"greet') && String(init.body).includes('bye')) return new Promise((done) => { window.go = () => done(real(url, init)); }); return real(url, init); }; })()");
    press(&client);
    page.wait_for("window.go");
    Database::shared().exec("USE programs_between; CREATE PROCEDURE greet() SELECT 'theirs'");
    let theirs = state("programs_between");
    page.eval("window.go()");
    page.wait_for("eyes.all('.structure-told').some((one) => one.innerText.includes('somebody else created it meanwhile'))");
    assert_eq!(state("programs_between"), theirs);
    close(&client);
    page.wait_for("eyes.editor()?.includes('hello ')");
    page.reload();
    client.wait_until_ready();
    page.click(".toast text=Open the old text");
    page.wait_for("eyes.editor()?.includes('hello ')");
    assert_eq!(state("programs_between"), theirs);
    page.reload();
    client.wait_until_ready();
    client.settle();
    assert_eq!(page.eval("document.querySelectorAll('.toast').length"), 0);
}

/// A restored procedure was recorded with another character set: that is said.
#[test]
fn a_restored_program_tells_what_differs() {
    if Database::shared().kind() != Kind::MySql {
        return; // MariaDB replaces in one statement.
    }
    let client = open("programs_restored");
    let page = &client.page;
    page.expect_error("400");
    Database::shared().exec("USE programs_restored; SET NAMES latin1; DROP PROCEDURE greet; CREATE PROCEDURE greet() SELECT 'hello '");
    edit(&client, "greet", "hello ", "bye ");
    review(&client);
    spoil(&client, "PROCEDURE `greet`", "SELEKT");
    press(&client);
    page.wait_for("eyes.all('.structure-told').some((one) => /was restored\\. The recorded character set of its text is utf8mb4 now, and was latin1\\./.test(one.innerText))");
}

/// While a trigger is replaced, no row is written without it.
#[test]
fn no_write_passes_without_its_trigger() {
    let client = open("programs_lock");
    let page = &client.page;
    edit(
        &client,
        "second_one",
        "SET @order",
        "SET NEW.name = 'seen', @order",
    );
    review(&client);
    replaced(&client, "second_one");
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writing = {
        let stop = stop.clone();
        thread::spawn(move || {
            let mut conn = Database::shared().conn();
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                conn.query_drop("INSERT INTO programs_lock.people (name) VALUES ('raw')")
                    .unwrap();
            }
        })
    };
    for n in 0..4 {
        edit(&client, "second_one", "'seen'", "'seen'");
        client.write(&client.editor().replace("'2'", &format!("'2{n}'")));
        review(&client);
        replaced(&client, "second_one");
    }
    thread::sleep(Duration::from_millis(100));
    stop.store(true, std::sync::atomic::Ordering::SeqCst);
    writing.join().unwrap();
    assert_eq!(
        server("SELECT COUNT(*) FROM programs_lock.people WHERE name = 'raw'"),
        "0"
    );
    assert_ne!(server("SELECT COUNT(*) FROM programs_lock.people"), "0");
    page.wait_for("true");
}

/// Somebody else holds the table: the change ends after its time, and nothing was dropped.
#[test]
fn a_lock_that_is_held_leaves_the_trigger() {
    let client = open("programs_held");
    let page = &client.page;
    let before = state("programs_held");
    let mut holder = Database::shared().conn();
    holder
        .query_drop("LOCK TABLES programs_held.people READ")
        .unwrap();
    edit(&client, "second_one", "'2'", "'two'");
    review(&client);
    spoil(&client, "SET @postern", "SET SESSION lock_wait_timeout = 1");
    press(&client);
    page.wait_for("/[Ll]ock wait timeout/.test(eyes.first('.structure-said')?.innerText) && eyes.all('.structure-told').length >= 2");
    assert!(client.text(".structure-said").contains("is unchanged"));
    holder.query_drop("UNLOCK TABLES").unwrap();
    close(&client);
    assert_eq!(state("programs_held"), before);
}

#[test]
fn an_event_is_enabled_and_disabled_in_its_menu() {
    let client = open("programs_event");
    let before = state("programs_event");
    for (entry, expected) in [("Enable …", "ENABLED"), ("Disable …", "DISABLED")] {
        open_menu(&client, "nightly");
        choose(&client, entry);
        client
            .page
            .wait_for("eyes.first('.structure-review .structure-sql li')");
        press(&client);
        client.page.wait_for("!document.querySelector('dialog')");
        assert_eq!(
            server(
                "SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'programs_event'"
            ),
            expected
        );
    }
    assert_eq!(state("programs_event"), before);
    // Its text has lines of its own.
    open_menu(&client, "nightly");
    choose(&client, "Edit");
    client
        .page
        .wait_for("/\\nON SCHEDULE [^]*\\nDO\\nDELETE/.test(eyes.editor())");
}

#[test]
fn the_review_of_a_program_looks_right() {
    let client = open("programs_looks");
    edit(&client, "second_one", "'2'", "'two'");
    look_at(&client, "program-review", || {
        client
            .page
            .eval("document.querySelector('dialog')?.close()");
        client
            .page
            .eval("document.querySelector('textarea.editor-area').focus()");
        review(&client);
    });
}
