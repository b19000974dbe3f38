//! The page's own way of restoring a file.

use serde_json::json;
use support::database::Database;
use support::postern::Postern;
use support::{Browser, is_whole};

use super::dumps::dump;
use super::{AS_BYTES, AS_IT_IS, console, difference, empty, schema, state};

/// Drops a file on the editor, runs it from there, and answers the line under the editor with the messages.
fn restore(postern: &Postern, name: &str, file: &[u8]) -> String {
    let page = Browser::shared().open(&format!("{}/#db={name}", postern.url()));
    page.wait_for(
        "document.querySelector('textarea.editor-area') && document.querySelector('#health.connected') && document.querySelector('#db').value",
    );
    // As the console is asked to.
    page.click("#more");
    page.click(".menu text=Continue after errors");
    // Each byte is a sign of its number.
    let signs: String = file.iter().copied().map(char::from).collect();
    page.eval(&format!(
        "(() => {{ const t = new DataTransfer(); t.items.add(new File([Uint8Array.from({}, (sign) => sign.charCodeAt(0))], 'dump.sql')); \
         document.querySelector('textarea.editor-area').dispatchEvent(new DragEvent('drop', {{ dataTransfer: t, bubbles: true, cancelable: true }})); }})()",
        json!(signs)
    ));
    page.click(".script-banner text=Run from the file");
    page.wait_for("/^(Done|Failed|Cancelled|\\d+ failed)/.test(document.querySelector('#progress-text').textContent)");
    let told = "[...document.querySelectorAll('#progress-text, .editor-message, .messages')].map((of) => of.textContent).join('; ')";
    page.eval(told).as_str().unwrap().to_owned()
}

#[test]
fn a_dump_that_the_page_restores_from_its_file_leaves_what_the_console_leaves() {
    let db = Database::shared();
    let postern = Postern::on(db, AS_BYTES);
    let name = "foreign_page";
    // A view that calls a function is not restored without the routines.
    let forms: [&[&str]; 2] = [&["--routines"], &["--routines", "--events", "--hex-blob"]];
    for options in &forms[..if is_whole() { 2 } else { 1 }] {
        schema::make(db, name);
        let file = dump(db, name, options);
        empty(db, name);
        let failed = console(db, name, &file, AS_IT_IS).len();
        let before = state(db, name);
        empty(db, name);
        let told = restore(&postern, name, &file);
        let expected = match failed {
            0 => "none failed".to_owned(),
            1 => "1 statement failed".to_owned(),
            _ => format!("{failed} statements failed"),
        };
        assert!(told.contains(&expected), "{options:?}: {told:.2000}");
        assert_eq!(difference(&before, &state(db, name)), None, "{options:?}");
    }
    db.exec(&format!("DROP DATABASE `{name}`"));
}
