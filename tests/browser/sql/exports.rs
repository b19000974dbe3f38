//! All rows as a file: INSERT statements and JSON, named after their table, from a statement and from the data view.

use crate::sql::client::{Client, make_database};
use support::{Browser, Database, Postern};

const TABLE: &str = "CREATE TABLE {t} (id INT PRIMARY KEY, name VARCHAR(40), twice INT AS (id * 2) STORED, doc JSON, bits BIT(4), raw VARBINARY(4), at TIMESTAMP NULL)";

/// A table of every awkward value, and an empty one of the same shape in another database.
fn setup(db: &str) -> String {
    Database::shared().exec(&format!(
        "DROP DATABASE IF EXISTS {db}_copy; CREATE DATABASE {db}_copy; USE {db}_copy; {}",
        TABLE.replace("{t}", "orders")
    ));
    format!(
        "{}; INSERT INTO orders (id, name, doc, bits, raw, at) SELECT seq, CASE seq % 4 WHEN 0 THEN NULL WHEN 1 THEN 'it''s \\\\ ü' WHEN 2 THEN 'two\\nlines' ELSE 'NULL' END, \
         '{{\"n\": [1, 2.5]}}', seq % 16, UNHEX(LPAD(HEX(seq), 8, '0')), '2024-10-27 00:30:00' FROM seq_1_to_1200",
        TABLE.replace("{t}", "orders")
    )
}

/// Chooses a format in the export dialog and takes the file.
#[track_caller]
fn download(client: &Client, nth: usize, format: &str) -> (String, String) {
    let page = &client.page;
    page.click(".results-tools text=Export");
    page.wait_for("document.querySelector('dialog [data-action=download]')");
    page.eval(&format!(
        "(() => {{ const format = document.querySelector('dialog select'); format.value = '{format}'; format.dispatchEvent(new Event('change')); }})()"
    ));
    page.screenshot(&format!("export-{format}"));
    page.click("dialog [data-action=download]");
    let file = page.wait_for_download(nth);
    assert!(file.completed, "{file:?}");
    page.wait_for("!document.querySelector('dialog')");
    (file.name, std::fs::read_to_string(&file.path).unwrap())
}

#[test]
fn all_rows_as_insert_are_the_same_rows_in_another_database() {
    let client = Client::open("exp_insert", &setup("exp_insert"));
    client.run("SELECT * FROM orders");
    let (name, sql) = download(&client, 0, "insert");
    assert_eq!(name, "exp_insert.orders.sql");
    assert!(
        sql.contains("INSERT INTO `orders` (`id`, `name`, `doc`, `bits`, `raw`, `at`) VALUES"),
        "{sql:.400}"
    );
    let db = Database::shared();
    db.exec(&format!("USE exp_insert_copy; {sql}"));
    let same = "SELECT COUNT(*) FROM exp_insert.orders a JOIN exp_insert_copy.orders b USING (id) WHERE a.name <=> b.name AND a.twice = b.twice \
        AND HEX(a.doc) = HEX(b.doc) AND a.bits = b.bits AND a.raw = b.raw AND a.at = b.at";
    assert_eq!(db.value(same), "1200");
}

#[test]
fn json_of_all_rows_has_json_in_it() {
    let client = Client::open("exp_json", &setup("exp_json"));
    client.run("SELECT id, name, doc, raw FROM orders ORDER BY id");
    let (name, lines) = download(&client, 0, "jsonl");
    assert_eq!(name, "exp_json.orders.jsonl");
    assert_eq!(lines.lines().count(), 1200);
    let first = lines.lines().next().unwrap();
    assert_eq!(
        first,
        r#"{"id":1,"name":"it's \\ ü","doc":{"n": [1, 2.5]},"raw":"0x00000001"}"#
    );
    let (name, whole) = download(&client, 1, "json");
    assert_eq!(name, "exp_json.orders.json");
    assert_eq!(
        whole,
        format!("[\n{}\n]\n", lines.trim_end().replace('\n', ",\n"))
    );
}

/// A file for Excel, imported again: nothing but the signs is different.
#[test]
fn a_csv_for_excel_is_imported_as_the_same_rows() {
    let columns = "id INT PRIMARY KEY, d DECIMAL(12,4), f DOUBLE, t VARCHAR(40), day DATE";
    make_database(
        "exp_excel",
        &format!(
            "CREATE TABLE a ({columns}); CREATE TABLE b ({columns}); INSERT INTO a VALUES \
             (1, -1234.5, 1.5e-300, '10.11.6', '2024-02-29'), (2, NULL, NULL, '1,5; \"q\"', NULL), (3, 7, 2.25, '', '1000-01-01')"
        ),
    );
    let postern = Postern::on(Database::shared(), &[]);
    let browser = Browser::start();
    let client = Client::of(&browser, postern, "exp_excel", "#db=exp_excel");
    let page = &client.page;
    page.grant_clipboard(client.postern.url());
    client.run("SELECT * FROM a ORDER BY id");
    let open = || {
        page.click(".results-tools text=Export");
        page.wait_for("document.querySelector('dialog [data-action=download]')");
    };
    let signs = "[...document.querySelectorAll('.export-signs select')].map(({ value }) => value).join(' ')";
    open();
    assert_eq!(page.eval(signs), ", .");
    page.click("dialog [data-action=excel]");
    assert_eq!(page.eval(signs), "; ,");
    assert_eq!(
        page.eval("document.querySelector('[data-action=excel]').getAttribute('aria-pressed')"),
        "true"
    );
    page.assert_accessible("the export of a CSV");
    // The text for NULL cannot be the delimiter.
    page.fill("dialog [aria-label='Text for NULL']", "a;b");
    page.click("dialog [data-action=download]");
    page.wait_for("document.querySelector('.export-progress').textContent.includes('must not contain the delimiter')");
    page.fill("dialog [aria-label='Text for NULL']", "");
    page.wait_for("document.querySelector('.export-progress').textContent === ''");
    page.screenshot("export-excel");
    page.prefer(true, true);
    page.viewport(390, 740);
    page.screenshot("export-excel-dark-narrow");
    page.viewport(1280, 800);
    page.prefer(false, true);
    page.click("dialog [data-action=download]");
    let lines = "id;d;f;t;day\r\n1;-1234,5000;1,5e-300;10.11.6;2024-02-29\r\n2;;;\"1,5; \"\"q\"\"\";\r\n3;7,0000;2,25;\"\";1000-01-01\r\n";
    let file = std::fs::read_to_string(page.wait_for_download(0).path).unwrap();
    assert_eq!(file, format!("\u{feff}{lines}"));
    // Remembered, for the rows shown and for copies too.
    page.reload();
    client.run("SELECT * FROM a ORDER BY id");
    open();
    assert_eq!(page.eval(signs), "; ,");
    page.click("dialog input[value=shown]");
    page.eval(
        "(() => { const format = document.querySelector('dialog select[aria-label=Format]'); format.value = 'csv'; format.dispatchEvent(new Event('change')); })()",
    );
    page.click("dialog [data-action=save-shown]");
    let shown = std::fs::read_to_string(page.wait_for_download(1).path).unwrap();
    assert_eq!(shown, file);
    page.click(".results-tools text=Copy");
    page.wait_for(
        "eyes.first('.panel')?.textContent.includes('CSV: delimiter ; and decimal comma')",
    );
    page.click(".panel text=All");
    page.click(".panel [data-format=csv]");
    page.wait_for(&format!(
        "navigator.clipboard.readText().then((text) => text === {})",
        serde_json::json!(lines)
    ));
    super::import::drop_file(&client, "b.csv", &serde_json::json!(file).to_string());
    let told = super::import::import(&client);
    assert!(told.starts_with("3 rows written"), "{told}");
    let same = "SELECT COUNT(*) FROM exp_excel.a JOIN exp_excel.b USING (id) WHERE a.d <=> b.d AND a.f <=> b.f AND a.t <=> b.t AND a.day <=> b.day";
    assert_eq!(Database::shared().value(same), "3");
    // One of the signs gives way to the other.
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    open();
    page.eval("(() => { const [delimiter] = document.querySelectorAll('.export-signs select'); delimiter.value = ','; delimiter.dispatchEvent(new Event('change')); })()");
    assert_eq!(page.eval(signs), ", .");
    page.eval("(() => { const [, decimal] = document.querySelectorAll('.export-signs select'); decimal.value = ','; decimal.dispatchEvent(new Event('change')); })()");
    assert_eq!(page.eval(signs), "; ,");
}

#[test]
fn the_data_of_a_table_is_exported_with_its_condition_order_and_time_zone() {
    let client = Client::open("exp_data", &setup("exp_data"));
    let page = &client.page;
    client.show_tables();
    page.wait_for("document.querySelector('.row-data[data-rows=orders]')");
    page.eval("document.querySelector('.row-data[data-rows=orders]').click()");
    page.wait_for("eyes.first('.data-table')?.textContent === 'exp_data.orders' && !eyes.first('.data[aria-busy]')");
    page.fill(".data-where", "id IN (3, 5, 7)");
    page.press("Enter");
    page.wait_for("eyes.first('.data-figures')?.textContent === '3 rows'");
    client.sort_by("id");
    client.sort_by("id");
    page.wait_for("eyes.cells()[0][0] === '7'");
    let (name, sql) = download(&client, 0, "insert");
    assert_eq!(name, "exp_data.orders.sql");
    assert!(
        sql.contains("SET @postern_time_zone = @@time_zone, time_zone = '"),
        "{sql}"
    );
    let ids: Vec<&str> = sql
        .lines()
        .filter_map(|line| line.strip_prefix('('))
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(ids, ["7", "5", "3"], "{sql}");
}

#[test]
fn a_statement_of_no_one_table_gives_the_name_that_was_typed() {
    let client = Client::open("exp_made", "CREATE TABLE t (id INT)");
    let page = &client.page;
    client.run("SELECT 1 AS a, 'x' AS b");
    page.click(".results-tools text=Export");
    page.wait_for("document.querySelector('dialog [data-action=download]')");
    page.eval(
        "(() => { const format = document.querySelector('dialog select'); format.value = 'insert'; format.dispatchEvent(new Event('change')); })()",
    );
    page.fill("dialog [aria-label='Table of the INSERTs']", "my `t`");
    page.assert_accessible("the export of INSERTs");
    page.click("dialog [data-action=download]");
    let file = page.wait_for_download(0);
    let sql = std::fs::read_to_string(&file.path).unwrap();
    assert!(
        sql.contains("INSERT INTO `my ``t``` (`a`, `b`) VALUES\n(1, 'x');\n"),
        "{sql}"
    );
}

#[test]
fn a_copied_insert_leaves_generated_columns_out_and_copied_json_has_json_in_it() {
    make_database(
        "exp_copy",
        "CREATE TABLE t (id INT PRIMARY KEY, twice INT AS (id * 2), doc JSON, path VARCHAR(20)); INSERT INTO t (id, doc, path) VALUES (1, '{\"a\": [1]}', 'c:\\\\x')",
    );
    let postern = Postern::on(Database::shared(), &[]);
    let browser = Browser::start();
    let client = Client::of(&browser, postern, "exp_copy", "#db=exp_copy");
    let page = &client.page;
    page.grant_clipboard(client.postern.url());
    client.run("SELECT * FROM t");
    let copied = |format: &str, expected: &str| {
        page.click(".results-tools text=Copy");
        page.click(&format!(".panel [data-format={format}]"));
        page.wait_for(&format!(
            "navigator.clipboard.readText().then((text) => text === {})",
            serde_json::json!(expected)
        ));
    };
    copied(
        "insert",
        "INSERT INTO t (`id`, `doc`, `path`) VALUES\n  (1, '{\"a\": [1]}', _utf8mb4 X'633a5c78');\n",
    );
    copied(
        "json",
        "[\n  {\"id\": 1, \"twice\": 2, \"doc\": {\"a\": [1]}, \"path\": \"c:\\\\x\"}\n]\n",
    );
}

#[test]
fn the_data_of_a_table_is_exported_with_all_digits_of_a_float() {
    let client = Client::open(
        "exp_float",
        "CREATE TABLE floats (id INT PRIMARY KEY, f FLOAT); INSERT INTO floats VALUES (1, 1234567.875), (2, 16777216)",
    );
    client.show_tables();
    super::data::open_data(&client, "floats");
    let (_, csv) = download(&client, 0, "csv");
    assert_eq!(csv, "id,f\r\n1,1234567.875\r\n2,16777216\r\n");
    let (_, sql) = download(&client, 1, "insert");
    assert!(
        sql.contains("INSERT INTO `floats` (`id`, `f`) VALUES\n(1, 1234567.875),\n(2, 16777216);"),
        "{sql}"
    );
    client.run("SELECT f FROM floats");
    client.page.click(".results-tools text=Export");
    client
        .page
        .wait_for("document.querySelector('dialog .export')?.innerText.includes('with 6 digits')");
}
