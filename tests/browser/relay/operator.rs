//! The operator's page where there is much to see: searched, sorted and paged by the relay, and built anew only where
//! something has changed.

use crate::relay::looks::look;
use support::Browser;
use support::chromium::Page;
use support::relay::{Relay, crowded};

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

    // What has not changed is not built anew, and keeps the focus.
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

#[test]
fn a_file_that_was_set_aside_is_told_until_it_is_removed() {
    let relay = Relay::start(&[]);
    let aside = relay.data().join("relay.json.unreadable-20260101T000000Z");
    std::fs::write(&aside, "{").unwrap();
    let page = Browser::shared().page();
    page.goto(relay.said("Status page: ").trim());
    page.wait_for_text("who was revoked may come back");
    assert!(page.text("#notices").contains("kept aside"));
    std::fs::remove_file(&aside).unwrap();
    page.wait_for("document.querySelector('#notices').hidden");
}
