//! The end of a relay that nobody is to notice: it says that it goes, serves what still comes, and ends when nothing runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time in which whoever sends visitors here finds that it goes: a balancer that looks each second, twice. Default 3 s.
const NOTICED: Duration = Duration::from_secs(3);
/// Pause between two looks whether something runs.
const LOOK: Duration = Duration::from_millis(50);

/// Time in which connectors find another relay of the fleet. Default 15 s: three of their pauses.
const ELSEWHERE: Duration = Duration::from_secs(15);
/// Pause between two questions to the other relays whether they have. Default 500 ms.
const ELSEWHERE_LOOK: Duration = Duration::from_millis(500);

/// Set when a relay is stopping.
#[derive(Debug, Default)]
pub(super) struct Drain(AtomicBool);

impl Drain {
    /// Sets it.
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// True if it is set.
    pub(super) fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Counts connectors that have no other relay yet, which are waited for a while.
#[derive(Default)]
pub(super) struct UnplacedConnectors {
    began: Option<Instant>,
    last: Option<(Instant, usize)>,
}

impl UnplacedConnectors {
    /// Number of them, as `ask` found it lately; none when their time is over.
    pub(super) fn count(&mut self, ask: impl Fn() -> usize) -> usize {
        let began = *self.began.get_or_insert_with(Instant::now);
        if began.elapsed() >= ELSEWHERE {
            return 0;
        }
        match self.last {
            Some((at, count)) if at.elapsed() < ELSEWHERE_LOOK => count,
            _ => {
                let count = ask();
                self.last = Some((Instant::now(), count));
                count
            }
        }
    }
}

/// Waits until nothing runs, for `bound` at most, and for as long as others need to notice; how much runs then.
pub(super) fn wait(bound: Duration, mut running: impl FnMut() -> usize) -> usize {
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
