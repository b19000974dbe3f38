//! Cards show what is in force and whether the application answers, whatever was saved since.

use std::net::TcpListener;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::manager::board::{Board, card, see};
use crate::manager::looks::look;
use support::database::{PASSWORD, USER};
use support::free_port;
use support::http::Client;
use support::manager::{Far, Target};
use support::quick_setup::Act;
use support::{Browser, Database, Home};

fn save(board: &Board, id: &str, app: &Value) {
    let form = [("Content-Type", "application/json")];
    let path = format!("/api/apps/{id}");
    let body = app.to_string();
    let answer = board
        .manager
        .client()
        .send("PUT", &path, &form, body.as_bytes());
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

#[track_caller]
fn wait_text(board: &Board, id: &str, part: &str) {
    let part = json!(part);
    board.page.wait_for(&format!(
        "document.querySelector('{}').innerText.includes({part})",
        card(id)
    ));
}

fn badges(board: &Board, id: &str) -> Vec<String> {
    board.page.texts(&format!("{} .badge", card(id)))
}

#[test]
fn a_connected_card_shows_what_is_in_force_until_it_is_reconnected() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    assert_eq!(badges(&board, &id), ["Will be public"]);
    page.eval("eyes.popups.blocked = true");
    board.far.assign();
    board.act(&id);
    board.wait_status(&id, "connected");
    let mut app = board.target.app();
    let made = format!("127.0.0.1:{}", board.target.port());
    wait_text(&board, &id, &made);
    assert_eq!(badges(&board, &id), ["This computer only"]);
    app["invisible"] = json!(true);
    app["ip"] = json!("localhost");
    save(&board, &id, &app);
    wait_text(&board, &id, "Saved changes take effect after reconnecting.");
    assert_eq!(
        badges(&board, &id),
        ["This computer only"],
        "no code is asked for"
    );
    assert!(board.card_text(&id).contains(&made));
    page.wait_for("eyes.times('open ').length === 1");
    look(&board, "pending");
    page.viewport(1440, 900);
    page.eval(&format!(
        "document.querySelector('{} [data-part=reconnect]').focus()",
        card(&id)
    ));
    page.press("Enter");
    wait_text(&board, &id, "localhost:");
    board.wait_status(&id, "connected");
    page.wait_for(&format!(
        "document.querySelector('{} .badge').innerText === 'Invisible'",
        card(&id)
    ));
    assert!(!board.card_text(&id).contains("not in force"));
    assert_eq!(board.times("open ").len(), 1, "no further tab is opened");
}

#[test]
fn a_card_that_was_never_connected_says_what_will_be() {
    let (board, id) = Board::with_one();
    board.far.quick.script([Act::Hold]);
    board.manager.connect(&id);
    board.wait_status(&id, "connecting");
    assert_eq!(badges(&board, &id), ["Will be public"]);
    board.page.click(&format!("{} [data-more]", card(&id)));
    board.page.click(".menu text=Edit …");
    board.page.wait_for("document.querySelector('#app-form')");
    assert_eq!(
        board.page.text(".form-note"),
        "Changes apply at the next connect."
    );
}

#[test]
fn a_database_card_shows_the_mode_of_the_running_client() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager_in(&Arc::new(Home::with_plugin()));
    let mut app = json!({"protocol": "mysql", "name": "ledger", "port": Database::shared().port(),
        "db_user": USER, "db_pass": PASSWORD, "invisible": false, "db_readonly": false});
    let id = manager.add(&app);
    let port = far.assign();
    far.quick.script([Act::json(200, &far.answer(port))]);
    manager.connected(&id);
    let page = Browser::shared().page();
    see(&page);
    page.goto(&format!("{}/", manager.url()));
    let board = Board {
        page,
        manager,
        far,
        target,
    };
    board.wait_status(&id, "connected");
    assert_eq!(badges(&board, &id), ["This computer only", "Read-Write"]);
    app["db_readonly"] = json!(true);
    app["invisible"] = json!(true);
    save(&board, &id, &app);
    wait_text(&board, &id, "Saved changes take effect after reconnecting.");
    assert_eq!(badges(&board, &id), ["This computer only", "Read-Write"]);
    let mut visitor = Client::new(&format!("127.0.0.1:{port}"));
    assert_eq!(visitor.get("/api/info").data()["readonly"], false);
    look(&board, "pending-database");
    board.manager.disconnect(&id);
    board.wait_status(&id, "idle");
    assert_eq!(
        badges(&board, &id),
        ["Will be invisible", "Will be read-only"]
    );
}

#[test]
fn an_application_that_does_not_answer_is_amber_with_the_reason() {
    let dead = free_port();
    let mut id = String::new();
    let board = Board::with(|manager, _| {
        id = manager.add(&json!({"protocol": "http", "name": "dead", "port": dead}));
    });
    let page = &board.page;
    board.far.assign();
    board.manager.connect(&id);
    board.wait_status(&id, "connected");
    let reason = format!("Connected, but 127.0.0.1:{dead} refuses connections.");
    wait_text(&board, &id, &reason);
    assert!(page.text("#summary").contains("1 not answering"));
    page.wait_for("document.querySelector('[role=alert].visually-hidden')?.textContent.includes('refuses connections')");
    look(&board, "failing");
    page.viewport(1440, 900);
    let listener = TcpListener::bind(("127.0.0.1", dead)).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 204 No\r\n\r\n");
        }
    });
    page.click(&format!("{} [data-part=ask]", card(&id)));
    page.wait_for(&format!(
        "document.querySelector('{}').dataset.health === ''",
        card(&id)
    ));
    assert!(!board.card_text(&id).contains("refuses connections"));
}
