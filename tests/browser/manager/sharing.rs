//! The form's fields that say where an application is, how it is shared, for whom and for how long.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::manager::board::{Board, card, see};
use support::database::{PASSWORD, USER};
use support::manager::{Far, Target};
use support::{Database, Home, TIMEOUT, free_port, wait_until};

#[track_caller]
fn add(board: &Board) {
    board.page.click("#add");
    board.page.wait_for(
        "document.querySelector('#app-form') && document.activeElement.id === 'field-ip'",
    );
}

#[track_caller]
fn edit(board: &Board, id: &str) {
    let page = &board.page;
    page.click(&format!("{} [data-more]", card(id)));
    page.click(".menu text=Edit …");
    page.wait_for("document.querySelector('#app-form')");
}

#[track_caller]
fn save(board: &Board) {
    board.page.click("dialog text=Save");
    board.page.wait_for("!document.querySelector('dialog')");
}

#[track_caller]
fn value(board: &Board, field: &str) -> Value {
    board
        .page
        .eval(&format!("document.querySelector('#field-{field}').value"))
}

/// Chooses in a list.
#[track_caller]
fn choose(board: &Board, field: &str, choice: &str) {
    board.page.eval(&format!(
        "(() => {{ const list = document.querySelector('#field-{field}'); list.value = '{choice}'; list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
}

#[test]
fn what_is_typed_or_pasted_as_an_address_fills_in_what_it_says() {
    let board = Board::open();
    let page = &board.page;
    add(&board);
    let take = |text: &str| {
        board.fill("ip", text);
        page.press("Tab");
        ["ip", "port", "protocol"].map(|name| value(&board, name))
    };
    assert_eq!(take("3000"), ["127.0.0.1", "3000", "http"]);
    assert_eq!(
        page.text("#field-ip-line"),
        "HTTP at 127.0.0.1:3000.",
        "it says what it understood"
    );
    assert_eq!(
        take("https://intranet.lan:8443/deep?x=1"),
        ["intranet.lan", "8443", "https"]
    );
    assert!(
        page.text("#field-ip-line")
            .contains("All of it is shared; links open /deep?x=1")
    );
    assert_eq!(value(&board, "path"), "/deep?x=1");
    assert_eq!(take("[::1]:80"), ["::1", "80", "https"]);
    assert_eq!(take("http://[::1]:3000"), ["::1", "3000", "http"]);
    assert_eq!(
        take("mysql://reader@db.lan/shop"),
        ["db.lan", "3306", "mysql"]
    );
    assert_eq!(
        ["db_user", "db_name"].map(|name| value(&board, name)),
        ["reader", "shop"]
    );
    assert_eq!(
        take("ssh://me@192.0.2.9:2222"),
        ["192.0.2.9", "2222", "ssh"]
    );
    assert_eq!(value(&board, "username"), "me");
    // After an invalid address, a valid one is not marked as invalid while it is typed.
    take("gopher://h");
    page.wait_for("document.querySelector('#field-ip').ariaInvalid === 'true'");
    board.fill("ip", "https://intranet.lan/x");
    page.wait_for("document.querySelector('#field-ip').ariaInvalid !== 'true'");
    // A pasted address is parsed before the field loses the focus.
    page.eval("(() => { const field = document.querySelector('#field-ip'); field.focus(); field.value = 'http://localhost:5173/'; field.dispatchEvent(new Event('paste')); })()");
    page.wait_for("document.querySelector('#field-port').value === '5173' && document.querySelector('#field-protocol').value === 'http'");
    // Enter takes what was typed last.
    let port = free_port();
    board.fill("ip", &format!("localhost:{port}"));
    board.far.assign();
    page.eval("eyes.popups.blocked = true");
    page.press("Enter");
    page.wait_for("eyes.first('.card')");
    assert_eq!(
        (&board.apps()[0]["ip"], &board.apps()[0]["port"]),
        (&json!("localhost"), &json!(port))
    );
}

#[test]
fn the_first_button_saves_and_connects_and_cuts_nothing_that_is_connected() {
    let board = Board::open();
    let page = &board.page;
    page.eval("eyes.popups.blocked = true");
    add(&board);
    board.fill("ip", &board.target.port().to_string());
    board.far.assign();
    assert_eq!(page.text("dialog .button.primary"), "Save and connect");
    page.click("dialog text=Save and connect");
    page.wait_for("eyes.first('.card[data-status=connected]')");
    let id = board.apps()[0]["id"].as_str().unwrap().to_owned();
    edit(&board, &id);
    assert_eq!(page.text("dialog .button.primary"), "Save");
    assert!(page.text(".form-note").contains("apply at once"));
    board.fill("name", "another name");
    save(&board);
    assert_eq!(board.times("POST /api/disconnect").len(), 0);
    edit(&board, &id);
    page.click("dialog text=Save and reconnect");
    page.wait_for("eyes.times('POST /api/connect').length === 2");
    board.wait_status(&id, "connected");
}

#[test]
fn the_address_to_come_is_shown_while_the_name_is_typed() {
    let board = Board::open();
    let page = &board.page;
    add(&board);
    let shown = || page.text("#form-preview");
    board.fill("ip", "3000");
    page.press("Tab");
    assert!(shown().contains("two words"), "{}", shown());
    board.fill("name", "My Shop");
    assert!(shown().contains("“my-shop”"), "{}", shown());
    board.fill("site_name", "wish");
    assert!(shown().contains("“wish”"), "{}", shown());
    board.fill("site_name", "www");
    page.press("Tab");
    page.wait_for("document.querySelector('#field-site_name').ariaInvalid === 'true'");
    assert!(page.text("#field-site_name-line").contains("reserved"));
    board.protocol("ssh");
    assert!(shown().contains("public port"), "{}", shown());
}

#[test]
fn the_dialogs_top_and_its_buttons_stay_where_they_are() {
    let board = Board::open();
    let page = &board.page;
    page.viewport(1280, 800);
    add(&board);
    let top =
        || page.eval("Math.round(document.querySelector('dialog').getBoundingClientRect().top)");
    let first = top();
    for protocol in ["mysql", "ssh", "tcp", "https"] {
        board.protocol(protocol);
        assert_eq!(top(), first, "{protocol}");
    }
    page.eval("document.querySelector('.form-more').open = true");
    assert_eq!(top(), first);
}

#[test]
fn how_it_is_shared_is_saved_shown_again_and_cleared() {
    let board = Board::open();
    let page = &board.page;
    add(&board);
    board.fill("ip", "http://127.0.0.1:3000");
    page.eval("document.querySelector('.form-more').open = true");
    choose(&board, "expires", "3600");
    assert!(
        page.text("#field-expires-line")
            .contains("Visitors are disconnected then")
    );
    board.fill("allow", "192.0.2.0/24, ::1");
    choose(&board, "host_header", "other");
    page.press("Tab");
    page.click("dialog text=Save");
    page.wait_for("document.querySelector('#field-host_header').ariaInvalid === 'true'");
    board.fill("host_header-other", "app.lan:8080");
    board.fill("group", "work");
    board.fill("max_streams", "7");
    page.eval("document.querySelector('#field-audit').click()");
    save(&board);
    let app = board.apps().remove(0);
    assert_eq!(
        ["allow", "host_header", "group", "max_streams", "audit"].map(|name| &app[name]),
        [
            &json!(["192.0.2.0/24", "::1"]),
            &json!("app.lan:8080"),
            &json!("work"),
            &json!(7),
            &json!(true)
        ]
    );
    let expires = app["expires"].as_str().unwrap().to_owned();
    let id = app["id"].as_str().unwrap();

    edit(&board, id);
    assert_eq!(value(&board, "expires"), "until");
    assert!(page.text("#field-expires-line").contains("It ends in"));
    assert_eq!(
        ["allow", "host_header-other", "group", "max_streams"].map(|name| value(&board, name)),
        ["192.0.2.0/24\n::1", "app.lan:8080", "work", "7"]
    );
    save(&board);
    assert_eq!(board.apps()[0]["expires"], *expires, "to the second");

    edit(&board, id);
    page.eval("document.querySelector('.form-more').open = true");
    page.eval("(() => { const at = document.querySelector('#field-expires-other'); at.value = '2020-01-01T00:00'; at.dispatchEvent(new Event('input', { bubbles: true })); })()");
    page.click("dialog text=Save");
    page.wait_for("document.querySelector('#field-expires').ariaInvalid === 'true'");
    assert!(page.text("#field-expires-line").contains("already passed"));
    choose(&board, "expires", "");
    choose(&board, "host_header", "visitor");
    for field in ["allow", "group", "max_streams"] {
        board.fill(field, "");
    }
    page.eval("document.querySelector('#field-audit').click()");
    save(&board);
    let app = board.apps().remove(0);
    assert_eq!(
        [
            "expires",
            "allow",
            "host_header",
            "group",
            "max_streams",
            "audit"
        ]
        .map(|name| &app[name]),
        [
            &json!(null),
            &json!([]),
            &json!("visitor"),
            &json!(null),
            &json!(null),
            &json!(false)
        ]
    );
}

#[test]
fn what_has_ended_is_not_connected_before_it_is_extended() {
    let mut id = String::new();
    let board = Board::with(|manager, target| {
        let mut app = target.app();
        app["expires"] = json!("2020-01-31T18:00:00Z");
        id = manager.add(&app);
    });
    let page = &board.page;
    edit(&board, &id);
    assert!(
        page.text("#field-expires-line")
            .contains("choose a later time")
    );
    page.click("dialog text=Save and connect");
    page.wait_for("document.activeElement.id === 'field-expires'");
    assert!(
        page.text("#field-expires-line")
            .contains("The share has ended")
    );
    assert!(board.times("PUT /api/apps").is_empty());
    page.eval("eyes.popups.blocked = true");
    board.far.assign();
    choose(&board, "expires", "3600");
    page.click("dialog text=Save and connect");
    board.wait_status(&id, "connected");
}

#[test]
fn a_name_that_is_taken_is_told_beside_the_name_and_nothing_typed_is_lost() {
    let board = Board::with(|manager, _| {
        manager.add(&json!({"protocol": "http", "name": "x"}));
    });
    let page = &board.page;
    page.expect_error("409");
    add(&board);
    board.fill("ip", "3000");
    board.fill("name", "x");
    page.click("dialog text=Save");
    page.wait_for("document.activeElement.id === 'field-name'");
    assert_eq!(
        page.text("#field-name-line"),
        "Another application is named 'x'."
    );
    assert_eq!(value(&board, "port"), "3000");
}

/// Answers the picker's questions: two databases, one with odd names.
const OBJECTS: &str = r"(() => {
  const real = globalThis.fetch;
  globalThis.asked = [];
  globalThis.fetch = async (path, init) => {
    if (path !== '/api/guest/objects') return real(path, init);
    const of = JSON.parse(init.body);
    asked.push(of);
    const names = of.table ? ['id', 'name', 'odd,one'] : of.database ? ['customers', '<b>odd</b>'] : ['shop', 'my data'];
    return new Response(JSON.stringify({ code: 200, data: names }), { status: 200 });
  };
})()";

#[test]
fn what_a_guest_may_read_is_chosen_or_typed() {
    let board = Board::open();
    let page = &board.page;
    page.eval(OBJECTS);
    add(&board);
    board.fill("ip", "mysql://reader@127.0.0.1:3307/");
    page.press("Tab");
    board.fill("db_pass", "planted");
    assert!(page.text("#field-guest-line").contains("temporary account"));
    page.click("#app-form text=Choose …");
    page.wait_for("eyes.all('.pick-table').length === 2");
    assert_eq!(
        page.eval("asked[0]"),
        json!({"protocol": "mysql", "ip": "127.0.0.1", "port": 3307, "db_user": "reader", "db_pass": "planted"})
    );
    assert_eq!(page.eval("asked[1].database"), "shop");
    page.click("#pick-table-1");
    page.click(".pick-table button");
    page.wait_for("eyes.first('#pick-column-0-2')");
    page.click("#pick-column-0-0");
    page.click("#pick-column-0-2");
    assert_eq!(
        page.eval("document.querySelector('#pick-table-0').indeterminate"),
        true
    );
    page.screenshot("manage-guest-picker");
    page.assert_accessible("guest picker");
    choose_database(&board, "my data");
    page.wait_for("asked.at(-1).database === 'my data'");
    page.click("#pick-all");
    page.click("dialog:last-of-type text=Take these");
    page.wait_for("eyes.all('.grant').length === 3");
    assert_eq!(
        page.texts(".grant code"),
        [
            "shop.<b>odd</b>",
            "shop.customers(id,`odd,one`)",
            "`my data`.*"
        ]
    );
    assert!(page.text("#field-expires-line").contains("after 8 hours"));
    choose(&board, "expires", "3600");
    choose(&board, "expires", "");
    assert!(page.text("#field-expires-line").contains("after 8 hours"));
    page.click(".grant button");
    page.fill("#field-guest", "crm");
    page.click("dialog text=Save");
    page.wait_for("document.querySelector('#field-guest').ariaInvalid === 'true'");
    page.fill("#field-guest", "crm.people");
    page.screenshot("manage-guest");
    page.assert_accessible("guest field");
    save(&board);
    wait_until(TIMEOUT, "it is saved", || board.apps().len() == 1);
    assert_eq!(
        board.apps()[0]["guest"],
        json!(["shop.customers(id,`odd,one`)", "`my data`.*", "crm.people"])
    );
    page.eval("asked.length = 0");
    let id = board.apps()[0]["id"].as_str().unwrap().to_owned();
    edit(&board, &id);
    page.click("#app-form text=Choose …");
    page.wait_for("asked.length > 1");
    assert_eq!(page.eval("asked[0]"), json!({"id": id}));
}

#[track_caller]
fn choose_database(board: &Board, name: &str) {
    board.page.eval(&format!(
        "(() => {{ const list = document.querySelector('#pick-database'); list.value = '{name}'; list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
}

#[test]
fn the_empty_page_offers_three_beginnings_and_what_listens_here() {
    let board = Board::open();
    let page = &board.page;
    assert_eq!(
        page.texts(".preset strong"),
        ["Web site", "Database", "SSH"]
    );
    page.click("#note text=Database");
    page.wait_for("document.querySelector('#field-protocol')?.value === 'mysql'");
    assert_eq!(
        page.eval("document.querySelector('#field-invisible').checked"),
        true
    );
    // A port does not change a protocol chosen here.
    board.fill("ip", "db.lan:8080");
    page.press("Tab");
    page.wait_for("document.querySelector('#field-port').value === '8080'");
    assert_eq!(value(&board, "protocol"), "mysql");
    page.press("Escape");
    page.click("dialog:last-of-type text=Discard");
    page.wait_for("!document.querySelector('dialog')");
    // Fixed listeners, because those on the machine of the tests are unknown.
    page.eval("eyes.tamper.with = (path, body) => path === '/api/listeners' ? { code: 200, data: [{ port: 22, ip: '127.0.0.1', process: 'sshd' }, { port: 5432, ip: '127.0.0.1', process: 'postgres' }, { port: 3000, ip: '::1', process: '<b>node</b>' }] } : body");
    let id = board
        .manager
        .add(&json!({"protocol": "http", "name": "first", "port": 80}));
    page.wait_for("eyes.all('.card').length === 1");
    page.eval(&format!(
        "fetch('/api/apps/{id}', {{ method: 'DELETE' }}).then(({{ status }}) => status)"
    ));
    page.wait_for("eyes.all('.listeners li').length === 3");
    assert!(page.text(".listeners").contains("<b>node</b>"));
    page.click(".listeners li:nth-child(3) button");
    page.wait_for("document.querySelector('#field-ip')?.value === '::1'");
    assert_eq!(
        ["protocol", "port", "name"].map(|name| value(&board, name)),
        ["http", "3000", "<b>node</b>"]
    );
    page.click("dialog text=Cancel");
    page.wait_for("!document.querySelector('dialog')");
    page.click(".listeners li:nth-child(2) button");
    page.wait_for("document.querySelector('#field-protocol')?.value === 'tcp'");
    assert_eq!(value(&board, "port"), "5432");
}

#[test]
fn the_picker_lists_what_the_database_has() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager_in(&Arc::new(Home::with_plugin()));
    let db = Database::shared();
    db.exec("CREATE DATABASE `pick me`; CREATE TABLE `pick me`.`odd,<i>one` (id INT, `na``me` INT); CREATE TABLE `pick me`.plain (id INT)");
    let page = support::Browser::shared().page();
    see(&page);
    page.goto(&format!("{}/", manager.url()));
    page.wait_for("/\\(/.test(document.querySelector('#heading').textContent)");
    let board = Board {
        page,
        manager,
        far,
        target,
    };
    let page = &board.page;
    page.expect_error("502");
    add(&board);
    let port = db.port();
    board.fill("ip", &format!("mariadb://{USER}@127.0.0.1:{port}"));
    page.press("Tab");
    // Without the password the database says why there is no list.
    page.click("#app-form text=Choose …");
    page.wait_for("document.querySelector('dialog:last-of-type .bad')?.innerText.includes('Type what visitors may read')");
    page.press("Escape");
    page.wait_for("document.querySelectorAll('dialog').length === 1");
    board.fill("db_pass", PASSWORD);
    page.click("#app-form text=Choose …");
    page.wait_for("[...document.querySelectorAll('#pick-database option')].some(({ value }) => value === 'pick me')");
    choose_database(&board, "pick me");
    page.wait_for("eyes.all('.pick-table').length === 2");
    assert_eq!(page.texts(".pick-table label"), ["odd,<i>one", "plain"]);
    page.click(".pick-table button");
    page.wait_for("eyes.first('#pick-column-0-1')");
    page.click("#pick-column-0-1");
    page.click("#pick-table-1");
    page.click("dialog:last-of-type text=Take these");
    page.wait_for("eyes.all('.grant').length === 2");
    save(&board);
    wait_until(TIMEOUT, "it is saved", || board.apps().len() == 1);
    assert_eq!(
        board.apps()[0]["guest"],
        json!(["`pick me`.`odd,<i>one`(`na``me`)", "`pick me`.plain"])
    );
}
