//! Looking at what came: the viewer, charts, messages, columns, and the area before anything came.

use serde_json::json;

use crate::sql::client::{Client, strings};

#[test]
fn an_empty_area_offers_tables_scripts_keys_and_what_was_run() {
    let client = Client::open("viewing_empty", "CREATE TABLE t (id INT PRIMARY KEY)");
    let page = &client.page;
    client.run("SELECT 'offered' AS x");
    page.press("Alt+n");
    page.wait_for("eyes.all('.welcome-entry').length === 1");
    page.click(".welcome-entry");
    page.wait_for("eyes.editor() === \"SELECT 'offered' AS x\"");
    assert_eq!(client.sent(), 1, "it is not run");
    page.click(".welcome text=Browse tables");
    page.wait_for("document.activeElement.id === 'filter'");
    page.viewport(360, 740);
    page.wait_for("eyes.first('#sidebar') === null");
    page.click(".welcome text=Browse tables");
    page.wait_for("eyes.first('#sidebar')");
}

#[test]
fn the_results_take_most_of_the_height_and_give_it_back() {
    let client = Client::open("viewing_height", "");
    let page = &client.page;
    let share = || {
        let heights = "eyes.first('#editors').offsetHeight / (eyes.first('#editors').offsetHeight + eyes.first('#results').offsetHeight)";
        page.eval(heights).as_f64().unwrap()
    };
    let before = share();
    assert!((0.2..0.33).contains(&before), "{before}");
    page.press("Alt+m");
    assert!(share() < 0.15, "{}", share());
    page.double_click("#split-editor");
    assert!((share() - before).abs() < 0.02, "{}", share());
}

#[test]
fn a_chart_says_what_it_needs_and_has_a_line_for_each_value_of_a_column() {
    let client = Client::open("viewing_chart", "");
    let page = &client.page;
    page.click(".results-tab text=Chart");
    page.wait_for_text("to see a chart here");
    client.run(
        "SELECT CAST('2024-01-01' AS DATETIME) + INTERVAL seq DIV 2 HOUR AS t, ELT(1 + seq % 2, 'paid', 'open') AS status, seq AS n FROM seq_1_to_48",
    );
    page.click(".results-tab text=Chart");
    page.wait_for("eyes.all('path.chart-line').length === 2");
    let legend: Vec<String> = page.texts(".chart-legend span");
    assert_eq!(legend, ["open", "paid"]);
    let ticks: Vec<String> = strings(page.eval(
        "[...document.querySelectorAll('.chart-plot .tick[text-anchor=middle]')].map((tick) => tick.textContent)",
    ));
    assert!(ticks.iter().all(|tick| !tick.contains('…')), "{ticks:?}");
    page.click("text=Save as PNG");
    let picture = page.wait_for_download(0);
    assert!(
        picture.completed && picture.name.ends_with(".png"),
        "{picture:?}"
    );
    let bytes = std::fs::read(picture.path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 4000);
    page.eval("(() => { const s = eyes.all('.chart-tools select')[2]; s.value = '-1'; s.dispatchEvent(new Event('change')); })()");
    page.wait_for("eyes.all('path.chart-line').length === 1");
}

#[test]
fn the_viewer_reads_uuids_finds_and_goes_from_row_to_row() {
    let client = Client::open("viewing_viewer", "");
    let page = &client.page;
    client.run(
        "SELECT UNHEX('018f3c7e5b0a7c3d9e1f2a3b4c5d6e7f') AS id, CONCAT(REPEAT('line of text\n', 200), 'needle ', seq, '\nneedle') AS v FROM seq_1_to_3 ORDER BY seq",
    );
    client.click_cell(0, 0);
    page.wait_for(
        "eyes.first('.viewer-body')?.innerText.startsWith('018f3c7e-5b0a-7c3d-9e1f-2a3b4c5d6e7f')",
    );
    page.press("ArrowRight");
    page.wait_for("eyes.first('.viewer-body').innerText.startsWith('line of text')");
    page.fill(".viewer-find", "NEEDLE");
    page.wait_for("eyes.first('.viewer-found').innerText === '1 of 2'");
    page.wait_for(
        "getSelection().toString() === 'needle' && eyes.first('.viewer-body').scrollTop > 500",
    );
    page.click("[aria-label^='Next row']");
    page.wait_for("eyes.first('.viewer-facts').innerText.startsWith('row 2') && eyes.first('.viewer-body').innerText.includes('needle 2')");
    page.wait_for("eyes.first('.viewer-found').innerText === '1 of 2'");
    page.click(".viewer-body");
    page.press("Alt+ArrowUp");
    page.wait_for("eyes.first('.viewer-facts').innerText.startsWith('row 1')");
}

#[test]
fn a_missing_number_stands_where_numbers_stand() {
    let client = Client::open("viewing_null", "");
    client.run("SELECT 1 AS n UNION ALL SELECT NULL");
    let align =
        "eyes.rows().map((row) => getComputedStyle(row.querySelector('.grid-cell')).textAlign)";
    assert_eq!(client.page.eval(align), json!(["right", "right"]));
}

#[test]
fn widths_and_order_are_kept_when_the_same_statement_runs_again() {
    let client = Client::open("viewing_columns", "");
    let page = &client.page;
    let sql = "SELECT seq AS id, CONCAT('note ', seq) AS note FROM seq_1_to_500";
    client.run(sql);
    page.drag(".grid-header[aria-colindex='3'] .grid-resizer", 70.0, 0.0);
    client.sort_by("id");
    client.sort_by("id");
    let width = page.eval("eyes.header('note').offsetWidth");
    client.run(sql);
    page.wait_for("eyes.cells()[0]?.[0] === '500'");
    assert_eq!(page.eval("eyes.header('note').offsetWidth"), width);
    assert_eq!(
        page.eval("eyes.header('id').getAttribute('aria-sort')"),
        "descending"
    );
    client.run("SELECT 7 AS id, 'x' AS note");
    assert_ne!(page.eval("eyes.header('note').offsetWidth"), width);
}

#[test]
fn messages_show_the_newest_in_one_scroller() {
    let client = Client::open("viewing_messages", "CREATE TABLE t (n INT)");
    let page = &client.page;
    client.run_script(&format!(
        "{}INSERT INTO t VALUES (4711)",
        "SELECT 1;\n".repeat(40)
    ));
    page.click(".results-tab text=Messages");
    page.wait_for("(() => { const last = eyes.all('.message').at(-1); const box = last?.getBoundingClientRect(); return last?.innerText.includes('4711') && box.bottom <= eyes.first('.messages').getBoundingClientRect().bottom + 1; })()");
    let scrollers = "[...document.querySelectorAll('.tab-results:not([hidden]) *')].filter((e) => e.checkVisibility() && e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(e).overflowY)).map((e) => e.className)";
    assert_eq!(page.eval(scrollers), json!(["messages"]));
}
