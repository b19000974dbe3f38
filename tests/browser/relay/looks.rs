//! The gateway's own pages, and the management page with the relay within: light and dark, wide and narrow. The
//! pictures in `target/screens` are for people.

use std::time::{Duration, SystemTime};

use postern::store::time::rfc3339;
use serde_json::json;

use crate::relay::page::{open, url, wait_status};
use crate::relay::site::SmallSite;
use support::Browser;
use support::chromium::Page;
use support::manager::Manager;
use support::relay::{Relay, body};
use support::{TIMEOUT, wait_until};

const LOOKS: [(&str, bool, u32, u32); 4] = [
    ("light-wide", false, 1280, 800),
    ("light-narrow", false, 360, 740),
    ("dark-narrow", true, 360, 740),
    ("dark-wide", true, 1280, 800),
];

/// Takes a picture of a page in every look and fails on what the checks find.
#[track_caller]
pub(crate) fn look(page: &Page, name: &str) {
    let mut faults = Vec::new();
    for (look, dark, width, height) in LOOKS {
        page.prefer(dark, true);
        page.viewport(width, height);
        page.wait_for(&format!("innerWidth === {width}"));
        page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
        page.screenshot(&format!("relay-{name}-{look}"));
        let found = page.a11y();
        faults.extend(found.iter().map(|fault| format!("{name} {look}: {fault}")));
        let wide = page.eval("document.documentElement.scrollWidth - innerWidth");
        if wide.as_i64().unwrap() > 0 {
            faults.push(format!("{name} {look}: scrolls sideways by {wide}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_gateways_pages_are_accessible_in_every_look() {
    let site = SmallSite::start();
    let manager = Manager::start(&[]);
    let mut hidden = site.app("hidden");
    hidden["invisible"] = json!(true);
    let (hidden, shown) = (manager.add(&hidden), manager.add(&site.app("shown")));
    let away = manager.add(&json!({"protocol": "http", "name": "away", "port": 1}));
    let mut others = site.app("for others");
    others["allow"] = json!(["192.0.2.0/24"]);
    let mut brief = site.app("brief");
    brief["expires"] = json!(rfc3339(SystemTime::now() + Duration::from_secs(20)));
    let (others, brief) = (manager.add(&others), manager.add(&brief));
    for id in [&hidden, &shown, &away, &others, &brief] {
        manager.connected(id);
    }
    let board = open(&manager);
    wait_status(&board, &shown, "connected");
    look(&board, "board");
    let shown_url = url(&board, &shown, "site");

    let page = Browser::shared().page();
    // 503 is what is told in the moment in which a site ends.
    for code in ["401", "403", "404", "410", "502", "503"] {
        page.expect_error(code);
    }
    page.goto(&url(&board, &hidden, "site"));
    page.wait_for_text("Paste the link or code");
    look(&page, "signin");
    page.fill("#code", "wrong");
    page.click("text=Open");
    page.wait_for_text("Wrong code");
    look(&page, "signin-wrong");
    let weight = page.eval("performance.getEntriesByType('navigation')[0].decodedBodySize");
    assert!(weight.as_u64().unwrap() < 3500, "{weight} bytes");
    page.goto(&shown_url.replace("shown.", "for-others."));
    page.wait_for_text("Not from this address");
    look(&page, "403");
    page.goto(&shown_url.replace("shown.", "unknown."));
    page.wait_for_text("404");
    look(&page, "404");
    page.goto(&url(&board, &away, "site"));
    page.wait_for_text("502");
    let target_down = page.text("main");
    look(&page, "502-target");
    manager.disconnect(&shown);
    page.goto(&shown_url);
    page.wait_for_text("502");
    assert_ne!(
        page.text("main"),
        target_down,
        "it says which of the two is down"
    );
    look(&page, "502-tunnel");
    let brief_url = shown_url.replace("shown.", "brief.");
    wait_until(TIMEOUT, "its time is over", || {
        page.goto(&brief_url);
        page.text("body").contains("This site has ended")
    });
    look(&page, "410");
}

#[test]
fn the_empty_page_without_a_server_leads_to_one() {
    let manager = Manager::start(&[]);
    let page = open(&manager);
    page.wait_for("document.querySelector('#empty-servers')");
    look(&page, "empty-here");
    page.click("#empty-servers");
    page.wait_for("document.querySelector('.tunnel-entry')");
    assert!(page.text("dialog").contains("open on this computer only"));
    look(&page, "servers-here");
    page.click("dialog text=Add server …");
    page.wait_for("document.querySelector('#field-server-url')");
    assert_eq!(
        page.eval("document.querySelector('#field-server-default').checked"),
        true,
        "the first one is the default"
    );
}

#[test]
fn the_operators_page_is_accessible_in_every_look() {
    let site = SmallSite::start();
    let token = ["--enroll-token", "chosen-by-the-operator"];
    let relay = Relay::start(&token);
    let url = relay.url();
    let manager = Manager::start(&[&["--server", &url], &token[..]].concat());
    let page = Browser::shared().page();
    page.expect_error("401");
    page.goto(&format!("{url}/"));
    page.wait_for("document.querySelector('form')");
    look(&page, "operator-signin");
    // The link of an earlier start.
    page.goto(&format!("{url}/auth?code=of-an-earlier-start"));
    page.wait_for("document.querySelector('#error').innerText.includes('has expired')");
    assert!(page.text("#error").contains("postern relay status-url"));
    assert_eq!(page.eval("location.search"), "");
    look(&page, "operator-old-link");
    let link = relay.said("Status page: ");
    page.goto(link.trim());
    page.wait_for("document.body.innerText.length > 0");
    look(&page, "operator-empty");
    manager.connected(&manager.add(&site.app("shown")));
    page.reload();
    page.wait_for_text("shown.localhost");
    assert_eq!(page.text("td[data-label='Last visit']"), "–");
    let site = page.eval("document.querySelector('td a').href");
    let visitor = Browser::shared().page();
    visitor.goto(site.as_str().unwrap());
    page.reload();
    page.wait_for("/\\d/.test(document.querySelector(\"td[data-label='Last visit']\")?.innerText)");
    let head = page.text(".connector-head");
    for part in ["from 127.0.0.1", "postern 0.1.0", "last visit", "postern_"] {
        assert!(head.contains(part), "{part} in {head}");
    }
    // Each figure says of what at any width.
    page.viewport(360, 740);
    assert_eq!(
        page.eval("[...document.querySelectorAll('.scroll')].every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"),
        true
    );
    assert_eq!(
        page.eval(
            "getComputedStyle(document.querySelector('.connector td:nth-child(5)'), '::before').content"
        ),
        "\"Last visit\""
    );
    page.click("#theme");
    page.wait_for("document.documentElement.dataset.theme === 'light'");
    page.click("#theme");
    page.wait_for("document.documentElement.dataset.theme === 'dark'");
    page.click("#theme");
    look(&page, "operator");
    page.click("[data-name]");
    page.wait_for("document.querySelector('dialog')");
    look(&page, "operator-revoke");
    page.click("dialog text=Revoke");
    page.wait_for("document.querySelector('dialog .token')");
    let token = page.text("dialog .token");
    assert_eq!(token.len(), 40, "the new enrolment token: {token}");
    look(&page, "operator-renewed");
    page.click("dialog text=Done");
    page.wait_for("!document.querySelector('.token')");
    page.wait_for_text("0 enrolled");
    assert!(page.text("#revoked").contains("reserved: shown"));
    look(&page, "operator-revoked");
    page.click("#revoked text=Allow");
    page.wait_for_text("1 enrolled");
    assert_eq!(page.errors(), Vec::<String>::new());
}

/// A directory where the state's file was: nothing can be renamed onto it.
#[test]
fn a_revocation_that_is_not_saved_is_said_on_the_operators_page() {
    let relay = Relay::start(&[]);
    relay.assign(&body("one", "shop", "http", 1));
    std::fs::remove_file(relay.data().join("relay.rows")).unwrap();
    std::fs::create_dir_all(relay.data().join("relay.rows/full")).unwrap();
    let page = Browser::shared().page();
    page.goto(relay.said("Status page: ").trim());
    page.wait_for_text("1 enrolled");
    page.click("[data-name]");
    page.wait_for("document.querySelector('dialog')");
    page.click("dialog text=Revoke");
    page.wait_for_text("0 enrolled");
    page.wait_for("!document.querySelector('#unsaved').hidden");
    let said = page.text("#unsaved");
    assert!(said.contains("lost when the relay restarts"), "{said}");
    look(&page, "operator-unsaved");
    assert_eq!(page.errors(), Vec::<String>::new());
}
