//! Features that only MySQL has, as the page shows them.

use crate::sql::client::{Client, row};
use crate::sql::looks::look;

const SETUP: &str = "CREATE TABLE things (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, code INT(8) ZEROFILL, at_place POINT SRID 4326, \
    features VECTOR(4), doc JSON, hidden VARCHAR(20) INVISIBLE DEFAULT 'x', price DECIMAL(9,2) DEFAULT (1 + 2), \
    with_tax DECIMAL(9,2) AS (price * 1.2) STORED COMMENT 'made of the price', tags JSON DEFAULT (JSON_ARRAY()), \
    changed TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, \
    KEY by_tax (with_tax DESC), KEY by_text ((LOWER(hidden))), KEY by_tag ((CAST(tags->'$[*]' AS UNSIGNED ARRAY))), \
    KEY unused (code) INVISIBLE COMMENT 'to be dropped'); \
    INSERT INTO things (code, at_place, features, doc, tags) VALUES \
    (42, ST_GeomFromText('POINT(48.2 16.4)', 4326), TO_VECTOR('[1,2.5,-3e-8,0.1]'), '{\"name\": \"\u{fc}\", \"list\": [1, null, true]}', '[1,2]'), \
    (7, NULL, NULL, NULL, '[]'); \
    CREATE VIEW dear AS SELECT id, price FROM things WHERE price > 2; \
    CREATE TABLE gone (id INT); CREATE VIEW broken AS SELECT id FROM gone; DROP TABLE gone";

#[test]
fn a_schema_has_all_that_the_server_tells() {
    let client = Client::open("on_mysql_schema", SETUP);
    let page = &client.page;
    client.show_tables();
    page.click(&row("things"));
    page.wait_for("eyes.first('.schema table')");
    let schema = client.text(".schema");
    for part in [
        "vector(4)",
        "(1 + 2)",
        "= (`price` * 1.2)",
        "computed, stored",
        "with_tax DESC",
        "(lower(`hidden`))",
        "as unsigned array",
        "to be dropped",
        "invisible",
    ] {
        assert!(schema.contains(part), "no {part} in {schema}");
    }
    assert!(!schema.contains("DEFAULT_GENERATED"), "{schema}");
    look(&client, "mysql-schema");
    // A view has no indexes to do without, and a broken one its statement.
    page.click(&row("dear"));
    page.wait_for("eyes.first('.schema h2').innerText.endsWith('dear')");
    assert!(!client.text(".schema").contains("Indexes"));
    page.click(&row("broken"));
    page.wait_for("eyes.first('.schema h2').innerText.endsWith('broken')");
    let broken = client.text(".schema");
    assert!(broken.contains("references invalid table(s)"), "{broken}");
    assert!(
        broken.contains("VIEW `on_mysql_schema`.`broken`"),
        "{broken}"
    );
    look(&client, "mysql-broken-view");
}

#[test]
fn values_of_its_own_types_are_read() {
    let client = Client::open("on_mysql_values", SETUP);
    let page = &client.page;
    client.run("SELECT id, code, at_place, features, doc, tags FROM things");
    let cells = client.cells();
    assert_eq!(cells[0][1], "00000042");
    assert!(cells[0][3].contains("4 numbers"), "{:?}", cells[0]);
    look(&client, "mysql-grid");
    client.sort_by("code");
    assert_eq!(client.column(1), ["00000007", "00000042"]);
    client.sort_by("id");
    client.click_cell(0, 3);
    page.press("Enter");
    page.wait_for("eyes.first('.viewer-body')?.innerText.includes('[1,2.5,-3e-8,0.1]')");
    look(&client, "mysql-vector");
    page.press("Escape");
    client.click_cell(0, 4);
    page.press("Enter");
    page.wait_for("eyes.first('.viewer-body .json-string')");
    look(&client, "mysql-json");
    page.press("Escape");
}

#[test]
fn plans_are_drawn_in_every_form() {
    let client = Client::open("on_mysql_plans", SETUP);
    let page = &client.page;
    client.run("EXPLAIN FORMAT=TREE SELECT * FROM things WHERE price > 1 ORDER BY price");
    page.click(".results-tab text=Plan");
    assert!(client.text(".plan").contains("Table scan on things"));
    look(&client, "mysql-tree");
    client.run("EXPLAIN ANALYZE SELECT COUNT(*) FROM things a JOIN things b ON a.id >= b.id");
    page.click(".results-tab text=Plan");
    let plan = client.text(".plan");
    assert!(plan.contains(" ms") && plan.contains("actual"), "{plan}");
    look(&client, "mysql-analyze");
    client.run("EXPLAIN FORMAT=TREE SELECT 1 UNION SELECT 2");
    page.click(".results-tab:first-child [role=tab]");
    page.wait_for("eyes.cells().length > 0");
    assert!(client.cells()[0][0].contains("->"), "{:?}", client.cells());
    look(&client, "mysql-tree-cell");
}
