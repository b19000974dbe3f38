//! Everything by keyboard.

use serde_json::json;

use crate::manager::board::{Board, card};

#[test]
fn keys_add_search_and_explain_themselves() {
    let board = Board::with(|manager, _| {
        for n in 1..=9 {
            manager.add(&json!({"protocol": "ssh", "name": format!("host {n}"), "port": 2200 + n}));
        }
    });
    let page = &board.page;
    page.press("?");
    page.wait_for("document.querySelector('dialog h2')?.innerText === 'Keyboard'");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    page.press("/");
    page.wait_for("document.activeElement.id === 'search'");
    page.type_text("host 3");
    page.wait_for(
        "eyes.all('.card').length === 1 && eyes.first('.card-name').innerText === 'host 3'",
    );
    page.type_text("n?");
    page.wait_for("eyes.all('.card').length === 0");
    assert!(page.text("#note").contains("No application matches"));
    assert_eq!(
        page.eval("document.querySelector('dialog')"),
        json!(null),
        "keys belong to the field"
    );
    page.press("Escape");
    page.wait_for("eyes.all('.card').length === 9");
    page.eval("document.activeElement.blur()");
    page.press("n");
    page.wait_for("document.activeElement.id === 'field-ip'");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
}

#[test]
fn an_application_is_added_connected_and_disconnected_without_a_mouse() {
    let board = Board::open();
    let page = &board.page;
    page.eval("eyes.popups.blocked = true");
    page.press("n");
    page.wait_for("document.activeElement.id === 'field-ip'");
    page.type_text(&board.target.port().to_string());
    for _ in ["port", "protocol", "name"] {
        page.press("Tab");
    }
    page.type_text("by keyboard");
    board.far.assign();
    // The form's first button saves and connects.
    page.press("Enter");
    page.wait_for("eyes.first('.card[data-status=connected]')");
    // The focus has moved on, so that a key held down does not end what it began.
    page.wait_for("document.activeElement.matches('[data-open]')");
    for next in ["[data-qr]", "[data-part=log]", "[data-end]"] {
        page.press("Tab");
        page.wait_for(&format!("document.activeElement.matches('{next}')"));
    }
    page.press("Enter");
    page.wait_for(
        "eyes.first('.card[data-status=idle]') && document.activeElement.matches('[data-act]')",
    );
}

#[test]
fn tab_visits_everything_in_order_with_a_visible_focus() {
    let mut ids = Vec::new();
    let board = Board::with(|manager, target| {
        ids = ["a", "b"]
            .map(|name| {
                let mut app = target.app();
                app["name"] = json!(name);
                manager.add(&app)
            })
            .to_vec();
    });
    board.page.eval("document.querySelector('.skip').focus()");
    let stops = board.page.tab_stops(40);
    let order = [
        "#tunnel",
        "#theme",
        "#manual",
        "#help",
        "#search",
        "#sort",
        "#view",
        "#add",
        "\"Connect a\"",
        "\"More for a\"",
        "\"Connect b\"",
        "\"More for b\"",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|part| {
            stops
                .iter()
                .position(|s| s.contains(part))
                .unwrap_or_else(|| panic!("no {part}: {stops:#?}"))
        })
        .collect();
    assert!(places.is_sorted(), "{places:?} in {stops:#?}");
    assert!(
        !stops.iter().any(|s| s.contains("no visible focus")),
        "{stops:#?}"
    );
    board.page.eval(&format!(
        "document.querySelector('{} [data-act]').focus()",
        card(&ids[0])
    ));
    board.page.press("ArrowRight");
    board.page.wait_for(&format!(
        "document.activeElement.closest('{}')",
        card(&ids[1])
    ));
}
