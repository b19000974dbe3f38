//! Filters of the data of a table: values with their counts, several conditions on a column, and what is kept of them.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Client, make_database, strings};
use super::data::{open_data, until_loaded};
use super::edit::on_data;
use super::looks::look_at;
use super::objects::as_account;
use support::Database;

/// Opens the filter of a column.
#[track_caller]
fn open_filter(client: &Client, column: &str) {
    let nth = client.headers().iter().position(|h| h == column);
    let nth = nth.expect(column) + 2;
    client.page.click(&format!(
        ".grid-header[aria-colindex=\"{nth}\"] .grid-filter"
    ));
    client.page.wait_for("eyes.first('.filter-panel')");
}

/// Opens the filter of a column and waits for its values, each with its count behind it.
#[track_caller]
fn values_of(client: &Client, column: &str) -> Vec<String> {
    open_filter(client, column);
    listed(client)
}

#[track_caller]
fn listed(client: &Client) -> Vec<String> {
    let counted = "/values?( found)?$|for the others/.test(eyes.first('.value-note')?.innerText)";
    client.page.wait_for(counted);
    strings(
        client
            .page
            .eval("eyes.all('.value-list label').map((label) => label.textContent)"),
    )
}

/// Ticks the values of a column and filters by them.
#[track_caller]
fn tick(client: &Client, column: &str, values: &[&str]) {
    values_of(client, column);
    for value in values {
        client.page.click(&format!(".value-list text={value}"));
    }
    client.page.click(".panel text=Filter");
    until_loaded(client);
}

/// Compares a column by its panel, as a further condition if it has some.
#[track_caller]
pub(super) fn compare(client: &Client, column: &str, op: &str, value: &str) {
    let page = &client.page;
    open_filter(client, column);
    if page.eval("eyes.first('.filter-conditions') !== null") == json!(true) {
        page.click(".filter-conditions text=Add condition");
    }
    page.eval(&format!(
        "(() => {{ const op = eyes.first('.panel select'); op.value = {}; op.dispatchEvent(new Event('input')); }})()",
        json!(op)
    ));
    page.fill(".panel input", value);
    page.click(".panel text=Filter");
    until_loaded(client);
}

/// The chips, in one line each.
fn chips(client: &Client) -> Vec<String> {
    let texts = "eyes.all('.data-chip').map((chip) => chip.textContent.trim())";
    strings(client.page.eval(texts))
}

/// Statements that count values on the server now.
fn counting() -> String {
    Database::shared().value(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%COUNT(*) AS n%filters_slow%' AND INFO NOT LIKE '%PROCESSLIST%'",
    )
}

#[track_caller]
fn until_counting(number: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while counting() != number {
        assert!(Instant::now() < deadline, "{} statements", counting());
        std::thread::sleep(Duration::from_millis(20));
    }
}

const KINDS: &str = "CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR(40) COLLATE utf8mb4_general_ci, kind ENUM('b','a','never'), flags SET('x','y'), \
    at TIMESTAMP(1) NULL, day DATE, price DECIMAL(8,2), ratio FLOAT, rate DOUBLE, raw VARBINARY(8), bits BIT(9), born YEAR, note TEXT); \
    INSERT INTO kinds VALUES (1, 'a', 'b', 'x,y', '2024-05-05 05:05:05.5', '2024-01-01', 1.50, 0.1, 0.1, X'00FF', b'101', 2000, 'n'), \
    (2, 'A', 'a', 'x', '2024-05-05 05:05:05.5', '2024-01-02', 1.5, 0.1, 1e300, X'00FF', b'101', 2001, 'n'), \
    (3, '', 'a', '', '2024-05-05 05:05:05', '2024-01-02', -2, 1234567.9, 0.30000000000000004, X'', b'100000000', 2001, 'n'), \
    (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
    (5, 'it''s, \"5\"', 'a', 'x', '2024-05-06 00:00:00', '2024-01-02', 0, -0.7, 0.3, X'41', b'0', 1999, 'n'), \
    (6, CONCAT('back', CHAR(92), 'slash', CHAR(10), '%'), 'b', 'x,y', '2023-05-05 05:05:05', '2024-01-01', 10, 3, 3, X'4142', b'111', 2001, 'n')";

#[test]
fn each_value_that_is_listed_leads_to_as_many_rows_as_it_says() {
    let client = on_data("filters_values", KINDS, "kinds");
    let page = &client.page;
    assert_eq!(
        values_of(&client, "name"),
        ["a2", "NULL1", "‹empty›1", "back\\slash⏎%1", "it's, \"5\"1"]
    );
    page.press("Escape");
    for column in [
        "name", "kind", "flags", "at", "day", "price", "ratio", "rate", "raw", "bits", "born",
    ] {
        let values = values_of(&client, column);
        let count = |value: &String| value.chars().last().unwrap().to_digit(10).unwrap();
        assert_eq!(values.iter().map(count).sum::<u32>(), 6, "{values:?}");
        page.press("Escape");
        for (at, value) in values.iter().enumerate() {
            assert_eq!(&values_of(&client, column), &values);
            page.click(&format!(".value-list li:nth-child({}) input", at + 1));
            page.click(".panel text=Filter");
            until_loaded(&client);
            assert_eq!(
                client.cells().len(),
                count(value) as usize,
                "{column} {value}: {}",
                client.text(".data-sql")
            );
            page.click(".data-chip .button");
            until_loaded(&client);
        }
    }
    open_filter(&client, "note");
    page.wait_for_text("Values of this type are not listed.");
    page.press("Escape");
    page.eval("eyes.grid().scrollLeft = 0");
    client.settle();
    // The others of two that are ticked, with NULL and the empty text.
    tick(&client, "name", &["NULL", "‹empty›", "a"]);
    assert_eq!(client.column(0), ["1", "2", "3", "4"]);
    assert_eq!(chips(&client), ["name IN NULL, '', a"]);
    assert_eq!(client.text(".data-figures"), "4 of 6 rows");
    // The list of another column counts the rows that are left; that of this column all.
    assert_eq!(values_of(&client, "kind"), ["a2", "NULL1", "b1", "never0"]);
    page.press("Escape");
    assert_eq!(values_of(&client, "name").len(), 5);
    assert_eq!(
        page.eval("eyes.all('.value-list input').filter((box) => box.checked).length"),
        json!(3)
    );
    page.eval("{ const op = eyes.first('.panel select'); op.value = 'except'; op.dispatchEvent(new Event('input')); }");
    page.click(".panel text=Filter");
    until_loaded(&client);
    assert_eq!(client.column(0), ["5", "6"]);
    // Without ticks there is no filter.
    values_of(&client, "name");
    page.click(".value-tools text=Tick none");
    page.click(".panel text=Filter");
    until_loaded(&client);
    assert!(chips(&client).is_empty());
    assert_eq!(client.text(".data-figures"), "6 rows");
}

const NUMBERS: &str = "CREATE TABLE numbers (id INT PRIMARY KEY, v INT, w VARCHAR(20)); \
    INSERT INTO numbers SELECT seq, IF(seq % 10 = 0, NULL, seq % 10), CONCAT('w', seq) FROM seq_1_to_300";

#[test]
fn conditions_on_one_column_are_switched_off_changed_and_there_after_a_reload() {
    let client = on_data("filters_chips", NUMBERS, "numbers");
    let page = &client.page;
    compare(&client, "v", ">", "2");
    compare(&client, "v", "<", "5");
    assert_eq!(chips(&client), ["v > 2", "v < 5"]);
    assert_eq!(client.text(".data-figures"), "60 of 300 rows");
    assert_eq!(client.text(".grid-filter.set"), "> 2 AND < 5");
    // One is switched off by the keyboard, which stays there.
    page.eval("eyes.first('.data-chip input').focus()");
    page.press("Space");
    page.wait_for("eyes.first('.data-figures').innerText === '120 of 300 rows'");
    until_loaded(&client);
    page.wait_for("document.activeElement === eyes.first('.data-chip input') && !document.activeElement.checked");
    assert_eq!(client.text(".grid-filter.set"), "< 5");
    assert!(!client.text(".data-sql").contains("> 2"));
    page.assert_accessible("a filter that is switched off");
    page.reload();
    client.wait_until_ready();
    page.wait_for("eyes.all('.results-tab').some((tab) => tab.innerText.includes('numbers data'))");
    page.click(".results-tab text=numbers data");
    page.wait_for("eyes.rows().length > 0");
    until_loaded(&client);
    assert_eq!(chips(&client), ["v > 2", "v < 5"]);
    assert_eq!(
        page.eval("eyes.all('.data-chip input').map((box) => box.checked)"),
        json!([false, true])
    );
    // A small table is counted unasked.
    page.wait_for("eyes.first('.data-figures').innerText === '120 of 300 rows'");
    // Changed by its chip; two fields take the bounds.
    page.click(".data-chip:nth-of-type(2) .chip-text");
    page.wait_for("document.activeElement.matches('.panel input')");
    page.eval("{ const op = eyes.first('.panel select'); op.value = 'between'; op.dispatchEvent(new Event('input')); }");
    page.fill(".panel input", "7");
    page.fill(".panel [aria-label='Value to']", "8");
    page.press("Enter");
    until_loaded(&client);
    assert_eq!(chips(&client), ["v > 2", "v between 7, 8"]);
    assert_eq!(client.text(".data-figures"), "60 of 300 rows");
    // The condition of a column that is gone goes with it.
    Database::shared().exec("ALTER TABLE filters_chips.numbers DROP COLUMN v");
    page.reload();
    client.wait_until_ready();
    page.click(".results-tab text=numbers data");
    page.wait_for_text("Removed the filter of v: numbers has no such column");
    page.wait_for("eyes.first('.data-figures')?.innerText === '300 rows'");
    assert!(chips(&client).is_empty());
}

#[test]
fn a_value_is_excluded_and_rows_with_null_stay() {
    let client = on_data("filters_exclude", NUMBERS, "numbers");
    let page = &client.page;
    let exclude = |row: usize, column: usize| {
        client.click_cell(row, column);
        page.press("Shift+F10");
        page.click("[role=menuitem] text=Exclude this value");
        until_loaded(&client);
    };
    exclude(0, 1);
    exclude(0, 1);
    assert_eq!(chips(&client), ["v except 1, 2"]);
    assert_eq!(client.text(".data-figures"), "240 of 300 rows");
    assert_eq!(client.column(0)[..3], ["3", "4", "5"]);
    client.click_cell(7, 1);
    assert_eq!(client.cells()[7][1], "NULL");
    exclude(7, 1);
    assert_eq!(client.text(".data-figures"), "210 of 300 rows");
    assert_eq!(chips(&client), ["v except 1, 2", "v NOT NULL"]);
}

#[test]
fn of_many_values_the_server_finds_those_that_are_searched() {
    let setup =
        format!("{NUMBERS}; INSERT INTO numbers SELECT seq + 1000, 3, 'w299' FROM seq_1_to_9");
    let client = Client::with("filters_many", &setup, &["--readonly"]);
    client.show_tables();
    open_data(&client, "numbers");
    let page = &client.page;
    let values = values_of(&client, "w");
    assert_eq!((values.len(), values[0].as_str()), (200, "w29910"));
    assert_eq!(
        client.text(".value-note"),
        "The 200 most frequent values. Search for the others."
    );
    page.fill(".value-counts input[type=search]", "W29");
    page.wait_for("eyes.first('.value-note').innerText === '11 values found'");
    assert_eq!(listed(&client)[..2], ["w29910", "w291"]);
    // By keyboard: into the list, ticked, filtered.
    page.press("ArrowDown");
    page.press("ArrowDown");
    page.press("Space");
    page.press("End");
    page.press("Space");
    page.press("Enter");
    until_loaded(&client);
    assert_eq!(chips(&client), ["w IN w29, w298"]);
    assert_eq!(client.column(0), ["29", "298"]);
}

#[test]
fn values_and_rows_of_a_large_table_are_counted_only_when_it_is_asked_for() {
    let setup = "CREATE TABLE many (id INT PRIMARY KEY, v INT, w INT); INSERT INTO many SELECT seq, seq % 3, seq % 2 FROM seq_1_to_200000; ANALYZE TABLE many";
    let client = on_data("filters_asked", setup, "many");
    let page = &client.page;
    let before = client.sent();
    open_filter(&client, "v");
    client.settle();
    assert_eq!(page.eval("eyes.first('.value-list')"), json!(null));
    page.click(".panel summary");
    assert_eq!(listed(&client), ["166,667", "266,667", "066,666"]);
    assert_eq!(client.sent() - before, 1);
    page.press("Escape");
    assert_eq!(values_of(&client, "w").len(), 2, "open, as it was left");
    page.press("Escape");
    compare(&client, "id", "<=", "1000");
    client.settle();
    let figures = client.text(".data-figures");
    assert!(!figures.contains(" of "), "{figures}");
    page.click(".data-foot text=Count all");
    page.wait_for("eyes.first('.data-figures').innerText.startsWith('1,000 of 200,000 rows')");
    // It was opened by a person, which is remembered.
    page.reload();
    client.wait_until_ready();
    page.click(".results-tab text=many data");
    until_loaded(&client);
    assert_eq!(values_of(&client, "w").len(), 2);
    page.click(".panel summary");
    page.press("Escape");
    open_filter(&client, "v");
    client.settle();
    assert_eq!(page.eval("eyes.first('.value-list')"), json!(null));
}

#[test]
fn the_values_of_a_small_table_are_listed_at_once_and_narrowed_by_what_is_typed() {
    let setup = "CREATE TABLE many (id INT PRIMARY KEY, v INT, w VARCHAR(20)); INSERT INTO many SELECT seq, seq % 30, CONCAT('w', seq % 7) FROM seq_1_to_5000; ANALYZE TABLE many";
    let client = on_data("filters_small", setup, "many");
    let page = &client.page;
    assert_eq!(values_of(&client, "w").len(), 7);
    page.fill(".panel input", "5");
    page.wait_for("eyes.first('.value-note').innerText === '1 value found'");
    assert_eq!(listed(&client), ["w5714"]);
    page.press("Escape");
    assert_eq!(values_of(&client, "v").len(), 30);
    page.fill(".panel input", "11");
    assert_eq!(listed(&client), ["11167"]);
    // Another comparison is of no value in the list.
    page.fill(".panel input", ">11");
    assert_eq!(listed(&client).len(), 30);
    let compared = "[eyes.first('.panel select').value, eyes.first('.filter-sql').textContent]";
    assert_eq!(page.eval(compared), json!([">", "`v` > 11"]));
    page.fill(".panel input", "3..5");
    assert_eq!(
        page.eval(compared),
        json!(["between", "`v` BETWEEN 3 AND 5"])
    );
    page.fill(".panel input", "!NULL");
    assert_eq!(page.eval(compared), json!(["NOT NULL", "`v` IS NOT NULL"]));
    page.fill(".panel input", ">= 28");
    page.press("Enter");
    until_loaded(&client);
    assert_eq!(chips(&client), ["v >= 28"]);
    page.wait_for("eyes.first('.data-figures').innerText.endsWith(' of 5,000 rows') || eyes.first('.data-figures').innerText.startsWith('332 of 5,000 rows')");
    // A comparison that is chosen takes the text as it is.
    open_filter(&client, "w");
    page.fill(".panel input", "=w3");
    page.eval("{ const op = eyes.first('.panel select'); op.value = 'ends with'; op.dispatchEvent(new Event('input')); }");
    assert_eq!(page.eval("eyes.first('.panel input').value"), json!("w3"));
    page.fill(".panel input", ">3");
    assert_eq!(page.eval(compared), json!(["ends with", "`w` LIKE '%>3'"]));
    page.fill(".panel input", "3");
    page.press("Enter");
    until_loaded(&client);
    assert_eq!(chips(&client), ["v >= 28", "w ends with 3"]);
    // A text with a wildcard is a pattern, as the comparison says.
    open_filter(&client, "w");
    page.click(".filter-conditions text=Add condition");
    page.fill(".panel input", "50%");
    assert_eq!(page.eval(compared), json!(["LIKE", "`w` LIKE '50%'"]));
}

const TIMES: &str = "CREATE TABLE times (id INT PRIMARY KEY, at DATETIME(1), stamp TIMESTAMP NULL, day DATE); \
    INSERT INTO times VALUES (1, '2024-05-22 23:59:59.9', '2024-05-22 23:59:59', '2024-05-22'), \
    (2, '2024-05-23 00:00:00', '2024-05-23 00:00:00', '2024-05-23'), \
    (3, '2024-05-23 23:59:59.9', '2024-05-23 23:59:59', '2024-05-31'), \
    (4, '2024-05-24 00:00:00', '2024-05-24 00:00:00', '2024-06-01'), \
    (5, '2023-12-31 23:59:59.9', '2023-12-31 23:59:59', '2023-12-31'), (6, NULL, NULL, NULL)";

#[test]
fn a_day_a_month_and_a_year_are_all_of_them() {
    let client = on_data("filters_times", TIMES, "times");
    let page = &client.page;
    for (op, value, at, day) in [
        ("=", "2024-05-23", "2,3", "2"),
        ("=", "2024-05", "1,2,3,4", "1,2,3"),
        ("=", "2024", "1,2,3,4", "1,2,3,4"),
        ("!=", "2024-05-23", "1,4,5", "1,3,4,5"),
        ("except", "2023, 2024-05-23", "1,4,6", "1,3,4,6"),
        ("IN", "2023, 2024-05-24", "4,5", "5"),
        ("<=", "2024-05-23", "1,2,3,5", "1,2,5"),
        (">", "2024-05-23", "4", "3,4"),
        ("between", "2024-05-22 and 2024-05-23", "1,2,3", "1,2"),
        ("between", "2023 and 2024-05", "1,2,3,4,5", "1,2,3,5"),
    ] {
        for (column, expected) in [("at", at), ("stamp", at), ("day", day)] {
            compare(&client, column, op, value);
            let ids = client.column(0).join(",");
            let sql = client.text(".data-sql");
            assert_eq!(ids, expected, "{column} {op} {value}: {sql}");
            page.click(".data-chip .button");
            until_loaded(&client);
        }
    }
    // A new row has the day that a filter asks for, but no month.
    compare(&client, "day", "=", "2024-05-23");
    compare(&client, "at", "=", "2024-05");
    page.click(".edit-bar text=New row");
    page.wait_for("eyes.rows()[0]?.dataset.edit === 'insert'");
    let cells = client.cells();
    assert_eq!(cells[0][3], "2024-05-23");
    assert!(!cells[0][1].contains("2024"), "{}", cells[0][1]);
    page.click(".edit-bar text=Discard");
    open_filter(&client, "at");
    page.click(".filter-conditions text=Add condition");
    page.fill(".panel input", "2024-13");
    page.click(".panel text=Filter");
    page.wait_for_text("at holds dates; “2024-13” is not one. Try 2024-05-23, 2024-05 or 2024");
}

const ORDERS: &str = "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40)); \
    INSERT INTO customers SELECT seq, CONCAT('Person ', seq) FROM seq_1_to_500; UPDATE customers SET name = 'Alice' WHERE id IN (3, 450); \
    CREATE TABLE lands (code CHAR(2) PRIMARY KEY, title VARCHAR(40)); INSERT INTO lands VALUES ('DE', 'Germany'), ('GE', 'Georgia'), ('FR', 'France'); \
    CREATE TABLE orders (id INT PRIMARY KEY, customer INT, land CHAR(2), FOREIGN KEY (customer) REFERENCES customers (id), FOREIGN KEY (land) REFERENCES lands (code)); \
    INSERT INTO orders SELECT seq, seq % 500 + 1, ELT(seq % 3 + 1, 'DE', 'GE', 'FR') FROM seq_1_to_1000; ANALYZE TABLE orders";

#[test]
fn a_foreign_key_is_filtered_by_the_name_of_its_row() {
    let client = on_data("filters_names", ORDERS, "orders");
    let page = &client.page;
    assert_eq!(
        values_of(&client, "land"),
        ["GEGeorgia334", "DEGermany333", "FRFrance333"]
    );
    look_at(&client, "filter-names", || {
        page.press("Escape");
        values_of(&client, "land");
        page.fill(".panel input", "ge");
        assert_eq!(listed(&client).len(), 2);
    });
    page.press("Escape");
    page.viewport(1280, 800);
    client.settle();
    // Of many keys the server finds those whose name holds the text.
    assert_eq!(values_of(&client, "customer").len(), 200);
    page.fill(".value-counts input[type=search]", "alice");
    page.wait_for("eyes.first('.value-note').innerText === '2 values found'");
    assert_eq!(listed(&client), ["3Alice2", "450Alice2"]);
    page.click(".value-list text=450");
    page.click(".panel text=Filter");
    until_loaded(&client);
    assert_eq!(chips(&client), ["customer IN 450 (Alice)"]);
    let title = "eyes.first('.chip-text').title";
    assert_eq!(
        page.eval(title),
        json!("customer IN 450 (Alice)\n450: Alice")
    );
    page.click(".data-chip .button");
    until_loaded(&client);
    // Typed, where it is no key.
    open_filter(&client, "customer");
    page.fill(".panel input", "alice");
    page.wait_for("eyes.first('.filter-sql').textContent === '`customer` IN (3, 450)'");
    page.press("Enter");
    until_loaded(&client);
    page.wait_for("eyes.first('.data-chip')");
    assert_eq!(chips(&client), ["customer IN 3, 450 (Alice)"]);
    assert_eq!(client.column(1), ["3", "450", "3", "450"]);
    assert_eq!(
        page.eval(title),
        json!("customer IN 3, 450 (Alice)\n3: Alice\n450: Alice")
    );
    // Another name in its list.
    page.click(".chip-text");
    page.fill(".panel input", "7, person 99");
    page.press("Enter");
    page.wait_for("eyes.first('.data-chip')?.innerText.includes('99')");
    until_loaded(&client);
    assert_eq!(chips(&client), ["customer IN 7, 99 (Person 99)"]);
    page.click(".data-chip .button");
    until_loaded(&client);
    for (text, told) in [
        ("nobody", "No row of customers has “nobody” in name"),
        (
            "person",
            "More than 200 rows of customers have “person” in name",
        ),
    ] {
        open_filter(&client, "customer");
        page.fill(".panel input", text);
        page.press("Enter");
        page.wait_for_text(told);
        page.press("Escape");
    }
    // A part of a key is one.
    for (op, text, chip) in [
        ("contains", "germ", "land IN DE (Germany)"),
        ("contains", "ge", "land contains ge"),
        ("starts with", "geor", "land IN GE (Georgia)"),
        ("ends with", "nce", "land IN FR (France)"),
    ] {
        open_filter(&client, "land");
        page.eval(&format!("{{ const op = eyes.first('.panel select'); op.value = {}; op.dispatchEvent(new Event('input')); }}", json!(op)));
        page.fill(".panel input", text);
        page.press("Enter");
        page.wait_for("eyes.first('.data-chip')");
        until_loaded(&client);
        assert_eq!(chips(&client), [chip]);
        page.click(".data-chip .button");
        until_loaded(&client);
    }
}

/// An account that may not read the other table filters as if there were no foreign key.
#[test]
fn names_that_an_account_may_not_read_are_not_shown() {
    make_database("filters_denied", ORDERS);
    let client = as_account(
        "filters_denied",
        "filters_denied",
        "GRANT SELECT ON filters_denied.orders TO filters_denied@'%'; GRANT SELECT (id) ON filters_denied.customers TO filters_denied@'%'; \
         GRANT SELECT (code), REFERENCES ON filters_denied.lands TO filters_denied@'%'",
        &["--readonly"],
    );
    let page = &client.page;
    page.expect_error("40");
    client.show_tables();
    open_data(&client, "orders");
    assert_eq!(values_of(&client, "land"), ["GE334", "DE333", "FR333"]);
    page.fill(".panel input", "germ");
    page.press("Enter");
    until_loaded(&client);
    assert_eq!(chips(&client), ["land contains germ"]);
    page.click(".data-chip .button");
    until_loaded(&client);
    open_filter(&client, "customer");
    page.fill(".panel input", "alice");
    page.press("Enter");
    page.wait_for_text("customer holds numbers; “alice” is not one");
}

/// The rows of a small table are counted unasked, until another place is looked at.
#[test]
fn counting_unasked_ends_with_the_place() {
    let setup = "CREATE TABLE numbers (id INT PRIMARY KEY); INSERT INTO numbers SELECT seq FROM seq_1_to_5000; ANALYZE TABLE numbers";
    let client = on_data("filters_slow_rows", setup, "numbers");
    let page = &client.page;
    let slow = || {
        Database::shared().value(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT COUNT(*) AS `rows`%filters_slow_rows%' AND INFO NOT LIKE '%PROCESSLIST%'",
        )
    };
    let until = |number: &str| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while slow() != number {
            assert!(Instant::now() < deadline, "{} statements", slow());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // The last rows take the server some time, those that are loaded first do not.
    page.fill(".data-where", "IF(id > 4500, SLEEP(0.2), 0) = 0");
    page.press("Enter");
    until("1");
    page.fill(".data-where", "id < 6");
    page.press("Enter");
    until("0");
    page.wait_for("eyes.first('.data-figures')?.innerText === '5 of 5,000 rows'");
}

#[test]
fn find_goes_on_in_all_rows_by_a_filter() {
    let setup = "CREATE TABLE many (id INT PRIMARY KEY, note VARCHAR(40), day DATE, at DATETIME(3), bits BIT(9), t TIME, raw BLOB); INSERT INTO many (id, note, day) SELECT seq, CONCAT('note ', seq), '2024-01-01' FROM seq_1_to_5000; UPDATE many SET note = 'a needle' WHERE id = 4321; UPDATE many SET at = '2024-05-31 12:34:56.789', bits = 510, t = '11:59:59', raw = X'AABBCC' WHERE id = 4322; ANALYZE TABLE many";
    let client = on_data("filters_find", setup, "many");
    let page = &client.page;
    client.click_cell(0, 0);
    page.press("Ctrl+f");
    page.wait_for("document.activeElement.matches('.find input')");
    page.type_text("NEEDLE");
    page.wait_for("eyes.first('.find-count')?.innerText.startsWith('no match in ')");
    look_at(&client, "find-in-part", || ());
    page.viewport(1280, 800);
    client.settle();
    page.click(".find text=Search all rows");
    until_loaded(&client);
    page.wait_for("eyes.first('.find-count')?.innerText === '1 of 1'");
    assert_eq!(chips(&client), ["Any column contains NEEDLE"]);
    assert_eq!(client.column(0), ["4321"]);
    page.wait_for("document.activeElement.matches('.find input')");
    assert_eq!(
        page.eval("eyes.all('.find .link').map((link) => link.innerText)"),
        json!([])
    );
    page.click(".data-chip .button");
    until_loaded(&client);
    assert!(chips(&client).is_empty());
    // In one column, by its own filter.
    page.eval("{ const column = eyes.first('.find-column'); column.value = '1'; column.dispatchEvent(new Event('change')); }");
    page.wait_for("eyes.first('.find-count')?.innerText.startsWith('no match in ')");
    page.click(".find text=Search all rows");
    page.wait_for("eyes.first('.data-chip')");
    until_loaded(&client);
    assert_eq!(chips(&client), ["note contains NEEDLE"]);
    assert_eq!(client.column(0), ["4321"]);
    // By what other types show.
    page.click(".data-chip .button");
    until_loaded(&client);
    for (column, text) in [
        ("", "2024-05-31 12:3"),
        ("", "0x01FE"),
        ("", "11:59:59"),
        ("6", "bbcc"),
        ("5", "11:59"),
    ] {
        page.eval(&format!("{{ const column = eyes.first('.find-column'); column.value = '{column}'; column.dispatchEvent(new Event('change')); }}"));
        page.fill(".find input", text);
        page.wait_for("eyes.first('.find-count')?.innerText.startsWith('no match in ')");
        page.click(".find text=Search all rows");
        page.wait_for("eyes.first('.find-count')?.innerText === '1 of 1'");
        assert_eq!(client.column(0), ["4322"], "{text}");
        page.click(".data-chip .button");
        until_loaded(&client);
    }
}

#[test]
fn rows_without_a_value_do_not_contain_a_text() {
    let client = on_data("filters_null", KINDS, "kinds");
    compare(&client, "name", "not contains", "a");
    assert_eq!(client.column(0), ["3", "4", "5"]);
    client.page.click(".data-chip .button");
    until_loaded(&client);
    compare(&client, "name", "is empty", "");
    assert_eq!(client.column(0), ["3"]);
    assert_eq!(chips(&client), ["name is empty"]);
}

#[test]
fn counting_stops_after_five_seconds_and_with_the_panel() {
    let client = on_data("filters_slow", NUMBERS, "numbers");
    let page = &client.page;
    client.run("LOCK TABLES numbers WRITE");
    page.click(".results-tab text=numbers data");
    until_loaded(&client);
    open_filter(&client, "w");
    page.wait_for_text("Not counted: it takes longer than 5 seconds.");
    until_counting("0");
    page.click("text=Count anyway");
    until_counting("1");
    page.press("Escape");
    until_counting("0");
    open_filter(&client, "w");
    until_counting("1");
    client.page.assert_accessible("values that are counted");
    page.press("Escape");
    until_counting("0");
    client.run("UNLOCK TABLES");
    page.click(".results-tab text=numbers data");
    until_loaded(&client);
    assert_eq!(values_of(&client, "v").len(), 10);
}

#[test]
fn a_condition_with_a_password_is_not_kept_but_its_tab_is() {
    let client = on_data("filters_secret", NUMBERS, "numbers");
    let page = &client.page;
    page.fill(".data-where", "w <> PASSWORD('not to be kept')");
    page.press("Enter");
    until_loaded(&client);
    compare(&client, "v", "=", "3");
    // Saved soon, not only when the page is left.
    page.wait_for("JSON.stringify({...localStorage}).includes('masked')");
    assert_eq!(
        page.eval("JSON.stringify({...localStorage}).includes('not to be kept')"),
        json!(false)
    );
    page.reload();
    client.wait_until_ready();
    page.click(".results-tab text=numbers data");
    page.wait_for(
        "eyes.first('.data-error')?.innerText.includes('held a password and was not saved')",
    );
    assert_eq!(chips(&client), ["v = 3"]);
    assert_eq!(page.eval("eyes.first('.data-where').value"), json!(""));
}

#[test]
fn a_filter_that_the_server_refuses_stays_to_be_changed() {
    let client = on_data(
        "filters_refused",
        "CREATE TABLE days (id INT PRIMARY KEY, day DATE); INSERT INTO days VALUES (1, '2024-01-01'), (2, '2024-01-02')",
        "days",
    );
    let page = &client.page;
    compare(&client, "id", ">", "1");
    page.expect_error("400");
    Database::shared().exec("ALTER TABLE filters_refused.days RENAME COLUMN day TO night");
    compare(&client, "day", "=", "2024-01-02");
    page.wait_for("eyes.first('.data-error')?.innerText.includes('day')");
    assert_eq!(chips(&client), ["id > 1", "day = 2024-01-02"]);
    assert_eq!(client.column(0), ["2"], "the rows of before");
    // It is switched off: the others count again.
    Database::shared().exec("ALTER TABLE filters_refused.days RENAME COLUMN night TO day");
    page.click(".data-chip:nth-of-type(1) input");
    until_loaded(&client);
    assert_eq!(chips(&client), ["id > 1", "day = 2024-01-02"]);
    assert_eq!(client.text(".data-error"), "");
    assert_eq!(client.column(0), ["2"]);
}

#[test]
fn a_new_row_has_the_value_that_one_filter_asks_for() {
    let client = on_data("filters_new", NUMBERS, "numbers");
    let page = &client.page;
    compare(&client, "v", "=", "3");
    compare(&client, "w", "=", "w3");
    compare(&client, "w", "=", "W3");
    page.click(".edit-bar text=New row");
    page.wait_for("eyes.rows()[0]?.dataset.edit === 'insert'");
    let cells = client.cells();
    assert_eq!(cells[0][1], "3");
    assert_ne!(cells[0][2].to_lowercase(), "w3", "which of the two");
    page.click(".edit-bar text=Discard");
    page.click(".data-chip input");
    until_loaded(&client);
    page.click(".edit-bar text=New row");
    page.wait_for("eyes.rows()[0]?.dataset.edit === 'insert'");
    assert_ne!(client.cells()[0][1], "3", "its filter is switched off");
}

#[test]
fn the_panel_of_a_filter_is_accessible_in_every_look() {
    let client = on_data("filters_looks", KINDS, "kinds");
    compare(&client, "name", "!=", "b");
    tick(&client, "kind", &["a", "b"]);
    compare(&client, "name", "except", "it's, 7");
    client.page.click(".data-chip:nth-of-type(2) input");
    until_loaded(&client);
    look_at(&client, "filter-list", || {
        client.page.press("Escape");
        client.page.click(".data-chip .chip-text");
        client.page.wait_for("eyes.first('.filter-panel')");
        listed(&client);
    });
}
