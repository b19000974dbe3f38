//! The page with what stands behind it, and the steps that most tests share.

use serde_json::{Value, json};

use support::chromium::Page;
use support::{Browser, Database, Postern};

/// Set in every document: what a person sees, as functions.
const EYES: &str = include_str!("eyes.js");

/// Ends of a run, as the line under the editor tells them.
const ENDED: &str = r"/^(Done|Failed|Cancelled|\d+ failed)/.test(document.querySelector('#progress-text').textContent)";

/// An open page on a database of the test's own. The page goes before the server behind it.
pub(crate) struct Client {
    pub(crate) page: Page,
    pub(crate) postern: Postern,
    /// Name of the database.
    pub(crate) db: &'static str,
}

impl Client {
    /// Opens the page in read-write mode, with database `db` chosen, after `setup` has filled it.
    #[track_caller]
    pub(crate) fn open(db: &'static str, setup: &str) -> Client {
        Client::with(db, setup, &[])
    }

    /// As [`Client::open`] with further arguments for `postern mysql`.
    #[track_caller]
    pub(crate) fn with(db: &'static str, setup: &str, arguments: &[&str]) -> Client {
        make_database(db, setup);
        let postern = Postern::on(Database::shared(), arguments);
        Client::of(Browser::shared(), postern, db, &format!("#db={db}"))
    }

    /// Opens the page of a running server in a browser, at a fragment.
    #[track_caller]
    pub(crate) fn of(
        browser: &Browser,
        postern: Postern,
        db: &'static str,
        fragment: &str,
    ) -> Client {
        let page = browser.page();
        see(&page);
        page.goto(&format!("{}/{fragment}", postern.url()));
        let client = Client { page, postern, db };
        client.wait_until_ready();
        client
    }

    /// Waits until the editor takes text and the databases are listed.
    #[track_caller]
    pub(crate) fn wait_until_ready(&self) {
        self.page.wait_for(
            "eyes.editor() !== null && document.querySelector('#health.connected') && document.querySelector('#db').options.length > 1",
        );
    }

    /// Waits for the tables of the test's database in the sidebar, to which the link leads.
    #[track_caller]
    pub(crate) fn show_tables(&self) {
        self.page.wait_for(&format!(
            "eyes.first('.sidebar-db')?.innerText === {} && !document.querySelector('#sidebar-list[aria-busy]')",
            json!(self.db)
        ));
    }

    /// Replaces what is in the editor; `seq_1_to_N` stands for N numbers on any server.
    #[track_caller]
    pub(crate) fn write(&self, sql: &str) {
        self.page.fill("textarea.editor-area", &numbered(sql));
    }

    /// Writes a statement, runs it with Ctrl+Enter and waits for its end.
    #[track_caller]
    pub(crate) fn run(&self, sql: &str) {
        self.write(sql);
        self.until_ended(|| self.page.press("Ctrl+Enter"));
    }

    /// Writes a script, runs all of it and waits for its end.
    #[track_caller]
    pub(crate) fn run_script(&self, sql: &str) {
        self.write(sql);
        self.until_ended(|| self.page.press("Ctrl+Shift+Enter"));
    }

    /// Does something that runs statements, and waits for their end.
    #[track_caller]
    pub(crate) fn until_ended(&self, act: impl FnOnce()) {
        // The end of an earlier run must not count for this one.
        self.page
            .eval("document.querySelector('#progress-text').textContent = ''");
        act();
        self.page.wait_for(ENDED);
        self.settle();
    }

    /// Waits for two frames: what was asked to be painted is painted.
    #[track_caller]
    pub(crate) fn settle(&self) {
        self.page
            .eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
    }

    /// Number of statements that the page has sent so far.
    pub(crate) fn sent(&self) -> usize {
        let requests = self.page.requests();
        requests
            .iter()
            .filter(|r| r.url.ends_with("/api/query"))
            .filter(|r| !r.body.contains("information_schema.ROUTINES"))
            .count()
    }

    /// Texts of the cells of the grid in sight, row by row.
    #[track_caller]
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        strings(self.page.eval("eyes.cells()"))
    }

    /// Texts of one column of the grid in sight.
    #[track_caller]
    pub(crate) fn column(&self, at: usize) -> Vec<String> {
        self.cells().iter().map(|row| row[at].clone()).collect()
    }

    /// Names in the header of the grid in sight.
    #[track_caller]
    pub(crate) fn headers(&self) -> Vec<String> {
        strings(self.page.eval("eyes.headers()"))
    }

    /// Text of the first visible element of a selector.
    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        strings(
            self.page
                .eval(&format!("eyes.first({})?.innerText ?? ''", json!(selector))),
        )
    }

    /// Titles of the tabs of the result area.
    #[track_caller]
    pub(crate) fn result_tabs(&self) -> Vec<String> {
        strings(self.page.eval("eyes.resultTabs()"))
    }

    /// Text of the visible editor.
    #[track_caller]
    pub(crate) fn editor(&self) -> String {
        strings(self.page.eval("eyes.editor()"))
    }

    /// Clicks the header of a column and waits for the sorting to end.
    #[track_caller]
    pub(crate) fn sort_by(&self, name: &str) {
        let nth = self.headers().iter().position(|header| header == name);
        let nth = nth.unwrap_or_else(|| panic!("no column {name}")) + 2;
        self.page
            .click(&format!(".grid-header[aria-colindex=\"{nth}\"]"));
        self.page.wait_for("!eyes.grid().ariaBusy");
        self.settle();
    }

    /// Clicks a cell, counted from 0.
    #[track_caller]
    pub(crate) fn click_cell(&self, row: usize, column: usize) {
        let (row, column) = (row + 2, column + 2);
        self.page.click(&format!(
            ".grid-row[aria-rowindex=\"{row}\"] .grid-cell[aria-colindex=\"{column}\"]"
        ));
    }

    /// Chooses how many rows are shown at most.
    #[track_caller]
    pub(crate) fn limit(&self, rows: usize) {
        self.page.eval(&format!(
            "(() => {{ const limit = document.querySelector('#limit'); limit.value = '{rows}'; limit.dispatchEvent(new Event('change')); }})()"
        ));
    }

    /// Presses F1 to F12, with Shift where asked.
    #[track_caller]
    pub(crate) fn press_function_key(&self, n: u32, shift: bool) {
        for kind in ["rawKeyDown", "keyUp"] {
            let key = format!("F{n}");
            self.page.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": 111 + n, "modifiers": if shift { 8 } else { 0 }}),
            );
        }
    }
}

/// Makes an empty database and fills it; `seq_1_to_N` stands for N numbers on any server.
#[track_caller]
pub(crate) fn make_database(db: &str, setup: &str) {
    Database::shared().exec(&format!(
        "DROP DATABASE IF EXISTS `{db}`; CREATE DATABASE `{db}`; USE `{db}`; {}",
        numbered(setup)
    ));
}

/// With the server's own table of N numbers in place of each `seq_1_to_N`.
#[track_caller]
fn numbered(sql: &str) -> String {
    const TABLE: &str = "seq_1_to_";
    let mut parts = sql.split(TABLE);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit());
        let (count, rest) = part.split_at(end.unwrap_or(part.len()));
        whole += &Database::shared().numbers(count.parse().expect("a number"));
        whole += rest;
    }
    whole
}

/// Installs what the tests look with.
pub(crate) fn see(page: &Page) {
    page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({"source": EYES}),
    );
    // Nothing may be caught in the middle of a transition.
    page.prefer(false, true);
}

/// The entry of a database or table in the sidebar.
pub(crate) fn row(name: &str) -> String {
    format!(".row-main[data-name={}]", json!(name))
}

/// Reads what an expression answered.
#[track_caller]
pub(crate) fn strings<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"))
}
