//! The list as a table and as cards: which it is, groups, search, arrows, and hundreds of applications.

use serde_json::json;

use crate::manager::board::{Board, read};
use crate::manager::looks::look;

/// A list of 500 applications as the server would tell it, in place of its own.
const FIVE_HUNDRED: &str = "eyes.tamper.with = (path, body) => path !== '/api/apps' ? body : ({ ...body, data: Array.from({ length: 500 }, (_, i) => ({
    id: `app-${i}`, name: `application ${i}`, protocol: ['http', 'mysql', 'ssh'][i % 3], ip: '127.0.0.1', port: 3000 + i, invisible: i % 2 === 0, db_readonly: true, group: ['staging', 'production', null][i % 3],
    ...i % 5 ? { conn_status: 'idle' } : { conn_status: 'connected', connection: { status: 'connected', server: 'https://relay.example', site_url: `https://app-${i}.relay.example/`, bytes_in: 5, bytes_out: 5, latency_ms: 4 } } })) })";

fn with_apps(count: u16) -> Board {
    Board::with(|manager, _| {
        for n in 1..=count {
            let group = [json!("shop"), json!("Office"), json!(null)][usize::from(n % 3)].clone();
            let (name, port) = (format!("host {n}"), 2200 + n);
            manager.add(&json!({"protocol": "ssh", "name": name, "port": port, "group": group}));
        }
    })
}

fn is_table(board: &Board) -> bool {
    board
        .page
        .eval("document.querySelector('#apps').matches('.as-table')")
        == true
}

#[test]
fn from_eight_applications_on_it_is_a_table_unless_somebody_chose() {
    let board = with_apps(7);
    let page = &board.page;
    assert!(!is_table(&board));
    board
        .manager
        .add(&json!({"protocol": "ssh", "name": "the eighth"}));
    page.wait_for("eyes.first('#apps').matches('.as-table')");
    assert_eq!(
        page.texts("#table-head span").join(" ").trim(),
        "Name Application Address Protection Traffic Ends in"
    );
    look(&board, "table");
    page.viewport(1280, 800);
    page.click("#view");
    page.wait_for("eyes.first('#apps').matches('.as-cards')");
    page.reload();
    page.wait_for("eyes.all('.card').length === 8");
    assert!(!is_table(&board), "it is remembered");
    page.press("v");
    page.wait_for("eyes.first('#apps').matches('.as-table')");
    // A row folds its details away.
    assert!(page.eval("eyes.first('.card-detail')").is_null());
    page.click(".toggle");
    page.wait_for(
        "eyes.first('.card').matches('.is-open') && eyes.first('.toggle').ariaExpanded === 'true'",
    );
}

#[test]
fn an_idle_card_is_low() {
    let board = with_apps(1);
    let size: Vec<f64> = read(board.page.eval("eyes.box('.card')"));
    assert!((80.0..=110.0).contains(&size[3]), "{size:?}");
}

#[test]
fn groups_have_headings_and_fold_and_the_count_tells_what_a_search_leaves() {
    let board = with_apps(9);
    let page = &board.page;
    assert_eq!(
        page.texts(".group-head"),
        ["Office\n(3)", "shop\n(3)", "No group\n(3)"]
    );
    page.click(".group-head text=shop");
    page.wait_for("eyes.all('.card').length === 6");
    page.reload();
    page.wait_for("eyes.all('.group-head').length === 3");
    assert_eq!(page.eval("eyes.all('.card').length"), 6, "it is remembered");
    page.press("/");
    page.type_text("shop");
    page.wait_for("eyes.first('#heading').innerText === 'Applications (3 of 9)'");
    page.wait_for("eyes.all('.card').length === 3");
    let found = page.eval("eyes.all('.group-head').map(({ innerText }) => innerText)");
    assert_eq!(found, json!(["shop\n(3)"]), "what is found is shown");
    page.press("Escape");
    page.wait_for("eyes.first('#heading').innerText === 'Applications (9)'");
    page.wait_for("eyes.all('.card').length === 6");
}

#[test]
fn the_search_is_there_for_few_applications_too() {
    let board = with_apps(2);
    board.page.press("/");
    board
        .page
        .wait_for("document.activeElement.id === 'search'");
}

#[test]
fn arrows_lead_from_anywhere_in_a_card_to_the_one_that_lies_there() {
    let board = with_apps(7);
    let page = &board.page;
    page.viewport(1280, 800);
    let at =
        || {
            read::<String>(page.eval(
                "document.activeElement.closest('.card').querySelector('.card-name').innerText",
            ))
        };
    // Three columns, in groups: Office 1 4 7, shop 3 6, none 2 5.
    page.eval("eyes.all('[data-more]')[1].focus()");
    page.press("ArrowDown");
    assert_eq!(at(), "host 6");
    assert_eq!(
        page.eval("document.activeElement.matches('[data-more]')"),
        true,
        "from a menu to a menu"
    );
    page.press("ArrowDown");
    assert_eq!(at(), "host 5");
    page.press("ArrowUp");
    page.press("ArrowUp");
    page.press("ArrowRight");
    assert_eq!(at(), "host 7");
    page.press("v");
    page.wait_for("eyes.first('#apps').matches('.as-table')");
    page.eval("eyes.all('[data-act]')[0].focus()");
    page.press("ArrowDown");
    assert_eq!(at(), "host 4");
    page.press("ArrowRight");
    assert_eq!(
        page.eval("document.activeElement.matches('[data-more]')"),
        true,
        "along a row to its next button"
    );
}

/// Collects the number of cards after each change.
const COUNTS: &str = "globalThis.counts = []; new MutationObserver(() => { const count = document.querySelectorAll('.card').length; if (count !== counts.at(-1)) counts.push(count); }).observe(document, { childList: true, subtree: true })";

#[test]
fn the_list_is_asked_for_while_scripts_load_and_a_window_of_it_comes_first() {
    let board = with_apps(150);
    let page = &board.page;
    page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({"source": COUNTS}),
    );
    page.reload();
    page.wait_for("document.querySelectorAll('.card > .card-foot').length === 150");
    assert_eq!(page.eval("counts"), json!([0, 60, 150]));
    let names = page.eval("eyes.all('.card-name').slice(0, 2).map(({ innerText }) => innerText)");
    assert_eq!(names, json!(["host 1", "host 4"]), "the first group's");
    let lists =
        "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/apps'))";
    assert_eq!(
        page.eval(&format!("{lists}[0].initiatorType")),
        json!("link")
    );
    page.wait_for(&format!(
        "eyes.times('GET /api/apps').length === 2 && {lists}.length === 2"
    ));
}

#[test]
fn five_hundred_applications_are_drawn_once() {
    let board = with_apps(1);
    let page = &board.page;
    page.eval(FIVE_HUNDRED);
    page.wait_for("document.querySelectorAll('.card > .card-foot').length === 500");
    let slow = "globalThis.slow = []; new PerformanceObserver((list) => slow.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' })";
    page.eval(slow);
    page.eval("new Promise((done) => { let y = 0; const step = () => { scrollTo(0, y += 200); if (y < 12000) requestAnimationFrame(step); else done(true); }; step(); })");
    println!(
        "longest tasks while scrolling: {}",
        page.eval("slow.sort((a, b) => b - a).slice(0, 5)")
    );
    page.eval("scrollTo(0, 0)");
    page.eval("globalThis.made = []; new MutationObserver((list) => made.push(...list.filter(({ type }) => type === 'childList').map(({ target }) => target.className))).observe(eyes.first('#apps'), { childList: true, subtree: true })");
    let lists = board.times("GET /api/apps").len();
    page.wait_for(&format!(
        "eyes.times('GET /api/apps').length > {}",
        lists + 1
    ));
    assert_eq!(
        page.eval("made.filter((name) => !/rate|until|figures|visitors/.test(name))"),
        json!([]),
        "nothing is built anew by a poll"
    );
    page.press("/");
    page.type_text("application 49");
    page.wait_for("eyes.first('#heading').innerText === 'Applications (15 of 500)'");
    page.press("Escape");
    look(&board, "five-hundred");
}
