//! A request's line in the log. Its length is capped, and so are the lines a minute of requests that
//! fail: no visitor fills the disk with them.

use crate::sync::{LogWindow, Mutex};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a path that are shown. Default 500: a visitor may send 32 KiB. Methods, sites and addresses
/// are short where they come from.
const SHOWN_PATH: usize = 500;

/// What a line tells.
pub(super) struct AccessLine<'a> {
    pub(super) source: IpAddr,
    pub(super) site: &'a str,
    pub(super) method: &'a str,
    /// Without the query, which may hold secrets.
    pub(super) path: &'a str,
    /// 0 when the visitor was told nothing.
    pub(super) status: u16,
    /// Sent to the visitor.
    pub(super) bytes: usize,
    pub(super) took: Duration,
}

/// Writes the lines.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    /// Whether there is something to sum up: so a request that went well takes no lock.
    holds_back: AtomicBool,
    failed: Mutex<LogWindow>,
}

impl AccessLog {
    /// Writes a line, or counts it.
    pub(super) fn record(&self, line: &AccessLine<'_>) {
        let has_failed = !(100..400).contains(&line.status);
        if (!has_failed && !self.holds_back.load(Ordering::Relaxed)) || self.is_shown(has_failed) {
            write(line);
        }
    }

    fn is_shown(&self, has_failed: bool) -> bool {
        let mut failed = self.failed.lock();
        let now = Instant::now();
        if let Some(more) = failed.roll(now) {
            log::info!(target: "postern::access", "{more} more requests failed and are not shown");
        }
        let may = !has_failed || failed.count();
        self.holds_back
            .store(failed.holds_back(), Ordering::Relaxed);
        may
    }
}

fn write(line: &AccessLine<'_>) {
    log::info!(
        target: "postern::access",
        "{} {} {} {} {} {} {:.1}",
        line.source,
        line.site,
        line.method,
        shown(line.path),
        line.status,
        line.bytes,
        line.took.as_secs_f64() * 1000.0
    );
}

/// A path that is cut ends in `…`, which no path can.
fn shown(path: &str) -> Cow<'_, str> {
    match path.get(..SHOWN_PATH) {
        Some(begin) if path.len() > SHOWN_PATH => Cow::Owned(format!("{begin}…")),
        _ => Cow::Borrowed(path),
    }
}
