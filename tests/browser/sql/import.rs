//! CSV files into tables: read as they are, mapped, written in one transaction, with a report of what is bad.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::sql::client::{Client, strings};
use support::{Database, allowed};

/// Drops a file on the editor; `content` is a JavaScript expression, a text or bytes.
#[track_caller]
pub(super) fn drop_file(client: &Client, name: &str, content: &str) {
    client.page.eval(&format!(
        "(() => {{ const t = new DataTransfer(); t.items.add(new File([{content}], {})); \
         eyes.first('textarea.editor-area').dispatchEvent(new DragEvent('drop', {{ dataTransfer: t, bubbles: true, cancelable: true }})); }})()",
        json!(name)
    ));
    client
        .page
        .wait_for("document.querySelector('.import-preview:not([hidden]) tbody tr')");
    ready(client);
}

/// Waits until the table is known.
#[track_caller]
fn ready(client: &Client) {
    client
        .page
        .wait_for("document.querySelector('.import-note')?.textContent.match(/transaction|one by one|Read-only|already exists/)");
    client.settle();
}

/// Chooses in a list of the form, by the beginning of its label.
#[track_caller]
fn choose(client: &Client, label: &str, value: &str) {
    let done = client.page.eval(&format!(
        "(() => {{ const list = [...document.querySelectorAll('.import select')].find((s) => (s.closest('label')?.textContent ?? s.getAttribute('aria-label')).startsWith({})); \
         list.value = {}; list.dispatchEvent(new Event('change')); return list.value; }})()",
        json!(label),
        json!(value)
    ));
    assert_eq!(done, value, "{label}");
    client.settle();
}

/// Presses Import, or another button, and waits for the end.
#[track_caller]
fn import_by(client: &Client, action: &str) -> String {
    client.page.wait_for(&format!(
        "document.querySelector('dialog [data-action={action}]:not(:disabled)')"
    ));
    client.page.click(&format!("dialog [data-action={action}]"));
    client.page.wait_for_within(
        Duration::from_secs(120),
        "document.querySelector('.import-summary p') && !document.querySelector('dialog [data-action=cancel]')",
    );
    client.text(".import-summary")
}

#[track_caller]
pub(super) fn import(client: &Client) -> String {
    import_by(client, "import")
}

fn value(sql: &str) -> String {
    Database::shared().value(sql)
}

/// The columns that fields go to.
fn mapping(client: &Client) -> Vec<String> {
    strings(
        client.page.eval(
            "[...document.querySelectorAll('.import-map select')].map((select) => select.value)",
        ),
    )
}

#[test]
fn a_csv_goes_into_a_table_and_not_into_the_editor() {
    let client = Client::open(
        "imp_drop",
        "CREATE TABLE people (id INT PRIMARY KEY AUTO_INCREMENT, full_name VARCHAR(40), note TEXT, born DATE, twice INT AS (CHAR_LENGTH(full_name) * 2), since TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)",
    );
    let page = &client.page;
    drop_file(
        &client,
        "people.csv",
        r#"'\ufeffid,Full Name,note,born,unknown\r\n0,"O\'Re""il\\,ly","two\nlines",2024-02-29,x\r\n7,,"",,\r\n'"#,
    );
    assert_eq!(client.editor(), "");
    assert_eq!(
        mapping(&client),
        ["=id", "=full_name", "=note", "=born", ""]
    );
    page.assert_accessible("the import of a CSV file");
    page.screenshot("import-mapping");
    assert_eq!(value("SELECT COUNT(*) FROM imp_drop.people"), "0");
    let told = import(&client);
    assert!(
        told.starts_with("2 rows written into imp_drop.people in "),
        "{told}"
    );
    page.screenshot("import-done");
    let db = Database::shared();
    let rows = db.column("SELECT CONCAT_WS('|', id, IFNULL(full_name, '-'), IFNULL(HEX(note), '-'), IFNULL(born, '-'), IFNULL(twice, '-'), since IS NOT NULL) FROM imp_drop.people ORDER BY id");
    assert_eq!(
        rows,
        [
            "0|O'Re\"il\\,ly|74776F0A6C696E6573|2024-02-29|22|1",
            "7|-||-|-|1"
        ]
    );
    page.click("dialog [data-action=show]");
    page.wait_for("eyes.first('.data-table')?.textContent === 'imp_drop.people'");
}

#[test]
fn a_new_table_is_made_with_types_that_were_guessed() {
    let client = Client::open("imp_new", "");
    drop_file(
        &client,
        "My Orders.csv",
        r"'id;Kunde;Betrag;am;code\n1;Öl & Co;1.234,50;31.12.2024;007\n2;;-0,5;01.02.2024;010\n'",
    );
    let create = strings::<String>(
        client
            .page
            .eval("document.querySelector('.import-create').value"),
    );
    assert_eq!(
        create,
        "CREATE TABLE `imp_new`.`My_Orders` (\n  `id` INT NOT NULL,\n  `Kunde` VARCHAR(20),\n  `Betrag` DECIMAL(10,2),\n  `am` DATE,\n  `code` VARCHAR(20),\n  PRIMARY KEY (`id`)\n)"
    );
    client.page.screenshot("import-new-table");
    client
        .page
        .fill(".import-create", &create.replace("`code`", "`Kürzel`"));
    let told = import(&client);
    assert!(
        told.starts_with("2 rows written into imp_new.My_Orders"),
        "{told}"
    );
    let rows = Database::shared().column(
        "SELECT CONCAT_WS('|', id, IFNULL(Kunde, '-'), Betrag, am, `Kürzel`) FROM imp_new.My_Orders ORDER BY id",
    );
    assert_eq!(
        rows,
        [
            "1|Öl & Co|1234.50|2024-12-31|007",
            "2|-|-0.50|2024-02-01|010"
        ]
    );
    // The sidebar has it.
    client.page.click("dialog [data-action=close]");
    client.show_tables();
    client
        .page
        .wait_for("eyes.first('.row-main[data-name=My_Orders]')");
}

/// Lines of which three are bad, each in its own way, in the midst of good ones.
const BAD: &str = r"`id,name,age\n${Array.from({ length: 3000 }, (_, i) => i === 1499 ? '1,double,5' : i === 2000 ? '2001,too,old' : i === 2500 ? '2501,short' : `${i + 1},n${i},${i % 90}`).join('\n')}\n`";

#[test]
fn bad_lines_are_told_and_nothing_is_written_or_all_but_them() {
    let client = Client::open(
        "imp_bad",
        "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(10), age INT)",
    );
    let page = &client.page;
    drop_file(&client, "people.csv", BAD);
    let told = import(&client);
    assert!(
        told.contains("Nothing was written (rolled back)."),
        "{told}"
    );
    assert_eq!(value("SELECT COUNT(*) FROM imp_bad.people"), "0");
    page.screenshot("import-bad");
    let told = import_by(&client, "without");
    assert!(
        told.starts_with("2,997 rows written into imp_bad.people")
            && told.contains("3 bad lines skipped"),
        "{told}"
    );
    let cells: Vec<String> = strings(page.eval(
        "[...document.querySelectorAll('.import-bad tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent).join('|'))",
    ));
    assert!(
        cells[0].starts_with("1,501|PRIMARY|")
            && cells[0].contains("Duplicate entry '1'")
            && cells[0].ends_with("|1,double,5"),
        "{cells:?}"
    );
    assert!(
        cells[1].starts_with("2,002|age|") && cells[1].contains("Incorrect integer value"),
        "{cells:?}"
    );
    assert_eq!(cells[2], "2,502||2 fields instead of 3|2501,short");
    assert_eq!(value("SELECT COUNT(*) FROM imp_bad.people"), "2997");
    page.assert_accessible("the report of bad lines");
    page.click("dialog [data-action=save-bad]");
    let file = page.wait_for_download(0);
    assert_eq!(file.name, "people.bad.csv");
    assert_eq!(
        std::fs::read_to_string(&file.path).unwrap(),
        "id,name,age\r\n1,double,5\r\n2001,too,old\r\n2501,short\r\n"
    );
}

#[test]
fn what_a_column_would_change_silently_is_a_bad_line_and_an_own_export_comes_back() {
    let client = Client::open(
        "imp_silent",
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9), n TINYINT NOT NULL, note VARCHAR(9) NOT NULL)",
    );
    drop_file(
        &client,
        "t.csv",
        r#"'id,s,n,note\r\n1,"\\N",1,a\r\n2,,2,\r\n3,"",3,c\r\n4,x,1.7,d\r\n5,"a"b,5,e\r\n6,y,,f\r\n'"#,
    );
    let told = client
        .page
        .eval("[...document.querySelectorAll('.import-hint')].map((p) => p.textContent).join(' ')");
    let told = told.as_str().unwrap();
    assert!(
        told.contains("Empty fields are NULL. In the first 6 lines: 1 field NULL, 1 field empty text, because the column is NOT NULL, 3 fields that do not fit."),
        "{told}"
    );
    client.page.assert_accessible("a preview with bad fields");
    client.page.screenshot("import-silent");
    import(&client);
    assert_eq!(value("SELECT COUNT(*) FROM imp_silent.t"), "0");
    import_by(&client, "without");
    let rows = Database::shared().column(
        "SELECT CONCAT_WS('|', id, IFNULL(HEX(s), '-'), n, note) FROM imp_silent.t ORDER BY id",
    );
    assert_eq!(rows, ["1|5C4E|1|a", "2|-|2|", "3||3|c"]);
    let bad: Vec<String> = strings(client.page.eval(
        "[...document.querySelectorAll('.import-bad tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent).join('|'))",
    ));
    assert_eq!(
        bad,
        [
            "5|n|not a whole number; would be rounded|4,x,1.7,d",
            "6|s|text after the closing quote|5,\"a\"b,5,e",
            "7|n|empty, but the column is NOT NULL|6,y,,f"
        ]
    );
}

#[test]
fn what_failed_or_was_cancelled_leaves_no_new_table_behind() {
    let client = Client::open("imp_undo", "");
    let page = &client.page;
    drop_file(
        &client,
        "many.csv",
        "`id,x\\n${Array.from({ length: 400000 }, (_, i) => `${i},${'y'.repeat(20)}`).join('\\n')}\\n`",
    );
    page.click("dialog [data-action=import]");
    page.wait_for(
        "/[1-9][\\d,]* rows written/.test(document.querySelector('.import-figures')?.textContent)",
    );
    page.screenshot("import-running");
    // Esc asks first.
    page.press("Escape");
    page.wait_for("document.querySelectorAll('dialog').length === 2");
    page.click("dialog:last-of-type text=Cancel");
    page.wait_for("document.querySelectorAll('dialog').length === 1");
    // It may come between two statements.
    page.expect_error("/api/cancel");
    page.click("dialog [data-action=cancel]");
    page.wait_for("document.querySelector('.import-summary p')");
    let told = client.text(".import-summary");
    assert!(
        told.contains("Cancelled") && told.contains("Nothing was written"),
        "{told}"
    );
    assert_eq!(
        value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'imp_undo'"),
        "0"
    );
}

#[test]
fn a_key_that_is_there_is_skipped_replaced_or_updated() {
    let client = Client::open(
        "imp_keys",
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9) DEFAULT 'dflt'); INSERT INTO t VALUES (1, 'old', 'kept')",
    );
    for (what, expected, said) in [
        ("skip", "1:old:kept,2:new:dflt", "1 row skipped"),
        ("update", "1:new:kept,2:new:dflt", "1 row updated"),
        ("replace", "1:new:dflt,2:new:dflt", "1 row replaced others"),
    ] {
        Database::shared()
            .exec("DELETE FROM imp_keys.t; INSERT INTO imp_keys.t VALUES (1, 'old', 'kept')");
        drop_file(&client, "t.csv", r"'id,a\n1,new\n2,new\n'");
        choose(&client, "Rows with an existing key", what);
        let told = import(&client);
        assert!(told.contains(said), "{what}: {told}");
        let rows = value("SELECT GROUP_CONCAT(id, ':', a, ':', b ORDER BY id) FROM imp_keys.t");
        assert_eq!(rows, expected, "{what}");
        client.page.click("dialog [data-action=close]");
        client.page.wait_for("!document.querySelector('dialog')");
    }
}

#[test]
fn encodings_are_guessed_and_can_be_changed() {
    let client = Client::open(
        "imp_enc",
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20))",
    );
    let latin1 =
        "new Uint8Array([...'id;s\\r\\n1;gr\\xf6\\xdfe \\x80\\r\\n'].map((c) => c.charCodeAt(0)))";
    drop_file(&client, "t.csv", latin1);
    let told = import(&client);
    assert!(told.starts_with("1 row written"), "{told}");
    client.page.click("dialog [data-action=close]");
    let utf16 = "(() => { const text = '\\ufeffid\\ts\\n2\\tgröße €\\n'; const units = new Uint16Array(text.length); for (let i = 0; i < text.length; i += 1) units[i] = text.charCodeAt(i); return units; })()";
    client.page.wait_for("!document.querySelector('dialog')");
    drop_file(&client, "t.tsv", utf16);
    import(&client);
    client.page.click("dialog [data-action=close]");
    client.page.wait_for("!document.querySelector('dialog')");
    assert_eq!(
        value("SELECT GROUP_CONCAT(s ORDER BY id SEPARATOR '|') FROM imp_enc.t"),
        "größe €|größe €"
    );
    // A wrong guess of the encoding is reported, and nothing is written.
    drop_file(
        &client,
        "t.csv",
        "'id,s\\n3,ok\\n', Array.from({ length: 70000 }, (_, at) => `${at + 9},y\\n`).join(''), new Uint8Array([0x34, 0x2c, 0xf6, 0x0a])",
    );
    let told = import(&client);
    assert!(told.contains("not valid UTF-8"), "{told}");
    assert_eq!(value("SELECT COUNT(*) FROM imp_enc.t"), "2");
}

/// Files of the server's own (`INTO OUTFILE`, as `--tab` has them) and of Excel hold the rows that they were made of.
#[test]
fn files_of_the_server_and_of_excel_come_back_as_they_were() {
    let client = Client::open(
        "imp_own",
        "CREATE TABLE s (id INT PRIMARY KEY, v VARCHAR(60), n DECIMAL(8,2), d DATETIME); CREATE TABLE t LIKE s; \
         INSERT INTO s VALUES (1, 'tab\t, line\nand \\\\N, \"quoted\"; it''s', 1.5, '2024-02-29 12:00:00'), (2, NULL, NULL, NULL), \
         (3, '', 0, '1000-01-01 00:00:00'), (4, 'Žluť 🐴 \\\\', -7.25, NULL), (5, 'NULL', 2, NULL), (6, ' end \r\n', 3, NULL)",
    );
    let db = Database::shared();
    let dir = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let sums = |table: &str| {
        let rows = "SUM(CRC32(CONCAT_WS('|', id, HEX(v), v IS NULL, n, n IS NULL, d, d IS NULL)))";
        value(&format!(
            "SELECT CONCAT(COUNT(*), ' ', {rows}) FROM imp_own.{table}"
        ))
    };
    for (name, options) in [
        ("t.tsv", ""),
        ("t.csv", "FIELDS TERMINATED BY ';' ENCLOSED BY '\"'"),
        (
            "t.CSV",
            "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'",
        ),
    ] {
        let path = dir.path().join(name);
        db.exec(&format!(
            "SELECT * FROM imp_own.s INTO OUTFILE '{}' CHARACTER SET utf8mb4 {options}",
            path.display()
        ));
        let bytes = std::fs::read(&path).unwrap();
        db.exec("TRUNCATE imp_own.t");
        client.page.wait_for("!document.querySelector('dialog')");
        drop_file(&client, name, &format!("new Uint8Array({})", json!(bytes)));
        let told = import(&client);
        assert!(
            told.starts_with("6 rows written"),
            "{name}: {told} {:?}",
            client
                .page
                .eval("document.querySelector('dialog').innerText.slice(-900)")
        );
        assert_eq!(sums("t"), sums("s"), "{name}");
        client.page.click("dialog [data-action=close]");
    }
    let excel = "sep=;\r\nid;v;n;d\r\n1;\"two\r\nlines; \"\"q\"\"\";1.5;2024-02-29 12:00:00\r\n";
    for (name, bytes) in [
        ("t.csv", [b"\xef\xbb\xbf", excel.as_bytes()].concat()),
        (
            "T.csv",
            excel.encode_utf16().fold(vec![0xff, 0xfe], |all, unit| {
                [all, unit.to_le_bytes().to_vec()].concat()
            }),
        ),
    ] {
        db.exec("TRUNCATE imp_own.t");
        client.page.wait_for("!document.querySelector('dialog')");
        drop_file(&client, name, &format!("new Uint8Array({})", json!(bytes)));
        let told = import(&client);
        assert!(told.starts_with("1 row written"), "{name}: {told}");
        assert_eq!(
            value("SELECT CONCAT_WS('|', HEX(v), n, d) FROM imp_own.t"),
            "74776F0D0A6C696E65733B20227122|1.50|2024-02-29 12:00:00",
            "{name}"
        );
        client.page.click("dialog [data-action=close]");
    }
}

#[test]
fn a_table_that_cannot_roll_back_says_so_and_keeps_what_was_written() {
    let client = Client::open(
        "imp_myisam",
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20)) ENGINE=MyISAM",
    );
    drop_file(&client, "t.csv", r"'id,s\n1,a\n2,b\n2,c\n3,d\n'");
    let note = client.text(".import-note");
    assert!(note.contains("(MyISAM) cannot roll back"), "{note}");
    let told = import(&client);
    assert!(told.contains("2 rows were written and stay"), "{told}");
    assert_eq!(
        value("SELECT GROUP_CONCAT(s ORDER BY id) FROM imp_myisam.t"),
        "a,b"
    );
}

#[test]
fn read_only_mode_shows_why_nothing_can_be_imported() {
    let client = Client::with(
        "imp_ro",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        &["--readonly"],
    );
    drop_file(&client, "t.csv", r"'id\n1\n'");
    let note = client.text(".import-note");
    assert!(
        note.contains("Read-only mode: nothing can be written"),
        "{note}"
    );
    assert_eq!(
        client
            .page
            .eval("document.querySelector('dialog [data-action=import]').disabled"),
        true
    );
}

#[test]
fn an_export_is_imported_as_the_same_rows() {
    let columns = "id INT PRIMARY KEY, big BIGINT UNSIGNED, dec_ DECIMAL(40,10), dbl DOUBLE, bits BIT(12), raw VARBINARY(9), txt TEXT, doc JSON, \
        e ENUM('a','b''c'), day DATE, at DATETIME(6), ts TIMESTAMP NULL, yr YEAR, shape GEOMETRY";
    let client = Client::open(
        "imp_trip",
        &format!(
            "CREATE TABLE a ({columns}); CREATE TABLE b ({columns}); INSERT INTO a VALUES \
             (0, 18446744073709551615, 123456789012345678901234567890.0123456789, -1.5e300, b'100000000001', X'00ff27', 'q\"uo,te\\r\\nback\\\\slash', '{{\"k\": [1, 2.5]}}', 'b''c', '9999-12-31', '2024-02-29 12:34:56.123456', '2024-10-27 00:30:00', 2155, ST_GeomFromText('LINESTRING(0 0,1 1)')), \
             (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
             (3, 0, 0, 0, 0, '', '', 'null', 'a', '1000-01-01', '1000-01-01', '1970-01-02 00:00:00', 1901, NULL)"
        ),
    );
    let file = client
        .postern
        .client()
        .post(
            "/api/export",
            &json!({"sql": "SELECT * FROM a", "db": "imp_trip"}),
        )
        .text()
        .to_owned();
    drop_file(&client, "b.csv", &json!(file).to_string());
    let told = import(&client);
    assert!(
        told.starts_with("3 rows written"),
        "{told} {}",
        client.text(".import-bad")
    );
    let same = "SELECT COUNT(*) FROM imp_trip.a a JOIN imp_trip.b b USING (id) WHERE a.big <=> b.big AND a.dec_ <=> b.dec_ AND a.dbl <=> b.dbl AND a.bits <=> b.bits \
        AND a.raw <=> b.raw AND HEX(a.txt) <=> HEX(b.txt) AND a.doc <=> b.doc AND a.e <=> b.e AND a.day <=> b.day AND a.at <=> b.at AND a.ts <=> b.ts AND a.yr <=> b.yr AND HEX(a.shape) <=> HEX(b.shape)";
    assert_eq!(value(same), "3");
}

#[test]
fn a_table_is_filled_from_its_schema_by_the_keyboard_alone() {
    let client = Client::open(
        "imp_keyb",
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9))",
    );
    let page = &client.page;
    client.show_tables();
    page.click(&crate::sql::client::row("t"));
    page.wait_for("eyes.first('.schema-head')");
    page.click(".schema-head text=Import");
    page.wait_for("document.querySelector('.import-hint') && document.activeElement.dataset.action === 'choose'");
    page.screenshot("import-empty");
    page.assert_accessible("the import without a file");
    page.eval(
        "(() => { const t = new DataTransfer(); t.items.add(new File(['5,x\\n6,y\\n'], 'values.csv')); const input = document.querySelector('.import input[type=file]'); input.files = t.files; input.dispatchEvent(new Event('change')); })()",
    );
    ready(&client);
    // No names in it: fields go to the columns in their order.
    assert_eq!(mapping(&client), ["=id", "=s"]);
    page.eval("document.querySelector('dialog [data-action=import]').focus()");
    page.press("Enter");
    page.wait_for("document.querySelector('.import-summary.good')");
    assert_eq!(value("SELECT COUNT(*) FROM imp_keyb.t"), "2");
    assert_eq!(page.eval("document.activeElement.dataset.action"), "close");
}

#[test]
fn the_database_of_the_tab_is_proposed_wherever_the_sidebar_is() {
    let client = Client::open("import_place", "CREATE TABLE t (id INT PRIMARY KEY)");
    client.show_tables();
    let page = &client.page;
    page.eval("(() => { const db = document.querySelector('#db'); db.value = 'mysql'; db.dispatchEvent(new Event('change', { bubbles: true })); })()");
    page.click("#more");
    page.click(".menu text=Import CSV …");
    page.wait_for("document.querySelector('.import select option')");
    client.settle();
    page.wait_for("[...document.querySelectorAll('.import label')].find((label) => label.textContent.startsWith('Database')).querySelector('select').value === 'mysql'");
}

#[test]
fn a_hundred_thousand_rows_take_seconds() {
    let client = Client::open(
        "imp_speed",
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(40), b DECIMAL(12,2), c DATETIME, d INT, e VARCHAR(40), f DOUBLE, g CHAR(2))",
    );
    drop_file(
        &client,
        "t.csv",
        "`id,a,b,c,d,e,f,g\\n${Array.from({ length: 100000 }, (_, i) => `${i},name ${i},${i}.25,2024-01-01 10:00:00,${i % 97},\"with, comma ${i}\",${i / 7},de`).join('\\n')}\\n`",
    );
    let begun = Instant::now();
    let told = import(&client);
    let took = begun.elapsed();
    eprintln!("100,000 rows of 8 columns took {took:?}: {told}");
    assert!(told.starts_with("100,000 rows written"), "{told}");
    assert_eq!(value("SELECT COUNT(*) FROM imp_speed.t"), "100000");
    assert!(took < allowed(Duration::from_secs(60)), "{took:?}");
}

#[test]
fn the_form_fits_a_phone_and_the_dark() {
    let client = Client::open(
        "imp_phone",
        "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(10), since TIMESTAMP NULL) ENGINE=MyISAM",
    );
    let page = &client.page;
    drop_file(
        &client,
        "people.csv",
        r"'id,name,since\n1,a name that is too long,2024-01-01 10:00:00\n2,b,\n3,c,\n'",
    );
    for (name, width, dark) in [
        ("import-dark", 1440, true),
        ("import-light", 1440, false),
        ("import-phone", 360, false),
        ("import-phone-dark", 360, true),
    ] {
        page.viewport(width, 780);
        page.prefer(dark, true);
        client.settle();
        page.screenshot(name);
        page.assert_accessible(name);
        let fits = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('dialog .dialog-body').scrollWidth <= document.querySelector('dialog .dialog-body').clientWidth";
        assert_eq!(page.eval(fits), true, "{name}");
    }
    import(&client);
    for (name, width, dark) in [
        ("import-phone-bad", 360, true),
        ("import-bad-dark", 1440, true),
    ] {
        page.viewport(width, 780);
        page.prefer(dark, true);
        client.settle();
        page.screenshot(name);
        page.assert_accessible(name);
    }
}

#[test]
fn the_data_of_a_table_is_filled_and_shows_what_came() {
    let client = Client::open(
        "imp_data",
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9))",
    );
    let page = &client.page;
    client.show_tables();
    page.wait_for("document.querySelector('.row-data[data-rows=t]')");
    page.eval("document.querySelector('.row-data[data-rows=t]').click()");
    page.wait_for(
        "eyes.first('.data-figures')?.textContent === '0 rows' && !eyes.first('.data[aria-busy]')",
    );
    page.click(".data-bar [aria-label='Import a CSV file into this table']");
    page.wait_for("document.querySelector('.import-hint')");
    page.eval(
        "(() => { const t = new DataTransfer(); t.items.add(new File(['s;id\\nx;5\\ny;6\\n'], 'values.csv')); document.querySelector('dialog').dispatchEvent(new DragEvent('drop', { dataTransfer: t, bubbles: true, cancelable: true })); })()",
    );
    page.wait_for("document.querySelectorAll('.import-map select').length === 2");
    ready(&client);
    assert_eq!(mapping(&client), ["=s", "=id"]);
    import(&client);
    page.click("dialog [data-action=close]");
    page.wait_for("eyes.first('.data-figures')?.textContent === '2 rows'");
}
