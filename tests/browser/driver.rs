//! The browser driver itself, on a page that is written here.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use support::Browser;

const PAGE: &str = include_str!("../support/sample.html");

/// Serves the sample page, a file to download, one that breaks off, and 400 for the rest; ends with the process.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    origin
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    let _ = lines
        .take_while(|l| l.as_ref().is_ok_and(|l| !l.is_empty()))
        .count();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let attachment =
        "Content-Type: text/csv\r\nContent-Disposition: attachment; filename=\"a.csv\"\r\n";
    let (head, length, body) = match path {
        "/" => (
            "200 OK\r\nContent-Type: text/html; charset=utf-8\r\n".to_owned(),
            PAGE.len(),
            PAGE,
        ),
        "/favicon.ico" => ("204 No Content\r\n".to_owned(), 0, ""),
        "/file" => (format!("200 OK\r\n{attachment}"), 5, "a\r\n1\n"),
        "/broken" => (format!("200 OK\r\n{attachment}"), 500, "a\r\n1\n"),
        _ => ("400 Bad Request\r\n".to_owned(), 0, ""),
    };
    let head =
        format!("HTTP/1.1 {head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    let _ = stream.write_all(head.as_bytes());
}

#[test]
fn clicks_keys_and_drags_arrive_as_a_person_makes_them() {
    let page = Browser::shared().open(&site());
    page.click("#b");
    page.double_click("text=Second");
    page.right_click("#b");
    page.click("#field");
    page.type_text("a B?é\t");
    page.press("Ctrl+Enter");
    page.press("Shift+Tab");
    page.press("Ctrl+a");
    page.type_text("x");
    page.press("ArrowLeft");
    page.insert_text("žluť");
    page.drag("#grip", 30.0, 5.0);
    page.click("#deep text=Below");
    assert_eq!(
        page.eval("log"),
        json!([
            "click b",
            "click c",
            "click c",
            "double c",
            "menu b",
            "run",
            "drag 30",
            "click below"
        ])
    );
    assert_eq!(page.eval("document.querySelector('#field').value"), "žluťx");
    page.fill("#field", "new");
    assert_eq!(page.eval("document.querySelector('#field').value"), "new");
    assert!(page.screenshot("driver").metadata().unwrap().len() > 1000);
}

#[test]
fn an_element_that_cannot_be_clicked_is_named_with_the_reason() {
    let page = Browser::shared().open(&site());
    let why = |target: &str| {
        let find = include_str!("../support/chromium/locate.js");
        page.eval(&format!("({find})({})", json!(target)))
            .to_string()
    };
    assert!(why("#nothing").contains("no such element"));
    assert!(why("#hidden").contains("not visible"));
    assert!(why("#off").contains("disabled"));
    assert!(
        why("#covered").contains("covered by <div id=\\\"cover\\\""),
        "{}",
        why("#covered")
    );
    assert!(why("text=First").contains("\"x\":"));
}

#[test]
fn waits_promises_tabs_dialogs_and_requests_are_seen() {
    let page = Browser::shared().open(&site());
    assert_eq!(
        page.eval("new Promise((r) => setTimeout(() => r([1, 'é', null]), 20))"),
        json!([1, "é", null])
    );
    assert!(
        page.try_eval("Promise.reject(new Error('no luck'))")
            .unwrap_err()
            .contains("no luck")
    );
    page.eval("setTimeout(() => { document.title = 'late' }, 50)");
    page.wait_for("document.title === 'late'");
    page.click("#tab");
    let tab = page.wait_for_tab();
    tab.wait_for("location.hash === '#other'");
    tab.close();
    page.click("#ask");
    page.wait_for("log.includes('answer true')");
    assert_eq!(page.dialogs(), ["confirm: Sure?"]);
    page.expect_error("400");
    page.eval("fetch('/missing', { method: 'POST', body: 'hello' }).then((r) => r.status)");
    let sent = page.requests().pop().unwrap();
    assert_eq!(
        (sent.method.as_str(), sent.body.as_str()),
        ("POST", "hello")
    );
    page.reload();
    assert_eq!(page.eval("log.length"), 0);
}

#[test]
fn errors_of_the_page_are_collected() {
    let page = Browser::shared().open(&site());
    assert_eq!(page.errors(), Vec::<String>::new());
    page.eval("console.error('said', new Error('thrown'))");
    page.eval("setTimeout(() => missing.thing(), 0)");
    page.eval("fetch('/missing').then((r) => r.status)");
    support::wait_until(support::TIMEOUT, "three errors", || {
        page.errors().len() == 3
    });
    for part in ["said Error: thrown", "missing is not defined", "400"] {
        assert!(
            page.errors().iter().any(|e| e.contains(part)),
            "{part}: {:?}",
            page.errors()
        );
        page.expect_error(part);
    }
    assert_eq!(page.errors(), Vec::<String>::new());
}

#[test]
fn downloads_succeed_and_fail_visibly() {
    let page = Browser::shared().open(&site());
    page.click("#download");
    let whole = page.wait_for_download(0);
    assert_eq!((whole.name.as_str(), whole.completed), ("a.csv", true));
    assert_eq!(std::fs::read_to_string(whole.path).unwrap(), "a\r\n1\n");
    page.click("#broken");
    assert!(!page.wait_for_download(1).completed);
}

#[test]
fn the_clipboard_and_preferences_can_be_set() {
    let browser = Browser::start();
    let site = site();
    let page = browser.open(&site);
    page.grant_clipboard(&site);
    page.eval("navigator.clipboard.writeText('a\\tb')");
    assert_eq!(page.clipboard(), "a\tb");
    page.fill("#field", "copied");
    page.press("Ctrl+a");
    page.press("Ctrl+c");
    support::wait_until(support::TIMEOUT, "Ctrl+C copies", || {
        page.clipboard() == "copied"
    });
    page.press("End");
    page.press("Ctrl+v");
    assert_eq!(
        page.eval("document.querySelector('#field').value"),
        "copiedcopied"
    );
    page.prefer(true, true);
    assert_eq!(
        page.eval("matchMedia('(prefers-color-scheme: dark)').matches"),
        true
    );
    assert_eq!(
        page.eval("matchMedia('(prefers-reduced-motion: reduce)').matches"),
        true
    );
    page.viewport(360, 700);
    assert_eq!(page.eval("innerWidth"), 360);
}

#[test]
fn accessibility_faults_are_found_and_nothing_else() {
    let page = Browser::shared().open(&site());
    assert_eq!(page.a11y(), Vec::<String>::new());
    for (html, expected) in [
        (
            "<button><svg aria-hidden=true></svg></button>",
            "no accessible name",
        ),
        ("<input placeholder=name>", "a field without a label"),
        (
            "<p style='color:#999;background:#fff'>pale</p>",
            "text contrast 2.85 (#999999 on #ffffff), needs 4.5",
        ),
        (
            "<p style='color:#000;opacity:.4'>faded</p>",
            "text contrast 2.85 (#999999 on #ffffff)",
        ),
        (
            "<p style='color:#767676;background:rgb(0 0 0 / 20%)'>p</p>",
            "text contrast 2.83",
        ),
        (
            "<p style='color:oklch(0.7 0 0);background:#fff'>modern</p>",
            "text contrast 2.",
        ),
        (
            "<input aria-label=n placeholder=pale style='color:#000' class=pale>",
            "placeholder contrast",
        ),
        ("<a href=# tabindex=3>x</a>", "a positive tabindex"),
        (
            "<div role=dialog aria-modal=true>x</div>",
            "a dialog without a name",
        ),
        (
            "<div role=dialog aria-label=x>x</div>",
            "whether it is modal",
        ),
        ("<img src=data:,>", "a picture without alt"),
        ("<svg width=9 height=9></svg>", "neither named nor hidden"),
        ("<div role=buton>x</div>", "role \"buton\" does not exist"),
        (
            "<div role=tab aria-selected=true>x</div>",
            "outside of [role=tablist]",
        ),
        ("<div role=switch aria-label=x></div>", "needs aria-checked"),
        ("<p aria-describedby=gone>x</p>", "which does not exist"),
        ("<p id=b>x</p>", "occurs twice"),
        (
            "<p aria-hidden=true><a href=#>x</a></p>",
            "hidden from assistive tools",
        ),
        ("<button>x<a href=#>y</a></button>", "holds another control"),
        ("<div style='width:5000px'>wide</div>", "scroll sideways"),
        ("<div tabindex=0></div>", "neither a role nor a name"),
    ] {
        let add = format!(
            "document.querySelector('#slot').innerHTML = {}",
            json!(html)
        );
        page.eval(&add);
        let faults = page.a11y();
        assert!(
            faults.iter().any(|f| f.contains(expected)),
            "{html}: {faults:?}"
        );
        assert_eq!(faults.len(), 1, "{html}: {faults:?}");
    }
    page.eval("document.querySelector('#slot').innerHTML = '<button style=\"min-width:0;min-height:0\">tiny</button>'");
    page.viewport(360, 700);
    let faults = page.a11y();
    assert!(
        faults.len() == 1 && faults[0].contains("a target of"),
        "{faults:?}"
    );
}

#[test]
fn tab_stops_are_listed_in_order_with_their_ring() {
    let page = Browser::shared().open(&site());
    let stops = page.tab_stops(50);
    assert_eq!(stops[0], "button#b \"First\"");
    assert!(
        stops
            .iter()
            .any(|s| s.starts_with("a#bare") && s.contains("no visible focus")),
        "{stops:?}"
    );
    assert!(stops.len() < 20, "{stops:?}");
}
