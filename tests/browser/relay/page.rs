//! The management page, and the steps on it that the tests share.

use serde_json::json;

use support::Browser;
use support::chromium::Page;
use support::manager::Manager;

/// A script that reads the management page as a person sees it.
const EYES: &str = include_str!("../manager/eyes.js");
/// A script that reads the SQL client as a person sees it.
const SQL_EYES: &str = include_str!("../sql/eyes.js");

/// Opens a manager's page.
#[track_caller]
pub(crate) fn open(manager: &Manager) -> Page {
    let page = Browser::shared().page();
    page.prefer(false, true);
    install(&page, EYES);
    page.goto(&format!("{}/", manager.url()));
    page.wait_for("/\\(/.test(document.querySelector('#heading').textContent)");
    page
}

fn install(page: &Page, script: &str) {
    page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({"source": script}),
    );
}

/// Makes the SQL client's tab one that can be looked at, from the next document on.
pub(crate) fn look_at_sql(tab: &Page) {
    install(tab, SQL_EYES);
}

/// Fills in the form of a new application, saves it, and answers the identifier of its card.
#[track_caller]
pub(crate) fn add(page: &Page, protocol: &str, fields: &[(&str, &str)]) -> String {
    page.click("#add");
    page.wait_for("document.querySelector('#app-form')");
    page.eval(&format!(
        "(() => {{ const list = document.querySelector('#field-protocol'); list.value = '{protocol}'; list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
    let before = page.eval("eyes.all('.card').map((card) => card.dataset.id)");
    for (name, value) in fields {
        page.fill(&format!("#field-{name}"), value);
    }
    page.click("dialog text=Save");
    let added = format!(
        "eyes.all('.card').map((card) => card.dataset.id).filter((id) => !{before}.includes(id))[0]"
    );
    page.wait_for(&added);
    page.eval(&added).as_str().unwrap().to_owned()
}

/// Presses Connect on a card and answers the tab that opens.
#[track_caller]
pub(crate) fn connect(page: &Page, id: &str) -> Page {
    page.click(&format!("{} [data-act]", card(id)));
    wait_status(page, id, "connected");
    page.wait_for_tab()
}

/// Presses Disconnect on a card.
#[track_caller]
pub(crate) fn disconnect(page: &Page, id: &str) {
    page.click(&format!("{} [data-end]", card(id)));
    wait_status(page, id, "idle");
}

/// Fails on anything that the page's console complains of.
#[track_caller]
pub(crate) fn assert_quiet(page: &Page) {
    assert_eq!(page.errors(), Vec::<String>::new());
    assert_eq!(page.eval("eyes.violations"), json!([]));
}

#[track_caller]
pub(crate) fn wait_status(page: &Page, id: &str, status: &str) {
    page.wait_for(&format!("eyes.status('{id}') === '{status}'"));
}

/// The address of a link of a card: `site`, or `auth` that opens it with the code.
#[track_caller]
pub(crate) fn url(page: &Page, id: &str, kind: &str) -> String {
    let link = match kind {
        "auth" => "[data-open]",
        _ => "[data-url=site]",
    };
    let link = format!("document.querySelector('{} {link}')", card(id));
    page.wait_for(&link);
    page.eval(&format!("{link}.href"))
        .as_str()
        .unwrap()
        .to_owned()
}

pub(crate) fn card(id: &str) -> String {
    format!("[data-id=\"{id}\"]")
}
