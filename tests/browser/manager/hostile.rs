//! Names, errors and addresses that would like to be more than text.

use serde_json::json;

use crate::manager::board::{Board, card};

const IMG: &str = "<img src=x onerror=alert(1)>";

#[test]
fn hostile_names_and_errors_are_text() {
    let mut id = String::new();
    let board = Board::with(|manager, target| {
        let mut app = target.app();
        app["name"] = json!(IMG);
        id = manager.add(&app);
    });
    let page = &board.page;
    board.refuse("</p><script>alert(2)</script>\u{202e}gnol");
    board.act(&id);
    board.wait_status(&id, "failed");
    assert!(board.card_text(&id).contains("<script>alert(2)</script>"));
    page.click(&format!("{} [data-more]", card(&id)));
    page.click(".menu text=Edit …");
    page.wait_for("document.querySelector('#app-form')");
    page.press("Escape");
    page.click(&format!("{} [data-more]", card(&id)));
    page.click(".menu text=Delete …");
    page.wait_for("document.querySelector('dialog')");
    assert!(page.text("dialog").contains(IMG));
    assert_eq!(
        page.eval("document.querySelectorAll('img, script:not([src])').length"),
        0
    );
    assert_eq!(page.eval("eyes.violations"), json!([]));
    assert!(page.dialogs().is_empty());
}

#[test]
fn addresses_that_are_none_are_neither_shown_nor_opened() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    board.far.assign();
    // The server of this page checks addresses too; here stands one that does not.
    page.eval(
        "eyes.tamper.with = (path, body) => JSON.parse(JSON.stringify(body).replaceAll(/http:\\/\\/127[^\"]*/g, 'javascript:alert(1)').replaceAll('\"auth_url\":\"\"', '\"auth_url\":\"data:text/html,x\",\"local_url\":\"file:///etc/passwd\"'))",
    );
    board.act(&id);
    board.wait_status(&id, "connected");
    page.wait_for("eyes.times('GET /api/status').length > 0");
    page.wait_for("document.querySelector('.toasts')?.innerText.includes('is connected')");
    assert!(board.times("open ").is_empty());
    assert!(board.card_text(&id).contains("no usable address"));
    let links = page.eval("[...document.querySelectorAll('a[href]')].map((a) => a.protocol).filter((p) => !['http:', 'https:'].includes(p))");
    assert_eq!(links, json!([]));
    assert_eq!(
        page.eval("document.documentElement.outerHTML.includes('javascript:')"),
        false
    );
}
