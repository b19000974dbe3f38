//! The operator's page where there is much to see: searched, sorted and paged by the relay, and built anew only where
//! something has changed.

use serde_json::json;

use crate::relay::looks::look;
use support::Browser;
use support::chromium::Page;
use support::relay::{Relay, body, crowded, with};

/// Connectors, and applications of each.
const CROWD: (usize, usize) = (2_000, 5);

fn count(page: &Page, selector: &str) -> u64 {
    let count = page.eval(&format!("document.querySelectorAll('{selector}').length"));
    count.as_u64().unwrap()
}

#[test]
fn thousands_of_connectors_are_paged_and_searched_and_stay_usable() {
    let relay = crowded(CROWD);
    let page = Browser::shared().page();
    page.goto(relay.said("Status page: ").trim());
    page.wait_for_text("2,000 enrolled");
    page.wait_for("document.querySelector('.connector')");
    let (cards, rows) = (
        count(&page, ".connector"),
        count(&page, ".connector tbody tr"),
    );
    assert!(
        cards > 10 && cards + rows <= 210,
        "{cards} cards, {rows} rows"
    );
    let bytes = "Math.max(...performance.getEntriesByType('resource').filter((of) => of.name.includes('/api/status')).map((of) => of.decodedBodySize))";
    let bytes = page.eval(bytes).as_u64().unwrap();
    assert!(bytes < 150_000, "{bytes} bytes for a page");
    assert!(
        page.text("#range").contains("of 2,000"),
        "{}",
        page.text("#range")
    );
    assert!(page.text(".connector h3").contains("machine-0000"));

    // Unchanged elements are not rebuilt, and keep the focus.
    page.eval("globalThis.first = document.querySelector('.connector'); document.querySelector('.connector button').focus(); globalThis.asked = performance.getEntriesByType('resource').length; 1");
    page.wait_for("performance.getEntriesByType('resource').length > asked");
    page.wait_for("document.querySelector('.connector') === first && document.activeElement.dataset.name === 'postern_0000'");

    page.click("#next");
    page.wait_for("!document.querySelector('#range').textContent.startsWith('1 ')");
    assert!(!page.text("#connectors").contains("machine-0000"));
    assert_eq!(page.eval("document.activeElement.id"), "next");
    page.click("#previous");
    page.wait_for("document.querySelector('#range').textContent.startsWith('1 ')");
    assert_eq!(
        page.eval("document.querySelector('#previous').ariaDisabled"),
        "true"
    );

    page.press("/");
    assert_eq!(page.eval("document.activeElement.id"), "search");
    page.fill("#search", "SITE-1234-3");
    page.wait_for("document.querySelectorAll('.connector').length === 1");
    assert!(page.text(".connector").contains("machine-1234"));
    assert_eq!(page.text("#found"), "1 found");
    page.fill("#search", "nobody at all");
    page.wait_for_text("Nothing matches “nobody at all”.");
    page.fill("#search", "");
    page.wait_for("document.querySelectorAll('.connector').length > 10");
    page.eval("(() => { const sort = document.querySelector('#sort'); sort.value = 'traffic'; sort.dispatchEvent(new Event('change')); })()");
    page.wait_for("document.querySelectorAll('.connector').length > 10");
    assert_eq!(relay.visit("nothing", "/").status(), 404);
    assert_eq!(relay.visit("site-7-1", "/").status(), 502);
    page.wait_for("document.querySelectorAll('#refusals tr').length >= 2");
    page.wait_for("document.querySelector('.connector h3').textContent.includes('machine-')");
    let refused = page.text("#refusals");
    assert!(
        !refused.contains("Stream"),
        "a request counts once: {refused}"
    );
    for why in ["no such site", "the tunnel is down"] {
        assert!(refused.contains(why), "{why}: {refused}");
    }
    look(&page, "operator-crowded");
    for (name, width, height) in [("wide", 1440, 900), ("narrow", 360, 740)] {
        page.viewport(width, height);
        page.eval("document.querySelector('#heading').scrollIntoView(); 1");
        page.screenshot(&format!("relay-operator-list-{name}"));
        page.eval("document.querySelector('#pager').scrollIntoView(false); 1");
        page.screenshot(&format!("relay-operator-pager-{name}"));
    }
    assert_eq!(page.errors(), Vec::<String>::new());
}

/// The label "anna-laptop" appears everywhere on the page, and its token is shown once.
#[test]
fn invites_are_made_and_taken_back_on_the_page_and_name_who_came_by_them() {
    let token = ["--enroll-token", "chosen-by-the-operator"];
    let relay = Relay::start(&[&token[..], &["--quota-sites=5", "--quota-mbps=10"]].concat());
    let page = Browser::shared().page();
    page.goto(relay.said("Status page: ").trim());
    page.wait_for("document.querySelectorAll('#invites tr').length === 1");
    let common = page.text("#invites tr");
    assert!(
        common.contains("Common token") && common.contains("never"),
        "{common}"
    );

    page.click("#invite");
    page.wait_for("document.activeElement.id === 'invite-label'");
    look(&page, "operator-invite");
    page.fill("#invite-uses", "0");
    page.click("dialog text=Make invite");
    assert_eq!(
        page.eval("document.querySelector('#invite-uses').validity.valid"),
        false
    );
    page.fill("#invite-uses", "2");
    page.fill("#invite-label", "anna-laptop");
    page.press("Enter");
    page.wait_for("document.querySelector('dialog .token')");
    let token = page.text("dialog .token");
    assert_eq!(token.len(), 40, "{token}");
    assert!(page.text("dialog").contains("2 new connectors"));
    look(&page, "operator-invite-made");
    page.click("dialog text=Done");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(page.eval("document.activeElement.id"), "invite");
    page.wait_for("document.querySelectorAll('#invites tr').length === 2");
    let shown = page.eval("document.documentElement.outerHTML");
    assert!(
        !shown.as_str().unwrap().contains(&token),
        "it was shown once"
    );

    let said = json!({"enroll_token": token, "label": "debian"});
    relay.assign(&with(body("postern_1", "shop", "http", 1), said));
    page.reload();
    page.wait_for("document.querySelector('.connector')");
    assert_eq!(page.text(".connector h3"), "anna-laptop");
    let head = page.text(".connector-head");
    for part in [
        "postern_1",
        "machine debian",
        "1 of 5 applications",
        "10 Mbit/s",
    ] {
        assert!(head.contains(part), "{part} in {head}");
    }
    let made = page.text("#invites tr");
    for part in ["anna-laptop", "1 of 2", "postern_1", "valid"] {
        assert!(made.contains(part), "{part} in {made}");
    }
    look(&page, "operator-invites");
    page.click(".connector [data-name]");
    page.wait_for("document.querySelector('dialog h2')?.textContent === 'Revoke anna-laptop?'");
    let asked = page.text("dialog .dialog-body");
    assert!(
        asked.contains("(postern_1)") && asked.contains("it used (anna-laptop)"),
        "{asked}"
    );
    page.click("dialog text=Keep");
    page.wait_for("!document.querySelector('dialog')");

    page.click("#invites tr:first-child button");
    page.wait_for("document.querySelector('dialog')");
    assert!(page.text("dialog").contains("“anna-laptop”"));
    page.click("dialog text=Cancel invite");
    page.wait_for("document.querySelectorAll('#invites tr').length === 1");
    page.click("#invites tr:first-child button");
    page.wait_for("document.querySelector('dialog')");
    page.click("dialog text=Cancel invite");
    page.wait_for("!document.querySelector('#no-invites').hidden");
    page.click("#all-invites");
    page.wait_for("document.querySelector('#invites')?.innerText.includes('disabled')");
    assert!(
        page.text(".connector h3") == "anna-laptop",
        "who came by it stays"
    );
    assert_eq!(page.errors(), Vec::<String>::new());
}

#[test]
fn the_page_of_a_relay_that_asks_for_no_token_says_so() {
    let relay = Relay::start(&[]);
    let page = Browser::shared().page();
    page.goto(relay.said("Status page: ").trim());
    page.wait_for("!document.querySelector('#no-token').hidden");
    assert!(!page.text("#command").contains("TOKEN"));
    assert_eq!(page.eval("document.querySelector('#invite').hidden"), true);
    assert_eq!(
        page.eval("document.querySelector('#no-invites').hidden"),
        true
    );
    look(&page, "operator-no-token");
    assert_eq!(page.errors(), Vec::<String>::new());
}

#[test]
fn a_file_that_was_set_aside_is_told_until_it_is_removed() {
    let relay = Relay::start(&[]);
    let aside = relay.data().join("relay.json.unreadable-20260101T000000Z");
    std::fs::write(&aside, "{").unwrap();
    let page = Browser::shared().page();
    page.goto(relay.said("Status page: ").trim());
    page.wait_for_text("may be valid again");
    assert!(page.text("#notices").contains("moved to"));
    std::fs::remove_file(&aside).unwrap();
    page.wait_for("document.querySelector('#notices').hidden");
}
