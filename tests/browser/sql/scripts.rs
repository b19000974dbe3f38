//! Scripts: many statements at the server's speed, and from files of any size.

use std::time::{Duration, Instant};

use crate::sql::client::Client;
use support::{Database, allowed};

/// Drops a file of this text, a JavaScript expression, on the editor.
fn drop_file(client: &Client, name: &str, text: &str) {
    client.page.eval(&format!(
        "(() => {{ const t = new DataTransfer(); t.items.add(new File([{text}], '{name}')); \
         eyes.first('textarea.editor-area').dispatchEvent(new DragEvent('drop', {{ dataTransfer: t, bubbles: true, cancelable: true }})); }})()"
    ));
}

#[test]
fn a_thousand_inserts_take_a_moment_and_each_is_told() {
    let client = Client::open("scripts_many", "CREATE TABLE t (n INT PRIMARY KEY)");
    let script: String = (0..1000)
        .map(|n| format!("INSERT INTO t VALUES ({n});\n"))
        .collect();
    client.write(&script);
    let begun = Instant::now();
    client.until_ended(|| client.page.press("Ctrl+Shift+Enter"));
    let took = begun.elapsed();
    eprintln!("1,000 INSERTs in the page took {took:?}");
    assert!(took < allowed(Duration::from_millis(1500)), "{took:?}");
    assert!(
        client
            .text("#progress-text")
            .starts_with("Done · 1,000 of 1,000 statements")
    );
    assert_eq!(
        Database::shared().value("SELECT COUNT(*) FROM scripts_many.t"),
        "1000"
    );
    // The newest is in view.
    client.page.wait_for(
        "eyes.first('.messages-list .message:last-child')?.innerText.includes('VALUES (999)')",
    );
    let seen = "(() => { const list = eyes.first('.messages').getBoundingClientRect(); const last = eyes.first('.messages-list .message:last-child').getBoundingClientRect(); return last.bottom <= list.bottom + 1; })()";
    assert_eq!(client.page.eval(seen), true);
}

#[test]
fn a_script_stops_at_the_statement_that_fails_and_says_what_was_not_run() {
    let client = Client::open("scripts_stop", "CREATE TABLE t (n INT PRIMARY KEY)");
    client
        .run_script("INSERT INTO t VALUES (1); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)");
    let told = client.text("#progress-text");
    assert!(
        told.starts_with("1 failed · 1 of 3 statements ran, 1 not run"),
        "{told}"
    );
    assert_eq!(
        Database::shared().value("SELECT GROUP_CONCAT(n) FROM scripts_stop.t"),
        "1"
    );
    assert!(client.text(".editor-message").contains("Duplicate entry"));
}

#[test]
fn a_large_script_is_run_from_its_file_and_tells_the_line_of_a_failure() {
    let client = Client::open(
        "scripts_file",
        "CREATE TABLE t (n INT PRIMARY KEY, s LONGTEXT)",
    );
    let page = &client.page;
    // One statement is longer than a piece, and one stands behind a delimiter of its own.
    let text = "Array.from({ length: 3000 }, (_, n) => `INSERT INTO t VALUES (${n}, '${'x'.repeat(400)};');\\n`).join('') \
        + `INSERT INTO t VALUES (5000, '${'ä'.repeat(2500000)}');\\nDELIMITER //\\nCREATE PROCEDURE p() BEGIN SELECT 1; END //\\nDELIMITER ;\\nINSERT INTO t VALUES (7, 'again');\\nINSERT INTO t VALUES (6000, '');\\n`";
    drop_file(&client, "dump.sql", text);
    page.wait_for("eyes.first('.script-banner')");
    page.screenshot("script-from-file");
    client.until_ended(|| page.click(".script-banner text=Run from the file"));
    let db = Database::shared();
    assert_eq!(db.value("SELECT COUNT(*) FROM scripts_file.t"), "3001");
    assert_eq!(
        db.value("SELECT CHAR_LENGTH(s) FROM scripts_file.t WHERE n = 5000"),
        "2500000"
    );
    let told = client.text(".editor-message");
    assert!(
        told.contains("Line 3,005:") && told.contains("Duplicate entry"),
        "{told}"
    );
    page.click(".results-tab text=Messages");
    page.wait_for("eyes.first('.messages').innerText.includes('3,003 statements ran')");
    assert_eq!(
        db.value(
            "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'scripts_file'"
        ),
        "1"
    );
}

/// Dumps turn checks off at their beginning and on again at their end.
#[test]
fn what_is_selected_of_a_file_runs_alone_and_settings_that_it_leaves_behind_are_told() {
    let client = Client::open("scripts_left", "CREATE TABLE t (n INT PRIMARY KEY)");
    let page = &client.page;
    let text = "'SET foreign_key_checks = 0;\\nINSERT INTO t VALUES (1);\\nSELECT 1;\\n' + ('-- ' + 'x'.repeat(96) + '\\n').repeat(45000) \
        + 'INSERT INTO t VALUES (2);\\nINSERT INTO t VALUES (2);\\nSET foreign_key_checks = 1;\\n'";
    drop_file(&client, "left.sql", text);
    page.wait_for("eyes.first('.script-banner')");
    page.eval("(() => { const area = eyes.first('textarea.editor-area'), at = area.value.indexOf('SELECT 1'); area.focus(); area.setSelectionRange(at, at + 9); })()");
    client.until_ended(|| page.press("Ctrl+Enter"));
    let kept = || Database::shared().column("SELECT n FROM scripts_left.t ORDER BY n");
    assert_eq!(kept(), Vec::<String>::new());
    assert_eq!(client.cells(), [["1"]]);
    page.click(".script-banner text=Run from the file");
    page.wait_for("eyes.first('.editor-message')?.innerText.includes('Duplicate entry')");
    page.click(".results-tab text=Messages");
    page.wait_for("eyes.first('.messages').innerText.includes('session: foreign_key_checks = 0')");
    assert_eq!(kept(), ["1", "2"]);
    let told = client.text(".messages");
    assert!(
        told.contains("SET SESSION foreign_key_checks = 1;"),
        "{told}"
    );
    assert!(told.contains("1 result with rows is not shown"), "{told}");
}

/// Names the statements that a lost connection has undone, and the place to continue.
#[test]
fn a_file_whose_connection_is_lost_says_what_was_undone() {
    let client = Client::open("scripts_lost", "CREATE TABLE t (n INT PRIMARY KEY)");
    let page = &client.page;
    page.expect_error("502");
    let text = "'INSERT INTO t VALUES (-1);\\nBEGIN;\\n' + Array.from({ length: 4000 }, (_, n) => `INSERT INTO t VALUES (${n}) /* ${'x'.repeat(400)} */;\\n`).join('') \
        + 'KILL CONNECTION_ID();\\nINSERT INTO t VALUES (-2);\\n'";
    drop_file(&client, "lost.sql", text);
    page.wait_for("eyes.first('.script-banner')");
    client.until_ended(|| page.click(".script-banner text=Run from the file"));
    page.click(".results-tab text=Messages");
    page.wait_for("eyes.first('.messages').innerText.includes('The transaction opened at line 2 was rolled back')");
    assert!(client.text(".editor-message").contains("Line 4,003:"));
    let kept = Database::shared().column("SELECT n FROM scripts_lost.t");
    assert_eq!(kept, ["-1"]);
}

#[test]
fn what_a_console_alone_understands_is_told_before_anything_is_sent() {
    let client = Client::open("scripts_console", "");
    let before = client.sent();
    for (typed, hint) in [
        ("source dump.sql", "Open the file here"),
        ("?", "console command"),
    ] {
        client.write(typed);
        client.page.press("Ctrl+Enter");
        client.page.wait_for(&format!(
            "eyes.first('.editor-message')?.innerText.includes('{hint}')"
        ));
    }
    assert_eq!(client.sent(), before);
    // Supported console commands run.
    client.write("use scripts_console\nSELECT DATABASE() AS here\\G");
    client.until_ended(|| client.page.press("Ctrl+Shift+Enter"));
    client
        .page
        .wait_for("eyes.first('.results').innerText.includes('scripts_console')");
}
