//! A share on the page: the link with its code, the end and its extension, and the log of visitors.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use postern::store::time::rfc3339;
use serde_json::{Value, json};

use crate::manager::board::{Board, card, see};
use crate::manager::looks::look;
use support::database::{PASSWORD, USER};
use support::http::Client;
use support::manager::{Far, Target};
use support::{Browser, Database, Home, wait_until};

const HOUR: Duration = Duration::from_secs(3600);

/// Keeps what is copied where a test can read it.
const CLIPBOARD: &str =
    "navigator.clipboard.writeText = (text) => { eyes.copied = text; return Promise.resolve(); }";

fn invisible() -> (Board, String) {
    let mut id = String::new();
    let board = Board::with(|manager, target| {
        let mut app = target.app();
        app["invisible"] = json!(true);
        id = manager.add(&app);
    });
    (board, id)
}

#[test]
fn a_link_is_copied_and_opened_with_the_code_that_is_not_shown() {
    let (board, id) = invisible();
    let page = &board.page;
    board.far.assign();
    board.manager.connected(&id);
    board.wait_status(&id, "connected");
    page.eval(CLIPBOARD);
    page.click("[data-part=copy]");
    page.wait_for(
        "document.querySelector('.toasts')?.innerText.includes('Link with the code copied')",
    );
    let link = page.eval("eyes.copied");
    assert!(link.as_str().unwrap().contains("code="), "{link}");
    assert_eq!(
        page.eval("eyes.first('[data-open]').href === new URL(eyes.copied).href"),
        true
    );
    let text = board.card_text(&id);
    assert!(
        !text.contains("code=") && !text.contains("http://"),
        "{text}"
    );
    page.click("[data-qr]");
    page.wait_for("eyes.first('.qr svg')");
    let chosen =
        page.eval("document.querySelector('dialog :checked').parentElement.innerText.trim()");
    assert_eq!(chosen, "With authorization");
    page.press("Escape");
    page.click("[data-more]");
    page.click(".menu text=Copy address without the code");
    page.wait_for("!eyes.copied.includes('code=')");
}

/// The end of an application as it is saved.
fn saved_end(board: &Board, id: &str) -> Option<String> {
    let apps = board.apps();
    let app = apps.iter().find(|app| app["id"] == id).unwrap();
    app["expires"].as_str().map(str::to_owned)
}

fn ends_at(time: SystemTime) -> Value {
    json!(rfc3339(time))
}

#[test]
fn an_expired_application_says_so_and_is_extended_before_it_is_connected() {
    let mut id = String::new();
    let board = Board::with(|manager, target| {
        let mut app = target.app();
        app["expires"] = ends_at(SystemTime::now() - HOUR);
        app["group"] = json!("kept");
        id = manager.add(&app);
    });
    let page = &board.page;
    assert!(board.card_text(&id).contains("Expired 1 h ago"));
    assert_eq!(page.text(".card-status"), "expired");
    assert_eq!(page.text("[data-act]"), "Extend …");
    look(&board, "expired");
    board.act(&id);
    page.wait_for("eyes.first('#end-until')");
    look(&board, "extend");
    page.click("dialog text=1 hour");
    page.wait_for("eyes.first('[data-act]')?.innerText === 'Connect'");
    let end = saved_end(&board, &id).unwrap();
    let (least, most) = (SystemTime::now() + HOUR / 2, SystemTime::now() + HOUR);
    assert!(end > rfc3339(least) && end <= rfc3339(most), "{end}");
    assert_eq!(board.apps()[0]["group"], "kept", "the rest stays");
    page.wait_for("/Ends in (59 min|1 h)/.test(eyes.first('.card').innerText)");
    page.click("[data-part=hour]");
    wait_until(support::TIMEOUT, "an hour more", || {
        saved_end(&board, &id).unwrap() > rfc3339(most)
    });
    page.click("[data-more]");
    page.click(".menu text=Extend …");
    page.click("dialog text=Without end");
    wait_until(support::TIMEOUT, "no end", || {
        saved_end(&board, &id).is_none()
    });
    page.wait_for("!eyes.first('.card-end')");
}

/// Requests as the server would tell them.
const LOG: &str = "eyes.tamper.instead = (path) => {
    const [, after] = /requests\\?after=(\\d+)/.exec(path) ?? [];
    if (after === undefined) return null;
    eyes.last ??= 3;
    const all = Array.from({ length: eyes.last }, (_, i) => ({ n: i + 1, time: '2030-01-01T00:00:00Z', source: '203.0.113.9', method: 'GET', path: i ? `/page/${i + 1}` : '/<img src=x onerror=alert(1)>', status: i === 1 ? 404 : 200, ms: 1.5, bytes: 300 }));
    return { code: 200, data: { last: eyes.last, requests: all.filter(({ n }) => n > Number(after)).slice(-500) } };
}";

#[test]
fn what_visitors_did_is_live_filtered_paused_and_bounded() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    board.far.assign();
    board.manager.connected(&id);
    board.wait_status(&id, "connected");
    page.eval(LOG);
    page.click("[data-part=log]");
    page.wait_for("eyes.all('.log tbody tr').length === 3");
    assert!(
        page.text(".log").contains("<img src=x onerror=alert(1)>"),
        "it is text"
    );
    look(&board, "log");
    page.viewport(1280, 800);
    page.fill(".log input", "404");
    page.wait_for("eyes.all('.log tbody tr').length === 1");
    assert!(page.text(".log-head").contains("1 of 3"));
    page.fill(".log input", "");
    page.click(".log text=Pause");
    page.eval("eyes.last = 5");
    page.wait_for("eyes.first('.log-head').innerText.includes('paused, 2 more')");
    assert_eq!(page.eval("eyes.all('.log tbody tr').length"), 3);
    page.click(".log text=Go on");
    page.wait_for("eyes.all('.log tbody tr').length === 5");
    page.eval("eyes.last = 700");
    page.wait_for("eyes.all('.log tbody tr').length === 500");
    page.wait_for("eyes.all('.log tbody tr')[0].innerText.includes('/page/201')");
    page.click(".log [aria-label^=\"Close\"]");
    page.wait_for("!document.querySelector('.log')");
    let asked = board.times(&format!("GET /api/apps/{id}/requests")).len();
    let lists = board.times("GET /api/apps").len();
    page.wait_for(&format!("eyes.times('GET /api/apps').length > {lists}"));
    assert_eq!(
        board.times(&format!("GET /api/apps/{id}/requests")).len(),
        asked,
        "it is asked for while it is open alone"
    );
    assert_eq!(page.eval("document.querySelectorAll('img').length"), 0);
    assert!(
        board
            .page
            .eval(&format!("document.querySelector('{}')", card(&id)))
            .is_object()
    );
}

#[test]
fn a_visit_is_counted_and_stands_in_the_log_without_its_query() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    let port = board.far.assign();
    board.manager.connected(&id);
    board.wait_status(&id, "connected");
    page.click("[data-part=log]");
    page.wait_for("eyes.first('.log-head').innerText.includes('no requests yet')");
    let answer = Client::new(&format!("127.0.0.1:{port}")).get("/seen?marked=secret");
    assert_eq!(answer.status(), 200);
    page.wait_for("eyes.all('.log tbody tr').length === 1");
    let line = page.text(".log tbody tr");
    assert!(
        line.contains("/seen") && line.contains("200") && !line.contains("secret"),
        "{line}"
    );
    // Another connection counts from one again; what was seen stays.
    board.manager.disconnect(&id);
    let port = board.far.assign();
    board.manager.connected(&id);
    let again = Client::new(&format!("127.0.0.1:{port}")).get("/seen-again");
    assert_eq!(again.status(), 200);
    page.wait_for("eyes.all('.log tbody tr').length === 2");
    assert!(page.text(".log").contains("/seen-again"));
    page.wait_for("/^(1 connection|no connection now), last (just now|\\d+ s ago)$/.test(eyes.first('.visitors').innerText)");
}

#[test]
fn the_statements_of_a_database_are_told_without_their_texts() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager_in(&Arc::new(Home::with_plugin()));
    let app = json!({"protocol": "mysql", "name": "ledger", "port": Database::shared().port(),
        "db_user": USER, "db_pass": PASSWORD, "invisible": false});
    let id = manager.add(&app);
    let port = far.assign();
    manager.connected(&id);
    let page = Browser::shared().page();
    see(&page);
    page.goto(&format!("{}/", manager.url()));
    page.wait_for("eyes.first('[data-part=log]')?.innerText === 'Statements'");
    page.click("[data-part=log]");
    page.wait_for("eyes.first('.log-head').innerText.includes('no statements yet')");
    let mut visitor = Client::new(&format!("127.0.0.1:{port}"));
    let query = json!({"sql": "SELECT 'marked'", "db": ""});
    assert_eq!(visitor.post("/api/query", &query).status(), 200);
    page.wait_for("eyes.all('.log tbody tr').length === 1");
    let line = page.text(".log tbody tr");
    assert!(
        line.contains("(not recorded)") && line.contains("ok") && !line.contains("marked"),
        "{line}"
    );
    let board = Board {
        page,
        manager,
        far,
        target,
    };
    look(&board, "statements");
}

#[test]
fn what_is_in_force_counts_down_with_its_visitors_and_its_protection() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    board.far.assign();
    board.manager.connected(&id);
    board.wait_status(&id, "connected");
    page.eval("eyes.tamper.with = (path, body) => {
        const connection = path === '/api/apps' ? body.data[0].connection : null;
        if (connection?.exposed) {
            Object.assign(connection.exposed, { expires: new Date(Date.now() + 52.5 * 60_000).toISOString(), allow: ['203.0.113.0/24'] });
            connection.visitors = { now: 3, last_at: new Date(Date.now() - 125_000).toISOString(), requests: 12 };
        }
        return body;
    }");
    page.wait_for("eyes.first('.card').innerText.includes('Ends in 52 min')");
    let text = board.card_text(&id);
    assert!(
        text.contains("3 visitors, last 2 min ago") && text.contains("12 requests"),
        "{text}"
    );
    let badges = ["This computer only", "Only from 203.0.113.0/24"];
    assert_eq!(page.texts(".badge"), badges);
    look(&board, "in-force");
}
