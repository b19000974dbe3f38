//! The open page with what stands behind it, and the steps that most tests share.

use serde_json::{Value, json};

use support::Browser;
use support::chromium::Page;
use support::manager::{Far, Manager, Target};
use support::quick_setup::Act;

/// A script that reads the page as a person sees it, and records the times of its actions.
const EYES: &str = include_str!("eyes.js");

/// An open page. It goes before the server behind it.
pub(crate) struct Board {
    pub(crate) page: Page,
    pub(crate) manager: Manager,
    pub(crate) far: Far,
    pub(crate) target: Target,
}

impl Board {
    /// Opens the page of a manager that has no applications yet.
    #[track_caller]
    pub(crate) fn open() -> Board {
        Board::with(|_, _| {})
    }

    /// Opens the page after `prepare` has had the manager.
    #[track_caller]
    pub(crate) fn with(prepare: impl FnOnce(&Manager, &Target)) -> Board {
        let (far, target) = (Far::new(), Target::start());
        let manager = far.manager();
        prepare(&manager, &target);
        let page = Browser::shared().page();
        see(&page);
        page.goto(&format!("{}/", manager.url()));
        page.wait_for("/\\(/.test(document.querySelector('#heading').textContent)");
        Board {
            page,
            manager,
            far,
            target,
        }
    }

    /// Opens the page with one application on it, whose identifier it answers.
    #[track_caller]
    pub(crate) fn with_one() -> (Board, String) {
        let mut id = String::new();
        let board = Board::with(|manager, target| id = manager.add(&target.app()));
        (board, id)
    }

    /// The next connects are answered only when the far side ends.
    pub(crate) fn hold(&self) {
        self.far.quick.script([Act::Hold]);
    }

    /// The next connects are refused with these words.
    pub(crate) fn refuse(&self, words: &str) {
        let answer = Act::json(400, &json!({"code": 400, "message": words}));
        self.far.quick.script([answer]);
    }

    /// Presses the first button of a card.
    #[track_caller]
    pub(crate) fn act(&self, id: &str) {
        self.page.click(&format!("{} [data-act]", card(id)));
    }

    /// Waits until a card shows a status.
    #[track_caller]
    pub(crate) fn wait_status(&self, id: &str, status: &str) {
        self.page
            .wait_for(&format!("eyes.status('{id}') === '{status}'"));
    }

    /// The times, in ms, at which the page did what begins so.
    #[track_caller]
    pub(crate) fn times(&self, what: &str) -> Vec<f64> {
        read(self.page.eval(&format!("eyes.times({})", json!(what))))
    }

    /// Waits for two frames: what was asked to be painted is painted.
    #[track_caller]
    pub(crate) fn settle(&self) {
        self.page.eval(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))",
        );
    }

    /// Text of a card.
    #[track_caller]
    pub(crate) fn card_text(&self, id: &str) -> String {
        self.page.text(&card(id))
    }

    /// Toasts that are shown.
    #[track_caller]
    pub(crate) fn toasts(&self) -> Vec<String> {
        self.page.texts(".toast p")
    }

    /// Fills in the open form.
    #[track_caller]
    pub(crate) fn fill(&self, field: &str, value: &str) {
        self.page.fill(&format!("#field-{field}"), value);
    }

    /// Chooses a protocol in the open form.
    #[track_caller]
    pub(crate) fn protocol(&self, name: &str) {
        self.page.eval(&format!(
            "(() => {{ const list = document.querySelector('#field-protocol'); list.value = '{name}'; list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        ));
    }

    /// Applications as the API has them.
    #[track_caller]
    pub(crate) fn apps(&self) -> Vec<Value> {
        read(self.manager.client().get("/api/apps").data())
    }
}

/// The card of an application.
pub(crate) fn card(id: &str) -> String {
    format!("[data-id=\"{id}\"]")
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

/// Reads what an expression answered.
#[track_caller]
pub(crate) fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"))
}
