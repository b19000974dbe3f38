//! A limit of log lines a minute for events that anybody can cause, so that they do not fill the disk.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use log::Level;

use super::lock::Mutex;

/// Lines a minute of one kind. Default 120: anybody can cause any number.
const LINES: usize = crate::limits::LOG_LINES;
/// Time over which they are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// Log target of lines about refused visitors, which are shown with `-q` too.
pub(crate) const REFUSED: &str = "postern::refused";

/// Limit for lines of one kind.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter {
    window: Mutex<LogWindow>,
    /// True if there is something to sum up: so a line that is always told takes no lock.
    holds_back: AtomicBool,
}

impl LogLimiter {
    /// Writes a line for `target`, or counts it. `others` names the events that were only counted, as in
    /// "3 more calls are not shown".
    pub(crate) fn info(&self, target: &str, others: &str, line: fmt::Arguments<'_>) {
        self.write((Level::Info, target), others, line);
    }

    /// Warns of a refused visitor, or counts it.
    pub(crate) fn refused(&self, line: fmt::Arguments<'_>) {
        self.write((Level::Warn, REFUSED), "refused visitors", line);
    }

    fn write(&self, (level, target): (Level, &str), others: &str, line: fmt::Arguments<'_>) {
        let sum_up = |more| log::log!(target: target, level, "{more} more {others} are not shown");
        if self.may_tell(true, sum_up) {
            log::log!(target: target, level, "{line}");
        }
    }

    /// True if a line may be told now; one that is not `limited` always may. Calls `sum_up` with the number of those
    /// that were not shown in a minute that is over.
    pub(crate) fn may_tell(&self, limited: bool, sum_up: impl FnOnce(usize)) -> bool {
        if !limited && !self.holds_back.load(Ordering::Relaxed) {
            return true;
        }
        let mut window = self.window.lock();
        let more = window.roll(Instant::now());
        let may = !limited || window.count();
        self.holds_back.store(window.more > 0, Ordering::Relaxed);
        drop(window);
        if let Some(more) = more {
            sum_up(more);
        }
        may
    }
}

/// Lines since a moment.
#[derive(Debug, Default)]
struct LogWindow {
    since: Option<Instant>,
    shown: usize,
    more: usize,
}

impl LogWindow {
    /// Begins again if the time has passed; returns the number of lines that were not shown, if any.
    fn roll(&mut self, now: Instant) -> Option<usize> {
        let is_over = |since| now.saturating_duration_since(since) >= WINDOW;
        if !self.since.is_none_or(is_over) {
            return None;
        }
        let begun = LogWindow {
            since: Some(now),
            ..LogWindow::default()
        };
        let before = std::mem::replace(self, begun);
        (before.more > 0).then_some(before.more)
    }

    /// True if one more line may be logged; counts it either way.
    fn count(&mut self) -> bool {
        let may = self.shown < LINES;
        *(if may { &mut self.shown } else { &mut self.more }) += 1;
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn lines_beyond_a_minutes_are_counted_and_summed_up() {
        let mut window = LogWindow::default();
        let start = Instant::now();
        assert_eq!(window.roll(start), None);
        assert!((0..LINES).all(|_| window.count()));
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

    #[test]
    fn what_is_always_told_sums_up_what_was_not() {
        let limiter = LogLimiter::default();
        let summed = Cell::new(None);
        let may_tell = |limited| limiter.may_tell(limited, |more| summed.set(Some(more)));
        assert!((0..LINES).all(|_| may_tell(true)) && !may_tell(true));
        assert!(may_tell(false) && summed.get().is_none());
        let mut window = limiter.window.lock();
        window.since = window.since.and_then(|since| since.checked_sub(WINDOW));
        drop(window);
        assert!(may_tell(false) && summed.take() == Some(1));
        assert!(may_tell(true) && summed.get().is_none(), "said once");
    }
}
