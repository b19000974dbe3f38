//! The servers' dialog: what is known of each, and what can be done about it.

use serde_json::json;

use crate::manager::board::{Board, card};
use support::relay::Relay;
use support::{TIMEOUT, wait_until};

#[track_caller]
fn open(board: &Board) {
    board.page.click("#tunnel");
    board.page.wait_for("eyes.first('.tunnel-entry')");
}

fn servers(board: &Board) -> Vec<serde_json::Value> {
    let answer = board.manager.client().get("/api/servers");
    serde_json::from_value(answer.data()).unwrap()
}

#[test]
fn a_server_is_added_labelled_made_the_default_and_removed() {
    let board = Board::open();
    let page = &board.page;
    page.expect_error("400");
    open(&board);
    assert_eq!(page.eval("eyes.all('.tunnel-entry').length"), 1);
    page.click("dialog text=Add server …");
    page.wait_for("document.activeElement.id === 'field-server-url'");
    page.press("Enter");
    page.wait_for("document.querySelector('#field-server-url').ariaInvalid === 'true'");
    // Without TLS only on this machine.
    page.fill("#field-server-url", "http://relay.example");
    page.press("Enter");
    page.wait_for(
        "document.querySelector('#field-server-url-line').innerText.includes('https://')",
    );
    page.fill("#field-server-url", "relay.example");
    page.fill("#field-server-label", "work");
    page.fill("#field-server-token", "planted-token");
    page.press("Enter");
    page.wait_for(
        "eyes.all('.tunnel-entry').length === 2 && !document.querySelector('#server-form')",
    );
    let added = servers(&board)
        .into_iter()
        .find(|server| server["label"] == "work")
        .unwrap();
    assert_eq!(
        (&added["url"], &added["has_enroll_token"]),
        (&json!("https://relay.example"), &json!(true))
    );
    let entry = "[aria-label='Make default work']";
    assert!(page.text(".tunnels").contains("enrolment token saved"));
    page.click(entry);
    page.wait_for("eyes.all('.tunnel-entry .badge').length === 1");
    // The label changes, the token is kept.
    page.click("[aria-label='Label and token … work']");
    page.wait_for("document.activeElement.id === 'field-server-label'");
    assert_eq!(
        page.eval("document.querySelector('#field-server-token').value"),
        ""
    );
    page.fill("#field-server-label", "office");
    page.click("dialog:last-of-type text=Save");
    page.wait_for("eyes.first('.tunnels').innerText.includes('office')");
    let kept = servers(&board)
        .into_iter()
        .find(|server| server["label"] == "office")
        .unwrap();
    assert_eq!(
        (&kept["default"], &kept["has_enroll_token"]),
        (&json!(true), &json!(true))
    );
    page.click("[aria-label='Remove … office']");
    page.wait_for("document.activeElement.innerText === 'Cancel'");
    page.click("dialog:last-of-type text=Remove");
    page.wait_for("eyes.all('.tunnel-entry').length === 1");
    assert_eq!(
        page.eval("document.documentElement.outerHTML.includes('planted')"),
        false
    );
}

#[test]
fn an_application_goes_to_a_server_that_its_form_adds_and_is_enrolled_there() {
    let token = "chosen-by-the-operator";
    let relay = Relay::start(&["--enroll-token", token]);
    let board = Board::open();
    let page = &board.page;
    page.eval("eyes.popups.blocked = true");
    page.click("#add");
    page.wait_for("document.activeElement.id === 'field-ip'");
    board.fill("ip", &board.target.port().to_string());
    board.fill("name", "elsewhere");
    page.wait_for("eyes.times('GET /api/servers').length > 0");
    page.eval("(() => { const list = document.querySelector('#field-server'); list.value = 'add'; list.dispatchEvent(new Event('change', { bubbles: true })); })()");
    page.wait_for("document.querySelector('#server-form')");
    page.fill("#field-server-url", &relay.url());
    page.fill("#field-server-token", token);
    page.press("Enter");
    page.wait_for(&format!(
        "document.querySelector('#field-server').value === '{}'",
        relay.url()
    ));
    page.click("dialog text=Save and connect");
    page.wait_for("eyes.first('.card[data-status=connected]')");
    wait_until(TIMEOUT, "it is connected there", || {
        board.apps()[0]["connection"]["site_url"]
            .as_str()
            .is_some_and(|url| url.contains("elsewhere.localhost"))
    });
    open(&board);
    page.wait_for("eyes.all('.tunnel-entry').length === 2");
    assert!(page.text(".tunnels").contains("Application: elsewhere"));
    // A server in use cannot be removed.
    page.expect_error("409");
    page.click(&format!(
        "[aria-label='Remove … {}']",
        relay.url().trim_start_matches("http://")
    ));
    page.click("dialog:last-of-type text=Remove");
    page.wait_for("document.querySelector('.toast.bad')");
    assert!(page.text(".toast.bad").contains("elsewhere"));
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    // It is moved back to the default in its form.
    let id = board.apps()[0]["id"].as_str().unwrap().to_owned();
    page.click(&format!("{} [data-end]", card(&id)));
    board.wait_status(&id, "idle");
    page.click(&format!("{} [data-more]", card(&id)));
    page.click(".menu text=Edit …");
    page.wait_for(&format!(
        "document.querySelector('#field-server')?.value === '{}'",
        relay.url()
    ));
    page.eval("(() => { const list = document.querySelector('#field-server'); list.value = ''; list.dispatchEvent(new Event('change', { bubbles: true })); })()");
    page.click("dialog text=Save");
    page.wait_for("!document.querySelector('dialog')");
    wait_until(TIMEOUT, "it is moved", || {
        board.apps()[0]["server"].is_null()
    });
}
