//! Adding, changing, copying and deleting applications.

use serde_json::{Value, json};

use crate::manager::board::{Board, card};
use crate::manager::looks::look;
use support::TIMEOUT;
use support::wait_until;

#[test]
fn the_empty_page_leads_to_the_first_application_and_its_connect() {
    let board = Board::open();
    let page = &board.page;
    assert!(page.text("#note").contains("Share your first application"));
    page.click("#add-first");
    page.wait_for("document.activeElement.id === 'field-ip'");
    board.fill("name", "my site");
    board.fill("port", &board.target.port().to_string());
    page.click("dialog text=Save");
    page.wait_for("eyes.all('.card').length === 1 && document.activeElement.matches('[data-act]')");
    let apps = board.apps();
    assert_eq!(
        (
            &apps[0]["name"],
            &apps[0]["protocol"],
            &apps[0]["ip"],
            &apps[0]["invisible"]
        ),
        (
            &json!("my site"),
            &json!("http"),
            &json!("127.0.0.1"),
            &json!(false)
        )
    );
    page.wait_for("!eyes.first('#note')?.innerText");
    board.far.assign();
    page.press("Enter");
    page.wait_for("eyes.first('.card[data-status=connected]')");
}

/// The defaults are nobody's choice: this machine's port 80 is not shared by a form that was only opened.
#[test]
fn a_form_that_names_nothing_to_share_says_so_at_the_address() {
    let board = Board::open();
    let page = &board.page;
    let asks =
        "document.activeElement.id === 'field-ip' && document.activeElement.ariaInvalid === 'true'";
    for (open, protocol) in [("#add", None), ("#add-first", None), ("#add", Some("ssh"))] {
        page.click(open);
        page.wait_for("document.querySelector('#app-form')");
        if let Some(protocol) = protocol {
            board.protocol(protocol);
        }
        board.fill("name", "nothing");
        for save in ["Save and connect", "Save"] {
            page.click(&format!("dialog text={save}"));
            page.wait_for(asks);
            let line = page.text("#field-ip-line");
            assert!(line.contains("Enter a URL, host:port"), "{line}");
            page.eval("document.querySelector('#field-name').focus()");
        }
        page.press("Escape");
        page.click("dialog text=Discard");
        page.wait_for("!document.querySelector('dialog')");
    }
    assert_eq!(board.apps().len(), 0, "nothing is saved");
    page.click("#add");
    page.wait_for("document.querySelector('#app-form')");
    page.click("dialog text=Save and connect");
    page.wait_for(asks);
    // A port alone is one of this computer.
    board.fill("port", &board.target.port().to_string());
    page.wait_for("document.querySelector('#field-ip').ariaInvalid !== 'true'");
    page.click("dialog text=Save");
    page.wait_for("eyes.all('.card').length === 1");
}

#[test]
fn the_form_shows_what_its_protocol_needs() {
    let board = Board::open();
    let page = &board.page;
    page.click("#add");
    page.wait_for("document.querySelector('#app-form')");
    let shown = || {
        page.eval("[...document.querySelectorAll('#app-form [data-field]')].filter((e) => !e.hidden).map((e) => e.dataset.field)")
    };
    let value = |name: &str| page.eval(&format!("document.querySelector('#field-{name}').value"));
    let checked =
        |name: &str| page.eval(&format!("document.querySelector('#field-{name}').checked"));
    let end = ["expires", "server"];
    let more = [
        "allow",
        "host_header",
        "path",
        "group",
        "max_streams",
        "note",
        "audit",
        "record_sql",
        "display_name",
        "tunnel_port",
    ];
    let list = |first: &[&str], more: &[&str]| json!([first, &end, more].concat());
    let without = |left_out: &[&str]| -> Vec<&str> {
        more.into_iter()
            .filter(|name| !left_out.contains(name))
            .collect()
    };
    let site = ["ip", "port", "name", "site_name"];
    assert_eq!(
        shown(),
        list(
            &[&site[..], &["invisible", "autoconnect"]].concat(),
            &without(&["record_sql"])
        )
    );
    assert_eq!(value("port"), "80");
    board.protocol("mysql");
    let database = [
        "db_user",
        "db_pass",
        "db_name",
        "invisible",
        "db_readonly",
        "autoconnect",
    ];
    let guest = [&["guest"], &without(&["host_header", "path"])[..]].concat();
    assert_eq!(shown(), list(&[&site[..], &database].concat(), &guest));
    assert_eq!(
        (value("port"), checked("db_readonly"), checked("invisible")),
        (json!("3306"), json!(true), json!(true))
    );
    board.protocol("ssh");
    assert_eq!(
        shown(),
        list(
            &["ip", "port", "name", "username", "autoconnect"],
            &without(&["host_header", "path", "audit", "record_sql"])
        )
    );
    let says = |text: &str| assert!(page.text("#field-protocol-line").contains(text), "{text}");
    says("Anyone who can reach the server can connect to its public port");
    assert_eq!(value("port"), "22");
    board.fill("port", "2222");
    board.protocol("https");
    says("certificate is not verified");
    assert_eq!(
        (value("port"), checked("invisible")),
        (json!("2222"), json!(false)),
        "what was typed stays"
    );
    board.protocol("tcp");
    board.fill("port", "");
    page.press("Tab");
    page.wait_for("document.querySelector('#field-port').ariaInvalid === 'true'");
}

#[test]
fn a_note_is_text_on_the_card_and_keeps_its_lines() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    let note = format!("{} .card-text", card(&id));
    let text = "Ask <b>Ann</b> first.\nPort 3000 is for tests.";
    board.far.assign();
    board.act(&id);
    board.wait_status(&id, "connected");
    page.click(&format!("{} [data-more]", card(&id)));
    page.click(".menu text=Edit …");
    page.wait_for("document.querySelector('#app-form')");
    page.eval("document.querySelector('.form-more').open = true");
    board.fill("note", text);
    page.click("dialog text=Save");
    page.wait_for(&format!(
        "document.querySelector('{note}').textContent !== ''"
    ));
    assert_eq!(page.text(&note), text);
    assert_eq!(board.apps()[0]["note"], text);
    let connection = &board.apps()[0]["connection"];
    assert_eq!(connection["pending_changes"], false);
    look(&board, "note");
    let home = board.manager.home();
    let sheet = home.run(&["app", "show", &id]).stdout;
    assert!(
        sheet.contains(
            "note          Ask <b>Ann</b> first.\n              Port 3000 is for tests.\n"
        ),
        "{sheet}"
    );
    let exported: Value = serde_json::from_str(&home.run(&["app", "export"]).stdout).unwrap();
    assert_eq!(exported["applications"][0]["note"], text);
    assert_eq!(home.run(&["app", "edit", &id, "--note", ""]).code, Some(0));
    page.wait_for(&format!(
        "document.querySelector('{note}').textContent === ''"
    ));
    assert_eq!(board.apps()[0]["note"], Value::Null);
}

#[test]
fn a_field_is_checked_as_it_is_left_and_the_servers_words_stand_at_theirs() {
    let board = Board::open();
    let page = &board.page;
    page.expect_error("400");
    page.click("#add");
    page.wait_for("document.querySelector('#app-form')");
    let line = |name: &str| page.text(&format!("#field-{name}-line"));
    board.fill("ip", "gopher://x");
    assert!(!line("ip").contains("Enter"), "not while it is typed");
    page.press("Tab");
    page.wait_for("document.querySelector('#field-ip').ariaInvalid === 'true'");
    assert!(line("ip").contains("not supported"));
    board.fill("ip", "x");
    page.wait_for("document.querySelector('#field-ip').ariaInvalid !== 'true'");
    board.fill("port", "70000");
    page.click("dialog text=Save");
    page.wait_for("document.activeElement.id === 'field-port'");
    assert_eq!(board.apps().len(), 0, "nothing is sent");
    board.fill("port", "80");
    // A server that knows better than the page.
    page.eval(
        "eyes.tamper.with = (path, body) => path === '/api/apps' && body.code === 201 ? { code: 400, message: 'x', fields: { group: 'is taken', ip: 'is <b>odd</b>' } } : body",
    );
    page.click("dialog text=Save");
    page.wait_for("document.activeElement.id === 'field-ip'");
    assert_eq!(
        (line("ip"), line("group")),
        ("Is <b>odd</b>.".to_owned(), "Is taken.".to_owned())
    );
    assert_eq!(page.eval("document.querySelector('.form-more').open"), true);
    page.screenshot("manage-form-wrong");
    page.assert_accessible("form with errors");
    // Typed text is not lost by accident.
    page.press("Escape");
    page.wait_for("document.querySelectorAll('dialog[open]').length === 2");
    page.press("Escape");
    page.wait_for("document.querySelectorAll('dialog[open]').length === 1");
    assert_eq!(page.eval("document.querySelector('#field-ip').value"), "x");
}

#[test]
fn secrets_are_kept_set_and_cleared_and_never_come_back() {
    let mut id = String::new();
    let board = Board::with(|manager, _| {
        id = manager.add(&json!({"protocol": "mysql", "name": "db", "db_user": "u", "db_pass": "planted-secret"}));
    });
    let page = &board.page;
    let edit = || {
        page.click(&format!("{} [data-more]", card(&id)));
        page.click(".menu text=Edit …");
        page.wait_for("document.querySelector('#app-form')");
    };
    let save = || {
        page.click("dialog text=Save");
        page.wait_for("!document.querySelector('dialog')");
    };
    edit();
    assert!(page.text(".form-note").contains("next connect"));
    assert_eq!(
        page.eval("document.querySelector('#field-db_pass').value"),
        ""
    );
    board.fill("db_user", "reader");
    save();
    let saved = |what: &str, wanted: serde_json::Value| {
        wait_until(TIMEOUT, what, || board.apps()[0]["has_db_pass"] == wanted);
    };
    saved("it is kept", json!(true));
    assert_eq!(board.apps()[0]["db_user"], "reader");
    let sent = page
        .requests()
        .into_iter()
        .rfind(|r| r.method == "PUT")
        .unwrap();
    assert!(!sent.body.contains("db_pass"), "{}", sent.body);
    edit();
    page.click("[data-field=db_pass] button");
    page.wait_for("document.querySelector('#field-db_pass').disabled");
    save();
    saved("it is cleared", json!(false));
    edit();
    board.fill("db_pass", " new ");
    save();
    saved("it is set", json!(true));
    assert_eq!(
        page.eval("document.documentElement.outerHTML.includes('planted')"),
        false
    );
}

#[test]
fn an_application_is_copied_and_deleted_after_a_question() {
    let (board, id) = Board::with_one();
    let page = &board.page;
    page.click(&format!("{} [data-more]", card(&id)));
    page.click(".menu text=Duplicate …");
    page.wait_for("/\\(copy\\)$/.test(document.querySelector('#field-name')?.value)");
    page.click("dialog text=Save");
    page.wait_for("eyes.all('.card').length === 2");
    page.click(&format!("{} [data-more]", card(&id)));
    page.click(".menu text=Delete …");
    page.wait_for("document.activeElement.innerText === 'Cancel'");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')");
    assert_eq!(board.apps().len(), 2);
    page.click(&format!("{} [data-more]", card(&id)));
    page.click(".menu text=Delete …");
    page.click("dialog text=Delete");
    page.wait_for(&format!(
        "eyes.all('.card').length === 1 && !document.querySelector('{}')",
        card(&id)
    ));
    wait_until(TIMEOUT, "the end of the application", || {
        board.apps().len() == 1
    });
    assert_ne!(board.apps()[0]["id"], id.as_str());
}
