//! Each row of the specification's front-end behaviour, with its times.

use std::time::Duration;

use serde_json::json;

use crate::manager::board::{Board, card, read};
use support::quick_setup::Act;
use support::{TIMEOUT, wait_until};

/// Early by so much, in ms, is never right: timers fire late, not early, but clocks round.
const EARLY: f64 = 5.0;
/// Early by so much, in ms, may be the step after the load: the busy page is late with what it begins with.
const LOADED: f64 = 100.0;
/// Late by so much, in ms, is what a machine shared by many tests may cost.
const LATE: f64 = 1500.0;

/// Fails unless the steps from one time to the next are `ms` long: none shorter, and one at least not longer. Any may
/// be longer, where the machine was busy with something else.
#[track_caller]
fn assert_every(ms: f64, times: &[f64]) {
    let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let early = |at: usize| if at == 0 { LOADED } else { EARLY };
    let none_early = (0..).zip(&steps).all(|(at, step)| *step > ms - early(at));
    let one_in_time = steps.iter().any(|step| *step < ms + LATE);
    assert!(none_early && one_in_time, "{steps:?} instead of {ms} ms");
}

#[test]
fn the_list_is_asked_for_on_load_and_every_5_s() {
    let (board, _) = Board::with_one();
    board
        .page
        .wait_for_within(TIMEOUT, "eyes.times('GET /api/apps').length >= 4");
    assert_every(5000.0, &board.times("GET /api/apps"));
}

#[test]
fn an_idle_card_connects_is_polled_every_2_s_and_its_site_opens_after_500_ms() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    assert_eq!(page.text(&format!("{} [data-act]", card(&id))), "Connect");
    let port = board.far.assign();
    let good = board.far.answer(port);
    // Long enough for two looks at a connection that is being made.
    board
        .far
        .quick
        .script([Act::json(200, &good).after(Duration::from_millis(4500))]);
    let before = board.times("GET /api/apps").len();
    board.act(&id);
    board.wait_status(&id, "connecting");
    page.wait_for(&format!("eyes.times('GET /api/apps').length > {before}"));
    let notice = board.toasts();
    assert!(notice[0].starts_with("Connecting “"), "{notice:?}");
    let refresh = board.times("GET /api/apps")[before];
    let connect = board.times("POST /api/connect")[0];
    assert!(refresh - connect < LATE, "the list is refreshed at once");

    // Somebody is at the page: without that, browsers block tabs after five seconds.
    page.wait_for("eyes.times('open ').length > 0");
    let tab = page.wait_for_tab();
    let polls = board.times("GET /api/status");
    let first = polls[0] - connect;
    assert!((2000.0 - EARLY..2000.0 + LATE).contains(&first), "{first}");
    assert_every(2000.0, &polls);
    let site = format!("http://127.0.0.1:{port}/");
    let opened = board.times(&format!("open {site}"));
    let wait = opened[0] - polls[polls.len() - 1];
    assert!((500.0 - EARLY..500.0 + LATE).contains(&wait), "{wait}");
    tab.wait_for("document.body?.innerText === 'hello from the target'");
    assert_eq!(tab.eval("location.href"), site);
    assert_eq!(
        tab.eval("opener === null && document.referrer === ''"),
        true
    );

    assert_eq!(
        board.page.text(&format!("{} [data-end]", card(&id))),
        "Disconnect"
    );
    let link = page.eval(&format!(
        "document.querySelector('{} [data-url=site]').href",
        card(&id)
    ));
    assert_eq!(link, site);
    // The polling has stopped: the list has been asked for once more, the status not.
    let (lists, looks) = (board.times("GET /api/apps").len(), polls.len());
    page.wait_for(&format!("eyes.times('GET /api/apps').length > {lists}"));
    assert_eq!(board.times("GET /api/status").len(), looks);
    assert_eq!(board.times("open ").len(), 1);
    // The visit is counted and drawn.
    page.wait_for("/[1-9][0-9.]* (Ki)?B in all/.test(eyes.first('.figures-row').innerText)");
    page.wait_for("/L[\\d.]+ /.test(document.querySelector('.traffic path').getAttribute('d'))");
}

#[test]
fn a_card_that_connects_pulses_and_can_be_cancelled() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    page.prefer(false, false);
    board.hold();
    board.act(&id);
    board.wait_status(&id, "connecting");
    let cancel = format!("{} [data-end]", card(&id));
    assert_eq!(page.text(&cancel), "Cancel");
    let animation = page.eval(&format!(
        "[getComputedStyle(document.querySelector('{cancel}')).animationName, getComputedStyle(document.querySelector('{} .dot')).animationName]",
        card(&id)
    ));
    assert_eq!(animation, json!(["ring", "pulse"]));
    page.prefer(false, true);
    let still = page.eval(&format!(
        "getComputedStyle(document.querySelector('{cancel}')).animationIterationCount"
    ));
    assert_eq!(still, "1", "less motion is obeyed");
    page.wait_for(
        "/asking 127\\.0\\.0\\.1:\\d+ for an address/.test(eyes.first('.card-step')?.innerText)",
    );
    page.click(&cancel);
    board.wait_status(&id, "idle");
    assert_eq!(board.manager.status(&id)["status"], "idle");
    // The page stops asking for the status of a cancelled connection.
    let lists = board.times("GET /api/apps").len();
    page.wait_for(&format!("eyes.times('GET /api/apps').length > {lists}"));
    let looks = board.times("GET /api/status").len();
    page.wait_for(&format!(
        "eyes.times('GET /api/apps').length > {}",
        lists + 1
    ));
    assert_eq!(board.times("GET /api/status").len(), looks);
}

#[test]
fn a_failure_stops_the_polling_and_is_shown_and_can_be_retried() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    board.refuse("no more sites today");
    board.act(&id);
    board.wait_status(&id, "failed");
    assert!(board.card_text(&id).contains("no more sites today"));
    assert_eq!(page.text(&format!("{} [data-act]", card(&id))), "Retry now");
    page.wait_for("document.querySelector('[role=alert].visually-hidden')?.textContent.includes('no more sites today')");
    page.wait_for("eyes.times('GET /api/status').length >= 1");
    let lists = board.times("GET /api/apps").len();
    page.wait_for(&format!(
        "eyes.times('GET /api/apps').length > {}",
        lists + 1
    ));
    assert_eq!(
        board.times("GET /api/status").len(),
        1,
        "the polling has stopped"
    );
    board.far.assign();
    board.act(&id);
    board.wait_status(&id, "connected");
    page.wait_for("eyes.times('open ').length === 1");
}

#[test]
fn a_tab_that_the_browser_blocks_leaves_a_link_to_follow() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    let port = board.far.assign();
    let good = board.far.answer(port);
    // Five seconds after the click browsers take a new tab for an advertisement.
    let late = Act::json(200, &good).after(Duration::from_secs(6));
    // The headless shell blocks nothing, and gets a blocker's answer; the long form runs in the whole browser.
    if !support::is_whole() {
        page.eval("window.open = () => null");
    }
    board.far.quick.script([late]);
    board.act(&id);
    let offered =
        json!({"expression": "document.querySelector('.toast a') !== null", "returnByValue": true});
    wait_until(TIMEOUT, "a link is offered", || {
        // Unlike `Page::eval` this does not count as something that a person does.
        page.call("Runtime.evaluate", offered.clone())["result"]["value"] == true
    });
    let site = format!("http://127.0.0.1:{port}/");
    let link =
        page.eval("(({ href, target, rel }) => [href, target, rel])(eyes.first('.toast a'))");
    assert_eq!(link, json!([site, "_blank", "noopener noreferrer"]));
    assert!(board.toasts().iter().any(|text| text.contains("blocked")));
    assert!(page.other_tabs().is_empty());
    page.screenshot("manage-blocked");
    page.assert_accessible("blocked tab");
    page.click(".toast a");
    let tab = page.wait_for_tab();
    tab.wait_for("document.body?.innerText === 'hello from the target'");
    page.wait_for("!document.querySelector('.toast a')");
}

#[test]
fn what_others_connect_is_shown_but_opens_nothing() {
    let (board, id) = Board::with_one();
    board.far.assign();
    board.manager.connected(&id);
    board.wait_status(&id, "connected");
    let lists = board.times("GET /api/apps").len();
    board
        .page
        .wait_for(&format!("eyes.times('GET /api/apps').length > {lists}"));
    assert!(board.times("open ").is_empty() && board.times("GET /api/status").is_empty());
    let page = &board.page;
    page.click("[data-part=copy]");
    page.wait_for("document.querySelector('.toasts')?.innerText.includes('Link copied')");
    page.click(&format!("{} [data-end]", card(&id)));
    board.wait_status(&id, "idle");
}

#[test]
fn no_button_moves_when_the_state_changes() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    let boxes = || -> Vec<Vec<f64>> {
        ["slot", "card-foot > [data-more]"]
            .iter()
            .map(|part| read(page.eval(&format!("(() => {{ const {{ x, y, width, height }} = document.querySelector('{} .{part}').getBoundingClientRect(); return [x, y, width, height]; }})()", card(&id)))))
            .collect()
    };
    let idle = boxes();
    page.eval("eyes.popups.blocked = true");
    board.refuse(&"a long and winding reason, ".repeat(20));
    board.act(&id);
    board.wait_status(&id, "failed");
    assert_eq!(boxes(), idle);
    board.hold();
    board.act(&id);
    board.wait_status(&id, "connecting");
    assert_eq!(boxes(), idle);
    page.click(&format!("{} [data-end]", card(&id)));
    board.wait_status(&id, "idle");
    board.far.assign();
    board.act(&id);
    board.wait_status(&id, "connected");
    page.wait_for("eyes.first('.figures-row')");
    assert_eq!(boxes(), idle);
}

#[test]
fn a_changed_host_key_is_shown_beside_the_old_one_and_trusted_on_demand() {
    let (mut board, id) = Board::with_one();
    board.page.eval("eyes.popups.blocked = true");
    let known = board.far.fingerprint();
    board.far.assign();
    board.act(&id);
    board.wait_status(&id, "connected");
    board.far.close();
    let offered = board.far.change_key();
    board.far.open();
    let page = &board.page;
    page.wait_for_within(
        Duration::from_secs(30),
        &format!(
            "document.querySelector('{} [data-part=keys]')?.innerText.includes('Compare keys')",
            card(&id)
        ),
    );
    let text = board.card_text(&id);
    assert!(text.contains(&known) && text.contains(&offered), "{text}");
    page.click("[data-part=keys]");
    page.wait_for("eyes.first('dialog .fingerprints')");
    let asked = page.text("dialog");
    assert!(asked.contains(&known) && asked.contains(&offered));
    page.screenshot("manage-host-key");
    page.assert_accessible("host key");
    page.click("dialog text=Trust the new key");
    page.wait_for_within(
        Duration::from_secs(30),
        &format!("eyes.status('{id}') === 'connected'"),
    );
}
