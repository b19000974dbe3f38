//! Data that would like to be more than text.

use serde_json::json;

use crate::sql::client::{Client, strings};
use support::chromium::Page;
use support::{Browser, Database, Postern};

const IMG: &str = "<img src=x onerror=alert(1)>";
const QUOTES: &str = "a\"b'c`d<b>";
const RTL: &str = "safe\u{202e}txt.exe";

#[test]
fn hostile_names_and_cells_are_shown_as_text_and_nothing_runs() {
    let server = Database::shared();
    let id = |name: &str| format!("`{}`", name.replace('`', "``"));
    let db = "hostile<b>'\"";
    let long = "l".repeat(64);
    server.exec(&format!(
        "DROP DATABASE IF EXISTS {0}; CREATE DATABASE {0}",
        id(db)
    ));
    let mut conn = server.conn();
    let run = |conn: &mut mysql::Conn, sql: String| {
        mysql::prelude::Queryable::query_drop(conn, sql).unwrap()
    };
    run(&mut conn, format!("USE {}", id(db)));
    for table in [IMG, QUOTES, RTL, &long] {
        run(
            &mut conn,
            format!(
                "CREATE TABLE {} ({} INT COMMENT '<script>alert(2)</script>' PRIMARY KEY, {} TEXT, {} TEXT DEFAULT ('</td><img src=x onerror=alert(3)>'), {} LONGTEXT) COMMENT '<svg onload=alert(4)>'",
                id(table),
                id(IMG),
                id(QUOTES),
                id(RTL),
                id(&long)
            ),
        );
        let cells = [
            "'<img src=x onerror=alert(5)>'",
            "'\u{202e}\u{0007}\t<script>alert(6)</script>'",
            "REPEAT('<b>x</b>', 20000)",
        ];
        run(
            &mut conn,
            format!(
                "INSERT INTO {} VALUES (1, {}), (2, NULL, '{{\"<img src=x onerror=alert(7)>\": \"</pre>\"}}', '=cmd()')",
                id(table),
                cells.join(", ")
            ),
        );
    }
    run(
        &mut conn,
        format!(
            "ALTER TABLE {} ADD CONSTRAINT `<i>fk` FOREIGN KEY ({}) REFERENCES {} ({})",
            id(QUOTES),
            id(IMG),
            id(IMG),
            id(IMG)
        ),
    );

    // The only database would be open at once.
    server.exec("CREATE DATABASE IF NOT EXISTS hostile_other");
    let postern = Postern::on(server, &[]);
    let client = Client::of(Browser::shared(), postern, "hostile<b>'\"", "");
    let page = &client.page;
    page.expect_error("400");
    page.click(&format!(".row-main[data-name={}]", json!(db)));
    page.wait_for("eyes.all('#sidebar-list .row-name').length === 4");
    let names = page.texts(".row-name");
    assert!(
        names.contains(&IMG.to_owned()) && names.contains(&QUOTES.to_owned()),
        "{names:?}"
    );
    for table in [IMG, QUOTES, RTL, &long] {
        let entry = format!(".row-main[data-name={}]", json!(table));
        page.click(&entry);
        page.wait_for(&format!(
            "eyes.first('.schema h2')?.textContent.endsWith({})",
            json!(table)
        ));
        assert!(client.text(".schema").contains(IMG));
        client.until_ended(|| page.double_click(&entry));
        let headers: Vec<String> = strings(page.eval("eyes.headers()"));
        assert_eq!(headers[..2], [IMG, QUOTES]);
        assert_eq!(client.cells()[0][1], "<img src=x onerror=alert(5)>");
        // A mark stands for each character that would turn or hide the text.
        assert!(
            !client.cells()[0][2].contains('\u{202e}'),
            "{:?}",
            client.cells()[0][2]
        );
    }
    assert_untouched(page, "tables and results");
    // Names with characters that turn the text show these.
    let told = |within: &str| {
        page.wait_for(&format!(
            "eyes.first('{within} .turning')?.dataset.code === '202E'"
        ));
    };
    told("#sidebar-list .row-name");
    told(".grid-header .grid-name");
    client.run(&format!("SELECT * FROM {}", id(RTL)));
    client.click_cell(0, 0);
    client.press_function_key(8, false);
    told(".row-form .form-name");
    client.press_function_key(8, false);
    page.click(&format!(".row-main[data-name={}]", json!(RTL)));
    told(".schema .column-name");
    page.press("Alt+n");
    told(".welcome-entry");
    page.press("Ctrl+k");
    page.wait_for("eyes.first('dialog input')");
    page.type_text("txt.exe");
    told(".search-line .search-name");
    page.press("Escape");
    page.press("Alt+w");
    client.run(&format!("SELECT * FROM {}", id(RTL)));
    client.click_cell(1, 2);
    page.press("Enter");
    page.wait_for("eyes.first('.viewer-body')?.innerText.includes('alert(7)')");
    page.press("Escape");
    page.click(".results-tab text=Chart");
    client.settle();
    client.run("SELECT '<img src=x onerror=alert(8)>' FROM `<img src=x onerror=alert(9)>.nope`");
    assert!(client.text(".editor-message").contains("<img src=x"));
    client.run("SELECT CONCAT('<img src=x onerror=alert(', seq, ')>') AS `<svg onload=alert(10)>`, seq FROM seq_1_to_5");
    page.click(".results-tab text=Chart");
    page.hover(".chart-plot");
    client.write("EXPLAIN FORMAT=JSON SELECT * FROM `<img src=x onerror=alert(1)>`");
    client.until_ended(|| page.click("#explain"));
    page.click(".results-tab text=Messages");
    client.press_function_key(2, false);
    page.fill("dialog input", IMG);
    page.press("Enter");
    page.wait_for("eyes.first('.query-tab-name').innerText.startsWith('<img')");
    client.press_function_key(4, false);
    page.wait_for("eyes.all('.history-entry').length > 3");
    page.press("Escape");
    page.eval("location.hash = '#db=%3Cimg%3E&sql=%3Cimg%20src%3Dx%20onerror%3Dalert(11)%3E'");
    page.wait_for("eyes.editor().startsWith('<img')");
    assert_untouched(page, "everything else");
    assert!(page.eval("document.documentElement.scrollWidth <= innerWidth") == true);
    page.screenshot("hostile");
}

#[track_caller]
fn assert_untouched(page: &Page, when: &str) {
    assert_eq!(page.dialogs(), Vec::<String>::new(), "{when}");
    assert_eq!(page.eval("eyes.violations"), json!([]), "{when}");
    let foreign = page.eval("document.querySelectorAll('img, script:not([src]), iframe, b:not(.completion b, .check b), i:not(.plan i, .chart i)').length");
    assert_eq!(foreign, 0, "{when}");
}
