//! A driver for headless Chromium over its debugging protocol: what a person does, and what a person sees.
//!
//! [`Browser::page`] opens a page in a context of its own (cookies, storage, cache, downloads), so tests may share a
//! browser. The clipboard alone is the browser's: a test that reads it back starts a browser of its own.

mod cdp;
mod input;
mod keys;
mod page;

pub use page::{Download, Page, Request};

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::kill_on_drop::{KillOnDrop, Leashed};
use super::wait_until;
use cdp::Cdp;

/// Limit for the start of the browser; slow when the machine is busy and its files are cold.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// Quiet, unattended, and nothing sent anywhere.
const ARGUMENTS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    // On a busy machine it takes the drawing process for hung, and no page is drawn any more.
    "--disable-gpu-watchdog",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-field-trial-config",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-proxy-server",
    "--password-store=basic",
    "--mute-audio",
    "--lang=en-US",
    "--force-color-profile=srgb",
    "--window-size=1280,800",
    "--remote-debugging-port=0",
    "about:blank",
];

/// A running browser, ended with its profile on drop.
pub struct Browser {
    process: Leashed,
    cdp: Arc<Cdp>,
    dir: PathBuf,
}

impl Browser {
    /// Starts a browser of one's own.
    pub fn start() -> Browser {
        let guard = tempfile::Builder::new()
            .prefix("postern-browser-")
            .tempdir();
        let guard: TempDir = guard.expect("the temporary directory is writable");
        let dir = guard.path().to_owned();
        std::fs::create_dir(dir.join("downloads")).expect("the directory is ours");
        let mut process = KillOnDrop::new(program())
            .args(ARGUMENTS)
            .args([format!("--user-data-dir={}/profile", dir.display())])
            .env("HOME", &dir)
            .env("XDG_CONFIG_HOME", dir.join("config"))
            .env("XDG_CACHE_HOME", dir.join("cache"))
            .owning(guard)
            .start();
        let (port, path) = debugging_address(&mut process, &dir.join("profile/DevToolsActivePort"));
        let cdp = Cdp::connect(port, &path);
        let browser = Browser { process, cdp, dir };
        browser.call("Target.setDiscoverTargets", json!({"discover": true}));
        browser
    }

    /// The browser that the tests of one binary share; ended with the test process.
    pub fn shared() -> &'static Browser {
        static SHARED: OnceLock<Browser> = OnceLock::new();
        SHARED.get_or_init(Browser::start)
    }

    /// Opens a blank page in a context of its own, 1280 by 800.
    pub fn page(&self) -> Page {
        let created = self.call("Target.createBrowserContext", json!({}));
        let context = text(&created, "browserContextId");
        let downloads = self.dir.join("downloads");
        self.call(
            "Browser.setDownloadBehavior",
            json!({"behavior": "allowAndName", "browserContextId": context,
                   "downloadPath": downloads, "eventsEnabled": true}),
        );
        let params = json!({"url": "about:blank", "browserContextId": context});
        let target = text(&self.call("Target.createTarget", params), "targetId");
        Page::attach(Arc::clone(&self.cdp), context, target, downloads)
    }

    /// `page()` followed by `goto(url)`.
    #[track_caller]
    pub fn open(&self, url: &str) -> Page {
        let page = self.page();
        page.goto(url);
        page
    }

    fn call(&self, method: &str, params: Value) -> Value {
        self.cdp
            .call(None, method, params)
            .unwrap_or_else(|e| panic!("{e}\n{}", self.process.stderr.text()))
    }
}

/// The program: `CHROMIUM` names it, else the first of the usual names on `PATH`. The headless shell is the same engine
/// and takes less than half of the processor's time.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|p| !p.is_empty()) {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = [
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
        "chrome",
    ];
    names
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(name)))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| panic!("no Chromium on PATH; run tests/setup.sh"))
}

fn debugging_address(process: &mut Leashed, file: &Path) -> (u16, String) {
    let mut found = None;
    let mut ended = false;
    wait_until(START_PATIENCE, "Chromium starts", || {
        ended = process.ended().is_some();
        let written = std::fs::read_to_string(file).unwrap_or_default();
        found = parse_address(&written);
        found.is_some() || ended
    });
    found.unwrap_or_else(|| panic!("Chromium ended at once:\n{}", process.stderr.text()))
}

/// Two lines: the port, then the path of the browser's own WebSocket.
fn parse_address(written: &str) -> Option<(u16, String)> {
    let (port, path) = written.split_once('\n')?;
    let path = path.trim();
    (!path.is_empty()).then_some((port.parse().ok()?, path.to_owned()))
}

fn text(value: &Value, key: &str) -> String {
    let text = value[key].as_str();
    text.unwrap_or_else(|| panic!("no {key} in {value}"))
        .to_owned()
}
