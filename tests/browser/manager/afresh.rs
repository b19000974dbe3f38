//! Starting afresh with a server: from a card that it refused, and from the main tunnels.

use std::time::Duration;

use serde_json::json;

use crate::manager::board::{Board, card};
use support::free_port;
use support::quick_setup::Act;

/// The least time between two connect sequences of a connection, 10 s, and some.
const TURNED_AWAY: Duration = Duration::from_secs(90);

/// The server has been set up anew: it refuses what it gave, and gives other credentials to others.
fn forget_it(board: &mut Board) {
    board.far.close();
    let who = Act::json(401, &json!({"message": "who are you"}));
    board.far.quick.script([who]);
    board.far.open_for("another");
}

/// Answers with the credentials that the tunnel server takes now.
fn accept(board: &Board) -> u16 {
    let port = free_port();
    let mut good = board.far.answer(port);
    good["connector"]["password"] = json!("another");
    board.far.quick.script([Act::json(200, &good)]);
    port
}

#[test]
fn a_card_that_the_server_refused_starts_afresh_and_connects() {
    let (mut board, id) = Board::with_one();
    board.page.eval("eyes.popups.blocked = true");
    board.far.assign();
    board.act(&id);
    board.wait_status(&id, "connected");
    // Its tab is opened half a second later, and only while it is connected.
    board.page.wait_for("eyes.times('open ').length === 1");
    forget_it(&mut board);
    let page = &board.page;
    page.wait_for_within(TURNED_AWAY, &format!("eyes.status('{id}') === 'failed'"));
    let act = format!("{} [data-act]", card(&id));
    assert_eq!(page.text(&act), "Reset identity …");
    assert!(board.card_text(&id).contains("who are you"));
    page.screenshot("manage-refused");
    page.assert_accessible("refused");

    board.act(&id);
    page.wait_for("eyes.first('dialog .consequences')");
    let asked = page.text("dialog");
    assert!(
        asked.contains("new names and ports") && !asked.contains("Reconnected at once"),
        "{asked}"
    );
    page.screenshot("manage-afresh");
    page.assert_accessible("start afresh");
    // The harmless answer has the focus.
    page.press("Enter");
    page.wait_for("!document.querySelector('dialog')");
    assert!(board.times("POST /api/reset").is_empty());

    let port = accept(&board);
    board.act(&id);
    page.click("dialog text=Reset identity");
    board.wait_status(&id, "connected");
    let site = page.eval(&format!(
        "document.querySelector('{} [data-url=site]').href",
        card(&id)
    ));
    assert_eq!(site, format!("http://127.0.0.1:{port}/"));
    page.wait_for("eyes.times('open ').length === 2");
    let told = board.far.quick.requests().pop().unwrap().json();
    assert!(
        told["connector_name"]
            .as_str()
            .unwrap()
            .starts_with("postern_")
    );
}

#[test]
fn the_main_tunnels_offer_it_and_what_was_connected_is_connected_again() {
    let (mut board, id) = Board::with_one();
    board.far.assign();
    board.manager.connected(&id);
    board.wait_status(&id, "connected");
    let page = &board.page;
    page.click("#tunnel");
    page.wait_for("eyes.first('.tunnel-entry.connected')");
    page.wait_for("/connected · [\\d.]+ .?s/.test(eyes.first('.tunnel-entry').innerText)");
    page.click(".tunnel-entry text=Reset identity …");
    page.wait_for("eyes.first('dialog .consequences')");
    let asked = page.texts(".consequences li").pop().unwrap();
    assert!(asked.starts_with("Reconnected at once"), "{asked}");
    page.screenshot("manage-afresh-live");
    page.assert_accessible("start afresh while connected");
    let port = board.far.assign();
    page.click("dialog:last-of-type text=Reset identity");
    board
        .page
        .wait_for("eyes.times('POST /api/connect').length === 1");
    board.wait_status(&id, "connected");
    let site = format!("http://127.0.0.1:{port}/");
    page.wait_for(&format!(
        "document.querySelector('{} [data-url=site]')?.href === '{site}'",
        card(&id)
    ));
    assert!(board.times("open ").is_empty(), "nobody asked for a tab");
    // The dialog under it has followed.
    page.wait_for("eyes.first('.tunnel-entry.connected')");

    board.far.close();
    board
        .page
        .wait_for("eyes.first('.tunnel-entry.connecting')");
    let shown = board.page.text(".tunnel-entry");
    assert!(
        !shown.contains(" ms"),
        "a tunnel that is down has no latency: {shown}"
    );
    board.far.open();
    board
        .page
        .wait_for_within(TURNED_AWAY, "eyes.first('.tunnel-entry.connected')");
}
