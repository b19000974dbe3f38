//! The end of a relay that nobody is to notice: it says that it goes, serves what still comes, and ends when nothing runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time in which whoever sends visitors here finds that it goes: a balancer that looks each second, twice. Default 3 s.
const NOTICED: Duration = Duration::from_secs(3);
/// Pause between two looks whether something runs.
const LOOK: Duration = Duration::from_millis(50);

/// Whether a relay is on its way out.
#[derive(Debug, Default)]
pub(super) struct Drain(AtomicBool);

impl Drain {
    /// From here on it is.
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it is.
    pub(super) fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Waits until nothing runs, for `bound` at most, and for as long as others need to notice; how much runs then.
pub(super) fn wait(bound: Duration, running: impl Fn() -> usize) -> usize {
    let began = Instant::now();
    loop {
        let (left, took) = (running(), began.elapsed());
        if took >= bound || (left == 0 && took >= NOTICED) {
            return left;
        }
        std::thread::sleep(LOOK.min(bound - took));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_for_what_runs_and_no_longer_than_it_may() {
        let bound = Duration::from_millis(120);
        for running in [0, 2] {
            let began = Instant::now();
            assert_eq!(wait(bound, || running), running);
            assert!(began.elapsed() >= bound, "others are to notice");
        }
        assert_eq!(wait(Duration::ZERO, || 1), 1);
    }
}
