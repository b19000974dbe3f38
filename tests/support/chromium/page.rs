//! One page: where it is, what it shows, what went wrong in it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::cdp::{Cdp, Event};
use super::text;
use crate::{holds_within, target_dir};

/// Time in which a page must show what a test waits for.
const PAGE_PATIENCE: Duration = Duration::from_secs(60);

/// The accessibility checks that [`Page::a11y`] runs.
const A11Y: &str = include_str!("../a11y.js");

/// A page in a context of its own; closed on drop. A test fails when its page logged an error that the test did not
/// expect.
pub struct Page {
    cdp: Arc<Cdp>,
    context: String,
    target: String,
    session: String,
    downloads: PathBuf,
    /// True if the context ends with this page.
    owns_context: bool,
    expected_errors: Mutex<Vec<String>>,
}

/// A request that the page sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method.
    pub method: String,
    /// Whole URL.
    pub url: String,
    /// Body, where there is a short one.
    pub body: String,
}

/// A finished download.
#[derive(Clone, Debug)]
pub struct Download {
    /// The name that the browser would save it under.
    pub name: String,
    /// True if it was completed; false if the transfer failed or was cancelled.
    pub completed: bool,
    /// Path of its content.
    pub path: PathBuf,
}

impl Page {
    pub(super) fn attach(
        cdp: Arc<Cdp>,
        context: String,
        target: String,
        downloads: PathBuf,
    ) -> Page {
        let params = json!({"targetId": target, "flatten": true});
        let attached = cdp.call(None, "Target.attachToTarget", params);
        let session = text(&attached.expect("the target exists"), "sessionId");
        let page = Page {
            cdp,
            context,
            target,
            session,
            downloads,
            owns_context: true,
            expected_errors: Mutex::default(),
        };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        // Several pages are in front at once: each behaves as the focused one.
        page.call(
            "Emulation.setFocusEmulationEnabled",
            json!({"enabled": true}),
        );
        page.viewport(1280, 800);
        page
    }

    /// Goes to a URL and waits until it is loaded.
    #[track_caller]
    pub fn goto(&self, url: &str) {
        let answer = self.call("Page.navigate", json!({"url": url}));
        if let Some(error) = answer["errorText"].as_str() {
            panic!("cannot open {url}: {error}");
        }
        self.wait_for("document.readyState === 'complete'");
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) {
        let mark = json!({"expression": "globalThis.beforeReload = true"});
        self.call("Runtime.evaluate", mark);
        self.call("Page.reload", json!({}));
        self.wait_for("!globalThis.beforeReload && document.readyState === 'complete'");
    }

    /// The value of a JavaScript expression; a promise is awaited.
    #[track_caller]
    pub fn eval(&self, expression: &str) -> Value {
        match self.try_eval(expression) {
            Ok(value) => value,
            Err(e) => self.give_up(&format!("{e}\nin: {expression:.500}")),
        }
    }

    /// As [`Page::eval`]; the error is the exception's text.
    pub fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let params = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let mut answer = self
            .cdp
            .call(Some(&self.session), "Runtime.evaluate", params)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(exception_text(details)),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    /// Waits until a JavaScript expression is truthy.
    #[track_caller]
    pub fn wait_for(&self, condition: &str) {
        self.wait_for_within(PAGE_PATIENCE, condition);
    }

    /// As [`Page::wait_for`] with a patience of one's own.
    #[track_caller]
    pub fn wait_for_within(&self, patience: Duration, condition: &str) {
        let expression = format!("Promise.resolve({condition}).then(Boolean)");
        let mut last = Ok(Value::Null);
        // While a page is left for another, evaluation fails; that is no verdict yet.
        let held = holds_within(patience, || {
            last = self.try_eval(&expression);
            last == Ok(Value::Bool(true))
        });
        if !held {
            self.give_up(&format!(
                "waited {patience:?} in vain for: {condition}\nlast: {last:?}"
            ));
        }
    }

    /// Waits until the page shows a text.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.wait_for(&format!(
            "document.body.innerText.includes({})",
            json!(text)
        ));
    }

    /// Text of the first element of a selector.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        let value = self.eval(&format!(
            "document.querySelector({})?.innerText",
            json!(selector)
        ));
        match value.as_str() {
            Some(text) => text.to_owned(),
            None => self.give_up(&format!("no element {selector}")),
        }
    }

    /// Text of each element of a selector.
    #[track_caller]
    pub fn texts(&self, selector: &str) -> Vec<String> {
        let all = self.eval(&format!(
            "[...document.querySelectorAll({})].map((e) => e.innerText)",
            json!(selector)
        ));
        serde_json::from_value(all).expect("an array of strings")
    }

    /// Sets the size of the viewport in CSS pixels.
    pub fn viewport(&self, width: u32, height: u32) {
        let params =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", params);
    }

    /// Emulates a long line: each answer comes this much later.
    pub fn latency(&self, latency: Duration) {
        self.call("Network.enable", json!({}));
        let conditions = json!({"offline": false, "latency": latency.as_millis(), "downloadThroughput": -1, "uploadThroughput": -1});
        self.call("Network.emulateNetworkConditions", conditions);
    }

    /// Emulates the person's preferences: colour scheme, and less motion.
    pub fn prefer(&self, dark: bool, reduced_motion: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let motion = if reduced_motion {
            "reduce"
        } else {
            "no-preference"
        };
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion},
        ]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Lets pages of that origin read and write the clipboard.
    pub fn grant_clipboard(&self, origin: &str) {
        let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let params =
            json!({"origin": origin, "browserContextId": self.context, "permissions": permissions});
        self.browser_call("Browser.grantPermissions", params);
    }

    /// The text in the clipboard; needs [`Page::grant_clipboard`].
    #[track_caller]
    pub fn clipboard(&self) -> String {
        let text = self.eval("navigator.clipboard.readText()");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Saves what the page shows to `target/screens/NAME.png`.
    pub fn screenshot(&self, name: &str) -> PathBuf {
        let path = target_dir("../screens").join(format!("{name}.png"));
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let image = decode_base64(&text(&shot, "data"));
        std::fs::write(&path, image).expect("target/ is writable");
        path
    }

    /// Violations of the accessibility checks, one sentence each.
    #[track_caller]
    pub fn a11y(&self) -> Vec<String> {
        let found = self.eval(&format!("({A11Y})()"));
        let mut found: Vec<String> = serde_json::from_value(found).expect("an array of strings");
        if let Some(axe) = std::env::var_os("POSTERN_AXE") {
            found.extend(self.axe(&std::fs::read_to_string(axe).expect("POSTERN_AXE is a file")));
        }
        found
    }

    /// Further faults found by axe-core, if `POSTERN_AXE` names its file.
    #[track_caller]
    fn axe(&self, source: &str) -> Vec<String> {
        self.eval(&format!(
            "void (globalThis.axe || (() => {{ {source} }})())"
        ));
        let found = self.eval(
            "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => \
             violations.map(({ id, impact, nodes }) => `axe ${id} (${impact}): ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)).join(' | ')}`))",
        );
        serde_json::from_value(found).expect("an array of strings")
    }

    /// Fails on any violation of the accessibility checks.
    #[track_caller]
    pub fn assert_accessible(&self, where_: &str) {
        let violations = self.a11y();
        if !violations.is_empty() {
            self.give_up(&format!(
                "{where_}: not accessible:\n{}",
                violations.join("\n")
            ));
        }
    }

    /// Places of the focus when Tab is pressed again and again, until it comes round or `most` stops are seen; each
    /// stop says what it is and whether its focus shows.
    pub fn tab_stops(&self, most: usize) -> Vec<String> {
        const STOP: &str = include_str!("focus.js");
        let mut stops = Vec::new();
        for _ in 0..most {
            self.press("Tab");
            let stop = self.eval(&format!("({STOP})()"));
            let Some(stop) = stop.as_str().map(str::to_owned) else {
                break;
            };
            if stops.first() == Some(&stop) {
                break;
            }
            stops.push(stop);
        }
        stops
    }

    /// Requests sent so far.
    pub fn requests(&self) -> Vec<Request> {
        self.events("Network.requestWillBeSent", |params| {
            let request = &params["request"];
            let part = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
            Some(Request {
                method: part("method"),
                url: part("url"),
                body: part("postData"),
            })
        })
    }

    /// Messages of the dialogs (alert, confirm, leave?) that the page opened; each was accepted.
    pub fn dialogs(&self) -> Vec<String> {
        self.events("Page.javascriptDialogOpening", |params| {
            Some(format!(
                "{}: {}",
                text(params, "type"),
                text(params, "message")
            ))
        })
    }

    /// Waits for the n-th download of this page (from 0) to end.
    #[track_caller]
    pub fn wait_for_download(&self, n: usize) -> Download {
        let mut ended = None;
        holds_within(PAGE_PATIENCE, || {
            ended = self.download(n);
            ended.is_some()
        });
        match ended {
            Some(download) => download,
            None => self.give_up(&format!("download {n} has not ended")),
        }
    }

    fn download(&self, n: usize) -> Option<Download> {
        // The main frame is named as its target; a page may also download through a frame of its own.
        let mut frames = self.events("Page.frameAttached", |params| {
            Some(params["frameId"].clone())
        });
        frames.push(self.target.as_str().into());
        let begun = self.cdp.events(|event| {
            let ours = event.method == "Browser.downloadWillBegin"
                && frames.contains(&event.params["frameId"]);
            ours.then(|| {
                (
                    text(&event.params, "guid"),
                    text(&event.params, "suggestedFilename"),
                )
            })
        });
        let (guid, name) = begun.into_iter().nth(n)?;
        let states = self.cdp.events(|event| {
            let ours =
                event.method == "Browser.downloadProgress" && event.params["guid"] == guid.as_str();
            ours.then(|| text(&event.params, "state"))
        });
        let last = states.into_iter().next_back()?;
        (last != "inProgress").then(|| Download {
            name,
            completed: last == "completed",
            path: self.downloads.join(guid),
        })
    }

    /// Waits for a tab that this page opened, and answers it.
    #[track_caller]
    pub fn wait_for_tab(&self) -> Page {
        let mut found = None;
        holds_within(PAGE_PATIENCE, || {
            found = self.other_tabs().into_iter().next();
            found.is_some()
        });
        let Some(target) = found else {
            self.give_up("no tab was opened");
        };
        let (cdp, context) = (Arc::clone(&self.cdp), self.context.clone());
        let mut page = Page::attach(cdp, context, target, self.downloads.clone());
        page.owns_context = false;
        page
    }

    /// Targets of further tabs in this page's context.
    pub fn other_tabs(&self) -> Vec<String> {
        let listed = self.browser_call("Target.getTargets", json!({}));
        let all = listed["targetInfos"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.iter()
            .filter(|t| t["type"] == "page" && t["browserContextId"] == self.context.as_str())
            .map(|t| text(t, "targetId"))
            .filter(|id| *id != self.target)
            .collect()
    }

    /// Announces that an error whose text contains `part` belongs to the test (a 400 shows in the console too).
    pub fn expect_error(&self, part: &str) {
        self.expected_errors.lock().unwrap().push(part.to_owned());
    }

    /// Errors of the console, uncaught exceptions and failed loads so far, without the expected ones.
    pub fn errors(&self) -> Vec<String> {
        let expected = self.expected_errors.lock().unwrap();
        self.cdp
            .events(|event| self.owns(event).then(|| error_text(event)).flatten())
            .into_iter()
            .filter(|text| !expected.iter().any(|part| text.contains(part.as_str())))
            .collect()
    }

    /// Fails the test with a picture of the page and what went wrong in it.
    #[track_caller]
    pub fn give_up(&self, why: &str) -> ! {
        panic!("{why}\n{}", self.state());
    }

    fn state(&self) -> String {
        let shown = self.try_eval("location.href + '\\n' + document.body.innerText");
        let shown = shown.unwrap_or_else(Value::String);
        format!(
            "the page shows: {:.3000}\nits errors: {:#?}",
            shown.as_str().unwrap_or_default(),
            self.errors()
        )
    }

    fn owns(&self, event: &Event) -> bool {
        event.session.as_deref() == Some(self.session.as_str())
    }

    fn events<T>(&self, method: &str, mut choose: impl FnMut(&Value) -> Option<T>) -> Vec<T> {
        self.cdp.events(|event| {
            let wanted = self.owns(event) && event.method == method;
            wanted.then(|| choose(&event.params)).flatten()
        })
    }

    /// Any method of the protocol on this page.
    #[track_caller]
    pub fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.cdp.call(Some(&self.session), method, params);
        answer.unwrap_or_else(|e| panic!("{e}"))
    }

    #[track_caller]
    fn browser_call(&self, method: &str, params: Value) -> Value {
        let answer = self.cdp.call(None, method, params);
        answer.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Closes the page as a person closes a tab: what runs on leaving runs, and what it sends arrives.
    #[track_caller]
    pub fn close(mut self) {
        self.assert_no_errors();
        // The context stays until the browser ends: with it, a beacon still on its way would die.
        self.owns_context = false;
        self.call("Page.close", json!({}));
        let gone = || {
            let ours = |e: &Event| e.params["targetId"] == self.target.as_str();
            let gone = |e: &Event| e.method == "Target.targetDestroyed" && ours(e);
            !self.cdp.events(|e| gone(e).then_some(())).is_empty()
        };
        assert!(holds_within(PAGE_PATIENCE, gone), "the tab does not close");
    }

    #[track_caller]
    fn assert_no_errors(&self) {
        let errors = self.errors();
        assert!(errors.is_empty(), "the page logged errors: {errors:#?}");
    }

    fn picture_of_failure(&self) {
        let name = std::thread::current()
            .name()
            .unwrap_or("test")
            .replace("::", "-");
        let shot = self
            .cdp
            .call(Some(&self.session), "Page.captureScreenshot", json!({}));
        if let Some(data) = shot
            .ok()
            .and_then(|s| s["data"].as_str().map(decode_base64))
        {
            let path = target_dir("../screens").join(format!("failed-{name}.png"));
            let _ = std::fs::write(&path, data);
            eprintln!("picture of the failure: {}", path.display());
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let failing = std::thread::panicking();
        if failing {
            self.picture_of_failure();
        }
        let errors = self.errors();
        if self.owns_context {
            let context = json!({"browserContextId": self.context});
            let _ = self.cdp.call(None, "Target.disposeBrowserContext", context);
        }
        self.cdp.forget(&self.session);
        assert!(
            failing || errors.is_empty(),
            "the page logged errors: {errors:#?}"
        );
    }
}

/// Error message of an event, if it reports an error.
fn error_text(event: &Event) -> Option<String> {
    let params = &event.params;
    match event.method.as_str() {
        "Runtime.exceptionThrown" => Some(exception_text(&params["exceptionDetails"])),
        "Runtime.consoleAPICalled"
            if matches!(params["type"].as_str(), Some("error" | "assert")) =>
        {
            let args = params["args"].as_array()?.iter();
            let said: Vec<_> = args
                .map(|a| {
                    a["description"]
                        .as_str()
                        .or(a["value"].as_str())
                        .unwrap_or("?")
                })
                .collect();
            Some(said.join(" "))
        }
        "Log.entryAdded" if params["entry"]["level"] == "error" => {
            let entry = &params["entry"];
            Some(format!(
                "{} ({})",
                text(entry, "text"),
                entry["url"].as_str().unwrap_or_default()
            ))
        }
        _ => None,
    }
}

fn exception_text(details: &Value) -> String {
    let description = details["exception"]["description"].as_str();
    let text = details["text"].as_str().unwrap_or("exception");
    description.unwrap_or(text).to_owned()
}

/// Standard alphabet, padding ignored.
fn decode_base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(value).collect();
    let bytes = digits.chunks(4).flat_map(|group| {
        let bits = group
            .iter()
            .fold(0_u32, |bits, d| bits << 6 | u32::from(*d));
        let bits = bits << (6 * (4 - group.len()));
        bits.to_be_bytes().into_iter().skip(1).take(group.len() - 1)
    });
    bytes.collect()
}
