//! A request's line in the log. No visitor makes one long, and failures get so many a minute that
//! nobody fills the disk with them.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a path that are shown. Default 500: a visitor may send 32 KiB, and does not get to fill
/// the disk with them. Methods, sites and addresses are short where they come from.
const SHOWN_PATH: usize = 500;
/// Lines a minute about requests that failed. Default 120: anybody can make as many as he likes.
const FAILED_LINES: usize = 120;
/// The time that those are counted in.
const WINDOW: Duration = Duration::from_secs(60);

/// What a line tells.
pub(super) struct Line<'a> {
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
    failed: Mutex<Window>,
}

impl AccessLog {
    /// Writes a line, or counts it.
    pub(super) fn tell(&self, line: &Line<'_>) {
        let has_failed = !(100..400).contains(&line.status);
        if (!has_failed && !self.holds_back.load(Ordering::Relaxed)) || self.may_tell(has_failed) {
            write(line);
        }
    }

    fn may_tell(&self, has_failed: bool) -> bool {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(more) = failed.roll(now) {
            log::info!(target: "postern::access", "{more} more requests failed and are not shown");
        }
        let may = !has_failed || failed.count();
        self.holds_back.store(failed.more > 0, Ordering::Relaxed);
        may
    }
}

/// Failures since a moment.
#[derive(Debug, Default)]
struct Window {
    since: Option<Instant>,
    told: usize,
    more: usize,
}

impl Window {
    /// Begins anew where the time has passed; how many were not told, if any.
    fn roll(&mut self, now: Instant) -> Option<usize> {
        let is_over = |since| now.saturating_duration_since(since) >= WINDOW;
        if !self.since.is_none_or(is_over) {
            return None;
        }
        let before = std::mem::replace(
            self,
            Window {
                since: Some(now),
                told: 0,
                more: 0,
            },
        );
        (before.more > 0).then_some(before.more)
    }

    /// Whether this failure may be told.
    fn count(&mut self) -> bool {
        let may = self.told < FAILED_LINES;
        *(if may { &mut self.told } else { &mut self.more }) += 1;
        may
    }
}

fn write(line: &Line<'_>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_beyond_a_minutes_are_counted_and_summed_up() {
        let mut window = Window::default();
        let start = Instant::now();
        assert_eq!(window.roll(start), None);
        assert!((0..FAILED_LINES).all(|_| window.count()));
        assert!((0..7).all(|_| !window.count()));
        assert_eq!(window.roll(start + WINDOW / 2), None);
        assert_eq!(window.roll(start + WINDOW), Some(7), "said once");
        assert!(window.count());
        assert_eq!(
            window.roll(start + WINDOW * 2),
            None,
            "nothing was left out"
        );
    }
}
