//! The data of a table: browsed end to end, sorted, filtered, followed along foreign keys.

use serde_json::{Value, json};

use super::client::{Client, make_database, row, strings};
use support::Database;

/// Scrolls through the data in sight from the top to the end and gives the texts of the first columns of every row, in
/// order, each place once.
const SCROLL: &str = r"(async (columns) => {
  const grid = eyes.grid();
  const places = new Map();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const look = () => {
    for (const row of grid.querySelectorAll('.grid-row')) {
      const cells = [...row.querySelectorAll('.grid-cell')].sort((a, b) => a.getAttribute('aria-colindex') - b.getAttribute('aria-colindex')).slice(0, columns);
      if (cells.some((cell) => cell.dataset.look === 'awaited')) continue;
      const place = Number(row.getAttribute('aria-rowindex')) - 2;
      const text = cells.map((cell) => cell.textContent).join('|');
      if (places.has(place) && places.get(place) !== text) throw new Error(`row ${place} was ${places.get(place)} and is ${text}`);
      places.set(place, text);
    }
  };
  const ended = () => !eyes.first('.data-figures').textContent.includes('+');
  grid.scrollTop = 0;
  for (let idle = 0; idle < 200;) {
    await frame(); await frame();
    look();
    // The row with the active cell stays in the document wherever it is.
    const awaited = [...grid.querySelectorAll('.grid-row:not(.current) .grid-cell')].some((cell) => cell.dataset.look === 'awaited');
    const before = grid.scrollTop;
    if (!awaited) grid.scrollTop += Math.floor((grid.clientHeight - 60) * 0.9);
    idle = grid.scrollTop === before ? idle + 1 : 0;
    if (idle > 3 && ended() && !awaited) break;
  }
  return [...places].sort((a, b) => a[0] - b[0]).map(([place, text], i) => (place === i ? text : `place ${place} after ${i - 1}`));
})";

/// Opens the data of a table by the button beside it.
#[track_caller]
pub(crate) fn open_data(client: &Client, table: &str) {
    client.page.eval(&format!(
        "[...document.querySelectorAll('.row-data')].find((b) => b.dataset.rows === {}).click()",
        json!(table)
    ));
    client.page.wait_for(&format!(
        "eyes.first('.data-table')?.textContent.endsWith({}) && !eyes.first('.data[aria-busy]')",
        json!(format!(".{table}"))
    ));
    client.settle();
}

/// Waits for the rows of the data tab that is in front.
#[track_caller]
pub(super) fn until_loaded(client: &Client) {
    client.settle();
    client
        .page
        .wait_for("eyes.first('.data-table') && !eyes.first('.data[aria-busy]')");
    client.settle();
}

#[track_caller]
fn scrolled(client: &Client, columns: usize) -> Vec<String> {
    strings(client.page.eval(&format!("{SCROLL}({columns})")))
}

/// Clicks the header of a column until it is sorted as wanted.
#[track_caller]
fn sort(client: &Client, name: &str, clicks: usize) {
    for _ in 0..clicks {
        let nth = client.headers().iter().position(|h| h == name).expect(name) + 2;
        client
            .page
            .click(&format!(".grid-header[aria-colindex=\"{nth}\"] .grid-name"));
        until_loaded(client);
    }
}

/// A window so high that few steps lead through many rows.
fn tall(client: &Client) {
    client.page.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 900, "height": 5000, "deviceScaleFactor": 1, "mobile": false}),
    );
    client.settle();
}

/// A table of `rows` rows by a statement that fills it from numbers `n`.
fn numbered(table: &str, columns: &str, values: &str, rows: usize) -> String {
    format!(
        "CREATE TABLE {table} ({columns}); INSERT INTO {table} SELECT {values} FROM (SELECT seq AS n FROM seq_1_to_{rows}) numbers;"
    )
}

/// Order of the rows according to the server.
fn expected(db: &str, table: &str, shown: &str, order: &str) -> Vec<String> {
    Database::shared().column(&format!(
        "SELECT {shown} FROM {db}.{table} ORDER BY {order}"
    ))
}

#[track_caller]
fn assert_same(seen: &[String], expected: &[String], what: &str) {
    let first = seen.iter().zip(expected).position(|(a, b)| a != b);
    if let Some(at) = first {
        panic!(
            "{what}: row {at} is {:?}, expected {:?}",
            seen[at], expected[at]
        );
    }
    assert_eq!(seen.len(), expected.len(), "{what}");
}

#[test]
fn every_row_is_seen_once_in_the_order_of_the_key_and_of_a_column_with_nulls() {
    let rows = support::rounds(6_000, 20_000);
    let columns = "id INT PRIMARY KEY, grp INT NULL, note VARCHAR(40)";
    let values = "n * 3, IF(n % 7 = 0, NULL, n % 50), CONCAT('row ', n)";
    let setup = [("big", rows), ("less", 4_000)]
        .map(|(name, rows)| numbered(name, columns, values, rows))
        .concat();
    let client = Client::open("data_big", &setup);
    tall(&client);
    client.show_tables();
    open_data(&client, "less");
    let shown = "CONCAT_WS('|', id, COALESCE(grp, 'NULL'))";
    for (clicks, order) in [(1, "grp, id"), (1, "grp DESC, id DESC")] {
        sort(&client, "grp", clicks);
        let seen = scrolled(&client, 2);
        assert_same(&seen, &expected("data_big", "less", shown, order), order);
    }
    open_data(&client, "big");
    assert_eq!(client.headers(), ["id", "grp", "note"]);
    let seen = scrolled(&client, 2);
    assert_same(&seen, &expected("data_big", "big", shown, "id"), "id");
    let held = client
        .page
        .eval("document.querySelectorAll('.grid-row').length");
    assert!(held.as_u64().unwrap() < 400, "{held}");
    client
        .page
        .wait_for_text(&format!("{},000 rows", rows / 1000));
}

#[test]
fn keys_of_every_kind_are_browsed_exactly() {
    let tables = [
        (
            "pair",
            "a INT, b VARCHAR(10), PRIMARY KEY (a, b)",
            "n % 40, CONCAT('b', n)",
            "CONCAT_WS('|', a, b)",
            2,
        ),
        (
            "choice",
            "e ENUM('z', 'm', 'a'), n INT, PRIMARY KEY (e, n)",
            "ELT(n % 3 + 1, 'a', 'm', 'z'), n",
            "CONCAT_WS('|', e, n)",
            2,
        ),
        (
            "sets",
            "s SET('x', 'c', 'b') NOT NULL, n INT, PRIMARY KEY (s, n)",
            "n % 8, n",
            "CONCAT_WS('|', IF(s = '', 'empty', s), n)",
            2,
        ),
        (
            "negative",
            "id BIGINT PRIMARY KEY",
            "(CAST(n AS SIGNED) - 1200) * 7000000000000001",
            "id",
            1,
        ),
        (
            "huge",
            "id BIGINT UNSIGNED PRIMARY KEY",
            "18446744073709551615 - n",
            "id",
            1,
        ),
        (
            "decimals",
            "id DECIMAL(30, 10) PRIMARY KEY",
            "(CAST(n AS SIGNED) - 1000) * 0.0000000003 + 12345678901234567890",
            "id",
            1,
        ),
        (
            "moments",
            "at DATETIME(6) PRIMARY KEY",
            "TIMESTAMPADD(MICROSECOND, n * 7, '2024-03-31 01:59:59.990000')",
            "at",
            1,
        ),
        (
            "words",
            "w VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY",
            "CONCAT(ELT(n % 4 + 1, 'a', 'B', 'ß', '%_\\\\'), CHAR(97 + n % 26), n, ELT(n % 3 + 1, '', '\\'', '\"'))",
            "w",
            1,
        ),
        (
            "bytes",
            "k VARBINARY(16) PRIMARY KEY",
            "UNHEX(LEFT(SHA2(n, 256), 32))",
            "CONCAT('0x', HEX(k), '16 B')",
            1,
        ),
        (
            "years",
            "y YEAR, n INT, PRIMARY KEY (y, n)",
            "IF(n % 5 = 0, 0, 1990 + n % 30), n",
            "CONCAT_WS('|', y, n)",
            2,
        ),
        ("floats", "f DOUBLE PRIMARY KEY", "n * 0.1e0", "f", 1),
        ("heap", "n INT, t TEXT", "n, REPEAT('x', 30)", "n", 1),
    ];
    let setup: String = tables
        .iter()
        .map(|(name, columns, values, ..)| numbered(name, columns, values, 2400))
        .collect();
    let client = Client::open("data_keys", &setup);
    tall(&client);
    client.show_tables();
    for (table, columns, _, shown, count) in tables {
        open_data(&client, table);
        let key = columns
            .split_once("PRIMARY KEY (")
            .map(|(_, key)| key.trim_end_matches(')'));
        let order = key.unwrap_or(columns.split(' ').next().unwrap());
        let seen = scrolled(&client, count);
        assert_same(&seen, &expected("data_keys", table, shown, order), table);
        let by_offset = ["floats", "heap"].contains(&table);
        let note = client.text(".data-note");
        assert_eq!(note.contains("OFFSET"), by_offset, "{table}: {note}");
    }
}

#[test]
fn dates_without_day_month_or_year_are_browsed_exactly_also_read_only() {
    let zeros = "'0000-00-00', '2024-00-00', '2024-05-00', '2024-05-06', '1000-01-01'";
    let setup = "SET sql_mode = ''; ".to_owned()
        + &numbered(
            "days",
            "d DATE NOT NULL, n INT, PRIMARY KEY (d, n)",
            &format!("ELT(n % 5 + 1, {zeros}), n"),
            1500,
        )
        + &numbered(
            "times",
            "d DATETIME(2) NOT NULL, n INT, PRIMARY KEY (d, n)",
            &format!("CONCAT(ELT(n % 5 + 1, {zeros}), ' 00:00:00.50'), n"),
            1500,
        )
        + &numbered(
            "stamps",
            "d TIMESTAMP NOT NULL, n INT, PRIMARY KEY (d, n)",
            "IF(n % 2, '0000-00-00 00:00:00', '2024-05-06 07:08:09'), n",
            1500,
        );
    for arguments in [&[][..], &["--readonly"]] {
        let client = Client::with("data_zeros", &setup, arguments);
        tall(&client);
        client.show_tables();
        for table in ["days", "times", "stamps"] {
            open_data(&client, table);
            let seen = scrolled(&client, 2);
            assert_same(
                &seen,
                &expected("data_zeros", table, "CONCAT_WS('|', d, n)", "d, n"),
                table,
            );
        }
    }
}

mod on_mariadb {
    use super::*;

    #[test]
    fn keys_of_its_own_types_are_browsed_exactly() {
        let setup = numbered(
            "uuids",
            "u UUID PRIMARY KEY",
            "CONCAT('00000000-0000-1000-8000-', LPAD(HEX(n * 7919), 12, '0'))",
            1500,
        ) + &numbered(
            "addresses",
            "a INET6 PRIMARY KEY",
            "CONCAT('2001:db8::', HEX(n))",
            1500,
        );
        let client = Client::open("data_types", &setup);
        tall(&client);
        client.show_tables();
        for (table, key) in [("uuids", "u"), ("addresses", "a")] {
            open_data(&client, table);
            assert_same(
                &scrolled(&client, 1),
                &expected("data_types", table, key, key),
                table,
            );
            assert_eq!(client.text(".data-note"), "");
        }
    }
}

#[test]
fn a_timestamp_in_the_hour_that_autumn_has_twice_is_browsed_exactly() {
    let setup = "SET time_zone = '+00:00'; ".to_owned()
        + &numbered(
            "hours",
            "at TIMESTAMP(3) NOT NULL DEFAULT '2001-01-01', n INT, PRIMARY KEY (at, n)",
            "TIMESTAMPADD(SECOND, n * 6, '2024-10-26 23:00:00'), n",
            2400,
        );
    let client = Client::open("data_hours", &setup);
    tall(&client);
    client.show_tables();
    open_data(&client, "hours");
    let seen = scrolled(&client, 2);
    let expected = expected("data_hours", "hours", "n", "at, n");
    let numbers: Vec<String> = seen
        .iter()
        .map(|row| row.rsplit('|').next().unwrap().to_owned())
        .collect();
    assert_same(&numbers, &expected, "hours");
}

#[test]
fn equal_words_of_a_collation_and_blanks_at_their_ends_sort_with_the_key_behind_them() {
    let setup = numbered(
        "mixed",
        "id INT PRIMARY KEY, w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, d DATETIME NULL, x DECIMAL(5,2)",
        "n, ELT(n % 5 + 1, 'abc', 'ABC', 'abc ', 'Äbc', NULL), IF(n % 3 = 0, NULL, '2024-01-01'), n % 11 / 4",
        2400,
    );
    let client = Client::open("data_mixed", &setup);
    tall(&client);
    client.show_tables();
    open_data(&client, "mixed");
    for name in ["w", "d", "x"] {
        sort(&client, name, 1);
        let up = expected("data_mixed", "mixed", "id", &format!("{name}, id"));
        assert_same(&scrolled(&client, 1), &up, name);
        sort(&client, name, 1);
        let down = expected(
            "data_mixed",
            "mixed",
            "id",
            &format!("{name} DESC, id DESC"),
        );
        assert_same(&scrolled(&client, 1), &down, name);
    }
    sort(&client, "x", 1);
    assert_same(
        &scrolled(&client, 1),
        &expected("data_mixed", "mixed", "id", "id"),
        "as before",
    );
}

#[test]
fn rows_inserted_meanwhile_shift_no_page() {
    let setup = numbered("t", "id INT PRIMARY KEY, v INT", "n * 10, n", 3000);
    let client = Client::open("data_insert", &setup);
    client.show_tables();
    open_data(&client, "t");
    Database::shared().exec(
        "INSERT INTO data_insert.t VALUES (1, 0), (2, 0), (3, 0); DELETE FROM data_insert.t WHERE id = 1000",
    );
    tall(&client);
    let seen = scrolled(&client, 1);
    let ids: Vec<u32> = seen.iter().map(|id| id.parse().expect(id)).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "no row twice");
    let known = (1..=3000).map(|n| n * 10).filter(|n| *n != 1000);
    let missing: Vec<u32> = known.filter(|n| !ids.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    client.page.click("[aria-label='Reload the rows']");
    until_loaded(&client);
    assert_eq!(scrolled(&client, 1)[..4], ["1", "2", "3", "10"]);
}

/// Filters a column by its panel.
#[track_caller]
fn filter(client: &Client, name: &str, op: &str, value: &str) {
    let nth = client.headers().iter().position(|h| h == name).expect(name) + 2;
    let page = &client.page;
    page.click(&format!(
        ".grid-header[aria-colindex=\"{nth}\"] .grid-filter"
    ));
    page.wait_for("eyes.first('.panel select')");
    page.eval(&format!(
        "(() => {{ const op = eyes.first('.panel select'); op.value = {}; op.dispatchEvent(new Event('input')); }})()",
        json!(op)
    ));
    if op != "NULL" && op != "NOT NULL" {
        page.fill(".panel input", value);
    }
    page.click(".panel text=Filter");
    until_loaded(client);
}

#[test]
fn filters_of_each_kind_are_asked_of_the_server_and_shown_as_sql() {
    let setup = r"CREATE TABLE f (id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(8,2), at DATETIME, raw VARBINARY(8), kind ENUM('a','b'), doc JSON);
        INSERT INTO f VALUES (1, 'it''s', 1.50, '2024-01-01 10:00:00', X'00FF', 'a', '{}'), (2, 'a\\b%', -2, '2024-02-01 00:00:00', X'', 'b', NULL),
        (3, NULL, NULL, NULL, NULL, NULL, '[1]'), (4, '', 10, '2025-01-01 00:00:00', X'41', 'a', '{}'), (5, 'a,b', 3, '2024-01-02 00:00:00', X'41', 'b', '{}')";
    let client = Client::open("data_filters", setup);
    client.show_tables();
    open_data(&client, "f");
    for (name, op, value, ids) in [
        ("id", "=", "2", "2"),
        ("id", "!=", "2", "1 3 4 5"),
        ("price", "<", "2", "1 2"),
        ("price", "<=", "1.5", "1 2"),
        ("price", ">", "1.5", "4 5"),
        ("price", ">=", " 3 ", "4 5"),
        ("name", "=", "it's", "1"),
        ("name", "=", "a\\b%", "2"),
        ("name", "=", "", "4"),
        ("name", "LIKE", "a%", "2 5"),
        ("name", "IN", "'a,b', it's", ""),
        ("name", "IN", "'a,b', \"it's\", NULL", "1 3 5"),
        ("name", "NULL", "", "3"),
        ("name", "NOT NULL", "", "1 2 4 5"),
        ("at", "<", "2024-01-02", "1"),
        ("raw", "=", "0x00ff", "1"),
        ("raw", "=", "A", "4 5"),
        ("kind", "=", "b", "2 5"),
        ("doc", "=", "[1]", "3"),
        ("name", "contains", "\\b", "2"),
        ("name", "contains", "b%", "2"),
        ("name", "starts with", "A", "2 5"),
        ("name", "not contains", ",", "1 2 3 4"),
        ("name", "ends with", "B", "5"),
        ("name", "NOT IN", "'a,b', ''", "1 2"),
        ("price", "between", "1.5, 3", "1 5"),
        ("at", "between", "2024-01-02, 2024-02-01", "2 5"),
        ("price", "NOT IN", "3, 10", "1 2"),
        ("doc", "contains", "1", "3"),
        ("kind", "contains", "B", "2 5"),
    ] {
        if ids.is_empty() {
            continue;
        }
        filter(&client, name, op, value);
        assert_eq!(client.column(0).join(" "), ids, "{name} {op} {value}");
        assert!(
            client.text(".data-sql").contains("WHERE"),
            "the statement is shown"
        );
        client.page.click(".data-chip .button");
        until_loaded(&client);
    }
    assert_eq!(client.cells().len(), 5);
    // A text is looked into, and a pattern that is typed is one.
    for (typed, chip, ids) in [("A,", "contains A,", "5"), ("%B_", "LIKE %B_", "2")] {
        let nth = client.headers().iter().position(|h| h == "name").unwrap() + 2;
        client.page.click(&format!(
            ".grid-header[aria-colindex=\"{nth}\"] .grid-filter"
        ));
        client
            .page
            .wait_for("document.activeElement.matches('.panel input')");
        client.page.type_text(typed);
        client.page.screenshot("filter-text");
        client.page.press("Enter");
        until_loaded(&client);
        let told = client.text(".data-chip");
        let told: Vec<&str> = told.split_whitespace().collect();
        assert_eq!(told.join(" "), format!("name {chip}"));
        assert_eq!(client.column(0).join(" "), ids, "{typed}");
        client.page.click(".data-chip .button");
        until_loaded(&client);
    }
    // Two at once, and a value that is none of the column's.
    filter(&client, "kind", "=", "a");
    filter(&client, "price", ">", "2");
    assert_eq!(client.column(0), ["4"]);
    client.page.click("text=Remove all");
    until_loaded(&client);
    client.page.press("Escape");
    let nth = 4;
    client.page.click(&format!(
        ".grid-header[aria-colindex=\"{nth}\"] .grid-filter"
    ));
    client.page.fill(".panel input", "cheap");
    client.page.press("Enter");
    client
        .page
        .wait_for_text("price holds numbers; “cheap” is not one");
    client.page.assert_accessible("a filter");
    client.page.press("Escape");
    client.page.assert_accessible("the data of a table");
}

#[test]
fn a_condition_by_hand_is_kept_when_it_fails_and_the_error_stands_beside_it() {
    let client = Client::open(
        "data_where",
        &numbered("t", "id INT PRIMARY KEY, v INT", "n, n % 3", 30),
    );
    client.show_tables();
    open_data(&client, "t");
    let page = &client.page;
    page.expect_error("400");
    let apply = |text: &str| {
        page.fill(".data-where", text);
        page.press("Enter");
        until_loaded(&client);
    };
    apply("v = 1 AND id < 10 -- few");
    assert_eq!(client.column(0), ["1", "4", "7"]);
    for (bad, error) in [
        ("nope = 1", "nope"),
        ("v = 1) OR (1", "closing parenthesis"),
        ("v = 1; DROP TABLE t", "semicolon"),
    ] {
        apply(bad);
        assert!(
            client.text(".data-error").contains(error),
            "{}",
            client.text(".data-error")
        );
        assert_eq!(page.eval("eyes.first('.data-where').value"), json!(bad));
        assert_eq!(client.column(0), ["1", "4", "7"], "what was shown stays");
    }
    apply("");
    assert_eq!(client.text(".data-figures"), "30 rows");
    assert_eq!(client.text(".data-error"), "");
    assert_eq!(page.eval("eyes.violations"), json!([]));
}

#[test]
fn rows_are_counted_on_demand() {
    let client = Client::open(
        "data_count",
        &numbered("t", "id INT PRIMARY KEY", "n", 5000),
    );
    client.show_tables();
    open_data(&client, "t");
    let figures = client.text(".data-figures");
    assert!(figures.ends_with("+ rows"), "{figures}");
    client.page.click("text=Count all");
    client.page.wait_for_text("5,000 rows in total");
}

const FAMILY: &str = r"CREATE TABLE country (code CHAR(2), region INT, name VARCHAR(40), PRIMARY KEY (code, region));
    CREATE TABLE person (id INT PRIMARY KEY, name VARCHAR(40), boss INT NULL, code CHAR(2), region INT,
      FOREIGN KEY (boss) REFERENCES person (id), FOREIGN KEY (code, region) REFERENCES country (code, region));
    INSERT INTO country VALUES ('de', 1, 'Germany'), ('de', 2, 'Deutschland'), ('at', 1, 'Austria');
    INSERT INTO person VALUES (1, 'Ann', NULL, 'de', 2), (2, 'Bob', 1, 'de', 1), (3, 'Cid', 1, 'at', 1)";

#[test]
fn foreign_keys_lead_forward_and_back_and_to_what_refers_to_a_row() {
    let client = Client::open("data_family", FAMILY);
    let page = &client.page;
    client.show_tables();
    open_data(&client, "person");
    assert_eq!(
        page.eval("eyes.all('.grid-link').length"),
        json!(8),
        "none at a NULL"
    );
    page.click("[aria-label='Open country (code, region)']");
    page.wait_for("eyes.headers()[0] === 'code'");
    until_loaded(&client);
    assert_eq!(client.cells(), [["de", "2", "Deutschland"]]);
    assert!(client.result_tabs().iter().any(|tab| tab == "country data"));
    page.press("Alt+ArrowLeft");
    page.wait_for("eyes.headers()[0] === 'id'");
    until_loaded(&client);
    assert_eq!(client.cells().len(), 3);
    // By keyboard from a cell, and back by the name of the table.
    client.click_cell(1, 2);
    page.press("Alt+ArrowRight");
    page.wait_for("eyes.all('.data-chip').length === 1");
    until_loaded(&client);
    assert_eq!(client.column(1), ["Ann"]);
    // Rows that refer to Ann.
    client.click_cell(0, 0);
    page.press("Shift+F10");
    page.click("[role=menuitem] text=Referenced by …");
    page.click("[role=menuitem] text=person (boss)");
    page.wait_for("eyes.rows().length === 2");
    until_loaded(&client);
    assert_eq!(client.column(1), ["Bob", "Cid"]);
    assert_eq!(page.texts(".data-trail .link"), ["person", "person"]);
    page.click(".data-trail .link");
    page.wait_for("eyes.rows().length === 3");
    page.assert_accessible("foreign keys");
}

#[test]
fn the_way_back_leads_to_the_same_rows_however_deep_they_are() {
    let setup = FAMILY.to_owned()
        + ";"
        + &numbered(
            "visit",
            "id INT PRIMARY KEY, person INT, FOREIGN KEY (person) REFERENCES person (id)",
            "n, n % 3 + 1",
            9000,
        );
    let client = Client::open("data_back", &setup);
    let page = &client.page;
    client.show_tables();
    open_data(&client, "visit");
    sort(&client, "id", 2);
    while page.eval("eyes.rows().at(-1)?.querySelector('.grid-cell')?.textContent > 4000")
        == json!(true)
    {
        page.eval("eyes.grid().scrollTop = eyes.grid().scrollHeight");
        client.settle();
    }
    client.settle();
    let seen = client.column(0);
    page.eval("eyes.all('.grid-link')[3].click()");
    page.wait_for("eyes.headers()[1] === 'name'");
    until_loaded(&client);
    let before = client.sent();
    page.press("Alt+ArrowLeft");
    page.wait_for("eyes.headers()[1] === 'person'");
    until_loaded(&client);
    assert!(
        client.column(0).iter().any(|id| seen.contains(id)),
        "{seen:?}"
    );
    let asked: Vec<String> = page
        .requests()
        .into_iter()
        .map(|r| r.body)
        .filter(|body| body.contains("visit"))
        .collect();
    let again = &asked[asked.len() - (client.sent() - before)..];
    assert!(
        again.len() < 5,
        "only what is in sight is loaded again: {again:#?}"
    );
    // A link that cannot be opened leaves the user in place.
    Database::shared().exec("SET foreign_key_checks = 0; DROP TABLE data_back.person");
    page.expect_error("400");
    page.eval("eyes.all('.grid-link')[3].click()");
    page.wait_for("eyes.first('.data-error')");
    assert_eq!(client.headers(), ["id", "person"]);
    assert_eq!(page.eval("eyes.all('.data-trail button').length"), json!(0));
}

#[test]
fn hostile_names_and_values_are_only_data() {
    let setup = "CREATE TABLE `a``b; <img src=x onerror=alert(1)>` (`k``'\"` VARCHAR(40), `sel ect` INT NULL, `ümlaut %s ?` TEXT, `postern_order_0` SET('a','b') NOT NULL, PRIMARY KEY (`k``'\"`));
        INSERT INTO `a``b; <img src=x onerror=alert(1)>` SELECT CONCAT('\\\\'' OR 1=1 -- ', seq, CHAR(10), '\0'), seq, '<script>alert(1)</script>', 'a' FROM seq_1_to_900;";
    let client = Client::open("data_hostile", setup);
    tall(&client);
    client.show_tables();
    open_data(&client, "a`b; <img src=x onerror=alert(1)>");
    assert_eq!(scrolled(&client, 1).len(), 900);
    sort(&client, "postern_order_0", 1);
    assert_eq!(scrolled(&client, 1).len(), 900);
    filter(&client, "k`'\"", "LIKE", "%' OR 1=1 -- 7%");
    assert_eq!(scrolled(&client, 1).len(), 111);
    client.page.assert_accessible("hostile names");
    assert_eq!(client.page.eval("eyes.violations"), json!([]));
}

#[test]
fn read_only_mode_browses_sorts_filters_and_refuses_what_writes() {
    let setup = numbered(
        "t",
        "id INT PRIMARY KEY, at TIMESTAMP NULL, e ENUM('b','a')",
        "n, '2024-05-05 05:05:05', n % 2 + 1",
        1500,
    ) + "CREATE FUNCTION writes() RETURNS INT BEGIN DELETE FROM t; RETURN 1; END;";
    let client = Client::with("data_readonly", &setup, &["--readonly"]);
    tall(&client);
    client.show_tables();
    open_data(&client, "t");
    assert_eq!(scrolled(&client, 1).len(), 1500);
    sort(&client, "e", 1);
    assert_same(
        &scrolled(&client, 1),
        &expected("data_readonly", "t", "id", "e, id"),
        "e",
    );
    filter(&client, "e", "=", "a");
    assert_eq!(scrolled(&client, 1).len(), 750);
    filter(&client, "e", "!=", "back\\slash's");
    assert_eq!(scrolled(&client, 1).len(), 1500);
    client.page.expect_error("403");
    client.page.fill(".data-where", "writes() = 1");
    client.page.press("Enter");
    client.page.wait_for("eyes.first('.data-error')");
    assert!(
        client.text(".data-error").contains("read-only mode"),
        "{}",
        client.text(".data-error")
    );
    assert_eq!(
        Database::shared().value("SELECT COUNT(*) FROM data_readonly.t"),
        "1500"
    );
}

#[test]
fn a_narrow_window_shows_the_data_without_scrolling_sideways() {
    let client = Client::open("data_narrow", FAMILY);
    client.page.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true}),
    );
    client.page.wait_for("eyes.first('#sidebar') === null");
    client.page.click("#drawer");
    client.page.wait_for("eyes.first('#sidebar')");
    client.show_tables();
    open_data(&client, "person");
    let width: Value = client.page.eval("document.documentElement.scrollWidth");
    assert_eq!(width, json!(360));
    let grid = client.page.eval("eyes.grid().clientHeight");
    assert!(grid.as_u64().unwrap() > 100, "{grid}");
    client.page.assert_accessible("the data at 360 px");
}

/// Rows of the grid that are seen whole.
const ROWS_SEEN: &str = r"(() => {
  const grid = eyes.grid().getBoundingClientRect();
  const top = eyes.first('.grid-head').getBoundingClientRect().bottom - 1;
  const bottom = Math.min(grid.bottom, eyes.first('.results-panel').getBoundingClientRect().bottom, innerHeight) + 1;
  return eyes.all('.grid-row').map((row) => row.getBoundingClientRect()).filter((box) => box.top >= top && box.bottom <= bottom).length;
})()";

#[test]
fn four_rows_are_seen_in_a_low_window_and_the_editor_comes_back_with_the_focus() {
    let client = Client::open(
        "data_low",
        &(FAMILY.to_owned()
            + "; INSERT INTO person WITH RECURSIVE n (seq) AS (SELECT 10 UNION ALL SELECT seq + 1 FROM n WHERE seq < 90) SELECT seq, 'x', 1, 'de', 1 FROM n"),
    );
    let page = &client.page;
    let size = |width: u32, height: u32, mobile: bool| {
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}),
        );
        client.settle();
    };
    client.show_tables();
    page.press("Alt+m"); // a height of the editor that was kept
    page.press("Alt+m");
    client.write("SELECT 'mine'");
    open_data(&client, "person");
    page.click(".grid-cell");
    let seen = || page.eval(ROWS_SEEN).as_u64().unwrap();
    for (width, height, mobile) in [(720, 450, false), (740, 360, true), (360, 740, true)] {
        size(width, height, mobile);
        page.wait_for(&format!("{ROWS_SEEN} >= 4"));
        page.assert_accessible("the data in a low window");
    }
    size(740, 360, true);
    let editor = || {
        page.eval("document.querySelector('#editors').offsetHeight")
            .as_u64()
            .unwrap()
    };
    assert_eq!(editor(), 0);
    // The focused part is visible.
    page.click("#tabs [role=tab]");
    page.wait_for("document.querySelector('#editors').offsetHeight >= 60");
    page.click(".results-tab [aria-selected=true]");
    page.wait_for("document.querySelector('#editors').offsetHeight === 0");
    client.press_function_key(6, false);
    client.press_function_key(6, false);
    page.wait_for("document.activeElement.closest('#editors')?.offsetHeight >= 60");
    assert_eq!(client.editor(), "SELECT 'mine'");
    // A window made wider: the rows are those of a pointer again.
    size(1440, 900, false);
    page.wait_for("eyes.first('.grid-row').offsetHeight <= 25 && getComputedStyle(eyes.first('.grid-cell')).lineHeight === '23px'");
    assert!(seen() > 10, "{}", seen());
}

#[test]
fn where_no_rows_are_found_the_condition_is_named() {
    let client = Client::open("data_none", FAMILY);
    let page = &client.page;
    client.show_tables();
    // The key that opens them leads into them.
    page.eval("document.querySelector('.row-main[data-name=person]').focus()");
    page.press("Alt+Enter");
    page.wait_for("document.activeElement.matches('.grid-cell')");
    page.fill(".data-where", "id > 1000");
    page.press("Enter");
    page.wait_for("eyes.first('.grid-empty')?.innerText.includes('the condition')");
    page.fill(".data-where", "");
    page.press("Enter");
    page.wait_for("!eyes.first('.grid-empty')");
}

#[test]
fn why_rows_are_not_changed_is_read_whole_in_a_window_of_1024_pixels() {
    let client = Client::open("data_why", "CREATE TABLE keyless (a INT, b INT)");
    let page = &client.page;
    page.viewport(1024, 768);
    client.show_tables();
    open_data(&client, "keyless");
    for part in [".data-fixed", ".data-note"] {
        let whole = page.eval(&format!(
            "(({{ scrollWidth, clientWidth, textContent }}) => textContent.length > 20 && scrollWidth <= clientWidth)(eyes.first('{part}'))"
        ));
        assert_eq!(whole, json!(true), "{part}");
    }
    page.wait_for("eyes.first('.data-note').getBoundingClientRect().bottom <= eyes.first('.data-foot').getBoundingClientRect().bottom");
}

/// Goes to the end of what is there again and again, for a while; where that is, whether it is the last row, and the memory.
const TO_THE_END: &str = r"(async () => {
  const grid = eyes.grid();
  const until = performance.now() + 20_000;
  const figures = () => eyes.first('.data-figures').textContent;
  while (performance.now() < until && figures().includes('+')) {
    grid.scrollTop = grid.scrollHeight;
    await new Promise((done) => requestAnimationFrame(done));
  }
  const held = performance.memory.usedJSHeapSize;
  return { figures: figures(), held, ended: !figures().includes('+') };
})()";

#[test]
fn a_table_of_any_size_is_browsed_to_the_end_in_flat_memory() {
    let rows = support::rounds(200_000, 1_000_000);
    let setup = numbered(
        "m",
        "id INT PRIMARY KEY, v VARCHAR(60)",
        "n, CONCAT('value of row ', n)",
        rows,
    );
    let client = Client::open("data_flat", &setup);
    client.show_tables();
    open_data(&client, "m");
    let page = &client.page;
    let mut last = page.eval(TO_THE_END);
    for _ in 0..20 {
        if last["ended"] == true {
            break;
        }
        last = page.eval(TO_THE_END);
        eprintln!("{last}");
    }
    let figures = format!("{rows} rows");
    let shown = last["figures"].as_str().unwrap_or_default();
    assert_eq!(shown.replace(',', ""), figures);
    assert!(last["held"].as_u64().unwrap() < 150 << 20, "{last}");
    client.settle();
    page.eval("eyes.grid().scrollTop = eyes.grid().scrollHeight");
    page.wait_for(&format!(
        "eyes.rows().at(-1)?.querySelector('.grid-cell')?.textContent === '{rows}'"
    ));
    page.eval("eyes.grid().scrollTop = eyes.grid().scrollHeight / 2");
    let middle = rows / 2;
    page.wait_for(&format!(
        "Math.abs(eyes.rows().at(-1)?.querySelector('.grid-cell')?.textContent - {middle}) < 200"
    ));
}

#[test]
fn the_last_row_is_reached_without_those_between_and_find_says_what_it_saw() {
    let setup = numbered(
        "m",
        "id INT PRIMARY KEY, v VARCHAR(60)",
        "n, CONCAT('value ', n)",
        100_000,
    );
    let client = Client::open("data_end", &setup);
    client.show_tables();
    open_data(&client, "m");
    let page = &client.page;
    client.click_cell(0, 0);
    let before = client.sent();
    page.press("Ctrl+End");
    page.wait_for("eyes.rows().at(-1)?.querySelector('.grid-cell')?.textContent === '100000'");
    page.wait_for("eyes.first('.data-figures').innerText.startsWith('100,000 rows in total')");
    assert!(client.sent() - before < 8, "{}", client.sent() - before);
    page.eval("eyes.grid().scrollTop = eyes.grid().scrollHeight / 2");
    // The row with the active cell stays in the document wherever it is.
    page.wait_for(
        "Math.abs(eyes.rows().at(-2)?.querySelector('.grid-cell')?.textContent - 50000) < 200",
    );
    client.press_function_key(3, false);
    page.type_text("value 100000");
    page.wait_for("/^1 of 1 in [\\d,]+ loaded rows$/.test(eyes.first('.find-count').innerText)");
    page.press("Escape");
    page.eval("eyes.grid().scrollTop = 0");
    page.wait_for("eyes.rows()[0]?.querySelector('.grid-cell')?.textContent === '1'");
}

#[test]
fn the_schema_leads_to_the_data_and_the_clicks_on_a_table_stay_as_they_were() {
    make_database("data_other", "");
    let client = Client::open("data_clicks", FAMILY);
    client.show_tables();
    client.page.click(&row("person"));
    client.page.wait_for("eyes.first('.schema table')");
    assert_eq!(client.editor(), "");
    client.page.click(".schema-head text=Data");
    client.page.wait_for("eyes.first('.data-table')?.textContent === 'data_clicks.person' && eyes.rows().length === 3");
    assert_eq!(
        client.result_tabs()[..]
            .iter()
            .filter(|tab| tab.starts_with("person"))
            .count(),
        2
    );
    client.until_ended(|| client.page.double_click(&row("person")));
    assert_eq!(client.editor(), "SELECT * FROM person LIMIT 100");
}

#[test]
fn the_line_below_the_rows_is_in_sight_in_a_narrow_window() {
    let setup = "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NULL); INSERT INTO t SELECT seq, NOW() FROM seq_1_to_3000";
    let client = Client::open("data_narrow", setup);
    let page = &client.page;
    client.show_tables();
    open_data(&client, "t");
    for (width, height) in [(390, 800), (390, 700), (390, 600), (760, 700), (1280, 800)] {
        page.viewport(width, height);
        client.settle();
        let seen = "(() => { const foot = eyes.first('.data-foot').getBoundingClientRect(); return document.elementFromPoint(foot.left + 20, foot.top + 4)?.closest('.data-foot') && foot.bottom <= eyes.first('.results-panel').getBoundingClientRect().bottom + 1; })()";
        assert_eq!(page.eval(seen), true, "{width} × {height}");
    }
}
