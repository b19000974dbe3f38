//! Taking results away: CSV export of all rows, copies in the clipboard.

use crate::sql::client::{Client, make_database};
use support::{Browser, Database, Postern};

/// More rows than the page asks for, with everything that CSV has to quote.
const ROWS: usize = 1500;
const SETUP: &str = "CREATE TABLE t (id INT PRIMARY KEY, txt TEXT, amount DECIMAL(20,4)); \
    INSERT INTO t SELECT seq, CASE seq % 5 WHEN 0 THEN NULL WHEN 1 THEN 'a,b' WHEN 2 THEN 'say \"hi\"' WHEN 3 THEN 'two\nlines' ELSE '' END, \
    seq / 8 FROM seq_1_to_1500";

#[test]
fn export_to_csv_downloads_every_row() {
    let client = Client::open("transfer_csv", SETUP);
    let page = &client.page;
    client.run("SELECT * FROM t ORDER BY id");
    assert!(
        client
            .text(".results-status")
            .contains("truncated at 1,000")
    );
    page.click(".results-tools text=Export");
    page.wait_for("document.querySelector('dialog [data-action=download]')");
    page.click("dialog [data-action=download]");
    let file = page.wait_for_download(0);
    assert!(file.completed && file.name.ends_with(".csv"), "{file:?}");
    assert_eq!(std::fs::read_to_string(&file.path).unwrap(), expected_csv());
    page.wait_for("!document.querySelector('dialog')");
    // Only what is shown, in its order.
    client.sort_by("id");
    client.sort_by("id");
    page.click(".results-status .link");
    page.click("dialog input[value=shown]");
    page.click("dialog [data-action=save-shown]");
    let shown = std::fs::read_to_string(page.wait_for_download(1).path).unwrap();
    assert!(
        shown.starts_with("id,txt,amount\r\n1000,,125.0000\r\n"),
        "{:.60}",
        shown
    );
    assert!(shown.ends_with("1,\"a,b\",0.1250\r\n"));
}

fn expected_csv() -> String {
    let quoted = [
        "",
        "\"a,b\"",
        "\"say \"\"hi\"\"\"",
        "\"two\nlines\"",
        "\"\"",
    ];
    let mut csv = "id,txt,amount\r\n".to_owned();
    for n in 1..=ROWS {
        csv += &format!("{n},{},{:.4}\r\n", quoted[n % 5], n as f64 / 8.0);
    }
    csv
}

#[test]
fn a_failing_export_is_seen_to_fail() {
    let client = Client::open("transfer_fail", SETUP);
    let page = &client.page;
    client.run("SELECT * FROM t");
    Database::shared().exec("DROP TABLE transfer_fail.t");
    page.expect_error("40");
    page.click(".results-tools text=Export");
    page.click("dialog [data-action=download]");
    // The browser itself downloads: it shows a failed download, and no file appears under the name.
    assert!(!page.wait_for_download(0).completed);
    let export = page.eval("fetch('/api/export/none').then((r) => r.status)");
    assert_eq!(export, 404);
}

#[test]
fn copies_reach_the_clipboard_as_tab_separated_text() {
    make_database("transfer_copy", SETUP);
    let postern = Postern::on(Database::shared(), &[]);
    let browser = Browser::start();
    let client = Client::of(&browser, postern, "transfer_copy", "#db=transfer_copy");
    let page = &client.page;
    page.grant_clipboard(client.postern.url());
    client.run("SELECT id, txt, amount FROM t ORDER BY id LIMIT 5");
    let copied = |expected: &str| {
        page.wait_for(&format!(
            "navigator.clipboard.readText().then((text) => text === {})",
            serde_json::json!(expected)
        ));
    };
    client.click_cell(0, 0);
    page.press("Ctrl+c");
    copied("1");
    page.press("Shift+ArrowDown");
    page.press("Shift+ArrowRight");
    page.press("Ctrl+c");
    copied("1\ta,b\n2\tsay \"hi\"");
    page.press("Ctrl+Home");
    page.click(".results-tools text=Copy");
    page.click(".panel text=All");
    page.click(".panel [data-format=tsv]");
    copied(
        "id\ttxt\tamount\n1\ta,b\t0.1250\n2\tsay \"hi\"\t0.2500\n3\t\"two\nlines\"\t0.3750\n4\t\t0.5000\n5\tNULL\t0.6250",
    );
    page.click(".results-tools text=Copy");
    page.click(".panel [data-format=markdown]");
    page.wait_for("navigator.clipboard.readText().then((text) => text.startsWith('| id |'))");
    page.click(".results-tools text=Copy");
    page.click(".panel text=Row");
    page.click(".panel [data-format=insert]");
    copied("INSERT INTO t (`id`, `txt`, `amount`) VALUES\n  (1, 'a,b', 0.1250);\n");
    page.click(".results-tools text=Copy");
    page.click(".panel text=Row");
    page.click(".panel [data-format=json]");
    copied("[\n  {\"id\": 1, \"txt\": \"a,b\", \"amount\": \"0.1250\"}\n]\n");
    // The link of a statement fills in the same again.
    page.click("#more");
    page.click(".menu text=Copy link to this statement");
    page.wait_for("navigator.clipboard.readText().then((text) => text.includes('#db=transfer_copy&sql=SELECT%20id'))");
}
