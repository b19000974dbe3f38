//! Typing: the completion list helps whoever asks for it and never changes what is typed.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;

use crate::sql::client::{Client, make_database};
use support::{Browser, Database, Postern};

const SHOP: &str = "CREATE TABLE customers (id INT, name VARCHAR(40), vip INT, status INT); \
    CREATE TABLE emp (id INT, name VARCHAR(40), status INT, date DATE); \
    CREATE TABLE orders (id INT, status INT, vip INT, date DATE)";

/// Pages that are typed into at the same time.
const PAGES: usize = 8;

/// Statements that the completion list once took apart.
const REPORTED: [&str; 8] = [
    "SELECT id\nFROM customers c\nWHERE vip\nORDER BY name\nLIMIT 5",
    "SELECT status\nFROM emp\nGROUP BY status\nORDER BY 1",
    "SELECT COUNT(*) AS n\nFROM emp\nGROUP BY status\n",
    "AS\nIN\nON\nOR\nIS\nBY",
    "GROUP BY status\n",
    "select id\nfrom emp\nwhere id\nin (1)\nor id\nis null",
    "SELECT\n  id,\n  name\nFROM emp",
    "SELECT MAX(id\n), (status\n)\nFROM emp",
];
/// Beginnings, middles and ends of the others; short, since every key costs the page some frames.
const HEADS: [&str; 8] = [
    "SELECT id",
    "SELECT n, vip",
    "count(*) AS n",
    "'it' AS",
    "id,\nname",
    "UPDATE emp",
    "MIN(id)",
    "select e.date",
];
const MIDDLES: [&str; 6] = [
    "FROM emp",
    "from emp e",
    "JOIN shop.emp",
    "SET status",
    "(SELECT 1\n) x",
    "ON",
];
const ENDS: [&str; 4] = ["OR id", "BY status\n", "IN", "IS NULL\n"];

/// 200 statements of several lines.
fn statements() -> Vec<String> {
    let mut all: Vec<String> = REPORTED.map(str::to_owned).into();
    for head in HEADS {
        for middle in MIDDLES {
            all.extend(ENDS.map(|end| format!("{head}\n{middle}\n{end}")));
        }
    }
    all
}

/// Texts to type, and the pause after each key; the longest come first.
fn typings() -> Vec<(String, Duration)> {
    let all = statements();
    assert_eq!(all.len(), 200);
    let each = |step: usize, most: usize, ms: u64| {
        let chosen = all.iter().step_by(step).take(most).cloned();
        chosen
            .map(|sql| (sql, Duration::from_millis(ms)))
            .collect::<Vec<_>>()
    };
    [each(1, 5, 300), each(9, 20, 80), each(1, 200, 30)].concat()
}

#[test]
fn what_is_typed_is_what_stands_there() {
    make_database("typing_plain", SHOP);
    let mut work = typings();
    work.reverse();
    let work = Mutex::new(work);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PAGES {
            scope.spawn(|| {
                let client = Client::of(
                    Browser::shared(),
                    Postern::on(Database::shared(), &[]),
                    "typing_plain",
                    "#db=typing_plain",
                );
                // A small window: painting is not tested here, and takes most of the time.
                client.page.viewport(800, 240);
                let next = || work.lock().unwrap().pop();
                while let Some((sql, pause)) = next() {
                    // The list that is open lies over the low editor.
                    client.page.press("Escape");
                    client.write("");
                    client.page.type_at_pace(&sql, pause);
                    let left = client.editor();
                    if left != sql {
                        wrong.lock().unwrap().push((pause, sql, left));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of 225: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
}

/// Types, and waits until the list has opened by itself with `offered` at its top.
fn type_and_wait(client: &Client, text: &str, offered: &str) {
    client.page.type_text(text);
    client.page.wait_for(&format!(
        "eyes.first('.completion [role=option]')?.innerText.includes({})",
        json!(offered)
    ));
}

/// Waits until the option marked in the list shows `text`.
fn until_marked(client: &Client, text: &str) {
    client.page.wait_for(&format!(
        "eyes.first('.completion [aria-selected=true]')?.innerText.includes({})",
        json!(text)
    ));
}

#[test]
fn tab_takes_the_marked_entry_and_enter_is_a_new_line() {
    let client = Client::open("typing_tab", SHOP);
    let page = &client.page;
    page.click("textarea.editor-area");
    type_and_wait(&client, "SELECT * FROM cust", "customers");
    until_marked(&client, "customers");
    page.press("Enter");
    assert_eq!(client.editor(), "SELECT * FROM cust\n");
    page.press("Backspace");
    type_and_wait(&client, "o", "customers");
    page.press("Tab");
    assert_eq!(client.editor(), "SELECT * FROM customers");
    // No list is open any more.
    page.press("Tab");
    assert_eq!(client.editor(), "SELECT * FROM customers  ");
    type_and_wait(&client, "c WHERE c.sta", "status");
    page.press("Tab");
    assert_eq!(client.editor(), "SELECT * FROM customers  c WHERE c.status");
    assert_eq!(client.sent(), 0);
}

#[test]
fn enter_takes_an_entry_that_the_person_chose() {
    let client = Client::open("typing_chosen", SHOP);
    let page = &client.page;
    page.click("textarea.editor-area");
    // Moved to.
    type_and_wait(&client, "SELECT * FROM customers c WHERE c.", "id");
    page.press("ArrowDown");
    page.press("ArrowDown");
    until_marked(&client, "name");
    page.press("Enter");
    assert_eq!(client.editor(), "SELECT * FROM customers c WHERE c.name");
    // Asked for, where it completes the word.
    client.write("SELECT * FROM custo");
    page.press("Ctrl+Space");
    until_marked(&client, "customers");
    page.press("Enter");
    assert_eq!(client.editor(), "SELECT * FROM customers");
    // Asked for where no word is begun.
    client.write("SELECT * FROM ");
    page.press("Ctrl+Space");
    until_marked(&client, "customers");
    page.press("Enter");
    assert_eq!(client.editor(), "SELECT * FROM customers");
    // Asked for, and complete already, or only somewhere in the name.
    for (typed, offered) in [
        ("SELECT 1 FROM customers WHERE id", "id"),
        ("SELECT 1 FROM orders WHERE tat", "status"),
    ] {
        client.write(typed);
        page.press("Ctrl+Space");
        until_marked(&client, offered);
        page.press("Enter");
        assert_eq!(client.editor(), format!("{typed}\n"));
    }
}

#[test]
fn a_function_is_taken_without_brackets() {
    let client = Client::open("typing_brackets", SHOP);
    let page = &client.page;
    page.click("textarea.editor-area");
    type_and_wait(&client, "SELECT coale", "COALESCE()");
    page.press("Tab");
    assert_eq!(client.editor(), "SELECT COALESCE");
    page.type_text("(");
    assert_eq!(client.editor(), "SELECT COALESCE(");
}
