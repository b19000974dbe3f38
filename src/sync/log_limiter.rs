//! So many lines a minute of what anybody can cause: nobody fills the disk with them.

use std::fmt;
use std::time::{Duration, Instant};

use log::Level;

use super::lock::Mutex;

/// Lines a minute of one kind. Default 120: anybody can cause any number.
const LINES: usize = crate::limits::LOG_LINES;
/// The time that those are counted in.
const WINDOW: Duration = Duration::from_secs(60);

/// The target of lines about visitors who did not get in: whoever shares sees them with `-q` too.
pub(crate) const REFUSED: &str = "postern::refused";

/// Lines of one kind, whoever causes them.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter(Mutex<LogWindow>);

impl LogLimiter {
    /// Writes a line for `target`, or counts it. `others` says what those were that were only counted, as in
    /// "3 more calls are not shown".
    pub(crate) fn info(&self, target: &str, others: &str, line: fmt::Arguments<'_>) {
        self.write((Level::Info, target), others, line);
    }

    /// Warns of a visitor who did not get in, or counts it.
    pub(crate) fn refused(&self, line: fmt::Arguments<'_>) {
        self.write((Level::Warn, REFUSED), "refused visitors", line);
    }

    fn write(&self, (level, target): (Level, &str), others: &str, line: fmt::Arguments<'_>) {
        let (may, more) = self.count(Instant::now());
        if let Some(more) = more {
            log::log!(target: target, level, "{more} more {others} are not shown");
        }
        if may {
            log::log!(target: target, level, "{line}");
        }
    }

    /// Returns whether a line may be shown now, and how many were not in the minute before, if that is over.
    fn count(&self, now: Instant) -> (bool, Option<usize>) {
        let mut window = self.0.lock();
        let more = window.roll(now);
        (window.count(), more)
    }
}

/// Lines since a moment.
#[derive(Debug, Default)]
pub(crate) struct LogWindow {
    since: Option<Instant>,
    shown: usize,
    more: usize,
}

impl LogWindow {
    /// Begins anew if the time has passed; returns how many were not shown, if any.
    pub(crate) fn roll(&mut self, now: Instant) -> Option<usize> {
        let is_over = |since| now.saturating_duration_since(since) >= WINDOW;
        if !self.since.is_none_or(is_over) {
            return None;
        }
        let before = std::mem::replace(
            self,
            LogWindow {
                since: Some(now),
                shown: 0,
                more: 0,
            },
        );
        (before.more > 0).then_some(before.more)
    }

    /// True if one more may be shown.
    pub(crate) fn count(&mut self) -> bool {
        let may = self.shown < LINES;
        *(if may { &mut self.shown } else { &mut self.more }) += 1;
        may
    }

    /// True if there is something to sum up.
    pub(crate) fn holds_back(&self) -> bool {
        self.more > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
