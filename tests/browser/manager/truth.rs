//! The page shows nothing as true that it does not know: a server that is not reachable, dropped connections, a page
//! whose program has ended.

use std::time::Duration;

use serde_json::json;

use crate::manager::board::Board;
use crate::manager::looks::look;

/// The least time between two connect sequences of a connection, 10 s, and some.
const AGAIN: Duration = Duration::from_secs(90);

/// A browser's notifications, kept where a test can read them.
const NOTIFICATIONS: &str = "eyes.told = []; eyes.asked = 0; globalThis.Notification = class {
    static permission = 'default';
    static async requestPermission() { eyes.asked += 1; return Notification.permission = 'granted'; }
    constructor(title, { body }) { eyes.told.push(`${title}: ${body}`); }
    close() {}
}";

#[test]
fn a_server_that_is_away_is_told_once_and_addresses_stay() {
    let mut ids = Vec::new();
    let mut board = Board::with(|manager, target| {
        for name in ["one", "two"] {
            let mut app = target.app();
            app["name"] = json!(name);
            ids.push(manager.add(&app));
        }
    });
    for id in &ids {
        board.far.assign();
        board.manager.connected(id);
        board.wait_status(id, "connected");
    }
    let page = &board.page;
    page.wait_for("document.title === '● 2 up · postern'");
    let address = page.text("[data-url=site]");
    page.eval(NOTIFICATIONS);
    assert_eq!(page.eval("eyes.asked"), 0, "nobody is asked unasked");
    page.click("#bell");
    page.wait_for("document.querySelector('#bell').ariaPressed === 'true'");
    assert_eq!(page.eval("eyes.asked"), 1);

    board.far.close();
    let page = &board.page;
    page.wait_for_within(AGAIN, "eyes.all('.relay-banner').length === 1 && eyes.all('.card [data-part=again]').length === 0");
    let told = page.text(".relay-banner");
    assert!(
        told.contains("127.0.0.1") && told.contains("2 applications"),
        "{told}"
    );
    page.wait_for("document.title === '○ 2 down · postern'");
    page.wait_for("eyes.all('.card-status').every(({ innerText }) => innerText === 'reconnecting…' || innerText === 'failed')");
    assert_eq!(
        page.text("[data-url=site]"),
        address,
        "the address can be copied still"
    );
    assert!(page.eval("eyes.first('.card-address').matches('.is-gone')") == true);
    assert!(page.eval("eyes.told.some((text) => /^(2 applications are down: one, two|(one|two) is down: )/.test(text))") == true, "{}", page.eval("eyes.told"));
    look(&board, "relay-away");

    board.far.open();
    board.page.click(".relay-banner [data-relay]");
    board.page.wait_for_within(
        AGAIN,
        "document.title === '● 2 up · postern' && !eyes.first('.relay-banner')",
    );
}

#[test]
fn a_connection_says_what_it_does_and_a_dash_where_there_is_no_figure() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    board.far.assign();
    board.manager.connected(&id);
    page.eval("eyes.tamper.with = (path, body) => { if (path === '/api/apps' && body.data[0].connection) body.data[0].connection.latency_ms = null; return body; }");
    board.wait_status(&id, "connected");
    page.wait_for("/^– · /.test(eyes.first('.figures-row').innerText)");
    assert_eq!(page.texts(".rate"), ["↓ –", "↑ –"]);
}
